//! The proxy as an HTTP server, for clients on this machine.
//!
//! In the new era every request is independent, and has a proxy of its own. In the old era a proxy
//! lives as long as the session, which is the server's own: its id is passed on.
//!
//! The body decides; a header that contradicts it makes the request invalid, and no header is
//! passed on. A token that a client sends is meant for us and not for the server.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Interval, interval_at, timeout};

use super::header::mismatch;
use super::reply::{Reply, is_from_here, json, not_allowed, plain, status};
use super::upstream::{MOST_BYTES, SESSION, Upstream};
use super::{Line, connect};
use crate::exit::Exit;
use crate::mcp::json::Json;
use crate::mcp::message::{Era, Id, Kind, Message, code};
use crate::mcp::proxy::{Proxy, ServerState};

/// The path of the MCP endpoint.
const PATH: &str = "/mcp";
/// An answer that takes longer is streamed with keep-alives, so that the client does not give up.
const QUICK: Duration = Duration::from_secs(2);
const ALIVE: Duration = Duration::from_secs(15);
const READS_WITHIN: Duration = Duration::from_secs(30);
/// The most sessions of the old era at once.
const MOST_SESSIONS: usize = 1_000;

/// Listens for clients on this machine until it is stopped.
///
/// # Errors
/// The address is taken or not a loopback address, the configuration is wrong, or definitions
/// cannot be stored.
pub(crate) fn listen(
    server: String,
    folder: PathBuf,
    upstream: Upstream,
    address: SocketAddr,
) -> Result<Exit> {
    if !address.ip().is_loopback() {
        bail!("{address} can be reached from elsewhere: a proxy listens on this machine only");
    }
    let server_state = Arc::new(ServerState::open(server, folder)?);
    let runtime = server_state.runtime()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
        let port = listener.local_addr()?.port();
        let shown = SocketAddr::new(address.ip(), port);
        let name = &server_state.server;
        writeln!(io::stdout(), "MCP server `{name}`, judged: http://{shown}{PATH}")?;
        let entry = Arc::new(Entry {
            server_state: Arc::clone(&server_state),
            upstream,
            sessions: Mutex::default(),
        });
        tokio::select! {
            () = accept(&listener, &entry) => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        entry.end_all().await;
        Ok(Exit::Done)
    })
}

async fn accept(listener: &TcpListener, entry: &Arc<Entry>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(attend(stream, Arc::clone(entry)));
            }
            // Too many open files, perhaps: that passes.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn attend(stream: TcpStream, entry: Arc<Entry>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let entry = Arc::clone(&entry);
        async move { Ok::<_, Infallible>(entry.answer(request).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(READS_WITHIN);
    // An error means that the client is gone.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

/// The state of the HTTP endpoint.
struct Entry {
    server_state: Arc<ServerState>,
    upstream: Upstream,
    sessions: Mutex<HashMap<HeaderValue, Arc<Session>>>,
}

/// The proxy of one client.
struct Session {
    proxy: Arc<Proxy>,
    line: Arc<Line>,
    routes: Arc<Routes>,
}

/// Routes messages to the responses in which they belong.
#[derive(Default)]
struct Routes {
    /// Pending answers, with their progress tokens.
    open: Mutex<Vec<Route>>,
    /// The stream for unsolicited messages of the server.
    stream: Mutex<Option<UnboundedSender<Message>>>,
}

struct Route {
    id: Id,
    token: Option<Json>,
    to: UnboundedSender<Message>,
}

impl Routes {
    fn say(&self, message: &Message) -> io::Result<()> {
        let mut open = lock(&self.open);
        let at = if let Kind::Response(Some(id)) = message.kind() {
            open.iter().position(|route| route.id == id)
        } else {
            let token = message.param("progressToken");
            let known = |route: &Route| token.is_some() && route.token.as_ref() == token;
            open.iter().position(known)
        };
        let is_answer = matches!(message.kind(), Kind::Response(_));
        let to = match at {
            Some(at) if is_answer => Some(open.remove(at).to),
            Some(at) => open.get(at).map(|route| route.to.clone()),
            None if is_answer => None,
            None => lock(&self.stream).clone().or_else(|| Some(open.first()?.to.clone())),
        };
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        to.ok_or_else(gone)?.send(message.clone()).map_err(|_| gone())
    }
}

impl Entry {
    async fn answer(self: &Arc<Self>, request: Request<Incoming>) -> Reply {
        if request.uri().path() != PATH {
            return plain(StatusCode::NOT_FOUND, &format!("MCP is at {PATH}\n"));
        }
        if !is_from_here(request.headers()) {
            return plain(StatusCode::FORBIDDEN, "only for clients on this machine\n");
        }
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET => self.hear(request.headers()),
            Method::DELETE => self.delete(request.headers()).await,
            _ => not_allowed(),
        }
    }

    async fn post(self: &Arc<Self>, request: Request<Incoming>) -> Reply {
        let (parts, body) = request.into_parts();
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json")) {
            return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json\n");
        }
        let read = timeout(READS_WITHIN, Limited::new(body, MOST_BYTES).collect()).await;
        let Ok(Ok(body)) = read else {
            return plain(StatusCode::PAYLOAD_TOO_LARGE, "the message is too long or too slow\n");
        };
        let text = String::from_utf8(body.to_bytes().into());
        let Ok(text) = text else { return plain(StatusCode::BAD_REQUEST, "this is not UTF-8\n") };
        let message = match Message::read(&text) {
            Ok(message) => message,
            Err(error) => return json(StatusCode::BAD_REQUEST, &error.answer()),
        };
        if let Some(why) = mismatch(&message, &parts.headers) {
            let id = message.id();
            let failure = Message::failure(id.as_ref(), code::HEADER_MISMATCH, &why);
            return json(StatusCode::BAD_REQUEST, &failure);
        }
        let named = parts.headers.get(SESSION);
        let session = match (named, message.era()) {
            (Some(name), Era::Legacy) => match lock(&self.sessions).get(name) {
                Some(session) => Arc::clone(session),
                None => return plain(StatusCode::NOT_FOUND, "there is no such session\n"),
            },
            (_, Era::Modern) | (None, Era::Legacy) => self.session(),
        };
        self.exchange(&session, &message, &text).await
    }

    fn session(&self) -> Arc<Session> {
        let routes = Arc::new(Routes::default());
        let told = Arc::clone(&routes);
        let upstream = self.upstream.for_another();
        let (proxy, line) = connect(&self.server_state, upstream, move |message| told.say(message));
        Arc::new(Session { proxy, line, routes })
    }

    /// Forwards a message, and returns its answer, if there is one.
    async fn exchange(&self, session: &Arc<Session>, message: &Message, text: &str) -> Reply {
        let Kind::Request(id, method) = message.kind() else {
            session.proxy.from_client(text);
            return plain(StatusCode::ACCEPTED, "");
        };
        let (to, mut said) = unbounded_channel();
        let token = message.progress_token().cloned();
        lock(&session.routes.open).push(Route { id: id.clone(), token, to });
        let open_request =
            OpenRequest { session: Arc::clone(session), id: id.clone(), era: message.era() };
        session.proxy.from_client(text);
        let first = timeout(QUICK, said.recv()).await;
        let mut reply = match first {
            Ok(Some(first)) if first.id().as_ref() == Some(&id) => {
                json(status(&first, message.era()), &first)
            }
            Ok(None) => plain(StatusCode::BAD_GATEWAY, "there is no answer\n"),
            Ok(Some(first)) => stream(said, Some(first), Some(open_request)),
            Err(_) => stream(said, None, Some(open_request)),
        };
        if method == "initialize"
            && let Some(name) = session.line.upstream.session_id()
        {
            self.keep(&name, session);
            reply.headers_mut().insert(SESSION, name);
        }
        reply
    }

    fn keep(&self, name: &HeaderValue, session: &Arc<Session>) {
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= MOST_SESSIONS
            && let Some(some) = sessions.keys().next().cloned()
        {
            sessions.remove(&some);
        }
        sessions.insert(name.clone(), Arc::clone(session));
    }

    /// Streams unsolicited messages of the server, in the old era.
    fn hear(&self, headers: &HeaderMap) -> Reply {
        let Some(name) = headers.get(SESSION) else { return not_allowed() };
        let Some(session) = lock(&self.sessions).get(name).cloned() else {
            return plain(StatusCode::NOT_FOUND, "there is no such session\n");
        };
        let (to, said) = unbounded_channel();
        *lock(&session.routes.stream) = Some(to);
        stream(said, None, None)
    }

    async fn delete(&self, headers: &HeaderMap) -> Reply {
        let Some(name) = headers.get(SESSION) else { return not_allowed() };
        let Some(session) = lock(&self.sessions).remove(name) else {
            return plain(StatusCode::NOT_FOUND, "there is no such session\n");
        };
        session.proxy.client_is_gone();
        session.line.end().await;
        plain(StatusCode::NO_CONTENT, "")
    }

    async fn end_all(&self) {
        let sessions: Vec<_> = lock(&self.sessions).drain().map(|(_, session)| session).collect();
        for session in sessions {
            session.proxy.client_is_gone();
            session.line.end().await;
        }
    }
}

/// Exists while an answer is pending. In the new era a client that disconnects wants no answer any
/// more. In the old era it may come back for the server's result; but a question that a person is
/// still being asked is withdrawn, because nobody is there to use the answer.
struct OpenRequest {
    session: Arc<Session>,
    id: Id,
    era: Era,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut open = lock(&self.session.routes.open);
        let waits = open.iter().any(|route| route.id == self.id);
        open.retain(|route| route.id != self.id);
        drop(open);
        match self.era {
            Era::Modern if waits => {
                self.session.proxy.client_is_gone();
                self.session.line.hang_up();
            }
            Era::Legacy if waits => self.session.proxy.nobody_waits_for(&self.id),
            Era::Modern | Era::Legacy => {}
        }
    }
}

/// Messages as server-sent events, with keep-alives in between.
struct Events {
    first: Option<Message>,
    said: UnboundedReceiver<Message>,
    alive: Interval,
    open_request: Option<OpenRequest>,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.first.take() {
            Some(first) => Some(first),
            None => match self.said.poll_recv(context) {
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(next) => next,
                Poll::Pending => None,
            },
        };
        let text = match next {
            Some(message) => {
                let answered = self.open_request.as_ref().is_some_and(|open_request| {
                    message.method().is_none() && message.id().as_ref() == Some(&open_request.id)
                });
                if answered {
                    self.said.close();
                }
                format!("event: message\ndata: {message}\n\n")
            }
            None if self.alive.poll_tick(context).is_ready() => ":\n\n".to_owned(),
            None => return Poll::Pending,
        };
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))))
    }
}

fn stream(
    said: UnboundedReceiver<Message>,
    first: Option<Message>,
    open_request: Option<OpenRequest>,
) -> Reply {
    let alive = interval_at(tokio::time::Instant::now(), ALIVE);
    let events = Events { first, said, alive, open_request };
    let mut reply = Response::new(events.boxed());
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
