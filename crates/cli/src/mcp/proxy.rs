//! Stands between one client and one server of MCP.
//!
//! ```text
//! client ──request──► judge ─┬─ allow ──────────────────────────► server
//!    ▲                       ├─ block ──► refused, as the tool's own answer
//!    │                       └─ confirm ─► held: a person is asked ─► server, or refused
//!    └───────────────────────── answer ◄─ redacted, tools hidden ◄──┘
//! ```
//!
//! What is not judged is passed on as it came, whatever it is: fields and methods that nobody
//! here knows are not lost. What is judged is passed on as it was judged, written anew.
//!
//! INVARIANT: a call is sent on by [`Proxy::forward`] alone, and a judged one only out of
//! [`Proxy::decide`] or of `held`, which takes it from the held calls first: once, and never after
//! it was cancelled.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::Result;
use countersign_core::{Action, Verdict};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::json::{Json, Object};
use super::message::{Era, Id, Kind, Message, code};
use super::pins::Pins;
use super::subject;
use super::terms::{Standing, Terms};
use super::tools::Tools;
use crate::show::one_line;
use crate::{case, hook};

mod answered;
mod guard;
mod held;
mod person;
#[cfg(test)]
mod tests;

use held::Held;
use person::{Busy, Permit};

/// Continuations of calls that were agreed to; more than these are asked about again.
const MOST_CONTINUATIONS: usize = 256;

/// What a client asks for that is judged first.
const JUDGED: &[&str] =
    &["tools/call", "resources/read", "resources/subscribe", "prompts/get", "tasks/update"];

/// Who a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Carries messages to both sides.
pub(crate) trait Wire: Send + Sync {
    /// Sends one.
    ///
    /// # Errors
    /// Nobody is there any more.
    fn send(&self, to: Side, message: &Message) -> io::Result<()>;
}

/// What all proxies of one server share.
#[derive(Debug)]
pub(crate) struct House {
    /// What the server is called.
    pub(crate) server: String,
    /// The data folder.
    pub(crate) folder: PathBuf,
    standing: Standing,
    pins: Mutex<Pins>,
    tools: Mutex<Tools>,
    /// Held by the one call that has the tools listed, while others wait for what it learns.
    listing: tokio::sync::Mutex<()>,
    /// Where questions wait; made when the first is asked.
    runtime: OnceLock<Runtime>,
}

/// One client before one server.
pub(crate) struct Proxy {
    house: Arc<House>,
    wire: Box<dyn Wire>,
    /// Requests of the client that the server has.
    sent: Mutex<HashMap<Id, Sent>>,
    /// Requests that wait for a person.
    held: Mutex<HashMap<(Side, Id), Held>>,
    busy: Busy,
    /// Requests of our own.
    ours: Mutex<Ours>,
    /// What a client of the old era said it can do.
    capabilities: Mutex<Option<Json>>,
    /// Whether the server tells its client when tools change, and by what they were last shown.
    tells_changes: AtomicBool,
    shown_by: Mutex<Option<Arc<Terms>>>,
    /// States of calls that were agreed to and that the server wants to go on with.
    continued: Mutex<VecDeque<(String, String)>>,
}

/// A request that the server has.
#[derive(Debug)]
struct Sent {
    method: String,
    era: Era,
    /// Whether a list begins here.
    first_page: bool,
    /// What to tell the gate when it is answered.
    permit: Option<Permit>,
    /// What the call is, where somebody agreed to it or nobody had to.
    digest: Option<String>,
}

#[derive(Default)]
struct Ours {
    last: u64,
    /// By whom they were put to: another side cannot answer them.
    waiting: HashMap<(Side, Id), oneshot::Sender<Message>>,
}

impl House {
    /// What is known about a server before it says anything.
    ///
    /// # Errors
    /// The configuration is wrong, or definitions cannot be kept.
    pub(crate) fn open(server: String, folder: PathBuf) -> Result<Self> {
        let (standing, pins) = (Standing::here()?, Pins::open(&folder)?);
        Ok(Self {
            server,
            folder,
            standing,
            pins: Mutex::new(pins),
            tools: Mutex::default(),
            listing: tokio::sync::Mutex::default(),
            runtime: OnceLock::new(),
        })
    }
}

/// What became of judging.
enum Decision {
    /// It may go on.
    Go(Option<String>),
    /// It may not, and why.
    No(String),
    /// Somebody must be asked first: a name server, the tool's own server or a person.
    Later(Action),
}

impl Proxy {
    pub(crate) fn new(house: Arc<House>, wire: Box<dyn Wire>) -> Arc<Self> {
        Arc::new(Self {
            house,
            wire,
            sent: Mutex::default(),
            held: Mutex::default(),
            busy: Busy::default(),
            ours: Mutex::default(),
            capabilities: Mutex::default(),
            tells_changes: AtomicBool::new(false),
            shown_by: Mutex::default(),
            continued: Mutex::default(),
        })
    }

    /// The client said something.
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
                if !self.cancel_held(Side::Server, &message) {
                    self.cancelled(&message);
                }
            }
            // Nobody could be told what came of it, and a server that is not strict would do it.
            Kind::Notification(method) if JUDGED.contains(&method) => {
                self.complain(&format!("`{method}` without an id is not passed on"));
            }
            Kind::Response(Some(id)) if self.answered_us(Side::Client, &id, &message) => {}
            Kind::Notification(_) | Kind::Response(_) => self.to_server(&message),
        }
    }

    /// The server said something.
    pub(crate) fn from_server(self: &Arc<Self>, text: &str) {
        let message = match Message::read(text) {
            Ok(message) => message,
            Err(error) => return self.unreadable(text, &error.to_string()),
        };
        match message.kind() {
            Kind::Response(Some(id)) => {
                if !self.answered_us(Side::Server, &id, &message) {
                    let sent = lock(&self.sent).remove(&id);
                    // Late or unasked answers are nobody's.
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
                if self.cancel_held(Side::Client, &message) => {}
            Kind::Notification("notifications/tools/list_changed") => {
                lock(&self.house.tools).forget();
                self.to_client(&message);
            }
            Kind::Notification(_) | Kind::Response(None) => self.to_client(&message),
        }
    }

    /// The client said something that cannot even be read.
    pub(crate) fn client_broke(&self, why: &str) {
        self.to_client(&Message::failure(None, code::UNREADABLE, &format!("Countersign: {why}")));
    }

    /// The server said something that cannot even be read.
    pub(crate) fn server_broke(&self, why: &str) {
        self.complain(why);
    }

    /// The server will not answer this request, and why.
    pub(crate) fn lost(&self, id: &Id, why: &str) {
        if lock(&self.sent).remove(id).is_some() {
            let why = format!("Countersign: no answer from the server: {why}");
            self.to_client(&Message::failure(Some(id), code::REFUSED, &why));
        }
        lock(&self.ours).waiting.remove(&(Side::Server, id.clone()));
    }

    /// Whether the server still owes an answer to this request.
    pub(crate) fn waits_for(&self, id: &Id) -> bool {
        let ours = (Side::Server, id.clone());
        lock(&self.sent).contains_key(id) || lock(&self.ours).waiting.contains_key(&ours)
    }

    /// What the server says the arguments of a call look like.
    pub(crate) fn schema(&self, message: &Message) -> Option<Value> {
        let tool = message.param("name").filter(|_| message.method() == Some("tools/call"))?;
        lock(&self.house.tools).schema(tool.as_str()?).cloned()
    }

    /// The server is gone: whoever waits for it waits no longer.
    pub(crate) fn server_is_gone(&self) {
        for (id, _) in lock(&self.sent).drain() {
            let gone = "Countersign: the server has ended without an answer";
            self.to_client(&Message::failure(Some(&id), code::REFUSED, gone));
        }
        lock(&self.ours).waiting.clear();
    }

    /// The client is gone: nobody waits for an answer any more.
    pub(crate) fn client_is_gone(&self) {
        lock(&self.held).values().for_each(Held::cancel);
    }

    /// The client no longer waits for the answer to one request. What the server has already may go
    /// on; what is still held here does not, and its question is withdrawn.
    pub(crate) fn nobody_waits_for(&self, id: &Id) {
        if let Some(held) = lock(&self.held).get(&(Side::Server, id.clone())) {
            held.cancel();
        }
    }

    /// Whether nothing is under way any more.
    pub(crate) fn is_idle(&self) -> bool {
        lock(&self.sent).is_empty() && lock(&self.held).is_empty() && self.busy.is_idle()
    }

    fn is_under_way(&self, id: &Id) -> bool {
        lock(&self.sent).contains_key(id)
            || lock(&self.held).contains_key(&(Side::Server, id.clone()))
    }

    fn asked(self: &Arc<Self>, id: Id, method: &str, message: Message) {
        let server = &self.house.server;
        let action = match method {
            "tools/call" => subject::call(&message, server, &lock(&self.house.tools)),
            "resources/read" | "resources/subscribe" => subject::resource(&message, server),
            "prompts/get" => subject::prompt(&message, server),
            // It answers what a running task asked, and may make it go on.
            "tasks/update" => Ok(subject::request(&message, server, "update_task")),
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

    /// What can be said at once.
    fn decide(&self, action: Action, message: &Message) -> Decision {
        let terms = match self.terms() {
            Ok(terms) => terms,
            Err(why) => return Decision::No(why),
        };
        if let Action::Tool { tool, .. } = &action
            && message.method() == Some("tools/call")
        {
            if terms.mcp.hides(&self.house.server, tool) {
                return Decision::No(format!("Countersign hides the tool `{}`", one_line(tool)));
            }
            if !lock(&self.house.tools).knows(tool) {
                return Decision::Later(action);
            }
        }
        if held::resumes(message) || !subject::domains(&action).is_empty() {
            return Decision::Later(action);
        }
        let mut context = self.context(&action);
        match case::judge_with_facts(&action, &terms.policy, &mut context) {
            Ok(judged) if judged.verdict == Verdict::Block => Decision::No(hook::refusal(&judged)),
            Ok(judged) if self.continues(message, &judged.digest) => {
                Decision::Go(Some(judged.digest))
            }
            Ok(judged) if judged.verdict >= Verdict::Confirm || terms.hook.record => {
                Decision::Later(action)
            }
            Ok(judged) => Decision::Go(Some(judged.digest)),
            Err(panicked) => Decision::No(panicked.to_string()),
        }
    }

    /// By what is judged now.
    fn terms(&self) -> Result<Arc<Terms>, String> {
        if hook::is_halted_in(&self.house.folder) {
            return Err(hook::HALTED.to_owned());
        }
        let terms = self.house.standing.terms();
        let terms = terms.map_err(|why| format!("Countersign refuses all: {why}"))?;
        self.tell_change(&terms);
        Ok(terms)
    }

    /// Other terms show other tools, so the client should look again.
    fn tell_change(&self, terms: &Arc<Terms>) {
        let mut shown_by = lock(&self.shown_by);
        let is_other = shown_by.as_ref().is_some_and(|last| !Arc::ptr_eq(last, terms));
        if is_other {
            *shown_by = None;
            drop(shown_by);
            if self.tells_changes.load(Ordering::Relaxed) {
                let method = "notifications/tools/list_changed";
                self.to_client(&Message::notification(method, Object::default()));
            }
        }
    }

    /// What is true around an action, with the definition that was agreed to.
    fn context(&self, action: &Action) -> countersign_core::Context {
        let mut context = self.house.standing.around.clone();
        if let Action::Tool { server, tool, .. } = action {
            let name = format!("{server}/{tool}");
            let pinned = lock(&self.house.pins).get(&name).map(str::to_owned);
            context.pinned_tools.extend(pinned.map(|digest| (name, digest)));
        }
        context
    }

    /// Whether a server goes on with a call that was let through before: it has asked its client
    /// something in between, and this is the same call with the answers.
    fn continues(&self, message: &Message, digest: &str) -> bool {
        let Some(state) = message.param("requestState").and_then(Json::as_str) else {
            return false;
        };
        let mut continued = lock(&self.continued);
        let at = continued.iter().position(|(known, of)| known == state && of == digest);
        at.and_then(|at| continued.remove(at)).is_some()
    }

    /// Sends a request on to the server.
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

    /// Says no as the tool itself would: the model must see why.
    fn refuse(&self, id: &Id, message: &Message, why: &str) {
        self.to_client(&match message.method() {
            Some("tools/call") => Message::said(id, message.era(), why, true),
            _ => Message::failure(Some(id), code::REFUSED, why),
        });
    }

    /// Whether what is cancelled was still here: then there is nothing to cancel elsewhere.
    fn cancel_held(&self, to: Side, message: &Message) -> bool {
        let Some(id) = message.param("requestId").and_then(Id::of) else { return false };
        lock(&self.held).get(&(to, id)).map(Held::cancel).is_some()
    }

    fn cancelled(&self, message: &Message) {
        if let Some(id) = message.param("requestId").and_then(Id::of) {
            lock(&self.sent).remove(&id);
        }
        self.to_server(message);
    }

    /// Asks the other side something ourselves.
    async fn ask(
        &self,
        to: Side,
        method: &str,
        params: Object,
        like: Option<&Message>,
    ) -> Option<Message> {
        let (id, answer) = {
            let mut ours = lock(&self.ours);
            ours.last = ours.last.wrapping_add(1);
            // Neither side would choose this name by chance.
            let id = Id::new(format!("countersign/{}/{}", std::process::id(), ours.last));
            let (answered, answer) = oneshot::channel();
            ours.waiting.insert((to, id.clone()), answered);
            (id, answer)
        };
        let request = Message::request(&id, method, params, like);
        if self.wire.send(to, &request).is_err() {
            lock(&self.ours).waiting.remove(&(to, id));
        }
        answer.await.ok()
    }

    /// Whether this answers a request of our own.
    fn answered_us(&self, by: Side, id: &Id, message: &Message) -> bool {
        let waiting = lock(&self.ours).waiting.remove(&(by, id.clone()));
        // Whoever asked may have stopped waiting.
        waiting.is_some_and(|answered| {
            let _ = answered.send(message.clone());
            true
        })
    }

    /// For whoever looks at what the client keeps of its servers' complaints.
    pub(crate) fn complain(&self, what: &str) {
        let (server, what) = (one_line(&self.house.server), one_line(what));
        let _ = writeln!(io::stderr(), "countersign mcp {server}: {what}");
    }

    fn to_client(&self, message: &Message) {
        // A client that is gone is seen by whoever reads from it.
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

/// What a poisoned lock guards is still whole: nothing here panics between two changes.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
