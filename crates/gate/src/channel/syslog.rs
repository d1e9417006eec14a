//! Syslog, as RFC 5424 writes messages and RFC 5425 sends them over TLS.
//!
//! The receiver proves its name by a certificate before it is told anything, so that its address
//! may be inside the network. A connection stays open; one that the receiver has closed is noticed
//! soon after. What was sent shortly before a break is sent again, because syslog
//! confirms nothing; a record that comes twice has the same number twice.
//!
//! INVARIANT: nothing is sent to anybody whose certificate was not verified.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_net::System;
use countersign_net::trust::{self, OwnCertificate, Trust};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde::Deserialize;
use url::{Host, Url};

use super::http::{self, Reach};
use super::sink::{Feed, Sink, SinkError};
use super::subscription::Records;
use super::{AnswerSink, Audience, ChannelError, ChannelKind, Opened};
use crate::audit::Record;
use crate::clock::Clock;

mod message;

pub use message::Facility;

const NAME: &str = "syslog";

/// The port of syslog over TLS.
const PORT: u16 = 6514;
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);
/// How long the other side may keep one message or handshake waiting.
const STALLS_FOR: Duration = Duration::from_secs(10);
/// How long a message may have been on its way when its connection broke.
const ON_ITS_WAY: Duration = Duration::from_secs(30);
/// The most messages that are sent again after a break.
const MOST_AGAIN: usize = 10_000;
/// How long a server may take to turn our certificate down, which it does behind the handshake.
const TURNS_DOWN_WITHIN: Duration = Duration::from_millis(500);

/// How a syslog server is reached.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SyslogChannel"))]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The server, like `logs.example.com` or `logs.example.com:6514`.
    pub server: String,
    /// The certificate authority of that server, as a PEM file. With it no other one is trusted;
    /// without it those of the system, or of `$SSL_CERT_FILE`, are.
    #[serde(default)]
    pub tls_ca: Option<PathBuf>,
    /// A certificate to show to the server, as a PEM file.
    #[serde(default)]
    pub certificate: Option<PathBuf>,
    /// The private key of that certificate, as a PEM file.
    #[serde(default)]
    pub key: Option<PathBuf>,
    /// Under which facility messages come: `audit` unless said.
    #[serde(default)]
    pub facility: Facility,
}

impl ChannelKind for Settings {
    const AUDIENCE: Audience = Audience::Everybody;

    fn check(&self) -> Result<(), &'static str> {
        place(&self.server)?;
        match (&self.certificate, &self.key) {
            (Some(_), Some(_)) | (None, None) => Ok(()),
            _ => Err("`certificate` and `key` of syslog belong together"),
        }
    }

    fn open(self, _: Arc<dyn Clock>, _: Arc<dyn AnswerSink>) -> Result<Opened, ChannelError> {
        let (sink, records) = (Box::new(Syslog::open(&self)?), Records::Every);
        let feed = Feed { sink, records, destination: self.server };
        Ok(Opened { channel: None, feed: Some(feed) })
    }
}

/// The place of a server as a URL, which nothing is asked for.
fn place(server: &str) -> Result<Url, &'static str> {
    const WRONG: &str = "the `server` of syslog is a name and perhaps a port, like \
                         `logs.example.com:6514`";
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    if server.is_empty() || !server.bytes().all(is_plain) {
        return Err(WRONG);
    }
    let mut url = Url::parse(&format!("https://{server}/")).map_err(|_| WRONG)?;
    // Read from the text: a URL with the port of HTTPS says none.
    let port = server.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(PORT);
    url.set_port(Some(port)).map_err(|()| WRONG)?;
    if url.host().is_none() { Err(WRONG) } else { Ok(url) }
}

/// A syslog server.
pub struct Syslog {
    place: Url,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
    source: message::Source,
    connection: Option<StreamOwned<ClientConnection, TcpStream>>,
    /// The latest messages: the number of the record, and when it was sent.
    sent: VecDeque<(u64, Instant)>,
}

impl fmt::Debug for Syslog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Syslog").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Syslog {
    /// Opens it; nothing is sent yet.
    ///
    /// # Errors
    /// The settings cannot work.
    pub fn open(settings: &Settings) -> Result<Self, ChannelError> {
        let problem = |problem| ChannelError::Settings { channel: NAME, problem };
        settings.check().map_err(problem)?;
        let place = place(&settings.server).map_err(problem)?;
        let name = match place.host() {
            Some(Host::Domain(domain)) => {
                ServerName::try_from(domain.trim_end_matches('.').to_owned())
                    .map_err(|_| problem("the name of its server cannot be in a certificate"))?
            }
            Some(Host::Ipv4(address)) => ServerName::from(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => ServerName::from(IpAddr::V6(address)),
            None => return Err(problem("it names no server")),
        };
        let trust = settings.tls_ca.as_deref().map_or(Trust::Usual, Trust::Only);
        let tls = match (&settings.certificate, &settings.key) {
            (Some(certificate), Some(key)) => {
                trust::client_with(trust, OwnCertificate { certificate, key })
            }
            _ => trust::client(trust),
        };
        let tls = tls.map_err(|error| ChannelError::Trust(NAME, error.to_string()))?;
        let source = message::Source::this_process(settings.facility);
        Ok(Self { place, name, tls, source, connection: None, sent: VecDeque::new() })
    }

    /// The connection, made anew if there is none that works.
    fn connected(&mut self) -> Result<&mut StreamOwned<ClientConnection, TcpStream>, SinkError> {
        self.check()?;
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        Ok(self.connection.insert(connection))
    }

    fn connect(&self) -> Result<StreamOwned<ClientConnection, TcpStream>, SinkError> {
        let destination = http::destination(&self.place, Reach::DangerAnywhere, &System)
            .map_err(|_| SinkError::later("its name is not found, or may not be reached"))?;
        let mut failed = SinkError::later("its name has no address");
        for address in destination.addresses() {
            let stream = TcpStream::connect_timeout(address, CONNECTS_WITHIN);
            match stream.and_then(|stream| self.encrypt(stream)) {
                Ok(connection) => return Ok(connection),
                Err(error) => failed = SinkError::later(reason(&error)),
            }
        }
        Err(failed)
    }

    /// Shakes hands, so that nothing is written before the server has proved who it is.
    fn encrypt(
        &self,
        mut stream: TcpStream,
    ) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        stream.set_read_timeout(Some(STALLS_FOR))?;
        stream.set_write_timeout(Some(STALLS_FOR))?;
        stream.set_nodelay(true)?;
        let mut connection = ClientConnection::new(Arc::clone(&self.tls), self.name.clone())
            .map_err(io::Error::other)?;
        let until = Instant::now() + STALLS_FOR;
        while connection.is_handshaking() {
            // A server that dribbles gets no more time than one that is silent.
            if Instant::now() >= until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            if connection.complete_io(&mut stream)? == (0, 0) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        stream.set_read_timeout(Some(TURNS_DOWN_WITHIN))?;
        match connection.read_tls(&mut stream) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {
                connection.process_new_packets().map_err(io::Error::other)?;
            }
            Err(error) if is_late(&error) => {}
            Err(error) => return Err(error),
        }
        stream.set_read_timeout(Some(STALLS_FOR))?;
        Ok(StreamOwned::new(connection, stream))
    }
}

impl Sink for Syslog {
    fn name(&self) -> &str {
        NAME
    }

    fn send(&mut self, record: &Record) -> Result<(), SinkError> {
        let message = self.source.message(record);
        // Counted in octets, and in one write with what it counts.
        let frame = format!("{} {message}", message.len());
        let connection = self.connected()?;
        let written = connection.write_all(frame.as_bytes()).and_then(|()| connection.flush());
        if let Err(error) = written {
            self.connection = None;
            return Err(SinkError::later(reason(&error)));
        }
        if self.sent.len() == MOST_AGAIN {
            self.sent.pop_front();
        }
        self.sent.push_back((record.number, Instant::now()));
        Ok(())
    }

    fn check(&mut self) -> Result<(), SinkError> {
        match self.connection.as_mut().map(state) {
            None | Some(State::Open) => Ok(()),
            Some(State::Ended) => {
                self.connection = None;
                self.sent.clear();
                Ok(())
            }
            Some(State::Broken) => {
                self.connection = None;
                Err(SinkError::later("the connection broke"))
            }
        }
    }

    fn first_unconfirmed(&mut self) -> Option<u64> {
        if self.connection.is_some() {
            return None;
        }
        let sent = std::mem::take(&mut self.sent);
        sent.iter().find(|(_, sent)| sent.elapsed() < ON_ITS_WAY).map(|(number, _)| *number)
    }
}

/// How a connection stands.
enum State {
    Open,
    /// The server has said goodbye: it has read what it was sent.
    Ended,
    Broken,
}

/// Looks whether a connection still stands. Syslog sends nothing back but what ends it.
fn state(connection: &mut StreamOwned<ClientConnection, TcpStream>) -> State {
    if connection.sock.set_nonblocking(true).is_err() {
        return State::Broken;
    }
    let state = match connection.read(&mut [0; 64]) {
        Ok(0) => State::Ended,
        Ok(_) => State::Open,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => State::Open,
        Err(_) => State::Broken,
    };
    if connection.sock.set_nonblocking(false).is_err() { State::Broken } else { state }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

/// What went wrong, without the address.
fn reason(error: &io::Error) -> String {
    let tls = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match (tls, error.kind()) {
        (Some(rustls::Error::InvalidCertificate(_)), _) => {
            "the server's certificate is not trusted".to_owned()
        }
        (Some(rustls::Error::AlertReceived(_)), _) => {
            "the server turns us down: does it want a certificate?".to_owned()
        }
        (Some(_), _) => "the server does not speak TLS as it must".to_owned(),
        (None, io::ErrorKind::ConnectionRefused) => "nothing listens there".to_owned(),
        (None, _) if is_late(error) => "the server does not answer".to_owned(),
        (None, _) => "the connection broke".to_owned(),
    }
}
