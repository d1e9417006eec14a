//! Credentials passed to a function: `NetworkCredential("ann", "…")`, `smtp.login(user, "…")`.

use super::{
    Hits,
    fake::{is_blank, is_placeholder},
    key,
    text::{Class, Text, is_any},
    words::compare,
};

/// Functions that take a user and then a password, with the index of the password.
const CALLS: &[(&str, usize)] = &[
    ("authenticate", 1),
    ("basic", 1),
    ("basic_auth", 1),
    ("basicauth", 1),
    ("connect_ex", 2),
    ("directoryentry", 2),
    ("getconnection", 2),
    ("httpbasicauth", 1),
    ("httpbasicauthhandler", 1),
    ("login", 1),
    ("mysql_connect", 2),
    ("mysqli", 2),
    ("mysqli_connect", 2),
    ("networkcredential", 1),
    ("passwordauthentication", 1),
    ("passwordcredential", 1),
    ("pdo", 2),
    ("plainauth", 2),
    ("pscredential", 1),
    ("setbasicauth", 1),
    ("sqlcredential", 1),
    ("usernamepasswordcredential", 1),
    ("usernamepasswordcredentials", 1),
];

/// The most bytes of arguments that are read.
const REACH: usize = 400;

/// Masks the password among the arguments of a call whose parenthesis is at this position.
pub(super) fn find(text: Text<'_>, name: &str, parenthesis: usize, hits: &mut Hits) {
    let Some(position) = position(name) else { return };
    let mut strings = Vec::new();
    let mut at = parenthesis + 1;
    let mut argument = 0;
    while at - parenthesis < REACH && at < text.len() {
        match text.at(at) {
            b')' | b']' => break,
            b',' => argument += 1,
            quote @ (b'"' | b'\'') => {
                let Some(end) = text.find(at + 1, 128, &[quote, b'\n']) else { break };
                strings.push((argument, at + 1, end));
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    let wanted = strings.iter().find(|(argument, _, _)| *argument == position);
    let Some((_, start, end)) = wanted.filter(|_| strings.len() > 1 || is_sure(name)) else {
        return;
    };
    let given = text.cut(*start, *end);
    let named = is_placeholder(given) && !is_any(given, &["secret", "pass"]);
    if given.len() >= 3 && !is_blank(given) && !named && !given.contains(' ') {
        hits.named("password", *start, *end);
    }
}

/// Reports whether a user and a password follow in parentheses: `auth=("ann", "…")`.
pub(super) fn is_pair(text: Text<'_>, name_end: usize) -> bool {
    opening(text, name_end).is_some()
}

/// Masks the password of such a pair.
pub(super) fn pair(text: Text<'_>, name_end: usize, hits: &mut Hits) {
    if let Some(opening) = opening(text, name_end) {
        find(text, "basicauth", opening, hits);
    }
}

fn opening(text: Text<'_>, name_end: usize) -> Option<usize> {
    let joint = text.run_within(name_end, Class::SPACE, 8);
    let opening = text.run_within(joint + 1, Class::SPACE, 8);
    let opened = matches!(text.at(joint), b'=' | b':') && matches!(text.at(opening), b'(' | b'[');
    let quoted = matches!(text.at(opening + 1), b'"' | b'\'');
    let second = text.find(opening + 2, 64, b"\"'").is_some_and(|quote| text.at(quote + 1) == b',');
    (opened && quoted && second).then_some(opening)
}

fn position(name: &str) -> Option<usize> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let place = CALLS.binary_search_by(|(call, _)| compare(call, last)).ok()?;
    CALLS.get(place).map(|(_, position)| *position)
}

/// Reports whether the name alone implies that credentials follow.
fn is_sure(name: &str) -> bool {
    key::parts(name)
        .iter()
        .any(|part| is_any(part, &["credential", "credentials", "auth", "authentication"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{redact, scan};

    #[test]
    fn calls_are_sorted() {
        assert!(CALLS.is_sorted_by(|left, right| left.0 < right.0));
    }

    #[test]
    fn a_password_among_arguments_is_masked() {
        assert_eq!(
            redact("new NetworkCredential(\"ann\", \"correcthorse\")").text,
            "new NetworkCredential(\"ann\", \"[redacted:password]\")"
        );
        assert_eq!(
            redact("smtp.login('ann', 'correcthorse')").text,
            "smtp.login('ann', '[redacted:password]')"
        );
    }

    #[test]
    fn variables_among_arguments_are_left() {
        assert!(scan("new NetworkCredential(user, password)").is_empty());
        assert!(scan("login(\"Sign in\", \"Please sign in here\")").is_empty());
    }
}
