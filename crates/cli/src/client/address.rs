//! The address of a server: a URL, or the path of its socket.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use url::{Host, Url};

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// A Unix socket of this machine.
    Socket(PathBuf),
    /// HTTP.
    Plain {
        /// A name or an address.
        host: Host,
        /// The port.
        port: u16,
    },
    /// HTTP over TLS.
    Tls {
        /// A name or an address.
        host: Host,
        /// The port.
        port: u16,
    },
}

impl Address {
    /// Parses a URL or a path.
    ///
    /// # Errors
    /// It is a URL that does not name a server.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if !text.contains("://") {
            return Ok(Self::Socket(PathBuf::from(text)));
        }
        let url = Url::parse(text).with_context(|| format!("`{text}` is not a URL"))?;
        if !matches!(url.path(), "" | "/") || url.query().is_some() || !url.username().is_empty() {
            bail!("name only the server, like `{}`", server_of(&url));
        }
        Self::of(&url)
    }

    /// Returns the server of a URL and ignores the rest of it.
    ///
    /// # Errors
    /// It does not name a server.
    pub(crate) fn of(url: &Url) -> Result<Self> {
        let host = url.host().map(|host| host.to_owned());
        let (Some(host), Some(port)) = (host, url.port_or_known_default()) else {
            bail!("`{url}` names no server");
        };
        match url.scheme() {
            "http" => Ok(Self::Plain { host, port }),
            "https" => Ok(Self::Tls { host, port }),
            other => bail!("a server URL uses http or https, not `{other}`"),
        }
    }

    /// The value of the `Host` header.
    pub(crate) fn authority(&self) -> String {
        match self {
            Self::Socket(_) => "localhost".to_owned(),
            Self::Plain { host, port } => match port {
                80 => host.to_string(),
                port => format!("{host}:{port}"),
            },
            Self::Tls { host, port } => match port {
                443 => host.to_string(),
                port => format!("{host}:{port}"),
            },
        }
    }

    /// Reports whether somebody on the network could read the traffic.
    pub(crate) fn is_readable_by_others(&self) -> bool {
        let Self::Plain { host, .. } = self else { return false };
        match host {
            Host::Domain(name) => name != "localhost",
            Host::Ipv4(address) => !address.is_loopback(),
            Host::Ipv6(address) => !address.is_loopback(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Plain { .. } => write!(f, "http://{}", self.authority()),
            Self::Tls { .. } => write!(f, "https://{}", self.authority()),
        }
    }
}

fn server_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_url_or_a_path() {
        for (text, shown) in [
            ("http://127.0.0.1:8720", "http://127.0.0.1:8720"),
            ("http://[::1]:8720/", "http://[::1]:8720"),
            ("https://gate.example.com", "https://gate.example.com"),
            ("/run/gate/server.sock", "/run/gate/server.sock"),
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), shown);
        }
        for text in ["ftp://x", "http://", "http://x/api", "http://me@x", "http://x/?link=1"] {
            Address::parse(text).expect_err(text);
        }
    }

    #[test]
    fn only_plain_http_to_another_machine_can_be_read_by_others() {
        let is = |text: &str| Address::parse(text).unwrap().is_readable_by_others();
        assert!(is("http://gate.example.com") && is("http://10.0.0.1:8720"));
        assert!(!is("http://localhost:1") && !is("http://127.0.0.1") && !is("http://[::1]"));
        assert!(!is("https://gate.example.com") && !is("/run/server.sock"));
    }
}
