//! Policy: findings become a judgement.
//!
//! The layers are applied in this order, and each adds a step to the trace:
//!
//! ```text
//! hard-block     compiled in; nothing after it is asked
//! profile:NAME   the rules' own verdicts, and where the profile differs
//! organisation   may lower and raise
//! workspace      may lower and raise, but not below verdicts of the organisation
//! user           may lower and raise, but not below verdicts of a layer above
//! settings       the user's choices per app and skill; lower only a skill's own questions
//! project        may only raise: the agent can write that file
//! session        auto_confirm and autonomous mode turn confirm into allow where no file set it, a
//!                program only a skill's own questions
//! remembered     an earlier yes to this very action does the same
//! ```
//!
//! INVARIANT: only [`Policy::settle`] makes a verdict, and a finding that is `hard` makes it
//! *block* before any layer is applied. A *held* verdict (`always` of the profile, of a file or of
//! the user's settings) is never lowered by any layer. A verdict set by a file is not lowered by
//! any layer after it, and a block only by an entry with `danger` in its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::action::Action;
use crate::analysis::Analysis;
use crate::context::Context;
use crate::verdict::{Finding, Judgement, RiskLevel, Step, Verdict};

mod allowed;
mod choice;
pub mod config;
mod declared;
pub mod error;
mod explain;
pub(crate) mod known;
mod layer;
mod limits;
mod lines;
mod load;
mod lock;
mod outline;
mod own;
mod pattern;
pub mod profile;
mod rank;
mod relax;
mod risk;
mod rule_target;
mod section;
pub mod session;
mod show;
mod spot;
mod vocabulary;

use layer::{By, Floors, Layer, Ruling, strictest};
use rule_target::RuleTarget;

pub use choice::{AppChoice, SkillChoice, SkillChoices};
pub use config::{STARTER, Source, Sources};
pub use error::{ConfigError, Notice, Problem};
pub use known::nearest;
pub use lines::Line;
pub use lock::Lock;
pub use outline::Outline;
pub use profile::Profile;
pub use rank::Rank;
pub use section::{merged, section};
pub use session::{Remembered, Session};
pub use show::Settings;

/// The combination of all layers. The default is the built-in profile alone.
///
/// The loaded layers are shared by all clones: a server makes one for every decision.
#[derive(Debug, Clone)]
pub struct Policy {
    profile: &'static Profile,
    /// In the order in which they are applied.
    layers: Arc<Vec<Layer>>,
    choices: SkillChoices,
    session: Session,
    /// The rules that this session confirms by itself, where it names them.
    auto_confirm_rules: Option<Vec<String>>,
    /// The policies of workspaces, by id.
    workspaces: Arc<BTreeMap<String, Self>>,
    remembered: Vec<Remembered>,
    sensitive_paths: Arc<Vec<String>>,
    notices: Arc<Vec<Notice>>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            profile: profile::DEFAULT,
            layers: Arc::default(),
            choices: SkillChoices::default(),
            session: Session::default(),
            auto_confirm_rules: None,
            workspaces: Arc::default(),
            remembered: Vec::new(),
            sensitive_paths: Arc::default(),
            notices: Arc::default(),
        }
    }
}

impl Policy {
    /// The same policy, in this session.
    #[must_use]
    pub fn in_session(self, session: Session) -> Self {
        Self { session, ..self }
    }

    /// The same policy, in a session that confirms by itself only the rules named here.
    #[must_use]
    pub fn auto_confirming(self, rules: Option<Vec<String>>) -> Self {
        Self { auto_confirm_rules: rules, ..self }
    }

    /// The policy of a workspace, by its id; this one, if the workspace lacks one.
    #[must_use]
    pub fn in_workspace(&self, id: &str) -> Self {
        self.workspaces.get(id).unwrap_or(self).clone()
    }

    /// Reports whether these words name a rule, a family, a kind or a level of risk.
    #[must_use]
    pub fn is_known(&self, words: &str) -> bool {
        let own: Vec<_> = self.own_rules().map(|rule| rule.id.to_string()).collect();
        known::check(words, &own).is_ok()
    }

    /// The part of a layer that may be sent to others, without sections that hold secrets; `None`
    /// if there is no such layer.
    #[must_use]
    pub fn handed_out(&self, rank: Rank) -> Option<&Map<String, Value>> {
        let mut layers = self.layers.iter();
        layers.find(|layer| layer.rank == rank).map(|layer| &layer.handed_out)
    }

    /// The workspaces that have a policy of their own, by id.
    pub fn workspaces(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.workspaces.iter().map(|(name, policy)| (name.as_str(), policy))
    }

    /// The same policy, with the user's choices for apps and skills.
    #[must_use]
    pub fn choosing(self, choices: SkillChoices) -> Self {
        Self { choices, ..self }
    }

    /// The same policy, with answers that are still remembered.
    #[must_use]
    pub fn remembering(self, remembered: Vec<Remembered>) -> Self {
        Self { remembered, ..self }
    }

    /// Paths the configuration names as sensitive.
    #[must_use]
    pub fn sensitive_paths(&self) -> &[String] {
        &self.sensitive_paths
    }

    /// The name of the profile, when the context names no other.
    #[must_use]
    pub const fn profile_name(&self) -> &'static str {
        self.profile.name
    }

    /// Reports whether a yes to this may be remembered: not where a person is always asked, and not
    /// where the risk is critical.
    #[must_use]
    pub fn may_remember(&self, judgement: &Judgement, action: &Action, context: &Context) -> bool {
        if judgement.verdict != Verdict::Confirm || judgement.risk.level >= RiskLevel::Critical {
            return false;
        }
        let input = SettleInput::of(judgement, action, context);
        let (rulings, _) = self.hear(&input, 0);
        input.hard().is_none() && !rulings.iter().any(Ruling::always_asks)
    }

    /// The rules of the configuration files, most trusted file first.
    pub fn own_rules(&self) -> impl Iterator<Item = &crate::rule::Rule> {
        self.layers.iter().flat_map(|layer| layer.rules.iter())
    }

    /// The entries of the configuration that were ignored.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Adds the findings of configured rules and patterns.
    pub fn apply_own_rules(&self, action: &Action, analysis: &Analysis, to: &mut Vec<Finding>) {
        for (at, layer) in self.layers.iter().enumerate() {
            layer.find(action, analysis, to);
            let trusted = self.layers.get(..=at).unwrap_or_default();
            to.extend(layer.unlisted(action, analysis, trusted));
        }
    }

    /// Turns findings into a judgement.
    #[must_use]
    pub fn settle(
        &self,
        action: &Action,
        context: &Context,
        mut findings: Vec<Finding>,
        digest: String,
    ) -> Judgement {
        // Under an unknown profile, every family counts.
        let left_out = self.profile_in(context).map_or(0, |known| known.leave_out(&mut findings));
        let risk = risk::assess(action, context, &findings);
        let input = SettleInput {
            action,
            context,
            findings: &findings,
            level: risk.level,
            digest: &digest,
        };

        let (rulings, trace) = match input.hard() {
            Some(finding) => (Vec::new(), vec![hard_step(finding)]),
            None => self.hear(&input, left_out),
        };
        let verdict = trace.last().map_or(Verdict::Allow, |step| step.said);
        let reason = explain::reason(&input, verdict, &rulings);

        let order = rulings.iter().map(|ruling| ruling.verdict).collect();
        Judgement { verdict, risk, reason, findings: sorted(findings, order), digest, trace }
    }

    /// Applies every layer in order. The first rulings are those on the findings, in their order.
    fn hear<'a>(
        &'a self,
        input: &SettleInput<'a>,
        left_out: usize,
    ) -> (Vec<Ruling<'a>>, Vec<Step>) {
        let mut rulings = self.rulings(input);
        let profile = self.profile_in(input.context).unwrap_or(self.profile);
        let mut trace = vec![profile_step(profile, input, &rulings, left_out)];
        let is_trusted = |layer: &&Layer| layer.rank < Rank::Project;
        for layer in self.layers.iter().filter(is_trusted) {
            trace.push(layer.hear(profile, &mut rulings));
        }
        trace.extend(self.hear_choices(input.action, &mut rulings));
        for layer in self.layers.iter().filter(|layer| !is_trusted(layer)) {
            trace.push(layer.hear(profile, &mut rulings));
        }
        trace.extend(self.hear_session(input.action, &mut rulings));
        trace.extend(self.hear_remembered(input.digest, &mut rulings));
        (rulings, trace)
    }

    /// The verdicts of the rules, as modified by the profile.
    fn rulings<'a>(&'a self, input: &SettleInput<'a>) -> Vec<Ruling<'a>> {
        let profile = self.profile_in(input.context);
        let mut targets: Vec<_> =
            input.findings.iter().map(|f| (RuleTarget::Rule(&f.rule), Some(f))).collect();
        targets.push((RuleTarget::Kind(input.action.kind()), None));
        if input.level > RiskLevel::None {
            targets.push((RuleTarget::Risk(input.level), None));
        }
        if let (None, Some(name)) = (profile, &input.context.profile) {
            targets.push((RuleTarget::UnknownProfile(name), None));
        }
        let profile = profile.unwrap_or(self.profile);
        let rule_on = |(target, finding)| self.ruling(profile, input.context, target, finding);
        targets.into_iter().map(rule_on).collect()
    }

    fn ruling<'a>(
        &self,
        profile: &Profile,
        context: &Context,
        target: RuleTarget<'a>,
        finding: Option<&Finding>,
    ) -> Ruling<'a> {
        // An unknown profile must not lower anything, and no option overrides that.
        let unknown = matches!(target, RuleTarget::UnknownProfile(_));
        let own = match (unknown, finding) {
            (true, _) => Verdict::Confirm,
            (false, finding) => finding.map_or(Verdict::Allow, |finding| finding.verdict),
        };
        let fixed = unknown
            || profile.holds(target, finding)
            || self.layers.iter().any(|layer| layer.asks_always(target));
        let (mut verdict, mut by) = match profile.word(target, context.mode) {
            Some((entry, verdict)) if verdict != own && profile.explores(target, context.mode) => {
                (verdict, By::Explore(entry))
            }
            Some((entry, verdict)) if verdict != own => (verdict, By::Profile(entry)),
            _ => (own, By::Rule),
        };
        if profile.asks_always(target) && verdict < Verdict::Confirm {
            (verdict, by) = (Verdict::Confirm, By::Profile("always"));
        }
        // The verdict of a file's own rule counts as set by that file.
        let of_file = finding.and_then(|finding| Rank::of_rule(&finding.rule));
        let floors = of_file.map_or_else(Floors::default, |rank| Floors::of(rank, verdict));
        Ruling { target, verdict, by, fixed, floors }
    }

    /// The profile to judge by, unless the context names one that does not exist. A locked one is
    /// used whatever the context names.
    fn profile_in(&self, context: &Context) -> Option<&'static Profile> {
        let named = context.profile.as_deref().map_or(Some(self.profile), Profile::named)?;
        Some(if self.is_locked(Lock::Profile) { self.profile } else { named })
    }
}

/// The action that is being judged, with its findings.
#[derive(Clone, Copy)]
struct SettleInput<'a> {
    action: &'a Action,
    context: &'a Context,
    findings: &'a [Finding],
    level: RiskLevel,
    digest: &'a str,
}

impl<'a> SettleInput<'a> {
    /// An earlier judgement, to evaluate it again.
    fn of(judgement: &'a Judgement, action: &'a Action, context: &'a Context) -> Self {
        Self {
            action,
            context,
            findings: &judgement.findings,
            level: judgement.risk.level,
            digest: &judgement.digest,
        }
    }

    fn hard(&self) -> Option<&'a Finding> {
        self.findings.iter().find(|finding| finding.hard)
    }
}

fn hard_step(finding: &Finding) -> Step {
    Step {
        layer: "hard-block".to_owned(),
        said: Verdict::Block,
        because: format!("{}: no configuration, mode or answer lifts it", finding.rule),
        unasked: None,
    }
}

fn profile_step(
    profile: &Profile,
    input: &SettleInput<'_>,
    rulings: &[Ruling<'_>],
    left_out: usize,
) -> Step {
    let said = strictest(rulings);
    let mut because = match rulings.iter().find(|ruling| ruling.verdict == said) {
        Some(ruling) if said > Verdict::Allow => explain::said(ruling),
        _ if input.findings.is_empty() => "no rule matched".to_owned(),
        _ => "what was found is allowed".to_owned(),
    };
    if left_out > 0 {
        because.push_str("; rules that are off in this profile matched too");
    }
    let mut layer = String::with_capacity(24);
    layer.push_str("profile:");
    layer.push_str(profile.name);
    Step { layer, said, because, unasked: None }
}

/// Sorts findings by strictness: hard ones, then by the final ruling, then by the rule's own
/// verdict, then by the risk.
fn sorted(findings: Vec<Finding>, rulings: Vec<Verdict>) -> Vec<Finding> {
    if findings.len() < 2 {
        return findings;
    }
    let rulings = rulings.into_iter().chain(std::iter::repeat(Verdict::Allow));
    let mut pairs: Vec<_> = findings.into_iter().zip(rulings).collect();
    pairs.sort_by(|(a, said_a), (b, said_b)| {
        let key = |finding: &Finding, said| (finding.hard, said, finding.verdict, finding.risk);
        key(b, *said_b).cmp(&key(a, *said_a))
    });
    pairs.into_iter().map(|(finding, _)| finding).collect()
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use super::testing::{finding, load, shell};
    use super::*;
    use crate::context::{History, Mode};
    use crate::verdict::Category;

    const DOUBT: &str = "effect.doubt.unparsed";
    const HARD: &str = "effect.doubt.malformed";

    fn settle(policy: &Policy, context: &Context, findings: Vec<Finding>) -> Judgement {
        policy.settle(&shell("x"), context, findings, "d1".to_owned())
    }

    fn verdict(policy: &Policy, finding: Finding) -> Verdict {
        settle(policy, &Context::default(), vec![finding]).verdict
    }

    fn layers(judgement: &Judgement) -> Vec<&str> {
        judgement.trace.iter().map(|step| step.layer.as_str()).collect()
    }

    const RELAXED: Session = Session { auto_confirm: true, autonomous: true, programmatic: true };

    #[test]
    fn nothing_found_is_allowed_in_one_step() {
        let judgement = settle(&Policy::default(), &Context::default(), Vec::new());
        assert_eq!(judgement.verdict, Verdict::Allow);
        assert_eq!(judgement.reason, "nothing risky found");
        assert_eq!(judgement.risk, crate::verdict::Risk::default());
        assert_eq!(layers(&judgement), ["profile:coding-agent"]);
    }

    #[test]
    fn by_default_the_rules_own_verdicts_hold() {
        for asked in [Verdict::Allow, Verdict::Warn, Verdict::Confirm, Verdict::Block] {
            assert_eq!(verdict(&Policy::default(), finding("a.b.c", asked)), asked);
        }
        let both = vec![finding("a.b.c", Verdict::Warn), finding("a.b.d", Verdict::Confirm)];
        let judgement = settle(&Policy::default(), &Context::default(), both);
        assert_eq!(judgement.verdict, Verdict::Confirm);
        assert_eq!(judgement.reason, "Found by a.b.d");
        assert_eq!(judgement.findings[0].rule, "a.b.d");
    }

    /// Every file that could loosen, in every layer, with every session, mode and answer.
    #[test]
    fn nothing_lowers_a_hard_block() {
        let files = [
            "",
            "safety: {enabled: false}",
            "overrides: {'*': allow}",
            "overrides: {effect.doubt.*: allow, kind.shell: allow, risk.low: allow}",
            "overrides: {effect.doubt.malformed: allow}",
            "safety: {enabled: false}\noverrides: {effect.doubt.malformed: warn}\n\
             options: {recoverable: allow, regenerable: allow}",
        ];
        let mut hard = finding(HARD, Verdict::Block);
        hard.hard = true;
        let remembered = vec![Remembered { digest: "d1".to_owned(), rules: vec![HARD.to_owned()] }];
        let mut tried = 0;
        for organisation in files {
            for user in files {
                for project in files {
                    let policy = load([organisation, user, project]).unwrap();
                    for session in [Session::default(), RELAXED] {
                        for mode in [None, Some(Mode::Explore), Some(Mode::Task)] {
                            let policy =
                                policy.clone().in_session(session).remembering(remembered.clone());
                            let context = Context {
                                mode,
                                history: Some(History { approved: 9, rejected: 0 }),
                                confidence: Some(1.0),
                                ..Context::default()
                            };
                            let soft = finding("a.b.c", Verdict::Allow);
                            let judgement = settle(&policy, &context, vec![soft, hard.clone()]);
                            assert_eq!(judgement.verdict, Verdict::Block);
                            assert_eq!(layers(&judgement), ["hard-block"]);
                            assert_eq!(judgement.findings[0].rule, HARD);
                            tried += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(tried, 6 * 6 * 6 * 2 * 3);
    }

    #[test]
    fn what_always_asks_is_lowered_by_nobody() {
        let tampering =
            Finding { category: Category::GuardTampering, ..finding("a.b.c", Verdict::Confirm) };
        let all = "overrides: {'*': allow}\nsafety: {enabled: false}";
        let policy = load([all, all, ""]).unwrap().in_session(RELAXED);
        assert_eq!(verdict(&policy, tampering), Verdict::Confirm);
        assert_eq!(verdict(&policy, finding("a.b.c", Verdict::Confirm)), Verdict::Allow);
    }

    #[test]
    fn an_always_list_asks_and_holds() {
        let files = ["always: [effect.doubt.*]", "overrides: {effect.*: allow}", ""];
        let policy = load(files).unwrap().in_session(RELAXED);
        assert_eq!(verdict(&policy, finding(DOUBT, Verdict::Warn)), Verdict::Confirm);
        let by_project = load(["", "", "always: ['*']"]).unwrap().in_session(RELAXED);
        assert_eq!(verdict(&by_project, finding("a.b.c", Verdict::Warn)), Verdict::Confirm);
    }

    #[test]
    fn trusted_layers_lower_and_the_user_not_below_the_organisation() {
        let lowered = |files| {
            let policy: Policy = load(files).unwrap();
            verdict(&policy, finding(DOUBT, Verdict::Confirm))
        };
        assert_eq!(lowered(["overrides: {effect.*: allow}", "", ""]), Verdict::Allow);
        assert_eq!(lowered(["", "overrides: {effect.*: allow}", ""]), Verdict::Allow);
        let set = "overrides: {effect.doubt.unparsed: confirm}";
        assert_eq!(lowered([set, "overrides: {'*': allow}", ""]), Verdict::Confirm);
        assert_eq!(lowered([set, "safety: {enabled: false}", ""]), Verdict::Confirm);
        assert_eq!(lowered([set, "overrides: {'*': block}", ""]), Verdict::Block);
        let warned = "overrides: {effect.doubt.unparsed: warn}";
        assert_eq!(lowered([warned, "overrides: {'*': allow}", ""]), Verdict::Warn);
    }

    #[test]
    fn a_project_raises_and_never_lowers() {
        for own in [Verdict::Allow, Verdict::Warn, Verdict::Confirm, Verdict::Block] {
            for said in [Verdict::Allow, Verdict::Warn, Verdict::Confirm, Verdict::Block] {
                let file = format!("overrides: {{effect.doubt.unparsed: {}}}", said.as_str());
                let policy = load(["", "", &file]).unwrap();
                assert_eq!(verdict(&policy, finding(DOUBT, own)), own.max(said));
            }
        }
    }

    #[test]
    fn off_means_nobody_is_asked_but_blocks_and_warnings_stay() {
        let policy = load(["", "safety: {enabled: false}", ""]).unwrap();
        let off = |asked| verdict(&policy, finding("a.b.c", asked));
        assert_eq!(off(Verdict::Confirm), Verdict::Allow);
        assert_eq!(off(Verdict::Warn), Verdict::Warn);
        assert_eq!(off(Verdict::Block), Verdict::Block);
        let judgement =
            settle(&policy, &Context::default(), vec![finding("a.b.c", Verdict::Confirm)]);
        assert_eq!(layers(&judgement), ["profile:coding-agent", "user"]);
        assert!(judgement.trace[1].because.contains("asking is switched off"));
        assert_eq!(judgement.reason, "Found by a.b.c (allowed: asking is switched off)");
    }

    #[test]
    fn a_session_confirms_what_asks_and_lifts_no_block() {
        let sessions = [
            Session { auto_confirm: true, ..Session::default() },
            Session { autonomous: true, ..Session::default() },
        ];
        for session in sessions {
            let policy = Policy::default().in_session(session);
            let found = vec![finding("a.b.c", Verdict::Confirm), finding("a.b.d", Verdict::Warn)];
            let judgement = settle(&policy, &Context::default(), found);
            assert_eq!(judgement.verdict, Verdict::Warn);
            assert_eq!(layers(&judgement), ["profile:coding-agent", "session"]);
            assert!(judgement.trace[1].because.contains("auto-confirmed"));
            assert_eq!(verdict(&policy, finding("a.b.c", Verdict::Block)), Verdict::Block);
        }
    }

    #[test]
    fn a_remembered_yes_covers_only_what_it_was_about() {
        let policy = Policy::default().remembering(vec![Remembered {
            digest: "d1".to_owned(),
            rules: vec!["a.b.c".to_owned()],
        }]);
        assert_eq!(verdict(&policy, finding("a.b.c", Verdict::Confirm)), Verdict::Allow);
        assert_eq!(verdict(&policy, finding("a.b.new", Verdict::Confirm)), Verdict::Confirm);
        let other = policy.settle(
            &shell("y"),
            &Context::default(),
            vec![finding("a.b.c", Verdict::Confirm)],
            "d2".to_owned(),
        );
        assert_eq!(other.verdict, Verdict::Confirm);
        assert_eq!(layers(&other), ["profile:coding-agent"]);
    }

    #[test]
    fn an_unknown_profile_asks_whatever_the_layers_say() {
        let context = Context { profile: Some("no\u{1b}body".to_owned()), ..Context::default() };
        let all = "overrides: {'*': allow}\nsafety: {enabled: false}";
        for policy in [
            Policy::default(),
            load([all, all, all]).unwrap().in_session(RELAXED),
            Policy::default()
                .remembering(vec![Remembered { digest: "d1".to_owned(), rules: Vec::new() }]),
        ] {
            let judgement = settle(&policy, &context, Vec::new());
            assert_eq!(judgement.verdict, Verdict::Confirm);
            assert!(judgement.trace[0].because.contains("no profile is called"));
            assert!(!judgement.reason.contains('\u{1b}'));
            let blocked = vec![finding("a.b.c", Verdict::Block)];
            assert!(settle(&Policy::default(), &context, blocked).verdict == Verdict::Block);
        }
    }

    #[test]
    fn what_exploring_refuses_is_told_as_that() {
        let told = |profile: &str, action: &Action, findings| {
            let context = Context {
                mode: Some(Mode::Explore),
                profile: Some(profile.to_owned()),
                ..Context::default()
            };
            Policy::default().settle(action, &context, findings, String::new()).reason
        };
        let submit = Action::Screenshot {};
        let found = vec![finding("ui.form.submit", Verdict::Confirm)];
        let refused = told("browser-agent", &submit, found);
        assert_eq!(refused, "Exploring, so this is refused: Found by ui.form.submit");
        let refused = told("browser-agent", &shell("ls"), Vec::new());
        assert_eq!(refused, "Exploring, so this is refused: `kind.shell` is for task mode");
        let write = Action::FileWrite { path: "a".into(), content: None };
        let asked = told("coding-agent", &write, Vec::new());
        assert_eq!(asked, "Exploring, so this is asked about: `kind.file_write` is for task mode");
        let plain = told("coding-agent", &shell("x"), vec![finding("a.b.c", Verdict::Block)]);
        assert_eq!(plain, "Found by a.b.c", "it is refused in every mode");
    }

    #[test]
    fn explore_mode_asks_before_a_file_changes() {
        let write = Action::FileWrite { path: "a".into(), content: None };
        let verdict = |mode| {
            let context = Context { mode, ..Context::default() };
            Policy::default().settle(&write, &context, Vec::new(), String::new()).verdict
        };
        assert_eq!(verdict(Some(Mode::Explore)), Verdict::Confirm);
        assert_eq!(verdict(Some(Mode::Task)), Verdict::Allow);
        assert_eq!(verdict(None), Verdict::Allow);
    }

    #[test]
    fn a_profile_can_ask_from_a_risk_on_and_let_no_session_lift_it() {
        let strict = Profile {
            verdicts: &[("risk.medium", Verdict::Warn), ("kind.code", Verdict::Block)],
            always: profile::Always {
                rules: &["a.b.*"],
                categories: &[],
                risk: Some(RiskLevel::High),
            },
            ..testing::bare_profile()
        };
        let policy = Policy { profile: Box::leak(Box::new(strict)), ..Policy::default() }
            .in_session(RELAXED);
        let at = |risk, id| verdict(&policy, Finding { risk, ..finding(id, Verdict::Allow) });
        assert_eq!(at(RiskLevel::Low, "x.y.z"), Verdict::Allow);
        assert_eq!(at(RiskLevel::Medium, "x.y.z"), Verdict::Warn);
        assert_eq!(at(RiskLevel::High, "x.y.z"), Verdict::Confirm);
        assert_eq!(at(RiskLevel::Critical, "x.y.z"), Verdict::Confirm);
        assert_eq!(at(RiskLevel::Low, "a.b.c"), Verdict::Confirm);
        let code: Action =
            serde_json::from_str(r#"{"kind":"code","language":"sql","source":""}"#).unwrap();
        let judgement = policy.settle(&code, &Context::default(), Vec::new(), String::new());
        assert_eq!(judgement.verdict, Verdict::Block);
        assert_eq!(judgement.reason, "`kind.code` sets kind.code to block");
    }

    #[test]
    fn kinds_and_risks_can_be_made_to_ask() {
        let policy = load(["", "overrides: {kind.shell: confirm}", ""]).unwrap();
        let judgement = settle(&policy, &Context::default(), Vec::new());
        assert_eq!(judgement.verdict, Verdict::Confirm);
        assert_eq!(judgement.reason, "`kind.shell: confirm` in user.yaml");
        let policy = load(["", "overrides: {risk.high: confirm}", ""]).unwrap();
        assert_eq!(verdict(&policy, finding("a.b.c", Verdict::Warn)), Verdict::Confirm);
        let low = Finding { risk: crate::RiskLevel::Low, ..finding("a.b.c", Verdict::Warn) };
        assert_eq!(verdict(&policy, low), Verdict::Warn);
    }

    #[test]
    fn options_set_the_rules_they_name() {
        let ids = ["effect.files.delete-recoverable", "effect.files.delete-regenerable"];
        let verdicts = |files| {
            let policy: Policy = load(files).unwrap();
            ids.map(|id| verdict(&policy, finding(id, Verdict::Confirm)))
        };
        assert_eq!(verdicts(["", "", ""]), [Verdict::Confirm, Verdict::Warn]);
        let lax = "options: {recoverable: allow, regenerable: allow}";
        assert_eq!(verdicts(["", lax, ""]), [Verdict::Allow, Verdict::Allow]);
        assert_eq!(verdicts(["", "", lax]), [Verdict::Confirm, Verdict::Warn]);
        let strict = "options: {recoverable: confirm, regenerable: confirm}";
        assert_eq!(verdicts(["", lax, strict]), [Verdict::Confirm, Verdict::Confirm]);
        assert_eq!(verdicts([strict, lax, ""]), [Verdict::Confirm, Verdict::Confirm]);
    }

    #[test]
    fn the_trace_tells_what_each_layer_said_and_why() {
        let files = [
            "overrides: {effect.doubt.*: warn}",
            "overrides: {kind.shell: allow}",
            "overrides: {effect.doubt.unparsed: allow}",
        ];
        let policy = load(files).unwrap();
        let found = vec![finding(DOUBT, Verdict::Confirm)];
        let judgement = settle(&policy, &Context::default(), found);
        let trace: Vec<_> = judgement
            .trace
            .iter()
            .map(|step| (step.layer.as_str(), step.said, step.because.as_str()))
            .collect();
        assert_eq!(
            trace,
            [
                (
                    "profile:coding-agent",
                    Verdict::Confirm,
                    "effect.doubt.unparsed asks for confirm"
                ),
                (
                    "organisation",
                    Verdict::Warn,
                    "`effect.doubt.*: warn` for effect.doubt.unparsed (org.yaml)"
                ),
                ("user", Verdict::Warn, "`kind.shell: allow` for kind.shell (user.yaml)"),
                (
                    "project",
                    Verdict::Warn,
                    "`effect.doubt.unparsed: allow` is ignored: a project file may only tighten \
                     (.countersign.yaml)"
                ),
            ]
        );
        assert_eq!(judgement.verdict, Verdict::Warn);
    }
}
