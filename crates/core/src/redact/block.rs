//! Private keys in armour: PEM, OpenSSH, PGP and `PuTTY`, whole or truncated.
//!
//! A header without key material after it is a mention, not a key.

use super::{
    Hits,
    text::{Class, Text, contains},
};

const FENCE: &str = "-----";

/// The number of base64 characters that must follow a header.
const SUBSTANCE: usize = 24;

/// Finds armoured private keys.
pub(super) fn find(text: Text<'_>, hits: &mut Hits) {
    let mut from = 0;
    while let Some(at) = next(text, from, "-----BEGIN ") {
        from = armour(text, at, hits).max(at + 1);
    }
    let mut from = 0;
    while let Some(at) = next(text, from, "Private-Lines:") {
        let body = text.run(text.run(at + 14, Class::SPACE), Class::DIGIT);
        let end = text.run(body, PUTTY);
        if has_substance(text.cut(body, end)) {
            hits.secret("private-key", body, end);
        }
        from = end.max(at + 1);
    }
}

/// The body of a `PuTTY` key: base64 in lines.
const PUTTY: Class = Class::LINES64;

fn next(text: Text<'_>, from: usize, literal: &str) -> Option<usize> {
    Some(from + text.0.get(from..)?.find(literal)?)
}

/// Masks the key whose header starts there. Returns the position to continue from.
fn armour(text: Text<'_>, start: usize, hits: &mut Hits) -> usize {
    let label_at = start + FENCE.len();
    let Some(label_end) = text.find(label_at, 64, b"-\n") else { return label_at };
    let label = text.cut(label_at, label_end);
    if !contains(label, "private key") || !text.has(label_end, FENCE) {
        return label_end;
    }
    let body = label_end + FENCE.len();
    let fence = next(text, body, FENCE);
    let closed = fence.filter(|at| text.has(*at, "-----END "));
    let end = match closed {
        Some(at) => {
            text.find(at + 9, 64, b"-\n").map_or(at + 9, |at| text.run_within(at, DASHES, 5))
        }
        None => loose_end(text, body),
    };
    if has_substance(text.cut(body, closed.unwrap_or(end))) {
        hits.secret("private-key", start, end);
        return end;
    }
    fence.unwrap_or(end)
}

const DASHES: Class = Class::DASH;

/// The position at which a key without a footer ends.
fn loose_end(text: Text<'_>, body: usize) -> usize {
    let mut end = body;
    loop {
        let run = text.run(end, Class::LINES64);
        let escaped = text.at(run) == b'\\' && matches!(text.at(run + 1), b'n' | b'r' | b't');
        end = if escaped { run + 2 } else { return run };
    }
}

/// Reports whether the body contains a line of key material.
fn has_substance(body: &str) -> bool {
    let mut length = 0;
    let mut escaped = false;
    for byte in body.bytes() {
        let part = Class::BASE64.has(byte) && !escaped;
        length = if part { length + 1 } else { 0 };
        escaped = byte == b'\\';
        if length >= SUBSTANCE {
            return !body.contains("[redacted");
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::redact::{redact, scan};

    fn key(label: &str, body: &str) -> String {
        format!("{0}BEGIN {label}{0}\n{body}\n{0}END {label}{0}", "-----")
    }

    #[test]
    fn a_private_key_is_masked_with_its_fences() {
        let body = "Zm9v".repeat(12);
        for label in
            ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
        {
            let redacted = redact(&format!("a {} b", key(label, &body)));
            assert_eq!(redacted.text, "a [redacted:private-key] b");
        }
    }

    #[test]
    fn a_key_cut_short_or_in_json_is_masked_too() {
        let body = "Zm9v".repeat(12);
        assert_eq!(scan(&format!("{0}BEGIN PRIVATE KEY{0}\n{body}", "-----")).len(), 1);
        let escaped = key("PRIVATE KEY", &body).replace('\n', "\\n");
        assert_eq!(
            redact(&format!("{{\"k\":\"{escaped}\"}}")).text,
            "{\"k\":\"[redacted:private-key]\"}"
        );
    }

    #[test]
    fn a_mention_or_a_certificate_is_no_key() {
        assert!(scan(&key("PRIVATE KEY", "here goes the key")).is_empty());
        assert!(scan(&key("CERTIFICATE", &"Zm9v".repeat(12))).is_empty());
        assert!(scan("grep -- '-----BEGIN RSA PRIVATE KEY-----' -r .").is_empty());
    }
}
