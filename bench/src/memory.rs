//! How much memory a check takes at its highest, as the kernel counts it.

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

const ACTIONS: [&str; 2] = [
    r#"{"kind":"shell","command":"ls -la src"}"#,
    r#"{"kind":"shell","command":"find . -name '*.tmp' -exec rm -rf {} +"}"#,
];

/// The peak while it waits for the next line of a batch: a process that has ended has no memory
/// to look at.
pub(crate) fn table(binary: &Path) -> Result<String, Box<dyn Error>> {
    let mut check = Command::new(binary)
        .args(["check", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = check.stdin.take().ok_or("no standard input")?;
    let mut output = BufReader::new(check.stdout.take().ok_or("no standard output")?);
    for action in ACTIONS {
        writeln!(input, "{action}")?;
        input.flush()?;
        output.read_line(&mut String::new())?;
    }
    let status = fs::read_to_string(format!("/proc/{}/status", check.id()))?;
    drop(input);
    check.wait()?;
    let peak = kilobytes(&status).ok_or("the kernel does not say")?;
    Ok(format!(
        "| memory | MB | goal |\n|---|---|---|\n| peak of a check | {:.1} | < 15 |\n",
        f64::from(peak) / 1024.0
    ))
}

fn kilobytes(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_kernels_page() {
        assert_eq!(kilobytes("Name:\tx\nVmHWM:\t   5124 kB\nVmRSS:\t 4 kB\n"), Some(5124));
        assert_eq!(kilobytes("Name:\tx\n"), None);
    }
}
