//! Classification of addresses as public or not, by the special-purpose registries of the IANA.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The part of the network that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A machine on the internet.
    Public,
    /// This machine.
    Loopback,
    /// A network that not everybody can reach: private, link-local, reserved, multicast.
    Internal,
    /// The service that hands out a cloud machine's credentials.
    Metadata,
}

/// Classifies an address.
#[must_use]
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

/// Addresses of the clouds' metadata services, besides the link-local block as a whole.
const METADATA_V4: [Ipv4Addr; 7] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(169, 254, 42, 42),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    // A public address that answers only inside.
    Ipv4Addr::new(168, 63, 129, 16),
];

const METADATA_V6: [Ipv6Addr; 5] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

/// Blocks that are not reachable from everywhere, as (first address, length of the prefix).
const INTERNAL_V4: [(Ipv4Addr, u32); 14] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Addresses of 192.0.0.0/24 that answer everywhere: the relays of PCP and TURN.
const PUBLIC_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 0, 9), Ipv4Addr::new(192, 0, 0, 10)];

fn reach_v4(address: Ipv4Addr) -> Reach {
    let within = |(block, length): (Ipv4Addr, u32)| {
        let mask = u32::MAX.checked_shl(32_u32.saturating_sub(length)).unwrap_or(0);
        address.to_bits() & mask == block.to_bits()
    };
    if METADATA_V4.contains(&address) {
        Reach::Metadata
    } else if address.is_loopback() || address.is_unspecified() {
        // Connecting to 0.0.0.0 connects to this machine.
        Reach::Loopback
    } else if !PUBLIC_V4.contains(&address) && INTERNAL_V4.into_iter().any(within) {
        Reach::Internal
    } else {
        Reach::Public
    }
}

const fn v6(first: u16, second: u16, third: u16) -> Ipv6Addr {
    Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0)
}

/// Internal blocks of IPv6. In blocks that embed an IPv4 address, that one is checked too.
const INTERNAL_V6: [(Ipv6Addr, u32); 11] = [
    // Everything outside the global unicast block, which is 2000::/3, except the translators'.
    (v6(0, 0, 0), 16),
    (v6(0x64, 0xff9b, 1), 48),
    (v6(0x100, 0, 0), 8),
    (v6(0x2001, 0xdb8, 0), 32),
    (v6(0x2001, 2, 0), 48),
    (v6(0x2001, 0x10, 0), 28),
    (v6(0x3fff, 0, 0), 20),
    (v6(0x5f00, 0, 0), 16),
    (v6(0xfc00, 0, 0), 7),
    (v6(0xfe00, 0, 0), 8),
    (v6(0xff00, 0, 0), 8),
];

fn reach_v6(address: Ipv6Addr) -> Reach {
    if METADATA_V6.contains(&address) {
        return Reach::Metadata;
    }
    if address.is_loopback() || address.is_unspecified() {
        return Reach::Loopback;
    }
    let within = |(block, length): (Ipv6Addr, u32)| {
        let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length)).unwrap_or(0);
        address.to_bits() & mask == block.to_bits()
    };
    match carried(address).map(reach_v4) {
        Some(Reach::Public) | None if INTERNAL_V6.into_iter().any(within) => Reach::Internal,
        None => Reach::Public,
        Some(reach) => reach,
    }
}

/// Returns the IPv4 address that an IPv6 address embeds or is tunnelled to.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        // Mapped, compatible, translated (SIIT), translated by NAT64, and 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(joined(high, low)),
        // The local-use prefix of NAT64, whose four bytes are around the ninth (RFC 6052).
        [0x64, 0xff9b, 1, high, low, last, ..] => Some(joined(high, (low & 0xff) << 8 | last >> 8)),
        // Teredo: the client's address, with every bit inverted.
        [0x2001, 0, _, _, _, _, high, low] => Some(joined(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(addresses: &[&str], expected: Reach) {
        for text in addresses {
            assert_eq!(reach(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn the_internet_is_public() {
        all(
            &[
                "1.1.1.1",
                "8.8.8.8",
                "100.63.255.255",
                "100.128.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.0.9",
                "192.169.0.1",
                "198.17.255.255",
                "223.255.255.255",
                "2606:4700::1111",
                "2a00:1450::1",
                "2001:4860:4860::8888",
                "64:ff9b::8.8.8.8",
                "2002:808:808::1",
            ],
            Reach::Public,
        );
    }

    #[test]
    fn this_machine_is_loopback_in_every_form() {
        all(
            &[
                "127.0.0.1",
                "127.255.255.254",
                "0.0.0.0",
                "::",
                "::1",
                "::ffff:127.0.0.1",
                "::127.0.0.1",
                "::ffff:0:127.0.0.1",
                "64:ff9b::127.0.0.1",
                "2002:7f00:1::",
            ],
            Reach::Loopback,
        );
    }

    #[test]
    fn special_blocks_are_internal() {
        all(
            &[
                "0.1.2.3",
                "10.1.2.3",
                "100.64.0.1",
                "169.254.1.1",
                "172.31.255.255",
                "192.0.0.1",
                "192.0.2.1",
                "192.88.99.1",
                "192.168.255.255",
                "198.19.0.1",
                "198.51.100.1",
                "203.0.113.1",
                "224.0.0.1",
                "239.1.1.1",
                "240.0.0.1",
                "255.255.255.255",
                "::ffff:10.0.0.1",
                // Mapped addresses are for programs, not for the wire.
                "::ffff:8.8.8.8",
                "64:ff9b:1:a00:0:100::",
                "64:ff9b:1:808:8:800::",
                "100::1",
                "2001:db8::1",
                "2001:2::1",
                "2001:10::1",
                "2002:c0a8:101::",
                "2001:0:4136:e378:8000:63bf:3f57:fdf2",
                "3fff::1",
                "5f00::1",
                "fc00::1",
                "fd12:3456::1",
                "fe80::1",
                "fec0::1",
                "ff02::1",
            ],
            Reach::Internal,
        );
    }

    #[test]
    fn a_clouds_credentials_are_known_in_every_form() {
        all(
            &[
                "169.254.169.254",
                "169.254.170.2",
                "100.100.100.200",
                "192.0.0.192",
                "168.63.129.16",
                "fd00:ec2::254",
                "::ffff:169.254.169.254",
                "64:ff9b::169.254.169.254",
            ],
            Reach::Metadata,
        );
    }
}
