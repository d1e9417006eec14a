//! Name resolution.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};

/// Resolves a name to its addresses.
pub trait Resolve {
    /// Returns the addresses of a domain. Blocks: a caller that must not wait uses a thread of its
    /// own.
    ///
    /// # Errors
    /// The name has none, or no name server answered.
    fn resolve(&self, domain: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver that this machine is configured with.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Resolve for System {
    fn resolve(&self, domain: &str) -> io::Result<Vec<IpAddr>> {
        let mut addresses: Vec<IpAddr> =
            (domain, 0).to_socket_addrs()?.map(|address| address.ip()).collect();
        addresses.dedup();
        Ok(addresses)
    }
}
