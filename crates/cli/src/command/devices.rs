//! `countersign devices`: the devices on which you answer, and the machines on which your keys
//! work.

use std::io::{self, Write as _};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand, ValueEnum};
use countersign_gate::secret::Secret;
use countersign_wire::path;
use serde_json::{Value, json};

use crate::client::{Address, Client, MACHINE, Server, block_on};
use crate::connection::{KEY, key};
use crate::data::URL;
use crate::exit::Exit;
use crate::listing::{field, items, part, print_json, with_query};
use crate::moment::{self, now};
use crate::show::{Paint, one_line};
use crate::table::Table;

/// Approve, invite and revoke devices
#[derive(Debug, Args)]
pub(crate) struct Devices {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Approve(Approve),
    Revoke(Revoke),
    Invite(Invite),
    Request(Request),
}

/// List your devices, or those of somebody you manage
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    server: Server,
    /// List those of somebody you manage
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Approve a device that is waiting
#[derive(Debug, Args)]
struct Approve {
    #[command(flatten)]
    server: Server,
    /// The devices' ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// What the device may do
    #[arg(long = "as", value_enum, default_value_t = Role::Machine)]
    role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Use keys; it can never answer questions
    Machine,
    /// Answer questions, with a person using it
    Console,
}

/// Revoke devices immediately and permanently: yours, or those of somebody you manage
#[derive(Debug, Args)]
struct Revoke {
    #[command(flatten)]
    server: Server,
    /// The devices' ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

/// Print a link that signs in one more device of yours, once, within 15 minutes
#[derive(Debug, Args)]
struct Invite {
    #[command(flatten)]
    server: Server,
    /// The URL at which that device reaches the server, if it differs from this one's
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// Request approval of this machine, so that the key in `$COUNTERSIGN_KEY` works here
///
/// Prints a line for the environment of the agent's host. The key works here once somebody has
/// approved the machine (`countersign devices approve ID`).
#[derive(Debug, Args)]
struct Request {
    #[command(flatten)]
    server: Server,
    /// A name for the machine
    #[arg(value_name = "NAME")]
    name: String,
}

impl Devices {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::List(list) => list.run(),
            Command::Approve(approve) => approve.run(),
            Command::Revoke(revoke) => revoke.run(),
            Command::Invite(invite) => invite.run(),
            Command::Request(request) => request.run(),
        }
    }
}

impl List {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let query: Vec<_> = self.user.into_iter().map(|id| ("user_id", id)).collect();
        let path = with_query(path::DEVICES, &query);
        let devices = block_on(async { Ok(client.get(&path).await?) })?;
        if self.json {
            return print_json(&Value::from(items(&devices)));
        }
        let now = now();
        let mut table = Table::new(&["ID", "NAME", "STATE", "AS", "ADDED", ""]);
        for device in items(&devices) {
            let this = device.get("this").and_then(Value::as_bool).unwrap_or_default();
            table.row([
                field(device, "device_id"),
                field(device, "name"),
                field(device, "state"),
                field(device, "role"),
                &moment::ago(field(device, "created_at"), now),
                if this { "this one" } else { "" },
            ]);
        }
        table.write(&mut io::stdout().lock(), Paint::on(&io::stdout()), "no devices")?;
        Ok(Exit::Done)
    }
}

impl Approve {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let role = if self.role == Role::Console { "console" } else { "machine" };
        block_on(async {
            for id in &self.ids {
                let path = path::of(path::DEVICE_APPROVE, &[id]);
                client.post(&path, &json!({"role": role})).await?;
                writeln!(io::stdout(), "{}: approved as {role}", one_line(id))?;
            }
            Ok(Exit::Done)
        })
    }
}

impl Revoke {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        block_on(async {
            for id in &self.ids {
                client.delete(&path::of(path::DEVICE, &[id])).await?;
                writeln!(io::stdout(), "{}: revoked", one_line(id))?;
            }
            Ok(Exit::Done)
        })
    }
}

impl Invite {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let made = block_on(async { Ok(client.call(path::DEVICES_INVITE).await?) })?;
        let link = link(&client, self.url.as_deref(), field(&made, "link"));
        writeln!(io::stderr(), "signs one device in, once, within 15 minutes:")?;
        writeln!(io::stdout(), "{link}")?;
        Ok(Exit::Done)
    }
}

impl Request {
    fn run(self) -> Result<Exit> {
        let key = key()?.with_context(|| format!("${KEY} must hold a key"))?;
        let client = self.server.open()?.with(key);
        let body = json!({"name": self.name});
        let made = block_on(async { Ok(client.post(path::DEVICES, &body).await?) })?;
        // A shell evaluates this output, so it must be nothing but a secret.
        let secret = Secret::parse(field(&made, "secret"))?;
        let id = one_line(field(&made, "device_id"));
        writeln!(io::stderr(), "{id} is waiting: `countersign devices approve {id}` approves it")?;
        writeln!(io::stdout(), "export {MACHINE}={}", secret.expose())?;
        Ok(Exit::Done)
    }
}

/// A link for a browser. Over the socket, the server's address is read from a file beside it.
pub(super) fn link(client: &Client, url: Option<&str>, link: &str) -> String {
    let usual = || match client.address() {
        Address::Socket(socket) => {
            let written = std::fs::read_to_string(socket.with_file_name(URL)).ok();
            written.unwrap_or_else(|| {
                format!("http://127.0.0.1:{}", countersign_server::Settings::PORT)
            })
        }
        address => address.to_string(),
    };
    let server = url.map_or_else(usual, str::to_owned);
    format!("{}/sign-in?link={}", one_line(server.trim().trim_end_matches('/')), part(link))
}
