//! Which certificate authorities are trusted, the same for everything of ours that connects by TLS.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

/// Which certificate authorities are trusted.
#[derive(Debug, Clone, Copy)]
pub enum Trust<'a> {
    /// Those of the system or of `$SSL_CERT_FILE` and `$SSL_CERT_DIR`, and those the web trusts.
    Usual,
    /// The same, and those in one file more.
    UsualAnd(&'a Path),
    /// Those in one file and no other.
    Only(&'a Path),
}

/// A certificate of our own and its private key, in PEM files.
#[derive(Debug, Clone, Copy)]
pub struct OwnCertificate<'a> {
    /// The certificate, and those it follows from.
    pub certificate: &'a Path,
    /// Its private key.
    pub key: &'a Path,
}

/// Why nobody can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A file holds nothing that can be used.
    #[error("cannot read a {what} from `{}`{}", path.display(), because(cause.as_deref()))]
    File {
        /// What should be in it.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: Option<String>,
    },
    /// What the environment names cannot be read.
    #[error("no certificate can be read from ${name}: {cause}")]
    Environment {
        /// The variable.
        name: &'static str,
        /// What is wrong.
        cause: String,
    },
    /// Certificate and key do not go together.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

fn because(cause: Option<&str>) -> String {
    cause.map(|cause| format!(": {cause}")).unwrap_or_default()
}

/// The encryption of a client that trusts these authorities.
///
/// # Errors
/// A file that was named cannot be used.
pub fn client(trust: Trust<'_>) -> Result<Arc<ClientConfig>, TrustError> {
    let config = builder(trust)?.with_no_client_auth();
    Ok(Arc::new(config))
}

/// The same, of a client that shows a certificate too.
///
/// # Errors
/// A file that was named cannot be used, or certificate and key do not go together.
pub fn client_with(
    trust: Trust<'_>,
    own: OwnCertificate<'_>,
) -> Result<Arc<ClientConfig>, TrustError> {
    let chain = certificates(own.certificate)?;
    let key = PrivateKeyDer::from_pem_file(own.key)
        .map_err(|error| unreadable("private key", own.key, &error))?;
    Ok(Arc::new(builder(trust)?.with_client_auth_cert(chain, key)?))
}

fn builder(
    trust: Trust<'_>,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>, TrustError> {
    let mut roots = RootCertStore::empty();
    if let Trust::Usual | Trust::UsualAnd(_) = trust {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        add_system(&mut roots)?;
    }
    if let Trust::UsualAnd(path) | Trust::Only(path) = trust {
        for certificate in certificates(path)? {
            roots.add(certificate).map_err(|error| TrustError::File {
                what: "certificate",
                path: path.to_owned(),
                cause: Some(error.to_string()),
            })?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots))
}

/// Adds what the system trusts, or the files that the environment names instead.
fn add_system(roots: &mut RootCertStore) -> Result<(), TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"]
        .into_iter()
        .find(|name| env::var_os(name).is_some_and(|path| !path.is_empty()));
    // A file that somebody named must be read; a system without a store has the web's.
    if let (Some(name), true, Some(error)) = (named, found.certs.is_empty(), found.errors.first()) {
        return Err(TrustError::Environment { name, cause: error.to_string() });
    }
    // A store may hold some that are too old to be understood: they vouch for nobody.
    let _ = roots.add_parsable_certificates(found.certs);
    Ok(())
}

/// Every certificate of a file; one that holds none is wrong.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let wrong = |error: pem::Error| unreadable("certificate", path, &error);
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(wrong)?.collect();
    let found = found.map_err(wrong)?;
    if found.is_empty() {
        let path = path.to_owned();
        return Err(TrustError::File { what: "certificate", path, cause: None });
    }
    Ok(found)
}

fn unreadable(what: &'static str, path: &Path, error: &pem::Error) -> TrustError {
    TrustError::File { what, path: path.to_owned(), cause: Some(error.to_string()) }
}
