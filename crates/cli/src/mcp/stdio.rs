//! A server that is a program: one message per line, on its standard input and output.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::message::Message;
use super::proxy::{Proxy, ServerState, Side, Wire};
use crate::client::DEVICE;
use crate::connection::KEY;
use crate::exit::Exit;

/// The longest message. Images are sent as text.
const MOST_BYTES: u64 = 64 << 20;
/// The time for a server to end by itself.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// The time for it to end after SIGTERM. Clients give us two seconds for all of it.
const ENDS_WHEN_TOLD: Duration = Duration::from_secs(1);
/// The exit code that shells report after SIGTERM.
#[cfg(unix)]
const ENDED_BY_SIGNAL: i32 = 143;
/// The time for the last answers, and for reporting the results of calls to the gate.
const TOLD_WITHIN: Duration = Duration::from_secs(2);

/// Starts a server, and runs the proxy between it and the client on our own standard input and
/// output.
///
/// # Errors
/// The server cannot be started, the configuration is wrong, or definitions cannot be stored.
pub(crate) fn relay(server: String, folder: PathBuf, command: &[OsString]) -> Result<Exit> {
    let Some((program, words)) = command.split_first() else { bail!("name the server's command") };
    let server_state = Arc::new(ServerState::open(server, folder)?);
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // With these secrets a server could propose and answer in another's name.
        .env_remove(DEVICE)
        .env_remove(KEY)
        .spawn()
        .with_context(|| format!("cannot start `{}`", program.display()))?;
    let output = child.stdout.take().context("the server has no output")?;
    let input = Arc::new(Mutex::new(child.stdin.take()));
    let wire = Pipes { server: Arc::clone(&input) };
    let proxy = Proxy::new(Arc::clone(&server_state), Box::new(wire));
    let (ours, child) = (Arc::clone(&proxy), Arc::new(Mutex::new(child)));
    let theirs = Arc::clone(&child);
    end_with_us(&server_state, &proxy, &child)?;
    thread::Builder::new().name("server".to_owned()).spawn(move || {
        each_line(BufReader::new(output), |line| match line {
            Ok(line) => ours.from_server(&line),
            Err(why) => ours.server_broke(why),
        });
        ours.server_is_gone();
        settle(&ours);
        let code = ended(&theirs, ENDS_WITHIN).unwrap_or(1);
        std::process::exit(i32::from(code));
    })?;
    read_client(&proxy);
    proxy.client_is_gone();
    input.lock().unwrap_or_else(PoisonError::into_inner).take();
    settle(&proxy);
    end(&child);
    Ok(Exit::Done)
}

/// Reads lines from our standard input until its end.
pub(super) fn read_lines(each: impl FnMut(Result<String, &'static str>)) {
    each_line(io::stdin().lock(), each);
}

/// Reads the client's messages from our standard input until its end.
pub(super) fn read_client(proxy: &Arc<Proxy>) {
    read_lines(|line| match line {
        Ok(line) => proxy.from_client(&line),
        Err(why) => proxy.client_broke(why),
    });
}

/// Sends a message to the client on our standard output.
pub(super) fn say(message: &Message) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{message}\n").as_bytes())?;
    out.flush()
}

/// The pipes to the client and to the server's program.
struct Pipes {
    server: Arc<Mutex<Option<ChildStdin>>>,
}

impl Wire for Pipes {
    fn send(&self, to: Side, message: &Message) -> io::Result<()> {
        match to {
            Side::Client => say(message),
            Side::Server => {
                let line = format!("{message}\n");
                let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
                let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
                server.as_mut().ok_or_else(closed)?.write_all(line.as_bytes())
            }
        }
    }
}

/// Reads lines until the end, and passes each on, or the error in it.
fn each_line(mut input: impl BufRead, mut each: impl FnMut(Result<String, &'static str>)) {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match input.by_ref().take(MOST_BYTES).read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if bytes.last() != Some(&b'\n') && bytes.len() as u64 == MOST_BYTES {
            each(Err("a message is too long"));
            if skip_line(&mut input).is_err() {
                return;
            }
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut bytes));
        match text {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => each(Ok(text)),
            Err(_) => each(Err("a message is not UTF-8")),
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let seen = input.fill_buf()?;
        if seen.is_empty() {
            return Ok(());
        }
        let end = seen.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(seen.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

/// Waits until everything is answered and reported to the gate, for at most two seconds.
pub(super) fn settle(proxy: &Proxy) {
    let until = Instant::now() + TOLD_WITHIN;
    while !proxy.is_idle() && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
}

/// The exit code of the server, if it ends within this time.
fn ended(child: &Mutex<Child>, within: Duration) -> Option<u8> {
    let until = Instant::now() + within;
    loop {
        let status = child.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
        match status {
            Ok(Some(status)) => {
                return Some(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
            }
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Ends the server, whose input is closed: by itself, by SIGTERM, or by SIGKILL.
fn end(child: &Mutex<Child>) {
    if ended(child, ENDS_WITHIN).is_some() {
        return;
    }
    terminate(&child.lock().unwrap_or_else(PoisonError::into_inner));
    if ended(child, ENDS_WHEN_TOLD).is_none() {
        // If this fails too, nothing more can be done.
        let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
    }
}

#[cfg(unix)]
fn terminate(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
}

#[cfg(not(unix))]
fn terminate(_: &Child) {}

/// Ends the server on a signal to us, because otherwise it would be orphaned; and cancels the held
/// calls, for which nobody is waiting any more.
#[cfg(unix)]
fn end_with_us(
    server_state: &ServerState,
    proxy: &Arc<Proxy>,
    child: &Arc<Mutex<Child>>,
) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = server_state.runtime()?;
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
        // On a thread of its own: withdrawing the held questions needs this one.
        thread::spawn(move || {
            terminate(&child.lock().unwrap_or_else(PoisonError::into_inner));
            settle(&proxy);
            if ended(&child, ENDS_WHEN_TOLD).is_none() {
                let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
            std::process::exit(ENDED_BY_SIGNAL);
        });
    });
    Ok(())
}

#[cfg(not(unix))]
fn end_with_us(_: &ServerState, _: &Arc<Proxy>, _: &Arc<Mutex<Child>>) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_given_and_empty_ones_are_not() {
        let mut seen = Vec::new();
        let input: &[u8] = b"a\n\n  \r\nb\r\n\xff\nc";
        each_line(input, |line| seen.push(line));
        assert_eq!(
            seen,
            [
                Ok("a\n".to_owned()),
                Ok("b\r\n".to_owned()),
                Err("a message is not UTF-8"),
                Ok("c".to_owned())
            ]
        );
    }

    #[test]
    fn what_is_too_long_is_skipped_to_its_end() {
        let most = usize::try_from(MOST_BYTES).unwrap();
        let mut input = vec![b'x'; most + 10];
        input.extend(b"\nnext\n");
        let mut seen = Vec::new();
        each_line(input.as_slice(), |line| seen.push(line));
        assert_eq!(seen, [Err("a message is too long"), Ok("next\n".to_owned())]);
    }
}
