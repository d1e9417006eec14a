//! One page of a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
pub struct List<T> {
    /// The items on this page.
    pub items: Vec<T>,
    /// The cursor of the next page; none after the last.
    pub next: Option<String>,
    /// The ids of items that were changed in the database by somebody else: they are not shown, and
    /// cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<String>,
}
