//! A server that is a program: a message a line, in on its standard input, out on its output.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::message::Message;
use super::proxy::{House, Proxy, Side, Wire};
use crate::client::DEVICE;
use crate::desk::KEY;
use crate::exit::Exit;

mod line;
#[cfg(unix)]
mod outlet;
#[cfg(unix)]
mod pipes;
#[cfg(not(unix))]
#[path = "stdio/threads.rs"]
mod pipes;

use pipes::{Outlet, Pipes};

/// How long a server may take to end by itself.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// How long it may take when told to. Clients give us two seconds for all of it.
const ENDS_WHEN_TOLD: Duration = Duration::from_secs(1);
/// As shells say it of a program that was told to end.
#[cfg(unix)]
const ENDED_BY_SIGNAL: i32 = 143;
/// How long the last answers may take, and the gate to hear what became of the calls.
const TOLD_WITHIN: Duration = Duration::from_secs(2);

/// Starts a server, and stands between it and the client on our own standard input and output.
///
/// # Errors
/// The server cannot be started, the configuration is wrong, or definitions cannot be kept.
pub(crate) fn relay(server: String, folder: PathBuf, command: &[OsString]) -> Result<Exit> {
    let house = Arc::new(House::open(server, folder)?);
    let (child, input, output) = start(command)?;
    let child = Arc::new(Mutex::new(child));
    let mut pipes = Pipes::new(input, output)?;
    let outlets = pipes.outlets();
    let proxy = Proxy::new(Arc::clone(&house), Box::new(Arc::clone(&outlets)));
    end_with_us(&house, &proxy, &child)?;
    let code = match pipes.carry(&proxy) {
        Side::Server => {
            proxy.server_is_gone();
            settle(&proxy);
            outlets.client.flush(TOLD_WITHIN);
            ended(&child, ENDS_WITHIN).unwrap_or(1)
        }
        Side::Client => {
            proxy.client_is_gone();
            outlets.server.close();
            let rest = hear_out(pipes, &proxy);
            settle(&proxy);
            let code = end(&child);
            // It has said its last, unless somebody it started holds on to its output.
            soon(TOLD_WITHIN, || rest.is_finished().then_some(()));
            outlets.client.flush(TOLD_WITHIN);
            code
        }
    };
    Ok(Exit::Passed(code))
}

/// Carries what the server still says, while somebody else sees to its end.
fn hear_out(mut pipes: Pipes, proxy: &Arc<Proxy>) -> JoinHandle<()> {
    let proxy = Arc::clone(proxy);
    thread::spawn(move || {
        pipes.carry(&proxy);
        proxy.server_is_gone();
    })
}

fn start(command: &[OsString]) -> Result<(Child, ChildStdin, ChildStdout)> {
    let Some((program, words)) = command.split_first() else { bail!("name the server's command") };
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // By these somebody could propose and answer in another's name.
        .env_remove(DEVICE)
        .env_remove(KEY)
        .spawn()
        .with_context(|| format!("cannot start `{}`", program.display()))?;
    let input = child.stdin.take().context("the server has no input")?;
    let output = child.stdout.take().context("the server has no output")?;
    Ok((child, input, output))
}

/// Reads lines from our standard input, to its end.
pub(super) fn read_lines(each: impl FnMut(Result<&str, &'static str>)) {
    line::each_line(io::stdin().lock(), each);
}

/// Reads what the client says on our standard input, to its end.
pub(super) fn read_client(proxy: &Arc<Proxy>) {
    read_lines(|line| match line {
        Ok(line) => proxy.from_client(line),
        Err(why) => proxy.client_broke(why),
    });
}

/// Says something to the client on our standard output.
pub(super) fn say(message: &Message) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{message}\n").as_bytes())?;
    out.flush()
}

/// The ways out, to both sides.
struct Outlets {
    client: Outlet,
    server: Outlet,
}

impl Outlets {
    const fn to(&self, side: Side) -> &Outlet {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }
}

impl Wire for Arc<Outlets> {
    fn send(&self, to: Side, message: &Message) -> io::Result<()> {
        self.to(to).send(message)
    }
}

/// Waits until everything is answered and the gate knows what became of it.
pub(super) fn settle(proxy: &Proxy) {
    soon(TOLD_WITHIN, || proxy.is_idle().then_some(()));
}

/// Looks every few milliseconds, until there is something or the time is over.
fn soon<T>(within: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + within;
    loop {
        let seen = look();
        if seen.is_some() || Instant::now() >= until {
            return seen;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// How the server ended, if it has within its time.
fn ended(child: &Mutex<Child>, within: Duration) -> Option<u8> {
    let status = soon(within, || lock(child).try_wait().transpose())?.ok()?;
    Some(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Ends the server, whose input is closed: by itself, when told to, or by force. Gives what it
/// ended with by itself.
fn end(child: &Mutex<Child>) -> u8 {
    ended(child, ENDS_WITHIN).unwrap_or_else(|| {
        terminate(&mut lock(child));
        if ended(child, ENDS_WHEN_TOLD).is_none() {
            // Nothing more can be done about one that cannot be ended.
            let _ = lock(child).kill();
        }
        0
    })
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn terminate(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process};
    // One that has ended is not meant: its number may be somebody else's by now.
    if matches!(child.try_wait(), Ok(None)) {
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
    }
}

#[cfg(not(unix))]
fn terminate(_: &mut Child) {}

/// Whoever ends us means the server, which would be nobody's otherwise; and nobody waits for what
/// we hold any more.
#[cfg(unix)]
fn end_with_us(house: &House, proxy: &Arc<Proxy>, child: &Arc<Mutex<Child>>) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = house.runtime()?;
    let _inside = runtime.enter();
    let (mut told, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hung_up = signal(SignalKind::hangup())?;
    let (proxy, child) = (Arc::clone(proxy), Arc::clone(child));
    runtime.spawn(async move {
        tokio::select! {
            _ = told.recv() => {}
            _ = interrupted.recv() => {}
            _ = hung_up.recv() => {}
        }
        proxy.client_is_gone();
        // A thread of its own: what is held needs this one to be withdrawn.
        thread::spawn(move || {
            terminate(&mut lock(&child));
            settle(&proxy);
            if ended(&child, ENDS_WHEN_TOLD).is_none() {
                let _ = lock(&child).kill();
            }
            std::process::exit(ENDED_BY_SIGNAL);
        });
    });
    Ok(())
}

#[cfg(not(unix))]
fn end_with_us(_: &House, _: &Arc<Proxy>, _: &Arc<Mutex<Child>>) -> Result<()> {
    Ok(())
}
