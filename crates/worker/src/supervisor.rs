//! The process that starts one command and ends everything that the command has started.
//!
//! It is our own program, started again for each command. Processes that lose their parent become
//! its children (`PR_SET_CHILD_SUBREAPER`), so a command cannot leave it by a double fork or a
//! session of its own. It has one thread until it starts the command, no terminal, and no
//! descriptors but its own.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions};

use crate::order::{Argument, Files, Order, Over, Report};
use crate::program::by_descriptor;

pub(crate) mod tree;

/// The argument by which our program is asked to supervise.
pub(crate) const ARGUMENT: &str = "__countersign-supervise";

/// The time that a command has to end by itself when it is asked to.
const GRACE: Duration = Duration::from_millis(300);

/// The longest time in which everything must have ended when it is killed.
const KILLING: Duration = Duration::from_secs(2);

/// Supervises one command and returns true, where this process was started for that by an executor.
///
/// The program that [`Settings::supervisor`](crate::Settings::supervisor) names calls it first of
/// all, before it has threads or reads its arguments.
#[must_use]
pub fn supervise_if_asked() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != ARGUMENT) || arguments.next().is_some() {
        return false;
    }
    // Without a socket there is nobody to tell.
    if let Ok(socket) = socket() {
        let report =
            supervise(&socket).unwrap_or_else(|error| Report::NotStarted(error.to_string()));
        let _ = report.send(&socket);
    }
    true
}

/// The socket to the executor, which is our standard input.
fn socket() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

fn supervise(socket: &UnixStream) -> io::Result<Report> {
    // What the executor's own process had inherited must not reach the command.
    close_fds::set_fds_cloexec(3, &[]);
    // Without a terminal, nobody can be asked for a password or be typed for.
    rustix::process::setsid()?;
    tree::adopt()?;
    limit()?;
    let (order, files) = Order::receive(socket)?;
    let (events, happened) = mpsc::channel();
    let child = start(&order, files)?;
    Report::Started(child.as_raw_nonzero().get()).send(socket)?;
    watch(child, events.clone());
    listen(socket, events)?;
    Ok(Report::Over(oversee(child, &happened)))
}

/// Limits of this process, which the command inherits.
fn limit() -> io::Result<()> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    // A core file would be written into the workspace, with everything that was in memory.
    Ok(rustix::process::setrlimit(Resource::Core, none)?)
}

/// Starts the command: by the opened program, in the opened folder.
fn start(order: &Order, files: Files) -> io::Result<Pid> {
    if let Some(script) = &files.script {
        // The one descriptor that the command inherits: the sealed copy of its script.
        rustix::io::fcntl_setfd(script, rustix::io::FdFlags::empty())?;
    }
    let script = files.script.as_ref().map(|file| format!("/proc/self/fd/{}", file.as_raw_fd()));
    let mut command = Command::new(by_descriptor(&files.program, Path::new(&order.path)));
    command.arg0(&order.argv0).env_clear().envs(order.environment.iter().cloned());
    for argument in &order.arguments {
        match argument {
            Argument::Word(word) => command.arg(word),
            Argument::Script => command.arg(script.as_deref().ok_or(io::ErrorKind::InvalidData)?),
        };
    }
    command.current_dir(by_descriptor(&files.folder, Path::new(&order.folder)));
    command.stdin(files.input.map_or_else(Stdio::null, Stdio::from)).process_group(0);
    let child = command.spawn()?;
    Pid::from_raw(i32::try_from(child.id()).unwrap_or_default())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

enum Event {
    /// The command itself has ended.
    Ended,
    /// Everything must end.
    Stop,
}

/// Notes on a thread of its own that the command has ended, and leaves its status where it is.
fn watch(child: Pid, events: Sender<Event>) {
    thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while rustix::process::waitid(WaitId::Pid(child), options)
            .is_err_and(|error| error == rustix::io::Errno::INTR)
        {}
        let _ = events.send(Event::Ended);
    });
}

/// Notes on a thread of its own that the executor wants an end, or is gone.
fn listen(socket: &UnixStream, events: Sender<Event>) -> io::Result<()> {
    let mut socket = socket.try_clone()?;
    thread::spawn(move || {
        let mut byte = [0];
        while socket.read(&mut byte).is_err_and(|error| error.kind() == io::ErrorKind::Interrupted)
        {
        }
        let _ = events.send(Event::Stop);
    });
    Ok(())
}

/// Waits for the end of the command, or ends it, and then ends everything that is left of it.
fn oversee(child: Pid, happened: &Receiver<Event>) -> Over {
    let mut over = Over::default();
    if let Event::Stop = wait(child, happened, &mut over) {
        ask_to_end(child);
        // It may clean up, for a moment.
        let until = Instant::now() + GRACE;
        while !tree::reap(|pid, status| note(&mut over, child, pid, status))
            && Instant::now() < until
        {
            thread::sleep(Duration::from_millis(2));
        }
    }
    // What has ended by itself was not left behind.
    tree::reap(|pid, status| note(&mut over, child, pid, status));
    let until = Instant::now() + KILLING;
    let mut left_behind = 0_u32;
    let ended = tree::end_all(child, until, |pid, status| {
        left_behind = left_behind.saturating_add(u32::from(pid != child));
        note(&mut over, child, pid, status);
    });
    over.left_behind = left_behind;
    over.some_remain = !ended;
    over
}

/// Waits for the next event. Meanwhile, takes the statuses of what has lost its parent and ended.
fn wait(child: Pid, happened: &Receiver<Event>, over: &mut Over) -> Event {
    loop {
        match happened.recv_timeout(Duration::from_secs(1)) {
            Ok(event) => return event,
            Err(RecvTimeoutError::Disconnected) => return Event::Stop,
            Err(RecvTimeoutError::Timeout) => {
                tree::reap(|pid, status| note(over, child, pid, status));
            }
        }
    }
}

/// Asks the command, and what is still in its process group, to end by itself.
fn ask_to_end(child: Pid) {
    let _ = rustix::process::kill_process_group(child, Signal::TERM);
    // A stopped process ends only when it goes on.
    let _ = rustix::process::kill_process_group(child, Signal::CONT);
}

fn note(over: &mut Over, child: Pid, pid: Pid, status: rustix::process::WaitStatus) {
    if pid == child {
        over.code = status.exit_status();
        over.signal = status.terminating_signal();
    }
}
