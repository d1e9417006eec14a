//! Asks a person through a running server, and waits for the answer.
//!
//! Hooks and the MCP proxy submit on the agent's behalf and never answer: over the socket they
//! propose as the owner's assistant, over a URL with the key in `$COUNTERSIGN_KEY` and, where that
//! key is bound to a machine, the machine's secret in `$COUNTERSIGN_MACHINE`. The secret of a
//! person's device is never read.
//!
//! A restart of the server is not an answer: a pending question is found again by its id, a
//! proposal by its session or run.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use countersign_core::{Action, Context, Judgement, Verdict};
use countersign_gate::clock::{System, random};
use countersign_wire::{
    ApprovalCard, ApprovalState, ConfirmationAnswer, Confirmed, Outcome as Done, Proposed, path,
};
use serde_json::{Map, Value, json};

use crate::client::{Address, Client, ClientError, typed};
use crate::data;
use crate::listing::{field, part};

mod agent;
mod fallback;
mod journal;
mod open;
mod outcome;
mod reach;
mod waiting;

pub(crate) use agent::{machine_name, register};
pub(crate) use fallback::{Fallback, HostCan, Stranded};
pub(crate) use journal::Journal;
pub(crate) use outcome::{Outcome, Permitted};
pub(crate) use waiting::{Patient, Waiter};

use outcome::{OTHER_ACTION, agreed, edited, failed, said_no, unasked};
use reach::{Call, Stage, reach};
use waiting::Pace;

/// The seconds of one long poll at the server; then it is repeated.
const WAIT: u32 = 25;

/// Longer than any question waits.
pub(crate) const A_DAY: Duration = Duration::from_hours(24);

/// One action with our judgement.
#[derive(Debug)]
pub(crate) struct JudgedAction<'a> {
    pub(crate) action: &'a Action,
    pub(crate) context: Context,
    pub(crate) judgement: Judgement,
}

impl JudgedAction<'_> {
    /// Reports whether a person must approve it.
    pub(crate) fn must_ask(&self) -> bool {
        self.judgement.verdict >= Verdict::Confirm
    }
}

/// A client of the server through which questions are asked.
#[derive(Debug, Clone)]
pub(crate) struct ApprovalClient {
    client: Client,
    /// The label of the agent's session, if it has one.
    session: Option<String>,
    /// The name of the agent's run, if it runs without a session.
    run: Option<String>,
    /// The data folder, for decisions that are not delivered yet.
    folder: Option<PathBuf>,
}

impl ApprovalClient {
    /// The client of the server.
    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// Asks about one action, and waits for the outcome.
    pub(crate) async fn ask(
        &self,
        judged_action: &JudgedAction<'_>,
        waiter: &impl Waiter,
    ) -> Outcome {
        self.settle(judged_action, waiter).await.unwrap_or_else(|error| failed(&error))
    }

    /// Continues to wait for a question that was asked before, and spends an approval on exactly
    /// this action.
    pub(crate) async fn resume(
        &self,
        judged_action: &JudgedAction<'_>,
        approval: &str,
        waiter: &impl Waiter,
    ) -> Outcome {
        let resumed = async {
            let (session, proposal) = self.proposal(judged_action, waiter).await?;
            self.wait(approval, &proposal, session.as_deref(), waiter).await
        };
        resumed.await.unwrap_or_else(|error| failed(&error))
    }

    /// Asks a person a question that is not about an action, and returns the answer: `approved`,
    /// and feedback if there is some.
    ///
    /// # Errors
    /// Nobody can be asked, or it was refused.
    pub(crate) async fn confirm(
        &self,
        question: &Map<String, Value>,
        waiter: &impl Waiter,
    ) -> Result<Confirmed, Outcome> {
        let confirmed = async {
            let mut question = question.clone();
            if let Some(label) = &self.session {
                let session = self.session(label, waiter).await?;
                question.insert("session_id".to_owned(), Value::from(session));
            }
            let mut pace = Pace::new();
            loop {
                let body = Value::Object(question.clone());
                pace.asks();
                let stage = match question.get("approval_id") {
                    Some(_) => Stage::Waiting,
                    None => Stage::First,
                };
                let path = path::CONFIRMATIONS;
                let call = Call { path, body: Some(&body), wait: Some(WAIT), once: None };
                let answer = reach(&self.client, call, stage, waiter).await?.body;
                let id = match typed(answer)? {
                    ConfirmationAnswer::Answered(confirmed) => return Ok(confirmed),
                    ConfirmationAnswer::Waiting(waiting) => waiting.approval_id,
                };
                let known = question.insert("approval_id".to_owned(), Value::from(id.as_str()));
                if known.is_none() {
                    waiter.asked(self, &id);
                }
                pace.pause(waiter.left()).await;
            }
        };
        confirmed.await.map_err(|error| failed(&error))
    }

    /// The page on which a person can answer a question, if it is known.
    pub(crate) fn link(&self, approval: &str) -> Option<String> {
        let server = match self.client.address() {
            Address::Socket(socket) => fs::read_to_string(socket.with_file_name(data::URL)).ok()?,
            url => url.to_string(),
        };
        Some(format!("{}/approvals/{}", server.trim().trim_end_matches('/'), part(approval)))
    }

    /// Withdraws a question whose answer is no longer needed.
    pub(crate) async fn withdraw(&self, approval: &str) -> Result<(), ClientError> {
        let path = path::of(path::APPROVAL_WITHDRAW, &[approval]);
        self.client.post(&path, &Value::Null).await.map(drop)
    }

    /// Reports the result of a permitted action.
    pub(crate) async fn report(
        &self,
        permitted: &Permitted,
        went: bool,
    ) -> Result<(), ClientError> {
        let path = path::of(path::ACTION_REPORT, &[&permitted.action]);
        let outcome = if went { Done::Done } else { Done::Failed };
        let body = json!({"outcome": outcome, "session_id": permitted.session});
        self.client.post(&path, &body).await.map(drop)
    }

    async fn settle(
        &self,
        judged_action: &JudgedAction<'_>,
        waiter: &impl Waiter,
    ) -> Result<Outcome, ClientError> {
        self.deliver().await;
        loop {
            let (session, proposal) = self.proposal(judged_action, waiter).await?;
            let answer = self.post(path::ACTIONS, &proposal, waiter).await?;
            self.learn().await;
            let id = match typed(answer)? {
                Proposed::Permitted { action_id, by, judgement, .. } => {
                    let permitted = Permitted::of(action_id, by, session.as_deref());
                    return Ok(unasked(judged_action, judgement.as_deref(), permitted));
                }
                Proposed::Waiting { approval_id, .. } => approval_id,
                // We run it ourselves, and never ask for a worker.
                Proposed::Executing(_) | Proposed::Executed(_) => return Err(ClientError::Unknown),
            };
            waiter.asked(self, &id);
            match self.waited(&id, &proposal, session.as_deref(), waiter).await? {
                Waited::Over(outcome) => return Ok(outcome),
                // The question was withdrawn while the server could not be reached: nobody can
                // answer it any more, but this asker still waits.
                Waited::Lost => {}
            }
        }
    }

    /// Delivers the decisions that were made without the server. Those that the server does not
    /// take now are kept, and `countersign doctor` reports them.
    pub(crate) async fn deliver(&self) {
        if let Some(folder) = &self.folder {
            let _ = Journal::in_folder(folder).deliver(&self.client).await;
        }
    }

    /// Caches the server's quorum rules, which are needed when it cannot be reached. Without them
    /// nothing is left to the host then, so a failure here is safe.
    pub(crate) async fn learn(&self) {
        if let Some(folder) = &self.folder {
            let server = self.client.address().to_string();
            let _ = fallback::learn(&self.client, folder, &server).await;
        }
    }

    /// Caches the server's quorum rules as they are now.
    ///
    /// # Errors
    /// The server does not send them, or they cannot be stored.
    pub(crate) async fn learn_now(&self) -> anyhow::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        fallback::fetch(&self.client, folder, &self.client.address().to_string()).await
    }

    /// Sends a request that does not wait for a person.
    async fn post(
        &self,
        path: &str,
        body: &Value,
        waiter: &impl Waiter,
    ) -> Result<Value, ClientError> {
        let call = Call { path, body: Some(body), wait: None, once: None };
        Ok(reach(&self.client, call, Stage::First, waiter).await?.body)
    }

    /// The session and the proposal of an action.
    async fn proposal(
        &self,
        judged_action: &JudgedAction<'_>,
        waiter: &impl Waiter,
    ) -> Result<(Option<String>, Value), ClientError> {
        let session = match &self.session {
            Some(label) => Some(self.session(label, waiter).await?),
            None => None,
        };
        let proposal = json!({
            "action": judged_action.action, "context": judged_action.context, "session_id": session,
            "waits": waiter.waits(), "relays": waiter.relays(), "call_id": waiter.call_id(),
            "run": self.run,
        });
        Ok((session, proposal))
    }

    /// Waits until a person has answered, then spends an approval.
    async fn wait(
        &self,
        id: &str,
        proposal: &Value,
        session: Option<&str>,
        waiter: &impl Waiter,
    ) -> Result<Outcome, ClientError> {
        match self.waited(id, proposal, session, waiter).await? {
            Waited::Over(outcome) => Ok(outcome),
            Waited::Lost => Ok(Outcome::Refused(said_no(ApprovalState::Cancelled, None))),
        }
    }

    /// Waits as [`Self::wait`] does, but tells a question that was withdrawn meanwhile apart.
    async fn waited(
        &self,
        id: &str,
        proposal: &Value,
        session: Option<&str>,
        waiter: &impl Waiter,
    ) -> Result<Waited, ClientError> {
        let mut id = id.to_owned();
        let mut pace = Pace::new();
        let mut was_away = false;
        while !waiter.left().is_zero() {
            pace.asks();
            let path = path::of(path::APPROVAL, &[&id]);
            let call = Call { path: &path, body: None, wait: Some(WAIT), once: None };
            let answer = reach(&self.client, call, Stage::Waiting, waiter).await?;
            was_away |= answer.was_away;
            let card: ApprovalCard = typed(answer.body)?;
            match (card.state, &card.replaced_by) {
                (ApprovalState::Pending, _) => pace.pause(waiter.left()).await,
                (ApprovalState::Approved, _) => {
                    let edited = match edited(&card, proposal) {
                        Ok(Some(edited)) if !waiter.takes(&edited) => {
                            return Ok(refused(waiting::changed(&edited)));
                        }
                        Ok(edited) => edited,
                        Err(_) => return Ok(refused(OTHER_ACTION.to_owned())),
                    };
                    let mut proposal = proposal.clone();
                    if let (Some(edited), Some(fields)) = (&edited, proposal.as_object_mut()) {
                        fields.insert("action".to_owned(), json!(edited));
                    }
                    let spent = self.spend(&id, &proposal, waiter).await?;
                    return Ok(Waited::Over(agreed(spent, edited, session)));
                }
                (ApprovalState::Cancelled, None) if was_away => return Ok(Waited::Lost),
                // A person has changed the action: wait for the question that replaces this one.
                (ApprovalState::Cancelled, Some(next)) => {
                    id.clone_from(next);
                    waiter.asked(self, &id);
                }
                (state, _) => return Ok(refused(said_no(state, card.feedback.as_deref()))),
            }
        }
        Ok(refused(said_no(ApprovalState::Expired, None)))
    }

    /// Spends an approval. A retry uses the same idempotency key and counts as the same use, so
    /// that an answer lost on the way is not a refusal.
    async fn spend(
        &self,
        id: &str,
        proposal: &Value,
        waiter: &impl Waiter,
    ) -> Result<Proposed, ClientError> {
        let name: Option<[u8; 16]> = random(&System).ok();
        let name = name.map(|bytes| format!("{:032x}", u128::from_be_bytes(bytes)));
        let (path, once) = (path::of(path::APPROVAL_SPEND, &[id]), name.as_deref());
        let call = Call { path: &path, body: Some(proposal), wait: None, once };
        typed(reach(&self.client, call, Stage::Waiting, waiter).await?.body)
    }

    /// Begins a session in which a worker of the server does what this agent proposes, or finds the
    /// one that it has begun.
    pub(crate) async fn session_with_worker(&self, label: &str) -> Result<String, ClientError> {
        let plan = json!({"task": label, "process": agent::process()});
        let body = json!({"consent": true, "reuse": true, "worker": true, "plan": plan});
        let made = self.client.post(path::SESSIONS, &body).await?;
        Ok(field(&made, "session_id").to_owned())
    }

    /// The session of this run of the agent. The server keeps it, so that no local file says to
    /// which session an agent belongs.
    async fn session(&self, label: &str, waiter: &impl Waiter) -> Result<String, ClientError> {
        let process = agent::process();
        let process = serde_json::to_value(process).unwrap_or_default();
        let plan = json!({"task": label, "process": process});
        let body = json!({"consent": true, "reuse": true, "plan": plan});
        let made = self.post(path::SESSIONS, &body, waiter).await?;
        Ok(field(&made, "session_id").to_owned())
    }
}

/// The result of waiting.
enum Waited {
    Over(Outcome),
    /// The question was withdrawn while its asker could not reach the server.
    Lost,
}

fn refused(why: String) -> Waited {
    Waited::Over(Outcome::Refused(why))
}
