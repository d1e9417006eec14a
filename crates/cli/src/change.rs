//! The changes that would change a verdict: those the policy names, and those found by judging
//! again with one thing different.

use countersign_core::context::Mode;
use countersign_core::{Action, Context, Judgement, Policy};

use crate::facts;
use crate::judging::{self, Panicked};

/// Returns what would change this verdict, one line each; at least one line.
///
/// # Errors
/// Judging panicked.
pub(crate) fn changes(
    action: &Action,
    policy: &Policy,
    context: &Context,
    judgement: &Judgement,
) -> Result<Vec<String>, Panicked> {
    let mut changes = policy.would_change(action, context, judgement);
    changes.extend(without_worst(action, policy, context, judgement));
    for (with, context) in variations(action, context) {
        let other = judging::judge_plainly(action, policy, &context)?.verdict;
        if other != judgement.verdict {
            changes.push(format!("{with}: {}", other.as_str()));
        }
    }
    if changes.is_empty() {
        changes.push("nothing: it may run already".to_owned());
    }
    Ok(changes)
}

/// The verdict without the findings that ask for it.
fn without_worst(
    action: &Action,
    policy: &Policy,
    context: &Context,
    judgement: &Judgement,
) -> Option<String> {
    let worst = judgement.findings.iter().map(|finding| finding.verdict).max()?;
    let rest = judgement.findings.iter().filter(|finding| finding.verdict < worst);
    let digest = judgement.digest.clone();
    let other = policy.settle(action, context, rest.cloned().collect(), digest).verdict;
    (other < judgement.verdict).then(|| {
        format!("without the findings that ask for {}: {}", worst.as_str(), other.as_str())
    })
}

/// Contexts with one thing different, each with its description.
fn variations(action: &Action, context: &Context) -> Vec<(String, Context)> {
    let mut variations = Vec::new();
    for (mode, name) in [(Mode::Explore, "explore"), (Mode::Task, "task")] {
        if context.mode != Some(mode) {
            let other = Context { mode: Some(mode), ..context.clone() };
            variations.push((format!("with --mode {name}"), other));
        }
    }
    let mut tracked = context.clone();
    if facts::suppose_tracked(&mut tracked, &facts::touched(action, context)) {
        variations.push(("if git had it all, without changes".to_owned(), tracked));
    }
    variations
}

#[cfg(test)]
mod tests {
    use countersign_core::{Category, Finding, Risk, RiskLevel, Verdict};

    use super::*;

    fn judgement(verdicts: &[Verdict]) -> Judgement {
        let findings = verdicts.iter().map(|verdict| Finding {
            rule: "shell.test".to_owned(),
            category: Category::SystemChange,
            risk: RiskLevel::Low,
            verdict: *verdict,
            reason: String::new(),
            span: None,
            instead: None,
            hard: false,
            fact: None,
        });
        Judgement {
            verdict: verdicts.iter().copied().max().unwrap_or_default(),
            risk: Risk::default(),
            findings: findings.collect(),
            reason: String::new(),
            digest: String::new(),
            trace: Vec::new(),
        }
    }

    #[test]
    fn the_rest_is_what_remains_without_the_worst() {
        let action = Action::Shell { command: String::new(), cwd: None };
        let rest = |verdicts: &[Verdict]| {
            let (policy, context) = (Policy::default(), Context::default());
            without_worst(&action, &policy, &context, &judgement(verdicts))
        };
        assert_eq!(
            rest(&[Verdict::Block, Verdict::Confirm]).as_deref(),
            Some("without the findings that ask for block: confirm")
        );
        assert_eq!(
            rest(&[Verdict::Confirm, Verdict::Confirm]).as_deref(),
            Some("without the findings that ask for confirm: allow")
        );
        assert_eq!(rest(&[]), None);
    }
}
