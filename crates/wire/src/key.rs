//! The public half of a server's signing key, by which anybody can check what the server has signed.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, VerifyingKey};

/// The public half of a server's signing key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// The public half of this key.
    #[must_use]
    pub const fn new(key: VerifyingKey) -> Self {
        Self(key)
    }

    /// Parses the printed form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix("cspk_")?).ok()?;
        VerifyingKey::from_bytes(&bytes.try_into().ok()?).ok().map(Self)
    }

    /// Reports whether this key's owner signed these bytes for this purpose: a signature made for
    /// one purpose is invalid for another.
    #[must_use]
    pub fn verifies(&self, purpose: impl AsRef<[u8]>, bytes: &[u8], signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        self.0.verify_strict(&[purpose.as_ref(), bytes].concat(), &signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cspk_{}", URL_SAFE_NO_PAD.encode(self.0.as_bytes()))
    }
}
