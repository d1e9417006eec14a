//! Other machines that a command connects to, for callers that show effects.

use url::Url;

use crate::analyze::{Invocation, UNKNOWN};
use crate::effect::from_fact::is_pattern;
use crate::effect::{Certainty, Effect, EffectKind};
use crate::location;
use crate::lookup::{Name, Names};

/// The way a program is told which machine to connect to.
#[derive(Debug)]
struct Reach {
    on: Named,
    /// Options whose value names it.
    options: &'static [&'static str],
    /// Applies only after one of these operands.
    after: &'static [&'static str],
    /// Does not apply with any of these.
    unless: &'static [&'static str],
}

/// The operands that name a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    First,
    Last,
    All,
    None,
}

include!(concat!(env!("OUT_DIR"), "/reach.rs"));

/// Programs that only mention addresses.
const MENTIONS: &[&str] = &[
    "echo",
    "printf",
    "test",
    "[",
    "export",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "sed",
    "awk",
    "gawk",
    "mawk",
    "jq",
    "yq",
    "cat",
    "basename",
    "dirname",
    "tr",
    "cut",
    "logger",
    "notify-send",
    "open",
    "xdg-open",
    "git",
    "tee",
    "read",
    "expr",
];

/// Reports whether a program is known to connect to other machines.
pub(crate) fn speaks(program: &str) -> bool {
    REACH_NAMES.find(program).is_some()
}

/// Returns the machines that a command connects to.
pub(crate) fn effects(command: &Invocation) -> Vec<Effect> {
    let sure = |certainty| match &command.origin {
        Some(origin) if origin.is_conditional => Certainty::Possible,
        _ => certainty,
    };
    let connect = |target: String, certainty| {
        let certainty = if is_pattern(&target) { Certainty::Possible } else { sure(certainty) };
        Effect::new(EffectKind::Connect, target, certainty)
    };
    let reach = REACH_NAMES.find(&command.program).and_then(|at| REACHES.get(at));
    let Some(reach) = reach.filter(|reach| applies(reach, command)) else {
        if MENTIONS.contains(&command.program.as_str()) {
            return Vec::new();
        }
        // A program that is given an address probably connects to it.
        let hosts = command.words.iter().filter_map(|word| spelt_host(word));
        return hosts.map(|host| connect(host, Certainty::Possible)).collect();
    };
    let hosts = hosts(reach, command);
    if hosts.is_empty() {
        return vec![connect(format!("servers of {}", command.program), Certainty::Possible)];
    }
    hosts.into_iter().map(|host| connect(host, Certainty::Certain)).collect()
}

fn applies(reach: &Reach, command: &Invocation) -> bool {
    let has = |words: &[&str]| command.words.iter().any(|word| words.contains(&word.as_str()));
    let first = || command.operands().take(3).any(|word| reach.after.contains(&word));
    let is_given = !command.words.is_empty() || reach.on == Named::None;
    (reach.after.is_empty() || first()) && !has(reach.unless) && is_given
}

/// Returns the machines that the words name.
fn hosts(reach: &Reach, command: &Invocation) -> Vec<String> {
    let mut hosts: Vec<String> = command.words.iter().filter_map(|w| spelt_host(w)).collect();
    let mut words = command.words.iter().peekable();
    while let Some(word) = words.next() {
        for option in reach.options {
            if word == option {
                hosts.extend(words.peek().and_then(|value| bare_host(value)));
            } else if let Some(value) = word.strip_prefix(option).filter(|_| option.len() > 2) {
                hosts.extend(value.strip_prefix('=').and_then(bare_host));
            }
        }
    }
    let operands: Vec<&str> = command.operands().collect();
    let named = match reach.on {
        Named::All => operands.as_slice(),
        Named::First => operands.get(..1).unwrap_or_default(),
        Named::Last => operands.get(operands.len().saturating_sub(1)..).unwrap_or_default(),
        Named::None => &[],
    };
    hosts.extend(named.iter().filter(|word| !word.contains("://")).filter_map(|w| bare_host(w)));
    hosts.dedup();
    hosts
}

/// Returns the host of an address with a scheme, or of `user@host:path`.
fn spelt_host(word: &str) -> Option<String> {
    if let Some(at) = word.find("://") {
        let start = word.get(..at)?.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '+');
        let start = start.and_then(|start| start.checked_add(1)).unwrap_or(0);
        let address = word.get(start..)?;
        let is_here = address.starts_with("file:") || address.starts_with("unix:");
        let host = Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned));
        return host.filter(|host| !host.is_empty() && !is_here).or_else(|| {
            (!is_here)
                .then(|| location::shown(address).split('/').nth(2).unwrap_or_default().into())
        });
    }
    let (user, rest) = word.split_once('@')?;
    let (host, _) = rest.split_once(':')?;
    let is_name = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c) || c == UNKNOWN)
    };
    (is_name(user) && is_name(host)).then(|| location::shown(host).into_owned())
}

/// Returns the host of `user@host`, `host:port`, `host/path` or `TCP:host:port`.
fn bare_host(word: &str) -> Option<String> {
    let word = word.rsplit_once('@').map_or(word, |(_, host)| host);
    let upper = word.split(':').next().unwrap_or_default();
    let is_socat = !upper.is_empty() && upper.chars().all(|c| c.is_ascii_uppercase() || c == '-');
    let word = if is_socat { word.split_once(':').map_or(word, |(_, rest)| rest) } else { word };
    let host = word.split(['/', ':', ',']).next().unwrap_or_default();
    let is_name =
        host.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c) || c == UNKNOWN);
    let is_number = host.chars().all(|c| c.is_ascii_digit());
    (!host.is_empty() && is_name && !is_number && !host.starts_with('-'))
        .then(|| location::shown(host).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Context, Policy, effects as all};

    fn connects(command: &str) -> Vec<String> {
        let action = Action::Shell { command: command.into(), cwd: None };
        let found = all(&action, &Policy::default(), &Context::default()).effects;
        let found = found.into_iter().filter(|effect| effect.effect == EffectKind::Connect);
        found.map(|effect| effect.target).collect()
    }

    #[test]
    fn every_name_leads_to_its_program() {
        REACH_NAMES.assert_sound();
        assert!(REACH_NAMES.listed.iter().all(|name| usize::from(name.number) < REACHES.len()));
    }

    #[test]
    fn a_client_says_which_host_it_speaks_to() {
        for (command, host) in [
            ("curl -s https://api.example.com/v1 -o x.json", "api.example.com"),
            ("curl example.org/install", "example.org"),
            ("ssh -p 22 ann@box.example ls", "box.example"),
            ("scp a.txt ann@box.example:/tmp/", "box.example"),
            ("ping -c 3 example.net", "example.net"),
            ("psql -h db.example -c 'select 1'", "db.example"),
            ("git clone https://git.example/x.git", "git.example"),
            ("unheard-of --endpoint=https://x.example/y", "x.example"),
            ("npm install", "servers of npm"),
        ] {
            assert_eq!(connects(command), [host], "{command}");
        }
    }

    #[test]
    fn what_only_names_a_host_does_not_speak_to_it() {
        for command in [
            "echo https://x.example",
            "git remote-url https://x.example",
            "grep https://x.example notes.md",
            "nc -l 4444",
            "curl --version",
        ] {
            assert_eq!(connects(command), [] as [&str; 0], "{command}");
        }
    }
}
