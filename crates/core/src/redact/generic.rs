//! Tokens of services nobody here has heard of, known by how they are drawn.
//!
//! A run of letters, digits and the marks of tokens is cut at its marks, each piece is weighed
//! (see `chance.rs`), and the stretch with the most evidence is the body. How much evidence it
//! takes depends on the name in front of it, `acme_live_…`, and on what stands around. Digests,
//! identifiers, paths, addresses and encoded data are as random as tokens, so what surrounds them
//! decides: see `harmless.rs`.

use super::{
    Hits,
    chance::evidence,
    fake::{is_flat, is_hex, is_masked, is_placeholder, is_uuid},
    harmless,
    text::{Class, Text, contains, is_any},
    words::{is_in, words},
};

/// No token is shorter.
const SHORTEST: usize = 16;

/// What is longer is data, or has a form of its own.
const LONGEST: usize = 400;

/// How long the name in front of the body may be.
const LONGEST_NAME: usize = 28;

/// Finds drawn tokens.
pub(super) fn find(text: Text<'_>, hits: &mut Hits) {
    let mut index = 0;
    while index < text.len() {
        if !Class::ALNUM.has(text.at(index)) {
            index += 1;
            continue;
        }
        let end = text.run(index, Class::TOKEN);
        // The letter of a written line break belongs to no token.
        let escaped = text.before(index) == b'\\' && matches!(text.at(index), b'n' | b't' | b'r');
        let start = index + usize::from(escaped);
        if (SHORTEST..=LONGEST).contains(&(end - start))
            && let Some(token) = Token::read(text, start, end)
            && token.is_secret(text)
        {
            hits.drawn(token.start, token.end);
        }
        index = end;
    }
}

/// A run that may be a token.
#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    start: usize,
    end: usize,
    /// What says whose it is, with the mark that ends it.
    name: &'a str,
    /// What was drawn.
    body: &'a str,
    /// What follows the body in the run.
    tail: &'a str,
    /// The evidence for the body, in tenths of a bit.
    evidence: i32,
}

impl<'a> Token<'a> {
    fn read(text: Text<'a>, start: usize, end: usize) -> Option<Self> {
        let run = text.cut(start, end);
        let run = run.trim_end_matches(['.', '/', '-', '+']);
        let body = best(run)?;
        let end = start + run.len();
        let (name, tail) = (run.get(..body.start)?, run.get(body.end..)?);
        let padding = text.run_within(end, Class::PADDING, 2);
        Some(Self {
            start,
            end: if tail.is_empty() { padding } else { end },
            name,
            body: run.get(body.start..body.end)?,
            tail,
            evidence: body.evidence,
        })
    }

    fn is_secret(&self, text: Text<'_>) -> bool {
        let whole = text.cut(self.start, self.end);
        self.is_placed(text)
            && self.is_evident()
            && !is_flat(self.body)
            && !is_masked(whole)
            && !is_placeholder(self.body)
            && !is_sample(whole)
            && !harmless::is_harmless(text, (self.start, self.end), self.is_marked())
    }

    /// Whether nothing around the body says that the run is a path, a file or an address.
    fn is_placed(&self, text: Text<'_>) -> bool {
        let free = !matches!(
            text.before(self.start),
            b'/' | b'#' | b'@' | b'~' | b'.' | b'%' | b'$' | b'&' | b'_'
        ) && !matches!(text.at(self.end), b'/' | b'(' | b'@' | b'%' | b'*' | b'\\' | b'~');
        let escaped = text.at(self.end) == b'\\' && matches!(text.at(self.end + 1), b'n' | b'"');
        let named = self.name.len() <= LONGEST_NAME && !self.name.contains(['/', '+']);
        let ended = !self.tail.contains(['.', '/', '+']) && self.tail.len() <= 12;
        (free || escaped) && named && ended && !self.is_path()
    }

    /// Whether slashes part words rather than base64.
    fn is_path(&self) -> bool {
        self.body.contains('/')
            && (!self.name.is_empty()
                || self.body.split('/').any(|part| part.len() >= 4 && evidence(part) <= 0))
    }

    /// Whether the evidence is enough for what the name and the alphabet say.
    fn is_evident(&self) -> bool {
        let length = self.body.bytes().filter(u8::is_ascii_alphanumeric).count();
        let bits = |each: i32| i32::try_from(length).is_ok_and(|n| self.evidence >= n * each);
        let is = |wanted: fn(&u8) -> bool| self.body.as_bytes().iter().any(wanted);
        let digits = is(u8::is_ascii_digit);
        let cases = is(u8::is_ascii_lowercase) && is(u8::is_ascii_uppercase);
        let marked = self.is_marked();
        let digest = self.body.split(['-', '_', '.']).all(is_hex);
        if !(cases || digits && is(u8::is_ascii_alphabetic)) {
            return marked && length >= 20 && bits(12);
        }
        if digest || is_uuid(self.body) {
            let long = length >= 32 && self.name.ends_with('_') && !harmless::is_digest(self.name);
            return long || (marked && length >= 20);
        }
        match (self.name.is_empty(), marked) {
            (_, true) => length >= 14 && self.evidence >= 100 && bits(7),
            (false, _) => length >= 18 && bits(9),
            (true, _) if cases && digits => length >= 22 && bits(10),
            (true, _) if digits => length >= 28 && bits(11),
            (true, _) => length >= 32 && bits(12),
        }
    }

    /// Whether the name has a part that only names of secrets have.
    fn is_marked(&self) -> bool {
        self.name.split(['_', '-', '.']).any(|part| is_in(part, MARKS))
    }
}

words! {
    /// Parts of names that say a secret follows.
    MARKS = "\
    access admin api apikey app auth bot key live pat pk prod rk sak secret sk test token usr whsec"
}

/// Whether the value says itself that it is one to look at.
fn is_sample(whole: &str) -> bool {
    ["example", "sample", "placeholder", "your", "fake", "dummy"]
        .iter()
        .any(|word| contains(whole, word))
}

/// A stretch of a run.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    start: usize,
    end: usize,
    evidence: i32,
}

/// The stretch of whole pieces with the most evidence.
fn best(run: &str) -> Option<Stretch> {
    let mut best: Option<Stretch> = None;
    let mut open: Option<Stretch> = None;
    let mut start = 0;
    for piece in run.split_inclusive(['-', '_', '.', '/', '+']) {
        let letters = piece.trim_end_matches(['-', '_', '.', '/', '+']);
        let own = evidence(letters);
        let end = start + letters.len();
        let joined = open.filter(|open| open.evidence > 0);
        let (from, so_far) = joined.map_or((start, 0), |open| (open.start, open.evidence));
        let price = match run.as_bytes().get(end) {
            Some(b'.') => 10,
            Some(b'/') => 20,
            _ => 0,
        };
        let stretch = Stretch { start: from, end, evidence: so_far + own };
        if best.is_none_or(|best| stretch.evidence > best.evidence) {
            best = Some(stretch);
        }
        open = Some(Stretch { evidence: stretch.evidence - price, ..stretch });
        start += piece.len();
    }
    best.filter(|best| best.end > best.start)
}
