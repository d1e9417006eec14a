//! A store that cannot be written: nothing is allowed, and the kill switch works all the same.

use std::process::Command;

use countersign_gate::approval::Answer;
use countersign_gate::gate::{Kept, PersonAnswer, SpendError};
use countersign_gate::proposal::Why;
use countersign_gate::{GateError, Submitted};
use pollster::block_on;

use crate::world::{RISKY, SAFE, Setup, World, shell};

fn on_disk() -> World {
    World::new(Setup { on_disk: true, ..Setup::default() })
}

/// Makes every insert fail.
fn fill(world: &World) {
    for table in tables(world) {
        world.sql(&format!(
            "create trigger full_{table} before insert on {table} begin \
             select raise(fail, 'database or disk is full'); end;"
        ));
    }
}

fn make_room(world: &World) {
    for table in tables(world) {
        world.sql(&format!("drop trigger full_{table};"));
    }
}

fn tables(world: &World) -> Vec<String> {
    let database = world.database();
    let sql = "select name from sqlite_master where type = 'table' and name not like 'sqlite%'";
    let mut statement = database.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

#[test]
fn a_halt_holds_although_it_cannot_be_written_and_is_written_when_it_can_be() {
    let world = on_disk();
    let approval = world.ask(&shell(RISKY));
    block_on(world.gate.ready()).unwrap();
    fill(&world);
    let kept = block_on(world.gate.halt(&world.owner)).unwrap();
    assert!(matches!(kept, Kept::InMemory(_)), "{kept:?}");
    assert!(block_on(world.gate.is_halted()).unwrap());
    let submitted = block_on(world.gate.submit(&world.agent, &shell(SAFE)));
    assert!(matches!(submitted, Err(GateError::Store(_))), "{submitted:?}");
    let reply = PersonAnswer::plain(approval.clone(), Answer::Approve);
    assert!(block_on(world.gate.answer(&world.owner, reply)).is_err());
    make_room(&world);
    // The halt is still only in memory: nothing is allowed, and now it is recorded.
    match world.submit(&shell(SAFE)) {
        Submitted::Refused(refusal) => assert_eq!(refusal.why, Why::Halted),
        other => panic!("not refused: {other:?}"),
    }
    assert!(world.spend(&approval, &shell(RISKY)).is_err());
    assert_eq!(world.recorded("halted").len(), 0);
    world.sweep();
    assert_eq!(world.recorded("halted").len(), 1);
    world.verify();
    let world = world.restart(Setup { on_disk: true, ..Setup::default() });
    assert!(block_on(world.gate.is_halted()).unwrap(), "a restart does not forget it");
    assert_eq!(world.state(&approval), "cancelled");
    block_on(world.gate.resume(&world.owner)).unwrap();
    assert!(matches!(world.submit(&shell(SAFE)), Submitted::Permitted(..)));
}

#[test]
fn whether_it_is_ready_changes_with_what_the_store_can_do() {
    let world = on_disk();
    block_on(world.gate.ready()).unwrap();
    fill(&world);
    let submitted = block_on(world.gate.submit(&world.agent, &shell(SAFE)));
    assert!(matches!(submitted, Err(GateError::Store(_))), "{submitted:?}");
    assert!(block_on(world.gate.ready()).is_err());
    make_room(&world);
    assert!(block_on(world.gate.ready()).is_err(), "nothing was written since");
    world.sweep();
    block_on(world.gate.ready()).unwrap();
}

#[test]
fn whoever_uses_a_yes_or_takes_a_question_back_is_told_that_nothing_was_written() {
    let world = on_disk();
    let [agreed, asked] = ["main", "other"].map(|branch| {
        let proposal = shell(&format!("git push --force origin {branch}"));
        (world.ask(&proposal), proposal)
    });
    world.say(&agreed.0, Answer::Approve);
    fill(&world);
    let spent = block_on(world.gate.spend(&world.agent, &agreed.0, &agreed.1));
    assert!(matches!(spent, Err(SpendError::Gate(GateError::Store(_)))), "{spent:?}");
    let withdrawn = block_on(world.gate.withdraw(&world.agent, &asked.0));
    assert!(matches!(withdrawn, Err(SpendError::Gate(GateError::Store(_)))), "{withdrawn:?}");
    make_room(&world);
    assert!(world.spend(&agreed.0, &agreed.1).is_ok(), "neither used nor lost");
    assert_eq!(world.state(&asked.0), "pending");
}

/// Set in the child process that may write no more than a few hundred kilobytes.
const INSIDE: &str = "COUNTERSIGN_TEST_FULL_DISK";

#[test]
fn a_halt_works_where_a_file_cannot_grow() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    // The signal would end it; when it is ignored, the write fails as on a full disk.
    let script = "trap '' XFSZ; ulimit -f 800; exec \"$0\" --exact \"$1\" --nocapture";
    let name = "full_disk::a_halt_works_where_a_file_cannot_grow";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

/// Fills the allowed space, then halts.
fn inside() {
    let world = on_disk();
    let mut failed = 0;
    for number in 0..20_000 {
        let action = shell(&format!("echo {number}{}", "x".repeat(400)));
        match block_on(world.gate.submit(&world.agent, &action)) {
            Ok(_) => failed = 0,
            Err(_) => failed += 1,
        }
        if failed == 3 {
            break;
        }
    }
    assert_eq!(failed, 3, "the disk is not full");
    assert!(block_on(world.gate.ready()).is_err());
    let kept = block_on(world.gate.halt(&world.owner)).unwrap();
    assert!(matches!(kept, Kept::InMemory(_)), "{kept:?}");
    assert!(block_on(world.gate.is_halted()).unwrap());
    let submitted = block_on(world.gate.submit(&world.agent, &shell(SAFE)));
    assert!(!matches!(submitted, Ok(Submitted::Permitted(..))), "{submitted:?}");
}
