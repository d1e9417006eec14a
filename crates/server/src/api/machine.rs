//! The proofs that machines last sent about themselves.

use axum::Json;
use axum::extract::State;
use countersign_gate::id::WorkspaceId;
use countersign_gate::machine::{Machine, Proof};
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::action::caller_of;
use crate::api::approval::whose;
use crate::app::App;
use crate::auth::{Identity, Signed};
use crate::body::{self, Query};
use crate::error::Problem;
use crate::page::{Listed, page};
use crate::route::{Route, Who, get, post};

/// The machines to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WhichMachines")]
struct ListQuery {
    /// Only the machines of a workspace you look after.
    workspace_id: Option<WorkspaceId>,
    /// Everybody's, for super admins.
    #[serde(default)]
    all: bool,
    cursor: Option<String>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

/// The last proof of a machine.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Machine")]
struct MachineView {
    machine_id: String,
    user_id: String,
    workspace_id: String,
    key_id: Option<String>,
    device_id: Option<String>,
    proved_at: String,
    /// True when everything was proved.
    proved: bool,
    proof: Proof,
}

impl From<Machine> for MachineView {
    fn from(machine: Machine) -> Self {
        Self {
            machine_id: machine.id,
            user_id: machine.user.to_string(),
            workspace_id: machine.workspace.to_string(),
            key_id: machine.key.map(|key| key.to_string()),
            device_id: machine.device.map(|device| device.to_string()),
            proved_at: machine.proved_at.to_string(),
            proved: machine.proof.is_whole(),
            proof: machine.proof,
        }
    }
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::MACHINES, "list_machines")
            .says("The last check that each machine reported.")
            .query::<ListQuery>()
            .gives::<Listed<MachineView>>(200)
            .to(list),
        post(path::MACHINES, "prove_machine")
            .by(Who::Either)
            .says("Stores the checks of a machine, in place of its earlier ones.")
            .takes::<Proof>()
            .gives::<MachineView>(200)
            .to(prove),
    ]
}

async fn list(
    State(app): State<App>,
    Signed(person): Signed,
    Query(which): Query<ListQuery>,
) -> Result<Json<Listed<MachineView>>, Problem> {
    let ListQuery { workspace_id, all, cursor, limit } = which;
    let whose = whose(workspace_id, all);
    let found = app.gate.machines(&person, &whose, &page(cursor, limit)).await?;
    Ok(Json(Listed::of(found, MachineView::from)))
}

async fn prove(
    State(app): State<App>,
    identity: Identity,
    body::Json(proof): body::Json<Proof>,
) -> Result<Json<MachineView>, Problem> {
    let caller = caller_of(identity, None)?;
    Ok(Json(app.gate.keep_proof(&caller, proof).await?.into()))
}
