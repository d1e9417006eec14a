//! A user's own choices per app and per skill, as the gate stores them in their settings.
//!
//! | choice | effect |
//! |---|---|
//! | `confirm: true` | a person is asked before the skill |
//! | `confirm: false` | the rules by which a declared skill asks do not ask |
//! | `always: true` | a person is asked, whatever the session or an earlier answer says |
//!
//! A skill's choice overrides its app's. `confirm: false` lowers only the two rules by which a
//! declared skill asks: its parameters are judged as before, and so are verdicts of the
//! organisation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::policy::Policy;
use crate::policy::layer::{By, Floors, Ruling, strictest};
use crate::policy::rank::Rank;
use crate::policy::relax::relax;
use crate::policy::rule_target::RuleTarget;
use crate::verdict::{Step, Verdict};

/// The choices of a user for apps and skills.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SkillChoices {
    /// By the id of the app.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub apps: BTreeMap<String, AppChoice>,
    /// By the id of the skill, `app.skill`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub skills: BTreeMap<String, SkillChoice>,
}

/// The choice of a user for one app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AppChoice {
    /// True when a person is asked; as declared, unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<bool>,
}

/// The choice of a user for one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SkillChoice {
    /// True when a person is asked; as the app's choice says, unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<bool>,
    /// A person is asked whatever the session or an earlier answer says.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
}

/// The effective choice for one skill, with the name it was made under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chosen<'a> {
    Always(&'a str),
    Ask(&'a str),
    Skip(&'a str),
}

impl SkillChoices {
    /// Finds the choice for a skill. Names are compared case-insensitively for a choice that asks,
    /// and exactly for one that does not: another spelling of a skill must not get it past a
    /// choice.
    fn of(&self, skill: &str) -> Option<Chosen<'_>> {
        let app = app_of(skill);
        let skills = || self.skills.iter().filter(|(name, _)| name.eq_ignore_ascii_case(skill));
        let apps = || self.apps.iter().filter(|(name, _)| name.eq_ignore_ascii_case(app));
        if let Some((name, _)) = skills().find(|(_, choice)| choice.always) {
            return Some(Chosen::Always(name));
        }
        if let Some((name, _)) = skills().find(|(_, choice)| choice.confirm == Some(true)) {
            return Some(Chosen::Ask(name));
        }
        let skip = |name, confirm| (confirm == Some(false)).then_some(Chosen::Skip(name));
        let exact = self.skills.get_key_value(skill);
        if let Some(chosen) = exact.and_then(|(name, choice)| skip(name, choice.confirm)) {
            return Some(chosen);
        }
        if let Some((name, _)) = apps().find(|(_, choice)| choice.confirm == Some(true)) {
            return Some(Chosen::Ask(name));
        }
        let exact = self.apps.get_key_value(app);
        exact.and_then(|(name, choice)| skip(name, choice.confirm))
    }
}

/// The part of a skill's id that names its app.
pub(super) fn app_of(skill: &str) -> &str {
    skill.split_once('.').map_or(skill, |(app, _)| app)
}

/// The rules by which a declared skill asks.
const OWN: [&str; 2] = ["skill.use.write", "skill.use.sensitive"];

fn is_own(target: RuleTarget<'_>) -> bool {
    match target {
        RuleTarget::Rule(id) => OWN.contains(&id),
        RuleTarget::Skill(_) => true,
        RuleTarget::Kind(_) | RuleTarget::Risk(_) | RuleTarget::UnknownProfile(_) => false,
    }
}

impl Policy {
    /// Applies the user's choices, and returns the step for the trace.
    pub(super) fn hear_choices<'a>(
        &'a self,
        action: &Action,
        rulings: &mut Vec<Ruling<'a>>,
    ) -> Option<Step> {
        let Action::Skill { skill, .. } = action else { return None };
        let because = match self.choices.of(skill)? {
            Chosen::Always(name) => {
                rulings.push(asks(name, Fixing::Fixed));
                format!("`{name}` is set to always ask")
            }
            Chosen::Ask(name) => {
                if strictest(rulings) >= Verdict::Confirm {
                    return None;
                }
                rulings.push(asks(name, Fixing::Free));
                format!("`{name}` is set to ask")
            }
            Chosen::Skip(name) => self.skip(skill, name, rulings)?,
        };
        Some(Step {
            layer: "settings".to_owned(),
            said: strictest(rulings),
            because,
            unasked: None,
        })
    }

    /// Lowers the rules by which a declared skill asks, and names them.
    fn skip<'a>(
        &'a self,
        skill: &str,
        name: &'a str,
        rulings: &mut [Ruling<'a>],
    ) -> Option<String> {
        // An undeclared skill asks because its effect is unknown.
        self.skill(skill)?;
        if self.layers.iter().any(|layer| layer.insists_on_skill(skill)) {
            return Some(format!("`{name}` is set not to ask, but `{skill}` is settled"));
        }
        let mut because = String::new();
        for ruling in rulings.iter_mut().filter(|ruling| is_own(ruling.target)) {
            let target = ruling.target;
            if ruling.may_go_unasked() {
                (ruling.verdict, ruling.by) = (Verdict::Allow, By::Choice(name));
                because = format!("`{name}` is set not to ask, so {target} is not asked about");
            } else if ruling.verdict == Verdict::Confirm && because.is_empty() {
                let _ = write!(because, "`{name}` is set not to ask, but {target} is settled");
            }
        }
        (!because.is_empty()).then_some(because)
    }

    /// Turns confirm into allow for the rules by which a declared skill asks, and names them.
    pub(super) fn relax_skill(
        &self,
        action: &Action,
        rulings: &mut [Ruling<'_>],
        by: &'static str,
    ) -> String {
        let Action::Skill { skill, .. } = action else { return String::new() };
        if self.skill(skill).is_none() {
            return String::new();
        }
        let others = rulings.iter().filter(|ruling| match ruling.target {
            RuleTarget::Rule(_) => !is_own(ruling.target),
            RuleTarget::UnknownProfile(_) => true,
            RuleTarget::Kind(_) | RuleTarget::Risk(_) | RuleTarget::Skill(_) => false,
        });
        let other = others.map(|ruling| ruling.verdict).max().unwrap_or(Verdict::Allow);
        relax(rulings, by, |ruling| {
            let covered = match ruling.target {
                RuleTarget::Rule(_) | RuleTarget::Skill(_) => is_own(ruling.target),
                RuleTarget::Kind(_) => other < Verdict::Confirm,
                // The risk is the skill's own only if nothing else was found.
                RuleTarget::Risk(_) => other == Verdict::Allow,
                RuleTarget::UnknownProfile(_) => false,
            };
            // A question that a file demands does not come from the declaration.
            covered && ruling.asked_by(Rank::Project).is_none()
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fixing {
    Fixed,
    Free,
}

fn asks(name: &str, hold: Fixing) -> Ruling<'_> {
    Ruling {
        target: RuleTarget::Skill(name),
        verdict: Verdict::Confirm,
        by: By::Choice(name),
        fixed: hold == Fixing::Fixed,
        floors: Floors::default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::context::{Context, Mode};
    use crate::judge::judge;
    use crate::policy::testing::{bare_profile, finding, load};
    use crate::policy::{Profile, Remembered, Session};
    use crate::verdict::{Finding, Judgement};

    fn choices(json: serde_json::Value) -> SkillChoices {
        serde_json::from_value(json).unwrap()
    }

    fn skill(id: &str) -> Action {
        serde_json::from_value(json!({"kind": "skill", "skill": id})).unwrap()
    }

    fn judged(policy: &Policy, id: &str) -> Judgement {
        judge(&skill(id), policy, &Context::default())
    }

    fn settings(judgement: &Judgement) -> Option<&str> {
        let mut steps = judgement.trace.iter();
        steps.find(|step| step.layer == "settings").map(|step| step.because.as_str())
    }

    /// A skill with further findings about its parameters.
    fn with(policy: &Policy, id: &str, others: Vec<Finding>) -> Judgement {
        let mut found = vec![finding("skill.use.write", Verdict::Confirm)];
        found.extend(others);
        policy.settle(&skill(id), &Context::default(), found, "d1".to_owned())
    }

    const PROGRAM: Session = Session { auto_confirm: false, autonomous: false, programmatic: true };
    const ALL: Session = Session { auto_confirm: true, autonomous: true, programmatic: true };

    #[test]
    fn a_skill_beats_its_app() {
        let policy = Policy::default().choosing(choices(json!({
            "apps": {"email": {"confirm": false}, "weather": {"confirm": true}},
            "skills": {"email.send": {"confirm": true}, "weather.forecast": {"confirm": false}},
        })));
        assert_eq!(judged(&policy, "email.reply").verdict, Verdict::Allow);
        assert_eq!(judged(&policy, "email.delete").verdict, Verdict::Allow);
        assert_eq!(judged(&policy, "email.send").verdict, Verdict::Confirm);
        assert_eq!(judged(&policy, "weather.forecast").verdict, Verdict::Allow);
        assert_eq!(judged(&policy, "weather.read").verdict, Verdict::Confirm);
        assert_eq!(judged(&policy, "calendar.create").verdict, Verdict::Confirm);
    }

    #[test]
    fn the_trace_tells_of_settings_only_when_they_mattered() {
        let policy = Policy::default().choosing(choices(json!({
            "apps": {"email": {"confirm": false}},
            "skills": {"email.read": {"always": true}, "calendar.create": {"confirm": true}},
        })));
        let lowered = judged(&policy, "email.send");
        let told = "`email` is set not to ask, so skill.use.write is not asked about";
        assert_eq!(settings(&lowered), Some(told));
        assert!(lowered.reason.ends_with("(allowed: your settings)"), "{}", lowered.reason);
        let raised = judged(&policy, "email.read");
        assert_eq!(settings(&raised), Some("`email.read` is set to always ask"));
        assert_eq!(raised.reason, "your settings always ask before `email.read`");
        for id in ["calendar.create", "email.search", "maps.search"] {
            assert_eq!(settings(&judged(&policy, id)), None, "{id}");
        }
        let changes = policy.would_change(&skill("email.read"), &Context::default(), &raised);
        assert_eq!(changes, ["a person's approval", "your settings for `email.read`"]);
    }

    #[test]
    fn not_asking_is_about_declared_skills_alone() {
        let policy = Policy::default().choosing(choices(json!({
            "apps": {"shop": {"confirm": false}, "x": {"confirm": false}},
            "skills": {"shop.send_order": {"confirm": false}},
        })));
        for id in ["shop.frobnicate", "shop.update_order", "shop.send_order", "x"] {
            assert_eq!(judged(&policy, id).verdict, Verdict::Confirm, "{id}");
        }
    }

    #[test]
    fn not_asking_lowers_nothing_else_that_was_found() {
        let policy =
            Policy::default().choosing(choices(json!({"apps": {"email": {"confirm": false}}})));
        assert_eq!(with(&policy, "email.send", Vec::new()).verdict, Verdict::Allow);
        let other = vec![finding("effect.files.delete", Verdict::Confirm)];
        assert_eq!(with(&policy, "email.send", other).verdict, Verdict::Confirm);
        let undeclared = vec![finding("skill.use.undeclared", Verdict::Confirm)];
        assert_eq!(with(&policy, "email.send", undeclared).verdict, Verdict::Confirm);
        let kind = load(["", "overrides: {kind.skill: confirm}", ""]).unwrap();
        let kind = kind.choosing(choices(json!({"apps": {"email": {"confirm": false}}})));
        assert_eq!(with(&kind, "email.send", Vec::new()).verdict, Verdict::Confirm);
    }

    #[test]
    fn not_asking_stops_at_what_others_have_settled() {
        let no = choices(json!({"skills": {"email.send": {"confirm": false}}}));
        let verdict = |files| {
            let policy: Policy = load(files).unwrap();
            judged(&policy.choosing(no.clone()), "email.send").verdict
        };
        assert_eq!(verdict(["", "", ""]), Verdict::Allow);
        assert_eq!(verdict(["", "overrides: {skill.use.write: confirm}", ""]), Verdict::Allow);
        let organisation = "overrides: {skill.use.write: confirm}";
        assert_eq!(verdict([organisation, "", ""]), Verdict::Confirm);
        assert_eq!(verdict(["overrides: {skill.use.*: block}", "", ""]), Verdict::Block);
        for files in [["always: [skill.*]", "", ""], ["", "always: [skill.*]", ""]] {
            assert_eq!(verdict(files), Verdict::Confirm);
        }
        assert_eq!(verdict(["", "", "overrides: {skill.use.write: confirm}"]), Verdict::Confirm);
        assert_eq!(verdict(["", "", "always: [skill.use.write]"]), Verdict::Confirm);
        let explore = Context {
            mode: Some(Mode::Explore),
            profile: Some("assistant".to_owned()),
            ..Context::default()
        };
        let policy = Policy::default().choosing(no.clone());
        assert_eq!(judge(&skill("email.send"), &policy, &explore).verdict, Verdict::Block);
    }

    #[test]
    fn what_always_asks_is_relaxed_by_nothing() {
        let always = choices(json!({
            "apps": {"email": {"confirm": false}, "weather": {"confirm": false}},
            "skills": {
                "email.send": {"always": true, "confirm": false},
                "weather.read": {"always": true},
                "shop.frobnicate": {"always": true},
            },
        }));
        let all = "overrides: {'*': allow, kind.skill: allow}\nsafety: {enabled: false}";
        for files in [["", "", ""], [all, all, all]] {
            for session in [Session::default(), PROGRAM, ALL] {
                for id in ["email.send", "weather.read", "shop.frobnicate", "Email.SEND"] {
                    let plain = load(files).unwrap();
                    let digest = judged(&plain, id).digest;
                    let rules = OWN.map(str::to_owned).to_vec();
                    let policy = plain
                        .choosing(always.clone())
                        .in_session(session)
                        .remembering(vec![Remembered { digest, rules }]);
                    let judgement = judged(&policy, id);
                    assert_eq!(judgement.verdict, Verdict::Confirm, "{id} {session:?}");
                    let context = Context::default();
                    assert!(!policy.may_remember(&judgement, &skill(id), &context));
                }
            }
        }
    }

    #[test]
    fn a_program_is_not_asked_what_a_declared_skill_asks() {
        let policy = Policy::default().in_session(PROGRAM);
        let sent = judged(&policy, "email.send");
        assert_eq!(sent.verdict, Verdict::Allow);
        let told = "auto-confirmed by programmatic access: skill.use.write";
        assert_eq!(sent.trace.last().map(|step| step.because.as_str()), Some(told));
        assert_eq!(judged(&policy, "payments.send").verdict, Verdict::Allow);
        for id in ["shop.frobnicate", "shop.update_order", "shop.cancel_order", "Email.send"] {
            assert_eq!(judged(&policy, id).verdict, Verdict::Confirm, "{id}");
        }
        let chosen = choices(json!({"skills": {"weather.read": {"confirm": true}}}));
        assert_eq!(judged(&policy.choosing(chosen), "weather.read").verdict, Verdict::Allow);
    }

    #[test]
    fn a_program_is_asked_about_everything_else() {
        let policy = Policy::default().in_session(PROGRAM);
        let destructive = vec![finding("shell.git.force-push", Verdict::Confirm)];
        assert_eq!(with(&policy, "email.send", destructive).verdict, Verdict::Confirm);
        let command = Action::Shell { command: "rm -rf src".into(), cwd: None };
        assert_eq!(judge(&command, &policy, &Context::default()).verdict, Verdict::Confirm);
        for file in ["overrides: {skill.use.write: confirm}", "overrides: {kind.skill: confirm}"] {
            let policy = load([file, "", ""]).unwrap().in_session(PROGRAM);
            assert_eq!(judged(&policy, "email.send").verdict, Verdict::Confirm, "{file}");
        }
        let fixed = load(["", "always: [skill.use.write]", ""]).unwrap().in_session(PROGRAM);
        assert_eq!(judged(&fixed, "email.send").verdict, Verdict::Confirm);
        let blocked = load(["", "overrides: {skill.use.write: block}", ""]).unwrap();
        assert_eq!(judged(&blocked.in_session(PROGRAM), "email.send").verdict, Verdict::Block);
        let nobody = Context { profile: Some("nobody".to_owned()), ..Context::default() };
        assert_eq!(judge(&skill("email.send"), &policy, &nobody).verdict, Verdict::Confirm);
    }

    #[test]
    fn kind_and_risk_go_unasked_for_a_program_only_when_they_are_the_skills_own() {
        let asking = |verdicts| {
            let profile = Profile { verdicts, ..bare_profile() };
            let profile: &'static Profile = Box::leak(Box::new(profile));
            Policy { profile, ..Policy::default() }.in_session(PROGRAM)
        };
        let policy = asking(&[("kind.skill", Verdict::Confirm), ("risk.low", Verdict::Confirm)]);
        assert_eq!(with(&policy, "email.send", Vec::new()).verdict, Verdict::Allow);
        let warned = || vec![finding("a.b.c", Verdict::Warn)];
        assert_eq!(with(&policy, "email.send", warned()).verdict, Verdict::Confirm);
        let kind = asking(&[("kind.skill", Verdict::Confirm)]);
        assert_eq!(with(&kind, "email.send", warned()).verdict, Verdict::Warn);
        // A verdict set by a file is asked about, whatever the session.
        let set = load(["", "overrides: {kind.skill: confirm}", ""]).unwrap().in_session(PROGRAM);
        assert_eq!(with(&set, "email.send", Vec::new()).verdict, Verdict::Confirm);
    }

    #[test]
    fn a_yes_is_remembered_unless_held_hard_or_critical() {
        let context = Context::default();
        let may = |policy: &Policy, found: Finding| {
            let judgement = policy.settle(&skill("x"), &context, vec![found], "d1".to_owned());
            policy.may_remember(&judgement, &skill("x"), &context)
        };
        let plain = finding("a.b.c", Verdict::Confirm);
        assert!(may(&Policy::default(), plain.clone()));
        assert!(!may(&Policy::default(), finding("a.b.c", Verdict::Warn)));
        assert!(!may(&Policy::default(), finding("a.b.c", Verdict::Block)));
        assert!(!may(&Policy::default(), Finding { hard: true, ..plain.clone() }));
        assert!(!may(&load(["always: ['*']", "", ""]).unwrap(), plain.clone()));
        let critical = Finding { risk: crate::RiskLevel::Critical, ..plain };
        assert!(!may(&Policy::default(), critical));
    }

    #[test]
    fn a_skill_waits_as_long_as_declared_and_a_project_may_shorten_it() {
        let apps = "apps: {shop: {provider: acme, skills: {order: {access: write, timeout: 900}}}}";
        let context = Context::default();
        let wait = |files, id| load(files).unwrap().approval_timeout(&skill(id), &context);
        assert_eq!(wait(["", apps, ""], "shop.order"), 900);
        assert_eq!(wait(["", apps, ""], "shop.other"), 120);
        assert_eq!(wait(["", apps, "safety: {approval_timeout: 30}"], "shop.order"), 30);
        assert_eq!(wait(["safety: {approval_timeout: 60}", apps, ""], "shop.order"), 900);
        let assistant = Context { profile: Some("assistant".to_owned()), ..Context::default() };
        let policy = Policy::default();
        assert_eq!(policy.approval_timeout(&skill("shop.order"), &assistant), 300);
        assert_eq!(policy.profile_name(), "coding-agent");
    }

    #[test]
    fn a_time_that_is_the_profiles_own_is_set_all_the_same() {
        let assistant = Context { profile: Some("assistant".to_owned()), ..Context::default() };
        let app = "apps: {shop: {skills: {order: {access: write, timeout: 300}, other: {access: write}}}}";
        let away = |files, id| {
            let policy = load(files).unwrap();
            assert_eq!(policy.approval_timeout(&skill(id), &assistant), 300);
            policy.approval_timeout_away(&skill(id), &assistant)
        };
        assert_eq!(away(["", app, ""], "shop.order"), 300);
        assert_eq!(away(["", "safety: {approval_timeout: 300}", ""], "shop.other"), 300);
        assert_eq!(away(["", app, ""], "shop.other"), 1_800, "nobody has set a time for this one");
    }

    #[test]
    fn a_provider_is_named_by_the_most_trusted_who_declares_the_app() {
        let app = |provider: &str| format!("apps: {{shop: {{{provider}skills: {{}}}}}}");
        let provider = |organisation: &str, user: &str, project: &str| {
            let policy = load([organisation, user, project]).unwrap();
            policy.provider("shop.order").to_owned()
        };
        let (acme, other, none) = (app("provider: acme, "), app("provider: other, "), app(""));
        assert_eq!(provider("", &acme, ""), "acme");
        assert_eq!(provider(&acme, &other, ""), "acme");
        assert_eq!(provider(&none, &other, ""), "shop");
        assert_eq!(provider("", "", &other), "shop");
        assert_eq!(Policy::default().provider("email.send"), "email");
        assert_eq!(Policy::default().provider("x"), "x");
        let declared = load(["", "apps: {shop: {skills: {order: {access: write}}}}", ""]).unwrap();
        let ids = declared.skill_ids();
        assert!(ids.contains("shop.order") && ids.contains("email.send"), "{ids:?}");
    }

    #[test]
    fn choices_read_back_and_unknown_fields_are_errors() {
        let some = choices(json!({
            "apps": {"email": {"confirm": false}},
            "skills": {"email.send": {"always": true}},
        }));
        let back = serde_json::from_value(serde_json::to_value(&some).unwrap()).unwrap();
        assert_eq!(some, back);
        assert_eq!(serde_json::to_string(&SkillChoices::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<SkillChoices>(r#"{"app":{}}"#).is_err());
        let always = r#"{"apps":{"email":{"always":true}}}"#;
        assert!(serde_json::from_str::<SkillChoices>(always).is_err());
    }
}
