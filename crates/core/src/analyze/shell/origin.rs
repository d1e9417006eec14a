//! The circumstances in which facts are recorded, for callers that show effects.

use std::sync::Arc;

use super::Walker;
use crate::analyze::UNKNOWN;
use crate::fact::Origin;
use crate::location::Detail;

impl Walker<'_> {
    /// Calls a function for something that happens only if a condition holds, a pattern matches or
    /// an event occurs.
    pub(super) fn perhaps<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.conditions += 1;
        let done = inside(self);
        self.conditions -= 1;
        done
    }

    /// Returns the circumstances at this point of the script.
    pub(super) fn origin(&self) -> Option<Arc<Origin>> {
        if self.scene.detail == Detail::Facts {
            return None;
        }
        let has_left = self.state.values("PWD").is_some() && self.cwd() != self.scene.cwd;
        let folder = has_left.then(|| self.cwd().map_or(UNKNOWN.to_string(), str::to_owned));
        Some(Arc::new(Origin { folder, is_conditional: self.conditions > 0 }))
    }
}
