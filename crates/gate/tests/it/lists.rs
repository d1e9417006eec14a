//! Lists, page by page: nobody sees more than their role allows.

use countersign_core::{Action, RiskLevel};
use countersign_gate::approval::{Answer, QuorumRow};
use countersign_gate::gate::{Card, OwnerFilter, Page, PeopleError, Removed};
use countersign_gate::key::Access;
use countersign_gate::session::{Plan, Session};
use countersign_gate::user::Membership;
use countersign_gate::{Caller, Config, Person, Proposal};
use pollster::block_on;

use crate::world::{RISKY, SAFE, Setup, World, shell, world};

fn sessions(
    world: &World,
    person: &Person,
    whose: &OwnerFilter,
) -> Result<Vec<Session>, PeopleError> {
    let page = Page::default();
    Ok(block_on(world.gate.sessions(person, whose, &[], &page))?.items)
}

fn cards(world: &World, person: &Person, whose: &OwnerFilter) -> Result<Vec<Card>, PeopleError> {
    let page = Page::default();
    Ok(block_on(world.gate.approvals(person, whose, &[], None, &page))?.items)
}

fn start(world: &World, caller: &Caller) -> Session {
    let consent = countersign_gate::gate::Consent::Given;
    block_on(world.gate.start(caller, Plan::default(), consent, Vec::new())).unwrap()
}

fn not_allowed<T: std::fmt::Debug>(result: &Result<T, PeopleError>) {
    assert!(matches!(result, Err(PeopleError::NotAllowed)), "{result:?}");
}

fn not_found<T: std::fmt::Debug>(result: &Result<T, PeopleError>) {
    assert!(matches!(result, Err(PeopleError::NotFound)), "{result:?}");
}

#[test]
fn sessions_come_newest_first_and_page_by_page() {
    let world = world();
    let mut started = Vec::new();
    for _ in 0..5 {
        started.push(world.session(Plan::default()));
        world.pass(1);
    }
    started.reverse();
    let (mut paged, mut page) = (Vec::new(), Page { limit: 2, ..Page::default() });
    loop {
        let part = world.gate.sessions(&world.owner, &OwnerFilter::Mine, &[], &page);
        let part = block_on(part).unwrap();
        paged.extend(part.items.into_iter().map(|session| session.id));
        let Some(next) = part.next else { break };
        page.after = Some(next);
    }
    assert_eq!(paged, started);
    // A page that is exactly full is the last one.
    let page = Page { after: None, limit: 5 };
    let whole =
        block_on(world.gate.sessions(&world.owner, &OwnerFilter::Mine, &[], &page)).unwrap();
    assert_eq!((whole.items.len(), whole.next), (5, None));
    block_on(world.gate.stop(&world.owner, &started[1])).unwrap();
    let states = ["ended"];
    let ended =
        block_on(world.gate.sessions(&world.owner, &OwnerFilter::All, &states, &page)).unwrap();
    assert_eq!(ended.items.iter().map(|session| &session.id).collect::<Vec<_>>(), [&started[1]]);
}

#[test]
fn nobody_sees_more_sessions_and_approvals_than_their_role_allows() {
    let world = world();
    let other = block_on(world.gate.add_workspace(&world.owner, "other")).unwrap();
    let member = world.person("member", Membership::Member);
    let admin = world.person("admin", Membership::Admin);
    let stranger = world.person_in("stranger", &other, Membership::Admin);
    let agent = world.key(&member, Access::Agent, "*");
    start(&world, &member.assistant(&world.workspace).unwrap());
    let _ = block_on(world.gate.submit(&agent, &shell(RISKY))).unwrap();
    world.session(Plan::default());
    world.ask(&shell(RISKY));
    let here = OwnerFilter::Workspace(world.workspace.clone());
    for (person, mine, theirs, all) in [
        (&member, 1, None, None),
        (&admin, 0, Some(2), None),
        (&stranger, 0, None, None),
        (&world.owner, 1, Some(2), Some(2)),
    ] {
        for (whose, expected) in
            [(&OwnerFilter::Mine, Some(mine)), (&here, theirs), (&OwnerFilter::All, all)]
        {
            let (sessions, cards) = (sessions(&world, person, whose), cards(&world, person, whose));
            let Some(expected) = expected else {
                not_allowed(&sessions);
                not_allowed(&cards);
                continue;
            };
            assert_eq!(sessions.unwrap().len(), expected);
            assert_eq!(cards.unwrap().len(), expected);
        }
    }
    assert_eq!(sessions(&world, &stranger, &OwnerFilter::Workspace(other)).unwrap(), []);
}

#[test]
fn the_history_of_a_session_holds_what_ran_out_too() {
    let world = world();
    let session = world.session(Plan::default());
    let asked = world.ask(&Proposal { session: Some(session.clone()), ..shell(RISKY) });
    world.ask(&shell("git push --force origin other"));
    world.pass(86_400);
    world.sweep();
    let page = Page::default();
    let of = async |states: &[&'static str]| {
        let whose = OwnerFilter::Mine;
        let list = world.gate.approvals(&world.owner, &whose, states, Some(&session), &page);
        list.await.unwrap().items
    };
    let expired = block_on(of(&["expired"]));
    assert_eq!(expired.iter().map(|card| &card.approval).collect::<Vec<_>>(), [&asked]);
    assert!(expired[0].token.is_none());
    assert!(block_on(of(&["pending"])).is_empty());
}

#[test]
fn a_card_shows_all_that_is_known_of_the_question() {
    let risk = Some(RiskLevel::Low);
    let row = QuorumRow { risk, rules: Vec::new(), need: Some(2), escalate_after: None };
    let config = Config { quorum: vec![row], ..Config::default() };
    let world = World::new(Setup { config, ..Setup::default() });
    let voter = world.person("voter", Membership::Member);
    let action = Action::Shell { command: RISKY.into(), cwd: None };
    let mut proposal = Proposal::of(action);
    proposal.context.cwd = Some("/home/ann/project".to_owned());
    proposal.reasoning = Some("the branch is stale".to_owned());
    let asked = world.ask(&proposal);
    world.say_as(&voter, &asked, Answer::Approve).unwrap();
    let card = block_on(world.gate.card(&world.owner, &asked)).unwrap();
    assert_eq!(card.action_json["command"], RISKY);
    assert_eq!(card.cwd.as_deref(), Some("/home/ann/project"));
    assert_eq!(card.reasoning.as_deref(), Some("the branch is stale"));
    assert_eq!(
        (card.key.as_ref(), card.workspace),
        (world.agent.key_id(), world.workspace.clone())
    );
    assert_eq!((card.have, card.need), (1, 2));
    assert!(card.requester_excluded && !card.escalated && card.token.is_some());
}

#[test]
fn users_and_workspaces_are_shown_to_those_who_look_after_them() {
    let world = world();
    let other = block_on(world.gate.add_workspace(&world.owner, "other")).unwrap();
    let admin = world.person("admin", Membership::Admin);
    let member = world.person("member", Membership::Member);
    let elsewhere = world.person_in("elsewhere", &other, Membership::Member);
    let names = |person: &Person, whose: &OwnerFilter, limit: usize| {
        let (mut names, mut page) = (Vec::new(), Page { limit, ..Page::default() });
        loop {
            let part = block_on(world.gate.users(person, whose, Removed::Hidden, &page))?;
            assert!(part.items.len() <= limit);
            names.extend(part.items.into_iter().map(|user| user.id));
            let Some(next) = part.next else { return Ok(names) };
            page.after = Some(next);
        }
    };
    let of = |people: &[&Person]| {
        let mut ids: Vec<_> = people.iter().map(|person| person.user().id.clone()).collect();
        ids.sort();
        ids
    };
    let here = OwnerFilter::Workspace(world.workspace.clone());
    for limit in [1, 2, 100] {
        let shown = names(&admin, &here, limit).unwrap();
        assert_eq!(shown, of(&[&world.owner, &admin, &member]));
        let all = names(&world.owner, &OwnerFilter::All, limit).unwrap();
        assert_eq!(all, of(&[&world.owner, &admin, &member, &elsewhere]));
    }
    assert_eq!(names(&member, &OwnerFilter::Mine, 10).unwrap(), of(&[&member]));
    not_allowed(&names(&member, &here, 10));
    not_allowed(&names(&admin, &OwnerFilter::All, 10));
    not_allowed(&names(&admin, &OwnerFilter::Workspace(other.clone()), 10));

    let shown = |person: &Person| block_on(world.gate.workspaces(person)).unwrap();
    assert_eq!(shown(&world.owner).len(), 2);
    assert_eq!(shown(&elsewhere).into_iter().map(|one| one.id).collect::<Vec<_>>(), [other]);
    assert_eq!(block_on(world.gate.owner()).unwrap().as_ref(), Some(world.user()));
}

#[test]
fn a_caller_sees_its_own_question_and_never_the_token() {
    let world = world();
    let asked = world.ask(&shell(RISKY));
    let card = block_on(world.gate.approval_of_caller(&world.agent, &asked)).unwrap();
    assert!(card.token.is_none());
    assert_eq!(card.state.as_str(), "pending");
    let sibling = world.key(&world.owner, Access::Agent, "*");
    not_found(&block_on(world.gate.approval_of_caller(&sibling, &asked)));
    let member = world.person("member", Membership::Admin);
    let theirs = world.key(&member, Access::Agent, "*");
    not_found(&block_on(world.gate.approval_of_caller(&theirs, &asked)));
}

#[test]
fn the_progress_of_a_session_is_what_was_counted() {
    let world = world();
    let session = start(&world, &world.assistant()).id;
    for _ in 0..3 {
        let _ = world.submit(&Proposal { session: Some(session.clone()), ..shell(SAFE) });
    }
    let progress = block_on(world.gate.progress(&world.owner, &session)).unwrap();
    assert_eq!((progress.steps, progress.screenshots, progress.errors), (3, 0, 0));
    let seen = block_on(world.gate.progress_of_caller(&world.agent, &session)).unwrap();
    assert_eq!(seen, progress);
    let member = world.person("member", Membership::Member);
    not_found(&block_on(world.gate.progress(&member, &session)));
    let theirs = world.key(&member, Access::Agent, "*");
    not_found(&block_on(world.gate.progress_of_caller(&theirs, &session)));
    not_found(&block_on(world.gate.session_of_caller(&theirs, &session)));
}

#[test]
fn keys_are_listed_beyond_the_first_thousand() {
    let world = world();
    for _ in 0..1_001 {
        world.key(&world.owner, Access::Agent, "*");
    }
    assert!(block_on(world.gate.keys(&world.owner)).unwrap().len() > 1_000);
}
