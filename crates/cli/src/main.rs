//! The `countersign` binary, with which a person judges, explains and runs actions.
//!
//! No decision is made here: commands collect facts, pass them to `countersign_core::judge`, and
//! print or follow the judgement. Every failure on the way refuses: a panic exits like a block, an
//! error like bad input.
//!
//! Exit codes: 0 allowed (or done), 3 confirm, 4 block, 2 bad usage, input or configuration, 1 a
//! failed test or a refusal by a server.

use std::panic;
use std::process::ExitCode;

mod approval_client;
mod ask;
mod batch;
mod beneath;
mod card;
mod change;
mod client;
mod command;
mod compiler;
mod connection;
mod context_options;
mod data;
mod diff;
mod exit;
mod explanation;
mod facts;
mod failure;
mod git;
mod home;
mod hook;
mod hook_options;
mod host;
mod input;
mod judging;
mod layer;
mod listing;
#[cfg(unix)]
mod live;
mod made;
mod mcp;
mod mcp_options;
mod moment;
mod program;
mod quote;
mod served_policy;
mod serving;
mod settings;
mod show;
mod sse;
mod table;

use command::Cli;
use exit::Exit;

fn main() -> ExitCode {
    // First of all: the process that supervises a command has one thread and no other use.
    if countersign_worker::supervise_if_asked() {
        return ExitCode::SUCCESS;
    }
    panic::set_hook(Box::new(judging::report_panic));
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(code) = hook::named(&words) {
        return ExitCode::from(code);
    }
    match panic::catch_unwind(|| Cli::read().run()) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(error)) => failure::report(&error).into(),
        // Every panic is a refusal.
        Err(_) => Exit::Block.into(),
    }
}
