//! What is handed to a tool, a skill or a named action: each value goes to the analyzer of what
//! it is.
//!
//! What a value is, its name tells (`url`, `file_path`, `command`, `sql`), the schema, or the
//! value itself when it starts like a URL. Prose that mentions an address is prose.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use serde_json::Value;

use crate::action::{Action, Language};
use crate::analyze::purpose::{Effect, Purpose};
use crate::analyze::{Analysis, code, path, shell, url};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::place::Scene;

mod role;

use role::Role;

/// Values of one call that are looked into; a call with more is a question of its own.
const MOST_VALUES: usize = 2_000;

/// What was seen in the arguments.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Everything the analyzers said.
    pub(crate) analysis: Analysis,
    /// Whether there was a command or code to be judged by itself.
    pub(crate) ran: bool,
}

/// What the arguments of a call mean.
pub(crate) fn analyze(
    arguments: &BTreeMap<String, Value>,
    purpose: Purpose,
    schema: Option<&Value>,
    scene: &Scene<'_>,
) -> Seen {
    let mut seen = Seen::default();
    let mut open: Vec<(Role, &str, &Value)> = arguments
        .iter()
        .map(|(name, value)| (role::of(name, schema), name.as_str(), value))
        .rev()
        .collect();
    let mut looked = 0_usize;
    while let Some((role, name, value)) = open.pop() {
        looked = looked.saturating_add(1);
        if looked > MOST_VALUES {
            seen.analysis.facts.push(Fact::new(FactKind::Bound, "too many arguments"));
            break;
        }
        match value {
            Value::String(text) => seen.look(role, name, text, purpose, scene),
            Value::Array(items) => open.extend(items.iter().rev().map(|item| (role, name, item))),
            Value::Object(map) => open.extend(
                map.iter()
                    .rev()
                    .map(|(name, value)| (role::of(name, None).or(role), name.as_str(), value)),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    seen
}

impl Seen {
    fn look(&mut self, role: Role, name: &str, text: &str, purpose: Purpose, scene: &Scene<'_>) {
        let inner = scene.deeper();
        match role {
            Role::Command | Role::Words if has_metacharacters(text) => {
                self.ran |= role == Role::Command;
                let subject = format!("{name}: {text}");
                self.analysis.facts.push(Fact::new(FactKind::ToolMetacharacters, subject));
                self.keep(shell::analyze(text, &inner));
            }
            Role::Command => {
                self.ran = true;
                self.keep(shell::analyze(text, &inner));
            }
            Role::Code(language) => {
                self.ran = true;
                self.keep(code::analyze(language, text, None, &inner));
            }
            Role::Sql => {
                self.ran = true;
                self.keep(code::analyze(Language::Sql, text, None, &inner));
            }
            Role::Query if looks_like_sql(text) => {
                self.ran = true;
                self.keep(code::analyze(Language::Sql, text, None, &inner));
            }
            Role::Path => self.path(text, purpose, scene),
            // A path on the tool's own site; two slashes would leave it.
            Role::Url
                if text.starts_with('/')
                    && !["//", "/\\"].iter().any(|two| text.starts_with(two)) => {}
            Role::Url if !text.contains(':') && !text.starts_with('/') => {
                self.host(text, scene);
            }
            Role::Host => self.host(text, scene),
            _ if role == Role::Url || starts_like_a_url(text) => self.url(text, scene),
            Role::Words | Role::Query | Role::Url | Role::Other => {}
        }
    }

    /// Spans of what was found point into the argument, not into the action's text.
    fn keep(&mut self, mut analysis: Analysis) {
        for fact in &mut analysis.facts {
            fact.span = None;
        }
        for command in &mut analysis.commands {
            command.span = None;
        }
        self.analysis.extend(analysis);
    }

    fn url(&mut self, text: &str, scene: &Scene<'_>) {
        self.tell(url::facts(text.trim(), scene).into_iter());
    }

    /// A domain or an address without a scheme. A single word is as often the name of something
    /// else, so it counts only where it is known to lead inside.
    fn host(&mut self, text: &str, scene: &Scene<'_>) {
        let text = text.trim();
        let bare = text.split('%').next().unwrap_or_default().trim_matches(['[', ']']);
        let address = bare.parse::<Ipv6Addr>().map(|address| format!("https://[{address}]/"));
        let facts = url::facts(&address.unwrap_or_else(|_| format!("https://{text}")), scene);
        let word = !text.contains(['.', ':']);
        self.tell(facts.into_iter().filter(|fact| {
            let named = fact.tags.has(Tag::Named) || fact.kind == FactKind::UrlInvalid;
            !(word && named)
        }));
    }

    fn tell(&mut self, facts: impl Iterator<Item = Fact>) {
        let tagged = facts.map(|fact| fact.tagged(Tags::of(&[Tag::Argument])).at(None));
        self.analysis.facts.extend(tagged);
    }

    /// The path may be on another machine, so being outside our workspace says nothing; what it
    /// names does.
    fn path(&mut self, text: &str, purpose: Purpose, scene: &Scene<'_>) {
        const TELLING: Tags = Tags::of(&[
            Tag::Secret,
            Tag::Accounts,
            Tag::Blocked,
            Tag::Kernel,
            Tag::Device,
            Tag::SignIn,
            Tag::Guard,
            Tag::AboveGuard,
            Tag::Sensitive,
            Tag::Startup,
        ]);
        if starts_like_a_url(text) {
            return self.url(text, scene);
        }
        let path = text.to_owned();
        let action = match purpose {
            Purpose::Known(Effect::Read) => Action::FileRead { path },
            Purpose::Known(Effect::Destroy) => Action::FileDelete { path },
            Purpose::Known(_) | Purpose::Unknown => Action::FileWrite { path, content: None },
        };
        let mut analysis = path::analyze(&action, scene);
        analysis.facts.retain(|fact| {
            fact.tags.any(TELLING)
                || matches!(fact.kind, FactKind::Malformed | FactKind::Traversal | FactKind::Bound)
        });
        self.keep(analysis);
    }
}

/// Whether a shell would do more with this than start one program.
fn has_metacharacters(text: &str) -> bool {
    text.contains([';', '|', '&', '$', '`', '<', '>', '\n', '\r', '(', ')', '{', '}'])
}

fn starts_like_a_url(text: &str) -> bool {
    let text = text.trim_start();
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let sound = scheme.starts_with(|char: char| char.is_ascii_alphabetic())
        && scheme.len() <= 24
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let script = ["javascript", "data", "vbscript", "file"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    // A line of prose may start with `Note:`, a URL has no blanks.
    sound && (rest.starts_with("//") || script) && !rest.trim_end().contains(' ')
}

/// `query` is as often a search as a statement, so a statement needs its two words.
fn looks_like_sql(text: &str) -> bool {
    const PAIRS: [(&str, &[&str]); 12] = [
        ("alter", &["table", "database", "role", "user", "schema"]),
        ("copy", &["from", "to"]),
        ("create", &["table", "database", "user", "role", "index", "function"]),
        ("delete", &["from"]),
        ("drop", &["table", "database", "schema", "index", "view", "user", "role"]),
        ("grant", &["to"]),
        ("insert", &["into"]),
        ("merge", &["into"]),
        ("revoke", &["from"]),
        ("select", &["from"]),
        ("truncate", &["table"]),
        ("update", &["set"]),
    ];
    let mut words = text.split(|char: char| !char.is_ascii_alphabetic()).filter(|w| !w.is_empty());
    let first = words.next().unwrap_or_default();
    let pair = PAIRS.iter().find(|(known, _)| first.eq_ignore_ascii_case(known));
    let with = first.eq_ignore_ascii_case("with") && text.contains('(');
    with || pair.is_some_and(|(_, second)| {
        words.any(|word| second.iter().any(|known| word.eq_ignore_ascii_case(known)))
    })
}
