//! Writes that are sent twice.

use std::time::Duration;

use countersign_gate::bytes::Hash;
use countersign_gate::gate::{Allows, Begun, Claim, IdempotencyError};
use countersign_gate::store::{Kind, Query};
use pollster::block_on;

use crate::world::{Setup, World, world};

const ONE: Hash = Hash([1; 32]);
const OTHER: Hash = Hash([2; 32]);

fn begin(world: &World, who: &str, key: &str, request: Hash) -> Begun {
    block_on(world.gate.idempotent_begin(who, key, request)).unwrap()
}

fn first(world: &World, who: &str, key: &str, request: Hash) -> Claim {
    match begin(world, who, key, request) {
        Begun::First(claim) => claim,
        other => panic!("{other:?}"),
    }
}

fn kept(world: &World) -> Vec<String> {
    let found = block_on(world.gate.store().find(&Query::of(Kind::Idempotency))).unwrap();
    found.into_iter().map(|stored| format!("{stored:?}")).collect()
}

#[test]
fn what_is_sent_again_is_answered_as_before() {
    let world = world();
    let claim = first(&world, "ann", "k1", ONE);
    assert!(matches!(begin(&world, "ann", "k1", ONE), Begun::InProgress));
    assert!(matches!(begin(&world, "ann", "k1", OTHER), Begun::Other));
    block_on(world.gate.idempotent_finish(claim, 201, Some("the answer"), Allows::Nothing))
        .unwrap();
    match begin(&world, "ann", "k1", ONE) {
        Begun::Replay { status: 201, body } => assert_eq!(body, "the answer"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(begin(&world, "ann", "k1", OTHER), Begun::Other));
    // The same key of another sender, and another split of the two texts, are separate.
    drop(first(&world, "bob", "k1", OTHER));
    drop(first(&world, "an", "nk1", ONE));
}

#[test]
fn an_answer_that_held_a_secret_is_not_kept() {
    let world = world();
    let claim = first(&world, "ann", "k1", ONE);
    block_on(world.gate.idempotent_finish(claim, 201, None, Allows::Nothing)).unwrap();
    assert!(matches!(begin(&world, "ann", "k1", ONE), Begun::Shown { status: 201 }));
}

#[test]
fn neither_keys_nor_answers_stand_in_the_store() {
    let world = world();
    let claim = first(&world, "ann-who-sends", "key-that-she-chose", ONE);
    block_on(world.gate.idempotent_finish(claim, 200, Some("answer-to-her"), Allows::Nothing))
        .unwrap();
    let kept = kept(&world).concat();
    for text in ["ann-who-sends", "key-that-she-chose", "answer-to-her"] {
        assert!(!kept.contains(text), "{kept}");
    }
}

#[test]
fn what_nobody_will_finish_is_lost() {
    let world = World::new(Setup { on_disk: true, ..Setup::default() });
    drop(first(&world, "ann", "dropped", ONE));
    assert!(matches!(begin(&world, "ann", "dropped", ONE), Begun::Lost));
    std::mem::forget(first(&world, "ann", "killed", ONE));
    assert!(matches!(begin(&world, "ann", "killed", ONE), Begun::InProgress));
    let world = world.restart(Setup { on_disk: true, ..Setup::default() });
    assert!(matches!(begin(&world, "ann", "killed", ONE), Begun::Lost));
}

#[test]
fn what_was_let_go_may_be_sent_again() {
    let world = world();
    let claim = first(&world, "ann", "k1", ONE);
    block_on(world.gate.idempotent_let_go(claim)).unwrap();
    drop(first(&world, "ann", "k1", OTHER));
}

#[test]
fn an_answer_is_forgotten_after_a_day() {
    let world = world();
    let claim = first(&world, "ann", "k1", ONE);
    block_on(world.gate.idempotent_finish(claim, 200, Some("x"), Allows::Nothing)).unwrap();
    let slow = first(&world, "ann", "slow", ONE);
    world.clock.pass(Duration::from_hours(24));
    // Before and after the sweep.
    drop(first(&world, "ann", "k1", OTHER));
    world.clock.pass(Duration::from_hours(24));
    world.sweep();
    assert_eq!(kept(&world), [""; 0]);
    block_on(world.gate.idempotent_finish(slow, 200, Some("x"), Allows::Nothing)).unwrap();
    assert_eq!(kept(&world), [""; 0]);
}

#[test]
fn a_key_is_neither_empty_nor_endless() {
    let world = world();
    let longest = "ä".repeat(200);
    drop(first(&world, "ann", &longest, ONE));
    for key in [String::new(), longest + "x"] {
        let begun = block_on(world.gate.idempotent_begin("ann", &key, ONE));
        assert!(matches!(begun, Err(IdempotencyError::Key)), "{begun:?}");
    }
}
