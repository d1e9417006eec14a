//! Scripts that call `probe`: the words that bash passes to it, and the words that we predict.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot be set up fails"
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use countersign_core::Context;
use countersign_core::analyze::{UNKNOWN, shell};
use countersign_core::location::Scene;

/// Pseudo-random numbers, the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    pub(crate) fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.roll(all.len())]
    }

    pub(crate) fn text(&mut self, pieces: &[&str], most: usize) -> String {
        (0..self.roll(most + 1)).map(|_| self.pick(pieces)).collect()
    }
}

fn found(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The words that bash passes to `probe`, for each script.
fn by_bash(scripts: &[String], tools: &[&str]) -> Vec<Option<Vec<String>>> {
    let folder = std::env::temp_dir().join(format!("countersign-expansion-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for tool in tools {
        if let Some(path) = found(tool) {
            let _ = std::os::unix::fs::symlink(path, folder.join(tool));
        }
    }
    let empty = folder.join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let mut text = "set -f; probe() { printf '%s\\001' \"$@\"; }\n".to_owned();
    for script in scripts {
        let _ = write!(text, "(\n{script}\n) 2>/dev/null\nprintf '\\002'\n");
    }
    let mut bash = Command::new(found("bash").unwrap())
        .args(["--norc", "--noprofile", "-s"])
        .env_clear()
        .env("PATH", &folder)
        .env("HOME", "/home/dev")
        .env("LC_ALL", "C.UTF-8")
        .current_dir(&empty)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = bash.stdin.take().unwrap();
    let feed = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = bash.wait_with_output().unwrap();
    feed.join().unwrap().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // For a script that bash refuses the output is an error, which does not end in our mark.
    let words = |case: &str| {
        let words: Vec<_> = case.split('\u{1}').map(str::to_owned).collect();
        (words.len() > 1 && words.last().is_some_and(String::is_empty))
            .then(|| words[..words.len() - 1].to_vec())
    };
    said.split('\u{2}').take(scripts.len()).map(words).collect()
}

/// The words that we predict for `probe`: each possibility.
fn by_us(script: &str) -> Vec<Vec<String>> {
    let context = Context { home: Some("/home/dev".into()), ..Context::default() };
    let analysis = shell::analyze(script, &Scene::new(&context, &[]));
    let probes = analysis.commands.into_iter().filter(|command| command.program == "probe");
    probes.map(|command| command.words).collect()
}

/// Removes empty words. Whether one is kept depends on its neighbours, and commands do not differ
/// by that.
fn without_empty(words: Vec<String>) -> Vec<String> {
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

/// The number of scripts that are compared.
pub(crate) fn count(usual: usize) -> usize {
    std::env::var("COUNTERSIGN_SCRIPTS").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// Fails where our prediction for a script differs from bash. Bash finds these tools and no others.
pub(crate) fn compare(scripts: &[String], tools: &[&str]) {
    if found("bash").is_none() {
        eprintln!("skipped: no bash here");
        return;
    }
    let missing: Vec<_> = tools.iter().filter(|tool| found(tool).is_none()).collect();
    let is_whole = |script: &&String| {
        let mut words = script.split(|char: char| !char.is_ascii_alphanumeric());
        !words.any(|word| missing.iter().any(|tool| **tool == word))
    };
    let scripts: Vec<_> = scripts.iter().filter(is_whole).cloned().collect();
    if !missing.is_empty() {
        eprintln!("not compared: scripts with {missing:?}, which are not installed");
    }
    let (mut known, mut wrong) = (0, Vec::new());
    for (script, bash) in scripts.iter().zip(by_bash(&scripts, tools)) {
        let Some(bash) = bash.map(without_empty) else { continue };
        let ours: Vec<_> = by_us(script).into_iter().map(without_empty).collect();
        let is_open = |words: &Vec<String>| words.iter().any(|word| word.contains(UNKNOWN));
        if ours.iter().any(is_open) {
            continue;
        }
        known += 1;
        if !ours.contains(&bash) {
            wrong.push(format!("{script}\n  bash {bash:?}\n  ours {ours:?}"));
        }
    }
    eprintln!("{known} of {} scripts are worked out", scripts.len());
    let shown: Vec<_> = wrong.iter().take(20).cloned().collect();
    assert!(wrong.is_empty(), "{} of {known} wrong:\n{}", wrong.len(), shown.join("\n\n"));
    assert!(known > scripts.len() / 5, "{known} of {} were worked out", scripts.len());
}
