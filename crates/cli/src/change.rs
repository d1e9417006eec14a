//! What would change a verdict: what policy says, and what comes of judging again with one thing
//! different.

use countersign_core::context::Mode;
use countersign_core::{Action, Context, Judgement, Policy, Verdict};

use crate::case::{self, Panicked};
use crate::facts;
use crate::shim::Later as _;

/// What would change this verdict, one line each; at least one line.
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
    changes.extend(without_worst(judgement));
    for (with, context) in variations(action, context) {
        let other = case::judge_plainly(action, policy, &context)?.verdict;
        if other != judgement.verdict {
            changes.push(format!("{with}: {}", other.as_str()));
        }
    }
    if changes.is_empty() {
        changes.push("nothing needs to: it may run".to_owned());
    }
    Ok(changes)
}

/// What the verdict would be without the findings that ask for it.
fn without_worst(judgement: &Judgement) -> Option<String> {
    let worst = judgement.findings.iter().map(|finding| finding.verdict).max()?;
    let rest = judgement.findings.iter().filter(|finding| finding.verdict < worst);
    let rest = rest.map(|finding| finding.verdict).max().unwrap_or(Verdict::Allow);
    let stopped = judgement.verdict >= Verdict::Confirm && worst >= Verdict::Confirm;
    let parts = judgement.findings.iter().filter(|finding| finding.verdict == worst).count();
    let part = if parts == 1 { "the finding" } else { "the findings" };
    stopped.then(|| format!("without {part} of verdict {}: {}", worst.as_str(), rest.as_str()))
}

/// The same surroundings with one thing different, and how to say it.
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
    use countersign_core::{Category, Finding, Risk, RiskLevel};

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
        let rest = |verdicts: &[Verdict]| without_worst(&judgement(verdicts));
        assert_eq!(
            rest(&[Verdict::Block, Verdict::Confirm]).as_deref(),
            Some("without the finding of verdict block: confirm")
        );
        assert_eq!(
            rest(&[Verdict::Confirm, Verdict::Confirm]).as_deref(),
            Some("without the findings of verdict confirm: allow")
        );
        assert_eq!(rest(&[Verdict::Warn]), None);
        assert_eq!(rest(&[]), None);
    }
}
