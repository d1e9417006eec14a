//! Proposing an action, and saying how it went.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use countersign_core::{Action, Context};
use countersign_gate::approval::{Cancel, Outcome, State as Settled};
use countersign_gate::gate::ReportedError;
use countersign_gate::id::{ActionId, ApprovalId, SessionId, WorkspaceId};
use countersign_gate::proposal::{Refusal, Script, Waits, Why};
use countersign_gate::{Caller, GateError, Permit, Person, Proposal, Submitted};
use countersign_wire::{ApprovalCard, Proposed, path};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::api::execute::execute;
use crate::api::wait::{Wait, applied};
use crate::app::App;
use crate::auth::{Asker, Identity, Shown};
use crate::body::{self, Path};
use crate::decision::Decision;
use crate::error::Problem;
use crate::idempotent::Within;
use crate::route::{Route, Who, post};
use crate::view;

/// A proposal of an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Proposal")]
pub(super) struct ProposalBody {
    action: Action,
    /// The circumstances of the action. Profile, mode and origins are the session's, whatever is
    /// given here.
    #[serde(default)]
    context: Context,
    /// The files it runs, by what is in them.
    #[serde(default)]
    scripts: Vec<Script>,
    /// The model that proposed it.
    model: Option<String>,
    /// The agent's reason, in its own words.
    reasoning: Option<String>,
    /// The session it belongs to, where the address does not say.
    pub(super) session_id: Option<SessionId>,
    /// The workspace that an assistant works for, when a person is present and has more than one.
    pub(super) workspace_id: Option<WorkspaceId>,
    /// Says that the asker waits for a person's answer, and how long at most. A question nobody
    /// waits for any more is withdrawn within seconds.
    waits: Option<Waits>,
    /// Says that the caller answers for a host and runs nothing itself, as hooks do: the MCP proxy
    /// that sees the same call next goes on with the same yes.
    #[serde(default)]
    relays: bool,
    /// The host's own identifier of this call, where it has one.
    call_id: Option<String>,
    /// The asker's name for the run of its agent. Outside of a session the same action in the same
    /// run is one question: a caller that lost the connection finds it again, with its answer.
    #[schemars(length(max = 256))]
    run: Option<String>,
    /// Has a worker of the session do it as soon as it is permitted.
    #[serde(default)]
    execute: bool,
}

/// The outcome of a permitted action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Report {
    outcome: Outcome,
    /// The error, if there was one: a text, or `name`, `message` and `stack`.
    error: Option<ReportedError>,
    session_id: Option<SessionId>,
    /// The workspace that an assistant works for, when a person is present and has more than one.
    workspace_id: Option<WorkspaceId>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(path::ACTIONS, "propose")
            .by(Who::Either)
            .says("Proposes an action outside of any session.")
            .takes::<ProposalBody>()
            .gives::<Proposed>(200)
            .gives::<Proposed>(202)
            .decides()
            .to(propose),
        post(path::SESSION_ACTIONS, "propose_in_session")
            .by(Who::Either)
            .says("Proposes an action: permitted, waiting for a person, or refused. With `Prefer: wait=30` waits that long for the answer, and uses an approval immediately. Where a person has changed the action, the permit is for `edited`: run that instead. With `execute` a worker does it once it is permitted; the answer has its result where the wait is long enough, and its `action_id` otherwise.")
            .takes::<ProposalBody>()
            .gives::<Proposed>(200)
            .gives::<Proposed>(202)
            .decides()
            .to(propose_in_session),
        post(path::ACTION_REPORT, "report")
            .by(Who::Either)
            .says("Reports the outcome of a permitted action.")
            .takes::<Report>()
            .gives_media(204, "")
            .to(report),
        post(path::APPROVAL_SPEND, "spend")
            .by(Who::Either)
            .says("Uses an approval for the exact action that was approved, once. Where a person has changed the action, the permit is for `edited`: run that instead.")
            .takes::<ProposalBody>()
            .gives::<Proposed>(200)
            .permits()
            .to(spend),
    ]
}

impl ProposalBody {
    pub(super) fn proposal(self, session: Option<SessionId>) -> Result<Proposal, Problem> {
        let session = match (session, self.session_id) {
            (Some(one), Some(other)) if one != other => {
                return Err(Problem::bad_request(
                    "the body names a different session than the URL",
                ));
            }
            (one, other) => one.or(other),
        };
        if self.execute {
            let detail = "`execute` is for one proposal in a session";
            return Err(Problem::bad_request(detail));
        }
        Ok(Proposal {
            action: self.action,
            context: self.context,
            session,
            scripts: self.scripts,
            model: self.model,
            reasoning: self.reasoning,
            waits: self.waits,
            relays: self.relays,
            call_id: self.call_id,
            run: self.run,
        })
    }
}

/// Returns the caller that proposes: the key, or the assistant of the person who is present.
pub(super) fn caller_of(
    identity: Identity,
    workspace: Option<&WorkspaceId>,
) -> Result<Caller, Problem> {
    match identity {
        Identity::Caller(caller) => match workspace {
            Some(other) if other != caller.workspace() => {
                Err(Problem::forbidden("workspace", "this key works in another workspace"))
            }
            Some(_) | None => Ok(caller),
        },
        Identity::Person(person) => assistant(&person, workspace),
    }
}

fn assistant(person: &Person, workspace: Option<&WorkspaceId>) -> Result<Caller, Problem> {
    let mut own = person.user().workspaces.keys();
    let workspace = workspace.or_else(|| own.next().filter(|_| own.next().is_none()));
    let workspace = workspace.ok_or_else(|| Problem::bad_request("name a `workspace_id`"))?;
    person.assistant(workspace).ok_or_else(Problem::not_found)
}

async fn propose(
    State(app): State<App>,
    asker: Asker,
    wait: Wait,
    body::Json(body): body::Json<ProposalBody>,
) -> Result<Response, Problem> {
    submit(&app, asker, wait, body, None).await
}

async fn propose_in_session(
    State(app): State<App>,
    asker: Asker,
    Path(session): Path<SessionId>,
    wait: Wait,
    body::Json(body): body::Json<ProposalBody>,
) -> Result<Response, Problem> {
    submit(&app, asker, wait, body, Some(session)).await
}

async fn submit(
    app: &App,
    asker: Asker,
    Wait(wait): Wait,
    mut body: ProposalBody,
    session: Option<SessionId>,
) -> Result<Response, Problem> {
    if std::mem::take(&mut body.execute) {
        return Box::pin(execute(app, asker, wait, body, session)).await;
    }
    let workspace = body.workspace_id.take();
    let proposal = body.proposal(session)?;
    let (identity, shown) = asker.split();
    let (caller, submitted, decision) =
        decided(app, identity, &shown, workspace.as_ref(), &proposal).await?;
    let answer = answer(app, &caller, wait, &proposal, submitted).await;
    let mut response = answer.unwrap_or_else(IntoResponse::into_response);
    // For the span of the request.
    response.extensions_mut().insert(decision);
    Ok(response)
}

/// The answer to a proposal.
async fn answer(
    app: &App,
    caller: &Caller,
    wait: Option<Duration>,
    proposal: &Proposal,
    submitted: Submitted,
) -> Result<Response, Problem> {
    match submitted {
        Submitted::Permitted(permit, judgement) => {
            let sessions = permit.session().cloned().into_iter().collect();
            let body = body::Json(view::permitted(&permit, Some(judgement)));
            Ok(Within(body, sessions).into_response())
        }
        Submitted::Refused(refusal) => Err(Problem::from(*refusal)),
        Submitted::Waiting(waiting) => {
            let first = waiting.approval.clone();
            let (approval, settled) = match wait {
                Some(wait) => Box::pin(answered(app, caller, first.clone(), wait)).await?,
                None => (first.clone(), None),
            };
            let mut response = if let Some(state) = settled {
                let questions = Asked { first: &first, last: &approval };
                Box::pin(settle(app, caller, questions, proposal, state)).await?
            } else {
                let card = Box::pin(app.gate.approval_of_caller(caller, &approval)).await?;
                let body = Json(view::waiting(*waiting, &card));
                (StatusCode::ACCEPTED, body).into_response()
            };
            applied(response.headers_mut(), wait);
            Ok(response)
        }
    }
}

/// Asks the gate about a proposal. Returns the caller as it was at that time, the outcome, and the
/// decision for logs, metrics and traces.
pub(super) async fn decided(
    app: &App,
    identity: Identity,
    shown: &Shown,
    workspace: Option<&WorkspaceId>,
    proposal: &Proposal,
) -> Result<(Caller, Submitted, Decision), Problem> {
    let mut caller = caller_of(identity, workspace)?;
    let mut submitted = app.gate.submit(&caller, proposal).await;
    if let Err(GateError::Outdated) = submitted {
        let identity = Identity::Caller(Box::pin(shown.anew(app)).await?);
        caller = caller_of(identity, workspace)?;
        submitted = app.gate.submit(&caller, proposal).await;
    }
    let submitted = submitted?;
    let decision = Decision::of(proposal, &submitted);
    app.metrics.decided(&decision);
    decision.log(app.settings.log_decisions);
    Ok((caller, submitted, decision))
}

/// The question that was asked first, and the one that replaced it; usually the same.
#[derive(Clone, Copy)]
struct Asked<'a> {
    first: &'a ApprovalId,
    last: &'a ApprovalId,
}

/// Turns a person's answer into the response for the caller that waited for it.
async fn settle(
    app: &App,
    caller: &Caller,
    asked: Asked<'_>,
    proposal: &Proposal,
    state: Settled,
) -> Result<Response, Problem> {
    match state {
        Settled::Approved { .. } => {
            Ok(spent(app, caller, asked.first, proposal).await?.into_response())
        }
        Settled::Rejected { decision } => {
            let why = Why::Declined(decision.feedback);
            Err(Refusal { why, judgement: None, retry_after: None, hit: None }.into())
        }
        state => {
            let card = app.gate.approval_of_caller(caller, asked.last).await?;
            let card = ApprovalCard::from(card);
            let problem = Problem::conflict("not-approved", format!("it is {}", state.as_str()));
            Err(problem.with("state", state.as_str()).with("approval", json!(card)))
        }
    }
}

/// Uses a yes. Where a person has changed the action, the changed one is permitted.
async fn spent(
    app: &App,
    caller: &Caller,
    approval: &ApprovalId,
    proposal: &Proposal,
) -> Result<Within<Json<Proposed>>, Problem> {
    let Some((last, edited)) = app.gate.replacement(caller, approval).await? else {
        let permit = app.gate.spend(caller, approval, proposal).await?;
        return Ok(within(&permit, view::permitted(&permit, None)));
    };
    let proposal = Proposal { action: edited, ..proposal.clone() };
    let permit = app.gate.spend(caller, &last, &proposal).await?;
    Ok(within(&permit, view::edited(view::permitted(&permit, None), &proposal.action)))
}

/// A permit, with the session in which it lets something run.
fn within(permit: &Permit, proposed: Proposed) -> Within<Json<Proposed>> {
    Within(Json(proposed), permit.session().cloned().into_iter().collect())
}

/// Waits for an answer for at most the given time, and goes on with the question that replaced it
/// where a person has changed the action. Returns the question that was waited for last.
async fn answered(
    app: &App,
    caller: &Caller,
    approval: ApprovalId,
    wait: Duration,
) -> Result<(ApprovalId, Option<Settled>), Problem> {
    let until = tokio::time::Instant::now() + wait;
    let mut approval = approval;
    loop {
        let left = until.saturating_duration_since(tokio::time::Instant::now());
        let state = settled(app, caller, &approval, left).await?;
        match state {
            Some(Settled::Cancelled { why: Cancel::Replaced { by }, .. }) => approval = by,
            state => return Ok((approval, state)),
        }
    }
}

/// Waits for an answer for at most the given time.
pub(super) async fn settled(
    app: &App,
    caller: &Caller,
    approval: &ApprovalId,
    wait: Duration,
) -> Result<Option<Settled>, Problem> {
    tokio::select! {
        settled = app.gate.settled(caller, approval) => Ok(Some(settled?)),
        () = tokio::time::sleep(wait) => Ok(None),
        () = app.stopped() => Ok(None),
    }
}

async fn report(
    State(app): State<App>,
    identity: Identity,
    Path(id): Path<ActionId>,
    body::Json(report): body::Json<Report>,
) -> Result<StatusCode, Problem> {
    let Report { outcome, error, session_id, workspace_id } = report;
    let caller = caller_of(identity, workspace_id.as_ref())?;
    app.gate.report(&caller, &id, session_id.as_ref(), outcome, error.as_ref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn spend(
    State(app): State<App>,
    identity: Identity,
    Path(id): Path<ApprovalId>,
    body::Json(body): body::Json<ProposalBody>,
) -> Result<Response, Problem> {
    let caller = caller_of(identity, body.workspace_id.as_ref())?;
    let proposal = body.proposal(None)?;
    Ok(Box::pin(spent(&app, &caller, &id, &proposal)).await?.into_response())
}
