//! `countersign settings`: a person's own settings at the server.
//!
//! The server's configuration is separate: see `countersign config`.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use countersign_wire::path;
use serde_json::{Value, json};

use crate::client::{Server, block_on};
use crate::exit::Exit;
use crate::listing::{field, print_json};
use crate::show::one_line;

/// See and change your settings on the server
#[derive(Debug, Args)]
pub(crate) struct Settings {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(Show),
    Set(Set),
}

/// Show your settings
#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Change one setting, from the next action on
#[derive(Debug, Args)]
struct Set {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Whether agents act without asking you, except where they always must ask
    Autonomous {
        #[command(flatten)]
        server: Server,
        #[arg(value_enum)]
        is: Switch,
    },
    /// How much is recorded
    Logging {
        #[command(flatten)]
        server: Server,
        #[arg(value_enum)]
        level: Logging,
    },
    /// Whether programs you wrote also ask, not only models
    ConfirmPrograms {
        #[command(flatten)]
        server: Server,
        #[arg(value_enum)]
        is: Switch,
    },
    /// Days until the content of your records is erased
    RetentionDays {
        #[command(flatten)]
        server: Server,
        /// The number of days; 0 for the default for everyone
        #[arg(value_name = "DAYS")]
        days: u32,
    },
    /// Whether a skill asks
    Skill {
        #[command(flatten)]
        server: Server,
        /// The skill, such as `email.send`
        #[arg(value_name = "ID")]
        id: String,
        /// Whether you are asked
        #[arg(long, value_enum, default_value_t = Confirm::Default)]
        confirm: Confirm,
        /// Ask even if the session, autonomous mode or an earlier answer says otherwise
        #[arg(long)]
        always: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Logging {
    /// The kind of action, the time, the key, and the outcome
    Minimal,
    /// Also the exact action, redacted, and why
    Enhanced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Confirm {
    Yes,
    No,
    /// As the app or the skill declares
    Default,
}

/// The notice for a person who turns autonomous mode on.
const AUTONOMOUS: &str = "agents now act without asking you, except where they always must ask; \
     blocked actions stay blocked, and everything is recorded. \
     Off again: countersign settings set autonomous off; stop everything: countersign halt";

impl Settings {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Show(show) => show.run(),
            Command::Set(set) => set.what.run(),
        }
    }
}

impl Show {
    fn run(self) -> Result<Exit> {
        let client = self.server.open()?;
        let settings = block_on(async { Ok(client.get(path::SETTINGS).await?) })?;
        if self.json { print_json(&settings) } else { show(&settings) }
    }
}

impl What {
    fn run(self) -> Result<Exit> {
        let (server, change) = match self {
            Self::Autonomous { server, is } => (server, json!({"autonomous": is == Switch::On})),
            Self::Logging { server, level } => {
                let level = if level == Logging::Enhanced { "enhanced" } else { "minimal" };
                (server, json!({"logging": level}))
            }
            Self::ConfirmPrograms { server, is } => {
                (server, json!({"confirm_programs": is == Switch::On}))
            }
            Self::RetentionDays { server, days } => (server, json!({"retention_days": days})),
            Self::Skill { server, id, confirm, always } => {
                return choose(&server, &id, confirm, always);
            }
        };
        let client = server.open()?;
        let settings = block_on(async { Ok(client.patch(path::SETTINGS, &change).await?) })?;
        if change.get("autonomous").and_then(Value::as_bool) == Some(true) {
            writeln!(io::stderr(), "warning: {AUTONOMOUS}")?;
        }
        show(&settings)
    }
}

fn choose(server: &Server, id: &str, confirm: Confirm, always: bool) -> Result<Exit> {
    let confirm = match confirm {
        Confirm::Yes => Some(true),
        Confirm::No => Some(false),
        Confirm::Default => None,
    };
    let client = server.open()?;
    let settings = block_on(async {
        let body = json!({"confirm": confirm, "always": always});
        client.put(&path::of(path::SKILL, &[id]), &body).await?;
        Ok(client.get(path::SETTINGS).await?)
    })?;
    show(&settings)
}

fn show(settings: &Value) -> Result<Exit> {
    let on = |name: &str| match settings.get(name).and_then(Value::as_bool) {
        Some(true) => "on",
        _ => "off",
    };
    let days = settings.get("retention_days").and_then(Value::as_u64);
    let days = days.map_or_else(|| "as everybody's".to_owned(), |days| days.to_string());
    let mut out = io::stdout().lock();
    writeln!(out, "autonomous        {}", on("autonomous"))?;
    writeln!(out, "logging           {}", one_line(field(settings, "logging")))?;
    writeln!(out, "confirm-programs  {}", on("confirm_programs"))?;
    writeln!(out, "retention-days    {days}")?;
    let choices = settings.get("skills").cloned().unwrap_or_default();
    for kind in ["apps", "skills"] {
        for (id, choice) in choices.get(kind).and_then(Value::as_object).into_iter().flatten() {
            writeln!(out, "{} {}: {}", kind.trim_end_matches('s'), one_line(id), chosen(choice))?;
        }
    }
    Ok(Exit::Done)
}

fn chosen(choice: &Value) -> &'static str {
    let always = choice.get("always").and_then(Value::as_bool).unwrap_or_default();
    match (choice.get("confirm").and_then(Value::as_bool), always) {
        (_, true) => "always asks",
        (Some(true), false) => "asks",
        (Some(false), false) => "does not ask",
        (None, false) => "as declared",
    }
}
