//! Loading: configuration files become a policy.
//!
//! An entry that a file may not contain is ignored with a notice; an invalid entry is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::context::Context;
use crate::policy::config::{self, Source, Sources};
use crate::policy::error::{ConfigError, Notice};
use crate::policy::layer::{Layer, Lowers, NotApplied, Ruling};
use crate::policy::lock::Lock;
use crate::policy::own::{self, IsFound};
use crate::policy::rank::Rank;
use crate::policy::rule_target::{LEVELS, RuleTarget, reach};
use crate::policy::spot::{self, To};
use crate::policy::{Policy, Profile, known, limits};
use crate::rule;
use crate::verdict::{Category, Finding, RiskLevel, Verdict};

impl Policy {
    /// Makes a policy from the configuration files, and runs the examples of their rules by
    /// `is_found`.
    pub(crate) fn read(sources: &Sources, is_found: IsFound) -> Result<Self, ConfigError> {
        let mut policy = Self::read_one(sources, None, is_found)?;
        let mut workspaces = BTreeMap::new();
        for (name, source) in &sources.workspaces {
            workspaces.insert(name.clone(), Self::read_one(sources, Some(source), is_found)?);
        }
        policy.workspaces = Arc::new(workspaces);
        Ok(policy)
    }

    /// The policy of one workspace, or the one that applies outside of them.
    fn read_one(
        sources: &Sources,
        workspace: Option<&Source>,
        is_found: IsFound,
    ) -> Result<Self, ConfigError> {
        let files = [
            (Rank::Organisation, sources.organisation.as_ref()),
            (Rank::Workspace, workspace.or(sources.workspace.as_ref())),
            (Rank::User, sources.user.as_ref()),
            (Rank::Project, sources.project.as_ref()),
        ];
        let mut drafts = Vec::new();
        for (rank, source) in files {
            if let Some(source) = source {
                drafts.push(Draft { layer: config::read(rank, source)?, source });
            }
        }
        let own = own_ids(&drafts);
        for draft in &drafts {
            config::check_names(&draft.layer, draft.source, &own)?;
        }
        let policy = Self::of(drafts);
        for layer in policy.layers.iter() {
            let source =
                files.iter().find_map(|(rank, source)| source.filter(|_| *rank == layer.rank));
            if let Some(source) = source {
                own::check_examples(layer, source, &policy, is_found)?;
            }
        }
        Ok(policy)
    }

    fn of(mut drafts: Vec<Draft<'_>>) -> Self {
        let mut policy = Self::default();
        let mut notices = Vec::new();
        settle_profile(&mut drafts, &mut policy, &mut notices);
        settle_asking(&mut drafts, &mut notices);
        settle_timeout(&mut drafts, policy.profile, &mut notices);
        settle_skills(&mut drafts, &mut notices);
        for mut draft in drafts {
            // Compared with the layers before it, which are in the policy by now.
            draft.layer.unheard = policy.find_unheard(&draft, &mut notices);
            for (name, text) in limits::unheard(&draft.layer, policy.profile.limits, &policy.layers)
            {
                notices.push(draft.notice(&[To::Key("limits"), To::Key(name)], text));
            }
            let sensitive = draft.layer.sensitive_paths.iter().cloned();
            Arc::make_mut(&mut policy.sensitive_paths).extend(sensitive);
            Arc::make_mut(&mut policy.layers).push(draft.layer);
        }
        policy.notices = Arc::new(notices);
        policy
    }

    /// Adds notices for entries of a file that will not be followed, and returns the names of the
    /// overrides among them.
    fn find_unheard(&self, draft: &Draft<'_>, notices: &mut Vec<Notice>) -> BTreeSet<String> {
        let mut unheard = BTreeSet::new();
        let Layer { overrides, danger_overrides, .. } = &draft.layer;
        let sections = [
            ("overrides", overrides, Lowers::UpToConfirm),
            ("danger_overrides", danger_overrides, Lowers::Blocks),
        ];
        for (section, entries, lowers) in sections {
            for (words, verdict) in entries {
                if let Some(why) = self.unheard(&draft.layer, words, *verdict, lowers) {
                    let text = format!("`{words}: {}` is ignored{why}", verdict.as_str());
                    notices.push(draft.notice(&[To::Key(section), To::Key(words)], text));
                    unheard.insert(format!("{section}.{words}"));
                }
            }
        }
        for (name, verdict) in &draft.layer.options {
            let option = self.profile.options.iter().find(|option| option.name == name);
            let Some(rule) = option.and_then(|option| option.rules.first()) else { continue };
            let ruling = self.before(RuleTarget::Rule(rule), None);
            if let Err(not_applied) =
                draft.layer.would_follow(&ruling, *verdict, Lowers::UpToConfirm)
            {
                let text =
                    format!("`{name}: {}` is ignored: {}", verdict.as_str(), not_applied.why());
                notices.push(draft.notice(&[To::Key("options"), To::Key(name)], text));
            }
        }
        unheard
    }

    /// The reason that an entry is not followed, for the first subject where it is not.
    fn unheard(
        &self,
        layer: &Layer,
        words: &str,
        verdict: Verdict,
        lowers: Lowers,
    ) -> Option<String> {
        let exact = !words.ends_with('*');
        for rule in rule::rules() {
            if reach(words, RuleTarget::Rule(&rule.id)).is_none() {
                continue;
            }
            if rule.hard {
                // A family may well contain hard blocks: they stay, which is to be expected.
                if exact && verdict < Verdict::Block {
                    return Some(format!(": {} is a hard block", rule.id));
                }
                continue;
            }
            let finding = finding(&rule.id, rule.category, rule.verdict, rule.risk);
            let ruling = self.before(RuleTarget::Rule(&rule.id), Some(&finding));
            match layer.would_follow(&ruling, verdict, lowers) {
                // Blocks of a family stay, like its hard ones.
                Err(NotApplied::Block) if !exact => {}
                Err(not_applied) => return Some(ignored(not_applied, &rule.id, exact)),
                Ok(()) => {}
            }
        }
        let kinds = known::KINDS.iter().map(|kind| RuleTarget::Kind(kind));
        let risks = LEVELS.iter().map(|level| RuleTarget::Risk(*level));
        kinds.chain(risks).filter(|target| reach(words, *target).is_some()).find_map(|target| {
            let not_applied =
                layer.would_follow(&self.before(target, None), verdict, lowers).err()?;
            Some(ignored(not_applied, &target.to_string(), exact))
        })
    }

    /// The ruling of the layers so far on a subject.
    pub(super) fn before<'a>(
        &'a self,
        target: RuleTarget<'a>,
        finding: Option<&Finding>,
    ) -> Ruling<'a> {
        let mut ruling = self.ruling(self.profile, &Context::default(), target, finding);
        for layer in self.layers.iter() {
            layer.hear(self.profile, std::slice::from_mut(&mut ruling));
        }
        ruling
    }
}

/// A layer together with the text it was read from.
struct Draft<'a> {
    layer: Layer,
    source: &'a Source,
}

impl Draft<'_> {
    fn notice(&self, path: &[To<'_>], text: String) -> Notice {
        let spot = spot::find(&self.source.text, path);
        Notice { file: self.source.name.clone(), line: spot.line, column: spot.column, text }
    }
}

/// Ignores skills that a project declares: it could declare that a skill only reads.
fn settle_skills(drafts: &mut [Draft<'_>], notices: &mut Vec<Notice>) {
    for draft in drafts.iter_mut().filter(|draft| draft.layer.rank == Rank::Project) {
        draft.layer.skills.clear();
        if !std::mem::take(&mut draft.layer.providers).is_empty() {
            let text = format!("`apps` is ignored: {}", NotApplied::Project.why());
            notices.push(draft.notice(&[To::Key("apps")], text));
        }
    }
}

fn ignored(not_applied: NotApplied, target: &str, exact: bool) -> String {
    let whom = if exact { String::new() } else { format!(" for {target}") };
    format!("{whom}: {}", not_applied.why())
}

fn finding(id: &str, category: Category, verdict: Verdict, risk: RiskLevel) -> Finding {
    Finding {
        rule: id.to_owned(),
        category,
        risk,
        verdict,
        reason: String::new(),
        span: None,
        instead: None,
        hard: false,
        fact: None,
    }
}

fn own_ids(drafts: &[Draft<'_>]) -> Vec<String> {
    let rules =
        drafts.iter().flat_map(|draft| draft.layer.rules.iter()).map(|rule| rule.id.to_string());
    let made = |draft: &Draft<'_>| [draft.layer.pattern_id(), draft.layer.unlisted_id()];
    rules.chain(drafts.iter().flat_map(made)).collect()
}

/// Chooses the organisation's profile, else the user's. A project cannot choose: profiles are not
/// ordered, so any other one could be laxer.
fn settle_profile(drafts: &mut [Draft<'_>], policy: &mut Policy, notices: &mut Vec<Notice>) {
    let locked = locks(drafts, Lock::Profile);
    let mut settled = false;
    for draft in drafts {
        settled |= locked && draft.layer.rank > Rank::Organisation;
        let Some(profile) = draft.layer.profile else { continue };
        if !settled && draft.layer.rank < Rank::Project {
            policy.profile = profile;
            settled = true;
        } else if profile.name != policy.profile.name {
            draft.layer.profile = None;
            let not_applied =
                if locked { NotApplied::Locked } else { not_applied(draft.layer.rank) };
            let text = format!("`profile: {}` is ignored: {}", profile.name, not_applied.why());
            notices.push(draft.notice(&[To::Key("profile")], text));
        }
    }
}

/// Leaves `enabled: false` only in the one file that decides it.
fn settle_asking(drafts: &mut [Draft<'_>], notices: &mut Vec<Notice>) {
    let mut off_in: Option<usize> = None;
    let locked = locks(drafts, Lock::Safety);
    let mut insisted = false;
    for at in 0..drafts.len() {
        let Some(draft) = drafts.get_mut(at) else { continue };
        match (draft.layer.enabled, draft.layer.rank) {
            (Some(true), rank) => {
                insisted |= rank <= Rank::Workspace;
                if let Some(off) = off_in.take().and_then(|off| drafts.get_mut(off)) {
                    off.layer.enabled = None;
                }
            }
            (Some(false), rank)
                if rank == Rank::Project || insisted || (locked && rank > Rank::Organisation) =>
            {
                draft.layer.enabled = None;
                let not_applied = if locked { NotApplied::Locked } else { not_applied(rank) };
                let text = format!("`enabled: false` is ignored: {}", not_applied.why());
                notices.push(draft.notice(&[To::Key("safety"), To::Key("enabled")], text));
            }
            (Some(false), _) => {
                if let Some(off) = off_in.replace(at).and_then(|off| drafts.get_mut(off)) {
                    off.layer.enabled = None;
                }
            }
            (None, _) => {}
        }
    }
}

/// Limits the timeout of each layer to that of the layers above, and a project's in any case to the
/// profile's: silence is a refusal.
fn settle_timeout(drafts: &mut [Draft<'_>], profile: &Profile, notices: &mut Vec<Notice>) {
    let locked = locks(drafts, Lock::Safety);
    let mut longest = locked.then_some(profile.approval_timeout);
    for draft in drafts {
        let rank = draft.layer.rank;
        if rank == Rank::Project {
            longest = longest.or(Some(profile.approval_timeout));
        }
        let Some(seconds) = draft.layer.approval_timeout else { continue };
        if rank > Rank::Organisation && longest.is_some_and(|longest| seconds > longest) {
            draft.layer.approval_timeout = None;
            let not_applied = if locked { NotApplied::Locked } else { not_applied(rank) };
            let text = format!("`approval_timeout: {seconds}` is ignored: {}", not_applied.why());
            notices.push(draft.notice(&[To::Key("safety"), To::Key("approval_timeout")], text));
        } else {
            longest = Some(seconds);
        }
    }
}

/// Reports whether the organisation has locked this.
fn locks(drafts: &[Draft<'_>], lock: Lock) -> bool {
    drafts.iter().any(|draft| draft.layer.locks.contains(&lock))
}

const fn not_applied(rank: Rank) -> NotApplied {
    match rank {
        Rank::Project => NotApplied::Project,
        Rank::Organisation | Rank::Workspace | Rank::User => {
            NotApplied::Settled(Rank::Organisation)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::load;

    fn notices(texts: [&str; 3]) -> Vec<String> {
        load(texts).unwrap().notices().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_a_project_may_not_say_is_told_with_its_place() {
        let file = "profile: coding-agent\nsafety:\n  enabled: false\n  approval_timeout: 9999\n\
                    overrides:\n  effect.doubt.*: allow\noptions:\n  recoverable: allow\n";
        let told = notices(["", "", file]);
        assert_eq!(
            told,
            [
                ".countersign.yaml:3:3: `enabled: false` is ignored: a project file may only tighten",
                ".countersign.yaml:4:3: `approval_timeout: 9999` is ignored: a project file may only \
                 tighten",
                ".countersign.yaml:6:3: `effect.doubt.*: allow` is ignored for \
                 effect.doubt.unfinished: a project file may only tighten",
                ".countersign.yaml:8:3: `recoverable: allow` is ignored: a project file may only \
                 tighten",
            ]
        );
        let policy = load(["", "", file]).unwrap();
        assert!(policy.settings().enabled);
        assert_eq!(policy.settings().approval_timeout, 120);
    }

    #[test]
    fn a_project_that_tightens_is_heard_without_a_word() {
        let file = "safety:\n  enabled: true\n  approval_timeout: 30\n  sensitive_paths: [infra]\n\
                    overrides: {'*': block, kind.shell: confirm, risk.low: warn}\n\
                    options: {regenerable: confirm}\n";
        assert_eq!(notices(["", "safety: {enabled: false}", file]), Vec::<String>::new());
        let policy = load(["", "safety: {enabled: false}", file]).unwrap();
        assert!(policy.settings().enabled);
        assert_eq!(policy.settings().approval_timeout, 30);
        assert_eq!(policy.sensitive_paths(), ["infra"]);
    }

    #[test]
    fn the_user_hears_what_the_organisation_has_settled() {
        let organisation = "safety: {enabled: true}\noverrides: {effect.doubt.unparsed: confirm}";
        let user = "safety: {enabled: false}\noverrides: {effect.doubt.unparsed: allow}";
        let told = notices([organisation, user, ""]);
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|notice| notice.contains("the organisation has settled this")));
    }

    #[test]
    fn a_hard_block_named_by_itself_is_told_and_in_a_family_is_not() {
        let told = notices(["", "overrides: {effect.doubt.malformed: allow}", ""]);
        assert_eq!(
            told,
            ["user.yaml:1:13: `effect.doubt.malformed: allow` is ignored: effect.doubt.malformed \
              is a hard block"]
        );
        assert_eq!(notices(["", "overrides: {effect.doubt.*: allow}", ""]), Vec::<String>::new());
    }

    #[test]
    fn the_last_trusted_word_on_asking_holds() {
        let enabled = |files| load(files).unwrap().settings().enabled;
        let (on, off) = ("safety: {enabled: true}", "safety: {enabled: false}");
        assert!(!enabled(["", off, ""]));
        assert!(!enabled([off, "", ""]));
        assert!(!enabled([off, off, ""]));
        assert!(enabled([off, on, ""]));
        assert!(enabled([on, off, ""]));
        assert!(enabled([off, off, on]));
        assert!(enabled(["", "", off]));
    }

    #[test]
    fn the_user_waits_as_long_as_they_like_and_the_project_no_longer() {
        let timeout = |files: [&str; 3]| load(files).unwrap().settings().approval_timeout;
        let wait = |seconds: u32| format!("safety: {{approval_timeout: {seconds}}}");
        assert_eq!(timeout(["", &wait(600), &wait(300)]), 300);
        assert_eq!(timeout(["", &wait(600), &wait(900)]), 600);
        assert_eq!(timeout(["", "", ""]), 120);
    }
}
