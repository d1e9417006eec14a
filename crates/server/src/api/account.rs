//! Accounts of people and bots: invited again, disabled, enabled, made a super admin, removed,
//! erased.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use countersign_gate::gate::SuperAdmin;
use countersign_gate::id::UserId;
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::device::Link;
use crate::app::App;
use crate::auth::{Remote, Signed};
use crate::body::{self, Path};
use crate::error::Problem;
use crate::idempotent::Once;
use crate::route::{Route, post, row};

/// The right to see and do everything, given or taken away.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SuperAdminChange")]
struct Promote {
    super_admin: bool,
}

/// The number of records that lost their content.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErasedUser")]
struct ErasedUser {
    erased: u64,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(path::USER_DISABLE, "disable_user")
            .says("Disables somebody: their devices and keys stop working immediately.")
            .gives_media(204, "")
            .to(disable),
        post(path::USER_ENABLE, "enable_user")
            .says("Enables somebody who was disabled: devices and keys that were not revoked work again.")
            .gives_media(204, "")
            .to(enable),
        post(path::USER_INVITE, "invite_user")
            .says("Creates a new sign-in link for somebody you manage who is not signed in anywhere. Their earlier links no longer work.")
            .gives::<Link>(201)
            .to(invite),
        row(Method::PUT, path::USER_SUPER_ADMIN, "change_super_admin")
            .says("Makes somebody else a super admin, or revokes that.")
            .takes::<Promote>()
            .gives_media(204, "")
            .to(promote),
        row(Method::DELETE, path::USER, "remove_user")
            .says("Removes somebody permanently. Their name and their records are kept.")
            .gives_media(204, "")
            .to(remove),
        post(path::USER_ERASE, "erase_user")
            .says("Removes somebody and erases everything stored about them: name, devices, keys, settings, questions, sessions, files and the content of their records. The chain can still be verified.")
            .gives::<ErasedUser>(200)
            .to(erase),
    ]
}

async fn disable(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<UserId>,
) -> Result<StatusCode, Problem> {
    app.gate.disable_user(&person, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn enable(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<UserId>,
) -> Result<StatusCode, Problem> {
    app.gate.enable_user(&person, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn invite(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<UserId>,
    remote: Remote,
    headers: HeaderMap,
) -> Result<Once<(StatusCode, Json<Link>)>, Problem> {
    let link = app.gate.invite_user(&person, &id).await?;
    Ok(Once((StatusCode::CREATED, Json(Link::of(&app, remote, &headers, &link)))))
}

async fn promote(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<UserId>,
    body::Json(promote): body::Json<Promote>,
) -> Result<StatusCode, Problem> {
    let super_admin = if promote.super_admin { SuperAdmin::Yes } else { SuperAdmin::No };
    app.gate.set_super_admin(&person, &id, super_admin).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<UserId>,
) -> Result<StatusCode, Problem> {
    app.gate.remove_user(&person, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn erase(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<UserId>,
) -> Result<Json<ErasedUser>, Problem> {
    let erased = app.gate.erase_user(&person, &id).await?;
    Ok(Json(ErasedUser { erased }))
}
