//! A throw-away root in which a script may do anything.
//!
//! The root is a small tmpfs that ends with the script; the system's programs are bound into it
//! read-only. It has neither network nor capabilities, only three harmless devices, and its root
//! user is unprivileged outside, even where this task is run by root. Nothing is ever run without
//! it: [`Sandbox::new`] fails where it cannot be created.

use std::io::Read as _;
use std::process::{Command, Stdio};

use super::plant;
use crate::Result;

/// System calls that touch something, and those that change a process's working folder.
const TRACED: &str = "trace=open,openat,openat2,creat,unlink,unlinkat,rmdir,rename,renameat,\
                      renameat2,link,linkat,symlink,symlinkat,truncate,chmod,fchmodat,chown,lchown,\
                      fchownat,mkdir,mkdirat,mknod,mknodat,execve,execveat,socket,connect,sendto,kill,\
                      setxattr,lsetxattr,mount,chdir,fchdir";

/// The wall-clock time of one script, in seconds.
const PATIENCE: &str = "4";
/// The length past which a trace is cut; the calls before that count.
const MOST_TRACE: u64 = 8 * 1024 * 1024;

/// The words before the sandbox's own: resource limits.
const LIMITS: &[&str] = &[
    "prlimit",
    "--nproc=400",
    "--as=4294967296",
    "--data=1073741824",
    "--fsize=16777216",
    "--cpu=4",
    "--core=0",
    "--nofile=256",
    "timeout",
    "-s",
    "KILL",
    PATIENCE,
];

const NOBODY: &[&str] =
    &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"];

const ROOT: &[&str] = &[
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    "--uid",
    "0",
    "--gid",
    "0",
    "--hostname",
    "box",
    "--size",
    "268435456",
    "--tmpfs",
    "/",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/sbin",
    "/sbin",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--proc",
    "/proc",
    "--dir",
    "/dev",
    "--dev-bind",
    "/dev/null",
    "/dev/null",
    "--dev-bind",
    "/dev/zero",
    "/dev/zero",
    "--dev-bind",
    "/dev/urandom",
    "/dev/urandom",
    "--symlink",
    "/proc/self/fd",
    "/dev/fd",
    "--symlink",
    "/proc/self/fd/0",
    "/dev/stdin",
    "--symlink",
    "/proc/self/fd/1",
    "/dev/stdout",
    "--symlink",
    "/proc/self/fd/2",
    "/dev/stderr",
    "--ro-bind-try",
    "/etc/ld.so.cache",
    "/etc/ld.so.cache",
    // The programs behind `awk` and the like.
    "--ro-bind-try",
    "/etc/alternatives",
    "/etc/alternatives",
    "--setenv",
    "PATH",
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "--setenv",
    "HOME",
    plant::HOME,
    "--setenv",
    "USER",
    "dev",
    "--setenv",
    "LANG",
    "C.UTF-8",
    "--setenv",
    "TERM",
    "dumb",
];

/// Proof that a sandbox can be created here.
#[derive(Debug)]
pub(crate) struct Sandbox {
    /// The program that creates it, and the words before it.
    words: Vec<String>,
}

/// The result of one script.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit code; `None` when it was killed.
    pub(crate) code: Option<i32>,
    /// Its system calls.
    pub(crate) trace: String,
}

impl Sandbox {
    /// Creates the sandbox with this program, and tests it.
    ///
    /// # Errors
    /// It is missing or does not work, or something in it is not as safe as it should be.
    pub(crate) fn new(bwrap: &str) -> Result<Self> {
        let nobody = if is_root()? { NOBODY } else { &[] };
        let words = nobody.iter().chain(LIMITS).copied().chain([bwrap]).chain(ROOT.iter().copied());
        let sandbox = Self { words: words.map(str::to_owned).collect() };
        sandbox.try_out(bwrap)?;
        Ok(sandbox)
    }

    /// Runs a script, with the files it names.
    ///
    /// # Errors
    /// The sandbox cannot be started.
    pub(crate) fn run(&self, script: &str, files: &[String]) -> Result<Run> {
        let init = plant::init(script.contains("git "));
        let strace = format!(
            "{init}\nscript=$1\nshift\nplant_named \"$@\"\ncd {}\nmkfifo /.trace\n\
             cat /.trace &\n\
             strace -f -y -qq -s 256 --seccomp-bpf -e '{TRACED}' -e signal=none -o /.trace \
             sh -c 'exec bash -c \"$1\"' sh \"$script\" < /dev/null > /dev/null 2>&1\n\
             code=$?\nwait\nexit $code",
            plant::WORKSPACE,
        );
        let mut command = self.command(&["sh", "-c", &strace, "init", script]);
        let mut child = command
            .args(files)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut trace = Vec::new();
        if let Some(out) = child.stdout.take() {
            out.take(MOST_TRACE).read_to_end(&mut trace)?;
        }
        let status = child.wait()?;
        Ok(Run { code: status.code(), trace: String::from_utf8_lossy(&trace).into_owned() })
    }

    fn command(&self, words: &[&str]) -> Command {
        let (program, before) =
            self.words.split_first().map_or(("false", [].as_slice()), |(p, b)| (p, b));
        let mut command = Command::new(program);
        command.args(before).args(words).env_remove("BASH_ENV").env_remove("ENV");
        command
    }

    /// Checks from inside that the system is read-only and the network unreachable.
    fn try_out(&self, bwrap: &str) -> Result {
        let words = ["sh", "-c", TRIAL];
        let output = self
            .command(&words)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("no sandbox, so nothing is run: {bwrap}: {error}"))?;
        if output.status.success() && output.stdout.trim_ascii() == b"safe" {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        Err(format!("no sandbox, so nothing is run: `{bwrap}`: {}: {said}", output.status).into())
    }
}

/// Prints `safe` where the system is read-only, homes and devices are missing, only the loopback
/// interface exists and no capability is left.
const TRIAL: &str = r#"
if (: > /usr/trial) 2> /dev/null; then echo "/usr can be written" >&2; exit 1; fi
if (: > /proc/sys/kernel/hostname) 2> /dev/null; then echo "/proc can be written" >&2; exit 1; fi
for path in /root /home /var /sys /dev/sda /dev/vda /etc/shadow; do
  if [ -e "$path" ]; then echo "$path is there" >&2; exit 1; fi
done
while read -r name _; do
  case $name in Inter-*|face*|lo:*) ;; *) echo "$name is there" >&2; exit 1 ;; esac
done < /proc/net/dev
while read -r name value; do
  case $name in
    CapEff:|CapPrm:|CapBnd:)
      [ "$value" = 0000000000000000 ] || { echo "$name $value" >&2; exit 1; } ;;
  esac
done < /proc/self/status
# Its files would be ours if its root were.
[ "$(stat -c %u /usr)" != 0 ] || { echo "root is root outside" >&2; exit 1; }
command -v strace > /dev/null || { echo "no strace" >&2; exit 1; }
echo safe
"#;

fn is_root() -> Result<bool> {
    Ok(Command::new("id").arg("-u").output()?.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_run_without_the_sandbox() {
        let missing = Sandbox::new("bwrap-that-is-not-there").unwrap_err().to_string();
        assert!(missing.contains("nothing is run"), "{missing}");
        // A program that takes the words and runs nothing, and one that runs without a sandbox.
        for other in ["true", "false", "env"] {
            assert!(Sandbox::new(other).is_err(), "{other}");
        }
    }

    #[test]
    fn a_script_is_seen_and_leaves_nothing() {
        let Ok(sandbox) = Sandbox::new("bwrap") else {
            eprintln!("skipped: no sandbox here");
            return;
        };
        let run = sandbox.run("rm ~/.netrc; exit 7", &[]).unwrap();
        assert_eq!(run.code, Some(7));
        assert!(run.trace.contains("unlinkat(AT_FDCWD</home/dev/project>"), "{}", run.trace);
        let again = sandbox.run("test -e ~/.netrc", &[]).unwrap();
        assert_eq!(again.code, Some(0));
    }
}
