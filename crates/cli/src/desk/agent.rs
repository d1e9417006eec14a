//! The process of the agent that a hook speaks for: nothing it starts may answer its questions.

use countersign_gate::process::{Process, Processes, System};

/// Shells that only start the hook and are gone after it.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "fish", "ash", "ksh", "busybox"];

/// The host's process, where the system tells: who started us, but for the shell in between.
pub(super) fn process() -> Option<Process> {
    let system = System;
    let parent = system.parent(std::process::id())?;
    let host = match name(parent) {
        Some(name) if SHELLS.contains(&name.as_str()) => system.parent(parent).unwrap_or(parent),
        Some(_) | None => parent,
    };
    // Process 1 is everybody's ancestor: nobody could answer.
    Process::of(if host > 1 { host } else { parent }, &system).filter(|process| process.pid > 1)
}

fn name(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}
