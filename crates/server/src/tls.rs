//! TLS: with certificate files, or with a self-signed certificate.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::settings::Tls;

/// The reason that TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or made.
    #[error("cannot use `{}`: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// A file does not contain a certificate or key.
    #[error("`{}` is not a PEM file of the right kind: {problem}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The problem in the file.
        problem: String,
    },
    /// Certificate and key do not go together, or the certificate cannot be made.
    #[error("the certificate cannot be used: {0}")]
    Certificate(String),
}

/// The certificate in use, which can be read again while the server runs.
#[derive(Debug)]
pub struct Certificates {
    tls: Tls,
    names: Vec<String>,
    current: RwLock<Arc<ServerConfig>>,
}

impl Certificates {
    /// Reads the certificate, or makes one, and returns its fingerprint too.
    pub(crate) fn open(tls: &Tls, names: &[String]) -> Result<(Self, String), TlsError> {
        let Encryption { config, fingerprint } = open(tls, names)?;
        let (tls, names) = (tls.clone(), names.to_vec());
        Ok((Self { tls, names, current: RwLock::new(config) }, fingerprint))
    }

    /// Reads the files again, for new connections, and returns the fingerprint of the certificate.
    ///
    /// # Errors
    /// They cannot be used: the previous certificate stays in use.
    pub fn reload(&self) -> Result<String, TlsError> {
        let Encryption { config, fingerprint } = open(&self.tls, &self.names)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(fingerprint)
    }

    /// The TLS configuration for the next connection.
    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The TLS configuration, and the fingerprint of the certificate for people to compare.
struct Encryption {
    config: Arc<ServerConfig>,
    fingerprint: String,
}

/// Reads the certificate, or makes one.
fn open(tls: &Tls, names: &[String]) -> Result<Encryption, TlsError> {
    let (certificate, key) = match tls {
        Tls::Files { certificate, key } => (certificate.clone(), key.clone()),
        Tls::SelfSigned { folder } => self_signed(folder, names)?,
    };
    let pem = |path: &Path| {
        let path = path.to_owned();
        move |error: rustls::pki_types::pem::Error| TlsError::Pem {
            path,
            problem: error.to_string(),
        }
    };
    let chain = CertificateDer::pem_file_iter(&certificate).map_err(pem(&certificate))?;
    let chain: Result<Vec<_>, _> = chain.collect();
    let chain = chain.map_err(pem(&certificate))?;
    let first = chain.first().ok_or_else(|| TlsError::Pem {
        path: certificate.clone(),
        problem: "there is no certificate in it".to_owned(),
    })?;
    let fingerprint = fingerprint(first);
    let key = PrivateKeyDer::from_pem_file(&key).map_err(pem(&key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let wrong = |error: rustls::Error| TlsError::Certificate(error.to_string());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(wrong)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(wrong)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Encryption { config: Arc::new(config), fingerprint })
}

/// The fingerprint as browsers show it.
fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = Sha256::digest(certificate);
    let bytes: Vec<_> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

/// The self-signed certificate, made on the first start and kept beside the server's other key.
fn self_signed(folder: &Path, names: &[String]) -> Result<(PathBuf, PathBuf), TlsError> {
    let (certificate, key) = (folder.join("self-signed.crt"), folder.join("self-signed.key"));
    if certificate.is_file() && key.is_file() {
        return Ok((certificate, key));
    }
    let wrong = |error: rcgen::Error| TlsError::Certificate(error.to_string());
    let mut all = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    all.extend(names.iter().cloned());
    let made = rcgen::generate_simple_self_signed(all).map_err(wrong)?;
    let pem = Zeroizing::new(made.signing_key.serialize_pem());
    let io = |path: &Path| {
        let path = path.to_owned();
        move |cause| TlsError::Io { path, cause }
    };
    fs::create_dir_all(folder).map_err(io(folder))?;
    write_private(&key, pem.as_bytes()).map_err(io(&key))?;
    fs::write(&certificate, made.cert.pem()).map_err(io(&certificate))?;
    Ok((certificate, key))
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
