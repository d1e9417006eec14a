//! `countersign users`: people, and their workspaces.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use countersign_wire::path;
use serde_json::{Value, json};

use crate::client::{Client, Server, block_on};
use crate::exit::Exit;
use crate::listing::{self, OwnerFilter, field, items, print_json};
use crate::show::{Paint, one_line};
use crate::table::Table;

mod account;

use account::{Disable, Enable, Erase, Invite, Remove, RoleOf, SuperAdmin};

/// Add people and bots, change their roles, disable, enable, remove and erase them
#[derive(Debug, Args)]
pub(crate) struct Users {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Add(Add),
    Invite(Invite),
    Role(RoleOf),
    SuperAdmin(SuperAdmin),
    Disable(Disable),
    Enable(Enable),
    Remove(Remove),
    Erase(Erase),
    Workspaces(Workspaces),
    Join(Join),
    Decline(Decline),
}

/// List yourself, the members of a workspace you manage, or everyone
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    whose: OwnerFilter,
    /// Include people who were removed
    #[arg(long)]
    removed: bool,
    /// The largest number to list
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Add a person or a bot to a workspace; prints the link that signs a person's first device in
#[derive(Debug, Args)]
struct Add {
    #[command(flatten)]
    server: Server,
    /// The name of the person or bot
    #[arg(value_name = "NAME")]
    name: String,
    /// The workspace, if there is more than one
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
    /// Their role in the workspace
    #[arg(long = "as", value_enum, default_value_t = Membership::Member)]
    membership: Membership,
    /// Add a bot, which has keys and never signs in; prints its id
    #[arg(long)]
    bot: bool,
    /// The URL at which they reach the server, if it differs from this machine's
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Membership {
    /// Sees their own items
    Member,
    /// Sees everything in the workspace
    Admin,
}

impl Membership {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Admin => "admin",
        }
    }
}

/// List workspaces, or create one
#[derive(Debug, Args)]
struct Workspaces {
    #[command(flatten)]
    server: Server,
    /// Create a workspace with this name
    #[arg(long, value_name = "NAME")]
    add: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Join a workspace that you were invited to
#[derive(Debug, Args)]
struct Join {
    #[command(flatten)]
    server: Server,
    /// The workspace's id
    #[arg(value_name = "ID")]
    id: String,
}

/// Decline an invitation to a workspace
#[derive(Debug, Args)]
struct Decline {
    #[command(flatten)]
    server: Server,
    /// The workspace's id
    #[arg(value_name = "ID")]
    id: String,
}

impl Users {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::List(list) => list.run(),
            Command::Add(add) => add.run(),
            Command::Invite(invite) => invite.run(),
            Command::Role(role) => role.run(),
            Command::SuperAdmin(super_admin) => super_admin.run(),
            Command::Disable(disable) => disable.run(),
            Command::Enable(enable) => enable.run(),
            Command::Remove(remove) => remove.run(),
            Command::Erase(erase) => erase.run(),
            Command::Workspaces(workspaces) => workspaces.run(),
            Command::Join(Join { server, id }) => {
                invitation(&server, &id, path::WORKSPACE_JOIN, "joined")
            }
            Command::Decline(Decline { server, id }) => {
                invitation(&server, &id, path::WORKSPACE_DECLINE, "declined")
            }
        }
    }
}

impl List {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let mut query = self.whose.query();
        query.extend(self.removed.then(|| ("removed", "true".to_owned())));
        let found = block_on(listing::pages::<Value>(&client, path::USERS, &query, self.limit))?;
        found.say_if_cut()?;
        let users = found.items;
        if self.json {
            return print_json(&Value::from(users));
        }
        let mut table = Table::new(&["ID", "NAME", "STATE", "WORKSPACES"]);
        for user in &users {
            let admin = user.get("super_admin").and_then(Value::as_bool).unwrap_or_default();
            let state = state(user, admin);
            let workspaces = user.get("workspaces").and_then(Value::as_object);
            let workspaces = workspaces.into_iter().flatten().map(|(id, is)| {
                let is = is.as_str().unwrap_or_default();
                format!("{id} ({is})")
            });
            let invited = user.get("invited").and_then(Value::as_object);
            let invited = invited.into_iter().flatten().map(|(id, _)| format!("{id} (invited)"));
            let workspaces = workspaces.chain(invited).collect::<Vec<_>>().join(", ");
            table.row([field(user, "user_id"), field(user, "name"), state, &workspaces]);
        }
        table.write(&mut io::stdout().lock(), Paint::on(&io::stdout()), "no users")?;
        Ok(Exit::Done)
    }
}

impl Add {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let made = block_on(async {
            let workspace = match self.workspace {
                Some(workspace) => workspace,
                None => only_workspace(&client).await?,
            };
            let body = json!({
                "name": self.name,
                "workspace_id": workspace,
                "membership": self.membership.as_str(),
                "kind": if self.bot { "bot" } else { "person" },
            });
            Ok(client.post(path::USERS, &body).await?)
        })?;
        if self.bot {
            writeln!(io::stderr(), "a bot: `countersign keys create --bot ID` makes its keys")?;
            writeln!(io::stdout(), "{}", one_line(field(&made, "user_id")))?;
            return Ok(Exit::Done);
        }
        let link = super::devices::link(&client, self.url.as_deref(), field(&made, "link"));
        let id = one_line(field(&made, "user_id")).into_owned();
        writeln!(io::stderr(), "{id}: signs their first device in, once, within 15 minutes:")?;
        writeln!(io::stdout(), "{link}")?;
        Ok(Exit::Done)
    }
}

fn state(user: &Value, super_admin: bool) -> &'static str {
    let has = |name: &str| !field(user, name).is_empty();
    if has("removed_at") {
        "removed"
    } else if has("disabled_at") {
        "disabled"
    } else if super_admin {
        "super admin"
    } else if field(user, "kind") == "bot" {
        "bot"
    } else {
        "-"
    }
}

async fn only_workspace(client: &Client) -> Result<String> {
    let workspaces = client.get(path::WORKSPACES).await?;
    let mut ids = items(&workspaces).iter().map(|one| field(one, "workspace_id"));
    match (ids.next(), ids.next()) {
        (Some(id), None) => Ok(id.to_owned()),
        _ => anyhow::bail!("name one with --workspace: `countersign users workspaces` lists them"),
    }
}

impl Workspaces {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let found = block_on(async {
            Ok(match &self.add {
                Some(name) => {
                    let made = client.post(path::WORKSPACES, &json!({"name": name})).await?;
                    json!({"items": [made], "next": null})
                }
                None => client.get(path::WORKSPACES).await?,
            })
        })?;
        if self.json {
            return print_json(&Value::from(items(&found)));
        }
        let mut table = Table::new(&["ID", "NAME"]);
        for workspace in items(&found) {
            table.row([field(workspace, "workspace_id"), field(workspace, "name")]);
        }
        table.write(&mut io::stdout().lock(), Paint::on(&io::stdout()), "no workspaces")?;
        Ok(Exit::Done)
    }
}

/// Answers an invitation, and prints the result.
fn invitation(server: &Server, id: &str, path: &str, done: &str) -> Result<Exit> {
    let client = server.open()?;
    block_on(async {
        client.call(&path::of(path, &[id])).await?;
        writeln!(io::stdout(), "{}: {done}", one_line(id))?;
        Ok(Exit::Done)
    })
}
