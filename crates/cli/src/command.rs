//! The subcommands: one file each, one line here.

use anyhow::Result;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::exit::Exit;

mod applescript;
mod approvals;
mod audit;
mod backup;
mod check;
mod completions;
mod config;
mod demo;
mod devices;
mod doctor;
mod explain;
mod halt;
mod hook;
mod install;
mod keys;
mod man;
mod mcp;
mod receipt;
mod redact;
mod rules;
mod run;
mod schema;
mod serve;
mod sessions;
mod settings;
mod shell_ask;
mod shell_init;
mod sign_in;
mod users;
mod watch;
mod worker;
mod wrap;

/// The safety gate between AI agents and the world.
///
/// Judges what an agent proposes to do before it happens: a shell command, a file, some code, a
/// page. The answer is a verdict (allow, warn, confirm or block) with the reason.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, propagate_version = false)]
#[command(arg_required_else_help = true, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The explanation of the exit codes for `--help`.
pub(crate) const EXIT_CODES: &str = "Exit codes:
  0  allow or warn, or done
  3  confirm: a person must say yes first
  4  block: it must not run
  1  a test failed, or a server said no
  2  bad usage, input or configuration; nothing was judged";

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    Check(Box<check::Check>),
    Explain(Box<explain::Explain>),
    Run(run::Run),
    Rules(rules::Rules),
    Redact(redact::Redact),
    Applescript(applescript::Applescript),
    Audit(audit::Audit),
    Backup(backup::Backup),
    Restore(backup::Restore),
    Receipt(receipt::Receipt),
    Serve(Box<serve::Serve>),
    Worker(Box<worker::Worker>),
    Demo(demo::Demo),
    Watch(watch::Watch),
    Approvals(Box<approvals::Approvals>),
    Sessions(Box<sessions::Sessions>),
    Keys(Box<keys::Keys>),
    Devices(Box<devices::Devices>),
    Users(Box<users::Users>),
    Settings(Box<settings::Settings>),
    Halt(halt::Halt),
    Hook(hook::Hook),
    Install(install::Install),
    Uninstall(install::Uninstall),
    Doctor(doctor::Doctor),
    Mcp(mcp::Mcp),
    SignIn(sign_in::SignIn),
    ShellInit(shell_init::ShellInit),
    ShellAsk(shell_ask::ShellAsk),
    Config(config::Config),
    Schema(schema::Schema),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Cli {
    /// Parses the command line, or reports the error and ends the process.
    ///
    /// Building every command with its options takes longer than judging one action, so only the
    /// named one is built. Without a name all are built, because their descriptions are printed.
    pub(crate) fn read() -> Self {
        let mut command = Self::command();
        if std::env::args_os().nth(1).is_none_or(|name| command.find_subcommand(name).is_none()) {
            command.build();
        }
        let read = Self::from_arg_matches(&command.get_matches());
        read.unwrap_or_else(|error| error.format(&mut Self::command()).exit())
    }

    /// Runs the command.
    ///
    /// # Errors
    /// Bad input or configuration, or output that cannot be written.
    pub(crate) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Check(check) => check.run(),
            Command::Explain(explain) => explain.run(),
            Command::Run(run) => run.run(),
            Command::Rules(rules) => rules.run(),
            Command::Redact(redact) => redact.run(),
            Command::Applescript(applescript) => applescript.run(),
            Command::Audit(audit) => audit.run(),
            Command::Backup(backup) => backup.run(),
            Command::Restore(restore) => restore.run(),
            Command::Receipt(receipt) => receipt.run(),
            Command::Serve(serve) => serve.run(),
            Command::Worker(worker) => worker.run(),
            Command::Demo(demo) => demo.run(),
            Command::Watch(watch) => watch.run(),
            Command::Approvals(approvals) => approvals.run(),
            Command::Sessions(sessions) => sessions.run(),
            Command::Keys(keys) => keys.run(),
            Command::Devices(devices) => devices.run(),
            Command::Users(users) => users.run(),
            Command::Settings(settings) => settings.run(),
            Command::Halt(halt) => halt.run(),
            Command::Hook(hook) => Ok(hook.run()),
            Command::Install(install) => install.run(),
            Command::Uninstall(uninstall) => uninstall.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Mcp(mcp) => mcp.run(),
            Command::SignIn(sign_in) => sign_in.run(),
            Command::ShellInit(shell_init) => shell_init.run(),
            Command::ShellAsk(shell_ask) => shell_ask.run(),
            Command::Config(config) => config.run(),
            Command::Schema(schema) => schema.run(),
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_every_command_is_sound() {
        Cli::command().debug_assert();
    }
}
