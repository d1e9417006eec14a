//! The proxy between one MCP client and one server.
//!
//! ```text
//! client ──request──► judge ─┬─ allow ──────────────────────────► server
//!    ▲                       ├─ block ──► refused, as the tool's own answer
//!    │                       └─ confirm ─► held: a person is asked ─► server, or refused
//!    └───────────────────────── answer ◄─ redacted, tools hidden ◄──┘
//! ```
//!
//! A message that is not judged is forwarded unchanged, so that unknown fields and methods are not
//! lost. A judged message is forwarded exactly as it was judged, serialized again.
//!
//! INVARIANT: a call is forwarded by [`Proxy::forward`] alone, and a judged one only from
//! [`Proxy::decide`] or from `pending`, which first removes it from the held calls: once, and never
//! after it was cancelled.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::Result;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::active_config::{ActiveConfig, ConfigWatcher};
use super::json::Json;
use super::message::{Era, Id, Kind, Message, code};
use super::pins::Pins;
use super::to_action;
use super::tools::Tools;
use crate::show::one_line;

mod answered;
mod decision;
mod own_requests;
mod pending;
mod person;
mod server_requests;
#[cfg(test)]
mod tests;

use decision::Decision;
use own_requests::Ours;
use pending::PendingCall;
use person::{Busy, Permit};

/// The most approved calls whose continuation is remembered; further ones are asked about again.
const MOST_CONTINUATIONS: usize = 256;

/// The methods of a client that are judged first.
const JUDGED: &[&str] =
    &["tools/call", "resources/read", "resources/subscribe", "prompts/get", "tasks/update"];

/// The receiver of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Sends messages to both sides.
pub(crate) trait Wire: Send + Sync {
    /// Sends one message.
    ///
    /// # Errors
    /// The receiver is gone.
    fn send(&self, to: Side, message: &Message) -> io::Result<()>;
}

/// The state that all proxies of one server share.
#[derive(Debug)]
pub(crate) struct ServerState {
    /// The name of the server.
    pub(crate) server: String,
    pub(crate) folder: PathBuf,
    watcher: ConfigWatcher,
    pins: Mutex<Pins>,
    tools: Mutex<Tools>,
    /// Locked by the one call that lists the tools, while others wait for its result.
    listing: tokio::sync::Mutex<()>,
    /// The runtime in which questions wait; created with the first one.
    runtime: OnceLock<Runtime>,
}

/// The proxy of one client for one server.
pub(crate) struct Proxy {
    server_state: Arc<ServerState>,
    wire: Box<dyn Wire>,
    /// Requests of the client that were forwarded to the server.
    sent: Mutex<HashMap<Id, Sent>>,
    /// Requests that wait for a person.
    pending: Mutex<HashMap<(Side, Id), PendingCall>>,
    busy: Busy,
    /// Requests of our own.
    ours: Mutex<Ours>,
    /// The capabilities that a client of the old era declared.
    capabilities: Mutex<Option<Json>>,
    /// True when the server notifies its client of changed tools; below, the terms of the last
    /// list.
    tells_changes: AtomicBool,
    shown_by: Mutex<Option<Arc<ActiveConfig>>>,
    /// States of approved calls that the server wants to continue.
    continued: Mutex<VecDeque<(String, String)>>,
}

/// A request that was forwarded to the server.
#[derive(Debug)]
struct Sent {
    method: String,
    era: Era,
    /// True when this is the first page of a list.
    first_page: bool,
    /// The permit by which the result is reported to the gate.
    permit: Option<Permit>,
    /// The digest of the call, if it was approved or needed no approval.
    digest: Option<String>,
}

impl ServerState {
    /// Opens the state of a server that has not been contacted yet.
    ///
    /// # Errors
    /// The configuration is wrong, or definitions cannot be stored.
    pub(crate) fn open(server: String, folder: PathBuf) -> Result<Self> {
        let (watcher, pins) = (ConfigWatcher::here()?, Pins::open(&folder)?);
        Ok(Self {
            server,
            folder,
            watcher,
            pins: Mutex::new(pins),
            tools: Mutex::default(),
            listing: tokio::sync::Mutex::default(),
            runtime: OnceLock::new(),
        })
    }
}

impl Proxy {
    pub(crate) fn new(server_state: Arc<ServerState>, wire: Box<dyn Wire>) -> Arc<Self> {
        Arc::new(Self {
            server_state,
            wire,
            sent: Mutex::default(),
            pending: Mutex::default(),
            busy: Busy::default(),
            ours: Mutex::default(),
            capabilities: Mutex::default(),
            tells_changes: AtomicBool::new(false),
            shown_by: Mutex::default(),
            continued: Mutex::default(),
        })
    }

    /// Handles a message of the client.
    pub(crate) fn from_client(self: &Arc<Self>, text: &str) {
        let message = match Message::read(text) {
            Ok(message) => message,
            Err(error) => return self.to_client(&error.answer()),
        };
        match message.kind() {
            Kind::Request(id, _) if self.is_under_way(&id) => self.to_client(&Message::failure(
                Some(&id),
                code::NO_MESSAGE,
                "Countersign: another request has this id and is not answered yet",
            )),
            Kind::Request(id, method) => {
                let method = method.to_owned();
                self.asked(id, &method, message);
            }
            Kind::Notification("notifications/cancelled") => {
                if !self.cancel_pending(Side::Server, &message) {
                    self.cancelled(&message);
                }
            }
            // Nobody could be told the result, and a lenient server would execute it.
            Kind::Notification(method) if JUDGED.contains(&method) => {
                self.complain(&format!("`{method}` without an id is not passed on"));
            }
            Kind::Response(Some(id)) if self.answered_us(Side::Client, &id, &message) => {}
            Kind::Notification(_) | Kind::Response(_) => self.to_server(&message),
        }
    }

    /// Handles a message of the server.
    pub(crate) fn from_server(self: &Arc<Self>, text: &str) {
        let message = match Message::read(text) {
            Ok(message) => message,
            Err(error) => return self.unreadable(text, &error.to_string()),
        };
        match message.kind() {
            Kind::Response(Some(id)) => {
                if !self.answered_us(Side::Server, &id, &message) {
                    let sent = lock(&self.sent).remove(&id);
                    // Drop late and unrequested answers.
                    if let Some(sent) = sent {
                        self.answered(&id, sent, message);
                    }
                }
            }
            Kind::Request(id, method) => {
                let method = method.to_owned();
                self.asked_by_server(id, &method, message);
            }
            Kind::Notification("notifications/cancelled")
                if self.cancel_pending(Side::Client, &message) => {}
            Kind::Notification("notifications/tools/list_changed") => {
                lock(&self.server_state.tools).forget();
                self.to_client(&message);
            }
            Kind::Notification(_) | Kind::Response(None) => self.to_client(&message),
        }
    }

    /// Handles a client message that cannot be decoded.
    pub(crate) fn client_broke(&self, why: &str) {
        self.to_client(&Message::failure(None, code::UNREADABLE, &format!("Countersign: {why}")));
    }

    /// Handles a server message that cannot be decoded.
    pub(crate) fn server_broke(&self, why: &str) {
        self.complain(why);
    }

    /// Fails a request that the server will not answer, for this reason.
    pub(crate) fn lost(&self, id: &Id, why: &str) {
        if lock(&self.sent).remove(id).is_some() {
            let why = format!("Countersign: no answer from the server: {why}");
            self.to_client(&Message::failure(Some(id), code::REFUSED, &why));
        }
        lock(&self.ours).waiting.remove(&(Side::Server, id.clone()));
    }

    /// Reports whether the server still has to answer this request.
    pub(crate) fn waits_for(&self, id: &Id) -> bool {
        let ours = (Side::Server, id.clone());
        lock(&self.sent).contains_key(id) || lock(&self.ours).waiting.contains_key(&ours)
    }

    /// Returns the schema of a call's arguments, as the server declares it.
    pub(crate) fn schema(&self, message: &Message) -> Option<Value> {
        let tool = message.param("name").filter(|_| message.method() == Some("tools/call"))?;
        lock(&self.server_state.tools).schema(tool.as_str()?).cloned()
    }

    /// Fails all pending requests, because the server is gone.
    pub(crate) fn server_is_gone(&self) {
        for (id, _) in lock(&self.sent).drain() {
            let gone = "Countersign: the server has ended without an answer";
            self.to_client(&Message::failure(Some(&id), code::REFUSED, gone));
        }
        lock(&self.ours).waiting.clear();
    }

    /// Cancels all held calls, because the client is gone.
    pub(crate) fn client_is_gone(&self) {
        lock(&self.pending).values().for_each(PendingCall::cancel);
    }

    /// Handles a client that no longer waits for one request. If the server already has it, it
    /// continues; if it is still held here, it is cancelled and its question withdrawn.
    pub(crate) fn nobody_waits_for(&self, id: &Id) {
        if let Some(pending) = lock(&self.pending).get(&(Side::Server, id.clone())) {
            pending.cancel();
        }
    }

    /// Reports whether no request is pending.
    pub(crate) fn is_idle(&self) -> bool {
        lock(&self.sent).is_empty() && lock(&self.pending).is_empty() && self.busy.is_idle()
    }

    fn is_under_way(&self, id: &Id) -> bool {
        lock(&self.sent).contains_key(id)
            || lock(&self.pending).contains_key(&(Side::Server, id.clone()))
    }

    fn asked(self: &Arc<Self>, id: Id, method: &str, message: Message) {
        let server = &self.server_state.server;
        let action = match method {
            "tools/call" => to_action::call(&message, server, &lock(&self.server_state.tools)),
            "resources/read" | "resources/subscribe" => to_action::resource(&message, server),
            "prompts/get" => to_action::prompt(&message, server),
            // It answers a question of a running task, which may continue it.
            "tasks/update" => Ok(to_action::request(&message, server, "update_task")),
            "initialize" => {
                let said = message.param("capabilities").cloned();
                *lock(&self.capabilities) = said;
                return self.forward(id, &message, None, None);
            }
            _ => return self.forward(id, &message, None, None),
        };
        let action = match action {
            Ok(action) => action,
            Err(wrong) => {
                let wrong = format!("Countersign: {wrong}");
                return self.to_client(&Message::failure(Some(&id), code::WRONG_PARAMS, &wrong));
            }
        };
        match self.decide(action, &message) {
            Decision::Go(digest) => self.forward(id, &message, None, digest),
            Decision::No(why) => self.refuse(&id, &message, &why),
            Decision::Later(action) => self.hold(id, message, action, Side::Server),
        }
    }

    /// Forwards a request to the server.
    fn forward(&self, id: Id, message: &Message, permit: Option<Permit>, digest: Option<String>) {
        let sent = Sent {
            method: message.method().unwrap_or_default().to_owned(),
            era: message.era(),
            first_page: message.param("cursor").is_none(),
            permit,
            digest,
        };
        lock(&self.sent).insert(id, sent);
        self.to_server(message);
    }

    /// Refuses as a result of the tool itself, so that the model sees the reason.
    fn refuse(&self, id: &Id, message: &Message, why: &str) {
        self.to_client(&match message.method() {
            Some("tools/call") => Message::said(id, message.era(), why, true),
            _ => Message::failure(Some(id), code::REFUSED, why),
        });
    }

    /// Reports whether the cancelled request was still held: then the other side need not be told.
    fn cancel_pending(&self, to: Side, message: &Message) -> bool {
        let Some(id) = message.param("requestId").and_then(Id::of) else { return false };
        lock(&self.pending).get(&(to, id)).map(PendingCall::cancel).is_some()
    }

    fn cancelled(&self, message: &Message) {
        if let Some(id) = message.param("requestId").and_then(Id::of) {
            lock(&self.sent).remove(&id);
        }
        self.to_server(message);
    }

    /// Writes to standard error, which clients keep as the log of a server.
    pub(crate) fn complain(&self, what: &str) {
        let (server, what) = (one_line(&self.server_state.server), one_line(what));
        let _ = writeln!(io::stderr(), "countersign mcp {server}: {what}");
    }

    fn to_client(&self, message: &Message) {
        // The reader of the client's input notices that it is gone.
        let _ = self.wire.send(Side::Client, message);
    }

    fn to_server(&self, message: &Message) {
        if self.wire.send(Side::Server, message).is_err()
            && let Kind::Request(id, _) = message.kind()
            && lock(&self.sent).remove(&id).is_some()
        {
            let gone = "Countersign: the server cannot be reached";
            self.to_client(&Message::failure(Some(&id), code::REFUSED, gone));
        }
    }
}

/// Locks and ignores poisoning: the state is still consistent, because nothing here panics between
/// two changes.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
