//! Messages of a worker: how its work goes, and what that asks for.

use countersign_core::Action;
use countersign_gate::approval::{Outcome, State};
use countersign_gate::gate::{Causing, EndError};
use countersign_gate::id::{ActionId, ApprovalId};
use countersign_gate::{Caller, Proposal, Submitted};
use countersign_wire::work::{FromWorker, Secret, ToWorker};
use tokio::sync::watch;

use crate::app::App;
use crate::decision::Decision;
use crate::worker::{Connection, End};

/// Something that running work has caused.
struct Caused {
    action: Action,
    details: Vec<String>,
}

impl Connection {
    /// Takes one message. A worker that speaks of what it was not given is disconnected.
    pub(super) async fn hear(&self, text: &str) -> Result<(), End> {
        let message = serde_json::from_str(text);
        let message = message.map_err(|_| End::Wrong("a message is not understood".to_owned()))?;
        let gate = &self.worker.app.gate;
        let wrong = |error: &dyn std::fmt::Display| End::Wrong(error.to_string());
        match message {
            FromWorker::Hello { .. } => Err(End::Wrong("`hello` comes once".to_owned())),
            FromWorker::Began { action_id } => {
                gate.work_began(self.id(), &action(&action_id)?).map_err(|error| wrong(&error))
            }
            FromWorker::Piece { action_id, stream, text } => {
                let piece = gate.work_piece(self.id(), &action(&action_id)?, stream, &text);
                piece.map_err(|error| wrong(&error))
            }
            FromWorker::Ended { action_id, result } => {
                let ended = gate.work_ended(self.id(), &action(&action_id)?, *result).await;
                ended.map_err(|error| match error {
                    EndError::NotGiven(error) => wrong(&error),
                    EndError::Gate(error) => {
                        tracing::error!(%error, "the end of an action is not recorded");
                        End::Failed
                    }
                })
            }
            FromWorker::Described { request, element, error } => {
                let element = match (element, error) {
                    (Some(element), None) => Ok(*element),
                    (_, error) => Err(error.unwrap_or_else(|| "there is no page".to_owned())),
                };
                gate.element_described(self.id(), request, element);
                Ok(())
            }
            FromWorker::Fill { request, action_id, origin, field } => {
                let content = self.lent(&action(&action_id)?, &origin, &field).await;
                self.answer(ToWorker::Filled { request, content })
            }
            FromWorker::Propose { request, action_id, action: caused, details } => {
                self.propose(request, &action(&action_id)?, Caused { action: *caused, details })
            }
        }
    }

    /// One field of a credential, if it is lent.
    async fn lent(&self, id: &ActionId, origin: &str, field: &str) -> Option<Secret> {
        match self.worker.app.gate.lend(self.id(), id, origin, field).await {
            Ok(content) => Some(content),
            Err(error) => {
                tracing::warn!(%error, action = %id, "a field was not lent");
                None
            }
        }
    }

    fn answer(&self, answer: ToWorker) -> Result<(), End> {
        let sent = self.answering.try_send(answer);
        sent.map_err(|_| End::Wrong("too many questions at once".to_owned()))
    }

    /// Decides on something that running work has caused, beside the conversation.
    fn propose(&self, request: u64, id: &ActionId, caused: Caused) -> Result<(), End> {
        let Some(causing) = self.worker.app.gate.causing(self.id(), id) else {
            let reason = Some("no such work is running".to_owned());
            return self.answer(ToWorker::Decided { request, permitted: false, reason });
        };
        let (app, id, answering) = (self.worker.app.clone(), id.clone(), self.answering.clone());
        let gone = self.gone.subscribe();
        tokio::spawn(async move {
            let decided = decide(&app, causing, caused, gone).await;
            app.gate.answered(&id);
            let (permitted, reason) = (decided.is_ok(), decided.err());
            // The worker may have gone.
            let _ = answering.send(ToWorker::Decided { request, permitted, reason }).await;
        });
        Ok(())
    }
}

fn action(id: &str) -> Result<ActionId, End> {
    ActionId::parse(id).map_err(|error| End::Wrong(error.to_string()))
}

/// Has something judged like any other action of the session, and waits for a person where one is
/// asked. What is permitted goes on at once: it is the rest of something that runs already.
async fn decide(
    app: &App,
    causing: Causing,
    caused: Caused,
    mut gone: watch::Receiver<()>,
) -> Result<(), String> {
    let Causing { caller, session, context } = causing;
    let said = (!caused.details.is_empty()).then(|| caused.details.join("\n"));
    let proposal = Proposal {
        context,
        reasoning: said.map(|said| format!("As the worker reads it from the page:\n{said}")),
        ..Proposal::of(caused.action).within(&session)
    };
    let failed = |error: &dyn std::fmt::Display| format!("the gate did not decide: {error}");
    let submitted = app.gate.submit(&caller, &proposal).await.map_err(|error| failed(&error))?;
    let decision = Decision::of(&proposal, &submitted);
    app.metrics.decided(&decision);
    decision.log(app.settings.log_decisions);
    let permit = match submitted {
        Submitted::Permitted(permit, _) => permit,
        Submitted::Refused(refusal) => return Err(refusal.line()),
        Submitted::Waiting(waiting) => {
            agreed_to(app, &caller, &waiting.approval, &mut gone).await?;
            let spent = app.gate.spend(&caller, &waiting.approval, &proposal).await;
            spent.map_err(|error| failed(&error))?
        }
    };
    let redeemed = permit.redeem(&proposal.action, &proposal.context, &proposal.scripts);
    let id = redeemed.map_err(|error| failed(&error))?;
    let reported = app.gate.report(&caller, &id, Some(&session), Outcome::Done, None).await;
    reported.map_err(|error| failed(&error))
}

/// Waits for a person's yes.
async fn agreed_to(
    app: &App,
    caller: &Caller,
    approval: &ApprovalId,
    gone: &mut watch::Receiver<()>,
) -> Result<(), String> {
    let state = tokio::select! {
        state = app.gate.settled(caller, approval) => state,
        () = lost(gone) => return withdrawn(app, caller, approval).await,
        () = app.stopped() => return withdrawn(app, caller, approval).await,
    };
    match state.map_err(|error| format!("the gate did not decide: {error}"))? {
        State::Approved { .. } => Ok(()),
        State::Rejected { .. } => Err("a person said no to this".to_owned()),
        state => Err(format!("nobody agreed to this: it is {}", state.as_str())),
    }
}

/// Waits until the connection is gone.
async fn lost(gone: &mut watch::Receiver<()>) {
    while gone.changed().await.is_ok() {}
}

/// Withdraws a question that nobody waits for any more.
async fn withdrawn(app: &App, caller: &Caller, approval: &ApprovalId) -> Result<(), String> {
    if let Err(error) = app.gate.withdraw(caller, approval).await {
        tracing::warn!(%error, %approval, "a question was not withdrawn");
    }
    Err("the worker is gone".to_owned())
}
