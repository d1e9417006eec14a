//! The origins an agent was given.
//!
//! | entry | lets in |
//! |---|---|
//! | `example.com` | that domain and those below it, by any web scheme and port |
//! | `*.example.com` | only those below it |
//! | `example.com:8080` | the same on one port |
//! | `https://example.com` | the same by one scheme and its usual port |
//! | `https://example.com/app` | the same, in that folder |
//! | `=https://example.com` | just that domain and none below |
//!
//! Domains are compared label by label after IDNA, so that `localhost.example.org` and
//! `notexample.com` are neither `localhost` nor `example.com`.

use url::{Host, Url};

use crate::analyze::url::name::is_below;
use crate::context::Context;

/// Returns the entry that lets this URL in.
pub(super) fn entry_for<'a>(url: &Url, context: &'a Context) -> Option<&'a str> {
    let entries = context.allowed_origins.as_deref()?;
    entries.iter().map(String::as_str).find(|entry| lets_in(entry, url))
}

/// Reports whether the entry names exactly this domain or address, not one above it.
pub(super) fn names(entry: &str, url: &Url) -> bool {
    Entry::read(entry).is_some_and(|entry| Some(entry.host.as_str()) == url.host_str())
}

/// Reports whether an entry can let anything in.
pub(super) fn is_entry(entry: &str) -> bool {
    let web = |scheme: &String| super::WEB.contains(&scheme.as_str());
    Entry::read(entry).is_some_and(|entry| entry.scheme.as_ref().is_none_or(web))
}

fn lets_in(entry: &str, url: &Url) -> bool {
    Entry::read(entry).is_some_and(|entry| entry.lets_in(url))
}

#[derive(Debug)]
struct Entry {
    scheme: Option<String>,
    host: String,
    is_domain: bool,
    port: Option<u16>,
    /// The folder with a slash at both ends; a single slash for no folder.
    folder: String,
    depth: Depth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Exact,
    Below,
    Both,
}

impl Entry {
    /// Parses an entry; one that cannot be parsed lets nothing in.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (text, exact) = text.strip_prefix('=').map_or((text, false), |rest| (rest, true));
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
            None => (None, text),
        };
        let (rest, below) = rest.strip_prefix("*.").map_or((rest, false), |rest| (rest, true));
        // Parsed like the URL, so that both spell a domain alike.
        let url = Url::parse(&format!("{}://{rest}", scheme.as_deref().unwrap_or("https"))).ok()?;
        let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        let port = match scheme {
            Some(_) => url.port_or_known_default(),
            None => url.port().or_else(|| rest.contains(":443").then_some(443)),
        };
        plain.then_some(())?;
        Some(Self {
            port,
            is_domain: matches!(url.host()?, Host::Domain(_)),
            host: url.host_str()?.trim_end_matches('.').to_owned(),
            folder: format!("{}/", url.path().trim_end_matches('/')),
            depth: match (exact, below) {
                (_, true) => Depth::Below,
                (true, false) => Depth::Exact,
                (false, false) => Depth::Both,
            },
            scheme,
        })
    }

    fn lets_in(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let host = host.trim_end_matches('.');
        let same = host == self.host;
        let below = self.is_domain && !same && is_below(host, &self.host);
        let host = match self.depth {
            Depth::Exact => same,
            Depth::Below => below,
            Depth::Both => same || below,
        };
        let scheme = match &self.scheme {
            Some(scheme) => scheme == url.scheme(),
            None => super::WEB.contains(&url.scheme()),
        };
        let port = self.port.is_none_or(|port| url.port_or_known_default() == Some(port));
        host && scheme && port && self.holds(url.path())
    }

    /// Reports whether a path is in the folder. A path with an encoded slash or dot is not, because
    /// the server may decode it and leave the folder.
    fn holds(&self, path: &str) -> bool {
        let encoded = ["%2f", "%5c", "%2e"];
        let lower = path.to_ascii_lowercase();
        self.folder == "/"
            || (format!("{path}/").starts_with(&self.folder)
                && !encoded.iter().any(|code| lower.contains(code)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(entry: &str, url: &str) -> bool {
        lets_in(entry, &Url::parse(url).unwrap())
    }

    #[test]
    fn a_domain_lets_in_itself_and_what_is_below_it() {
        for url in [
            "https://example.com/",
            "http://example.com:8080/a",
            "https://app.example.com/",
            "https://EXAMPLE.com./",
        ] {
            assert!(fits("example.com", url), "{url}");
            assert!(fits("Example.COM", url), "{url}");
        }
        for url in [
            "https://notexample.com/",
            "https://example.com.evil.org/",
            "https://evil.org/example.com",
            "https://evil.org/?example.com",
            "https://example.com@evil.org/",
            "ftp://example.com/",
        ] {
            assert!(!fits("example.com", url), "{url}");
        }
    }

    #[test]
    fn a_scheme_a_port_and_a_folder_hold_when_given() {
        assert!(fits("https://example.com", "https://example.com:443/a"));
        assert!(!fits("https://example.com", "http://example.com/a"));
        assert!(!fits("https://example.com", "https://example.com:8443/a"));
        assert!(fits("example.com:8443", "https://example.com:8443/a"));
        assert!(!fits("example.com:8443", "https://example.com/a"));
        assert!(!fits("example.com:443", "https://example.com:8443/a"));
        assert!(fits("https://example.com/app", "https://example.com/app/x"));
        assert!(fits("https://example.com/app/", "https://example.com/app"));
        assert!(!fits("https://example.com/app", "https://example.com/apple"));
        assert!(!fits("https://example.com/app", "https://example.com/app/../x"));
        assert!(!fits("https://example.com/app", "https://example.com/app/..%2fx"));
    }

    #[test]
    fn stars_and_equals_narrow() {
        assert!(fits("*.example.com", "https://a.b.example.com/"));
        assert!(!fits("*.example.com", "https://example.com/"));
        assert!(fits("=example.com", "https://example.com/"));
        assert!(!fits("=example.com", "https://a.example.com/"));
        assert!(fits("https://*.example.com", "https://a.example.com/"));
    }

    #[test]
    fn names_are_compared_after_idna_and_addresses_as_numbers() {
        assert!(fits("münchen.example", "https://xn--mnchen-3ya.example/"));
        assert!(fits("127.0.0.1", "http://2130706433/"));
        assert!(!fits("0.0.1", "http://127.0.0.1.example.com/"));
    }

    #[test]
    fn an_entry_that_cannot_be_read_lets_nothing_in() {
        for entry in ["", "*", "*.", "https://", "exa mple.com", "https://user@example.com", "="] {
            assert!(!fits(entry, "https://example.com/"), "{entry}");
        }
    }
}
