//! The kill switch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of the kill switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Halted {
    /// True while nothing is allowed.
    pub halted: bool,
}
