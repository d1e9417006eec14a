//! The order that an executor gives to a supervisor, and the supervisor's reports.
//!
//! Both go over one socket. The opened files of an order are handed over with its first bytes. The
//! end of the executor's side of the socket means that everything must end.

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};

/// The most bytes of an order.
const MOST_BYTES: usize = 64 * 1_024 * 1_024;

/// The most files of an order.
const MOST_FILES: usize = 8;

/// The command to start.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// The path of the program, where the system cannot start an opened file.
    pub(crate) path: String,
    /// The name that the program is told that it has.
    pub(crate) argv0: String,
    /// Its arguments.
    pub(crate) arguments: Vec<Argument>,
    /// Its whole environment.
    pub(crate) environment: Vec<(String, String)>,
    /// True where a file is its standard input.
    pub(crate) has_input: bool,
    /// The path of its folder, where the system cannot enter an opened one.
    pub(crate) folder: String,
}

/// An argument of a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Argument {
    /// These words.
    Word(String),
    /// The path of the sealed copy of a script.
    Script,
}

/// The opened files of an order.
#[derive(Debug)]
pub(crate) struct Files {
    /// The program to start.
    pub(crate) program: OwnedFd,
    /// The folder to start it in.
    pub(crate) folder: OwnedFd,
    /// Its standard input.
    pub(crate) input: Option<OwnedFd>,
    /// The sealed copy of a script that it reads.
    pub(crate) script: Option<OwnedFd>,
}

/// A report of a supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The command has this process id, which is also that of its process group.
    Started(i32),
    /// The command could not be started.
    NotStarted(String),
    /// Everything is over.
    Over(Over),
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Over {
    /// The exit code.
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// The number of processes that it had left behind, and that were ended.
    pub(crate) left_behind: u32,
    /// True where some of what it started could not be ended.
    pub(crate) some_remain: bool,
}

impl Order {
    /// Sends the order with its files.
    pub(crate) fn send(&self, socket: &UnixStream, files: &Files) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut descriptors = vec![files.program.as_fd(), files.folder.as_fd()];
        descriptors.extend(files.input.iter().chain(&files.script).map(|file| file.as_fd()));
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let header = length.to_be_bytes();
        let sent = rustix::net::sendmsg(
            socket,
            &[IoSlice::new(&header)],
            &mut ancillary,
            SendFlags::empty(),
        )?;
        let mut socket = socket;
        socket.write_all(header.get(sent..).unwrap_or_default())?;
        socket.write_all(&text)
    }

    /// Receives an order with its files.
    pub(crate) fn receive(socket: &UnixStream) -> io::Result<(Self, Files)> {
        let mut header = [0; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::net::recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut header)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        let mut files = ancillary.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => files.collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        let (program, folder) = (files.next(), files.next());
        let rest: Vec<OwnedFd> = files.collect();
        let mut socket = socket;
        socket.read_exact(header.get_mut(received.bytes..).unwrap_or_default())?;
        let length = u32::from_be_bytes(header) as usize;
        if length > MOST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = vec![0; length];
        socket.read_exact(&mut text)?;
        let order: Self = serde_json::from_slice(&text)?;
        let mut rest = rest.into_iter();
        let input = if order.has_input { rest.next() } else { None };
        let missing = || io::Error::from(io::ErrorKind::InvalidData);
        let files = Files {
            program: program.ok_or_else(missing)?,
            folder: folder.ok_or_else(missing)?,
            input,
            script: rest.next(),
        };
        Ok((order, files))
    }
}

impl Report {
    /// Sends the report as one line.
    pub(crate) fn send(&self, mut socket: &UnixStream) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        socket.write_all(&line)
    }

    /// Reads the reports that are whole, and leaves the rest.
    pub(crate) fn take(bytes: &mut Vec<u8>) -> Vec<Self> {
        let mut reports = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = bytes.drain(..=end).collect();
            reports.extend(serde_json::from_slice(&line).ok());
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn an_order_arrives_with_its_files() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let order = Order {
            path: "/bin/true".to_owned(),
            argv0: "true".to_owned(),
            arguments: vec![Argument::Word("a".to_owned()), Argument::Script],
            environment: Vec::new(),
            has_input: false,
            folder: "/".to_owned(),
        };
        let open = |path: &str| OwnedFd::from(File::open(path).unwrap());
        let files = Files {
            program: open("/dev/null"),
            folder: open("/"),
            input: None,
            script: Some(open("/dev/zero")),
        };
        order.send(&ours, &files).unwrap();
        let (received, files) = Order::receive(&theirs).unwrap();
        assert_eq!(received.argv0, "true");
        assert!(files.input.is_none() && files.script.is_some());
    }

    #[test]
    fn reports_are_read_line_by_line() {
        let over = Report::Over(Over { code: Some(1), ..Over::default() });
        let mut bytes = serde_json::to_vec(&over).unwrap();
        bytes.extend(b"\n{\"sta");
        assert_eq!(Report::take(&mut bytes), [over]);
        assert_eq!(bytes, b"{\"sta");
    }
}
