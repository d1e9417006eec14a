//! People and the workspaces they belong to.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use countersign_gate::gate::{Joined, PeopleError, Removed};
use countersign_gate::id::{UserId, WorkspaceId};
use countersign_gate::user::{Membership, User, UserKind};
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::approval::whose;
use crate::app::App;
use crate::auth::Signed;
use crate::body::{self, Path, Query};
use crate::error::Problem;
use crate::idempotent::Once;
use crate::page::{Listed, page};
use crate::route::{Route, get, post, row};
use crate::view::time;

/// The users to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// Only the users of a workspace you look after.
    workspace_id: Option<WorkspaceId>,
    /// Everybody, for super admins.
    #[serde(default)]
    all: bool,
    /// Also those who were removed.
    #[serde(default)]
    removed: bool,
    cursor: Option<String>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

/// Somebody to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewUserRequest")]
struct Add {
    #[schemars(length(min = 1, max = 100))]
    name: String,
    workspace_id: WorkspaceId,
    #[serde(default = "member")]
    membership: Membership,
    /// A bot has keys, and never signs in.
    #[serde(default)]
    kind: UserKind,
}

const fn member() -> Membership {
    Membership::Member
}

/// The membership that somebody is to have in a workspace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MembershipChange")]
struct Member {
    /// `null` for nothing any more.
    membership: Option<Membership>,
}

/// A workspace to make.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewWorkspace")]
struct AddWorkspace {
    #[schemars(length(min = 1, max = 100))]
    name: String,
}

/// A person who can sign in, or a bot.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UserView {
    pub(super) user_id: String,
    pub(super) name: String,
    pub(super) kind: UserKind,
    pub(super) super_admin: bool,
    /// Their membership, by workspace.
    pub(super) workspaces: BTreeMap<String, Membership>,
    /// The workspaces they were invited to and have not joined yet.
    pub(super) invited: BTreeMap<String, Membership>,
    pub(super) created_at: String,
    pub(super) disabled_at: Option<String>,
    pub(super) removed_at: Option<String>,
}

/// Somebody new: a person with a link for their first device, which works once, or a bot.
#[derive(Debug, Serialize, JsonSchema)]
struct NewUser {
    user_id: String,
    /// The value for `/sign-in?link=` on this server; none for a bot.
    link: Option<String>,
}

/// The owner of sessions.
#[derive(Debug, Serialize, JsonSchema)]
struct WorkspaceView {
    workspace_id: String,
    name: Option<String>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::USERS, "list_users")
            .says("Yourself, the members of a workspace you manage, or everyone.")
            .query::<ListQuery>()
            .gives::<Listed<UserView>>(200)
            .to(list),
        post(path::USERS, "add_user")
            .says("Adds a person or a bot to a workspace you manage.")
            .takes::<Add>()
            .gives::<NewUser>(201)
            .to(add),
        row(Method::PUT, path::MEMBERSHIP, "change_membership")
            .says("Makes somebody a member or an admin of a workspace, or neither. Somebody from outside is invited by a workspace admin (202), and joins by accepting.")
            .takes::<Member>()
            .gives_media(204, "")
            .gives_media(202, "")
            .to(change_membership),
        post(path::WORKSPACE_JOIN, "join_workspace")
            .says("Joins a workspace that you were invited to.")
            .gives_media(204, "")
            .to(join),
        post(path::WORKSPACE_DECLINE, "decline_workspace")
            .says("Declines an invitation to a workspace.")
            .gives_media(204, "")
            .to(decline),
        get(path::WORKSPACES, "list_workspaces")
            .says("The workspaces you belong to; all, for super admins.")
            .gives::<Listed<WorkspaceView>>(200)
            .to(workspaces),
        post(path::WORKSPACES, "add_workspace")
            .says("Creates a workspace, which its creator manages.")
            .takes::<AddWorkspace>()
            .gives::<WorkspaceView>(201)
            .to(add_workspace),
    ]
}

impl From<&User> for UserView {
    fn from(user: &User) -> Self {
        let named = |of: &BTreeMap<WorkspaceId, Membership>| {
            of.iter().map(|(id, is)| (id.to_string(), *is)).collect()
        };
        Self {
            user_id: user.id.to_string(),
            name: user.name.clone(),
            kind: user.kind,
            super_admin: user.super_admin,
            workspaces: named(&user.workspaces),
            invited: named(&user.invited),
            created_at: user.created_at.to_string(),
            disabled_at: time(user.disabled_at),
            removed_at: time(user.removed_at),
        }
    }
}

async fn list(
    State(app): State<App>,
    Signed(person): Signed,
    Query(which): Query<ListQuery>,
) -> Result<Json<Listed<UserView>>, Problem> {
    let whose = whose(which.workspace_id, which.all);
    let states = if which.removed { Removed::Shown } else { Removed::Hidden };
    let page = page(which.cursor, which.limit);
    let users = app.gate.users(&person, &whose, states, &page).await?;
    Ok(Json(Listed::of(users, |user| UserView::from(&user))))
}

async fn add(
    State(app): State<App>,
    Signed(person): Signed,
    body::Json(add): body::Json<Add>,
) -> Result<Once<(StatusCode, Json<NewUser>)>, Problem> {
    let Add { name, workspace_id, membership, kind } = add;
    let name = super::name(&name)?;
    let (id, link) = match (kind, membership) {
        (UserKind::Person, _) => {
            let (id, link) = app.gate.add_user(&person, &name, &workspace_id, membership).await?;
            (id, Some(link))
        }
        (UserKind::Bot, Membership::Member) => {
            (app.gate.add_bot(&person, &name, &workspace_id).await?, None)
        }
        (UserKind::Bot, Membership::Admin) => return Err(PeopleError::Bot.into()),
    };
    let link = link.map(|link| link.expose().to_owned());
    let new = NewUser { user_id: id.to_string(), link };
    Ok(Once((StatusCode::CREATED, Json(new))))
}

async fn change_membership(
    State(app): State<App>,
    Signed(person): Signed,
    Path((user, workspace)): Path<(UserId, WorkspaceId)>,
    body::Json(member): body::Json<Member>,
) -> Result<StatusCode, Problem> {
    let joined = app.gate.change_membership(&person, &user, &workspace, member.membership).await?;
    Ok(match joined {
        Joined::Now => StatusCode::NO_CONTENT,
        Joined::Invited => StatusCode::ACCEPTED,
    })
}

async fn join(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<WorkspaceId>,
) -> Result<StatusCode, Problem> {
    app.gate.join_workspace(&person, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn decline(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<WorkspaceId>,
) -> Result<StatusCode, Problem> {
    app.gate.decline_workspace(&person, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn workspaces(
    State(app): State<App>,
    Signed(person): Signed,
) -> Result<Json<Listed<WorkspaceView>>, Problem> {
    let workspaces = app.gate.workspaces(&person).await?;
    let views = workspaces.into_iter().map(|workspace| WorkspaceView {
        workspace_id: workspace.id.to_string(),
        name: Some(workspace.name),
    });
    Ok(Json(Listed::whole(views)))
}

async fn add_workspace(
    State(app): State<App>,
    Signed(person): Signed,
    body::Json(add): body::Json<AddWorkspace>,
) -> Result<(StatusCode, Json<WorkspaceView>), Problem> {
    let name = super::name(&add.name)?;
    let id = app.gate.add_workspace(&person, &name).await?;
    let view = WorkspaceView { workspace_id: id.to_string(), name: Some(name) };
    Ok((StatusCode::CREATED, Json(view)))
}
