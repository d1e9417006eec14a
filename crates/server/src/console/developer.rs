//! For developers: keys, devices, usage, and the actions of programs that need no confirmation.

use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{Html, Response};
use countersign_gate::Person;
use countersign_gate::config::Erasure;
use countersign_gate::gate::Usage;
use countersign_gate::id::{DeviceId, KeyId, RememberedId, WorkspaceId};
use countersign_gate::key::{Access, ApiKey, Devices, HOOK_WRITES};
use countersign_gate::preferences::{Logging, Preferences};
use countersign_gate::user::{Device, DeviceRole, DeviceState};

use crate::api::key::{Make, make_key};
use crate::app::App;
use crate::auth::{Remote, Signed};
use crate::body::{Form, Path};
use crate::console::machine::{MachineView, machines};
use crate::console::when::{ago, moment};
use crate::console::{Frame, done};
use crate::error::Problem;
use crate::html::show;
use crate::link::sign_in_url;
use crate::route::{Route, form, page};

/// The path of this page.
const BACK: &str = "/developer";

/// The time for which a key still works after another has replaced it.
const OVERLAP: Duration = Duration::from_hours(24);

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/developer", "developer").says("Keys, devices, use and settings.").to(look),
        form("/developer/keys", "create_key_form")
            .says("Creates a key. Its secret is on the page that follows, only once.")
            .gives_media(200, "text/html")
            .to(create_key),
        form("/developer/keys/{id}/rotate", "rotate_key_form")
            .says("Replaces a key with a new one; the old one keeps working for a day.")
            .gives_media(200, "text/html")
            .to(rotate_key),
        form("/developer/keys/{id}/revoke", "revoke_key_form")
            .says("Revokes a key immediately and permanently.")
            .to(revoke_key),
        form("/developer/devices/{id}/approve", "approve_device_form")
            .says("Approves a waiting device.")
            .to(approve_device),
        form("/developer/devices/{id}/revoke", "revoke_device_form")
            .says("Revokes a device immediately and permanently.")
            .to(revoke_device),
        form("/developer/invite", "invite_form")
            .says("Creates a link that signs in one more device of yours, once.")
            .gives_media(200, "text/html")
            .to(invite),
        form("/developer/settings", "settings_form").says("Changes your settings.").to(set),
        form("/developer/remembered/{id}/forget", "forget_form")
            .says("Forgets an answer: its question is asked again from now on.")
            .to(forget),
    ]
}

#[derive(Template)]
#[template(path = "developer.html")]
struct Developer {
    frame: Frame,
    keys: Vec<KeyView>,
    devices: Vec<DeviceView>,
    remembered: Vec<RememberedView>,
    settings: Preferences,
    chart: Vec<Column>,
    machines: Vec<MachineView>,
    /// The workspaces of this person, by id and name, if a new key has to name one of them.
    workspaces: Vec<(String, String)>,
    /// True when the organisation keeps the record.
    kept: bool,
}

pub(super) struct KeyView {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) scopes: String,
    pub(super) program: bool,
    /// `works`, `revoked`, `expired` or `replaced`.
    pub(super) state: &'static str,
    pub(super) created: String,
    pub(super) uses: u64,
    pub(super) refused: u64,
}

pub(super) struct DeviceView {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: &'static str,
    pub(super) console: bool,
    pub(super) created: String,
    pub(super) this: bool,
}

struct RememberedView {
    id: String,
    action: String,
    rules: String,
    until: String,
}

/// One key in the chart, in the units of the drawing.
struct Column {
    name: String,
    y: usize,
    uses: u64,
    refused: u64,
    uses_width: u64,
    refused_width: u64,
}

/// The width of the longest bar, and the height of a row.
const WIDEST: u64 = 400;
const ROW: usize = 34;

fn chart(keys: &[KeyView]) -> Vec<Column> {
    let most =
        keys.iter().map(|key| key.uses.saturating_add(key.refused)).max().unwrap_or(0).max(1);
    let width = |n: u64| n.saturating_mul(WIDEST).div_ceil(most);
    let used = keys.iter().filter(|key| key.uses.saturating_add(key.refused) > 0);
    let column = |(n, key): (usize, &KeyView)| Column {
        name: key.name.clone(),
        y: n.saturating_mul(ROW),
        uses: key.uses,
        refused: key.refused,
        uses_width: width(key.uses),
        refused_width: width(key.refused),
    };
    used.enumerate().map(column).collect()
}

impl KeyView {
    pub(super) fn of(frame: &Frame, app: &App, key: ApiKey, usage: &Usage) -> Self {
        let now = app.gate.now();
        let state = if key.revoked_at.is_some() {
            "revoked"
        } else if key.expires_at.is_some_and(|at| at <= now) {
            "expired"
        } else if key.rotated_to.is_some() {
            "replaced"
        } else {
            "works"
        };
        let scopes: Vec<_> = key.scopes.iter().map(ToString::to_string).collect();
        Self {
            id: key.id.to_string(),
            scopes: scopes.join(", "),
            program: key.access == Access::Program,
            state,
            created: ago(frame.t, key.created_at, now),
            uses: usage.uses,
            refused: usage.refused,
            name: key.name,
        }
    }
}

impl DeviceView {
    pub(super) fn of(frame: &Frame, app: &App, device: Device) -> Self {
        let (state, console) = match device.state {
            DeviceState::Waiting => ("waiting", false),
            DeviceState::Approved { role, .. } => ("approved", role == DeviceRole::Console),
            DeviceState::Revoked { .. } => ("revoked", false),
        };
        Self {
            this: frame.person.device() == Some(&device.id),
            id: device.id.to_string(),
            name: device.name,
            state,
            console,
            created: ago(frame.t, device.created_at, app.gate.now()),
        }
    }
}

async fn look(State(app): State<App>, frame: Frame) -> Result<Html<String>, Problem> {
    let frame = frame.on("developer");
    let person = &frame.person;
    let settings = app.gate.settings(person).await?;
    let keys = app.gate.keys(person).await?.into_iter();
    let keys: Vec<_> = keys.map(|(key, usage)| KeyView::of(&frame, &app, key, &usage)).collect();
    let devices = app.gate.devices(person).await?.into_iter();
    let mut devices: Vec<_> = devices.map(|device| DeviceView::of(&frame, &app, device)).collect();
    // Waiting devices first, because somebody has to act; revoked ones last.
    devices.sort_by_key(|device| (device.state == "revoked", device.state != "waiting"));
    let remembered = app.gate.remembered_answers(person).await?.into_iter();
    let remembered = remembered.map(|answer| RememberedView {
        id: answer.id.to_string(),
        action: answer.action,
        rules: answer.rules.join(", "),
        until: moment(answer.expires_at),
    });
    let remembered = remembered.collect();
    let chart = chart(&keys);
    let machines = machines(&app, &frame).await?;
    let kept = app.gate.config().erasure == Erasure::Administrators;
    let workspaces = choices(&app, &frame.person).await?;
    let developer =
        Developer { frame, keys, devices, remembered, settings, chart, machines, workspaces, kept };
    show(&developer)
}

/// The workspaces in which a new key can work, where there is a choice.
async fn choices(app: &App, person: &Person) -> Result<Vec<(String, String)>, Problem> {
    let own = &person.user().workspaces;
    if own.len() < 2 {
        return Ok(Vec::new());
    }
    let all = app.gate.workspaces(person).await?.into_iter();
    let own = all.filter(|workspace| own.contains_key(&workspace.id));
    Ok(own.map(|workspace| (workspace.id.to_string(), workspace.name)).collect())
}

/// A secret that is shown only once.
#[derive(Template)]
#[template(path = "secret.html")]
pub(super) struct Shown {
    pub(super) frame: Frame,
    pub(super) key: bool,
    pub(super) secret: String,
    /// The page to go on to.
    pub(super) back: String,
}

async fn create_key(
    State(app): State<App>,
    frame: Frame,
    form: Form,
) -> Result<Html<String>, Problem> {
    let scopes = form.get("scopes").unwrap_or("*").split([',', ' ']);
    let make = Make {
        name: form.need("name")?.to_owned(),
        user_id: None,
        workspace_id: form.get("workspace").map(WorkspaceId::parse).transpose()?,
        scopes: scopes.filter(|scope| !scope.is_empty()).map(str::to_owned).collect(),
        access: if form.is_on("program") { Access::Program } else { Access::Agent },
        devices: if form.is_on("any_device") { Devices::Any } else { Devices::Approved },
        writes: form.is_on("hooks").then_some(HOOK_WRITES),
        expires_in_days: None,
    };
    let new = make_key(&app, &frame.person, make).await?;
    let secret = new.secret.expose().to_owned();
    show(&Shown { frame: frame.on("secret"), key: true, secret, back: BACK.to_owned() })
}

async fn rotate_key(
    State(app): State<App>,
    frame: Frame,
    Path(id): Path<KeyId>,
) -> Result<Html<String>, Problem> {
    let new = app.gate.rotate_key(&frame.person, &id, OVERLAP).await?;
    let secret = new.secret.expose().to_owned();
    show(&Shown { frame: frame.on("secret"), key: true, secret, back: BACK.to_owned() })
}

async fn revoke_key(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<KeyId>,
) -> Result<Response, Problem> {
    app.gate.revoke_key(&person, &id).await?;
    Ok(done("/developer", "key-revoked"))
}

async fn approve_device(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<DeviceId>,
    form: Form,
) -> Result<Response, Problem> {
    let role = match form.need("role")? {
        "machine" => DeviceRole::Machine,
        "console" => DeviceRole::Console,
        _ => return Err(Problem::bad_request("`role` is neither `machine` nor `console`")),
    };
    app.gate.approve_device(&person, &id, role).await?;
    Ok(done("/developer", "device-approved"))
}

async fn revoke_device(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<DeviceId>,
) -> Result<Response, Problem> {
    app.gate.revoke_device(&person, &id).await?;
    Ok(done("/developer", "device-revoked"))
}

async fn invite(
    State(app): State<App>,
    frame: Frame,
    remote: Remote,
    headers: HeaderMap,
) -> Result<Html<String>, Problem> {
    let link = app.gate.invite(&frame.person).await?;
    let secret = sign_in_url(&app, remote, &headers, &link);
    show(&Shown { frame: frame.on("secret"), key: false, secret, back: BACK.to_owned() })
}

async fn set(
    State(app): State<App>,
    Signed(person): Signed,
    form: Form,
) -> Result<Response, Problem> {
    let logging = match form.need("logging")? {
        "minimal" => Logging::Minimal,
        "enhanced" => Logging::Enhanced,
        _ => return Err(Problem::bad_request("`logging` is neither `minimal` nor `enhanced`")),
    };
    let days = form.get("retention_days").map(str::parse).transpose();
    let days: Option<u32> = days.map_err(|_| Problem::bad_request("days are a whole number"))?;
    let change = app.gate.change_settings(&person, |settings| {
        settings.logging = logging;
        settings.confirm_programs = form.is_on("confirm_programs");
        settings.retention_days = days.filter(|days| *days > 0);
    });
    change.await?;
    Ok(done("/developer", "set"))
}

async fn forget(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<RememberedId>,
) -> Result<Response, Problem> {
    app.gate.forget_answer(&person, &id).await?;
    Ok(done("/developer", "forgotten"))
}
