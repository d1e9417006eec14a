//! URLs, as a browser reads them.
//!
//! The text is parsed by the rules of the WHATWG, so that a tab in `java\tscript:`, a backslash for
//! a slash or an octal address means here what it means to the browser that will open it. Only the
//! text is judged, and the addresses that the caller resolved; DNS lookups are up to the caller.

use url::{Host, Url};

use crate::action::Action;
use crate::analyze::{Analysis, whole};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location::Scene;

mod address;
mod bound;
mod lookalike;
mod name;
mod origin;
mod trap;

pub use address::{Reach, reach};
pub(crate) use bound::outside;

/// The length past which a URL is not parsed; no server accepts more.
const MOST_BYTES: usize = 64 * 1024;

/// Schemes with which a page may be opened.
const WEB: [&str; 4] = ["http", "https", "ws", "wss"];

/// Schemes that reach files, run code or drive the browser itself.
const FORBIDDEN: [&str; 24] = [
    "about",
    "blob",
    "brave",
    "chrome",
    "chrome-devtools",
    "chrome-error",
    "chrome-extension",
    "chrome-search",
    "chrome-untrusted",
    "data",
    "devtools",
    "edge",
    "file",
    "filesystem",
    "jar",
    "javascript",
    "livescript",
    "moz-extension",
    "mhtml",
    "netdoc",
    "opera",
    "resource",
    "vbscript",
    "view-source",
];

/// Returns the facts of opening, requesting or signing in at an address.
#[must_use]
pub fn analyze(action: &Action, scene: &Scene<'_>) -> Analysis {
    let mut facts = match action {
        Action::Navigate { url } | Action::HttpRequest { url, .. } => facts(url, scene),
        Action::Login { site } => facts(&with_scheme(site), scene),
        _ => Vec::new(),
    };
    if let Action::HttpRequest { method, url, .. } = action {
        let span = whole(url);
        facts.push(Fact::new(FactKind::ExternalCall, format!("{method} {url}")).at(span));
        if method.trim().eq_ignore_ascii_case("delete") {
            facts.push(Fact::new(FactKind::RemoteDelete, url).at(span));
        }
    }
    Analysis::of(facts)
}

/// Adds a scheme to a site, which is often named without one: `example.com`.
fn with_scheme(site: &str) -> String {
    if site.contains(':') { site.to_owned() } else { format!("https://{site}") }
}

/// Reports whether an entry of `allowed_origins` can let anything in: `http://` cannot.
#[must_use]
pub fn is_origin(entry: &str) -> bool {
    origin::is_entry(entry)
}

/// Returns the facts of one URL.
#[must_use]
pub fn facts(text: &str, scene: &Scene<'_>) -> Vec<Fact> {
    let span = whole(text);
    let mut found = Found { facts: Vec::new(), text };
    // The start of a URL decides where it leads, however long the rest is.
    let short = text.get(..text.floor_char_boundary(MOST_BYTES)).unwrap_or_default();
    match parse(short, scene) {
        Some(url) => look(&url, scene, &mut found),
        None => found.add(FactKind::UrlInvalid),
    }
    if short.len() < text.len() {
        found.add(FactKind::Bound);
    }
    for fact in &mut found.facts {
        fact.span = span;
    }
    found.facts
}

/// Reports whether an address, or the name of a host alone, leads to the service by which cloud
/// machines hand out their credentials, in any spelling of it.
pub(crate) fn leads_to_metadata(text: &str, scene: &Scene<'_>) -> bool {
    let with_host = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let Ok(url) = Url::parse(&with_host) else { return false };
    if !WEB.contains(&url.scheme()) {
        return false;
    }
    let mut found = Found { facts: Vec::new(), text: &with_host };
    match url.host() {
        Some(Host::Ipv4(address)) => address_found(address.into(), &url, false, &mut found),
        Some(Host::Ipv6(address)) => address_found(address.into(), &url, false, &mut found),
        Some(Host::Domain(domain)) => domain_found(domain, scene, false, &mut found),
        None => {}
    }
    found.facts.iter().any(|fact| fact.kind == FactKind::UrlMetadata)
}

fn parse(text: &str, scene: &Scene<'_>) -> Option<Url> {
    let base = scene.context.base_url.as_deref().map(Url::parse).transpose().ok()?;
    Url::options().base_url(base.as_ref()).parse(text).ok()
}

struct Found<'a> {
    facts: Vec<Fact>,
    text: &'a str,
}

impl Found<'_> {
    fn add(&mut self, kind: FactKind) {
        self.tell(kind, Tags::NONE, self.text);
    }

    fn tell(&mut self, kind: FactKind, tags: Tags, subject: &str) {
        self.facts.push(Fact::new(kind, subject).tagged(tags));
    }
}

fn look(url: &Url, scene: &Scene<'_>, found: &mut Found<'_>) {
    let scheme = url.scheme();
    if FORBIDDEN.contains(&scheme) || scheme.starts_with("chrome-") {
        found.tell(FactKind::UrlScheme, Tags::of(&[Tag::Blocked]), scheme);
    } else if !WEB.contains(&scheme) {
        found.tell(FactKind::UrlScheme, Tags::NONE, scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        // Not the text, which may contain a password.
        found.tell(FactKind::UrlUserinfo, Tags::NONE, url.host_str().unwrap_or_default());
    }
    let allowed = origin::entry_for(url, scene.context);
    if WEB.contains(&scheme) {
        found.facts.extend(trap::facts(url, found.text, allowed.is_some()));
    }
    if scene.context.allowed_origins.is_some() && allowed.is_none() {
        found.tell(FactKind::UrlForeign, Tags::NONE, url.host_str().unwrap_or(scheme));
    }
    // A person who names `localhost` as an origin means exactly that; a public name that resolves
    // to an internal address is something else, and so are a cloud's credentials.
    let meant = allowed.is_some_and(|entry| origin::names(entry, url));
    match url.host() {
        Some(Host::Ipv4(address)) => address_found(address.into(), url, meant, found),
        Some(Host::Ipv6(address)) => address_found(address.into(), url, meant, found),
        Some(Host::Domain(domain)) => domain_found(domain, scene, meant, found),
        None => {}
    }
}

fn address_found(address: std::net::IpAddr, url: &Url, meant: bool, found: &mut Found<'_>) {
    let subject = url.host_str().unwrap_or_default();
    match reach(address) {
        Reach::Public => {}
        Reach::Metadata => found.tell(FactKind::UrlMetadata, Tags::NONE, subject),
        _ if meant => {}
        Reach::Loopback => {
            found.tell(FactKind::UrlInternal, Tags::of(&[Tag::Loopback]), subject);
        }
        Reach::Internal => found.tell(FactKind::UrlInternal, Tags::NONE, subject),
    }
}

fn domain_found(domain: &str, scene: &Scene<'_>, meant: bool, found: &mut Found<'_>) {
    let domain = domain.trim_end_matches('.');
    let known = name::kind(domain);
    match known {
        Some(name::Kind::Metadata) => found.tell(FactKind::UrlMetadata, Tags::NONE, domain),
        Some(name::Kind::Rebinding) => found.tell(FactKind::UrlRebinding, Tags::NONE, domain),
        Some(name::Kind::Loopback) if !meant => {
            found.tell(FactKind::UrlInternal, Tags::of(&[Tag::Loopback]), domain);
        }
        Some(name::Kind::Internal) if !meant => {
            found.tell(FactKind::UrlInternal, Tags::of(&[Tag::Named]), domain);
        }
        Some(_) | None => {}
    }
    if let Some(shown) = lookalike::shown(domain, found.text) {
        found.tell(FactKind::UrlLookalike, Tags::NONE, &shown);
    }
    // An internal name was recorded as one. A public name must not lead inside, even an allowed
    // one.
    let inside = matches!(known, Some(name::Kind::Loopback | name::Kind::Internal));
    for address in scene.context.addresses.get(domain).into_iter().flatten() {
        resolved(domain, address, inside, found);
    }
}

/// Records a name that resolves to an internal address, which is an attack regardless of the name:
/// the connection goes to the address.
fn resolved(domain: &str, address: &str, expected: bool, found: &mut Found<'_>) {
    let subject = format!("{domain} is {address}");
    match address.parse().map(reach) {
        Ok(Reach::Public) => {}
        Ok(Reach::Metadata) => found.tell(FactKind::UrlMetadata, Tags::NONE, &subject),
        Ok(_) if expected => {}
        Ok(Reach::Loopback | Reach::Internal) => {
            found.tell(FactKind::UrlInternal, Tags::of(&[Tag::Resolved]), &subject);
        }
        Err(_) => found.tell(FactKind::Unparsed, Tags::NONE, &subject),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    fn kinds_in(text: &str, context: &Context) -> Vec<FactKind> {
        facts(text, &Scene::new(context, &[])).into_iter().map(|fact| fact.kind).collect()
    }

    fn kinds(text: &str) -> Vec<FactKind> {
        kinds_in(text, &Context::default())
    }

    #[test]
    fn an_ordinary_address_has_nothing_to_tell() {
        for text in [
            "https://example.com/a?b=c#d",
            "http://EXAMPLE.com:8080/",
            "https://münchen.example/",
            "https://日本語.jp/",
            "https://пример.рф/",
            "https://93.184.216.34/",
            "https://[2606:4700::6810:84e5]/",
            "wss://example.com/live",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
    }

    #[test]
    fn a_scheme_is_seen_as_the_browser_sees_it() {
        for text in [
            "javascript:alert(1)",
            " JaVaScRiPt:alert(1)",
            "java\tscript:alert(1)",
            "\u{1}javascript\n:x",
            "file:///etc/passwd",
            "data:text/html,x",
            "blob:https://example.com/1",
            "view-source:https://example.com",
            "chrome://settings",
            "about:blank",
            "gopher://example.com/",
            "mailto:a@example.com",
        ] {
            assert!(kinds(text).contains(&FactKind::UrlScheme), "{text}");
        }
    }

    #[test]
    fn every_spelling_of_an_address_is_the_address() {
        for text in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.01/",
            "http://127.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[64:ff9b::10.0.0.1]/",
            "http://[2002:c0a8:101::]/",
            "http://①②⑦.0.0.1/",
            "http://localhost/",
            "http://LOCALHOST./",
            "http://a.localhost/",
        ] {
            assert_eq!(kinds(text), [FactKind::UrlInternal], "{text}");
        }
    }

    #[test]
    fn what_is_no_url_says_so() {
        for text in ["", "example.com", "http://", "http://exa mple.com", "http://[::1%25eth0]/"] {
            assert_eq!(kinds(text), [FactKind::UrlInvalid], "{text}");
        }
    }

    #[test]
    fn a_relative_url_is_read_from_its_base() {
        let base = |url: &str| Context { base_url: Some(url.to_owned()), ..Context::default() };
        assert_eq!(kinds_in("/a", &base("https://example.com/b")), []);
        assert_eq!(kinds_in("//127.0.0.1", &base("https://example.com")), [FactKind::UrlInternal]);
        assert_eq!(kinds_in("/a", &base("no base")), [FactKind::UrlInvalid]);
    }

    #[test]
    fn a_name_that_leads_inside_is_found_by_its_address() {
        let mut context = Context::default();
        context.addresses.insert(
            "example.com".to_owned(),
            vec!["93.184.216.34".to_owned(), "192.168.1.7".to_owned()],
        );
        assert_eq!(kinds_in("https://example.com/", &context), [FactKind::UrlInternal]);
        assert_eq!(kinds_in("https://example.org/", &context), []);
        context.addresses.insert("example.org".to_owned(), vec!["?".to_owned()]);
        assert_eq!(kinds_in("https://example.org/", &context), [FactKind::Unparsed]);
    }

    #[test]
    fn an_allowed_public_name_may_not_lead_inside() {
        let context = |domain: &str| Context {
            allowed_origins: Some(vec![domain.to_owned()]),
            addresses: [(domain.to_owned(), vec!["127.0.0.1".to_owned()])].into(),
            ..Context::default()
        };
        let kinds = |domain| kinds_in(&format!("http://{domain}/"), &context(domain));
        assert_eq!(kinds("example.com"), [FactKind::UrlInternal]);
        assert_eq!(kinds("localhost"), []);
        assert_eq!(kinds("db.internal"), []);
    }

    #[test]
    fn an_origin_somebody_named_may_be_inside_but_never_hand_out_credentials() {
        let origins = |list: &[&str]| Context {
            allowed_origins: Some(list.iter().map(|&entry| entry.to_owned()).collect()),
            ..Context::default()
        };
        assert_eq!(kinds_in("http://localhost:3000/", &origins(&["localhost"])), []);
        assert_eq!(
            kinds_in("http://169.254.169.254/", &origins(&["169.254.169.254"])),
            [FactKind::UrlMetadata]
        );
        assert_eq!(
            kinds_in("http://localhost.example.org/", &origins(&["localhost"])),
            [FactKind::UrlForeign]
        );
    }

    #[test]
    fn a_long_url_is_a_question_and_a_long_script_is_still_one() {
        let long = "a".repeat(MOST_BYTES);
        assert_eq!(kinds(&format!("https://example.com/{long}")), [FactKind::Bound]);
        let scripts = kinds(&format!("javascript:{long}"));
        assert_eq!(scripts, [FactKind::UrlScheme, FactKind::Bound]);
        let inside = kinds(&format!("http://169.254.169.254/{long}"));
        assert_eq!(inside, [FactKind::UrlMetadata, FactKind::Bound]);
    }
}
