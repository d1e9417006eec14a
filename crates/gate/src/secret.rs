//! The format of our secrets.
//!
//! ```text
//! csk_ 43 letters and digits   6 letters and digits
//!      256 random bits         CRC-32 of all before
//! ```
//!
//! The prefix lets scanners and our own redaction recognise one that leaked; the checksum tells a
//! typing mistake from a wrong secret without a lookup. Only hashes are stored. A secret is wiped
//! when it is dropped, prints as its prefix, and [`Secret::expose`] is the only way to its text.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize as _, Zeroizing};

use crate::clock::{ChanceError, Clock};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX: usize = 4;
const BODY: usize = 43;
const CHECK: usize = 6;
const LENGTH: usize = PREFIX + BODY + CHECK;

/// The kind of a secret, by the access it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// Access to the API as an agent or program.
    Key,
    /// Access to the console, as one signed-in client.
    Device,
    /// The right to answer one approval.
    Token,
    /// Sign-in to the console, once.
    Link,
}

impl SecretKind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[Self::Key, Self::Device, Self::Token, Self::Link];

    /// The prefix of its secrets.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Key => "csk_",
            Self::Device => "csd_",
            Self::Token => "cst_",
            Self::Link => "csl_",
        }
    }
}

/// A secret: wiped when it is dropped, and printed as its prefix alone.
pub struct Secret {
    kind: SecretKind,
    // On the heap, so that moving the secret leaves no copy of it behind.
    text: Box<Zeroizing<[u8; LENGTH]>>,
}

/// The reason for which a text is not one of our secrets. Never contains the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// It has another form.
    #[error(
        "not one of our secrets: those are `csk_`, `csd_`, `cst_` or `csl_` and 49 letters and digits"
    )]
    Shape,
    /// It has the form, but its checksum is wrong.
    #[error("mistyped: its checksum does not match")]
    Mistyped,
}

impl Secret {
    /// Draws a new secret.
    ///
    /// # Errors
    /// The operating system provides no randomness.
    pub fn draw(kind: SecretKind, clock: &dyn Clock) -> Result<Self, ChanceError> {
        let mut bytes = Zeroizing::new([0; 32]);
        clock.fill(&mut *bytes)?;
        Ok(Self::from_bytes(kind, &bytes))
    }

    /// The secret that encodes these bytes.
    #[must_use]
    pub fn from_bytes(kind: SecretKind, bytes: &[u8; 32]) -> Self {
        let mut text = Box::new(Zeroizing::new([0; LENGTH]));
        let (prefix, rest) = text.split_at_mut(PREFIX);
        prefix.copy_from_slice(kind.prefix().as_bytes());
        let (body, _) = rest.split_at_mut(BODY);
        write_number(bytes, body);
        write_check(&mut text);
        Self { kind, text }
    }

    /// Parses a secret.
    ///
    /// # Errors
    /// It has another form, or was mistyped.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let kind = SecretKind::ALL.iter().copied().find(|kind| text.starts_with(kind.prefix()));
        let kind = kind.ok_or(SecretError::Shape)?;
        let of_alphabet = text.bytes().skip(PREFIX).all(|byte| byte.is_ascii_alphanumeric());
        if text.len() != LENGTH || !of_alphabet {
            return Err(SecretError::Shape);
        }
        let mut secret = Self { kind, text: Box::new(Zeroizing::new([0; LENGTH])) };
        for (to, from) in secret.text.iter_mut().zip(text.bytes()) {
            *to = from;
        }
        write_check(&mut secret.text);
        // A timing difference here reveals nothing beyond the checksum.
        let follows = secret.text.iter().copied().eq(text.bytes());
        follows.then_some(secret).ok_or(SecretError::Mistyped)
    }

    /// The kind of the secret.
    #[must_use]
    pub const fn kind(&self) -> SecretKind {
        self.kind
    }

    /// The hash that is stored.
    #[must_use]
    pub fn hash(&self) -> SecretHash {
        let hash = Sha256::new_with_prefix(b"countersign secret v1\0");
        SecretHash(hash.chain_update(&self.text[..]).finalize().into())
    }

    /// Reports whether this is the secret with that hash, in constant time.
    #[must_use]
    pub fn matches(&self, hash: &SecretHash) -> bool {
        self.hash() == *hash
    }

    /// The text itself, to be shown once or sent to its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        // It consists only of letters, digits and `_`.
        std::str::from_utf8(&self.text[..]).unwrap_or_default()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}…", self.kind.prefix())
    }
}

/// The hash of a secret, written in hexadecimal digits.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretHash([u8; 32]);

impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretHash {}

impl SecretHash {
    /// The first half, for an id.
    #[must_use]
    pub fn short(&self) -> [u8; 16] {
        let mut short = [0; 16];
        short.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
        short
    }
}

impl fmt::Display for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretHash({self})")
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SecretHash {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SecretHash".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "The hash of a secret, in hexadecimal digits.",
                "pattern": "^[0-9a-f]{64}$",
        })
    }
}

impl From<SecretHash> for String {
    fn from(hash: SecretHash) -> Self {
        hash.to_string()
    }
}

/// A text that is not the hash of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the hash of a secret: it should be 64 hexadecimal digits")]
pub struct SecretHashError;

impl TryFrom<String> for SecretHash {
    type Error = SecretHashError;

    fn try_from(text: String) -> Result<Self, SecretHashError> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(SecretHashError),
        };
        if text.len() != 64 {
            return Err(SecretHashError);
        }
        let mut hash = [0; 32];
        for (to, pair) in hash.iter_mut().zip(text.as_bytes().as_chunks::<2>().0) {
            let [high, low] = *pair;
            *to = digit(high)? << 4 | digit(low)?;
        }
        Ok(Self(hash))
    }
}

/// Writes a number in base 62, from the last digit to the first.
fn write_number(bytes: &[u8; 32], to: &mut [u8]) {
    let mut number = Zeroizing::new(*bytes);
    for letter in to.iter_mut().rev() {
        let mut rest = 0_u16;
        for byte in number.iter_mut() {
            let value = rest << 8 | u16::from(*byte);
            // Below 256, because the remainder is below 62.
            *byte = u8::try_from(value / 62).unwrap_or_default();
            rest = value % 62;
        }
        *letter = letter_of(usize::from(rest));
        rest.zeroize();
    }
}

/// Writes the checksum of the rest.
fn write_check(text: &mut [u8; LENGTH]) {
    let (rest, check) = text.split_at_mut(PREFIX + BODY);
    let mut sum = crc32fast::hash(rest);
    for letter in check.iter_mut().rev() {
        *letter = letter_of(usize::try_from(sum % 62).unwrap_or_default());
        sum /= 62;
    }
}

fn letter_of(digit: usize) -> u8 {
    ALPHABET.get(digit).copied().unwrap_or(b'0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Fake, System, Timestamp};

    #[test]
    fn a_secret_reads_back_and_no_two_are_the_same() {
        let clock = Fake::at(Timestamp(0));
        let mut seen = Vec::new();
        for kind in SecretKind::ALL {
            for _ in 0..50 {
                let secret = Secret::draw(*kind, &clock).unwrap();
                let text = secret.expose().to_owned();
                assert_eq!(text.len(), 53);
                let back = Secret::parse(&text).unwrap();
                assert_eq!((back.kind(), back.expose()), (*kind, text.as_str()));
                assert!(back.matches(&secret.hash()));
                assert!(!seen.contains(&text));
                seen.push(text);
            }
        }
        assert!(Secret::draw(SecretKind::Key, &System).is_ok());
    }

    #[test]
    fn every_number_has_its_own_text() {
        let text = |bytes| Secret::from_bytes(SecretKind::Token, &bytes).expose().to_owned();
        let mut one = [0; 32];
        one[31] = 1;
        assert!(text([0; 32]).starts_with(&format!("cst_{}", "0".repeat(43))));
        assert!(text(one).starts_with(&format!("cst_{}1", "0".repeat(42))));
        one[31] = 62;
        assert!(text(one).starts_with(&format!("cst_{}10", "0".repeat(41))));
        // 2^256 - 1 in base 62.
        let largest = ["yhjskwdA6OZ1AL1YmHWZ", "Wm8LLG7HjnuCA2j5rOw8Xp1"].concat();
        assert!(text([255; 32]).starts_with(&format!("cst_{largest}")));
    }

    #[test]
    fn the_checksum_is_the_well_known_one() {
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32fast::hash(b""), 0);
    }

    #[test]
    fn a_slip_of_the_finger_is_told_from_a_wrong_secret() {
        let secret = Secret::from_bytes(SecretKind::Key, &[7; 32]);
        let text = secret.expose();
        for at in 4..text.len() {
            let mut slip = text.as_bytes().to_vec();
            slip[at] = if slip[at] == b'x' { b'y' } else { b'x' };
            let slip = String::from_utf8(slip).unwrap();
            assert_eq!(Secret::parse(&slip).unwrap_err(), SecretError::Mistyped, "at {at}");
        }
        let swapped: String = text
            .chars()
            .take(4)
            .chain(text.chars().skip(4).collect::<Vec<_>>().into_iter().rev())
            .collect();
        assert_eq!(Secret::parse(&swapped).unwrap_err(), SecretError::Mistyped);
        let other = text.replacen("csk_", "csd_", 1);
        assert_eq!(Secret::parse(&other).unwrap_err(), SecretError::Mistyped);
        let wrong = Secret::from_bytes(SecretKind::Key, &[8; 32]);
        assert!(!Secret::parse(wrong.expose()).unwrap().matches(&secret.hash()));
    }

    #[test]
    fn another_form_is_no_secret() {
        let secret = Secret::from_bytes(SecretKind::Key, &[7; 32]);
        let text = secret.expose();
        let (longer, spaced) = (format!("{text}0"), format!(" {text}"));
        let upper = text.replacen("csk_", "CSK_", 1);
        let wide = text.replacen('0', "\u{ff10}", 1);
        let dashed = format!("csk_{}", "-".repeat(49));
        for text in ["", "csk_", "csk", &longer, &spaced, &upper, &wide, &dashed, "apr_x"] {
            assert_eq!(Secret::parse(text).err(), Some(SecretError::Shape));
        }
        assert_eq!(Secret::parse(&"é".repeat(30)).err(), Some(SecretError::Shape));
    }

    #[test]
    fn nothing_prints_it() {
        let secret = Secret::from_bytes(SecretKind::Device, &[9; 32]);
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "csd_… Some(csd_…)");
        let mistyped = secret.expose().replacen("csd_", "csk_", 1);
        let error = Secret::parse(&mistyped).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(mistyped.get(4..10).unwrap()));
    }

    #[test]
    fn a_hash_is_hexadecimal_and_reads_back() {
        let hash = Secret::from_bytes(SecretKind::Key, &[7; 32]).hash();
        let json = serde_json::to_string(&hash).unwrap();
        assert_eq!(json.len(), 66);
        assert_eq!(serde_json::from_str::<SecretHash>(&json).unwrap(), hash);
        let device = Secret::from_bytes(SecretKind::Device, &[7; 32]).hash();
        assert_ne!(hash, device);
        for text in [r#""""#, r#""zz""#, &json.to_uppercase(), &json.replace('"', "\"0")] {
            assert!(serde_json::from_str::<SecretHash>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_core_redacts_ours_by_their_form() {
        let clock = Fake::at(Timestamp(0));
        for (kind, name) in SecretKind::ALL.iter().zip(["key", "device", "token", "link"]) {
            for _ in 0..200 {
                let secret = Secret::draw(*kind, &clock).unwrap();
                let redacted =
                    countersign_core::redact::redact(&format!("x {} y", secret.expose()));
                assert_eq!(redacted.text, format!("x [redacted:countersign-{name}] y"));
            }
        }
    }
}
