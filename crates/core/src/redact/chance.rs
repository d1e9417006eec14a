//! Statistical evidence that a machine generated a piece of text, rather than that somebody wrote
//! it.
//!
//! Two models are compared, pair of characters by pair: in written text letters follow each other
//! as they do in words, and cases and digits rarely alternate; in generated text every character of
//! the alphabet is equally likely. It works without a list of words: unknown names are recognised
//! as written, and unknown tokens as generated.

/// Reports whether a machine generated the value: at least `least` letters and digits, and half a
/// bit of evidence for each of them.
pub(super) fn is_drawn(value: &str, least: usize) -> bool {
    let length = value.bytes().filter(u8::is_ascii_alphanumeric).count();
    length >= least
        && i32::try_from(length).is_ok_and(|length| {
            let parts = value.split(|mark: char| !mark.is_ascii_alphanumeric());
            parts.map(evidence).sum::<i32>() >= length * 5
        })
}

/// The evidence in letters and digits, in tenths of a bit: above zero for generated, below for
/// written.
pub(super) fn evidence(segment: &str) -> i32 {
    // Digits alone are numbers, which people and machines write alike.
    if !segment.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return 0;
    }
    let turns = turns(segment);
    let mut total = 0;
    let mut previous = 0_u8;
    for byte in segment.bytes() {
        total += pair(previous, byte, turns);
        previous = byte;
    }
    total
}

/// The evidence of a change of class, in tenths of a bit: from small letter, capital and digit
/// (rows) to the same (columns).
type Turns = [[i32; 3]; 3];

/// Letters of both cases and digits.
const MIXED: Turns = [[-12, 36, 27], [-4, 0, 24], [18, 24, -23]];

/// Letters of both cases.
const LETTERS: Turns = [[-9, 38, 0], [-1, 2, 0], [0, 0, 0]];

/// Letters of one case, and digits.
const ONE_CASE: Turns = [[-4, 0, 32], [0, -4, 32], [19, 19, -15]];

/// Letters of one case: only their order is evidence.
const PLAIN: Turns = [[0; 3]; 3];

/// The evidence of changes of class in the alphabet that the segment uses.
fn turns(segment: &str) -> Turns {
    let [mut lower, mut upper, mut digit] = [false; 3];
    for byte in segment.bytes() {
        lower |= byte.is_ascii_lowercase();
        upper |= byte.is_ascii_uppercase();
        digit |= byte.is_ascii_digit();
    }
    match (lower && upper, digit) {
        (true, true) => MIXED,
        (true, false) => LETTERS,
        (false, true) => ONE_CASE,
        (false, false) => PLAIN,
    }
}

fn pair(left: u8, right: u8, turns: Turns) -> i32 {
    let (Some(from), Some(to)) = (class(left), class(right)) else { return 0 };
    let turn = turns.get(from).and_then(|row| row.get(to)).copied().unwrap_or(0);
    // A capital after a small letter starts a word, so the pair is not evidence.
    let together = from < 2 && to < 2 && (from, to) != (0, 1);
    if together { turn - 10 * likeness(left, right) } else { turn }
}

fn class(byte: u8) -> Option<usize> {
    match byte {
        b'a'..=b'z' => Some(0),
        b'A'..=b'Z' => Some(1),
        b'0'..=b'9' => Some(2),
        _ => None,
    }
}

/// The frequency with which the second letter follows the first in words, compared with chance, in
/// bits.
fn likeness(left: u8, right: u8) -> i32 {
    let place = |byte: u8| usize::from(byte.to_ascii_lowercase().wrapping_sub(b'a'));
    let digit = FOLLOWING.get(place(left)).and_then(|row| row.get(place(right)));
    digit.map_or(0, |digit| i32::from(*digit) - i32::from(b'5'))
}

/// For each letter, the frequency of each letter after it: `5` is as often as by chance, `6` twice
/// as often, `4` half as often. Counted in the documentation and the identifiers of a few hundred
/// libraries.
const FOLLOWING: [&[u8; 26]; 26] = [
    b"25652342504756051767433241", // a
    b"74537332732732621554620150", // b
    b"72437316506531721546520130", // c
    b"63358332721423611563532240", // d
    b"53674441202557243775243520", // e
    b"63447740702644720545601140", // f
    b"64428246601546621654612220", // g
    b"82138101712342711546512031", // h
    b"54655550102558640466050305", // i
    b"74337233625242753362742222", // j
    b"62348344721535432364423132", // k
    b"62358421701622730155531060", // l
    b"75238121700352670254611030", // m
    b"62666472513324530267442031", // n
    b"33552441424568450755645210", // o
    b"71227125503611660756511030", // p
    b"41344234432633234442923342", // q
    b"72458341703354630565532040", // r
    b"52527225703432553367622040", // s
    b"61438316700421630665512150", // t
    b"55545440501667350777120202", // u
    b"73329222700231522333100222", // v
    b"73337236721416630663114120", // w
    b"64657514621232470137331641", // x
    b"54445333622656671476234224", // y
    b"62229322622242512141323345", // z
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::draw;

    #[test]
    fn words_and_identifiers_are_written() {
        for value in [
            "internationalization",
            "getUserAccountByExternalReference",
            "MAX_CONNECTION_RETRIES",
            "kubernetes-dashboard-certs",
            "XMLHttpRequestEventTarget",
            "linux-x86-64-unknown-gnu",
            "Wirtschaftsinformatik",
            "2024-01-31T12-30-00",
            "release-candidate-2024",
        ] {
            assert!(!is_drawn(value, 8), "{value}");
        }
    }

    #[test]
    fn draws_are_told_from_writing() {
        let missed = (1..500).filter(|seed| !is_drawn(&draw("", 24, *seed), 20)).count();
        assert!(missed <= 10, "{missed}");
    }
}
