//! Numbers about the server, in the text format of Prometheus. Nothing in them is about anybody.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};

/// Upper ends of the buckets of how long answers take, in microseconds.
const BUCKETS: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 1_000_000, 10_000_000, u64::MAX];

/// Numbers about the server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    routes: Mutex<BTreeMap<String, Vec<Line>>>,
    verdicts: Mutex<BTreeMap<&'static str, u64>>,
    connections: AtomicU64,
    live: AtomicU64,
}

/// One kind of answer of a route. There are few of each, so they are looked through.
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

/// One of something that is there for a while.
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

    /// An action was decided: `permitted`, `waiting` or why not.
    pub(crate) fn decided(&self, what: &'static str) {
        let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        *verdicts.entry(what).or_default() += 1;
    }

    pub(crate) fn connection(&self) -> Open<'_> {
        Open::new(&self.connections)
    }

    pub(crate) fn live(&self) -> Open<'_> {
        Open::new(&self.live)
    }

    /// Whether any WebSocket is open.
    pub(crate) fn is_live(&self) -> bool {
        self.live.load(Ordering::Relaxed) > 0
    }

    /// All of it, as text. `more` are numbers that others know.
    pub(crate) fn write(&self, more: &[(&str, &str, u64)]) -> String {
        let mut text = String::new();
        let connections = self.connections.load(Ordering::Relaxed);
        let live = self.live.load(Ordering::Relaxed);
        gauge(&mut text, "countersign_connections", "Open connections.", connections);
        gauge(&mut text, "countersign_live_connections", "Open WebSockets and streams.", live);
        for (name, help, value) in more {
            gauge(&mut text, name, help, *value);
        }
        self.write_verdicts(&mut text);
        self.write_routes(&mut text);
        text
    }

    fn write_verdicts(&self, text: &mut String) {
        head(text, "countersign_actions_total", "Actions by what became of them.", "counter");
        let verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        for (what, count) in verdicts.iter() {
            let _ = writeln!(text, "countersign_actions_total{{became=\"{what}\"}} {count}");
        }
    }

    fn write_routes(&self, text: &mut String) {
        let name = "countersign_http_request_seconds";
        head(text, name, "How long answers took.", "histogram");
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
        metrics.answered(&Method::GET, "/api/health", StatusCode::OK, took);
        let text = metrics.write(&[("countersign_pending", "Waiting questions.", 3)]);
        let labels = "method=\"GET\",route=\"/api/health\",status=\"200\"";
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
