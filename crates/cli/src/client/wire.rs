//! The connection itself: a Unix socket, TCP, or TLS over TCP.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Host;

use super::{Address, ClientError};

const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

/// A connection that requests can be sent on, one after the other.
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
    let made = http1::handshake(TokioIo::new(connected(address, tls).await?)).await;
    let (sender, connection) = made.map_err(|error| broken(&error))?;
    // Ends with the response's body, or when its receiver is dropped.
    tokio::spawn(connection);
    Ok(sender)
}

/// Connects, with TLS where the address says so.
pub(super) async fn connected(
    address: &Address,
    tls: Option<&Arc<ClientConfig>>,
) -> Result<Connected, ClientError> {
    let nobody = |error: &io::Error| {
        let why = reason(error);
        match address {
            Address::Socket(_) if is_taken(error) => ClientError::Broken(format!(
                "the server at {address} does not accept the connection: {why}"
            )),
            Address::Socket(_) | Address::Plain { .. } | Address::Tls { .. } => {
                ClientError::NoServer { at: address.clone(), why }
            }
        }
    };
    match timeout(CONNECTS_WITHIN, connect(address, tls)).await {
        Ok(connected) => connected.map_err(|error| {
            let encryption = error.get_ref().and_then(|cause| cause.downcast_ref());
            encryption.map_or_else(|| nobody(&error), |cause| untrusted(address, cause))
        }),
        Err(_) => Err(nobody(&io::ErrorKind::TimedOut.into())),
    }
}

/// Whether something is at a socket's path that cannot be connected to. Nothing listens where there
/// is no such path, or only what an earlier server left.
fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound, Unsupported};
    !matches!(error.kind(), NotFound | ConnectionRefused | Unsupported)
}

/// It was there, and is no more.
pub(crate) fn broken(error: &hyper::Error) -> ClientError {
    ClientError::Broken(format!("the connection broke: {error}"))
}

/// The error of a server whose identity could not be verified.
fn untrusted(address: &Address, cause: &rustls::Error) -> ClientError {
    use rustls::CertificateError::{
        self, BadSignature, Expired, ExpiredContext, NotValidForName, NotValidForNameContext,
        NotValidYet, NotValidYetContext, UnknownIssuer,
    };
    let why = match cause {
        rustls::Error::InvalidCertificate(UnknownIssuer | BadSignature) => {
            "its certificate is from an authority that is not trusted here: name that authority's \
             file with `hook.tls_ca` for hooks, --tls-ca for commands, or $SSL_CERT_FILE"
                .to_owned()
        }
        rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => {
            format!("its certificate is for another name ({cause})")
        }
        rustls::Error::InvalidCertificate(
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. },
        ) => format!(
            "by the clock of this machine its certificate is not valid now: is the clock wrong, or \
             was it not renewed? ({cause})"
        ),
        // `openssl req -x509` makes one of these unless it is told otherwise.
        rustls::Error::InvalidCertificate(CertificateError::Other(_)) => format!(
            "its certificate is not one for a server; it may be that of an authority \
             (`CA:TRUE`) ({cause})"
        ),
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

/// A connection.
pub(crate) type Connected = Box<dyn Stream>;

/// A stream of bytes in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn connect(address: &Address, tls: Option<&Arc<ClientConfig>>) -> io::Result<Connected> {
    match address {
        Address::Socket(path) => socket(path).await,
        Address::Plain { host, port } => Ok(Box::new(tcp(host, *port).await?)),
        Address::Tls { host, port } => {
            let tls = tls.ok_or_else(|| io::Error::other("TLS is not set up"))?;
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
async fn socket(path: &Path) -> io::Result<Connected> {
    let name = countersign_server::SocketName::of(path)?;
    Ok(Box::new(tokio::net::UnixStream::connect(name.path()).await?))
}

#[cfg(not(unix))]
async fn socket(_: &Path) -> io::Result<Connected> {
    let why = "this system has no such sockets: name a URL with --server";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{CertificateError, OtherError};

    use super::*;

    fn said(cause: CertificateError) -> String {
        let address = Address::parse("https://gate.example.com").unwrap();
        untrusted(&address, &rustls::Error::InvalidCertificate(cause)).to_string()
    }

    #[test]
    fn a_certificate_that_cannot_be_used_is_explained_in_words() {
        let other = OtherError(Arc::new(io::Error::other("CaUsedAsEndEntity")));
        let text = said(CertificateError::Other(other));
        assert!(text.contains("an authority (`CA:TRUE`)"), "{text}");
        for cause in [CertificateError::Expired, CertificateError::NotValidYet] {
            let text = said(cause);
            assert!(text.contains("is the clock wrong"), "{text}");
        }
    }
}
