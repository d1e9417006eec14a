//! Actions that a worker does: proposed with `"execute": true`, and looked at later.
//!
//! ```text
//! worker ready? ──► page read ──► judged ──► permitted ──► given to the worker ──► result
//!                                   └──► a person is asked ──yes──┘
//! ```
//!
//! What the agent says about the place is replaced by what the worker knows: its folder, and the
//! element of its page.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use countersign_core::action::{Surface, UiOp};
use countersign_core::{Action, Context, Verdict};
use countersign_gate::approval::{Cancel, State as Settled};
use countersign_gate::gate::{Dispatch, DispatchError, NotReady, Ready, SpendError};
use countersign_gate::id::{ActionId, ApprovalId, SessionId, WorkerId};
use countersign_gate::permit::Basis;
use countersign_gate::proposal::{Refusal, Waiting, Why};
use countersign_gate::transfer::Reader;
use countersign_gate::{Caller, Permit, Proposal, Submitted};
use countersign_wire::work::{Element, ExecutorKind};
use countersign_wire::{Execution, Proposed, path};
use tokio::time::{Instant, timeout_at};

use crate::api::action::{ProposalBody, caller_of, decided};
use crate::api::wait::{Wait, applied};
use crate::app::App;
use crate::auth::{Asker, Identity};
use crate::body::{self, Path};
use crate::error::Problem;
use crate::idempotent::{Once, Within};
use crate::route::{Route, Who, get};
use crate::view;

/// The time in which a worker says what an element is.
const DESCRIBES_WITHIN: Duration = Duration::from_secs(30);
/// The time for which a request that does not wait looks for a worker.
const LOOKS_FOR: Duration = Duration::from_millis(100);

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::SESSION_ACTION, "show_action")
            .by(Who::Either)
            .says("An action that a worker was given, with its result once it is over. The agent that asked for it sees its output as it was until the session ends, everybody else redacted. `Prefer: wait=30` waits that long for its end.")
            .gives::<Execution>(200)
            .to(show),
    ]
}

async fn show(
    State(app): State<App>,
    identity: Identity,
    Path((session, id)): Path<(SessionId, ActionId)>,
    Wait(wait): Wait,
) -> Result<body::Json<Execution>, Problem> {
    let reader = match &identity {
        Identity::Person(person) => Reader::from(person),
        Identity::Caller(caller) => Reader::from(caller),
    };
    let execution = app.gate.execution(reader, &session, &id).await?;
    let Some(wait) = wait.filter(|_| !execution.state.is_over()) else {
        return Ok(body::Json(execution));
    };
    over(&app, &id, Instant::now() + wait).await;
    Ok(body::Json(app.gate.execution(reader, &session, &id).await?))
}

/// A proposal that is to be executed, after its place was read from the worker.
#[derive(Debug, Clone)]
struct Task {
    proposal: Proposal,
    session: SessionId,
    worker: WorkerId,
    element: Option<Element>,
}

/// Proposes an action, and has a worker do it once it is permitted.
pub(super) async fn execute(
    app: &App,
    asker: Asker,
    wait: Option<Duration>,
    mut body: ProposalBody,
    session: Option<SessionId>,
) -> Result<Response, Problem> {
    let workspace = body.workspace_id.take();
    let proposal = body.proposal(session)?;
    let session = executable(&proposal)?;
    let (identity, shown) = asker.split();
    let caller = caller_of(identity.clone(), workspace.as_ref())?;
    let until = Instant::now() + wait.unwrap_or(LOOKS_FOR);
    let task = prepared(app, &caller, proposal, session, until).await?;
    let (caller, submitted, decision) =
        decided(app, identity, &shown, workspace.as_ref(), &task.proposal).await?;
    let until = wait.map(|_| until);
    let answer = match submitted {
        Submitted::Refused(refusal) => Err((*refusal).into()),
        Submitted::Permitted(permit, judgement) => {
            let agreed = agreed(&permit, judgement.verdict);
            match given(app, &caller, permit, &task, agreed).await {
                Ok(id) => answer(app, &caller, &task.session, &id, until).await,
                Err(problem) => Err(problem),
            }
        }
        Submitted::Waiting(waiting) => Box::pin(asked(app, &caller, task, *waiting, until)).await,
    };
    let mut response = answer.unwrap_or_else(Problem::into_response);
    applied(response.headers_mut(), wait);
    response.extensions_mut().insert(decision);
    Ok(response)
}

/// The answer about an action that a person is asked about. The rest goes on by itself, however
/// long the caller waits.
async fn asked(
    app: &App,
    caller: &Caller,
    task: Task,
    waiting: Waiting,
    until: Option<Instant>,
) -> Result<Response, Problem> {
    let (approval, session) = (waiting.approval.clone(), task.session.clone());
    let going_on = tokio::spawn(agreed_to(app.clone(), caller.clone(), approval.clone(), task));
    let given = match until {
        Some(until) => timeout_at(until, going_on).await.ok(),
        None => None,
    };
    match given {
        Some(Ok(given)) => answer(app, caller, &session, &given?, until).await,
        Some(Err(_)) => {
            let detail = "it broke off: ask for the action by its id";
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", detail))
        }
        None => {
            let card = app.gate.approval_of_caller(caller, &approval).await?;
            let id = ActionId::of(&approval).to_string();
            let proposed = view::waiting_to_run(view::waiting(waiting, &card), id);
            Ok((StatusCode::ACCEPTED, body::Json(proposed)).into_response())
        }
    }
}

/// Refuses what no worker does.
fn executable(proposal: &Proposal) -> Result<SessionId, Problem> {
    if proposal.waits.is_some() || proposal.relays {
        let detail = "`waits` and `relays` are for callers that run the action themselves";
        return Err(Problem::bad_request(detail));
    }
    let none = || Problem::bad_request("a worker does things in a session: name one");
    proposal.session.clone().ok_or_else(none)
}

/// The proposal as it is judged: with the worker's folder, and the element of the worker's page.
async fn prepared(
    app: &App,
    caller: &Caller,
    proposal: Proposal,
    session: SessionId,
    until: Instant,
) -> Result<Task, Problem> {
    let kind = ExecutorKind::of(&proposal.action).ok_or_else(|| {
        let detail = format!("no worker does an action of the kind `{}`", proposal.action.kind());
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "not-executable", detail)
    })?;
    let Ready { worker, folder } = ready(app, caller, &session, kind, until).await?;
    let Context { cwd, sensitive_paths, own_program, own_data, confidence, .. } = proposal.context;
    // What an agent says about files and addresses does not count: the worker is elsewhere.
    let context = Context {
        cwd: cwd.or_else(|| folder.clone()),
        workspace: folder,
        sensitive_paths,
        own_program,
        own_data,
        confidence,
        ..Context::default()
    };
    let proposal = Proposal { context, ..proposal };
    let mut task = Task { proposal, session, worker, element: None };
    if let Action::Ui { .. } = &task.proposal.action {
        read_page(app, &mut task).await?;
    }
    Ok(task)
}

/// Waits for a worker that can do this.
async fn ready(
    app: &App,
    caller: &Caller,
    session: &SessionId,
    kind: ExecutorKind,
    until: Instant,
) -> Result<Ready, Problem> {
    let mut arrivals = app.gate.worker_arrivals();
    loop {
        match app.gate.ready_worker(caller, session, kind).await {
            Ok(ready) => return Ok(ready),
            Err(NotReady::Refused(refusal)) => return Err((*refusal).into()),
            Err(NotReady::Gate(error)) => return Err(error.into()),
            Err(NotReady::NoWorker) => {}
        }
        let came = tokio::select! {
            came = timeout_at(until, arrivals.changed()) => came.is_ok_and(|came| came.is_ok()),
            () = app.stopped() => false,
        };
        if !came {
            let detail = format!(
                "no worker is connected that does `{}` here: start `countersign worker`. The \
                 session ends if none comes in time",
                kind.as_str()
            );
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no-worker", detail);
            return Err(problem.retry_after(Some(Duration::from_secs(1))));
        }
    }
}

/// Replaces what the agent says about an element by what its page says.
async fn read_page(app: &App, task: &mut Task) -> Result<(), Problem> {
    let unprocessable =
        |slug, detail: &str| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, slug, detail);
    let Action::Ui { surface, op, text, reference, .. } = &task.proposal.action else {
        return Ok(());
    };
    let (surface, op, text, reference) = (*surface, *op, text.clone(), reference.clone());
    if surface != Surface::Browser {
        return Err(unprocessable("not-executable", "a worker acts on pages, not on desktop apps"));
    }
    if reference.is_none() && !matches!(op, UiOp::Press | UiOp::Scroll) {
        return Err(unprocessable("no-reference", "name the element by its `reference`"));
    }
    let gone = |_| Problem::conflict("worker-gone", "the worker is gone: nothing was done");
    let asked = app.gate.describe_element(&task.worker, &task.session, reference.clone());
    let described = timeout_at(Instant::now() + DESCRIBES_WITHIN, asked.map_err(gone)?).await;
    let described =
        described.map_err(|_| unprocessable("no-element", "the page does not answer"))?;
    let element = described
        .map_err(|_| Problem::conflict("worker-gone", "the worker is gone: nothing was done"))?
        .map_err(|why| unprocessable("no-element", &why))?;
    if reference.as_ref().is_some_and(|reference| *reference != element.reference) {
        return Err(unprocessable("no-element", "the worker described another element"));
    }
    task.proposal.context.base_url = Some(element.url.clone());
    task.proposal.action = Action::Ui {
        surface,
        op,
        label: element.label.clone().filter(|_| reference.is_some()),
        field: element.field.clone().filter(|_| reference.is_some()).map(Box::new),
        text,
        url: Some(element.url.clone()),
        reference: reference.clone(),
    };
    task.element = reference.map(|_| element);
    Ok(())
}

/// The strictest verdict that was agreed to.
fn agreed(permit: &Permit, judged: Verdict) -> Verdict {
    match permit.by() {
        Basis::Person | Basis::HandedOver => Verdict::Confirm,
        Basis::Rules
        | Basis::Remembered
        | Basis::AutoConfirm
        | Basis::Autonomous
        | Basis::Program => judged,
    }
}

async fn given(
    app: &App,
    caller: &Caller,
    permit: Permit,
    task: &Task,
    agreed: Verdict,
) -> Result<ActionId, Problem> {
    let Task { proposal, worker, element, .. } = task;
    let dispatch = Dispatch { permit, proposal, element: element.clone(), worker, agreed };
    app.gate.dispatch(caller, dispatch).await.map_err(|error| match error {
        DispatchError::NotWork => Problem::conflict("other-action", error),
        DispatchError::Gone => Problem::conflict("worker-gone", error),
        DispatchError::Gate(error) => error.into(),
    })
}

/// Waits for a person's answer, however long that takes, and gives the action to its worker after
/// a yes. A request that does not wait as long does not end this.
async fn agreed_to(
    app: App,
    caller: Caller,
    approval: ApprovalId,
    task: Task,
) -> Result<ActionId, Problem> {
    let (last, state) = answered(&app, &caller, approval.clone()).await?;
    match state {
        Settled::Approved { .. } => {}
        Settled::Rejected { decision } => {
            let why = Why::Declined(decision.feedback);
            return Err(Refusal { why, judgement: None, retry_after: None, hit: None }.into());
        }
        // Another request about the same question may have been first.
        Settled::Started { .. } | Settled::Done { .. } | Settled::Failed { .. } => {
            return Ok(ActionId::of(&last));
        }
        state => {
            let problem = Problem::conflict("not-approved", format!("it is {}", state.as_str()));
            return Err(problem.with("state", state.as_str()));
        }
    }
    let mut task = task;
    if let Some((_, edited)) = app.gate.replacement(&caller, &approval).await? {
        task.proposal.action = edited;
        same_element(&task)?;
    }
    match app.gate.spend(&caller, &last, &task.proposal).await {
        Ok(permit) => given(&app, &caller, permit, &task, Verdict::Confirm).await,
        Err(SpendError::Settled("started")) => Ok(ActionId::of(&last)),
        Err(error) => Err(error.into()),
    }
}

/// Waits until a question is settled, or the one that replaced it.
async fn answered(
    app: &App,
    caller: &Caller,
    approval: ApprovalId,
) -> Result<(ApprovalId, Settled), Problem> {
    let mut last = approval;
    loop {
        let state = tokio::select! {
            state = app.gate.settled(caller, &last) => state?,
            () = app.stopped() => {
                let detail = "the server stops";
                return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "draining", detail));
            }
        };
        match state {
            Settled::Cancelled { why: Cancel::Replaced { by }, .. } => last = by,
            state => return Ok((last, state)),
        }
    }
}

/// Refuses an edited action that names another element than the one that was described.
fn same_element(task: &Task) -> Result<(), Problem> {
    let named = match &task.proposal.action {
        Action::Ui { reference, .. } => reference.as_ref(),
        _ => None,
    };
    if named == task.element.as_ref().map(|element| &element.reference) {
        return Ok(());
    }
    Err(Problem::conflict("other-element", "the changed action is for another element"))
}

/// Waits until an action is over, or as long as the caller does.
async fn over(app: &App, id: &ActionId, until: Instant) {
    let Some(mut over) = app.gate.work_over(id) else { return };
    tokio::select! {
        _ = timeout_at(until, over.wait_for(|over| *over)) => {}
        () = app.stopped() => {}
    }
}

async fn answer(
    app: &App,
    caller: &Caller,
    session: &SessionId,
    id: &ActionId,
    until: Option<Instant>,
) -> Result<Response, Problem> {
    if let Some(until) = until {
        over(app, id, until).await;
    }
    let execution = app.gate.execution(Reader::from(caller), session, id).await?;
    let sessions = vec![session.clone()];
    if execution.state.is_over() {
        // The output is the agent's alone: it is not stored for a second request.
        let body = body::Json(Proposed::Executed(Box::new(execution)));
        return Ok(Once(Within(body, sessions)).into_response());
    }
    let body = body::Json(Proposed::Executing(Box::new(execution)));
    Ok(Within((StatusCode::ACCEPTED, body), sessions).into_response())
}
