//! The outcome of a permitted action, as its agent reports it.

use serde::Deserialize;
use serde_json::json;

use crate::approval::{Approval, Outcome};
use crate::audit::{self, Draft};
use crate::caller::Caller;
use crate::document::Versioned;
use crate::event::{Event, What};
use crate::gate::control::failed;
use crate::gate::running::Running;
use crate::gate::session::works_in;
use crate::gate::{Gate, GateError, Lookup, TRIES, is_conflict};
use crate::id::{ActionId, SessionId};
use crate::redacted;
use crate::session::{End, Session};
use crate::store::{Batch, Count, CountStep};

/// An error, as the agent reports it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "Written")]
#[cfg_attr(feature = "schema", schemars(with = "Written"))]
pub struct ReportedError {
    /// The kind of error: `TypeError`, `TimeoutError`.
    pub name: String,
    /// The text of the error.
    pub message: String,
    /// The stack trace.
    pub stack: Option<String>,
}

/// An error as written: a text, or with its parts apart.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Written {
    Text(String),
    Parts(Parts),
}

#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ErrorParts"))]
#[serde(deny_unknown_fields)]
struct Parts {
    /// The kind of error.
    name: Option<String>,
    /// The text of the error.
    message: String,
    /// The stack trace.
    stack: Option<String>,
}

impl From<Written> for ReportedError {
    fn from(written: Written) -> Self {
        match written {
            Written::Text(text) => Self::from(text.as_str()),
            Written::Parts(Parts { name, message, stack }) => {
                let name = name.unwrap_or_else(|| UNNAMED.to_owned());
                Self { name, message, stack }
            }
        }
    }
}

/// Takes the kind of error from a text such as `TypeError: x is undefined`.
impl From<&str> for ReportedError {
    fn from(text: &str) -> Self {
        let letter = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.');
        let is_name = |name: &str| {
            name.chars().all(letter) && (name.ends_with("Error") || name.ends_with("Exception"))
        };
        let (name, message) = match text.split_once(": ") {
            Some((name, message)) if is_name(name) => (name, message),
            _ => (UNNAMED, text),
        };
        Self { name: name.to_owned(), message: message.to_owned(), stack: None }
    }
}

/// The kind of an error that names none.
const UNNAMED: &str = "Error";
/// The most characters of a stack trace that are recorded.
const MOST_OF_STACK: usize = 8_000;

/// The reason for which a report is refused.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The action does not exist for them.
    #[error("there is no such action")]
    NotFound,
    /// It was reported already, or never started.
    #[error("not running: {0}")]
    NotRunning(&'static str),
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<crate::store::StoreError> for ReportError {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Gate(error.into())
    }
}

/// The knowledge of the gate about an action that is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportBasis {
    /// The action is stored, and belongs to the caller.
    Stored,
    /// Nothing is stored about it.
    Unchecked,
}

/// One report.
struct Reported<'a> {
    action: &'a ActionId,
    session: Option<SessionId>,
    outcome: Outcome,
    error: Option<&'a ReportedError>,
    basis: ReportBasis,
}

impl Gate {
    /// Reports the outcome of a permitted action. An action that was allowed without a question and
    /// without a time limit is not stored: its report is recorded, marked as `unchecked`, because
    /// nothing shows that this action was allowed to this caller.
    ///
    /// # Errors
    /// The action or the session is not theirs, the action is not running, or the store failed.
    pub async fn report(
        &self,
        caller: &Caller,
        action: &ActionId,
        session: Option<&SessionId>,
        outcome: Outcome,
        error: Option<&ReportedError>,
    ) -> Result<(), ReportError> {
        for _ in 0..TRIES {
            let unchanged = self.rights_of(caller, Lookup::Fresh).await?;
            let versioned: Option<Versioned<Approval>> =
                self.get(action.approval().as_str()).await?;
            let mut batch = Batch { unchanged, ..Batch::default() };
            let (mut of, mut basis) = (session.cloned(), ReportBasis::Stored);
            if let Some(versioned) = versioned {
                if !self.is_theirs(caller, &versioned.value.request).await? {
                    return Err(ReportError::NotFound);
                }
                let standing = versioned.value.state.as_str();
                let state = versioned.value.state.clone().report(outcome, self.now());
                let state = state.map_err(|_| ReportError::NotRunning(standing))?;
                of.clone_from(&versioned.value.request.session);
                batch.records.extend(self.overdue_if_late(&versioned.value).await?);
                batch.writes.push(versioned.replace(&versioned.value.with(state))?);
            } else if let Some(versioned) = self.get::<Running>(action.as_str()).await? {
                of = Some(self.finish(caller, &versioned, &mut batch)?);
            } else {
                basis = ReportBasis::Unchecked;
            }
            let session = self.session_of(caller, of.as_ref()).await?;
            let report = Reported { action, session: of, outcome, error, basis };
            batch.records.extend(self.report_records(caller, report)?);
            let alive = session.as_ref().filter(|session| session.is_alive());
            if let (Outcome::Failed, Some(session)) = (outcome, alive) {
                let step = CountStep::Up { most: u64::MAX };
                batch.counts.push(Count { key: session.counter("errors"), step });
            }
            match self.commit(batch).await {
                Ok(_) => {
                    self.tell_report(caller, action, outcome);
                    return Ok(self.end_after_errors(session).await?);
                }
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(failed(error).into()),
            }
        }
        Err(GateError::Busy.into())
    }

    async fn session_of(
        &self,
        caller: &Caller,
        id: Option<&SessionId>,
    ) -> Result<Option<Session>, ReportError> {
        let Some(id) = id else { return Ok(None) };
        let versioned: Versioned<Session> =
            self.get(id.as_str()).await?.ok_or(ReportError::NotFound)?;
        if !works_in(caller, &versioned.value) {
            return Err(ReportError::NotFound);
        }
        Ok(Some(versioned.value))
    }

    pub(super) async fn end_after_errors(&self, session: Option<Session>) -> Result<(), GateError> {
        let Some(session) = session.filter(Session::is_alive) else { return Ok(()) };
        let Some(most) = session.limits.errors else { return Ok(()) };
        if self.store.counter(&session.counter("errors")).await? >= u64::from(most) {
            self.end(&session.id, End::Errors).await?;
        }
        Ok(())
    }

    fn report_records(
        &self,
        caller: &Caller,
        report: Reported<'_>,
    ) -> Result<Vec<Draft>, GateError> {
        let Reported { action, session, outcome, error, basis } = report;
        let record_owner = audit::RecordOwner {
            owner: Some(caller.user.to_string()),
            workspace: Some(caller.workspace.to_string()),
            session: session.map(|session| session.to_string()),
        };
        let mut payload = json!({"id": action, "status": outcome, "key": caller.key_id()});
        if let (ReportBasis::Unchecked, Some(fields)) = (basis, payload.as_object_mut()) {
            fields.insert("unchecked".to_owned(), json!(true));
        }
        let mut records =
            vec![self.record(audit::Event::ActionExecuted, record_owner.clone(), &payload)?];
        if let Some(error) = error {
            let stack = error.stack.as_deref().map(redacted::text);
            let stack: Option<String> =
                stack.map(|stack| stack.chars().take(MOST_OF_STACK).collect());
            let payload = json!({
                "id": action,
                "name": redacted::text(&error.name),
                "message": redacted::text(&error.message),
                "stack": stack,
            });
            records.push(self.record(audit::Event::Error, record_owner, &payload)?);
        }
        Ok(records)
    }

    pub(super) fn tell_report(&self, caller: &Caller, action: &ActionId, outcome: Outcome) {
        self.bus.tell(Event {
            user: Some(caller.user.clone()),
            workspace: Some(caller.workspace.clone()),
            session: None,
            what: What::ActionReported { action: action.clone(), state: outcome },
        });
    }
}
