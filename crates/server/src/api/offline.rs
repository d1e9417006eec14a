//! The data that hooks need while the server cannot be reached, and the decisions they made then.

use axum::Json;
use axum::extract::State;
use countersign_gate::approval::QuorumRow;
use countersign_gate::id::WorkspaceId;
use countersign_gate::offline::OfflineDecision;
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::action::caller_of;
use crate::app::App;
use crate::auth::Identity;
use crate::body;
use crate::error::Problem;
use crate::page::Listed;
use crate::route::{Route, Who, get, post};

/// The most decisions in one request.
const MOST: usize = 256;

/// Decisions that were made while the server could not be reached.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OfflineDecisions")]
struct Deliver {
    /// Names the journal they were kept in: 32 hexadecimal digits, drawn at random.
    journal: String,
    /// In their order, at most 256.
    #[schemars(length(max = 256))]
    decisions: Vec<OfflineDecision>,
    /// The workspace that an assistant works for, when a person is present and has more than one.
    workspace_id: Option<WorkspaceId>,
}

/// The progress of a journal.
#[derive(Debug, Serialize, JsonSchema)]
struct Delivered {
    /// The number of the last decision that is on record.
    delivered: u64,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(path::OFFLINE, "deliver_offline")
            .by(Who::Either)
            .says("Records decisions that were made while the server could not be reached: in order, each once.")
            .takes::<Deliver>()
            .gives::<Delivered>(200)
            .to(deliver),
        get(path::QUORUM, "show_quorum")
            .by(Who::Either)
            .says("The rules for when people other than the agent's owner must agree: hooks do not leave these to the host.")
            .gives::<Listed<QuorumRow>>(200)
            .to(quorum),
    ]
}

async fn deliver(
    State(app): State<App>,
    identity: Identity,
    body::Json(body): body::Json<Deliver>,
) -> Result<Json<Delivered>, Problem> {
    let Deliver { journal, decisions, workspace_id } = body;
    if decisions.len() > MOST {
        return Err(Problem::bad_request(format!("at most {MOST} decisions at once")));
    }
    let caller = caller_of(identity, workspace_id.as_ref())?;
    let delivered = app.gate.deliver_offline(&caller, &journal, &decisions).await?;
    Ok(Json(Delivered { delivered }))
}

async fn quorum(State(app): State<App>, _identity: Identity) -> Json<Listed<QuorumRow>> {
    Json(Listed::whole(app.gate.config().quorum.clone()))
}
