//! Credentials in HTTP headers: `Authorization`, the schemes it names, cookies.

use super::{
    Hits,
    fake::{is_blank, is_placeholder, is_random},
    harmless::is_encoded_text,
    text::{Class, Text, is_any, starts},
    words::{is_in, words},
};

words! {
    /// Words which imply that a credential follows.
    SCHEMES = "\
    api-key apikey basic bearer bot digest discogs geniekey jwt key klaviyo-api-key \
    negotiate oauth private-token pve splunk ssws token"
}

/// The most bytes of a credential.
const LONGEST: usize = 4096;

/// Masks the credential after `Authorization:`, whatever its quotes.
pub(super) fn authorization(text: Text<'_>, name_end: usize, hits: &mut Hits) {
    let mut at = name_end;
    while at - name_end < 16
        && (Class::SPACE.has(text.at(at)) || b":=\"'`>,\\]({".contains(&text.at(at)))
    {
        at += 1;
    }
    if at == name_end {
        return;
    }
    let end = text.run_within(at, Class::NAME, 24);
    let word = text.cut(at, end);
    if is_in(word, SCHEMES) {
        credential(text, word, end, hits);
        return;
    }
    let end = credential_end(text, at);
    if is_random(text.cut(at, end), 16) {
        hits.named("authorization", at, end);
    }
}

/// Masks the credential after `Bearer` or `Basic` anywhere in the text.
pub(super) fn scheme(text: Text<'_>, word: &str, end: usize, hits: &mut Hits) {
    if text.at(end) != b' ' || !is_any(word, &["bearer", "basic", "ssws"]) {
        return;
    }
    let start = end + 1;
    if is_random(text.cut(start, credential_end(text, start)), 20) {
        credential(text, word, end, hits);
    }
}

fn credential(text: Text<'_>, scheme: &str, scheme_end: usize, hits: &mut Hits) {
    let mut start = text.run_within(scheme_end, Class::SPACE, 8);
    while matches!(text.at(start), b'"' | b'\'' | b'=' | b':') && start - scheme_end < 16 {
        start = text.run_within(start + 1, Class::SPACE, 4);
    }
    let end = credential_end(text, start);
    let given = text.cut(start, end);
    if start == scheme_end || is_blank(given) {
        return;
    }
    if is_any(scheme, &["basic"]) {
        if is_credential_pair(given) || (is_random(given, 16) && !is_encoded_text(given)) {
            hits.named("basic-auth", start, end);
        }
    } else if is_random(given, 10) {
        hits.named("authorization", start, end);
    }
}

fn credential_end(text: Text<'_>, start: usize) -> usize {
    let mut end = start;
    while end - start < LONGEST
        && (Class::ANY64.has(text.at(end)) || b".~!|:$%".contains(&text.at(end)))
    {
        end += 1;
    }
    while end > start && matches!(text.before(end), b'.' | b':' | b'!') {
        end -= 1;
    }
    end
}

/// Reports whether the base64 contains a user and a real password.
fn is_credential_pair(encoded: &str) -> bool {
    let Some(plain) = decode(encoded) else { return false };
    let text = String::from_utf8_lossy(&plain);
    text.split_once(':').is_some_and(|(user, password)| {
        !is_placeholder(password) && !password.eq_ignore_ascii_case(user) && !starts(user, "your")
            || (password.is_empty() && is_random(user, 12))
    })
}

/// Decodes base64 of either alphabet.
pub(super) fn decode(encoded: &str) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(encoded.len());
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for byte in encoded.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        buffer = (buffer << 6) | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            plain.push(u8::try_from((buffer >> bits) & 0xff).unwrap_or(0));
            buffer &= (1 << bits) - 1;
        }
    }
    Some(plain)
}

/// Masks the values of cookies that are random.
pub(super) fn cookie(text: Text<'_>, name_end: usize, hits: &mut Hits) {
    let mut at = name_end;
    while at - name_end < 8 && b": \"'".contains(&text.at(at)) {
        at += 1;
    }
    for _ in 0..32 {
        let name = text.run_within(at, Class::NAME, 64);
        if name == at || text.at(name) != b'=' {
            return;
        }
        let start = name + 1;
        let mut end = start;
        while end - start < LONGEST && !b"; \"'\r\n\t".contains(&text.at(end)) && end < text.len() {
            end += 1;
        }
        let given = text.cut(start, end);
        if given.len() >= 16 && is_random(&given.replace('%', ""), 16) {
            hits.named("cookie", start, end);
        }
        if text.at(end) != b';' {
            return;
        }
        at = text.run_within(end + 1, Class::SPACE, 4);
    }
}

#[cfg(test)]
mod tests {
    use crate::redact::{draw, redact, scan};

    #[test]
    fn credentials_in_headers_are_masked() {
        let token = draw("", 40, 11);
        for source in [
            format!("Authorization: Bearer {token}"),
            format!("\"Authorization\": \"token {token}\""),
            format!("-H 'Authorization: {token}'"),
            format!("headers = {{'Authorization': f'Bearer {token}'}}"),
            format!("Cookie: theme=dark; sid={token}"),
            format!("sent Bearer {token} along"),
        ] {
            let redacted = redact(&source).text;
            assert!(
                !redacted.contains(&token) && redacted.contains("[redacted:"),
                "{source}: {redacted}"
            );
        }
        assert_eq!(
            redact("Authorization: Basic YW5uOnRyMHViNGRvcg==").text,
            "Authorization: Basic [redacted:basic-auth]"
        );
    }

    #[test]
    fn blanks_in_headers_are_left() {
        for source in [
            "Authorization: Bearer $TOKEN",
            "Authorization: Bearer <token>",
            "Authorization: Basic ...",
            "Authorization: Bearer ${{ secrets.TOKEN }}",
            "Authorization: Basic dXNlcjpwYXNzd29yZA==",
            "basic understanding of bearer instruments",
            "Cookie: theme=dark",
        ] {
            assert!(scan(source).is_empty(), "{source}");
        }
    }
}
