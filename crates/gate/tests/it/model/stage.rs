//! The real gate of a trace, with its people, its agents and a store that can die.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use countersign_core::{Action, Policy};
use countersign_gate::approval::QuorumRow;
use countersign_gate::clock::Fake;
use countersign_gate::gate::Lost;
use countersign_gate::id::{KeyId, WorkspaceId};
use countersign_gate::key::{Access, Devices, NewKey};
use countersign_gate::process;
use countersign_gate::rate::Rate;
use countersign_gate::scope::Scope;
use countersign_gate::secret::Secret;
use countersign_gate::store::{self, Store, StoreUrl};
use countersign_gate::user::Membership;
use countersign_gate::{Caller, Config, Gate, GateError, Parts, Person, Proposal};
use pollster::block_on;

use crate::model::brittle::Brittle;
use crate::model::reference::{Agent, MEMBER, OWNER, STRANGER};
use crate::world::{BEGIN, keyring};

/// The place of the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    Memory,
    Disk,
}

pub(super) struct Stage {
    pub(super) gate: Option<Gate>,
    pub(super) store: Arc<Brittle>,
    pub(super) clock: Arc<Fake>,
    pub(super) processes: Arc<process::Fake>,
    /// The people as they signed in at the beginning; their rights may have changed since.
    pub(super) people: Vec<Person>,
    pub(super) agents: Vec<Slot>,
    memory: Option<Arc<dyn Store>>,
    folder: Option<PathBuf>,
    next: u32,
}

/// An agent and its key; `None` if its person is present.
pub(super) struct Slot {
    pub(super) agent: Agent,
    pub(super) key: Option<(KeyId, Secret)>,
    /// The caller as it was last authenticated.
    came: Option<Caller>,
}

pub(super) fn config() -> Config {
    let row = QuorumRow { risk: None, rules: Vec::new(), need: None, escalate_after: None };
    let rules = |rule: &str| vec![rule.to_owned()];
    Config {
        most_pending: 6,
        prompts: Rate { uses: 8, seconds: 300 },
        quorum: vec![
            QuorumRow { rules: rules("shell.git.*"), escalate_after: Some(40), ..row.clone() },
            QuorumRow { rules: rules("sql.*"), need: Some(1), ..row.clone() },
            QuorumRow { rules: rules("shell.infrastructure.*"), need: Some(2), ..row.clone() },
            QuorumRow { rules: rules("shell.kubernetes.*"), need: Some(2), ..row },
        ],
        ..Config::default()
    }
}

impl Stage {
    pub(super) fn new(backend: Backend) -> Self {
        let (clock, processes) = (Arc::new(Fake::at(BEGIN)), Arc::new(process::Fake::default()));
        let folder = (backend == Backend::Disk).then(folder);
        let memory: Option<Arc<dyn Store>> = match backend {
            Backend::Memory => Some(nothing()),
            Backend::Disk => None,
        };
        let store = open_store(memory.as_ref(), folder.as_ref());
        let gate = open_gate(&store, &clock, &processes);
        let (people, ours, theirs) = people(&gate);
        let mut stage = Self {
            gate: Some(gate),
            store,
            clock,
            processes,
            people,
            agents: Vec::new(),
            memory,
            folder,
            next: 0,
        };
        for (user, scope) in [(OWNER, "*"), (OWNER, "shell.*"), (MEMBER, "*"), (STRANGER, "*")] {
            let workspace = if user == STRANGER { &theirs } else { &ours };
            let slot = stage.new_agent(user, workspace, scope);
            stage.agents.push(slot);
        }
        // The owner's assistant, with the owner present.
        let agent = Agent { number: stage.number(), user: OWNER, only_shell: false };
        stage.agents.push(Slot { agent, key: None, came: None });
        stage
    }

    pub(super) fn gate(&self) -> &Gate {
        self.gate.as_ref().unwrap()
    }

    /// The caller with an agent's key, if it still works.
    pub(super) fn caller(&self, slot: usize) -> Option<Caller> {
        if let Some((_, secret)) = &self.agents[slot].key {
            return block_on(self.gate().authenticate(secret, None)).ok();
        }
        let owner = &self.people[OWNER];
        owner.assistant(owner.user().workspaces.keys().next().unwrap())
    }

    /// Revokes the key: it no longer works, and another agent replaces this one.
    pub(super) fn replace_agent(&mut self, slot: usize) {
        let Slot { agent, key, .. } = &self.agents[slot];
        let Some((id, secret)) = key else { return };
        let person = &self.people[agent.user];
        block_on(self.gate().revoke_key(person, id)).unwrap();
        assert!(block_on(self.gate().authenticate(secret, None)).is_err(), "a revoked key works");
        let workspace = person.user().workspaces.keys().next().unwrap().clone();
        let scope = if agent.only_shell { "shell.*" } else { "*" };
        self.agents[slot] = self.new_agent(agent.user, &workspace, scope);
    }

    /// Rotates the key: the agent stays the same.
    pub(super) fn rotate(&mut self, slot: usize) {
        let Slot { agent, key, .. } = &self.agents[slot];
        let Some((id, _)) = key else { return };
        let person = &self.people[agent.user];
        let overlap = std::time::Duration::from_mins(1);
        let made = block_on(self.gate().rotate_key(person, id, overlap)).unwrap();
        self.agents[slot].came = block_on(self.gate().authenticate(&made.secret, None)).ok();
        self.agents[slot].key = Some((made.key.id, made.secret));
    }

    /// A person with their current rights.
    pub(super) fn person(&self, person: usize) -> Person {
        block_on(self.gate().still_signed_in(&self.people[person])).unwrap()
    }

    /// Removes a person from the workspace, or adds them again.
    pub(super) fn change_member(&self, person: usize, membership: Option<Membership>) {
        let owner = &self.people[OWNER];
        let workspace = owner.user().workspaces.keys().next().unwrap();
        let user = &self.people[person].user().id;
        block_on(self.gate().change_membership(owner, user, workspace, membership)).unwrap();
    }

    /// Checks that the agent of a removed person is refused, also if it authenticated before.
    pub(super) fn is_turned_away(&self, slot: usize) {
        assert!(self.caller(slot).is_none(), "{slot} is let in");
        let Some(came) = &self.agents[slot].came else { return };
        let proposal = Proposal::of(Action::Screenshot {});
        let got = block_on(self.gate().submit(came, &proposal));
        assert!(matches!(got, Err(GateError::Revoked(Lost::Workspace))), "{got:?}");
    }

    /// Ends the gate without a shutdown, and opens it again on the same store.
    pub(super) fn restart(&mut self, how: Ending) {
        drop(self.gate.take());
        let dead = std::mem::replace(&mut self.store, Arc::new(Brittle::new(nothing())));
        match how {
            Ending::Closed => drop(dead),
            // No clean-up: the file and its log stay as they are.
            Ending::Left => std::mem::forget(dead),
        }
        self.store = open_store(self.memory.as_ref(), self.folder.as_ref());
        self.gate = Some(open_gate(&self.store, &self.clock, &self.processes));
    }

    fn new_agent(&mut self, user: usize, workspace: &WorkspaceId, scope: &str) -> Slot {
        let key = NewKey {
            name: "agent".into(),
            workspace: workspace.clone(),
            scopes: vec![Scope::parse(scope, &std::collections::BTreeSet::new()).unwrap()],
            access: Access::Agent,
            devices: Devices::Any,
            writes: Rate::per_minute(1_000_000),
            expires_at: None,
        };
        let made = block_on(self.gate().create_key(&self.people[user], key)).unwrap();
        let agent = Agent { number: self.number(), user, only_shell: scope != "*" };
        let came = block_on(self.gate().authenticate(&made.secret, None)).ok();
        Slot { agent, key: Some((made.key.id, made.secret)), came }
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }
}

/// The way in which a gate ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Its store is closed.
    Closed,
    /// Its store is not closed either.
    Left,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// The owner, a member, an admin, and a stranger in a workspace of their own.
fn people(gate: &Gate) -> (Vec<Person>, WorkspaceId, WorkspaceId) {
    let (_, link) = block_on(gate.first_start("Ann")).unwrap().unwrap();
    let sign_in = |link: &Secret| {
        let device = block_on(gate.accept(link, "laptop")).unwrap();
        block_on(gate.sign_in(&device)).unwrap()
    };
    let owner = sign_in(&link);
    let ours = owner.user().workspaces.keys().next().unwrap().clone();
    let theirs = WorkspaceId::from_bytes([9; 16]);
    let join = |name: &str, workspace: &WorkspaceId, membership| {
        sign_in(&block_on(gate.add_user(&owner, name, workspace, membership)).unwrap().1)
    };
    let member = join("Max", &ours, Membership::Member);
    let admin = join("Ada", &ours, Membership::Admin);
    let stranger = join("Sam", &theirs, Membership::Member);
    (vec![owner, member, admin, stranger], ours, theirs)
}

fn open_store(memory: Option<&Arc<dyn Store>>, folder: Option<&PathBuf>) -> Arc<Brittle> {
    let inner: Arc<dyn Store> = match (memory, folder) {
        (Some(memory), _) => memory.clone(),
        (None, Some(folder)) => {
            store::danger_open_or_begin(&StoreUrl::in_folder(folder), Arc::new(keyring())).unwrap()
        }
        (None, None) => nothing(),
    };
    Arc::new(Brittle::new(inner))
}

fn nothing() -> Arc<dyn Store> {
    store::open(&StoreUrl::Memory, Arc::new(keyring())).unwrap()
}

fn open_gate(store: &Arc<Brittle>, clock: &Arc<Fake>, processes: &Arc<process::Fake>) -> Gate {
    block_on(Gate::open(Parts {
        store: store.clone(),
        keyring: Arc::new(keyring()),
        clock: clock.clone(),
        processes: processes.clone(),
        policy: Policy::default(),
        config: config(),
    }))
    .unwrap()
}

fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("countersign-gate-model-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}
