//! Valid addresses that nobody opens to read a page: another protocol's port, a domain that names a
//! second one, a program to be started, a secret in the address.

use url::{Host, Url};

use super::name::{self, is_below};
use super::{Reach, WEB, reach};
use crate::analyze::path::percent_decode;
use crate::fact::{Fact, FactKind};
use crate::redact::{Concern, scan};

/// Ports of other protocols, to which no browser connects (WHATWG Fetch, "port blocking"), sorted.
const OTHER_PROTOCOLS: [u16; 77] = [
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
    512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
    995, 1719, 1720, 1723, 2049, 3659, 4045, 5060, 5061, 6000, 6566, 6665, 6697, 10080, 11371,
];

/// Endings of files that are programs.
const PROGRAMS: [&str; 17] = [
    "apk", "appimage", "bat", "cmd", "cpl", "deb", "dmg", "exe", "hta", "jar", "msi", "pkg", "ps1",
    "rpm", "scr", "vbs", "wsf",
];

/// Whom people sign in at, as the one word that their domains are known by.
const KNOWN: [&str; 25] = [
    "adobe",
    "amazon",
    "apple",
    "binance",
    "chase",
    "coinbase",
    "dropbox",
    "ebay",
    "facebook",
    "github",
    "gmail",
    "google",
    "icloud",
    "instagram",
    "linkedin",
    "metamask",
    "microsoft",
    "microsoftonline",
    "netflix",
    "office365",
    "outlook",
    "paypal",
    "steam",
    "twitter",
    "whatsapp",
];

/// Words that such a name is joined with in an impersonation.
const LURES: [&str; 21] = [
    "account", "accounts", "auth", "billing", "confirm", "help", "login", "logon", "mail", "pay",
    "payment", "recovery", "reset", "secure", "security", "signin", "sso", "support", "update",
    "verify", "wallet",
];

/// Values of one query that are read as addresses, and rounds of decoding for each.
const MOST_INNER: usize = 64;
const MOST_ROUNDS: usize = 4;

/// How much of a query is looked through for secrets.
const MOST_SCANNED: usize = 16 * 1024;

/// Returns the anomalies of a valid address.
pub(super) fn facts(url: &Url, written: &str, allowed: bool) -> Vec<Fact> {
    let mut facts = Vec::new();
    let domain = match url.host() {
        Some(Host::Domain(domain)) => domain.trim_end_matches('.'),
        _ => "",
    };
    if url.port().is_some_and(|port| OTHER_PROTOCOLS.binary_search(&port).is_ok()) {
        facts.push(Fact::new(FactKind::UrlInvalid, written));
    }
    if !allowed && (names_a_second(domain) || is_joined_to_a_known(domain) || imitates(domain)) {
        facts.push(Fact::new(FactKind::UrlLookalike, domain));
    }
    if is_program(url) {
        facts.push(Fact::new(FactKind::UrlProgram, domain));
    }
    if leads_to_metadata(url) {
        facts.push(Fact::new(FactKind::UrlMetadata, domain));
    }
    if holds_a_secret(url) {
        // Not the text, which contains the secret.
        facts.push(Fact::new(FactKind::UrlSecret, domain));
    }
    facts
}

/// Reports whether a domain contains a second one, which most people read first:
/// `google.com.example.org`.
fn names_a_second(domain: &str) -> bool {
    const ENDS: [&str; 5] = ["com", "edu", "gov", "net", "org"];
    // Stores and networks that serve other people's names below their own.
    const SERVE: [&str; 9] = [
        "amazonaws.com",
        "cdn.cloudflare.net",
        "edgekey.net",
        "edgesuite.net",
        "akamaized.net",
        "azureedge.net",
        "fastly.net",
        "translate.goog",
        "web.archive.org",
    ];
    let labels: Vec<&str> = domain.split('.').collect();
    let country = labels.last().is_some_and(|last| last.len() == 2);
    // `example.com.au` ends in two labels that belong together.
    let own = if country { 3 } else { 2 };
    let before = labels.len().saturating_sub(own);
    let second = labels.iter().take(before).skip(1).any(|label| ENDS.contains(label));
    second && !SERVE.iter().any(|serve| domain.ends_with(serve))
}

/// `paypa1.com`, `rnicrosoft.com`: letters and digits that look like those of a known name.
fn imitates(domain: &str) -> bool {
    let own = domain.rsplit_once('.').map_or("", |(own, _)| own);
    own.split(['.', '-']).any(|label| {
        (5..=24).contains(&label.len())
            && !KNOWN.contains(&label)
            && KNOWN.iter().any(|known| skeleton(known) == skeleton(label))
    })
}

/// A name as it looks at a glance.
fn skeleton(label: &str) -> String {
    label.replace("rn", "m").replace("vv", "w").replace('0', "o").replace(['1', 'i'], "l")
}

/// `?url=http://…` and `/proxy/http://…` that lead to a cloud machine's credentials, encoded once
/// or more: a server that fetches for us fetches that.
fn leads_to_metadata(url: &Url) -> bool {
    let values = url.query_pairs().map(|(_, value)| value.into_owned());
    let tail = url.path().find("http").and_then(|at| url.path().get(at..)).map(str::to_owned);
    values.chain(tail).take(MOST_INNER).any(|value| {
        let mut text = value;
        for _ in 0..MOST_ROUNDS {
            let inner = Url::parse(text.trim()).ok().filter(|inner| WEB.contains(&inner.scheme()));
            if let Some(inner) = inner {
                return is_metadata(&inner);
            }
            let decoded = percent_decode(&text);
            if decoded == text {
                return false;
            }
            text = decoded;
        }
        false
    })
}

fn is_metadata(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => reach(address.into()) == Reach::Metadata,
        Some(Host::Ipv6(address)) => reach(address.into()) == Reach::Metadata,
        Some(Host::Domain(domain)) => {
            name::kind(domain.trim_end_matches('.')) == Some(name::Kind::Metadata)
        }
        None => false,
    }
}

/// `accounts-google.com`: a known name and a word that asks for trust, joined by a hyphen.
fn is_joined_to_a_known(domain: &str) -> bool {
    domain.split('.').any(|label| {
        let words: Vec<&str> = label.split('-').collect();
        words.len() > 1
            && words.iter().any(|word| KNOWN.contains(word))
            && words.iter().any(|word| LURES.contains(word))
    })
}

/// Reports whether the address is that of a program.
fn is_program(url: &Url) -> bool {
    if is_release(url) {
        return false;
    }
    let last = url.path().rsplit('/').next().unwrap_or_default();
    let end = last.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    end.is_some_and(|end| PROGRAMS.contains(&end.as_str()))
}

/// Reports whether the address is a project's release page or a known vendor's site.
fn is_release(url: &Url) -> bool {
    const FORGES: [&str; 4] = ["codeberg.org", "github.com", "gitlab.com", "sourceforge.net"];
    const VENDORS: [&str; 12] = [
        "apache.org",
        "apple.com",
        "debian.org",
        "docker.com",
        "go.dev",
        "jetbrains.com",
        "microsoft.com",
        "mozilla.org",
        "nodejs.org",
        "python.org",
        "rust-lang.org",
        "ubuntu.com",
    ];
    let domain = url.domain().unwrap_or_default();
    let forge = FORGES.iter().any(|one| is_below(domain, one));
    (forge && url.path().contains("/releases/")) || VENDORS.iter().any(|one| is_below(domain, one))
}

/// Reports whether a key or token is in the part of the address that the page behind it reads.
fn holds_a_secret(url: &Url) -> bool {
    let named = |name: &str| {
        matches!(&*name.to_ascii_lowercase(), "password" | "passwd" | "passphrase" | "pwd" | "pw")
    };
    if url.query_pairs().any(|(name, value)| named(&name) && value.len() >= 6) {
        return true;
    }
    let handed = url.query().into_iter().chain(url.fragment());
    let start = |text: &'_ str| text.floor_char_boundary(MOST_SCANNED);
    handed.filter(|text| text.len() >= 16).any(|text| {
        scan(text.get(..start(text)).unwrap_or_default()).iter().any(|found| {
            let [start, end] = found.span;
            let known = !matches!(found.kind, "token" | "secret" | "password" | "jwt");
            found.concern == Concern::Secret && known && end.saturating_sub(start) >= 16
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<FactKind> {
        let url = Url::parse(text).unwrap();
        facts(&url, text, false).into_iter().map(|fact| fact.kind).collect()
    }

    #[test]
    fn a_trap_is_told_by_its_kind() {
        for port in [22, 25, 6000, 6667 - 2, 110] {
            assert_eq!(kinds(&format!("http://example.com:{port}/")), [FactKind::UrlInvalid]);
        }
        for domain in ["google.com.evil.example", "paypal.com.login.evil.co.uk", "a.org.b.net"] {
            assert_eq!(kinds(&format!("https://{domain}/")), [FactKind::UrlLookalike], "{domain}");
        }
        for domain in ["accounts-google.com", "paypal-secure.example", "login-apple.co.uk"] {
            assert_eq!(kinds(&format!("https://{domain}/")), [FactKind::UrlLookalike], "{domain}");
        }
        assert_eq!(kinds("https://example.com/a/Setup.EXE?x=1"), [FactKind::UrlProgram]);
    }

    #[test]
    fn a_name_that_looks_like_a_known_one_is_a_trap() {
        for domain in ["paypa1.com", "rnicrosoft.com", "g00gle.com", "vvhatsapp.com", "app1e.co.uk"]
        {
            assert_eq!(kinds(&format!("https://{domain}/")), [FactKind::UrlLookalike], "{domain}");
        }
        for domain in ["paypal.com", "mail.google.com", "warning.example", "vvv.example"] {
            assert_eq!(kinds(&format!("https://{domain}/")), [], "{domain}");
        }
    }

    #[test]
    fn an_address_inside_another_counts_where_it_hands_out_credentials() {
        for inner in [
            "?u=http://169.254.169.254/latest",
            "?u=http%3A%2F%2F169.254.169.254%2F",
            "?u=http%253A%252F%252Fmetadata.google.internal%252F",
            "proxy/http://169.254.169.254/",
        ] {
            let text = format!("https://example.com/{inner}");
            assert_eq!(kinds(&text), [FactKind::UrlMetadata], "{text}");
        }
        for inner in ["?q=169.254.169.254", "?redirect_uri=http://localhost:3000/", "http/2"] {
            assert_eq!(kinds(&format!("https://example.com/{inner}")), [], "{inner}");
        }
        assert_eq!(kinds("https://example.com/?password=tulip-88"), [FactKind::UrlSecret]);
    }

    #[test]
    fn an_ordinary_address_is_none() {
        for text in [
            "https://example.com:8443/",
            "https://www.example.com.au/",
            "https://news.bbc.co.uk/",
            "https://accounts.google.com/",
            "https://google-analytics.com/",
            "https://files.example.com.s3.amazonaws.com/x",
            "https://example.com/page.html?token=abc",
            "https://example.com/",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
    }

    #[test]
    fn the_ports_are_sorted() {
        assert!(OTHER_PROTOCOLS.is_sorted());
    }
}
