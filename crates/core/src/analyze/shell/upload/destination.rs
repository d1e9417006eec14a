//! Destinations: on this machine, on another one, or only a numeric address; and words that are
//! files.

use crate::analyze::UNKNOWN;
use crate::analyze::shell::arguments::Arguments;
use crate::analyze::shell::value::Arg;
use crate::location;
use crate::words::{self, has};

/// Reports whether there is an address among the words and all of them are on this machine.
pub(in crate::analyze::shell) fn reaches_only_here(args: &Arguments<'_>) -> bool {
    const DETOURS: &[&str] = &[
        "-x",
        "--proxy",
        "--preproxy",
        "--socks4",
        "--socks4a",
        "--socks5",
        "--socks5-hostname",
        "--connect-to",
        "--resolve",
        "-K",
        "--config",
        "--next",
        "-:",
        "-L",
        "--location",
        "--location-trusted",
        "--dns-servers",
        "--doh-url",
        "--haproxy-protocol",
    ];
    let detour = args.options().any(|word| {
        let option = word.text.split('=').next().unwrap_or_default();
        let cluster = option.starts_with('-') && !option.starts_with("--");
        DETOURS.contains(&option) || (cluster && option.contains(['x', 'K', 'L', ':']))
    });
    let mut addresses = args.values(&["--url"]);
    addresses.extend(args.operands().iter().map(|word| (*word).clone()));
    let addresses: Vec<_> = addresses.iter().filter(|word| is_address(&word.text)).collect();
    !detour && !addresses.is_empty() && addresses.iter().all(|word| is_loopback(&word.text))
}

/// Reports whether a word can be an address: with a scheme, or as `localhost:80/x`,
/// `example.com/x`.
fn is_address(text: &str) -> bool {
    let host = host_of(text);
    text.contains("://") || host == "localhost" || host.contains('.') || text.contains(UNKNOWN)
}

/// Reports whether an address is on this machine, in any notation.
pub(in crate::analyze::shell) fn is_loopback(address: &str) -> bool {
    let host = host_of(address);
    if address.contains('\\') || host.contains(UNKNOWN) {
        return false;
    }
    let numbers = |host: &str| {
        host.starts_with("127.") && host.split('.').all(|part| part.parse::<u8>().is_ok())
    };
    matches!(host, "localhost" | "[::1]" | "::1" | "0.0.0.0")
        || host.rsplit_once('.').is_some_and(|(_, end)| end == "localhost")
        || numbers(host)
}

/// Reports whether the text of a host or address names another machine.
pub(super) fn is_elsewhere(text: &str) -> bool {
    let host = host_of(text);
    let is_name = host.contains('.') && !host.starts_with(['.', '/', '~']);
    (is_name || text.contains("://"))
        && !text.starts_with("file://")
        && !is_loopback(text)
        && !text.contains(' ')
}

/// Returns the host in an address, a `host:port` or a host.
fn host_of(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let rest = rest.rsplit('@').next().unwrap_or(rest);
    match rest.find(']') {
        Some(end) => rest.get(..=end).unwrap_or(rest),
        None if rest.starts_with(':') => rest,
        None => rest.split(':').next().unwrap_or(rest),
    }
}

/// Reports whether an address is a public IPv4 address without a name.
pub(in crate::analyze::shell) fn is_public_number(text: &str) -> bool {
    let host = host_of(text);
    let numbers: Option<Vec<u8>> = host.split('.').map(|part| part.parse().ok()).collect();
    match numbers.as_deref() {
        Some([10 | 127 | 0, ..] | [192, 168, ..] | [169, 254, ..]) => false,
        Some([172, second, ..]) if (16..32).contains(second) => false,
        Some([100, second, ..]) if (64..128).contains(second) => false,
        Some([_, _, _, _]) => true,
        _ => false,
    }
}

/// Reports whether a scheme refers to this machine: `docker-daemon:app`, `oci:folder`.
pub(super) fn has_local_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        has(words::SENDS_LOCAL_SCHEMES, scheme) && !rest.starts_with("//")
    })
}

/// Reports whether a word looks like a file: a path, or a name with an ending.
pub(super) fn is_file(word: &Arg) -> bool {
    let text = word.text.as_str();
    if text.contains("://") || text.starts_with('-') || text.contains([' ', '{', '=']) {
        return false;
    }
    let name = location::base_name(text);
    let ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=7).contains(&ending.len())
            && ending.chars().all(|char| char.is_ascii_alphanumeric() || char == '*')
            && ending.chars().any(|char| char.is_ascii_alphabetic() || char == '*')
    });
    text.starts_with("./")
        || text.starts_with("../")
        || text.starts_with('~')
        || text == "."
        || ending && !text.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_on_this_machine_is_known_however_it_is_written() {
        for address in [
            "http://localhost:5000/upload",
            "http://127.0.0.1/x",
            "http://[::1]:80/",
            "http://app.localhost/",
            "localhost:3000",
            "http://0.0.0.0:8000",
        ] {
            assert!(is_loopback(address), "{address}");
        }
        for address in [
            "http://localhost@example.com/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "http://example.com/localhost",
            "http://localhost\\@example.com",
            "https://10.0.0.1/",
        ] {
            assert!(!is_loopback(address), "{address}");
        }
    }

    #[test]
    fn files_are_told_from_other_words() {
        for text in ["report.csv", "./x", "~/notes", "dist/*.tar", "a/b.sqlite"] {
            assert!(is_file(&Arg::literal(text)), "{text}");
        }
        for text in
            ["1.2.3", "me@example.com", "https://example.com/a.txt", "--x.y", "name", "a=b.c"]
        {
            assert!(!is_file(&Arg::literal(text)), "{text}");
        }
    }
}
