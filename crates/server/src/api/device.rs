//! Devices: a machine asks to be let in, and a person at a signed-in device approves it.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use countersign_gate::id::{DeviceId, UserId};
use countersign_gate::secret::Secret;
use countersign_gate::user::{Device, DeviceRole, DeviceState};
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::{Remote, Signed, bearer};
use crate::body::{self, Path, Query};
use crate::error::Problem;
use crate::idempotent::Once;
use crate::link::sign_in_url;
use crate::page::Listed;
use crate::route::{Route, Who, get, post, row};

/// The owner of the devices.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WhoseDevices")]
struct ListQuery {
    /// Somebody you look after; yourself, if nobody is named.
    user_id: Option<UserId>,
}

/// A device that asks to be let in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewDeviceRequest")]
struct Ask {
    /// Its owner's name for it.
    #[schemars(length(min = 1, max = 100))]
    name: String,
}

/// The role that a device is approved for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DeviceApproval")]
struct Approve {
    /// `machine`, where keys work, or `console`, where a person answers.
    role: DeviceRole,
}

/// A device. Never its secret.
#[derive(Debug, Serialize, JsonSchema)]
struct DeviceView {
    device_id: String,
    name: String,
    /// `waiting`, `approved` or `revoked`.
    state: &'static str,
    /// The role it was approved for.
    role: Option<DeviceRole>,
    created_at: String,
    /// True when this is the device you are at.
    this: bool,
}

/// A new device with its secret, which is shown this once.
#[derive(Debug, Serialize, JsonSchema)]
struct NewDevice {
    device_id: String,
    secret: String,
}

/// A link that signs one device in, once.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignInLink")]
pub(super) struct Link {
    /// The value for `/sign-in?link=` on this server.
    pub(super) link: String,
    /// The whole link, for a browser.
    pub(super) url: String,
}

impl Link {
    pub(super) fn of(app: &App, remote: Remote, headers: &HeaderMap, link: &Secret) -> Self {
        let url = sign_in_url(app, remote, headers, link);
        Self { link: link.expose().to_owned(), url }
    }
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::DEVICES, "list_devices")
            .says("Your devices, or those of somebody you manage.")
            .query::<ListQuery>()
            .gives::<Listed<DeviceView>>(200)
            .to(list),
        post(path::DEVICES, "request_device")
            .by(Who::KeyAnywhere)
            .says("Requests approval of a machine, with a key that does not work there yet.")
            .takes::<Ask>()
            .gives::<NewDevice>(201)
            .to(request),
        post(path::DEVICES_INVITE, "invite_device")
            .says("Creates a link that signs in one more device of yours, once.")
            .gives::<Link>(201)
            .to(invite),
        post(path::DEVICE_APPROVE, "approve_device")
            .says("Approves a waiting device.")
            .takes::<Approve>()
            .gives_media(204, "")
            .to(approve),
        row(Method::DELETE, path::DEVICE, "revoke_device")
            .says("Revokes a device of yours, or of somebody you manage, immediately and permanently.")
            .gives_media(204, "")
            .to(revoke),
    ]
}

impl DeviceView {
    fn of(device: Device, this: Option<&DeviceId>) -> Self {
        let (state, role) = match device.state {
            DeviceState::Waiting => ("waiting", None),
            DeviceState::Approved { role, .. } => ("approved", Some(role)),
            DeviceState::Revoked { .. } => ("revoked", None),
        };
        let this = this == Some(&device.id);
        Self {
            device_id: device.id.to_string(),
            name: device.name,
            state,
            role,
            created_at: device.created_at.to_string(),
            this,
        }
    }
}

async fn list(
    State(app): State<App>,
    Signed(person): Signed,
    Query(which): Query<ListQuery>,
) -> Result<Json<Listed<DeviceView>>, Problem> {
    let user = which.user_id.unwrap_or_else(|| person.user().id.clone());
    let devices = app.gate.devices_of(&person, &user).await?;
    let views = devices.into_iter().map(|device| DeviceView::of(device, person.device()));
    Ok(Json(Listed::whole(views)))
}

async fn request(
    State(app): State<App>,
    headers: HeaderMap,
    body::Json(ask): body::Json<Ask>,
) -> Result<Once<(StatusCode, Json<NewDevice>)>, Problem> {
    let key = bearer(&headers)?.ok_or_else(|| Problem::not_signed_in("send a key"))?;
    let secret = app.gate.request_device_with(&key, &super::name(&ask.name)?).await?;
    let device_id = Device::id_of(&secret).to_string();
    let new = NewDevice { device_id, secret: secret.expose().to_owned() };
    Ok(Once((StatusCode::CREATED, Json(new))))
}

async fn invite(
    State(app): State<App>,
    Signed(person): Signed,
    remote: Remote,
    headers: HeaderMap,
) -> Result<Once<(StatusCode, Json<Link>)>, Problem> {
    let link = app.gate.invite(&person).await?;
    Ok(Once((StatusCode::CREATED, Json(Link::of(&app, remote, &headers, &link)))))
}

async fn approve(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<DeviceId>,
    body::Json(approve): body::Json<Approve>,
) -> Result<StatusCode, Problem> {
    app.gate.approve_device(&person, &id, approve.role).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn revoke(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<DeviceId>,
) -> Result<StatusCode, Problem> {
    app.gate.revoke_device(&person, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
