//! Calls that cannot be answered at once: somebody must be asked first.

use std::future::pending;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use countersign_core::{Action, Judgement, Verdict};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, mpsc};
use tokio::time::{interval, timeout};

use super::{House, Proxy, Side, lock};
use crate::case;
use crate::desk::{Case, Desk, Outcome, Permitted, Waiter};
use crate::hook;
use crate::mcp::json::{Json, Object};
use crate::mcp::message::{Era, Id, Message, code};
use crate::mcp::subject;
use crate::mcp::terms::Terms;
use crate::show::one_line;

/// How a state of ours begins. It says which question is meant and proves nothing: the gate
/// looks whether that one was agreed to, for this very call.
const STATE: &str = "countersign:";
/// What our part of the input is called.
const OURS: &str = "countersign";
const LISTS_WITHIN: Duration = Duration::from_secs(10);
const RESOLVES_WITHIN: Duration = Duration::from_secs(5);
const SHOW_PROGRESS: Duration = Duration::from_secs(10);
/// More pages of tools than this are not read for one call.
const MOST_PAGES: usize = 100;
/// Longer than any question waits.
const A_DAY: Duration = Duration::from_hours(24);

/// A request that waits, with the one it waits for.
#[derive(Debug, Default)]
pub(super) struct Held(Arc<Notify>);

impl Held {
    /// Whoever asked wants no answer any more.
    pub(super) fn cancel(&self) {
        self.0.notify_one();
    }
}

/// By what the gate can be told how a call went.
#[derive(Debug)]
pub(super) struct Permit {
    desk: Desk,
    permitted: Permitted,
}

/// Counts what must not be cut off.
#[derive(Debug, Default)]
pub(super) struct Busy(AtomicUsize);

impl Busy {
    pub(super) fn is_idle(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

/// A request that is looked at.
struct Call {
    id: Id,
    message: Message,
    to: Side,
    cancelled: Arc<Notify>,
}

/// How it ends.
enum Ending {
    Go {
        permit: Option<Permit>,
        digest: String,
    },
    No(String),
    /// The client shows its person where to answer, and asks again.
    Link(Message),
    Cancelled,
}

/// Whether a client comes back from a question it was sent to.
pub(super) fn resumes(message: &Message) -> bool {
    resumed(message).is_some()
}

fn resumed(message: &Message) -> Option<&str> {
    message.param("requestState")?.as_str()?.strip_prefix(STATE)
}

impl House {
    /// Where whatever takes time happens.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn runtime(&self) -> io::Result<&Runtime> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let made = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(self.runtime.get_or_init(|| made))
    }
}

impl Proxy {
    /// Keeps a request back until somebody has said something about it.
    pub(super) fn hold(self: &Arc<Self>, id: Id, message: Message, action: Action, to: Side) {
        let held = Held::default();
        let cancelled = Arc::clone(&held.0);
        let call = Call { id, message, to, cancelled };
        let runtime = match self.house.runtime() {
            Ok(runtime) => runtime,
            Err(error) => return self.say_no(&call, &format!("Countersign cannot ask: {error}")),
        };
        lock(&self.held).insert((to, call.id.clone()), held);
        let (this, watcher) = (Arc::clone(self), Arc::clone(self));
        let broken = Call {
            id: call.id.clone(),
            message: call.message.clone(),
            to,
            cancelled: Arc::clone(&call.cancelled),
        };
        let settled = runtime.spawn(async move {
            let ending = this.settle(&call, action).await;
            this.end(call, ending);
        });
        runtime.spawn(async move {
            // A panic is a no, too.
            if settled.await.is_err() {
                let why = "Countersign failed inside, so this is refused".to_owned();
                watcher.end(broken, Ending::No(why));
            }
        });
    }

    fn end(&self, call: Call, ending: Ending) {
        // Whoever takes it out says what happens, once.
        if lock(&self.held).remove(&(call.to, call.id.clone())).is_none() {
            return;
        }
        match (ending, call.to) {
            (Ending::Go { permit, digest }, Side::Server) => {
                self.forward(call.id, &without_ours(call.message), permit, Some(digest));
            }
            (Ending::Go { .. }, Side::Client) => self.to_client(&call.message),
            (Ending::No(why), _) => self.say_no(&call, &why),
            (Ending::Link(link), _) => self.to_client(&link),
            (Ending::Cancelled, _) => {}
        }
    }

    fn say_no(&self, call: &Call, why: &str) {
        match call.to {
            Side::Server => self.refuse(&call.id, &call.message, why),
            Side::Client => {
                self.to_server(&Message::failure(Some(&call.id), code::REFUSED, why));
            }
        }
    }

    async fn settle(&self, call: &Call, action: Action) -> Ending {
        let terms = match self.terms() {
            Ok(terms) => terms,
            Err(why) => return Ending::No(why),
        };
        let prepared = pin!(self.prepared(call, action));
        let (action, context) = tokio::select! {
            prepared = prepared => prepared,
            () = call.cancelled.notified() => return Ending::Cancelled,
        };
        let mut context = context;
        let judgement = match case::judge_with_facts(&action, &terms.policy, &mut context) {
            Ok(judgement) => judgement,
            Err(panicked) => return Ending::No(panicked.to_string()),
        };
        let digest = judgement.digest.clone();
        if judgement.verdict == Verdict::Block {
            return Ending::No(hook::refusal(&judgement));
        }
        let must_ask = judgement.verdict >= Verdict::Confirm || terms.hook.record;
        if !must_ask || self.continues(&call.message, &digest) {
            return Ending::Go { permit: None, digest };
        }
        let case = Case { action: &action, context, judgement };
        match self.asked_person(call, &case, &terms).await {
            Ok(permit) => {
                self.agreed(&case);
                Ending::Go { permit: Some(permit), digest }
            }
            Err(ending) => ending,
        }
    }

    /// What the call is, and what is true around it, as far as that can be found out.
    async fn prepared(&self, call: &Call, action: Action) -> (Action, countersign_core::Context) {
        let mut action = action;
        if call.message.method() == Some("tools/call") {
            if !self.knows(&action) {
                // What it is, its server says; without that it is judged by its name.
                let _ = timeout(LISTS_WITHIN, self.learn_all(&call.message)).await;
            }
            // Always: another call may have had the tools listed since this one was read.
            let tools = lock(&self.house.tools);
            action = subject::call(&call.message, &self.house.server, &tools).unwrap_or(action);
        }
        let mut context = self.context(&action);
        let domains = subject::domains(&action);
        if !domains.is_empty() {
            let (names, mut found) = (domains.clone(), context.clone());
            let resolving = tokio::task::spawn_blocking(move || {
                subject::resolve(&names, &mut found);
                found
            });
            match timeout(RESOLVES_WITHIN, resolving).await {
                Ok(Ok(found)) => context = found,
                Ok(Err(_)) | Err(_) => subject::unresolved(&domains, &mut context),
            }
        }
        (action, context)
    }

    fn knows(&self, action: &Action) -> bool {
        matches!(action, Action::Tool { tool, .. } if lock(&self.house.tools).knows(tool))
    }

    /// Asks the server what its tools are, as the client would.
    async fn learn_all(&self, like: &Message) -> Option<()> {
        let mut cursor: Option<Json> = None;
        for page in 0..MOST_PAGES {
            let mut params = Object::default();
            if let Some(cursor) = cursor.take() {
                params.set("cursor", cursor);
            }
            let answer = self.ask(Side::Server, "tools/list", params, Some(like)).await?;
            let result = answer.result()?;
            self.learn(result.get("tools")?.as_array()?, page == 0).ok()?;
            cursor = Some(result.get("nextCursor")?.clone());
        }
        None
    }

    /// A person's yes to a tool that has changed is a yes to what it is now.
    fn agreed(&self, case: &Case<'_>) {
        let changed = |rule: &str| rule == "tool.call.changed";
        let Action::Tool { server, tool, .. } = case.action else { return };
        if case.judgement.findings.iter().any(|finding| changed(&finding.rule))
            && let Some(digest) = countersign_core::analyze::tool::definition(case.action)
            && let Err(error) = lock(&self.house.pins).agree(format!("{server}/{tool}"), digest)
        {
            self.complain(&format!("the new definition cannot be kept: {error:#}"));
        }
    }

    async fn asked_person(
        &self,
        call: &Call,
        case: &Case<'_>,
        terms: &Arc<Terms>,
    ) -> Result<Permit, Ending> {
        let (options, label) = (terms.hook.clone(), format!("MCP {}", self.house.server));
        let folder = self.house.folder.clone();
        let opening =
            tokio::task::spawn_blocking(move || Desk::open(&options, Some(&folder), label, A_DAY));
        let desk = match opening.await {
            Ok(Ok(desk)) => desk,
            Ok(Err(error)) => return Err(nobody(&case.judgement, &format!("{error:#}"))),
            Err(_) => return Err(nobody(&case.judgement, "asking failed")),
        };
        if let Some(approval) = resumed(&call.message)
            && is_declined(&call.message)
        {
            let _ = desk.withdraw(approval).await;
            return Err(Ending::No(DECLINED.to_owned()));
        }
        let outcome = self.waited(call, case, &desk, terms).await?;
        match outcome {
            Outcome::Agreed(permitted) | Outcome::Permitted(permitted) => {
                Ok(Permit { desk, permitted })
            }
            Outcome::Refused(why) => Err(Ending::No(why)),
            Outcome::Nobody(why) => Err(nobody(&case.judgement, &why)),
        }
    }

    /// Waits for a person, or until nobody wants to know any more.
    async fn waited(
        &self,
        call: &Call,
        case: &Case<'_>,
        desk: &Desk,
        terms: &Terms,
    ) -> Result<Outcome, Ending> {
        let (asked, mut questions) = mpsc::unbounded_channel();
        let waiter = Asked(asked);
        let mut asking = pin!(async {
            match resumed(&call.message) {
                Some(approval) => desk.resume(case, approval, &waiter).await,
                None => desk.ask(case, &waiter).await,
            }
        });
        let mut question = resumed(&call.message).map(str::to_owned);
        let mut shown: Shown<'_> = Box::pin(pending());
        let mut ticks = interval(SHOW_PROGRESS);
        let (mut is_cancelled, mut steps) = (false, 0_u32);
        loop {
            tokio::select! {
                outcome = &mut asking => {
                    return if is_cancelled { Err(unused(desk, outcome).await) } else { Ok(outcome) };
                }
                Some(approval) = questions.recv() => {
                    if is_cancelled {
                        let _ = desk.withdraw(&approval).await;
                        return Err(Ending::Cancelled);
                    }
                    if let Some(link) = self.link(call, case, desk, terms, &approval) {
                        match call.message.era() {
                            Era::Modern => return Err(Ending::Link(input_required(call, &link))),
                            Era::Legacy => shown = Box::pin(self.show(link)),
                        }
                    }
                    question = Some(approval);
                }
                () = call.cancelled.notified(), if !is_cancelled => {
                    // A question that is just being put is taken back once it has a name.
                    is_cancelled = true;
                    if let Some(approval) = &question {
                        let _ = desk.withdraw(approval).await;
                        return Err(Ending::Cancelled);
                    }
                }
                says_no = &mut shown => {
                    shown = Box::pin(pending());
                    if let (true, Some(approval)) = (says_no, &question) {
                        let _ = desk.withdraw(approval).await;
                        return Err(Ending::No(DECLINED.to_owned()));
                    }
                }
                _ = ticks.tick() => {
                    steps = steps.saturating_add(1);
                    self.show_progress(call, steps);
                }
            }
        }
    }

    /// Tells the client that its call is alive.
    fn show_progress(&self, call: &Call, steps: u32) {
        let Some(token) = call.message.progress_token().filter(|_| call.to == Side::Server) else {
            return;
        };
        // It must grow, and what the server says later begins at nothing.
        let progress = Json::Number(format!("-{}", 1.0 / f64::from(steps.max(1))).into());
        let params = Object::default().with("progressToken", token.clone());
        let params = params.with("progress", progress).with("message", "Waiting for a person");
        self.to_client(&Message::notification("notifications/progress", params));
    }

    /// Where a person can answer, for a client that can show it.
    fn link(
        &self,
        call: &Call,
        case: &Case<'_>,
        desk: &Desk,
        terms: &Terms,
        approval: &str,
    ) -> Option<Link> {
        let capabilities = lock(&self.capabilities).clone();
        let said = match call.message.era() {
            Era::Modern => call.message.capabilities(),
            Era::Legacy => capabilities.as_ref(),
        };
        let can = said.and_then(|said| said.get("elicitation")?.get("url")).is_some();
        if !can || !terms.mcp.show_links || call.to == Side::Client {
            return None;
        }
        let message = format!("Countersign asks: {}", one_line(&case.judgement.reason));
        Some(Link { approval: approval.to_owned(), url: desk.link(approval)?, message })
    }

    /// Shows a link in the old era. Whether the person would rather not: that is a no, while
    /// opening it says nothing yet.
    async fn show(&self, link: Link) -> bool {
        let approval = Json::from(link.approval.as_str());
        let params = link.params().with("elicitationId", approval);
        let answer = self.ask(Side::Client, "elicitation/create", params, None).await;
        let said = answer.as_ref().and_then(|answer| answer.result()?.get("action")?.as_str());
        said == Some("decline")
    }

    /// Tells the gate how it went, without keeping anybody waiting.
    pub(super) fn report(self: &Arc<Self>, permit: Permit, went: bool) {
        let Ok(runtime) = self.house.runtime() else { return };
        self.busy.0.fetch_add(1, Ordering::SeqCst);
        let this = Arc::clone(self);
        runtime.spawn(async move {
            if let Err(error) = permit.desk.report(&permit.permitted, went).await {
                this.complain(&format!("the server was not told how a call went: {error}"));
            }
            this.busy.0.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

/// Ends with whether the person would rather not.
type Shown<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// A question's page.
struct Link {
    approval: String,
    url: String,
    message: String,
}

impl Link {
    fn params(&self) -> Object {
        let params = Object::default().with("mode", "url").with("url", self.url.as_str());
        params.with("message", self.message.as_str())
    }
}

/// Passes on that a question has a name now.
struct Asked(mpsc::UnboundedSender<String>);

impl Waiter for Asked {
    fn left(&self) -> Duration {
        A_DAY
    }

    fn asked(&self, approval: &str) {
        let _ = self.0.send(approval.to_owned());
    }
}

const DECLINED: &str = "Countersign: the person would rather not, so this is refused.";

fn nobody(judgement: &Judgement, why: &str) -> Ending {
    Ending::No(hook::nobody(judgement, why))
}

/// A yes to something that nobody wants any more.
async fn unused(desk: &Desk, outcome: Outcome) -> Ending {
    if let Outcome::Agreed(permitted) | Outcome::Permitted(permitted) = outcome {
        let _ = desk.report(&permitted, false).await;
    }
    Ending::Cancelled
}

/// Sends a client of the new era to the question's page.
fn input_required(call: &Call, link: &Link) -> Message {
    let request =
        Object::default().with("method", "elicitation/create").with("params", link.params());
    let result = Object::default()
        .with("resultType", "input_required")
        .with("requestState", format!("{STATE}{}", link.approval))
        .with("inputRequests", Object::default().with(OURS, request));
    Message::success(&call.id, result)
}

fn is_declined(message: &Message) -> bool {
    let said = message.param("inputResponses").and_then(|said| said.get(OURS)?.get("action"));
    said.and_then(Json::as_str) == Some("decline")
}

/// A call as its server knows it.
fn without_ours(mut message: Message) -> Message {
    if resumes(&message)
        && let Some(params) = message.params_mut()
    {
        params.remove("requestState");
        let said = params.get_mut("inputResponses").and_then(Json::as_object_mut);
        let is_empty = said.is_none_or(|said| {
            said.remove(OURS);
            said.iter().next().is_none()
        });
        if is_empty {
            params.remove("inputResponses");
        }
    }
    message
}
