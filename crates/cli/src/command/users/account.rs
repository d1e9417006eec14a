//! Changes to one account: invites again, changes the role, disables, enables, removes, erases.

use std::io::{self, Write as _};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use countersign_wire::path;
use serde_json::{Value, json};

use crate::ask::{self, Answer};
use crate::client::{Server, block_on};
use crate::exit::Exit;
use crate::listing::field;
use crate::show::one_line;

use super::only_workspace;

/// Print a new sign-in link for somebody who is not signed in anywhere
#[derive(Debug, Args)]
pub(super) struct Invite {
    #[command(flatten)]
    server: Server,
    /// The user's id
    #[arg(value_name = "ID")]
    id: String,
    /// The URL at which they reach the server, if it differs from this machine's
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// Make somebody a member or an admin of a workspace, or remove them from it
#[derive(Debug, Args)]
pub(super) struct RoleOf {
    #[command(flatten)]
    server: Server,
    /// The user's id
    #[arg(value_name = "ID")]
    id: String,
    /// Their new role in the workspace
    #[arg(long = "as", value_enum)]
    role: Role,
    /// The workspace, if there is more than one
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Sees their own items
    Member,
    /// Sees everything in the workspace
    Admin,
    /// Not a member any more
    None,
}

/// Make somebody else a super admin, or revoke that
#[derive(Debug, Args)]
pub(super) struct SuperAdmin {
    #[command(flatten)]
    server: Server,
    /// The user's id
    #[arg(value_name = "ID")]
    id: String,
    /// Revoke the role instead
    #[arg(long)]
    revoke: bool,
}

/// Disable people: their devices and keys stop working immediately
#[derive(Debug, Args)]
pub(super) struct Disable {
    #[command(flatten)]
    server: Server,
    /// The users' ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

/// Enable people who were disabled: devices and keys that were not revoked work again
#[derive(Debug, Args)]
pub(super) struct Enable {
    #[command(flatten)]
    server: Server,
    /// The users' ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

/// Remove people permanently; their names and their records are kept
#[derive(Debug, Args)]
pub(super) struct Remove {
    #[command(flatten)]
    server: Server,
    /// The users' ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

/// Remove somebody and erase everything stored about them
///
/// Name, devices, keys, settings, questions, sessions, files and the content of their records. The
/// chain still verifies, and a record says who erased. This cannot be undone.
#[derive(Debug, Args)]
pub(super) struct Erase {
    #[command(flatten)]
    server: Server,
    /// The user's id
    #[arg(value_name = "ID")]
    id: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Invite {
    pub(super) fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let path = path::of(path::USER_INVITE, &[&self.id]);
        let made = block_on(async { Ok(client.call(&path).await?) })?;
        let link =
            crate::command::devices::link(&client, self.url.as_deref(), field(&made, "link"));
        let id = one_line(&self.id).into_owned();
        writeln!(io::stderr(), "{id}: signs one device of theirs in, once, within 15 minutes:")?;
        writeln!(io::stdout(), "{link}")?;
        Ok(Exit::Done)
    }
}

impl RoleOf {
    pub(super) fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let membership = match self.role {
            Role::Member => json!("member"),
            Role::Admin => json!("admin"),
            Role::None => Value::Null,
        };
        block_on(async {
            let workspace = match self.workspace {
                Some(workspace) => workspace,
                None => only_workspace(&client).await?,
            };
            let path = path::of(path::MEMBERSHIP, &[&self.id, &workspace]);
            client.put(&path, &json!({"membership": membership})).await?;
            Ok(())
        })?;
        let is = membership.as_str().unwrap_or("not in the workspace");
        writeln!(io::stdout(), "{}: {is}", one_line(&self.id))?;
        Ok(Exit::Done)
    }
}

impl SuperAdmin {
    pub(super) fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let path = path::of(path::USER_SUPER_ADMIN, &[&self.id]);
        let body = json!({"super_admin": !self.revoke});
        block_on(async { Ok(client.put(&path, &body).await?) })?;
        let is = if self.revoke { "no super admin" } else { "super admin" };
        writeln!(io::stdout(), "{}: {is}", one_line(&self.id))?;
        Ok(Exit::Done)
    }
}

impl Erase {
    pub(super) fn run(self) -> Result<Exit> {
        if !self.yes {
            let id = one_line(&self.id);
            match ask::proceed(&format!("Erase everything stored about {id}? ")) {
                Answer::Yes => {}
                Answer::No => bail!("nothing was erased"),
                Answer::Nobody => bail!(
                    "nothing was erased: there is no terminal to ask on; --yes skips the question"
                ),
            }
        }
        let client = self.server.open()?;
        let path = path::of(path::USER_ERASE, &[&self.id]);
        let done = block_on(async { Ok(client.call(&path).await?) })?;
        let erased = done.get("erased").and_then(Value::as_u64).unwrap_or_default();
        let id = one_line(&self.id);
        writeln!(io::stdout(), "{id}: erased, with the content of {erased} records")?;
        Ok(Exit::Done)
    }
}

/// A change that is made to several people one by one.
#[derive(Debug, Clone, Copy)]
enum Change {
    Disable,
    Enable,
    Remove,
}

impl Disable {
    pub(super) fn run(self) -> Result<Exit> {
        each(&self.server, &self.ids, Change::Disable, "disabled")
    }
}

impl Enable {
    pub(super) fn run(self) -> Result<Exit> {
        each(&self.server, &self.ids, Change::Enable, "enabled")
    }
}

impl Remove {
    pub(super) fn run(self) -> Result<Exit> {
        each(&self.server, &self.ids, Change::Remove, "removed")
    }
}

fn each(server: &Server, ids: &[String], change: Change, done: &str) -> Result<Exit> {
    let client = server.open()?;
    block_on(async {
        for id in ids {
            let path = path::of(path::USER, &[id]);
            match change {
                Change::Disable => client.call(&path::of(path::USER_DISABLE, &[id])).await?,
                Change::Enable => client.call(&path::of(path::USER_ENABLE, &[id])).await?,
                Change::Remove => client.delete(&path).await?,
            };
            writeln!(io::stdout(), "{}: {done}", one_line(id))?;
        }
        Ok(Exit::Done)
    })
}
