//! The process tree, so that an agent cannot answer from its own processes.
//!
//! A [`Process`] is a process id and a start time: ids are reused, the pair is not. If the
//! operating system does not tell, the result is [`Descent::Unknown`], and other rules (an agent's
//! credential never answers) must suffice.
//!
//! A process whose parents have ended belongs to the system's first process or to another that
//! adopts orphans. It keeps its [`InheritedTraits`], by which [`agents`] finds its agent.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

pub mod agents;

/// A process id.
pub type Pid = u32;

/// A user id of the operating system.
pub type Uid = u32;

/// A source of facts about processes.
pub trait Processes: Send + Sync + fmt::Debug {
    /// The parent process, or the process that adopted it; `None` if the process does not exist or
    /// the parent is unknown.
    fn parent(&self, pid: Pid) -> Option<Pid>;

    /// A value for the start time: constant while the process lives, different for the next process
    /// with the same id.
    fn started(&self, pid: Pid) -> Option<u64>;

    /// The user it runs as.
    fn owner(&self, pid: Pid) -> Option<Uid>;

    /// The attributes that its descendants inherit, and keep when it ends.
    fn traits(&self, pid: Pid) -> Option<InheritedTraits>;

    /// Reports whether it adopts processes whose parents have ended.
    fn adopts(&self, pid: Pid) -> bool;
}

/// Attributes that a process inherits and keeps when its parent changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InheritedTraits {
    /// Its control groups.
    pub cgroup: String,
    /// The leader of its session.
    pub session: Pid,
    /// The login session it belongs to, by the audit system's number.
    pub login: u32,
}

impl InheritedTraits {
    /// Reports whether both are in the same control groups and the same login session.
    #[must_use]
    pub fn is_same_place(&self, other: &Self) -> bool {
        self.cgroup == other.cgroup && self.login == other.login
    }
}

/// One process, for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    /// The mark of when it began.
    pub started: u64,
}

/// The relation of a process to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Descent {
    /// It is that process, or a descendant of it.
    Within,
    /// It is neither.
    Outside,
    /// The operating system does not tell.
    Unknown,
}

/// The most generations that are followed, more than any honest tree has. A process that is nested
/// deeper to hide is [`Descent::Within`].
const MOST_GENERATIONS: usize = 1_024;

impl Process {
    /// The process that has this id now.
    #[must_use]
    pub fn of(pid: Pid, processes: &dyn Processes) -> Option<Self> {
        processes.started(pid).map(|started| Self { pid, started })
    }

    /// Reports whether it still runs.
    #[must_use]
    pub fn is_alive(&self, processes: &dyn Processes) -> bool {
        processes.started(self.pid) == Some(self.started)
    }
}

/// Determines if a process descends from another, or is that one itself.
#[must_use]
pub fn descends_from(pid: Pid, ancestor: &Process, processes: &dyn Processes) -> Descent {
    let mut current = pid;
    for _ in 0..MOST_GENERATIONS {
        // The id alone is not enough: it may have been given to another process since.
        if current == ancestor.pid && ancestor.is_alive(processes) {
            return Descent::Within;
        }
        match processes.parent(current) {
            Some(0) => return Descent::Outside,
            Some(parent) => current = parent,
            None => return Descent::Unknown,
        }
    }
    Descent::Within
}

/// The operating system's own facts: all of them on Linux, none elsewhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

#[cfg(target_os = "linux")]
impl Processes for System {
    fn parent(&self, pid: Pid) -> Option<Pid> {
        Stat::parse(&read(pid, "stat")?).map(|stat| stat.parent)
    }

    fn started(&self, pid: Pid) -> Option<u64> {
        let ticks = Stat::parse(&read(pid, "stat")?)?.started;
        Some(mark(ticks, boot_id()))
    }

    /// Read from `status`, because the owner of `/proc/PID` is root for a process that cannot be
    /// dumped, such as our own.
    fn owner(&self, pid: Pid) -> Option<Uid> {
        owner_in(&read(pid, "status")?)
    }

    fn traits(&self, pid: Pid) -> Option<InheritedTraits> {
        let cgroup = String::from_utf8_lossy(&read(pid, "cgroup")?).into_owned();
        let session = Stat::parse(&read(pid, "stat")?)?.session;
        // A kernel without audit has no such file.
        let login = read(pid, "sessionid")
            .and_then(|id| std::str::from_utf8(&id).ok()?.trim().parse().ok());
        Some(InheritedTraits { cgroup, session, login: login.unwrap_or(u32::MAX) })
    }

    fn adopts(&self, pid: Pid) -> bool {
        let name = || read(pid, "comm").unwrap_or_default();
        let is_reaper = |name: &[u8]| REAPERS.iter().any(|reaper| reaper.as_bytes() == name);
        // The first process of a container has id 1 in its own namespace.
        let is_first = || read(pid, "status").is_some_and(|status| is_first_in_its_own(&status));
        pid == 1 || is_reaper(name().trim_ascii_end()) || is_first()
    }
}

/// Programs that adopt orphans although they are not process 1.
#[cfg(target_os = "linux")]
const REAPERS: &[&str] = &[
    "systemd",
    "init",
    "upstart",
    "tini",
    "docker-init",
    "dumb-init",
    "catatonit",
    "conmon",
    "containerd-shim",
    "runsvdir",
    "s6-svscan",
    "openrc-init",
];

#[cfg(target_os = "linux")]
fn boot_id() -> Option<&'static [u8]> {
    static BOOT: std::sync::OnceLock<Option<Vec<u8>>> = std::sync::OnceLock::new();
    BOOT.get_or_init(|| std::fs::read("/proc/sys/kernel/random/boot_id").ok()).as_deref()
}

#[cfg(not(target_os = "linux"))]
impl Processes for System {
    fn parent(&self, _: Pid) -> Option<Pid> {
        None
    }

    fn started(&self, _: Pid) -> Option<u64> {
        None
    }

    fn owner(&self, _: Pid) -> Option<Uid> {
        None
    }

    fn traits(&self, _: Pid) -> Option<InheritedTraits> {
        None
    }

    fn adopts(&self, _: Pid) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
fn read(pid: Pid, file: &str) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/{file}")).ok()
}

/// The fields that we read of `/proc/PID/stat`.
#[cfg(any(target_os = "linux", test))]
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: Pid,
    session: Pid,
    started: u64,
}

#[cfg(any(target_os = "linux", test))]
impl Stat {
    /// Parses `PID (name) state parent …`. The name is the process's own choice and may contain
    /// spaces, parentheses, line breaks and invalid UTF-8, so the last `)` ends it.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(bytes.get(end.checked_add(1)?..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        // The 6th and the 22nd field; `nth` counts from 0 and from where it stopped.
        let session = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(15)?.parse().ok()?;
        Some(Self { parent, session, started })
    }
}

/// The real user in `/proc/PID/status`.
#[cfg(any(target_os = "linux", test))]
fn owner_in(status: &[u8]) -> Option<Uid> {
    // The name is on a line of its own, with its line breaks escaped: it cannot fake another line.
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:"))?;
    std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?.parse().ok()
}

/// Reports whether a process has id 1 in its own namespace: the last number in its line.
#[cfg(any(target_os = "linux", test))]
fn is_first_in_its_own(status: &[u8]) -> bool {
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"NSpid:"));
    let numbers = line.and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default();
    numbers.split_ascii_whitespace().next_back() == Some("1")
}

/// The bits of a start value that count time; the upper bits differ between boots.
const TICKS: u64 = (1 << 40) - 1;

/// Reports whether two start values are of the same boot.
fn is_same_boot(one: u64, other: u64) -> bool {
    one & !TICKS == other & !TICKS
}

/// Combines ticks and boot id. Ticks count from boot, so a value stored before a reboot must not
/// match: the upper bits differ between boots.
#[cfg(any(target_os = "linux", test))]
fn mark(ticks: u64, boot: Option<&[u8]>) -> u64 {
    let boot = boot.unwrap_or_default().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (boot & !TICKS) | (ticks & TICKS)
}

/// A process table for tests.
#[derive(Debug, Default)]
pub struct Fake {
    processes: Mutex<BTreeMap<Pid, FakeProcess>>,
}

#[derive(Debug, Clone)]
struct FakeProcess {
    parent: Pid,
    started: u64,
    owner: Uid,
    traits: InheritedTraits,
}

impl Fake {
    /// Starts a process, instead of the one that had its id.
    pub fn start(&self, process: Process, parent: Pid, owner: Uid) {
        let mut all = self.all();
        let inherited = all.get(&parent).map(|parent| parent.traits.clone());
        let first = || InheritedTraits { cgroup: "/".to_owned(), session: 1, login: u32::MAX };
        let traits = inherited.unwrap_or_else(first);
        let fake = FakeProcess { parent, started: process.started, owner, traits };
        all.insert(process.pid, fake);
    }

    /// Gives a process other marks than it inherited.
    pub fn mark(&self, pid: Pid, traits: InheritedTraits) {
        if let Some(process) = self.all().get_mut(&pid) {
            process.traits = traits;
        }
    }

    /// Ends a process. Its children go to process 1.
    pub fn end(&self, pid: Pid) {
        let mut all = self.all();
        all.remove(&pid);
        for child in all.values_mut().filter(|child| child.parent == pid) {
            child.parent = 1;
        }
    }

    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<Pid, FakeProcess>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, pid: Pid) -> Option<FakeProcess> {
        self.all().get(&pid).cloned()
    }
}

impl Processes for Fake {
    fn parent(&self, pid: Pid) -> Option<Pid> {
        self.find(pid).map(|process| process.parent)
    }

    fn started(&self, pid: Pid) -> Option<u64> {
        self.find(pid).map(|process| process.started)
    }

    fn owner(&self, pid: Pid) -> Option<Uid> {
        self.find(pid).map(|process| process.owner)
    }

    fn traits(&self, pid: Pid) -> Option<InheritedTraits> {
        self.find(pid).map(|process| process.traits)
    }

    fn adopts(&self, pid: Pid) -> bool {
        pid == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine: 1 starts the agent 10, which starts 20, which starts 30; and 1 starts 40.
    fn machine() -> Fake {
        let fake = Fake::default();
        for (pid, parent) in [(1, 0), (10, 1), (20, 10), (30, 20), (40, 1)] {
            fake.start(Process { pid, started: u64::from(pid) * 7 }, parent, 1_000);
        }
        fake
    }

    #[test]
    fn an_agents_tools_are_within_and_others_outside() {
        let machine = machine();
        let agent = Process::of(10, &machine).unwrap();
        for pid in [10, 20, 30] {
            assert_eq!(descends_from(pid, &agent, &machine), Descent::Within, "{pid}");
        }
        for pid in [1, 40] {
            assert_eq!(descends_from(pid, &agent, &machine), Descent::Outside, "{pid}");
        }
        assert_eq!(descends_from(99, &agent, &machine), Descent::Unknown);
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let machine = machine();
        let agent = Process::of(10, &machine).unwrap();
        assert!(agent.is_alive(&machine));
        machine.end(10);
        assert!(!agent.is_alive(&machine));
        machine.start(Process { pid: 10, started: 999 }, 1, 1_000);
        machine.start(Process { pid: 50, started: 1_000 }, 10, 1_000);
        assert!(!agent.is_alive(&machine));
        assert_eq!(descends_from(50, &agent, &machine), Descent::Outside);
    }

    #[test]
    fn nesting_deep_and_running_in_circles_hide_nothing() {
        let machine = machine();
        let agent = Process::of(10, &machine).unwrap();
        for pid in 1_000..5_000 {
            let parent = if pid == 1_000 { 10 } else { pid - 1 };
            machine.start(Process { pid, started: 1 }, parent, 0);
        }
        assert_eq!(descends_from(4_999, &agent, &machine), Descent::Within);
        machine.start(Process { pid: 70, started: 1 }, 71, 0);
        machine.start(Process { pid: 71, started: 1 }, 70, 0);
        assert_eq!(descends_from(70, &agent, &machine), Descent::Within);
    }

    #[test]
    fn a_name_can_hold_anything() {
        let rest = b" S 7 8 9 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 4242 1 1";
        for name in [&b"sh"[..], b"a b", b") S 1 (", b"))) 9 9 9", b"\xff\n)(", b""] {
            let line = [b"55 (", name, b")", rest].concat();
            let stat = Stat::parse(&line);
            assert_eq!(stat, Some(Stat { parent: 7, session: 9, started: 4_242 }), "{name:?}");
        }
        for broken in [&b""[..], b"55", b"55 (x)", b"55 (x) S", b"55 (x) S y", b"55 (x) S -1 2"] {
            assert_eq!(Stat::parse(broken), None);
        }
    }

    #[test]
    fn the_owner_is_the_real_user() {
        let status = b"Name:\tUid: 0\\nUid:\t0\nUmask:\t0022\nUid:\t1000\t0\t0\t0\n";
        assert_eq!(owner_in(status), Some(1_000));
        assert_eq!(owner_in(b"Name:\tx\n"), None);
        assert_eq!(owner_in(b"Uid:\n"), None);
    }

    #[test]
    fn what_was_written_down_before_the_machine_started_again_matches_nothing() {
        assert_ne!(mark(42, Some(b"first")), mark(42, Some(b"second")));
        let later = [0, 1, 2, 42, 43, 1 << 20, (1 << 40) - 1].map(|at| mark(at, Some(b"first")));
        assert!(later.is_sorted_by(|one, next| one < next), "later is more");
        assert_eq!(mark(42, None), mark(42, None));
        let boots: std::collections::BTreeSet<_> =
            (0..=u8::MAX).map(|boot| mark(42, Some(&[boot]))).collect();
        assert_eq!(boots.len(), 256, "each start of the machine has its own");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_mark_is_of_the_start_of_this_machine() {
        let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap();
        let own = System.started(std::process::id()).unwrap();
        assert!(is_same_boot(own, mark(0, Some(&boot))));
        assert!(!is_same_boot(own, mark(0, None)));
    }

    #[test]
    fn the_first_of_a_container_is_1_in_its_own_count() {
        assert!(is_first_in_its_own(b"Name:\tsh\nNSpid:\t4242\t1\nNSsid:\t7\n"));
        for status in [&b"NSpid:\t4242\n"[..], b"NSpid:\t1\t7\n", b"NSpid:\n", b"Pid:\t1\n", b""] {
            assert!(!is_first_in_its_own(status), "{status:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells_as_whom_another_process_runs() {
        use std::os::unix::process::CommandExt as _;
        let own = rustix::process::getuid();
        // Only root may start a process as somebody else.
        let uid = if own.is_root() { 65_534 } else { own.as_raw() };
        let mut child = std::process::Command::new("sleep").arg("60").uid(uid).spawn().unwrap();
        assert_eq!(System.owner(child.id()), Some(uid));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells_about_this_very_process() {
        let pid = std::process::id();
        let own = Process::of(pid, &System).unwrap();
        assert!(own.is_alive(&System));
        assert_eq!(System.parent(pid), Some(std::os::unix::process::parent_id()));
        assert_eq!(System.owner(pid), Some(rustix::process::getuid().as_raw()));
        assert_eq!(descends_from(pid, &own, &System), Descent::Within);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let other = Process::of(child.id(), &System).unwrap();
        assert_eq!(descends_from(child.id(), &own, &System), Descent::Within);
        assert_eq!(descends_from(pid, &other, &System), Descent::Outside);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!other.is_alive(&System));
    }

    #[test]
    fn a_process_reads_back() {
        let process = Process { pid: 7, started: u64::MAX };
        let json = serde_json::to_string(&process).unwrap();
        assert_eq!(serde_json::from_str::<Process>(&json).unwrap(), process);
    }
}
