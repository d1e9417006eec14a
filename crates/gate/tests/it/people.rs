//! People and bots that are added and removed, and an audit trail that the organisation keeps.

use countersign_gate::approval::Answer;
use countersign_gate::config::Erasure;
use countersign_gate::gate::{
    AnswerError, OwnerFilter, PeopleError, ReadError, Removed, SuperAdmin,
};
use countersign_gate::id::UserId;
use countersign_gate::key::{Access, Devices, NewKey, WRITES};
use countersign_gate::preferences::Logging;
use countersign_gate::scope::Scope;
use countersign_gate::secret::Secret;
use countersign_gate::session::Plan;
use countersign_gate::store::{Kind, Query, RecordQuery};
use countersign_gate::user::{Device, DeviceRole, Membership, Role};
use countersign_gate::{Caller, Config, Person, Submitted};
use pollster::block_on;
use serde_json::Value;

use crate::world::{RISKY, SAFE, Setup, World, shell, world};

const DAY: u64 = 86_400;

fn kept() -> World {
    let config = Config { erasure: Erasure::Administrators, ..Config::default() };
    World::new(Setup { config, ..Setup::default() })
}

fn id(person: &Person) -> &UserId {
    &person.user().id
}

fn of(person: &Person) -> RecordQuery {
    RecordQuery { owner: Some(id(person).to_string()), ..RecordQuery::default() }
}

fn last(world: &World, event: &str) -> Value {
    world.recorded(event).pop().unwrap()
}

fn submit(world: &World, caller: &Caller, command: &str) -> Submitted {
    block_on(world.gate.submit(caller, &shell(command))).unwrap()
}

fn new_key(world: &World) -> NewKey {
    NewKey {
        name: "key".to_owned(),
        workspace: world.workspace.clone(),
        scopes: vec![Scope::parse("*", &[].into()).unwrap()],
        access: Access::Agent,
        devices: Devices::Any,
        writes: WRITES,
        expires_at: None,
    }
}

#[test]
fn where_the_organisation_keeps_the_record_nobody_erases_or_shortens_their_own() {
    let world = kept();
    let bob = world.person("Bob", Membership::Member);
    let agent = world.key(&bob, Access::Agent, "*");
    drop(submit(&world, &agent, SAFE));
    for person in [&bob, &world.owner] {
        let erased = block_on(world.gate.erase(person, id(person)));
        assert!(matches!(erased, Err(ReadError::Kept)), "{erased:?}");
        let shorter =
            world.gate.change_settings(person, |settings| settings.retention_days = Some(1));
        assert!(matches!(block_on(shorter), Err(PeopleError::Kept)));
    }
    // They may still change everything else.
    let more = |settings: &mut countersign_gate::preferences::Preferences| {
        settings.logging = Logging::Enhanced;
    };
    block_on(world.gate.change_settings(&bob, more)).unwrap();
    assert!(block_on(world.gate.erase(&world.owner, id(&bob))).unwrap() > 0);
    assert_eq!(last(&world, "erased")["by"], id(&world.owner).as_str());
    world.verify();
}

#[test]
fn a_shorter_time_from_before_no_longer_counts_where_the_organisation_keeps_the_record() {
    let setup = Setup { on_disk: true, ..Setup::default() };
    let world = World::new(setup.clone());
    let bob = world.person("Bob", Membership::Member);
    let shorter = world.gate.change_settings(&bob, |settings| settings.retention_days = Some(1));
    block_on(shorter).unwrap();
    let config = Config { erasure: Erasure::Administrators, ..Config::default() };
    let world = world.restart(Setup { config, ..setup.clone() });
    world.pass(3 * DAY);
    block_on(world.gate.retain()).unwrap();
    let kept = block_on(world.gate.records(&bob, &of(&bob))).unwrap();
    assert!(!kept.is_empty());
    // Without that setting it applies again.
    let world = world.restart(setup);
    block_on(world.gate.retain()).unwrap();
    assert!(block_on(world.gate.records(&bob, &of(&bob))).unwrap().is_empty());
}

#[test]
fn a_revocation_names_who_did_it() {
    let world = world();
    let bob = world.person("Bob", Membership::Member);
    let made = block_on(world.gate.create_key(&bob, new_key(&world))).unwrap();
    assert_eq!(last(&world, "key_changed")["by"], id(&bob).as_str());
    block_on(world.gate.revoke_key(&world.owner, &made.key.id)).unwrap();
    assert_eq!(last(&world, "key_changed")["by"], id(&world.owner).as_str());
    block_on(world.gate.revoke_device(&world.owner, bob.device().unwrap())).unwrap();
    assert_eq!(last(&world, "device_changed")["by"], id(&world.owner).as_str());
}

#[test]
fn a_lost_laptop_is_put_out_by_those_who_look_after_its_owner() {
    let world = world();
    let [bob, eve] = ["Bob", "Eve"].map(|name| world.person(name, Membership::Member));
    let admin = world.person("Ada", Membership::Admin);
    let laptop = bob.device().unwrap();
    assert!(block_on(world.gate.devices_of(&eve, id(&bob))).is_err());
    assert!(block_on(world.gate.revoke_device(&eve, laptop)).is_err());
    let listed = block_on(world.gate.devices_of(&admin, id(&bob))).unwrap();
    assert_eq!(listed.iter().map(|device| &device.id).collect::<Vec<_>>(), [laptop]);
    // While they are signed in they make links themselves.
    let again = block_on(world.gate.invite_user(&admin, id(&bob)));
    assert!(matches!(again, Err(PeopleError::SignedIn)), "{again:?}");
    let mut events = world.gate.subscribe();
    block_on(world.gate.revoke_device(&admin, laptop)).unwrap();
    assert_eq!(events.try_recv().unwrap().user.as_ref(), Some(id(&bob)), "theirs are told");
    assert!(block_on(world.gate.still_signed_in(&bob)).is_err());
    let first = block_on(world.gate.invite_user(&admin, id(&bob))).unwrap();
    let second = block_on(world.gate.invite_user(&admin, id(&bob))).unwrap();
    assert!(block_on(world.gate.accept(&first, "stolen link")).is_err(), "only the last one works");
    let device = block_on(world.gate.accept(&second, "new laptop")).unwrap();
    assert_eq!(last(&world, "device_changed")["invited_by"], id(&admin).as_str());
    assert_eq!(id(&block_on(world.gate.sign_in(&device)).unwrap()), id(&bob));
}

#[test]
fn an_admin_of_one_workspace_does_not_look_after_those_who_also_belong_elsewhere() {
    let world = world();
    let admin = world.person("Ada", Membership::Admin);
    let bob = world.person("Bob", Membership::Member);
    assert!(block_on(world.gate.devices_of(&admin, id(&bob))).is_ok());
    // Nor after a super admin, who belongs to their workspace alone.
    assert_eq!(world.owner.user().workspaces.len(), 1);
    assert!(block_on(world.gate.devices_of(&admin, id(&world.owner))).is_err());
    let elsewhere = block_on(world.gate.add_workspace(&world.owner, "Elsewhere")).unwrap();
    let join =
        world.gate.change_membership(&world.owner, id(&bob), &elsewhere, Some(Membership::Member));
    block_on(join).unwrap();
    assert!(block_on(world.gate.devices_of(&admin, id(&bob))).is_err());
    assert!(block_on(world.gate.keys_of(&admin, id(&bob))).is_err());
    assert!(block_on(world.gate.revoke_device(&admin, bob.device().unwrap())).is_err());
    assert!(block_on(world.gate.devices_of(&world.owner, id(&bob))).is_ok());
    // Nor after those who belong nowhere.
    for workspace in [&world.workspace, &elsewhere] {
        let leave = world.gate.change_membership(&world.owner, id(&bob), workspace, None);
        block_on(leave).unwrap();
    }
    assert!(block_on(world.gate.devices_of(&admin, id(&bob))).is_err());
    assert!(block_on(world.gate.devices_of(&world.owner, id(&bob))).is_ok());
}

#[test]
fn a_second_super_admin_is_made_and_one_is_always_left() {
    let world = world();
    let bob = world.person("Bob", Membership::Member);
    let set = |by: &Person, of: &Person, is| block_on(world.gate.set_super_admin(by, id(of), is));
    assert!(set(&bob, &bob, SuperAdmin::Yes).is_err());
    set(&world.owner, &bob, SuperAdmin::Yes).unwrap();
    let bob = block_on(world.gate.still_signed_in(&bob)).unwrap();
    assert_eq!(bob.role_in(&world.workspace), Role::SuperAdmin);
    assert!(set(&bob, &bob, SuperAdmin::No).is_err(), "nobody takes it from themselves");
    set(&bob, &world.owner, SuperAdmin::No).unwrap();
    // Their earlier rights do not count.
    assert!(set(&world.owner, &bob, SuperAdmin::No).is_err());
    assert!(block_on(world.gate.disable_user(&world.owner, id(&bob))).is_err());
    assert!(block_on(world.gate.remove_user(&world.owner, id(&bob))).is_err());
    assert!(block_on(world.gate.erase_user(&world.owner, id(&bob))).is_err());
}

#[test]
fn somebody_who_was_disabled_comes_back_and_somebody_who_was_removed_does_not() {
    let world = world();
    let bob = world.person("Bob", Membership::Member);
    let agent = world.key(&bob, Access::Agent, "*");
    let question = match submit(&world, &agent, RISKY) {
        Submitted::Waiting(waiting) => waiting.approval,
        other => panic!("{other:?}"),
    };
    let enable = |by: &Person| block_on(world.gate.enable_user(by, id(&bob)));
    assert!(enable(&world.owner).is_err(), "nobody disabled them");
    block_on(world.gate.disable_user(&world.owner, id(&bob))).unwrap();
    assert!(block_on(world.gate.submit(&agent, &shell(SAFE))).is_err());
    assert!(enable(&bob).is_err());
    enable(&world.owner).unwrap();
    assert!(matches!(submit(&world, &agent, SAFE), Submitted::Permitted(..)));
    block_on(world.gate.remove_user(&world.owner, id(&bob))).unwrap();
    assert!(enable(&world.owner).is_err());
    assert!(block_on(world.gate.submit(&agent, &shell(SAFE))).is_err());
    assert_eq!(world.state(&question), "cancelled");
    let listed = |removed| {
        let page = countersign_gate::gate::Page::default();
        let users =
            block_on(world.gate.users(&world.owner, &OwnerFilter::All, removed, &page)).unwrap();
        users.items.into_iter().map(|user| user.name).collect::<Vec<_>>()
    };
    assert_eq!(
        (listed(Removed::Hidden), listed(Removed::Shown).len()),
        (vec!["Ann".to_owned()], 2)
    );
    // The records about them stay, with the person who removed them.
    assert_eq!(last(&world, "user_changed")["by"], id(&world.owner).as_str());
    assert!(!block_on(world.gate.records(&world.owner, &of(&bob))).unwrap().is_empty());
}

/// One of everything that can be stored about a person.
fn live(world: &World, bob: &Person) {
    let agent = world.key(bob, Access::Agent, "*");
    let assistant = bob.assistant(&world.workspace).unwrap();
    let start = world.gate.start(
        &assistant,
        Plan { task: Some("marker-task".to_owned()), ..Plan::default() },
        countersign_gate::gate::Consent::Given,
        Vec::new(),
    );
    let session = block_on(start).unwrap().id;
    drop(block_on(world.gate.submit(&agent, &shell("git push -f marker").within(&session))));
    let asked = match submit(world, &agent, "git push --force origin marker-two") {
        Submitted::Waiting(waiting) => waiting.approval,
        other => panic!("{other:?}"),
    };
    let reply = countersign_gate::gate::PersonAnswer {
        scope: countersign_gate::approval::Scope::Always,
        ..countersign_gate::gate::PersonAnswer::plain(asked, Answer::Approve)
    };
    block_on(world.gate.answer(bob, reply)).unwrap();
    drop(submit(world, &agent, "git push --force origin marker-three"));
    let enhance = world.gate.change_settings(bob, |settings| settings.logging = Logging::Enhanced);
    block_on(enhance).unwrap();
    drop(submit(world, &agent, "ls marker-folder"));
    drop(block_on(world.gate.invite(bob)).unwrap());
    drop(block_on(world.gate.request_device(id(bob), "marker-machine")).unwrap());
}

#[test]
fn a_user_is_erased_completely_and_the_chain_stays_whole() {
    let world = World::new(Setup { on_disk: true, files: true, ..Setup::default() });
    let bob = world.person("Marker-Bob", Membership::Member);
    let (own, bobs) = (world.user().to_string(), id(&bob).to_string());
    live(&world, &bob);
    let before = block_on(world.gate.records(&world.owner, &of(&bob))).unwrap().len() as u64;
    assert!(block_on(world.gate.erase_user(&bob, id(&bob))).is_err());
    assert!(block_on(world.gate.erase_user(&world.owner, world.user())).is_err());
    let erased = block_on(world.gate.erase_user(&world.owner, id(&bob))).unwrap();
    assert!(erased > before, "{erased} of {before}, with those that their removal made");
    for kind in Kind::ALL {
        let query = Query { owner: Some(bobs.clone()), ..Query::of(*kind) };
        let left = block_on(world.store().find(&query)).unwrap();
        assert!(left.is_empty(), "{kind:?}: {left:?}");
    }
    assert!(block_on(world.gate.records(&world.owner, &of(&bob))).unwrap().is_empty());
    assert!(block_on(world.gate.still_signed_in(&bob)).is_err());
    assert_eq!(last(&world, "erased")["by"], own.as_str());
    world.verify();
    // Not in the remaining files either.
    let folder = world.folder().to_owned();
    let copy = world.restart(Setup { on_disk: true, files: true, ..Setup::default() });
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        if !path.is_file() {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for word in ["marker", "Marker-Bob"] {
            let found = bytes.windows(word.len()).any(|part| part == word.as_bytes());
            assert!(!found, "`{word}` in {}", path.display());
        }
    }
    copy.verify();
}

#[test]
fn a_bot_has_keys_and_machines_never_signs_in_and_its_questions_go_to_administrators() {
    let world = world();
    let admin = world.person("Ada", Membership::Admin);
    let member = world.person("Bob", Membership::Member);
    let add = |by: &Person| block_on(world.gate.add_bot(by, "ci", &world.workspace));
    assert!(add(&member).is_err());
    let bot = add(&admin).unwrap();
    // Nobody can sign in as it, in any way.
    assert!(matches!(block_on(world.gate.invite_user(&admin, &bot)), Err(PeopleError::Bot)));
    assert!(block_on(world.gate.by_channel(&bot)).is_err());
    let promoted = block_on(world.gate.set_super_admin(&world.owner, &bot, SuperAdmin::Yes));
    assert!(matches!(promoted, Err(PeopleError::Bot)));
    // Keys are made by its administrators, and only for bots.
    assert!(block_on(world.gate.create_key_for(&member, &bot, new_key(&world))).is_err());
    assert!(block_on(world.gate.create_key_for(&admin, id(&member), new_key(&world))).is_err());
    let new = NewKey { devices: Devices::Approved, ..new_key(&world) };
    let made = block_on(world.gate.create_key_for(&admin, &bot, new)).unwrap();
    let machine = block_on(world.gate.request_device_with(&made.secret, "runner")).unwrap();
    let device = Device::id_of(&machine);
    let approve = |by: &Person, role| block_on(world.gate.approve_device(by, &device, role));
    assert!(approve(&member, DeviceRole::Machine).is_err());
    assert!(matches!(approve(&admin, DeviceRole::Console), Err(PeopleError::Bot)));
    approve(&admin, DeviceRole::Machine).unwrap();
    let authenticate = |secret: &Secret| block_on(world.gate.authenticate(secret, Some(&machine)));
    let caller = authenticate(&made.secret).unwrap();
    let question = match submit(&world, &caller, RISKY) {
        Submitted::Waiting(waiting) => waiting.approval,
        other => panic!("{other:?}"),
    };
    let answered = world.say_as(&member, &question, Answer::Approve);
    assert!(matches!(answered, Err(AnswerError::NotFound)), "{answered:?}");
    world.say_as(&admin, &question, Answer::Approve).unwrap();
    assert!(block_on(world.gate.spend(&caller, &question, &shell(RISKY))).is_ok());
    let rotated =
        block_on(world.gate.rotate_key(&admin, &made.key.id, std::time::Duration::ZERO)).unwrap();
    assert!(authenticate(&made.secret).is_err());
    assert!(authenticate(&rotated.secret).is_ok());
}

#[test]
fn nobody_lets_a_device_in_as_another_person() {
    let world = world();
    let bob = world.person("Bob", Membership::Member);
    let secret = block_on(world.gate.request_device(id(&bob), "machine")).unwrap();
    let device = Device::id_of(&secret);
    let approved = block_on(world.gate.approve_device(&world.owner, &device, DeviceRole::Machine));
    assert!(matches!(approved, Err(PeopleError::NotAllowed)), "{approved:?}");
    // But they may revoke it.
    block_on(world.gate.revoke_device(&world.owner, &device)).unwrap();
}
