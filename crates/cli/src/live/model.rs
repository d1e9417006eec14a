//! A scripted model: proposes one shell command, then says that it is done.
//!
//! Speaks the four protocols that hosts use with models, on a loopback port of its own. It keeps
//! the result that comes back for its command, because that is what a model would read. It never
//! runs anything: hosts do.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

mod anthropic;
mod chat;
mod gemini;
mod responses;
mod schema;

/// A request consists mostly of the host's instructions, far below this.
const MOST_BYTES: usize = 32 << 20;
/// The model's last message.
const DONE: &str = "Done.";
/// The tools that run a shell command, as hosts name them.
const SHELLS: &[&str] = &[
    "Bash",
    "bash",
    "exec_command",
    "shell_command",
    "shell",
    "run_shell_command",
    "Execute",
    "run_commands",
    "execute_command",
];

const DIALECTS: [&dyn Dialect; 4] =
    [&anthropic::Messages, &responses::Responses, &chat::Completions, &gemini::GenerateContent];

/// A protocol between hosts and models.
trait Dialect: Sync {
    /// Reports whether requests of this path use this protocol.
    fn knows(&self, path: &str) -> bool;

    /// Parses a request.
    fn read(&self, body: &Value) -> Asked;

    /// Formats an answer.
    fn say(&self, path: &str, body: &Value, answer: &Answer) -> ModelReply;
}

/// The relevant content of a request, in any protocol.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    tools: Vec<Tool>,
    /// The results of tools, oldest first.
    results: Vec<String>,
}

/// A tool that the host offers.
#[derive(Debug, Clone, PartialEq)]
struct Tool {
    name: String,
    /// The JSON schema of its input.
    takes: Value,
}

/// The model's answer.
#[derive(Debug, PartialEq)]
enum Answer {
    Call { tool: String, arguments: Value },
    Text(String),
}

/// An answer on the wire.
#[derive(Debug, PartialEq)]
enum ModelReply {
    Whole(Value),
    /// Events, each with its name if the protocol has names, and a closing line.
    Stream {
        events: Vec<(Option<&'static str>, Value)>,
        closing: Option<&'static str>,
    },
}

impl ModelReply {
    fn into_response(self) -> Response<Full<Bytes>> {
        match self {
            Self::Whole(value) => respond("application/json", value.to_string()),
            Self::Stream { events, closing } => {
                let mut text = String::new();
                for (name, data) in events {
                    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
                    text.extend([name.as_str(), "data: ", &data.to_string(), "\n\n"]);
                }
                text.extend(closing.map(|closing| format!("data: {closing}\n\n")));
                respond("text/event-stream", text)
            }
        }
    }
}

fn respond(kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A model that listens until it is dropped.
#[derive(Debug)]
pub(super) struct Model {
    port: u16,
    script: Arc<Mutex<Script>>,
    serving: JoinHandle<()>,
}

/// The command to propose, and the requests so far.
#[derive(Debug, Default)]
struct Script {
    command: String,
    heard: Heard,
}

/// The requests that reached the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// The number of requests of any kind.
    pub(super) requests: usize,
    /// The number of times the command was proposed.
    pub(super) proposed: usize,
    /// The results of the command that the host reported.
    pub(super) results: Vec<String>,
}

impl Model {
    /// Listens on a free port of this machine.
    ///
    /// # Errors
    /// No port is free.
    pub(super) async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.context("the scripted model cannot listen")?;
        let port = listener.local_addr()?.port();
        let script = Arc::default();
        let serving = tokio::spawn(serve(listener, Arc::clone(&script)));
        Ok(Self { port, script, serving })
    }

    /// The URL of the model.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sets the command to propose, and forgets earlier requests.
    pub(super) fn begin(&self, command: &str) {
        *lock(&self.script) = Script { command: command.to_owned(), heard: Heard::default() };
    }

    /// Returns the requests since then.
    pub(super) fn heard(&self) -> Heard {
        lock(&self.script).heard.clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, script: Arc<Mutex<Script>>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let script = Arc::clone(&script);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(&script, request));
            // A host that closes the connection does not matter.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(
    script: &Mutex<Script>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = Limited::new(request.into_body(), MOST_BYTES).collect().await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    Ok(reply(&mut lock(script), &path, &body))
}

fn reply(script: &mut Script, path: &str, body: &Value) -> Response<Full<Bytes>> {
    script.heard.requests = script.heard.requests.saturating_add(1);
    let known = DIALECTS.into_iter().find(|dialect| dialect.knows(path));
    let Some(dialect) = known else { return elsewhere(path) };
    let asked = dialect.read(body);
    let shell = asked.tools.iter().find(|tool| SHELLS.contains(&tool.name.as_str()));
    let said = match shell {
        Some(tool) if asked.results.is_empty() => {
            script.heard.proposed = script.heard.proposed.saturating_add(1);
            let arguments = schema::arguments(&tool.takes, &script.command);
            Answer::Call { tool: tool.name.clone(), arguments }
        }
        Some(_) | None => Answer::Text(DONE.to_owned()),
    };
    if !asked.results.is_empty() {
        script.heard.results = asked.results;
    }
    dialect.say(path, body, &said).into_response()
}

/// Answers the other requests of hosts: token counts, lists of models.
fn elsewhere(path: &str) -> Response<Full<Bytes>> {
    if path.ends_with("/count_tokens") || path.ends_with(":countTokens") {
        return ModelReply::Whole(json!({"input_tokens": 10, "totalTokens": 10})).into_response();
    }
    if path.ends_with("/models") {
        let model = json!({"id": "scripted", "object": "model", "created": 0, "owned_by": "us"});
        return ModelReply::Whole(json!({"object": "list", "data": [model]})).into_response();
    }
    let mut response = ModelReply::Whole(json!({"error": {"message": "not here"}})).into_response();
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// The text of a value that is a string, a list of parts or a nested object.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => match members.get("text") {
            Some(text) => text_of(text),
            None => value.to_string(),
        },
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The items of a list field.
fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn named(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn streams(body: &Value) -> bool {
    body.get("stream").and_then(Value::as_bool).unwrap_or_default()
}

#[cfg(test)]
mod tests;
