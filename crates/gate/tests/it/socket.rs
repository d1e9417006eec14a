//! Identification of a process at the local socket: the owner, or an agent of theirs.

use std::sync::Arc;

use countersign_core::Policy;
use countersign_gate::approval::Answer;
use countersign_gate::caller::Peer;
use countersign_gate::clock::Fake;
use countersign_gate::gate::{AnswerError, AtSocket, Consent, PersonAnswer, SpendError};
use countersign_gate::id::DeviceId;
use countersign_gate::process::{self, InheritedTraits, Pid, Process, agents};
use countersign_gate::proposal::Why;
use countersign_gate::session::Plan;
use countersign_gate::store::{self, Batch, Doc, Kind, Query, StoreUrl, Write};
use countersign_gate::user::{Device, DeviceRole, DeviceState, Membership};
use countersign_gate::{Caller, Config, Gate, Parts, Person, Submitted};
use pollster::block_on;

use crate::world::{BEGIN, RISKY, SAFE, Setup, World, keyring, shell, world};

/// The user as whom everything runs here.
const UID: u32 = 1_000;
const AGENT: Process = Process { pid: 10, started: 100 };
const OTHER: Process = Process { pid: 30, started: 300 };

/// The first process starts the terminal 5 and the agents 10 and 30; the agent 10 starts 20.
fn machine(world: &World) {
    for (pid, parent, started) in [(1, 0, 1), (5, 1, 50), (10, 1, 100), (20, 10, 200), (30, 1, 300)]
    {
        world.processes.start(Process { pid, started }, parent, UID);
    }
    // In another control group; otherwise the older agent could have left it behind.
    let elsewhere = InheritedTraits { cgroup: "/other".to_owned(), session: 30, login: u32::MAX };
    world.processes.mark(OTHER.pid, elsewhere);
}

fn peer(world: &World, pid: Pid) -> Peer {
    Peer::of(pid, UID, &*world.processes)
}

fn at_socket(world: &World, pid: Pid) -> AtSocket {
    block_on(world.gate.at_socket(peer(world, pid))).unwrap().unwrap()
}

fn owner_at(world: &World, pid: Pid) -> Person {
    match at_socket(world, pid) {
        AtSocket::Owner(person) => person,
        AtSocket::Agent(caller) => panic!("an agent: {caller:?}"),
    }
}

fn agent_at(world: &World, pid: Pid) -> Caller {
    match at_socket(world, pid) {
        AtSocket::Agent(caller) => caller,
        AtSocket::Owner(person) => panic!("the owner: {person:?}"),
    }
}

fn of(agent: Process) -> Plan {
    Plan { process: Some(agent), ..Plan::default() }
}

#[test]
fn nobody_is_at_the_socket_before_there_is_an_owner() {
    let keyring = Arc::new(keyring());
    let processes = Arc::new(process::Fake::default());
    let gate = block_on(Gate::open(Parts {
        store: store::open(&StoreUrl::Memory, keyring.clone()).unwrap(),
        keyring,
        clock: Arc::new(Fake::at(BEGIN)),
        processes: processes.clone(),
        policy: Policy::default(),
        config: Config::default(),
    }))
    .unwrap();
    assert!(block_on(gate.at_socket(Peer::of(5, UID, &*processes))).unwrap().is_none());
}

#[test]
fn a_terminal_is_the_owner_and_what_an_agent_started_is_the_agent() {
    let world = world();
    machine(&world);
    assert_eq!(owner_at(&world, 20).user().id, *world.user(), "no agent is known yet");
    world.session(of(AGENT));
    assert_eq!(owner_at(&world, 5).user().id, *world.user());
    for pid in [10, 20] {
        let agent = agent_at(&world, pid);
        assert_eq!(agent.local_agents(), Some(&[AGENT][..]), "{pid}");
        assert_eq!((agent.user(), agent.workspace()), (world.user(), &world.workspace));
    }
    // A process about which nothing is known belongs to no agent by name, and still counts as one.
    assert_eq!(agent_at(&world, 99).local_agents(), Some(&[][..]));
    assert!(world.assistant().local_agents().is_none() && world.agent.local_agents().is_none());
}

#[test]
fn agents_are_known_by_their_registration_and_by_their_session_after_a_restart() {
    let setup = Setup { on_disk: true, ..Setup::default() };
    let world = World::new(setup.clone());
    machine(&world);
    let session = world.session(of(AGENT));
    agents::register(world.folder(), OTHER, &*world.processes).unwrap();
    let world = world.restart(setup.clone());
    assert_eq!(agent_at(&world, 20).local_agents(), Some(&[AGENT][..]));
    // An agent does not become the owner by completing its session.
    block_on(world.gate.complete(&world.assistant(), &session)).unwrap();
    let world = world.restart(setup);
    assert_eq!(agent_at(&world, 20).local_agents(), Some(&[AGENT][..]));
    assert_eq!(agent_at(&world, 30).local_agents(), Some(&[OTHER][..]));
    assert_eq!(owner_at(&world, 5).user().id, *world.user());
}

#[test]
fn an_agent_at_the_socket_works_in_its_own_sessions_alone() {
    let world = world();
    machine(&world);
    let (own, others) = (world.session(of(AGENT)), world.session(of(OTHER)));
    let plain = world.session(Plan::default());
    let agent = agent_at(&world, 20);
    let submit = |proposal| block_on(world.gate.submit(&agent, &proposal)).unwrap();
    assert!(matches!(submit(shell(SAFE).within(&own)), Submitted::Permitted(..)));
    for session in [others, plain.clone()] {
        let refused = submit(shell(SAFE).within(&session));
        let Submitted::Refused(refusal) = refused else { panic!("{refused:?}") };
        assert_eq!(refusal.why, Why::NoSession);
        let asked = world.ask(&shell(RISKY).within(&session));
        let withdrawn = block_on(world.gate.withdraw(&agent, &asked));
        assert!(matches!(withdrawn, Err(SpendError::NotFound)), "{withdrawn:?}");
    }
    let person = world.assistant();
    let submitted = block_on(world.gate.submit(&person, &shell(SAFE).within(&plain))).unwrap();
    assert!(matches!(submitted, Submitted::Permitted(..)));
}

#[test]
fn an_agents_process_answers_nothing_whatever_device_it_shows() {
    let world = world();
    machine(&world);
    world.session(of(AGENT));
    assert!(world.gate.is_an_agents(Some(peer(&world, 20))));
    assert!(!world.gate.is_an_agents(Some(peer(&world, 5))) && !world.gate.is_an_agents(None));
    // The question belongs to no session, so only the process itself identifies the agent.
    let asked = world.ask(&shell(RISKY));
    for say in [Answer::Approve, Answer::Reject] {
        let person = world.owner.clone().at(peer(&world, 20));
        let error = world.say_as(&person, &asked, say).unwrap_err();
        assert!(matches!(error, AnswerError::FromTheAgent), "{error}");
    }
    let person = world.owner.clone().at(peer(&world, 5));
    assert!(world.say_as(&person, &asked, Answer::Approve).is_ok());
}

#[test]
fn the_socket_alone_says_yes_only_while_its_owner_has_no_device() {
    let world = world();
    machine(&world);
    // Neither another user's phone nor a machine is a device on which the owner can answer.
    let other = world.person("Bob", Membership::Member);
    let (asked, later) = (world.ask(&shell(RISKY)), world.ask(&shell("git push -f origin other")));
    let person = owner_at(&world, 5);
    assert!(person.is_unproven() && person.device().is_none());
    assert!(!world.owner.is_unproven());
    let error = world.say_as(&person, &asked, Answer::Approve).unwrap_err();
    assert!(matches!(error, AnswerError::NeedsDevice), "{error}");
    assert!(world.say_as(&person, &asked, Answer::Reject).is_ok(), "a no is always welcome");

    let secret = block_on(world.gate.request_device(world.user(), "server")).unwrap();
    let machine = Device::id_of(&secret);
    block_on(world.gate.approve_device(&world.owner, &machine, DeviceRole::Machine)).unwrap();
    block_on(world.gate.sign_out(&world.owner)).unwrap();
    let person = owner_at(&world, 5);
    assert!(!person.is_unproven());
    assert!(world.say_as(&person, &later, Answer::Approve).is_ok());
    assert!(block_on(world.gate.has_console(&other.user().id)).unwrap());
    // A person who is bound to a channel is not a process, and needs no device.
    let member = block_on(world.gate.by_channel(&other.user().id)).unwrap();
    assert!(!member.is_unproven());
}

#[test]
fn a_person_at_a_channel_says_yes_though_they_have_a_device() {
    let world = world();
    let person = block_on(world.gate.by_channel(world.user())).unwrap();
    let asked = world.ask(&shell(RISKY));
    assert!(
        block_on(world.gate.answer(&person, PersonAnswer::plain(asked, Answer::Approve))).is_ok()
    );
}

#[test]
fn an_unproven_owners_assistant_chooses_no_more_than_an_agent() {
    let world = world();
    machine(&world);
    let unproven = owner_at(&world, 5).assistant(&world.workspace).unwrap();
    let plan = Plan { auto_confirm: true, ..Plan::default() };
    let start = |caller| block_on(world.gate.start(caller, plan.clone(), Consent::Given, vec![]));
    assert!(start(&unproven).is_err());
    assert!(start(&world.assistant()).is_ok());
}

#[test]
fn a_device_is_found_behind_a_thousand_others() {
    let world = world();
    machine(&world);
    let found = block_on(world.store().find(&Query::of(Kind::Device))).unwrap();
    let console: Device = serde_json::from_str(&found.first().unwrap().doc.body).unwrap();
    let approved = DeviceState::Approved { by: None, role: DeviceRole::Machine };
    let writes = (0..1_000_u16).map(|number| {
        let [high, low] = number.to_be_bytes();
        // Ids that sort before any drawn one.
        let mut id = [0; 16];
        (id[2], id[3]) = (high, low);
        let device =
            Device { id: DeviceId::from_bytes(id), state: approved.clone(), ..console.clone() };
        Write::Insert(Doc {
            kind: Kind::Device,
            id: device.id.to_string(),
            owner: Some(device.user.to_string()),
            workspace: None,
            session: None,
            fingerprint: None,
            state: "approved".to_owned(),
            due: None,
            body: serde_json::to_string(&device).unwrap(),
        })
    });
    let batch = Batch { writes: writes.collect(), ..Batch::default() };
    block_on(world.store().commit(batch)).unwrap();
    assert!(owner_at(&world, 5).is_unproven());
}
