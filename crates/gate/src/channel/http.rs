//! A small HTTP client for channels: one POST to a checked address, one bounded answer.
//!
//! The exchange itself is `countersign_net::http`, which goes to exactly the addresses that were
//! checked and logs no URL: for Telegram it contains the bot's token. Redirects are not followed.
//! Certificates are checked against Mozilla's roots.
//!
//! INVARIANT: no error made here contains any part of the URL or of the request.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_core::{Context, Policy, Verdict};
use countersign_net::http::{Exchange, Expects, is_certificate};
use countersign_net::{Destination, JudgeWith, RefusedError, Resolve, System};
use rustls::{ClientConfig, RootCertStore};
use url::{Host, Url};
use zeroize::Zeroizing;

use super::SendError;

/// The longest time for one exchange in all.
pub(super) const TIMEOUT: Duration = Duration::from_secs(15);

/// The most bytes of an answer that are read.
pub(super) const MOST_BYTES: usize = 64 * 1_024;

/// The message for an address that was checked and refused.
pub(super) const OUT_OF_REACH: &str = "the server is at an address that may not be reached";

/// The addresses that a channel may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// HTTPS, to the public internet.
    Public,
    /// Plain HTTP and machines inside the network as well. Never a cloud's metadata service.
    DangerAnywhere,
}

impl Reach {
    pub(super) const fn danger(anywhere: bool) -> Self {
        if anywhere { Self::DangerAnywhere } else { Self::Public }
    }
}

/// A client for one server.
pub(super) struct Client {
    base: Url,
    reach: Reach,
    resolver: Box<dyn Resolver>,
    tls: Arc<ClientConfig>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("reach", &self.reach).finish_non_exhaustive()
    }
}

/// A resolver that can be stored.
pub(super) trait Resolver: Send + Sync {
    fn addresses(&self, domain: &str) -> io::Result<Vec<IpAddr>>;
}

impl<R: Resolve + Send + Sync> Resolver for R {
    fn addresses(&self, domain: &str) -> io::Result<Vec<IpAddr>> {
        self.resolve(domain)
    }
}

struct Asking<'a>(&'a dyn Resolver);

impl Resolve for Asking<'_> {
    fn resolve(&self, domain: &str) -> io::Result<Vec<IpAddr>> {
        self.0.addresses(domain)
    }
}

/// A request.
pub(super) struct Request<'a> {
    /// The path after the base URL; empty for the base itself.
    pub(super) path: &'a str,
    pub(super) headers: &'a [(&'a str, &'a str)],
    /// The JSON body.
    pub(super) body: &'a [u8],
    pub(super) timeout: Duration,
    pub(super) most_bytes: usize,
}

impl<'a> Request<'a> {
    pub(super) const fn json(body: &'a [u8]) -> Self {
        Self { path: "", headers: &[], body, timeout: TIMEOUT, most_bytes: MOST_BYTES }
    }
}

/// A response.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    /// The body, as far as it may be read.
    pub(super) body: Vec<u8>,
}

impl Response {
    /// Maps the status to the message's delivery.
    pub(super) fn delivered(&self) -> Result<(), SendError> {
        match self.status {
            200..=299 => Ok(()),
            300..=399 => {
                Err(SendError::Never("the server redirects, which is not followed".into()))
            }
            410 => Err(SendError::Never("the receiver is gone (410)".into())),
            408 | 429 | 500..=599 => Err(SendError::Later(self.retry_after)),
            status => Err(SendError::Never(format!("the server refused it ({status})"))),
        }
    }
}

/// Checks a URL without any connection: a URL whose text alone shows that it must not be reached is
/// refused. The addresses of a name are checked with every request.
///
/// # Errors
/// It cannot be read, or may not be reached.
pub(super) fn check(url: &str, reach: Reach) -> Result<(), &'static str> {
    let base = readable(url, reach)?;
    match base.host() {
        Some(Host::Domain(name)) if reach == Reach::Public && is_local(name) => Err(OUT_OF_REACH),
        Some(Host::Domain(_)) => Ok(()),
        // An address is checked as it is, because it needs no resolving.
        _ => destination(&base, reach, &Unasked).map(drop).map_err(|_| OUT_OF_REACH),
    }
}

/// Resolves nothing.
struct Unasked;

impl Resolve for Unasked {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Reports whether a name never leads out of the machine or its network.
fn is_local(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let below = |top: &str| name == top || name.ends_with(&format!(".{top}"));
    ["localhost", "local", "internal", "home.arpa"].into_iter().any(below)
}

/// Parses a URL that names a server, with a scheme that is allowed.
fn readable(url: &str, reach: Reach) -> Result<Url, &'static str> {
    let base = Url::parse(url).map_err(|_| "its URL cannot be read")?;
    match (base.scheme(), reach) {
        ("https", _) | ("http", Reach::DangerAnywhere) => {}
        _ => return Err("its URL must begin with https"),
    }
    if base.host().is_none() || !base.username().is_empty() || base.password().is_some() {
        return Err("its URL must name a server, and no user");
    }
    Ok(base)
}

/// Resolved and judged by its place alone: what comes after the place can be a secret, and is not
/// the judge's business.
pub(super) fn destination(
    base: &Url,
    reach: Reach,
    resolver: &dyn Resolver,
) -> Result<Destination, RefusedError> {
    let mut place = base.clone();
    place.set_path("/");
    place.set_query(None);
    place.set_fragment(None);
    let allowed_origins = match reach {
        Reach::Public => None,
        Reach::DangerAnywhere => Some(base.host_str().map(str::to_owned).into_iter().collect()),
    };
    let context = Context { allowed_origins, ..Context::default() };
    let policy = Policy::default();
    let judge_with = JudgeWith { policy: &policy, context: &context, agreed: Verdict::Warn };
    Destination::new(place.as_str(), judge_with, &Asking(resolver))
}

impl Client {
    /// A client for the server of a URL.
    ///
    /// # Errors
    /// The URL is not one that may be reached.
    pub(super) fn new(base: &str, reach: Reach) -> Result<Self, &'static str> {
        Self::with(base, reach, Box::new(System), mozilla_roots())
    }

    pub(super) fn with(
        base: &str,
        reach: Reach,
        resolver: Box<dyn Resolver>,
        roots: RootCertStore,
    ) -> Result<Self, &'static str> {
        let base = readable(base, reach)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| "TLS cannot be set up")?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { base, reach, resolver, tls: Arc::new(tls) })
    }

    /// Posts a request.
    ///
    /// # Errors
    /// The server did not answer, or the address may not be reached.
    pub(super) fn post(&self, request: &Request<'_>) -> Result<Response, SendError> {
        let destination = self.destination()?;
        let until = Instant::now() + request.timeout;
        // A failure on the way may pass. Its reason is not passed on, because such texts contain
        // addresses.
        self.exchange(&destination, request, until).map_err(|cause| match cause.kind() {
            io::ErrorKind::InvalidInput => SendError::Never("it cannot be sent by HTTP".into()),
            io::ErrorKind::InvalidData if is_certificate(&cause) => {
                SendError::Never("the server's certificate is not trusted".into())
            }
            _ => SendError::Later(None),
        })
    }

    /// Resolves and checks the address again for every request.
    fn destination(&self) -> Result<Destination, SendError> {
        destination(&self.base, self.reach, &*self.resolver).map_err(|refused| match refused {
            RefusedError::Unresolved { .. } => SendError::Later(None),
            RefusedError::Judged(_) | RefusedError::Unreadable(_) | RefusedError::Redirects => {
                SendError::Never(OUT_OF_REACH.to_owned())
            }
        })
    }

    fn exchange(
        &self,
        destination: &Destination,
        request: &Request<'_>,
        until: Instant,
    ) -> io::Result<Response> {
        let head = self.head(request)?;
        let response = destination.exchange(&Exchange {
            tls: &self.tls,
            head: &head,
            body: request.body,
            expects: Expects::Body,
            most_bytes: request.most_bytes,
            until,
            cancelled: &|| false,
        })?;
        let seconds = response.header("retry-after").and_then(|text| text.trim().parse().ok());
        let retry_after = seconds.map(Duration::from_secs);
        Ok(Response { status: response.status, retry_after, body: response.body })
    }

    /// A capacity large enough that the head never reallocates while it is written, which would
    /// leave an unwiped copy behind.
    fn head_size(&self, request: &Request<'_>) -> usize {
        let headers = request.headers.iter().map(|(name, value)| name.len() + value.len() + 4);
        2 * self.base.as_str().len() + request.path.len() + headers.sum::<usize>() + 512
    }

    /// The head of the request, wiped after use because the path or a header may contain a token.
    fn head(&self, request: &Request<'_>) -> io::Result<Zeroizing<String>> {
        let mut head = Zeroizing::new(String::with_capacity(self.head_size(request)));
        let domain = self.base.host_str().unwrap_or_default();
        let port = self.base.port().map(|port| format!(":{port}")).unwrap_or_default();
        let length = request.body.len().to_string();
        head.extend(["POST ", self.base.path(), request.path]);
        head.extend(self.base.query().into_iter().flat_map(|query| ["?", query]));
        head.extend([" HTTP/1.1\r\nhost: ", domain, &port, "\r\ncontent-length: ", &length]);
        head.push_str("\r\ncontent-type: application/json\r\nconnection: close\r\n");
        head.push_str(concat!("user-agent: countersign/", env!("CARGO_PKG_VERSION"), "\r\n"));
        for (name, value) in request.headers {
            // A line break would begin another header, or another request.
            if value.bytes().any(|byte| !matches!(byte, b' '..=b'~')) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str("\r\n");
        Ok(head)
    }
}

pub(super) fn mozilla_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

#[cfg(test)]
mod tests;
