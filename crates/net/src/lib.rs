//! Reaches other machines only at addresses that were judged.
//!
//! A name is asked for once. Its answers are judged together with the URL, and the connection is
//! made to those very addresses: a name server that answers differently a moment later (DNS
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

mod resolve;
pub mod trust;

pub use resolve::{Resolve, System};

/// How often a destination may send on to another.
pub const MOST_REDIRECTS: u8 = 10;

/// A place that was judged and may be connected to.
#[derive(Debug, Clone)]
pub struct Destination {
    url: Url,
    addresses: Vec<SocketAddr>,
    redirects: u8,
}

/// By what a destination is judged.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// What is true around the request.
    pub context: &'a Context,
    /// The strictest verdict that somebody has agreed to: `Warn` when nobody was asked.
    pub agreed: Verdict,
}

/// Why there is no destination.
#[derive(Debug, thiserror::Error)]
pub enum RefusedError {
    /// The judgement is stricter than what was agreed to.
    #[error("refused: {}", .0.reason)]
    Judged(Box<Judgement>),
    /// The URL cannot be read, or names no machine.
    #[error("`{0}` is no address that can be connected to")]
    Unreadable(String),
    /// The name has no address, or nobody answered.
    #[error("cannot find `{domain}`: {cause}")]
    Unresolved {
        /// The name.
        domain: String,
        /// What the name server said.
        cause: io::Error,
    },
    /// One redirect too many.
    #[error("sent on more than {MOST_REDIRECTS} times")]
    Redirects,
}

impl Destination {
    /// Resolves and judges a URL.
    ///
    /// # Errors
    /// The URL cannot be read or resolved, or is judged more strictly than was agreed to.
    pub fn new(url: &str, terms: Terms<'_>, resolver: &impl Resolve) -> Result<Self, RefusedError> {
        let base = terms.context.base_url.as_deref().and_then(|base| Url::parse(base).ok());
        let parsed = Url::options()
            .base_url(base.as_ref())
            .parse(url)
            .map_err(|_| RefusedError::Unreadable(url.to_owned()))?;
        Self::judged(parsed, 0, terms, resolver)
    }

    /// Where this destination sends on to: read from here, and judged like the first.
    ///
    /// # Errors
    /// As for [`Destination::new`], or this was one redirect too many.
    pub fn redirect(
        &self,
        location: &str,
        terms: Terms<'_>,
        resolver: &impl Resolve,
    ) -> Result<Self, RefusedError> {
        let redirects = self.redirects.saturating_add(1);
        if redirects > MOST_REDIRECTS {
            return Err(RefusedError::Redirects);
        }
        let url =
            self.url.join(location).map_err(|_| RefusedError::Unreadable(location.to_owned()))?;
        Self::judged(url, redirects, terms, resolver)
    }

    /// The URL as a browser would write it.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// The addresses that were judged, and the only ones to connect to. An HTTP client is given
    /// these as what the name resolves to.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Connects to the first of the judged addresses that answers.
    ///
    /// # Errors
    /// None of them does in time.
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
        terms: Terms<'_>,
        resolver: &impl Resolve,
    ) -> Result<Self, RefusedError> {
        // Judged before anybody is asked for the name: a question is a message too.
        admit(&url, terms, &[])?;
        let addresses = addresses(&url, resolver)?;
        let found: Vec<_> = addresses.iter().map(SocketAddr::ip).collect();
        admit(&url, terms, &found)?;
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

/// Whether a URL with these addresses is judged no stricter than was agreed to.
fn admit(url: &Url, terms: Terms<'_>, addresses: &[IpAddr]) -> Result<(), RefusedError> {
    let mut context = terms.context.clone();
    if let Some(domain) = url.domain() {
        let texts = addresses.iter().map(IpAddr::to_string).collect();
        context.addresses.insert(domain.trim_end_matches('.').to_owned(), texts);
    }
    let action = Action::Navigate { url: url.as_str().to_owned() };
    let judgement = judge(&action, terms.policy, &context);
    if judgement.verdict <= terms.agreed {
        Ok(())
    } else {
        Err(RefusedError::Judged(Box::new(judgement)))
    }
}

#[cfg(test)]
mod tests;
