//! Secrets in prose: "the password is …", "use the following token:", a key and its counterpart.

use super::{
    Hits,
    fake::{is_blank, is_chosen, is_placeholder, is_random, is_rich},
    key::Key,
    plausible::is_term,
    text::{Class, Text},
};

/// The distance up to which a sentence is read after the word that names the secret.
const REACH: usize = 96;

/// Looks for a value in the words that follow a name.
pub(super) fn find(text: Text<'_>, key: Key, name_end: usize, hits: &mut Hits) {
    let found = match key {
        Key::Password => stated(text, name_end).or_else(|| announced(text, name_end)),
        Key::Secret | Key::Token => drawn(text, name_end)
            .or_else(|| announced(text, name_end))
            .or_else(|| beside(text, name_end)),
        _ => None,
    };
    if let Some((start, end)) = found {
        let kind = if key == Key::Password { "password" } else { "token" };
        hits.named(kind, start, end);
    }
}

/// Finds "password is 'x'", "password for user 'y' is 'x'".
fn stated(text: Text<'_>, from: usize) -> Option<(usize, usize)> {
    let end = text.find(from, REACH, b"\n.;").unwrap_or_else(|| text.len().min(from + REACH));
    (from..end).find_map(|at| {
        let verb = VERBS.iter().find(|verb| text.has(at, verb))?;
        told(text, text.run_within(at + verb.len(), Class::SPACE, 4))
    })
}

/// Finds "API key is x", where a machine generated x.
fn drawn(text: Text<'_>, from: usize) -> Option<(usize, usize)> {
    let verb = [" is: ", " is ", " was "].iter().find(|verb| text.has(from, verb))?;
    let start = from + verb.len();
    let end = text.run_within(start, Class::ANY64, 200);
    is_random(text.cut(start, end), 16).then_some((start, end))
}

/// The verbs before a value.
const VERBS: &[&str] = &[" is ", " is: ", " was ", " set to ", " changed to ", " be "];

/// The value that starts there, quoted or plainly chosen by somebody.
fn told(text: Text<'_>, start: usize) -> Option<(usize, usize)> {
    let quote = text.at(start);
    if matches!(quote, b'"' | b'\'' | b'`') {
        let end = text.find(start + 1, 64, &[quote, b'\n'])?;
        let given = text.cut(start + 1, end);
        let plausible = given.len() >= 3 && !given.contains(' ') && !is_blank(given);
        return (plausible && text.at(end) == quote).then_some((start + 1, end));
    }
    let mut end = text.find(start, 64, b" \n\t,\"'<").unwrap_or_else(|| text.len().min(start + 64));
    while end > start && matches!(text.before(end), b'.' | b')' | b';') {
        end -= 1;
    }
    let given = text.cut(start, end);
    let digit = given.bytes().any(|byte| byte.is_ascii_digit());
    let code = given.contains(['(', '[', '{', '/']) || given.contains("::");
    (given.len() >= 6
        && digit
        && !code
        && is_chosen(given)
        && !is_term(given)
        && !is_placeholder(given))
    .then_some((start, end))
}

/// Finds a sentence that ends in a colon, followed by a line of one random word.
fn announced(text: Text<'_>, from: usize) -> Option<(usize, usize)> {
    let colon = text.find(from, REACH, b":.;\n")?;
    let start = text.run_within(colon + 1, Class::BLANK, 12);
    let broken = text.cut(colon + 1, start).contains('\n');
    if text.at(colon) != b':' || !broken {
        return None;
    }
    let end = text.run_within(start, Class::ANY64, 200);
    let alone = matches!(text.at(end), b'\n' | b'\r' | 0);
    (alone && is_random(text.cut(start, end), 16)).then_some((start, end))
}

/// Finds a quoted random value on the same line, a little after the name.
fn beside(text: Text<'_>, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    for _ in 0..4 {
        let quote = text.find(at, 48, b"\"'\n")?;
        if text.at(quote) == b'\n' {
            return None;
        }
        let end = text.run_within(quote + 1, Class::DOTTED, 200);
        let given = text.cut(quote + 1, end);
        let fallback = ["||", "??", " or "].iter().any(|mark| text.cut(from, quote).contains(mark));
        let plausible =
            if fallback { is_random(given, 16) } else { given.len() >= 24 && is_rich(given) };
        if plausible && text.at(end) == text.at(quote) && !is_placeholder(given) {
            return Some((quote + 1, end));
        }
        at = quote + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::redact::{draw, scan};

    #[test]
    fn passwords_told_in_words_are_found() {
        for source in [
            "The default password is 'correcthorse'.",
            "the password for user 'ann' is \"battery\"",
            "My password is Tr0ub4dor&3",
            "password was set to `staple99`",
        ] {
            assert_eq!(scan(source).len(), 1, "{source}");
        }
        let token = draw("", 32, 21);
        assert_eq!(scan(&format!("Use the following password to log in:\n\n{token}\n")).len(), 1);
    }

    #[test]
    fn talk_about_passwords_is_left() {
        for source in [
            "The password is required.",
            "your password is too short",
            "password: see the wiki",
            "password is 'null'",
            "The token is stored in the keychain",
            "Reset password is disabled in version 2",
        ] {
            assert!(scan(source).is_empty(), "{source}");
        }
    }
}
