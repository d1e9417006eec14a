//! Passwords and codes in plain language, in many languages: "pw is …", "PIN 4821", "482913 is your
//! login code", "type … into the password field".
//!
//! A phrase that names the secret is looked for at every start of a word; the separator between it
//! and the value determines the evidence that the value needs. Settings and programs are left to
//! `assign.rs`.

mod phrase;
mod proof;

use super::{
    Hits,
    fake::is_random,
    text::{Class, Text},
};
use phrase::{Phrase, Says};
use proof::{is_code_number, is_grouped_key, is_passphrase, is_password, is_pin};

/// The distance up to which the words before a phrase are read.
const REACH: usize = 48;

/// The length of the longest value.
const LONGEST: usize = 80;

/// Finds secrets in plain language.
pub(super) fn find(text: Text<'_>, hits: &mut Hits) {
    let mut index = 0;
    while index < text.len() {
        if let Some(phrase) = phrase::at(text, index) {
            let end = index + phrase.words.len();
            told(text, phrase, (index, end), hits);
            index = end;
        } else {
            // A phrase does not start within a word.
            index = text.run(index, Class::WORD).max(index + 1);
        }
    }
}

/// The separator between a phrase and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Glue {
    /// Nothing but space.
    Space,
    /// A verb, as in "is" and "to".
    Verb,
    /// A colon, an equals sign, an arrow.
    Mark,
}

fn told(text: Text<'_>, phrase: Phrase, (start, end): (usize, usize), hits: &mut Hits) {
    if phrase.says == Says::Yours {
        return backwards(text, (start, end), hits);
    }
    let before = text.back(start, REACH);
    if phrase.says == Says::Password {
        typed(text, start, before, hits);
    }
    let Some((glue, at)) = glue(text, tag(text, start, end)) else { return };
    let Some((from, to)) = value(text, at) else { return };
    let quoted = at < from;
    let given = text.cut(from, to);
    let kind = match phrase.says {
        Says::Password if is_password(given, glue != Glue::Verb) => "password",
        Says::Password if !phrase.words.is_ascii() && is_password(given, false) => "password",
        Says::Passphrase => return passphrase(text, from, quoted, glue, hits),
        Says::Login => {
            if !pair(text, at, hits)
                && let Some(at) = after_service(text, at)
            {
                pair(text, at, hits);
            }
            return;
        }
        Says::Drawn if is_random(given, 12) => "token",
        Says::AnyKey if glue == Glue::Verb && is_random(given, 16) => "token",
        Says::Key if is_grouped_key(given) => "token",
        Says::Key
            if glue != Glue::Space && phrase.words.contains(' ') && is_password(given, true) =>
        {
            "password"
        }
        Says::Pin if phrase::is_pin(text, (start, end), before, glue) && is_pin(given) => {
            "passcode"
        }
        Says::OneTime => return codes(text, from, 3, hits),
        Says::Card if (3..=4).contains(&given.len()) && is_pin_digits(given) => "passcode",
        Says::Code => match phrase::owner(before) {
            phrase::Owner::Secret => return codes(text, from, 3, hits),
            phrase::Owner::Open if glue != Glue::Mark || quoted || !before.ends_with('"') => {
                return codes(text, from, 6, hits);
            }
            _ => return,
        },
        _ => return,
    };
    hits.named(kind, from, to);
}

fn is_pin_digits(given: &str) -> bool {
    given.bytes().all(|byte| byte.is_ascii_digit())
}

/// Skips the end of a tag around the phrase.
fn tag(text: Text<'_>, start: usize, end: usize) -> usize {
    let tagged = text.before(start) == b'<' && text.at(end) == b'>';
    if tagged { end + 1 } else { end }
}

/// Reads the separator between a phrase and its value. Returns the strongest one and the start of
/// the value.
fn glue(text: Text<'_>, end: usize) -> Option<(Glue, usize)> {
    let mut at = end;
    let mut glue = Glue::Space;
    // A quoted name closes its quote.
    if matches!(text.at(at), b'"' | b'\'') && matches!(text.at(at + 1), b':' | b'=') {
        at += 1;
    }
    let mut moved = text.before(at) == b'>';
    for _ in 0..8 {
        let spaced = text.run_within(at, Class::SPACE, 4);
        moved |= spaced > at;
        at = spaced;
        if let Some(mark) = phrase::MARKS.iter().find(|mark| text.has(at, mark)) {
            at += mark.len();
            (glue, moved) = (Glue::Mark, true);
        } else if let Some(verb) = phrase::VERBS
            .iter()
            .find(|verb| (moved || !verb.is_ascii()) && text.has_any_case(at, verb))
        {
            at += verb.len();
            moved = true;
            glue = glue_of(glue, verb);
        } else {
            break;
        }
    }
    moved.then_some((glue, at))
}

/// Combines a separator with a word; a noun in between changes nothing: "password field", "OTP
/// code".
fn glue_of(glue: Glue, verb: &str) -> Glue {
    match glue {
        Glue::Space if phrase::is_noun(verb) => Glue::Space,
        Glue::Space | Glue::Verb => Glue::Verb,
        Glue::Mark => Glue::Mark,
    }
}

/// The range of the value that starts there, without its quotes and the full stop of the sentence.
fn value(text: Text<'_>, at: usize) -> Option<(usize, usize)> {
    let quote = text.at(at);
    if matches!(quote, b'"' | b'\'' | b'`') {
        let end = text.find(at + 1, LONGEST, &[quote, b'\n'])?;
        return (text.at(end) == quote && end > at + 1).then_some((at + 1, end));
    }
    let bytes = text.0.as_bytes().get(at..).unwrap_or(&[]);
    let stops = b"\"'`<>";
    let length = bytes
        .iter()
        .take(LONGEST)
        .enumerate()
        .take_while(|(offset, byte)| {
            let is_end = **byte == b'&' && !is_within(text, at + offset);
            byte.is_ascii_graphic() && !stops.contains(byte) && !is_end
        })
        .count();
    let given = text.cut(at, at + length).trim_end_matches(['.', ',', ';', ':', ')', '?', '}']);
    (!given.is_empty() && length < LONGEST).then_some((at, at + given.len()))
}

/// Reports whether an ampersand is part of a value: no second one, no field of a query (`&name=`)
/// and no entity (`&quot;`) starts there, and the value goes on.
fn is_within(text: Text<'_>, at: usize) -> bool {
    let end = text.run_within(at + 1, Class::NAME, 24);
    let next = text.at(end);
    text.at(at + 1).is_ascii_graphic() && text.at(at + 1) != b'&' && !matches!(next, b'=' | b';')
}

/// Masks the codes that start there, one after the other.
fn codes(text: Text<'_>, from: usize, least: usize, hits: &mut Hits) {
    let mut at = from;
    for _ in 0..12 {
        let Some((start, end)) = value(text, at) else { return };
        let end = grouped(text, start, end);
        if !is_code_number(text.cut(start, end), least) {
            return;
        }
        hits.named("passcode", start, end);
        let comma = end + usize::from(text.at(end) == b',');
        at = text.run_within(comma, Class::SPACE, 2);
    }
}

/// Includes the second half of a code in two groups: `771 204`.
fn grouped(text: Text<'_>, start: usize, end: usize) -> usize {
    let next = text.run_within(end + 1, Class::DIGIT, 5);
    let half = end - start;
    let digits = text.run_within(start, Class::DIGIT, 5) == end;
    let same = matches!(half, 3 | 4) && next - end == half + 1 && !Class::WORD.has(text.at(next));
    if digits && same && text.at(end) == b' ' { next } else { end }
}

/// Finds "482913 is your login code".
fn backwards(text: Text<'_>, (start, end): (usize, usize), hits: &mut Hits) {
    let stop = text.find(end, REACH, b".\n;").unwrap_or_else(|| text.len().min(end + REACH));
    let rest = text.cut(end, stop).to_ascii_lowercase();
    let named = ["code", "otp", "pin", "passcode", "password"];
    if !rest.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| named.contains(&word))
    {
        return;
    }
    let given = text.back(start, 24).trim_end();
    let word = given.rsplit([' ', '\n', '"', ':']).next().unwrap_or("");
    if is_code_number(word, 4) {
        let to = start - (text.back(start, 24).len() - given.len());
        hits.named("passcode", to - word.len(), to);
    }
}

/// Finds "type … into the password field", "… as the password".
fn typed(text: Text<'_>, start: usize, before: &str, hits: &mut Hits) {
    let tail = ["into the ", "into ", "in the ", "as the ", "as my ", "as "];
    let Some(head) = tail.iter().find_map(|tail| before.strip_suffix(tail)) else { return };
    let word = head.trim_end().rsplit([' ', '\n']).next().unwrap_or("");
    let given = word.trim_matches(['"', '\'', '`']);
    let Some(offset) = before.rfind(given).filter(|_| is_password(given, true)) else { return };
    let from = start - before.len() + offset;
    hits.named("password", from, from + given.len());
    let _ = text;
}

/// Returns the place after the service that one signs in to: "login to the shop with …".
fn after_service(text: Text<'_>, at: usize) -> Option<usize> {
    let end = text.find(at, REACH, b"\n.;").unwrap_or_else(|| text.len().min(at + REACH));
    let rest = text.cut(at, end);
    let found = [" with ", " as "].iter().filter_map(|word| Some(rest.find(word)? + word.len()));
    found.min().map(|offset| at + offset)
}

/// Finds "credentials: admin / …", "log in with admin:…"; reports whether there was a password.
fn pair(text: Text<'_>, at: usize, hits: &mut Hits) -> bool {
    let user = text.run_within(at, Class::NAME, 40);
    let mut from = text.run_within(user, Class::SPACE, 2);
    if user - at < 2 || !matches!(text.at(from), b':' | b'/' | b'|') || text.at(from + 1) == b'/' {
        return false;
    }
    from = text.run_within(from + 1, Class::SPACE, 2);
    let Some((start, end)) = value(text, from) else { return false };
    let is_one = is_password(text.cut(start, end), true);
    if is_one {
        hits.named("password", start, end);
    }
    is_one
}

/// Masks several words that are a passphrase together.
fn passphrase(text: Text<'_>, from: usize, quoted: bool, glue: Glue, hits: &mut Hits) {
    let end =
        text.find(from, LONGEST, b"\n\r\"'`").unwrap_or_else(|| text.len().min(from + LONGEST));
    let given = text.cut(from, end);
    let word = given.split(' ').next().unwrap_or("");
    if glue != Glue::Space && is_passphrase(given, quoted) {
        hits.named("password", from, end);
    } else if is_password(word, glue == Glue::Space) {
        hits.named("password", from, from + word.len());
    }
}

#[cfg(test)]
mod tests {
    use crate::redact::{redact, scan};

    #[test]
    fn passwords_are_told_in_many_ways_and_languages() {
        for source in [
            "pw is #",
            "the pw: #",
            "Password - #",
            "wifi pw #",
            "type # into the password field",
            "fill the password field with #",
            "reset my password to #",
            "login ann / #",
            "credentials: ann / #",
            "log in with ann:#",
            "login to the shop with ann / #",
            "sign in as ann:#",
            "Das Passwort ist #",
            "la contraseña es #",
            "le mot de passe est #",
            "mot de passe : #",
            "a senha é #",
            "пароль: #",
            "密码是 #",
            "パスワードは # です",
            "비밀번호: #",
            "hasło: #",
            "şifre: #",
        ] {
            let text = source.replace('#', "tr0ub4dor");
            assert_eq!(redact(&text).text, source.replace('#', "[redacted:password]"));
        }
        assert_eq!(
            redact("passphrase: correct horse battery staple").text,
            "passphrase: [redacted:password]"
        );
    }

    #[test]
    fn an_ampersand_may_be_part_of_a_password() {
        for (source, masked) in [
            ("pw is tr0u&b4dor", "pw is [redacted:password]"),
            ("pw is &tr0ub4dor", "pw is [redacted:password]"),
            ("password: tr0ub4dor&user=ann", "password: [redacted:password]&user=ann"),
            ("password: tr0ub4dor&quot;", "password: [redacted:password]&quot;"),
            ("password: tr0ub4dor && ls", "password: [redacted:password] && ls"),
        ] {
            assert_eq!(redact(source).text, masked, "{source}");
        }
    }

    #[test]
    fn codes_are_told_in_many_ways() {
        for (source, code) in [
            ("code #", "482913"),
            ("Your verification code is #", "482913"),
            ("PIN #", "4821"),
            ("use code # to sign in", "482913"),
            ("# is your Acme login code", "482913"),
            ("my pin is #", "4821"),
            ("OTP #", "482913"),
            ("2FA code: #", "771 204"),
            ("door code is #", "4821"),
            ("CVV #", "921"),
            ("recovery code: #", "8f3k-29dl-1m4n"),
            ("{\"pin\": \"#\"}", "4821"),
            ("<otp>#</otp>", "482913"),
            ("--pin #", "4821"),
        ] {
            assert_eq!(
                redact(&source.replace('#', code)).text,
                source.replace('#', "[redacted:passcode]")
            );
        }
    }

    #[test]
    fn talk_of_passwords_and_other_codes_is_left() {
        for source in [
            "the password is required",
            "your pw is too short!",
            "password policy 2024",
            "set the password to something strong",
            "Passwort vergessen",
            "the pw manager is 1Password",
            "type your name into the password field",
            "exit code 127",
            "error code 482913",
            "zip code 90210",
            "promo code SUMMER20",
            "\"code\": 404",
            "code: E0432",
            "GPIO pin 4821",
            "pin 13 on the board",
            "OTP sent to your phone",
            "pass 12345 tests",
            "the secret is out",
            "passphrase: enter the one you were given",
            "credentials: see the vault",
            "the key is to be patient",
            "password is base64-encoded",
            "login failed: 3/4 tries",
            "login to the shop with your account",
            "login to app as admin: see docs",
        ] {
            assert!(scan(source).is_empty(), "{source}: {}", redact(source).text);
        }
    }
}
