//! Asking for a name.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};

/// Answers with the addresses of a name.
pub trait Resolve {
    /// The addresses of a domain. Blocks: whoever must not wait asks on a thread of its own.
    ///
    /// # Errors
    /// The name has none, or nobody answered.
    fn resolve(&self, domain: &str) -> io::Result<Vec<IpAddr>>;
}

/// What this machine is set up to ask.
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
