//! A configuration file: its YAML schema, and its conversion to a layer.
//!
//! Text in, layer or error out: the caller reads the file. Unknown fields are errors, and so is a
//! rule whose examples fail.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::policy::declared::{self, AppRow};
use crate::policy::error::{ConfigError, Problem, did_you_mean};
use crate::policy::layer::Layer;
use crate::policy::lock::Lock;
use crate::policy::pattern::Patterns;
use crate::policy::profile::{Limits, Profile};
use crate::policy::rank::Rank;
use crate::policy::spot::{self, To};
use crate::policy::{allowed, known, limits, own, section};
use crate::row::Row;
use crate::verdict::Verdict;

/// A configuration file that sets nothing, with everything it could set explained.
pub const STARTER: &str = include_str!("starter.yaml");

/// The text of one configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    /// The name of it in errors, usually its path.
    pub name: String,
    /// The YAML.
    pub text: String,
}

/// The available configuration files, most trusted first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    /// Set by the organisation that runs the machines.
    pub organisation: Option<Source>,
    /// The file that the server sends for the workspace that the caller works in.
    pub workspace: Option<Source>,
    /// The user's own.
    pub user: Option<Source>,
    /// `.countersign.yaml` of the repository the agent works in. May only tighten.
    pub project: Option<Source>,
    /// Additional files for workspaces of a server, by the workspace's id.
    pub workspaces: BTreeMap<String, Source>,
}

/// A larger file was not written by a person.
const MOST_BYTES: usize = 1 << 20;

/// One file as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "Countersign configuration"))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    /// The built-in profile to start from: `coding-agent` unless said otherwise.
    profile: Option<String>,
    /// The everyday settings.
    safety: Option<Safety>,
    /// Verdicts by rule (`shell.git.force-push`), family (`shell.git.*`), kind of action
    /// (`kind.file_write`) or risk (`risk.high`: this or worse). The closest one holds.
    overrides: Option<BTreeMap<String, Verdict>>,
    /// The only overrides that lower a block, by the same names. Hard blocks stay. Not in a
    /// project's file.
    danger_overrides: Option<BTreeMap<String, Verdict>>,
    /// Verdicts by kind of action (`shell`, `file_write`; `*` is every other kind), for actions of
    /// which some part is named by none of the rules that allow.
    defaults: Option<BTreeMap<String, Verdict>>,
    /// The rules, families, kinds or risks that a session with `auto_confirm` confirms by itself;
    /// everything that is not set by a file, where none is named.
    auto_confirm: Option<Vec<String>>,
    /// The settings that no lower layer changes. Only in the organisation's file.
    lock: Option<Vec<Lock>>,
    /// The profile's named settings.
    options: Option<BTreeMap<String, Leniency>>,
    /// The limits of a session, in place of the profile's. A project's file may only lower them.
    limits: Option<Limits>,
    /// Rules, families, kinds or risks that always ask: no session or later file lowers them.
    always: Option<Vec<String>>,
    /// Apps and their skills, by id: what each skill does and whether it asks.
    apps: Option<BTreeMap<String, AppRow>>,
    /// Your own rules, by name. Each becomes `user.<name>`.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<BTreeMap<String, crate::schema::RuleRow>>")
    )]
    rules: Option<BTreeMap<String, Row>>,
    /// Settings of the gate. Not in a project's file.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    gate: Option<IgnoredAny>,
    /// The channels by which people are told. Not in a project's file.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    channels: Option<IgnoredAny>,
    /// Settings of the server. Not in a project's file.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    server: Option<IgnoredAny>,
    /// Settings of the hooks of agent hosts. Not in a project's file.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    hook: Option<IgnoredAny>,
    /// Settings of the MCP proxy. Not in a project's file.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    mcp: Option<IgnoredAny>,
}

/// The everyday settings.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Safety {
    /// `false` switches asking off. Hard blocks stay.
    enabled: Option<bool>,
    /// Regular expressions; a shell command that matches one asks.
    custom_patterns: Option<Vec<String>>,
    /// Paths that ask before they are written or deleted, with everything below them.
    sensitive_paths: Option<Vec<String>>,
    /// Seconds until silence is a refusal.
    approval_timeout: Option<u32>,
}

/// The possible values of an option.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Leniency {
    /// Without a word.
    Allow,
    /// Tell the person.
    Warn,
    /// Ask first.
    Confirm,
}

impl From<Leniency> for Verdict {
    fn from(leniency: Leniency) -> Self {
        match leniency {
            Leniency::Allow => Self::Allow,
            Leniency::Warn => Self::Warn,
            Leniency::Confirm => Self::Confirm,
        }
    }
}

/// Reads one file, as far as that is possible without the others.
pub(crate) fn read(rank: Rank, source: &Source) -> Result<Layer, ConfigError> {
    let at = SourceRef(source);
    if source.text.len() > MOST_BYTES {
        let problem = Problem::Shape("larger than 1 MiB".to_owned());
        return Err(at.error(&[], problem, "split it up, or leave out what is generated"));
    }
    let file: File = serde_saphyr::from_str(&source.text)
        .map_err(|error| ConfigError::yaml(&source.name, &error))?;
    check_sections(rank, &file, at)?;
    check_ranks(rank, &file, at)?;
    let safety = file.safety.unwrap_or_default();
    let options = file.options.unwrap_or_default();
    for name in options.keys() {
        known::check_option(name).map_err(|near| at.unknown("option", "options", name, near))?;
    }
    let apps = file.apps.unwrap_or_default();
    let providers = apps.iter().map(|(app, row)| (app.clone(), row.provider.clone())).collect();
    let asking_skills = declared::asking_skills(&apps);
    Ok(Layer {
        rank,
        file: source.name.clone(),
        enabled: safety.enabled,
        overrides: file.overrides.unwrap_or_default().into_iter().collect(),
        danger_overrides: file.danger_overrides.unwrap_or_default().into_iter().collect(),
        defaults: allowed::read(file.defaults.unwrap_or_default(), at)?,
        auto_confirm: file.auto_confirm,
        locks: file.lock.unwrap_or_default(),
        options: options.into_iter().map(|(name, level)| (name, level.into())).collect(),
        always: file.always.unwrap_or_default(),
        rules: own::read(rank, file.rules.unwrap_or_default(), at)?,
        patterns: read_patterns(safety.custom_patterns.unwrap_or_default(), at)?,
        sensitive_paths: read_paths(safety.sensitive_paths.unwrap_or_default(), at)?,
        approval_timeout: read_timeout(safety.approval_timeout, at)?,
        limits: limits::read(file.limits, at)?,
        profile: read_profile(file.profile.as_deref(), at)?,
        skills: declared::read(apps, at)?,
        providers,
        asking_skills,
        unheard: BTreeSet::new(),
        written: section::written(source)?,
        handed_out: section::handed_out(source)?,
    })
}

/// Refuses settings that only a more trusted file may contain.
fn check_ranks(rank: Rank, file: &File, at: SourceRef<'_>) -> Result<(), ConfigError> {
    if file.lock.is_some() && rank != Rank::Organisation {
        let problem =
            Problem::Value { field: "lock", problem: "is only for the organisation to set" };
        let hint = "put it into the organisation's file; `always` holds what is yours to hold";
        return Err(at.error(&[To::Key("lock")], problem, hint));
    }
    if file.danger_overrides.is_some() && rank == Rank::Project {
        let field = "danger_overrides";
        let problem = Problem::Value { field, problem: "is not for a project to set" };
        let hint = "put it into the user's or the organisation's file";
        return Err(at.error(&[To::Key(field)], problem, hint));
    }
    Ok(())
}

/// Refuses the sections of other components in a project's file: it could name its own approvers.
/// In a workspace's file they are refused too.
fn check_sections(rank: Rank, file: &File, at: SourceRef<'_>) -> Result<(), ConfigError> {
    let sections = [
        ("gate", &file.gate),
        ("channels", &file.channels),
        ("server", &file.server),
        ("hook", &file.hook),
        ("mcp", &file.mcp),
    ];
    let set = sections.into_iter().find(|(_, value)| value.is_some());
    match (rank, set) {
        (Rank::Project | Rank::Workspace, Some((field, _))) => {
            let problem = match rank {
                Rank::Workspace => "is not for one workspace to set",
                Rank::Organisation | Rank::User | Rank::Project => "is not for a project to set",
            };
            let problem = Problem::Value { field, problem };
            let hint = "put it into the user's or the organisation's file";
            Err(at.error(&[To::Key(field)], problem, hint))
        }
        (Rank::Organisation | Rank::Workspace | Rank::User | Rank::Project, _) => Ok(()),
    }
}

/// Checks the names a file uses, now that every file's rules are known.
pub(crate) fn check_names(
    layer: &Layer,
    source: &Source,
    own: &[String],
) -> Result<(), ConfigError> {
    let at = SourceRef(source);
    let entries = [("overrides", &layer.overrides), ("danger_overrides", &layer.danger_overrides)];
    for (section, entries) in entries {
        for (words, _) in entries {
            known::check(words, own).map_err(|near| at.unknown("rule", section, words, near))?;
        }
    }
    let auto_confirm = layer.auto_confirm.as_deref().unwrap_or_default();
    for (list, named) in [("always", layer.always.as_slice()), ("auto_confirm", auto_confirm)] {
        for (index, words) in named.iter().enumerate() {
            known::check(words, own).map_err(|near| {
                let problem = Problem::Unknown { what: "rule", word: words.clone() };
                let hint = did_you_mean(near, LIST_RULES);
                at.error(&[To::Key(list), To::Item(index)], problem, &hint)
            })?;
        }
    }
    Ok(())
}

const LIST_RULES: &str = "`countersign rules list` names every rule; a family ends in `.*`";

/// A source, for errors with a position in it.
#[derive(Clone, Copy)]
pub(super) struct SourceRef<'a>(pub(super) &'a Source);

impl SourceRef<'_> {
    pub(super) fn error(self, path: &[To<'_>], problem: Problem, hint: &str) -> ConfigError {
        let spot = spot::find(&self.0.text, path);
        ConfigError::new(&self.0.name, spot, problem, hint.to_owned())
    }

    fn unknown(
        self,
        what: &'static str,
        section: &str,
        word: &str,
        near: Option<String>,
    ) -> ConfigError {
        let hint = did_you_mean(near, if what == "rule" { LIST_RULES } else { LIST_OPTIONS });
        self.unknown_with(what, section, word, &hint)
    }

    /// An error for an unknown word, with a hint.
    pub(super) fn unknown_with(
        self,
        what: &'static str,
        section: &str,
        word: &str,
        hint: &str,
    ) -> ConfigError {
        let problem = Problem::Unknown { what, word: word.to_owned() };
        self.error(&[To::Key(section), To::Key(word)], problem, hint)
    }
}

const LIST_OPTIONS: &str = "`countersign config init` prints a file with every option";

fn read_profile(
    name: Option<&str>,
    at: SourceRef<'_>,
) -> Result<Option<&'static Profile>, ConfigError> {
    let Some(name) = name else { return Ok(None) };
    known::check_profile(name).map_err(|near| {
        let all: Vec<_> = Profile::all().iter().map(|profile| profile.name).collect();
        let problem = Problem::Unknown { what: "profile", word: name.to_owned() };
        let hint = did_you_mean(near, &format!("one of: {}", all.join(", ")));
        at.error(&[To::Key("profile")], problem, &hint)
    })?;
    Ok(Profile::named(name))
}

fn read_timeout(seconds: Option<u32>, at: SourceRef<'_>) -> Result<Option<u32>, ConfigError> {
    check_timeout(seconds, "approval_timeout", &[To::Key("safety")], at)?;
    Ok(seconds)
}

pub(super) fn check_timeout(
    seconds: Option<u32>,
    field: &'static str,
    below: &[To<'_>],
    at: SourceRef<'_>,
) -> Result<(), ConfigError> {
    const DAY: u32 = 86_400;
    match seconds {
        Some(seconds) if seconds == 0 || seconds > DAY => Err(at.error(
            &[below, &[To::Key(field)]].concat(),
            Problem::Value { field, problem: "is out of range" },
            "between 1 and 86400 seconds",
        )),
        Some(_) | None => Ok(()),
    }
}

fn read_paths(paths: Vec<String>, at: SourceRef<'_>) -> Result<Vec<String>, ConfigError> {
    match paths.iter().position(|path| path.trim().is_empty() || path.contains('\0')) {
        Some(index) => Err(at.error(
            &[To::Key("safety"), To::Key("sensitive_paths"), To::Item(index)],
            Problem::Value { field: "sensitive_paths", problem: "holds an empty path" },
            "write a file or folder, for example `~/.config/gh`",
        )),
        None => Ok(paths),
    }
}

fn read_patterns(texts: Vec<String>, at: SourceRef<'_>) -> Result<Option<Patterns>, ConfigError> {
    if texts.is_empty() {
        return Ok(None);
    }
    let copies = texts.clone();
    Patterns::compile(texts).map(Some).map_err(|bad| {
        let pattern = copies.into_iter().nth(bad.at).unwrap_or_default();
        let path = [To::Key("safety"), To::Key("custom_patterns"), To::Item(bad.at)];
        let problem = Problem::Pattern { pattern, problem: bad.problem };
        at.error(
            &path,
            problem,
            "a `\\` before a character takes it as it is; single quotes keep it",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::judge::judge;
    use crate::policy::Policy;
    use crate::policy::testing::{load, shell};

    /// The error of a user's file: position, message, hint.
    fn error(text: &str) -> (String, String) {
        let error = load(["", text, ""]).unwrap_err();
        (error.to_string(), error.hint)
    }

    /// A file, the message about it, and the hint.
    const BROKEN: &[(&str, &str, &str)] = &[
        (
            "safety:\n  enbled: true\n",
            "user.yaml:2:3: unknown field `enbled`",
            "did you mean `enabled`?",
        ),
        (
            "zzz: 1\n",
            "user.yaml:1:1: unknown field `zzz`",
            "known here: profile, safety, overrides, danger_overrides, defaults, auto_confirm, lock, \
             options, limits, always, apps, rules, gate, channels, server, hook, mcp",
        ),
        (
            "safety:\n  enabled: maybe\n",
            "user.yaml:2:12: expected yes or no here",
            "write `true` or `false`",
        ),
        (
            "safety:\n  approval_timeout: 5m\n",
            "user.yaml:2:21: expected a whole number here",
            "write digits only, without a unit",
        ),
        (
            "safety:\n  approval_timeout: 0\n",
            "user.yaml:2:3: `approval_timeout` is out of range",
            "between 1 and 86400 seconds",
        ),
        (
            "apps:\n  shop:\n    skills:\n      order: {access: write, timeout: 86401}\n",
            "user.yaml:4:30: `timeout` is out of range",
            "between 1 and 86400 seconds",
        ),
        (
            "safety: 3\n",
            "user.yaml:1:9: expected `key: value` lines here",
            "indent them below the key",
        ),
        (
            "safety:\n  custom_patterns: rm\n",
            "user.yaml:2:20: expected a list here",
            "write `[one, two]`, or a `- ` before each entry",
        ),
        (
            "overrides:\n  effect.doubt.unparsd: allow\n",
            "user.yaml:2:3: unknown rule `effect.doubt.unparsd`",
            "did you mean `effect.doubt.unparsed`?",
        ),
        (
            "overrides:\n  effect.doubt.unparsed: alow\n",
            "user.yaml:2:26: unknown word `alow`",
            "one of: allow, warn, confirm, block",
        ),
        (
            "options: {recoverble: allow}\n",
            "user.yaml:1:11: unknown option `recoverble`",
            "did you mean `recoverable`?",
        ),
        (
            "options: {recoverable: block}\n",
            "user.yaml:1:24: unknown word `block`",
            "one of: allow, warn, confirm",
        ),
        (
            "always:\n  - effect.doubt\n",
            "user.yaml:2:5: unknown rule `effect.doubt`",
            "did you mean `effect.doubt.*`?",
        ),
        (
            "profile: coding-agnet\n",
            "user.yaml:1:1: unknown profile `coding-agnet`",
            "did you mean `coding-agent`?",
        ),
        (
            "safety:\n  custom_patterns:\n    - ok\n    - 'a(b'\n",
            "user.yaml:4:7: bad pattern `a(b`: unclosed group",
            "a `\\` before a character takes it as it is; single quotes keep it",
        ),
        (
            "safety:\n  sensitive_paths: ['']\n",
            "user.yaml:2:21: `sensitive_paths` holds an empty path",
            "write a file or folder, for example `~/.config/gh`",
        ),
        (
            "safety:\n  enabled: true\n  enabled: false\n",
            "user.yaml:3:3: `enabled` stands here a second time",
            "keep one of the two",
        ),
        (
            "safety:\n\tenabled: true\n",
            "user.yaml:2:2: tabs disallowed within this context (block indentation)",
            "indent with spaces",
        ),
        (
            "overrides:\n  *: allow\n",
            "user.yaml:2:3: a bare `*` means something else in yaml",
            "put names with a `*` in quotes",
        ),
        (
            "overrides:\n  effect.*: [allow]\n",
            "user.yaml:2:13: expected a single word here",
            "leave out the brackets",
        ),
        (
            "safety:\n  custom_patterns: [a\n",
            "user.yaml:2:20: unclosed bracket '['",
            "look at the indentation, brackets and quotes around this place",
        ),
    ];

    #[test]
    fn errors_say_where_what_and_what_to_do() {
        for (text, message, hint) in BROKEN {
            assert_eq!(error(text), ((*message).to_owned(), (*hint).to_owned()), "{text}");
        }
    }

    #[test]
    fn a_custom_pattern_asks_and_can_be_named() {
        let text = "safety: {custom_patterns: ['heroku.*--force']}\n";
        let judged = |text: &str, command: &str| {
            judge(&shell(command), &load(["", text, ""]).unwrap(), &Context::default())
        };
        let judgement = judged(text, "heroku apps:rename x --force");
        assert_eq!(judgement.verdict, Verdict::Confirm);
        assert_eq!(judgement.findings[0].rule, "user.custom-pattern");
        assert_eq!(judgement.findings[0].span, Some([0, 28]));
        assert_eq!(judged(text, "heroku apps").verdict, Verdict::Allow);
        let blocked = format!("{text}overrides: {{user.custom-pattern: block}}\n");
        assert_eq!(judged(&blocked, "heroku apps:rename x --force").verdict, Verdict::Block);
    }

    #[test]
    fn the_starter_sets_nothing_and_its_comments_are_true() {
        let policy = load(["", STARTER, ""]).unwrap();
        let mut settings = policy.settings();
        settings.files.clear();
        let mut default = Policy::default().settings();
        for setting in settings.options.iter_mut().chain(&mut default.options) {
            setting.layer.clear();
        }
        assert_eq!(settings, default);
        assert_eq!(policy.notices(), []);
    }

    #[test]
    fn an_empty_file_and_empty_sections_are_fine() {
        for text in ["# nothing\n", "~\n", "safety:\nrules:\noptions:\nalways:\noverrides:\n"] {
            assert!(load(["", text, ""]).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_file_no_person_wrote_is_refused() {
        let long = format!("# {}\n", "x".repeat(MOST_BYTES));
        assert!(error(&long).0.contains("larger than 1 MiB"));
        let deep = format!("rules: {}\n", "[".repeat(20_000));
        assert!(load(["", &deep, ""]).is_err());
        let deep = format!("rules: {{a: {{fact: {}}}}}\n", "[".repeat(20_000));
        assert!(load(["", &deep, ""]).is_err());
        let bomb = "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nalways: [*b, *b]\n";
        assert!(load(["", bomb, ""]).is_err());
    }
}
