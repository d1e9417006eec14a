//! The forms in which a secret may come back: as it was, and as programs encode it.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// The forms of a secret, the longest first, so that none is masked only in part.
pub(super) fn forms(secret: &str) -> Vec<Zeroizing<String>> {
    let mut forms = vec![secret.to_owned(), in_json(secret), in_html(secret)];
    forms.extend([percent(secret, "%20"), percent(secret, "+")]);
    let lower = forms.iter().skip(3).map(|form| lower_escapes(form)).collect::<Vec<_>>();
    forms.extend(lower);
    forms.extend([in_hex(secret), in_hex(secret).to_ascii_uppercase()]);
    for shift in 0..3 {
        forms.extend(in_base64(secret, shift));
    }
    forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    forms.dedup();
    forms.into_iter().map(Zeroizing::new).collect()
}

fn in_json(secret: &str) -> String {
    let quoted = serde_json::to_string(secret).unwrap_or_default();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or(secret).to_owned()
}

fn in_html(secret: &str) -> String {
    let escaped = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

fn percent(secret: &str, space: &str) -> String {
    let mut text = String::new();
    for byte in secret.bytes() {
        match byte {
            b' ' => text.push_str(space),
            _ if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => {
                text.push(char::from(byte));
            }
            _ => drop(write!(text, "%{byte:02X}")),
        }
    }
    text
}

/// The same with the digits of its escapes in lower case.
fn lower_escapes(text: &str) -> String {
    let mut parts = text.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        lower.push('%');
        lower.push_str(&digits.to_ascii_lowercase());
        lower.push_str(rest);
    }
    lower
}

fn in_hex(secret: &str) -> String {
    secret.bytes().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The characters of Base64 that depend on the secret alone, where it begins after so many bytes of
/// something else.
fn in_base64(secret: &str, shift: usize) -> [String; 2] {
    let bytes = [vec![0; shift], secret.as_bytes().to_vec()].concat();
    let first = shift.saturating_mul(8).div_ceil(6);
    let whole = bytes.len().saturating_mul(8).saturating_div(6);
    let own = |text: String| text.get(first..whole).unwrap_or_default().to_owned();
    [own(STANDARD_NO_PAD.encode(&bytes)), own(URL_SAFE_NO_PAD.encode(&bytes))]
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn a_secret_is_found_in_every_encoding() {
        let secret = "c\u{e4}nary & \"1\"<2>";
        let json = serde_json::to_string(&format!("x{secret}y")).unwrap();
        let base64 = ["", "a", "ab", "abc"]
            .map(|before| STANDARD.encode(format!("{before}{secret}{before}")));
        let url = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect::<String>();
        for text in [json, url, in_html(secret), in_hex(secret)].into_iter().chain(base64) {
            let found = forms(secret).iter().any(|form| text.contains(form.as_str()));
            assert!(found, "{text}");
        }
    }
}
