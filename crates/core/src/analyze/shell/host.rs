//! Agent hosts started from an agent's shell: checks that the hooks that guard them still run.

use serde_json::Value;

use super::Walker;
use super::arguments::Arguments;
use super::value::Arg;
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag};
use crate::guarded::{self, Host};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

/// Settings that control which hooks run and what needs a confirmation.
const DECIDING: &[&str] = &[
    "hooks",
    "disableAllHooks",
    "allowManagedHooksOnly",
    "permissions",
    "env",
    "mcpServers",
    "enabledPlugins",
    "hooksConfig",
    "allowedTools",
];

impl Walker<'_> {
    /// Records that a host would be started without its guard.
    pub(super) fn host(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        self.unasked_by_form(name, args, span);
        let Some(host) = guarded::host(name) else { return };
        self.host_settings(name, args, span);
        let tell = |walker: &mut Self, kind, what: &str| {
            walker.note(Fact::new(kind, format!("{name} {what}")).at(span));
        };
        for (kind, options) in
            [(FactKind::HostUnguarded, host.off), (FactKind::HostUnasked, host.skips)]
        {
            for option in options.iter().filter(|option| is_given(option, args)) {
                tell(self, kind, option);
            }
        }
        for value in args.values(host.settings) {
            if let Some(kind) = self.settings(&value) {
                tell(self, kind, &location::shown(&value.text));
            }
        }
        for (kind, variable) in self.host_variables(host) {
            tell(self, kind, variable);
        }
        if self.tags.has(Tag::Elevated) {
            tell(self, FactKind::HostElsewhere, "as another user");
        }
    }

    /// Recognises options such as `--yes-always` and `--trust-all-tools` by their form, for every
    /// agent.
    fn unasked_by_form(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let is_agent =
            |name: &str| guarded::host(name).is_some() || has(words::SETTINGS_AGENTS, name);
        let inside =
            args.operands().iter().take(2).any(|word| {
                matches!(name, "gh" | "acli" | "code" | "cursor") && is_agent(&word.text)
            });
        if !is_agent(name) && !inside {
            return;
        }
        self.mode_by_form(name, args, span);
        self.variables_by_form(name, span);
        let option = args.options().find(|word| {
            let Some(option) = word.text.strip_prefix("--") else { return false };
            let (option, value) = option.split_once('=').unwrap_or((option, "true"));
            let option = option.replace('_', "-");
            let says = |part: &str| {
                option == part
                    || option.strip_prefix(part).is_some_and(|rest| rest.starts_with('-'))
                    || option.strip_suffix(part).is_some_and(|rest| rest.ends_with('-'))
            };
            !option.starts_with("no-auto")
                && !matches!(value, "false" | "0" | "no")
                && words::SETTINGS_UNASKED.iter().any(|part| says(part))
        });
        let option = option.or_else(|| tools_let_through(args)).or_else(|| {
            let yes = |word: &&Arg| {
                let text = word.text.as_str();
                matches!(text, "--yes" | "-y" | "-Y" | "--auto" | "--auto-exec" | "--dangerous")
            };
            args.options().find(yes).filter(|_| guarded::host(name).is_none())
        });
        let option = option.or_else(|| setting_that_skips(args));
        let prefix = format!("{}_", name.to_ascii_uppercase().replace('-', "_"));
        let by_variable = self.environment.iter().any(|(variable, value)| {
            let value = value.as_ref().map_or("", |value| value.text.as_str());
            variable.starts_with(&prefix)
                && guarded::host(name).is_none()
                && matches!(value, "auto" | "yolo" | "always" | "true" | "1" | "yes")
        });
        if by_variable {
            self.note(Fact::new(FactKind::HostUnasked, format!("{name} by a variable")).at(span));
        }
        if let Some(option) = option {
            let subject = format!("{name} {}", option.text);
            self.note(Fact::new(FactKind::HostUnasked, subject).at(span));
        }
    }

    /// Records any mode except those that ask, only plan or accept edits, and other MCP servers:
    /// `--permission-mode dontAsk`.
    fn mode_by_form(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        const ASKS: &[&str] =
            &["default", "plan", "ask", "manual", "on-request", "untrusted", "prompt", "read-only"];
        let modes = args.values(&["--permission-mode", "--approval-mode", "--ask-for-approval"]);
        let mode = modes.iter().find(|mode| !ASKS.contains(&mode.text.as_str()));
        if let Some(mode) = mode.filter(|mode| mode.text != "acceptEdits" && mode.is_known()) {
            let subject = format!("{name} {}", location::shown(&mode.text));
            self.note(Fact::new(FactKind::HostUnasked, subject).at(span));
        }
        let servers = args.value(&["--mcp-config", "--mcp-servers"]);
        if servers.is_some() || args.has("--strict-mcp-config") {
            let subject = format!("{name} with other servers");
            self.note(Fact::new(FactKind::HostElsewhere, subject).at(span));
        }
    }

    /// Records variables whose names switch a protection off or move the server:
    /// `X_DISABLE_HOOKS=1`, `X_BASE_URL=…`.
    fn variables_by_form(&mut self, name: &str, span: Option<Span>) {
        let found = self.environment.iter().find_map(|(variable, value)| {
            let value = value.as_ref().map_or("", |value| value.text.as_str());
            let says = |word: &str| variable.split('_').any(|part| part == word);
            let set = !matches!(value, "" | "0" | "false" | "no");
            let off = (says("DISABLE") || says("SKIP") || says("NO") || says("BYPASS"))
                && ["HOOKS", "HOOK", "PERMISSIONS", "SANDBOX", "APPROVAL", "GUARD"]
                    .iter()
                    .any(|what| says(what));
            let elsewhere = variable.ends_with("_BASE_URL") && !super::upload::is_loopback(value);
            match (set && off, set && elsewhere) {
                (true, _) => Some((FactKind::HostUnasked, variable.clone())),
                (_, true) => Some((FactKind::HostElsewhere, variable.clone())),
                _ => None,
            }
        });
        if let Some((kind, variable)) = found {
            self.note(Fact::new(kind, format!("{name} with {variable}")).at(span));
        }
    }

    /// Records persistent settings of a host: `claude config set hooks …`, `claude mcp add …`.
    fn host_settings(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let operands: Vec<&str> = args.operands().iter().map(|word| word.text.as_str()).collect();
        let changes = |verb: &str| {
            let verb = verb.split('-').next().unwrap_or(verb);
            matches!(
                verb,
                "set"
                    | "add"
                    | "remove"
                    | "unset"
                    | "edit"
                    | "reset"
                    | "import"
                    | "enable"
                    | "disable"
                    | "install"
            )
        };
        let decides = |key: &&&str| DECIDING.contains(&key.split(['.', '=']).next().unwrap_or(key));
        let found = match operands.as_slice() {
            ["config" | "settings", verb, rest @ ..] if changes(verb) => {
                rest.iter().find(decides).map(|key| format!("{verb} {key}"))
            }
            [
                "plugin" | "plugins" | "extensions" | "extension",
                verb @ ("install" | "add" | "link"),
                ..,
            ] => Some(format!("{verb} of an extension")),
            ["hooks" | "permissions", verb, ..] if changes(verb) => Some((*verb).to_owned()),
            ["mcp" | "mcp-server", verb, ..] if changes(verb) && *verb != "remove" => {
                Some(format!("mcp {verb}"))
            }
            _ => args.has("--add-mcp").then(|| "--add-mcp".to_owned()),
        };
        if let Some(what) = found {
            self.note(Fact::new(FactKind::HostElsewhere, format!("{name} {what}")).at(span));
        }
    }

    /// Returns the effect of settings given on the command line, where it is of concern.
    fn settings(&self, value: &Arg) -> Option<FactKind> {
        let inline = value.text.trim_start().starts_with('{');
        let text = if inline { Some(value.text.clone()) } else { self.content_of(value).text };
        let Some(text) = text.filter(|text| !text.contains(UNKNOWN)) else {
            return Some(FactKind::HostElsewhere);
        };
        let Ok(Value::Object(settings)) = serde_json::from_str(&text) else {
            return Some(FactKind::HostElsewhere);
        };
        let hooks = settings.get("hooksConfig").and_then(|hooks| hooks.get("enabled"));
        let off = settings.get("disableAllHooks").is_some_and(|off| *off != Value::Bool(false))
            || hooks == Some(&Value::Bool(false));
        let decides = settings.keys().any(|key| DECIDING.contains(&key.as_str()));
        match (off, decides) {
            (true, _) => Some(FactKind::HostUnguarded),
            (false, true) => Some(FactKind::HostElsewhere),
            (false, false) => None,
        }
    }

    /// Returns variables that move a host's settings elsewhere or switch something off.
    fn host_variables(&self, host: &'static Host) -> Vec<(FactKind, &'static str)> {
        let mut found = Vec::new();
        let home = [("HOME", ""), ("USERPROFILE", "")];
        for (variable, usual) in home.iter().chain(host.moves) {
            let elsewhere = match self.variable_now(variable) {
                Variable::Inherited => false,
                Variable::Unset => true,
                Variable::Set(value) => !self.is_usual(&value.text, usual),
            };
            if elsewhere {
                found.push((FactKind::HostElsewhere, *variable));
            }
        }
        for (kind, variables) in [
            (FactKind::HostUnguarded, host.off_if),
            (FactKind::HostUnasked, host.skips_if),
            (FactKind::HostElsewhere, host.settings_if),
        ] {
            let set = variables.iter().filter(|variable| {
                matches!(self.variable_now(variable), Variable::Set(value)
                    if !matches!(value.text.as_str(), "" | "0" | "false"))
            });
            found.extend(set.map(|variable| (kind, *variable)));
        }
        found
    }

    /// Returns the state of a variable at this point of the script.
    fn variable_now(&self, name: &str) -> Variable<'_> {
        let given = self.environment.iter().rev().find(|(variable, _)| variable == name);
        let value = match given {
            Some((_, value)) => value.as_ref(),
            None => match self.state.values(name) {
                Some(values) => values.iter().flatten().next(),
                None => return Variable::Inherited,
            },
        };
        value.map_or(Variable::Unset, Variable::Set)
    }

    /// Reports whether a folder is the host's default.
    fn is_usual(&self, folder: &str, usual: &str) -> bool {
        let scene = self.scene_now();
        let usual = match usual {
            "" => scene.home().to_owned(),
            usual if usual.starts_with('/') => usual.to_owned(),
            usual => format!("{}/{usual}", scene.home()),
        };
        location::absolute(folder, &scene) == location::normalize(&usual)
    }
}

/// Finds a setting by which a host stops asking: `config set -g autoApprove true`.
fn setting_that_skips<'a>(args: &Arguments<'a>) -> Option<&'a Arg> {
    let is_set = matches!(args.operand(0), Some("config" | "settings" | "preferences"))
        && matches!(args.operand(1), Some("set" | "add" | "put"));
    let off = |word: &&&Arg| matches!(word.text.as_str(), "false" | "0" | "no" | "off");
    if !is_set || args.operands().iter().any(|word| off(&word)) {
        return None;
    }
    args.operands().iter().skip(2).copied().find(|word| {
        let name = super::verb::form::parts(&word.text).join("-");
        words::SETTINGS_UNASKED
            .iter()
            .any(|part| name == *part || name.ends_with(&format!("-{part}")))
    })
}

/// Finds an option that allows every command: `--allowedTools 'Bash(*)'`.
fn tools_let_through<'a>(args: &Arguments<'a>) -> Option<&'a Arg> {
    args.options().find(|word| {
        let (option, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
        let option: String = option.chars().filter(char::is_ascii_alphabetic).collect::<String>();
        let allows = matches!(
            option.to_ascii_lowercase().as_str(),
            "allowedtools" | "allowtool" | "allowtools"
        );
        let values = args.values(&[word.text.as_str()]);
        let given = values.iter().map(|value| value.text.as_str()).chain([value]);
        let every = |value: &str| {
            value.split([',', ' ']).any(|tool| {
                let lower = tool.to_ascii_lowercase();
                matches!(
                    lower.as_str(),
                    "bash" | "shell" | "*" | "bash(*)" | "shell(*)" | "bash(*:*)"
                )
            })
        };
        allows && given.into_iter().any(every)
    })
}

/// The state that a script has left a variable in.
enum Variable<'a> {
    /// Unchanged since the script was started.
    Inherited,
    Unset,
    Set(&'a Arg),
}

/// Reports whether an option or subcommand of the catalogue is given: `--yolo`, `--auto high`,
/// `hooks disable`.
fn is_given(option: &str, args: &Arguments<'_>) -> bool {
    let wanted: Vec<&str> = option.split(' ').collect();
    match wanted.as_slice() {
        [name] => args.words().iter().any(|word| is_switch(&word.text, name)),
        [name, value] if name.starts_with('-') => {
            args.values(&[*name]).iter().any(|given| is_value(&given.text, value))
        }
        words => {
            let given = args.operands();
            given.len() >= words.len()
                && given.iter().zip(words).all(|(given, wanted)| is_value(&given.text, wanted))
        }
    }
}

/// Reports whether a word is a switch: `--yolo`, `--yolo=true`; `-y` also among other letters.
fn is_switch(word: &str, name: &str) -> bool {
    let (given, value) = word.split_once('=').map_or((word, "true"), |(name, value)| (name, value));
    let letter = name.strip_prefix('-').filter(|letter| letter.len() == 1);
    let clustered = letter.is_some_and(|letter| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        letters.contains(letter) && letters.chars().all(|char| char.is_ascii_alphabetic())
    });
    (given == name || clustered) && !matches!(value, "false" | "0")
}

fn is_value(given: &str, wanted: &str) -> bool {
    // Quotes and blanks do not matter: `-c approval_policy="never"`.
    let given: String = given.chars().filter(|char| !" \"'".contains(*char)).collect();
    match wanted.strip_suffix('*') {
        Some(start) => given.starts_with(start),
        None => given.eq_ignore_ascii_case(wanted),
    }
}
