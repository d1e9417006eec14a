//! The processes of a trial: the waiting hook, and processes that a host leaves running.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// A process and its arguments.
struct Running {
    pid: Pid,
    words: Vec<String>,
}

/// The running hooks of this program.
pub(super) fn hooks(program: &Path) -> Vec<Pid> {
    let program = program.to_string_lossy();
    let is_hook = |words: &[String]| matches!(words, [first, second, ..] if *first == program && second == "hook");
    running().into_iter().filter(|found| is_hook(&found.words)).map(|found| found.pid).collect()
}

/// Sends a signal to each process; one that has ended meanwhile is ignored.
pub(super) fn signal(pids: &[Pid], signal: Signal) {
    for pid in pids {
        let _ = kill_process(*pid, signal);
    }
}

/// Kills a host with everything that it has started: its process group, and processes that have
/// left the group but still have the home folder of this trial.
pub(super) fn end(group: u32, home: &Path) {
    let group = i32::try_from(group).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    signal(&at_home(home), Signal::KILL);
}

#[cfg(target_os = "linux")]
fn running() -> Vec<Running> {
    let words = |pid: Pid| {
        let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into());
        Some(Running { pid, words: words.collect() })
    };
    pids().into_iter().filter_map(words).collect()
}

#[cfg(target_os = "linux")]
fn pids() -> Vec<Pid> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let names = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.filter_map(Pid::from_raw).collect()
}

#[cfg(target_os = "linux")]
fn at_home(home: &Path) -> Vec<Pid> {
    let wanted = format!("HOME={}", home.display());
    let is_ours = |pid: &Pid| {
        let variables = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
        let variables = variables.unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    pids().into_iter().filter(is_ours).collect()
}

#[cfg(not(target_os = "linux"))]
fn running() -> Vec<Running> {
    let listed = std::process::Command::new("ps").args(["-A", "-o", "pid=,args="]).output();
    let Ok(listed) = listed else { return Vec::new() };
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let pid = words.next()?.parse().ok().and_then(Pid::from_raw)?;
        Some(Running { pid, words: words.map(str::to_owned).collect() })
    };
    text.lines().filter_map(line).collect()
}

/// Other systems do not expose a process's environment, so only its group is killed.
#[cfg(not(target_os = "linux"))]
fn at_home(_: &Path) -> Vec<Pid> {
    Vec::new()
}
