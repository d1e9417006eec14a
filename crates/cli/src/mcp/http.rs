//! A remote server that is reached over HTTP. Its client uses our standard input and output, or
//! HTTP itself (`listen`).
//!
//! ```text
//! message ─► queue ─► POST ─┬─ 202
//!                           ├─ JSON ────────► the proxy
//!                           └─ events ──────► the proxy, one by one
//!                     GET  ──── events ─────► the proxy     (old era only)
//! ```
//!
//! Messages leave the queue in order. A notification must be accepted before the next message is
//! sent; requests run concurrently, so they and their answers may overtake each other.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use anyhow::Result;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{Response, StatusCode};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::message::{Era, Id, Kind, Message};
use super::proxy::{Proxy, ServerState, Side, Wire};
use super::stdio;
use crate::client::ClientError;
use crate::exit::Exit;
use crate::sse::Parser;

mod header;
mod listen;
mod reply;
mod upstream;

pub(crate) use header::is_for_the_proxy;
pub(crate) use listen::listen;

pub(crate) use upstream::Upstream;
use upstream::{Answer, MOST_BYTES};

/// The timeout for a server to accept a message that needs no answer.
const TAKES_WITHIN: Duration = Duration::from_secs(30);
const ENDS_WITHIN: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The number of times that a broken stream of an answer is resumed.
const MOST_RESUMES: usize = 5;

/// Runs the proxy between the client on our standard input and output and a remote server.
///
/// # Errors
/// The configuration is wrong, or definitions cannot be stored.
pub(crate) fn relay(server: String, folder: PathBuf, upstream: Upstream) -> Result<Exit> {
    let server_state = Arc::new(ServerState::open(server, folder)?);
    let runtime = server_state.runtime()?;
    let (proxy, line) = runtime.block_on(async { connect(&server_state, upstream, stdio::say) });
    stdio::read_client(&proxy);
    proxy.client_is_gone();
    stdio::settle(&proxy);
    runtime.block_on(line.end());
    Ok(Exit::Done)
}

/// Returns a proxy for a remote server, whose client gets messages through `say`.
fn connect(
    server_state: &Arc<ServerState>,
    upstream: Upstream,
    say: impl Say + 'static,
) -> (Arc<Proxy>, Arc<Line>) {
    let (queue, queued) = unbounded_channel();
    let remote = Remote { queue, say: Box::new(say) };
    let proxy = Proxy::new(Arc::clone(server_state), Box::new(remote));
    let under_way = Mutex::default();
    let line = Arc::new(Line { upstream, proxy: Arc::downgrade(&proxy), under_way });
    tokio::spawn(Arc::clone(&line).send_all(queued));
    (proxy, line)
}

/// The outgoing side of the proxy.
struct Remote {
    queue: UnboundedSender<Message>,
    say: Box<dyn Say>,
}

/// Sends a message to the client.
trait Say: Fn(&Message) -> io::Result<()> + Send + Sync {}

impl<T: Fn(&Message) -> io::Result<()> + Send + Sync> Say for T {}

impl Wire for Remote {
    fn send(&self, to: Side, message: &Message) -> io::Result<()> {
        match to {
            Side::Client => (self.say)(message),
            Side::Server => self
                .queue
                .send(message.clone())
                .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe)),
        }
    }
}

/// A request that waits for its answer.
struct UnderWay {
    era: Era,
    task: AbortHandle,
}

/// The connection to the server.
struct Line {
    upstream: Upstream,
    proxy: Weak<Proxy>,
    under_way: Mutex<HashMap<Id, UnderWay>>,
}

impl Line {
    async fn send_all(self: Arc<Self>, mut queued: UnboundedReceiver<Message>) {
        while let Some(message) = queued.recv().await {
            match message.kind() {
                Kind::Request(id, _) => {
                    let (line, era, name) = (Arc::clone(&self), message.era(), id.clone());
                    let task = tokio::spawn(async move { line.ask(&name, &message).await });
                    let task = task.abort_handle();
                    let mut under_way =
                        self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
                    under_way.retain(|_, asked| !asked.task.is_finished());
                    under_way.insert(id, UnderWay { era, task });
                }
                // In the new era a request is cancelled by closing its connection.
                Kind::Notification("notifications/cancelled") if self.hung_up(&message) => {}
                Kind::Notification(_) | Kind::Response(_) => self.tell(&message).await,
            }
        }
    }

    fn hung_up(&self, message: &Message) -> bool {
        let Some(id) = message.param("requestId").and_then(Id::of) else { return false };
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        match under_way.remove(&id) {
            Some(UnderWay { era: Era::Modern, task }) => {
                task.abort();
                true
            }
            Some(_) | None => false,
        }
    }

    /// Aborts all pending requests.
    fn hang_up(&self) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.drain().for_each(|(_, asked)| asked.task.abort());
    }

    /// Ends the session at the server. A session whose end does not arrive expires by itself.
    async fn end(&self) {
        self.hang_up();
        let _ = timeout(ENDS_WITHIN, self.upstream.end()).await;
    }

    fn proxy(&self) -> Option<Arc<Proxy>> {
        self.proxy.upgrade()
    }

    /// Sends a message that needs no answer.
    async fn tell(self: &Arc<Self>, message: &Message) {
        let told = timeout(TAKES_WITHIN, self.upstream.post(message, None)).await;
        let why = match told {
            Ok(Ok(answer)) if answer.response.status().is_success() => None,
            Ok(Ok(answer)) => Some(format!("it answered {}", answer.response.status())),
            Ok(Err(error)) => Some(reason(&error)),
            Err(_) => Some("it does not answer".to_owned()),
        };
        if let (Some(why), Some(proxy)) = (&why, self.proxy()) {
            let method = message.method().unwrap_or("an answer");
            proxy.complain(&format!("the server did not take `{method}`: {why}"));
        }
        if why.is_none() && message.method() == Some("notifications/initialized") {
            tokio::spawn(Arc::clone(self).listen());
        }
    }

    /// Sends a request, and forwards its answer.
    async fn ask(&self, id: &Id, message: &Message) {
        let schema = self.proxy().and_then(|proxy| proxy.schema(message));
        let why = match self.upstream.post(message, schema.as_ref()).await {
            Ok(answer) => self.pass_on(message, answer).await,
            Err(error) => Some(reason(&error)),
        };
        if let Some(proxy) = self.proxy() {
            let why = why.unwrap_or_else(|| "it ended without an answer".to_owned());
            proxy.lost(id, &why);
        }
    }

    /// Forwards everything that comes back. Returns a reason if the answer is missing.
    async fn pass_on(&self, message: &Message, answer: Answer) -> Option<String> {
        let Answer { response, sender } = answer;
        if message.method() == Some("initialize") {
            self.upstream.began(&response);
        }
        let status = response.status();
        if is_stream(&response) && status.is_success() {
            let mut last = self.pass_events(Some(message), response).await;
            for _ in 0..MOST_RESUMES {
                // Once answered, nothing more can be missed.
                if message.era() == Era::Modern || !self.waits(message) {
                    return None;
                }
                sleep(last.pause).await;
                let resumed = self.upstream.listen(Some(last.id.as_deref()?)).await.ok()?;
                last = self.pass_events(Some(message), resumed).await;
            }
            return None;
        }
        let body = match timeout(TAKES_WITHIN, upstream::whole(response)).await {
            Ok(Ok(body)) => body,
            Ok(Err(why)) => return Some(why),
            Err(_) => return Some("its answer does not end".to_owned()),
        };
        self.upstream.keep(sender);
        let is_answer = match Message::read(&body) {
            Ok(said) => status.is_success() || said.id() == message.id(),
            Err(_) => status.is_success(),
        };
        if !is_answer {
            return Some(refused(status));
        }
        self.deliver(Some(message), &body);
        Some("its answer cannot be trusted".to_owned())
    }

    /// Delivers a message of the server, which answers a request or is unsolicited.
    fn deliver(&self, asked: Option<&Message>, text: &str) {
        if let Some(asked) = asked.filter(|asked| asked.method() == Some("initialize"))
            && let Ok(said) = Message::read(text)
            && said.id() == asked.id()
        {
            self.upstream.agreed(&said);
        }
        if let Some(proxy) = self.proxy() {
            proxy.from_server(text);
        }
    }

    fn waits(&self, message: &Message) -> bool {
        let (Some(proxy), Some(id)) = (self.proxy(), message.id()) else { return false };
        proxy.waits_for(&id)
    }

    async fn pass_events(&self, asked: Option<&Message>, response: Response<Incoming>) -> Last {
        let mut body = response.into_body();
        let mut parser = Parser::new(MOST_BYTES);
        let mut last = Last { id: None, pause: FIRST_PAUSE };
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.into_data().unwrap_or_default();
            if parser.feed(&bytes).is_err() {
                return last;
            }
            while let Some(event) = parser.next() {
                last.id = event.id.or(last.id.take());
                if let Some(retry) = event.retry {
                    last.pause = Duration::from_millis(retry).min(LONGEST_PAUSE);
                }
                let is_message = matches!(event.name.as_str(), "" | "message");
                if is_message && !event.data.is_empty() {
                    self.deliver(asked, &event.data);
                }
            }
        }
        last
    }

    /// Receives unsolicited messages of a server of the old era, as long as it sends any.
    async fn listen(self: Arc<Self>) {
        let mut last: Option<String> = None;
        loop {
            let Ok(response) = self.upstream.listen(last.as_deref()).await else { return };
            if !response.status().is_success() || !is_stream(&response) {
                return;
            }
            let heard = self.pass_events(None, response).await;
            last = heard.id.or(last);
            sleep(heard.pause).await;
            if self.proxy().is_none() {
                return;
            }
        }
    }
}

/// The position at which a stream broke, and the pause before it is resumed.
struct Last {
    id: Option<String>,
    pause: Duration,
}

fn is_stream(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(hyper::header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.to_ascii_lowercase().starts_with("text/event-stream")
}

/// The reason why a server cannot be reached, without advice about our own server.
fn reason(error: &ClientError) -> String {
    match error {
        ClientError::NoServer { at, why } => format!("nothing answers at {at}: {why}"),
        ClientError::Refused(_)
        | ClientError::Untrusted(_)
        | ClientError::Broken(_)
        | ClientError::Unknown => error.to_string(),
    }
}

fn refused(status: StatusCode) -> String {
    let hint = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            ": send the credentials it needs with --header"
        }
        StatusCode::NOT_FOUND => ": the session may have ended, or the URL is wrong",
        status if status.is_redirection() => ": redirects are not followed; use the other URL",
        _ => "",
    };
    format!("it answered {status}{hint}")
}
