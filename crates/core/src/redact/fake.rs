//! Tells a value that somebody made up for documentation from one that a machine generated.
//!
//! Nothing here knows where a value was found; each detector uses the checks that its context
//! needs.

use super::{
    chance::is_drawn,
    text::{Class, contains, starts},
    words::{is_in, words},
};

words! {
    /// Words that mark a value as a placeholder wherever they occur in it.
    STAND_INS = "\
    -here _here change-me change_me changeit changeme dummy example fixme foobar goes_here \
    insert- insert_ ipsum lorem masked not-set not_set notset obfuscated placeholder \
    put_your redacted replace todo undefined your- your_ yourapi yourkey yourpass \
    yoursecret yourtoken"
}

words! {
    /// Words that are not a value.
    EMPTY_WORDS = "\
    and any auto bool boolean bytes char const default disabled empty enabled error fail \
    failed false hash here hidden incorrect int integer invalid missing n/a na nan nil no \
    none notnull null number object off ok on optional passed prompt readonly redacted \
    required secret_name securestring self static stdin str string success text the this \
    true type unknown unset uuid value var varchar void wrong yes"
}

words! {
    /// Names of the thing itself, which people write in its place.
    NAMES = "\
    abc access-token access_token accesstoken api-key api_key apikey asdf auth_token bar \
    base64 basic baz bearer client_secret credentials db_password demo foo key login \
    my-password my-secret my-token my_key my_password my_secret my_token mykey mypass \
    mypassword mysecret mytoken new_password newpassword old_password oldpassword pass \
    passphrase passwd password pwd qwerty sample secret secret_key some_password somepass \
    test testing token user user_password username userpassword xxx"
}

/// Reports whether the value is a placeholder for another: a variable, a blank to fill in, a mask.
pub(super) fn is_blank(value: &str) -> bool {
    value.is_empty()
        || is_in(value, EMPTY_WORDS)
        || is_reference(value)
        || is_masked(value)
        || is_stand_in(value)
}

/// Reports whether the value is a blank, or only the name of the thing that belongs there.
pub(super) fn is_placeholder(value: &str) -> bool {
    is_blank(value) || is_in(value, NAMES) || is_counting(value)
}

/// Reports whether the value refers to something stored elsewhere.
pub(super) fn is_reference(value: &str) -> bool {
    let first = value.bytes().next().unwrap_or(0);
    let last = value.bytes().next_back().unwrap_or(0);
    let wrapped =
        matches!((first, last), (b'<', b'>') | (b'[', b']') | (b'{', b'}') | (b'%', b'%'));
    wrapped
        || first == b'@' && value.bytes().skip(1).all(|byte| Class::DOTTED.has(byte))
        || is_variable(value)
        || ["${", "$(", "{{", "<%", "#{", "$env:", "process.env", "os.environ", "getenv"]
            .iter()
            .any(|mark| value.contains(mark))
        || [
            "%(",
            "enc[",
            "vault:",
            "secretref",
            "arn:aws:secretsmanager",
            "keyring:",
            "file:",
            "op://",
        ]
        .iter()
        .any(|mark| starts(value, mark))
}

/// Reports whether the value is `$NAME`, `$1`, `%s` or the like, and nothing more.
fn is_variable(value: &str) -> bool {
    value.strip_prefix('$').or_else(|| value.strip_prefix('%')).is_some_and(|name| {
        let path = name.split(['.', '-', '>', ':', '[', ']', '\'', '"', '/']).next().unwrap_or("");
        !path.is_empty()
            && path.bytes().all(|byte| Class::WORD.has(byte))
            && (path.len() == name.len() || name.len() < 40)
    })
}

/// Reports whether somebody has masked the value: `xxxx`, `****`, `abc...`.
pub(super) fn is_masked(value: &str) -> bool {
    value.contains("[redacted")
        || value.contains("...")
        || value.contains('\u{2026}')
        || value.contains("***")
        || value.contains("###")
        || contains(value, "xxxxx")
        || value.contains("•")
        || (value.len() >= 3 && value.bytes().all(|byte| matches!(byte, b'x' | b'X' | b'*' | b'?')))
}

/// Reports whether a word in the value says that it is a placeholder.
///
/// A long random string that somebody shortened by hand may contain `EXAMPLE` and still be most of
/// a token, so the word has to make up a fair part.
fn is_stand_in(value: &str) -> bool {
    STAND_INS.iter().any(|word| value.len() < word.len() * 9 && contains(value, word))
}

/// Reports whether the value has too few different characters, or too many in order, to be random.
pub(super) fn is_flat(value: &str) -> bool {
    is_thin(value) || is_ordered(value)
}

/// Reports whether the value has too few different characters.
pub(super) fn is_thin(value: &str) -> bool {
    let body: Vec<u8> = value.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let few = if body.len() >= 32 { 7 } else { body.len() / 5 + 1 };
    body.len() >= 8 && (distinct(&body) < few || longest_repeat(&body) >= 8.max(body.len() / 3))
}

/// Reports whether most of the value counts up.
fn is_ordered(value: &str) -> bool {
    let body: Vec<u8> = value.bytes().filter(u8::is_ascii_alphanumeric).collect();
    body.len() >= 8 && in_order(&body) * 10 > body.len() * 6
}

/// Reports whether the parts of the value are mostly `1234`, `0000` and the like.
fn is_counting(value: &str) -> bool {
    let mut made_up = 0;
    for part in value.split(|byte: char| !byte.is_ascii_alphanumeric()) {
        let bytes: Vec<u8> = part.bytes().collect();
        if bytes.len() >= 4 && (in_order(&bytes) == bytes.len() || distinct(&bytes) == 1) {
            made_up += 1;
        }
    }
    made_up >= 2 || is_flat(value)
}

/// Reports whether a machine generated the value: a token, a key, a digest. Not a word, a path or a
/// version.
pub(super) fn is_random(value: &str, least: usize) -> bool {
    value.len() >= least
        && value.bytes().all(|byte| {
            Class::ANY64.has(byte) || matches!(byte, b'.' | b'~' | b'!' | b'|' | b':' | b'$')
        })
        && (is_mixed(value) || is_drawn(value, 12))
        && !is_path(value)
        && !is_fingerprint(value)
        && !is_own_id(value)
        && !is_placeholder(value)
}

words! {
    /// The prefixes of our own ids.
    OWN_IDS = "act apr dev fil key rem ses usr wsp"
}

/// Reports whether the value is one of our own ids, which people copy and links contain: it gives
/// access to nothing.
pub(super) fn is_own_id(value: &str) -> bool {
    value.split_once('_').is_some_and(|(name, number)| {
        is_in(name, OWN_IDS)
            && number.len() == 26
            && number.bytes().all(|byte| Class::LOWER_NUM.has(byte) && !b"ilou".contains(&byte))
    })
}

/// Reports whether the value is bytes separated by colons, like the fingerprints of keys.
fn is_fingerprint(value: &str) -> bool {
    value.contains(':') && value.split(':').all(|part| part.len() == 2)
}

/// Reports whether letters, digits and cases alternate more than they do in words.
pub(super) fn is_mixed(value: &str) -> bool {
    let mut turns = 0;
    let mut digits = 0;
    let mut letters = 0;
    let mut previous = 0_u8;
    for byte in value.bytes() {
        let turned = (byte.is_ascii_digit() && previous.is_ascii_alphabetic())
            || (byte.is_ascii_alphabetic() && previous.is_ascii_digit())
            || (byte.is_ascii_uppercase() && previous.is_ascii_lowercase());
        turns += usize::from(turned);
        digits += usize::from(byte.is_ascii_digit());
        letters += usize::from(byte.is_ascii_alphabetic());
        previous = byte;
    }
    let hex = (value.len() >= 32 && is_hex(value) && letters >= 4) || is_uuid(value);
    hex || (letters >= 2 && digits >= 2 && turns * 7 >= value.len())
        || (digits < 2 && letters >= 16 && turns * 4 >= value.len() && !is_camel(value))
}

/// Reports whether the value has every kind of character that a generated token has.
pub(super) fn is_rich(value: &str) -> bool {
    let upper = value.bytes().filter(u8::is_ascii_uppercase).count();
    let lower = value.bytes().filter(u8::is_ascii_lowercase).count();
    let digit = value.bytes().filter(u8::is_ascii_digit).count();
    upper >= 3 && lower >= 3 && digit >= 3 && is_mixed(value) && !is_flat(value)
}

/// Reports whether the value was chosen by a person: not generated, but not a word of the language
/// either.
pub(super) fn is_chosen(value: &str) -> bool {
    let letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let mark = value
        .bytes()
        .any(|byte| byte.is_ascii_punctuation() && !b"-_./,;:()[]{}<>'\"".contains(&byte));
    (letter && (digit || mark))
        || (digit && value.len() >= 6 && value.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reports whether the value consists of hexadecimal digits of one case.
pub(super) fn is_hex(value: &str) -> bool {
    value.bytes().all(|byte| Class::HEX.has(byte))
        || value.bytes().all(|byte| Class::ANY_HEX.has(byte) && !byte.is_ascii_lowercase())
}

/// Reports whether the value has the form of a UUID.
pub(super) fn is_uuid(value: &str) -> bool {
    let mut parts = value.split('-');
    let fits = [8, 4, 4, 4, 12].iter().all(|length| {
        parts.next().is_some_and(|part| {
            part.len() == *length && part.bytes().all(|byte| Class::ANY_HEX.has(byte))
        })
    });
    fits && parts.next().is_none()
}

/// Reports whether the value is like `CapitalisedWordsLikeThese`.
fn is_camel(value: &str) -> bool {
    let humps = value.bytes().filter(u8::is_ascii_uppercase).count().max(1);
    value.len() / humps >= 3
}

/// Reports whether the value is a path, an address, a version or a file.
fn is_path(value: &str) -> bool {
    let slashes = value.bytes().filter(|byte| *byte == b'/').count();
    value.contains("://")
        || value.starts_with(['/', '.'])
        || value.contains("::")
        || (slashes >= 1
            && value.split('/').filter(|part| !part.is_empty() && !is_mixed(part)).count()
                > slashes.max(2))
        || [
            ".com", ".org", ".net", ".json", ".yaml", ".yml", ".txt", ".pem", ".png", ".html",
            ".js", ".local",
        ]
        .iter()
        .any(|tail| value.ends_with(tail))
}

fn distinct(bytes: &[u8]) -> usize {
    let mut seen = 0_u128;
    for byte in bytes {
        seen |= 1_u128.checked_shl(u32::from(*byte)).unwrap_or(0);
    }
    usize::try_from(seen.count_ones()).unwrap_or(0)
}

fn longest_repeat(bytes: &[u8]) -> usize {
    let (mut longest, mut length, mut previous) = (0, 0, 0);
    for byte in bytes {
        length = if *byte == previous { length + 1 } else { 1 };
        longest = longest.max(length);
        previous = *byte;
    }
    longest
}

/// The number of bytes in runs of four or more that count up, as in `abcdef` or `123456`.
fn in_order(bytes: &[u8]) -> usize {
    let (mut total, mut length, mut previous) = (0, 0, 0_u8);
    for byte in bytes {
        let next = *byte == previous.wrapping_add(1) || (previous == b'9' && *byte == b'0');
        if next {
            length += 1;
        } else {
            total += if length >= 4 { length } else { 0 };
            length = 1;
        }
        previous = *byte;
    }
    total + if length >= 4 { length } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_to_fill_in_are_no_values() {
        for value in [
            "",
            "${TOKEN}",
            "$TOKEN",
            "$1",
            "<token>",
            "{{ token }}",
            "xxxxxxxx",
            "********",
            "abc...",
            "changeme",
            "YOUR_API_KEY",
            "insert-token-here",
            "process.env.TOKEN",
            "[PASSWORD]",
            "null",
            "%s",
            "AKIAEXAMPLE",
        ] {
            assert!(is_blank(value), "{value}");
        }
        assert!(!is_blank("super$ecret"));
        assert!(!is_blank("open_sesame"));
    }

    #[test]
    fn sequences_and_repeats_are_made_up() {
        for value in [
            "00000000000000000000",
            "abcdefghijklmnop1234567",
            "45645645645645645645",
            "ccccccccccdddddddddd77",
        ] {
            assert!(is_flat(value), "{value}");
        }
        assert!(is_placeholder("1234-0000-1234-9f86d081884c"));
        assert!(!is_flat("9f86d081884c7d659a2feaa0c55ad015"));
    }

    #[test]
    fn words_paths_and_versions_are_not_random() {
        for value in [
            "listOfRequiredColumnNames",
            "module_secret_store",
            "release-2.14.0_SNAPSHOT",
            "/var/run/secrets/token",
            "https://localhost/oauth2/token",
            "my-app-token-name",
            "us-east-1-production",
            "settings.py",
        ] {
            assert!(!is_random(value, 10), "{value}");
        }
        for value in
            ["9f86d081884c7d659a2feaa0c55ad015", "qk7RtW3pZx90LmB2", "v2-hhtqPw8kZLd-40sBnQ"]
        {
            assert!(is_random(value, 10), "{value}");
        }
    }
}
