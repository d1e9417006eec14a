//! Pagination of long lists.

use countersign_gate::gate::{Page, Paged};
use schemars::JsonSchema;
use serde::Serialize;

/// One page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
pub(crate) struct Listed<T> {
    /// The items on this page.
    pub(crate) items: Vec<T>,
    /// The cursor of the next page; none after the last.
    pub(crate) next: Option<String>,
    /// The ids of items that were changed in the database by somebody else: they are not shown, and
    /// cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) damaged: Vec<String>,
}

const USUAL: u16 = 50;
const MOST: u16 = 200;

/// The requested page.
pub(crate) fn page(cursor: Option<String>, limit: Option<u16>) -> Page {
    Page { after: cursor, limit: limit.unwrap_or(USUAL).clamp(1, MOST).into() }
}

impl<T> Listed<T> {
    /// A list that is short enough for one page.
    pub(crate) fn whole(items: impl IntoIterator<Item = T>) -> Self {
        Self { items: items.into_iter().collect(), next: None, damaged: Vec::new() }
    }

    /// Converts the items of a page.
    pub(crate) fn of<G>(paged: Paged<G>, show: impl Fn(G) -> T) -> Self {
        let Paged { items, next, damaged } = paged;
        Self { items: items.into_iter().map(show).collect(), next, damaged }
    }
}
