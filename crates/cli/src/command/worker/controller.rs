//! The way from running work back to the server.

use std::collections::HashMap;
use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_core::Action;
use countersign_wire::path;
use countersign_wire::work::{FromWorker, Stream, ToWorker, WorkFile};
use countersign_worker::{Controller, NotPermitted, Stop};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::client::{Client, ClientError};

/// The interval at which a wait looks for a stop.
const LOOKS_EVERY: Duration = Duration::from_millis(50);
/// The time in which the server lends a field.
const LENDS_WITHIN: Duration = Duration::from_secs(30);
/// The size of a piece of a file.
const PIECE: u64 = 1 << 20;

/// The questions to the server that wait for an answer.
#[derive(Clone, Default)]
pub(super) struct Replies(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    last: u64,
    by_request: HashMap<u64, SyncSender<ToWorker>>,
    closed: bool,
}

impl Replies {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // The map is consistent after every step, so a panic elsewhere has broken nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for a question, and its answer.
    fn expect(&self) -> Option<(u64, Receiver<ToWorker>)> {
        let mut waiting = self.waiting();
        if waiting.closed {
            return None;
        }
        waiting.last = waiting.last.saturating_add(1);
        let request = waiting.last;
        let (sender, receiver) = sync_channel(1);
        waiting.by_request.insert(request, sender);
        Some((request, receiver))
    }

    fn forget(&self, request: u64) {
        self.waiting().by_request.remove(&request);
    }

    /// Passes an answer on to the one who asked.
    pub(super) fn deliver(&self, reply: ToWorker) {
        let (ToWorker::Filled { request, .. } | ToWorker::Decided { request, .. }) = &reply else {
            return;
        };
        if let Some(sender) = self.waiting().by_request.remove(request) {
            // The one who asked may have been stopped.
            let _ = sender.try_send(reply);
        }
    }

    /// Lets every wait end: no answer will come.
    pub(super) fn close(&self) {
        let mut waiting = self.waiting();
        waiting.closed = true;
        waiting.by_request.clear();
    }
}

/// The way from one item of running work back to the server.
pub(super) struct Link {
    pub(super) action: String,
    pub(super) session: String,
    pub(super) out: mpsc::Sender<FromWorker>,
    pub(super) replies: Replies,
    pub(super) stop: Stop,
    pub(super) client: Client,
    pub(super) handle: Handle,
}

impl Link {
    /// Asks the server, and waits for the answer, a stop or the end of the connection.
    fn ask(
        &self,
        within: Option<Duration>,
        question: impl FnOnce(u64) -> FromWorker,
    ) -> Result<ToWorker, NotPermitted> {
        let lost = || NotPermitted("the connection to the server is lost".to_owned());
        let (request, answer) = self.replies.expect().ok_or_else(lost)?;
        if self.out.blocking_send(question(request)).is_err() {
            return Err(lost());
        }
        let until = within.map(|within| Instant::now() + within);
        let reply = loop {
            match answer.recv_timeout(LOOKS_EVERY) {
                Ok(reply) => break Ok(reply),
                Err(RecvTimeoutError::Disconnected) => break Err(lost()),
                Err(RecvTimeoutError::Timeout) if self.stop.is_given() => {
                    break Err(NotPermitted(self.stop.why()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if until.is_some_and(|until| Instant::now() >= until) {
                        break Err(NotPermitted("the server does not answer".to_owned()));
                    }
                }
            }
        };
        self.replies.forget(request);
        reply
    }

    async fn upload(&self, name: &str, content: &mut dyn Read) -> Result<WorkFile, UploadError> {
        let uploads = path::of(path::SESSION_UPLOADS, &[&self.session]);
        let begun = self.client.post(&uploads, &json!({"name": name})).await?;
        let file = text(&begun, "file_id");
        let upload = path::of(path::SESSION_UPLOAD, &[&self.session, &file]);
        let most = begun.get("chunk_bytes").and_then(Value::as_u64).unwrap_or(PIECE).min(PIECE);
        let (mut offset, mut hash) = (0_u64, Sha256::new());
        loop {
            let mut piece = Vec::new();
            let length = Read::take(&mut *content, most).read_to_end(&mut piece)?;
            if length == 0 {
                break;
            }
            hash.update(&piece);
            self.client.send_piece(&upload, offset, piece).await?;
            offset = offset.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        }
        let finish = path::of(path::SESSION_UPLOAD_FINISH, &[&self.session, &file]);
        let made = self.client.call(&finish).await?;
        Ok(WorkFile {
            file_id: file,
            name: text(&made, "name"),
            bytes: offset,
            sha256: URL_SAFE_NO_PAD.encode(hash.finalize()),
        })
    }
}

/// The reason for which a file is not handed in.
#[derive(Debug)]
enum UploadError {
    Client(ClientError),
    Read(std::io::Error),
}

impl From<ClientError> for UploadError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<std::io::Error> for UploadError {
    fn from(error: std::io::Error) -> Self {
        Self::Read(error)
    }
}

impl From<UploadError> for NotPermitted {
    fn from(error: UploadError) -> Self {
        match error {
            UploadError::Client(error) => Self(error.to_string()),
            UploadError::Read(error) => Self(format!("the file cannot be read: {error}")),
        }
    }
}

impl Controller for Link {
    fn piece(&self, stream: Stream, text: &str) {
        let (action_id, text) = (self.action.clone(), text.to_owned());
        // Without a connection there is nobody to tell.
        let _ = self.out.blocking_send(FromWorker::Piece { action_id, stream, text });
    }

    fn fill(
        &self,
        origin: &str,
        field: &str,
        using: &mut dyn FnMut(&str),
    ) -> Result<(), NotPermitted> {
        let reply = self.ask(Some(LENDS_WITHIN), |request| FromWorker::Fill {
            request,
            action_id: self.action.clone(),
            origin: origin.to_owned(),
            field: field.to_owned(),
        })?;
        match reply {
            ToWorker::Filled { content: Some(content), .. } => {
                using(content.expose());
                Ok(())
            }
            _ => Err(NotPermitted("the server does not lend this field".to_owned())),
        }
    }

    fn propose(&self, action: &Action, details: &[String]) -> Result<(), NotPermitted> {
        let reply = self.ask(None, |request| FromWorker::Propose {
            request,
            action_id: self.action.clone(),
            action: Box::new(action.clone()),
            details: details.to_vec(),
        })?;
        match reply {
            ToWorker::Decided { permitted: true, .. } => Ok(()),
            ToWorker::Decided { reason, .. } => {
                Err(NotPermitted(reason.unwrap_or_else(|| "it may not happen".to_owned())))
            }
            _ => Err(NotPermitted("the server's answer is not understood".to_owned())),
        }
    }

    fn hand_in(&self, name: &str, content: &mut dyn Read) -> Result<WorkFile, NotPermitted> {
        Ok(self.handle.block_on(self.upload(name, content))?)
    }
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
