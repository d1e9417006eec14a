//! Decisions that were made while the gate could not be reached, delivered afterwards.

use countersign_core::{Action, Context, Policy, judge};
use countersign_gate::gate::OfflineError;
use countersign_gate::offline::{Circumstances, Fallback, OfflineDecision};
use countersign_gate::store::RecordQuery;
use pollster::block_on;

use crate::world::{RISKY, World, world};

const JOURNAL: &str = "0123456789abcdef0123456789abcdef";

/// This many decisions, one after the other.
fn decisions(count: usize) -> Vec<OfflineDecision> {
    let action = Action::Shell { command: RISKY.to_owned(), cwd: None };
    let judgement = judge(&action, &Policy::default(), &Context::default());
    let mut all: Vec<OfflineDecision> = Vec::new();
    for _ in 0..count {
        let at = "2026-11-18T12:00:00.000Z";
        let circumstances = Circumstances { at, asker: "Host s1", why: "nothing listens" };
        let next =
            OfflineDecision::new(all.last(), &action, &judgement, Fallback::Refused, circumstances);
        all.push(next);
    }
    all
}

/// The numbers of the recorded decisions, in order.
fn on_record(world: &World) -> Vec<u64> {
    let query = RecordQuery { limit: 1_000, ..RecordQuery::default() };
    let records = block_on(world.gate.store().records(&query)).unwrap();
    let records = records.iter().filter(|record| record.event == "decided_offline");
    let payloads = records.filter_map(|record| record.content.as_ref());
    payloads
        .map(|content| {
            let payload: serde_json::Value = serde_json::from_str(&content.payload).unwrap();
            payload["number"].as_u64().unwrap()
        })
        .collect()
}

#[test]
fn each_is_on_record_once_and_in_order_however_often_it_is_sent() {
    let world = world();
    let all = decisions(5);
    let deliver = |some: &[OfflineDecision]| {
        block_on(world.gate.deliver_offline(&world.agent, JOURNAL, some))
    };
    assert_eq!(deliver(&all[..2]).unwrap(), 2);
    assert_eq!(deliver(&all[..2]).unwrap(), 2, "sent again");
    assert_eq!(deliver(&all[1..4]).unwrap(), 4, "some of them are there already");
    assert_eq!(deliver(&all).unwrap(), 5);
    assert_eq!(on_record(&world), [1, 2, 3, 4, 5]);
    assert_eq!(deliver(&[]).unwrap(), 5);
    world.verify();
}

#[test]
fn a_gap_is_refused_and_says_what_comes_next() {
    let world = world();
    let all = decisions(5);
    let sent = block_on(world.gate.deliver_offline(&world.agent, JOURNAL, &all[1..]));
    assert!(matches!(sent, Err(OfflineError::Gap { next: 1 })), "{sent:?}");
    let swapped = [all[1].clone(), all[0].clone()];
    let sent = block_on(world.gate.deliver_offline(&world.agent, JOURNAL, &swapped));
    assert!(matches!(sent, Err(OfflineError::Gap { next: 1 })), "{sent:?}");
    // A number that is far away is a gap like any other.
    let far = [OfflineDecision { number: u64::MAX, ..all[0].clone() }];
    let sent = block_on(world.gate.deliver_offline(&world.agent, JOURNAL, &far));
    assert!(matches!(sent, Err(OfflineError::Gap { next: 1 })), "{sent:?}");
    assert_eq!(on_record(&world), [0; 0]);
    for name in ["", "x", &"g".repeat(32), &"0".repeat(33)] {
        let sent = block_on(world.gate.deliver_offline(&world.agent, name, &all));
        assert!(matches!(sent, Err(OfflineError::Journal)), "{name}: {sent:?}");
    }
}

#[test]
fn journals_of_two_machines_do_not_get_in_each_others_way() {
    let world = world();
    let all = decisions(2);
    let other = JOURNAL.replace('0', "f");
    for journal in [JOURNAL, &other] {
        assert_eq!(block_on(world.gate.deliver_offline(&world.agent, journal, &all)).unwrap(), 2);
    }
    assert_eq!(on_record(&world), [1, 2, 1, 2]);
}
