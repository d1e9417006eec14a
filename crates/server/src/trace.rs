//! Traces for OpenTelemetry: one span per request, sent in batches as OTLP over HTTP in JSON.
//!
//! A span names the route, never the path, the query, an address or a person. If a collector is
//! slow or down, spans are lost, but requests are not delayed.

use std::io;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, Method, StatusCode};
use countersign_gate::clock::{Clock, System, random};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::decision::Decision;
use crate::hex::hex;

/// Spans that wait to be sent; more are dropped.
const BACKLOG: usize = 4_096;
const BATCH: usize = 256;
const EVERY: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends spans to a collector.
#[derive(Debug)]
pub(crate) struct Tracer {
    spans: Sender<Value>,
}

/// One request, while it is under way.
#[derive(Debug)]
pub(crate) struct Span {
    trace: String,
    parent: Option<String>,
    id: String,
    name: String,
    method: String,
    route: String,
    /// Milliseconds since 1970.
    began: i64,
    clock: Instant,
}

/// The address of a collector. Plain HTTP: collectors usually run beside the server, and a sidecar
/// can add TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collector {
    authority: String,
    path: String,
}

/// An address that a collector cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`otlp` must be like `http://127.0.0.1:4318`")]
pub struct CollectorError;

impl Collector {
    pub(crate) fn parse(url: &str) -> Result<Self, CollectorError> {
        let rest = url.strip_prefix("http://").ok_or(CollectorError)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let sound = !authority.is_empty() && !authority.contains('@') && url.is_ascii();
        if !sound || url.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err(CollectorError);
        }
        let port = if authority.rsplit_once(':').is_some() { "" } else { ":4318" };
        let path = path.trim_end_matches('/');
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(Self { authority: format!("{authority}{port}"), path: format!("{path}/v1/traces") })
    }
}

impl Tracer {
    /// Starts to send.
    pub(crate) fn start(collector: Collector) -> Self {
        let (spans, waiting) = channel(BACKLOG);
        tokio::spawn(send_all(collector, waiting));
        Self { spans }
    }

    /// Ends the span of a request that was answered.
    pub(crate) fn end(&self, span: &Span, status: StatusCode, decision: Option<&Decision>) {
        // A full queue drops the span, because no request waits for a collector.
        let _ = self.spans.try_send(span.to_json(status, decision));
    }
}

impl Span {
    /// Starts a span, as part of the caller's trace if the request names one.
    pub(crate) fn begin(headers: &HeaderMap, method: &Method, route: &str) -> Self {
        let given = headers.get("traceparent").and_then(|value| value.to_str().ok());
        let (trace, parent) = match given.and_then(parent_of) {
            Some((trace, parent)) => (trace, Some(parent)),
            None => (hex(&random::<16>(&System as &dyn Clock).unwrap_or_default()), None),
        };
        let id = hex(&random::<8>(&System as &dyn Clock).unwrap_or_default());
        Self {
            trace,
            parent,
            id,
            name: format!("{method} {route}"),
            method: method.to_string(),
            route: route.to_owned(),
            began: System.now().0,
            clock: Instant::now(),
        }
    }

    fn to_json(&self, status: StatusCode, decision: Option<&Decision>) -> Value {
        let began = i128::from(self.began).saturating_mul(1_000_000);
        let took = i128::try_from(self.clock.elapsed().as_nanos()).unwrap_or_default();
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let mut attributes = vec![
            text("http.request.method", &self.method),
            text("http.route", &self.route),
            json!({"key": "http.response.status_code", "value": {"intValue": status.as_u16().to_string()}}),
        ];
        if let Some(decision) = decision {
            attributes.push(text("countersign.became", decision.became));
            let verdict =
                decision.verdict.map(|verdict| text("countersign.verdict", verdict.as_str()));
            attributes.extend(verdict);
            let approval = decision.approval.as_deref();
            attributes.extend(approval.map(|id| text("countersign.approval_id", id)));
        }
        json!({
            "traceId": self.trace,
            "spanId": self.id,
            "parentSpanId": self.parent.as_deref().unwrap_or_default(),
            "name": self.name,
            "kind": 2,
            "startTimeUnixNano": began.to_string(),
            "endTimeUnixNano": began.saturating_add(took).to_string(),
            "attributes": attributes,
            "status": {"code": if status.is_server_error() { 2 } else { 0 }},
        })
    }
}

/// The trace id and span id of the caller, in the W3C format.
fn parent_of(text: &str) -> Option<(String, String)> {
    let mut parts = text.split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let digits = |text: &str, length| {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text.len() == length && text.bytes().all(hex) && text.bytes().any(|byte| byte != b'0')
    };
    let sound = version == "00" && digits(trace, 32) && digits(span, 16);
    sound.then(|| (trace.to_owned(), span.to_owned()))
}

async fn send_all(collector: Collector, mut waiting: Receiver<Value>) {
    let mut spans = Vec::with_capacity(BATCH);
    while waiting.recv_many(&mut spans, BATCH).await > 0 {
        let sent = tokio::time::timeout(PATIENCE, send(&collector, &spans)).await;
        let failed = match sent {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it takes too long".to_owned()),
        };
        if let Some(error) = failed {
            tracing::warn!(error, lost = spans.len(), "traces did not reach the collector");
        }
        spans.clear();
        tokio::time::sleep(EVERY).await;
    }
}

async fn send(collector: &Collector, spans: &[Value]) -> io::Result<()> {
    let name = json!({"key": "service.name", "value": {"stringValue": "countersign"}});
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": [name]},
        "scopeSpans": [{"scope": {"name": "countersign-server"}, "spans": spans}],
    }]});
    let stream = TcpStream::connect(&collector.authority).await?;
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(io::Error::other)?;
    let running = tokio::spawn(connection);
    let request = hyper::Request::post(&collector.path)
        .header("host", &collector.authority)
        .header("content-type", "application/json")
        .body(Full::new(bytes::Bytes::from(body.to_string())))
        .map_err(io::Error::other)?;
    let answer = sender.send_request(request).await;
    running.abort();
    let status = answer.map_err(io::Error::other)?.status();
    if status.is_success() { Ok(()) } else { Err(io::Error::other(format!("status {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_found_by_its_base_address() {
        let found = |url| Collector::parse(url).map(|it| format!("{} {}", it.authority, it.path));
        assert_eq!(found("http://127.0.0.1:4318").unwrap(), "127.0.0.1:4318 /v1/traces");
        assert_eq!(found("http://otel/a/").unwrap(), "otel:4318 /a/v1/traces");
        for url in ["", "https://x", "http://", "http://u@x", "http://x\r\ny"] {
            assert!(found(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_caller_s_trace_goes_on_and_nonsense_begins_a_new_one() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let found = parent_of(&format!("00-{trace}-{span}-01")).unwrap();
        assert_eq!(found, (trace.to_owned(), span.to_owned()));
        let zeros = "0".repeat(32);
        for text in
            ["", "00-x-y-01", &format!("00-{zeros}-{span}-01"), &format!("01-{trace}-{span}")]
        {
            assert!(parent_of(text).is_none(), "{text}");
        }
    }
}
