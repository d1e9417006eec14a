//! The least that can stand between a client and a server: a thread for each way, which copies
//! bytes and reads none of them.

use std::error::Error;
use std::io::{Read, Write, stdin, stdout};
use std::process::{Command, Stdio, exit};
use std::thread;

/// Stands between our standard input and output and those of a program, until either is gone.
pub(crate) fn relay(program: &str, words: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(program);
    let mut child = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (to, from) = (child.stdin.take(), child.stdout.take());
    let (to, from) = (to.ok_or("no standard input")?, from.ok_or("no standard output")?);
    thread::spawn(move || {
        copy(from, stdout());
        exit(0);
    });
    copy(stdin(), to);
    child.wait()?;
    Ok(())
}

/// Copies what there is as soon as there is something.
fn copy(mut from: impl Read, mut to: impl Write) {
    let mut chunk = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        let bytes = chunk.get(..read).unwrap_or_default();
        if to.write_all(bytes).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}
