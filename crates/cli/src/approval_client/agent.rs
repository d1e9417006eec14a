//! The process of the agent for which a hook or proxy acts: nothing that it starts counts as a
//! person.

use std::path::Path;

use countersign_gate::process::{Process, Processes, System, agents};

/// Shells by which hosts start hooks.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "fish", "ash", "ksh", "busybox"];

/// The number of shells between a hook and its host that are looked through: the host's own, the one
/// that `install` puts around the hook, and their subshells.
const MOST_SHELLS: usize = 16;

/// The host's process, if the system reports it: our parent, or the first process that is not a
/// shell for one command.
pub(super) fn process() -> Option<Process> {
    let system = System;
    let host = behind_shells(system.parent(std::process::id())?, system);
    // Process 1 is the ancestor of every process: if it were the agent, nobody could answer.
    Process::of(host, &system).filter(|process| process.pid > 1)
}

fn behind_shells(parent: u32, system: System) -> u32 {
    let mut host = parent;
    for _ in 0..MOST_SHELLS {
        if !(is_shell(host) && runs_a_command(host, system)) {
            break;
        }
        match system.parent(host) {
            Some(next) if next > 1 => host = next,
            Some(_) | None => break,
        }
    }
    host
}

/// The name of an agent's run outside of a session: the same for every hook of one run, and unique
/// across machines.
pub(super) fn run(label: &str) -> String {
    let process = process().map(|process| format!("{} {}", process.pid, process.started));
    let machine = machine_name().unwrap_or_default();
    let label: String = label.chars().take(120).collect();
    format!("{label}\n{}\n{machine}", process.unwrap_or_default())
}

/// The machine's host name.
#[cfg(unix)]
pub(crate) fn machine_name() -> Option<String> {
    let name = rustix::system::uname();
    let name = name.nodename().to_str().ok()?;
    Some(name.chars().take(80).collect())
}

#[cfg(not(unix))]
pub(crate) fn machine_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

/// Tells the server of this data folder which process the agent is, so that nothing which that
/// process starts counts as a person. Only reads the folder once it is done. If the folder cannot
/// be written, no decision changes: the agent is then known from its first question on.
pub(crate) fn register(data: &Path) {
    if let Some(agent) = process().filter(|agent| !is_our_program(agent.pid)) {
        let _ = agents::register(data, agent, &System);
    }
}

/// Reports whether a process runs this very program: a person's `doctor` starts hooks to try them
/// and is not an agent. Under an agent, that agent is known from its own hooks.
fn is_our_program(pid: u32) -> bool {
    let program = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    program("self").is_some_and(|own| program(&pid.to_string()) == Some(own))
}

/// Reports whether a process is a shell, by its name or, for a script, by its program.
fn is_shell(pid: u32) -> bool {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let program = program.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    has_shell_name(pid) || SHELLS.contains(&program)
}

fn has_shell_name(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    SHELLS.contains(&name.trim_end())
}

/// Reports whether a shell was started for one command or script. An interactive shell was not
/// started by a host but by the user's terminal.
fn runs_a_command(pid: u32, system: System) -> bool {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let leads = system.traits(pid).is_some_and(|traits| traits.session == pid);
    // A script that is started by its own path, as Cline's hook is, has its own name.
    !has_shell_name(pid) || is_command(&words, leads)
}

fn is_command(words: &[u8], leads_its_session: bool) -> bool {
    let mut words = words.split(|byte| *byte == 0).skip(1).filter(|word| !word.is_empty());
    words.any(|word| match word {
        [b'-', b'-', ..] => false,
        [b'-', letters @ ..] => letters.contains(&b'c'),
        _ => !leads_its_session,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_for_one_command_is_told_from_one_that_a_person_types_into() {
        for (words, leads, command) in [
            ("sh\0-c\0countersign hook gemini\0", false, true),
            ("bash\0-lc\0countersign hook codex\0", true, true),
            ("sh\0/home/user/hook.sh\0", false, true),
            ("-bash\0", true, false),
            ("bash\0", false, false),
            ("zsh\0-i\0-l\0", true, false),
            ("bash\0--init-file\0/opt/init.sh\0", true, false),
            ("", false, false),
        ] {
            assert_eq!(is_command(words.as_bytes(), leads), command, "{words:?}");
        }
    }

    /// With `MEASURE=1` it also measures the time that a hook spends on it.
    #[test]
    fn registering_again_writes_nothing() {
        let folder = std::env::temp_dir().join(format!("countersign-agent-{}", std::process::id()));
        register(&folder);
        let inside = folder.join(agents::FOLDER);
        let written = || std::fs::read_dir(&inside).map_or(0, Iterator::count);
        assert!(written() <= 1);
        let before = written();
        let began = std::time::Instant::now();
        for _ in 0..1_000 {
            register(&folder);
        }
        if std::env::var_os("MEASURE").is_some() {
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("registering again: {:?}\n", began.elapsed() / 1_000),
            );
        }
        assert_eq!(written(), before);
        let _ = std::fs::remove_dir_all(&folder);
    }
}
