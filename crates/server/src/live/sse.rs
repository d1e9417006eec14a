//! Server-sent events: `id`, `event` and `data`, for as long as somebody listens.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use countersign_gate::Caller;
use futures_util::{StreamExt as _, stream};
use tokio::sync::broadcast::error::RecvError;

use crate::app::App;
use crate::auth::Identity;
use crate::error::{Problem, too_many};
use crate::live::{Listening, Present, Told, waiting};
use crate::route::{Route, Who, get};

/// Often enough for whatever stands in between to keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/api/events", "events")
            .by(Who::Either)
            .says("What happens, as server-sent events; goes on after `Last-Event-ID`.")
            .gives_media(200, "text/event-stream")
            .to(events),
    ]
}

/// One stream.
struct Stream {
    app: App,
    identity: Identity,
    listening: Listening,
    ready: VecDeque<Arc<Told>>,
    _present: Option<Present>,
}

async fn events(
    State(app): State<App>,
    identity: Identity,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (user, present) = match &identity {
        Identity::Person(person) => {
            (person.user().id.clone(), Some(Present::new(&app.gate, person)))
        }
        Identity::Caller(caller) => (caller.user().clone(), None),
    };
    let most = app.settings.limits.live_connections;
    // Listen first, then look: what happens in between is told twice rather than not at all.
    let listening = app.hub.listen(&user, most).ok_or_else(|| {
        let wait = Some(Duration::from_secs(5));
        too_many("too-many-connections", "too many live connections of yours", wait)
    })?;
    let missed = last_seen(&app, &headers).and_then(|number| app.hub.since(&user, number));
    let ready = match (missed, &identity) {
        (Some(missed), _) => missed.into(),
        (None, Identity::Person(person)) => waiting(&app.gate, person, app.hub.last()).await.into(),
        (None, Identity::Caller(_)) => VecDeque::new(),
    };
    let stream = Stream { app, identity, listening, ready, _present: present };
    let hello = stream::once(async { Ok(": countersign\nretry: 2000\n\n".to_owned()) });
    let body = Body::from_stream(hello.chain(stream::unfold(stream, next)));
    let mut response = Response::new(body);
    let media = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    // A proxy that collects before it passes on would make live events late ones.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// The last event the caller has seen, if it was one of this run.
fn last_seen(app: &App, headers: &HeaderMap) -> Option<u64> {
    let id = headers.get("last-event-id")?.to_str().ok()?;
    let (boot, number) = id.split_once('-')?;
    number.parse().ok().filter(|_| boot == app.boot)
}

async fn next(mut stream: Stream) -> Option<(std::io::Result<String>, Stream)> {
    loop {
        if let Some(told) = stream.ready.pop_front() {
            if let Some(frame) = stream.frame(&told) {
                return Some((Ok(frame), stream));
            }
            continue;
        }
        let app = stream.app.clone();
        tokio::select! {
            () = app.stopped() => return None,
            () = tokio::time::sleep(KEEP_ALIVE) => {
                return Some((Ok(":\n\n".to_owned()), stream));
            }
            event = stream.listening.events.recv() => match event {
                Ok(told) => stream.ready.push_back(told),
                Err(RecvError::Lagged(_)) => stream.catch_up().await,
                Err(RecvError::Closed) => return None,
            },
        }
        if stream.is_over() {
            return None;
        }
    }
}

impl Stream {
    /// One event, if it is for whoever listens.
    fn frame(&self, told: &Told) -> Option<String> {
        let data = match &self.identity {
            Identity::Person(_) => &told.person,
            Identity::Caller(caller) => agent_data(told, caller)?,
        };
        // JSON has no line breaks of its own, so one line is all.
        let (boot, number, name) = (&self.app.boot, told.number, told.name);
        Some(format!("id: {boot}-{number}\nevent: {name}\ndata: {data}\n\n"))
    }

    async fn catch_up(&mut self) {
        if let Identity::Person(person) = &self.identity {
            let told = waiting(&self.app.gate, person, self.app.hub.last()).await;
            self.ready.extend(told);
        }
    }

    /// Whether the device was signed out meanwhile.
    fn is_over(&self) -> bool {
        let Identity::Person(person) = &self.identity else { return false };
        let mut ready = self.ready.iter();
        ready.any(|told| signs_out(told, person.device().map(|device| device.as_str())))
    }
}

/// Whether an event puts this device out.
pub(super) fn signs_out(told: &Told, device: Option<&str>) -> bool {
    // Without a name it is all of them.
    let named = |device: &str| told.person.contains(device) || told.person.contains("null");
    told.name == "signed_out" && device.is_none_or(named)
}

fn agent_data<'a>(told: &'a Told, caller: &Caller) -> Option<&'a String> {
    told.is_for_agent(caller.key_id(), caller.workspace()).then_some(&told.agent)
}
