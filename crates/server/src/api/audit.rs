//! The audit chain: read as far as a role allows, exported, verified.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use countersign_gate::audit::Report;
use countersign_gate::bytes::Hash;
use countersign_gate::id::{UserId, WorkspaceId};
use countersign_gate::store::{Order, RecordQuery};
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::history::{self, lines, listed};
use crate::app::App;
use crate::auth::{Identity, Signed};
use crate::body::Query;
use crate::error::Problem;
use crate::moment::Moment;
use crate::page::Listed;
use crate::route::{Route, Who, get};

/// The records to list. Without a user or a workspace: everybody's, for super admins.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ListQuery {
    /// Only about this user.
    user_id: Option<UserId>,
    /// Only of this workspace.
    workspace_id: Option<WorkspaceId>,
    session_id: Option<String>,
    event: Option<String>,
    /// From this moment on, like `2026-11-16T06:00:00Z`, or from this day on.
    from: Option<Moment>,
    /// Before this moment or day.
    until: Option<Moment>,
    cursor: Option<u64>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

/// The result of verifying the chain.
#[derive(Debug, Serialize, JsonSchema)]
struct Verified {
    whole: bool,
    /// The damage that was found.
    damage: Vec<String>,
    records: u64,
    erased: u64,
    /// Cut off by retention.
    cut: u64,
    checkpoints: u64,
    /// The number of the last record, and its hash: noted down, they prove a later copy older.
    end: u64,
    end_hash: Hash,
    /// The public key that signatures are checked with.
    key: String,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::AUDIT, "list_audit")
            .by(Who::PersonOrKey)
            .says("Records, newest first: your own, your workspace's, or all, as your role allows. A key needs `audit.read`.")
            .query::<ListQuery>()
            .gives::<Listed<Value>>(200)
            .to(list),
        get(path::AUDIT_EXPORT, "export_audit")
            .by(Who::PersonOrKey)
            .says("The same, oldest first, one JSON record per line.")
            .query::<ListQuery>()
            .gives_media(200, "application/jsonl")
            .to(export_all),
        get(path::AUDIT_VERIFY, "verify_audit")
            .says("Verifies the chain, or says where it is damaged.")
            .gives::<Verified>(200)
            .to(verify),
    ]
}

impl ListQuery {
    fn query(self, order: Order) -> Result<RecordQuery, Problem> {
        let Self { user_id, workspace_id, session_id, event, from, until, cursor, limit } = self;
        let rest = history::ListQuery { session_id, event, from, until, cursor, limit };
        let owner = user_id.map(|id| id.to_string());
        let workspace = workspace_id.map(|id| id.to_string());
        Ok(RecordQuery { owner, workspace, ..rest.query(order)? })
    }
}

async fn list(
    State(app): State<App>,
    identity: Identity,
    Query(which): Query<ListQuery>,
) -> Result<Json<Listed<Value>>, Problem> {
    Ok(Json(listed(&app, &identity.into(), &which.query(Order::Newest)?).await?))
}

async fn export_all(
    State(app): State<App>,
    identity: Identity,
    Query(which): Query<ListQuery>,
) -> Result<Response, Problem> {
    lines(app, identity.into(), which.query(Order::Oldest)?, "countersign-audit.jsonl").await
}

async fn verify(State(app): State<App>, Signed(person): Signed) -> Result<Json<Verified>, Problem> {
    // It reads the whole chain, so not everybody may ask for it as often as they like.
    if !person.user().super_admin {
        return Err(Problem::forbidden("not-allowed", "only super admins may verify the chain"));
    }
    let Report { records, erased, cut, checkpoints, end, end_hash, damage, .. } =
        app.gate.verify().await?;
    Ok(Json(Verified {
        whole: damage.is_empty(),
        damage: damage.iter().map(ToString::to_string).collect(),
        records,
        erased,
        cut,
        checkpoints,
        end,
        end_hash: Hash(end_hash),
        key: app.gate.keyring().public().to_string(),
    }))
}
