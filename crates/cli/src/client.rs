//! A client of a running server over HTTP, for the commands that people use.
//!
//! Over the local socket, a process of the server's own user acts as its owner. Over a URL a person
//! shows the secret of their device, which is read from the environment only: every process of the
//! machine can see an argument, and a file can be read later.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use countersign_gate::secret::{Secret, SecretKind};
use countersign_net::trust;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::data::{Data, SOCKET};

mod address;
mod events;
mod failure;
mod socket;
mod upload;
pub(crate) mod wire;

pub(crate) use address::Address;
pub(crate) use countersign_net::trust::Trust;
pub(crate) use events::{Event, Heard, listen};
pub(crate) use failure::{ClientError, Refused};
pub(crate) use socket::Socket;

/// The variable that holds the secret of a person's device.
pub(crate) const DEVICE: &str = "COUNTERSIGN_DEVICE";
/// The variable that holds the secret of the machine on which a key is used.
pub(crate) const MACHINE: &str = "COUNTERSIGN_MACHINE";
/// The variable that names the server.
pub(crate) const SERVER: &str = "COUNTERSIGN_SERVER";
/// Longer than the longest wait that a server grants.
const ANSWERS_WITHIN: Duration = Duration::from_secs(90);
const MOST_BYTES: usize = 32 << 20;

/// Which server.
#[derive(Debug, Args)]
pub(crate) struct Server {
    /// The server's URL, or the path of its socket [default: `$COUNTERSIGN_SERVER`, or the socket
    /// in the data folder]
    #[arg(long = "server", value_name = "URL|SOCKET")]
    named: Option<String>,
    #[command(flatten)]
    data: Data,
    /// The certificate to trust, as a PEM file, for a server with a self-signed certificate
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Send the device's secret to a server on another machine without encryption
    #[arg(long)]
    danger_plain_http: bool,
}

impl Server {
    /// Returns a client of the server, without connecting yet.
    ///
    /// # Errors
    /// The server's name, the certificate or the device's secret cannot be read.
    pub(crate) fn open(&self) -> Result<Client> {
        let trust = self.tls_ca.as_deref().map_or(Trust::Usual, Trust::UsualAnd);
        let client = Client::new(self.address()?, trust)?;
        let client = Client { secret: device()?.map(Arc::new), ..client };
        let seen = client.secret.is_some() && client.address.is_readable_by_others();
        if seen && !self.danger_plain_http {
            bail!(
                "`{}` is not encrypted: anyone in between could answer in your name; \
                 use https, or --danger-plain-http",
                client.address
            );
        }
        Ok(client)
    }

    /// Reports whether the command line names the server.
    pub(crate) const fn is_named(&self) -> bool {
        self.named.is_some()
    }

    /// Reports whether a secret may be sent to another machine without encryption.
    pub(crate) const fn is_plain_http_allowed(&self) -> bool {
        self.danger_plain_http
    }

    fn address(&self) -> Result<Address> {
        let named = self.named.clone().or_else(|| env::var(SERVER).ok());
        match named.filter(|named| !named.is_empty()) {
            Some(named) => Address::parse(&named),
            None => Ok(Address::Socket(self.data.folder()?.join(SOCKET))),
        }
    }
}

/// The secret of the person's device, if the environment has one.
fn device() -> Result<Option<Secret>> {
    let Ok(text) = env::var(DEVICE) else { return Ok(None) };
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let secret = Secret::parse(text).with_context(|| format!("${DEVICE}"))?;
    if secret.kind() != SecretKind::Device {
        bail!("${DEVICE} is not the secret of a device: `countersign sign-in LINK` gives one");
    }
    Ok(Some(secret))
}

/// The options of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner<'a> {
    /// Seconds to wait for a person.
    pub(crate) wait: Option<u32>,
    /// The timeout of the whole request.
    pub(crate) within: Duration,
    /// The idempotency key: a request counts once, however often it is sent.
    pub(crate) once: Option<&'a str>,
}

impl Default for Manner<'_> {
    fn default() -> Self {
        Self { wait: None, within: ANSWERS_WITHIN, once: None }
    }
}

/// A server, and the credentials with which it is asked.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    address: Address,
    secret: Option<Arc<Secret>>,
    /// The secret of the machine on which a key is used.
    machine: Option<Arc<Secret>>,
    tls: Option<Arc<rustls::ClientConfig>>,
}

impl Client {
    /// Returns a client that shows no secret.
    ///
    /// # Errors
    /// The certificate to trust cannot be read.
    pub(crate) fn new(address: Address, trust: Trust<'_>) -> Result<Self> {
        let tls = match address {
            Address::Tls { .. } => Some(trust::client(trust)?),
            Address::Socket(_) | Address::Plain { .. } => None,
        };
        Ok(Self { address, secret: None, machine: None, tls })
    }

    /// Returns a client of the same server that shows this secret.
    pub(crate) fn with(&self, secret: Secret) -> Self {
        Self { secret: Some(Arc::new(secret)), ..self.clone() }
    }

    /// Returns a client of the same server that shows this machine's secret.
    pub(crate) fn on_machine(&self, machine: Option<Secret>) -> Self {
        Self { machine: machine.map(Arc::new), ..self.clone() }
    }

    /// The server's address.
    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// Sends a GET request.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, ClientError> {
        self.ask(Method::GET, path, None, None).await
    }

    /// Sends a POST request with a body.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        self.ask(Method::POST, path, Some(body), None).await
    }

    /// Sends a POST request without a body.
    pub(crate) async fn call(&self, path: &str) -> Result<Value, ClientError> {
        self.ask(Method::POST, path, None, None).await
    }

    /// Sends a GET request whose answer has a type.
    pub(crate) async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        typed(self.get(path).await?)
    }

    /// Sends a POST request with a body, whose answer has a type.
    pub(crate) async fn send_to<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        typed(self.post(path, &json!(body)).await?)
    }

    /// Sends a PATCH request.
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        self.ask(Method::PATCH, path, Some(body), None).await
    }

    /// Sends a PUT request.
    pub(crate) async fn put(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        self.ask(Method::PUT, path, Some(body), None).await
    }

    /// Sends a DELETE request.
    pub(crate) async fn delete(&self, path: &str) -> Result<Value, ClientError> {
        self.ask(Method::DELETE, path, None, None).await
    }

    /// Sends a request, and waits that many seconds for a person where one must answer.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        wait: Option<u32>,
    ) -> Result<Value, ClientError> {
        let manner = Manner { wait, ..Manner::default() };
        self.ask_in(method, path, body, &manner).await
    }

    /// Sends a request with options of its own.
    pub(crate) async fn ask_in(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        manner: &Manner<'_>,
    ) -> Result<Value, ClientError> {
        let text = body.map(Value::to_string).unwrap_or_default();
        let mut request = self.request(method, path, text)?;
        let wait = manner.wait;
        let headers = request.headers_mut();
        if body.is_some() {
            let json = HeaderValue::from_static("application/json");
            headers.insert(header::CONTENT_TYPE, json);
        }
        if let Some(wait) = wait.and_then(|wait| format!("wait={wait}").parse().ok()) {
            headers.insert("prefer", wait);
        }
        if let Some(once) = manner.once.and_then(|once| once.parse().ok()) {
            headers.insert("idempotency-key", once);
        }
        let late = |_| ClientError::Broken("the server does not answer".to_owned());
        let answer = timeout(manner.within, async { read(self.send(request).await?).await });
        answer.await.map_err(late)?.map_err(|error| self.as_asked(error))
    }

    /// Notes in a refusal whether a key asked, because that changes the advice to the user.
    fn as_asked(&self, error: ClientError) -> ClientError {
        let with_key = self.secret.as_ref().is_some_and(|secret| secret.kind() == SecretKind::Key);
        match error {
            ClientError::Refused(refused) => {
                ClientError::Refused(Box::new(Refused { with_key, ..*refused }))
            }
            other => other,
        }
    }

    /// Sends a request on a new connection, and returns the response once its head has arrived.
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, ClientError> {
        wire::send(&self.address, self.tls.as_ref(), request).await
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let wrong = |_| ClientError::Broken(format!("cannot ask for `{path}`"));
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.authority())
            .header(header::USER_AGENT, concat!("countersign/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(Bytes::from(body)))
            .map_err(wrong)?;
        if let Some(secret) = &self.secret {
            let shown = format!("Bearer {}", secret.expose());
            if let Ok(mut shown) = HeaderValue::from_str(&shown) {
                shown.set_sensitive(true);
                request.headers_mut().insert(header::AUTHORIZATION, shown);
            }
        }
        if let Some(machine) = &self.machine
            && let Ok(mut shown) = HeaderValue::from_str(machine.expose())
        {
            shown.set_sensitive(true);
            request.headers_mut().insert("countersign-device", shown);
        }
        Ok(request)
    }
}

/// Reads an answer as what the server says it is.
///
/// # Errors
/// It is something else.
pub(crate) fn typed<T: DeserializeOwned>(answer: Value) -> Result<T, ClientError> {
    serde_json::from_value(answer).map_err(|_| ClientError::Unknown)
}

/// Reads the body of a response as JSON; an empty body is `null`.
async fn read(response: Response<Incoming>) -> Result<Value, ClientError> {
    let status = response.status();
    let wait = response.headers().get(header::RETRY_AFTER);
    let wait = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
    let body = Limited::new(response.into_body(), MOST_BYTES).collect().await;
    let body = body.map_err(|error| ClientError::Broken(error.to_string()))?.to_bytes();
    let json = if body.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(&body) };
    if status.is_success() {
        return json.map_err(|_| ClientError::not_ours(status));
    }
    Err(refused(status, &json.unwrap_or_default(), wait))
}

fn refused(status: StatusCode, body: &Value, retry_after: Option<u64>) -> ClientError {
    match Refused::read(status, body, retry_after) {
        Some(refused) => ClientError::Refused(Box::new(refused)),
        None => ClientError::not_ours(status),
    }
}

/// Runs the requests of a command to their end.
///
/// # Errors
/// The error of the work, or a runtime that cannot be built.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work)
}
