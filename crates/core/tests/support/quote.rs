//! Ways to write the same text for another reader: quoted, escaped, encoded.

use std::fmt::Write as _;

/// As one word of a shell script.
pub(crate) fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Between backticks, where backslashes and backticks are read once more.
pub(crate) fn backticks(text: &str) -> String {
    format!("`{}`", text.replace('\\', r"\\").replace('`', r"\`").replace('$', r"\$"))
}

/// As a string of Python, JavaScript, Perl, Ruby or awk; `expanded` are the characters that the
/// language would expand in it.
pub(crate) fn literal(text: &str, expanded: &str) -> String {
    let mut literal = String::from("\"");
    for char in text.chars() {
        if char == '\n' {
            literal.push_str(r"\n");
            continue;
        }
        if char == '"' || char == '\\' || expanded.contains(char) {
            literal.push('\\');
        }
        literal.push(char);
    }
    literal.push('"');
    literal
}

/// Base64 with padding.
pub(crate) fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, at| {
            bits << 8 | usize::from(chunk.get(at).copied().unwrap_or_default())
        });
        for at in 0..4 {
            let letter = LETTERS.get(bits >> (18 - 6 * at) & 63).copied().unwrap_or_default();
            encoded.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    encoded
}

/// Pairs of hexadecimal digits.
pub(crate) fn hex(text: &str) -> String {
    text.bytes().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
