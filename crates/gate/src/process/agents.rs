//! The known agents of this machine, and the processes that belong to them.
//!
//! An agent is known by a registration in the data folder, which every hook and proxy of ours
//! leaves for the host that started it, or by a session that names it. A process belongs to an
//! agent if
//!
//! - the agent is one of its ancestors, or
//! - it was left behind: an ancestor was adopted as an orphan, started after the agent, and has the
//!   agent's control group and login session, or is in a session that the agent or one of its
//!   descendants leads.
//!
//! The second rule also holds for agents that have ended, for [`REMEMBERED_FOR`]. In doubt a
//! process counts as an agent's: if agents are known and the operating system does not tell, no
//! process is taken for a person.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::process::{InheritedTraits, MOST_GENERATIONS, Pid, Process, Processes};

/// The folder of registrations, in the data folder.
pub const FOLDER: &str = "agents";
/// The time for which an ended agent is remembered, because processes it left behind may still run.
pub const REMEMBERED_FOR: Duration = Duration::from_hours(24);
/// The most registrations, more than a machine has agents. With more, every process is in doubt.
const MOST_REGISTRATIONS: usize = 10_000;
/// The most bytes of a registration.
const MOST_BYTES: u64 = 64 << 10;

/// The relation of a process to the known agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ancestry {
    /// It belongs to none.
    Outside,
    /// It belongs to these, the nearest first.
    Within(Vec<Process>),
    /// Agents are known, and the operating system does not tell if it belongs to one.
    Unknown,
}

/// The agents that are known.
#[derive(Debug, Default)]
pub struct Agents {
    folder: Option<PathBuf>,
    known: Mutex<BTreeMap<Process, Known>>,
}

#[derive(Debug, Clone, Default)]
struct Known {
    /// The attributes that its descendants inherit, if the operating system has told.
    traits: Option<InheritedTraits>,
    /// The time at which it was first seen to have ended.
    ended: Option<Timestamp>,
}

/// A process, and its parent or the process that adopted it.
type Generation = (Process, Pid);

/// Registers an agent in a data folder, once. An existing registration stays unchanged.
///
/// # Errors
/// The registration cannot be written.
pub fn register(data: &Path, agent: Process, processes: &dyn Processes) -> io::Result<()> {
    let folder = data.join(FOLDER);
    let path = folder.join(file_name(&agent));
    if fs::symlink_metadata(&path).is_ok() {
        return Ok(());
    }
    let text = serde_json::to_vec(&processes.traits(agent.pid))?;
    make_private(&folder)?;
    create(&path)?.write_all(&text)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn file_name(agent: &Process) -> String {
    format!("{}-{}", agent.pid, agent.started)
}

fn registered(name: &str) -> Option<Process> {
    let (pid, started) = name.split_once('-')?;
    let agent = Process { pid: pid.parse().ok()?, started: started.parse().ok()? };
    // Process 1 is an ancestor of every process: nobody could answer.
    (agent.pid > 1 && file_name(&agent) == name).then_some(agent)
}

impl Agents {
    /// The agents that are registered in a data folder.
    #[must_use]
    pub fn registered_in(data: &Path) -> Self {
        Self { folder: Some(data.join(FOLDER)), known: Mutex::default() }
    }

    /// Looks for registrations in a data folder as well.
    pub(crate) fn look_in(&mut self, data: &Path) {
        self.folder = Some(data.join(FOLDER));
    }

    /// Makes an agent known.
    pub fn note(&self, agent: Process, processes: &dyn Processes) {
        self.note_with(agent, None, processes);
    }

    fn note_with(
        &self,
        agent: Process,
        written: Option<InheritedTraits>,
        processes: &dyn Processes,
    ) {
        // The server's own view takes precedence over a written one: a container sees other control
        // groups.
        let own = agent.is_alive(processes).then(|| processes.traits(agent.pid)).flatten();
        let traits = own.or(written);
        let mut known = self.known();
        let entry = known.entry(agent).or_default();
        if entry.traits.is_none() {
            entry.traits = traits;
        }
    }

    /// Determines the relation of a process to the agents.
    #[must_use]
    pub fn standing(&self, pid: Pid, started: Option<u64>, processes: &dyn Processes) -> Ancestry {
        if self.read_registrations(processes).is_err() {
            return Ancestry::Unknown;
        }
        let known = self.known().clone();
        if known.is_empty() {
            return Ancestry::Outside;
        }
        let Some(line) = line_of(pid, processes) else { return Ancestry::Unknown };
        // Its id may have been given to another process since it connected.
        let same = line.first().is_some_and(|(process, _)| Some(process.started) == started);
        if !same {
            return Ancestry::Unknown;
        }
        match belongs_to(&line, &known, processes) {
            None => Ancestry::Unknown,
            Some(agents) if agents.is_empty() => Ancestry::Outside,
            Some(agents) => Ancestry::Within(agents),
        }
    }

    /// Notes the agents that have ended, and forgets those that ended long ago.
    pub(crate) fn sweep(&self, now: Timestamp, processes: &dyn Processes) {
        // Registrations that cannot be read now are read with the next sweep; until then no process
        // is taken for a person.
        let _ = self.read_registrations(processes);
        let mut gone = Vec::new();
        self.known().retain(|agent, known| {
            if agent.is_alive(processes) {
                return true;
            }
            let ended = *known.ended.get_or_insert(now);
            let keep = now < ended.after(REMEMBERED_FOR) && is_of_this_boot(agent, processes);
            if !keep {
                gone.push(*agent);
            }
            keep
        });
        if let Some(folder) = &self.folder {
            for agent in gone {
                // A file that stays is only read again.
                let _ = fs::remove_file(folder.join(file_name(&agent)));
            }
        }
    }

    fn read_registrations(&self, processes: &dyn Processes) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for (number, entry) in entries.enumerate() {
            if number >= MOST_REGISTRATIONS {
                return Err(io::Error::other("too many agents are registered"));
            }
            let entry = entry?;
            let name = entry.file_name();
            let Some(agent) = name.to_str().and_then(registered) else { continue };
            if !self.known().contains_key(&agent) {
                self.note_with(agent, read_marks(&entry.path()), processes);
            }
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Process, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_marks(path: &Path) -> Option<InheritedTraits> {
    use std::io::Read as _;
    let mut text = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()?
}

/// Reports whether an agent ran since the machine booted. A start value of another boot cannot be
/// compared.
fn is_of_this_boot(agent: &Process, processes: &dyn Processes) -> bool {
    let own = processes.started(std::process::id());
    own.is_none_or(|own| super::is_same_boot(own, agent.started))
}

/// A process and its ancestors, up to the first; `None` if the operating system does not tell or
/// there are more than any honest tree has.
fn line_of(pid: Pid, processes: &dyn Processes) -> Option<Vec<Generation>> {
    let mut line = Vec::new();
    let mut current = pid;
    while line.len() < MOST_GENERATIONS {
        let parent = processes.parent(current)?;
        line.push((Process::of(current, processes)?, parent));
        if parent == 0 {
            return Some(line);
        }
        current = parent;
    }
    None
}

/// The agents to which a line of processes belongs, the nearest first; `None` if the operating
/// system does not tell.
fn belongs_to(
    line: &[Generation],
    known: &BTreeMap<Process, Known>,
    processes: &dyn Processes,
) -> Option<Vec<Process>> {
    let mut agents: Vec<Process> = Vec::new();
    for (process, parent) in line {
        if known.contains_key(process) {
            agents.push(*process);
        }
        if processes.adopts(*parent) {
            let traits = processes.traits(process.pid)?;
            let left_by = known.iter().filter(|(agent, known)| {
                may_have_left(agent, known, process, &traits, processes) && !agents.contains(agent)
            });
            let left_by: Vec<Process> = left_by.map(|(agent, _)| *agent).collect();
            agents.extend(left_by);
        }
    }
    Some(agents)
}

/// Reports whether a process that was adopted by a reaper may have been an agent's.
fn may_have_left(
    agent: &Process,
    known: &Known,
    orphan: &Process,
    traits: &InheritedTraits,
    processes: &dyn Processes,
) -> bool {
    if orphan.started <= agent.started || !super::is_same_boot(orphan.started, agent.started) {
        return false;
    }
    let same_place = known.traits.as_ref().is_some_and(|of| of.is_same_place(traits));
    // A process never gets an id that is still the id of a session.
    let leads = traits.session == agent.pid;
    same_place || leads || leader_descends(agent, orphan.pid, traits.session, processes)
}

fn leader_descends(agent: &Process, pid: Pid, leader: Pid, processes: &dyn Processes) -> bool {
    let line = (leader != pid).then(|| line_of(leader, processes)).flatten();
    line.is_some_and(|line| line.iter().any(|(process, _)| process == agent))
}

#[cfg(test)]
mod tests;
