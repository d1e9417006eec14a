//! An MCP server of our own, with which an agent asks before it acts.
//!
//! No tool here answers a question for a person: an agent can only ask, and wait.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, OnceCell};
use tokio::time::interval;

use super::json::{Json, Object};
use super::message::{Era, Id, Kind, Message, code};
use super::stdio;
use crate::exit::Exit;

mod asking;
mod hands;
mod tool;

use asking::Asking;
pub(crate) use hands::{Hands, Tools};

/// Protocol versions of the old era, the newest last.
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";
/// The cache lifetime of our lists, which do not change while we run.
const LASTS: i64 = 3_600_000;
const SHOW_PROGRESS: Duration = Duration::from_secs(10);
const INSTRUCTIONS: &str = "Countersign judges what you are about to do, and asks a person where \
                            that is needed. Ask before anything that cannot be undone; a no is \
                            an answer, not an obstacle.";

/// Serves the client on our standard input and output until it closes its end.
///
/// # Errors
/// The system provides no thread.
pub(crate) fn serve(folder: PathBuf, hands: Hands, session: Option<String>) -> Result<Exit> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let server = Arc::new(Server {
        folder,
        runtime,
        hands,
        session: Arc::new(OnceCell::new_with(session)),
        calls: Mutex::default(),
    });
    stdio::read_lines(|line| match line {
        Ok(line) => server.heard(&line),
        Err(why) => say(&Message::failure(None, code::UNREADABLE, &format!("Countersign: {why}"))),
    });
    server.end();
    Ok(Exit::Done)
}

struct Server {
    folder: PathBuf,
    runtime: Runtime,
    hands: Hands,
    /// The session in which these tools do something.
    session: Arc<OnceCell<String>>,
    /// Calls that are not answered yet.
    calls: Mutex<HashMap<Id, Arc<Notify>>>,
}

impl Server {
    fn heard(self: &Arc<Self>, text: &str) {
        let message = match Message::read(text) {
            Ok(message) => message,
            Err(error) => return say(&error.answer()),
        };
        match message.kind() {
            Kind::Request(id, "tools/call") => self.call(id, &message),
            Kind::Request(id, method) => say(&answered(&id, method, &message, &self.hands)),
            Kind::Notification("notifications/cancelled") => {
                if let Some(id) = message.param("requestId").and_then(Id::of)
                    && let Some(call) = self.calls().remove(&id)
                {
                    call.notify_one();
                }
            }
            Kind::Notification(_) | Kind::Response(_) => {}
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<Id, Arc<Notify>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels all calls, because the client is gone.
    fn end(&self) {
        let calls: Vec<_> = self.calls().drain().map(|(_, call)| call).collect();
        for call in &calls {
            call.notify_one();
        }
        let withdrawn = async {
            // Each call keeps its handle as long as it has a question to withdraw.
            while calls.iter().any(|call| Arc::strong_count(call) > 1) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let within = Duration::from_secs(2);
        let _ = self.runtime.block_on(async { tokio::time::timeout(within, withdrawn).await });
    }

    fn call(self: &Arc<Self>, id: Id, message: &Message) {
        if let Some(wrong) = unsupported(&id, message) {
            return say(&wrong);
        }
        let name = message.param("name").and_then(Json::as_str).unwrap_or_default();
        let tool = tool::find(name);
        if tool.is_none() && !self.hands.has(name) {
            let unknown = "Countersign: there is no such tool";
            return say(&Message::failure(Some(&id), code::WRONG_PARAMS, unknown));
        }
        let call = Arc::new(Notify::new());
        if self.calls().contains_key(&id) {
            let twice = "Countersign: another request has this id and is not answered yet";
            return say(&Message::failure(Some(&id), code::NO_MESSAGE, twice));
        }
        // Only this thread inserts calls, one after the other.
        self.calls().insert(id.clone(), Arc::clone(&call));
        let arguments = message.param("arguments").cloned().unwrap_or(Json::Null);
        let (era, token) = (message.era(), message.progress_token().cloned());
        let (this, name) = (Arc::clone(self), name.to_owned());
        self.runtime.spawn(async move {
            let (folder, session) = (this.folder.clone(), Arc::clone(&this.session));
            let asking = Asking { folder, session, cancelled: call };
            let said = tokio::spawn(async move {
                match tool {
                    Some(tool) => tool(arguments, &asking).await,
                    None => tool::done(&name, arguments, &asking).await,
                }
            });
            let mut said = std::pin::pin!(said);
            let mut ticks = interval(SHOW_PROGRESS);
            let mut steps = 0_i64;
            let said = loop {
                tokio::select! {
                    said = &mut said => break said,
                    _ = ticks.tick() => {
                        steps += 1;
                        show_progress(token.as_ref(), steps);
                    }
                }
            };
            // A cancelled call is not answered.
            if this.calls().remove(&id).is_some() {
                let said = said.unwrap_or_else(|_| tool::ToolResult::failed());
                say(&Message::success(&id, said.result(era)));
            }
        });
    }
}

fn show_progress(token: Option<&Json>, steps: i64) {
    if let Some(token) = token {
        let params = Object::default().with("progressToken", token.clone());
        let params = params.with("progress", steps).with("message", "Waiting for a person");
        say(&Message::notification("notifications/progress", params));
    }
}

fn say(message: &Message) {
    // The reader of the client's input notices that it is gone.
    let _ = stdio::say(message);
}

/// The answer to every request but a call.
fn answered(id: &Id, method: &str, message: &Message, hands: &Hands) -> Message {
    if method == "initialize" {
        return Message::success(id, initialized(message));
    }
    if let Some(wrong) = unsupported(id, message) {
        return wrong;
    }
    let era = message.era();
    match (method, era) {
        ("ping", _) => Message::success(id, era.result()),
        ("tools/list", Era::Legacy) => {
            Message::success(id, era.result().with("tools", tool::offered(hands)))
        }
        ("tools/list", Era::Modern) => {
            Message::success(id, lasting(era.result().with("tools", tool::offered(hands))))
        }
        ("server/discover", Era::Modern) => Message::success(id, discovered()),
        _ => Message::failure(Some(id), code::NO_METHOD, "Countersign: there is no such method"),
    }
}

/// The error for a request of the new era that cannot be answered.
fn unsupported(id: &Id, message: &Message) -> Option<Message> {
    if message.era() == Era::Legacy {
        return None;
    }
    if message.version() != Some(MODERN) {
        let supported = vec![Json::from(MODERN)];
        let data = Object::default().with("supported", supported);
        let data = data.with("requested", message.version().unwrap_or_default());
        let why = "Countersign: this revision of MCP is not supported";
        return Some(Message::failure_with(id, code::UNSUPPORTED_VERSION, why, data));
    }
    if message.capabilities().is_none() {
        let why = "Countersign: a request says in `_meta` what its client can do";
        return Some(Message::failure(Some(id), code::WRONG_PARAMS, why));
    }
    None
}

fn initialized(message: &Message) -> Object {
    let wanted = message.param("protocolVersion").and_then(Json::as_str);
    let newest = LEGACY.last().copied().unwrap_or_default();
    let version = LEGACY.into_iter().find(|known| Some(*known) == wanted).unwrap_or(newest);
    Object::default()
        .with("protocolVersion", version)
        .with("capabilities", Object::default().with("tools", Object::default()))
        .with("serverInfo", who())
        .with("instructions", INSTRUCTIONS)
}

fn discovered() -> Object {
    let meta = Object::default().with("io.modelcontextprotocol/serverInfo", who());
    lasting(
        Era::Modern
            .result()
            .with("supportedVersions", vec![Json::from(MODERN)])
            .with("capabilities", Object::default().with("tools", Object::default()))
            .with("instructions", INSTRUCTIONS)
            .with("_meta", meta),
    )
}

fn lasting(result: Object) -> Object {
    result.with("ttlMs", LASTS).with("cacheScope", "public")
}

fn who() -> Object {
    let who = Object::default().with("name", "countersign").with("title", "Countersign");
    who.with("version", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: &str, params: &str) -> String {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let message = Message::read(&text).unwrap();
        answered(&message.id().unwrap(), method, &message, &Hands::default()).to_string()
    }

    const META: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{}}}"#;

    #[test]
    fn both_eras_learn_what_is_offered() {
        let began = ask("initialize", r#"{"protocolVersion":"2025-06-18"}"#);
        assert!(began.contains(r#""protocolVersion":"2025-06-18""#), "{began}");
        assert!(ask("initialize", r#"{"protocolVersion":"1999-01-01"}"#).contains("2025-11-25"));
        let discovered = ask("server/discover", META);
        assert!(discovered.contains(r#""supportedVersions":["2026-07-28"]"#), "{discovered}");
        let (older, newer) = (ask("tools/list", "{}"), ask("tools/list", META));
        assert!(newer.contains("ttlMs") && !older.contains("ttlMs"));
        for tool in ["request_confirmation", "check_action", "explain_action", "approve"] {
            assert!(older.contains(&format!(r#""name":"{tool}""#)), "{tool}");
        }
    }

    #[test]
    fn what_is_not_spoken_here_is_said() {
        let other = META.replace("2026-07-28", "2031-01-01");
        assert!(ask("tools/list", &other).contains("-32022"));
        let mute = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        assert!(ask("tools/list", mute).contains("-32602"));
        assert!(ask("resources/list", "{}").contains("-32601"));
        assert!(ask("server/discover", "{}").contains("-32601"));
    }
}
