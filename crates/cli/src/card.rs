//! One question, as a person reads it before they answer.
//!
//! Most of it was written by the agent that asks. Everything is escaped here, so that no text can
//! move the cursor or pass for a line of ours.

use std::io::{self, Write};

use countersign_gate::clock::Timestamp;
use countersign_wire::{ApprovalCard, Script};
use serde_json::Value;

use crate::moment;
use crate::show::{Paint, one_line, visible};

/// One part of a card: a title, and lines that are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) title: &'static str,
    pub(crate) lines: Vec<String>,
}

/// What is shown of a card.
pub(crate) trait Shown {
    /// The time at which silence becomes a refusal.
    fn expiry(&self) -> Option<Timestamp>;

    /// Returns all parts in reading order. The reason comes first, so that no script, however long,
    /// pushes it off the screen.
    fn parts(&self) -> Vec<Part>;

    /// Writes the whole card.
    ///
    /// # Errors
    /// It cannot be written.
    fn write(&self, out: &mut impl Write, paint: Paint, now: Timestamp) -> io::Result<()>;
}

impl Shown for ApprovalCard {
    fn expiry(&self) -> Option<Timestamp> {
        moment::parse(&self.expires_at)
    }

    fn parts(&self) -> Vec<Part> {
        let safe = |text: &str| vec![one_line(text).into_owned()];
        let some = |text: &Option<String>| text.as_deref().map(safe).unwrap_or_default();
        let exactly = exactly(self);
        let details = self.details.iter().map(|line| one_line(line).into_owned());
        let details = details.filter(|line| !exactly.contains(line)).collect();
        let rules: Vec<_> = self.rules.iter().map(|rule| one_line(rule)).collect();
        let parts = [
            ("asks because", safe(&self.reason)),
            ("would run", exactly),
            ("in", some(&self.cwd)),
            ("details", details),
            ("instead", some(&self.instead)),
            ("agent says", self.reasoning.as_deref().map(lines).unwrap_or_default()),
            ("scripts", self.scripts.iter().map(script_line).collect()),
            ("rules", vec![rules.join(", ")]),
            ("asked by", vec![asker(self)]),
            ("agreed", agreed(self)),
        ];
        let parts = parts.into_iter().filter(|(_, lines)| !lines.is_empty());
        parts.map(|(title, lines)| Part { title, lines }).collect()
    }

    fn write(&self, out: &mut impl Write, paint: Paint, now: Timestamp) -> io::Result<()> {
        let (id, state) = (one_line(&self.approval_id), self.state);
        writeln!(out, "{id}: {state}, {}", paint.risk(self.risk_level))?;
        writeln!(out, "  {}: {}", one_line(&self.action), one_line(&self.description))?;
        for Part { title, lines } in self.parts() {
            let mut title = title;
            for line in lines {
                writeln!(out, "  {title:<13} {line}")?;
                title = "";
            }
        }
        if let Some(feedback) = &self.feedback {
            writeln!(out, "  {:<13} {}", "feedback", one_line(feedback))?;
        }
        let when = if self.state.is_pending() {
            format!("refused in {} if nobody answers", moment::left(&self.expires_at, now))
        } else {
            format!("asked {}", moment::ago(&self.created_at, now))
        };
        writeln!(out, "  {when}")
    }
}

/// The exact command, source or script, line by line.
fn exactly(card: &ApprovalCard) -> Vec<String> {
    let text = ["command", "source", "script"]
        .iter()
        .find_map(|field| card.proposed.get(field).and_then(Value::as_str));
    match text {
        Some(text) => lines(text),
        None if card.proposed.is_null() => lines(&card.description),
        None => lines(&serde_json::to_string_pretty(&card.proposed).unwrap_or_default()),
    }
}

fn asker(card: &ApprovalCard) -> String {
    let key = card.key_id.as_deref().unwrap_or("an assistant without a key");
    let session = card.session_id.as_deref().map(|id| format!(", session {}", one_line(id)));
    let (key, user) = (one_line(key), one_line(&card.user_id));
    format!("{key} for {user}{}", session.unwrap_or_default())
}

fn agreed(card: &ApprovalCard) -> Vec<String> {
    let others = if card.others_must_agree { " (others than the one it works for)" } else { "" };
    if card.need > 1 || card.others_must_agree {
        vec![format!("{} of {}{others}", card.have, card.need.max(1))]
    } else {
        Vec::new()
    }
}

fn script_line(script: &Script) -> String {
    let hash: String = script.sha256.chars().take(12).collect();
    format!("{} (sha256 {}…)", one_line(&script.path), one_line(&hash))
}

fn lines(text: &str) -> Vec<String> {
    visible(text).lines().map(str::to_owned).collect()
}

#[cfg(test)]
pub(crate) mod testing {
    use countersign_core::{Effects, RiskLevel};
    use countersign_wire::ApprovalState;

    use super::*;

    /// A question as a server would send it.
    pub(crate) fn card(id: &str, command: &str, expires_at: Timestamp) -> ApprovalCard {
        ApprovalCard {
            approval_id: id.to_owned(),
            session_id: Some("ses_1".to_owned()),
            key_id: Some("key_1".to_owned()),
            user_id: "usr_1".to_owned(),
            action: "shell".to_owned(),
            description: format!("Runs `{command}`"),
            details: vec!["overwrites main on origin".to_owned()],
            proposed: serde_json::json!({"kind": "shell", "command": command}),
            cwd: Some("/home/user/project".to_owned()),
            reasoning: Some("The branch was rebased.".to_owned()),
            scripts: Vec::new(),
            risk_level: RiskLevel::High,
            reason: "overwrites history on a remote".to_owned(),
            instead: Some("git push --force-with-lease".to_owned()),
            rules: vec!["shell.git.force-push".to_owned()],
            may_remember: true,
            created_at: Timestamp(0).to_string(),
            expires_at: expires_at.to_string(),
            state: ApprovalState::Pending,
            feedback: None,
            need: 1,
            have: 0,
            others_must_agree: false,
            workspace_id: "wsp_1".to_owned(),
            findings: Vec::new(),
            effects: Effects::default(),
            escalated: false,
            replaces: None,
            replaced_by: None,
            token: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_the_agent_wrote_forges_a_line_or_moves_the_cursor() {
        let mut card = testing::card("apr_1", "ls\n\x1b[2Jfine", Timestamp(60_000));
        card.reasoning = Some("ok\n\u{202e}x".to_owned());
        card.cwd = Some("/a\n  instead       nothing".to_owned());
        let mut out = Vec::new();
        card.write(&mut out, Paint::Plain, Timestamp(0)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{text}");
        assert!(text.contains("would run     ls\n                \\u{1b}[2Jfine\n"), "{text}");
        assert!(text.contains("in            /a\\n  instead"), "{text}");
        assert!(text.contains("refused in 1m 0s if nobody answers"), "{text}");
    }

    #[test]
    fn an_action_that_is_no_text_is_shown_whole() {
        let mut card = testing::card("apr_1", "", Timestamp(0));
        card.proposed = serde_json::json!({"kind": "skill", "skill": "email.send"});
        let parts = card.parts();
        assert!(parts[1].lines.iter().any(|line| line.contains("email.send")), "{parts:?}");
    }
}
