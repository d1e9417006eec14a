//! The pipes of both sides, each read by a thread of its own, where one cannot watch both.

#![expect(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "it stands in for what can fail and may have to wait"
)]

use std::io::{self, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::Outlets;
use super::line::each_line;
use crate::mcp::message::Message;
use crate::mcp::proxy::{Proxy, Side};

/// The pipes of both sides.
pub(super) struct Pipes {
    outlets: Arc<Outlets>,
    output: Option<ChildStdout>,
    left: Option<Receiver<Side>>,
}

impl Pipes {
    pub(super) fn new(input: ChildStdin, output: ChildStdout) -> io::Result<Self> {
        let [client, server]: [Box<dyn Write + Send>; 2] =
            [Box::new(io::stdout()), Box::new(input)];
        let [client, server] = [client, server].map(|pipe| Outlet(Mutex::new(Some(pipe))));
        let outlets = Arc::new(Outlets { client, server });
        Ok(Self { outlets, output: Some(output), left: None })
    }

    /// The ways out.
    pub(super) fn outlets(&self) -> Arc<Outlets> {
        Arc::clone(&self.outlets)
    }

    /// Carries messages until a side has said its last, and says which.
    pub(super) fn carry(&mut self, proxy: &Arc<Proxy>) -> Side {
        if let Some(output) = self.output.take() {
            let (client_left, left) = channel();
            let (server_left, ours, theirs) =
                (client_left.clone(), Arc::clone(proxy), Arc::clone(proxy));
            self.left = Some(left);
            thread::spawn(move || {
                super::read_client(&ours);
                client_left.send(Side::Client)
            });
            thread::spawn(move || {
                each_line(BufReader::new(output), |line| match line {
                    Ok(line) => theirs.from_server(line),
                    Err(why) => theirs.server_broke(why),
                });
                server_left.send(Side::Server)
            });
        }
        self.left.as_ref().and_then(|left| left.recv().ok()).unwrap_or(Side::Server)
    }
}

/// Where messages to one side leave.
pub(super) struct Outlet(Mutex<Option<Box<dyn Write + Send>>>);

impl Outlet {
    pub(super) fn send(&self, message: &Message) -> io::Result<()> {
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pipe = pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(format!("{message}\n").as_bytes())?;
        pipe.flush()
    }

    pub(super) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Nothing waits here: it is written when it is sent.
    pub(super) fn flush(&self, _: Duration) {}
}
