//! Sockets that the service manager has opened before the server starts, so that nobody is turned
//! away while it restarts.

use std::net::TcpListener;
#[cfg(unix)]
use std::os::unix::net::UnixListener;

/// The reason that inherited sockets cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ActivationError {
    /// A descriptor is neither a TCP socket nor a local one.
    #[error("socket {0} of the service manager is neither a TCP nor a local stream socket")]
    Kind(usize),
    /// The service manager hands over two sockets of one kind.
    #[error("the service manager hands over more than one {0} socket, and one is used")]
    TooMany(&'static str),
}

/// Sockets that another process has opened. The default is none.
#[derive(Debug, Default)]
pub struct Inherited {
    pub(crate) tcp: Option<TcpListener>,
    #[cfg(unix)]
    pub(crate) local: Option<UnixListener>,
}

impl Inherited {
    /// Takes the sockets that `LISTEN_FDS` counts, if `LISTEN_PID` is this process. Call it before
    /// there are threads: it removes both variables from the environment, so that a child process
    /// does not take the sockets for its own.
    ///
    /// # Errors
    /// They are not one TCP socket, one local socket, or one of each.
    #[cfg(unix)]
    pub fn from_environment() -> Result<Self, ActivationError> {
        let pid = std::env::var("LISTEN_PID").ok().and_then(|pid| pid.parse().ok());
        if pid != Some(std::process::id()) {
            return Ok(Self::default());
        }
        let mut sockets = listenfd::ListenFd::from_env();
        let mut inherited = Self::default();
        for index in 0..sockets.len() {
            if let Ok(Some(tcp)) = sockets.take_tcp_listener(index) {
                if inherited.tcp.replace(tcp).is_some() {
                    return Err(ActivationError::TooMany("TCP"));
                }
            } else if let Ok(Some(local)) = sockets.take_unix_listener(index) {
                if inherited.local.replace(local).is_some() {
                    return Err(ActivationError::TooMany("local"));
                }
            } else {
                return Err(ActivationError::Kind(index));
            }
        }
        Ok(inherited)
    }

    /// Returns no sockets: this system lacks such a service manager.
    ///
    /// # Errors
    /// Never.
    #[cfg(not(unix))]
    pub fn from_environment() -> Result<Self, ActivationError> {
        Ok(Self::default())
    }
}
