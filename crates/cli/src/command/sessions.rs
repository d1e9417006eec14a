//! `countersign sessions`: lists what agents are doing, and stops them.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use countersign_wire::path;
use serde_json::{Value, json};

use crate::client::{Server, block_on};
use crate::exit::Exit;
use crate::listing::{self, OwnerFilter, field, print_json};
use crate::moment::{self, now};
use crate::show::{Paint, one_line};
use crate::table::Table;

/// See what agents are doing, and stop them
#[derive(Debug, Args)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Show(Show),
    Stop(Stop),
    Resume(Resume),
    Mode(Switch),
}

/// List sessions, newest first
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    server: Server,
    /// Only sessions in this state
    #[arg(long, value_enum)]
    state: Option<State>,
    #[command(flatten)]
    whose: OwnerFilter,
    /// The largest number to list
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    Active,
    /// Asked too many questions too fast, and waits for a person
    Paused,
    Ended,
}

/// Show one session: its task, its limits, its progress
#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    server: Server,
    /// The session's id
    #[arg(value_name = "ID")]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Stop sessions: their pending questions are cancelled, and nothing more is allowed
#[derive(Debug, Args)]
struct Stop {
    #[command(flatten)]
    server: Server,
    /// The sessions' ids
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// Stop every session you manage
    #[arg(long)]
    all: bool,
}

/// Resume paused sessions
#[derive(Debug, Args)]
struct Resume {
    #[command(flatten)]
    server: Server,
    /// The sessions' ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

/// Switch a session to explore or task mode, from its next action on
#[derive(Debug, Args)]
struct Switch {
    #[command(flatten)]
    server: Server,
    /// The session's id
    #[arg(value_name = "ID")]
    id: String,
    /// The new mode
    #[arg(value_enum)]
    mode: ModeName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeName {
    /// Look only, change nothing
    Explore,
    /// Do the work
    Task,
}

impl Switch {
    fn run(self) -> Result<Exit> {
        let mode = match self.mode {
            ModeName::Explore => "explore",
            ModeName::Task => "task",
        };
        let client = self.server.open()?;
        let path = path::of(path::SESSION, &[&self.id]);
        block_on(async { Ok(client.patch(&path, &json!({"mode": mode})).await?) })?;
        writeln!(io::stdout(), "{}: {mode}", one_line(&self.id))?;
        Ok(Exit::Done)
    }
}

impl Sessions {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::List(list) => list.run(),
            Command::Show(show) => show.run(),
            Command::Stop(stop) => stop.run(),
            Command::Mode(switch) => switch.run(),
            Command::Resume(Resume { server, ids }) => {
                each(&server, &ids, path::SESSION_RESUME, "goes on")
            }
        }
    }
}

impl List {
    fn run(self) -> Result<Exit> {
        let mut query = self.whose.query();
        if let Some(state) = self.state.and_then(|state| state.to_possible_value()) {
            query.push(("state", state.get_name().to_owned()));
        }
        let client = self.server.open()?;
        let found = block_on(listing::pages::<Value>(&client, path::SESSIONS, &query, self.limit))?;
        found.say_if_cut()?;
        let items = found.items;
        if self.json {
            return print_json(&Value::from(items));
        }
        let now = now();
        let mut table = Table::new(&["ID", "STATE", "STARTED", "KEY", "TASK"]);
        for item in &items {
            let state = match field(item, "ended_by") {
                "" => field(item, "state").to_owned(),
                why => format!("{} ({why})", field(item, "state")),
            };
            table.row([
                field(item, "session_id"),
                &state,
                &moment::ago(field(item, "started_at"), now),
                field(item, "key_id"),
                item.get("plan").map(|plan| field(plan, "task")).unwrap_or_default(),
            ]);
        }
        table.write(&mut io::stdout().lock(), Paint::on(&io::stdout()), "no sessions")?;
        Ok(Exit::Done)
    }
}

impl Show {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let path = path::of(path::SESSION, &[&self.id]);
        let session = block_on(async { Ok(client.get(&path).await?) })?;
        if self.json {
            return print_json(&session);
        }
        let mut out = io::stdout().lock();
        let (id, state) = (field(&session, "session_id"), field(&session, "state"));
        writeln!(out, "{}: {}", one_line(id), one_line(state))?;
        let plan = session.get("plan").cloned().unwrap_or_default();
        let lines = [
            ("task", field(&plan, "task")),
            ("profile", field(&plan, "profile")),
            ("mode", field(&plan, "mode")),
            ("user", field(&session, "user_id")),
            ("workspace", field(&session, "workspace_id")),
            ("key", field(&session, "key_id")),
            ("started", field(&session, "started_at")),
            ("deadline", field(&session, "deadline")),
            ("ended", field(&session, "ended_at")),
            ("because", field(&session, "ended_by")),
        ];
        for (name, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
            writeln!(out, "  {name:<12} {}", one_line(text))?;
        }
        let progress = session.get("progress").cloned().unwrap_or_default();
        for name in ["steps", "screenshots", "files", "errors"] {
            let Some(used) = progress.get(name) else { continue };
            let most = progress.get(format!("most_{name}")).and_then(Value::as_u64);
            let most = most.map(|most| format!(" of {most}")).unwrap_or_default();
            writeln!(out, "  {name:<12} {used}{most}")?;
        }
        Ok(Exit::Done)
    }
}

impl Stop {
    fn run(self) -> Result<Exit> {
        if !self.all {
            return each(&self.server, &self.ids, path::SESSION_STOP, "stopped");
        }
        let client = self.server.open()?;
        let stopped = block_on(async { Ok(client.call(path::SESSIONS_STOP).await?) })?;
        let stopped = stopped.get("stopped").and_then(Value::as_u64).unwrap_or_default();
        writeln!(io::stdout(), "stopped: {stopped}")?;
        Ok(Exit::Done)
    }
}

fn each(server: &Server, ids: &[String], path: &str, done: &str) -> Result<Exit> {
    let client = server.open()?;
    block_on(async {
        for id in ids {
            client.call(&path::of(path, &[id])).await?;
            writeln!(io::stdout(), "{}: {done}", one_line(id))?;
        }
        Ok(Exit::Done)
    })
}
