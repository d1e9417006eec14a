//! Devices that listen on a WebSocket, by the thousand.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;

/// How many connect at the same time.
const AT_ONCE: usize = 64;

/// Devices that listen.
pub(super) struct Devices {
    heard: Mutex<UnboundedReceiver<Instant>>,
    count: usize,
    _listening: JoinSet<()>,
}

impl Devices {
    /// Connects so many devices of one person.
    pub(super) async fn connect(
        address: SocketAddr,
        secret: &str,
        count: usize,
    ) -> io::Result<Self> {
        let (tell, heard) = unbounded_channel();
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut opening = JoinSet::new();
        for _ in 0..count {
            let (places, secret) = (Arc::clone(&places), secret.to_owned());
            opening.spawn(async move {
                let _place = places.acquire_owned().await.map_err(io::Error::other)?;
                open(address, &secret).await
            });
        }
        let mut listening = JoinSet::new();
        while let Some(opened) = opening.join_next().await {
            listening.spawn(listen(opened.map_err(io::Error::other)??, tell.clone()));
        }
        Ok(Self { heard: Mutex::new(heard), count, _listening: listening })
    }

    /// Lets something be told to all, and says how long after its beginning each has heard.
    pub(super) async fn broadcast(
        &self,
        ask: impl Future<Output = io::Result<u16>>,
    ) -> io::Result<(Vec<Duration>, Duration)> {
        let mut heard = self.heard.lock().await;
        let began = Instant::now();
        let status = ask.await?;
        if status != 202 {
            return Err(io::Error::other(format!("the question was answered with {status}")));
        }
        let mut times = Vec::with_capacity(self.count);
        while times.len() < self.count {
            let at = tokio::time::timeout(Duration::from_secs(30), heard.recv()).await;
            let at = at.map_err(|_| io::Error::other("not everybody was told"))?;
            times.push(at.ok_or(io::ErrorKind::UnexpectedEof)?.duration_since(began));
        }
        let slowest = times.iter().max().copied().unwrap_or_default();
        Ok((times, slowest))
    }
}

async fn open(address: SocketAddr, secret: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET /api/ws HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {secret}\r\n\
         connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    if head.starts_with(b"HTTP/1.1 101") {
        return Ok(stream);
    }
    Err(io::Error::other(String::from_utf8_lossy(&head).into_owned()))
}

/// Tells of every question that comes.
async fn listen(mut stream: TcpStream, tell: UnboundedSender<Instant>) {
    while let Ok(text) = frame(&mut stream).await {
        if text.windows(34).any(|part| part == b"app_skill_confirmation_required\",\"p")
            || text.starts_with(b"{\"payload\"") && text.ends_with(b"confirmation_required\"}")
        {
            let _ = tell.send(Instant::now());
        }
    }
}

/// One frame of the server, which never splits or masks them.
async fn frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let _kind = stream.read_u8().await?;
    let length = match stream.read_u8().await? {
        126 => u64::from(stream.read_u16().await?),
        127 => stream.read_u64().await?,
        short => u64::from(short),
    };
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
