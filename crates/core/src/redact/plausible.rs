//! Plausibility of a value for its name: not code, a label, a path or another name.

use super::{
    fake::{is_blank, is_chosen, is_hex, is_masked, is_placeholder, is_random, is_rich},
    text::{Class, Text, contains, is_any, starts},
    value::{Joint, Value},
    words::{is_in, words},
};

/// Reports whether the value of a name for a secret is one.
pub(super) fn is_secret(value: Value, given: &str) -> bool {
    if !value.quoted {
        return is_random(given, 10) && !is_literal(given);
    }
    let compared = value.joint == Joint::Compare && given.len() >= 5;
    let chosen = given.len() >= 8 && is_chosen(given);
    is_random(given, 10)
        || ((compared || chosen)
            && !is_placeholder(given)
            && !is_sentence(given)
            && !is_naming(given))
}

/// Reports whether the value of a name for a token or a key is one.
pub(super) fn is_token(value: Value, given: &str) -> bool {
    let named = !value.quoted
        && given.contains('.')
        && ["key", "token", "secret"].iter().any(|word| contains(given, word));
    if is_literal(given) || named {
        return false;
    }
    let least = match (value.quoted, value.joint) {
        (_, Joint::Comma) => 16,
        (true, _) => 10,
        (false, _) => 12,
    };
    is_random(given, least) || (value.quoted && is_dense(given)) || is_bootstrap(given)
}

/// Reports whether the value is a bootstrap token of a cluster: six characters, a dot, sixteen
/// more.
///
/// The example in the manual counts up, and there are clusters that use it.
fn is_bootstrap(given: &str) -> bool {
    given.split_once('.').is_some_and(|(id, secret)| {
        id.len() == 6
            && secret.len() == 16
            && (id.bytes().chain(secret.bytes())).all(|byte| Class::LOWER_NUM.has(byte))
    }) && given.bytes().any(|byte| byte.is_ascii_digit())
}

/// Reports whether the value is a number or a type of a program.
pub(super) fn is_literal(given: &str) -> bool {
    let rest = given.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let typed = rest.len() < given.len() && is_in(rest, NUMBERS);
    (given.starts_with("0x") && given.len() < 24) || given.starts_with("__") || typed
}

words! {
    /// Suffixes of a number in a program.
    NUMBERS = "f32 f64 i16 i32 i64 i8 isize l ll u u16 u32 u64 u8 ul ull usize"
}

/// Reports whether the value is long and full of punctuation, like the secret keys of web
/// frameworks.
fn is_dense(given: &str) -> bool {
    let marks = given.bytes().filter(|byte| b"!@#$%^&*()+~?=".contains(byte)).count();
    let digits = given.bytes().filter(u8::is_ascii_digit).count();
    let pattern = ["(?", "[^", "[a-", "[0-", "\\", ")?"].iter().any(|mark| given.contains(mark));
    given.len() >= 20
        && marks >= 3
        && digits >= 2
        && !pattern
        && !given.contains(' ')
        && !is_blank(given)
}

/// Reports whether a name that only one service uses has a value of exactly that service's format.
///
/// It then needs no evidence of randomness: masking a made-up one does no harm.
pub(super) fn is_formatted(words: &[&str], given: &str) -> bool {
    let named = |word: &str| words.iter().any(|part| part.eq_ignore_ascii_case(word));
    let aws = named("secret") && named("key") && (named("aws") || named("access"));
    let form = (aws && given.len() == 40 && given.bytes().all(|byte| Class::BASE64.has(byte)))
        || (named("okta")
            && given.len() == 42
            && given.starts_with("00")
            && given.bytes().all(|byte| Class::URL64.has(byte)));
    form && !is_masked(given) && !given.contains("00000000")
}

/// Reports whether a value beside the name of a service is a credential for it.
pub(super) fn is_vendor(value: Value, given: &str, words: &[&str]) -> bool {
    // A service's name beside a bare digest is a lock file far more often than a credential.
    let lone = words.len() == 1 || words.last().is_some_and(|last| is_any(last, &["id", "appid"]));
    if lone && !value.quoted && is_hex(given) {
        return false;
    }
    let identified = words.last().is_some_and(|last| is_any(last, &["id"]));
    // `aws:` also starts the name of a resource, which has many fields.
    let fields = given.matches(':').count() >= 2;
    is_random(given, 14) && !fields && (!identified || is_rich(given))
}

/// Reports whether an unquoted value is an expression of a program rather than a word.
pub(super) fn is_code(text: Text<'_>, value: Value, given: &str) -> bool {
    let called = matches!(text.at(value.end), b'(' | b'[' | b'{')
        || given.contains(['(', '[', '{', '"', '\'', '`']);
    let member = given.split('.').count() > 1
        && given.split('.').all(|part| {
            part.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        })
        && given.bytes().all(|byte| Class::DOTTED.has(byte));
    called
        || member
        || given.contains("->")
        || given.contains("::")
        || given.starts_with(['&', '*', '@', '/', '~', '.'])
}

/// Reports whether the value is only another name for a password.
pub(super) fn is_naming(given: &str) -> bool {
    let named = ["password", "passwd", "passphrase", "secret", "token"]
        .iter()
        .any(|word| contains(given, word));
    named && given.bytes().all(|byte| Class::NAME.has(byte) && !byte.is_ascii_digit())
}

/// Reports whether the value is a text for people: a label, a message.
pub(super) fn is_sentence(given: &str) -> bool {
    let spaces = given.bytes().filter(|byte| *byte == b' ').count();
    spaces >= 2 || (spaces == 1 && !is_chosen(given)) || given.ends_with(':')
}

/// Reports whether the value is a path: `PWD` is also the working folder of a shell.
pub(super) fn is_place(given: &str) -> bool {
    given.starts_with(['/', '~'])
        && given.len() > 3
        && given.bytes().all(|byte| Class::DOTTED.has(byte) || matches!(byte, b'/' | b'~'))
}

/// Reports whether the value is a CSS selector: `#login-password`, `.field`, `input[name=x]`.
pub(super) fn is_selector(given: &str) -> bool {
    let rest = given.strip_prefix(['#', '.']).unwrap_or("");
    (!rest.is_empty()
        && rest.bytes().all(|byte| Class::LOWER.has(byte) || matches!(byte, b'-' | b'_'))
        && rest.contains(['-', '_']))
        || given.contains("[name=")
}

/// Reports whether the value is a technical term that contains a digit.
pub(super) fn is_term(core: &str) -> bool {
    let terms = [
        "base64",
        "base32",
        "sha",
        "md5",
        "utf",
        "aes",
        "http",
        "oauth",
        "1password",
        "ipv",
        "p2p",
        "bcrypt",
        "pbkdf2",
        "argon2",
        "rot13",
        "k8s",
        "i18n",
        "version",
        "line",
        "step",
        "rfc",
        "cve",
    ];
    let unit = core.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let counted = unit.len() < core.len()
        && unit.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_lowercase());
    counted && core.len() < 20 || terms.iter().any(|term| starts(core, term))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_places_are_no_secrets() {
        assert!(is_literal("16u32") && is_literal("0xC004F051") && !is_literal("hunter2"));
        assert!(is_naming("my-secret-store") && !is_naming("s3cret-77"));
        assert!(is_place("/home/ann") && !is_place("/p4$$word"));
        assert!(is_selector("#login-password") && !is_selector("#hunter2"));
        assert!(is_sentence("Enter your password") && !is_sentence("correct horse9"));
    }
}
