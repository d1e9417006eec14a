//! Starting of sessions: the checks before it, and the session's limits.

use std::time::Duration;

use countersign_core::policy::Lock;
use serde_json::json;

use crate::audit;
use crate::caller::{Caller, Origin};
use crate::document::{self, Versioned};
use crate::event::What;
use crate::gate::session::{owner_of, running_count};
use crate::gate::{Gate, GateError, Lookup};
use crate::id::{SessionId, UserId, WorkspaceId};
use crate::key::Access;
use crate::rate::Rate;
use crate::redacted;
use crate::scope;
use crate::session::{Plan, Session, SessionState};
use crate::store::{Batch, CommitError, CountStep, Kind, Pace, StoreError};
use crate::user::{Role, User, Workspace};
use crate::vault::{Credential, SiteError, is_site};

/// The consent of the person for whom the agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// The person has agreed.
    Given,
    /// The person was not asked.
    Missing,
}

/// The reason for which a session does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Everything is halted.
    #[error("everything is halted: no session begins")]
    Halted,
    /// The person has not agreed.
    #[error("the person has not agreed that an agent works for them")]
    NoConsent,
    /// A model's own key asks for something that only people and their programs may choose.
    #[error(
        "an agent may not say `{0}` for itself: a person starts such a session, or a program whose \
         key has the scope `{consent}`",
        consent = scope::CONSENT
    )]
    NotForAgents(&'static str),
    /// A program's key lacks the right to consent for its person.
    #[error("this key cannot agree for its person: it needs the scope `{}`", scope::CONSENT)]
    ConsentScope,
    /// The workspace is not one of theirs.
    #[error("there is no such workspace of theirs")]
    Workspace,
    /// The profile does not exist.
    #[error("unknown profile `{0}`")]
    Profile(String),
    /// The organisation has locked a setting that the session asks for.
    #[error("the organisation has locked `{0}`: a session cannot choose it")]
    Locked(&'static str),
    /// `auto_confirm_rules` names an unknown rule.
    #[error("unknown rule `{0}` in `auto_confirm_rules`")]
    UnknownRule(String),
    /// Too many sessions in the last hour.
    #[error("too many sessions in an hour: wait {} s", .0.as_secs().max(1))]
    TooMany(Duration),
    /// The most sessions that may run at the same time are running.
    #[error("a session is running already: stop it first")]
    Running,
    /// The session asks for an origin that is not allowed.
    #[error("`{0}` is not among the allowed origins")]
    Origin(String),
    /// A credential is not for a web address.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

/// A credential of a session for one site.
#[derive(Debug)]
pub struct SiteCredential {
    /// The site.
    pub site: String,
    /// The credential.
    pub credential: Credential,
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        Self::Gate(error.into())
    }
}

impl Gate {
    /// Starts a session. Credentials stay in memory until it ends.
    ///
    /// # Errors
    /// The session may not start; the error says why.
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
        self.check_locks(caller, &plan)?;
        if caller.is_agent() && !credentials.is_empty() {
            return Err(StartError::NotForAgents("credentials"));
        }
        check_consent(caller, &plan)?;
        self.check_workspace(&caller.user, &caller.workspace).await?;
        if !credentials.iter().all(|credential| is_site(&credential.site)) {
            return Err(SiteError.into());
        }
        let session = self.planned_session(caller, plan, !credentials.is_empty())?;
        let mut unchanged = self.rights_of(caller, Lookup::Fresh).await?;
        unchanged.push(control.unchanged());
        if let Some(agent) = session.plan.process {
            self.agents.note(agent, &*self.processes);
        }
        let mut batch = Batch {
            unchanged,
            writes: vec![document::insert(&session)?],
            records: vec![self.start_record(caller, &session)?],
            ..Batch::default()
        };
        limit_sessions(&session, &mut batch);
        match self.commit(batch).await {
            Ok(_) => {}
            Err(CommitError::Conflict { kind: Kind::Control, .. }) => {
                return Err(StartError::Halted);
            }
            Err(CommitError::Conflict { .. } | CommitError::Outdated) => {
                return Err(GateError::Busy.into());
            }
            Err(CommitError::TooFast { wait, .. }) => return Err(StartError::TooMany(wait)),
            Err(CommitError::Full { .. }) => return Err(StartError::Running),
            Err(CommitError::Store(error)) => return Err(error.into()),
        }
        for SiteCredential { site, credential } in credentials {
            // The sites were checked before anything was committed.
            self.vault.put(&session.id, &site, credential)?;
        }
        self.tell_session(&session, What::SessionStarted);
        Ok(session)
    }

    fn planned_session(
        &self,
        caller: &Caller,
        plan: Plan,
        has_credentials: bool,
    ) -> Result<Session, StartError> {
        let name = plan.profile.as_deref();
        let unknown = || StartError::Profile(redacted::text(name.unwrap_or_default()));
        // A session may ask for lower limits than it would get, never for higher ones.
        let limits =
            self.policy_in(&caller.workspace).limits(name).ok_or_else(unknown)?.lowest(plan.limits);
        let plan = self.kept_plan(plan)?;
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

    /// Refuses choices of an agent for itself: it would choose whatever asks least.
    fn check_choices(&self, caller: &Caller, plan: &Plan) -> Result<(), StartError> {
        if !caller.is_agent() {
            return Ok(());
        }
        if plan.auto_confirm {
            return Err(StartError::NotForAgents("auto_confirm"));
        }
        let own = self.policy_in(&caller.workspace);
        match &plan.profile {
            Some(name) if name != own.profile_name() => Err(StartError::NotForAgents("profile")),
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses choices that the organisation has locked, instead of silently ignoring them.
    fn check_locks(&self, caller: &Caller, plan: &Plan) -> Result<(), StartError> {
        let policy = self.policy_in(&caller.workspace);
        if plan.auto_confirm && !policy.may_auto_confirm() {
            return Err(StartError::Locked("auto_confirm"));
        }
        let other = plan.profile.as_deref().is_some_and(|name| name != policy.profile_name());
        if other && policy.is_locked(Lock::Profile) {
            return Err(StartError::Locked("profile"));
        }
        let mut rules = plan.auto_confirm_rules.iter().flatten();
        match rules.find(|words| !policy.is_known(words)) {
            Some(words) => Err(StartError::UnknownRule(redacted::text(words))),
            None => Ok(()),
        }
    }

    /// The origins that a session may open: never more than the configuration allows.
    /// A plan as a session keeps it: masked, and with the origins that it may open.
    ///
    /// # Errors
    /// An origin is not among those of the configuration.
    pub(in crate::gate) fn kept_plan(&self, mut plan: Plan) -> Result<Plan, StartError> {
        plan.task = plan.task.as_deref().map(redacted::text);
        plan.flow = plan.flow.as_deref().map(redacted::text);
        for origin in plan.allowed_origins.iter_mut().flatten() {
            *origin = redacted::text(origin);
        }
        plan.allowed_origins = self.origins(plan.allowed_origins.take())?;
        Ok(plan)
    }

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
        let workspace: Option<Versioned<Workspace>> = self.get(id.as_str()).await?;
        let user: Option<Versioned<User>> = self.get(user.as_str()).await?;
        let belongs = user.is_some_and(|user| user.value.role_in(id) > Role::Stranger);
        if workspace.is_some() && belongs { Ok(()) } else { Err(StartError::Workspace) }
    }

    fn start_record(&self, caller: &Caller, session: &Session) -> Result<audit::Draft, GateError> {
        let plan = &session.plan;
        let payload = json!({
            "profile": plan.profile,
            "mode": plan.mode,
            "auto_confirm": plan.auto_confirm,
            "auto_confirm_rules": plan.auto_confirm_rules,
            "flow_type": plan.flow,
            "task": plan.task,
            "consent": if caller.is_agent() { "hook" } else { "given" },
        });
        self.record(audit::Event::SessionStart, owner_of(session), &payload)
    }
}

/// Checks that this caller can consent for the person: a person who is present, or a program made
/// for it. An agent of this machine may only start the session of its own process: the person who
/// installed its hook has agreed to that, and to no more.
fn check_consent(caller: &Caller, plan: &Plan) -> Result<(), StartError> {
    let bound = match &caller.origin {
        Origin::Known => false,
        Origin::Socket => plan.process.is_some(),
        Origin::Agents(own) => plan.process.is_some_and(|process| own.contains(&process)),
    };
    match &caller.key {
        None if bound || caller.origin == Origin::Known => Ok(()),
        Some(key) if key.access == Access::Program => {
            if may_consent(caller) {
                Ok(())
            } else {
                Err(StartError::ConsentScope)
            }
        }
        None | Some(_) => Err(StartError::NotForAgents("consent")),
    }
}

/// Reports whether this is a program that may consent for its person.
pub(super) fn may_consent(caller: &Caller) -> bool {
    caller.key.as_ref().is_some_and(|key| {
        key.access == Access::Program && key.scopes.iter().any(scope::Scope::is_consent)
    })
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
