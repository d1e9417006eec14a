//! Questions that wait for a person, and answering them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use countersign_gate::Caller;
use countersign_gate::approval::Answer;
use countersign_gate::gate::{Answered as GateAnswer, OwnerFilter, PersonAnswer, WaitingFirst};
use countersign_gate::id::{ApprovalId, SessionId, WorkspaceId};
use countersign_gate::secret::Secret;
use countersign_wire::{
    AnswerBody, AnswerOne, Answered, Answers, AnswersGiven, ApprovalCard, ApprovalState,
    Confirmation, path,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::api::action::{caller_of, settled};
use crate::api::wait::{Wait, applied};
use crate::app::App;
use crate::auth::{Identity, Signed};
use crate::body::{self, Path, Query};
use crate::error::Problem;
use crate::page::{Listed, page};
use crate::route::{Route, Who, get, post};

/// The questions to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// Only those in this state; `pending` are those that wait for an answer of yours.
    state: Option<ApprovalState>,
    /// Only those of this session.
    session_id: Option<SessionId>,
    /// Only the questions of a workspace you look after.
    workspace_id: Option<WorkspaceId>,
    /// Everybody's, for super admins.
    #[serde(default)]
    all: bool,
    cursor: Option<String>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::APPROVALS, "list_approvals")
            .by(Who::PersonOrLocalAgent)
            .says("Questions, newest first; with `state=pending` those waiting for you, oldest first. An agent over the socket sees those of its own session.")
            .query::<ListQuery>()
            .gives::<Listed<ApprovalCard>>(200)
            .to(list),
        get(path::APPROVAL, "show_approval")
            .by(Who::Either)
            .says("One question. Anyone who may see it may wait for the answer with `Prefer: wait=30`.")
            .gives::<ApprovalCard>(200)
            .to(show),
        get(path::APPROVAL_CONFIRMATION, "show_confirmation")
            .by(Who::Either)
            .says("One question as a confirmation object.")
            .gives::<Confirmation>(200)
            .to(confirmation),
        get(path::APPROVAL_RECEIPT, "show_receipt")
            .says("What was asked and decided, signed: it can be checked without this server.")
            .gives::<Value>(200)
            .to(receipt),
        post(path::APPROVAL_RESPOND, "respond")
            .says("Answers a question, once: a second answer changes nothing.")
            .by_socket_alone()
            .takes::<AnswerBody>()
            .gives::<Answered>(200)
            .to(respond),
        post(path::APPROVALS_RESPOND, "respond_all")
            .says("Answers several questions, each with its own token: a wrong token affects only its own question.")
            .by_socket_alone()
            .takes::<Answers>()
            .gives::<AnswersGiven>(200)
            .to(respond_all),
        post(path::APPROVAL_WITHDRAW, "withdraw")
            .by(Who::Either)
            .says("Withdraws a question.")
            .gives_media(204, "")
            .to(withdraw),
    ]
}

async fn list(
    State(app): State<App>,
    identity: Identity,
    Query(which): Query<ListQuery>,
) -> Result<Json<Listed<ApprovalCard>>, Problem> {
    let person = match identity {
        Identity::Person(person) => person,
        Identity::Caller(caller) => return list_own(&app, &caller, which).await,
    };
    let ListQuery { state, session_id, workspace_id, all, cursor, limit } = which;
    let plain = !all && workspace_id.is_none() && session_id.is_none() && cursor.is_none();
    if matches!(state, Some(ApprovalState::Pending)) && plain {
        let WaitingFirst { cards, damaged, .. } =
            app.gate.waiting_first(&person, usize::MAX).await?;
        let items = cards.into_iter().map(ApprovalCard::from).collect();
        return Ok(Json(Listed { items, next: None, damaged }));
    }
    let whose = whose(workspace_id, all);
    let states: Vec<_> = state.iter().map(|state| state.as_str()).collect();
    let page = page(cursor, limit);
    let found = app.gate.approvals(&person, &whose, &states, session_id.as_ref(), &page).await?;
    Ok(Json(Listed::of(found, ApprovalCard::from)))
}

/// Lists the questions that an agent of this machine has asked in one of its sessions.
async fn list_own(
    app: &App,
    caller: &Caller,
    which: ListQuery,
) -> Result<Json<Listed<ApprovalCard>>, Problem> {
    let ListQuery { state, session_id, workspace_id, all, cursor, limit } = which;
    let session = session_id.filter(|_| !all && workspace_id.is_none());
    let session = session.ok_or_else(|| Problem::bad_request("name a `session_id` of yours"))?;
    let states: Vec<_> = state.iter().map(|state| state.as_str()).collect();
    let page = page(cursor, limit);
    let found = app.gate.approvals_of_caller(caller, &states, &session, &page).await?;
    Ok(Json(Listed::of(found, ApprovalCard::from)))
}

pub(super) fn whose(workspace: Option<WorkspaceId>, all: bool) -> OwnerFilter {
    match workspace {
        Some(workspace) => OwnerFilter::Workspace(workspace),
        None if all => OwnerFilter::All,
        None => OwnerFilter::Mine,
    }
}

async fn show(
    State(app): State<App>,
    identity: Identity,
    Path(id): Path<ApprovalId>,
    Wait(wait): Wait,
) -> Result<Response, Problem> {
    let card = match &identity {
        Identity::Person(person) => {
            if let Some(wait) = wait {
                settled_for(&app, person, &id, wait).await?;
            }
            app.gate.card(person, &id).await?
        }
        Identity::Caller(caller) => {
            if let Some(wait) = wait {
                settled(&app, caller, &id, wait).await?;
            }
            app.gate.approval_of_caller(caller, &id).await?
        }
    };
    let mut response = Json(ApprovalCard::from(card)).into_response();
    applied(response.headers_mut(), wait);
    Ok(response)
}

/// Waits for at most the given time until a question that the person may see is settled.
async fn settled_for(
    app: &App,
    person: &countersign_gate::Person,
    id: &ApprovalId,
    wait: std::time::Duration,
) -> Result<(), Problem> {
    tokio::select! {
        settled = app.gate.settled_for(person, id) => Ok(settled?),
        () = tokio::time::sleep(wait) => Ok(()),
        () = app.stopped() => Ok(()),
    }
}

async fn confirmation(
    State(app): State<App>,
    identity: Identity,
    Path(id): Path<ApprovalId>,
) -> Result<Json<Confirmation>, Problem> {
    let card = match identity {
        Identity::Person(person) => app.gate.card(&person, &id).await?,
        Identity::Caller(caller) => app.gate.approval_of_caller(&caller, &id).await?,
    };
    Ok(Json(Confirmation::from(&card)))
}

async fn receipt(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<ApprovalId>,
) -> Result<Response, Problem> {
    Ok(Json(app.gate.receipt(&person, &id).await?).into_response())
}

async fn respond(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<ApprovalId>,
    body::Json(body): body::Json<AnswerBody>,
) -> Result<Json<Answered>, Problem> {
    let AnswerBody { approved, feedback, scope, token, edited } = body;
    let (say, token) =
        (say(approved), token.as_ref().map(|token| token_of(token.expose())).transpose()?);
    let reply = PersonAnswer { approval: id.clone(), say, scope, feedback, token, edited };
    let answered = app.gate.answer(&person, reply).await?;
    Ok(Json(accepted(&id, answered)))
}

async fn respond_all(
    State(app): State<App>,
    Signed(person): Signed,
    body::Json(body): body::Json<Answers>,
) -> Result<Json<AnswersGiven>, Problem> {
    let replies = body.answers.into_iter().map(|one| {
        let AnswerOne { approval_id, approved, feedback, token } = one;
        let id = ApprovalId::parse(&approval_id)?;
        // A malformed token is a wrong token: it spoils only its own answer.
        let token = token.as_ref().map(|token| token_of(token.expose()));
        Ok((PersonAnswer { feedback, ..PersonAnswer::plain(id, say(approved)) }, token))
    });
    let replies = replies.collect::<Result<_, Problem>>()?;
    Ok(Json(AnswersGiven { results: answer_all(&app, &person, replies).await? }))
}

/// An answer, and the token it came with.
pub(crate) type WithToken = (PersonAnswer, Option<Result<Secret, Problem>>);

/// Answers each question with its own token. An error in one answer is reported for that one only.
pub(crate) async fn answer_all(
    app: &App,
    person: &countersign_gate::Person,
    replies: Vec<WithToken>,
) -> Result<Vec<Answered>, Problem> {
    let (mut views, mut sound) = (Vec::new(), Vec::new());
    for (reply, token) in replies {
        match token.transpose() {
            Ok(token) => sound.push(PersonAnswer { token, ..reply }),
            Err(problem) => views.push(rejected(&reply.approval, Some(&problem))),
        }
    }
    if sound.is_empty() && !views.is_empty() {
        return Ok(views);
    }
    for (id, answered) in app.gate.answer_all(person, sound).await? {
        views.push(match answered {
            Ok(answered) => accepted(&id, answered),
            Err(error) => rejected(&id, Some(&error.into())),
        });
    }
    Ok(views)
}

const fn say(approved: bool) -> Answer {
    if approved { Answer::Approve } else { Answer::Reject }
}

pub(crate) fn token_of(text: &str) -> Result<Secret, Problem> {
    Secret::parse(text).map_err(|error| Problem::forbidden("token", error))
}

/// The result of an answer that counts.
fn accepted(id: &ApprovalId, answered: GateAnswer) -> Answered {
    let mut view = rejected(id, None);
    view.accepted = true;
    match answered {
        GateAnswer::Settled(state) => view.state = Some(state.name()),
        GateAnswer::Counted { have, need } => {
            view.state = Some(ApprovalState::Pending);
            (view.have, view.need) = (Some(have), Some(need));
        }
        GateAnswer::AskedAgain(next) => {
            (view.state, view.asked_again) =
                (Some(ApprovalState::Cancelled), Some(next.to_string()));
        }
    }
    view
}

/// The result of an answer that does not count.
fn rejected(id: &ApprovalId, problem: Option<&Problem>) -> Answered {
    Answered {
        approval_id: id.to_string(),
        accepted: false,
        state: None,
        have: None,
        need: None,
        asked_again: None,
        problem: problem.map(Problem::to_wire),
    }
}

async fn withdraw(
    State(app): State<App>,
    identity: Identity,
    Path(id): Path<ApprovalId>,
) -> Result<StatusCode, Problem> {
    let caller = match identity {
        Identity::Caller(caller) => caller,
        Identity::Person(person) => {
            let card = app.gate.card(&person, &id).await?;
            caller_of(Identity::Person(person), Some(&card.workspace))?
        }
    };
    app.gate.withdraw(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
