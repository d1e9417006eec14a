//! Metrics of the server, in the text format of Prometheus. They contain no personal data.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use countersign_gate::channel::Dispatcher;
use countersign_gate::channel::dispatch::Stats;
use countersign_gate::forward::Forwarder;

use crate::decision::Decision;

/// Upper bounds of the buckets for response times, in microseconds.
const BUCKETS: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 1_000_000, 10_000_000, u64::MAX];

/// Counters and histograms of the server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    routes: Mutex<BTreeMap<String, Vec<Line>>>,
    verdicts: Mutex<BTreeMap<&'static str, u64>>,
    blocks: Mutex<BTreeMap<String, u64>>,
    answers: Mutex<BTreeMap<&'static str, u64>>,
    to_answer: Mutex<Waited>,
    channels: Mutex<Vec<Arc<Dispatcher>>>,
    forwarders: Mutex<Vec<Arc<Forwarder>>>,
    connections: AtomicU64,
    live: AtomicU64,
}

/// One kind of response of a route. There are few of each, so a linear search is enough.
#[derive(Debug)]
struct Line {
    method: Method,
    status: StatusCode,
    taken: Taken,
}

#[derive(Debug, Default, Clone, Copy)]
struct Taken {
    count: u64,
    micros: u64,
    buckets: [u64; BUCKETS.len()],
}

impl Taken {
    fn add(&mut self, micros: u64) {
        self.count += 1;
        self.micros = self.micros.saturating_add(micros);
        for (count, end) in self.buckets.iter_mut().zip(BUCKETS) {
            *count += u64::from(micros <= end);
        }
    }
}

/// Upper bounds of the buckets for the time that questions wait, in seconds.
const WAITED: [u64; 10] = [1, 5, 15, 30, 60, 120, 300, 900, 3_600, u64::MAX];

/// Times that questions have waited for their answers.
#[derive(Debug, Default, Clone, Copy)]
struct Waited {
    count: u64,
    seconds: u64,
    buckets: [u64; WAITED.len()],
}

/// A guard that counts one open connection; the count goes down on drop.
#[derive(Debug)]
pub(crate) struct Open<'a>(&'a AtomicU64);

impl<'a> Open<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub(crate) fn answered(
        &self,
        method: &Method,
        route: &str,
        status: StatusCode,
        took: Duration,
    ) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = routes.get_mut(route) {
            let known = |line: &&mut Line| line.method == *method && line.status == status;
            if let Some(line) = lines.iter_mut().find(known) {
                return line.taken.add(micros);
            }
        }
        let mut taken = Taken::default();
        taken.add(micros);
        let line = Line { method: method.clone(), status, taken };
        routes.entry(route.to_owned()).or_default().push(line);
    }

    /// Counts the decision of an action.
    pub(crate) fn decided(&self, decision: &Decision) {
        let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        *verdicts.entry(decision.became).or_default() += 1;
        drop(verdicts);
        if decision.blocked_by.is_empty() {
            return;
        }
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        for rule in &decision.blocked_by {
            *blocks.entry(rule.clone()).or_default() += 1;
        }
    }

    /// Counts a question that was answered, expired or was cancelled, and the time it took.
    pub(crate) fn answered_question(&self, outcome: &'static str, after: Option<Duration>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.entry(outcome).or_default() += 1;
        drop(answers);
        let Some(after) = after.filter(|_| ["approved", "rejected"].contains(&outcome)) else {
            return;
        };
        let seconds = after.as_secs();
        let mut waited = self.to_answer.lock().unwrap_or_else(PoisonError::into_inner);
        waited.count += 1;
        waited.seconds = waited.seconds.saturating_add(seconds);
        for (count, end) in waited.buckets.iter_mut().zip(WAITED) {
            *count += u64::from(seconds <= end);
        }
    }

    /// Tells how these channels are doing, too.
    pub(crate) fn watch_channels(
        &self,
        dispatchers: Vec<Arc<Dispatcher>>,
        forwarders: Vec<Arc<Forwarder>>,
    ) {
        *self.channels.lock().unwrap_or_else(PoisonError::into_inner) = dispatchers;
        *self.forwarders.lock().unwrap_or_else(PoisonError::into_inner) = forwarders;
    }

    pub(crate) fn connection(&self) -> Open<'_> {
        Open::new(&self.connections)
    }

    pub(crate) fn live(&self) -> Open<'_> {
        Open::new(&self.live)
    }

    /// Reports whether any WebSocket is open.
    pub(crate) fn is_live(&self) -> bool {
        self.live.load(Ordering::Relaxed) > 0
    }

    /// Writes all metrics as text. `more` are values that the caller provides.
    pub(crate) fn write(&self, more: &[(&str, &str, u64)]) -> String {
        let mut text = String::new();
        let connections = self.connections.load(Ordering::Relaxed);
        let live = self.live.load(Ordering::Relaxed);
        gauge(&mut text, "countersign_connections", "Open connections.", connections);
        gauge(&mut text, "countersign_live_connections", "Open WebSockets and streams.", live);
        for (name, help, value) in more {
            gauge(&mut text, name, help, *value);
        }
        head(&mut text, "countersign_build_info", "The running version.", "gauge");
        let version = env!("CARGO_PKG_VERSION");
        let _ = writeln!(text, "countersign_build_info{{version=\"{version}\"}} 1");
        self.write_verdicts(&mut text);
        self.write_answers(&mut text);
        self.write_channels(&mut text);
        self.write_routes(&mut text);
        text
    }

    fn write_answers(&self, text: &mut String) {
        let name = "countersign_blocked_total";
        head(text, name, "Actions that were blocked, by the rules that blocked them.", "counter");
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        for (rule, count) in blocks.iter() {
            let _ = writeln!(text, "{name}{{rule=\"{}\"}} {count}", label(rule));
        }
        drop(blocks);
        let name = "countersign_answers_total";
        head(text, name, "Settled questions by outcome.", "counter");
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for (outcome, count) in answers.iter() {
            let _ = writeln!(text, "{name}{{outcome=\"{outcome}\"}} {count}");
        }
        drop(answers);
        let name = "countersign_answer_seconds";
        head(text, name, "Time until people answered.", "histogram");
        let waited = *self.to_answer.lock().unwrap_or_else(PoisonError::into_inner);
        for (end, count) in WAITED.iter().zip(waited.buckets) {
            let end = if *end == u64::MAX { "+Inf".to_owned() } else { end.to_string() };
            let _ = writeln!(text, "{name}_bucket{{le=\"{end}\"}} {count}");
        }
        let _ = writeln!(text, "{name}_sum {}\n{name}_count {}", waited.seconds, waited.count);
    }

    fn write_channels(&self, text: &mut String) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let forwarders = self.forwarders.lock().unwrap_or_else(PoisonError::into_inner);
        let stats = channels.iter().flat_map(|dispatcher| dispatcher.stats());
        let stats = stats.chain(forwarders.iter().map(|forwarder| forwarder.stats()));
        let mut totals: BTreeMap<String, Stats> = BTreeMap::new();
        for stats in stats {
            let total = totals.entry(stats.name).or_default();
            total.waiting = total.waiting.saturating_add(stats.waiting);
            total.sent = total.sent.saturating_add(stats.sent);
            total.failed = total.failed.saturating_add(stats.failed);
            total.dropped = total.dropped.saturating_add(stats.dropped);
            total.retried = total.retried.saturating_add(stats.retried);
        }
        drop(forwarders);
        drop(channels);
        let name = "countersign_channel_messages_total";
        head(text, name, "Messages to channels by outcome.", "counter");
        for (channel, total) in &totals {
            let channel = label(channel);
            for (became, count) in [
                ("sent", total.sent),
                ("failed", total.failed),
                ("dropped", total.dropped),
                ("retried", total.retried),
            ] {
                let labels = format!("channel=\"{channel}\",became=\"{became}\"");
                let _ = writeln!(text, "{name}{{{labels}}} {count}");
            }
        }
        let name = "countersign_channel_waiting";
        head(text, name, "Messages and records waiting for a channel.", "gauge");
        for (channel, total) in &totals {
            let _ = writeln!(text, "{name}{{channel=\"{}\"}} {}", label(channel), total.waiting);
        }
    }

    fn write_verdicts(&self, text: &mut String) {
        head(text, "countersign_actions_total", "Actions by outcome.", "counter");
        let verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        for (what, count) in verdicts.iter() {
            let _ = writeln!(text, "countersign_actions_total{{became=\"{what}\"}} {count}");
        }
    }

    fn write_routes(&self, text: &mut String) {
        let name = "countersign_http_request_seconds";
        head(text, name, "Time until requests were answered.", "histogram");
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let lines =
            routes.iter().flat_map(|(route, lines)| lines.iter().map(move |it| (route, it)));
        let mut lines: Vec<_> = lines.collect();
        lines.sort_by_key(|(route, line)| (line.method.as_str(), *route, line.status));
        for (route, Line { method, status, taken }) in lines {
            let status = status.as_u16();
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            for (end, count) in BUCKETS.iter().zip(taken.buckets) {
                let end = if *end == u64::MAX { "+Inf".to_owned() } else { seconds(*end) };
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{end}\"}} {count}");
            }
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", seconds(taken.micros));
            let _ = writeln!(text, "{name}_count{{{labels}}} {}", taken.count);
        }
    }
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn gauge(text: &mut String, name: &str, help: &str, value: u64) {
    head(text, name, help, "gauge");
    let _ = writeln!(text, "{name} {value}");
}

/// Escapes a text for use as the value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_answered_is_counted_in_every_bucket_it_fits() {
        let metrics = Metrics::default();
        let took = Duration::from_micros(300);
        metrics.answered(&Method::GET, countersign_wire::path::HEALTH, StatusCode::OK, took);
        let text = metrics.write(&[("countersign_pending", "Waiting questions.", 3)]);
        let route = countersign_wire::path::HEALTH;
        let labels = format!("method=\"GET\",route=\"{route}\",status=\"200\"");
        let line = |rest: &str| format!("countersign_http_request_seconds_{rest}");
        assert!(text.contains(&line(&format!("bucket{{{labels},le=\"0.000250\"}} 0"))), "{text}");
        assert!(text.contains(&line(&format!("bucket{{{labels},le=\"0.000500\"}} 1"))), "{text}");
        assert!(text.contains(&line(&format!("bucket{{{labels},le=\"+Inf\"}} 1"))), "{text}");
        assert!(text.contains("countersign_pending 3"), "{text}");
    }

    #[test]
    fn what_has_closed_is_no_longer_counted() {
        let metrics = Metrics::default();
        let open = metrics.connection();
        assert!(metrics.write(&[]).contains("countersign_connections 1"));
        drop(open);
        assert!(metrics.write(&[]).contains("countersign_connections 0"));
    }
}
