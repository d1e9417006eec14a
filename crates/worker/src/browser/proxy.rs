//! The only route of a browser: a proxy on loopback that connects where the network lets it.
//!
//! Two ports, because Chromium sends `WebSocket`s to a SOCKS proxy where it has one: one for
//! requests and tunnels by HTTP, one for `WebSocket`s. A plain request is one connection: its body is
//! forwarded as long as it says, then nothing more, so that no second request can follow to the
//! same address unseen.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use countersign_net::Destination;
use url::Url;

use super::network::Network;

/// The most bytes of a request's head.
const MOST_HEAD: u64 = 256 * 1024;
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// The ports of a proxy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    http: u16,
    socks: u16,
}

impl Ports {
    /// The flag that makes them the browser's route.
    pub(super) fn flag(self) -> String {
        let Self { http, socks } = self;
        format!(
            "--proxy-server=http=127.0.0.1:{http};https=127.0.0.1:{http};\
             socks=socks5://127.0.0.1:{socks}"
        )
    }
}

/// Decides on what reaches the proxy, and is told what was refused.
pub(super) trait Guard: Send + Sync {
    /// The network of the browser.
    fn network(&self) -> &Network;
    /// Waits until somebody has agreed to a `WebSocket`.
    fn permit_socket(&self, url: &str) -> Result<(), String>;
    /// Notes a refusal.
    fn refused(&self, what: String);
}

/// A proxy, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Proxy {
    ports: Ports,
    ended: Arc<AtomicBool>,
}

impl Proxy {
    pub(super) fn start(guard: &Arc<impl Guard + 'static>) -> io::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let http = listen(guard, &ended, by_http)?;
        let socks = listen(guard, &ended, by_socks)?;
        Ok(Self { ports: Ports { http, socks }, ended })
    }

    pub(super) const fn ports(&self) -> Ports {
        self.ports
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        for port in [self.ports.http, self.ports.socks] {
            // Wakes the listener, which then sees that it is over.
            let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        }
    }
}

fn listen<G: Guard + 'static>(
    guard: &Arc<G>,
    ended: &Arc<AtomicBool>,
    serve: fn(&TcpStream, &G) -> io::Result<()>,
) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let (guard, ended) = (Arc::clone(guard), Arc::clone(ended));
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            if ended.load(Ordering::SeqCst) {
                return;
            }
            let guard = Arc::clone(&guard);
            thread::spawn(move || {
                // The browser sees that the connection is over.
                let _ = serve(&stream, &guard);
                let _ = stream.shutdown(Shutdown::Both);
            });
        }
    });
    Ok(port)
}

/// The head of a request.
struct Head {
    method: String,
    target: String,
    /// The lines after the first one.
    lines: Vec<String>,
}

fn by_http<G: Guard>(stream: &TcpStream, guard: &G) -> io::Result<()> {
    let mut from_browser = BufReader::new(stream);
    let head = read_head(&mut from_browser)?;
    let found = if head.method == "CONNECT" {
        host_and_port(&head.target).and_then(|(host, port)| guard.network().tunnel(&host, port))
    } else {
        Url::parse(&head.target).ok().and_then(|url| guard.network().destination(&url))
    };
    let destination = match found {
        Some(Ok(destination)) => destination,
        Some(Err(why)) => {
            guard.refused(format!("{} {}: {why}", head.method, head.target));
            return Ok(());
        }
        // The browser's own traffic, which nobody has judged.
        None => return Ok(()),
    };
    let server = destination.connect(CONNECT_TIME)?;
    if head.method == "CONNECT" {
        let mut to_browser = stream;
        to_browser.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        return both_ways(from_browser, stream, &server);
    }
    forward(&head, &destination, &mut from_browser, &server)?;
    io::copy(&mut &server, &mut &*stream).map(drop)
}

fn read_head(from_browser: &mut impl io::BufRead) -> io::Result<Head> {
    let mut limited = from_browser.take(MOST_HEAD);
    let mut line = || -> io::Result<String> {
        let mut text = String::new();
        limited.read_line(&mut text)?;
        let text = text.strip_suffix('\n').ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let (method, target) = (method.to_owned(), target.to_owned());
    let mut lines = Vec::new();
    loop {
        let line = line()?;
        if line.is_empty() {
            return Ok(Head { method, target, lines });
        }
        lines.push(line);
    }
}

/// Sends a request as its server expects it, with exactly as much body as it announces.
fn forward(
    head: &Head,
    destination: &Destination,
    from_browser: &mut impl Read,
    mut server: &TcpStream,
) -> io::Result<()> {
    let path = &destination.url()[url::Position::BeforePath..url::Position::AfterQuery];
    let mut text = format!("{} {path} HTTP/1.1\r\n", head.method);
    let mut length = 0;
    for line in &head.lines {
        let (name, content) = line.split_once(':').unwrap_or((line, ""));
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            // A body without a length cannot be bounded; Chromium sends none by HTTP/1.
            "transfer-encoding" => return Err(io::ErrorKind::InvalidData.into()),
            "content-length" => {
                length = content.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
            }
            _ => {}
        }
        if !matches!(name.as_str(), "connection" | "proxy-connection" | "proxy-authorization") {
            text.push_str(line);
            text.push_str("\r\n");
        }
    }
    text.push_str("Connection: close\r\n\r\n");
    server.write_all(text.as_bytes())?;
    let copied = io::copy(&mut from_browser.take(length), &mut server)?;
    if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Copies both ways until both are over.
fn both_ways(
    mut from_browser: impl Read + Send,
    mut browser: &TcpStream,
    mut server: &TcpStream,
) -> io::Result<()> {
    thread::scope(|scope| {
        scope.spawn(move || {
            let _ = io::copy(&mut from_browser, &mut server);
            let _ = server.shutdown(Shutdown::Write);
        });
        let copied = io::copy(&mut server, &mut browser).map(drop);
        let _ = browser.shutdown(Shutdown::Both);
        copied
    })
}

/// Splits `host:port`; an IPv6 address keeps its brackets.
fn host_and_port(target: &str) -> Option<(String, u16)> {
    let (host, port) = target.rsplit_once(':')?;
    Some((host.to_owned(), port.parse().ok()?))
}

/// Serves a `WebSocket` by SOCKS 5.
fn by_socks<G: Guard>(mut stream: &TcpStream, guard: &G) -> io::Result<()> {
    let (host, port) = greet(stream)?;
    let found = guard.network().socket(&host, port).and_then(|destination| {
        guard.permit_socket(destination.url().as_str()).map(|()| destination)
    });
    let server = match found {
        Ok(destination) => destination.connect(CONNECT_TIME),
        Err(why) => {
            guard.refused(format!("WebSocket {host}:{port}: {why}"));
            Err(io::ErrorKind::PermissionDenied.into())
        }
    };
    let Ok(server) = server else {
        return stream.write_all(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
    };
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
    both_ways(stream, stream, &server)
}

/// Reads the two messages with which SOCKS 5 begins; returns the host and port that are asked for.
fn greet(mut stream: &TcpStream) -> io::Result<(String, u16)> {
    let [version, methods] = bytes(stream)?;
    io::copy(&mut stream.take(methods.into()), &mut io::sink())?;
    stream.write_all(&[5, 0])?;
    let [again, command, _, kind] = bytes(stream)?;
    if (version, again, command) != (5, 5, 1) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let host = match kind {
        1 => Ipv4Addr::from(bytes::<4>(stream)?).to_string(),
        4 => format!("[{}]", std::net::Ipv6Addr::from(bytes::<16>(stream)?)),
        3 => {
            let [length] = bytes(stream)?;
            let mut name = String::new();
            stream.take(length.into()).read_to_string(&mut name)?;
            name
        }
        _ => return Err(io::ErrorKind::InvalidData.into()),
    };
    Ok((host, u16::from_be_bytes(bytes(stream)?)))
}

fn bytes<const N: usize>(mut stream: &TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
