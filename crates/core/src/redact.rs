//! Detection and masking of secrets and personal data.
//!
//! Every detector reads the text once, in linear time, without a regular expression: it looks for a
//! mark (a prefix, a separator, a name), reads from there, and checks the length, the alphabet, a
//! checksum or statistical evidence that a machine generated the value. A placeholder, such as
//! `${TOKEN}` or `xxxx`, is never found.
//!
//! ```
//! use countersign_core::redact::redact;
//!
//! let redacted = redact("psql postgres://ann:hunter22@db/app");
//! assert_eq!(redacted.text, "psql postgres://ann:[redacted:url-password]@db/app");
//! ```
//!
//! It never stores, hashes or prints the values: a [`Found`] holds only the position and the kind.

mod assign;
mod block;
mod call;
mod chance;
mod command;
mod fake;
mod generic;
mod harmless;
mod header;
#[cfg(test)]
mod invented;
mod key;
mod manifest;
mod personal;
mod plausible;
mod prose;
mod provider;
mod shape;
mod spoken;
mod text;
mod token;
mod value;
mod web;
mod words;

use serde::Serialize;
use text::Text;

/// Something that was found, by its place in the text it was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    /// The kind of value, such as `aws-key` or `payment-card`.
    pub kind: &'static str,
    /// The start and the end, in bytes.
    pub span: [usize; 2],
    /// The kind of damage.
    #[serde(skip)]
    pub concern: Concern,
}

/// The kind of damage when a found value leaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Concern {
    /// It names what somebody owns: a bucket, a cloud account. Harmless alone, telling in a log.
    Resource,
    /// It is about a person.
    Personal,
    /// It opens something.
    Secret,
}

/// A text with everything found in it masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Redacted {
    /// The text, each finding replaced by `[redacted:kind]`.
    pub text: String,
    /// The replaced values, with their positions in the original text.
    pub found: Vec<Found>,
}

/// Masks every secret and all personal data in a text.
///
/// The result contains nothing more to find: redacting it again changes nothing.
#[must_use]
pub fn redact(text: &str) -> Redacted {
    let found = scan(text);
    Redacted { text: mask(text, &found), found }
}

/// Finds every secret and all personal data in a text, in order and without overlap.
#[must_use]
pub fn scan(text: &str) -> Vec<Found> {
    let mut found = look(text);
    // A mask can change the meaning of its neighbours: two names that were apart become a pair. So
    // values that would be found in the masked text are found here as well.
    for _ in 0..ROUNDS {
        if found.is_empty() {
            break;
        }
        let more = look_again(text, &found);
        if more.is_empty() {
            break;
        }
        found.extend(more);
        found.sort_by_key(|found| found.span);
    }
    found
}

/// Replaces the findings in a text by `[redacted:kind]`.
///
/// For callers of [`scan`] that leave some findings readable. Findings must be in order and without
/// overlap; one that does not fit the text is ignored.
#[must_use]
pub fn mask(text: &str, found: &[Found]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for found in found {
        let [start, end] = found.span;
        let Some(kept) = text.get(from..start).filter(|_| text.is_char_boundary(end)) else {
            continue;
        };
        masked.push_str(kept);
        masked.push_str("[redacted:");
        masked.push_str(found.kind);
        masked.push(']');
        from = end;
    }
    masked.push_str(text.get(from..).unwrap_or(""));
    masked
}

/// The number of times that the masked text is searched again.
const ROUNDS: usize = 4;

/// Finds further values in the masked text, and maps their positions to the original.
fn look_again(text: &str, found: &[Found]) -> Vec<Found> {
    let masked = mask(text, found);
    let mut shifts = found.iter().scan((0_usize, 0_usize), |(removed, added), found| {
        let [start, end] = found.span;
        let at = start - *removed + *added;
        *removed += end - start;
        *added += "[redacted:]".len() + found.kind.len();
        Some((at, *removed, *added))
    });
    let mut next = shifts.next();
    let (mut removed, mut added) = (0, 0);
    let mut more = Vec::new();
    for fresh in look(&masked) {
        let [start, end] = fresh.span;
        while let Some((at, taken, put)) = next.filter(|(at, _, _)| *at < start) {
            let _ = at;
            (removed, added) = (taken, put);
            next = shifts.next();
        }
        let overlaps = next.is_some_and(|(at, _, _)| at < end);
        let origin = |place: usize| (place + removed).checked_sub(added);
        if let (Some(start), Some(end)) = (origin(start), origin(end))
            && !overlaps
        {
            more.push(Found { span: [start, end], ..fresh });
        }
    }
    more
}

/// Runs every detector once.
fn look(text: &str) -> Vec<Found> {
    let mut hits = Hits::default();
    let text = Text(text);
    token::find(text, &mut hits);
    shape::find(text, &mut hits);
    look_for_any(text, token::is_near, &mut hits);
    hits.settle(text)
}

/// Runs every detector that does not need the table of providers.
fn look_for_any(text: Text<'_>, known: generic::Known, hits: &mut Hits) {
    shape::standard(text, hits);
    block::find(text, hits);
    web::find(text, hits);
    assign::find(text, hits);
    manifest::find(text, hits);
    personal::find(text, hits);
    spoken::find(text, hits);
    generic::find(text, known, hits);
}

/// Runs without the table of providers, for tests.
#[cfg(test)]
pub(crate) fn scan_without_table(text: &str) -> Vec<Found> {
    let mut hits = Hits::default();
    let text = Text(text);
    look_for_any(text, |_, _| false, &mut hits);
    hits.settle(text)
}

/// The hits of the detectors so far, in any order, overlapping.
#[derive(Debug, Default)]
struct Hits(Vec<Hit>);

#[derive(Debug, Clone, Copy)]
struct Hit {
    kind: &'static str,
    start: usize,
    end: usize,
    concern: Concern,
    /// The specificity of the kind: a format is more specific than a name.
    weight: u8,
}

impl Hits {
    /// Records a secret recognised by its format.
    fn secret(&mut self, kind: &'static str, start: usize, end: usize) {
        self.0.push(Hit { kind, start, end, concern: Concern::Secret, weight: 3 });
    }

    /// Records a secret recognised by its name.
    fn named(&mut self, kind: &'static str, start: usize, end: usize) {
        self.0.push(Hit { kind, start, end, concern: Concern::Secret, weight: 2 });
    }

    /// Records a secret of which nothing is known except that a machine generated it.
    fn drawn(&mut self, start: usize, end: usize) {
        self.0.push(Hit { kind: "token", start, end, concern: Concern::Secret, weight: 1 });
    }

    /// Records something about a person.
    fn personal(&mut self, kind: &'static str, start: usize, end: usize) {
        self.0.push(Hit { kind, start, end, concern: Concern::Personal, weight: 1 });
    }

    /// Records the name of something owned.
    fn resource(&mut self, kind: &'static str, start: usize, end: usize) {
        self.0.push(Hit { kind, start, end, concern: Concern::Resource, weight: 0 });
    }

    /// Merges overlapping hits, so that nothing of either is left, and keeps the more specific
    /// kind.
    fn settle(mut self, text: Text<'_>) -> Vec<Found> {
        let masks = masks(text);
        self.0.retain(|hit| {
            hit.start < hit.end && text.0.get(hit.start..hit.end).is_some() && !touches(&masks, hit)
        });
        self.0.sort_by_key(|hit| (hit.start, hit.end));
        let mut merged: Vec<Hit> = Vec::with_capacity(self.0.len());
        for hit in self.0 {
            match merged.last_mut() {
                Some(last) if hit.start < last.end => {
                    let telling = if hit.weight > last.weight { hit } else { *last };
                    *last = Hit { start: last.start, end: last.end.max(hit.end), ..telling };
                }
                _ => merged.push(hit),
            }
        }
        merged
            .into_iter()
            .map(|hit| Found { kind: hit.kind, span: [hit.start, hit.end], concern: hit.concern })
            .collect()
    }
}

/// Reports whether the hit overlaps one of the masks, which are in order.
fn touches(masks: &[[usize; 2]], hit: &Hit) -> bool {
    let next = masks.partition_point(|[_, end]| *end <= hit.start);
    masks.get(next).is_some_and(|[start, _]| *start < hit.end)
}

/// The positions of masks from an earlier redaction.
fn masks(text: Text<'_>) -> Vec<[usize; 2]> {
    let mark = "[redacted:";
    text.0
        .match_indices(mark)
        .filter_map(|(start, _)| {
            let end = text.run_within(start + mark.len(), text::Class::URL64, 48);
            (text.at(end) == b']').then_some([start, end + 1])
        })
        .collect()
}

/// Splits the text into groups of `size` characters, for tests.
#[cfg(test)]
fn grouped(text: &str, size: usize, mark: &str) -> String {
    let groups: Vec<String> = text
        .as_bytes()
        .chunks(size)
        .map(|group| String::from_utf8_lossy(group).into_owned())
        .collect();
    groups.join(mark)
}

/// A made-up token for tests: the same every time, but random-looking.
#[cfg(test)]
fn draw(prefix: &str, length: usize, seed: u64) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x1234_5678_9ABC_DEF1);
    let mut token = prefix.to_owned();
    for _ in 0..length {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        token.push(char::from(alphabet[usize::try_from(state >> 33).unwrap() % alphabet.len()]));
    }
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_have_the_agreed_json() {
        let redacted = redact("password = 'tr0ub4dor'");
        let json = serde_json::to_string(&redacted).unwrap();
        let expected = r#"{"text":"password = '[redacted:password]'","found":[{"kind":"password","span":[12,21]}]}"#;
        assert_eq!(json, expected);
    }

    #[test]
    fn what_overlaps_is_masked_as_one_and_the_form_gives_the_kind() {
        let token = draw("ghp_", 36, 3);
        let redacted = redact(&format!("GITHUB_TOKEN={token}; Authorization: Bearer {token}"));
        assert_eq!(
            redacted.text,
            "GITHUB_TOKEN=[redacted:github-token]; Authorization: Bearer [redacted:github-token]"
        );
    }

    #[test]
    fn our_own_secrets_are_found_by_their_form_alone() {
        for (prefix, kind) in [
            ("csk_", "countersign-key"),
            ("csd_", "countersign-device"),
            ("cst_", "countersign-token"),
            ("csl_", "countersign-link"),
        ] {
            let mut secrets: Vec<_> = (1..50).map(|seed| draw(prefix, 49, seed)).collect();
            // As few digits and changes of case as a random value can have, and words in it.
            secrets
                .push(format!("{prefix}{}", "QWERTYUIOPqwertyuiopASDFGHJKLasdfghjklhereZXCVBNM"));
            for secret in secrets {
                for text in [
                    format!("see {secret}, or not"),
                    format!("https://x.example/in?t={secret}#top"),
                    format!("https://x.example/in/{secret}.html"),
                    format!("Authorization: Bearer {secret}"),
                    format!("{{\"a\":\"{secret}\"}}"),
                    format!("\\n{secret}\\n"),
                    format!("{secret}_old"),
                ] {
                    let redacted = redact(&text);
                    assert!(!redacted.text.contains(&secret), "{}", redacted.text);
                    let known = redacted.found.iter().any(|found| found.kind == kind);
                    assert!(known, "{}", redacted.text);
                }
            }
            let flat = format!("{prefix}{}", "x".repeat(49));
            assert_eq!(redact(&flat).text, flat);
        }
    }

    #[test]
    fn a_caller_may_leave_some_findings_readable() {
        let text = "aws s3 sync . https://acme-logs.s3.amazonaws.com --password tr0ub4dor";
        let mut found = scan(text);
        found.retain(|found| found.concern != Concern::Resource);
        assert_eq!(
            mask(text, &found),
            "aws s3 sync . https://acme-logs.s3.amazonaws.com --password [redacted:password]"
        );
    }

    #[test]
    fn masks_are_left_alone() {
        for text in [
            "password=[redacted:password]",
            "[redacted:jwt] [redacted:email]",
            "token: '[redacted:token]'",
        ] {
            assert_eq!(redact(text).text, text);
        }
    }

    #[test]
    fn what_only_shows_beside_a_mask_is_found_at_once() {
        let card = ["4000001234567899", "4000 0012 3456 7899"].join(" ");
        let redacted = redact(&card);
        assert_eq!(redacted.text, "[redacted:payment-card] [redacted:payment-card]");
        assert_eq!(redacted.found.last().map(|found| found.span[1]), Some(card.len()));
    }
}
