//! Reports the state of the server to the service manager, if there is one.

#[cfg(unix)]
use std::os::unix::net::UnixDatagram;

/// Reports that the server accepts requests.
pub fn ready() {
    tell("READY=1\n");
}

/// Reports that the server is shutting down.
pub fn stopping() {
    tell("STOPPING=1\n");
}

#[cfg(unix)]
fn tell(state: &str) {
    let Some(address) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
        return;
    };
    if let Err(error) = send(&address, state) {
        tracing::warn!(%error, "the service manager could not be told");
    }
}

#[cfg(unix)]
fn send(address: &std::ffi::OsStr, state: &str) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let socket = UnixDatagram::unbound()?;
    // A name that begins with `@` is an abstract socket, not a file.
    #[cfg(target_os = "linux")]
    if let Some(name) = address.as_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt as _;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        socket.send_to_addr(state.as_bytes(), &address)?;
        return Ok(());
    }
    let name = crate::socket::SocketName::of(std::path::Path::new(address))?;
    socket.send_to(state.as_bytes(), name.path())?;
    Ok(())
}

#[cfg(not(unix))]
fn tell(_: &str) {}
