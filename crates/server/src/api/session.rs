//! Sessions: begun by an agent or its person, listed, completed, stopped.

use axum::Json;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use countersign_core::context::Mode;
use countersign_gate::Caller;
use countersign_gate::caller::Peer;
use countersign_gate::gate::{Consent, OwnerFilter, SiteCredential};
use countersign_gate::id::{SessionId, WorkspaceId};
use countersign_gate::process::{self, Descent, Process, Processes, descends_from};
use countersign_gate::session::Plan;
use countersign_gate::vault::Credential;
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::action::caller_of;
use crate::api::approval::whose;
use crate::app::App;
use crate::auth::{Identity, Remote, Signed};
use crate::body::{self, Path, Query};
use crate::error::Problem;
use crate::page::{Listed, page};
use crate::route::{Route, Who, get, post, row};
use crate::view::{ProgressView, SessionView};

/// A session to begin.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewSession")]
struct Begin {
    /// True when the person wants an agent to work for them.
    #[serde(default)]
    consent: bool,
    workspace_id: Option<WorkspaceId>,
    /// Gives the running session of the same agent with the same task back, if there is one.
    #[serde(default)]
    reuse: bool,
    #[serde(default)]
    plan: Plan,
    /// True when a worker is to do its actions: the session ends if none registers in time.
    #[serde(default)]
    worker: bool,
    /// The credentials it may sign in with. Kept in memory alone, and gone with the session.
    #[serde(default)]
    credentials: Vec<SiteBody>,
}

/// The credentials of a session for one site.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SiteCredential")]
struct SiteBody {
    /// The site: `https://example.com`.
    site: String,
    /// Named texts, such as `username` and `password`.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    fields: Credential,
}

/// The mode a session is to be in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ModeChange {
    /// `explore` or `task`.
    mode: Mode,
}

/// The sessions to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    state: Option<StateName>,
    /// Only the sessions of a workspace you look after.
    workspace_id: Option<WorkspaceId>,
    /// Everybody's, for super admins.
    #[serde(default)]
    all: bool,
    cursor: Option<String>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SessionStateName")]
enum StateName {
    Active,
    Paused,
    Ended,
}

/// The number of sessions that were stopped.
#[derive(Debug, Serialize, JsonSchema)]
struct Stopped {
    stopped: usize,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(path::SESSIONS, "start_session")
            .by(Who::Either)
            .says("Begins a session.")
            .takes::<Begin>()
            .gives::<SessionView>(200)
            .gives::<SessionView>(201)
            .to(start),
        get(path::SESSIONS, "list_sessions")
            .by(Who::PersonOrLocalAgent)
            .says("Sessions, newest first; an agent over the socket sees its own.")
            .query::<ListQuery>()
            .gives::<Listed<SessionView>>(200)
            .to(list),
        get(path::SESSION, "show_session")
            .by(Who::Either)
            .says("One session, with its progress.")
            .gives::<SessionView>(200)
            .to(show),
        row(Method::PATCH, path::SESSION, "switch_session_mode")
            .by(Who::Either)
            .says("Switches a session to explore or task mode, from the next action on; an agent may only switch back to exploring.")
            .takes::<ModeChange>()
            .gives::<SessionView>(200)
            .to(switch_mode),
        post(path::SESSION_COMPLETE, "complete_session")
            .by(Who::Either)
            .says("Ends a session whose agent has finished.")
            .gives_media(204, "")
            .to(complete),
        post(path::SESSION_STOP, "stop_session")
            .says("Stops a session: its pending questions are cancelled.")
            .by_socket_alone()
            .gives_media(204, "")
            .to(stop),
        post(path::SESSION_RESUME, "resume_session")
            .says("Resumes a paused session.")
            .gives_media(204, "")
            .to(resume),
        post(path::SESSIONS_STOP, "stop_all_sessions")
            .says("Stops every session you manage.")
            .by_socket_alone()
            .gives::<Stopped>(200)
            .to(stop_all),
    ]
}

async fn start(
    State(app): State<App>,
    identity: Identity,
    remote: Remote,
    body::Json(begin): body::Json<Begin>,
) -> Result<(StatusCode, Json<SessionView>), Problem> {
    let Begin { consent, workspace_id, reuse, mut plan, worker, credentials } = begin;
    let is_known = matches!(&identity, Identity::Person(person) if !person.is_unproven());
    let caller = caller_of(identity, workspace_id.as_ref())?;
    if let Some(peer) = remote.peer.filter(|_| !is_known) {
        plan.process = match plan.process {
            Some(named) => Some(checked(peer, named, caller.local_agents(), &process::System)?),
            None => own_process(peer, &caller),
        };
    }
    if reuse && let Some(session) = app.gate.session_like(&caller, &plan).await? {
        return Ok((StatusCode::OK, Json(session.into())));
    }
    let consent = if consent { Consent::Given } else { Consent::Missing };
    let credentials = credentials
        .into_iter()
        .map(|body| SiteCredential { site: body.site, credential: body.fields })
        .collect();
    let session = app.gate.start(&caller, plan, consent, credentials).await?;
    if worker {
        app.gate.expect_worker(&caller, &session.id).await?;
    }
    Ok((StatusCode::CREATED, Json(session.into())))
}

/// The process of an agent that names none. A person who is not known to be present has none.
fn own_process(peer: Peer, caller: &Caller) -> Option<Process> {
    match caller.local_agents() {
        Some(agents) => agents.first().copied(),
        None => caller.key_id().and_then(|_| Process::of(peer.pid, &process::System)),
    }
}

/// Checks the process that an agent names. Over the local socket the system reports the peer: an
/// agent may name a process that started it, but cannot claim to be another one, whose children
/// could then answer.
fn checked(
    peer: Peer,
    named: Process,
    local: Option<&[Process]>,
    processes: &dyn Processes,
) -> Result<Process, Problem> {
    let own = match local {
        Some(agents) => agents.contains(&named),
        None => descends_from(peer.pid, &named, processes) == Descent::Within,
    };
    if own {
        return Ok(named);
    }
    let detail = "`plan.process` is neither the asking process nor one of its ancestors";
    Err(Problem::forbidden("other-process", detail))
}

async fn list(
    State(app): State<App>,
    identity: Identity,
    Query(which): Query<ListQuery>,
) -> Result<Json<Listed<SessionView>>, Problem> {
    let states: &[&str] = match which.state {
        Some(StateName::Active) => &["active"],
        Some(StateName::Paused) => &["paused"],
        Some(StateName::Ended) => &["ended"],
        None => &[],
    };
    let whose = whose(which.workspace_id, which.all);
    let page = page(which.cursor, which.limit);
    let sessions = match identity {
        Identity::Person(person) => app.gate.sessions(&person, &whose, states, &page).await?,
        Identity::Caller(_) if whose != OwnerFilter::Mine => return Err(Problem::not_found()),
        Identity::Caller(caller) => app.gate.sessions_of_caller(&caller, states, &page).await?,
    };
    Ok(Json(Listed::of(sessions, SessionView::from)))
}

async fn show(
    State(app): State<App>,
    identity: Identity,
    Path(id): Path<SessionId>,
) -> Result<Json<SessionView>, Problem> {
    let (session, progress) = match identity {
        Identity::Person(person) => {
            (app.gate.session(&person, &id).await?, app.gate.progress(&person, &id).await?)
        }
        Identity::Caller(caller) => (
            app.gate.session_of_caller(&caller, &id).await?,
            app.gate.progress_of_caller(&caller, &id).await?,
        ),
    };
    let progress = Some(ProgressView::from(progress));
    Ok(Json(SessionView { progress, ..session.into() }))
}

async fn switch_mode(
    State(app): State<App>,
    identity: Identity,
    Path(id): Path<SessionId>,
    body::Json(ModeChange { mode }): body::Json<ModeChange>,
) -> Result<Json<SessionView>, Problem> {
    let session = match identity {
        Identity::Person(person) => app.gate.switch_mode(&person, &id, mode).await?,
        Identity::Caller(caller) => app.gate.switch_own_mode(&caller, &id, mode).await?,
    };
    Ok(Json(session.into()))
}

async fn complete(
    State(app): State<App>,
    identity: Identity,
    Path(id): Path<SessionId>,
) -> Result<StatusCode, Problem> {
    match identity {
        Identity::Caller(caller) => app.gate.complete(&caller, &id).await?,
        Identity::Person(person) => {
            let session = app.gate.session(&person, &id).await?;
            let caller = caller_of(Identity::Person(person), Some(&session.workspace))?;
            app.gate.complete(&caller, &id).await?;
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn stop(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<SessionId>,
) -> Result<StatusCode, Problem> {
    app.gate.stop(&person, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn resume(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<SessionId>,
) -> Result<StatusCode, Problem> {
    app.gate.resume_session(&person, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn stop_all(
    State(app): State<App>,
    Signed(person): Signed,
) -> Result<Json<Stopped>, Problem> {
    Ok(Json(Stopped { stopped: app.gate.stop_all(&person).await? }))
}

#[cfg(test)]
mod tests {
    use countersign_gate::process::Fake;

    use super::*;

    #[test]
    fn an_agent_cannot_say_that_it_is_a_process_which_did_not_start_it() {
        let processes = Fake::default();
        let at = |pid| Process { pid, started: u64::from(pid) };
        for (pid, parent) in [(1, 0), (10, 1), (11, 10), (20, 1)] {
            processes.start(at(pid), parent, 1_000);
        }
        let peer = Peer::of(11, 1_000, &processes);
        let named = |named| checked(peer, named, None, &processes);
        assert_eq!(named(at(11)), Ok(at(11)));
        assert_eq!(named(at(10)), Ok(at(10)));
        assert!(named(at(20)).is_err());
        assert!(named(Process { pid: 10, started: 9 }).is_err(), "another with its number");
        let local = |named| checked(peer, named, Some(&[at(10)]), &processes);
        assert_eq!(local(at(10)), Ok(at(10)));
        assert!(local(at(11)).is_err(), "no agent that is known");
    }
}
