//! The gate itself: the operations of agents, people and the clock.
//!
//! ```text
//! agent    submit ─► Permit | Refused | Waiting     spend ─► Permit     report   withdraw
//! person   answer   resume   stop   halt   approve_device   …
//! clock    sweep: expire, escalate, end, forget
//! ```
//!
//! INVARIANT: only this module makes a [`Permit`](crate::Permit).
//!
//! Each of these reads, decides, and commits one batch that names the versions it relied on: the
//! kill switch and the session as they were read. If either changed meanwhile, the batch is
//! rejected and everything is read again. So nothing gets past a stop that was confirmed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use countersign_core::Policy;
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, watch};

use crate::audit::{self, Draft, RecordOwner};
use crate::bytes::Hash;
use crate::clock::{Clock, MonotonicClock, Timestamp, random};
use crate::config::Config;
use crate::document::{self, Document, IndexKeys, Shared, Versioned};
use crate::error::GateError;
use crate::event::{Bus, Event};
use crate::id::{UserId, WorkspaceId};
use crate::judging::{Executor, Judging, Threads};
use crate::keyring::{Keyring, Purpose};
use crate::preferences::Preferences;
use crate::process::Processes;
use crate::process::agents::Agents;
use crate::redacted::KnownCleanReasons;
use crate::store::{Batch, CommitError, Committed, Kind, Store, StoreError};
use crate::vault::Vault;
use crate::worker::Workers;

mod answer;
mod attend;
mod card;
mod control;
#[cfg(test)]
mod explore;
mod handover;
mod history;
mod idempotency;
mod issue;
mod join;
mod judge;
mod key;
mod list;
mod machine;
mod offline;
mod people;
mod preferences;
mod ready;
mod remember;
mod report;
mod rights;
mod running;
mod session;
mod socket;
mod spend;
mod submit;
mod sweep;
mod transfer;
mod worker;

pub use crate::error::Lost;
pub use answer::{AnswerError, Answered, PersonAnswer};
pub use card::{Card, WaitingFirst};
pub use control::Kept;
pub use history::ReadError;
pub use idempotency::{Allows, Begun, Claim, IdempotencyError};
pub use key::{AuthError, NewSecret, Usage};
pub use list::{OwnerFilter, Page, Paged, Progress, Removed};
pub use machine::MachineError;
pub use offline::OfflineError;
pub use people::{Joined, PeopleError, SuperAdmin};
pub use remember::{Reach, Remembered};
pub use report::{ReportError, ReportedError};
pub use session::{Consent, ModeError, SiteCredential, StartError};
pub use socket::AtSocket;
pub use spend::SpendError;
pub use sweep::Swept;
pub use worker::{
    Causing, Dispatch, DispatchError, EndError, FillError, Hello, NotGivenError, NotReady, Ready,
    Registration, WorkerError,
};

/// The control plane.
#[derive(Debug)]
pub struct Gate {
    store: Arc<dyn Store>,
    keyring: Arc<Keyring>,
    clock: Arc<MonotonicClock>,
    processes: Arc<dyn Processes>,
    agents: Agents,
    policy: RwLock<Policy>,
    config: Config,
    vault: Vault,
    bus: Bus,
    present: Mutex<Presence>,
    attendance: attend::Attendance,
    handovers: handover::Handovers,
    claims: idempotency::Claims,
    plain: Arc<KnownCleanReasons>,
    judging: Judging,
    /// The person who has halted everything while the store could not be written.
    halted_by: Mutex<Option<control::SwitchedBy>>,
    last_write: ready::LastWrite,
    files: Option<transfer::Files>,
    workers: Workers,
}

/// The parts of a gate.
#[derive(Debug)]
pub struct Parts {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The server's own keys.
    pub keyring: Arc<Keyring>,
    /// The source of time and randomness.
    pub clock: Arc<dyn Clock>,
    /// The processes of the machine.
    pub processes: Arc<dyn Processes>,
    /// The policy by which actions are judged.
    pub policy: Policy,
    /// The configuration.
    pub config: Config,
}

/// The devices and channels that can be reached right now.
#[derive(Debug, Default)]
struct Presence {
    /// Connected devices, by user.
    devices: HashMap<UserId, u32>,
    /// Channels that reach everybody who is asked.
    channels: u32,
}

/// The number of attempts when others change the same documents.
const TRIES: u32 = 64;

impl Gate {
    /// Opens the gate and first settles everything left over from the last run.
    ///
    /// # Errors
    /// The audit trail is damaged, or the store failed.
    pub async fn open(parts: Parts) -> Result<Self, GateError> {
        let Parts { store, keyring, clock, processes, policy, config } = parts;
        check_record(&*store, &keyring).await?;
        // Time goes on from the last record: setting the clock back while the gate was closed does
        // not revive anything.
        let seen = store.chain().await?.end().at;
        let judging = Judging::new(Arc::new(Threads::default()), Arc::clone(&clock));
        let gate = Self {
            clock: Arc::new(MonotonicClock::new(clock, seen)),
            policy: RwLock::new(policy),
            bus: Bus::new(),
            present: Mutex::default(),
            attendance: attend::Attendance::default(),
            handovers: handover::Handovers::default(),
            vault: Vault::default(),
            claims: idempotency::Claims::default(),
            plain: Arc::default(),
            judging,
            halted_by: Mutex::default(),
            last_write: ready::LastWrite::default(),
            files: None,
            workers: Workers::default(),
            agents: Agents::default(),
            store,
            keyring,
            processes,
            config,
        };
        gate.set_up_control().await?;
        gate.recover().await?;
        Ok(gate)
    }

    /// The same gate, with large inputs judged on another executor than its own threads.
    #[must_use]
    pub fn judging_on(mut self, executor: Arc<dyn Executor>) -> Self {
        self.judging = self.judging.on(executor);
        self
    }

    /// Replaces the policy.
    pub fn set_policy(&self, policy: Policy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    /// The policy in force in a workspace.
    #[must_use]
    pub fn policy_in(&self, workspace: &WorkspaceId) -> Policy {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        policy.in_workspace(workspace.as_str())
    }

    /// The policy in force outside of every workspace.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Receives all events. A listener may pass an event on only to the people it concerns.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.bus.subscribe()
    }

    /// A receiver that wakes when the kill switch is thrown or reset.
    pub fn switched(&self) -> watch::Receiver<()> {
        self.bus.switched()
    }

    /// The credentials of running sessions.
    #[must_use]
    pub const fn vault(&self) -> &Vault {
        &self.vault
    }

    /// The server's own keys.
    #[must_use]
    pub fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// The processes of the machine.
    #[must_use]
    pub fn processes(&self) -> &dyn Processes {
        &*self.processes
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The gate's time, by which everything expires. Never runs backwards, never stops.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A gate's time as the system's clock would show it: for people, and for programs that compare
    /// it with a clock of their own.
    #[must_use]
    pub fn shown(&self, at: Timestamp) -> Timestamp {
        self.clock.shown(at)
    }

    /// The gate's clock, for code that has to agree with it on expiry.
    #[must_use]
    pub fn clock(&self) -> Arc<MonotonicClock> {
        Arc::clone(&self.clock)
    }

    /// Notes that a device of a user has connected; the user can be reached until it disconnects.
    pub fn arrive(&self, user: &UserId) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        *present.devices.entry(user.clone()).or_default() += 1;
    }

    /// Notes that a device of a user has disconnected.
    pub fn leave(&self, user: &UserId) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(devices) = present.devices.get_mut(user) {
            *devices = devices.saturating_sub(1);
            if *devices == 0 {
                present.devices.remove(user);
            }
        }
    }

    /// Notes a channel that reaches everybody who is asked.
    pub fn add_channel(&self) {
        self.present.lock().unwrap_or_else(PoisonError::into_inner).channels += 1;
    }

    fn is_present(&self, user: &UserId) -> bool {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        present.devices.contains_key(user)
    }

    fn has_channel(&self) -> bool {
        self.present.lock().unwrap_or_else(PoisonError::into_inner).channels > 0
    }

    async fn get<T: Document>(&self, id: &str) -> Result<Option<Versioned<T>>, StoreError> {
        document::get(&*self.store, id).await
    }

    /// Reads a document, perhaps from the cache, for a batch that names the epoch read before.
    async fn get_cached<T>(&self, id: &str) -> Result<Option<Shared<T>>, StoreError>
    where
        T: Document + Send + Sync + 'static,
    {
        document::get_cached(&*self.store, id).await
    }

    async fn look<T>(&self, id: &str, look: Lookup) -> Result<Option<Shared<T>>, StoreError>
    where
        T: Document + Send + Sync + 'static,
    {
        match look {
            Lookup::Fresh => Ok(self.get(id).await?.map(Versioned::share)),
            Lookup::Cached => self.get_cached(id).await,
        }
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        if let Some(control) = self.halted_against(&batch) {
            return Err(control);
        }
        let outcome = self.store.commit(batch).await;
        self.last_write.keep(&outcome);
        outcome
    }

    /// Drafts a record.
    fn record(
        &self,
        event: crate::audit::Event,
        record_owner: RecordOwner,
        payload: &impl Serialize,
    ) -> Result<Draft, GateError> {
        let payload = serde_json::to_string(payload)
            .map_err(|error| StoreError(format!("a record cannot be written: {error}")))?;
        Ok(Draft::new(self.now(), event, record_owner, payload, random(&self.clock)?))
    }

    /// The preferences of a user.
    async fn settings_of(&self, user: &UserId) -> Result<Preferences, StoreError> {
        let versioned: Option<Versioned<Preferences>> = self.get(user.as_str()).await?;
        Ok(versioned.map_or_else(|| Preferences::of(user.clone()), |versioned| versioned.value))
    }
}

/// Refuses a damaged audit trail: new records would be mixed with records that somebody else wrote.
async fn check_record(store: &dyn Store, keyring: &Keyring) -> Result<(), StoreError> {
    let report = audit::check(store, &keyring.public(), &[], &mut |_| {}).await?;
    match report.damage.first() {
        None => Ok(()),
        Some(first) => Err(StoreError(format!("the record is damaged: {first}"))),
    }
}

/// The state of the kill switch, sealed by the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Control {
    halted: bool,
    by: Option<UserId>,
    at: Timestamp,
    /// A keyed seal over the other fields, which only the server can make.
    #[serde(default)]
    seal: Option<Hash>,
}

impl Control {
    const ID: &'static str = "gate";

    fn new(halted: bool, by: Option<UserId>, at: Timestamp, keyring: &Keyring) -> Self {
        let control = Self { halted, by, at, seal: None };
        Self { seal: Some(control.computed_seal(keyring)), ..control }
    }

    /// Reports whether this server made the seal.
    fn holds(&self, keyring: &Keyring) -> bool {
        self.seal == Some(self.computed_seal(keyring))
    }

    fn computed_seal(&self, keyring: &Keyring) -> Hash {
        let by = self.by.as_ref().map_or("", |by| by.as_str());
        let text = format!("{} {} {by}", self.halted, self.at.0);
        Hash(keyring.fingerprint(Purpose::KillSwitch, text.as_bytes()))
    }
}

impl Document for Control {
    const KIND: Kind = Kind::Control;

    fn id(&self) -> &str {
        Self::ID
    }

    fn index_keys(&self) -> IndexKeys<'_> {
        let state = if self.halted { "halted" } else { "running" };
        IndexKeys { state, ..IndexKeys::default() }
    }
}

/// The place in which a document is looked up.
#[derive(Debug, Clone, Copy)]
enum Lookup {
    /// In the store.
    Fresh,
    /// The cache first, for a batch that names the epoch read before.
    Cached,
}

/// Reports whether a commit failed only because something changed meanwhile.
fn is_conflict(error: &CommitError) -> bool {
    matches!(error, CommitError::Conflict { .. } | CommitError::Outdated)
}
