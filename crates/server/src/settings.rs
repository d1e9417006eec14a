//! The settings of the server: the `server:` section of the configuration.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decision::DecisionLog;

/// The settings of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The address it listens on. Port 0 takes any that is free.
    pub listen: SocketAddr,
    /// A socket for programs of the same user on this machine.
    #[serde(skip)]
    pub socket: Option<PathBuf>,
    /// Encrypts what goes over the wire. Needed wherever that leaves the machine.
    pub tls: Option<Tls>,
    /// Listens on other addresses than loopback without TLS.
    pub danger_plain_http: bool,
    /// Names under which it is reached, besides its address and `localhost`.
    pub names: Vec<String>,
    /// The address people reach it at, when that is not where it listens:
    /// `https://gate.example.com`.
    pub url: Option<String>,
    /// Limits of one request or connection.
    pub limits: Limits,
    /// The collector of traces: the base address of an OpenTelemetry collector that takes OTLP over
    /// HTTP.
    pub otlp: Option<String>,
    /// The level at which every decision is logged.
    pub log_decisions: DecisionLog,
}

/// The encryption of connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Tls {
    /// By a certificate and its key, in PEM files.
    Files {
        /// The certificate, and those it follows from.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// By a certificate of our own, kept in this folder: browsers ask whether to trust it.
    SelfSigned {
        /// The folder it is kept in.
        folder: PathBuf,
    },
}

/// Limits of one request or connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of one request that is not a file.
    pub body_bytes: usize,
    /// Seconds in which the head of a request must arrive.
    pub head_seconds: u16,
    /// Seconds in which a request that is not a file must arrive; also the longest pause of an
    /// upload.
    pub body_seconds: u16,
    /// Seconds a caller may wait for an answer in one request.
    pub wait_seconds: u16,
    /// Connections at once.
    pub connections: usize,
    /// Live connections of one person at once.
    pub live_connections: usize,
    /// Seconds for which a server that was told to stop still serves, and says at `/api/ready` that
    /// new requests should go elsewhere.
    pub drain_seconds: u16,
    /// Seconds for what is under way to end when the server stops.
    pub shutdown_seconds: u16,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), Self::PORT),
            socket: None,
            tls: None,
            danger_plain_http: false,
            names: Vec::new(),
            url: None,
            limits: Limits::default(),
            otlp: None,
            log_decisions: DecisionLog::default(),
        }
    }
}

impl Settings {
    /// The port it listens on unless told otherwise.
    pub const PORT: u16 = 8720;

    /// Reports whether people reach it over TLS that ends at a proxy in front of it.
    pub(crate) fn is_https(&self) -> bool {
        let scheme = self.url.as_deref().and_then(|url| url.split_once("://"));
        scheme.is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("https"))
    }

    /// The same settings, with the host name of `url` among the names.
    pub(crate) fn under_its_own_name(mut self) -> Self {
        let own = self.url.as_deref().and_then(own_name);
        self.names.extend(own);
        self
    }
}

/// The host name in an address that pages can be under; `None` for one with a path, a query or a
/// user.
pub(crate) fn own_name(url: &str) -> Option<String> {
    let uri: axum::http::Uri = url.trim().parse().ok()?;
    let sound = matches!(uri.scheme_str(), Some("http" | "https"))
        && matches!(uri.path(), "" | "/")
        && uri.query().is_none()
        && !uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    uri.host().filter(|host| sound && !host.is_empty() && !url.contains('#')).map(str::to_owned)
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            head_seconds: 10,
            body_seconds: 30,
            wait_seconds: 60,
            connections: 20_000,
            live_connections: 100,
            drain_seconds: 0,
            shutdown_seconds: 10,
        }
    }
}

impl Limits {
    pub(crate) fn head(&self) -> Duration {
        Duration::from_secs(self.head_seconds.into())
    }

    pub(crate) fn body(&self) -> Duration {
        Duration::from_secs(self.body_seconds.into())
    }

    pub(crate) fn wait(&self) -> Duration {
        Duration::from_secs(self.wait_seconds.into())
    }

    pub(crate) fn drain(&self) -> Duration {
        Duration::from_secs(self.drain_seconds.into())
    }

    pub(crate) fn shutdown(&self) -> Duration {
        Duration::from_secs(self.shutdown_seconds.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_without_a_path_is_one_that_pages_can_be_under() {
        for (url, name) in [
            ("https://gate.example.com", Some("gate.example.com")),
            ("https://gate.example.com/", Some("gate.example.com")),
            ("http://localhost:8720", Some("localhost")),
            ("https://gate.example.com/countersign", None),
            ("https://gate.example.com/?a=b", None),
            ("https://gate.example.com/#x", None),
            ("https://user@gate.example.com", None),
            ("gate.example.com", None),
            ("ftp://gate.example.com", None),
            ("https://", None),
            ("", None),
        ] {
            assert_eq!(own_name(url).as_deref(), name, "{url}");
        }
    }
}
