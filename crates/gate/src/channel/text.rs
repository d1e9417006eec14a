//! Outgoing texts: redacted once more, without hidden characters, never too long.
//!
//! An agent wrote most of them. Control characters could overwrite our text, and bidirectional ones
//! reorder it, on a phone as much as on a terminal.

use countersign_core::redact::redact;
use countersign_core::visible::one_line;

use super::Notice;
use crate::redacted;

/// The mark for omitted text.
pub(super) const MARK: char = '…';

/// The text without secrets and personal data.
pub(super) fn clean(text: &str) -> String {
    redacted::text(text)
}

/// The text for a person: clean, and on one line with invisible characters made visible.
pub(super) fn line(text: &str) -> String {
    one_line(&clean(text)).into_owned()
}

/// The text for a person who decides on it: as [`line()`], but with addresses, because the decision
/// depends on the recipient.
pub(super) fn line_to_decide_on(text: &str) -> String {
    one_line(&redacted::shown(text)).into_owned()
}

/// The text, cut off visibly after `most` characters.
///
/// The text must be clean already: half a secret would not be recognised.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}{MARK}", text.get(..end).unwrap_or_default()),
    }
}

/// The link, unless it contains something that must not be sent.
pub(super) fn link(notice: &Notice) -> Option<&str> {
    notice.link.as_deref().filter(|link| redact(link).found.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::testing;

    #[test]
    fn nothing_hides_in_a_line() {
        assert_eq!(line("a\x1b[2Kb\r\nc\u{202e}d"), r"a\u{1b}[2Kb\r\nc\u{202e}d");
        assert_eq!(line("größe 日本 🎉"), "größe 日本 🎉");
    }

    #[test]
    fn a_secret_is_masked_before_the_text_is_cut() {
        let text = format!("psql postgres://ann:{}@db/app", "hunter22");
        assert!(!cut(&line(&text), 25).contains("hunt"));
    }

    #[test]
    fn a_link_with_a_secret_in_it_is_not_sent_at_all() {
        let mut notice = testing::notice();
        notice.link = Some(format!("https://gate.example/approvals/{}", notice.approval));
        assert!(link(&notice).is_some());
        notice.link = Some(format!("https://ann:{}@gate.example/", "hunter22"));
        assert_eq!(link(&notice), None);
    }
}
