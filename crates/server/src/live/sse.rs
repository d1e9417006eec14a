//! Server-sent events: `id`, `event` and `data`, for as long as the client listens.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use countersign_gate::Caller;
use countersign_gate::secret::Secret;
use countersign_wire::path;
use futures_util::{StreamExt as _, stream};
use tokio::sync::broadcast::error::RecvError;

use crate::app::App;
use crate::auth::{Identity, bearer, device};
use crate::error::{Problem, too_many};
use crate::hub::{Listening, LiveEvent, waiting};
use crate::live::Present;
use crate::route::{Route, Who, get};

/// The interval of keep-alive comments, short enough that proxies keep the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::EVENTS, "events")
            .by(Who::PersonOrKey)
            .says("Events as server-sent events; continues after `Last-Event-ID`.")
            .gives_media(200, "text/event-stream")
            .to(events),
    ]
}

/// One stream.
struct Stream {
    app: App,
    identity: Identity,
    /// The key and the machine, when the listener is not a person.
    proof: Option<(Secret, Option<Secret>)>,
    listening: Listening,
    /// The number of the last event that was sent as it happened.
    seen: u64,
    ready: VecDeque<Ready>,
    _present: Option<Present>,
}

/// An event that is about to be sent.
enum Ready {
    /// As it happened.
    Now(Arc<LiveEvent>),
    /// A question that still waits. It is sent without a number: a client that disconnects before
    /// it has received all of them must be sent all of them again.
    Again(Arc<LiveEvent>),
    /// The last of them.
    AgainLast(Arc<LiveEvent>),
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
    // Subscribe first, then read: an event in between is sent twice rather than not at all.
    let listening = app.hub.listen(&user, most).ok_or_else(|| {
        let wait = Some(Duration::from_secs(5));
        too_many("too-many-connections", "too many live connections of yours", wait)
    })?;
    let proof = match &identity {
        Identity::Person(_) => None,
        Identity::Caller(_) => bearer(&headers)?.zip(Some(device(&headers)?)),
    };
    let (seen, ready) = (listening.from, VecDeque::new());
    let mut stream = Stream { app, identity, proof, listening, seen, ready, _present: present };
    stream.begin(&headers).await;
    let hello = stream::once(async { Ok(": countersign\nretry: 2000\n\n".to_owned()) });
    let body = Body::from_stream(hello.chain(stream::unfold(stream, next)));
    let mut response = Response::new(body);
    let media = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    // A proxy that buffers the response would delay live events.
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
        if let Some(ready) = stream.ready.pop_front() {
            match stream.frame(&ready).await {
                Ok(Some(frame)) => return Some((Ok(frame), stream)),
                Ok(None) => continue,
                Err(Over) => return None,
            }
        }
        let app = stream.app.clone();
        tokio::select! {
            () = app.stopped() => return None,
            () = tokio::time::sleep(KEEP_ALIVE) => {
                stream.check().await.ok()?;
                return Some((Ok(":\n\n".to_owned()), stream));
            }
            event = stream.listening.events.recv() => match event {
                Ok(live_event) => stream.ready.push_back(Ready::Now(live_event)),
                Err(RecvError::Lagged(_)) => stream.catch_up().await,
                Err(RecvError::Closed) => return None,
            },
        }
    }
}

/// The listener may not listen any longer.
struct Over;

impl Stream {
    /// Queues the first events: those missed since the last connection, or the waiting questions.
    async fn begin(&mut self, headers: &HeaderMap) {
        let last = last_seen(&self.app, headers);
        let Some((last, missed)) = last.and_then(|it| Some((it, self.listening.since(it)?))) else {
            return self.tell_waiting(|_| true).await;
        };
        self.seen = last;
        // The missed events were addressed to the users connected at that time. They do not say
        // whether this user was asked too, so questions of others are sent again.
        let user = self.listening.user.clone();
        self.tell_waiting(|live_event| live_event.is_others(&user)).await;
        let frames = missed.into_iter().map(Ready::Now);
        self.ready = frames.chain(std::mem::take(&mut self.ready)).collect();
    }

    async fn tell_waiting(&mut self, which: impl Fn(&LiveEvent) -> bool) {
        let Identity::Person(person) = &self.identity else { return };
        let mut live_event = waiting(&self.app.gate, person, self.app.hub.last()).await;
        live_event.retain(|live_event| which(live_event));
        let last = live_event.pop();
        self.ready.extend(live_event.into_iter().map(Ready::Again));
        self.ready.extend(last.map(Ready::AgainLast));
    }

    /// Formats one event, if it is for this listener.
    async fn frame(&mut self, ready: &Ready) -> Result<Option<String>, Over> {
        let (Ready::Now(live_event) | Ready::Again(live_event) | Ready::AgainLast(live_event)) =
            ready;
        if matches!(ready, Ready::Now(_)) {
            if live_event.number <= self.seen {
                return Ok(None);
            }
            self.seen = live_event.number;
        }
        if live_event.changes_rights() {
            self.check().await?;
        }
        let data = match &self.identity {
            Identity::Person(person) => {
                if live_event.signs_out(person.device()) {
                    return Err(Over);
                }
                &live_event.written().person
            }
            Identity::Caller(caller) => match agent_data(live_event, caller) {
                Some(data) => data,
                None => return Ok(None),
            },
        };
        // JSON contains no raw line breaks, so one line is enough.
        let (boot, number, name) = (&self.app.boot, live_event.number, live_event.name);
        let id = match ready {
            Ready::Now(_) | Ready::AgainLast(_) => format!("id: {boot}-{number}\n"),
            Ready::Again(_) => String::new(),
        };
        let frame = format!("{id}event: {name}\ndata: {data}\n\n");
        if self.proof.is_some() || live_event.is_gap() {
            self.check().await?;
        }
        if live_event.is_gap() {
            self.tell_waiting(|_| true).await;
        }
        Ok(Some(frame))
    }

    /// Queues the events missed because the reader was slow; if they are no longer kept, the
    /// waiting questions.
    async fn catch_up(&mut self) {
        match self.listening.since(self.seen) {
            Some(missed) => self.ready.extend(missed.into_iter().map(Ready::Now)),
            None => self.tell_waiting(|_| true).await,
        }
    }

    /// Checks the listener again, who may have been signed out since, or may have fewer rights.
    async fn check(&mut self) -> Result<(), Over> {
        let gate = &self.app.gate;
        self.identity = match (&self.identity, &self.proof) {
            (Identity::Person(person), _) => {
                Identity::Person(gate.still_signed_in(person).await.map_err(|_| Over)?)
            }
            (Identity::Caller(_), Some((key, device))) => {
                let caller = gate.authenticate(key, device.as_ref()).await;
                Identity::Caller(caller.map_err(|_| Over)?)
            }
            (Identity::Caller(_), None) => return Err(Over),
        };
        Ok(())
    }
}

fn agent_data<'a>(live_event: &'a LiveEvent, caller: &Caller) -> Option<&'a String> {
    live_event
        .is_for_agent(caller.key_id(), caller.workspace())
        .then(|| &live_event.written().agent)
}
