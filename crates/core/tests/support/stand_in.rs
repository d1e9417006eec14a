//! Bash as the judge of whether two scripts do the same, with a program that only records the words
//! it was given.
//!
//! Scripts run in a sandbox of namespaces and never without it: nothing outside can be written.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// The root is read-only, and there is nothing beyond the sandbox.
const SANDBOX: &[&str] = &[
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--ro-bind",
    "/",
    "/",
    "--tmpfs",
    "/tmp",
    "--tmpfs",
    "/home",
    "--tmpfs",
    "/usr/local/bin",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--setenv",
    "PATH",
    "/usr/local/bin:/usr/bin:/bin",
    "--setenv",
    "HOME",
    "/home",
    "--chdir",
    "/tmp",
];

/// Runs each script of its input in a folder of its own, and prints the recorded words and the
/// files it left behind.
const DRIVER: &str = r#"
cat > /usr/local/bin/rec <<'END'
#!/bin/sh
line=
for word in "$@"; do line="$line<$word>"; done
echo "$line" >> /tmp/seen
END
cat > /usr/local/bin/sudo <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
END
chmod +x /usr/local/bin/*
while IFS= read -r -d '' script; do
  rm -rf /tmp/work /tmp/seen
  mkdir /tmp/work
  (cd /tmp/work && timeout 10 bash -c "$script") < /dev/null > /dev/null 2>&1
  sort /tmp/seen 2> /dev/null
  ls /tmp/work | grep -v '^\(z\|z\.sh\|d\|nohup\.out\)$'
  printf '\0'
done
"#;

/// The outcome of each script; `None` without a sandbox.
pub(crate) fn outcomes(scripts: &[String]) -> Option<Vec<String>> {
    let mut child = Command::new("bwrap")
        .args(SANDBOX)
        .args(["bash", "-c", DRIVER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take()?;
    let text = scripts.iter().fold(String::new(), |text, script| text + script + "\0");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().ok()?;
    // A sandbox that could not be made closes its end at once.
    let _ = writer.join();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let outcomes: Vec<_> = text.split_terminator('\0').map(str::to_owned).collect();
    (outcomes.len() == scripts.len()).then_some(outcomes)
}
