//! Writes the answer exactly once: the decision, or a no at the deadline, on a signal or when the
//! host is gone.
//!
//! Nearly every host treats a hook that is late, killed or silent as a yes. So one thread watches
//! from the start, and the first of the two to finish writes the answer. It costs a pair of sockets
//! and no second thread: signal handlers write into one end, and the watching thread reads from the
//! other until the deadline.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::Clock;
use crate::approval_client::ApprovalClient;
use crate::client::block_on;
use crate::host::{HookOutput, Host};

/// The interval at which the watching thread checks whether the host still runs.
const LOOK: Duration = Duration::from_secs(1);
/// The timeout for withdrawing a question once the no is written.
const TAKES_BACK_WITHIN: Duration = Duration::from_secs(1);
/// The thread's stack, large enough for a request to the server; unused pages cost nothing.
const STACK: usize = 1 << 20;

/// The reason why the hook ends before there is an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Late,
    Signal,
    HostGone,
}

impl End {
    const fn reason(self) -> &'static str {
        match self {
            Self::Late => "Countersign did not finish in time, so this is refused.",
            Self::Signal => {
                "Countersign was stopped before there was an answer, so this is refused."
            }
            Self::HostGone => {
                "Nobody is waiting for Countersign's answer any more, so this is refused."
            }
        }
    }
}

/// Writes one answer.
pub(super) struct SingleReply {
    host: &'static dyn Host,
    used: AtomicBool,
    refusal_state: Mutex<RefusalState>,
}

/// The state from which a no is composed at any moment.
#[derive(Default)]
struct RefusalState {
    /// The host's name of the event, once it is known.
    event: String,
    /// The message at the deadline.
    late: Option<String>,
    /// The pending question, and the client through which it was asked.
    question: Option<(ApprovalClient, String)>,
}

impl SingleReply {
    pub(super) fn new(host: &'static dyn Host) -> Self {
        Self { host, used: AtomicBool::new(false), refusal_state: Mutex::default() }
    }

    fn refusal_state(&self) -> MutexGuard<'_, RefusalState> {
        self.refusal_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the event, in whose format a no must be written.
    pub(super) fn about(&self, event: &str) {
        event.clone_into(&mut self.refusal_state().event);
    }

    /// Notes a pending question: it is withdrawn if the hook ends before it is answered.
    pub(super) fn asked(&self, approval_client: &ApprovalClient, approval: &str, late: String) {
        let mut refusal_state = self.refusal_state();
        refusal_state.late = Some(late);
        refusal_state.question = Some((approval_client.clone(), approval.to_owned()));
    }

    /// Notes that the question is answered.
    pub(super) fn answered(&self) {
        self.refusal_state().question = None;
    }

    /// A no because of a failure, in the format of the event.
    pub(super) fn broken(&self, reason: &str) -> HookOutput {
        self.host.broken(&self.refusal_state().event, reason)
    }

    /// Writes the decision, and returns the exit code.
    pub(super) fn say(&self, reply: &HookOutput) -> u8 {
        if self.used.swap(true, Ordering::SeqCst) {
            // The other thread is writing a no, and ends this process afterwards.
            loop {
                thread::park();
            }
        }
        write(reply)
    }

    /// Writes a no, withdraws the question and ends the process, unless an answer is being written.
    fn end(&self, why: End) {
        if self.used.swap(true, Ordering::SeqCst) {
            return;
        }
        let late = self.refusal_state().late.take().filter(|_| why == End::Late);
        let reply = self.broken(late.as_deref().unwrap_or_else(|| why.reason()));
        // The no comes first: the host may not wait any longer.
        let code = write(&reply);
        let question = self.refusal_state().question.take();
        if let Some((approval_client, approval)) = question {
            // A server that cannot be told notices within seconds that nobody waits.
            let _ = block_on(async {
                let withdrawn =
                    tokio::time::timeout(TAKES_BACK_WITHIN, approval_client.withdraw(&approval));
                drop(withdrawn.await);
                Ok(())
            });
        }
        std::process::exit(i32::from(code));
    }
}

/// Writes an answer, and returns the exit code.
fn write(reply: &HookOutput) -> u8 {
    let mut out = io::stdout().lock();
    let written = out.write_all(reply.out.as_bytes()).and_then(|()| out.flush());
    let mut err = io::stderr();
    let _ = err.write_all(reply.err.as_bytes());
    if written.is_ok() {
        return reply.code;
    }
    // An answer that could not be written must not look like an empty one: hosts that read no
    // output treat this code and a text on standard error as a no.
    let _ = err.write_all(b"Countersign's answer could not be written, so this is refused.\n");
    2
}

/// Starts to watch the deadline, signals and the host.
///
/// # Errors
/// The system provides no thread, no sockets or no signal handlers.
pub(super) fn watch(clock: Clock, single_reply: &Arc<SingleReply>) -> io::Result<()> {
    let mut ends = Ends::begin()?;
    let single_reply = Arc::clone(single_reply);
    let watch = move || loop {
        let left = clock.left();
        if left.is_zero() {
            return single_reply.end(End::Late);
        }
        if let Some(why) = ends.wait(left.min(LOOK)) {
            return single_reply.end(why);
        }
    };
    thread::Builder::new().stack_size(STACK).spawn(watch).map(drop)
}

/// The external events that end a hook.
#[cfg(unix)]
struct Ends {
    signals: std::os::unix::net::UnixStream,
    /// Our parent's process id: if it changes, the host is gone.
    parent: u32,
}

/// All signals that end a process unless they are handled, except those that report a fault of the
/// process itself. `KILL` cannot be handled.
#[cfg(unix)]
const SIGNALS: &[i32] = {
    use signal_hook::consts::{
        SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
    };
    &[SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2]
};

#[cfg(unix)]
impl Ends {
    fn begin() -> io::Result<Self> {
        let (signals, told) = std::os::unix::net::UnixStream::pair()?;
        for signal in SIGNALS {
            signal_hook::low_level::pipe::register(*signal, told.try_clone()?)?;
        }
        Ok(Self { signals, parent: std::os::unix::process::parent_id() })
    }

    /// Returns a reason to end, if there is one before the time is over.
    fn wait(&mut self, time: Duration) -> Option<End> {
        use std::io::Read as _;
        let waits = self.signals.set_read_timeout(Some(time.max(Duration::from_millis(1))));
        match waits.and_then(|()| self.signals.read(&mut [0])) {
            Ok(1..) => return Some(End::Signal),
            Err(error) if is_over(&error) => {}
            // Cannot happen; without signals there is still the deadline.
            Ok(0) | Err(_) => thread::sleep(time),
        }
        (std::os::unix::process::parent_id() != self.parent).then_some(End::HostGone)
    }
}

#[cfg(unix)]
fn is_over(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(not(unix))]
struct Ends;

#[cfg(not(unix))]
impl Ends {
    fn begin() -> io::Result<Self> {
        Ok(Self)
    }

    fn wait(&mut self, time: Duration) -> Option<End> {
        thread::sleep(time);
        None
    }
}
