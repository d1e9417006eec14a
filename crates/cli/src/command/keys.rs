//! `countersign keys`: the credentials of agents and programs.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, Subcommand};
use countersign_gate::key::HOOK_WRITES;
use countersign_gate::scope::WORKER;
use countersign_wire::path;
use serde_json::{Value, json};

use crate::client::{Server, block_on};
use crate::exit::Exit;
use crate::listing::{field, items, print_json, with_query};
use crate::show::{Paint, one_line};
use crate::table::Table;

/// Create, rotate and revoke the keys of agents and programs
#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Create(Create),
    Rotate(Rotate),
    Revoke(Revoke),
}

/// List your keys, or those of somebody you manage, with how often each was used
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

/// Create a key; its secret is printed to standard output, only once
#[derive(Debug, Args)]
struct Create {
    #[command(flatten)]
    server: Server,
    /// A name for the key
    #[arg(value_name = "NAME")]
    name: String,
    /// What it may propose: `shell.run`, `email.send`, `email.*`, `*` for everything
    #[arg(long, value_name = "SCOPE", required_unless_present_any = ["hook", "worker"])]
    scope: Vec<String>,
    #[command(flatten)]
    purpose: Purpose,
    /// Actions per minute that may change something [default: 10, or 600 with --hook]
    #[arg(long, value_name = "NUMBER")]
    writes: Option<u32>,
    #[command(flatten)]
    access: Access,
    /// Let the key work on every machine, not only on approved ones
    #[arg(long)]
    any_device: bool,
    /// Days until the key expires
    #[arg(long, value_name = "DAYS")]
    expires_in_days: Option<u32>,
    /// The bot that gets the key [default: yourself]
    #[arg(long, value_name = "ID")]
    bot: Option<String>,
    /// The workspace of the key, if you have more than one
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A key that is made for one of our own programs.
#[derive(Debug, Args)]
struct Purpose {
    /// For hooks and the MCP proxy of one developer: every action, and 600 changes a minute, as
    /// many as a session of the `coding-agent` profile has
    #[arg(long, conflicts_with_all = ["program", "scope"])]
    hook: bool,
    /// For `countersign worker`: to be sent what was permitted and to do it, and nothing else
    #[arg(long, conflicts_with_all = ["agent", "scope", "hook"])]
    worker: bool,
}

/// Who is behind a key.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct Access {
    /// For a model that decides what to do, so a person is asked (the default)
    #[arg(long)]
    agent: bool,
    /// For a program you wrote, not a model: declared skills do not ask
    #[arg(long)]
    program: bool,
}

/// Replace a key with a new one, whose secret is printed to standard output, only once
#[derive(Debug, Args)]
struct Rotate {
    #[command(flatten)]
    server: Server,
    /// The key's id
    #[arg(value_name = "ID")]
    id: String,
    /// Seconds for which the old key still works
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    overlap: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Revoke keys immediately and permanently
#[derive(Debug, Args)]
struct Revoke {
    #[command(flatten)]
    server: Server,
    /// The keys' ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

impl Keys {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::List(list) => list.run(),
            Command::Create(create) => create.run(),
            Command::Rotate(rotate) => rotate.run(),
            Command::Revoke(revoke) => revoke.run(),
        }
    }
}

impl List {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let query: Vec<_> = self.user.into_iter().map(|id| ("user_id", id)).collect();
        let path = with_query(path::KEYS, &query);
        let keys = block_on(async { Ok(client.get(&path).await?) })?;
        if self.json {
            return print_json(&Value::from(items(&keys)));
        }
        let mut table =
            Table::new(&["ID", "NAME", "STATE", "ACCESS", "DEVICES", "USES", "REFUSED", "SCOPES"]);
        for key in items(&keys) {
            let number = |name: &str| key.get(name).and_then(Value::as_u64).unwrap_or_default();
            table.row([
                field(key, "key_id"),
                field(key, "name"),
                state(key),
                field(key, "access"),
                field(key, "devices"),
                &number("uses").to_string(),
                &number("refused").to_string(),
                &scopes(key),
            ]);
        }
        table.write(&mut io::stdout().lock(), Paint::on(&io::stdout()), "no keys")?;
        Ok(Exit::Done)
    }
}

fn state(key: &Value) -> &'static str {
    let has = |name: &str| !field(key, name).is_empty();
    match (has("revoked_at"), has("rotated_to"), has("expires_at")) {
        (true, _, _) => "revoked",
        (false, true, _) => "rotated",
        (false, false, true) => "expires",
        (false, false, false) => "works",
    }
}

fn scopes(key: &Value) -> String {
    let scopes = key.get("scopes").and_then(Value::as_array).into_iter().flatten();
    scopes.filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

impl Create {
    fn run(self) -> Result<Exit> {
        let writes = self.writes.or(self.purpose.hook.then_some(HOOK_WRITES.uses));
        let scopes = match (self.purpose.hook, self.purpose.worker) {
            (true, _) => vec!["*".to_owned()],
            (false, true) => vec![WORKER.to_owned()],
            (false, false) => self.scope,
        };
        let program = self.purpose.worker || self.access.program && !self.access.agent;
        let body = json!({
            "name": self.name,
            "user_id": self.bot,
            "workspace_id": self.workspace,
            "scopes": scopes,
            "writes": writes.map(|uses| json!({"uses": uses, "seconds": 60})),
            "access": if program { "program" } else { "agent" },
            "devices": if self.any_device { "any" } else { "approved" },
            "expires_in_days": self.expires_in_days,
        });
        let client = self.server.open()?;
        let made = block_on(async { Ok(client.post(path::KEYS, &body).await?) })?;
        show(&made, self.json)
    }
}

impl Rotate {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let path = path::of(path::KEY_ROTATE, &[&self.id]);
        let body = json!({"overlap_seconds": self.overlap});
        let made = block_on(async { Ok(client.post(&path, &body).await?) })?;
        show(&made, self.json)
    }
}

/// Prints the secret alone on standard output, so that a script can take it, and the rest on
/// standard error.
fn show(made: &Value, json: bool) -> Result<Exit> {
    if json {
        return print_json(made);
    }
    let key = made.get("key").cloned().unwrap_or_default();
    let (id, name) = (one_line(field(&key, "key_id")), one_line(field(&key, "name")));
    writeln!(io::stderr(), "{id} ({name}): its secret, shown only once:")?;
    writeln!(io::stdout(), "{}", field(made, "secret"))?;
    Ok(Exit::Done)
}

impl Revoke {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        block_on(async {
            for id in &self.ids {
                client.delete(&path::of(path::KEY, &[id])).await?;
                writeln!(io::stdout(), "{}: revoked", one_line(id))?;
            }
            Ok(Exit::Done)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_no_longer_works_is_told_from_one_that_does() {
        assert_eq!(state(&json!({"revoked_at": null})), "works");
        assert_eq!(state(&json!({"revoked_at": "2026", "rotated_to": "key_2"})), "revoked");
        assert_eq!(state(&json!({"rotated_to": "key_2"})), "rotated");
    }
}
