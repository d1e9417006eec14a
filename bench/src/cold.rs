//! From start to exit: `/bin/true`, our `check` and hook, and other guards, one after the other.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::sample::Times;

const TURNS: usize = 300;
/// What takes longer than this is started in one turn of so many only.
const SLOW: f64 = 20_000.0;
const SELDOM: usize = 10;

/// Other guards, `name = command line; …`. A word `{}` is the command that is judged; a guard without
/// such a word reads what Claude Code tells its hooks.
const PEERS: &str = "BENCH_PEERS";

/// The three commands that guards of this kind are compared by.
const COMMANDS: [(&str, &str); 3] = [
    ("a harmless command", "ls -la src"),
    ("`rm -rf /`", "rm -rf /"),
    (
        "a heredoc and Python",
        "cat <<'END' > notes.txt\nrm -rf / is bad\nEND\npython3 -c 'print(1)' && git status | head -3",
    ),
];

/// All programs, in turns.
pub(crate) fn table(binary: &Path) -> Result<String, Box<dyn Error>> {
    let folder = Folder::new()?;
    // As installed, which is as copied: the file that a linker has written here and there is kept
    // in many small pieces by the system, and takes a fifth longer to start.
    let installed = folder.0.join("countersign");
    fs::copy(binary, &installed)?;
    let binary = installed.to_str().ok_or("the path of the binary is not text")?;
    let mut programs = vec![
        Program::new("`/bin/true`", "", &["/bin/true"]),
        Program::new("`countersign check`", "≤ 1", &[binary, "check", "shell", "{}"]),
        Program::new("`countersign hook claude-code`", "≤ 1.5", &[binary, "hook", "claude-code"]),
    ];
    programs.extend(peers(&env::var(PEERS).unwrap_or_default())?);
    // The first start of each is not like the others, and tells who is slow.
    for turn in 0..=TURNS {
        for program in &mut programs {
            program.take_turn(turn, &folder)?;
        }
    }
    let mut table = String::from(
        "| cold start | judged | median ms | half of them | least | ratio to `true` | over 1.5 × `true`, ms | goal |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let idle: Vec<f64> = programs.iter().take(1).flat_map(Program::medians).collect();
    for program in &programs {
        program.rows(&idle, &mut table)?;
    }
    Ok(table)
}

/// Something that is started again and again.
struct Program {
    name: String,
    /// How far it may be over 1.5 times `true`.
    goal: &'static str,
    words: Vec<String>,
    times: [Times; COMMANDS.len()],
    is_slow: bool,
}

impl Program {
    fn new(name: &str, goal: &'static str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { name: name.to_owned(), goal, words, times: Default::default(), is_slow: false }
    }

    fn take_turn(&mut self, turn: usize, folder: &Folder) -> Result<(), Box<dyn Error>> {
        if self.is_slow && !turn.is_multiple_of(SELDOM) {
            return Ok(());
        }
        let mut warming = Times::default();
        for (at, (_, judged)) in COMMANDS.iter().enumerate() {
            let mut words = self.words.iter().map(|word| word.replace("{}", judged));
            let mut command = Command::new(words.next().ok_or("no program")?);
            command.args(words).env("HOME", &folder.0).stdin(File::open(folder.payload(at))?);
            let times = if turn == 0 { &mut warming } else { self.times.get_mut(at).ok_or("")? };
            times.add(|| start(&mut command)).map_err(|error| format!("{}: {error}", self.name))?;
        }
        self.is_slow |= warming.least() > SLOW;
        Ok(())
    }

    fn medians(&self) -> impl Iterator<Item = f64> {
        self.times.iter().map(|times| times.median() / 1e3)
    }

    /// One row for each command that was judged, beside what `true` took in the same turns.
    fn rows(&self, idle: &[f64], table: &mut String) -> Result<(), Box<dyn Error>> {
        for (((judged, _), times), idle) in COMMANDS.iter().zip(&self.times).zip(idle) {
            let [low, median, high] = [25, 50, 75].map(|percent| times.percentile(percent) / 1e3);
            let least = times.least() / 1e3;
            let (ratio, over) = (median / idle, median - 1.5 * idle);
            let (name, goal) = (&self.name, self.goal);
            writeln!(
                table,
                "| {name} | {judged} | {median:.2} | {low:.2} to {high:.2} | {least:.2} | {ratio:.2} | {over:.2} | {goal} |"
            )?;
        }
        Ok(())
    }
}

fn start(command: &mut Command) -> Result<(), Box<dyn Error>> {
    // A verdict is told by the exit code, so any code is fine; only not starting is not.
    command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(())
}

/// The guards that somebody has named.
fn peers(named: &str) -> Result<Vec<Program>, Box<dyn Error>> {
    let read = |peer: &str| {
        let (name, words) = peer.split_once('=').ok_or("no `=` in a peer")?;
        let words: Vec<_> = words.split_whitespace().collect();
        Ok(Program::new(name.trim(), "", &words))
    };
    named.split(';').map(str::trim).filter(|peer| !peer.is_empty()).map(read).collect()
}

/// An empty home, with what a host says of each command. Gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Box<dyn Error>> {
        let path = env::temp_dir().join(format!("countersign-bench-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        let folder = Self(path);
        for (at, (_, judged)) in COMMANDS.iter().enumerate() {
            let payload = serde_json::json!({
                "session_id": "s", "cwd": "/tmp", "hook_event_name": "PreToolUse",
                "tool_name": "Bash", "tool_input": {"command": judged},
            });
            fs::write(folder.payload(at), payload.to_string())?;
        }
        Ok(folder)
    }

    fn payload(&self, at: usize) -> PathBuf {
        self.0.join(format!("payload-{at}.json"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind at worst, in the system's temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_named_with_their_command_lines() {
        let found = peers(" a = /bin/a --hook ;\n b=/bin/b {};").unwrap();
        let found: Vec<_> = found.iter().map(|peer| (&*peer.name, peer.words.join(" "))).collect();
        assert_eq!(found, [("a", "/bin/a --hook".to_owned()), ("b", "/bin/b {}".to_owned())]);
        assert!(peers("").unwrap().is_empty() && peers("a").is_err());
    }
}
