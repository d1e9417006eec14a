//! `shell-init` in real shells, on real terminals.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;

const PATIENCE: Duration = Duration::from_secs(20);

/// A shell on a terminal of its own, with simulated typing.
struct Terminal {
    child: Child,
    typed: ChildStdin,
    shown: Receiver<Vec<u8>>,
    all: String,
}

impl Terminal {
    /// Starts a shell, if it is installed.
    fn open(sandbox: &Sandbox, shell: &str, words: &str) -> Option<Self> {
        for program in ["script", shell] {
            if Command::new(program).arg("--version").output().is_err() {
                println!("skipped: there is no {program}");
                return None;
            }
        }
        let mut command = sandbox.command("script");
        command.args(["-qfec", &format!("{shell} {words}"), "/dev/null"]).env("TERM", "xterm");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let (sender, shown) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(read @ 1..) = out.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let typed = child.stdin.take().unwrap();
        Some(Self { child, typed, shown, all: String::new() })
    }

    fn type_in(&mut self, text: &str) {
        self.typed.write_all(text.as_bytes()).unwrap();
        self.typed.flush().unwrap();
    }

    /// Reads until this text is shown, and discards everything up to it.
    fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some((_, rest)) = self.all.split_once(text) {
                self.all = rest.to_owned();
                return;
            }
            if let Ok(more) = self.shown.recv_timeout(Duration::from_millis(100)) {
                self.all.push_str(&String::from_utf8_lossy(&more));
            }
        }
        panic!("`{text}` is not shown: {:?}", self.all);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tests the behaviour that every shell must have once it has read the script.
fn asks_first(shell: &str, words: &str, start: &str, enter: &str) {
    let sandbox = Sandbox::new(&format!("shell-{shell}"));
    let precious = sandbox.write("precious/data.txt", "x");
    let Some(mut terminal) = Terminal::open(&sandbox, shell, words) else { return };
    terminal.type_in(&format!("{start}{enter}"));
    // Spelled so that the echoed line does not contain its own output.
    terminal.type_in(&format!("echo read'y'1{enter}"));
    terminal.wait_for("ready1");
    terminal.type_in(&format!("rm -rf precious; echo aft'e'r{enter}"));
    terminal.wait_for("Proceed? [y/N]");
    assert!(precious.exists(), "{shell}");
    terminal.type_in("n\n");
    std::thread::sleep(Duration::from_millis(300));
    // zsh and fish leave the line for editing; bash starts a new one. Either way it is cleared.
    terminal.type_in("\u{15}");
    terminal.type_in(&format!("echo stil'l'-here{enter}"));
    terminal.wait_for("still-here");
    assert!(precious.exists(), "{shell}: {}", terminal.all);
    terminal.type_in(&format!("rm -rf precious; echo aft'e'r{enter}"));
    terminal.wait_for("Proceed? [y/N]");
    terminal.type_in("y\n");
    terminal.wait_for("after");
    assert!(!fs::exists(&precious).unwrap(), "{shell}");
}

#[test]
fn bash_asks_before_a_destructive_line() {
    asks_first("bash", "--norc -i", "eval \"$(countersign shell-init bash)\"", "\n");
}

#[test]
fn zsh_asks_before_a_destructive_line() {
    asks_first("zsh", "-f -i", "eval \"$(countersign shell-init zsh)\"", "\r");
}

#[test]
fn fish_asks_before_a_destructive_line() {
    asks_first("fish", "-N -i", "countersign shell-init fish | source", "\r");
}

#[test]
fn a_line_that_bash_does_not_remember_is_asked_about_too() {
    let sandbox = Sandbox::new("shell-forgetful");
    let precious = sandbox.write("precious/data.txt", "x");
    let Some(mut terminal) = Terminal::open(&sandbox, "bash", "--norc -i") else { return };
    terminal.type_in("HISTCONTROL=ignorespace; eval \"$(countersign shell-init bash)\"\n");
    terminal.type_in("echo read'y'\n");
    terminal.wait_for("ready");
    terminal.type_in(" true; rm -rf precious\n");
    terminal.wait_for("Proceed? [y/N]");
    terminal.type_in("n\n");
    terminal.type_in("echo don'e'\n");
    terminal.wait_for("done");
    assert!(precious.exists());
}
