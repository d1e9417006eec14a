//! Sessions: the running ones, their progress, and a button to end each.

use askama::Template;
use axum::extract::State;
use axum::response::{Html, Response};
use countersign_gate::gate::{OwnerFilter, Page, Progress};
use countersign_gate::id::SessionId;
use countersign_gate::session::{Session, SessionState};
use countersign_gate::store::{Order, RecordQuery};

use crate::app::App;
use crate::auth::Signed;
use crate::body::Path;
use crate::console::piece::{How, Piece, plain};
use crate::console::record::RecordView;
use crate::console::when::{ago, left};
use crate::console::{Frame, done};
use crate::error::Problem;
use crate::html::{Text, show};
use crate::route::{Route, form, page};

/// The number of ended sessions that are shown; older ones are in the history.
const MOST_ENDED: usize = 20;
/// The number of records that are shown in the feed.
const MOST_RECORDS: usize = 100;

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/sessions", "sessions").says("Your sessions.").to(list),
        page("/sessions/{id}", "session").says("One session, live.").to(one),
        form("/sessions/{id}/stop", "stop_session_form").says("Stops a session.").to(stop),
        form("/sessions/{id}/resume", "resume_session_form")
            .says("Resumes a paused session.")
            .to(resume),
    ]
}

/// A session as it is displayed.
struct SessionView {
    id: String,
    title: Vec<Piece>,
    state: &'static str,
    ended_by: Option<&'static str>,
    auto_confirm: bool,
    profile: Option<String>,
    started: String,
    started_at: String,
    left: Option<String>,
    bars: Vec<Bar>,
}

/// The part of a limit that is used up.
struct Bar {
    label: String,
    used: u64,
    most: Option<u32>,
}

impl SessionView {
    fn of(t: Text, session: Session, progress: Option<&Progress>, app: &App) -> Self {
        let now = app.gate.now();
        let (state, ended_by) = match &session.state {
            SessionState::Active => ("active", None),
            SessionState::Paused { .. } => ("paused", None),
            SessionState::Ended { reason, .. } => ("ended", Some(reason.as_str())),
        };
        let title = session.plan.task.as_deref().map(plain);
        Self {
            title: title.unwrap_or_else(|| plain(&t.about("inbox.session", &session.id))),
            id: session.id.to_string(),
            state,
            ended_by,
            auto_confirm: session.plan.auto_confirm,
            profile: session.plan.profile,
            started: ago(t, session.started_at, now),
            started_at: session.started_at.to_string(),
            left: session.deadline.filter(|_| ended_by.is_none()).map(|at| left(at, now)),
            bars: progress.map(|progress| bars(t, progress)).unwrap_or_default(),
        }
    }
}

fn bars(t: Text, progress: &Progress) -> Vec<Bar> {
    let bar = |name: &str, used, most| Bar { label: t.say(name).into_owned(), used, most };
    let all = vec![
        bar("session.steps", progress.steps, progress.most_steps),
        bar("session.screenshots", progress.screenshots, progress.most_screenshots),
        bar("session.files", progress.files, progress.most_files),
        bar("session.errors", progress.errors, progress.most_errors),
    ];
    all.into_iter().filter(|bar| bar.most.is_some() || bar.used > 0).collect()
}

#[derive(Template)]
#[template(path = "sessions.html")]
struct Sessions {
    frame: Frame,
    alive: Vec<SessionView>,
    ended: Vec<SessionView>,
    /// The number that is shown of each, where there are more.
    alive_cut: Option<usize>,
    ended_cut: Option<usize>,
}

async fn list(State(app): State<App>, frame: Frame) -> Result<Html<String>, Problem> {
    let frame = frame.on("sessions");
    let (t, person) = (frame.t, &frame.person);
    let page = Page { after: None, limit: Page::MOST };
    let found = app.gate.sessions(person, &OwnerFilter::Mine, &["active", "paused"], &page).await?;
    let alive_cut = found.next.is_some().then_some(found.items.len());
    let mut alive = Vec::new();
    for session in found.items {
        let progress = app.gate.progress(person, &session.id).await?;
        alive.push(SessionView::of(t, session, Some(&progress), &app));
    }
    let page = Page { after: None, limit: MOST_ENDED };
    let over = app.gate.sessions(person, &OwnerFilter::Mine, &["ended"], &page).await?;
    let ended_cut = over.next.is_some().then_some(over.items.len());
    let ended = over.items.into_iter().map(|session| SessionView::of(t, session, None, &app));
    let ended = ended.collect();
    show(&Sessions { frame, alive, ended, alive_cut, ended_cut })
}

#[derive(Template)]
#[template(path = "session.html")]
struct One {
    frame: Frame,
    session: SessionView,
    feed: Vec<RecordView>,
    /// The number of records that are shown, where there may be more.
    cut: Option<usize>,
}

async fn one(
    State(app): State<App>,
    frame: Frame,
    Path(id): Path<SessionId>,
) -> Result<Html<String>, Problem> {
    let frame = frame.on("session");
    let session = app.gate.session(&frame.person, &id).await?;
    let progress = app.gate.progress(&frame.person, &id).await?;
    // People read their own records; an admin of the workspace reads those of others.
    let own = session.user == frame.person.user().id;
    let query = RecordQuery {
        owner: own.then(|| session.user.to_string()),
        workspace: (!own).then(|| session.workspace.to_string()),
        session: Some(id.to_string()),
        events: Vec::new(),
        from: None,
        until: None,
        order: Order::Newest,
        after: 0,
        limit: MOST_RECORDS,
    };
    let records = app.gate.records(&frame.person, &query).await?;
    let cut = (records.len() == MOST_RECORDS).then_some(MOST_RECORDS);
    let feed = records.iter().map(|record| RecordView::of(frame.t, record)).collect();
    let session = SessionView::of(frame.t, session, Some(&progress), &app);
    show(&One { frame, session, feed, cut })
}

async fn stop(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<SessionId>,
) -> Result<Response, Problem> {
    app.gate.stop(&person, &id).await?;
    Ok(done("/sessions", "stopped"))
}

async fn resume(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<SessionId>,
) -> Result<Response, Problem> {
    app.gate.resume_session(&person, &id).await?;
    Ok(done("/sessions", "resumed"))
}
