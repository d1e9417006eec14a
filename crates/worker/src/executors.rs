//! The executors of a worker, by the kind of work that they do.

use countersign_wire::work::{Element, Ended, ExecutorKind, WorkResult};

use crate::executor::{Executor, NotPermitted, Running};
use crate::permit::Permit;

/// The executors of a worker, by the kind of work that they do.
#[derive(Default)]
pub struct Executors(Vec<Box<dyn Executor>>);

impl std::fmt::Debug for Executors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Executors").field(&self.kinds()).finish()
    }
}

impl Executors {
    /// No executors.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds an executor, in the place of one of the same kind.
    #[must_use]
    pub fn with(mut self, executor: Box<dyn Executor>) -> Self {
        self.0.retain(|known| known.kind() != executor.kind());
        self.0.push(executor);
        self
    }

    /// The kinds of work that they can do on this machine, in order.
    #[must_use]
    pub fn kinds(&self) -> Vec<ExecutorKind> {
        let working = self.0.iter().filter(|executor| executor.works_here());
        let mut kinds: Vec<_> = working.map(|executor| executor.kind()).collect();
        kinds.sort_unstable();
        kinds
    }

    /// The executor of a kind.
    #[must_use]
    pub fn of(&self, kind: ExecutorKind) -> Option<&dyn Executor> {
        self.0.iter().find(|executor| executor.kind() == kind).map(AsRef::as_ref)
    }

    /// Does what was permitted, by the executor of its kind; refuses what none of them does.
    #[must_use]
    pub fn execute(&self, permit: Permit, running: Running<'_>) -> WorkResult {
        let kind = ExecutorKind::of(&permit.item().action);
        if let Some(executor) = kind.and_then(|kind| self.of(kind)) {
            return executor.execute(permit, running);
        }
        let message = format!("this worker does no `{}` actions", permit.item().action.kind());
        WorkResult::because(Ended::Refused, "NotSupported", message)
    }

    /// Describes an element of a session's page, or the page itself where none is named.
    ///
    /// # Errors
    /// There is no page, or no such element on it.
    pub fn describe(
        &self,
        session_id: &str,
        reference: Option<&str>,
    ) -> Result<Element, NotPermitted> {
        let none = || NotPermitted("this worker has no browser".to_owned());
        self.of(ExecutorKind::Browser).ok_or_else(none)?.describe(session_id, reference)
    }

    /// Drops everything that belongs to a session, which is over.
    pub fn end_session(&self, session_id: &str) {
        for executor in &self.0 {
            executor.end_session(session_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Only(ExecutorKind);

    impl Executor for Only {
        fn kind(&self) -> ExecutorKind {
            self.0
        }

        fn execute(&self, _: Permit, _: Running<'_>) -> WorkResult {
            WorkResult::of(Ended::Done)
        }
    }

    #[test]
    fn an_executor_takes_the_place_of_one_of_its_kind() {
        let shell = || Box::new(Only(ExecutorKind::Shell));
        let executors =
            Executors::none().with(Box::new(Only(ExecutorKind::Http))).with(shell()).with(shell());
        assert_eq!(executors.kinds(), [ExecutorKind::Shell, ExecutorKind::Http]);
        assert!(executors.of(ExecutorKind::File).is_none());
    }
}
