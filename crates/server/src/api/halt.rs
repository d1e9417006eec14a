//! The kill switch.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use countersign_gate::gate::Kept;
use countersign_wire::path;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::auth::Signed;
use crate::error::Problem;
use crate::route::{Route, Who, get, post};

/// The state of the kill switch.
#[derive(Debug, Serialize, JsonSchema)]
struct Halted {
    halted: bool,
}

/// Everything is halted, but only in memory.
#[derive(Debug, Serialize, JsonSchema)]
struct HaltedInMemory {
    /// Always `true`.
    halted: bool,
    /// Always `false`: a restart would forget it.
    kept: bool,
    detail: &'static str,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::HALT, "is_halted")
            .by(Who::Either)
            .says("Whether everything is halted.")
            .gives::<Halted>(200)
            .to(show),
        post(path::HALT, "halt")
            .says("Stops everything: nothing more is allowed, and pending questions are cancelled. Works on a full disk too: then 200 says that it is not stored yet.")
            .by_socket_alone()
            .gives_media(204, "")
            .gives::<HaltedInMemory>(200)
            .to(halt),
        post(path::HALT_RESUME, "resume")
            .says("Resumes after a stop. Only a super admin may.")
            .gives_media(204, "")
            .to(resume),
    ]
}

async fn show(State(app): State<App>) -> Result<Json<Halted>, Problem> {
    Ok(Json(Halted { halted: app.gate.is_halted().await? }))
}

async fn halt(State(app): State<App>, Signed(person): Signed) -> Result<Response, Problem> {
    match app.gate.halt(&person).await? {
        Kept::InStore => Ok(StatusCode::NO_CONTENT.into_response()),
        Kept::InMemory(error) => {
            tracing::error!(error, "a halt could not be stored; it is kept in memory");
            let detail = "everything is halted, but that cannot be stored: it is kept in \
                          memory until the store can be written again";
            Ok(Json(HaltedInMemory { halted: true, kept: false, detail }).into_response())
        }
    }
}

async fn resume(State(app): State<App>, Signed(person): Signed) -> Result<StatusCode, Problem> {
    app.gate.resume(&person).await?;
    Ok(StatusCode::NO_CONTENT)
}
