//! Asks a person about a held call, and shows the page for answering to clients that support it.

use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::interval;

use super::pending::{Call, Ending, STATE, resumed};
use super::{Proxy, Side, lock};
use crate::approval_client::{
    A_DAY, ApprovalClient, JudgedAction, Outcome, Patient, Permitted, Stranded,
};
use crate::hook;
use crate::mcp::active_config::ActiveConfig;
use crate::mcp::json::{Json, Object};
use crate::mcp::message::{Era, Message};
use crate::show::one_line;

/// The key of our own input request.
pub(super) const OURS: &str = "countersign";
const SHOW_PROGRESS: Duration = Duration::from_secs(10);

/// The permit by which the gate can be told the result of a call.
#[derive(Debug)]
pub(super) struct Permit {
    approval_client: Box<ApprovalClient>,
    permitted: Permitted,
}

/// Counts the tasks that must not be cut off.
#[derive(Debug, Default)]
pub(super) struct Busy(AtomicUsize);

impl Busy {
    pub(super) fn is_idle(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

impl Proxy {
    /// Asks a person.
    ///
    /// # Errors
    /// It was not approved; the outcome instead.
    pub(super) async fn asked_person(
        &self,
        call: &Call,
        judged_action: &JudgedAction<'_>,
        active_config: &Arc<ActiveConfig>,
    ) -> Result<Permit, Ending> {
        let (options, label) =
            (active_config.hook.clone(), format!("MCP {}", self.server_state.server));
        let (folder, asker) = (self.server_state.folder.clone(), label.clone());
        let nobody = |why: &str| {
            let folder = Some(self.server_state.folder.as_path());
            let stranded = Stranded { options: &active_config.hook, folder, asker: &asker };
            Ending::No(hook::refused_alone(judged_action, &stranded, why))
        };
        let opening = tokio::task::spawn_blocking(move || {
            ApprovalClient::open(&options, Some(&folder), label, A_DAY)
        });
        let approval_client = match opening.await {
            Ok(Ok(approval_client)) => approval_client,
            Ok(Err(error)) => return Err(nobody(&format!("{error:#}"))),
            Err(_) => return Err(nobody("asking failed")),
        };
        if let Some(approval) = resumed(&call.message)
            && is_declined(&call.message)
        {
            let declined = Ending::No(DECLINED.to_owned());
            return Err(withdrawn(&approval_client, approval, declined).await);
        }
        let outcome = self.waited(call, judged_action, &approval_client, active_config).await?;
        match outcome {
            Outcome::Agreed(permitted) | Outcome::Permitted(permitted) => {
                Ok(Permit { approval_client: Box::new(approval_client), permitted })
            }
            Outcome::Refused(why) => Err(Ending::No(why)),
            Outcome::Nobody(why) | Outcome::NoAnswer(why) => Err(nobody(&why)),
        }
    }

    /// Waits for a person, or until the request is cancelled.
    async fn waited(
        &self,
        call: &Call,
        judged_action: &JudgedAction<'_>,
        approval_client: &ApprovalClient,
        active_config: &ActiveConfig,
    ) -> Result<Outcome, Ending> {
        // A client that is sent to a page comes back for its answer; any other waits all the time.
        let stays = call.message.era() == Era::Legacy || !self.can_link(call, active_config);
        let (waiter, mut questions) =
            Patient::new(stays, call.message.call_id().map(str::to_owned));
        let mut asking = pin!(settled(call, judged_action, approval_client, &waiter));
        let mut question = resumed(&call.message).map(str::to_owned);
        let mut linked: Option<String> = None;
        let mut shown: Shown<'_> = Box::pin(pending());
        let (mut ticks, mut steps, mut is_cancelled) = (interval(SHOW_PROGRESS), 0_u32, false);
        loop {
            tokio::select! {
                outcome = &mut asking => {
                    if let Some(approval) = &linked {
                        self.close_link(approval);
                    }
                    return if is_cancelled { Err(unused(approval_client, outcome).await) } else { Ok(outcome) };
                }
                Some(approval) = questions.recv() => {
                    if is_cancelled {
                        return Err(withdrawn(approval_client, &approval, Ending::Cancelled).await);
                    }
                    if let Some(link) = self.link(call, judged_action, approval_client, active_config, &approval) {
                        match call.message.era() {
                            Era::Modern => return Err(Ending::Link(input_required(call, &link))),
                            Era::Legacy => {
                                linked = Some(approval.clone());
                                shown = Box::pin(self.show(link));
                            }
                        }
                    }
                    question = Some(approval);
                }
                () = call.cancelled.notified(), if !is_cancelled => {
                    // A question that is just being created is withdrawn once its id is known.
                    is_cancelled = true;
                    if let Some(approval) = &question {
                        return Err(withdrawn(approval_client, approval, Ending::Cancelled).await);
                    }
                }
                says_no = &mut shown => {
                    shown = Box::pin(pending());
                    if let (true, Some(approval)) = (says_no, &question) {
                        let declined = Ending::No(DECLINED.to_owned());
                        return Err(withdrawn(approval_client, approval, declined).await);
                    }
                }
                _ = ticks.tick() => {
                    steps = steps.saturating_add(1);
                    self.show_progress(call, steps);
                }
            }
        }
    }

    /// Tells the client that its call is still pending.
    fn show_progress(&self, call: &Call, steps: u32) {
        let Some(token) = call.message.progress_token().filter(|_| call.to == Side::Server) else {
            return;
        };
        // The value must grow, and the server's own progress starts at zero.
        let progress = Json::Number(format!("-{}", 1.0 / f64::from(steps.max(1))).into());
        let params = Object::default().with("progressToken", token.clone());
        let params = params.with("progress", progress).with("message", "Waiting for a person");
        self.to_client(&Message::notification("notifications/progress", params));
    }

    /// The page on which a person can answer, for a client that can show it.
    fn link(
        &self,
        call: &Call,
        judged_action: &JudgedAction<'_>,
        approval_client: &ApprovalClient,
        active_config: &ActiveConfig,
        approval: &str,
    ) -> Option<Link> {
        if !self.can_link(call, active_config) {
            return None;
        }
        let message = format!("Countersign asks: {}", one_line(&judged_action.judgement.reason));
        Some(Link { approval: approval.to_owned(), url: approval_client.link(approval)?, message })
    }

    /// Reports whether the client can show such a page.
    fn can_link(&self, call: &Call, active_config: &ActiveConfig) -> bool {
        let capabilities = lock(&self.capabilities).clone();
        let said = match call.message.era() {
            Era::Modern => call.message.capabilities(),
            Era::Legacy => capabilities.as_ref(),
        };
        let can = said.and_then(|said| said.get("elicitation")?.get("url")).is_some();
        can && active_config.mcp.show_links && call.to == Side::Server
    }

    /// Shows a link in the old era. Returns whether the person declined, which is a no; opening the
    /// page does not decide anything yet.
    async fn show(&self, link: Link) -> bool {
        let approval = Json::from(link.approval.as_str());
        let params = link.params().with("elicitationId", approval);
        let answer = self.ask(Side::Client, "elicitation/create", params, None).await;
        let said = answer.as_ref().and_then(|answer| answer.result()?.get("action")?.as_str());
        said == Some("decline")
    }

    /// Tells the client that the page is no longer needed.
    fn close_link(&self, approval: &str) {
        let params = Object::default().with("elicitationId", approval);
        self.to_client(&Message::notification("notifications/elicitation/complete", params));
    }

    /// Reports the result to the gate in the background.
    pub(super) fn report(self: &Arc<Self>, permit: Permit, went: bool) {
        let Ok(runtime) = self.server_state.runtime() else { return };
        self.busy.0.fetch_add(1, Ordering::SeqCst);
        let this = Arc::clone(self);
        runtime.spawn(async move {
            if let Err(error) = permit.approval_client.report(&permit.permitted, went).await {
                this.complain(&format!("the server was not told how a call went: {error}"));
            }
            this.busy.0.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

/// Resolves to whether the person declined.
type Shown<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// The page of a question.
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

const DECLINED: &str = "Countersign: the person would rather not, so this is refused.";

/// Asks a new question, or waits for the one that the client continues.
async fn settled(
    call: &Call,
    judged_action: &JudgedAction<'_>,
    approval_client: &ApprovalClient,
    waiter: &Patient,
) -> Outcome {
    match resumed(&call.message) {
        Some(approval) => approval_client.resume(judged_action, approval, waiter).await,
        None => approval_client.ask(judged_action, waiter).await,
    }
}

/// Withdraws a question, whose call ends like this. Without a server, it expires.
async fn withdrawn(approval_client: &ApprovalClient, approval: &str, ending: Ending) -> Ending {
    let _ = approval_client.withdraw(approval).await;
    ending
}

/// Reports an approval that is no longer needed as not carried out.
async fn unused(approval_client: &ApprovalClient, outcome: Outcome) -> Ending {
    if let Outcome::Agreed(permitted) | Outcome::Permitted(permitted) = outcome {
        let _ = approval_client.report(&permitted, false).await;
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
