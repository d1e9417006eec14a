//! A small HTTP client: one request per connection, and the whole response.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use countersign_server::SocketName;
use serde_json::{Value, json};

use super::{PATIENCE, text};

/// A client of the server.
#[derive(Clone)]
pub(crate) struct Client {
    pub(super) address: SocketAddr,
    /// The secret of a device or a key.
    pub(super) secret: Option<String>,
    /// The machine a key is used on.
    pub(super) device: Option<String>,
    /// The device of the person who made the key, and who starts its sessions.
    pub(super) maker: Option<String>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Client {
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.json("POST", path, &[], body)
    }

    pub(super) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    /// Sends JSON.
    pub(super) fn json(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        let headers = [headers, &[("Content-Type", "application/json")]].concat();
        self.send(method, path, &headers, body.to_string().as_bytes())
    }

    pub(super) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut stream = self.begin(method, path, headers, body.len());
        // A server that refuses may answer before it has read everything.
        let _ = stream.write_all(body);
        read(stream)
    }

    /// Sends only the head of a request.
    pub(super) fn begin(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        length: usize,
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("it takes connections");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut all = vec![("Host", self.address.to_string())];
        all.extend(headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
        if let Some(secret) = &self.secret {
            all.push(("Authorization", format!("Bearer {secret}")));
        }
        if let Some(device) = &self.device {
            all.push(("Countersign-Device", device.clone()));
        }
        stream.write_all(head(method, path, &all, length).as_bytes()).expect("it reads");
        stream
    }

    /// Returns the first workspace of a person.
    pub(super) fn workspace(&self) -> String {
        let me = self.get("/api/me").expect(200);
        let workspaces = me["user"]["workspaces"].as_object().expect("workspaces").clone();
        workspaces.keys().next().expect("one").clone()
    }

    pub(super) fn id(&self) -> String {
        text(&self.get("/api/me").expect(200)["user"]["user_id"])
    }

    /// Creates a key that works everywhere, for everything, without an effective rate limit.
    pub(super) fn key(&self, access: &str) -> Self {
        let writes = json!({"uses": 100_000, "seconds": 1});
        // A program's key may also consent for its user; a model's key cannot.
        let scopes = if access == "program" { vec!["*", "sessions.consent"] } else { vec!["*"] };
        self.key_of(&json!({
            "name": access, "scopes": scopes, "access": access, "devices": "any", "writes": writes,
        }))
    }

    pub(super) fn key_of(&self, body: &Value) -> Self {
        let made = self.post("/api/keys", body).expect(201);
        Self { secret: Some(text(&made["secret"])), maker: self.secret.clone(), ..self.clone() }
    }

    /// Starts a session; for a key, its user does.
    pub(super) fn session(&self, plan: &Value) -> String {
        let body = json!({"consent": true, "plan": plan});
        let secret = self.maker.clone().or_else(|| self.secret.clone());
        let person = Self { secret, device: None, ..self.clone() };
        text(&person.post("/api/sessions", &body).expect(201)["session_id"])
    }

    /// Proposes an action outside of any session.
    pub(super) fn propose(&self, action: &Value) -> Answer {
        self.post("/api/actions", &json!({"action": action}))
    }

    pub(super) fn propose_in(&self, session: &str, action: &Value) -> Answer {
        self.post(&format!("/api/sessions/{session}/actions"), &json!({"action": action}))
    }

    /// Proposes an action that needs an approval, and returns the question's id.
    pub(super) fn ask(&self, action: &Value) -> String {
        text(&self.propose(action).expect(202)["approval_id"])
    }

    pub(super) fn ask_in(&self, session: &str, action: &Value) -> String {
        text(&self.propose_in(session, action).expect(202)["approval_id"])
    }

    pub(crate) fn respond(&self, approval: &str, approved: bool) -> Answer {
        self.post(&format!("/api/approvals/{approval}/respond"), &json!({"approved": approved}))
    }

    pub(super) fn approval(&self, approval: &str) -> Value {
        self.get(&format!("/api/approvals/{approval}")).expect(200)
    }

    pub(crate) fn state(&self, approval: &str) -> String {
        text(&self.approval(approval)["state"])
    }

    pub(super) fn spend(&self, approval: &str, action: &Value) -> Answer {
        self.post(&format!("/api/approvals/{approval}/spend"), &json!({"action": action}))
    }

    /// Returns the history of a person, newest first.
    pub(super) fn history(&self, event: &str) -> Vec<Value> {
        let listed = self.get(&format!("/api/history?event={event}&limit=200")).expect(200);
        listed["items"].as_array().expect("a list").clone()
    }
}

impl Answer {
    /// Returns the JSON of a response with this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        if self.body.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the kind of problem of a response with this status.
    #[track_caller]
    pub(super) fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type").as_deref(), Some("application/problem+json"));
        let problem: Value = serde_json::from_slice(&self.body).expect("JSON");
        assert_eq!(problem["status"], status);
        assert!(!text(&problem["detail"]).is_empty(), "{problem}");
        let kind = text(&problem["type"]);
        kind.strip_prefix("urn:countersign:problem:").expect("one of ours").to_owned()
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim().to_owned())
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn head(method: &str, path: &str, headers: &[(&str, String)], length: usize) -> String {
    use std::fmt::Write as _;
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    if !["GET", "HEAD"].contains(&method) {
        let _ = write!(head, "Content-Length: {length}\r\n");
    }
    head + "\r\n"
}

/// Sends a request over a local socket, without credentials.
pub(super) fn local(socket: &Path, method: &str, path: &str, body: &Value) -> Answer {
    let name = SocketName::of(socket).expect("a socket");
    let mut stream = UnixStream::connect(name.path()).expect("it takes connections");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let body = body.to_string();
    let json = ("Content-Type", "application/json".to_owned());
    let all = [("Host", "localhost".to_owned()), json];
    let head = head(method, path, &all, body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
    read(stream)
}

/// Reads the whole response.
pub(super) fn read(stream: impl Read) -> Answer {
    let mut reader = BufReader::new(stream);
    let (status, head) = read_head(&mut reader);
    let mut answer = Answer { status, head, body: Vec::new() };
    let is_chunked = answer.header("transfer-encoding").is_some();
    let length = answer.header("content-length").and_then(|text| text.parse().ok());
    let done = if is_chunked {
        Chunked::new(reader).read_to_end(&mut answer.body)
    } else {
        reader.take(length.unwrap_or(0)).read_to_end(&mut answer.body)
    };
    done.expect("all of the answer");
    if let Some(length) = length {
        assert_eq!(answer.body.len() as u64, length, "all of the answer");
    }
    answer
}

/// Reads the status and the head of a response.
pub(super) fn read_head(reader: &mut impl BufRead) -> (u16, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = reader.read_line(&mut head).expect("an answer");
        assert!(read > 0, "it broke off: {head}");
    }
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), head)
}

/// Reads a chunked body.
pub(super) struct Chunked<R> {
    inner: R,
    left: u64,
    over: bool,
}

impl<R: BufRead> Chunked<R> {
    pub(super) const fn new(inner: R) -> Self {
        Self { inner, left: 0, over: false }
    }

    fn next_chunk(&mut self) -> std::io::Result<()> {
        let mut line = String::new();
        while line.trim().is_empty() {
            line.clear();
            if self.inner.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.left = u64::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
        self.over = self.left == 0;
        Ok(())
    }
}

impl<R: BufRead> Read for Chunked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 && !self.over {
            self.next_chunk()?;
        }
        let read = Read::by_ref(&mut self.inner).take(self.left).read(buffer)?;
        self.left -= read as u64;
        Ok(read)
    }
}
