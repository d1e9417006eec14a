//! One configuration file as a layer: what it says about a subject, and whether it is heard.
//!
//! | layer | may lower | heard over |
//! |---|---|---|
//! | organisation | yes | the profile |
//! | user | yes, except what the organisation set | profile, organisation |
//! | project | never: the agent can write that file | everything, upwards |

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::action::Action;
use crate::analyze::Analysis;
use crate::app::Skill;
use crate::policy::own::OwnRules;
use crate::policy::pattern::Patterns;
use crate::policy::profile::{Limits, Profile};
use crate::policy::subject::{Subject, closest, reach};
use crate::verdict::{Category, Finding, RiskLevel, Step, Verdict};

/// Whose configuration it is. The order is the order of the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// Whoever runs the machines.
    Organisation,
    /// The person the agent works for.
    User,
    /// The repository the agent works in: not to be trusted.
    Project,
}

impl Rank {
    /// The layer's name in a trace and in the ids of its rules.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Organisation => "organisation",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// What one file says.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub(crate) rank: Rank,
    pub(crate) file: String,
    pub(crate) enabled: Option<bool>,
    pub(crate) overrides: Vec<(String, Verdict)>,
    pub(crate) options: Vec<(String, Verdict)>,
    pub(crate) always: Vec<String>,
    pub(crate) rules: OwnRules,
    pub(crate) patterns: Option<Patterns>,
    pub(crate) sensitive_paths: Vec<String>,
    pub(crate) approval_timeout: Option<u32>,
    pub(crate) limits: Limits,
    pub(crate) profile: Option<&'static Profile>,
    /// Declared skills, by `app.skill`.
    pub(crate) skills: BTreeMap<String, Skill>,
    /// Declared apps, and whoever serves each where that is said.
    pub(crate) providers: BTreeMap<String, Option<String>>,
}

/// What stands for one finding, kind or risk while the layers are heard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ruling<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) verdict: Verdict,
    pub(crate) by: By<'a>,
    /// Nothing lowers it.
    pub(crate) held: bool,
    /// What the organisation set: the user may not go below.
    pub(crate) floor: Verdict,
}

impl Ruling<'_> {
    /// Whether a person is asked whatever the session or an earlier answer says.
    pub(crate) fn always_asks(&self) -> bool {
        self.held && self.verdict >= Verdict::Confirm
    }

    /// Whether what the user set, or what the session is, may turn this into allow.
    pub(crate) fn may_go_unasked(&self) -> bool {
        self.verdict == Verdict::Confirm && !self.held && self.floor < Verdict::Confirm
    }
}

/// Who had the last word on a ruling.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By<'a> {
    /// Nobody but the rule itself.
    Rule,
    /// An entry of the profile.
    Profile(&'static str),
    /// An entry of a file.
    Entry(&'a Layer, &'a str),
    /// A file's `always` list.
    Always(&'a Layer),
    /// A file's `enabled: false`.
    Off(&'a Layer),
    /// The user's settings for this app or skill.
    Choice(&'a str),
    /// A session option or a remembered answer.
    Relaxed(&'static str),
}

/// Why an entry was not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deaf {
    Held,
    Project,
    Organisation,
}

impl Deaf {
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::Held => "nothing lowers this",
            Self::Project => "a project file may only tighten",
            Self::Organisation => "the organisation has settled this",
        }
    }
}

impl Layer {
    /// The id of the findings of this file's patterns.
    pub(crate) fn pattern_id(&self) -> String {
        format!("{}.{PATTERN}", self.rank.as_str())
    }

    /// Adds what this file's own rules and patterns find.
    pub(crate) fn find(&self, action: &Action, analysis: &Analysis, findings: &mut Vec<Finding>) {
        self.rules.find(analysis, findings);
        let (Some(patterns), Action::Shell { command, .. }) = (&self.patterns, action) else {
            return;
        };
        for (pattern, span) in patterns.find(command, &analysis.commands) {
            findings.push(Finding {
                rule: self.pattern_id(),
                category: Category::DestructiveActions,
                risk: RiskLevel::High,
                verdict: Verdict::Confirm,
                reason: format!("Matches the custom pattern `{pattern}`"),
                span,
                instead: None,
                hard: false,
            });
        }
    }

    /// Hears this layer on every ruling, and says what it said.
    pub(crate) fn hear<'a>(&'a self, profile: &Profile, rulings: &mut [Ruling<'a>]) -> Step {
        let mut because = String::new();
        for ruling in rulings.iter_mut() {
            self.hear_one(profile, ruling, &mut because);
        }
        if because.is_empty() {
            because.push_str("says nothing about this");
        }
        let _ = write!(because, " ({})", self.file);
        Step { layer: self.rank.as_str().to_owned(), said: strictest(rulings), because }
    }

    fn hear_one<'a>(&'a self, profile: &Profile, ruling: &mut Ruling<'a>, because: &mut String) {
        let subject = ruling.subject;
        if let Some((entry, verdict)) = self.word(profile, subject) {
            let verdict_word = verdict.as_str();
            match self.follow(ruling, entry, verdict) {
                Ok(()) => note(because, format_args!("`{entry}: {verdict_word}` for {subject}")),
                Err(deaf) => {
                    let why = deaf.why();
                    note(because, format_args!("`{entry}: {verdict_word}` is ignored: {why}"));
                }
            }
        }
        if self.asks_always(subject) && ruling.verdict < Verdict::Confirm {
            (ruling.verdict, ruling.by) = (Verdict::Confirm, By::Always(self));
            note(because, format_args!("`always` names {subject}"));
        }
        if self.enabled == Some(false) && ruling.may_go_unasked() {
            (ruling.verdict, ruling.by) = (Verdict::Allow, By::Off(self));
            note(because, format_args!("asking is switched off, so {subject} is not asked about"));
        }
    }

    /// What this file says about a subject, and by which of its entries.
    fn word(&self, profile: &Profile, subject: Subject<'_>) -> Option<(&str, Verdict)> {
        closest(&self.overrides, subject).or_else(|| {
            let option = profile.option_for(subject)?;
            let (name, verdict) = self.options.iter().find(|(name, _)| name == option.name)?;
            Some((name, *verdict))
        })
    }

    /// Follows an entry where this layer may say so.
    fn follow<'a>(
        &'a self,
        ruling: &mut Ruling<'a>,
        entry: &'a str,
        verdict: Verdict,
    ) -> Result<(), Deaf> {
        if verdict < ruling.verdict {
            if ruling.held {
                return Err(Deaf::Held);
            }
            match self.rank {
                Rank::Project => return Err(Deaf::Project),
                Rank::User if verdict < ruling.floor => return Err(Deaf::Organisation),
                Rank::User | Rank::Organisation => {}
            }
        }
        if self.rank == Rank::Organisation {
            ruling.floor = verdict;
        }
        (ruling.verdict, ruling.by) = (verdict, By::Entry(self, entry));
        Ok(())
    }

    /// Whether this file wants a person to agree to this, always.
    pub(crate) fn asks_always(&self, subject: Subject<'_>) -> bool {
        self.always.iter().any(|words| reach(words, subject).is_some())
    }

    /// Whether an entry would be followed on a ruling made by the layers before.
    pub(crate) fn would_follow(&self, ruling: &Ruling<'_>, verdict: Verdict) -> Result<(), Deaf> {
        self.follow(&mut { *ruling }, "", verdict)
    }
}

/// The key that patterns' findings go by; no rule may have it.
pub(crate) const PATTERN: &str = "custom-pattern";

/// The strictest ruling; nothing ruled on is allowed.
pub(crate) fn strictest(rulings: &[Ruling<'_>]) -> Verdict {
    rulings.iter().map(|ruling| ruling.verdict).max().unwrap_or(Verdict::Allow)
}

/// Adds to a line, as long as a person would still read it.
fn note(line: &mut String, more: std::fmt::Arguments<'_>) {
    const MOST: usize = 240;
    if line.len() > MOST {
        return;
    }
    if !line.is_empty() {
        line.push_str("; ");
    }
    let _ = line.write_fmt(more);
}
