//! A client as small as it can be, so that what is measured is the server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::sample::Times;

/// Where to ask, and as whom.
#[derive(Debug, Clone)]
pub(super) struct Client {
    address: SocketAddr,
    head: String,
}

/// An open connection.
pub(super) struct Connection {
    stream: TcpStream,
    head: String,
    read: Vec<u8>,
}

impl Client {
    /// Asks by POST.
    pub(super) fn new(address: SocketAddr, path: &str, secret: &str) -> Self {
        Self::by("POST", address, path, secret)
    }

    /// Asks by GET; what is sent has no body then.
    pub(super) fn get(address: SocketAddr, path: &str, secret: &str) -> Self {
        Self::by("GET", address, path, secret)
    }

    fn by(method: &str, address: SocketAddr, path: &str, secret: &str) -> Self {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {secret}\r\n\
             content-type: application/json\r\ncontent-length: "
        );
        Self { address, head }
    }

    pub(super) async fn connect(&self) -> io::Result<Connection> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, head: self.head.clone(), read: Vec::with_capacity(8 * 1024) })
    }
}

impl Connection {
    /// Posts, and gives the status.
    pub(super) async fn post(&mut self, body: &str) -> io::Result<u16> {
        Ok(self.post_for(body).await?.0)
    }

    /// Posts, and gives the status and what came back.
    pub(super) async fn post_for(&mut self, body: &str) -> io::Result<(u16, String)> {
        let request = format!("{}{}\r\n\r\n{body}", self.head, body.len());
        self.stream.write_all(request.as_bytes()).await?;
        self.read.clear();
        loop {
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(answer) = answer(&self.read) {
                return Ok(answer);
            }
        }
    }
}

/// The status and the body, once all of it is there.
fn answer(read: &[u8]) -> Option<(u16, String)> {
    let text = std::str::from_utf8(read).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    (body.len() >= length.unwrap_or(0)).then(|| (status, body.to_owned()))
}

/// Many clients at once, each waiting for its answer before it asks again.
pub(super) struct Crowd {
    client: Client,
    connections: usize,
}

/// What came of it.
pub(super) struct Run {
    pub(super) times: Times,
    took: Duration,
}

impl Run {
    pub(super) fn rate(&self) -> f64 {
        f64::from(u32::try_from(self.times.len()).unwrap_or(u32::MAX)) / self.took.as_secs_f64()
    }
}

impl Crowd {
    pub(super) const fn new(client: Client, connections: usize) -> Self {
        Self { client, connections }
    }

    pub(super) async fn run(&self, body: &str, time: Duration) -> io::Result<Run> {
        let mut tasks = tokio::task::JoinSet::new();
        let body: Arc<str> = body.into();
        let began = Instant::now();
        for _ in 0..self.connections {
            let (client, body) = (self.client.clone(), Arc::clone(&body));
            tasks.spawn(async move {
                let mut connection = client.connect().await?;
                let mut times = Vec::new();
                while began.elapsed() < time {
                    let asked = Instant::now();
                    let status = connection.post(&body).await?;
                    times.push(asked.elapsed());
                    if status != 200 {
                        return Err(io::Error::other(format!("answered with {status}")));
                    }
                }
                Ok::<_, io::Error>(times)
            });
        }
        let mut times = Times::default();
        while let Some(done) = tasks.join_next().await {
            done.map_err(io::Error::other)??.into_iter().for_each(|time| times.push(time));
        }
        Ok(Run { times, took: began.elapsed() })
    }
}
