//! The scopes of an API key: names like `email.send`, `shell.*`, `*`.
//!
//! Every action needs exactly one name ([`needed`]), and a key has patterns over such names:
//!
//! | pattern | allows |
//! |---|---|
//! | `email.send` | that name alone |
//! | `shell.*` | every name that starts with `shell.` |
//! | `*` | everything |
//! | `sessions.consent` | to agree for a person that a session begins; no pattern includes it |
//! | `audit.read`, `metrics.read` | to read the record, the numbers of the server; no pattern includes them |
//! | `worker` | to register as a worker, which is sent what was permitted; no pattern includes it |
//!
//! Names that an agent chooses (a tool, a server, a channel) become one part each: every byte in
//! them that is not a letter, a digit, `_` or `-` is percent-encoded (`%2E`), so that a dot, star
//! or space in a name never makes a pattern match more than its author meant. Patterns are compared
//! exactly, with case.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;

use countersign_core::Action;
use countersign_core::action::UiOp;
use countersign_core::policy::nearest;
use serde::{Deserialize, Serialize};
use url::Url;

/// The names of actions that are not skills.
pub const NAMES: &[&str] = &[
    "applescript.run",
    "code.run",
    "file.delete",
    "file.list",
    "file.read",
    "file.write",
    "page.export",
    "page.read",
    "screen.capture",
    "shell.run",
    "ui.click",
    "ui.hover",
    "ui.press",
    "ui.scroll",
    "ui.select",
    "ui.submit",
    "ui.type",
    "web.download",
    "web.navigate",
    "web.request",
];

/// The scope that a program's key needs to consent, for its person, that a session starts, and to
/// hand credentials to it. No pattern includes it: it must be named.
pub const CONSENT: &str = "sessions.consent";

/// The scope that lets a program's key read the audit trail of its workspace. No pattern includes
/// it.
pub const AUDIT_READ: &str = "audit.read";

/// The scope that lets a key read the server's metrics. No pattern includes it.
pub const METRICS_READ: &str = "metrics.read";

/// The scope that lets a key register a worker. No pattern includes it.
pub const WORKER: &str = "worker";

/// The names that no pattern includes.
const NAMED_ALONE: [&str; 4] = [CONSENT, AUDIT_READ, METRICS_READ, WORKER];

/// Groups whose names cannot be listed: the part after the dot is chosen by others.
const OPEN: &[&str] = &["login", "named", "notify", "skill", "tool"];

/// One pattern over the names of actions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scope(Pattern);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Pattern {
    All,
    /// All names that start with this, which ends in a dot.
    Group(String),
    Exact(String),
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Scope {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "What a key may propose: a name like `shell.run` or `email.send`, a group like `shell.*`, or `*`.",
        })
    }
}

/// The reason for which a text is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// It does not have the form of a scope.
    #[error("bad scope `{0}`: write a name like `email.send`, a group like `shell.*`, or `*`")]
    Shape(String),
    /// It names nothing known.
    #[error("unknown scope `{scope}`{}", hint(near.as_deref()))]
    Unknown {
        /// The scope as written.
        scope: String,
        /// The scope that was probably meant.
        near: Option<String>,
    },
}

fn hint(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"))
}

impl Scope {
    /// Parses a scope that must name something: an action of ours, or one of these skills.
    ///
    /// A stored scope is read by serde instead, which checks only the form: a skill that is no
    /// longer declared must not make a key unreadable.
    ///
    /// # Errors
    /// It has another form, or names nothing known.
    pub fn parse(text: &str, skills: &BTreeSet<String>) -> Result<Self, ScopeError> {
        let scope = Self::read(text)?;
        let names = || NAMES.iter().copied().chain(skills.iter().map(String::as_str));
        let known = match &scope.0 {
            Pattern::All => true,
            Pattern::Exact(name) => {
                NAMED_ALONE.contains(&name.as_str())
                    || can_be(name)
                    || names().any(|known| known == name)
            }
            Pattern::Group(group) => {
                can_hold(group) || names().any(|known| known.starts_with(group.as_str()))
            }
        };
        if known {
            return Ok(scope);
        }
        Err(ScopeError::Unknown { scope: shown(text), near: meant(&scope, names) })
    }

    /// Reports whether it is [`CONSENT`] itself.
    #[must_use]
    pub fn is_consent(&self) -> bool {
        self.is(CONSENT)
    }

    /// Reports whether it is exactly this name, not a pattern that would include it.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        matches!(&self.0, Pattern::Exact(own) if own == name)
    }

    /// Reports whether a key with this scope may do an action that needs this name.
    #[must_use]
    pub fn allows(&self, needed: &str) -> bool {
        match &self.0 {
            Pattern::All => true,
            Pattern::Group(group) => {
                needed.strip_prefix(group.as_str()).is_some_and(|rest| !rest.is_empty())
            }
            Pattern::Exact(name) => name == needed,
        }
    }

    fn read(text: &str) -> Result<Self, ScopeError> {
        let bad = || ScopeError::Shape(shown(text));
        if text == "*" {
            return Ok(Self(Pattern::All));
        }
        if text.len() > LONGEST {
            return Err(bad());
        }
        let group = text.strip_suffix(".*");
        let name = group.unwrap_or(text);
        let mut parts = name.split('.');
        // The only name of one part, so no action can ever need it.
        let whole = name == WORKER || parts.clone().nth(1).is_some();
        let sound = parts.all(is_part) && (group.is_some() || whole);
        // `login.bank.*` would match `login.bank.evil.example`: domains grow to the left.
        let reaches_too_far = group.is_some_and(|group| group.starts_with("login."));
        match (sound && !reaches_too_far, group) {
            (false, _) => Err(bad()),
            (true, Some(group)) => Ok(Self(Pattern::Group(format!("{group}.")))),
            (true, None) => Ok(Self(Pattern::Exact(name.to_owned()))),
        }
    }
}

/// The longest scope, longer than any name of ours and of most tools.
const LONGEST: usize = 256;

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Pattern::All => f.write_str("*"),
            Pattern::Group(group) => write!(f, "{group}*"),
            Pattern::Exact(name) => f.write_str(name),
        }
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

impl TryFrom<String> for Scope {
    type Error = ScopeError;

    fn try_from(text: String) -> Result<Self, ScopeError> {
        Self::read(&text)
    }
}

/// Reports whether any of these scopes allows this action.
#[must_use]
pub fn allow(scopes: &[Scope], action: &Action) -> bool {
    let needed = needed(action);
    scopes.iter().any(|scope| scope.allows(&needed))
}

/// The name for which a key must have a scope.
#[must_use]
pub fn needed(action: &Action) -> String {
    let name: Cow<'static, str> = match action {
        Action::Shell { .. } => "shell.run".into(),
        Action::Code { .. } => "code.run".into(),
        Action::FileRead { .. } => "file.read".into(),
        Action::FileWrite { .. } => "file.write".into(),
        Action::FileDelete { .. } => "file.delete".into(),
        Action::FileList { .. } => "file.list".into(),
        Action::Navigate { .. } => "web.navigate".into(),
        Action::HttpRequest { .. } => "web.request".into(),
        Action::Download { .. } => "web.download".into(),
        Action::Ui { op, .. } => ui_name(*op).into(),
        Action::Screenshot {} => "screen.capture".into(),
        Action::ReadDom {} => "page.read".into(),
        Action::ExportPdf { .. } => "page.export".into(),
        Action::Applescript { .. } => "applescript.run".into(),
        Action::Login { site } => format!("login.{}", domain(site)).into(),
        Action::Notify { channel } => format!("notify.{}", part(channel)).into(),
        Action::Tool { server, tool, .. } => format!("tool.{}.{}", part(server), part(tool)).into(),
        Action::Named { name, .. } => format!("named.{}", part(name)).into(),
        Action::Skill { skill, .. } => skill_name(skill).into(),
    };
    name.into_owned()
}

const fn ui_name(op: UiOp) -> &'static str {
    match op {
        UiOp::Click => "ui.click",
        UiOp::Type => "ui.type",
        UiOp::Select => "ui.select",
        UiOp::Submit => "ui.submit",
        UiOp::Press => "ui.press",
        UiOp::Scroll => "ui.scroll",
        UiOp::Hover => "ui.hover",
    }
}

/// A skill's id, unless it has another form or equals another name: a skill called `shell.run`
/// needs `skill.shell%2Erun`.
fn skill_name(id: &str) -> String {
    let plain = id.split_once('.').is_some_and(|(app, skill)| is_word(app) && is_word(skill));
    if plain && !is_open(id) && !NAMES.contains(&id) && !NAMED_ALONE.contains(&id) {
        return id.to_owned();
    }
    format!("skill.{}", part(id))
}

/// The domain of a site, normalised for lookup. A text that is not an address stays one part.
fn domain(site: &str) -> String {
    let parsed = Url::parse(site).ok().filter(is_web);
    let parsed = parsed.or_else(|| Url::parse(&format!("https://{site}")).ok());
    let domain = parsed.as_ref().and_then(Url::host_str);
    match domain {
        Some(domain) if domain.split('.').all(is_word) => domain.to_owned(),
        Some(domain) => part(domain),
        None => part(site),
    }
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// One part of a name: without a dot, a star, or anything else that could end or widen it.
fn part(text: &str) -> String {
    let mut part = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain(byte) {
            part.push(char::from(byte));
        } else {
            let _ = write!(part, "%{byte:02X}");
        }
    }
    part
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_plain)
}

fn is_part(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| is_plain(byte) || byte == b'%')
}

fn is_open(name: &str) -> bool {
    name.split_once('.').is_some_and(|(group, _)| OPEN.contains(&group))
}

/// Reports whether some action of an open group needs this name.
fn can_be(name: &str) -> bool {
    match name.split_once('.') {
        Some(("tool", rest)) => rest.matches('.').count() == 1,
        Some(("login", _)) => true,
        Some((group, rest)) => OPEN.contains(&group) && !rest.contains('.'),
        None => false,
    }
}

/// Reports whether some action of an open group needs a name with this prefix, which ends in a dot.
fn can_hold(group: &str) -> bool {
    match group.split_once('.') {
        Some(("tool", rest)) => rest.matches('.').count() <= 1,
        Some((group, rest)) => OPEN.contains(&group) && rest.is_empty(),
        None => false,
    }
}

/// The scope that was probably meant, in the form in which it was written.
fn meant<'a, I: Iterator<Item = &'a str>>(scope: &Scope, names: impl Fn() -> I) -> Option<String> {
    match &scope.0 {
        Pattern::All => None,
        Pattern::Exact(name) if can_hold(&format!("{name}.")) => Some(format!("{name}.*")),
        Pattern::Exact(name) => nearest(name, names()).map(str::to_owned),
        Pattern::Group(group) => {
            let groups = names().filter_map(|name| name.split_once('.').map(|(group, _)| group));
            let near = nearest(group.trim_end_matches('.'), groups.chain(OPEN.iter().copied()));
            near.map(|group| format!("{group}.*"))
        }
    }
}

/// A text for a message: one line, and not too long.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().filter(|char| !char.is_control()).take(80).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use countersign_core::Policy;
    use serde_json::{Value, json};

    use super::*;

    fn scope(text: &str) -> Result<Scope, String> {
        Scope::parse(text, &Policy::default().skill_ids()).map_err(|error| error.to_string())
    }

    fn name(action: Value) -> String {
        needed(&serde_json::from_value(action).unwrap())
    }

    fn skill(id: &str) -> String {
        name(json!({"kind": "skill", "skill": id}))
    }

    fn tool(server: &str, tool: &str) -> String {
        name(json!({"kind": "tool", "server": server, "tool": tool}))
    }

    #[test]
    fn every_kind_of_action_needs_one_name() {
        for (action, needs) in [
            (json!({"kind": "shell", "command": "ls"}), "shell.run"),
            (json!({"kind": "code", "language": "sql", "source": ""}), "code.run"),
            (json!({"kind": "file_read", "path": "a"}), "file.read"),
            (json!({"kind": "file_write", "path": "a"}), "file.write"),
            (json!({"kind": "file_delete", "path": "a"}), "file.delete"),
            (json!({"kind": "file_list", "path": "a"}), "file.list"),
            (json!({"kind": "navigate", "url": "https://a.example"}), "web.navigate"),
            (json!({"kind": "http_request", "method": "GET", "url": "x"}), "web.request"),
            (json!({"kind": "download", "files": []}), "web.download"),
            (json!({"kind": "ui", "surface": "browser", "op": "submit"}), "ui.submit"),
            (json!({"kind": "screenshot"}), "screen.capture"),
            (json!({"kind": "read_dom"}), "page.read"),
            (json!({"kind": "export_pdf", "pages": 1}), "page.export"),
            (json!({"kind": "login", "site": "https://a.example/in"}), "login.a.example"),
            (json!({"kind": "notify", "channel": "telegram"}), "notify.telegram"),
            (json!({"kind": "skill", "skill": "email.send"}), "email.send"),
            (json!({"kind": "applescript", "script": ""}), "applescript.run"),
            (json!({"kind": "tool", "server": "github", "tool": "star"}), "tool.github.star"),
            (json!({"kind": "named", "name": "deleteAccount"}), "named.deleteAccount"),
        ] {
            let needed = name(action);
            assert_eq!(needed, needs);
            let (group, _) = needs.split_once('.').unwrap();
            for text in [needs, &format!("{group}.*"), "*"] {
                let scope = scope(text).unwrap();
                assert!(scope.allows(&needed), "{text} {needed}");
                assert_eq!(scope.to_string(), text);
            }
            assert!(!scope("calendar.create").unwrap().allows(&needed));
            assert!(!scope("calendar.*").unwrap().allows(&needed));
        }
        let ops = ["click", "type", "select", "submit", "press", "scroll", "hover"];
        for op in ops {
            let needed = name(json!({"kind": "ui", "surface": "app", "op": op}));
            assert!(NAMES.contains(&needed.as_str()), "{op}");
        }
        assert!(NAMES.is_sorted());
    }

    #[test]
    fn what_names_nothing_is_told_with_what_was_meant() {
        for (text, message) in [
            ("emial.send", "unknown scope `emial.send`: did you mean `email.send`?"),
            ("shel.run", "unknown scope `shel.run`: did you mean `shell.run`?"),
            ("emial.*", "unknown scope `emial.*`: did you mean `email.*`?"),
            ("tol.*", "unknown scope `tol.*`: did you mean `tool.*`?"),
            ("Email.send", "unknown scope `Email.send`: did you mean `email.send`?"),
            ("tool.github", "unknown scope `tool.github`: did you mean `tool.github.*`?"),
            ("tool.a.b.c", "unknown scope `tool.a.b.c`"),
            ("tool.a.b.*", "unknown scope `tool.a.b.*`"),
            ("notify.a.b", "unknown scope `notify.a.b`"),
            ("notify.a.*", "unknown scope `notify.a.*`: did you mean `notify.*`?"),
            ("zzzzz.qqqqq", "unknown scope `zzzzz.qqqqq`"),
        ] {
            assert_eq!(scope(text), Err(message.to_owned()));
        }
    }

    #[test]
    fn a_text_of_another_form_is_no_scope() {
        for text in [
            "",
            " ",
            "email",
            ".",
            "email.",
            ".send",
            "email..send",
            "email.*.send",
            "*.send",
            "email*",
            "email.s*",
            "**",
            "*.*",
            "email.send ",
            "email .send",
            "email.send\n",
            "tool.git hub.x",
            "login.bank.*",
            "email.*.*",
            "é.x",
        ] {
            let error = scope(text).unwrap_err();
            assert!(error.starts_with("bad scope `"), "{error}");
            assert!(!error.contains('\n'));
        }
        let long = scope(&"a.".repeat(10_000)).unwrap_err();
        assert!(long.len() < 300, "{long}");
    }

    #[test]
    fn a_group_ends_at_its_dot() {
        let group = scope("shell.*").unwrap();
        assert!(group.allows("shell.run"));
        for needed in ["shell", "shell.", "shellx.run", "Shell.run", "xshell.run"] {
            assert!(!group.allows(needed), "{needed}");
        }
        let server = scope("tool.git.*").unwrap();
        assert!(server.allows(&tool("git", "push")));
        assert!(!server.allows(&tool("github", "push")));
        assert!(!server.allows(&tool("git.hub", "push")));
        assert!(!scope("email.send").unwrap().allows("email.send.now"));
    }

    #[test]
    fn hostile_names_widen_nothing() {
        assert_eq!(tool("a.b", "c.*"), "tool.a%2Eb.c%2E%2A");
        assert_eq!(tool("a", "b c%2E\u{e9}"), "tool.a.b%20c%252E%C3%A9");
        assert_eq!(tool("", ""), "tool..");
        for id in [
            "shell.run",
            "file.read",
            "ui.click",
            "web.navigate",
            "tool.github.x",
            "login.bank",
            "skill.x",
            "named.x",
            "email.send.now",
            "email.*",
            "*",
            "",
            "x",
            "email. send",
        ] {
            let needed = skill(id);
            assert!(needed.starts_with("skill."), "{id} {needed}");
            assert_eq!(needed.matches('.').count(), 1, "{needed}");
        }
        assert_eq!(skill("web.search"), "web.search");
        for text in ["email.send", "email.*", "shell.*", "tool.*", "web.*"] {
            assert!(!scope(text).unwrap().allows(&skill("email.send.now")), "{text}");
        }
        let named = name(json!({"kind": "named", "name": "x.y *"}));
        assert_eq!(named, "named.x%2Ey%20%2A");
    }

    #[test]
    fn a_login_is_for_the_domain_the_browser_would_go_to() {
        let login = |site: &str| name(json!({"kind": "login", "site": site}));
        for (site, needs) in [
            ("https://bank.example", "login.bank.example"),
            ("bank.example", "login.bank.example"),
            ("bank.example:8443/in", "login.bank.example"),
            ("HTTPS://BANK.example/", "login.bank.example"),
            ("https://bank.example@evil.example", "login.evil.example"),
            ("bank.example@evil.example", "login.evil.example"),
            ("evil.example/bank.example", "login.evil.example"),
            ("https://bank.example.evil.example", "login.bank.example.evil.example"),
            ("https://b\u{e4}nk.example", "login.xn--bnk-qla.example"),
            ("https://[::1]/", "login.%5B%3A%3A1%5D"),
            ("", "login."),
            ("a b", "login.a%20b"),
        ] {
            assert_eq!(login(site), needs, "{site}");
        }
        let bank = scope("login.bank.example").unwrap();
        assert!(bank.allows(&login("https://bank.example/in")));
        assert!(!bank.allows(&login("https://bank.example.evil.example")));
    }

    #[test]
    fn consent_must_be_named_and_is_no_action() {
        assert!(scope(CONSENT).unwrap().is_consent());
        for text in ["*", "shell.run", "email.*"] {
            assert!(!scope(text).unwrap().is_consent(), "{text}");
        }
        assert!(scope("sessions.*").is_err());
        assert_eq!(skill(CONSENT), "skill.sessions%2Econsent");
        assert_eq!(skill(AUDIT_READ), "skill.audit%2Eread");
        assert_eq!(skill(METRICS_READ), "skill.metrics%2Eread");
    }

    #[test]
    fn a_workers_scope_is_named_alone_and_permits_nothing() {
        let worker = scope(WORKER).unwrap();
        assert!(worker.is(WORKER) && !worker.allows("shell.run"));
        for text in ["*", "shell.*", "web.request"] {
            assert!(!scope(text).unwrap().is(WORKER), "{text}");
        }
        for text in ["worker.*", "workers", "worker.run"] {
            assert!(scope(text).is_err(), "{text}");
        }
        assert_eq!(skill(WORKER), "skill.worker");
        let stored: Scope = serde_json::from_str("\"worker\"").unwrap();
        assert_eq!(stored, worker);
    }

    #[test]
    fn any_of_several_scopes_is_enough_and_none_is_not() {
        let action = serde_json::from_value(json!({"kind": "skill", "skill": "email.send"}));
        let action: Action = action.unwrap();
        let scopes = [scope("shell.*").unwrap(), scope("email.send").unwrap()];
        assert!(allow(&scopes, &action));
        assert!(!allow(&scopes[..1], &action));
        assert!(!allow(&[], &action));
    }

    #[test]
    fn a_stored_scope_reads_back_though_its_skill_is_gone() {
        let stored: Vec<Scope> = serde_json::from_str(r#"["gone.skill","*","shell.*"]"#).unwrap();
        assert_eq!(serde_json::to_string(&stored).unwrap(), r#"["gone.skill","*","shell.*"]"#);
        assert!(serde_json::from_str::<Scope>("\"a*\"").is_err());
    }
}
