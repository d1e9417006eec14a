//! Says the answer, once: what was decided, or a no when time runs out, a signal comes or the host
//! is gone.
//!
//! Nearly every host takes a hook that is late, killed or silent for a yes. So one thread watches
//! from the beginning on, and whoever is first speaks. It costs a pair of sockets and no second
//! thread: signals write into one end, and the watching thread reads the other, until its time is
//! over.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::Clock;
use crate::client::block_on;
use crate::desk::Desk;
use crate::host::{Host, Reply};

/// How often the watching thread looks whether the host is still there.
const LOOK: Duration = Duration::from_secs(1);
/// How long taking a question back may take once the no is said.
const TAKES_BACK_WITHIN: Duration = Duration::from_secs(1);
/// Room for a request to the server; what is not used costs nothing.
const STACK: usize = 1 << 20;

/// Why the hook ends before there is an answer.
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
                "Countersign was told to end before there was an answer, so this is refused."
            }
            Self::HostGone => "Nobody waits for Countersign's answer any more, so this is refused.",
        }
    }
}

/// Says one answer.
pub(super) struct Mouth {
    host: &'static dyn Host,
    used: AtomicBool,
    standing: Mutex<Standing>,
}

/// How things stand, for a no that cannot wait.
#[derive(Default)]
struct Standing {
    /// What the host calls the moment, once that is known.
    event: String,
    /// What to say when time runs out.
    late: Option<String>,
    /// The question that waits, and where.
    question: Option<(Desk, String)>,
}

impl Mouth {
    pub(super) fn new(host: &'static dyn Host) -> Self {
        Self { host, used: AtomicBool::new(false), standing: Mutex::default() }
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host speaks of this event, so a no must be in its words.
    pub(super) fn about(&self, event: &str) {
        event.clone_into(&mut self.standing().event);
    }

    /// A question waits: it is taken back if the hook ends before it is answered.
    pub(super) fn asked(&self, desk: &Desk, approval: &str, late: String) {
        let mut standing = self.standing();
        standing.late = Some(late);
        standing.question = Some((desk.clone(), approval.to_owned()));
    }

    /// The question is answered.
    pub(super) fn answered(&self) {
        self.standing().question = None;
    }

    /// A no because something went wrong, in the words for the event.
    pub(super) fn broken(&self, reason: &str) -> Reply {
        self.host.broken(&self.standing().event, reason)
    }

    /// Says what was decided, and gives the code to end with.
    pub(super) fn say(&self, reply: &Reply) -> u8 {
        if self.used.swap(true, Ordering::SeqCst) {
            // The other one is saying no, and ends this process when it has.
            loop {
                thread::park();
            }
        }
        write(reply)
    }

    /// Says no, takes the question back and ends the process, unless the answer is being said.
    fn end(&self, why: End) {
        if self.used.swap(true, Ordering::SeqCst) {
            return;
        }
        let late = self.standing().late.take().filter(|_| why == End::Late);
        let reply = self.broken(late.as_deref().unwrap_or_else(|| why.reason()));
        // First the no: who ends us may not wait any longer.
        let code = write(&reply);
        let question = self.standing().question.take();
        if let Some((desk, approval)) = question {
            // A server that cannot be told notices within seconds that nobody waits.
            let _ = block_on(async {
                let withdrawn = tokio::time::timeout(TAKES_BACK_WITHIN, desk.withdraw(&approval));
                drop(withdrawn.await);
                Ok(())
            });
        }
        std::process::exit(i32::from(code));
    }
}

/// Writes an answer, and gives the code to end with.
fn write(reply: &Reply) -> u8 {
    let mut out = io::stdout().lock();
    let written = out.write_all(reply.out.as_bytes()).and_then(|()| out.flush());
    let mut err = io::stderr();
    let _ = err.write_all(reply.err.as_bytes());
    if written.is_ok() {
        return reply.code;
    }
    // An answer nobody got must not look like the one that says nothing: hosts that read no
    // output take this code and a text on standard error for a no.
    let _ = err.write_all(b"Countersign's answer could not be written, so this is refused.\n");
    2
}

/// Watches the time, signals and the host, from now on.
///
/// # Errors
/// The system gives no thread, no sockets, or no signals.
pub(super) fn watch(clock: Clock, mouth: &Arc<Mouth>) -> io::Result<()> {
    let mut ends = Ends::begin()?;
    let mouth = Arc::clone(mouth);
    let watch = move || loop {
        let left = clock.left();
        if left.is_zero() {
            return mouth.end(End::Late);
        }
        if let Some(why) = ends.wait(left.min(LOOK)) {
            return mouth.end(why);
        }
    };
    thread::Builder::new().stack_size(STACK).spawn(watch).map(drop)
}

/// What ends a hook from outside.
#[cfg(unix)]
struct Ends {
    signals: std::os::unix::net::UnixStream,
    /// Who started us: another one later means that the first is gone.
    parent: u32,
}

/// Every signal that ends a process unless it is handled, but for those that say that the process
/// itself is broken. `KILL` cannot be handled.
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

    /// Why to end, if there is a reason before the time is over.
    fn wait(&mut self, time: Duration) -> Option<End> {
        use std::io::Read as _;
        let waits = self.signals.set_read_timeout(Some(time.max(Duration::from_millis(1))));
        match waits.and_then(|()| self.signals.read(&mut [0])) {
            Ok(1..) => return Some(End::Signal),
            Err(error) if is_over(&error) => {}
            // Cannot be; without signals there is still the time.
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
