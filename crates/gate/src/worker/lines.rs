//! Pieces of output become whole lines: a secret that is split over two pieces is masked like any
//! other.

use crate::redacted;

/// The longest line that is waited for.
const MOST_BYTES: usize = 8 * 1024;

/// The unfinished last line of a stream.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    rest: String,
    /// True inside of a block such as a private key, none of whose lines looks like a secret.
    in_block: bool,
}

impl Lines {
    /// Adds a piece, and returns the lines that are whole now.
    pub(crate) fn add(&mut self, piece: &str) -> Option<String> {
        self.rest.push_str(piece);
        let end = self.rest.rfind('\n').map(|at| at.saturating_add(1));
        let end = end.or_else(|| (self.rest.len() > MOST_BYTES).then_some(self.rest.len()))?;
        let rest = self.rest.split_off(end);
        Some(std::mem::replace(&mut self.rest, rest))
    }

    /// The unfinished line, at the end of the stream.
    pub(crate) fn end(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.rest)).filter(|rest| !rest.is_empty())
    }

    /// Masks secrets and personal data in whole lines.
    pub(crate) fn masked(&mut self, lines: &str) -> String {
        let mut shown = String::new();
        for line in lines.split_inclusive('\n') {
            let begins = line.contains("-----BEGIN ");
            if begins {
                shown.push_str("[redacted:block]\n");
            }
            if !begins && !self.in_block {
                shown.push_str(line);
            }
            self.in_block = (begins || self.in_block) && !line.contains("-----END ");
        }
        redacted::text(&shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_is_split_over_pieces_is_masked() {
        let key = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
        let (first, second) = key.split_at(7);
        let mut lines = Lines::default();
        assert_eq!(lines.add(&format!("one\nkey {first}")).as_deref(), Some("one\n"));
        assert_eq!(lines.add(second), None);
        let whole = lines.add("\nrest").unwrap();
        assert_eq!(whole, format!("key {key}\n"));
        assert!(!lines.masked(&whole).contains(first));
        assert_eq!(lines.end().as_deref(), Some("rest"));
        assert_eq!(lines.end(), None);
    }

    #[test]
    fn no_line_of_a_private_key_is_shown_however_it_is_split() {
        let mut lines = Lines::default();
        let block = ["a\n-----BEGIN X KEY-----\nMIIB", "VgIBADAN\n", "-----END X KEY-----\nb\n"];
        let mut shown = String::new();
        for piece in block {
            if let Some(whole) = lines.add(piece) {
                shown.push_str(&lines.masked(&whole));
            }
        }
        assert_eq!(shown, "a\n[redacted:block]\nb\n");
    }

    #[test]
    fn a_line_without_an_end_is_not_waited_for() {
        let long = "x".repeat(MOST_BYTES + 1);
        assert_eq!(Lines::default().add(&long).map(|line| line.len()), Some(long.len()));
    }
}
