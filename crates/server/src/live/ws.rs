//! The WebSocket of a device: questions go out, answers come in.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use countersign_gate::Person;
use countersign_wire::{Event as Live, path};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, interval_at, timeout};

use crate::api::approval::answer_all;
use crate::app::App;
use crate::auth::{Remote, Signed, same_origin};
use crate::body::Query;
use crate::error::{Problem, too_many};
use crate::hub::{Listening, LiveEvent, waiting};
use crate::live::Present;
use crate::live::incoming::{Incoming, SkillResponse};
use crate::route::{Route, Who, get};

/// The size of the largest message, which is enough to answer a hundred questions.
const MOST_BYTES: usize = 64 * 1024;
const PING: Duration = Duration::from_secs(20);
/// The time after which a device that does not accept a message is disconnected.
const SEND_WITHIN: Duration = Duration::from_secs(10);

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::WS, "websocket")
            .by(Who::Person)
            .says("The WebSocket of a device: `app_skill_confirmation_required` and its answers.")
            .query::<How>()
            .gives_media(101, "")
            .to(open),
    ]
}

/// The options of a device's connection.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Listening")]
struct How {
    /// True, unless said otherwise, when it is told at the beginning of every question that waits.
    /// A page that has just shown them need not be.
    #[serde(default = "yes")]
    waiting: bool,
}

const fn yes() -> bool {
    true
}

async fn open(
    State(app): State<App>,
    Signed(person): Signed,
    Query(how): Query<How>,
    remote: Remote,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    // A browser lets any page open a socket to us, with our cookie: only our own pages may.
    same_origin(&headers, remote)?;
    if headers.contains_key(header::COOKIE)
        && !headers.contains_key(header::AUTHORIZATION)
        && !headers.contains_key(header::ORIGIN)
    {
        return Err(Problem::forbidden(
            "other-origin",
            "a browser must send the origin of its page",
        ));
    }
    let upgrade = upgrade.map_err(|error| Problem::bad_request(error.body_text()))?;
    let most = app.settings.limits.live_connections;
    let listening = app.hub.listen(&person.user().id, most).ok_or_else(|| {
        let wait = Some(Duration::from_secs(5));
        too_many("too-many-connections", "too many live connections of yours", wait)
    })?;
    let present = Present::new(&app.gate, &person);
    Ok(upgrade
        .max_message_size(MOST_BYTES)
        .max_frame_size(MOST_BYTES)
        // Thousands of idle devices must not cost a large buffer each.
        .read_buffer_size(4 * 1024)
        .write_buffer_size(0)
        .max_write_buffer_size(1 << 20)
        .on_upgrade(move |socket| async move {
            let seen = listening.from;
            let device =
                Device { app: app.clone(), person, how, listening, seen, _present: present };
            let _live = app.metrics.live();
            device.run(socket).await;
        }))
}

struct Device {
    app: App,
    /// The person who opened it, looked up again before every answer and whenever rights change.
    person: Person,
    how: How,
    listening: Listening,
    /// The number of the last event it was sent.
    seen: u64,
    _present: Present,
}

/// The reason that a connection ends.
enum End {
    Gone,
    SignedOut,
    Stopping,
}

impl Device {
    async fn run(mut self, mut socket: WebSocket) {
        let end = self.talk(&mut socket).await;
        let (code, reason) = match end {
            End::Gone => return,
            End::SignedOut => (close_code::POLICY, "signed out"),
            End::Stopping => (close_code::AWAY, "the server stops"),
        };
        let frame = CloseFrame { code, reason: reason.into() };
        let _ = timeout(SEND_WITHIN, socket.send(Message::Close(Some(frame)))).await;
    }

    async fn talk(&mut self, socket: &mut WebSocket) -> End {
        if let Err(end) = self.tell_waiting(socket).await {
            return end;
        }
        let mut ping = interval_at(Instant::now() + PING, PING);
        let app = self.app.clone();
        loop {
            let done = tokio::select! {
                () = app.stopped() => Err(End::Stopping),
                event = self.listening.events.recv() => match event {
                    Ok(live_event) => self.tell(socket, &live_event).await,
                    Err(RecvError::Lagged(_)) => self.catch_up(socket).await,
                    Err(RecvError::Closed) => Err(End::Stopping),
                },
                message = socket.recv() => match message {
                    Some(Ok(Message::Text(text))) => self.hear(socket, &text).await,
                    Some(Ok(Message::Binary(_))) => {
                        let problem = Problem::bad_request("send JSON as text");
                        send(socket, error(&problem)).await
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
                    Some(Ok(Message::Close(_)) | Err(_)) | None => Err(End::Gone),
                },
                _ = ping.tick() => self.check(socket).await,
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    /// Sends every question that waits to a device that connects or reconnects.
    async fn tell_waiting(&mut self, socket: &mut WebSocket) -> Result<(), End> {
        self.check_signed_in().await?;
        if !self.how.waiting {
            return Ok(());
        }
        for live_event in waiting(&self.app.gate, &self.person, self.app.hub.last()).await {
            send(socket, live_event.written().socket.as_str().into()).await?;
        }
        Ok(())
    }

    /// Sends the events missed because the device was slow; if they are no longer kept, the waiting
    /// questions.
    async fn catch_up(&mut self, socket: &mut WebSocket) -> Result<(), End> {
        let Some(missed) = self.listening.since(self.seen) else {
            self.check_signed_in().await?;
            if !self.how.waiting {
                let look_again = json!({"type": Live::Resync {}.name(), "payload": {}});
                return send(socket, look_again.to_string().into()).await;
            }
            return self.tell_waiting(socket).await;
        };
        for live_event in missed {
            self.tell(socket, &live_event).await?;
        }
        Ok(())
    }

    async fn tell(
        &mut self,
        socket: &mut WebSocket,
        live_event: &Arc<LiveEvent>,
    ) -> Result<(), End> {
        if live_event.number <= self.seen {
            return Ok(());
        }
        self.seen = live_event.number;
        if live_event.signs_out(self.person.device()) {
            return Err(End::SignedOut);
        }
        if live_event.changes_rights() {
            self.check_signed_in().await?;
        }
        send(socket, live_event.written().socket.as_str().into()).await?;
        if live_event.is_gap() {
            self.tell_waiting(socket).await?;
        }
        Ok(())
    }

    /// Checks the person again, who may have been signed out since, or may have fewer rights.
    async fn check_signed_in(&mut self) -> Result<(), End> {
        let signed_in = self.app.gate.still_signed_in(&self.person).await;
        self.person = signed_in.map_err(|_| End::SignedOut)?;
        Ok(())
    }

    async fn check(&mut self, socket: &mut WebSocket) -> Result<(), End> {
        self.check_signed_in().await?;
        let ping = Message::Ping(bytes::Bytes::new());
        match timeout(SEND_WITHIN, socket.send(ping)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }

    async fn hear(&mut self, socket: &mut WebSocket, text: &str) -> Result<(), End> {
        self.check_signed_in().await?;
        let answer = match Incoming::read(text) {
            Ok(Incoming::Response(response)) => self.answer(response).await,
            Ok(Incoming::Ping) => Ok(json!({"type": "pong"})),
            Err(problem) => Err(problem),
        };
        let text = match answer {
            Ok(answer) => answer.to_string().into(),
            Err(problem) => error(&problem),
        };
        send(socket, text).await
    }

    /// Answers one question or many, each with its own token.
    async fn answer(&self, response: SkillResponse) -> Result<Value, Problem> {
        let replies = response.replies()?;
        let views = answer_all(&self.app, &self.person, replies).await?;
        let results = views.into_iter().map(|view| {
            json!({
                "app_skill_id": view.approval_id,
                "accepted": view.accepted,
                "status": view.state,
                "have": view.have,
                "need": view.need,
                "problem": view.problem,
            })
        });
        let results: Vec<_> = results.collect();
        Ok(json!({"type": "app_skill_confirmation_result", "payload": {"results": results}}))
    }
}

async fn send(socket: &mut WebSocket, text: Utf8Bytes) -> Result<(), End> {
    match timeout(SEND_WITHIN, socket.send(Message::Text(text))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(End::Gone),
    }
}

fn error(problem: &Problem) -> Utf8Bytes {
    json!({"type": "error", "payload": problem.to_json()}).to_string().into()
}
