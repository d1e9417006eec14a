//! Questions that wait for a person, and answering them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use countersign_core::Action;
use countersign_gate::Caller;
use countersign_gate::approval::{Say, Scope};
use countersign_gate::gate::{Answered, Reply, WaitingFirst, Whose};
use countersign_gate::id::{ApprovalId, SessionId, WorkspaceId};
use countersign_gate::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::action::{Wait, applied, caller_of, settled};
use crate::app::App;
use crate::auth::{Identity, Signed};
use crate::body::{self, Path, Query};
use crate::error::Problem;
use crate::page::{Listed, page};
use crate::route::{Route, Who, get, post};
use crate::view::{ApprovalView, Confirmation};

/// The questions to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Only those in this state; `pending` are those that wait for an answer of yours.
    state: Option<StateName>,
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

/// A state of an approval.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ApprovalStateName")]
enum StateName {
    Pending,
    Approved,
    Rejected,
    Expired,
    Cancelled,
    Started,
    Done,
    Failed,
    Unknown,
}

impl StateName {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Started => "started",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// A person's answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Response")]
struct Respond {
    /// Yes or no.
    approved: bool,
    /// A message for the agent.
    feedback: Option<String>,
    /// The scope of a yes.
    #[serde(default)]
    scope: Scope,
    /// The token that came with the question, where it was sent to a device.
    token: Option<String>,
    /// The action as you want it instead.
    edited: Option<Action>,
}

/// A person's answer to one of several questions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ResponseToOne")]
struct RespondOne {
    approval_id: ApprovalId,
    approved: bool,
    feedback: Option<String>,
    token: Option<String>,
}

/// Answers to several questions at once.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Responses")]
struct RespondAll {
    answers: Vec<RespondOne>,
}

/// The result of an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnswerView {
    pub(crate) approval_id: String,
    /// True when the answer counts.
    pub(crate) accepted: bool,
    /// The state the question is in now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<&'static str>,
    /// The number of people who have agreed, where more than one must.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) have: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) need: Option<u8>,
    /// The question about the changed action, which must be answered in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked_again: Option<String>,
    /// The reason that it does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<Value>,
}

/// The results of several answers.
#[derive(Debug, Serialize, JsonSchema)]
struct AnswersView {
    results: Vec<AnswerView>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/api/approvals", "list_approvals")
            .by(Who::PersonOrLocalAgent)
            .says("Questions, newest first; with `state=pending` those waiting for you, oldest first. An agent over the socket sees those of its own session.")
            .query::<Which>()
            .gives::<Listed<ApprovalView>>(200)
            .to(list),
        get("/api/approvals/{id}", "show_approval")
            .by(Who::Either)
            .says("One question. Anyone who may see it may wait for the answer with `Prefer: wait=30`.")
            .gives::<ApprovalView>(200)
            .to(show),
        get("/api/approvals/{id}/confirmation", "show_confirmation")
            .by(Who::Either)
            .says("One question as a confirmation object.")
            .gives::<Confirmation>(200)
            .to(confirmation),
        get("/api/approvals/{id}/receipt", "show_receipt")
            .says("What was asked and decided, signed: it can be checked without this server.")
            .gives::<Value>(200)
            .to(receipt),
        post("/api/approvals/{id}/respond", "respond")
            .says("Answers a question, once: a second answer changes nothing.")
            .by_socket_alone()
            .takes::<Respond>()
            .gives::<AnswerView>(200)
            .to(respond),
        post("/api/approvals/respond", "respond_all")
            .says("Answers several questions, each with its own token: a wrong token affects only its own question.")
            .by_socket_alone()
            .takes::<RespondAll>()
            .gives::<AnswersView>(200)
            .to(respond_all),
        post("/api/approvals/{id}/withdraw", "withdraw")
            .by(Who::Either)
            .says("Withdraws a question.")
            .gives_media(204, "")
            .to(withdraw),
    ]
}

async fn list(
    State(app): State<App>,
    identity: Identity,
    Query(which): Query<Which>,
) -> Result<Json<Listed<ApprovalView>>, Problem> {
    let person = match identity {
        Identity::Person(person) => person,
        Identity::Caller(caller) => return list_own(&app, &caller, which).await,
    };
    let Which { state, session_id, workspace_id, all, cursor, limit } = which;
    let plain = !all && workspace_id.is_none() && session_id.is_none() && cursor.is_none();
    if matches!(state, Some(StateName::Pending)) && plain {
        let WaitingFirst { cards, damaged, .. } =
            app.gate.waiting_first(&person, usize::MAX).await?;
        let items = cards.into_iter().map(ApprovalView::from).collect();
        return Ok(Json(Listed { items, next: None, damaged }));
    }
    let whose = whose(workspace_id, all);
    let states: Vec<_> = state.iter().map(|state| state.as_str()).collect();
    let page = page(cursor, limit);
    let found = app.gate.approvals(&person, &whose, &states, session_id.as_ref(), &page).await?;
    Ok(Json(Listed::of(found, ApprovalView::from)))
}

/// Lists the questions that an agent of this machine has asked in one of its sessions.
async fn list_own(
    app: &App,
    caller: &Caller,
    which: Which,
) -> Result<Json<Listed<ApprovalView>>, Problem> {
    let Which { state, session_id, workspace_id, all, cursor, limit } = which;
    let session = session_id.filter(|_| !all && workspace_id.is_none());
    let session = session.ok_or_else(|| Problem::bad_request("name a `session_id` of yours"))?;
    let states: Vec<_> = state.iter().map(|state| state.as_str()).collect();
    let page = page(cursor, limit);
    let found = app.gate.approvals_of_caller(caller, &states, &session, &page).await?;
    Ok(Json(Listed::of(found, ApprovalView::from)))
}

pub(super) fn whose(workspace: Option<WorkspaceId>, all: bool) -> Whose {
    match workspace {
        Some(workspace) => Whose::Workspace(workspace),
        None if all => Whose::All,
        None => Whose::Mine,
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
    let mut response = Json(ApprovalView::from(card)).into_response();
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
    body::Json(body): body::Json<Respond>,
) -> Result<Json<AnswerView>, Problem> {
    let Respond { approved, feedback, scope, token, edited } = body;
    let (say, token) = (say(approved), token.as_deref().map(token_of).transpose()?);
    let reply = Reply { approval: id.clone(), say, scope, feedback, token, edited };
    let answered = app.gate.answer(&person, reply).await?;
    Ok(Json(AnswerView::of(&id, answered)))
}

async fn respond_all(
    State(app): State<App>,
    Signed(person): Signed,
    body::Json(body): body::Json<RespondAll>,
) -> Result<Json<AnswersView>, Problem> {
    let replies = body.answers.into_iter().map(|one| {
        let RespondOne { approval_id, approved, feedback, token } = one;
        // A malformed token is a wrong token: it spoils only its own answer.
        let token = token.as_deref().map(token_of);
        (Reply { feedback, ..Reply::plain(approval_id, say(approved)) }, token)
    });
    Ok(Json(AnswersView { results: answer_all(&app, &person, replies.collect()).await? }))
}

/// An answer, and the token it came with.
pub(crate) type WithToken = (Reply, Option<Result<Secret, Problem>>);

/// Answers each question with its own token. An error in one answer is reported for that one only.
pub(crate) async fn answer_all(
    app: &App,
    person: &countersign_gate::Person,
    replies: Vec<WithToken>,
) -> Result<Vec<AnswerView>, Problem> {
    let (mut views, mut sound) = (Vec::new(), Vec::new());
    for (reply, token) in replies {
        match token.transpose() {
            Ok(token) => sound.push(Reply { token, ..reply }),
            Err(problem) => views.push(AnswerView::wrong(&reply.approval, &problem)),
        }
    }
    if sound.is_empty() && !views.is_empty() {
        return Ok(views);
    }
    for (id, answered) in app.gate.answer_all(person, sound).await? {
        views.push(match answered {
            Ok(answered) => AnswerView::of(&id, answered),
            Err(error) => AnswerView::wrong(&id, &error.into()),
        });
    }
    Ok(views)
}

const fn say(approved: bool) -> Say {
    if approved { Say::Approve } else { Say::Reject }
}

pub(crate) fn token_of(text: &str) -> Result<Secret, Problem> {
    Secret::parse(text).map_err(|error| Problem::forbidden("token", error))
}

impl AnswerView {
    /// The reason that it does not count, for a person.
    pub(crate) fn detail(&self) -> &str {
        let detail = self.problem.as_ref().and_then(|problem| problem.get("detail"));
        detail.and_then(Value::as_str).unwrap_or_default()
    }

    fn of(id: &ApprovalId, answered: Answered) -> Self {
        let mut view = Self {
            approval_id: id.to_string(),
            accepted: true,
            state: None,
            have: None,
            need: None,
            asked_again: None,
            problem: None,
        };
        match answered {
            Answered::Settled(state) => view.state = Some(state.as_str()),
            Answered::Counted { have, need } => {
                (view.state, view.have, view.need) = (Some("pending"), Some(have), Some(need));
            }
            Answered::AskedAgain(next) => {
                (view.state, view.asked_again) = (Some("cancelled"), Some(next.to_string()));
            }
        }
        view
    }

    fn wrong(id: &ApprovalId, problem: &Problem) -> Self {
        let problem = Some(problem.to_json());
        Self {
            approval_id: id.to_string(),
            accepted: false,
            state: None,
            have: None,
            need: None,
            asked_again: None,
            problem,
        }
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
