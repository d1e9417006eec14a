//! Authorisation of proposals and answers, by credential and origin.
//!
//! That a key can never answer is in the types: `Gate::answer` takes a `Person`, which only a
//! signed-in device or a bound channel makes, and `Gate::authenticate` makes a `Caller`, which
//! cannot be converted into one. The tests below show the rest: that a secret of one kind is never
//! accepted as another.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_core::Action;
use countersign_gate::approval::{Answer, QuorumRow};
use countersign_gate::caller::Peer;
use countersign_gate::config::Rates;
use countersign_gate::event::What;
use countersign_gate::gate::{AnswerError, AuthError, NewSecret, PeopleError, SpendError};
use countersign_gate::id::WorkspaceId;
use countersign_gate::key::{Access, Devices, NewKey, WRITES};
use countersign_gate::process::Process;
use countersign_gate::proposal::{Refusal, Why};
use countersign_gate::rate::Rate;
use countersign_gate::scope::{Scope, ScopeError};
use countersign_gate::secret::{Secret, SecretKind};
use countersign_gate::session::Plan;
use countersign_gate::user::{Device, DeviceRole, Membership};
use countersign_gate::{Caller, Config, Person, Proposal, Submitted};
use pollster::block_on;

use crate::world::{RISKY, SAFE, Setup, World, shell, world};

fn new_key(world: &World, scopes: &[&str]) -> NewKey {
    let skills = world.gate.policy().skill_ids();
    NewKey {
        name: "test".into(),
        workspace: world.workspace.clone(),
        scopes: scopes.iter().map(|scope| Scope::parse(scope, &skills).unwrap()).collect(),
        access: Access::Agent,
        devices: Devices::Any,
        writes: Rate::per_minute(1_000),
        expires_at: None,
    }
}

fn make(world: &World, key: NewKey) -> NewSecret {
    block_on(world.gate.create_key(&world.owner, key)).unwrap()
}

fn authenticate(world: &World, secret: &Secret) -> Result<Caller, AuthError> {
    block_on(world.gate.authenticate(secret, None))
}

fn submit(world: &World, caller: &Caller, action: Action) -> Submitted {
    block_on(world.gate.submit(caller, &Proposal::of(action))).unwrap()
}

fn refused(submitted: Submitted) -> Box<Refusal> {
    match submitted {
        Submitted::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

fn skill(id: &str) -> Action {
    Action::Skill { skill: id.into(), params: BTreeMap::new() }
}

fn is_permitted(submitted: &Submitted) -> bool {
    matches!(submitted, Submitted::Permitted(..))
}

fn is_asked(submitted: &Submitted) -> bool {
    matches!(submitted, Submitted::Waiting(_))
}

#[test]
fn the_secret_of_a_key_signs_nobody_in() {
    let world = world();
    let NewSecret { secret, .. } = make(&world, new_key(&world, &["*"]));
    assert!(matches!(block_on(world.gate.sign_in(&secret)), Err(PeopleError::NotSignedIn)));
    assert!(matches!(block_on(world.gate.accept(&secret, "x")), Err(PeopleError::Link)));
    // Not even with the same bytes under another prefix.
    let disguised = secret.expose().replacen("csk_", "csd_", 1);
    assert!(Secret::parse(&disguised).is_err());
    let link = block_on(world.gate.invite(&world.owner)).unwrap();
    let device = block_on(world.gate.accept(&link, "tablet")).unwrap();
    assert!(matches!(authenticate(&world, &device), Err(AuthError::Key)));
    assert!(matches!(authenticate(&world, &link), Err(AuthError::Key)));
    // Nor does the token of a question give access to anything but that question.
    let approval = world.ask(&shell(RISKY));
    let token = block_on(world.gate.card(&world.owner, &approval)).unwrap().token.unwrap();
    assert_eq!(token.kind(), SecretKind::Token);
    assert!(block_on(world.gate.sign_in(&token)).is_err());
    assert!(authenticate(&world, &token).is_err());
}

#[test]
fn a_key_does_what_its_scopes_say_and_nothing_else() {
    let world = world();
    let NewSecret { key, secret } = make(&world, new_key(&world, &["email.send", "shell.*"]));
    let caller = authenticate(&world, &secret).unwrap();
    assert!(is_asked(&submit(&world, &caller, skill("email.send"))));
    assert!(is_permitted(&submit(&world, &caller, shell(SAFE).action)));
    for (action, needed) in [
        (skill("email.delete"), "email.delete"),
        (Action::FileRead { path: "/work/a".into() }, "file.read"),
        (Action::Screenshot {}, "screen.capture"),
        (Action::Login { site: "https://bank.example".into() }, "login.bank.example"),
    ] {
        let refusal = refused(submit(&world, &caller, action));
        assert_eq!(refusal.why, Why::Scope(needed.into()));
        assert_eq!(world.recorded("action_planned").last().unwrap()["status"], "refused_scope");
    }
    let keys = block_on(world.gate.keys(&world.owner)).unwrap();
    let (_, usage) = keys.iter().find(|(known, _)| known.id == key.id).unwrap();
    assert_eq!((usage.uses, usage.refused), (2, 4));
    let skills = world.gate.policy().skill_ids();
    let unknown = Scope::parse("emial.send", &skills).unwrap_err();
    assert!(
        matches!(unknown, ScopeError::Unknown { near: Some(near), .. } if near == "email.send")
    );
}

#[test]
fn a_key_runs_out() {
    let world = world();
    let expires_at = Some(world.gate.now().after(Duration::from_mins(1)));
    let NewSecret { secret, .. } = make(&world, NewKey { expires_at, ..new_key(&world, &["*"]) });
    assert!(authenticate(&world, &secret).is_ok());
    world.pass(60);
    assert!(matches!(authenticate(&world, &secret), Err(AuthError::Key)));
}

#[test]
fn a_rotated_key_works_on_for_a_while_and_its_heir_uses_its_answers() {
    let world = world();
    let old = make(&world, new_key(&world, &["*"]));
    let asker = authenticate(&world, &old.secret).unwrap();
    let Submitted::Waiting(waiting) = submit(&world, &asker, shell(RISKY).action) else { panic!() };
    let rotate = || world.gate.rotate_key(&world.owner, &old.key.id, Duration::from_mins(1));
    let new = block_on(rotate()).unwrap();
    assert!(block_on(rotate()).is_err(), "once is enough");
    assert_eq!(new.key.scopes, old.key.scopes);
    for secret in [&old.secret, &new.secret] {
        assert!(authenticate(&world, secret).is_ok());
    }
    world.pass(60);
    assert!(authenticate(&world, &old.secret).is_err());
    world.say(&waiting.approval, Answer::Approve);
    // An unrelated key does not get another's questions.
    let other = make(&world, new_key(&world, &["email.send"]));
    let other = authenticate(&world, &other.secret).unwrap();
    let assistant = world.owner.assistant(&world.workspace).unwrap();
    let spend = |caller| block_on(world.gate.spend(caller, &waiting.approval, &shell(RISKY)));
    assert!(matches!(spend(&other), Err(SpendError::NotFound)));
    assert!(matches!(spend(&assistant), Err(SpendError::NotFound)));
    let heir = authenticate(&world, &new.secret).unwrap();
    assert!(spend(&heir).is_ok());
    assert_eq!(
        world.recorded("key_changed").last().unwrap()["created"],
        other.key_id().unwrap().as_str()
    );
}

#[test]
fn a_revoked_key_is_dead_at_once() {
    let world = world();
    let NewSecret { key, secret } = make(&world, new_key(&world, &["*"]));
    let bob = world.person("Bob", Membership::Member);
    assert!(block_on(world.gate.revoke_key(&bob, &key.id)).is_err());
    block_on(world.gate.revoke_key(&world.owner, &key.id)).unwrap();
    assert!(matches!(authenticate(&world, &secret), Err(AuthError::Key)));
    let rotated = world.gate.rotate_key(&world.owner, &key.id, Duration::ZERO);
    assert!(block_on(rotated).is_err(), "nothing revives it");
}

#[test]
fn ten_changes_a_minute_with_one_key_and_as_much_reading_as_it_wants() {
    let world = world();
    let key = NewKey { writes: WRITES, access: Access::Program, ..new_key(&world, &["email.*"]) };
    let [first, second] =
        [key.clone(), key].map(|key| authenticate(&world, &make(&world, key).secret).unwrap());
    for _ in 0..10 {
        assert!(is_permitted(&submit(&world, &first, skill("email.send"))));
        assert!(is_permitted(&submit(&world, &first, skill("email.read"))));
    }
    let refusal = refused(submit(&world, &first, skill("email.send")));
    assert!(matches!(refusal.why, Why::TooFast(_)), "{refusal:?}");
    let wait = refusal.retry_after.unwrap();
    assert_eq!(wait, Duration::from_secs(6));
    assert!(is_permitted(&submit(&world, &first, skill("email.read"))));
    assert!(is_permitted(&submit(&world, &second, skill("email.send"))), "another key");
    world.clock.pass(wait);
    assert!(is_permitted(&submit(&world, &first, skill("email.send"))));
    assert_eq!(world.recorded("violation").last().unwrap()["type"], "rate_limit");
}

#[test]
fn provider_skill_and_model_have_rates_of_their_own() {
    let rates = Rates {
        skill: Some(Rate::per_minute(2)),
        provider: Some(Rate::per_minute(3)),
        model: Some(Rate::per_minute(4)),
    };
    let world =
        World::new(Setup { config: Config { rates, ..Config::default() }, ..Setup::default() });
    let by = |model: &str, id: &str| {
        let model = Some(model.to_owned());
        world.submit(&Proposal { model, ..Proposal::of(skill(id)) })
    };
    for _ in 0..2 {
        assert!(is_permitted(&by("a", "email.read")));
    }
    let refusal = refused(by("b", "email.read"));
    assert_eq!(refusal.why, Why::TooFast("skill"));
    assert!(refusal.retry_after.is_some_and(|wait| wait == Duration::from_secs(30)));
    assert!(is_permitted(&by("a", "email.search")));
    assert_eq!(refused(by("b", "email.search")).why, Why::TooFast("provider"));
    assert!(is_permitted(&by("a", "weather.forecast")) || is_permitted(&by("a", "calendar.read")));
    assert_eq!(refused(by("a", "contacts.search")).why, Why::TooFast("model"));
    assert!(is_permitted(&by("b", "contacts.search")), "another model");
}

#[test]
fn programs_do_not_ask_about_skills_and_agents_do() {
    let world = world();
    let program = world.key(&world.owner, Access::Program, "*");
    let assistant = world.owner.assistant(&world.workspace).unwrap();
    for caller in [&world.agent, &assistant] {
        assert!(is_asked(&submit(&world, caller, skill("email.send"))));
    }
    assert!(is_permitted(&submit(&world, &program, skill("email.send"))));
    assert_eq!(world.recorded("action_planned").last().unwrap()["status"], "auto_confirmed");
    // An action that is dangerous for another reason is asked about all the same.
    assert!(is_asked(&submit(&world, &program, shell(RISKY).action)));
    let set = |confirm| {
        let change = world.gate.change_settings(&world.owner, |settings| {
            settings.confirm_programs = confirm;
        });
        block_on(change).unwrap();
    };
    set(true);
    assert!(is_asked(&submit(&world, &program, skill("email.reply"))));
    set(false);
    assert!(is_permitted(&submit(&world, &program, skill("email.reply"))));
}

#[test]
fn a_key_does_not_work_on_a_device_nobody_approved() {
    let world = world();
    let devices = Devices::Approved;
    let NewSecret { secret, .. } = make(&world, NewKey { devices, ..new_key(&world, &["*"]) });
    let on = |device: Option<&Secret>| block_on(world.gate.authenticate(&secret, device));
    assert!(matches!(on(None), Err(AuthError::NoDevice)));
    let mut events = world.gate.subscribe();
    let machine = block_on(world.gate.request_device(world.user(), "server")).unwrap();
    let id = Device::id_of(&machine);
    let told = events.try_recv().unwrap().what.clone();
    assert_eq!(told, What::DeviceWaiting { device: id.clone() });
    assert!(matches!(on(Some(&machine)), Err(AuthError::Device(waiting)) if waiting == id));
    assert!(block_on(world.gate.sign_in(&machine)).is_err());
    // Only its owner approves it.
    let bob = world.person("Bob", Membership::Admin);
    assert!(block_on(world.gate.approve_device(&bob, &id, DeviceRole::Machine)).is_err());
    let approve = |role| block_on(world.gate.approve_device(&world.owner, &id, role));
    approve(DeviceRole::Machine).unwrap();
    assert!(on(Some(&machine)).is_ok());
    assert!(approve(DeviceRole::Console).is_err(), "it is a machine now");
    // A machine cannot sign in, and a console cannot use keys.
    assert!(matches!(block_on(world.gate.sign_in(&machine)), Err(PeopleError::NotSignedIn)));
    let link = block_on(world.gate.invite(&world.owner)).unwrap();
    let console = block_on(world.gate.accept(&link, "phone")).unwrap();
    assert!(matches!(on(Some(&console)), Err(AuthError::Device(_))));
    // Another user's machine does not count.
    let theirs = block_on(world.gate.request_device(&bob.user().id, "server")).unwrap();
    let role = DeviceRole::Machine;
    block_on(world.gate.approve_device(&bob, &Device::id_of(&theirs), role)).unwrap();
    assert!(matches!(on(Some(&theirs)), Err(AuthError::Device(_))));
    block_on(world.gate.revoke_device(&world.owner, &id)).unwrap();
    assert!(matches!(on(Some(&machine)), Err(AuthError::Device(_))));
    assert!(approve(DeviceRole::Machine).is_err(), "for good");
}

#[test]
fn a_revoked_console_is_signed_out_at_once() {
    let world = world();
    let link = block_on(world.gate.invite(&world.owner)).unwrap();
    let phone = block_on(world.gate.accept(&link, "phone")).unwrap();
    assert!(block_on(world.gate.sign_in(&phone)).is_ok());
    let id = Device::id_of(&phone);
    block_on(world.gate.revoke_device(&world.owner, &id)).unwrap();
    assert!(matches!(block_on(world.gate.sign_in(&phone)), Err(PeopleError::NotSignedIn)));
    assert_eq!(world.recorded("device_changed").last().unwrap()["device"], id.as_str());
}

#[test]
fn a_link_works_once_and_not_for_long() {
    let world = world();
    let link = block_on(world.gate.invite(&world.owner)).unwrap();
    assert!(block_on(world.gate.accept(&link, "phone")).is_ok());
    assert!(matches!(block_on(world.gate.accept(&link, "thief")), Err(PeopleError::Link)));
    let late = block_on(world.gate.invite(&world.owner)).unwrap();
    world.pass(15 * 60);
    assert!(matches!(block_on(world.gate.accept(&late, "phone")), Err(PeopleError::Link)));
    world.sweep();
    assert!(matches!(block_on(world.gate.accept(&late, "phone")), Err(PeopleError::Link)));
    assert!(block_on(world.gate.first_start("Eve")).unwrap().is_none(), "there is an owner");
}

/// The gate runs as 1000 and so does 40; the agent 10 starts 20; 50 runs as the agent's user.
fn machine(world: &World, agent_user: u32) -> Process {
    let own = std::process::id();
    let users = [
        (1, 0, 0),
        (own, 1, 1_000),
        (10, 1, agent_user),
        (20, 10, agent_user),
        (40, 1, 1_000),
        (50, 1, agent_user),
    ];
    for (pid, parent, owner) in users {
        world.processes.start(Process { pid, started: 7 }, parent, owner);
    }
    Process { pid: 10, started: 7 }
}

fn answer_from(world: &World, agent: Process, pid: u32, uid: u32) -> Result<(), AnswerError> {
    let session = world.session(Plan { process: Some(agent), ..Plan::default() });
    let approval = world.ask(&shell(RISKY).within(&session));
    let person: Person = world.owner.clone().at(Peer::of(pid, uid, &*world.processes));
    world.say_as(&person, &approval, Answer::Approve).map(drop)
}

#[test]
fn the_agents_own_process_tree_cannot_answer() {
    let world = world();
    let agent = machine(&world, 1_000);
    for pid in [10, 20] {
        let error = answer_from(&world, agent, pid, 1_000).unwrap_err();
        assert!(matches!(error, AnswerError::FromTheAgent), "{error}");
    }
    assert_eq!(world.recorded("answer_refused").len(), 2);
    // All processes run as the same user on this machine, so the user alone proves nothing.
    assert!(answer_from(&world, agent, 40, 1_000).is_ok());
}

#[test]
fn the_user_an_agent_runs_as_cannot_answer() {
    let world = world();
    let agent = machine(&world, 2_000);
    for pid in [20, 50, 99] {
        let error = answer_from(&world, agent, pid, 2_000).unwrap_err();
        assert!(matches!(error, AnswerError::FromTheAgent), "{pid}: {error}");
    }
    assert!(answer_from(&world, agent, 40, 1_000).is_ok());
}

#[test]
fn each_role_may_do_its_own() {
    let world = world();
    let [member, admin] =
        [Membership::Member, Membership::Admin].map(|role| world.person("Someone", role));
    let elsewhere = WorkspaceId::from_bytes([8; 16]);
    let add = |person: &Person, workspace: &WorkspaceId| {
        block_on(world.gate.add_user(person, "New", workspace, Membership::Member)).is_ok()
    };
    assert!(!add(&member, &world.workspace));
    assert!(add(&admin, &world.workspace) && !add(&admin, &elsewhere));
    assert!(add(&world.owner, &elsewhere));
    let key = NewKey { workspace: elsewhere.clone(), ..new_key(&world, &["*"]) };
    let made = block_on(world.gate.create_key(&admin, key));
    assert!(matches!(made, Err(PeopleError::NotAllowed)));
    assert!(member.assistant(&elsewhere).is_none());
    // An admin administers the keys of their workspace.
    let made = block_on(world.gate.create_key(&member, new_key(&world, &["*"]))).unwrap();
    block_on(world.gate.revoke_key(&admin, &made.key.id)).unwrap();
    assert!(authenticate(&world, &made.secret).is_err());
}

#[test]
fn admins_are_asked_when_a_question_escalates_and_not_before() {
    let row = QuorumRow {
        risk: None,
        rules: vec!["shell.git.*".into()],
        need: None,
        escalate_after: Some(30),
    };
    let config = Config { quorum: vec![row], ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    let admin = world.person("Ada", Membership::Admin);
    let member = world.person("Bob", Membership::Member);
    let approval = world.ask(&shell(RISKY));
    let early = world.say_as(&admin, &approval, Answer::Approve).unwrap_err();
    assert!(matches!(early, AnswerError::NotFound), "{early}");
    let mut events = world.gate.subscribe();
    world.pass(30);
    assert_eq!(block_on(world.gate.sweep()).unwrap().escalated, 1);
    let told = events.try_recv().unwrap().what.clone();
    assert_eq!(told, What::ApprovalEscalated { approval: approval.clone() });
    assert!(world.say_as(&member, &approval, Answer::Approve).is_err());
    assert!(world.say_as(&admin, &approval, Answer::Approve).is_ok());
}

#[test]
fn a_user_who_is_let_go_can_neither_sign_in_nor_propose_nor_be_found() {
    let world = world();
    let bob = world.person("Bob", Membership::Member);
    let link = block_on(world.gate.invite(&bob)).unwrap();
    let device = block_on(world.gate.accept(&link, "tablet")).unwrap();
    let bobs_id = bob.user().id.clone();
    assert!(block_on(world.gate.disable_user(&bob, world.user())).is_err());
    assert!(block_on(world.gate.disable_user(&world.owner, world.user())).is_err());
    block_on(world.gate.disable_user(&world.owner, &bobs_id)).unwrap();
    assert!(block_on(world.gate.sign_in(&device)).is_err());
    assert!(block_on(world.gate.by_channel(&bobs_id)).is_err());
}

#[test]
fn a_workspace_is_looked_after_by_its_maker_and_by_whom_they_name() {
    let world = world();
    let bob = world.person("Bob", Membership::Member);
    assert!(block_on(world.gate.add_workspace(&bob, "own")).is_err());
    let id = block_on(world.gate.add_workspace(&world.owner, "new")).unwrap();
    let bobs_id = &bob.user().id;
    let join = |person, role| block_on(world.gate.change_membership(person, bobs_id, &id, role));
    assert!(join(&bob, Some(Membership::Admin)).is_err());
    join(&world.owner, Some(Membership::Admin)).unwrap();
    let role = || block_on(world.gate.by_channel(bobs_id)).unwrap().role_in(&id);
    assert_eq!(role(), countersign_gate::user::Role::WorkspaceAdmin);
    join(&world.owner, None).unwrap();
    assert_eq!(role(), countersign_gate::user::Role::Stranger);
}

#[test]
fn a_machine_asks_to_be_let_in_with_its_key() {
    let world = world();
    let key = NewKey { devices: Devices::Approved, ..new_key(&world, &["*"]) };
    let NewSecret { secret, key } = make(&world, key);
    assert!(matches!(authenticate(&world, &secret), Err(AuthError::NoDevice)));
    let name = format!("laptop\n{}", "x".repeat(1_000));
    let device = block_on(world.gate.request_device_with(&secret, &name)).unwrap();
    let with_device = || block_on(world.gate.authenticate(&secret, Some(&device)));
    assert!(matches!(with_device(), Err(AuthError::Device(_))));
    let id = Device::id_of(&device);
    let known = block_on(world.gate.devices(&world.owner)).unwrap();
    let shown = &known.iter().find(|one| one.id == id).unwrap().name;
    assert!(shown.starts_with("laptopx") && shown.chars().count() == 100, "{shown}");
    block_on(world.gate.approve_device(&world.owner, &id, DeviceRole::Machine)).unwrap();
    with_device().unwrap();
    // A revoked key cannot register a device any more.
    block_on(world.gate.revoke_key(&world.owner, &key.id)).unwrap();
    let asked = block_on(world.gate.request_device_with(&secret, "laptop"));
    assert!(matches!(asked, Err(AuthError::Key)));
    let stranger = Secret::draw(SecretKind::Key, &*world.clock).unwrap();
    let asked = block_on(world.gate.request_device_with(&stranger, "laptop"));
    assert!(matches!(asked, Err(AuthError::Key)));
}

#[test]
fn a_stolen_key_cannot_flood_its_owner_with_devices() {
    let world = world();
    let NewSecret { secret, .. } = make(&world, new_key(&world, &["*"]));
    let ask = || block_on(world.gate.request_device_with(&secret, "laptop"));
    let mut waiting: Vec<_> = (0..10).map(|_| Device::id_of(&ask().unwrap())).collect();
    assert!(matches!(ask(), Err(AuthError::TooManyWaiting)));
    let by_name = block_on(world.gate.request_device(world.user(), "laptop"));
    assert!(matches!(by_name, Err(PeopleError::TooManyWaiting)));
    let mut next = || waiting.pop().unwrap();
    // Each decision makes room for one, and only once.
    block_on(world.gate.approve_device(&world.owner, &next(), DeviceRole::Machine)).unwrap();
    ask().unwrap();
    let revoked = next();
    block_on(world.gate.revoke_device(&world.owner, &revoked)).unwrap();
    block_on(world.gate.revoke_device(&world.owner, &revoked)).unwrap_err();
    ask().unwrap();
    assert!(matches!(ask(), Err(AuthError::TooManyWaiting)));
}

#[test]
fn who_signs_out_is_signed_out() {
    let world = world();
    let link = block_on(world.gate.invite(&world.owner)).unwrap();
    let device = block_on(world.gate.accept(&link, "tablet")).unwrap();
    let person = block_on(world.gate.sign_in(&device)).unwrap();
    block_on(world.gate.sign_out(&person)).unwrap();
    assert!(matches!(block_on(world.gate.sign_in(&device)), Err(PeopleError::NotSignedIn)));
    let by_channel = block_on(world.gate.by_channel(world.user())).unwrap();
    let signed_out = block_on(world.gate.sign_out(&by_channel));
    assert!(matches!(signed_out, Err(PeopleError::NotSignedIn)));
}
