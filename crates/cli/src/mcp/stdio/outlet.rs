//! Writing to one side without waiting for it.
//!
//! Who waits to write does not read, and the other side may do nothing until it is read from. So
//! a pipe is given what it takes at once; the rest is queued, and written on when there is room.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, PipeWriter, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::PIPE_BUF;

use crate::mcp::message::{Id, Kind, Message};

/// Where messages to one side leave, in the order they were sent.
#[derive(Debug)]
pub(super) struct Outlet {
    state: Mutex<State>,
    /// Rung when a line has to wait, for whoever sleeps until a pipe has room.
    bell: PipeWriter,
}

#[derive(Debug)]
struct State {
    /// Nothing once nothing can be written any more.
    pipe: Option<Arc<File>>,
    queue: VecDeque<Line>,
    /// How many bytes are in the queue.
    bytes: usize,
    is_closing: bool,
}

/// A line that is not written, or not all of it.
#[derive(Debug)]
struct Line {
    text: Vec<u8>,
    written: usize,
    /// What names it, if it wants an answer.
    request: Option<Id>,
}

impl Outlet {
    pub(super) fn new(pipe: File, bell: PipeWriter) -> Self {
        let pipe = Some(Arc::new(pipe));
        let state = State { pipe, queue: VecDeque::new(), bytes: 0, is_closing: false };
        Self { state: Mutex::new(state), bell }
    }

    /// Sends a message, now or as soon as those before it are written.
    ///
    /// # Errors
    /// Nobody is there any more.
    pub(super) fn send(&self, message: &Message) -> io::Result<()> {
        let text = format!("{message}\n").into_bytes();
        let request = match message.kind() {
            Kind::Request(id, _) => Some(id),
            Kind::Notification(_) | Kind::Response(_) => None,
        };
        let mut state = self.state();
        if state.pipe.is_none() || state.is_closing {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let is_next = state.queue.is_empty();
        state.bytes += text.len();
        state.queue.push_back(Line { text, written: 0, request });
        if is_next {
            state.write_on().inspect_err(|_| drop(state.give_up()))?;
            if !state.queue.is_empty() {
                // INVARIANT: it is rung once for each time the queue fills, so it is never full.
                let _ = (&self.bell).write(b"!");
            }
        }
        Ok(())
    }

    /// Writes what the pipe takes of the queue. Gives the requests that can no longer be sent, if it
    /// has broken.
    pub(super) fn write_on(&self) -> Vec<Id> {
        let mut state = self.state();
        state.write_on().map_or_else(|_| state.give_up(), |()| Vec::new())
    }

    /// Lets nothing more in, and closes the pipe once the queue is written.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closing = true;
        state.close_if_done();
    }

    /// Waits until the queue is written, or so long.
    pub(super) fn flush(&self, within: Duration) {
        let until = Instant::now() + within;
        loop {
            self.write_on();
            let left = Timespec::try_from(until.saturating_duration_since(Instant::now()));
            match (self.blocked(), left) {
                (Some(pipe), Ok(left)) if left != Timespec::default() => {
                    let _ = poll(&mut [PollFd::new(&pipe, PollFlags::OUT)], Some(&left));
                }
                _ => return,
            }
        }
    }

    /// How many bytes wait.
    pub(super) fn queued(&self) -> usize {
        self.state().bytes
    }

    /// The pipe, if something waits for room in it.
    pub(super) fn blocked(&self) -> Option<Arc<File>> {
        let state = self.state();
        state.pipe.clone().filter(|_| !state.queue.is_empty())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write_on(&mut self) -> io::Result<()> {
        while let (Some(pipe), Some(line)) = (self.pipe.as_deref(), self.queue.front_mut())
            && has_room(pipe)
        {
            let rest = line.text.get(line.written..).unwrap_or_default();
            let written = match write_some(pipe, rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                written => written?,
            };
            line.written += written;
            self.bytes -= written;
            if line.written == line.text.len() {
                self.queue.pop_front();
            }
        }
        self.close_if_done();
        Ok(())
    }

    fn close_if_done(&mut self) {
        if self.is_closing && self.queue.is_empty() {
            self.pipe = None;
        }
    }

    fn give_up(&mut self) -> Vec<Id> {
        (self.pipe, self.bytes) = (None, 0);
        self.queue.drain(..).filter_map(|line| line.request).collect()
    }
}

/// Writes as much as a pipe with room takes without making us wait. To tell it once that it never
/// may (`O_NONBLOCK`) would tell everybody who has it, and our output may be others', too.
fn write_some(mut pipe: &File, bytes: &[u8]) -> io::Result<usize> {
    pipe.write(bytes.get(..PIPE_BUF).unwrap_or(bytes))
}

/// Whether something can be written, or somebody finds out that it cannot.
fn has_room(pipe: &File) -> bool {
    let mut polled = [PollFd::new(pipe, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, PipeReader, Read as _};
    use std::os::fd::OwnedFd;
    use std::thread;

    use super::*;

    /// Longer than anything here takes.
    const PATIENCE: Duration = Duration::from_mins(1);

    /// An outlet, what comes out of it, and its bell.
    fn outlet() -> (Outlet, PipeReader, PipeReader) {
        let ((out, pipe), (bell, ringer)) = (io::pipe().unwrap(), io::pipe().unwrap());
        (Outlet::new(File::from(OwnedFd::from(pipe)), ringer), out, bell)
    }

    fn message(id: usize) -> Message {
        let words = "word ".repeat(200);
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"w":"{words}"}}}}"#);
        Message::read(&text).unwrap()
    }

    /// More than a pipe takes while nobody reads.
    fn filled() -> (Outlet, PipeReader, PipeReader) {
        let (outlet, out, bell) = outlet();
        (0..1000).for_each(|id| outlet.send(&message(id)).unwrap());
        (outlet, out, bell)
    }

    #[test]
    fn what_a_full_pipe_does_not_take_waits_and_arrives_in_order() {
        let (outlet, out, mut bell) = filled();
        assert!(outlet.blocked().is_some() && outlet.queued() > 100_000);
        outlet.close();
        assert!(outlet.send(&message(0)).is_err(), "nothing more is let in");
        let reader = thread::spawn(|| BufReader::new(out).lines().collect::<Result<Vec<_>, _>>());
        outlet.flush(PATIENCE);
        assert!(outlet.blocked().is_none() && outlet.queued() == 0);
        // It ends, since what waited was written and the pipe closed after it.
        let lines = reader.join().unwrap().unwrap();
        assert_eq!(lines, (0..1000).map(|id| message(id).to_string()).collect::<Vec<_>>());
        drop(outlet);
        let mut rung = Vec::new();
        bell.read_to_end(&mut rung).unwrap();
        assert_eq!(rung.len(), 1, "once for all that waited");
    }

    #[test]
    fn what_cannot_be_sent_any_more_is_named() {
        let (outlet, out, _bell) = filled();
        drop(out);
        let lost = outlet.write_on();
        let named = |id: usize| lost.contains(&message(id).id().unwrap());
        assert!(named(999) && named(500) && !named(0), "{}", lost.len());
        assert_eq!(outlet.queued(), 0);
        assert!(outlet.send(&message(0)).is_err());
        assert_eq!(outlet.write_on(), []);
    }

    #[test]
    fn who_sends_to_nobody_is_told() {
        let (outlet, out, _bell) = outlet();
        drop(out);
        assert!(outlet.send(&message(0)).is_err() && outlet.send(&message(1)).is_err());
    }

    #[test]
    fn nobody_is_waited_for_longer_than_said() {
        let (outlet, _out, _bell) = filled();
        outlet.flush(Duration::from_millis(1));
        assert!(outlet.queued() > 0);
    }

    #[test]
    fn lines_of_several_senders_stay_whole() {
        let (outlet, out, _bell) = outlet();
        let outlet = Arc::new(outlet);
        let sender = |first: usize| {
            let outlet = Arc::clone(&outlet);
            thread::spawn(move || {
                for id in first..first + 500 {
                    outlet.send(&message(id)).unwrap();
                }
            })
        };
        let senders = [0, 1000, 2000].map(sender);
        let reader = thread::spawn(|| BufReader::new(out).lines().collect::<Result<Vec<_>, _>>());
        for sender in senders {
            sender.join().unwrap();
        }
        outlet.close();
        outlet.flush(PATIENCE);
        let lines = reader.join().unwrap().unwrap();
        let ids: Vec<_> =
            lines.iter().map(|line| Message::read(line).unwrap().id().unwrap()).collect();
        for first in [0, 1000, 2000] {
            let own: Vec<_> = (first..first + 500).map(|id| message(id).id().unwrap()).collect();
            let came: Vec<_> = ids.iter().filter(|id| own.contains(id)).cloned().collect();
            assert_eq!(came, own);
        }
    }
}
