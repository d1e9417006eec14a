//! The contents of credentials that were filled in: remembered only to find them again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;
use zeroize::{Zeroize as _, Zeroizing};

/// The text in place of a secret.
pub(super) const MASK: &str = "•••";

/// Every secret that was filled in during a session. Wiped when it is dropped.
#[derive(Default)]
pub(super) struct Secrets(Mutex<Vec<Zeroizing<String>>>);

impl Secrets {
    /// Remembers a secret.
    pub(super) fn add(&self, secret: &str) {
        let mut all = self.all();
        if !secret.is_empty() && !all.iter().any(|known| known.as_str() == secret) {
            all.push(Zeroizing::new(secret.to_owned()));
        }
    }

    /// Reports whether a text contains a secret, as it is or encoded.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let decoded = Zeroizing::new(percent_decoded(text));
        self.all().iter().any(|secret| {
            decoded.contains(secret.as_str())
                || forms(secret).iter().any(|form| text.contains(form.as_str()))
        })
    }

    /// Replaces every secret in a text, as it is or encoded.
    pub(super) fn mask(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in self.all().iter() {
            for form in forms(secret) {
                if masked.contains(form.as_str()) {
                    let next = masked.replace(form.as_str(), MASK);
                    masked.zeroize();
                    masked = next;
                }
            }
        }
        masked
    }

    /// Replaces every secret in the texts of a value.
    pub(super) fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.mask(text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.mask_value(one)),
            Value::Object(fields) => {
                let old = std::mem::take(fields);
                for (name, mut one) in old {
                    self.mask_value(&mut one);
                    fields.insert(self.mask(&name), one);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The secrets, for the script that paints over them.
    pub(super) fn texts(&self) -> Vec<Zeroizing<String>> {
        self.all().clone()
    }

    fn all(&self) -> MutexGuard<'_, Vec<Zeroizing<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A secret in every encoding that pages use, the longest first.
fn forms(secret: &str) -> Vec<Zeroizing<String>> {
    let json = serde_json::to_string(secret).unwrap_or_default();
    let json = json.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or_default();
    let mut all = vec![
        secret.to_owned(),
        json.to_owned(),
        json.replace('/', "\\/"),
        url::form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
        percent_encoded(secret),
        percent_encoded(secret).to_ascii_lowercase(),
        html(secret, "&#39;"),
        html(secret, "&#x27;"),
        html(secret, "'"),
        STANDARD.encode(secret),
        STANDARD_NO_PAD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
    ];
    all.extend((0..3).filter_map(|before| inside_base64(secret, before)));
    all.sort_by_key(|form| std::cmp::Reverse(form.len()));
    all.dedup();
    all.into_iter().filter(|form| !form.is_empty()).map(Zeroizing::new).collect()
}

/// The part of a longer base64 text that depends on the secret alone, after so many other bytes.
fn inside_base64(secret: &str, before: usize) -> Option<String> {
    let mut bytes = Zeroizing::new(vec![0; before]);
    bytes.extend_from_slice(secret.as_bytes());
    let encoded = Zeroizing::new(STANDARD_NO_PAD.encode(&*bytes));
    let start = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    let part = encoded.get(start..end)?;
    // A few letters would be found anywhere.
    (part.len() >= 6).then(|| part.to_owned())
}

/// Encodes as `encodeURIComponent` does.
fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
    let encoded = text.bytes().map(|byte| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    });
    encoded.collect::<Vec<_>>().concat()
}

fn percent_decoded(text: &str) -> String {
    // As a form: `+` is a space.
    let pairs = url::form_urlencoded::parse(text.as_bytes());
    pairs
        .flat_map(|(name, value)| [name.into_owned(), value.into_owned()])
        .collect::<Vec<_>>()
        .join("\n")
}

fn html(text: &str, apostrophe: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', apostrophe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_every_encoding() {
        let secrets = Secrets::default();
        let secret = ["ca'n", "ary & \"1/2\" ü"].concat();
        secrets.add(&secret);
        let encoded = [
            secret.clone(),
            percent_encoded(&secret),
            url::form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
            html(&secret, "&#39;"),
            serde_json::to_string(&secret).unwrap(),
            STANDARD.encode(&secret),
            STANDARD.encode(format!("user:{secret}")),
            STANDARD.encode(format!("users:{secret}")),
            STANDARD.encode(format!("username:{secret} and more")),
        ];
        for text in encoded {
            assert!(secrets.are_in(&format!("x{text}y")), "{text}");
            let masked = secrets.mask(&format!("x{text}y"));
            assert!(masked.contains(MASK) && !secrets.are_in(&masked), "{masked}");
        }
        assert_eq!(secrets.mask("nothing"), "nothing");
    }
}
