//! Requests to an MCP server, and their connections.

use std::env;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use countersign_net::trust;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response};
use rustls::ClientConfig;
use serde_json::Value;
use url::Url;

use super::header::{Header, routing};
use crate::client::wire::{self, Sender};
use crate::client::{Address, ClientError, Trust};
use crate::mcp::message::{Era, Message};

/// The largest answer. Images are sent as text.
pub(super) const MOST_BYTES: usize = 64 << 20;
/// The most idle connections that are kept for further requests.
const MOST_IDLE: usize = 32;
/// The header with the id of a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// A server, as seen by one client.
#[derive(Debug)]
pub(crate) struct Upstream {
    server: Arc<Server>,
    session: Mutex<Session>,
}

/// A server and its connection settings.
#[derive(Debug)]
struct Server {
    address: Address,
    /// The path, with its query.
    path: String,
    headers: Vec<Header>,
    tls: Option<Arc<ClientConfig>>,
    idle: Mutex<Vec<Sender>>,
}

/// The session of the old era.
#[derive(Debug, Default)]
struct Session {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

/// A response, and the connection on which it arrives.
pub(super) struct Answer {
    pub(super) response: Response<Incoming>,
    pub(super) sender: Sender,
}

impl Upstream {
    /// Parses the server's URL and headers.
    ///
    /// # Errors
    /// The URL, a header or the certificate is wrong, or a secret would be sent unencrypted.
    pub(crate) fn new(
        url: &str,
        headers: &[String],
        tls_ca: Option<&Path>,
        danger_plain_http: bool,
    ) -> Result<Self> {
        let url = Url::parse(url).context("the server's URL cannot be read")?;
        if !url.username().is_empty() || url.password().is_some() {
            bail!(
                "a secret does not belong in a URL: pass it with --header and an environment variable"
            );
        }
        let address = Address::of(&url)?;
        let headers = headers.iter().map(|text| Header::parse(text, |name| env::var(name).ok()));
        let headers = headers.collect::<Result<Vec<_>>>()?;
        if address.is_readable_by_others() && !danger_plain_http {
            bail!("{address} is not encrypted: use https, or --danger-plain-http");
        }
        let trust = tls_ca.map_or(Trust::Usual, Trust::UsualAnd);
        let tls = match &address {
            Address::Tls { .. } => Some(trust::client(trust)?),
            Address::Plain { .. } | Address::Socket(_) => None,
        };
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{}{query}", url.path());
        let server = Server { address, path, headers, tls, idle: Mutex::default() };
        Ok(Self { server: Arc::new(server), session: Mutex::default() })
    }

    /// Returns the same server for another client.
    pub(super) fn for_another(&self) -> Self {
        Self { server: Arc::clone(&self.server), session: Mutex::default() }
    }

    /// The server's id of the session, if there is one.
    pub(super) fn session_id(&self) -> Option<HeaderValue> {
        self.session().id.clone()
    }

    /// Sends a message.
    pub(super) async fn post(
        &self,
        message: &Message,
        schema: Option<&Value>,
    ) -> Result<Answer, ClientError> {
        let mut request = self.server.request(Method::POST, message.to_string())?;
        let headers = request.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
        match message.era() {
            Era::Modern => routing(message, schema, headers),
            Era::Legacy => self.in_session(headers),
        }
        self.server.send(request).await
    }

    /// Requests the unsolicited messages of the server, or the rest of an answer.
    pub(super) async fn listen(
        &self,
        after: Option<&str>,
    ) -> Result<Response<Incoming>, ClientError> {
        let mut request = self.server.request(Method::GET, String::new())?;
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(after) = after.and_then(|after| HeaderValue::from_str(after).ok()) {
            headers.insert("last-event-id", after);
        }
        self.in_session(headers);
        Ok(self.server.send(request).await?.response)
    }

    /// Ends the session, if there is one.
    pub(super) async fn end(&self) -> Result<(), ClientError> {
        if self.session().id.is_some() {
            let mut request = self.server.request(Method::DELETE, String::new())?;
            self.in_session(request.headers_mut());
            self.server.send(request).await?;
        }
        Ok(())
    }

    /// Notes the id of a new session, if the server assigns one.
    pub(super) fn began(&self, response: &Response<Incoming>) {
        self.session().id = response.headers().get(SESSION).cloned();
    }

    /// Notes the protocol version that both sides have agreed on.
    pub(super) fn agreed(&self, answer: &Message) {
        let version = answer.result().and_then(|result| result.get("protocolVersion")?.as_str());
        self.session().version = version.and_then(|version| HeaderValue::from_str(version).ok());
    }

    /// Keeps a connection whose response has been read to its end.
    pub(super) fn keep(&self, sender: Sender) {
        let mut idle = self.server.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE && !sender.is_closed() {
            idle.push(sender);
        }
    }

    fn session(&self) -> std::sync::MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_session(&self, headers: &mut HeaderMap) {
        let session = self.session();
        if let Some(id) = &session.id {
            headers.insert(SESSION, id.clone());
        }
        if let Some(version) = &session.version {
            headers.insert("mcp-protocol-version", version.clone());
        }
    }
}

impl Server {
    fn request(&self, method: Method, body: String) -> Result<Request<Full<Bytes>>, ClientError> {
        let wrong = |_| ClientError::Broken("the URL cannot be asked for".to_owned());
        let mut request = Request::builder()
            .method(method)
            .uri(&self.path)
            .header(header::HOST, self.address.authority())
            .header(header::USER_AGENT, concat!("countersign/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(Bytes::from(body)))
            .map_err(wrong)?;
        for Header { name, value } in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        Ok(request)
    }

    /// Sends on an idle connection, or on a new one. A request that may have arrived is not sent
    /// again.
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Answer, ClientError> {
        let mut request = request;
        while let Some(mut sender) = self.idle_one() {
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(Answer { response, sender }),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(wire::broken(error.error())),
                },
            }
        }
        let mut sender = wire::open(&self.address, self.tls.as_ref()).await?;
        let sent = sender.send_request(request).await;
        let response = sent.map_err(|error| wire::broken(&error))?;
        Ok(Answer { response, sender })
    }

    fn idle_one(&self) -> Option<Sender> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

/// Reads the whole body of a response as text.
///
/// # Errors
/// It is too long, breaks off or is not UTF-8.
pub(super) async fn whole(response: Response<Incoming>) -> Result<String, String> {
    let body = Limited::new(response.into_body(), MOST_BYTES).collect().await;
    let bytes = body.map_err(|error| format!("its answer cannot be read: {error}"))?.to_bytes();
    String::from_utf8(bytes.into()).map_err(|_| "its answer is not UTF-8".to_owned())
}
