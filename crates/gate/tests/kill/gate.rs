//! The same with the whole gate: agents ask, a person answers, agents spend and report, all at
//! once, until the process is killed. The next gate must find everything that the last one
//! reported.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use countersign_core::{Action, Policy};
use countersign_gate::approval::{Answer, Outcome};
use countersign_gate::clock::System;
use countersign_gate::gate::{AnswerError, PersonAnswer, SpendError};
use countersign_gate::id::{ActionId, ApprovalId};
use countersign_gate::key::{Access, Devices, NewKey};
use countersign_gate::process;
use countersign_gate::rate::Rate;
use countersign_gate::scope::Scope;
use countersign_gate::secret::Secret;
use countersign_gate::store::{self, Kind, Query, RecordQuery, StoreUrl};
use countersign_gate::{Caller, Config, Gate, Parts, Person, Proposal, Submitted};
use pollster::block_on;
use serde_json::Value;

use crate::{Dice, FILE, Folder, keyring, kill_after, kills_and_seed, say};

const THREADS: u64 = 4;
const CHILD: &str = "gate::the_child_gate_works_until_it_is_killed";

#[test]
fn no_permit_is_given_twice_and_no_question_lost_when_the_gate_is_killed() {
    let (kills, seed) = kills_and_seed(30);
    let folder = Folder::new(seed);
    let secrets = set_up(&folder.0);
    let mut dice = Dice(seed);
    let mut told = Claims::default();
    for _ in 0..kills {
        let moment = Duration::from_micros(20_000 + dice.below(130_000));
        let mut child = Command::new(env::current_exe().unwrap());
        child
            .args([CHILD, "--exact", "--nocapture"])
            .env("KILL_GATE", &folder.0)
            .env("KILL_GATE_SEED", (dice.next() >> 32).to_string())
            .env("KILL_GATE_DEVICE", secrets.0.expose())
            .env("KILL_GATE_KEY", secrets.1.expose())
            .env("KILL_GATE_OPEN", told.open.iter().map(line).collect::<Vec<_>>().join(","));
        told.listen(&kill_after(&mut child, moment));
        told.check(&folder.0, &secrets);
    }
    println!("{} asked, {} spent, {} records", told.asked.len(), told.spent.len(), told.end);
    assert!(!told.spent.is_empty());
}

/// Not a test by itself: the process that the other test runs and kills.
#[test]
fn the_child_gate_works_until_it_is_killed() {
    let Ok(folder) = env::var("KILL_GATE") else { return };
    let word = |name| env::var(name).unwrap();
    let seed: u64 = word("KILL_GATE_SEED").parse().unwrap();
    let secret = |name| Secret::parse(&word(name)).unwrap();
    let gate = open(Path::new(&folder));
    let agent = block_on(gate.authenticate(&secret("KILL_GATE_KEY"), None)).unwrap();
    let owner = block_on(gate.sign_in(&secret("KILL_GATE_DEVICE"))).unwrap();
    let open = word("KILL_GATE_OPEN");
    let open = open.split(',').filter_map(|line| line.split_once('='));
    let open = open.map(|(id, name)| (ApprovalId::parse(id).unwrap(), name.to_owned()));
    let open = Mutex::new(open.collect::<BTreeMap<_, _>>());
    let child = Child { gate, agent, owner, open };
    println!();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let child = &child;
            scope.spawn(move || child.work(&format!("{seed}-{thread}"), Dice(seed + thread)));
        }
    });
}

struct Child {
    gate: Gate,
    agent: Caller,
    owner: Person,
    open: Mutex<BTreeMap<ApprovalId, String>>,
}

impl Child {
    /// Asks, answers, spends and reports for ever, in competition with the other threads.
    fn work(&self, name: &str, mut dice: Dice) {
        for number in 0_u64.. {
            let chosen = {
                let open = self.open.lock().unwrap();
                let at = usize::try_from(dice.below(12)).unwrap();
                open.iter().nth(at).map(|(id, name)| (id.clone(), name.clone()))
            };
            match chosen {
                None => self.ask(&format!("{name}-{number}")),
                Some((id, name)) => self.advance(&id, &name, &mut dice),
            }
        }
    }

    fn ask(&self, name: &str) {
        match block_on(self.gate.submit(&self.agent, &push(name))) {
            Ok(Submitted::Waiting(waiting)) => {
                say(&format!("ack ask {} {name}", waiting.approval));
                self.open.lock().unwrap().insert(waiting.approval, name.to_owned());
            }
            other => say(&format!("failed ask: {other:?}")),
        }
    }

    fn advance(&self, id: &ApprovalId, name: &str, dice: &mut Dice) {
        let answer = if dice.below(5) == 0 { Answer::Reject } else { Answer::Approve };
        match block_on(self.gate.answer(&self.owner, PersonAnswer::plain(id.clone(), answer))) {
            Ok(_) => say(&format!("ack answer {id} {answer:?}")),
            Err(AnswerError::Settled(_)) => {}
            Err(error) => say(&format!("failed answer: {error}")),
        }
        match block_on(self.gate.spend(&self.agent, id, &push(name))) {
            Ok(permit) => {
                say(&format!("ack spend {id}"));
                let action = permit.id().clone();
                drop(permit);
                let report = self.gate.report(&self.agent, &action, None, Outcome::Done, None);
                match block_on(report) {
                    Ok(()) => say(&format!("ack report {id}")),
                    Err(error) => say(&format!("failed report: {error}")),
                }
            }
            Err(SpendError::Settled(_)) => {}
            Err(error) => say(&format!("failed spend: {error}")),
        }
        self.open.lock().unwrap().remove(id);
    }
}

fn push(name: &str) -> Proposal {
    let command = format!("git push --force origin b{name}");
    Proposal::of(Action::Shell { command, cwd: Some("/work".into()) })
}

fn line((id, name): (&ApprovalId, &String)) -> String {
    format!("{id}={name}")
}

/// Creates the owner, their device and their agent's key.
fn set_up(folder: &Path) -> (Secret, Secret) {
    let gate = open(folder);
    let (_, link) = block_on(gate.first_start("Ann")).unwrap().unwrap();
    let device = block_on(gate.accept(&link, "laptop")).unwrap();
    let owner = block_on(gate.sign_in(&device)).unwrap();
    let key = NewKey {
        name: "agent".into(),
        workspace: owner.user().workspaces.keys().next().unwrap().clone(),
        scopes: vec![Scope::parse("*", &BTreeSet::new()).unwrap()],
        access: Access::Agent,
        devices: Devices::Any,
        writes: Rate::per_minute(1_000_000),
        expires_at: None,
    };
    (device, block_on(gate.create_key(&owner, key)).unwrap().secret)
}

fn open(folder: &Path) -> Gate {
    let config = Config {
        most_pending: 1_000_000,
        prompts: Rate { uses: 1_000_000, seconds: 1 },
        ..Config::default()
    };
    block_on(Gate::open(Parts {
        store: store::danger_open_or_begin(&StoreUrl::Sqlite(folder.join(FILE)), keyring())
            .unwrap(),
        keyring: keyring(),
        clock: Arc::new(System),
        processes: Arc::new(process::Fake::default()),
        policy: Policy::default(),
        config,
    }))
    .unwrap()
}

/// The steps that all children so far reported as done.
#[derive(Default)]
struct Claims {
    asked: BTreeSet<ApprovalId>,
    answered: BTreeMap<ApprovalId, String>,
    spent: BTreeSet<ApprovalId>,
    reported: BTreeSet<ApprovalId>,
    /// Questions that were asked, and not reported as spent or rejected.
    open: BTreeMap<ApprovalId, String>,
    end: u64,
}

impl Claims {
    fn listen(&mut self, lines: &[String]) {
        for line in lines {
            let mut words = line.split(' ');
            let what = match (words.next(), words.next()) {
                (Some("ack"), Some(what)) => what,
                (Some("failed"), _) => panic!("{line}"),
                _ => continue,
            };
            let id = ApprovalId::parse(words.next().unwrap()).unwrap();
            let more = words.next().unwrap_or_default().to_owned();
            let first = match what {
                "ask" => {
                    self.open.insert(id.clone(), more);
                    self.asked.insert(id)
                }
                "answer" => self.answered.insert(id, more).is_none(),
                "spend" => self.spent.insert(id),
                "report" => self.reported.insert(id),
                other => panic!("{other}"),
            };
            assert!(first, "done twice: {line}");
        }
    }

    /// Checks the store, as the next gate.
    fn check(&mut self, folder: &Path, secrets: &(Secret, Secret)) {
        let gate = open(folder);
        let report = block_on(gate.verify()).unwrap();
        assert_eq!(report.damage, []);
        assert!(report.end >= self.end, "records are lost");
        self.end = report.end;
        let owner = block_on(gate.sign_in(&secrets.0)).unwrap();
        let state = |id: &ApprovalId| block_on(gate.card(&owner, id)).unwrap().state.as_str();
        for id in &self.asked {
            let state = state(id);
            if let Some(said) = self.answered.get(id) {
                assert_ne!(state, "pending", "the answer to {id} is lost");
                assert_eq!(said == "Reject", state == "rejected", "{id} was answered {said}");
            }
            if self.spent.contains(id) {
                assert!(["started", "done"].contains(&state), "{id} could be spent again");
            }
            if self.reported.contains(id) {
                assert_eq!(state, "done", "the report of {id} is lost");
            }
            if !["pending", "approved"].contains(&state) {
                self.open.remove(id);
            }
        }
        let pending = Query { states: vec!["pending"], ..Query::of(Kind::Approval) };
        let pending = block_on(gate.store().count(&pending)).unwrap();
        let key = format!("user:{}:pending", owner.user().id);
        assert_eq!(block_on(gate.store().counter(&key)), Ok(pending));
        self.check_record(&gate);
    }

    /// Checks that every start is recorded once, and that all reported ones are among them.
    fn check_record(&self, gate: &Gate) {
        let (mut asked, mut started) = (BTreeSet::new(), BTreeSet::new());
        let mut query = RecordQuery::default();
        loop {
            let page = block_on(gate.store().records(&query)).unwrap();
            let Some(last) = page.last() else { break };
            query.after = last.number;
            for record in page {
                let payload = record.content.unwrap().payload;
                let payload: Value = serde_json::from_str(&payload).unwrap();
                let word = |name| payload.get(name).and_then(Value::as_str).unwrap_or_default();
                if record.event == "critical_point" {
                    asked.insert(word("approval").to_owned());
                }
                if word("status") == "started" {
                    assert!(started.insert(word("id").to_owned()), "started twice: {payload}");
                }
            }
        }
        for id in &self.asked {
            assert!(asked.contains(id.as_str()), "{id} is not on record");
        }
        for id in &self.spent {
            assert!(started.contains(ActionId::of(id).as_str()), "{id} is not on record");
        }
    }
}
