//! API keys: made, rotated, revoked; the secret is shown once.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use countersign_gate::Person;
use countersign_gate::gate::{NewSecret, Usage};
use countersign_gate::id::{KeyId, UserId, WorkspaceId};
use countersign_gate::key::{Access, ApiKey, Devices, NewKey, WRITES};
use countersign_gate::rate::Rate;
use countersign_gate::scope::Scope;
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::Signed;
use crate::body::{self, Path, Query};
use crate::error::Problem;
use crate::idempotent::Once;
use crate::page::Listed;
use crate::route::{Route, get, post, row};
use crate::view::time;

/// The owner of the keys.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WhoseKeys")]
struct ListQuery {
    /// Somebody you look after; yourself, if nobody is named.
    user_id: Option<UserId>,
}

/// A key to make.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewKeyRequest")]
pub(crate) struct Make {
    #[schemars(length(min = 1, max = 100))]
    pub(crate) name: String,
    /// The bot it is for; yourself, if none is named.
    pub(crate) user_id: Option<UserId>,
    /// The workspace it works in; your only one, or the bot's, if none is named.
    pub(crate) workspace_id: Option<WorkspaceId>,
    /// The actions it may propose: names like `shell.run`, `file.write`, `web.request`, `ui.click`,
    /// a skill like `email.send`, `tool.github.create_issue`, `login.example.com`, groups like
    /// `shell.*` and `tool.github.*`, or `*` for everything but `sessions.consent`, which lets a
    /// program begin sessions for its person, `audit.read` and `metrics.read`, which let it read
    /// the record of its workspace and the server's numbers.
    #[schemars(length(min = 1, max = 100))]
    pub(crate) scopes: Vec<String>,
    /// The kind of client behind it.
    #[serde(default)]
    pub(crate) access: Access,
    /// The devices on which it works.
    #[serde(default)]
    pub(crate) devices: Devices,
    /// The rate at which it may change something.
    pub(crate) writes: Option<Rate>,
    /// Days until it no longer works; for good, if none are named.
    pub(crate) expires_in_days: Option<u32>,
}

/// The rotation of a key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "KeyRotation")]
struct Rotate {
    /// The number of seconds for which the old one still works.
    #[serde(default)]
    overlap_seconds: u32,
}

/// A key. Never its secret.
#[derive(Debug, Serialize, JsonSchema)]
struct KeyView {
    key_id: String,
    workspace_id: String,
    name: String,
    scopes: Vec<Scope>,
    access: Access,
    devices: Devices,
    writes: Rate,
    created_at: String,
    expires_at: Option<String>,
    revoked_at: Option<String>,
    /// The key that takes its place.
    rotated_to: Option<String>,
    /// Actions it proposed that were let through or asked about.
    uses: u64,
    /// Actions it proposed that were refused.
    refused: u64,
}

/// A key with its secret, which is shown this once.
#[derive(Debug, Serialize, JsonSchema)]
struct NewKeyView {
    key: KeyView,
    secret: String,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::KEYS, "list_keys")
            .says("Your keys, or those of somebody you manage, with how often each was used.")
            .query::<ListQuery>()
            .gives::<Listed<KeyView>>(200)
            .to(list),
        post(path::KEYS, "create_key")
            .says("Creates a key. Its secret is shown only once.")
            .takes::<Make>()
            .gives::<NewKeyView>(201)
            .to(create),
        post(path::KEY_ROTATE, "rotate_key")
            .says("Replaces a key with a new one; the old one keeps working for a while.")
            .takes::<Rotate>()
            .gives::<NewKeyView>(201)
            .to(rotate),
        row(Method::DELETE, path::KEY, "revoke_key")
            .says("Revokes a key immediately and permanently.")
            .by_socket_alone()
            .gives_media(204, "")
            .to(revoke),
    ]
}

impl KeyView {
    fn of(key: ApiKey, usage: Usage) -> Self {
        Self {
            key_id: key.id.to_string(),
            workspace_id: key.workspace.to_string(),
            name: key.name,
            scopes: key.scopes,
            access: key.access,
            devices: key.devices,
            writes: key.writes,
            created_at: key.created_at.to_string(),
            expires_at: time(key.expires_at),
            revoked_at: time(key.revoked_at),
            rotated_to: key.rotated_to.map(|id| id.to_string()),
            uses: usage.uses,
            refused: usage.refused,
        }
    }
}

type Made = Once<(StatusCode, Json<NewKeyView>)>;

fn made(new: NewSecret) -> Made {
    let secret = new.secret.expose().to_owned();
    let key = KeyView::of(new.key, Usage::default());
    Once((StatusCode::CREATED, Json(NewKeyView { key, secret })))
}

async fn list(
    State(app): State<App>,
    Signed(person): Signed,
    Query(which): Query<ListQuery>,
) -> Result<Json<Listed<KeyView>>, Problem> {
    let user = which.user_id.unwrap_or_else(|| person.user().id.clone());
    let keys = app.gate.keys_of(&person, &user).await?;
    Ok(Json(Listed::whole(keys.into_iter().map(|(key, usage)| KeyView::of(key, usage)))))
}

async fn create(
    State(app): State<App>,
    Signed(person): Signed,
    body::Json(make): body::Json<Make>,
) -> Result<Made, Problem> {
    Ok(made(make_key(&app, &person, make).await?))
}

/// Makes a key, after checking the request.
pub(crate) async fn make_key(app: &App, person: &Person, make: Make) -> Result<NewSecret, Problem> {
    let Make { name, user_id, workspace_id, scopes, access, devices, writes, expires_in_days } =
        make;
    let name = super::name(&name)?;
    if scopes.is_empty() {
        return Err(Problem::bad_request("name at least one scope; `*` is everything"));
    }
    let skills = app.gate.policy().skill_ids();
    let parse = |text: &String| Scope::parse(text, &skills).map_err(Problem::bad_request);
    let scopes = scopes.iter().map(parse).collect::<Result<_, _>>()?;
    let bot = match &user_id {
        Some(id) => Some(app.gate.user(person, id).await?),
        None => None,
    };
    let mut own = bot.as_ref().unwrap_or(person.user()).workspaces.keys().cloned();
    let workspace = workspace_id.or_else(|| own.next().filter(|_| own.next().is_none()));
    let workspace = workspace.ok_or_else(|| Problem::bad_request("name a `workspace_id`"))?;
    let days = |days: u32| app.gate.now().after(Duration::from_secs(u64::from(days) * 86_400));
    let new = NewKey {
        name,
        workspace,
        scopes,
        access,
        devices,
        writes: writes.unwrap_or(WRITES),
        expires_at: expires_in_days.map(days),
    };
    Ok(match bot.map(|bot| bot.id).filter(|id| *id != person.user().id) {
        Some(bot) => app.gate.create_key_for(person, &bot, new).await?,
        None => app.gate.create_key(person, new).await?,
    })
}

async fn rotate(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<KeyId>,
    body::Json(rotate): body::Json<Rotate>,
) -> Result<Made, Problem> {
    let overlap = Duration::from_secs(rotate.overlap_seconds.into());
    Ok(made(app.gate.rotate_key(&person, &id, overlap).await?))
}

async fn revoke(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<KeyId>,
) -> Result<StatusCode, Problem> {
    app.gate.revoke_key(&person, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
