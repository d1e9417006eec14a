//! A gate with an owner, a signed-in device, an agent with a key, and a clock that the test
//! controls.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use countersign_core::{Action, Policy};
use countersign_gate::approval::Answer;
use countersign_gate::audit::Record;
use countersign_gate::clock::{Fake, Timestamp};
use countersign_gate::gate::{AnswerError, Answered, Consent, PersonAnswer};
use countersign_gate::id::{ApprovalId, SessionId, UserId, WorkspaceId};
use countersign_gate::key::{Access, Devices, NewKey};
use countersign_gate::keyring::Keyring;
use countersign_gate::process;
use countersign_gate::rate::Rate;
use countersign_gate::scope::Scope;
use countersign_gate::session::Plan;
use countersign_gate::store::{self, Kind, Query, RecordQuery, Store, StoreUrl};
use countersign_gate::user::Membership;
use countersign_gate::{Caller, Config, Gate, Parts, Permit, Person, Proposal, Submitted};
use pollster::block_on;

/// 2026-01-01.
pub(crate) const BEGIN: Timestamp = Timestamp(1_767_225_600_000);

/// Commands that ask in every profile, never ask, and are blocked.
pub(crate) const RISKY: &str = "git push --force origin main";
pub(crate) const SAFE: &str = "ls -la";
pub(crate) const HARD: &str = "rm -rf /";

pub(crate) struct World {
    pub(crate) gate: Arc<Gate>,
    pub(crate) clock: Arc<Fake>,
    pub(crate) processes: Arc<process::Fake>,
    pub(crate) owner: Person,
    pub(crate) agent: Caller,
    pub(crate) workspace: WorkspaceId,
    folder: Option<Folder>,
    store: Arc<dyn Store>,
}

/// The setup of a world.
#[derive(Default, Clone)]
pub(crate) struct Setup {
    pub(crate) policy: Policy,
    pub(crate) config: Config,
    /// On the disk, where a restart finds it again.
    pub(crate) on_disk: bool,
    /// With a folder for files, on the disk too.
    pub(crate) files: bool,
}

pub(crate) fn world() -> World {
    World::new(Setup::default())
}

pub(crate) fn shell(command: &str) -> Proposal {
    Proposal::of(Action::Shell { command: command.into(), cwd: Some("/work".into()) })
}

impl World {
    pub(crate) fn new(setup: Setup) -> Self {
        let clock = Arc::new(Fake::at(BEGIN));
        let processes = Arc::new(process::Fake::default());
        let folder = setup.on_disk.then(Folder::new);
        let store = open_store(folder.as_ref().map(|folder| folder.0.as_path()));
        let path = folder.as_ref().map(|folder| folder.0.as_path());
        let gate = open_gate(&store, &clock, &processes, setup, path);
        let (_, link) = block_on(gate.first_start("Ann")).unwrap().unwrap();
        let device = block_on(gate.accept(&link, "laptop")).unwrap();
        let owner = block_on(gate.sign_in(&device)).unwrap();
        let workspace = owner.user().workspaces.keys().next().unwrap().clone();
        let agent = agent(&gate, &owner, &workspace, Access::Agent, "*");
        let gate = Arc::new(gate);
        Self { gate, clock, processes, owner, agent, workspace, folder, store }
    }

    /// The data folder of a world on the disk.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder.as_ref().unwrap().0
    }

    /// Ends the gate and opens it again on the same store.
    pub(crate) fn restart(self, setup: Setup) -> Self {
        let Self { gate, clock, processes, owner, agent, workspace, folder, store } = self;
        drop(gate);
        let store = match &folder {
            Some(folder) => {
                drop(store);
                open_store(Some(&folder.0))
            }
            None => store,
        };
        let path = folder.as_ref().map(|folder| folder.0.as_path());
        let gate = Arc::new(open_gate(&store, &clock, &processes, setup, path));
        Self { gate, clock, processes, owner, agent, workspace, folder, store }
    }

    /// Ends the gate, and copies its files.
    pub(crate) fn close_into(self, to: &Path) {
        let Self { gate, store, folder, .. } = self;
        drop((gate, store));
        for name in ["gate.db", "gate.noted"] {
            std::fs::copy(folder.as_ref().unwrap().0.join(name), to.join(name)).unwrap();
        }
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }

    /// Another person, signed in.
    pub(crate) fn person(&self, name: &str, membership: Membership) -> Person {
        let added = self.gate.add_user(&self.owner, name, &self.workspace, membership);
        let (_, link) = block_on(added).unwrap();
        let device = block_on(self.gate.accept(&link, "phone")).unwrap();
        block_on(self.gate.sign_in(&device)).unwrap()
    }

    /// Another agent or program of a person.
    pub(crate) fn key(&self, of: &Person, access: Access, scope: &str) -> Caller {
        agent(&self.gate, of, &self.workspace, access, scope)
    }

    pub(crate) fn session(&self, plan: Plan) -> SessionId {
        let caller = self.assistant();
        let started = self.gate.start(&caller, plan, Consent::Given, Vec::new());
        block_on(started).unwrap().id
    }

    /// The owner's own assistant, which may choose what a person may choose.
    pub(crate) fn assistant(&self) -> Caller {
        self.owner.assistant(&self.workspace).unwrap()
    }

    pub(crate) fn submit(&self, proposal: &Proposal) -> Submitted {
        block_on(self.gate.submit(&self.agent, proposal)).unwrap()
    }

    /// Submits a proposal that must wait for a person.
    pub(crate) fn ask(&self, proposal: &Proposal) -> ApprovalId {
        match self.submit(proposal) {
            Submitted::Waiting(waiting) => waiting.approval,
            other => panic!("not asked about: {other:?}"),
        }
    }

    pub(crate) fn say(&self, approval: &ApprovalId, say: Answer) -> Answered {
        block_on(self.gate.answer(&self.owner, PersonAnswer::plain(approval.clone(), say))).unwrap()
    }

    pub(crate) fn spend(
        &self,
        approval: &ApprovalId,
        proposal: &Proposal,
    ) -> Result<Permit, String> {
        block_on(self.gate.spend(&self.agent, approval, proposal))
            .map_err(|error| error.to_string())
    }

    pub(crate) fn sweep(&self) {
        block_on(self.gate.sweep()).unwrap();
    }

    pub(crate) fn state(&self, approval: &ApprovalId) -> &'static str {
        block_on(self.gate.card(&self.owner, approval)).unwrap().state.as_str()
    }

    pub(crate) fn user(&self) -> &UserId {
        &self.owner.user().id
    }

    /// The records of one kind of event, as JSON.
    pub(crate) fn recorded(&self, event: &str) -> Vec<serde_json::Value> {
        let query = countersign_gate::store::RecordQuery::default();
        let records = block_on(self.gate.store().records(&query)).unwrap();
        let of_event = records.iter().filter(|record| record.event == event);
        let content = of_event.filter_map(|record| record.content.as_ref());
        content.map(|content| serde_json::from_str(&content.payload).unwrap()).collect()
    }

    pub(crate) fn verify(&self) {
        assert_eq!(block_on(self.gate.verify()).unwrap().damage, []);
    }

    /// A person in another workspace, signed in.
    pub(crate) fn person_in(
        &self,
        name: &str,
        workspace: &WorkspaceId,
        membership: Membership,
    ) -> Person {
        let added = self.gate.add_user(&self.owner, name, workspace, membership);
        let (_, link) = block_on(added).unwrap();
        let device = block_on(self.gate.accept(&link, "phone")).unwrap();
        block_on(self.gate.sign_in(&device)).unwrap()
    }

    /// The result of a person's plain answer.
    pub(crate) fn say_as(
        &self,
        person: &Person,
        approval: &ApprovalId,
        say: Answer,
    ) -> Result<Answered, AnswerError> {
        block_on(self.gate.answer(person, PersonAnswer::plain(approval.clone(), say)))
    }

    /// All records.
    pub(crate) fn records(&self) -> Vec<Record> {
        block_on(self.gate.store().records(&RecordQuery::default())).unwrap()
    }

    /// The approvals in a state.
    pub(crate) fn approvals(&self, state: &'static str) -> Vec<ApprovalId> {
        let query = Query { states: vec![state], ..Query::of(Kind::Approval) };
        let found = block_on(self.gate.store().find(&query)).unwrap();
        found.iter().map(|stored| ApprovalId::parse(&stored.doc.id).unwrap()).collect()
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// A connection to the database that bypasses the gate.
    pub(crate) fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.folder().join("gate.db")).unwrap()
    }

    /// Changes the database behind the gate's back.
    pub(crate) fn sql(&self, statement: &str) {
        self.database().execute_batch(statement).unwrap();
    }
}

fn open_gate(
    store: &Arc<dyn Store>,
    clock: &Arc<Fake>,
    processes: &Arc<process::Fake>,
    setup: Setup,
    folder: Option<&Path>,
) -> Gate {
    let keeps_files = setup.files;
    let gate = block_on(Gate::open(Parts {
        store: store.clone(),
        keyring: Arc::new(keyring()),
        clock: clock.clone(),
        processes: processes.clone(),
        policy: setup.policy,
        config: setup.config,
    }))
    .unwrap();
    let gate = match folder {
        Some(folder) => gate.knowing_agents_in(folder),
        None => gate,
    };
    match folder.filter(|_| keeps_files) {
        Some(folder) => gate.keeping_files_in(&folder.join("files")).unwrap(),
        None => gate,
    }
}

fn open_store(folder: Option<&Path>) -> Arc<dyn Store> {
    let keyring = Arc::new(keyring());
    match folder {
        Some(folder) => store::danger_open_or_begin(&StoreUrl::in_folder(folder), keyring).unwrap(),
        None => store::open(&StoreUrl::Memory, keyring).unwrap(),
    }
}

pub(crate) fn keyring() -> Keyring {
    Keyring::from_seed(&[7; 32])
}

fn agent(gate: &Gate, of: &Person, workspace: &WorkspaceId, access: Access, scope: &str) -> Caller {
    let key = NewKey {
        name: "agent".into(),
        workspace: workspace.clone(),
        scopes: vec![Scope::parse(scope, &["email.send".to_owned()].into()).unwrap()],
        access,
        devices: Devices::Any,
        writes: Rate::per_minute(1_000),
        expires_at: None,
    };
    let made = block_on(gate.create_key(of, key)).unwrap();
    block_on(gate.authenticate(&made.secret, None)).unwrap()
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("countersign-gate-it-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
