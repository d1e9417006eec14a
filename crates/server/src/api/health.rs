//! The health of the server, for monitoring.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use countersign_gate::scope::METRICS_READ;
use countersign_gate::store::{Kind, Query};
use countersign_wire::path;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::auth::Identity;
use crate::error::Problem;
use crate::route::{Route, Who, get};

/// The health of the server.
#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    status: &'static str,
    version: &'static str,
    /// The server's time, for machines that compare it with their own.
    time: String,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::HEALTH, "health")
            .by(Who::Anybody)
            .says("The server runs.")
            .gives::<Health>(200)
            .to(health),
        get(path::READY, "ready")
            .by(Who::Anybody)
            .says(
                "The server can decide: its store can be read and written, the disk has space, and it is not shutting down.",
            )
            .gives::<Health>(200)
            .to(ready),
        get(path::METRICS, "metrics")
            .by(Who::Either)
            .says("Metrics for Prometheus. A key needs `metrics.read`.")
            .gives_media(200, "text/plain; version=0.0.4")
            .to(metrics),
    ]
}

fn well(app: &App, status: &'static str) -> Health {
    let time = app.gate.shown(app.gate.now()).to_string();
    Health { status, version: env!("CARGO_PKG_VERSION"), time }
}

async fn health(State(app): State<App>) -> Json<Health> {
    Json(well(&app, "ok"))
}

async fn ready(State(app): State<App>) -> Result<Json<Health>, Problem> {
    if app.is_draining() {
        let detail = "the server is shutting down: send new requests elsewhere";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "draining", detail));
    }
    app.gate.ready().await?;
    Ok(Json(well(&app, "ready")))
}

async fn metrics(State(app): State<App>, identity: Identity) -> Result<Response, Problem> {
    if let Identity::Caller(caller) = &identity
        && !caller.has_scope(METRICS_READ)
    {
        let detail = format!("the key does not have the scope `{METRICS_READ}`");
        return Err(Problem::forbidden("scope", detail));
    }
    let count = async |kind, states| {
        let query = Query { states, ..Query::of(kind) };
        let failed = countersign_gate::GateError::from;
        app.gate.store().count(&query).await.map_err(failed)
    };
    let pending = count(Kind::Approval, vec!["pending"]).await?;
    let sessions = count(Kind::Session, vec!["active", "paused"]).await?;
    let halted = u64::from(app.gate.is_halted().await?);
    let bytes = app.gate.store().size().unwrap_or_default();
    let text = app.metrics.write(&[
        ("countersign_pending_approvals", "Questions waiting for a person.", pending),
        ("countersign_sessions", "Sessions that run or are paused.", sessions),
        ("countersign_store_bytes", "Bytes of the database and its log.", bytes),
        ("countersign_halted", "1 while the kill switch is on.", halted),
    ]);
    let media = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, media)], text).into_response())
}
