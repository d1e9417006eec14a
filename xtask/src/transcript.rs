//! The commands in README.md and the guide, run as they are written, with their output compared.
//!
//! A block fenced as `console` is one session: lines that begin with `$ ` (and continue with `> `)
//! are run by one `sh`; the text after each is its expected output, standard error included. The
//! session starts in the empty folder `project` of an empty home, which the page calls `/home/you`.
//! `cargo run --release -- …` runs the binary that is already built, so that CI builds only one
//! profile. A block fenced as `shellsession` needs a browser; the acceptance tests perform it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::process::{PROFILE, cargo, root, run as run_command, target};

/// Runs every session.
///
/// # Errors
/// A session's output differs from the page, or it cannot be run.
pub(crate) fn run(args: &[&str]) -> Result {
    let bless = match args {
        [] => std::env::var_os("BLESS").is_some(),
        ["--bless"] => true,
        other => return Err(format!("unknown option `{}`", other.join(" ")).into()),
    };
    // The whole workspace with its tests, so that nothing is compiled again with fewer features.
    run_command(&mut cargo(&["build", "--workspace", "--all-targets", "--profile", PROFILE]))?;
    let mut stale = Vec::new();
    for page in pages()? {
        let text = fs::read_to_string(&page)?;
        let actual = replay(&text)?;
        let name = page.strip_prefix(root()).unwrap_or(&page).display().to_string();
        if actual == text {
            println!("{name}: {} sessions as written", text.matches(FENCE).count());
        } else if bless {
            fs::write(&page, actual)?;
            println!("{name}: rewritten");
        } else {
            stale.push(format!("{name}:\n{}", differences(&text, &actual)));
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(stale.join("\n").into()) }
}

const FENCE: &str = "```console\n";

/// Returns README.md and every page of the guide.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![root().join("README.md")];
    let mut guide: Vec<PathBuf> = fs::read_dir(root().join("docs/guide"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    guide.sort();
    pages.append(&mut guide);
    Ok(pages)
}

/// Returns the page as if every session had just been recorded.
fn replay(page: &str) -> Result<String> {
    let mut replayed = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(FENCE) {
        let (session, after) = after.split_once("```").ok_or("a console block has no end")?;
        let _ = write!(replayed, "{before}{FENCE}{}```", record(session)?);
        rest = after;
    }
    replayed.push_str(rest);
    Ok(replayed)
}

/// Runs one session again.
fn record(session: &str) -> Result<String> {
    let commands = commands(session);
    let home = Scratch::new()?;
    let output = Command::new("sh")
        .arg("-c")
        .arg(script(&commands))
        .current_dir(home.0.join(PROJECT))
        // Nothing of the environment of the person who runs it has an influence.
        .env_clear()
        .env("HOME", &home.0)
        .env("PATH", path()?)
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .output()?;
    let printed = String::from_utf8(output.stdout)?;
    let mut parts = printed.split(MARK);
    let mut recorded = String::new();
    for command in commands {
        let _ = writeln!(recorded, "$ {}", command.replace('\n', "\n> "));
        let part = parts.next().unwrap_or_default();
        recorded.push_str(part.strip_prefix('\n').unwrap_or(part));
        if !part.is_empty() && !part.ends_with('\n') {
            recorded.push('\n');
        }
    }
    Ok(recorded.replace(&*home.0.to_string_lossy(), "/home/you"))
}

/// Returns the typed commands: lines after `$ `, and the lines right after them that begin with `>
/// `.
fn commands(session: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut typing = false;
    for line in session.lines() {
        let more = line.strip_prefix("> ").or((line == ">").then_some(""));
        match (line.strip_prefix("$ "), more, commands.last_mut()) {
            (Some(first), _, _) => commands.push(first.to_owned()),
            (None, Some(more), Some(command)) if typing => {
                command.push('\n');
                command.push_str(more);
            }
            _ => {
                typing = false;
                continue;
            }
        }
        typing = true;
    }
    commands
}

/// Printed after each command to separate the outputs.
const MARK: &str = "\u{1}countersign-transcript\u{1}";

/// Returns a script with all commands in one shell, each followed by the mark, with `$?` passed on
/// to the next.
fn script(commands: &[String]) -> String {
    let mut script = String::from("exec 2>&1\n");
    for command in commands {
        let command = command.replace("cargo run --release -- ", "countersign ");
        let _ = writeln!(script, "{command}\nlast=$?; printf '{MARK}'; (exit $last)");
    }
    script
}

/// Returns `PATH` with our binary first.
fn path() -> Result<std::ffi::OsString> {
    let mut folders = vec![target().join(PROFILE)];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    Ok(std::env::join_paths(folders)?)
}

fn differences(written: &str, actual: &str) -> String {
    let gone = written.lines().filter(|line| !actual.lines().any(|other| other == *line));
    let new = actual.lines().filter(|line| !written.lines().any(|other| other == *line));
    let lines = gone
        .map(|line| format!("  says   {line}"))
        .chain(new.map(|line| format!("  prints {line}")));
    lines.collect::<Vec<_>>().join("\n")
}

const PROJECT: &str = "project";

/// An empty home that is deleted on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        // Not below the workspace, whose repository the sessions would take for theirs; and one for
        // each session, because tests record theirs concurrently.
        let unique =
            format!("countersign-{}-{:?}", std::process::id(), std::thread::current().id());
        let home = std::env::temp_dir().join(unique.replace(['(', ')'], "-"));
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        fs::create_dir_all(home.join(PROJECT))?;
        Ok(Self(fs::canonicalize(home)?))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // At worst it is left behind, in the system's temporary folder.
        let _ = fs::remove_dir_all(Path::new(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_recorded_with_outputs_errors_and_exit_codes() {
        let session = "$ echo a\nold\n$ echo b >&2; (exit 3)\n$ echo $?\n";
        assert_eq!(
            record(session).unwrap(),
            "$ echo a\na\n$ echo b >&2; (exit 3)\nb\n$ echo $?\n3\n"
        );
    }

    #[test]
    fn a_command_may_go_on_over_several_lines() {
        let session = "$ cat <<'END'\n> a\n> END\na\n$ echo '> b'\n> b\n";
        assert_eq!(commands(session), ["cat <<'END'\na\nEND", "echo '> b'\nb"]);
        let session = "$ cat <<'END'\n> a\n> END\na\n";
        assert_eq!(record(session).unwrap(), session);
    }

    #[test]
    fn only_console_blocks_are_run() {
        let page = "x\n```sh\n$ echo no\n```\n```console\n$ echo yes\n```\ny\n";
        assert_eq!(replay(page).unwrap(), page.replace("echo yes\n", "echo yes\nyes\n"));
    }

    #[test]
    fn a_session_starts_in_an_empty_home() {
        assert_eq!(record("$ ls -A; pwd\n").unwrap(), "$ ls -A; pwd\n/home/you/project\n");
    }
}
