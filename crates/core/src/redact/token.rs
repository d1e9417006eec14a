//! Tokens with a known prefix, followed by a known number of known characters.
//!
//! A row of [`PROVIDERS`] matches without backtracking: each part takes all it can, and a run that
//! could go on past its longest length does not match, which keeps hashes and words out.

use super::{
    Hits,
    fake::{is_flat, is_masked, is_mixed, is_rich, is_thin},
    provider::PROVIDERS,
    text::{Class, Text, contains},
};

/// One kind of token.
#[derive(Debug)]
pub(super) struct Provider {
    pub(super) kind: &'static str,
    pub(super) prefix: &'static str,
    pub(super) parts: &'static [Part],
}

impl Provider {
    fn is_ours(&self) -> bool {
        self.kind.starts_with("countersign-")
    }
}

/// The letters and digits of one of our own secrets: 43 for 256 bits, 6 for their checksum.
pub(super) const OWN_LENGTH: usize = 49;

/// A part of the token after the prefix.
#[derive(Debug)]
pub(super) enum Part {
    /// Exactly this text.
    Literal(&'static str),
    /// Characters of this class, with the fewest and the most.
    Run(Class, usize, usize),
    /// No further characters, but the text read so far ends like this.
    Tail(&'static str),
}

/// The most characters of a run without a longest length.
pub(super) const OPEN: usize = 1024;

/// Finds tokens with a known prefix.
pub(super) fn find(text: Text<'_>, hits: &mut Hits) {
    let mut index = 0;
    while index < text.len() {
        let byte = text.at(index);
        if !byte.is_ascii_alphanumeric() || !text.is_edge(index) {
            index += 1;
            continue;
        }
        // The letter of an escaped line break does not belong to the token: `\ncsk_…`.
        if text.before(index) == b'\\'
            && text.is_edge(index + 1)
            && let Outcome::Found(end, kind) = known(text, index + 1)
        {
            hits.secret(kind, index + 1, end);
            index = end;
            continue;
        }
        index = match known(text, index) {
            Outcome::Found(end, kind) => {
                hits.secret(kind, index, end);
                end
            }
            Outcome::Near => index + 1,
            Outcome::Foreign => text.run(index, Class::ALNUM).max(index + 1),
        };
    }
}

enum Outcome {
    Found(usize, &'static str),
    /// A known prefix, but with another continuation.
    Near,
    Foreign,
}

fn known(text: Text<'_>, start: usize) -> Outcome {
    let mut near = false;
    for row in rows(text.at(start)) {
        if !text.has(start, row.prefix) {
            continue;
        }
        near |= row.prefix.len() >= 3;
        let body = start + row.prefix.len();
        if row.is_ours() {
            match own(text, body) {
                Some(end) => return Outcome::Found(end, row.kind),
                None => continue,
            }
        }
        if let Some(end) = follow(text, start, body, row.parts)
            && is_genuine(
                row,
                text.cut(start, end.min(start + OPEN)),
                text.cut(body, end.min(body + OPEN)),
            )
        {
            return Outcome::Found(finish(text, end, row.parts), row.kind);
        }
    }
    if near { Outcome::Near } else { Outcome::Foreign }
}

/// Reports whether a prefix of a known provider is at this position, in any case.
///
/// The table then decides about the rest: a token of another length or alphabet than its provider
/// uses was made up or cut.
pub(super) fn is_near(text: Text<'_>, start: usize) -> bool {
    let first = text.at(start);
    [first.to_ascii_lowercase(), first.to_ascii_uppercase()].into_iter().any(|byte| {
        rows(byte).iter().any(|row| {
            let prefix = row.prefix.trim_end_matches(['-', '_', '.']);
            prefix.len() >= 3 && row.prefix.len() >= 4 && text.has_any_case(start, row.prefix)
        })
    })
}

/// The end of one of our own secrets, whatever follows it. The format is so distinctive that
/// nothing else has it, and none of ours may be missed; only values of very few characters are left
/// out.
fn own(text: Text<'_>, body: usize) -> Option<usize> {
    let end = text.run_within(body, Class::ALNUM, OWN_LENGTH + 1);
    (end - body == OWN_LENGTH && !is_thin(text.cut(body, end))).then_some(end)
}

/// Extends the end of a last part that may be of any length.
///
/// Only for a match, so that a long run is read once and not from each of its dashes.
fn finish(text: Text<'_>, end: usize, parts: &[Part]) -> usize {
    match parts.last() {
        Some(Part::Run(class, _, OPEN)) => text.run(end, *class),
        _ => end,
    }
}

/// The rows whose prefix starts with that byte.
fn rows(first: u8) -> &'static [Provider] {
    let bounds = |byte: u8| INDEX.get(usize::from(byte)).copied().unwrap_or(0);
    PROVIDERS.get(bounds(first)..bounds(first.saturating_add(1))).unwrap_or(&[])
}

/// For each first byte, the first row that starts with it or a later one.
const INDEX: [usize; 128] = index();

#[expect(
    clippy::indexing_slicing,
    reason = "runs at compile time, where out of bounds is a build error"
)]
const fn index() -> [usize; 128] {
    let mut index = [0; 128];
    let (mut byte, mut row) = (0, 0);
    while byte < 128 {
        while row < PROVIDERS.len() && (PROVIDERS[row].prefix.as_bytes()[0] as usize) < byte {
            row += 1;
        }
        index[byte] = row;
        byte += 1;
    }
    index
}

/// The end of the parts, if all of them match.
pub(super) fn follow(text: Text<'_>, start: usize, body: usize, parts: &[Part]) -> Option<usize> {
    let mut end = body;
    let mut last = None;
    for part in parts {
        match part {
            Part::Literal(literal) => {
                if !text.has(end, literal) {
                    return None;
                }
                end += literal.len();
                last = None;
            }
            Part::Run(class, fewest, longest) => {
                let stop = text.run_within(end, *class, longest.saturating_add(1));
                if stop - end < *fewest || (stop - end > *longest && *longest < OPEN) {
                    return None;
                }
                end = stop;
                last = Some(*class);
            }
            Part::Tail(tail) => {
                if !text.cut(start, end).ends_with(tail) {
                    return None;
                }
            }
        }
    }
    // Punctuation that is in a class ends sentences and flags as often as tokens.
    let ended = last.is_some_and(|class| class.has(b'.')) && text.before(end) == b'.';
    let end = if ended { end - 1 } else { end };
    let goes_on = last.is_none() && Class::ALNUM.has(text.at(end));
    // A file name continues with its ending, and a masked token with marks.
    let named = text.at(end) == b'.' && Class::LOWER.has(text.at(end + 1));
    let hidden = matches!(text.at(end), b'#' | b'*');
    (!goes_on && !named && !hidden).then_some(end)
}

fn is_genuine(row: &Provider, whole: &str, body: &str) -> bool {
    let sample =
        contains(body, "example") && (body.len() < 64 || body.matches("EXAMPLE").count() > 3);
    // Sixteen capitals are an account name in any order; elsewhere an ordered value is made up.
    let flat = if row.kind == "aws-key" { is_thin(body) } else { is_flat(body) };
    // A prefix of two or three letters also starts words, file names and hashes.
    let sure = row.prefix.len() > 4
        || row.kind == "aws-key"
        || row.kind == "aws-appsync-key"
        || is_mixed(body);
    let worded = body.len() < 64 && is_worded(whole);
    sure && !sample && !flat && !worded && !is_masked(body)
}

/// Reports whether words make up the token, as in `xoxb-my-bot-token` or
/// `..._PUT_YOUR_TOKEN_HERE_...`.
fn is_worded(token: &str) -> bool {
    ["your", "here", "redacted", "changeme", "placeholder"].iter().any(|word| contains(token, word))
        && !is_rich(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_by_first_byte() {
        let firsts: Vec<u8> = PROVIDERS.iter().map(|row| row.prefix.as_bytes()[0]).collect();
        assert!(firsts.is_sorted(), "the index needs rows in the order of their first byte");
        assert!(firsts.iter().all(u8::is_ascii_alphanumeric));
    }

    #[test]
    fn no_row_stands_twice() {
        let mut rows: Vec<String> =
            PROVIDERS.iter().map(|row| format!("{} {:?}", row.prefix, row.parts)).collect();
        rows.sort();
        let before = rows.len();
        rows.dedup();
        assert_eq!(rows.len(), before);
    }
}
