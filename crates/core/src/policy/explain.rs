//! The texts of a judgement: its one-line reason, and the settings that would change it.

use std::borrow::Cow;

use crate::action::Action;
use crate::context::Context;
use crate::policy::allowed::UNLISTED;
use crate::policy::layer::{By, PATTERN, Ruling};
use crate::policy::rank::Rank;
use crate::policy::rule_target::RuleTarget;
use crate::policy::{Policy, Profile, SettleInput};
use crate::rule;
use crate::verdict::{Finding, Judgement, Verdict};

impl Policy {
    /// Names the settings that would change this judgement, most direct first. Empty when nothing
    /// was found.
    #[must_use]
    pub fn would_change(
        &self,
        action: &Action,
        context: &Context,
        judgement: &Judgement,
    ) -> Vec<String> {
        if let Some(id) = judgement.findings.iter().find_map(hard_id) {
            return vec![format!(
                "nothing: {id} is a hard block, which no configuration, mode or answer lifts"
            )];
        }
        let input = SettleInput::of(judgement, action, context);
        let (rulings, _) = self.hear(&input, 0);
        let mut changes = Vec::new();
        if judgement.verdict == Verdict::Confirm {
            changes.push("a person's approval".to_owned());
        }
        for ruling in rulings.iter().filter(|ruling| decides(ruling, judgement.verdict)) {
            let change = self.change(ruling, context);
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
        let mut asks = rulings.iter().filter(|ruling| ruling.verdict == Verdict::Confirm);
        let confirms = |ruling: &Ruling<'_>| !ruling.fixed && self.is_auto_confirmed(ruling);
        let offered = judgement.verdict == Verdict::Confirm && self.may_auto_confirm();
        if offered && asks.all(confirms) {
            changes.push("a session with `auto_confirm`".to_owned());
        }
        changes
    }

    fn change(&self, ruling: &Ruling<'_>, context: &Context) -> String {
        let target = ruling.target;
        if let RuleTarget::UnknownProfile(_) = target {
            let all: Vec<_> = Profile::all().iter().map(|profile| profile.name).collect();
            return format!("a profile that exists: {}", all.join(", "));
        }
        if let By::Choice(name) = ruling.by {
            return format!("your settings for `{name}`");
        }
        if ruling.always_asks() {
            return format!("no configuration: {target} is always asked about");
        }
        match ruling.by {
            By::Entry(layer, entry) => match layer.rank {
                Rank::Organisation | Rank::Workspace => {
                    format!("the {}'s own file {}, by `{entry}`", layer.rank.as_str(), layer.file)
                }
                Rank::User | Rank::Project => format!("another `{entry}` in {}", layer.file),
            },
            By::Always(layer) => format!("`always` in {}", layer.file),
            By::Off(layer) => format!("`safety: {{enabled: true}}` in {}", layer.file),
            By::Relaxed(option) => format!("without {option} a person would be asked"),
            By::Explore(_) => "a session in task mode".to_owned(),
            By::Rule | By::Profile(_) | By::Choice(_) => self.user_entry(target, context),
        }
    }

    /// The line of the user's own configuration that would decide this.
    fn user_entry(&self, target: RuleTarget<'_>, context: &Context) -> String {
        let profile = self.profile_in(context).unwrap_or(self.profile);
        if let Some(option) = profile.option_for(target) {
            return format!("`options: {{{}: …}}` in your user configuration", option.name);
        }
        match target {
            RuleTarget::Rule(id) if id.ends_with(UNLISTED) => {
                "a rule with `verdict: allow` in the file that has the `defaults`".to_owned()
            }
            RuleTarget::Rule(id) if id.ends_with(PATTERN) => {
                "`safety: {custom_patterns: …}` in the file that has the pattern".to_owned()
            }
            target => format!("`overrides: {{{target}: …}}` in your user configuration"),
        }
    }
}

/// The id of a finding whose rule is hard, by the rule table or by the finding itself.
fn hard_id(finding: &Finding) -> Option<&str> {
    let hard = finding.hard || rule::find(&finding.rule).is_some_and(|rule| rule.hard);
    hard.then_some(&*finding.rule)
}

/// Reports whether this ruling decided the verdict: the strictest, or one that was lowered.
fn decides(ruling: &Ruling<'_>, verdict: Verdict) -> bool {
    if verdict > Verdict::Allow {
        return ruling.verdict == verdict;
    }
    !matches!(ruling.by, By::Rule)
}

/// The basis of a ruling, in words.
pub(super) fn said(ruling: &Ruling<'_>) -> String {
    let (target, verdict) = (ruling.target, ruling.verdict.as_str());
    match (target, ruling.by) {
        (RuleTarget::UnknownProfile(name), _) => {
            let name: String = name.chars().take(60).collect();
            format!("no profile is called `{}`, so a person has to agree", one_line(&name))
        }
        (RuleTarget::Skill(name), By::Choice(_)) if ruling.fixed => {
            format!("your settings always ask before `{name}`")
        }
        (_, By::Choice(name)) => format!("your settings ask before `{name}`"),
        (_, By::Explore(entry)) => format!("`{entry}` is for task mode"),
        (_, By::Profile(entry)) => format!("`{entry}` sets {target} to {verdict}"),
        (_, By::Entry(layer, entry)) => format!("`{entry}: {verdict}` in {}", layer.file),
        (_, By::Always(layer)) => format!("`always` in {} names {target}", layer.file),
        (_, _) => format!("{target} asks for {verdict}"),
    }
}

/// The reason for a person, on one line.
pub(super) fn reason(input: &SettleInput<'_>, verdict: Verdict, rulings: &[Ruling<'_>]) -> String {
    if let Some(finding) = input.hard() {
        return one_line(&finding.reason).into_owned();
    }
    if verdict == Verdict::Allow {
        return allowed(input, rulings);
    }
    // Findings come before kind and risk, so the most informative one is found first.
    let Some(at) = rulings.iter().position(|ruling| ruling.verdict == verdict) else {
        return "nothing risky found".to_owned();
    };
    let more = rulings
        .iter()
        .zip(input.findings)
        .filter(|(ruling, _)| ruling.verdict == verdict)
        .count()
        .saturating_sub(1);
    let line = match (input.findings.get(at), rulings.get(at)) {
        (Some(finding), _) => one_line(&finding.reason).into_owned(),
        (None, Some(ruling)) => said(ruling),
        (None, None) => String::new(),
    };
    let line = if more > 0 { format!("{line} (and {more} more)") } else { line };
    if let Some(By::Explore(_)) = rulings.get(at).map(|ruling| ruling.by) {
        let done = if verdict == Verdict::Block { "refused" } else { "asked about" };
        return format!("Exploring, so this is {done}: {line}");
    }
    line
}

/// The reason that something is allowed although something was found.
fn allowed(input: &SettleInput<'_>, rulings: &[Ruling<'_>]) -> String {
    let lowered =
        rulings.iter().zip(input.findings).find_map(|(ruling, finding)| match ruling.by {
            By::Off(_) => Some((finding, "asking is switched off")),
            By::Relaxed(option) => Some((finding, option)),
            By::Entry(layer, _) => Some((finding, layer.rank.as_str())),
            By::Choice(_) => Some((finding, "your settings")),
            By::Rule | By::Profile(_) | By::Explore(_) | By::Always(_) => None,
        });
    match lowered {
        Some((finding, why)) => format!("{} (allowed: {why})", one_line(&finding.reason)),
        None => match input.findings.first() {
            Some(finding) => one_line(&finding.reason).into_owned(),
            None => "nothing risky found".to_owned(),
        },
    }
}

/// Removes line breaks and other control characters: a reason is shown on terminals.
fn one_line(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Session;
    use crate::policy::testing::{finding, load, shell};

    fn changes(policy: &Policy, context: &Context, finding: Finding) -> Vec<String> {
        let judgement = policy.settle(&shell("x"), context, vec![finding], String::new());
        policy.would_change(&shell("x"), context, &judgement)
    }

    fn plain(policy: &Policy, id: &str) -> Vec<String> {
        changes(policy, &Context::default(), finding(id, Verdict::Confirm))
    }

    #[test]
    fn nothing_changes_a_hard_block_even_when_it_was_read_back_from_json() {
        let mut hard = finding("effect.doubt.malformed", Verdict::Block);
        hard.hard = true;
        let policy = Policy::default();
        let judgement = policy.settle(&shell("x"), &Context::default(), vec![hard], String::new());
        let json = serde_json::to_string(&judgement).unwrap();
        let back: Judgement = serde_json::from_str(&json).unwrap();
        assert!(!json.contains("hard\":"));
        for judgement in [judgement, back] {
            let changes = policy.would_change(&shell("x"), &Context::default(), &judgement);
            assert_eq!(changes.len(), 1);
            assert!(changes[0].starts_with("nothing: effect.doubt.malformed is a hard block"));
        }
    }

    #[test]
    fn a_question_is_answered_configured_or_relaxed() {
        assert_eq!(
            plain(&Policy::default(), "a.b.c"),
            [
                "a person's approval",
                "`overrides: {a.b.c: …}` in your user configuration",
                "a session with `auto_confirm`"
            ]
        );
        assert!(
            plain(&Policy::default(), "effect.files.delete-recoverable")
                .contains(&"`options: {recoverable: …}` in your user configuration".to_owned())
        );
    }

    #[test]
    fn the_layer_that_decided_is_named() {
        let rule = "effect.doubt.unparsed";
        let set = "overrides: {effect.doubt.*: confirm}";
        let organisation = plain(&load([set, "", ""]).unwrap(), rule);
        assert!(organisation[1].contains("org.yaml"), "{organisation:?}");
        let project = plain(&load(["", "overrides: {'*': allow}", set]).unwrap(), rule);
        assert_eq!(project[1], "another `effect.doubt.*` in .countersign.yaml");
        let always = plain(&load(["", "", "always: [effect.*]"]).unwrap(), rule);
        assert_eq!(
            always,
            [
                "a person's approval",
                "no configuration: effect.doubt.unparsed is always asked about"
            ]
        );
    }

    #[test]
    fn what_was_lowered_says_by_whom() {
        let off = load(["", "safety: {enabled: false}", ""]).unwrap();
        assert_eq!(plain(&off, "a.b.c"), ["`safety: {enabled: true}` in user.yaml"]);
        let session = Session { auto_confirm: true, ..Session::default() };
        let relaxed = Policy::default().in_session(session);
        assert_eq!(plain(&relaxed, "a.b.c"), ["without auto_confirm a person would be asked"]);
    }

    #[test]
    fn an_unknown_profile_is_answered_with_those_that_exist() {
        let context = Context { profile: Some("x".into()), ..Context::default() };
        let changes = changes(&Policy::default(), &context, finding("a.b.c", Verdict::Allow));
        assert!(changes.iter().any(|change| change.contains("coding-agent")), "{changes:?}");
    }

    #[test]
    fn a_reason_is_one_line_and_counts_the_rest() {
        let mut first = finding("a.b.c", Verdict::Confirm);
        first.reason = "Deletes: a\nb\u{1b}[2K".to_owned();
        let found = vec![first, finding("a.b.d", Verdict::Confirm), finding("a", Verdict::Warn)];
        let judgement =
            Policy::default().settle(&shell("x"), &Context::default(), found, String::new());
        assert_eq!(judgement.reason, "Deletes: a b [2K (and 1 more)");
    }
}
