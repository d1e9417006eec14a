//! One permitted action that was given to a worker.

use countersign_core::Context;
use countersign_wire::work::{Stream, WorkResult};
use countersign_wire::{Execution, ExecutionState};
use tokio::sync::watch;

use crate::caller::Caller;
use crate::clock::Timestamp;
use crate::id::{ActionId, ApprovalId, SessionId, WorkerId};
use crate::worker::lines::Lines;

/// One permitted action that was given to a worker.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) worker: WorkerId,
    pub(crate) session: SessionId,
    /// The agent that asked for it.
    pub(crate) caller: Caller,
    pub(crate) approval: Option<ApprovalId>,
    /// The kind of the action, or the skill or tool it uses.
    pub(crate) action: String,
    /// The kind of the action, by which its time is limited.
    pub(crate) kind: &'static str,
    /// The site, where it is a sign-in.
    pub(crate) site: Option<String>,
    /// The circumstances of it, and of what it causes.
    pub(crate) context: Context,
    pub(crate) seconds: u32,
    pub(crate) state: ExecutionState,
    pub(crate) given_at: Timestamp,
    /// The time at which its worker should have ended it.
    pub(crate) end_by: Timestamp,
    /// The reason for which it is to end before its time.
    pub(crate) stopping: Option<String>,
    /// The questions that it has caused and that wait, with the time since which one does.
    pub(crate) asking: Asking,
    /// The fields of a credential that were lent to it.
    pub(crate) lent: u32,
    pub(crate) lines: Streams,
    /// The result as it came, for the agent alone, until the session ends.
    plain: Option<WorkResult>,
    /// The result redacted.
    shown: Option<WorkResult>,
    /// Wakes those who wait for its end.
    pub(crate) over: watch::Sender<bool>,
}

/// The questions that work has caused, during which its time stands still.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asking {
    waiting: u32,
    since: Timestamp,
}

/// The unfinished lines of both streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    output: Lines,
    errors: Lines,
}

impl Streams {
    pub(crate) const fn of(&mut self, stream: Stream) -> &mut Lines {
        match stream {
            Stream::Output => &mut self.output,
            Stream::Errors => &mut self.errors,
        }
    }
}

/// The facts about an action, for the record of its end.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) id: ActionId,
    pub(crate) worker: WorkerId,
    pub(crate) session: SessionId,
    pub(crate) caller: Caller,
    pub(crate) action: String,
    pub(crate) kind: &'static str,
    pub(crate) seconds: u32,
    pub(crate) given_at: Timestamp,
    pub(crate) stopping: Option<String>,
}

/// The parts of a new job.
pub(crate) struct NewJob {
    pub(crate) worker: WorkerId,
    pub(crate) session: SessionId,
    pub(crate) caller: Caller,
    pub(crate) approval: Option<ApprovalId>,
    pub(crate) action: String,
    pub(crate) kind: &'static str,
    pub(crate) site: Option<String>,
    pub(crate) context: Context,
    pub(crate) seconds: u32,
    pub(crate) given_at: Timestamp,
    pub(crate) end_by: Timestamp,
}

impl Job {
    pub(crate) fn new(new: NewJob) -> Self {
        Self {
            worker: new.worker,
            session: new.session,
            caller: new.caller,
            approval: new.approval,
            action: new.action,
            kind: new.kind,
            site: new.site,
            context: new.context,
            seconds: new.seconds,
            state: ExecutionState::Queued,
            given_at: new.given_at,
            end_by: new.end_by,
            stopping: None,
            asking: Asking::default(),
            lent: 0,
            lines: Streams::default(),
            plain: None,
            shown: None,
            over: watch::channel(false).0,
        }
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.state.is_over()
    }

    /// Reports whether its worker may speak about it.
    pub(crate) const fn is_with_worker(&self) -> bool {
        matches!(self.state, ExecutionState::Sent | ExecutionState::Running)
    }

    /// Reports whether its worker should have ended it long ago.
    pub(crate) fn is_overdue(&self, now: Timestamp) -> bool {
        self.is_with_worker() && self.asking.waiting == 0 && now >= self.end_by
    }

    /// Notes a question that it has caused.
    pub(crate) const fn ask(&mut self, now: Timestamp) {
        if self.asking.waiting == 0 {
            self.asking.since = now;
        }
        self.asking.waiting = self.asking.waiting.saturating_add(1);
    }

    /// Notes the answer to a question that it has caused. The time until then does not count.
    pub(crate) fn answered(&mut self, now: Timestamp) {
        self.asking.waiting = self.asking.waiting.saturating_sub(1);
        if self.asking.waiting == 0 {
            self.end_by = self.end_by.after(now.since(self.asking.since));
        }
    }

    /// Keeps the end of it.
    pub(crate) fn keep(&mut self, state: ExecutionState, plain: WorkResult, shown: WorkResult) {
        self.state = state;
        (self.plain, self.shown) = (Some(plain), Some(shown));
        self.lines = Streams::default();
        self.over.send_replace(true);
    }

    /// Forgets the result as it came.
    pub(crate) fn forget_plain(&mut self) {
        self.plain = None;
    }

    pub(crate) fn facts(&self, id: &ActionId) -> Facts {
        Facts {
            id: id.clone(),
            worker: self.worker.clone(),
            session: self.session.clone(),
            caller: self.caller.clone(),
            action: self.action.clone(),
            kind: self.kind,
            seconds: self.seconds,
            given_at: self.given_at,
            stopping: self.stopping.clone(),
        }
    }

    /// The execution as it is shown to people and other agents.
    pub(crate) fn shown(&self, id: &ActionId) -> Execution {
        Execution {
            action_id: id.to_string(),
            session_id: self.session.to_string(),
            worker_id: self.worker.to_string(),
            approval_id: self.approval.as_ref().map(ToString::to_string),
            action: self.action.clone(),
            state: self.state,
            result: self.shown.clone(),
        }
    }

    /// The execution as the agent that asked for it is shown it.
    pub(crate) fn plain(&self, id: &ActionId) -> Execution {
        let result = self.plain.clone().or_else(|| self.shown.clone());
        Execution { result, ..self.shown(id) }
    }
}
