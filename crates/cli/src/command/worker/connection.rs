//! One connection to the server: messages come in, threads work, results go out.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use countersign_wire::PublicKey;
use countersign_wire::path;
use countersign_wire::work::{Ended, FromWorker, SignedWork, ToWorker, WorkItem, WorkResult};
use countersign_worker::{Acceptance, NotAccepted};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use super::controller::Replies;
use super::work::Jobs;
use super::{Hands, say, told};
use crate::client::{ClientError, Socket};

const WELCOME_WITHIN: Duration = Duration::from_secs(15);
/// The time after which a server that is not heard of is gone: it asks every 15 seconds.
const SILENT: Duration = Duration::from_mins(1);
/// The time that the last results have to be sent.
const LAST_WORDS: Duration = Duration::from_millis(900);
/// The most messages that wait to be sent.
const AHEAD: usize = 64;

/// The check of signed work, with the id and the key that it is for. It outlives a connection, so
/// that no item is begun twice.
pub(super) struct Registered {
    worker_id: String,
    server_key: String,
    acceptance: Acceptance,
}

/// The reason that a connection ends.
pub(super) enum Lost {
    /// We were told to stop.
    Stopped,
    /// The server does not want us, and will not.
    Refused(anyhow::Error),
    /// It may work again later.
    Broken(String),
}

/// One connection to the server.
pub(super) struct Connection<'a> {
    socket: Socket,
    registered: &'a Registered,
    jobs: Jobs,
    replies: Replies,
    outgoing: mpsc::Receiver<FromWorker>,
}

impl<'a> Connection<'a> {
    /// Connects and registers.
    pub(super) async fn open(
        hands: &Hands,
        registered: &'a mut Option<Registered>,
    ) -> Result<Self, Lost> {
        let mut socket = hands.client.socket(path::WORKERS).await.map_err(not_open)?;
        let kinds = hands.executors.kinds();
        let hello = FromWorker::Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            executors: kinds.clone(),
            workspace: hands.workspace.to_str().map(str::to_owned),
            instance: Some(hands.instance.clone()),
        };
        send(&mut socket, &hello).await?;
        let welcome = timeout(WELCOME_WITHIN, first(&mut socket)).await;
        let welcome = welcome.map_err(|_| Lost::Broken("the server says nothing".to_owned()))??;
        let ToWorker::Welcome { worker_id, server_key } = welcome else {
            return Err(Lost::Broken("the server does not speak as one of ours".to_owned()));
        };
        let names: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        say(&format!(
            "{worker_id} at {}: {}, in {}",
            hands.client.address(),
            names.join(", "),
            hands.workspace.display()
        ));
        let registered = renew(registered, worker_id, server_key)?;
        let (out, outgoing) = mpsc::channel(AHEAD);
        let replies = Replies::default();
        let executors = Arc::clone(&hands.executors);
        let jobs = Jobs::new(executors, hands.client.clone(), out, replies.clone());
        Ok(Self { socket, registered, jobs, replies, outgoing })
    }

    /// Works until the connection is gone or we are told to stop. Everything that runs is ended
    /// then: nobody could stop it any more.
    pub(super) async fn work(mut self, mut stopping: watch::Receiver<bool>) -> Lost {
        let lost = self.talk(&mut stopping).await;
        let why = match &lost {
            Lost::Stopped => "the worker was stopped",
            Lost::Refused(_) | Lost::Broken(_) => "the connection to the server is lost",
        };
        self.replies.close();
        self.jobs.stop(None, None, why);
        // The results that are ready within a moment are still told.
        let remaining = async {
            while self.jobs.is_busy() || !self.outgoing.is_empty() {
                if let Ok(message) = timeout(Duration::from_millis(20), self.outgoing.recv()).await
                    && let Some(message) = message
                    && matches!(lost, Lost::Stopped)
                    && send(&mut self.socket, &message).await.is_err()
                {
                    return;
                }
            }
        };
        let _ = timeout(LAST_WORDS, remaining).await;
        let _ = timeout(Duration::from_millis(100), self.socket.close(None)).await;
        lost
    }

    async fn talk(&mut self, stopping: &mut watch::Receiver<bool>) -> Lost {
        loop {
            let done = tokio::select! {
                () = told(stopping) => return Lost::Stopped,
                Some(message) = self.outgoing.recv() => send(&mut self.socket, &message).await,
                message = next(&mut self.socket) => match message {
                    Ok(Some(message)) => self.hear(message).await,
                    Ok(None) => Ok(()),
                    Err(lost) => Err(lost),
                },
                () = sleep(SILENT) => Err(Lost::Broken("the server has gone silent".to_owned())),
            };
            if let Err(lost) = done {
                return lost;
            }
        }
    }

    async fn hear(&mut self, message: ToWorker) -> Result<(), Lost> {
        match message {
            ToWorker::Welcome { .. } => {}
            ToWorker::Work { work } => return self.take(&work).await,
            ToWorker::Stop { action_id, session_id, why } => {
                self.jobs.stop(action_id.as_deref(), session_id.as_deref(), &why);
            }
            ToWorker::EndSession { session_id } => self.jobs.end_session(session_id),
            ToWorker::Describe { request, session_id, reference } => {
                self.jobs.describe(request, session_id, reference);
            }
            reply @ (ToWorker::Filled { .. } | ToWorker::Decided { .. }) => {
                self.replies.deliver(reply);
            }
        }
        Ok(())
    }

    /// Begins signed work, once.
    async fn take(&mut self, work: &SignedWork) -> Result<(), Lost> {
        let error = match self.registered.acceptance.accept(work, now()) {
            Ok(permit) => {
                self.jobs.begin(permit);
                return Ok(());
            }
            Err(error) => error,
        };
        say(&format!("work was refused: {error}"));
        match error {
            // It is ours, and will not be begun: the server need not wait for it.
            NotAccepted::Late | NotAccepted::OtherAction => {
                let Ok(item) = serde_json::from_str::<WorkItem>(&work.item) else { return Ok(()) };
                let result = WorkResult::because(Ended::Refused, "NotAccepted", error.to_string());
                let (action_id, result) = (item.action_id, Box::new(result));
                send(&mut self.socket, &FromWorker::Ended { action_id, result }).await
            }
            // Nothing is said about work that may be somebody else's, or that runs already.
            NotAccepted::Forged
            | NotAccepted::Unreadable(_)
            | NotAccepted::Elsewhere
            | NotAccepted::Again => Ok(()),
        }
    }
}

/// The check of signed work for this connection: the same one as before, or nothing would keep an
/// item from being begun again.
fn renew(
    registered: &mut Option<Registered>,
    worker_id: String,
    server_key: String,
) -> Result<&Registered, Lost> {
    let same = |known: &Registered| known.worker_id == worker_id && known.server_key == server_key;
    if registered.as_ref().is_some_and(|known| !same(known)) {
        return Err(Lost::Refused(anyhow!(
            "another server answers at this address, with another key: start the worker again if \
             that is right"
        )));
    }
    if registered.is_none() {
        let key = PublicKey::parse(&server_key)
            .ok_or_else(|| Lost::Refused(anyhow!("the server's key cannot be read")))?;
        let acceptance = Acceptance::new(key, worker_id.clone());
        *registered = Some(Registered { worker_id, server_key, acceptance });
    }
    registered.as_ref().ok_or_else(|| Lost::Broken("not registered".to_owned()))
}

fn not_open(error: ClientError) -> Lost {
    let is_final = error.refused().is_some_and(|refused| refused.retry_after.is_none());
    if is_final { Lost::Refused(error.into()) } else { Lost::Broken(error.to_string()) }
}

async fn send(socket: &mut Socket, message: &FromWorker) -> Result<(), Lost> {
    let broken = |error: &dyn std::fmt::Display| Lost::Broken(error.to_string());
    let text = serde_json::to_string(message).map_err(|error| broken(&error))?;
    socket.send(Message::text(text)).await.map_err(|error| broken(&error))
}

/// The next message; `None` for anything else that shows that the server is there.
async fn next(socket: &mut Socket) -> Result<Option<ToWorker>, Lost> {
    let broken = |why: &str| Lost::Broken(why.to_owned());
    match socket.next().await {
        Some(Ok(Message::Text(text))) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|_| broken("the server does not speak as one of ours")),
        Some(Ok(Message::Close(frame))) => {
            let why = frame.map_or_else(String::new, |frame| frame.reason.to_string());
            Err(Lost::Broken(format!("the server closed the connection: {why}")))
        }
        Some(Ok(_)) => Ok(None),
        Some(Err(error)) => Err(broken(&error.to_string())),
        None => Err(broken("the server ended the connection")),
    }
}

/// The first message.
async fn first(socket: &mut Socket) -> Result<ToWorker, Lost> {
    loop {
        if let Some(message) = next(socket).await? {
            return Ok(message);
        }
    }
}

/// The time in milliseconds since 1970.
fn now() -> i64 {
    use countersign_gate::clock::{Clock as _, System};
    System.now().0
}
