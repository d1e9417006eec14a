//! An agent asks a person something, and is told yes or no.
//!
//! The question is an approval like any other, answered in the same places. Nothing has to run
//! after it, so a yes is used and reported at once.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use countersign_core::action::{Action, QUESTION};
use countersign_core::{Context, RiskLevel};
use countersign_gate::approval::{Outcome, State as Settled};
use countersign_gate::gate::{Card, SpendError};
use countersign_gate::id::{ApprovalId, SessionId, WorkspaceId};
use countersign_gate::proposal::{Refusal, Why};
use countersign_gate::{Caller, Permit, Proposal, Submitted};
use countersign_wire::{Confirmation, Confirmed, Unanswered, Waiting, path};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::api::action::{caller_of, decided, settled};
use crate::api::wait::{Wait, applied};
use crate::app::App;
use crate::auth::Asker;
use crate::body;
use crate::error::Problem;
use crate::idempotent::Within;
use crate::route::{Route, Who, post};

/// More text than a person reads before they answer.
const MOST_CHARACTERS: usize = 4_000;
const MOST_DETAILS: usize = 1_000;

/// A question of an agent to a person.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Question")]
struct Question {
    /// The subject, in one word of the agent's own, such as `batch_download`.
    action: Option<String>,
    /// The thing the person is to agree to.
    description: String,
    /// More lines below it.
    #[serde(default)]
    details: Vec<String>,
    /// The risk as the agent sees it: more than usual counts, less does not.
    risk_level: Option<RiskLevel>,
    session_id: Option<SessionId>,
    /// The workspace that an assistant works for, when a person is present and has more than one.
    workspace_id: Option<WorkspaceId>,
    /// The question to go on waiting for, which must be this very one.
    approval_id: Option<ApprovalId>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(path::CONFIRMATIONS, "request_confirmation")
            .by(Who::Either)
            .says("Asks a person, and returns their yes or no. With `Prefer: wait=30` waits that long for the answer; sent again with the `approval_id` it continues to wait.")
            .takes::<Question>()
            .gives::<Confirmed>(200)
            .gives::<Unanswered>(202)
            .decides()
            .to(request_confirmation),
    ]
}

impl Question {
    fn proposal(&self) -> Result<Proposal, Problem> {
        let texts = self.details.iter().chain(&self.action).chain([&self.description]);
        let long = texts.into_iter().any(|text| text.chars().count() > MOST_CHARACTERS);
        if long || self.details.len() > MOST_DETAILS {
            return Err(Problem::bad_request("that is more than a person can read at once"));
        }
        if self.description.trim().is_empty() {
            return Err(Problem::bad_request("`description` says nothing"));
        }
        let mut params = BTreeMap::from([("description".to_owned(), json!(self.description))]);
        if let Some(action) = &self.action {
            params.insert("action".to_owned(), json!(action));
        }
        if !self.details.is_empty() {
            params.insert("details".to_owned(), json!(self.details));
        }
        if let Some(risk) = self.risk_level {
            params.insert("risk_level".to_owned(), json!(risk));
        }
        let action = Action::Named { name: QUESTION.to_owned(), params };
        let proposal = Proposal { context: Context::default(), ..Proposal::of(action) };
        Ok(Proposal { session: self.session_id.clone(), ..proposal })
    }
}

async fn request_confirmation(
    State(app): State<App>,
    by: Asker,
    Wait(wait): Wait,
    body::Json(question): body::Json<Question>,
) -> Result<Response, Problem> {
    let proposal = question.proposal()?;
    let workspace = question.workspace_id.as_ref();
    let sessions: Vec<_> = question.session_id.clone().into_iter().collect();
    let (identity, shown) = by.split();
    let (caller, approval) = match question.approval_id {
        Some(approval) => (caller_of(identity, workspace)?, approval),
        None => match decided(&app, identity, &shown, workspace, &proposal).await? {
            (caller, Submitted::Waiting(waiting), _) => (caller, waiting.approval),
            (caller, Submitted::Permitted(permit, _), _) => {
                use_up(&app, &caller, &proposal, &permit).await?;
                return Ok(Within(yes(None), sessions).into_response());
            }
            (_, Submitted::Refused(refusal), _) => return refused(*refusal),
        },
    };
    let asked = Asked { app: &app, caller: &caller, approval: &approval, proposal: &proposal };
    let response = asked.answer(wait.unwrap_or_default()).await?;
    let mut response = Within(response, sessions).into_response();
    applied(response.headers_mut(), wait);
    Ok(response)
}

/// A no from earlier in this session is an answer; any other refusal is a problem.
fn refused(refusal: Refusal) -> Result<Response, Problem> {
    match refusal.why {
        Why::Declined(feedback) => Ok(no(feedback)),
        _ => Err(refusal.into()),
    }
}

/// A question that was put to a person.
struct Asked<'a> {
    app: &'a App,
    caller: &'a Caller,
    approval: &'a ApprovalId,
    proposal: &'a Proposal,
}

impl Asked<'_> {
    async fn answer(&self, wait: Duration) -> Result<Response, Problem> {
        let Self { app, caller, approval, proposal } = *self;
        let settled = Box::pin(settled(app, caller, approval, wait)).await?;
        let state = if let Some(state) = settled {
            state
        } else {
            let card = app.gate.approval_of_caller(caller, approval).await?;
            if card.state.is_pending() {
                let body = body::Json(unanswered(&card));
                return Ok((StatusCode::ACCEPTED, body).into_response());
            }
            card.state
        };
        match state {
            Settled::Approved { decision, .. } => {
                let permit = match app.gate.spend(caller, approval, proposal).await {
                    Ok(permit) => permit,
                    // A yes that was not fetched in time.
                    Err(SpendError::Settled("expired")) => {
                        return Ok(no(None));
                    }
                    Err(error) => return Err(error.into()),
                };
                use_up(app, caller, proposal, &permit).await?;
                Ok(yes(decision.feedback))
            }
            Settled::Rejected { decision } => Ok(no(decision.feedback)),
            Settled::Pending { .. } | Settled::Expired { .. } | Settled::Cancelled { .. } => {
                Ok(no(None))
            }
            state @ (Settled::Started { .. }
            | Settled::Done { .. }
            | Settled::Failed { .. }
            | Settled::Unknown { .. }) => {
                let detail = "its answer has been given already";
                Err(Problem::conflict("already-settled", detail).with("state", state.as_str()))
            }
        }
    }
}

/// Uses the permit and reports success: telling the answer was the whole action.
async fn use_up(
    app: &App,
    caller: &Caller,
    proposal: &Proposal,
    permit: &Permit,
) -> Result<(), Problem> {
    let session = proposal.session.as_ref();
    Ok(app.gate.report(caller, permit.id(), session, Outcome::Done, None).await?)
}

fn yes(feedback: Option<String>) -> Response {
    body::Json(Confirmed { approved: true, feedback }).into_response()
}

fn no(feedback: Option<String>) -> Response {
    body::Json(Confirmed { approved: false, feedback }).into_response()
}

fn unanswered(card: &Card) -> Unanswered {
    Unanswered {
        status: Waiting::Waiting,
        approval_id: card.approval.to_string(),
        expires_at: card.expires_at.to_string(),
        confirmation: Confirmation::from(card),
    }
}
