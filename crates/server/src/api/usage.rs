//! The usage of a person's agents and programs.

use axum::Json;
use axum::extract::State;
use countersign_gate::caller::Person;
use countersign_gate::gate::{OwnerFilter, Page};
use countersign_wire::path;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::auth::Signed;
use crate::error::Problem;
use crate::route::{Route, get};

/// The usage of a person's agents and programs.
#[derive(Debug, Serialize, JsonSchema)]
struct Usage {
    /// Questions that wait for you.
    waiting: usize,
    /// Sessions that run or are paused.
    sessions: usize,
    keys: Vec<KeyUsage>,
}

/// The usage of one key.
#[derive(Debug, Serialize, JsonSchema)]
struct KeyUsage {
    key_id: String,
    name: String,
    /// Actions it proposed that were let through or asked about.
    uses: u64,
    /// Actions it proposed that were refused.
    refused: u64,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::USAGE, "show_usage")
            .says("The usage of your agents and programs.")
            .gives::<Usage>(200)
            .to(show),
    ]
}

async fn show(State(app): State<App>, Signed(person): Signed) -> Result<Json<Usage>, Problem> {
    let sessions = alive(&app, &person).await?;
    let keys = app.gate.keys(&person).await?;
    let keys = keys.into_iter().map(|(key, usage)| KeyUsage {
        key_id: key.id.to_string(),
        name: key.name,
        uses: usage.uses,
        refused: usage.refused,
    });
    let waiting = app.gate.waiting(&person).await?;
    Ok(Json(Usage {
        waiting: waiting.iter().filter(|card| card.asks(&person.user().id)).count(),
        sessions,
        keys: keys.collect(),
    }))
}

/// Counts the sessions of a person that have not ended.
async fn alive(app: &App, person: &Person) -> Result<usize, Problem> {
    let mut page = Page { after: None, limit: Page::MOST };
    let mut count = 0_usize;
    loop {
        let states = &["active", "paused"];
        let found = app.gate.sessions(person, &OwnerFilter::default(), states, &page).await?;
        count = count.saturating_add(found.items.len());
        if found.next.is_none() {
            return Ok(count);
        }
        page.after = found.next;
    }
}
