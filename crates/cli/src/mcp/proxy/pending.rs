//! Calls that cannot be answered at once, because something must be asked first.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::{Action, Verdict};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::person::{OURS, Permit};
use super::{Proxy, ServerState, Side, lock};
use crate::approval_client::JudgedAction;
use crate::hook;
use crate::judging;
use crate::mcp::json::{Json, Object};
use crate::mcp::message::{Id, Message, code};
use crate::mcp::to_action;

/// The prefix of our states. A state names a question and proves nothing: the gate checks whether
/// that question was approved, for exactly this call.
pub(super) const STATE: &str = "countersign:";
const LISTS_WITHIN: Duration = Duration::from_secs(10);
const RESOLVES_WITHIN: Duration = Duration::from_secs(5);
/// The most pages of tools that are read for one call.
const MOST_PAGES: usize = 100;

/// A held request, which can be cancelled.
#[derive(Debug, Default)]
pub(super) struct PendingCall(Arc<Notify>);

impl PendingCall {
    /// Cancels the request, because the asker wants no answer any more.
    pub(super) fn cancel(&self) {
        self.0.notify_one();
    }
}

/// A request that is being judged.
pub(super) struct Call {
    pub(super) id: Id,
    pub(super) message: Message,
    pub(super) to: Side,
    pub(super) cancelled: Arc<Notify>,
}

/// The outcome of a held request.
pub(super) enum Ending {
    Go {
        permit: Option<Permit>,
        digest: String,
    },
    No(String),
    /// The client shows its person the page for answering, and calls again.
    Link(Message),
    Cancelled,
}

/// Reports whether a client comes back from a question to which it was sent.
pub(super) fn resumes(message: &Message) -> bool {
    resumed(message).is_some()
}

/// The question from which it comes back.
pub(super) fn resumed(message: &Message) -> Option<&str> {
    message.param("requestState")?.as_str()?.strip_prefix(STATE)
}

impl ServerState {
    /// Returns the runtime for everything that takes time.
    ///
    /// # Errors
    /// The system provides no thread.
    pub(crate) fn runtime(&self) -> io::Result<&Runtime> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let made = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(self.runtime.get_or_init(|| made))
    }
}

impl Proxy {
    /// Holds a request until its question is settled.
    pub(super) fn hold(self: &Arc<Self>, id: Id, message: Message, action: Action, to: Side) {
        let pending = PendingCall::default();
        let cancelled = Arc::clone(&pending.0);
        let call = Call { id, message, to, cancelled };
        let runtime = match self.server_state.runtime() {
            Ok(runtime) => runtime,
            Err(error) => return self.say_no(&call, &format!("Countersign cannot ask: {error}")),
        };
        lock(&self.pending).insert((to, call.id.clone()), pending);
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
            // A panic is a refusal, too.
            if settled.await.is_err() {
                let why = "Countersign failed internally, so this is refused".to_owned();
                watcher.end(broken, Ending::No(why));
            }
        });
    }

    fn end(&self, call: Call, ending: Ending) {
        // The first to remove it decides, so that it happens only once.
        if lock(&self.pending).remove(&(call.to, call.id.clone())).is_none() {
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
        let active_config = match self.active_config() {
            Ok(active_config) => active_config,
            Err(why) => return Ending::No(why),
        };
        let prepared = pin!(self.prepared(call, action));
        let (action, context) = tokio::select! {
            prepared = prepared => prepared,
            () = call.cancelled.notified() => return Ending::Cancelled,
        };
        let mut context = context;
        let judgement =
            match judging::judge_with_facts(&action, &active_config.policy, &mut context) {
                Ok(judgement) => judgement,
                Err(panicked) => return Ending::No(panicked.to_string()),
            };
        let digest = judgement.digest.clone();
        if judgement.verdict == Verdict::Block {
            return Ending::No(hook::refusal(&judgement));
        }
        let must_ask = judgement.verdict >= Verdict::Confirm || active_config.hook.record;
        if !must_ask || self.continues(&call.message, &digest) {
            return Ending::Go { permit: None, digest };
        }
        let judged_action = JudgedAction { action: &action, context, judgement };
        match self.asked_person(call, &judged_action, &active_config).await {
            Ok(permit) => {
                self.agreed(&judged_action);
                Ending::Go { permit: Some(permit), digest }
            }
            Err(ending) => ending,
        }
    }

    /// Completes the action and its context, as far as they can be established.
    async fn prepared(&self, call: &Call, action: Action) -> (Action, countersign_core::Context) {
        let mut action = action;
        if call.message.method() == Some("tools/call") {
            if !self.knows(&action) {
                // Its server describes the tool; without that it is judged by its name.
                let _ = timeout(LISTS_WITHIN, self.learn_about(&action, &call.message)).await;
            }
            // Always: another call may have listed the tools since this one was parsed.
            let tools = lock(&self.server_state.tools);
            action =
                to_action::call(&call.message, &self.server_state.server, &tools).unwrap_or(action);
        }
        let mut context = self.context(&action);
        let domains = to_action::domains(&action);
        if !domains.is_empty() {
            let (names, mut found) = (domains.clone(), context.clone());
            let resolving = tokio::task::spawn_blocking(move || {
                to_action::resolve(&names, &mut found);
                found
            });
            match timeout(RESOLVES_WITHIN, resolving).await {
                Ok(Ok(found)) => context = found,
                Ok(Err(_)) | Err(_) => to_action::unresolved(&domains, &mut context),
            }
        }
        (action, context)
    }

    fn knows(&self, action: &Action) -> bool {
        matches!(action, Action::Tool { tool, .. } if lock(&self.server_state.tools).knows(tool))
    }

    /// Lists the tools, once for all calls that arrive before anything is known.
    async fn learn_about(&self, action: &Action, like: &Message) {
        let _turn = self.server_state.listing.lock().await;
        if !self.knows(action) {
            self.learn_all(like).await;
        }
    }

    /// Requests the list of tools from the server, as the client would.
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

    /// Pins the new definition of a tool that has changed, if a person has approved the call.
    fn agreed(&self, judged_action: &JudgedAction<'_>) {
        let changed = |rule: &str| rule == "tool.call.changed";
        let Action::Tool { server, tool, .. } = judged_action.action else { return };
        if judged_action.judgement.findings.iter().any(|finding| changed(&finding.rule))
            && let Some(digest) = countersign_core::analyze::tool::definition(judged_action.action)
            && let Err(error) =
                lock(&self.server_state.pins).agree(format!("{server}/{tool}"), digest)
        {
            self.complain(&format!("the new definition cannot be stored: {error:#}"));
        }
    }
}

/// Removes our fields from a call, as its server expects it.
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
