//! The connection itself: a Unix socket, TCP, or TLS over TCP.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Host;

use super::{Address, ClientError};

const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

/// The certificate authorities to trust.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trust<'a> {
    /// The authorities of the system or of `$SSL_CERT_FILE` and `$SSL_CERT_DIR`, and those of the
    /// web.
    Usual,
    /// The same, and those in one more file.
    UsualAnd(&'a Path),
    /// The authorities in one file, and no others.
    Only(&'a Path),
}

/// Returns the TLS configuration of a client that trusts these authorities.
pub(crate) fn trusting(trust: Trust<'_>) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    if let Trust::Usual | Trust::UsualAnd(_) = trust {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        add_system(&mut roots)?;
    }
    if let Trust::UsualAnd(path) | Trust::Only(path) = trust {
        add_file(&mut roots, path)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Adds the authorities that the system trusts, or the files that the environment names instead.
fn add_system(roots: &mut RootCertStore) -> Result<()> {
    let found = rustls_native_certs::load_native_certs();
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"]
        .into_iter()
        .find(|name| std::env::var_os(name).is_some_and(|path| !path.is_empty()));
    // A file that the environment names must be readable; a system without a store has the web's.
    if let (Some(name), true, Some(error)) = (named, found.certs.is_empty(), found.errors.first()) {
        bail!("no certificate can be read from ${name}: {error}");
    }
    // A store may contain certificates too old to be parsed: they are skipped.
    let _ = roots.add_parsable_certificates(found.certs);
    Ok(())
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<()> {
    let wrong = || format!("no certificate can be read from `{}`", path.display());
    let mut found = false;
    for certificate in CertificateDer::pem_file_iter(path).with_context(wrong)? {
        roots.add(certificate.with_context(wrong)?).with_context(wrong)?;
        found = true;
    }
    if !found {
        bail!(wrong());
    }
    Ok(())
}

/// A connection on which requests can be sent, one after the other.
pub(crate) type Sender = http1::SendRequest<Full<Bytes>>;

/// Connects, and sends one request.
pub(super) async fn send(
    address: &Address,
    tls: Option<&Arc<ClientConfig>>,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, ClientError> {
    let mut sender = open(address, tls).await?;
    sender.send_request(request).await.map_err(|error| broken(&error))
}

/// Opens a connection.
///
/// # Errors
/// Nobody answers, or the server's identity could not be verified.
pub(crate) async fn open(
    address: &Address,
    tls: Option<&Arc<ClientConfig>>,
) -> Result<Sender, ClientError> {
    let nobody =
        |error: &io::Error| ClientError::NoServer { at: address.clone(), why: reason(error) };
    let connected = match timeout(CONNECTS_WITHIN, connect(address, tls)).await {
        Ok(connected) => connected.map_err(|error| {
            let encryption = error.get_ref().and_then(|cause| cause.downcast_ref());
            encryption.map_or_else(|| nobody(&error), |cause| untrusted(address, cause))
        })?,
        Err(_) => return Err(nobody(&io::ErrorKind::TimedOut.into())),
    };
    let made = http1::handshake(TokioIo::new(connected)).await;
    let (sender, connection) = made.map_err(|error| broken(&error))?;
    // Ends with the response's body, or when its receiver is dropped.
    tokio::spawn(connection);
    Ok(sender)
}

/// The error of a connection that broke.
pub(crate) fn broken(error: &hyper::Error) -> ClientError {
    ClientError::Broken(format!("the connection broke: {error}"))
}

/// The error of a server whose identity could not be verified.
fn untrusted(address: &Address, cause: &rustls::Error) -> ClientError {
    use rustls::CertificateError::{
        BadSignature, NotValidForName, NotValidForNameContext, UnknownIssuer,
    };
    let why = match cause {
        rustls::Error::InvalidCertificate(UnknownIssuer | BadSignature) => {
            "its certificate is from an authority that is not trusted here: name the file of that \
             authority by `hook.tls_ca` for hooks, by --tls-ca for commands, or by $SSL_CERT_FILE"
                .to_owned()
        }
        rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => {
            format!("its certificate is for another name ({cause})")
        }
        other => other.to_string(),
    };
    ClientError::Untrusted(format!("{address} cannot be trusted: {why}"))
}

/// The error of the operating system, in words rather than numbers.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no socket".to_owned(),
        io::ErrorKind::ConnectionRefused => "nothing listens".to_owned(),
        io::ErrorKind::TimedOut => "no answer in time".to_owned(),
        _ => error.to_string(),
    }
}

/// A stream of bytes in both directions.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn connect(
    address: &Address,
    tls: Option<&Arc<ClientConfig>>,
) -> io::Result<Box<dyn Stream>> {
    match address {
        Address::Socket(path) => socket(path).await,
        Address::Plain { host, port } => Ok(Box::new(tcp(host, *port).await?)),
        Address::Tls { host, port } => {
            let tls = tls.ok_or_else(|| io::Error::other("nothing to encrypt with"))?;
            let name = match host {
                Host::Domain(name) => ServerName::try_from(name.clone()),
                Host::Ipv4(address) => Ok(ServerName::from(std::net::IpAddr::V4(*address))),
                Host::Ipv6(address) => Ok(ServerName::from(std::net::IpAddr::V6(*address))),
            };
            let name = name.map_err(io::Error::other)?;
            let tcp = tcp(host, *port).await?;
            Ok(Box::new(TlsConnector::from(Arc::clone(tls)).connect(name, tcp).await?))
        }
    }
}

async fn tcp(host: &Host, port: u16) -> io::Result<TcpStream> {
    match host {
        Host::Domain(name) => TcpStream::connect((name.as_str(), port)).await,
        Host::Ipv4(address) => TcpStream::connect((*address, port)).await,
        Host::Ipv6(address) => TcpStream::connect((*address, port)).await,
    }
}

#[cfg(unix)]
async fn socket(path: &Path) -> io::Result<Box<dyn Stream>> {
    let name = countersign_server::SocketName::of(path)?;
    Ok(Box::new(tokio::net::UnixStream::connect(name.path()).await?))
}

#[cfg(not(unix))]
async fn socket(_: &Path) -> io::Result<Box<dyn Stream>> {
    Err(io::Error::other("this system has no such sockets: name a URL with --server"))
}
