//! Workers: they register, sessions are bound to them, they describe pages, they go.

use std::time::Duration;

use countersign_wire::PublicKey;
use countersign_wire::work::{Element, ExecutorKind, ToWorker};
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, watch};

use crate::caller::Caller;
use crate::document::Versioned;
use crate::gate::session::{not_running, works_in};
use crate::gate::{Gate, GateError, Lookup};
use crate::id::{SessionId, WorkerId};
use crate::process::Process;
use crate::proposal::{Refusal, Why};
use crate::scope::WORKER;
use crate::session::{End, Session};
use crate::store::StoreError;
use crate::user::{Role, User, UserKind};
use crate::worker::{Connected, Description, ForSession, Gone, Serves};

mod conclude;
mod dispatch;
mod lend;
mod look;
mod masked;
mod record;

pub use conclude::{EndError, NotGivenError};
pub use dispatch::{Dispatch, DispatchError};
pub use lend::{Causing, FillError};

/// A worker that says what it can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The kinds of work it can do.
    pub executors: Vec<ExecutorKind>,
    /// The folder in which it works.
    pub folder: Option<String>,
    /// The name that its process has drawn for itself.
    pub instance: Option<String>,
    /// Its process, where it runs on this machine.
    pub process: Option<Process>,
}

/// A registered worker: its id, and the messages for it.
#[derive(Debug)]
pub struct Registration {
    /// The id under which it is sent work.
    pub id: WorkerId,
    /// The key by which it checks signatures.
    pub server_key: PublicKey,
    inbox: mpsc::Receiver<ToWorker>,
    connection: u64,
}

/// The reason for which a worker is refused.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The key lacks the scope.
    #[error("this key is not a worker's: it needs the scope `{WORKER}`")]
    Scope,
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl From<StoreError> for WorkerError {
    fn from(error: StoreError) -> Self {
        Self::Gate(error.into())
    }
}

/// A worker that is ready to do something in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// Its id.
    pub worker: WorkerId,
    /// The folder in which it works.
    pub folder: Option<String>,
}

/// The reason for which no worker is ready.
#[derive(Debug)]
pub enum NotReady {
    /// The session cannot do anything.
    Refused(Box<Refusal>),
    /// None is connected that can do this in this session. The session ends if none comes in time.
    NoWorker,
    /// The gate failed.
    Gate(GateError),
}

impl<E: Into<GateError>> From<E> for NotReady {
    fn from(error: E) -> Self {
        Self::Gate(error.into())
    }
}

/// The longest name that a process may draw for itself.
const LONGEST_NAME: usize = 64;

impl Registration {
    /// The next message for the worker; `None` once it is disconnected.
    pub async fn next(&mut self) -> Option<ToWorker> {
        self.inbox.recv().await
    }
}

impl Gate {
    /// Registers a worker, in place of an earlier connection of the same process.
    ///
    /// # Errors
    /// The key is not a worker's or was revoked, or the store failed.
    pub async fn register_worker(
        &self,
        caller: &Caller,
        hello: Hello,
    ) -> Result<Registration, WorkerError> {
        let key = caller.key_id().filter(|_| caller.has_scope(WORKER)).ok_or(WorkerError::Scope)?;
        self.rights_of(caller, Lookup::Fresh).await?;
        let serves = self.served_by(caller).await?;
        // Commands that it runs for agents are not a person at the local socket.
        if let Some(process) = hello.process {
            self.agents.note(process, &*self.processes);
        }
        let name = hello.instance.filter(|name| (1..=LONGEST_NAME).contains(&name.len()));
        let id = match name {
            Some(name) => named_worker(key.as_str(), &name),
            None => WorkerId::draw(&self.clock).map_err(GateError::from)?,
        };
        let (executors, folder) = (hello.executors.into_iter().collect(), hello.folder);
        let of = |outbox, connection| {
            let caller = caller.clone();
            Connected { caller, serves, executors, folder, outbox, connection }
        };
        let (inbox, connection, left) = self.workers.connect(&id, of);
        self.leave_behind(left).await?;
        Ok(Registration { id, server_key: self.keyring.public(), inbox, connection })
    }

    /// Notes that the connection of a worker is gone. What it was sent and has not ended is
    /// *unknown* from now on; what it was not sent has not begun.
    ///
    /// # Errors
    /// The store failed.
    pub async fn worker_gone(&self, registration: Registration) -> Result<(), GateError> {
        let left = self.workers.disconnect(&registration.id, registration.connection);
        self.leave_behind(left).await
    }

    /// Checks that a worker may still do work.
    ///
    /// # Errors
    /// Its key was revoked or its user disabled, or the store failed.
    pub async fn check_worker(&self, caller: &Caller) -> Result<(), GateError> {
        self.rights_of(caller, Lookup::Fresh).await.map(drop)
    }

    /// Waits no longer than configured for a worker of a session: from now on, or since the first
    /// time that one was expected.
    ///
    /// # Errors
    /// The session does not run or is not theirs, or the store failed.
    pub async fn expect_worker(&self, caller: &Caller, id: &SessionId) -> Result<(), NotReady> {
        let session = self.own_running(caller, id).await?;
        let mut inside = self.workers.inside();
        if !inside.bound.contains_key(&session.id) {
            let by = self.now().after(self.config.worker_within());
            inside.awaited.entry(session.id).or_insert(by);
        }
        Ok(())
    }

    /// The worker that does something of this kind in a session of the caller.
    ///
    /// # Errors
    /// The session does not run or is not theirs, no worker is connected that can do it, or the
    /// store failed.
    pub async fn ready_worker(
        &self,
        caller: &Caller,
        id: &SessionId,
        kind: ExecutorKind,
    ) -> Result<Ready, NotReady> {
        let session = self.own_running(caller, id).await?;
        let of = ForSession { id: &session.id, user: &session.user, workspace: &session.workspace };
        let mut inside = self.workers.inside();
        let Some(worker) = inside.choose(of, kind) else {
            let by = self.now().after(self.config.worker_within());
            inside.awaited.entry(session.id).or_insert(by);
            return Err(NotReady::NoWorker);
        };
        inside.awaited.remove(&session.id);
        let folder = inside.connected.get(&worker).and_then(|worker| worker.folder.clone());
        Ok(Ready { worker, folder })
    }

    /// A receiver that wakes when a worker has come.
    pub fn worker_arrivals(&self) -> watch::Receiver<()> {
        self.workers.arrivals()
    }

    /// Asks a worker what an element of a session's page is, or the page itself.
    ///
    /// # Errors
    /// The worker is gone.
    pub fn describe_element(
        &self,
        worker: &WorkerId,
        session: &SessionId,
        reference: Option<String>,
    ) -> Result<Description, Gone> {
        self.workers.inside().describe(worker, session, reference)
    }

    /// Takes a worker's answer about an element.
    pub fn element_described(
        &self,
        worker: &WorkerId,
        request: u64,
        element: Result<Element, String>,
    ) {
        self.workers.inside().described(worker, request, element);
    }

    /// Ends sessions for which no worker came in time, and work that its worker has not ended.
    pub(super) async fn sweep_workers(&self) -> Result<(), GateError> {
        let now = self.now();
        let late: Vec<_> = {
            let inside = self.workers.inside();
            let late = inside.awaited.iter().filter(|(_, by)| now >= **by);
            late.map(|(session, _)| session.clone()).collect()
        };
        for session in late {
            self.workers.inside().awaited.remove(&session);
            self.end(&session, End::NoWorker).await?;
        }
        self.sweep_work(now).await
    }

    /// A running session in which this caller works.
    async fn own_running(&self, caller: &Caller, id: &SessionId) -> Result<Session, NotReady> {
        let refused = |why| {
            let refusal = Refusal { why, judgement: None, retry_after: None, hit: None };
            NotReady::Refused(Box::new(refusal))
        };
        self.rights_of(caller, Lookup::Fresh).await?;
        if self.control().await?.value.halted {
            return Err(refused(Why::Halted));
        }
        let session: Option<Versioned<Session>> = self.get(id.as_str()).await?;
        let session = session.map(|versioned| versioned.value);
        let session = session.filter(|session| works_in(caller, session));
        let session = session.ok_or_else(|| refused(Why::NoSession))?;
        match not_running(&session, self.now()) {
            Some(why) => Err(refused(why)),
            None => Ok(session),
        }
    }

    /// Reports whether this caller is the worker of a session, which hands in files for its agent.
    pub(super) fn works_for(&self, caller: &Caller, session: &Session) -> bool {
        let inside = self.workers.inside();
        let worker = inside.bound.get(&session.id).and_then(|id| inside.connected.get(id));
        caller.has_scope(WORKER)
            && worker.is_some_and(|worker| worker.caller.key_id() == caller.key_id())
    }

    /// The people whose sessions a worker with this key serves. What it is sent may hold other
    /// people's secrets, so only who looks after them may offer one to everybody.
    async fn served_by(&self, caller: &Caller) -> Result<Serves, StoreError> {
        let user: Option<Versioned<User>> = self.get(caller.user.as_str()).await?;
        let for_all = user.is_some_and(|user| {
            user.value.kind == UserKind::Bot
                || user.value.role_in(&caller.workspace) >= Role::WorkspaceAdmin
        });
        Ok(if for_all { Serves::Everybody } else { Serves::Own })
    }
}

/// The id of the worker with this key and this name: the same after a connection was lost.
fn named_worker(key: &str, name: &str) -> WorkerId {
    let mut hash = Sha256::new_with_prefix(b"countersign worker v1\0");
    hash.update(key);
    hash.update([0]);
    hash.update(name);
    let hash: [u8; 32] = hash.finalize().into();
    let mut id = [0; 16];
    id.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    WorkerId::from_bytes(id)
}

/// The time after its limit in which a worker may say that it has ended something.
const GRACE: Duration = Duration::from_secs(10);
