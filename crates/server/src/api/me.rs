//! The identity of the caller, as the server sees it.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use countersign_wire::path;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::user::UserView;
use crate::app::App;
use crate::auth::{Remote, Signed, cookie, csrf_token};
use crate::route::{Route, get};

/// The identity of the caller.
#[derive(Debug, Serialize, JsonSchema)]
struct Me {
    user: UserView,
    device_id: Option<String>,
    /// The token that a browser sends as `X-CSRF-Token` with whatever changes something.
    csrf_token: Option<String>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::ME, "show_me")
            .says("Your user and role, and the CSRF token of your browser.")
            .gives::<Me>(200)
            .to(show),
    ]
}

async fn show(
    State(app): State<App>,
    Signed(person): Signed,
    remote: Remote,
    headers: HeaderMap,
) -> Json<Me> {
    let device = cookie(&headers, remote);
    Json(Me {
        user: person.user().into(),
        device_id: person.device().map(ToString::to_string),
        csrf_token: device.map(|device| csrf_token(&app, &device)),
    })
}
