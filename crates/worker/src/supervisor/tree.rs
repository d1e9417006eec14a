//! The processes that a command has started, wherever they have gone.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

/// Makes this process the parent of every process below it that loses its own.
#[cfg(target_os = "linux")]
pub(super) fn adopt() -> io::Result<()> {
    use rustix::process::DumpableBehavior;

    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // A program that runs as another user could not be ended by us.
    rustix::thread::set_no_new_privs(true)?;
    // The command is the same user: it must not reach into this process and its socket.
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Without this call of Linux, a process that leaves its group is not found again.
#[cfg(not(target_os = "linux"))]
pub(super) fn adopt() -> io::Result<()> {
    Ok(())
}

/// Takes the statuses of children that have ended, and reports whether no child is left.
pub(super) fn reap(mut each: impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => each(pid, status),
            Ok(None) => return false,
            Err(Errno::INTR) => {}
            // No child is left.
            Err(_) => return true,
        }
    }
}

/// Kills everything that is left, and reports whether it has all ended in time.
pub(super) fn end_all(child: Pid, until: Instant, mut each: impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        if reap(&mut each) {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        kill(child);
        // What was killed ends at once, unless it waits for a device.
        thread::sleep(Duration::from_millis(1));
    }
}

/// Kills what is left of the session that a supervisor had begun, which was killed.
///
/// INVARIANT: nobody has waited for the supervisor yet, so its number is still its own.
#[cfg(target_os = "linux")]
pub(crate) fn end_session(supervisor: Pid) {
    linux::kill_all(|| linux::of_session(supervisor));
}

/// Without `/proc`, nothing says which session a process belongs to.
#[cfg(not(target_os = "linux"))]
pub(crate) fn end_session(_: Pid) {}

#[cfg(target_os = "linux")]
fn kill(child: Pid) {
    let _ = rustix::process::kill_process_group(child, Signal::KILL);
    linux::kill_all(linux::below_us);
}

#[cfg(not(target_os = "linux"))]
fn kill(child: Pid) {
    let _ = rustix::process::kill_process_group(child, Signal::KILL);
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;

    use rustix::process::{Pid, PidfdFlags, Signal};

    /// The most rounds in which processes are stopped before they are killed.
    const MOST_ROUNDS: usize = 100;

    /// A process, by its id and the time it was started at: an id alone can be given to another.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) struct Process {
        id: i32,
        parent: i32,
        session: i32,
        since: u64,
    }

    impl Process {
        /// Sends a signal to exactly this process.
        pub(super) fn signal(self, signal: Signal) {
            let Some(pid) = Pid::from_raw(self.id) else { return };
            let Ok(held) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return };
            // While it is held, its id belongs to it: what is read now is about the held process.
            if read(self.id).is_some_and(|now| now.since == self.since) {
                let _ = rustix::process::pidfd_send_signal(held, signal);
            }
        }
    }

    /// Stops every process first, so that none can start another while they are killed one by one.
    pub(super) fn kill_all(found: impl Fn() -> Vec<Process>) {
        let mut stopped = BTreeSet::new();
        for _ in 0..MOST_ROUNDS {
            let new: Vec<_> =
                found().into_iter().filter(|process| stopped.insert(*process)).collect();
            if new.is_empty() {
                break;
            }
            for process in new {
                process.signal(Signal::STOP);
            }
        }
        for process in stopped {
            process.signal(Signal::KILL);
        }
    }

    /// Every process of a session that has not ended, but for the one that began it.
    pub(super) fn of_session(leader: Pid) -> Vec<Process> {
        let leader = leader.as_raw_nonzero().get();
        all().filter(|process| process.session == leader && process.id != leader).collect()
    }

    /// Every process below this one that has not ended.
    pub(super) fn below_us() -> Vec<Process> {
        let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
        for process in all() {
            children.entry(process.parent).or_default().push(process);
        }
        let mut found = BTreeSet::new();
        let mut from = vec![rustix::process::getpid().as_raw_nonzero().get()];
        while let Some(parent) = from.pop() {
            for process in children.remove(&parent).unwrap_or_default() {
                from.push(process.id);
                found.insert(process);
            }
        }
        found.into_iter().collect()
    }

    fn all() -> impl Iterator<Item = Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(read)
    }

    fn read(id: i32) -> Option<Process> {
        parse(id, &fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    /// Reads `/proc/…/stat`; a process that has ended and waits for its parent is left out.
    fn parse(id: i32, stat: &str) -> Option<Process> {
        // The name of the program is in brackets and may contain brackets itself.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        // The sixth and the 22nd field in all.
        let session = fields.nth(1)?.parse().ok()?;
        let since = fields.nth(15)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Process { id, parent, session, since })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_program_cannot_hide_its_parent_behind_its_name() {
            let stat = "7 (a) S 1 (b) S 42 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
            let process = parse(7, stat).unwrap();
            assert_eq!((process.parent, process.session, process.since), (42, 9, 12345));
            assert_eq!(parse(7, &stat.replace(") S 42", ") Z 42")), None);
        }

        #[test]
        fn our_own_child_is_found() {
            let mut child = std::process::Command::new("cat")
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let id = i32::try_from(child.id()).unwrap();
            assert!(below_us().iter().any(|process| process.id == id));
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}
