//! Settings of the browsers.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use countersign_core::Policy;
use countersign_net::{Resolve, System};

/// Settings of all browsers of a worker.
#[derive(Debug, Clone)]
pub struct BrowserSettings {
    /// The program, such as `/usr/bin/chromium`.
    pub program: PathBuf,
    /// The folder in which each session gets a folder for its profile, until it ends.
    pub folder: PathBuf,
    /// The policy that every address is judged by.
    pub policy: Arc<Policy>,
    /// The resolver of names.
    pub resolver: Resolver,
    /// The sandbox around pages.
    pub sandbox: Sandbox,
}

impl BrowserSettings {
    /// Settings with the sandbox and this machine's resolver.
    #[must_use]
    pub fn new(program: PathBuf, folder: PathBuf, policy: Arc<Policy>) -> Self {
        Self { program, folder, policy, resolver: Resolver::default(), sandbox: Sandbox::On }
    }
}

/// The sandbox that Chromium puts around the processes of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sandbox {
    /// A page that breaks out of its process reaches nothing. Chromium does not start as root then.
    #[default]
    On,
    /// A page that breaks out of its process has the rights of the worker. For machines on which
    /// the worker runs as root in a container of its own.
    DangerOff,
}

/// Resolves the names of all requests.
#[derive(Clone)]
pub struct Resolver(Arc<dyn Resolve + Send + Sync>);

impl Resolver {
    /// A resolver.
    #[must_use]
    pub fn new(resolve: impl Resolve + Send + Sync + 'static) -> Self {
        Self(Arc::new(resolve))
    }
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new(System)
    }
}

impl Resolve for Resolver {
    fn resolve(&self, domain: &str) -> io::Result<Vec<IpAddr>> {
        self.0.resolve(domain)
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver(…)")
    }
}
