//! Decisions that were made while no server could be reached: each is kept on the machine where it
//! was made, and delivered later.
//!
//! An entry is redacted when it is made, so that a secret is never written to disk; and once more
//! when it is delivered, because the sender could have written anything. Each entry contains the
//! digest of the previous one, so that a missing one is noticed.

use countersign_core::digest::of_value;
use countersign_core::{Action, Judgement, RiskLevel, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::approval::subject_of;
use crate::redacted;

/// The digest that the first entry has for a previous one.
const NOTHING: &str = "";
/// The most rules of an entry; more would add no information.
const MOST_RULES: usize = 20;
/// The longest text of an entry, except for the action itself.
const LONGEST: usize = 2_000;
/// The most bytes of an action that are kept; of a longer one only the kind is kept.
const MOST_BYTES: usize = 16 << 10;

/// The decision on an action while no server could be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// The host was told to ask its own user.
    AskedByHost,
    /// It was refused.
    Refused,
}

impl Fallback {
    /// The name of the decision.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AskedByHost => "asked_by_host",
            Self::Refused => "refused",
        }
    }
}

/// One decision that was made while no server could be reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OfflineDecision {
    /// Its number in its journal; the first is 1.
    pub number: u64,
    /// The digest of the entry before; empty for the first.
    pub previous: String,
    /// The time, by the clock of the machine on which it was made.
    pub at: String,
    /// The program whose agent proposed the action.
    pub asker: String,
    /// The kind of the action, or the name of the skill or tool.
    pub action: String,
    /// The action, with secrets and personal data masked.
    pub target: Value,
    /// The verdict.
    pub verdict: Verdict,
    /// The risk of the action.
    pub risk: RiskLevel,
    /// The rules that asked.
    pub rules: Vec<String>,
    /// The reason for asking, redacted.
    pub reason: String,
    /// The decision.
    pub decision: Fallback,
    /// The reason for which the server could not be asked, redacted.
    pub why: String,
}

/// The circumstances of a decision.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// The time, by the machine's own clock.
    pub at: &'a str,
    /// The program whose agent proposed the action.
    pub asker: &'a str,
    /// The reason for which the server could not be asked.
    pub why: &'a str,
}

impl OfflineDecision {
    /// The entry for a decision, after the previous entry.
    #[must_use]
    pub fn new(
        before: Option<&Self>,
        action: &Action,
        judgement: &Judgement,
        decision: Fallback,
        circumstances: Circumstances<'_>,
    ) -> Self {
        let rules = judgement.findings.iter().take(MOST_RULES).map(|found| found.rule.clone());
        Self {
            number: before.map_or(1, |before| before.number.saturating_add(1)),
            previous: before.map_or_else(|| NOTHING.to_owned(), Self::digest),
            at: circumstances.at.to_owned(),
            asker: redacted::text(circumstances.asker),
            action: redacted::text(&subject_of(action)),
            target: bounded(redacted::action(action)),
            verdict: judgement.verdict,
            risk: judgement.risk.level,
            rules: rules.collect(),
            reason: redacted::text(&judgement.reason),
            decision,
            why: redacted::text(circumstances.why),
        }
    }

    /// The digest by which the next entry names this one.
    #[must_use]
    pub fn digest(&self) -> String {
        // Our own type has text keys and finite numbers, so JSON can represent all of it.
        of_value(&serde_json::to_value(self).unwrap_or_default())
    }

    /// Reports whether this entry follows another.
    #[must_use]
    pub fn follows(&self, before: &Self) -> bool {
        self.number == before.number.saturating_add(1) && self.previous == before.digest()
    }

    /// The same with every text masked that the sender could have written.
    pub(crate) fn redacted(&self) -> Self {
        // Masked first: half a secret is not recognised.
        let text = |text: &str| -> String { redacted::text(text).chars().take(LONGEST).collect() };
        Self {
            at: text(&self.at),
            asker: text(&self.asker),
            action: text(&self.action),
            target: bounded(redacted::value(&self.target)),
            rules: self.rules.iter().take(MOST_RULES).map(|rule| text(rule)).collect(),
            reason: text(&self.reason),
            why: text(&self.why),
            ..self.clone()
        }
    }
}

/// An action as it is kept: whole, or only its kind if it is too long.
fn bounded(target: Value) -> Value {
    let bytes = target.to_string().len();
    if bytes <= MOST_BYTES {
        return target;
    }
    let kind = target.get("kind").and_then(Value::as_str).filter(|kind| kind.len() <= 40);
    json!({"kind": kind, "omitted_bytes": bytes})
}

#[cfg(test)]
mod tests {
    use countersign_core::{Context, Policy, judge};

    use super::*;

    fn decision(before: Option<&OfflineDecision>, command: &str) -> OfflineDecision {
        let action = Action::Shell { command: command.to_owned(), cwd: None };
        let judgement = judge(&action, &Policy::default(), &Context::default());
        let circumstances = Circumstances {
            at: "2026-11-18T12:00:00.000Z",
            asker: "Claude Code s1",
            why: "nothing listens",
        };
        OfflineDecision::new(before, &action, &judgement, Fallback::Refused, circumstances)
    }

    #[test]
    fn nothing_secret_is_kept_of_a_decision() {
        let secret = ["correct", "horse", "7"].join("-");
        let entry =
            decision(None, &format!("psql postgres://ann:{secret}@db/app -c 'drop table x'"));
        let kept = serde_json::to_string(&entry).unwrap();
        assert!(!kept.contains(&secret), "{kept}");
        assert!(!entry.rules.is_empty(), "{kept}");
        // A text that somebody wrote into it by hand is masked when it is delivered.
        let forged = OfflineDecision { why: format!("password: {secret}"), ..entry };
        assert!(!serde_json::to_string(&forged.redacted()).unwrap().contains(&secret));
    }

    #[test]
    fn a_long_action_is_kept_by_its_kind() {
        let entry = decision(None, &format!("git push --force # {}", "x".repeat(MOST_BYTES)));
        assert_eq!(entry.target["kind"], "shell");
        assert!(entry.target.to_string().len() < 100, "{}", entry.target);
        let kind = Value::from("x".repeat(100_000));
        let forged = OfflineDecision { target: json!({"kind": kind}), ..entry };
        assert!(forged.redacted().target.to_string().len() < 200);
    }

    #[test]
    fn an_entry_that_is_missing_or_changed_shows() {
        let first = decision(None, "git push --force");
        let second = decision(Some(&first), "git push --force origin main");
        let third = decision(Some(&second), "git push --force origin other");
        assert!(second.follows(&first) && third.follows(&second));
        assert!(!third.follows(&first), "one is missing");
        let changed = OfflineDecision { decision: Fallback::AskedByHost, ..second };
        assert!(!third.follows(&changed));
    }
}
