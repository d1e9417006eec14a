//! One HTTP/1.1 exchange with a judged destination.
//!
//! Written by hand over rustls, for three reasons: the connection goes to exactly the addresses
//! that were judged; no environment variable puts a proxy in between; and nothing logs a URL, which
//! can contain a secret. There are no cookies, no redirects that are followed by themselves, and no
//! second request on a connection.
//!
//! INVARIANT: no error made here contains any part of the URL or of the request.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use url::Host;

use crate::Destination;

mod answer;

/// The longest time to connect to one address.
const CONNECTING: Duration = Duration::from_secs(5);

/// The longest time between two looks at whether the exchange is still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// A request that is ready to be sent.
pub struct Exchange<'a> {
    /// The encryption for `https`.
    pub tls: &'a Arc<ClientConfig>,
    /// The request line and headers, with the empty line that ends them.
    pub head: &'a str,
    /// The body.
    pub body: &'a [u8],
    /// The kind of body that the response to it has.
    pub expects: Expects,
    /// The most bytes of the response's body that are read.
    pub most_bytes: usize,
    /// The time at which the exchange is given up.
    pub until: Instant,
    /// Reports whether the exchange is no longer wanted.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("until", &self.until).finish_non_exhaustive()
    }
}

/// The kind of body that the response to a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expects {
    /// One as its headers describe it.
    Body,
    /// None, whatever its headers say: the request was `HEAD`.
    HeadersOnly,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Its headers, with names in lower case; those that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// Its body, as far as it may be read.
    pub body: Vec<u8>,
    /// False where the body was longer, or was cut off.
    pub whole: bool,
}

impl Response {
    /// The first header of this name, which must be in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Destination {
    /// Sends one request to one of the judged addresses and reads the response.
    ///
    /// # Errors
    /// No address answers in time, the certificate is not trusted (`InvalidData`, with the error of
    /// rustls), the response is not HTTP (`Unsupported`), or the exchange was cancelled
    /// (`ConnectionAborted`).
    pub fn exchange(&self, exchange: &Exchange<'_>) -> io::Result<Response> {
        let stream = self.connect_until(exchange)?;
        if self.url().scheme() == "http" {
            return answer::speak(stream, exchange);
        }
        let name = match self.url().host().ok_or(io::ErrorKind::InvalidInput)? {
            Host::Domain(domain) => ServerName::try_from(domain.trim_end_matches('.').to_owned())
                .map_err(|_| io::ErrorKind::InvalidInput)?,
            Host::Ipv4(address) => ServerName::from(IpAddr::V4(address)),
            Host::Ipv6(address) => ServerName::from(IpAddr::V6(address)),
        };
        let connection =
            ClientConnection::new(Arc::clone(exchange.tls), name).map_err(io::Error::other)?;
        answer::speak(StreamOwned::new(connection, stream), exchange)
    }

    fn connect_until<'a>(&self, exchange: &'a Exchange<'_>) -> io::Result<Timed<'a>> {
        let (until, cancelled) = (exchange.until, exchange.cancelled);
        let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in self.addresses() {
            match TcpStream::connect_timeout(address, left(until)?.min(CONNECTING)) {
                Ok(stream) => return Ok(Timed { stream, until, cancelled }),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }
}

/// Reports whether an exchange failed because the server's certificate is not trusted.
#[must_use]
pub fn is_certificate(cause: &io::Error) -> bool {
    let cause = cause.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(cause, Some(rustls::Error::InvalidCertificate(_)))
}

/// A stream with a deadline, so that a slow server cannot hold a thread.
struct Timed<'a> {
    stream: TcpStream,
    until: Instant,
    cancelled: &'a dyn Fn() -> bool,
}

impl Timed<'_> {
    /// Does something that waits, again and again until it is done, too late or not wanted.
    fn patiently(
        &mut self,
        mut something: impl FnMut(&mut TcpStream, Duration) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            if (self.cancelled)() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let wait = left(self.until)?.min(LOOK);
            match something(&mut self.stream, wait) {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) => {}
                other => return other,
            }
        }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.patiently(|stream, wait| {
            stream.set_read_timeout(Some(wait))?;
            stream.read(buffer)
        })
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.patiently(|stream, wait| {
            stream.set_write_timeout(Some(wait))?;
            stream.write(buffer)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
