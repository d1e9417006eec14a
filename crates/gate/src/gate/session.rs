//! Pausing, resuming and ending of sessions.

use serde_json::json;

use crate::approval::{Approval, Cancel, OPEN};
use crate::audit::{self, RecordOwner};
use crate::caller::{Caller, Person};
use crate::clock::Timestamp;
use crate::document::{self, Versioned};
use crate::event::{Event, What};
use crate::gate::control::failed;
use crate::gate::join::join;
use crate::gate::people::PeopleError;
use crate::gate::spend::Cancelled;
use crate::gate::{Gate, GateError, Lookup, TRIES, is_conflict};
use crate::id::SessionId;
use crate::proposal::Why;
use crate::session::{End, Plan, Session, SessionState, Violation};
use crate::store::{Batch, Count, CountStep, Kind, Order, Query};
use crate::user::Role;

mod mode;
mod start;

pub use mode::ModeError;
pub use start::{Consent, SiteCredential, StartError};

impl Gate {
    /// One session of a person, or of a workspace they administer.
    ///
    /// # Errors
    /// The session does not exist for them, or the store failed.
    pub async fn session(&self, person: &Person, id: &SessionId) -> Result<Session, PeopleError> {
        let versioned: Versioned<Session> =
            self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        looks_after(person, &versioned.value)?;
        Ok(versioned.value)
    }

    /// The running session of this caller with just this plan, if there is one: for askers that
    /// keep no state between two calls.
    ///
    /// # Errors
    /// The store failed.
    pub async fn session_like(
        &self,
        caller: &Caller,
        plan: &Plan,
    ) -> Result<Option<Session>, GateError> {
        // A plan that cannot be started is refused when it is.
        let Ok(plan) = self.kept_plan(plan.clone()) else { return Ok(None) };
        let same = |session: &Session| {
            works_in(caller, session)
                && session.key.as_ref() == caller.key_id()
                && session.deadline.is_none_or(|deadline| self.now() < deadline)
                && session.plan == plan
        };
        let owner = Some(caller.user.to_string());
        let query = Query { order: Order::Newest, ..Query::of(Kind::Session) };
        let query = Query { owner, states: vec!["active"], ..query };
        let found = document::find::<Session>(&*self.store, &query).await?;
        Ok(found.into_iter().map(|versioned| versioned.value).find(same))
    }

    /// Ends a session whose agent reports that it is done.
    ///
    /// # Errors
    /// The session does not exist for them, or the store failed.
    pub async fn complete(&self, caller: &Caller, id: &SessionId) -> Result<(), PeopleError> {
        self.rights_of(caller, Lookup::Fresh).await?;
        let versioned: Versioned<Session> =
            self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        if !works_in(caller, &versioned.value) {
            return Err(PeopleError::NotFound);
        }
        Ok(self.end(id, End::Completed).await?)
    }

    /// Stops a session.
    ///
    /// # Errors
    /// The session does not exist for them, or the store failed.
    pub async fn stop(&self, person: &Person, id: &SessionId) -> Result<(), PeopleError> {
        self.session(person, id).await?;
        Ok(self.end(id, End::Stopped).await?)
    }

    /// Stops every session that this person administers, and returns their number.
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
            for versioned in sessions {
                if looks_after(person, &versioned.value).is_ok() {
                    self.end(&versioned.value.id, End::Stopped).await?;
                    stopped += 1;
                }
            }
        }
    }

    /// Resumes a paused session.
    ///
    /// # Errors
    /// The session does not exist for them, or the store failed.
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
        self.note_agents().await?;
        self.finish_stops().await
    }

    /// Cancels approvals that a stop or a halt would have cancelled if the process had lived a
    /// moment longer.
    async fn finish_stops(&self) -> Result<(), GateError> {
        let mut query = Query { states: OPEN.to_vec(), ..Query::of(Kind::Approval) };
        if self.control().await?.value.halted {
            return self.cancel_all(query, Cancel::Halted).await;
        }
        loop {
            let open = document::find::<Approval>(&*self.store, &query).await?;
            let Some(last) = open.last() else { return Ok(()) };
            query.after = Some(last.value.request.id.to_string());
            for versioned in open {
                self.expect_asker_again(&versioned.value);
                let Some(id) = &versioned.value.request.session else { continue };
                let session = self.get::<Session>(id.as_str()).await?;
                if !session.is_some_and(|session| session.value.is_alive()) {
                    self.cancel(&versioned, Cancel::SessionEnded).await?;
                }
            }
        }
    }

    /// Ends the sessions for which `reason` gives an end.
    pub(super) async fn end_where(
        &self,
        reason: impl Fn(&Session) -> Option<End>,
    ) -> Result<(), GateError> {
        let mut query = Query { states: ALIVE.to_vec(), ..Query::of(Kind::Session) };
        loop {
            let sessions = document::find::<Session>(&*self.store, &query).await?;
            let Some(last) = sessions.last() else { return Ok(()) };
            query.after = Some(last.value.id.to_string());
            for versioned in sessions {
                if let Some(reason) = reason(&versioned.value) {
                    self.end(&versioned.value.id, reason).await?;
                }
            }
        }
    }

    /// The end of a session whose agent's process is known and gone.
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

    /// Ends a session: its credentials are dropped, nothing more is allowed in it, and its open
    /// approvals are cancelled. The session ends before the cancellation, so that no question comes
    /// in after it.
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
        self.end_work(id, reason.as_str());
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
            // The number of approvals is unlimited: only rounds without a cancellation count.
            tries += 1;
            for done in join(open.iter().map(|versioned| self.cancel(versioned, why.clone()))).await
            {
                if done? == Cancelled::Now {
                    tries = 0;
                }
            }
        }
        Err(GateError::Busy)
    }

    /// Changes a session, or leaves it unchanged; a session that ends releases its counters.
    async fn change_session(
        &self,
        id: &SessionId,
        change: impl Fn(Session) -> Option<Session>,
    ) -> Result<Option<Session>, GateError> {
        for _ in 0..TRIES {
            let Some(versioned) = self.get::<Session>(id.as_str()).await? else { return Ok(None) };
            let Some(next) = change(versioned.value.clone()) else { return Ok(None) };
            let mut batch = Batch { writes: vec![versioned.replace(&next)?], ..Batch::default() };
            if let SessionState::Ended { at, reason } = next.state {
                batch.counts.extend(next.forgotten());
                batch.counts.extend(running_count(&next, CountStep::Down));
                batch.records.extend(self.timeout_record(&next, at, reason)?);
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

    /// The violation of a session that has reached its time limit.
    fn timeout_record(
        &self,
        session: &Session,
        at: crate::clock::Timestamp,
        reason: End,
    ) -> Result<Option<audit::Draft>, GateError> {
        if reason != End::Timeout {
            return Ok(None);
        }
        let hit = session.time_used(at);
        let told = hit.map_or_else(String::new, |hit| format!(": {hit}"));
        let payload = json!({
            "type": Violation::Timeout.as_str(),
            "message": format!("the session has lasted as long as it may{told}"),
            "details": hit,
        });
        self.record(audit::Event::Violation, owner_of(session), &payload).map(Some)
    }

    async fn end_record(
        &self,
        session: &Session,
        at: Timestamp,
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
        self.record(audit::Event::SessionEnd, owner_of(session), &payload)
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

/// The names of the states of a session that has not ended.
const ALIVE: [&str; 2] = ["active", "paused"];

/// The counter of a user's running sessions of one profile, if these are limited.
fn running_count(session: &Session, step: CountStep) -> Option<Count> {
    session.limits.sessions_at_once?;
    let profile = session.plan.profile.as_deref().unwrap_or("default");
    Some(Count { key: format!("user:{}:running:{profile}", session.user), step })
}

pub(super) fn owner_of(session: &Session) -> RecordOwner {
    RecordOwner {
        owner: Some(session.user.to_string()),
        workspace: Some(session.workspace.to_string()),
        session: Some(session.id.to_string()),
    }
}

pub(super) fn looks_after(person: &Person, session: &Session) -> Result<(), PeopleError> {
    let mine = session.user == person.user().id;
    if mine || person.role_in(&session.workspace) >= Role::WorkspaceAdmin {
        return Ok(());
    }
    Err(PeopleError::NotFound)
}

/// Reports whether this caller works in a session: it is its user's, in its workspace. All keys of
/// the user there share it, because the person starts sessions for the agents that work in them.
pub(super) fn works_in(caller: &Caller, session: &Session) -> bool {
    session.user == caller.user
        && session.workspace == caller.workspace
        && caller.may_enter(session)
}

/// The reason for which nothing runs in a session at a time.
pub(super) fn not_running(session: &Session, now: Timestamp) -> Option<Why> {
    match session.state {
        SessionState::Ended { reason, .. } => Some(Why::Ended(reason)),
        SessionState::Paused { .. } => Some(Why::Paused),
        SessionState::Active => {
            let over = session.deadline.is_some_and(|deadline| now >= deadline);
            over.then_some(Why::Violation(Violation::Timeout))
        }
    }
}
