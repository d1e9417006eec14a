//! Commands that run later without a question: settings and scripts of tools, tasks of editors,
//! waits in the background, hidden scripts.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::value::{Arg, Stream};
use super::verb::form;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

/// Seconds in the background after which nobody watches the next command any more.
const LONG: f64 = 3600.0;

impl Walker<'_> {
    /// Records commands that a program defers.
    pub(super) fn runs_later(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        self.package_script(name, args, span);
        self.setting_that_runs(name, args, span);
        self.comes_back(name, args, span);
        let searches = matches!(name, "grep" | "rg" | "ag" | "ack" | "git" | "egrep");
        let opens = |word: &&Arg| word.text.contains("folderOpen");
        if let Some(word) = args.words().iter().find(opens).filter(|_| !searches) {
            let fact = Fact::new(FactKind::EnvExecutes, "a task that runs when a folder is opened");
            self.note(fact.at(word.span.or(span)));
        }
    }

    /// Follows `npm pkg set scripts.postinstall='…'` as a script, and records it where it runs
    /// automatically.
    fn package_script(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        if !matches!(
            (name, args.operand(0)),
            ("npm" | "pnpm" | "yarn" | "bun", Some("pkg" | "set-script"))
        ) {
            return;
        }
        for word in args.operands() {
            let Some((key, script)) = word.text.split_once('=') else { continue };
            let Some(event) = key
                .strip_prefix("scripts.")
                .or_else(|| key.strip_prefix("scripts[").map(|key| key.trim_end_matches(']')))
            else {
                continue;
            };
            let content = Stream::known(script.to_owned(), word.taint);
            self.perhaps(|walker| {
                walker.follow_text(Code::Shell, &content, span, &Stream::caller())
            });
            let program = script.split_whitespace().next().unwrap_or_default();
            let nothing = matches!(program, "" | "true" | ":" | "exit" | "echo");
            if has(words::SETTINGS_LIFECYCLE, event.trim_matches(['"', '\''])) && !nothing {
                let subject = location::shown(&word.text).into_owned();
                self.note(Fact::new(FactKind::EnvExecutes, subject).at(word.span.or(span)));
            }
        }
    }

    /// Records a setting whose name implies that its value is run or loaded: `tool config set
    /// script-shell ./x`, `go env -w CC=./x`.
    fn setting_that_runs(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        if matches!(name, "git" | "kubectl" | "gcloud" | "aws" | "az") {
            return;
        }
        let operands = args.operands();
        let text = |at: usize| operands.get(at).map_or("", |word| word.text.as_str());
        let at = match (text(0), text(1)) {
            ("config" | "settings", "set" | "add" | "--add") => 2,
            ("config" | "settings", _) if args.has_any(&["--set", "--global", "--add"]) => 1,
            ("env", _) if name == "go" && args.has("-w") => 1,
            ("set", _) if matches!(name, "npm" | "pnpm" | "conf") => 1,
            _ => return,
        };
        let Some(setting) = operands.get(at) else { return };
        let (key, value) = match setting.text.split_once('=') {
            Some((key, value)) => (key, value.to_owned()),
            None => (setting.text.as_str(), text(at + 1).to_owned()),
        };
        let key = key.rsplit('.').next().unwrap_or(key);
        let parts = form::parts(key);
        let whole = parts.join("-");
        let runs = has(words::SETTINGS_RUNS, &whole)
            || has(words::SETTINGS_RUNS, &key.to_ascii_lowercase())
            || parts.last().is_some_and(|last| has(words::SETTINGS_RUNS, last));
        let tool = name == "go" && matches!(key, "CC" | "CXX" | "GOFLAGS" | "GOROOT" | "GOTOOLDIR");
        // A plain name is a program of the system or a mode; a path is a custom file.
        let unexpected = value.contains(['/', ' ', '~', ';']) || matches!(key, "GOROOT");
        if (runs || tool) && unexpected {
            let subject = format!("{name} {key}={}", location::shown(&value));
            self.note(Fact::new(FactKind::EnvExecutes, subject).at(span));
        }
    }

    /// Records services that start again with the machine: `pm2 save`, `forever-service install x`.
    fn comes_back(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let verb = args.operand(0).unwrap_or_default();
        if has(words::SETTINGS_MANAGERS, name) && has(words::SETTINGS_MANAGER_VERBS, verb) {
            self.note(Fact::new(FactKind::Schedule, format!("{name} {verb}")).at(span));
        }
    }

    /// Records a hidden script: a file with a leading dot in its name, outside of the workspace.
    pub(super) fn hidden_script(&mut self, file: &Arg) {
        const SOURCED: &[&str] = &["rc", "profile", "env", "login", "logout", "aliases"];
        let name = location::base_name(&file.text);
        let hidden = name.len() > 1
            && name.starts_with('.')
            && !name.starts_with("..")
            && !SOURCED.iter().any(|end| name.ends_with(end));
        if !hidden || !file.text.contains('/') || !file.is_known() {
            return;
        }
        let tags = location::locate(&file.text, &self.scene_now());
        if !tags.any(Tags::of(&[Tag::Workspace, Tag::Unknown])) {
            let subject = location::shown(&file.text).into_owned();
            self.note(Fact::new(FactKind::HiddenScript, subject).at(file.span));
        }
    }

    /// Records commands that run in the background after a long wait: `(sleep 1d; ./x) &`.
    pub(super) fn after_a_wait(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        if self.background == 0 {
            return;
        }
        if name == "sleep" {
            let seconds: f64 = args.operands().iter().filter_map(|word| seconds(&word.text)).sum();
            self.waited |= seconds >= LONG;
        } else if self.waited {
            self.note(Fact::new(FactKind::Schedule, format!("{name}, after a long wait")).at(span));
        }
    }
}

/// Converts `90`, `1.5h`, `2d` to seconds; `None` for a wait that never ends.
fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, unit)) if unit.is_ascii_alphabetic() => (text.get(..at)?, unit),
        _ => (text, 's'),
    };
    let factor = match unit {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3600.0,
        'd' => 86400.0,
        _ => return None,
    };
    number.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * factor)
}
