//! One configuration file as a layer: its verdict on a subject, and whether that is followed.
//!
//! | layer | may lower | applied over |
//! |---|---|---|
//! | organisation | yes | the profile |
//! | workspace | yes, except verdicts set by the organisation | profile, organisation |
//! | user | yes, except verdicts set by the organisation or the workspace | the layers above |
//! | project | never: the agent can write that file | everything, upwards |
//!
//! INVARIANT: a verdict set by a layer is the minimum for every layer after it, sessions included,
//! and only an entry of `danger_overrides` lowers a block.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::action::Action;
use crate::analysis::Analysis;
use crate::app::Skill;
use crate::policy::lock::Lock;
use crate::policy::own::OwnRules;
use crate::policy::pattern::Patterns;
use crate::policy::profile::{Limits, Profile};
use crate::policy::rank::Rank;
use crate::policy::rule_target::{RuleTarget, closest, reach};
use crate::verdict::{Category, Finding, RiskLevel, Step, Verdict};

/// The content of one file.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub(crate) rank: Rank,
    pub(crate) file: String,
    pub(crate) enabled: Option<bool>,
    pub(crate) overrides: Vec<(String, Verdict)>,
    /// The only entries that lower a block.
    pub(crate) danger_overrides: Vec<(String, Verdict)>,
    /// Verdicts by kind of action, for actions that allowing rules do not cover.
    pub(crate) defaults: Vec<(String, Verdict)>,
    /// The rules that a session may confirm by itself; everything, if no layer has a list.
    pub(crate) auto_confirm: Option<Vec<String>>,
    pub(crate) locks: Vec<Lock>,
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
    /// Declared apps, and the provider of each where one is named.
    pub(crate) providers: BTreeMap<String, Option<String>>,
    /// Skills for which the file says explicitly that a person is asked.
    pub(crate) asking_skills: BTreeSet<String>,
    /// The overrides that are not followed, or not everywhere, as `section.words`.
    pub(crate) unheard: BTreeSet<String>,
    /// The policy part of the file, in canonical form.
    pub(crate) written: String,
    /// The part of the file that may be sent to others.
    pub(crate) handed_out: Map<String, Value>,
}

/// The current verdict on one finding, kind or risk while the layers are applied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ruling<'a> {
    pub(crate) target: RuleTarget<'a>,
    pub(crate) verdict: Verdict,
    pub(crate) by: By<'a>,
    /// No layer lowers it.
    pub(crate) fixed: bool,
    /// The minimum verdicts set by the layers: no later layer and no session goes below.
    pub(crate) floors: Floors,
}

/// The minimum verdict that each layer has set, by its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Floors([Option<Verdict>; Rank::ALL.len()]);

impl Floors {
    /// The minimum set by one layer.
    pub(crate) fn of(rank: Rank, verdict: Verdict) -> Self {
        let mut floors = Self::default();
        floors.set(rank, verdict);
        floors
    }

    fn set(&mut self, rank: Rank, verdict: Verdict) {
        if let Some(floor) = self.0.get_mut(rank as usize) {
            *floor = Some(verdict);
        }
    }

    /// The layer above this rank that has set more than this verdict, if one has.
    fn above(self, verdict: Verdict, rank: Rank) -> Option<Rank> {
        let mut set = Rank::ALL.into_iter().zip(self.0);
        set.find(|(other, floor)| *other < rank && *floor > Some(verdict)).map(|(other, _)| other)
    }

    /// The most trusted layer that has set at least this, if any has.
    fn first(self, least: Verdict) -> Option<Rank> {
        let mut set = Rank::ALL.into_iter().zip(self.0);
        set.find(|(_, floor)| *floor >= Some(least)).map(|(rank, _)| rank)
    }
}

impl Ruling<'_> {
    /// Reports whether a person is asked whatever the session or an earlier answer says.
    pub(crate) fn always_asks(&self) -> bool {
        self.fixed && self.verdict >= Verdict::Confirm
    }

    /// Reports whether the user's settings or the session may turn this into allow.
    pub(crate) fn may_go_unasked(&self) -> bool {
        self.verdict == Verdict::Confirm && !self.fixed && self.asked_by(Rank::Workspace).is_none()
    }

    /// Reports whether this layer requires that a person is asked.
    pub(crate) fn is_asked_by(&self, rank: Rank) -> bool {
        self.floors.0.get(rank as usize).is_some_and(|floor| *floor >= Some(Verdict::Confirm))
    }

    /// The most trusted layer that requires that a person is asked, if one up to this rank does.
    pub(crate) fn asked_by(&self, at_most: Rank) -> Option<Rank> {
        self.floors.first(Verdict::Confirm).filter(|rank| *rank <= at_most)
    }
}

/// The source of the current verdict of a ruling.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By<'a> {
    /// The rule itself.
    Rule,
    /// An entry of the profile.
    Profile(&'static str),
    /// An entry of the profile for explore mode.
    Explore(&'static str),
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

/// The reason that an entry was not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotApplied {
    Fixed,
    Project,
    /// A layer above has set it.
    Settled(Rank),
    /// It is a block, and the entry is not under `danger_overrides`.
    Block,
    Locked,
}

impl NotApplied {
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::Fixed => "nothing lowers this",
            Self::Project => "a project file may only tighten",
            Self::Settled(Rank::Workspace) => "the workspace has settled this",
            Self::Settled(Rank::Organisation | Rank::User | Rank::Project) => {
                "the organisation has settled this"
            }
            Self::Block => "only `danger_overrides` lowers a block",
            Self::Locked => "the organisation has locked this",
        }
    }
}

impl Layer {
    /// The id of the findings of this file's patterns.
    pub(crate) fn pattern_id(&self) -> String {
        format!("{}.{PATTERN}", self.rank.as_str())
    }

    /// Adds the findings of this file's own rules and patterns.
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
                fact: None,
            });
        }
    }

    /// Applies this layer to every ruling, and returns its step for the trace.
    pub(crate) fn hear<'a>(&'a self, profile: &Profile, rulings: &mut [Ruling<'a>]) -> Step {
        let mut because = String::new();
        for ruling in rulings.iter_mut() {
            self.hear_one(profile, ruling, &mut because);
        }
        if because.is_empty() {
            because.push_str("says nothing about this");
        }
        let _ = write!(because, " ({})", self.file);
        Step {
            layer: self.rank.as_str().to_owned(),
            said: strictest(rulings),
            because,
            unasked: None,
        }
    }

    fn hear_one<'a>(&'a self, profile: &Profile, ruling: &mut Ruling<'a>, because: &mut String) {
        let target = ruling.target;
        for written in [self.word(profile, target), self.danger_word(target)].into_iter().flatten()
        {
            let (entry, word) = (written.words, written.verdict.as_str());
            match self.follow(ruling, written) {
                Ok(()) => note(because, format_args!("`{entry}: {word}` for {target}")),
                Err(not_applied) => {
                    let why = not_applied.why();
                    note(because, format_args!("`{entry}: {word}` is ignored: {why}"));
                }
            }
        }
        if self.asks_always(target) && ruling.verdict < Verdict::Confirm {
            (ruling.verdict, ruling.by) = (Verdict::Confirm, By::Always(self));
            note(because, format_args!("`always` names {target}"));
        }
        if self.enabled == Some(false) && ruling.may_go_unasked() {
            (ruling.verdict, ruling.by) = (Verdict::Allow, By::Off(self));
            note(because, format_args!("asking is switched off, so {target} is not asked about"));
        }
        if self.insists_on(ruling) {
            ruling.floors.set(self.rank, ruling.verdict);
        }
    }

    /// Reports whether this layer insists on the current ruling, although no entry of it says so.
    fn insists_on(&self, ruling: &Ruling<'_>) -> bool {
        const SENSITIVE: &str = "effect.files.write-sensitive";
        if self.locks.contains(&Lock::Safety) {
            return true;
        }
        // The organisation or a workspace that writes `enabled: true` wants people asked, whatever
        // comes later. In a user's or project's file it is merely the default, written out.
        let above_users = self.rank <= Rank::Workspace;
        let asking = above_users && self.enabled == Some(true);
        let own_paths = above_users
            && !self.sensitive_paths.is_empty()
            && ruling.target == RuleTarget::Rule(SENSITIVE);
        ruling.verdict >= Verdict::Confirm && (asking || own_paths)
    }

    /// Reports whether this file requires that a person is asked before a skill, whatever the user
    /// chooses.
    pub(crate) fn insists_on_skill(&self, skill: &str) -> bool {
        self.rank <= Rank::Workspace && self.asking_skills.contains(skill)
    }

    /// This file's verdict on a subject, and the entry it comes from.
    fn word(&self, profile: &Profile, target: RuleTarget<'_>) -> Option<Entry<'_>> {
        let written = closest(&self.overrides, target).or_else(|| {
            let option = profile.option_for(target)?;
            let (name, verdict) = self.options.iter().find(|(name, _)| name == option.name)?;
            Some((name.as_str(), *verdict))
        });
        written.map(|(entry, verdict)| Entry { words: entry, verdict, lowers: Lowers::UpToConfirm })
    }

    /// This file's verdict on a subject that may be a block.
    fn danger_word(&self, target: RuleTarget<'_>) -> Option<Entry<'_>> {
        closest(&self.danger_overrides, target).map(|(entry, verdict)| Entry {
            words: entry,
            verdict,
            lowers: Lowers::Blocks,
        })
    }

    /// Follows an entry where this layer may set it.
    fn follow<'a>(&'a self, ruling: &mut Ruling<'a>, written: Entry<'a>) -> Result<(), NotApplied> {
        let Entry { words: entry, verdict, lowers } = written;
        if verdict < ruling.verdict {
            if ruling.fixed {
                return Err(NotApplied::Fixed);
            }
            if self.rank == Rank::Project {
                return Err(NotApplied::Project);
            }
            if let Some(above) = ruling.floors.above(verdict, self.rank) {
                return Err(NotApplied::Settled(above));
            }
            if ruling.verdict == Verdict::Block && lowers == Lowers::UpToConfirm {
                return Err(NotApplied::Block);
            }
        }
        (ruling.verdict, ruling.by) = (verdict, By::Entry(self, entry));
        ruling.floors.set(self.rank, ruling.verdict);
        Ok(())
    }

    /// Reports whether this file always requires a person to agree to this.
    pub(crate) fn asks_always(&self, target: RuleTarget<'_>) -> bool {
        self.always.iter().any(|words| reach(words, target).is_some())
    }

    /// Checks whether an entry would be followed on a ruling made by the layers before.
    pub(crate) fn would_follow(
        &self,
        ruling: &Ruling<'_>,
        verdict: Verdict,
        lowers: Lowers,
    ) -> Result<(), NotApplied> {
        self.follow(&mut { *ruling }, Entry { words: "", verdict, lowers })
    }
}

/// One entry of a file.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    words: &'a str,
    verdict: Verdict,
    lowers: Lowers,
}

/// The strictest verdict that an entry may lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lowers {
    /// Anything but a block.
    UpToConfirm,
    /// Blocks too, except the hard ones.
    Blocks,
}

/// The key of findings from patterns; a rule may not have it.
pub(crate) const PATTERN: &str = "custom-pattern";

/// The strictest verdict; allow for an empty list of rulings.
pub(crate) fn strictest(rulings: &[Ruling<'_>]) -> Verdict {
    rulings.iter().map(|ruling| ruling.verdict).max().unwrap_or(Verdict::Allow)
}

/// Appends to a line, up to a length that a person would still read.
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
