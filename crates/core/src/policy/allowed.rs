//! Allow-lists: `defaults` sets the verdict for actions of a kind, and rules with `verdict: allow`
//! name the exceptions.
//!
//! An action is listed when allowing rules cover all of it: every program of a script with every
//! one of its words, or every fact of an action that does not run a program. A script must also be
//! plain: redirections, substitutions, assignments and the like do something that a rule about a
//! program does not cover. Rules of less trusted files list nothing for a more trusted one.

use std::collections::{BTreeMap, BTreeSet};

use crate::action::Action;
use crate::analysis::{Analysis, Invocation};
use crate::fact::Fact;
use crate::policy::config::SourceRef;
use crate::policy::error::{ConfigError, did_you_mean};
use crate::policy::known;
use crate::policy::layer::Layer;
use crate::rule::Rule;
use crate::verdict::{Category, Finding, RiskLevel, Verdict};

/// The key of findings about unlisted actions; a rule may not have it.
pub(crate) const UNLISTED: &str = "unlisted";

/// The key for all kinds without an entry of their own.
const EVERY_KIND: &str = "*";

/// Reads the default verdicts.
pub(crate) fn read(
    defaults: BTreeMap<String, Verdict>,
    at: SourceRef<'_>,
) -> Result<Vec<(String, Verdict)>, ConfigError> {
    let is_kind = |name: &str| name == EVERY_KIND || known::KINDS.contains(&name);
    if let Some(name) = defaults.keys().find(|name| !is_kind(name)) {
        let near = known::nearest(name, known::KINDS.iter().copied()).map(str::to_owned);
        let hint = did_you_mean(near, &format!("one of: *, {}", known::KINDS.join(", ")));
        return Err(at.unknown_with("kind", "defaults", name, &hint));
    }
    Ok(defaults.into_iter().collect())
}

impl Layer {
    /// The id of the finding that an action is not listed.
    pub(crate) fn unlisted_id(&self) -> String {
        format!("{}.{UNLISTED}", self.rank.as_str())
    }

    /// The finding that an action is not listed, where this file asks for a list and the action
    /// is not on it. `trusted` are the layers up to this one.
    pub(crate) fn unlisted(
        &self,
        action: &Action,
        analysis: &Analysis,
        trusted: &[Self],
    ) -> Option<Finding> {
        let verdict = self.default_for(action.kind()).filter(|said| *said > Verdict::Allow)?;
        let rules: Vec<_> = trusted
            .iter()
            .flat_map(|layer| layer.rules.iter())
            .filter(|rule| rule.verdict == Verdict::Allow)
            .collect();
        if is_listed(action, analysis, &rules) {
            return None;
        }
        Some(Finding {
            rule: self.unlisted_id(),
            category: Category::NotUnderstood,
            risk: RiskLevel::Medium,
            verdict,
            reason: format!("Is not on the list of what may run ({})", action.kind()),
            span: None,
            instead: Some("Use what is listed, or ask for a rule that allows this.".to_owned()),
            hard: false,
            fact: None,
        })
    }

    fn default_for(&self, kind: &str) -> Option<Verdict> {
        let of = |name: &str| self.defaults.iter().find(|(known, _)| known == name);
        of(kind).or_else(|| of(EVERY_KIND)).map(|(_, verdict)| *verdict)
    }
}

/// Reports whether allowing rules cover the whole of an action.
fn is_listed(action: &Action, analysis: &Analysis, rules: &[&Rule]) -> bool {
    let Analysis { commands, facts } = analysis;
    let named = |command: &Invocation| rules.iter().any(|rule| rule.matches_command(command));
    let known = |fact: &Fact| rules.iter().any(|rule| rule.matches_fact(fact));
    if let Action::Shell { command, .. } = action {
        let programs: BTreeSet<_> =
            commands.iter().map(|command| command.program.as_str()).collect();
        return !commands.is_empty() && commands.iter().all(named) && is_plain(command, &programs);
    }
    let nothing = commands.is_empty() && facts.is_empty();
    !nothing && commands.iter().all(named) && facts.iter().all(known)
}

/// Reports whether a script only runs these programs, by their bare names, one after the other or
/// in a pipe. It does not parse quotes: text that merely looks like more counts as more.
fn is_plain(script: &str, programs: &BTreeSet<&str>) -> bool {
    const MORE: &[char] = &['`', '$', '<', '>', '(', ')', '{', '}', '\\'];
    if script.contains(MORE) || script.replace("&&", "").contains('&') {
        return false;
    }
    let pieces = script.split(['\n', '\r', ';', '|', '&']).map(str::trim);
    let mut pieces = pieces.filter(|piece| !piece.is_empty()).peekable();
    let begins =
        |piece: &str| piece.split_whitespace().next().is_some_and(|word| programs.contains(word));
    pieces.peek().is_some() && pieces.all(begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::judge::judge;
    use crate::policy::testing::{load, shell};

    const LIST: &str = "\
defaults: {shell: block, file_write: confirm}
rules:
  tests:
    title: Runs the tests
    program: make
    args: [test]
    optional: ['-j*', --keep-going]
    risk: low
    verdict: allow
    category: code_execution
    hits: ['make test', 'make test -j4']
    misses: ['make test deploy', 'make deploy', 'make test --file=x']
  notes:
    title: Writes into the workspace
    fact: write
    where: [workspace]
    risk: low
    verdict: allow
    category: system_change
    hits: ['write: notes.txt']
    misses: ['write: /tmp/x']
";

    fn verdict(files: [&str; 3], command: &str) -> Verdict {
        judge(&shell(command), &load(files).unwrap(), &Context::default()).verdict
    }

    #[test]
    fn only_what_is_listed_runs() {
        for listed in ["make test", "make test -j4", "make test && make test --keep-going"] {
            assert_eq!(verdict(["", LIST, ""], listed), Verdict::Allow, "{listed}");
        }
        for other in [
            "ls",
            "make",
            "make test deploy",
            "make test --file=/tmp/evil.mk",
            "make test; ls",
            "make test | tee out.txt",
            "make test > out.txt",
            "make test < in.txt",
            "make test &",
            "X=1 make test",
            "PATH=/tmp make test",
            "cd /tmp; make test",
            "/tmp/make test",
            "./make test",
            "bash -c 'make test'",
            "make $(echo test)",
            "make $TARGET",
            "make test `ls`",
            "alias make=ls; make test",
            "make() { ls; }; make test",
            "if make test; then make test; fi",
            "",
            "# make test",
        ] {
            assert_eq!(verdict(["", LIST, ""], other), Verdict::Block, "{other}");
        }
    }

    #[test]
    fn what_a_rule_allows_is_still_judged() {
        let list = LIST.replace("program: make", "program: git").replace("[test]", "[push]");
        let list = list.replace("'-j*'", "--force").replace("make test -j4", "make test");
        let list = list.replace("make test deploy", "git pull").replace("make test", "git push");
        let list = list.replace("--file=x", "--mirror").replace("make deploy", "git status");
        assert_eq!(verdict(["", &list, ""], "git push"), Verdict::Allow);
        assert_eq!(verdict(["", &list, ""], "git push --force"), Verdict::Confirm);
    }

    #[test]
    fn a_rule_of_a_less_trusted_file_lists_nothing() {
        let rules = LIST.split_once("rules:").unwrap().1;
        let rules = format!("rules:{rules}");
        let defaults = "defaults: {shell: block}";
        assert_eq!(verdict([defaults, &rules, ""], "make test"), Verdict::Block);
        assert_eq!(verdict(["", defaults, &rules], "make test"), Verdict::Block);
        assert_eq!(verdict([&rules, defaults, ""], "make test"), Verdict::Allow);
        assert_eq!(verdict([&rules, "", defaults], "make test"), Verdict::Allow);
        // Nor does it lower a block by the list of a more trusted file.
        let lower = "overrides: {'*': allow}\ndanger_overrides: {'organisation.*': allow}";
        assert_eq!(verdict([LIST, lower, ""], "ls"), Verdict::Block);
    }

    #[test]
    fn an_action_without_programs_is_listed_by_its_facts() {
        let policy = load(["", LIST, ""]).unwrap();
        let context = crate::example::example_context();
        let judged = |path: &str| {
            let action = Action::FileWrite { path: path.to_owned(), content: None };
            judge(&action, &policy, &context)
        };
        assert_eq!(judged("notes.txt").verdict, Verdict::Allow);
        let other = judged("/home/user/other.txt");
        assert_eq!(other.verdict, Verdict::Confirm);
        assert!(other.findings.iter().any(|finding| finding.rule == "user.unlisted"));
        let read = Action::FileRead { path: "notes.txt".to_owned() };
        assert_eq!(judge(&read, &policy, &context).verdict, Verdict::Allow);
        let all = load(["", "defaults: {'*': confirm, file_read: allow}", ""]).unwrap();
        assert_eq!(judge(&read, &all, &context).verdict, Verdict::Allow);
        let look = Action::Screenshot {};
        assert_eq!(judge(&look, &all, &context).verdict, Verdict::Confirm);
    }

    #[test]
    fn a_kind_that_does_not_exist_is_an_error() {
        let error = load(["", "defaults:\n  shel: block\n", ""]).unwrap_err();
        assert_eq!(error.to_string(), "user.yaml:2:3: unknown kind `shel`");
        assert_eq!(error.hint, "did you mean `shell`?");
        let error = load(["", &LIST.replace("verdict: allow", "verdict: warn"), ""]).unwrap_err();
        assert!(error.to_string().contains("`optional`"), "{error}");
    }
}
