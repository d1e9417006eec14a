//! Lists that a server returns page by page, and their output.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::Args;
use countersign_wire::List;
pub(crate) use countersign_wire::path::{part, with_query};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::Client;
use crate::exit::Exit;

/// The largest page that a server returns.
const PAGE: usize = 200;

/// Whose things.
#[derive(Debug, Args)]
pub(crate) struct OwnerFilter {
    /// List those of a workspace you manage
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
    /// List everyone's, for super admins
    #[arg(long, conflicts_with = "workspace")]
    everybody: bool,
}

impl OwnerFilter {
    /// Returns the query parameters for the server.
    pub(crate) fn query(&self) -> Vec<(&'static str, String)> {
        let workspace = self.workspace.iter().map(|id| ("workspace_id", id.clone()));
        let all = self.everybody.then(|| ("all", "true".to_owned()));
        workspace.chain(all).collect()
    }
}

/// The first items of a list.
#[derive(Debug)]
pub(crate) struct Found<T> {
    pub(crate) items: Vec<T>,
    rest: Rest,
}

/// The number of items beyond those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Nothing,
    /// Exactly this many.
    Known(usize),
    /// At least one.
    Unknown,
}

impl<T> Found<T> {
    /// Reports on standard error that there is more, and how to list it. Standard output is for the
    /// list.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn say_if_cut(&self) -> io::Result<()> {
        match self.rest {
            Rest::Nothing => Ok(()),
            Rest::Known(more) => {
                let all = self.items.len().saturating_add(more);
                writeln!(io::stderr(), "{more} more: --limit {all} lists all")
            }
            Rest::Unknown => {
                let listed = self.items.len();
                writeln!(io::stderr(), "more than {listed}: a higher --limit lists the others too")
            }
        }
    }
}

/// Fetches up to `most` items of a list, over as many pages as needed.
///
/// # Errors
/// The server refuses or does not answer.
pub(crate) async fn pages<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    query: &[(&'static str, String)],
    most: usize,
) -> Result<Found<T>> {
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let missing = most.saturating_sub(items.len());
        if missing == 0 {
            return Ok(Found { items, rest: Rest::Unknown });
        }
        let mut query = query.to_vec();
        query.push(("limit", missing.min(PAGE).to_string()));
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let page: List<T> = client.read(&with_query(path, &query)).await?;
        items.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            let beyond = items.len().saturating_sub(most);
            items.truncate(most);
            let rest = if beyond == 0 { Rest::Nothing } else { Rest::Known(beyond) };
            return Ok(Found { items, rest });
        }
    }
}

/// The items of a list that is returned as a whole.
pub(crate) fn items(list: &Value) -> &[Value] {
    list.get("items").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A text field of an object; empty if it is missing.
pub(crate) fn field<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Prints JSON for programs.
///
/// # Errors
/// It cannot be written.
pub(crate) fn print_json(value: &Value) -> Result<Exit> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(Exit::Done)
}
