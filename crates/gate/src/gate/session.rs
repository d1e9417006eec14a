//! Sessions begin, pause, go on and end.

use std::time::Duration;

use serde_json::json;

use crate::approval::{Approval, Cancel, OPEN};
use crate::audit::{self, Subject};
use crate::caller::{Caller, Person};
use crate::document::{self, Held};
use crate::event::{Event, What};
use crate::gate::control::failed;
use crate::gate::join::join;
use crate::gate::people::PeopleError;
use crate::gate::spend::Cancelled;
use crate::gate::{Gate, GateError, TRIES, is_conflict};
use crate::id::{SessionId, UserId, WorkspaceId};
use crate::rate::Rate;
use crate::redacted;
use crate::session::{End, Plan, Session, SessionState, tightest};
use crate::store::{Batch, CommitError, Count, CountStep, Kind, Pace, Query, StoreError};
use crate::user::{Role, User, Workspace};
use crate::vault::{Credential, SiteError, is_site};

/// Whether the person for whom the agent works wants it to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// They said so.
    Given,
    /// Nobody asked them.
    Missing,
}

/// Why no session begins.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The kill switch.
    #[error("everything is halted: no session begins")]
    Halted,
    /// Nobody asked the person.
    #[error("the person has not agreed that an agent works for them")]
    NoConsent,
    /// A model's own key asks for what only people and their programs may choose.
    #[error("an agent may not choose `{0}` for itself: a person starts such a session")]
    NotForAgents(&'static str),
    /// The workspace is not one of theirs.
    #[error("there is no such workspace of theirs")]
    Workspace,
    /// There is no such profile.
    #[error("unknown profile `{0}`")]
    Profile(String),
    /// Too many sessions in the last hour.
    #[error("too many sessions in an hour: wait {} s", .0.as_secs().max(1))]
    TooMany(Duration),
    /// As many sessions run as may at the same time.
    #[error("a session is running already: stop it first")]
    Running,
    /// The session asks for an origin that no session may open.
    #[error("`{0}` is not among the allowed origins")]
    Origin(String),
    /// A credential is for no web address.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

/// What a session may sign in with at one site.
#[derive(Debug)]
pub struct SiteCredential {
    /// Where.
    pub site: String,
    /// With what.
    pub credential: Credential,
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl Gate {
    /// Begins a session. Credentials stay in memory, and go with it.
    ///
    /// # Errors
    /// It may not begin, and why.
    pub async fn start(
        &self,
        caller: &Caller,
        plan: Plan,
        consent: Consent,
        credentials: Vec<SiteCredential>,
    ) -> Result<Session, StartError> {
        let control = self.control().await?;
        if control.value.halted {
            return Err(StartError::Halted);
        }
        if consent == Consent::Missing {
            return Err(StartError::NoConsent);
        }
        self.check_choices(caller, &plan)?;
        self.check_workspace(&caller.user, &caller.workspace).await?;
        if !credentials.iter().all(|credential| is_site(&credential.site)) {
            return Err(SiteError.into());
        }
        let session = self.planned_session(caller, plan, !credentials.is_empty())?;
        let mut batch = Batch {
            unchanged: vec![control.unchanged()],
            writes: vec![document::insert(&session)?],
            records: vec![self.start_record(&session)?],
            ..Batch::default()
        };
        limit_sessions(&session, &mut batch);
        match self.commit(batch).await {
            Ok(_) => {}
            Err(CommitError::Conflict { .. }) => return Err(StartError::Halted),
            Err(CommitError::TooFast { wait, .. }) => return Err(StartError::TooMany(wait)),
            Err(CommitError::Full { .. }) => return Err(StartError::Running),
            Err(CommitError::Store(error)) => return Err(error.into()),
        }
        for SiteCredential { site, credential } in credentials {
            // The sites were looked at before anything was committed.
            self.vault.put(&session.id, &site, credential)?;
        }
        self.tell_session(&session, What::SessionStarted);
        Ok(session)
    }

    /// One session of a person, or of a workspace they look after.
    ///
    /// # Errors
    /// There is none that they may see, or the store failed.
    pub async fn session(&self, person: &Person, id: &SessionId) -> Result<Session, PeopleError> {
        let held: Held<Session> = self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        looks_after(person, &held.value)?;
        Ok(held.value)
    }

    /// Ends a session whose agent says that it is done.
    ///
    /// # Errors
    /// There is no such session of theirs, or the store failed.
    pub async fn complete(&self, caller: &Caller, id: &SessionId) -> Result<(), PeopleError> {
        let held: Held<Session> = self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        if held.value.user != caller.user {
            return Err(PeopleError::NotFound);
        }
        Ok(self.end(id, End::Completed).await?)
    }

    /// Stops a session.
    ///
    /// # Errors
    /// There is none that this person looks after, or the store failed.
    pub async fn stop(&self, person: &Person, id: &SessionId) -> Result<(), PeopleError> {
        self.session(person, id).await?;
        Ok(self.end(id, End::Stopped).await?)
    }

    /// Stops every session this person looks after, and says how many.
    ///
    /// # Errors
    /// The store failed.
    pub async fn stop_all(&self, person: &Person) -> Result<usize, GateError> {
        let mut stopped = 0;
        let mut query = Query { states: ALIVE.to_vec(), ..Query::of(Kind::Session) };
        loop {
            let sessions = document::find::<Session>(&*self.store, &query).await?;
            let Some(last) = sessions.last() else { return Ok(stopped) };
            query.after = Some(last.value.id.to_string());
            for held in sessions {
                if looks_after(person, &held.value).is_ok() {
                    self.end(&held.value.id, End::Stopped).await?;
                    stopped += 1;
                }
            }
        }
    }

    /// Lets a paused session go on.
    ///
    /// # Errors
    /// There is none that this person looks after, or the store failed.
    pub async fn resume_session(&self, person: &Person, id: &SessionId) -> Result<(), PeopleError> {
        self.session(person, id).await?;
        let changed = self
            .change_session(id, |session| match session.state {
                SessionState::Paused { .. } => {
                    Some(Session { state: SessionState::Active, ..session })
                }
                SessionState::Active | SessionState::Ended { .. } => None,
            })
            .await?;
        if let Some(session) = changed {
            self.tell_session(&session, What::SessionResumed);
        }
        Ok(())
    }

    /// Ends sessions that cannot go on after a restart: their credentials were in memory, or
    /// their agent is gone.
    pub(super) async fn recover(&self) -> Result<(), GateError> {
        self.end_where(|session| {
            if session.has_credentials { Some(End::CredentialsGone) } else { self.is_gone(session) }
        })
        .await?;
        self.finish_stops().await
    }

    /// Cancels what a stop or a halt would have cancelled had the process lived a moment longer.
    async fn finish_stops(&self) -> Result<(), GateError> {
        let mut query = Query { states: OPEN.to_vec(), ..Query::of(Kind::Approval) };
        if self.control().await?.value.halted {
            return self.cancel_all(query, Cancel::Halted).await;
        }
        loop {
            let open = document::find::<Approval>(&*self.store, &query).await?;
            let Some(last) = open.last() else { return Ok(()) };
            query.after = Some(last.value.request.id.to_string());
            for held in open {
                let Some(id) = &held.value.request.session else { continue };
                let session = self.get::<Session>(id.as_str()).await?;
                if !session.is_some_and(|session| session.value.is_alive()) {
                    self.cancel(&held, Cancel::SessionEnded).await?;
                }
            }
        }
    }

    /// Ends sessions that something speaks against.
    pub(super) async fn end_where(
        &self,
        reason: impl Fn(&Session) -> Option<End>,
    ) -> Result<(), GateError> {
        let mut query = Query { states: ALIVE.to_vec(), ..Query::of(Kind::Session) };
        loop {
            let sessions = document::find::<Session>(&*self.store, &query).await?;
            let Some(last) = sessions.last() else { return Ok(()) };
            query.after = Some(last.value.id.to_string());
            for held in sessions {
                if let Some(reason) = reason(&held.value) {
                    self.end(&held.value.id, reason).await?;
                }
            }
        }
    }

    /// Whether the agent's process is known and gone.
    pub(super) fn is_gone(&self, session: &Session) -> Option<End> {
        let agent = session.plan.process.as_ref()?;
        (!agent.is_alive(&*self.processes)).then_some(End::ProcessGone)
    }

    pub(super) async fn pause(&self, id: &SessionId) -> Result<(), GateError> {
        let since = self.now();
        let paused = self
            .change_session(id, |session| match session.state {
                SessionState::Active => {
                    Some(Session { state: SessionState::Paused { since }, ..session })
                }
                SessionState::Paused { .. } | SessionState::Ended { .. } => None,
            })
            .await?;
        if let Some(session) = paused {
            self.tell_session(&session, What::SessionPaused);
        }
        Ok(())
    }

    /// Ends a session: nothing more is allowed in it, what waits is cancelled, its credentials
    /// are gone. In this order, so that no question comes in after the sweep.
    pub(super) async fn end(&self, id: &SessionId, reason: End) -> Result<(), GateError> {
        self.vault.forget(id);
        let at = self.now();
        let ended = self
            .change_session(id, |session| match session.state {
                SessionState::Active | SessionState::Paused { .. } => {
                    Some(Session { state: SessionState::Ended { at, reason }, ..session })
                }
                SessionState::Ended { .. } => None,
            })
            .await?;
        let query = Query {
            session: Some(id.to_string()),
            states: OPEN.to_vec(),
            ..Query::of(Kind::Approval)
        };
        self.cancel_all(query, Cancel::SessionEnded).await?;
        if let Some(session) = ended {
            self.tell_session(&session, What::SessionEnded { reason: reason.as_str() });
        }
        Ok(())
    }

    /// Cancels every open approval a query finds.
    pub(super) async fn cancel_all(&self, query: Query, why: Cancel) -> Result<(), GateError> {
        let mut tries = 0;
        while tries < TRIES {
            let open = document::find::<Approval>(&*self.store, &query).await?;
            if open.is_empty() {
                return Ok(());
            }
            // However many there are: only a round in which nothing went is one too many.
            tries += 1;
            for done in join(open.iter().map(|held| self.cancel(held, why.clone()))).await {
                if done? == Cancelled::Now {
                    tries = 0;
                }
            }
        }
        Err(GateError::Busy)
    }

    /// Changes a session, or leaves it as it is; a session that ends takes its counters along.
    async fn change_session(
        &self,
        id: &SessionId,
        change: impl Fn(Session) -> Option<Session>,
    ) -> Result<Option<Session>, GateError> {
        for _ in 0..TRIES {
            let Some(held) = self.get::<Session>(id.as_str()).await? else { return Ok(None) };
            let Some(next) = change(held.value.clone()) else { return Ok(None) };
            let mut batch = Batch { writes: vec![held.replace(&next)?], ..Batch::default() };
            if let SessionState::Ended { at, reason } = next.state {
                batch.counts.extend(next.forgotten());
                batch.counts.extend(running_count(&next, CountStep::Down));
                batch.records.push(self.end_record(&next, at, reason).await?);
            }
            match self.commit(batch).await {
                Ok(_) => return Ok(Some(next)),
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(GateError::Busy)
    }

    fn planned_session(
        &self,
        caller: &Caller,
        mut plan: Plan,
        has_credentials: bool,
    ) -> Result<Session, StartError> {
        let name = plan.profile.as_deref();
        let unknown = || StartError::Profile(redacted::text(name.unwrap_or_default()));
        let limits = tightest(self.policy().limits(name).ok_or_else(unknown)?, plan.limits);
        plan.task = plan.task.as_deref().map(redacted::text);
        plan.flow = plan.flow.as_deref().map(redacted::text);
        for origin in plan.allowed_origins.iter_mut().flatten() {
            *origin = redacted::text(origin);
        }
        plan.allowed_origins = self.origins(plan.allowed_origins.take())?;
        let started_at = self.now();
        let deadline = limits
            .session_seconds
            .map(|seconds| started_at.after(Duration::from_secs(seconds.into())));
        Ok(Session {
            id: SessionId::draw(&self.clock).map_err(GateError::from)?,
            user: caller.user.clone(),
            workspace: caller.workspace.clone(),
            key: caller.key_id().cloned(),
            plan,
            limits,
            has_credentials,
            started_at,
            deadline,
            state: SessionState::Active,
        })
    }

    /// An agent that could choose would choose what asks least.
    fn check_choices(&self, caller: &Caller, plan: &Plan) -> Result<(), StartError> {
        if !caller.is_agent() {
            return Ok(());
        }
        if plan.auto_confirm {
            return Err(StartError::NotForAgents("auto_confirm"));
        }
        let own = self.policy();
        match &plan.profile {
            Some(name) if name != own.profile_name() => Err(StartError::NotForAgents("profile")),
            Some(_) | None => Ok(()),
        }
    }

    /// The origins a session may open: no more than any may.
    fn origins(&self, asked: Option<Vec<String>>) -> Result<Option<Vec<String>>, StartError> {
        let (Some(most), Some(asked)) = (&self.config.allowed_origins, &asked) else {
            return Ok(asked.or_else(|| self.config.allowed_origins.clone()));
        };
        match asked.iter().find(|origin| !most.contains(origin)) {
            Some(other) => Err(StartError::Origin(redacted::text(other))),
            None => Ok(Some(asked.clone())),
        }
    }

    async fn check_workspace(&self, user: &UserId, id: &WorkspaceId) -> Result<(), StartError> {
        let workspace: Option<Held<Workspace>> = self.get(id.as_str()).await?;
        let user: Option<Held<User>> = self.get(user.as_str()).await?;
        let belongs = user.is_some_and(|user| user.value.role_in(id) > Role::Stranger);
        if workspace.is_some() && belongs { Ok(()) } else { Err(StartError::Workspace) }
    }

    fn start_record(&self, session: &Session) -> Result<audit::Draft, GateError> {
        let plan = &session.plan;
        let payload = json!({
            "profile": plan.profile,
            "mode": plan.mode,
            "auto_confirm": plan.auto_confirm,
            "flow_type": plan.flow,
            "task": plan.task,
            "consent": "given",
        });
        Ok(self.record(audit::Event::SessionStart, subject_of(session), payload)?)
    }

    async fn end_record(
        &self,
        session: &Session,
        at: crate::clock::Timestamp,
        reason: End,
    ) -> Result<audit::Draft, GateError> {
        let steps = self.store.counter(&session.counter("steps")).await?;
        let seconds = at.since(session.started_at).as_secs();
        let payload = json!({
            "status": "ended",
            "outcome": reason.as_str(),
            "duration_seconds": seconds,
            "steps": steps,
        });
        Ok(self.record(audit::Event::SessionEnd, subject_of(session), payload)?)
    }

    fn tell_session(&self, session: &Session, what: What) {
        self.bus.tell(Event {
            user: Some(session.user.clone()),
            workspace: Some(session.workspace.clone()),
            session: Some(session.id.clone()),
            what,
        });
    }
}

/// The names of states in which a session could go on.
const ALIVE: [&str; 2] = ["active", "paused"];

/// Where a user's running sessions of one kind are counted, if they are.
fn running_count(session: &Session, step: CountStep) -> Option<Count> {
    session.limits.sessions_at_once?;
    let profile = session.plan.profile.as_deref().unwrap_or("default");
    Some(Count { key: format!("user:{}:running:{profile}", session.user), step })
}

fn subject_of(session: &Session) -> Subject {
    Subject {
        owner: Some(session.user.to_string()),
        workspace: Some(session.workspace.to_string()),
        session: Some(session.id.to_string()),
    }
}

fn limit_sessions(session: &Session, batch: &mut Batch) {
    if let Some(uses) = session.limits.sessions_per_hour {
        let key = format!("user:{}:sessions", session.user);
        batch.paces.push(Pace { key, rate: Rate::per_hour(uses), now: session.started_at });
    }
    if let Some(most) = session.limits.sessions_at_once {
        batch.counts.extend(running_count(session, CountStep::Up { most: most.into() }));
    }
}

fn looks_after(person: &Person, session: &Session) -> Result<(), PeopleError> {
    let mine = session.user == person.user().id;
    if mine || person.role_in(&session.workspace) >= Role::WorkspaceAdmin {
        return Ok(());
    }
    Err(PeopleError::NotFound)
}
