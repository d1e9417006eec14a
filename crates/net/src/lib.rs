//! Connects to other machines only at addresses that were judged.
//!
//! A name is resolved once. Its addresses are judged together with the URL, and the connection is
//! made to exactly those addresses: a name server that answers differently a moment later (DNS
//! rebinding) is not asked again. Every redirect is a new destination and goes the same way.
//!
//! ```text
//! url ──resolve──► addresses ──judge──► Destination ──connect──► one of those addresses
//!                                            │
//!                                            └──redirect──► resolve, judge … again
//! ```
//!
//! INVARIANT: only [`Destination::new`] and [`Destination::redirect`] make a [`Destination`], and
//! both judge it first. Nothing here decides: verdicts come from `countersign-core`.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use countersign_core::{Action, Context, Judgement, Policy, Verdict, judge};
use url::{Host, Url};

pub mod http;
mod resolve;
pub mod trust;

pub use resolve::{Resolve, System};

/// The number of redirects that are followed from one destination.
pub const MOST_REDIRECTS: u8 = 10;

/// A destination that was judged and may be connected to.
#[derive(Debug, Clone)]
pub struct Destination {
    url: Url,
    addresses: Vec<SocketAddr>,
    redirects: u8,
}

/// The policy and context by which a destination is judged.
#[derive(Debug, Clone, Copy)]
pub struct JudgeWith<'a> {
    /// The policy to judge by.
    pub policy: &'a Policy,
    /// The context of the request.
    pub context: &'a Context,
    /// The strictest verdict that was approved: `Warn` when nobody was asked.
    pub agreed: Verdict,
}

/// The reason for which a destination was refused.
#[derive(Debug, thiserror::Error)]
pub enum RefusedError {
    /// The judgement is stricter than the approved verdict.
    #[error("refused: {}", .0.reason)]
    Judged(Box<Judgement>),
    /// The URL cannot be parsed, or does not name a machine.
    #[error("`{0}` is not an address to connect to")]
    Unreadable(String),
    /// The name does not resolve to an address, or no name server answered.
    #[error("cannot find `{domain}`: {cause}")]
    Unresolved {
        /// The name that was looked up.
        domain: String,
        /// The error of the name server.
        cause: io::Error,
    },
    /// There were too many redirects.
    #[error("sent on more than {MOST_REDIRECTS} times")]
    Redirects,
}

impl Destination {
    /// Resolves and judges a URL.
    ///
    /// # Errors
    /// The URL cannot be parsed or resolved, or is judged more strictly than was approved.
    pub fn new(
        url: &str,
        judge_with: JudgeWith<'_>,
        resolver: &impl Resolve,
    ) -> Result<Self, RefusedError> {
        let base = judge_with.context.base_url.as_deref().and_then(|base| Url::parse(base).ok());
        let parsed = Url::options()
            .base_url(base.as_ref())
            .parse(url)
            .map_err(|_| RefusedError::Unreadable(url.to_owned()))?;
        Self::judged(parsed, 0, judge_with, resolver)
    }

    /// Resolves a redirect relative to this destination, and judges it like the first URL.
    ///
    /// # Errors
    /// As for [`Destination::new`], or there were too many redirects.
    pub fn redirect(
        &self,
        location: &str,
        judge_with: JudgeWith<'_>,
        resolver: &impl Resolve,
    ) -> Result<Self, RefusedError> {
        let redirects = self.redirects.saturating_add(1);
        if redirects > MOST_REDIRECTS {
            return Err(RefusedError::Redirects);
        }
        let url =
            self.url.join(location).map_err(|_| RefusedError::Unreadable(location.to_owned()))?;
        Self::judged(url, redirects, judge_with, resolver)
    }

    /// Returns the URL as a browser would write it.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the addresses that were judged, and the only ones to connect to. An HTTP client must
    /// use them instead of resolving the name.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Connects to the first of the judged addresses that answers.
    ///
    /// # Errors
    /// None of them answers in time.
    pub fn connect(&self, timeout: Duration) -> io::Result<TcpStream> {
        let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in &self.addresses {
            match TcpStream::connect_timeout(address, timeout) {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn judged(
        url: Url,
        redirects: u8,
        judge_with: JudgeWith<'_>,
        resolver: &impl Resolve,
    ) -> Result<Self, RefusedError> {
        // Judged before the name is resolved: a DNS query is a message too.
        admit(&url, judge_with, &[])?;
        let addresses = addresses(&url, resolver)?;
        let found: Vec<_> = addresses.iter().map(SocketAddr::ip).collect();
        admit(&url, judge_with, &found)?;
        Ok(Self { url, addresses, redirects })
    }
}

fn addresses(url: &Url, resolver: &impl Resolve) -> Result<Vec<SocketAddr>, RefusedError> {
    let unreadable = || RefusedError::Unreadable(url.as_str().to_owned());
    let port = url.port_or_known_default().ok_or_else(unreadable)?;
    let found = match url.host().ok_or_else(unreadable)? {
        Host::Ipv4(address) => vec![IpAddr::V4(address)],
        Host::Ipv6(address) => vec![IpAddr::V6(address)],
        Host::Domain(domain) => resolver
            .resolve(domain)
            .map_err(|cause| RefusedError::Unresolved { domain: domain.to_owned(), cause })?,
    };
    if found.is_empty() {
        let cause = io::Error::from(io::ErrorKind::NotFound);
        let domain = url.host_str().unwrap_or_default().to_owned();
        return Err(RefusedError::Unresolved { domain, cause });
    }
    Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}

/// Checks that a URL with these addresses is not judged more strictly than was approved.
fn admit(url: &Url, judge_with: JudgeWith<'_>, addresses: &[IpAddr]) -> Result<(), RefusedError> {
    let mut context = judge_with.context.clone();
    if let Some(domain) = url.domain() {
        let texts = addresses.iter().map(IpAddr::to_string).collect();
        context.addresses.insert(domain.trim_end_matches('.').to_owned(), texts);
    }
    let action = Action::Navigate { url: url.as_str().to_owned() };
    let judgement = judge(&action, judge_with.policy, &context);
    if judgement.verdict <= judge_with.agreed {
        Ok(())
    } else {
        Err(RefusedError::Judged(Box::new(judgement)))
    }
}

#[cfg(test)]
mod tests;
