//! The server's own keys: one signs, one seals, one makes fingerprints.
//!
//! All are derived from 32 random bytes in a file that only its owner may read (`server.key`),
//! drawn on the first start. The database without that file is not enough to forge an approval, a
//! decision or the end of the audit chain, to read the content of an approval, or to guess a short
//! secret from a digest.
//!
//! Every use names its purpose, so that a signature made for one purpose is invalid for another.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
pub use countersign_wire::PublicKey;
use countersign_wire::work;
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::clock::{ChanceError, Clock, random};

/// The purpose of a signature or a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is what it is for")]
pub enum Purpose {
    Request,
    Vote,
    Decision,
    Remembered,
    Head,
    Checkpoint,
    Anchor,
    Noted,
    KillSwitch,
    ActionFingerprint,
    Run,
    ApprovalToken,
    Csrf,
    IdempotencyKey,
    Policy,
    Forward,
    Work,
}

impl AsRef<[u8]> for Purpose {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Purpose {
    const fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::Request => b"countersign request v1\0",
            Self::Vote => b"countersign vote v1\0",
            Self::Decision => b"countersign decision v1\0",
            Self::Remembered => b"countersign remembered v1\0",
            Self::Head => b"countersign head v1\0",
            Self::Checkpoint => b"countersign checkpoint v1\0",
            Self::Anchor => b"countersign anchor v1\0",
            Self::Noted => b"countersign noted v1\0",
            Self::KillSwitch => b"countersign kill switch v1\0",
            Self::ActionFingerprint => b"countersign action fingerprint v1\0",
            Self::Run => b"countersign run v1\0",
            Self::ApprovalToken => b"countersign approval token v1\0",
            Self::Csrf => b"countersign csrf v1\0",
            Self::IdempotencyKey => b"countersign idempotency key v1\0",
            Self::Policy => b"countersign policy v1\0",
            Self::Forward => b"countersign forward v1\0",
            Self::Work => work::PURPOSE.as_bytes(),
        }
    }
}

/// The server's own keys. Its `Debug` output reveals none of them.
pub struct Keyring {
    signing: SigningKey,
    sealing: Zeroizing<[u8; 32]>,
    prints: Zeroizing<[u8; 32]>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyring({})", self.public())
    }
}

/// The reason for which a keyring cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The file cannot be read or created.
    #[error("cannot use `{}`: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// Others may read the file.
    #[error("`{}` can be read by others: make it readable by its owner alone (chmod 600)", .0.display())]
    Exposed(PathBuf),
    /// There is a database, but its key is missing.
    #[error(
        "`{}` is missing, and the database beside it was made with it: put it back. Without it \
         nothing that was signed can be checked, and nothing that was sealed can be read",
        .0.display()
    )]
    Gone(PathBuf),
    /// The file is not a server key.
    #[error("`{}` is not a server key", .0.display())]
    Damaged(PathBuf),
    /// The operating system's random number generator failed.
    #[error(transparent)]
    Chance(#[from] ChanceError),
    /// The note of a new database cannot be written.
    #[error("{0}")]
    NotBegun(String),
}

/// A sealed text that cannot be opened: it was sealed with another key or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("sealed with another key, or changed since")]
pub struct SealError;

pub(crate) const SEED: usize = 32;

impl Keyring {
    /// The name of the file in a data folder.
    pub const FILE: &'static str = "server.key";

    /// Opens the keyring of a data folder, which must exist.
    ///
    /// # Errors
    /// It is missing, damaged or readable by others.
    pub fn existing(folder: &Path) -> Result<Self, KeyringError> {
        Self::read(&folder.join(Keyring::FILE))
    }

    /// Opens a keyring that is kept apart from its data folder.
    ///
    /// # Errors
    /// It is missing, damaged or readable by others.
    pub fn from_file(path: &Path) -> Result<Self, KeyringError> {
        Self::read(path)
    }

    /// The keys that are derived from a seed.
    #[must_use]
    pub fn from_seed(seed: &[u8; SEED]) -> Self {
        Self {
            signing: SigningKey::from_bytes(&derive(seed, b"countersign signing key v1")),
            sealing: derive(seed, b"countersign sealing key v1"),
            prints: derive(seed, b"countersign fingerprint key v1"),
        }
    }

    /// The public half of the signing key, by which anybody can check a receipt.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey::new(self.signing.verifying_key())
    }

    /// Signs bytes for a purpose.
    #[must_use]
    pub fn sign(&self, purpose: Purpose, bytes: &[u8]) -> [u8; 64] {
        self.signing.sign(&[purpose.as_bytes(), bytes].concat()).to_bytes()
    }

    /// Encrypts, with `about` as associated data.
    ///
    /// # Errors
    /// The operating system provides no randomness.
    pub fn seal(
        &self,
        about: &str,
        plain: &[u8],
        clock: &dyn Clock,
    ) -> Result<String, ChanceError> {
        let nonce: [u8; 24] = random(clock)?;
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: about.as_bytes() })
            .map_err(|_| ChanceError)?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Decrypts a text that was sealed with the same `about`.
    ///
    /// # Errors
    /// It was sealed with another key or another `about`, or changed since.
    pub fn unseal(&self, about: &str, sealed: &str) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| SealError)?;
        let (nonce, message) = bytes.split_first_chunk::<24>().ok_or(SealError)?;
        self.cipher()
            .decrypt(&XNonce::from(*nonce), Payload { msg: message, aad: about.as_bytes() })
            .map(Zeroizing::new)
            .map_err(|_| SealError)
    }

    /// A keyed fingerprint, which reveals nothing without the key.
    #[must_use]
    pub fn fingerprint(&self, purpose: Purpose, bytes: &[u8]) -> [u8; 32] {
        let mut mac = mac(&self.prints);
        mac.update(purpose.as_bytes());
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(*self.sealing))
    }

    pub(crate) fn read(path: &Path) -> Result<Self, KeyringError> {
        let io = |cause| KeyringError::Io { path: path.to_owned(), cause };
        let mut file = File::open(path).map_err(io)?;
        check_privacy(path, &file)
            .map_err(io)?
            .then_some(())
            .ok_or_else(|| KeyringError::Exposed(path.to_owned()))?;
        let mut seed = Zeroizing::new([0; SEED]);
        file.read_exact(&mut *seed).map_err(|_| KeyringError::Damaged(path.to_owned()))?;
        if file.read(&mut [0]).map_err(io)? != 0 {
            return Err(KeyringError::Damaged(path.to_owned()));
        }
        Ok(Self::from_seed(&seed))
    }
}

fn derive(seed: &[u8; SEED], what: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut mac = mac(seed);
    mac.update(what);
    Zeroizing::new(mac.finalize().into_bytes().into())
}

fn mac(key: &[u8; 32]) -> Hmac<Sha256> {
    // A key of at most one block is used as it is, so its length cannot be wrong.
    Hmac::<Sha256>::new(&{
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        for (to, from) in block.iter_mut().zip(key) {
            *to = *from;
        }
        block
    })
}

pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(unix)]
fn check_privacy(_: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    const OTHERS: u32 = 0o077;
    Ok(file.metadata()?.permissions().mode() & OTHERS == 0)
}

#[cfg(not(unix))]
fn check_privacy(_: &Path, _: &File) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Fake, Timestamp};

    fn keyring(seed: u8) -> Keyring {
        Keyring::from_seed(&[seed; 32])
    }

    #[test]
    fn a_signature_holds_for_its_purpose_its_text_and_its_key_alone() {
        let signature = keyring(1).sign(Purpose::Decision, b"yes");
        let public = PublicKey::parse(&keyring(1).public().to_string()).unwrap();
        assert!(public.verifies(Purpose::Decision, b"yes", &signature));
        assert!(!public.verifies(Purpose::Request, b"yes", &signature));
        assert!(!public.verifies(Purpose::Decision, b"no", &signature));
        assert!(!keyring(2).public().verifies(Purpose::Decision, b"yes", &signature));
    }

    #[test]
    fn what_is_sealed_opens_for_the_same_thing_and_key_alone() {
        let clock = Fake::at(Timestamp(0));
        let sealed = keyring(1).seal("apr_1", b"secret", &clock).unwrap();
        assert!(!sealed.contains("secret"));
        assert_eq!(keyring(1).unseal("apr_1", &sealed).unwrap().as_slice(), b"secret");
        assert_eq!(keyring(1).unseal("apr_2", &sealed), Err(SealError));
        assert_eq!(keyring(2).unseal("apr_1", &sealed), Err(SealError));
        let mut changed = sealed.clone().into_bytes();
        changed[40] ^= 1;
        let changed = String::from_utf8(changed).unwrap();
        assert_eq!(keyring(1).unseal("apr_1", &changed), Err(SealError));
        assert_eq!(keyring(1).unseal("apr_1", "x"), Err(SealError));
    }

    #[test]
    fn it_prints_only_what_is_public() {
        let text = format!("{:?}", keyring(1));
        assert!(text.starts_with("Keyring(cspk_"), "{text}");
    }
}
