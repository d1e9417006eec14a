//! What would change a verdict: not guessed, but judged again with one thing different.

use countersign_core::context::Mode;
use countersign_core::{Action, Context, Judgement, Policy, Verdict, rule};

use crate::case::{self, Panicked};
use crate::facts;

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
    let mut changes = vec![by_hand(judgement)];
    changes.extend(without_worst(judgement));
    for (with, context) in variations(action, context) {
        let other = case::judge_plainly(action, policy, &context)?.verdict;
        if other != judgement.verdict {
            changes.push(format!("{with}: {}", other.as_str()));
        }
    }
    Ok(changes)
}

/// What a person can do about it.
fn by_hand(judgement: &Judgement) -> String {
    let hard = judgement.findings.iter().find(|finding| {
        finding.verdict == Verdict::Block && rule::find(&finding.rule).is_some_and(|rule| rule.hard)
    });
    match (judgement.verdict, hard) {
        (Verdict::Block, Some(hard)) => {
            format!("No answer, mode or configuration: `{}` is a hard block", hard.rule)
        }
        (Verdict::Block, None) => "No answer: nobody is asked about a block".to_owned(),
        (Verdict::Confirm, _) => {
            "A person's yes, this once: `countersign run` asks for it".to_owned()
        }
        (Verdict::Warn, _) => "It runs as it is; the warning is for you".to_owned(),
        (Verdict::Allow, _) => "It runs as it is".to_owned(),
    }
}

/// What the verdict would be without the findings that ask for it.
fn without_worst(judgement: &Judgement) -> Option<String> {
    let worst = judgement.findings.iter().map(|finding| finding.verdict).max()?;
    let rest = judgement.findings.iter().filter(|finding| finding.verdict < worst);
    let rest = rest.map(|finding| finding.verdict).max().unwrap_or(Verdict::Allow);
    let stopped = judgement.verdict >= Verdict::Confirm && worst >= Verdict::Confirm;
    let parts = judgement.findings.iter().filter(|finding| finding.verdict == worst).count();
    let part = if parts == 1 { "the finding" } else { "the findings" };
    stopped.then(|| format!("Without {part} of verdict {}: {}", worst.as_str(), rest.as_str()))
}

/// The same surroundings with one thing different, and how to say it.
fn variations(action: &Action, context: &Context) -> Vec<(String, Context)> {
    let mut variations = Vec::new();
    for (mode, name) in [(Mode::Explore, "explore"), (Mode::Task, "task")] {
        if context.mode != Some(mode) {
            let other = Context { mode: Some(mode), ..context.clone() };
            variations.push((format!("With --mode {name}"), other));
        }
    }
    let mut tracked = context.clone();
    if facts::suppose_tracked(&mut tracked, &facts::touched(action, context)) {
        variations.push(("If git had it all, without changes".to_owned(), tracked));
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
            Some("Without the finding of verdict block: confirm")
        );
        assert_eq!(
            rest(&[Verdict::Confirm, Verdict::Confirm]).as_deref(),
            Some("Without the findings of verdict confirm: allow")
        );
        assert_eq!(rest(&[Verdict::Warn]), None);
        assert_eq!(rest(&[]), None);
    }
}
