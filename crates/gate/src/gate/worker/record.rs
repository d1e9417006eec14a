//! The records of the end of work.

use std::time::Duration;

use countersign_wire::ExecutionState;
use countersign_wire::work::WorkResult;
use serde_json::json;

use crate::audit::{self, Draft, RecordOwner};
use crate::gate::{Gate, GateError};
use crate::redacted;
use crate::worker::job::Facts;

/// The most characters of a stack trace that are recorded.
const MOST_OF_STACK: usize = 8_000;

impl Facts {
    pub(super) fn record_owner(&self) -> RecordOwner {
        RecordOwner {
            owner: Some(self.caller.user.to_string()),
            workspace: Some(self.caller.workspace.to_string()),
            session: Some(self.session.to_string()),
        }
    }
}

impl Gate {
    /// The records of the end of an action; its result is masked already.
    pub(super) fn end_records(
        &self,
        facts: &Facts,
        state: ExecutionState,
        shown: &WorkResult,
    ) -> Result<Vec<Draft>, GateError> {
        let payload = json!({
            "id": facts.id,
            "status": state.as_str(),
            "key": facts.caller.key_id(),
            "worker": facts.worker,
            "code": shown.code,
            "took_ms": shown.took_ms,
            "stopped_for": facts.stopping.as_deref().map(redacted::text),
        });
        let executed = audit::Event::ActionExecuted;
        let mut records = vec![self.record(executed, facts.record_owner(), &payload)?];
        if state == ExecutionState::TimedOut {
            records.push(self.overdue_work(facts)?);
        }
        if let Some(error) = &shown.error {
            let stack = error.stack.as_deref();
            let stack: Option<String> =
                stack.map(|stack| stack.chars().take(MOST_OF_STACK).collect());
            let payload = json!({
                "id": facts.id,
                "name": error.name,
                "message": error.message,
                "stack": stack,
            });
            records.push(self.record(audit::Event::Error, facts.record_owner(), &payload)?);
        }
        Ok(records)
    }

    /// The violation of work that took longer than it may.
    fn overdue_work(&self, facts: &Facts) -> Result<Draft, GateError> {
        let limit = if facts.kind == "download" { "download_seconds" } else { "step_seconds" };
        let most = Duration::from_secs(facts.seconds.into());
        let times = (most, self.now().since(facts.given_at));
        self.overdue(facts.record_owner(), &facts.id, &facts.action, limit, times)
    }
}
