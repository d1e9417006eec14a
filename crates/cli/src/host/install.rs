//! Installs hooks into files, and removes them again.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::ValueEnum;
use countersign_core::rule;
use serde_json::{Map, Value, json};

use crate::host::edit::{self, Document, To};
use crate::quote;

mod entry;

pub(crate) use entry::{Entry, Line};
use entry::{EntryKind, has_ours};

/// The status line that a host shows while a hook runs: where to answer if it waits.
pub(crate) const WAITS: &str =
    "Countersign; if this waits, answer in its console or with `countersign watch`";

/// For whom a hook is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// This user, in every project
    User,
    /// Everyone who works on this project
    Project,
    /// Everyone on this machine
    Managed,
}

impl Scope {
    /// Its name in options and messages.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Managed => "managed",
        }
    }
}

/// The parameters of an installation.
#[derive(Debug, Clone)]
pub(crate) struct Installed<'a> {
    pub(crate) scope: Scope,
    pub(crate) home: Option<&'a Path>,
    pub(crate) project: &'a Path,
    /// The folder that contains managed files: `/`, except in tests and packages.
    pub(crate) root: &'a Path,
    /// The path of our binary.
    pub(crate) program: &'a str,
    /// The timeout of the hook in the host.
    pub(crate) seconds: u64,
}

/// Runs its arguments, and says no if they fail without having said it: all hosts that run hooks by
/// a shell read exit code 2 and a text on standard error as a no.
const OR_NO: &str = r#""$@" || { [ $? = 2 ] || echo "The Countersign hook ended without an answer, so this is refused." >&2; exit 2; }"#;

impl Installed<'_> {
    /// Returns a path in the home folder.
    ///
    /// # Errors
    /// The home folder is not known.
    pub(crate) fn home(&self, folder: &str) -> Result<PathBuf> {
        let home = self.home.ok_or_else(|| anyhow!("no home folder: set $HOME"))?;
        Ok(home.join(folder))
    }

    /// Returns the folder that a variable names, or one in the home folder.
    ///
    /// # Errors
    /// The variable is not set, and the home folder is not known.
    pub(crate) fn home_or(&self, variable: &str, folder: &str) -> Result<PathBuf> {
        match env::var_os(variable).filter(|value| !value.is_empty()) {
            Some(named) => Ok(PathBuf::from(named)),
            None => self.home(folder),
        }
    }

    /// The managed path for this operating system; an entry without a name is for all others.
    pub(crate) fn managed(&self, places: &[(&str, &str)]) -> PathBuf {
        let here = |name: &str| name == env::consts::OS || name.is_empty();
        let place = places.iter().find(|(system, _)| here(system));
        let place = place.map(|(_, place)| place.trim_start_matches('/')).unwrap_or_default();
        self.root.join(place)
    }

    /// The hook, as a program and its arguments.
    pub(crate) fn words(&self, host: &str) -> (String, Vec<String>) {
        let words = ["hook", host, "--timeout", &self.seconds.to_string()].map(str::to_owned);
        (self.program.to_owned(), words.to_vec())
    }

    /// The hook as a program and its arguments, for hosts that treat a hook which was killed or
    /// cannot be started as a yes: a shell waits for it, and says no in its place.
    pub(crate) fn words_or_no(&self, host: &str) -> (String, Vec<String>) {
        let (program, words) = self.words(host);
        let shell = ["-c", OR_NO, "sh", &program].map(str::to_owned);
        ("/bin/sh".to_owned(), shell.into_iter().chain(words).collect())
    }

    /// The hook, as a command line for a shell.
    pub(crate) fn line(&self, host: &str) -> String {
        line(&self.words(host))
    }

    /// The hook with its shell (see [`Self::words_or_no`]), as a command line for another shell:
    /// quoted so that every shell a user may have reads it the same way.
    pub(crate) fn line_or_no(&self, host: &str) -> String {
        line(&self.words_or_no(host))
    }
}

fn line((program, words): &(String, Vec<String>)) -> String {
    quote::join(std::iter::once(program).chain(words).map(String::as_str))
}

/// One file that is created or changed.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    /// Entries in a JSON file that others write too.
    Json { host: &'static str, entries: Vec<Entry>, fresh: Value },
    /// Lines at the end of a file that others write too, between two marker lines.
    Lines(String),
    /// A file of our own.
    Whole { text: String, executable: bool },
    /// A file of our own that an earlier version created and that is to be removed.
    Gone,
}

const BEGIN: &str = "# >>> countersign >>>";
const END: &str = "# <<< countersign <<<";
/// Added to the first marker when the file did not end with a line break.
const JOINED: &str = " (there was no line break before)";

impl Change {
    /// Adds hooks to a JSON file.
    pub(crate) fn json(path: PathBuf, host: &'static str, entries: Vec<Entry>) -> Self {
        Self { path, what: What::Json { host, entries, fresh: json!({}) } }
    }

    /// Adds another entry.
    pub(crate) fn and(mut self, entry: Entry) -> Self {
        if let What::Json { entries, .. } = &mut self.what {
            entries.push(entry);
        }
        self
    }

    /// Sets the content that a newly created file must have.
    pub(crate) fn fresh(mut self, says: Value) -> Self {
        if let What::Json { fresh, .. } = &mut self.what {
            *fresh = says;
        }
        self
    }

    /// Adds lines to the end of a file whose comments begin with `#`.
    pub(crate) fn lines(path: PathBuf, text: String) -> Self {
        Self { path, what: What::Lines(text) }
    }

    /// Creates a file of our own.
    pub(crate) fn whole(path: PathBuf, text: String) -> Self {
        Self { path, what: What::Whole { text, executable: false } }
    }

    /// Creates a program of our own.
    pub(crate) fn script(path: PathBuf, text: String) -> Self {
        Self { path, what: What::Whole { text, executable: true } }
    }

    /// Removes a file of our own.
    pub(crate) fn gone(path: PathBuf) -> Self {
        Self { path, what: What::Gone }
    }

    /// The text of the file after installing; `None` where it is to be removed.
    ///
    /// # Errors
    /// The present file cannot be parsed, or somebody else wrote it.
    pub(crate) fn after(&self, now: Option<&str>) -> Result<Option<String>> {
        match &self.what {
            What::Gone => self.removed(now),
            What::Json { .. } | What::Lines(_) | What::Whole { .. } => {
                self.installed(now).map(Some)
            }
        }
    }

    /// Reports whether the file is executable.
    pub(crate) const fn is_executable(&self) -> bool {
        matches!(self.what, What::Whole { executable: true, .. })
    }

    /// The text of the file with our entries.
    ///
    /// # Errors
    /// The present file cannot be parsed, or somebody else wrote it.
    pub(crate) fn installed(&self, now: Option<&str>) -> Result<String> {
        match &self.what {
            What::Gone => Ok(now.unwrap_or_default().to_owned()),
            What::Whole { text, .. } => {
                let theirs = now.is_some_and(|now| !now.contains("countersign"));
                if theirs {
                    bail!("`{}` is somebody else's", self.path.display());
                }
                Ok(text.clone())
            }
            What::Lines(text) => {
                let now = without_lines(now.unwrap_or_default());
                let joined = !now.is_empty() && !now.ends_with('\n');
                let (gap, said) = if joined { ("\n", JOINED) } else { ("", "") };
                Ok(format!("{now}{gap}{BEGIN}{said}\n{text}{END}\n"))
            }
            What::Json { host, entries, fresh } => {
                let Some(now) = now.filter(|now| !now.trim().is_empty()) else {
                    return Ok(edit::file(&whole(fresh, entries)));
                };
                let document = self.read(now)?;
                if entries.iter().all(|entry| entry.is_in(&document, host)) {
                    return Ok(now.to_owned());
                }
                let Some(mut document) = take_away(document, entries, host)? else {
                    return Ok(edit::file(&whole(fresh, entries)));
                };
                for entry in entries {
                    for item in &entry.items {
                        document = document.push(&entry.keys(), item)?;
                    }
                }
                Ok(document.text().to_owned())
            }
        }
    }

    /// The text of the file without our entries; `None` when it was ours alone.
    ///
    /// # Errors
    /// The present file cannot be parsed.
    pub(crate) fn removed(&self, now: Option<&str>) -> Result<Option<String>> {
        let Some(now) = now else { return Ok(None) };
        match &self.what {
            What::Whole { .. } | What::Gone => {
                Ok((!now.contains("countersign")).then(|| now.to_owned()))
            }
            What::Lines(_) => {
                let left = without_lines(now);
                Ok((!left.is_empty()).then_some(left))
            }
            What::Json { host, entries, fresh } => {
                if now.trim().is_empty() {
                    return Ok(Some(now.to_owned()));
                }
                let left = take_away(self.read(now)?, entries, host)?;
                let left = left.map(|left| left.text().to_owned());
                let is_fresh = |left: &String| fresh != &json!({}) && *left == edit::file(fresh);
                Ok(left.filter(|left| !is_fresh(left)))
            }
        }
    }

    /// The commands of all hooks of ours in the file.
    pub(crate) fn found(&self, now: &str) -> Vec<Line> {
        match &self.what {
            What::Json { host, entries, .. } => {
                let Ok(document) = Document::read(now) else { return Vec::new() };
                let lists = entries.iter().filter(|entry| entry.kind == EntryKind::Hook);
                let items = lists.flat_map(|entry| entry.list(&document));
                let handlers = items.flat_map(|item| match item.get("hooks") {
                    Some(Value::Array(handlers)) => handlers.clone(),
                    _ => vec![item],
                });
                let lines = handlers.filter_map(|handler| Line::of(&handler));
                lines.filter(|line| line.is_ours(host)).collect()
            }
            What::Gone => Vec::new(),
            What::Lines(_) | What::Whole { .. } => {
                let said = |line: &str| {
                    let line = line.strip_prefix("# runs: ").or(line.strip_prefix("// runs: "));
                    line.map(|line| Line::Shell(line.to_owned()))
                };
                now.lines().filter_map(said).collect()
            }
        }
    }

    /// Reports whether everything that belongs in the file is there.
    pub(crate) fn is_in(&self, now: Option<&str>) -> bool {
        self.installed(now).is_ok_and(|wanted| now == Some(wanted.as_str()))
    }

    fn read(&self, now: &str) -> Result<Document> {
        let wrong = || format!("`{}` cannot be read, so it is left alone", self.path.display());
        Document::read(now).with_context(wrong)
    }
}

fn take_away(mut document: Document, entries: &[Entry], host: &str) -> Result<Option<Document>> {
    for entry in entries.iter().rev() {
        match entry.take_away(document, host)? {
            Some(less) => document = less,
            None => return Ok(None),
        }
    }
    Ok(Some(document))
}

/// The content of a file with nothing but our entries.
fn whole(fresh: &Value, entries: &[Entry]) -> Value {
    let mut root = fresh.clone();
    for entry in entries {
        put(&mut root, &entry.keys, &entry.items);
    }
    root
}

/// Adds items to the end of a list, below these keys.
fn put(into: &mut Value, keys: &[String], items: &[Value]) {
    match (keys.split_first(), into) {
        (Some((key, rest)), Value::Object(members)) => {
            put(members.entry(key.clone()).or_insert(Value::Null), rest, items);
        }
        (Some(_), other) => {
            *other = Value::Object(Map::new());
            put(other, keys, items);
        }
        (None, Value::Array(list)) => list.extend(items.iter().cloned()),
        (None, other) => *other = Value::Array(items.to_vec()),
    }
}

fn without_lines(now: &str) -> String {
    let Some((before, rest)) = now.split_once(BEGIN) else { return now.to_owned() };
    let Some((inside, after)) = rest.split_once(END) else { return now.to_owned() };
    let joined = inside.starts_with(JOINED);
    let before = if joined { before.strip_suffix('\n').unwrap_or(before) } else { before };
    let after = after.strip_prefix('\n').unwrap_or(after);
    format!("{before}{after}")
}

/// The reason why a settings file that has just changed leaves an agent unguarded, if it does.
pub(crate) fn switched_off(path: &Path, host: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let document = Document::read(&text).ok()?;
    if document.get(&[To::Key("disableAllHooks")]) == Some(Value::Bool(true)) {
        return Some("This change switches every hook off, Countersign's too.".to_owned());
    }
    let home = crate::home::home().unwrap_or_default();
    let here = env::current_dir().unwrap_or_default();
    let places = [
        path.to_owned(),
        home.join(".claude/settings.json"),
        here.join(".claude/settings.json"),
        here.join(".claude/settings.local.json"),
        PathBuf::from("/etc/claude-code/managed-settings.json"),
        PathBuf::from("/Library/Application Support/ClaudeCode/managed-settings.json"),
    ];
    let has = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let hooks = Document::read(&text).ok().and_then(|found| found.get(&[To::Key("hooks")]));
        let lists = hooks.as_ref().and_then(Value::as_object).into_iter().flat_map(Map::values);
        let mut items = lists.filter_map(Value::as_array).flatten();
        items.any(|item| has_ours(item, host))
    };
    let gone = !places.iter().any(has);
    gone.then(|| "This change takes Countersign's hook away.".to_owned())
}

/// Commands that no configuration allows, as plain words for a host's own rules: those apply even
/// when no hook runs. They are far fewer than a hook stops, and each matches one spelling only.
pub(crate) fn hard_blocks() -> Vec<Vec<String>> {
    let hard = rule::rules().iter().filter(|rule| rule.hard && rule.category != DOUBT);
    let hits = hard.flat_map(|rule| rule.hits.iter());
    let plain = |char: char| char.is_ascii_alphanumeric() || " -_./=".contains(char);
    let commands = hits.filter(|hit| hit.chars().all(plain) && hit.contains('/'));
    commands.map(|hit| hit.split_whitespace().map(str::to_owned).collect()).collect()
}

const DOUBT: countersign_core::Category = countersign_core::Category::NotUnderstood;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_and_go_to_the_byte() {
        let change = Change::lines(PathBuf::from("x"), "[[a]]\nb = 1\n".to_owned());
        for text in ["# theirs\n[x]\ny = 1\n", "[x]", ""] {
            let with = change.installed(Some(text)).unwrap();
            assert_eq!(change.installed(Some(&with)).unwrap(), with);
            let left = change.removed(Some(&with)).unwrap();
            assert_eq!(left.unwrap_or_default(), text);
            let more = format!("{with}z = 2\n");
            let again = change.installed(Some(&more)).unwrap();
            assert!(again.contains("z = 2") && again.matches("[[a]]").count() == 1);
        }
    }

    #[test]
    fn a_file_of_somebody_else_is_left_alone() {
        let change = Change::whole(PathBuf::from("x"), "# countersign\n".to_owned());
        assert!(change.installed(Some("theirs")).is_err());
        assert_eq!(change.removed(Some("theirs")).unwrap().as_deref(), Some("theirs"));
        assert_eq!(change.removed(Some("# countersign\n")).unwrap(), None);
    }

    mod property {
        use proptest::prelude::*;

        use super::*;
        use crate::host::{HOSTS, find};

        /// Spacing and comments that somebody else may have put between two parts of a file.
        fn gap() -> impl Strategy<Value = String> {
            let gaps = ["", " ", "\n", "\n  ", "\t", " /* c */ ", " // c\n", "\r\n    "];
            proptest::sample::select(gaps.to_vec()).prop_map(str::to_owned)
        }

        fn key() -> impl Strategy<Value = String> {
            let keys = [
                "hooks",
                "PreToolUse",
                "BeforeTool",
                "preToolUse",
                "permissions",
                "deny",
                "version",
                "x",
                "pre_run_command",
            ];
            proptest::sample::select(keys.to_vec()).prop_map(|key| format!("\"{key}\""))
        }

        fn list(
            open: &'static str,
            close: &'static str,
            item: BoxedStrategy<String>,
        ) -> BoxedStrategy<String> {
            let items = prop::collection::vec((gap(), item, gap()), 0..4);
            (items, gap(), any::<bool>())
                .prop_map(move |(items, inside, comma)| {
                    let items: Vec<_> =
                        items.iter().map(|(a, b, c)| format!("{a}{b}{c}")).collect();
                    let trailing = if comma && !items.is_empty() { "," } else { "" };
                    format!("{open}{}{trailing}{inside}{close}", items.join(","))
                })
                .boxed()
        }

        /// Any JSON with comments, as somebody else may have written it.
        fn theirs() -> BoxedStrategy<String> {
            let plain = ["1", "true", "null", "\"a // b\"", "\"Bash(rm -rf /)\"", "\"é\""];
            let plain = proptest::sample::select(plain.to_vec()).prop_map(str::to_owned);
            let hook = "{\"hooks\": [{\"command\": \"theirs\"}]}".to_owned();
            let leaf = prop_oneof![plain, Just(hook)].boxed();
            let value = leaf.prop_recursive(3, 24, 4, |inner| {
                let member =
                    (key(), gap(), inner.clone()).prop_map(|(k, g, v)| format!("{k}{g}: {v}"));
                prop_oneof![list("[", "]", inner.boxed()), list("{", "}", member.boxed()),]
            });
            let member = (key(), gap(), value).prop_map(|(k, g, v)| format!("{k}{g}: {v}"));
            (gap(), list("{", "}", member.boxed()), gap())
                .prop_map(|(a, b, c)| format!("{a}{b}{c}"))
                .boxed()
        }

        fn installed(scope: Scope) -> Installed<'static> {
            Installed {
                scope,
                home: Some(Path::new("/h")),
                project: Path::new("/p"),
                root: Path::new("/r"),
                program: "/usr/bin/countersign",
                seconds: 150,
            }
        }

        proptest! {
            #[test]
            fn what_others_wrote_comes_back_to_the_byte(text in theirs(), at in 0..HOSTS.len()) {
                let host = HOSTS[at];
                for change in host.plan(&installed(Scope::User)).unwrap() {
                    if !matches!(change.what, What::Json { .. }) {
                        continue;
                    }
                    // A file that cannot take a hook is refused and not changed.
                    let Ok(with) = change.installed(Some(&text)) else { continue };
                    prop_assert_eq!(&change.installed(Some(&with)).unwrap(), &with);
                    prop_assert!(!change.found(&with).is_empty());
                    let left = change.removed(Some(&with)).unwrap();
                    prop_assert_eq!(left.as_deref(), Some(text.as_str()));
                }
            }
        }

        #[test]
        fn a_second_install_with_other_words_takes_the_place_of_the_first() {
            let host = find("claude-code").unwrap();
            let first = &host.plan(&installed(Scope::User)).unwrap()[0];
            let other = Installed { seconds: 600, ..installed(Scope::User) };
            let second = &host.plan(&other).unwrap()[0];
            let text = "{\n  \"model\": \"x\"\n}\n";
            let with = second.installed(Some(&first.installed(Some(text)).unwrap())).unwrap();
            assert_eq!(with, second.installed(Some(text)).unwrap());
            assert_eq!(first.removed(Some(&with)).unwrap().as_deref(), Some(text));
        }
    }

    #[test]
    fn every_static_rule_is_really_a_hard_block() {
        use countersign_core::{Action, Context, Policy, Verdict, judge};
        let rules = hard_blocks();
        assert!(rules.len() > 5);
        for words in rules {
            let action = Action::Shell { command: words.join(" "), cwd: None };
            let judged = judge(&action, &Policy::default(), &Context::default());
            assert_eq!(judged.verdict, Verdict::Block, "{words:?}");
        }
    }
}
