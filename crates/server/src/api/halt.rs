//! The kill switch.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::auth::Signed;
use crate::error::Problem;
use crate::route::{Route, Who, get, post};

/// Whether everything is halted.
#[derive(Debug, Serialize, JsonSchema)]
struct Halted {
    halted: bool,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/api/halt", "is_halted")
            .by(Who::Either)
            .says("Whether everything is halted.")
            .gives::<Halted>(200)
            .to(show),
        post("/api/halt", "halt")
            .says("Stops everything: nothing more is allowed, and what waits is cancelled.")
            .gives_media(204, "")
            .to(halt),
        post("/api/halt/resume", "resume")
            .says("Lets things go on. Only a super admin may.")
            .gives_media(204, "")
            .to(resume),
    ]
}

async fn show(State(app): State<App>) -> Result<Json<Halted>, Problem> {
    Ok(Json(Halted { halted: app.gate.is_halted().await? }))
}

async fn halt(State(app): State<App>, Signed(person): Signed) -> Result<StatusCode, Problem> {
    app.gate.halt(&person).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn resume(State(app): State<App>, Signed(person): Signed) -> Result<StatusCode, Problem> {
    app.gate.resume(&person).await?;
    Ok(StatusCode::NO_CONTENT)
}
