//! Tokens of unknown services, recognised by their randomness.
//!
//! A run of letters, digits and the marks of tokens is split at its marks, each piece is weighed
//! (see `chance.rs`), and the range with the most evidence is the body. The evidence it needs
//! depends on the name in front of it, `acme_live_…`, and on the context. Digests, identifiers,
//! paths, addresses and encoded data are as random as tokens, so their context decides: see
//! `harmless.rs`.

use super::{
    Hits,
    chance::evidence,
    fake::{is_flat, is_masked, is_own_id, is_placeholder, is_uuid},
    harmless::{self, is_encoded_text},
    text::{Class, Text, contains},
    words::{is_in, words},
};

/// The length of the shortest token.
const SHORTEST: usize = 16;

/// Longer runs are data, or have a format of their own.
const LONGEST: usize = 400;

/// The most bytes of the name in front of the body.
const LONGEST_NAME: usize = 28;

/// A function that reports whether the text at a position belongs to a provider of the table.
pub(super) type Known = fn(Text<'_>, usize) -> bool;

/// Finds random tokens, except where a more specific detector is responsible.
pub(super) fn find(text: Text<'_>, known: Known, hits: &mut Hits) {
    let mut index = 0;
    while index < text.len() {
        if !Class::ALNUM.has(text.at(index)) {
            index += 1;
            continue;
        }
        let (end, mixed) = measure(text, index);
        // The letter of an escaped line break does not belong to the token.
        let escaped = text.before(index) == b'\\' && matches!(text.at(index), b'n' | b't' | b'r');
        let start = index + usize::from(escaped);
        if mixed
            && (SHORTEST..=LONGEST).contains(&(end - start))
            && let Some(token) = Token::read(text, start, end)
            && token.is_secret(text)
            && !known(text, start)
        {
            hits.drawn(token.start, token.end);
        }
        index = end;
    }
}

/// The end of the run, and whether it has more than small letters and a capital or two.
fn measure(text: Text<'_>, start: usize) -> (usize, bool) {
    let bytes = text.0.as_bytes().get(start..).unwrap_or(&[]);
    let [mut length, mut digits, mut capitals] = [0, 0, 0];
    for byte in bytes.iter().take_while(|byte| Class::TOKEN.has(**byte)) {
        length += 1;
        digits += usize::from(byte.is_ascii_digit());
        capitals += usize::from(byte.is_ascii_uppercase());
    }
    (start + length, digits >= 1 || capitals >= 3)
}

/// A run that may be a token.
#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    start: usize,
    end: usize,
    /// The prefix that names the service, with the mark that ends it.
    name: &'a str,
    /// The random part.
    body: &'a str,
    /// The rest of the run after the body.
    tail: &'a str,
    /// The evidence for the body, in tenths of a bit.
    evidence: i32,
}

impl<'a> Token<'a> {
    fn read(text: Text<'a>, start: usize, end: usize) -> Option<Self> {
        let run = text.cut(start, end);
        let run = run.trim_end_matches(['.', '/', '-', '+']);
        if is_file(run) || run.starts_with("0x") {
            return None;
        }
        let body = uuid_at_end(run).or_else(|| best(run, name_end(run)))?;
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
            && !is_encoded_text(self.body)
            && !is_own_id(whole)
            && !self.is_harmless(text)
    }

    fn is_harmless(&self, text: Text<'_>) -> bool {
        let place = (self.start, self.end);
        match (self.is_marked(), self.name.is_empty()) {
            (true, _) => false,
            (false, false) => {
                harmless::is_object(self.name) || harmless::is_identifier(text, place)
            }
            (false, true) => {
                harmless::is_identifier(text, place)
                    || harmless::is_data(text, place)
                    || harmless::is_word_of_code(text, place)
                    || is_wallet(self.body)
                    || is_sortable(self.body)
            }
        }
    }

    /// Reports whether nothing around the body indicates that the run is a path, a file or an
    /// address.
    fn is_placed(&self, text: Text<'_>) -> bool {
        let free =
            !matches!(
                text.before(self.start),
                b'/' | b'#' | b'@' | b'~' | b'.' | b'%' | b'$' | b'&' | b'_'
            ) && !matches!(text.at(self.end), b'/' | b'(' | b'@' | b'%' | b'*' | b'\\' | b'~');
        let byte = text.before(self.start) == b'\\' && matches!(text.at(self.start), b'x' | b'u');
        let escaped = text.at(self.end) == b'\\' && matches!(text.at(self.end + 1), b'n' | b'"');
        let named = self.name.len() <= LONGEST_NAME && !self.name.contains(['/', '+']);
        let ended = !self.tail.contains(['.', '/', '+']) && self.tail.len() <= 12;
        let cut = text.has(self.end, "..") || text.has(self.end, "\u{2026}");
        (free || escaped) && !byte && !cut && named && ended && !self.is_path()
    }

    /// Reports whether slashes separate words rather than being part of base64.
    fn is_path(&self) -> bool {
        let written: usize = self
            .body
            .split('/')
            .filter(|part| part.len() >= 3 && evidence(part) <= 0)
            .map(str::len)
            .sum();
        self.body.contains('/') && written * 4 > self.body.len()
    }

    /// Reports whether the evidence is enough for this name and alphabet.
    fn is_evident(&self) -> bool {
        let length = self.body.bytes().filter(u8::is_ascii_alphanumeric).count();
        let bits = |each: i32| i32::try_from(length).is_ok_and(|n| self.evidence >= n * each);
        let is = |wanted: fn(&u8) -> bool| self.body.as_bytes().iter().any(wanted);
        let letters = self.body.bytes().filter(u8::is_ascii_alphabetic).count();
        let digits = is(u8::is_ascii_digit);
        let cases = is(u8::is_ascii_lowercase) && is(u8::is_ascii_uppercase);
        let marked = self.is_marked();
        if letters < 4 {
            return false;
        }
        if !cases && !digits {
            return marked && length >= 20 && self.evidence >= 200;
        }
        if is_glued(self.body) {
            return true;
        }
        if self.body.bytes().all(|byte| Class::ANY_HEX.has(byte) || matches!(byte, b'-' | b'_')) {
            return self.is_coded(length);
        }
        match (self.name.is_empty(), marked) {
            (_, true) => length >= 14 && self.evidence >= 100 && bits(4),
            (false, _) => length >= 18 && self.evidence >= 150 && bits(4),
            (true, _) if cases && digits => length >= 20 && self.evidence >= 220 && bits(6),
            (true, _) if digits => length >= 20 && self.evidence >= 240 && bits(6),
            (true, _) => length >= 28 && self.evidence >= 400,
        }
    }

    /// Reports whether a body of hexadecimal digits has a name that digests do not have.
    fn is_coded(&self, length: usize) -> bool {
        let last = self.name.split(['_', '-', '.']).rfind(|part| !part.is_empty()).unwrap_or("");
        let code = last.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
            && !last.bytes().all(|byte| Class::ANY_HEX.has(byte))
            || evidence(last) > 10;
        // Not the length of any common digest.
        let odd = ![32, 40, 48, 56, 64, 96, 128].contains(&length);
        let enough = if code && odd { 18 } else { 24 };
        let word = !last.bytes().all(|byte| byte.is_ascii_digit());
        let named = (self.name.ends_with('_') && word)
            || (self.name.ends_with(['-', '.']) && (odd || code));
        !harmless::is_digest(self.name)
            && ((named && length >= enough && !is_uuid(self.body))
                || (self.is_marked() && length >= 20))
    }

    /// Reports whether the name has a part that only names of secrets have.
    fn is_marked(&self) -> bool {
        self.name.split(['_', '-', '.']).any(|part| is_in(part, MARKS))
    }
}

words! {
    /// Parts of names which imply that a secret follows.
    MARKS = "\
    access admin api apikey app auth bot key live pat pk prod rk sak secret sk test token whsec"
}

/// The evidence for a piece; hexadecimal digits are few, and their order is weak evidence.
fn weigh(piece: &str) -> i32 {
    let own = evidence(piece).max(evidence(headless(piece)));
    let digits = is_glued(piece) || (piece.len() >= 16 && is_all_hex(piece));
    let floor = i32::try_from(piece.len() * 8).unwrap_or(0);
    if own < floor && digits { floor } else { own }
}

/// The piece without its leading capitals, where they are a name and small letters follow.
fn headless(piece: &str) -> &str {
    let rest = piece.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    let named = (2..=6).contains(&(piece.len() - rest.len()));
    let plain = rest.bytes().all(|byte| Class::LOWER_NUM.has(byte));
    if named && plain { rest } else { piece }
}

/// Reports whether a short name of letters is followed directly by small hexadecimal digits.
fn is_glued(piece: &str) -> bool {
    let name = piece.trim_end_matches(|letter: char| matches!(letter, '0'..='9' | 'a'..='f'));
    (2..=6).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphabetic())
        && piece.len() - name.len() >= 28
}

fn is_all_hex(piece: &str) -> bool {
    piece.bytes().all(|byte| Class::ANY_HEX.has(byte))
        && piece.bytes().any(|byte| byte.is_ascii_digit())
        && piece.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Reports whether the value itself says that it is an example.
fn is_sample(whole: &str) -> bool {
    ["example", "sample", "placeholder", "your", "fake", "dummy"]
        .iter()
        .any(|word| contains(whole, word))
}

/// Reports whether the body has the form of a wallet address, which is recognised elsewhere by its
/// checksum, or of a content digest.
fn is_wallet(body: &str) -> bool {
    ((26..=35).contains(&body.len()) && body.starts_with(['1', '3'])
        || body.len() == 46 && body.starts_with("Qm"))
        && is_base58(body)
}

/// Reports whether the body is an identifier that starts with the time, by which logs and stores
/// are sorted.
fn is_sortable(body: &str) -> bool {
    body.len() == 26
        && body.starts_with("01")
        && body.bytes().all(|byte| Class::UPPER_NUM.has(byte) && !b"ILOU".contains(&byte))
}

fn is_base58(body: &str) -> bool {
    body.bytes().all(|byte| Class::ALNUM.has(byte) && !b"0OIl".contains(&byte))
}

/// Reports whether the run ends like the name of a file or a machine.
fn is_file(run: &str) -> bool {
    run.rsplit_once('.').is_some_and(|(_, ending)| {
        (1..=6).contains(&ending.len())
            && ending.bytes().all(|byte| Class::LOWER_NUM.has(byte))
            && ending.bytes().any(|byte| Class::LOWER.has(byte))
    })
}

/// The UUID at the end of the run, which is one piece whatever its digits are.
fn uuid_at_end(run: &str) -> Option<Stretch> {
    let start = run.len().checked_sub(36)?;
    is_uuid(run.get(start..)?).then_some(Stretch { start, end: run.len(), evidence: 0 })
}

/// A range of a run.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    start: usize,
    end: usize,
    evidence: i32,
}

/// The end of the leading pieces that have only letters of one case, as names do.
fn name_end(run: &str) -> usize {
    let mut end = 0;
    for piece in run.split_inclusive(['-', '_', '.']) {
        let letters = piece.trim_end_matches(['-', '_', '.']);
        let named = letters.bytes().all(|byte| Class::LOWER.has(byte))
            || letters.bytes().all(|byte| Class::UPPER.has(byte));
        if !named || letters.len() == piece.len() || letters.len() > 12 {
            break;
        }
        end += piece.len();
    }
    end
}

/// The range of whole pieces, from that position on, with the most evidence.
fn best(run: &str, from: usize) -> Option<Stretch> {
    let mut best: Option<Stretch> = None;
    let mut open: Option<Stretch> = None;
    let mut start = from;
    for piece in run.get(from..)?.split_inclusive(['-', '_', '.', '/', '+']) {
        let letters = piece.trim_end_matches(['-', '_', '.', '/', '+']);
        let own = weigh(letters);
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

#[cfg(test)]
mod tests {
    use crate::redact::{draw, redact, scan};

    #[test]
    fn a_token_of_a_service_unknown_to_us_is_masked_whole() {
        for (prefix, length) in [("zylo_", 36), ("zylo_live_", 24), ("ZYLO-", 30), ("zy.v1.", 40)] {
            let token = draw(prefix, length, 11);
            for (source, masked) in [
                (format!("try {token}, please"), "try [redacted:token], please"),
                (format!("connect(\"{token}\")"), "connect(\"[redacted:token]\")"),
                (format!("\\n{token}\\n"), "\\n[redacted:token]\\n"),
            ] {
                assert_eq!(redact(&source).text, masked, "{source}");
            }
        }
    }

    #[test]
    fn a_draw_without_a_name_needs_more() {
        assert_eq!(scan(&format!("here: {}", draw("", 32, 12))).len(), 1);
        assert!(scan(&format!("here: {}", draw("", 12, 12))).is_empty());
    }

    #[test]
    fn ids_of_ours_are_left() {
        let number = draw("", 60, 14).to_lowercase().replace(['i', 'l', 'o', 'u'], "");
        let number = number.get(..26).unwrap_or("");
        for prefix in ["apr_", "act_", "ses_", "key_", "usr_"] {
            for source in
                ["see #.", "\"session\": \"#\"", "https://x.example/approvals/#", "token #"]
            {
                let text = source.replace('#', &format!("{prefix}{number}"));
                assert!(scan(&text).is_empty(), "{text}");
            }
        }
    }

    #[test]
    fn files_paths_numbers_and_things_are_left() {
        let drawn = draw("", 24, 13);
        for source in [
            format!("dist/app.{drawn}.js"),
            format!("/var/cache/{drawn}/x"),
            format!("https://docs.example/d/{drawn}"),
            format!("ann+{drawn}@host"),
            format!("\"id\": \"{drawn}\""),
            format!("msg_{drawn} was delivered"),
            format!("\"nextPageToken\": \"{drawn}\""),
            "0x0fc94e3bf4e9ab32866458cd56f5e605".to_owned(),
            "6fd4a2c9-4a1b-4c2d-8e3f-7f6951a988e6".to_owned(),
            "sha512-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c".to_owned(),
        ] {
            let found = scan(&source);
            let secret = found.iter().any(|found| found.kind == "token");
            assert!(!secret, "{source}: {found:?}");
        }
    }
}
