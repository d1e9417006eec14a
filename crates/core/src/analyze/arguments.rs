//! The arguments of a tool, a skill or a named action: each value goes to the analyzer for its
//! kind.
//!
//! What a value is, its name tells (`url`, `file_path`, `command`, `sql`), the schema, or the
//! value itself when it has the form of a URL, a path or a statement. Prose that mentions an
//! address is prose.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use ::url::Url;
use serde_json::Value;

use crate::action::{Action, Language};
use crate::analyze::code::sql::form::{self, Setting};
use crate::analyze::purpose::{Effect, Purpose};
use crate::analyze::{Analysis, path, purpose, shell, url};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location::{self, Scene};

mod line;
mod order;
mod role;
mod tongue;

use role::Role;
use tongue::Tongue;

/// The number of values of one call that are examined; a call with more needs a confirmation.
const MOST_VALUES: usize = 2_000;

/// The callee and its purpose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The name of the server or app.
    pub(crate) owner: &'a str,
    /// The name of the callee.
    pub(crate) name: &'a str,
    pub(crate) purpose: Purpose,
    /// The schema of its arguments.
    pub(crate) schema: Option<&'a Value>,
}

impl Call<'_> {
    /// Returns the language that the names of the tool and its server refer to.
    fn tongue(&self) -> Option<Tongue> {
        tongue::named(self.name).or_else(|| tongue::named(self.owner))
    }

    fn executes(&self) -> bool {
        self.purpose == Purpose::Known(Effect::Execute)
    }

    /// Reports whether it queries a database.
    fn queries(&self) -> bool {
        let asks = |word: &str| matches!(word, "query" | "sql" | "db" | "database" | "statement");
        let says = |name: &str| purpose::split(name).iter().any(|word| asks(word));
        self.tongue() == Some(Tongue::Code(Language::Sql)) || says(self.name) || says(self.owner)
    }

    /// Whether it opens addresses, so that `file:` is one of them and not the name of a file.
    fn opens_addresses(&self) -> bool {
        const WORDS: [&str; 14] = [
            "browse",
            "browser",
            "chrome",
            "curl",
            "download",
            "fetch",
            "http",
            "navigate",
            "open",
            "page",
            "playwright",
            "puppeteer",
            "visit",
            "web",
        ];
        let says = |name: &str| {
            purpose::split(name).iter().any(|word| WORDS.binary_search(&&**word).is_ok())
        };
        says(self.name) || says(self.owner)
    }
}

/// The findings in the arguments.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The findings of all analyzers.
    pub(crate) analysis: Analysis,
    /// True when there was a command or code to be judged by itself.
    pub(crate) ran: bool,
    /// True when every named path is in the workspace; `None` when no path was named.
    pub(crate) stays: Option<bool>,
}

/// The context of a value, from the fields in its own object or one around it.
#[derive(Debug, Clone, Copy, Default)]
struct ValueContext {
    tongue: Option<Tongue>,
    /// The program that decodes the fields beside it.
    decoder: Option<&'static str>,
}

/// One value that is still to be examined.
struct Open<'a> {
    role: Role,
    name: &'a str,
    value: &'a Value,
    context: ValueContext,
}

/// Returns the findings in the arguments of a call.
pub(crate) fn analyze(
    arguments: &BTreeMap<String, Value>,
    call: Call<'_>,
    scene: &Scene<'_>,
) -> Seen {
    let mut walk = Walk { seen: Seen::default(), call, scene, open: Vec::new() };
    let fields = arguments.iter().map(|(name, value)| (name.as_str(), value));
    walk.fields(fields, |name| role::of(name, call.schema), ValueContext::default());
    let mut looked = 0_usize;
    while let Some(next) = walk.open.pop() {
        looked = looked.saturating_add(1);
        if looked > MOST_VALUES {
            walk.seen.analysis.facts.push(Fact::new(FactKind::Bound, "too many arguments"));
            break;
        }
        walk.step(&next);
    }
    walk.seen
}

struct Walk<'a, 's> {
    seen: Seen,
    call: Call<'a>,
    scene: &'s Scene<'s>,
    open: Vec<Open<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn step(&mut self, next: &Open<'a>) {
        let Open { role, name, value, context } = *next;
        match value {
            Value::String(text) => self.look(role, name, text, context),
            Value::Array(items) => {
                if let Some(line) = line::of_list(items)
                    && matches!(role, Role::Command | Role::Words)
                {
                    self.seen.ran = true;
                    self.keep(shell::analyze(&line, &self.scene.deeper()));
                }
                let inner = |value| Open { role, name, value, context };
                self.open.extend(items.iter().rev().map(inner));
            }
            Value::Object(map) => {
                let fields = map.iter().map(|(name, value)| (name.as_str(), value));
                self.fields(fields, |name| role::of(name, None).or(role), context);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Queues the fields of one object, and judges the command line that they make up.
    fn fields(
        &mut self,
        fields: impl DoubleEndedIterator<Item = (&'a str, &'a Value)> + Clone,
        role: impl Fn(&str) -> Role,
        context: ValueContext,
    ) {
        if let Some(line) = line::of_fields(&fields) {
            self.seen.ran = true;
            self.keep(shell::analyze(&line, &self.scene.deeper()));
        }
        for line in line::of_the_called(&fields, self.call.owner, self.call.name) {
            let mut found = shell::analyze(&line, &self.scene.deeper());
            // That it is a command line is only likely: what nobody understands says nothing.
            found.facts.retain(|fact| !tongue::DOUBTS.contains(&fact.kind));
            self.keep(found);
        }
        for kind in fields.clone().filter_map(|(name, value)| order::of_field(name, value)) {
            self.seen.analysis.facts.push(Fact::new(kind, self.call.name));
        }
        let told = fields.clone().find_map(|(name, value)| tongue::beside(name, value));
        let context = ValueContext {
            tongue: told.or(context.tongue),
            decoder: fields.clone().find_map(decoder).or(context.decoder),
        };
        self.open.extend(fields.rev().map(|(name, value)| Open {
            role: role(name),
            name,
            value,
            context,
        }));
    }

    fn look(&mut self, role: Role, name: &str, text: &str, context: ValueContext) {
        let inner = self.scene.deeper();
        let coded = matches!(role, Role::Command | Role::Code(_) | Role::Script | Role::Snippet);
        if coded && let Some(decoder) = context.decoder.or_else(|| base64_by_its_look(text)) {
            let line = format!("printf %s {} | {decoder} | sh", line::quoted(text));
            self.keep(shell::analyze(&line, &inner));
        }
        if let Some(kind) = order::of_text(text) {
            self.seen.analysis.facts.push(Fact::new(kind, self.call.name));
        }
        match role {
            Role::Command | Role::Script | Role::Snippet if self.is_statement(text) => {
                self.run(Tongue::Code(Language::Sql), text);
            }
            Role::Command | Role::Words if has_metacharacters(text) => {
                self.seen.ran |= role == Role::Command;
                self.metacharacters(name, text);
                self.keep(shell::analyze(text, &inner));
            }
            Role::Command => {
                self.seen.ran = true;
                self.keep(shell::analyze(text, &inner));
            }
            Role::Code(tongue) => self.run(tongue, text),
            Role::Script | Role::Snippet => self.source(role, text, context),
            Role::Query | Role::Other if let Some(sql) = self.statements(role, name, text) => {
                self.run(Tongue::Code(Language::Sql), sql);
            }
            Role::Path => self.path(text),
            Role::Url
                if !self.call.opens_addresses()
                    && let Some(path) = file_of_uri(text) =>
            {
                self.path(&path);
            }
            // A path on the tool's own site, or on this machine; two slashes would leave it.
            Role::Url
                if text.starts_with('/')
                    && !["//", "/\\"].iter().any(|two| text.starts_with(two)) =>
            {
                self.place(text, SECRET);
            }
            Role::Query | Role::Other if is_a_path(text) && !role::is_document(name) => {
                self.place(text, TELLING);
            }
            Role::Url if !text.contains(':') && !text.starts_with('/') => self.host(text),
            Role::Host => self.host(text),
            _ if role == Role::Url || starts_like_a_url(text) => self.url(text),
            Role::Other if self.call.executes() => self.keep(tongue::guess(text, &inner)),
            Role::Words | Role::Query | Role::Url | Role::Other => {}
        }
        let handed_on = matches!(role, Role::Path | Role::Url | Role::Host)
            || (role == Role::Other && !role::is_prose(name));
        if handed_on && has_substitution(text) {
            self.metacharacters(name, text);
        }
    }

    /// Judges a text whose own name does not give its language.
    fn source(&mut self, role: Role, text: &str, context: ValueContext) {
        let told =
            context.tongue.or_else(|| self.call.tongue()).or_else(|| tongue::first_line(text));
        let looks = role == Role::Snippet && self.call.purpose == Purpose::Known(Effect::Read);
        match told {
            _ if is_a_path(text) => self.place(text, TELLING),
            _ if looks => {}
            Some(tongue) => self.run(tongue, text),
            None => self.keep(tongue::guess(text, &self.scene.deeper())),
        }
    }

    /// Whether a database is asked, and the text starts with a statement.
    fn is_statement(&self, text: &str) -> bool {
        self.call.queries() && form::statements(text, Setting::Database).is_some()
    }

    /// The statements in an argument that nobody calls one.
    fn statements<'t>(&self, role: Role, name: &str, text: &'t str) -> Option<&'t str> {
        let queries = self.call.queries();
        let setting = if queries { Setting::Database } else { Setting::Elsewhere };
        if (role == Role::Query || queries) && looks_like_sql(text) {
            return Some(text);
        }
        let found = form::statements(text, setting);
        found.filter(|_| role == Role::Query || queries || !role::is_document(name))
    }

    fn run(&mut self, tongue: Tongue, text: &str) {
        self.seen.ran = true;
        self.keep(tongue.read(text, &self.scene.deeper()));
    }

    fn metacharacters(&mut self, name: &str, text: &str) {
        let fact = Fact::new(FactKind::ToolMetacharacters, format!("{name}: {text}"));
        self.seen.analysis.facts.push(fact);
    }

    /// Adopts findings without their spans, which point into the argument, not into the action's
    /// text.
    fn keep(&mut self, mut analysis: Analysis) {
        for fact in &mut analysis.facts {
            fact.span = None;
        }
        for command in &mut analysis.commands {
            command.span = None;
        }
        self.seen.analysis.extend(analysis);
    }

    fn url(&mut self, text: &str) {
        self.tell(url::facts(text.trim(), self.scene).into_iter());
    }

    /// Judges a domain or an address without a scheme. A single word is as often the name of
    /// something else, so it counts only where it is known to lead to an internal network.
    fn host(&mut self, text: &str) {
        let text = text.trim();
        let bare = text.split('%').next().unwrap_or_default().trim_matches(['[', ']']);
        let address = bare.parse::<Ipv6Addr>().map(|address| format!("https://[{address}]/"));
        let facts = url::facts(&address.unwrap_or_else(|_| format!("https://{text}")), self.scene);
        let word = !text.contains(['.', ':']);
        self.tell(facts.into_iter().filter(|fact| {
            let named = fact.tags.has(Tag::Named) || fact.kind == FactKind::UrlInvalid;
            !(word && named)
        }));
    }

    fn tell(&mut self, facts: impl Iterator<Item = Fact>) {
        let tagged = facts.map(|fact| fact.tagged(Tags::of(&[Tag::Argument])).at(None));
        self.seen.analysis.facts.extend(tagged);
    }

    /// Judges a path. It may be on another machine, so being outside our workspace is not a
    /// finding; the name of a sensitive file is.
    fn path(&mut self, text: &str) {
        if starts_like_a_url(text) {
            return self.url(text);
        }
        let path = text.to_owned();
        // A relative path may be relative to the tool's own root, such as a repository.
        let inside =
            text.starts_with('/') && location::locate(text, self.scene).has(Tag::Workspace);
        self.seen.stays = Some(self.seen.stays.unwrap_or(true) && inside);
        let action = match self.call.purpose {
            Purpose::Known(Effect::Read) => Action::FileRead { path },
            Purpose::Known(Effect::Destroy) => Action::FileDelete { path },
            Purpose::Known(_) | Purpose::Unknown => Action::FileWrite { path, content: None },
        };
        let mut analysis = path::analyze(&action, self.scene);
        analysis.facts.retain(|fact| {
            fact.tags.any(TELLING)
                || matches!(fact.kind, FactKind::Malformed | FactKind::Traversal | FactKind::Bound)
        });
        self.keep(analysis);
    }

    /// A path under a name that does not say so is at least looked at by the called tool.
    fn place(&mut self, text: &str, telling: Tags) {
        let path = text.trim().to_owned();
        let action = match self.call.purpose {
            Purpose::Known(Effect::Destroy) => Action::FileDelete { path },
            Purpose::Known(_) | Purpose::Unknown => Action::FileRead { path },
        };
        let mut analysis = path::analyze(&action, self.scene);
        analysis.facts.retain(|fact| fact.tags.any(telling));
        self.keep(analysis);
    }
}

/// Places that tell something wherever the path stands.
const TELLING: Tags = SECRET.and(Tags::of(&[
    Tag::Kernel,
    Tag::Device,
    Tag::AboveGuard,
    Tag::Sensitive,
    Tag::Startup,
]));

/// Places that no path of a site is called like.
const SECRET: Tags = Tags::of(&[Tag::Secret, Tag::Accounts, Tag::Blocked, Tag::SignIn, Tag::Guard]);

/// Whether the text is the path of a file and nothing else.
fn is_a_path(text: &str) -> bool {
    let text = text.trim();
    let rooted = text.starts_with('/') && !text.starts_with("//");
    let hidden = text.starts_with('.') && text.len() > 2 && !text.contains(' ');
    let drive =
        matches!(text.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    text.len() <= 4096
        && !text.contains(['\n', '\r'])
        && (rooted || hidden || drive || text.starts_with("~/"))
}

/// The file that a `file:` address names, as editors write them.
fn file_of_uri(text: &str) -> Option<String> {
    let url = Url::parse(text.trim()).ok().filter(|url| url.scheme() == "file")?;
    let here = url.host_str().is_none_or(|host| matches!(host, "" | "localhost"));
    here.then(|| path::percent_decode(url.path()))
}

/// Reports whether a shell would do more with this than start one program.
fn has_metacharacters(text: &str) -> bool {
    text.contains([';', '|', '&', '$', '`', '<', '>', '\n', '\r', '(', ')', '{', '}'])
}

/// Reports whether a shell would run a command to expand this.
fn has_substitution(text: &str) -> bool {
    text.contains("$(") || text.matches('`').nth(1).is_some()
}

/// Returns the program that decodes the encoding which a field names: `encoding: base64`.
fn decoder((name, value): (&str, &Value)) -> Option<&'static str> {
    let names = ["encoding", "encoded", "format", "codec", "transfer"];
    let says = purpose::split(name).last().is_some_and(|word| names.contains(&&**word));
    match value.as_str().filter(|_| says)?.to_ascii_lowercase().as_str() {
        "base64" | "b64" | "base64url" => Some("base64 -d"),
        "base32" | "b32" => Some("base32 -d"),
        "hex" | "base16" => Some("xxd -r -p"),
        _ => None,
    }
}

/// Returns the decoder for a command that looks like base64 and nothing else, although no field
/// says so.
fn base64_by_its_look(text: &str) -> Option<&'static str> {
    let body = text.trim_end_matches('=');
    let has = |what: fn(&u8) -> bool| body.bytes().any(|byte| what(&byte));
    let whole = text.len() >= 12
        && text.len().is_multiple_of(4)
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let padded = body.len() < text.len();
    (whole && mixed && (padded || has(u8::is_ascii_digit))).then_some("base64 -d")
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
    // A line of prose may start with `Note:`; a URL does not contain blanks.
    sound && (rest.starts_with("//") || script) && !rest.trim_end().contains(' ')
}

/// Reports whether a text is a statement. `query` is as often a search, so a statement needs its
/// two words.
pub(crate) fn looks_like_sql(text: &str) -> bool {
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
