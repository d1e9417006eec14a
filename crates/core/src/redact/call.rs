//! Credentials handed to a function: `NetworkCredential("ann", "…")`, `smtp.login(user, "…")`.

use super::{
    Hits,
    fake::{is_blank, is_placeholder},
    key,
    text::{Class, Text, is_any},
};

/// Functions that take a user and then a password, and which argument the password is.
const CALLS: &[(&str, usize)] = &[
    ("networkcredential", 1),
    ("directoryentry", 2),
    ("passwordauthentication", 1),
    ("usernamepasswordcredentials", 1),
    ("usernamepasswordcredential", 1),
    ("passwordcredential", 1),
    ("sqlcredential", 1),
    ("pscredential", 1),
    ("httpbasicauth", 1),
    ("basicauth", 1),
    ("setbasicauth", 1),
    ("basic_auth", 1),
    ("httpbasicauthhandler", 1),
    ("credentials.basic", 1),
    ("plainauth", 2),
    ("drivermanager.getconnection", 2),
    ("mysql_connect", 2),
    ("mysqli_connect", 2),
    ("mysqli", 2),
    ("pdo", 2),
    ("login", 1),
    ("authenticate", 1),
    ("connect_ex", 2),
];

/// How far the arguments are followed.
const REACH: usize = 400;

/// Masks the password among the arguments of a call whose parenthesis stands there.
pub(super) fn find(text: Text<'_>, name: &str, parenthesis: usize, hits: &mut Hits) {
    let Some(position) = position(name) else { return };
    let mut strings = Vec::new();
    let mut at = parenthesis + 1;
    let mut argument = 0;
    while at - parenthesis < REACH && at < text.len() {
        match text.at(at) {
            b')' => break,
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

fn position(name: &str) -> Option<usize> {
    let found = CALLS.iter().find(|(call, _)| {
        let tail = name.len().checked_sub(call.len()).and_then(|at| name.get(at..));
        let edge = name.len().checked_sub(call.len() + 1).and_then(|at| name.as_bytes().get(at));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(call))
            && edge.is_none_or(|byte| !Class::WORD.has(*byte))
    });
    found.map(|(_, position)| *position)
}

/// Whether the name alone says that credentials follow.
fn is_sure(name: &str) -> bool {
    key::parts(name)
        .iter()
        .any(|part| is_any(part, &["credential", "credentials", "auth", "authentication"]))
}

#[cfg(test)]
mod tests {
    use crate::redact::{redact, scan};

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
