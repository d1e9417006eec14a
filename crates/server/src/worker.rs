//! The connection of a worker: signed work goes out, what becomes of it comes in.
//!
//! ```text
//! worker ──Hello──► register ──Welcome──► worker     gate ──work──► hand out ──► worker
//! worker ──Began, Piece, Ended──► gate               connection gone ──► unknown
//! ```
//!
//! A worker is a program with a key of its own. It answers no question, and is told about nothing
//! but the work that it is to do.

use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::HeaderMap;
use axum::response::Response;
use countersign_gate::Caller;
use countersign_gate::event::What;
use countersign_gate::gate::{Hello, Registration};
use countersign_gate::id::WorkerId;
use countersign_gate::process::{Process, System};
use countersign_gate::scope::WORKER;
use countersign_gate::secret::Secret;
use countersign_wire::path;
use countersign_wire::work::{FromWorker, ToWorker};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval_at, timeout};

use crate::app::App;
use crate::auth::{Identity, Remote, bearer, device, same_origin};
use crate::error::Problem;
use crate::route::{Route, Who, get};

mod hear;

/// The size of the largest message: a result with both of its outputs, and room for more.
const MOST_BYTES: usize = 4 << 20;
/// The time in which a worker says what it can do.
const HELLO_WITHIN: Duration = Duration::from_secs(10);
const PING: Duration = Duration::from_secs(15);
/// The time after which a worker that is not heard of is gone.
const SILENT: Duration = Duration::from_mins(1);
/// The time after which a worker that does not accept a message is gone.
const SEND_WITHIN: Duration = Duration::from_secs(10);
/// The most answers to one worker that wait to be sent.
const MOST_ANSWERS: usize = 64;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(path::WORKERS, "worker")
            .by(Who::PersonOrKey)
            .says("The WebSocket of a worker, with a key that has the scope `worker`: signed work goes out, results come in.")
            .gives_media(101, "")
            .to(open),
    ]
}

async fn open(
    State(app): State<App>,
    identity: Identity,
    remote: Remote,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    same_origin(&headers, remote)?;
    let Identity::Caller(caller) = identity else {
        return Err(Problem::forbidden("workers-only", "a worker comes with a key of its own"));
    };
    if !caller.has_scope(WORKER) {
        let detail = format!("the key does not have the scope `{WORKER}`");
        return Err(Problem::forbidden("scope", detail));
    }
    let key = bearer(&headers)?.ok_or_else(|| Problem::not_signed_in("send the key"))?;
    let machine = device(&headers)?;
    let upgrade = upgrade.map_err(|error| Problem::bad_request(error.body_text()))?;
    let process = remote.peer.and_then(|peer| Process::of(peer.pid, &System));
    Ok(upgrade.max_message_size(MOST_BYTES).max_frame_size(MOST_BYTES).on_upgrade(
        move |mut socket| async move {
            let worker = Worker { app, caller, key, machine };
            let end = worker.run(&mut socket, process).await;
            if let Some((code, reason)) = end.told() {
                let frame = CloseFrame { code, reason: reason.into() };
                let _ = timeout(SEND_WITHIN, socket.send(Message::Close(Some(frame)))).await;
            }
        },
    ))
}

/// A worker that is connected.
struct Worker {
    app: App,
    caller: Caller,
    key: Secret,
    machine: Option<Secret>,
}

/// The reason that a connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Gone,
    Stopping,
    Revoked,
    /// It has said something that no worker says.
    Wrong(String),
    /// The gate does not work.
    Failed,
}

impl End {
    fn told(&self) -> Option<(u16, String)> {
        match self {
            Self::Gone => None,
            Self::Stopping => Some((close_code::AWAY, "the server stops".to_owned())),
            Self::Revoked => Some((close_code::POLICY, "the key does not work".to_owned())),
            Self::Wrong(why) => {
                Some((close_code::PROTOCOL, why.chars().take(100).collect::<String>()))
            }
            Self::Failed => Some((close_code::ERROR, "the gate does not work".to_owned())),
        }
    }
}

impl Worker {
    async fn run(self, socket: &mut WebSocket, process: Option<Process>) -> End {
        let hello = match hello(socket, process).await {
            Ok(hello) => hello,
            Err(end) => return end,
        };
        let registration = match self.app.gate.register_worker(&self.caller, hello).await {
            Ok(registration) => registration,
            Err(error) => {
                tracing::warn!(%error, "a worker is not registered");
                return End::Revoked;
            }
        };
        let welcome = ToWorker::Welcome {
            worker_id: registration.id.to_string(),
            server_key: registration.server_key.to_string(),
        };
        tracing::info!(worker = %registration.id, "a worker is registered");
        let (gone, _) = watch::channel(());
        let mut connection = Connection::new(self, registration, gone);
        let end = match send(socket, &welcome).await {
            Ok(()) => connection.talk(socket).await,
            Err(end) => end,
        };
        connection.over().await;
        end
    }

    /// Checks that the key still works.
    async fn check(&self) -> Result<(), End> {
        let checked = self.app.gate.authenticate(&self.key, self.machine.as_ref()).await;
        checked.map(drop).map_err(|_| End::Revoked)
    }
}

/// Reads the first message.
async fn hello(socket: &mut WebSocket, process: Option<Process>) -> Result<Hello, End> {
    let first = timeout(HELLO_WITHIN, socket.recv()).await;
    let Ok(Some(Ok(Message::Text(text)))) = first else {
        return Err(End::Wrong("the first message is `hello`".to_owned()));
    };
    match serde_json::from_str(&text) {
        Ok(FromWorker::Hello { executors, workspace, instance, .. }) => {
            Ok(Hello { executors, folder: workspace, instance, process })
        }
        Ok(_) | Err(_) => Err(End::Wrong("the first message is `hello`".to_owned())),
    }
}

/// A worker after it was registered.
struct Connection {
    worker: Worker,
    registration: Registration,
    /// The answers of tasks that decide something for it.
    answers: mpsc::Receiver<ToWorker>,
    answering: mpsc::Sender<ToWorker>,
    /// Dropped when the connection is gone, which ends those tasks.
    gone: watch::Sender<()>,
    heard: Instant,
}

impl Connection {
    fn new(worker: Worker, registration: Registration, gone: watch::Sender<()>) -> Self {
        let (answering, answers) = mpsc::channel(MOST_ANSWERS);
        Self { worker, registration, answers, answering, gone, heard: Instant::now() }
    }

    const fn id(&self) -> &WorkerId {
        &self.registration.id
    }

    async fn talk(&mut self, socket: &mut WebSocket) -> End {
        let mut ping = interval_at(Instant::now() + PING, PING);
        let app = self.worker.app.clone();
        let mut events = app.gate.subscribe();
        loop {
            let done = tokio::select! {
                () = app.stopped() => Err(End::Stopping),
                message = self.registration.next() => match message {
                    Some(message) => self.hand_out(socket, message).await,
                    None => Err(End::Wrong("connected again, or too slow".to_owned())),
                },
                Some(answer) = self.answers.recv() => send(socket, &answer).await,
                event = events.recv() => match event.as_deref() {
                    Ok(event) if changes_rights(&event.what) => self.worker.check().await,
                    Ok(_) => Ok(()),
                    Err(RecvError::Lagged(_)) => self.worker.check().await,
                    Err(RecvError::Closed) => Err(End::Stopping),
                },
                message = socket.recv() => {
                    self.heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.hear(&text).await,
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
                        Some(Ok(Message::Binary(_))) => {
                            Err(End::Wrong("send JSON as text".to_owned()))
                        }
                        Some(Ok(Message::Close(_)) | Err(_)) | None => Err(End::Gone),
                    }
                }
                _ = ping.tick() => self.ping(socket).await,
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    /// Sends a message, unless it is work that may not begin any more.
    async fn hand_out(&self, socket: &mut WebSocket, message: ToWorker) -> Result<(), End> {
        match self.worker.app.gate.hand_out(self.id(), message).await {
            Ok(Some(message)) => send(socket, &message).await,
            Ok(None) => Ok(()),
            Err(error) => {
                tracing::error!(%error, "work was kept back");
                Err(End::Failed)
            }
        }
    }

    async fn ping(&self, socket: &mut WebSocket) -> Result<(), End> {
        if self.heard.elapsed() >= SILENT {
            return Err(End::Gone);
        }
        self.worker.check().await?;
        let ping = Message::Ping(bytes::Bytes::new());
        match timeout(SEND_WITHIN, socket.send(ping)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }

    /// Settles what the worker has left.
    async fn over(self) {
        let Self { worker, registration, gone, .. } = self;
        drop(gone);
        let id = registration.id.clone();
        if let Err(error) = worker.app.gate.worker_gone(registration).await {
            tracing::error!(worker = %id, %error, "what a worker left is not settled");
        }
        tracing::info!(worker = %id, "a worker is gone");
    }
}

const fn changes_rights(what: &What) -> bool {
    matches!(what, What::RightsChanged | What::SignedOut { .. })
}

async fn send(socket: &mut WebSocket, message: &ToWorker) -> Result<(), End> {
    let text = serde_json::to_string(message).map_err(|_| End::Failed)?;
    match timeout(SEND_WITHIN, socket.send(Message::Text(text.into()))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(End::Gone),
    }
}
