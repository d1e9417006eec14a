//! A home folder with a project in it, created for one test and removed after it.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub(crate) use crate::start::binary;
use crate::start::{program, scratch};

/// `home/user` and `home/user/project`, without anything of the real user's.
pub(crate) struct Sandbox {
    folder: PathBuf,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Sandbox {
    pub(crate) fn new(name: &str) -> Self {
        let folder = scratch().join(name);
        let _ = fs::remove_dir_all(&folder);
        let sandbox = Self { folder: folder.clone() };
        fs::create_dir_all(sandbox.project().join(".git")).unwrap();
        sandbox
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home/user")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    /// The data folder of a server for this home folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.home().join(".local/share/countersign")
    }

    /// Writes a file below the project.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes the user's configuration.
    pub(crate) fn configure(&self, text: &str) {
        self.write("../.config/countersign/config.yaml", text);
    }

    /// A command in the project, with the sandbox's environment and no other.
    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = program(name, &self.home());
        command.current_dir(self.project());
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.run_with(args, "")
    }

    /// Runs the binary to its end, with this on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Ended {
        let mut command = self.command(binary());
        command.args(args);
        end(&mut command, input)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Runs a command to its end, with this on standard input.
pub(crate) fn end(command: &mut Command, input: &str) -> Ended {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // On a thread of its own: the child may answer before it has read everything.
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(input.as_bytes());
    });
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: status.code(), out: text(stdout), err: text(stderr) }
}
