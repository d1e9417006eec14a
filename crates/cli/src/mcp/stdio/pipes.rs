//! The pipes of both sides, watched by one thread.
//!
//! ```text
//! client ──► hear ──► the proxy ──► outlet ──► server
//! client ◄── outlet ◄── the proxy ◄── hear ◄── server
//! ```
//!
//! INVARIANT: nothing here waits for one side alone. Whichever can be read is read, and whichever
//! has room is written to.

use std::fs::File;
use std::io::{self, PipeReader, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{ChildStdin, ChildStdout};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Outlets;
use super::line::{Lines, MOST_BYTES};
pub(super) use super::outlet::Outlet;
use crate::mcp::proxy::{Proxy, Side};

/// How long an answer is looked for before we sleep until it comes. Where a core has gone to sleep
/// meanwhile, being woken takes about as long, and many servers answer sooner.
const LOOKS_FOR: Duration = Duration::from_micros(60);
/// What is read at once.
const CHUNK: usize = 64 << 10;
/// How much may wait for one side before the other is no longer listened to.
const MOST_QUEUED: usize = 1 << 20;
/// How much may wait for a side before it is no longer listened to itself. The other side alone
/// cannot bring that about: by one message more than may wait, each byte of which is written anew
/// as three at most. So it takes a side that is answered by us, and does not read its answers.
const MOST_OWED: usize = 4 * MOST_BYTES;

/// The pipes of both sides.
pub(super) struct Pipes {
    client: Source,
    server: Source,
    outlets: Arc<Outlets>,
    bell: PipeReader,
    chunk: Box<[u8]>,
}

/// Where lines come from.
struct Source {
    /// Nothing once it has ended.
    pipe: Option<File>,
    lines: Lines,
}

/// What need not be waited for.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// Something has to be written that has no room yet.
    Rung,
    HasRoom(Side),
    Says(Side),
}

/// How to wait.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// Looks for a moment first.
    Looking,
    Sleeping,
}

impl Pipes {
    /// Between our own standard input and output, and those of a program.
    ///
    /// # Errors
    /// The system gives no pipe.
    pub(super) fn new(input: ChildStdin, output: ChildStdout) -> io::Result<Self> {
        Self::between(
            (io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?),
            (output.into(), input.into()),
        )
    }

    /// Between two sides: where each is heard, and where it is told.
    fn between(client: (OwnedFd, OwnedFd), server: (OwnedFd, OwnedFd)) -> io::Result<Self> {
        let (bell, ringer) = io::pipe()?;
        let outlets = Outlets {
            client: Outlet::new(client.1.into(), ringer.try_clone()?),
            server: Outlet::new(server.1.into(), ringer),
        };
        Ok(Self {
            client: Source::new(client.0),
            server: Source::new(server.0),
            outlets: Arc::new(outlets),
            bell,
            chunk: vec![0; CHUNK].into(),
        })
    }

    /// The ways out.
    pub(super) fn outlets(&self) -> Arc<Outlets> {
        Arc::clone(&self.outlets)
    }

    /// Carries messages until a side has said its last, and says which.
    pub(super) fn carry(&mut self, proxy: &Arc<Proxy>) -> Side {
        let mut pace = Pace::Sleeping;
        loop {
            let events = self.wait(pace);
            pace = Pace::Sleeping;
            for event in events {
                match event {
                    Event::Rung => self.hush(),
                    Event::HasRoom(side) => self.write_on(side, proxy),
                    Event::Says(side) => {
                        if !self.hear(side, proxy) {
                            return side;
                        }
                        if side == Side::Client && proxy.awaits_server() {
                            pace = Pace::Looking;
                        }
                    }
                }
            }
        }
    }

    /// What need not be waited for any more, once there is something.
    fn wait(&self, pace: Pace) -> Vec<Event> {
        let sides = [Side::Client, Side::Server];
        let blocked = sides.map(|side| (side, self.outlets.to(side).blocked()));
        let room = blocked.iter().filter_map(|(side, pipe)| {
            Some((Event::HasRoom(*side), PollFd::new(pipe.as_ref()?, PollFlags::OUT)))
        });
        let heard = sides.into_iter().filter(|side| self.listens_to(*side));
        let says = heard.filter_map(|side| {
            let pipe = self.source(side).pipe.as_ref()?;
            Some((Event::Says(side), PollFd::new(pipe, PollFlags::IN)))
        });
        let rung = (Event::Rung, PollFd::new(&self.bell, PollFlags::IN));
        let (events, mut polled): (Vec<_>, Vec<_>) =
            [rung].into_iter().chain(room).chain(says).unzip();
        wait_for(&mut polled, pace);
        let happened =
            events.into_iter().zip(&polled).filter(|(_, polled)| !polled.revents().is_empty());
        happened.map(|(event, _)| event).collect()
    }

    /// Whether there is room for what a side says. Who does not read is not read from for ever.
    fn listens_to(&self, side: Side) -> bool {
        self.outlets.to(side.other()).queued() <= MOST_QUEUED
            && self.outlets.to(side).queued() <= MOST_OWED
    }

    const fn source(&self, side: Side) -> &Source {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    fn hush(&mut self) {
        let _ = self.bell.read(&mut [0; 16]);
    }

    fn write_on(&self, side: Side, proxy: &Proxy) {
        let lost = self.outlets.to(side).write_on();
        if side == Side::Server {
            for id in lost {
                proxy.lost(&id, "it has closed its input");
            }
        }
    }

    /// Takes in what a side says, and whether it may say more.
    fn hear(&mut self, side: Side, proxy: &Arc<Proxy>) -> bool {
        let source = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let each = |line: Result<&str, &str>| match (side, line) {
            (Side::Client, Ok(line)) => proxy.from_client(line),
            (Side::Client, Err(why)) => proxy.client_broke(why),
            (Side::Server, Ok(line)) => proxy.from_server(line),
            (Side::Server, Err(why)) => proxy.server_broke(why),
        };
        source.hear(&mut self.chunk, each)
    }
}

impl Source {
    fn new(pipe: OwnedFd) -> Self {
        Self { pipe: Some(pipe.into()), lines: Lines::new() }
    }

    /// Reads once, and gives the lines that are whole by then; whether there may be more.
    fn hear(&mut self, chunk: &mut [u8], each: impl FnMut(Result<&str, &'static str>)) -> bool {
        match self.pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(chunk)) {
            Ok(0) => self.lines.end(each),
            Ok(read) => {
                self.lines.feed(chunk.get(..read).unwrap_or_default(), each);
                return true;
            }
            Err(error) if is_passing(&error) => return true,
            Err(_) => {}
        }
        self.pipe = None;
        false
    }
}

/// Whether reading again may succeed.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

fn wait_for(polled: &mut [PollFd<'_>], pace: Pace) {
    if let Pace::Looking = pace {
        let until = Instant::now() + LOOKS_FOR;
        while Instant::now() < until {
            if poll(polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
                return;
            }
            // Whoever is to answer may need this very core.
            thread::yield_now();
        }
    }
    // A signal may interrupt it: then nothing has happened yet.
    let _ = poll(polled, None);
}

#[cfg(test)]
mod tests {
    use std::io::{PipeWriter, Write as _};

    use super::*;
    use crate::mcp::message::Message;

    /// Pipes with the ends that both sides would hold.
    fn pipes() -> (Pipes, [PipeWriter; 2], [PipeReader; 2]) {
        let [a, b, c, d] = [(); 4].map(|()| io::pipe().unwrap());
        let pipes = Pipes::between((a.0.into(), b.1.into()), (c.0.into(), d.1.into())).unwrap();
        (pipes, [a.1, c.1], [b.0, d.0])
    }

    #[test]
    fn who_does_not_read_stops_the_other_side_and_not_itself() {
        let pad = "word".repeat(MOST_QUEUED);
        let text = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"pad":"{pad}"}}}}"#);
        let message = Message::read(&text).unwrap();
        for deaf in [Side::Client, Side::Server] {
            let (pipes, _ends, _outs) = pipes();
            assert!(pipes.listens_to(deaf) && pipes.listens_to(deaf.other()));
            pipes.outlets.to(deaf).send(&message).unwrap();
            assert!(pipes.listens_to(deaf) && !pipes.listens_to(deaf.other()));
        }
    }

    #[test]
    fn a_bell_that_is_rung_wakes_who_sleeps_and_is_hushed() {
        let (mut pipes, ends, _outs) = pipes();
        let message = Message::read(r#"{"jsonrpc":"2.0","method":"m"}"#).unwrap();
        while pipes.outlets.client.blocked().is_none() {
            pipes.outlets.client.send(&message).unwrap();
        }
        assert!(matches!(pipes.wait(Pace::Sleeping).as_slice(), [Event::Rung]));
        pipes.hush();
        let [mut client, _server] = ends;
        client.write_all(b"x").unwrap();
        let says = pipes.wait(Pace::Looking);
        assert!(matches!(says.as_slice(), [Event::Says(Side::Client)]), "{says:?}");
    }
}
