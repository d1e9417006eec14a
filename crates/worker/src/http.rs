//! The executor of HTTP requests.
//!
//! A request goes to the addresses that were judged, and to no others. A redirect is a new
//! destination: within the same origin it is followed under what was agreed to; to another origin
//! only where nobody would have to be asked, or after asking.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use countersign_core::{Action, Context, Verdict, judge};
use countersign_net::http::{Exchange, Expects, Response, is_certificate};
use countersign_net::trust::{self, Trust};
use countersign_net::{Destination, JudgeWith, RefusedError, System};
use countersign_wire::work::{Ended, ExecutorKind, WorkItem, WorkResult};
use rustls::ClientConfig;
use serde_json::{Map, Value, json};

use crate::executor::{Executor, Running, Stop};
use crate::output::Capture;
use crate::permit::Permit;
use crate::settings::Settings;

/// The most bytes of a body that are read.
const MOST_BYTES: usize = 16 * 1_024 * 1_024;

/// The longest time between two looks at the stop signal.
const TICK: Duration = Duration::from_millis(50);

/// The headers of a response that are told.
const TOLD: &[&str] = &[
    "allow",
    "cache-control",
    "content-disposition",
    "content-language",
    "content-length",
    "content-type",
    "date",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "server",
    "www-authenticate",
];

/// The executor of HTTP requests.
#[derive(Debug)]
pub(crate) struct Http {
    settings: Settings,
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// A request as it goes from one destination to the next.
#[derive(Debug, Clone)]
struct Request {
    method: String,
    body: Option<String>,
}

/// The reason for which a request was not answered.
#[derive(Debug)]
enum NotAnswered {
    Refused(&'static str, String),
    Failed(&'static str, String),
    TimedOut,
    Stopped,
}

impl Http {
    pub(crate) const fn new(settings: Settings) -> Self {
        Self { settings, tls: OnceLock::new() }
    }

    /// The encryption, made when it is first used: reading the system's authorities takes a while.
    fn tls(&self) -> Result<Arc<ClientConfig>, NotAnswered> {
        let made = self.tls.get_or_init(|| {
            let trust = match &self.settings.authority {
                Some(file) => Trust::UsualAnd(file),
                None => Trust::Usual,
            };
            trust::client(trust).map_err(|error| error.to_string())
        });
        made.clone().map_err(|error| NotAnswered::Failed("NoTrust", error))
    }

    fn answered(
        &self,
        item: &WorkItem,
        running: Running<'_>,
    ) -> Result<(Destination, Response), NotAnswered> {
        let Action::HttpRequest { method, url, body } = &item.action else {
            return Err(NotAnswered::Refused("NotSupported", "this is not a request".to_owned()));
        };
        let mut request = Request { method: method_of(method)?, body: body.clone() };
        let until = Instant::now() + Duration::from_secs(u64::from(item.limits.seconds));
        let tls = self.tls()?;
        let mut next = Next::First(url.clone());
        let mut agreed = item.agreed;
        loop {
            let step = Step {
                next,
                request: request.clone(),
                policy: Arc::clone(&self.settings.policy),
                context: item.context.clone(),
                agreed,
                tls: Arc::clone(&tls),
                until,
                stop: running.stop.clone(),
            };
            let (destination, response) = step.run_until(until)?;
            let Some(location) = redirected(&response) else { return Ok((destination, response)) };
            request = request.after(response.status);
            agreed = self.agreed_to(&destination, &location, &request, item, running)?;
            next = Next::Redirect(destination, location);
        }
    }

    /// The strictest verdict under which a redirect may be followed.
    fn agreed_to(
        &self,
        from: &Destination,
        location: &str,
        request: &Request,
        item: &WorkItem,
        running: Running<'_>,
    ) -> Result<Verdict, NotAnswered> {
        let refused = |why: String| NotAnswered::Refused("RedirectRefused", why);
        let url = from.url().join(location);
        let url = url.map_err(|_| refused(format!("`{location}` is not an address")))?;
        let action = Action::HttpRequest {
            method: request.method.clone(),
            url: url.as_str().to_owned(),
            body: request.body.clone(),
        };
        let judgement = judge(&action, &self.settings.policy, &item.context);
        let same = url.origin() == from.url().origin();
        let agreed = if same { item.agreed } else { item.agreed.min(Verdict::Warn) };
        if judgement.verdict <= agreed {
            return Ok(agreed);
        }
        if judgement.verdict == Verdict::Block {
            return Err(refused(format!("a redirect to `{url}` is refused: {}", judgement.reason)));
        }
        let details = [format!("`{}` redirects there", from.url())];
        running
            .controller
            .propose(&action, &details)
            .map_err(|why| refused(format!("a redirect to `{url}` was not permitted: {why}")))?;
        Ok(Verdict::Confirm)
    }
}

impl Executor for Http {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::Http
    }

    fn execute(&self, permit: Permit, running: Running<'_>) -> WorkResult {
        let begun = Instant::now();
        let item = permit.into_item();
        let mut result = match self.answered(&item, running) {
            Ok((destination, response)) => told(&destination, &response, &item),
            Err(failed) => failed.result(&item, running),
        };
        result.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        result
    }
}

/// The result of a request that was answered.
fn told(destination: &Destination, response: &Response, item: &WorkItem) -> WorkResult {
    let ended = if response.status < 400 { Ended::Done } else { Ended::Failed };
    let headers: Map<String, Value> = response
        .headers
        .iter()
        .filter(|(name, _)| TOLD.contains(&name.as_str()) || name.starts_with("x-ratelimit-"))
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let mut capture = Capture::new(item.limits.output_bytes);
    capture.push(&response.body);
    let mut result = if ended == Ended::Done {
        WorkResult::of(ended)
    } else {
        let message = format!("the server answered with status {}", response.status);
        WorkResult::because(ended, "HttpStatus", message)
    };
    result.code = Some(i32::from(response.status));
    result.output = capture.finish();
    result.value = json!({
        "url": destination.url().as_str(),
        "headers": headers,
        "bytes": response.body.len(),
        "whole": response.whole,
    });
    result
}

impl NotAnswered {
    fn result(self, item: &WorkItem, running: Running<'_>) -> WorkResult {
        match self {
            Self::Refused(name, why) => WorkResult::because(Ended::Refused, name, why),
            Self::Failed(name, why) => WorkResult::because(Ended::Failed, name, why),
            Self::Stopped => WorkResult::because(Ended::Stopped, "Stopped", running.stop.why()),
            Self::TimedOut => {
                let message = format!("it was ended after {} seconds", item.limits.seconds);
                WorkResult::because(Ended::TimedOut, "TimedOut", message)
            }
        }
    }
}

/// The place that a request goes to next.
#[derive(Debug)]
enum Next {
    First(String),
    Redirect(Destination, String),
}

/// One request to one destination, with everything that it needs on a thread of its own.
#[derive(Debug)]
struct Step {
    next: Next,
    request: Request,
    policy: Arc<countersign_core::Policy>,
    context: Context,
    agreed: Verdict,
    tls: Arc<ClientConfig>,
    until: Instant,
    stop: Stop,
}

impl Step {
    /// Waits for the answer on a thread of its own, because looking up a name cannot be ended. A
    /// thread that is given up sends nothing any more.
    fn run_until(self, until: Instant) -> Result<(Destination, Response), NotAnswered> {
        let (stop, (sender, answer)) = (self.stop.clone(), mpsc::channel());
        thread::spawn(move || {
            // Nobody takes the answer to a request that was given up.
            let _ = sender.send(self.run());
        });
        loop {
            match answer.recv_timeout(TICK) {
                // The request itself notices a stop, too, and only says that it was cut off.
                Ok(Err(_)) if stop.is_given() => return Err(NotAnswered::Stopped),
                Ok(answered) => return answered,
                Err(RecvTimeoutError::Timeout) if stop.is_given() => {
                    return Err(NotAnswered::Stopped);
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                    return Err(NotAnswered::TimedOut);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(NotAnswered::Failed("NoAnswer", "the request failed".to_owned()));
                }
            }
        }
    }

    fn run(self) -> Result<(Destination, Response), NotAnswered> {
        let judge_with =
            JudgeWith { policy: &self.policy, context: &self.context, agreed: self.agreed };
        let destination = match &self.next {
            Next::First(url) => Destination::new(url, judge_with, &System),
            Next::Redirect(from, location) => from.redirect(location, judge_with, &System),
        };
        let destination = destination.map_err(|refused| not_reached(&refused))?;
        let head = self.request.head(&destination)?;
        let stopped = || self.stop.is_given();
        let exchange = Exchange {
            tls: &self.tls,
            head: &head,
            body: self.request.body.as_deref().unwrap_or_default().as_bytes(),
            expects: if self.request.method == "HEAD" {
                Expects::HeadersOnly
            } else {
                Expects::Body
            },
            most_bytes: MOST_BYTES,
            until: self.until,
            cancelled: &stopped,
        };
        let answered = destination.exchange(&exchange);
        answered.map(|response| (destination, response)).map_err(|cause| not_answered(&cause))
    }
}

fn not_reached(refused: &RefusedError) -> NotAnswered {
    let message = refused.to_string();
    match refused {
        RefusedError::Judged(_) => NotAnswered::Refused("AddressRefused", message),
        RefusedError::Unreadable(_) => NotAnswered::Refused("NoAddress", message),
        RefusedError::Redirects => NotAnswered::Failed("TooManyRedirects", message),
        RefusedError::Unresolved { .. } => NotAnswered::Failed("NotFound", message),
    }
}

fn not_answered(cause: &std::io::Error) -> NotAnswered {
    if is_certificate(cause) {
        let message = "the server's certificate is not trusted".to_owned();
        return NotAnswered::Failed("CertificateNotTrusted", message);
    }
    match cause.kind() {
        std::io::ErrorKind::TimedOut => NotAnswered::TimedOut,
        std::io::ErrorKind::Unsupported => {
            NotAnswered::Failed("NoHttp", "the server did not answer in HTTP".to_owned())
        }
        _ => NotAnswered::Failed("NoAnswer", format!("the server did not answer: {cause}")),
    }
}

/// A method that asks for a response to this request and nothing else.
fn method_of(method: &str) -> Result<String, NotAnswered> {
    let method = method.to_ascii_uppercase();
    let is_plain = !method.is_empty() && method.len() <= 20;
    if !is_plain || !method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-') {
        return Err(NotAnswered::Refused("NoMethod", "this is not a method of HTTP".to_owned()));
    }
    if matches!(&*method, "CONNECT" | "TRACE") {
        return Err(NotAnswered::Refused("NoMethod", format!("`{method}` requests are not sent")));
    }
    Ok(method)
}

/// The address that a response redirects to.
fn redirected(response: &Response) -> Option<String> {
    matches!(response.status, 301 | 302 | 303 | 307 | 308)
        .then(|| response.header("location").map(str::to_owned))
        .flatten()
}

impl Request {
    /// The request that follows a redirect with this status, as browsers send it.
    fn after(self, status: u16) -> Self {
        let becomes_get = match status {
            303 => self.method != "HEAD",
            301 | 302 => self.method == "POST",
            _ => false,
        };
        if becomes_get { Self { method: "GET".to_owned(), body: None } } else { self }
    }

    fn head(&self, destination: &Destination) -> Result<String, NotAnswered> {
        let url = destination.url();
        if !matches!(url.scheme(), "http" | "https") {
            let message = format!("requests are sent by http and https, not by `{}`", url.scheme());
            return Err(NotAnswered::Refused("NoHttpAddress", message));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let message = "an address with a user in it is not used".to_owned();
            return Err(NotAnswered::Refused("NoHttpAddress", message));
        }
        let host = url.host_str().unwrap_or_default();
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let framing = self.body.as_deref().map(framing).unwrap_or_default();
        Ok(format!(
            "{} {}{query} HTTP/1.1\r\nhost: {host}{port}\r\nuser-agent: countersign/{}\r\n\
             accept: */*\r\nconnection: close\r\n{framing}\r\n",
            self.method,
            url.path(),
            env!("CARGO_PKG_VERSION"),
        ))
    }
}

/// The headers that describe a body.
fn framing(body: &str) -> String {
    let json = serde_json::from_str::<Value>(body).is_ok_and(|it| !it.is_number());
    let kind = if json { "application/json" } else { "text/plain; charset=utf-8" };
    format!("content-type: {kind}\r\ncontent-length: {}\r\n", body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_keeps_the_method_only_where_it_must() {
        let after = |method: &str, status| {
            Request { method: method.to_owned(), body: Some("x".to_owned()) }.after(status)
        };
        assert_eq!((&*after("POST", 302).method, after("POST", 302).body), ("GET", None));
        assert_eq!(&*after("POST", 307).method, "POST");
        assert_eq!(&*after("HEAD", 303).method, "HEAD");
        assert_eq!(&*after("PUT", 301).method, "PUT");
    }

    #[test]
    fn a_method_cannot_bring_a_line_of_its_own() {
        assert!(method_of("get").is_ok_and(|method| method == "GET"));
        for method in ["", "GET /\r\nx", "GET x", "CONNECT", "TRACE"] {
            assert!(method_of(method).is_err(), "{method}");
        }
    }
}
