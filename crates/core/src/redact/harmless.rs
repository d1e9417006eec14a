//! Values that are as random as a secret but harmless: digests, identifiers, public keys,
//! addresses, encoded data. They are recognised only by their context.

use super::{
    header, key,
    text::{Class, Text, contains},
    words::{is_in, words},
};

/// The distance up to which the words of a line are read backwards.
const REACH: usize = 48;

/// Reports whether the text before the value says that it names something: a digest, an address, an
/// id.
pub(super) fn is_identifier(text: Text<'_>, (start, _): (usize, usize)) -> bool {
    let before = text.back(start, REACH);
    let line = before.rsplit('\n').next().unwrap_or(before);
    is_labelled(line, LABELS)
        || is_labelled(line, DIGESTS)
        || DIGEST_WORDS.iter().any(|word| contains(line, word))
        || is_in_address(text, start)
}

/// Reports whether the value is encoded data rather than a random token.
pub(super) fn is_data(text: Text<'_>, (start, end): (usize, usize)) -> bool {
    let before = text.back(start, REACH);
    let mut after = end;
    while after - end < 4 && matches!(text.at(after), b' ' | b'"' | b'\'') {
        after += 1;
    }
    let decoded = text.has(after, "| base64") || text.has(after, "|base64");
    decoded || is_labelled(before, CONTENTS) || is_line_of_block(text, start, end)
}

/// Reports whether the value is an identifier in a program: `total = a1B2…;`, with space around and
/// no quotes.
pub(super) fn is_word_of_code(text: Text<'_>, (start, _): (usize, usize)) -> bool {
    let before = text.back(start, REACH);
    before.strip_suffix(" = ").is_some_and(|head| head.ends_with(is_of_name))
}

words! {
    /// Words of a line which imply that a digest, a public key or a CSRF token follows.
    DIGEST_WORDS = "\
    authenticity base64, captcha checksum commit csrf digest ecdsa-sha2 etag fingerprint hash \
    integrity md5 nonce pubkey public revision sha1 sha2 sha3 sha5 ssh-dss ssh-ed25519 ssh-rsa xsrf"
}

words! {
    /// Names of digests, which precede them: `sha512-…`.
    DIGESTS = "\
    blake2 blake2b blake3 build chunk commit crc css etag git h1 hash img jsx md5 rev sha sha1 \
    sha224 sha256 sha384 sha512"
}

words! {
    /// The last parts of names that name something.
    LABELS = "\
    address b bh boundary cid cursor distribution etag guid id ident identifier ids index invoice \
    keyid location order path peer ref reference rev serial tag trace traceparent transaction tx txid uid url uuid \
    version wallet"
}

words! {
    /// The last parts of names that hold contents.
    CONTENTS = "\
    asset attachment blob body bundle class classname content contents data e ec enc \
    encodedcommand file filename font href icon image img input name number payload pixels \
    src text thumbnail"
}

words! {
    /// Names of objects that services number, which precede the number: `msg_…`.
    OBJECTS = "\
    acct asst batch call card ch channel chat chatcmpl chunk cmpl comment conv conversation cs cus \
    cust customer doc event evt file fp ft in inv invoice item job li log mem message msg obj order \
    org page part pi plan pm post price prod product proj project rec ref req request resp \
    response row rs run seti span step sub task team thread toolu trace tx txn upload ws"
}

/// Reports whether the name is one of an object, so that its number follows.
pub(super) fn is_object(name: &str) -> bool {
    let mut parts = name.split(['_', '-', '.']).filter(|part| !part.is_empty());
    parts.next().is_some_and(|part| is_in(part, OBJECTS)) && parts.next().is_none()
}

/// Reports whether the name of a prefix is one of a digest.
pub(super) fn is_digest(name: &str) -> bool {
    name.split(['_', '-', '.']).any(|part| is_in(part, DIGESTS))
}

/// Reports whether the name just before the value is one of harmless values: `"id": "…"`, `commit
/// …`.
fn is_labelled(line: &str, labels: &[&str]) -> bool {
    let head =
        line.trim_end_matches([' ', '\t', '"', '\'', '`', '=', ':', '>', '(', '[', '{', '\\', '+']);
    let head = head.strip_suffix(" is").unwrap_or(head);
    let name = head.rsplit(|letter: char| !is_of_name(letter)).next().unwrap_or("");
    let mut parts = key::parts(name);
    while parts.last().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit())) {
        parts.pop();
    }
    key::is_harmless(&parts) || parts.last().is_some_and(|last| is_in(last, labels))
}

fn is_of_name(letter: char) -> bool {
    u8::try_from(letter).is_ok_and(|byte| Class::NAME.has(byte))
}

/// Reports whether the value is part of an address.
fn is_in_address(text: Text<'_>, start: usize) -> bool {
    let before = text.back(start, 160);
    let word = before.rsplit([' ', '\t', '\n', '"', '\'', '`', '<', '>']).next().unwrap_or("");
    word.contains("://")
}

/// Reports whether the value fills a line among others of its kind, as in certificates and
/// attachments.
fn is_line_of_block(text: Text<'_>, start: usize, end: usize) -> bool {
    let alone =
        matches!(text.before(start), b'\n' | 0 | b' ') && matches!(text.at(end), b'\n' | b'\r' | 0);
    if !alone {
        return false;
    }
    let above = start.saturating_sub(1);
    let long_above = above - text.run_back(above, Class::BASE64, 60).min(above) >= 40;
    let below = text.run_within(end, Class::BLANK, 12);
    let long_below = text.run_within(below, Class::BASE64, 60) - below >= 40;
    let fenced = text.back(start, 12).contains("-----") || text.has(below, "-----");
    long_above || long_below || fenced
}

/// Reports whether the value is base64 of readable text, other than the JSON of a token.
pub(super) fn is_encoded_text(value: &str) -> bool {
    !value.starts_with("eyJ")
        && header::decode(value).is_some_and(|plain| {
            let readable = |byte: &u8| {
                (b' '..=b'~').contains(byte) || matches!(byte, b'\n' | b'\t' | b'\r' | 0)
            };
            plain.len() >= 12
                && plain.iter().filter(|byte| readable(byte)).count() * 20 > plain.len() * 19
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_digests_and_ids_are_known_in_every_notation() {
        for line in ["\"id\": \"", "commit ", "node_id=", "ETag: \"", "x-amz-id-2: ", "wallet is "]
        {
            assert!(is_identifier(Text(line), (line.len(), line.len())), "{line}");
        }
        for line in ["try ", "login ", "value: \"", "set it to `"] {
            assert!(!is_identifier(Text(line), (line.len(), line.len())), "{line}");
        }
    }

    #[test]
    fn encoded_text_is_no_draw() {
        assert!(is_encoded_text("aGVsbG8gd29ybGQsIHRoaXMgaXMgdGV4dA=="));
        assert!(!is_encoded_text(&crate::redact::draw("", 36, 5)));
    }

    #[test]
    fn lines_of_a_certificate_are_data() {
        let line = "c29tZSBsaW5lcyBvZiBhIGNlcnRpZmljYXRlIHRoYXQgaXMgbm9uZQ".repeat(2);
        let text = format!("-----BEGIN CERTIFICATE-----\n{line}\n{line}\n");
        let start = text.find('\n').unwrap_or(0) + 1;
        assert!(is_data(Text(&text), (start, start + line.len())));
    }
}
