//! A revoked right is gone at once, also for callers that authenticated before.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use countersign_gate::approval::{Answer, Outcome};
use countersign_gate::gate::{
    Allows, AnswerError, Begun, Consent, Joined, Lost, PeopleError, SpendError,
};
use countersign_gate::id::{ActionId, DeviceId};
use countersign_gate::key::{Access, Devices, NewKey};
use countersign_gate::proposal::Why;
use countersign_gate::rate::Rate;
use countersign_gate::scope::Scope;
use countersign_gate::session::Plan;
use countersign_gate::transfer::{FileName, NewFile, TransferError};
use countersign_gate::user::{Device, DeviceRole, Membership};
use countersign_gate::{Caller, GateError, Person, Submitted};
use pollster::block_on;

use crate::world::{RISKY, SAFE, Setup, World, shell, world};

/// A person with an agent on an approved machine, all of them authenticated.
struct Inside {
    world: World,
    max: Person,
    agent: Caller,
    machine: DeviceId,
}

fn inside() -> Inside {
    let world = World::new(Setup { on_disk: true, files: true, ..Setup::default() });
    let max = world.person("Max", Membership::Member);
    let key = NewKey {
        name: "agent".into(),
        workspace: world.workspace.clone(),
        scopes: vec![Scope::parse("*", &["email.send".to_owned()].into()).unwrap()],
        access: Access::Agent,
        devices: Devices::Approved,
        writes: Rate::per_minute(1_000),
        expires_at: None,
    };
    let made = block_on(world.gate.create_key(&max, key)).unwrap();
    let secret = block_on(world.gate.request_device_with(&made.secret, "server")).unwrap();
    let machine = Device::id_of(&secret);
    block_on(world.gate.approve_device(&max, &machine, DeviceRole::Machine)).unwrap();
    let agent = block_on(world.gate.authenticate(&made.secret, Some(&secret))).unwrap();
    Inside { world, max, agent, machine }
}

/// The error for a lost right, and the way in which it is revoked.
type Loss = (Lost, fn(&Inside));

const LOSSES: [Loss; 4] = [
    (Lost::Key, |inside| {
        let key = inside.agent.key_id().unwrap();
        block_on(inside.world.gate.revoke_key(&inside.max, key)).unwrap();
    }),
    (Lost::Device, |inside| {
        block_on(inside.world.gate.revoke_device(&inside.max, &inside.machine)).unwrap();
    }),
    (Lost::User, |inside| {
        let world = &inside.world;
        block_on(world.gate.disable_user(&world.owner, &inside.max.user().id)).unwrap();
    }),
    (Lost::Workspace, |inside| {
        let world = &inside.world;
        let user = &inside.max.user().id;
        let removed = world.gate.change_membership(&world.owner, user, &world.workspace, None);
        block_on(removed).unwrap();
    }),
];

#[test]
fn who_has_lost_a_right_is_told_which() {
    for (lost, told) in [
        (Lost::Key, "the key no longer works"),
        (Lost::Device, "the device is no longer signed in"),
        (Lost::User, "the person was disabled"),
        (Lost::Workspace, "the person no longer belongs to the workspace"),
    ] {
        let error = GateError::Revoked(lost).to_string();
        assert!(error.contains(told), "{error}");
    }
}

fn lost(error: &GateError) -> Option<Lost> {
    match error {
        GateError::Revoked(lost) => Some(*lost),
        _ => None,
    }
}

#[test]
fn an_agent_that_is_in_gets_nothing_once_its_right_is_gone() {
    for (what, lose) in LOSSES {
        let inside = inside();
        let Inside { world, max, agent, .. } = &inside;
        let gate = &world.gate;
        let ask = |command: &str| match block_on(gate.submit(agent, &shell(command))).unwrap() {
            Submitted::Waiting(waiting) => waiting.approval,
            other => panic!("{other:?}"),
        };
        let assistant = max.assistant(&world.workspace).unwrap();
        let started = gate.start(&assistant, Plan::default(), Consent::Given, Vec::new());
        let session = block_on(started).unwrap().id;
        let new = || NewFile { name: FileName::of("a.txt"), bytes: None, sha256: None };
        let upload = block_on(gate.begin_upload(agent, &session, new())).unwrap().id;
        let (asked, approved) = (ask(RISKY), ask("git push --force origin two"));
        world.say_as(max, &approved, Answer::Approve).unwrap();
        let mut waits = pin!(gate.settled(agent, &asked));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waits.as_mut().poll(&mut context).is_pending());
        lose(&inside);
        let Poll::Ready(Err(SpendError::Gate(error))) = waits.as_mut().poll(&mut context) else {
            panic!("{what:?}: waits on")
        };
        assert_eq!(lost(&error), Some(what));
        for command in [SAFE, RISKY] {
            let error = block_on(gate.submit(agent, &shell(command))).unwrap_err();
            assert_eq!(lost(&error), Some(what));
        }
        let two = shell("git push --force origin two");
        let error = match block_on(gate.spend(agent, &approved, &two)) {
            Err(SpendError::Gate(error)) => error,
            other => panic!("{what:?}: {other:?}"),
        };
        assert_eq!(lost(&error), Some(what));
        assert_eq!(world.recorded("spend_refused").len(), 1);
        assert!(block_on(gate.withdraw(agent, &asked)).is_err());
        assert!(block_on(gate.approval_of_caller(agent, &asked)).is_err());
        let action = ActionId::of(&approved);
        let report = gate.report(agent, &action, None, Outcome::Done, None);
        assert!(block_on(report).is_err());
        let start = gate.start(agent, Plan::default(), Consent::Given, Vec::new());
        assert!(block_on(start).is_err());
        assert!(block_on(gate.complete(agent, &session)).is_err());
        for transfer in [
            block_on(gate.begin_upload(agent, &session, new())).map(drop),
            block_on(gate.write_chunk(agent, &upload, 0, b"x")).map(drop),
            block_on(gate.finish_upload(agent, &upload)).map(drop),
            block_on(gate.abort_upload(agent, &upload)),
        ] {
            let Err(TransferError::Gate(error)) = transfer else { panic!("{transfer:?}") };
            assert_eq!(lost(&error), Some(what));
        }
        world.verify();
    }
}

#[test]
fn a_person_s_own_assistant_goes_with_their_device() {
    let world = world();
    let assistant = world.assistant();
    let device = world.owner.device().unwrap();
    let asked = world.ask(&shell(RISKY));
    block_on(world.gate.revoke_device(&world.owner, device)).unwrap();
    let error = block_on(world.gate.submit(&assistant, &shell(SAFE))).unwrap_err();
    assert_eq!(lost(&error), Some(Lost::Device));
    let answered = world.say_as(&world.owner, &asked, Answer::Approve);
    assert!(matches!(answered, Err(AnswerError::Gate(GateError::Revoked(Lost::Device)))));
}

#[test]
fn a_key_of_somebody_who_was_put_out_does_not_open_and_works_again_once_they_are_back() {
    let world = world();
    let max = world.person("Max", Membership::Member);
    let agent = world.key(&max, Access::Agent, "*");
    let change = |membership| {
        let user = &max.user().id;
        block_on(world.gate.change_membership(&world.owner, user, &world.workspace, membership))
            .unwrap()
    };
    change(None);
    assert!(block_on(world.gate.submit(&agent, &shell(SAFE))).is_err());
    assert_eq!(change(Some(Membership::Member)), Joined::Now);
    assert!(block_on(world.gate.submit(&agent, &shell(SAFE))).is_ok());
}

#[test]
fn autonomous_mode_ends_with_the_next_action() {
    let world = world();
    let set = |autonomous| {
        let changed =
            world.gate.change_settings(&world.owner, |settings| settings.autonomous = autonomous);
        block_on(changed).unwrap();
    };
    set(true);
    assert!(matches!(world.submit(&shell(RISKY)), Submitted::Permitted(..)));
    set(false);
    world.ask(&shell(RISKY));
}

#[test]
fn what_let_something_run_is_not_said_again_when_it_may_not_run() {
    let world = world();
    let session = world.session(Plan::default());
    let request = countersign_gate::bytes::Hash([1; 32]);
    let begin = |key: &str| block_on(world.gate.idempotent_begin("ann", key, request)).unwrap();
    let finish = |key: &str, allows| {
        let Begun::First(claim) = begin(key) else { panic!("{key}") };
        block_on(world.gate.idempotent_finish(claim, 200, Some("yes"), allows)).unwrap();
    };
    finish("nothing", Allows::Nothing);
    finish("outside", Allows::Something { sessions: Vec::new() });
    finish("inside", Allows::Something { sessions: vec![session.clone()] });
    for key in ["nothing", "outside", "inside"] {
        assert!(matches!(begin(key), Begun::Replay { .. }), "{key}");
    }
    block_on(world.gate.stop(&world.owner, &session)).unwrap();
    assert!(matches!(begin("outside"), Begun::Replay { .. }));
    assert!(matches!(begin("inside"), Begun::NoLonger(Why::Ended(_))));
    block_on(world.gate.halt(&world.owner)).unwrap();
    assert!(matches!(begin("nothing"), Begun::Replay { .. }));
    for key in ["outside", "inside"] {
        assert!(matches!(begin(key), Begun::NoLonger(Why::Halted)), "{key}");
    }
    block_on(world.gate.resume(&world.owner)).unwrap();
    assert!(matches!(begin("outside"), Begun::Replay { .. }));
}

#[test]
fn a_workspace_admin_brings_nobody_in_without_their_yes() {
    let world = world();
    let elsewhere = block_on(world.gate.add_workspace(&world.owner, "Elsewhere")).unwrap();
    let admin = world.person("Ada", Membership::Admin);
    let dan = world.person_in("Dan", &elsewhere, Membership::Member);
    let (gate, user) = (&world.gate, &dan.user().id);
    let now = || block_on(gate.still_signed_in(&dan)).unwrap();
    let change = |by: &Person, membership| {
        block_on(gate.change_membership(by, user, &world.workspace, membership)).unwrap()
    };
    let join = || block_on(gate.join_workspace(&dan, &world.workspace));
    assert!(matches!(join(), Err(PeopleError::NotFound)));
    assert_eq!(change(&admin, Some(Membership::Admin)), Joined::Invited);
    assert!(!now().user().workspaces.contains_key(&world.workspace));
    block_on(gate.decline_workspace(&dan, &world.workspace)).unwrap();
    assert!(matches!(join(), Err(PeopleError::NotFound)));
    // An invitation can be withdrawn.
    change(&admin, Some(Membership::Member));
    assert_eq!(change(&admin, None), Joined::Now);
    assert!(matches!(join(), Err(PeopleError::NotFound)));
    change(&admin, Some(Membership::Member));
    join().unwrap();
    assert_eq!(now().user().workspaces.get(&world.workspace), Some(&Membership::Member));
    // An admin may promote, demote and remove people who already belong there.
    assert_eq!(change(&admin, Some(Membership::Admin)), Joined::Now);
    assert_eq!(change(&admin, None), Joined::Now);
    assert_eq!(change(&world.owner, Some(Membership::Member)), Joined::Now);
    assert!(now().user().invited.is_empty());
}
