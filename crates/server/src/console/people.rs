//! People and bots, for the admins who look after them: added, invited again, given another role,
//! disabled and enabled, removed, erased; their devices and keys.

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{Html, IntoResponse as _, Response};
use countersign_gate::Person;
use countersign_gate::gate::{OwnerFilter, Page, Paged, Removed, SuperAdmin};
use countersign_gate::id::{DeviceId, KeyId, UserId, WorkspaceId};
use countersign_gate::key::{Access, Devices, HOOK_WRITES};
use countersign_gate::user::{Membership, Role, User, UserKind};

use crate::api::key::{Make, make_key};
use crate::app::App;
use crate::auth::{Remote, Signed};
use crate::body::{Form, Path};
use crate::console::developer::{DeviceView, KeyView, Shown};
use crate::console::{Frame, done};
use crate::error::Problem;
use crate::html::show;
use crate::link::sign_in_url;
use crate::route::{Route, form, page};

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/people", "people").says("The people and bots you manage.").to(look),
        form("/people", "add_user_form")
            .says("Adds a person or a bot; a person's sign-in link is on the page that follows.")
            .gives_media(200, "text/html")
            .to(add),
        page("/people/{id}", "person").says("One person or bot, with devices and keys.").to(one),
        form("/people/{id}/invite", "invite_user_form")
            .says("Creates a new sign-in link for somebody who is not signed in anywhere.")
            .gives_media(200, "text/html")
            .to(invite),
        form("/people/{id}/role", "change_membership_form")
            .says("Makes somebody a member or an admin of a workspace, or neither.")
            .to(change_role),
        form("/people/{id}/account", "change_account_form")
            .says("Disables, enables, removes or erases somebody, or makes them a super admin.")
            .to(change_account),
        form("/people/{id}/keys", "create_bot_key_form")
            .says("Creates a key for a bot. Its secret is on the page that follows, only once.")
            .gives_media(200, "text/html")
            .to(create_key),
        form("/people/{id}/keys/{key}/revoke", "revoke_users_key_form")
            .says("Revokes somebody's key immediately and permanently.")
            .to(revoke_key),
        form("/people/{id}/devices/{device}/revoke", "revoke_users_device_form")
            .says("Revokes somebody's device immediately and permanently.")
            .to(revoke_device),
    ]
}

#[derive(Template)]
#[template(path = "people.html")]
struct People {
    frame: Frame,
    users: Vec<UserView>,
    workspaces: Vec<(String, String)>,
    /// True when there are more than are shown.
    cut: bool,
}

#[derive(Template)]
#[template(path = "person.html")]
struct OnePage {
    frame: Frame,
    user: UserView,
    devices: Vec<DeviceView>,
    keys: Vec<KeyView>,
    workspaces: Vec<(String, String)>,
    /// True when it is the person who is looking.
    own: bool,
    /// True when a new link can be made.
    invite: bool,
}

struct UserView {
    id: String,
    name: String,
    bot: bool,
    super_admin: bool,
    /// `active`, `disabled` or `removed`.
    state: &'static str,
    /// Names of workspaces, and the user's membership there.
    places: Vec<(String, &'static str)>,
}

impl UserView {
    fn of(user: &User, workspaces: &[(String, String)]) -> Self {
        let state = match (user.removed_at, user.disabled_at) {
            (Some(_), _) => "removed",
            (None, Some(_)) => "disabled",
            (None, None) => "can-sign-in",
        };
        let places = user.workspaces.iter().map(|(id, is)| {
            let id = id.as_str();
            let name = workspaces.iter().find(|known| known.0 == id).map(|known| known.1.as_str());
            (name.unwrap_or(id).to_owned(), membership(*is))
        });
        Self {
            id: user.id.to_string(),
            name: user.name.clone(),
            bot: user.kind == UserKind::Bot,
            super_admin: user.super_admin,
            state,
            places: places.collect(),
        }
    }
}

const fn membership(is: Membership) -> &'static str {
    match is {
        Membership::Member => "member",
        Membership::Admin => "admin",
    }
}

/// The workspaces a person looks after, by id and name.
async fn looked_after(app: &App, person: &Person) -> Result<Vec<(String, String)>, Problem> {
    let all = app.gate.workspaces(person).await?;
    let own = all.into_iter().filter(|it| person.role_in(&it.id) >= Role::WorkspaceAdmin);
    Ok(own.map(|it| (it.id.to_string(), it.name)).collect())
}

async fn look(State(app): State<App>, frame: Frame) -> Result<Html<String>, Problem> {
    let frame = frame.on("people");
    let workspaces = looked_after(&app, &frame.person).await?;
    let page = Page { after: None, limit: Page::MOST };
    let (mut users, mut cut): (Vec<User>, bool) = (Vec::new(), false);
    let mut take = |found: Paged<User>| {
        cut |= found.next.is_some();
        users.extend(found.items);
    };
    if frame.person.user().super_admin {
        take(app.gate.users(&frame.person, &OwnerFilter::All, Removed::Shown, &page).await?);
    } else {
        for (id, _) in &workspaces {
            let whose = OwnerFilter::Workspace(WorkspaceId::parse(id)?);
            take(app.gate.users(&frame.person, &whose, Removed::Hidden, &page).await?);
        }
    }
    users.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
    users.dedup_by(|one, other| one.id == other.id);
    let users = users.iter().map(|user| UserView::of(user, &workspaces)).collect();
    show(&People { frame, users, workspaces, cut })
}

async fn one(
    State(app): State<App>,
    frame: Frame,
    Path(id): Path<UserId>,
) -> Result<Html<String>, Problem> {
    let frame = frame.on("people");
    let person = &frame.person;
    let workspaces = looked_after(&app, person).await?;
    let user = app.gate.user(person, &id).await?;
    let devices = app.gate.devices_of(person, &id).await?;
    let keys = app.gate.keys_of(person, &id).await?.into_iter();
    let signed_in = devices.iter().any(countersign_gate::user::Device::is_console);
    let own = person.user().id == id;
    let active = user.disabled_at.is_none() && user.kind == UserKind::Person;
    let devices = devices.into_iter().map(|device| DeviceView::of(&frame, &app, device)).collect();
    let keys = keys.map(|(key, usage)| KeyView::of(&frame, &app, key, &usage)).collect();
    let user = UserView::of(&user, &workspaces);
    let invite = active && !signed_in && !own;
    show(&OnePage { frame, user, devices, keys, workspaces, own, invite })
}

async fn add(
    State(app): State<App>,
    frame: Frame,
    remote: Remote,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Problem> {
    let name = crate::api::name(form.need("name")?)?;
    let workspace = WorkspaceId::parse(form.need("workspace")?)?;
    let membership = match form.need("as")? {
        "bot" => {
            let id = app.gate.add_bot(&frame.person, &name, &workspace).await?;
            return Ok(done(&format!("/people/{id}"), "added"));
        }
        other => parse_membership(other)?,
    };
    let (id, link) = app.gate.add_user(&frame.person, &name, &workspace, membership).await?;
    let secret = sign_in_url(&app, remote, &headers, &link);
    let back = format!("/people/{id}");
    let page = Shown { frame: frame.on("secret"), key: false, secret, back };
    Ok(show(&page)?.into_response())
}

fn parse_membership(text: &str) -> Result<Membership, Problem> {
    match text {
        "member" => Ok(Membership::Member),
        "admin" => Ok(Membership::Admin),
        _ => Err(Problem::bad_request("`as` is not `member`, `admin`, `bot` or `none`")),
    }
}

async fn invite(
    State(app): State<App>,
    frame: Frame,
    Path(id): Path<UserId>,
    remote: Remote,
    headers: HeaderMap,
) -> Result<Html<String>, Problem> {
    let link = app.gate.invite_user(&frame.person, &id).await?;
    let secret = sign_in_url(&app, remote, &headers, &link);
    let back = format!("/people/{id}");
    show(&Shown { frame: frame.on("secret"), key: false, secret, back })
}

async fn change_role(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<UserId>,
    form: Form,
) -> Result<Response, Problem> {
    let workspace = WorkspaceId::parse(form.need("workspace")?)?;
    let membership = match form.need("as")? {
        "none" => None,
        other => Some(parse_membership(other)?),
    };
    app.gate.change_membership(&person, &id, &workspace, membership).await?;
    // A user who was removed from the workspace may not be visible to this admin any more.
    let page = if membership.is_some() { format!("/people/{id}") } else { "/people".to_owned() };
    Ok(done(&page, "set"))
}

async fn change_account(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<UserId>,
    form: Form,
) -> Result<Response, Problem> {
    let gate = &app.gate;
    let to = form.need("to")?;
    if ["removed", "erased"].contains(&to) && !form.is_on("sure") {
        return Err(Problem::bad_request("tick the box: this cannot be undone"));
    }
    match to {
        "disabled" => gate.disable_user(&person, &id).await?,
        "enabled" => gate.enable_user(&person, &id).await?,
        "removed" => gate.remove_user(&person, &id).await?,
        "erased" => {
            gate.erase_user(&person, &id).await?;
            return Ok(done("/people", "user-erased"));
        }
        "super_admin" => gate.set_super_admin(&person, &id, SuperAdmin::Yes).await?,
        "no_super_admin" => gate.set_super_admin(&person, &id, SuperAdmin::No).await?,
        _ => return Err(Problem::bad_request("`to` names no known change")),
    }
    Ok(done(&format!("/people/{id}"), "set"))
}

async fn create_key(
    State(app): State<App>,
    frame: Frame,
    Path(id): Path<UserId>,
    form: Form,
) -> Result<Html<String>, Problem> {
    let scopes = form.get("scopes").unwrap_or("*").split([',', ' ']);
    let make = Make {
        name: form.need("name")?.to_owned(),
        user_id: Some(id.clone()),
        workspace_id: None,
        scopes: scopes.filter(|scope| !scope.is_empty()).map(str::to_owned).collect(),
        access: if form.is_on("program") { Access::Program } else { Access::Agent },
        devices: if form.is_on("any_device") { Devices::Any } else { Devices::Approved },
        writes: form.is_on("hooks").then_some(HOOK_WRITES),
        expires_in_days: None,
    };
    let new = make_key(&app, &frame.person, make).await?;
    let secret = new.secret.expose().to_owned();
    let back = format!("/people/{id}");
    show(&Shown { frame: frame.on("secret"), key: true, secret, back })
}

async fn revoke_key(
    State(app): State<App>,
    Signed(person): Signed,
    Path((id, key)): Path<(UserId, KeyId)>,
) -> Result<Response, Problem> {
    app.gate.revoke_key(&person, &key).await?;
    Ok(done(&format!("/people/{id}"), "key-revoked"))
}

async fn revoke_device(
    State(app): State<App>,
    Signed(person): Signed,
    Path((id, device)): Path<(UserId, DeviceId)>,
) -> Result<Response, Problem> {
    app.gate.revoke_device(&person, &device).await?;
    Ok(done(&format!("/people/{id}"), "device-revoked"))
}
