//! Connections: accepting them, their time limits, and shutting them down.
//!
//! ```text
//! TCP, TLS or the local socket ──► head within 10 s ──► router
//! stop: drain, accept no more, tell live ones, let requests in progress end, then close all
//! ```

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use countersign_gate::caller::Peer;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::activation::Inherited;
use crate::app::App;
use crate::auth::Remote;
use crate::framing;
use crate::settings::own_name;
use crate::site::Site;
#[cfg(unix)]
use crate::socket::SocketName;
use crate::tls::{Certificates, TlsError};

/// The reason that the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Traffic over the network must be encrypted.
    #[error(
        "`{0}` can be reached from other machines: set TLS, or accept with --danger-plain-http \
         that anyone in between can read and change everything"
    )]
    PlainHttp(SocketAddr),
    /// The address cannot be used.
    #[error("cannot listen on `{address}`: {cause}")]
    Address {
        /// The address.
        address: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// The public address is not one that pages can be under.
    #[error(
        "`{0}` is not an address that pages can be under: write `https://name` or \
         `http://name:port`, without a path"
    )]
    Url(String),
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A server that listens but does not accept requests yet.
pub struct Bound {
    app: App,
    tcp: TcpListener,
    address: SocketAddr,
    certificates: Option<Arc<Certificates>>,
    fingerprint: Option<String>,
    #[cfg(unix)]
    local: Option<Local>,
}

/// The local socket.
#[cfg(unix)]
struct Local {
    listener: UnixListener,
    /// The file to remove at the end; `None` if the socket belongs to the service manager.
    file: Option<PathBuf>,
}

/// Listens on the addresses in the app's settings.
///
/// # Errors
/// An address cannot be used, or must not be.
pub async fn bind(app: App) -> Result<Bound, ListenError> {
    bind_inherited(app, Inherited::default()).await
}

/// Listens on the inherited sockets, and otherwise on the addresses in the app's settings.
///
/// # Errors
/// An address cannot be used, or must not be.
pub async fn bind_inherited(app: App, inherited: Inherited) -> Result<Bound, ListenError> {
    let settings = &app.settings;
    let wrong = |cause| ListenError::Address { address: settings.listen.to_string(), cause };
    let address = match &inherited.tcp {
        Some(tcp) => tcp.local_addr().map_err(wrong)?,
        None => settings.listen,
    };
    if settings.tls.is_none() && !settings.danger_plain_http && !address.ip().is_loopback() {
        return Err(ListenError::PlainHttp(address));
    }
    if let Some(url) = settings.url.as_ref().filter(|url| own_name(url).is_none()) {
        return Err(ListenError::Url(url.clone()));
    }
    let encryption =
        settings.tls.as_ref().map(|tls| Certificates::open(tls, &settings.names)).transpose()?;
    let tcp = match inherited.tcp {
        Some(tcp) => tcp.set_nonblocking(true).and_then(|()| TcpListener::from_std(tcp)),
        None => TcpListener::bind(address).await,
    };
    let tcp = tcp.map_err(wrong)?;
    let address = tcp.local_addr().map_err(wrong)?;
    #[cfg(unix)]
    let local = match (inherited.local, &settings.socket) {
        (Some(local), _) => {
            let listener = local.set_nonblocking(true).and_then(|()| UnixListener::from_std(local));
            Some(Local { listener: listener.map_err(wrong)?, file: None })
        }
        (None, Some(path)) => {
            Some(Local { listener: local(path).await?, file: Some(path.clone()) })
        }
        (None, None) => None,
    };
    let (certificates, fingerprint) = encryption.unzip();
    let certificates = certificates.map(Arc::new);
    Ok(Bound {
        app,
        tcp,
        address,
        certificates,
        fingerprint,
        #[cfg(unix)]
        local,
    })
}

/// Opens the local socket, for the server's own user alone. One left behind by a dead server is
/// replaced; one that answers is not.
#[cfg(unix)]
async fn local(path: &Path) -> Result<UnixListener, ListenError> {
    use std::os::unix::fs::PermissionsExt as _;
    let wrong = |cause| ListenError::Address { address: path.display().to_string(), cause };
    let name = SocketName::of(path).map_err(wrong)?;
    if tokio::net::UnixStream::connect(name.path()).await.is_ok() {
        let cause = io::Error::new(io::ErrorKind::AddrInUse, "another server answers there");
        return Err(wrong(cause));
    }
    match std::fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(wrong(error)),
    }
    let listener = UnixListener::bind(name.path()).map_err(wrong)?;
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, private).map_err(wrong)?;
    Ok(listener)
}

impl Bound {
    /// The address it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address under which people reach it.
    #[must_use]
    pub fn url(&self) -> String {
        if let Some(url) = &self.app.settings.url {
            return url.trim_end_matches('/').to_owned();
        }
        let scheme = if self.certificates.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The fingerprint of its certificate, for people to compare.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// The certificate in use, if there is one, for reloading.
    #[must_use]
    pub fn certificates(&self) -> Option<Arc<Certificates>> {
        self.certificates.clone()
    }

    /// Accepts requests until told to stop, and for the configured drain time after that; then lets
    /// the requests in progress end.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let limits = self.app.settings.limits;
        let site = Site::new(&self.app);
        let places = Arc::new(Semaphore::new(limits.connections));
        let mut open = JoinSet::new();
        let stop = async {
            stop.await;
            self.app.drain();
            tokio::time::sleep(limits.drain()).await;
        };
        tokio::pin!(stop);
        loop {
            // A connection without a permit waits in the operating system's queue.
            let place = Arc::clone(&places).acquire_owned();
            let accepted = tokio::select! {
                () = &mut stop => break,
                Some(_) = open.join_next() => continue,
                accepted = self.accept(place) => accepted,
            };
            match accepted {
                Ok((stream, place)) => {
                    let connection = Connection { app: self.app.clone(), site: site.clone() };
                    let tls = self.certificates.as_ref();
                    let tls = tls.map(|certificates| TlsAcceptor::from(certificates.current()));
                    open.spawn(connection.serve(stream, tls, place));
                }
                Err(error) => {
                    // Usually the process has run out of file descriptors: only waiting helps.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        self.app.stop();
        drop(self.tcp);
        #[cfg(unix)]
        if let Some(path) = self.local.as_ref().and_then(|local| local.file.as_ref()) {
            let _ = std::fs::remove_file(path);
        }
        let all = async {
            while open.join_next().await.is_some() {}
            // A WebSocket has left its connection's task, and sends its close frame in a task of
            // its own.
            while self.app.metrics.is_live() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(limits.shutdown(), all).await.is_err() {
            tracing::warn!("connections that did not end were closed");
        }
    }

    async fn accept(
        &self,
        place: impl Future<Output = Result<OwnedSemaphorePermit, tokio::sync::AcquireError>>,
    ) -> io::Result<(Stream, OwnedSemaphorePermit)> {
        let place = place.await.map_err(|_| io::Error::other("the server ends"))?;
        #[cfg(unix)]
        if let Some(Local { listener: local, .. }) = &self.local {
            return tokio::select! {
                tcp = self.tcp.accept() => Ok((Stream::Tcp(tcp?.0), place)),
                unix = local.accept() => Ok((Stream::Unix(unix?.0), place)),
            };
        }
        Ok((Stream::Tcp(self.tcp.accept().await?.0), place))
    }
}

enum Stream {
    Tcp(tokio::net::TcpStream),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

struct Connection {
    app: App,
    site: Site,
}

impl Connection {
    async fn serve(self, stream: Stream, tls: Option<TlsAcceptor>, place: OwnedSemaphorePermit) {
        let app = self.app.clone();
        let _open = app.metrics.connection();
        let head = app.settings.limits.head();
        match (stream, tls) {
            (Stream::Tcp(stream), None) => {
                let _ = stream.set_nodelay(true);
                let proxied = self.app.settings.is_https();
                self.speak(stream, Remote { proxied, ..Remote::default() }).await;
            }
            (Stream::Tcp(stream), Some(tls)) => {
                let _ = stream.set_nodelay(true);
                // A client that does not finish the handshake is dropped.
                if let Ok(Ok(stream)) = tokio::time::timeout(head, tls.accept(stream)).await {
                    self.speak(stream, Remote { encrypted: true, ..Remote::default() }).await;
                }
            }
            #[cfg(unix)]
            (Stream::Unix(stream), _) => {
                let peer = stream.peer_cred().ok().and_then(|credentials| {
                    let pid = u32::try_from(credentials.pid()?).ok()?;
                    // The start time is read now, because the process id may be reused later.
                    Some(Peer::of(pid, credentials.uid(), self.app.gate.processes()))
                });
                self.speak(stream, Remote { peer, ..Remote::default() }).await;
            }
        }
        drop(place);
    }

    async fn speak<S>(self, stream: S, remote: Remote)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let site = self.site;
        let (stream, heads) = framing::watch(stream);
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let (site, heads) = (site.clone(), heads.clone());
            let mut request = request.map(Body::new);
            // The default is not inserted: a missing extension means the same.
            if remote != Remote::default() {
                request.extensions_mut().insert(remote);
            }
            async move {
                let response = site.answer(request).await;
                if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                    heads.end();
                }
                Ok::<_, Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.app.settings.limits.head())
            .max_buf_size(64 * 1024)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        tokio::pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return,
            () = self.app.stopped() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}
