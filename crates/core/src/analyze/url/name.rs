//! Domains that never lead to the public internet, or lead to an address in their own name.

use std::net::{IpAddr, Ipv4Addr};

use crate::analyze::url::address::{Reach, reach};

/// A class of domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// This machine.
    Loopback,
    /// A name that only a local network resolves.
    Internal,
    /// A name of a service that hands out a cloud machine's credentials.
    Metadata,
    /// A name that resolves, or redirects, to an address chosen in the query.
    Rebinding,
}

const LOOPBACK: [&str; 7] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost6",
    "localhost6.localdomain6",
    "ip6-localhost",
    "ip6-loopback",
];

const METADATA: [&str; 13] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.com",
    "metadata.azure.internal",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "metadata.tencentyun.com",
    "metadata.cloud.ibm.com",
    "instance-data",
    "instance-data.ec2.internal",
    "rancher-metadata",
    "metadata.ec2.internal",
];

/// Ends of names that no public name server knows, by standard or by habit.
const INTERNAL_ENDS: [&str; 18] = [
    "cluster",
    "consul",
    "corp",
    "docker",
    "home",
    "intern",
    "internal",
    "intra",
    "intranet",
    "ip",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "private",
    "svc",
    "test",
    "workgroup",
];

/// Domains that resolve to the address spelled in the queried name, or redirect to it.
const REBINDING: [&str; 21] = [
    "1u.ms",
    "42foo.com",
    "backname.io",
    "bugbounty.dod.network",
    "lacolhost.com",
    "local.gd",
    "localdev.me",
    "localdomain.pw",
    "localho.st",
    "localtest.me",
    "lvh.me",
    "nip.io",
    "r3dir.me",
    "rbndr.us",
    "rebind.it",
    "smackaho.st",
    "spoofed.burpcollaborator.net",
    "sslip.io",
    "traefik.me",
    "vcap.me",
    "xip.io",
];

/// Classifies a domain, in lower case and without its last dot.
pub(super) fn kind(domain: &str) -> Option<Kind> {
    if METADATA.contains(&domain) || domain.ends_with(".metadata.google.internal") {
        return Some(Kind::Metadata);
    }
    if LOOPBACK.contains(&domain) || domain.ends_with(".localhost") {
        return Some(Kind::Loopback);
    }
    if REBINDING.iter().any(|&known| is_below(domain, known)) || spells_an_inside(domain) {
        return Some(Kind::Rebinding);
    }
    let last = domain.rsplit('.').next().unwrap_or_default();
    let single = !domain.contains('.') && !domain.is_empty();
    let router = ["fritz.box", "easy.box"].iter().any(|known| is_below(domain, known));
    (single || router || INTERNAL_ENDS.contains(&last) || domain.ends_with(".home.arpa"))
        .then_some(Kind::Internal)
}

/// Reports whether this is the domain or a subdomain of it.
pub(super) fn is_below(domain: &str, above: &str) -> bool {
    domain.strip_suffix(above).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Reports whether the name spells an address that is not public, as `10.0.0.1.example.com` and
/// `192-168-1-1.example.com` do: such a name is registered to resolve to that address.
fn spells_an_inside(domain: &str) -> bool {
    let inside = |address: Ipv4Addr| reach(IpAddr::V4(address)) != Reach::Public;
    let labels: Vec<&str> = domain.split('.').take(32).collect();
    let dotted = labels.windows(4).any(|four| four.join(".").parse().is_ok_and(inside));
    dotted || labels.iter().any(|label| dashed(label).is_some_and(inside))
}

/// Returns the address in `app-192-168-1-1` or `7f000001`.
fn dashed(label: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = label.rsplitn(5, '-').take(4).collect();
    if let [last, third, second, first] = parts[..] {
        return format!("{first}.{second}.{third}.{last}").parse().ok();
    }
    let hex = label.len() == 8 && label.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bits = hex.then(|| u32::from_str_radix(label, 16).ok()).flatten()?;
    // Eight letters are often a hash; only one that means this machine is reported.
    let address = Ipv4Addr::from_bits(bits);
    address.is_loopback().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_names_are_known_for_nothing() {
        for domain in [
            "example.com",
            "localhost.example.com",
            "notlocalhost.com",
            "metadata.example.com",
            "local.example.org",
            "v1-2-3-4.example.com",
            "8.8.8.8.example.com",
            "deadbeef.example.com",
            "a-b-c-d.example.com",
        ] {
            assert_eq!(kind(domain), None, "{domain}");
        }
    }

    #[test]
    fn names_of_the_inside_are_known() {
        for (domain, expected) in [
            ("localhost", Kind::Loopback),
            ("app.localhost", Kind::Loopback),
            ("router", Kind::Internal),
            ("nas.local", Kind::Internal),
            ("db.prod.internal", Kind::Internal),
            ("printer.home.arpa", Kind::Internal),
            ("api.default.svc.cluster.local", Kind::Internal),
            ("metadata.google.internal", Kind::Metadata),
            ("x.nip.io", Kind::Rebinding),
            ("nip.io", Kind::Rebinding),
            ("10.0.0.1.example.com", Kind::Rebinding),
            ("app-192-168-1-1.example.com", Kind::Rebinding),
            ("7f000001.example.com", Kind::Rebinding),
        ] {
            assert_eq!(kind(domain), Some(expected), "{domain}");
        }
        assert_eq!(kind("notnip.io"), None);
    }
}
