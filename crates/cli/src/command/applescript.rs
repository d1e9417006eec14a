//! `countersign applescript`: scripts for the Mac, checked, built and explained.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, Subcommand};
use countersign_core::applescript::{self, SafetyAnalysis};
use countersign_core::{Action, Context};

use crate::context_options::ContextOptions;
use crate::exit::Exit;
use crate::input::read_stdin;
use crate::show::{self, Paint, one_line, visible};
use crate::{compiler, judging, settings};

/// Check, build and explain scripts for the Mac
///
/// Works on every system. Nothing here runs a script.
#[derive(Debug, Args)]
pub(crate) struct Applescript {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge a script: how safe it is, and whether a person must agree
    ///
    /// Uses the profile `applescript` unless another is named. The exit codes are those of `check`.
    Check(Script),
    /// Say whether a script is well-formed
    ///
    /// Uses `osacompile` where the system has it, and otherwise checks the structure only: strings, comments,
    /// brackets, blocks and continued lines. Exits with 1 when it is not.
    Validate(Script),
    /// Print a script built from parts, with every value quoted
    #[command(subcommand)]
    Build(Build),
    /// Explain an AppleScript error and how to fix it
    ExplainError(Error),
}

#[derive(Debug, Args)]
struct Script {
    /// The script; `-` reads it from standard input
    #[arg(value_name = "SCRIPT")]
    source: String,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    context: ContextOptions,
}

#[derive(Debug, Args)]
struct Error {
    /// The error's text or number; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Build {
    /// Commands for an app
    Tell {
        /// The app's name
        app: String,
        /// Each command, as AppleScript
        #[arg(required = true)]
        commands: Vec<String>,
    },
    /// Brings an app to the front
    Activate {
        /// The app's name
        app: String,
    },
    /// Shows a dialog
    Dialog {
        /// The message
        message: String,
        /// The title
        #[arg(long)]
        title: Option<String>,
        /// A button; may be given more than once
        #[arg(long = "button", value_name = "TEXT")]
        buttons: Vec<String>,
    },
    /// Shows a notification
    Notification {
        /// The message
        message: String,
        /// The title
        #[arg(long)]
        title: Option<String>,
        /// The subtitle
        #[arg(long)]
        subtitle: Option<String>,
    },
    /// Asks which app is in front
    FrontmostApp,
    /// Asks which apps are running
    RunningApps,
}

impl Applescript {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Check(script) => script.check(),
            Command::Validate(script) => script.validate(),
            Command::Build(build) => build.run(),
            Command::ExplainError(error) => error.explain(),
        }
    }
}

impl Script {
    fn read(&self) -> Result<(String, Context)> {
        let script = given(&self.source)?;
        let mut context = self.context.context()?;
        context.profile.get_or_insert_with(|| "applescript".to_owned());
        Ok((script, context))
    }

    fn check(&self) -> Result<Exit> {
        let (script, mut context) = self.read()?;
        let policy = settings::policy(&context)?;
        let action = Action::Applescript { script };
        let judgement = judging::judge_with_facts(&action, &policy, &mut context)?;
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &SafetyAnalysis::from(&judgement))?;
            writeln!(out)?;
        } else {
            let paint = Paint::on(&out);
            show::judgement(&mut out, &judgement, paint)?;
        }
        Ok(judgement.verdict.into())
    }

    fn validate(&self) -> Result<Exit> {
        let (script, mut context) = self.read()?;
        let policy = settings::policy(&context)?;
        let mut validation = applescript::validate(&script, &context);
        if let Some(errors) = compiler::errors(&script)? {
            validation.valid = errors.is_empty();
            validation.structural_only = false;
            validation.errors = errors;
        }
        let action = Action::Applescript { script };
        let judgement = judging::judge_with_facts(&action, &policy, &mut context)?;
        validation.safety_analysis = SafetyAnalysis::from(&judgement);
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &validation)?;
            writeln!(out)?;
        } else {
            let how =
                if validation.structural_only { "by its structure only" } else { "by osacompile" };
            let word = if validation.valid { "valid" } else { "not valid" };
            writeln!(out, "{word}, {how}")?;
            for error in &validation.errors {
                writeln!(out, "  {}", one_line(error))?;
            }
            writeln!(out, "risk if it runs: {}", validation.safety_analysis.risk.as_str())?;
            for warning in &validation.safety_analysis.warnings {
                writeln!(out, "  {}", one_line(warning))?;
            }
        }
        Ok(if validation.valid { Exit::Done } else { Exit::Failed })
    }
}

impl Build {
    fn run(self) -> Result<Exit> {
        let script = match self {
            Self::Tell { app, commands } => applescript::tell(&app, &commands)?,
            Self::Activate { app } => applescript::activate(&app),
            Self::Dialog { message, title, buttons } => {
                applescript::Dialog { message, title, buttons }.script()
            }
            Self::Notification { message, title, subtitle } => {
                applescript::Notification { message, title, subtitle }.script()
            }
            Self::FrontmostApp => applescript::frontmost_app(),
            Self::RunningApps => applescript::running_apps(),
        };
        writeln!(io::stdout(), "{script}")?;
        Ok(Exit::Done)
    }
}

impl Error {
    fn explain(&self) -> Result<Exit> {
        let explained = applescript::explain(given(&self.text)?.trim_end());
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &explained)?;
            writeln!(out)?;
        } else {
            writeln!(out, "{}", visible(&explained.to_string()))?;
        }
        Ok(Exit::Done)
    }
}

fn given(text: &str) -> Result<String> {
    if text == "-" { read_stdin() } else { Ok(text.to_owned()) }
}
