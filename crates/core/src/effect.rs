//! What an action would touch: which files, which hosts, whom. For a person who decides.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::action::Action;
use crate::context::Context;
use crate::fact::{Fact, FactKind};
use crate::judge::facts;
use crate::place::Scene;
use crate::policy::Policy;

/// One way in which an action would touch things, and which things.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// A kind of fact, such as `delete`; or `host`, or `recipient`.
    pub what: String,
    /// The things, as they are written in the action.
    pub things: Vec<String>,
    /// How many there are beyond those.
    pub more: usize,
}

/// Nobody reads more, and the whole action stands beside it.
const MOST_THINGS: usize = 50;

/// The kinds of facts that say what is touched; the others say how, which is the findings' part.
const TOUCHING: &[FactKind] = &[
    FactKind::Delete,
    FactKind::Write,
    FactKind::Append,
    FactKind::Create,
    FactKind::Move,
    FactKind::Link,
    FactKind::Chmod,
    FactKind::Chown,
    FactKind::Read,
    FactKind::Send,
    FactKind::Fetch,
    FactKind::RemoteDelete,
    FactKind::Schedule,
    FactKind::Account,
    FactKind::Kill,
    FactKind::SqlDrop,
    FactKind::SqlTruncate,
    FactKind::SqlEveryRow,
    FactKind::SqlDelete,
    FactKind::SqlWrite,
];

/// Parameters that name whom something goes to.
const RECIPIENTS: &[&str] =
    &["to", "cc", "bcc", "recipient", "recipients", "attendees", "invitees", "assignee", "channel"];

/// Says what an action would touch.
#[must_use]
pub fn effects(action: &Action, policy: &Policy, context: &Context) -> Vec<Effect> {
    let facts = facts(action, policy, context);
    let of_kind = |kind: &FactKind| {
        let things = facts.iter().filter(|fact| fact.kind == *kind);
        effect(kind.name(), things.map(|fact| thing(fact, context)))
    };
    let mut effects: Vec<_> = TOUCHING.iter().filter_map(of_kind).collect();
    effects.extend(effect("host", hosts(action).into_iter()));
    effects.extend(effect("recipient", recipients(action).into_iter()));
    effects
}

/// The thing, without a home folder that nobody named: a person would take it for theirs.
fn thing(fact: &Fact, context: &Context) -> String {
    let assumed = Scene::new(context, &[]).home();
    match fact.subject.strip_prefix(assumed) {
        Some(rest) if context.home.is_none() && (rest.is_empty() || rest.starts_with('/')) => {
            format!("~{rest}")
        }
        _ => fact.subject.clone(),
    }
}

fn effect(what: &str, all: impl Iterator<Item = String>) -> Option<Effect> {
    let mut things: Vec<String> = Vec::new();
    let mut more = 0_usize;
    for thing in all.filter(|thing| !thing.is_empty()) {
        if things.contains(&thing) {
            continue;
        }
        if things.len() < MOST_THINGS {
            things.push(thing);
        } else {
            more = more.saturating_add(1);
        }
    }
    (!things.is_empty()).then(|| Effect { what: what.to_owned(), things, more })
}

/// The hosts of the addresses an action names outright.
fn hosts(action: &Action) -> Vec<String> {
    match action {
        Action::Navigate { url } | Action::HttpRequest { url, .. } => {
            host(url).into_iter().collect()
        }
        Action::Login { site } => host(site).into_iter().collect(),
        Action::Download { files } => files.iter().filter_map(|file| host(&file.url)).collect(),
        _ => Vec::new(),
    }
}

fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}

/// Whom a skill's parameters or a tool's arguments name.
fn recipients(action: &Action) -> Vec<String> {
    let (Action::Skill { params, .. } | Action::Tool { arguments: params, .. }) = action else {
        return Vec::new();
    };
    let named = |name: &str| RECIPIENTS.iter().any(|word| name.eq_ignore_ascii_case(word));
    params.iter().filter(|(name, _)| named(name)).flat_map(|(_, value)| texts(value)).collect()
}

/// A text, or each text of a list; what is deeper stands in the action.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Vec<(String, Vec<String>)> {
        let action = serde_json::from_str(json).unwrap();
        let effects = effects(&action, &Policy::default(), &Context::default());
        effects.into_iter().map(|effect| (effect.what, effect.things)).collect()
    }

    fn one(what: &str, things: &[&str]) -> (String, Vec<String>) {
        (what.to_owned(), things.iter().map(|thing| (*thing).to_owned()).collect())
    }

    #[test]
    fn a_command_says_which_files_it_deletes() {
        let found = of(r#"{"kind":"shell","command":"rm -rf build ./dist build"}"#);
        assert!(found.contains(&one("delete", &["build", "./dist"])), "{found:?}");
        let home = of(r#"{"kind":"shell","command":"rm -rf ~/old"}"#);
        assert!(home.contains(&one("delete", &["~/old"])), "{home:?}");
    }

    #[test]
    fn an_address_says_its_host_and_a_message_whom_it_goes_to() {
        let found =
            of(r#"{"kind":"http_request","method":"POST","url":"https://api.example.com/x"}"#);
        assert!(found.contains(&one("host", &["api.example.com"])), "{found:?}");
        let mail =
            r#"{"kind":"skill","skill":"email.send","params":{"to":["a@b.org"],"Cc":"c@d.org"}}"#;
        assert!(of(mail).contains(&one("recipient", &["c@d.org", "a@b.org"])), "{:?}", of(mail));
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let files: Vec<_> = (0..60).map(|n| format!("f{n}")).collect();
        let command = format!("rm -r {}", files.join(" "));
        let action = Action::Shell { command, cwd: None };
        let effects = effects(&action, &Policy::default(), &Context::default());
        let deleted = effects.iter().find(|effect| effect.what == "delete").unwrap();
        assert_eq!((deleted.things.len(), deleted.more), (50, 10));
    }
}
