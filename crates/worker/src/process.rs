//! A command from its start by a supervisor to its end, as an executor sees it.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use countersign_wire::work::{Ended, Stream, WorkError, WorkLimits, WorkResult};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::executor::Running;
use crate::order::{Argument, Files, Order, Over, Report};
use crate::output::Capture;
use crate::program::Program;
use crate::settings::Supervisor;
use crate::supervisor::{ARGUMENT, tree};

/// The time between two looks at the stop signal and the clock.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The time that a supervisor has to end a command. It needs less: this is for one that hangs.
const ENDING: Duration = Duration::from_secs(4);

/// The time for which output is still read when the command is over, in case somebody else has it.
const DRAINING: Duration = Duration::from_millis(500);

/// A command that is ready to start: everything that is opened is open.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) program: Program,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) folder: OwnedFd,
    /// The path of the folder, where the system cannot enter an opened one.
    pub(crate) folder_path: String,
    /// The text of its standard input.
    pub(crate) input: Option<String>,
    /// The sealed copy of a script.
    pub(crate) script: Option<OwnedFd>,
}

impl Ready {
    /// Runs the command to its end, within its limits.
    pub(crate) fn run(
        self,
        supervisor: &Supervisor,
        limits: WorkLimits,
        running: Running<'_>,
    ) -> WorkResult {
        let begun = Instant::now();
        let started = match self.start(supervisor, limits) {
            Ok(started) => started,
            Err(error) => {
                let message = format!("cannot start a supervisor: {error}");
                return WorkResult::because(Ended::Refused, "NotStarted", message);
            }
        };
        let until = begun + Duration::from_secs(u64::from(limits.seconds));
        let mut result = started.watch(until, running);
        result.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if result.ended == Ended::TimedOut {
            let message = format!("it was ended after {} seconds", limits.seconds);
            result.error = Some(error("TimedOut", message));
        }
        result
    }

    fn start(self, supervisor: &Supervisor, limits: WorkLimits) -> io::Result<Started> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut child = Command::new(&supervisor.0)
            .arg(ARGUMENT)
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let input = match &self.input {
            Some(text) => Some(fed(text.clone())?),
            None => None,
        };
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let mut started = Started {
            child,
            socket: ours,
            output: Reading::new(output, limits),
            errors: Reading::new(errors, limits),
            reports: Vec::new(),
            group: None,
            over: None,
        };
        let (order, files) = self.order(input);
        if let Err(error) = order.send(&started.socket, &files) {
            let _ = started.child.kill();
            let _ = started.child.wait();
            return Err(error);
        }
        Ok(started)
    }

    fn order(self, input: Option<OwnedFd>) -> (Order, Files) {
        let (program, path, argv0, before) = self.program.into_parts();
        let text = |it: std::ffi::OsString| it.to_string_lossy().into_owned();
        let before = before.into_iter().map(|word| Argument::Word(text(word)));
        let order = Order {
            path: path.to_string_lossy().into_owned(),
            argv0: text(argv0),
            arguments: before.chain(self.arguments).collect(),
            environment: self.environment,
            has_input: input.is_some(),
            folder: self.folder_path,
        };
        (order, Files { program, folder: self.folder, input, script: self.script })
    }
}

/// A pipe that a text is written into.
fn fed(text: String) -> io::Result<OwnedFd> {
    let (reader, mut writer) = io::pipe()?;
    // On a thread of its own, because the reader may be slow. It ends when the reader is gone.
    thread::spawn(move || {
        let _ = writer.write_all(text.as_bytes());
    });
    Ok(reader.into())
}

/// A command that runs under its supervisor.
#[derive(Debug)]
struct Started {
    child: Child,
    socket: UnixStream,
    output: Reading<ChildStdout>,
    errors: Reading<ChildStderr>,
    /// Bytes of reports that are not whole yet.
    reports: Vec<u8>,
    /// The command's process group.
    group: Option<Pid>,
    over: Option<Report>,
}

/// The reason for which a command was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Stop,
    Time,
}

impl Started {
    fn watch(mut self, until: Instant, running: Running<'_>) -> WorkResult {
        let mut ending: Option<(Cause, Instant)> = None;
        let mut draining: Option<Instant> = None;
        loop {
            let at_end = self.read(running);
            let now = Instant::now();
            if self.over.is_some() || at_end {
                let since = *draining.get_or_insert(now);
                if self.all_read() || now.duration_since(since) > DRAINING {
                    break;
                }
            }
            match ending {
                Some((_, since)) if now.duration_since(since) > ENDING => break,
                Some(_) => {}
                None => {
                    let cause = if running.stop.is_given() { Some(Cause::Stop) } else { None };
                    let cause = cause.or((now >= until).then_some(Cause::Time));
                    if let Some(cause) = cause {
                        // The supervisor reads the end of the socket, and ends everything.
                        let _ = self.socket.shutdown(Shutdown::Write);
                        ending = Some((cause, now));
                    }
                }
            }
        }
        self.finish(ending.map(|(cause, _)| cause), running)
    }

    const fn all_read(&self) -> bool {
        self.output.stream.is_none() && self.errors.stream.is_none()
    }

    /// Waits for something to read and reads it; reports whether the supervisor is gone.
    fn read(&mut self, running: Running<'_>) -> bool {
        let [socket, output, errors] = self.ready();
        if output {
            self.output.read(Stream::Output, running);
        }
        if errors {
            self.errors.read(Stream::Errors, running);
        }
        if !socket || self.over.is_some() {
            return false;
        }
        let mut buffer = [0; 4_096];
        let read = match self.socket.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return false,
            Err(_) => 0,
        };
        self.reports.extend(buffer.iter().take(read));
        for report in Report::take(&mut self.reports) {
            match report {
                Report::Started(id) => self.group = Pid::from_raw(id),
                over @ (Report::NotStarted(_) | Report::Over(_)) => self.over = Some(over),
            }
        }
        read == 0
    }

    /// Waits until the socket or an output can be read, or for a tick.
    fn ready(&self) -> [bool; 3] {
        let wanted = [
            self.over.is_none().then(|| self.socket.as_fd()),
            self.output.stream.as_ref().map(|stream| stream.as_fd()),
            self.errors.stream.as_ref().map(|stream| stream.as_fd()),
        ];
        let mut polled: Vec<_> =
            wanted.iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let _ = rustix::event::poll(&mut polled, Some(&TICK));
        let mut polled = polled.iter();
        wanted.map(|wanted| {
            wanted.is_some() && polled.next().is_some_and(|it| !it.revents().is_empty())
        })
    }

    fn finish(mut self, cause: Option<Cause>, running: Running<'_>) -> WorkResult {
        let over = self.over.take();
        if !matches!(over, Some(Report::Over(_) | Report::NotStarted(_))) {
            // A supervisor that was killed or hangs: what is known of the command ends with it.
            let _ = self.child.kill();
            self.end_session();
        }
        let _ = self.child.wait();
        let mut result = match over {
            Some(Report::Over(over)) => ended(&over, cause, running),
            Some(Report::NotStarted(message)) => {
                WorkResult::because(Ended::Refused, "NotStarted", message)
            }
            Some(Report::Started(_)) | None => WorkResult::because(
                cause.map_or(Ended::Failed, Cause::ended),
                "SupervisorLost",
                "the supervisor was killed or did not answer: something may still run",
            ),
        };
        result.output = self.output.capture.finish();
        result.errors = self.errors.capture.finish();
        result
    }

    /// Ends what a lost supervisor can no longer end: the session that it began. Its report of the
    /// command's group may never have been sent.
    fn end_session(&self) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let id = i32::try_from(self.child.id()).ok();
        if let Some(supervisor) = id.and_then(Pid::from_raw) {
            tree::end_session(supervisor);
        }
    }
}

impl Cause {
    const fn ended(self) -> Ended {
        match self {
            Self::Stop => Ended::Stopped,
            Self::Time => Ended::TimedOut,
        }
    }
}

fn ended(over: &Over, cause: Option<Cause>, running: Running<'_>) -> WorkResult {
    let by_itself = if over.code == Some(0) { Ended::Done } else { Ended::Failed };
    let mut result = WorkResult::of(cause.map_or(by_itself, Cause::ended));
    result.code = over.code.or_else(|| over.signal.map(|signal| signal.saturating_add(128)));
    if cause == Some(Cause::Stop) {
        result.error = Some(error("Stopped", running.stop.why()));
    } else if let Some(signal) = over.signal {
        result.error = Some(error("Signal", format!("it was ended by signal {signal}")));
    }
    if over.left_behind > 0 || over.some_remain {
        result.value = json!({"left_behind": over.left_behind, "some_remain": over.some_remain});
    }
    result
}

fn error(name: &str, message: String) -> WorkError {
    WorkError { name: name.to_owned(), message, stack: None }
}

/// An output that is read until its end.
#[derive(Debug)]
struct Reading<S> {
    /// The output, until its end is reached.
    stream: Option<S>,
    capture: Capture,
}

impl<S: io::Read> Reading<S> {
    fn new(stream: Option<S>, limits: WorkLimits) -> Self {
        Self { stream, capture: Capture::new(limits.output_bytes) }
    }

    fn read(&mut self, name: Stream, running: Running<'_>) {
        let Some(stream) = &mut self.stream else { return };
        let mut buffer = [0; 16 * 1_024];
        match stream.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => self.stream = None,
            Ok(read) => {
                let piece = self.capture.push(buffer.get(..read).unwrap_or_default());
                if !piece.is_empty() {
                    running.controller.piece(name, &piece);
                }
            }
        }
    }
}
