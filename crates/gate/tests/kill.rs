//! A process that uses the store is killed in the middle of its work, again and again. Everything
//! that it reported as done must be done, nothing may be done twice, and the chain must verify.
//!
//! The test binary runs itself as that process. `KILLS` is the number of kills, and `KILL_SEED`
//! repeats the moments of an earlier run.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use countersign_gate::audit::{Draft, Event, RecordOwner, Verifier};
use countersign_gate::clock::{System, Timestamp, random};
use countersign_gate::keyring::Keyring;
use countersign_gate::store::{
    self, Batch, CommitError, Count, CountStep, Doc, Erase, Kind, Query, RecordQuery, Store,
    StoreUrl, Stored, Write,
};
use pollster::block_on;
use serde_json::{Value, json};

#[path = "kill/gate.rs"]
mod gate;

const FILE: &str = "store.db";
const THREADS: u64 = 6;
const MOST_PENDING: u64 = 12;

#[test]
fn nothing_is_lost_or_done_twice_when_the_process_is_killed() {
    let (kills, seed) = kills_and_seed(60);
    let folder = Folder::new(seed);
    let mut dice = Dice(seed);
    let mut told = Reported::default();
    for round in 0..kills {
        let moment = Duration::from_micros(dice.below(120_000));
        told.listen(&run_and_kill(&folder.0, dice.next(), moment));
        told.check(&folder.0, round);
    }
    println!("{} spent, {} records", told.spent.len(), told.end.0);
    // A machine that is too slow to get anything done in time would prove nothing.
    assert!(!told.spent.is_empty());
}

fn kills_and_seed(kills: u64) -> (u64, u64) {
    let number = |name| env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let kills = number("KILLS").unwrap_or(kills);
    let seed = number("KILL_SEED")
        .unwrap_or_else(|| u64::from(u32::from_le_bytes(random(&System).unwrap())));
    println!("KILLS={kills} KILL_SEED={seed}");
    (kills, seed)
}

/// Not a test by itself: the process that the other test runs and kills.
#[test]
fn the_child_works_until_it_is_killed() {
    let (Ok(folder), Ok(seed)) = (env::var("KILL_CHILD"), env::var("KILL_CHILD_SEED")) else {
        return;
    };
    let seed: u64 = seed.parse().unwrap();
    let url = StoreUrl::Sqlite(Path::new(&folder).join(FILE));
    let store = store::danger_open_or_begin(&url, keyring()).unwrap();
    println!();
    let query = Query { states: vec!["pending", "approved"], ..Query::of(Kind::Approval) };
    let open = block_on(store.find(&query)).unwrap().into_iter().map(|stored| stored.doc.id);
    let open = Mutex::new(open.collect::<Vec<_>>());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, open) = (&*store, &open);
            scope
                .spawn(move || work(store, open, &format!("{seed}-{thread}"), Dice(seed + thread)));
        }
    });
}

/// Asks, answers and spends for ever, in competition with the other threads.
fn work(store: &dyn Store, open: &Mutex<Vec<String>>, name: &str, mut dice: Dice) {
    for number in 0_u64.. {
        let id = {
            let open = open.lock().unwrap();
            let chosen = usize::try_from(dice.below(2 * MOST_PENDING)).unwrap();
            open.get(chosen).cloned()
        };
        let (operation, id, batch) = match id {
            Some(id) => {
                let Some((operation, batch)) = advance(store, &id) else {
                    open.lock().unwrap().retain(|other| *other != id);
                    continue;
                };
                (operation, id, batch)
            }
            None if dice.below(40) == 0 => ("noise", String::new(), noise(&mut dice)),
            None => {
                let id = format!("{name}-{number}");
                let batch = step("ask", Write::Insert(doc(&id, "pending")), Some(UP));
                ("ask", id, batch)
            }
        };
        match block_on(store.commit(batch)) {
            Ok(_) => say(&format!("ack {operation} {id}")),
            Err(CommitError::Conflict { .. } | CommitError::Full { .. }) => continue,
            Err(error) => say(&format!("failed {operation} {id}: {error}")),
        }
        if operation == "ask" {
            open.lock().unwrap().push(id);
        }
    }
}

const UP: CountStep = CountStep::Up { most: MOST_PENDING };

/// The next step of a document, if there is one.
fn advance(store: &dyn Store, id: &str) -> Option<(&'static str, Batch)> {
    let Stored { doc: Doc { state, .. }, version } =
        block_on(store.get(Kind::Approval, id)).unwrap()?;
    match state.as_str() {
        "pending" => {
            let write = Write::Replace(doc(id, "approved"), version);
            Some(("answer", step("answer", write, Some(CountStep::Down))))
        }
        "approved" => {
            let write = Write::Replace(doc(id, "started"), version);
            Some(("spend", step("spend", write, None)))
        }
        _ => None,
    }
}

fn step(operation: &str, write: Write, count: Option<CountStep>) -> Batch {
    let (Write::Insert(doc) | Write::Replace(doc, _)) = &write else {
        panic!("nothing is deleted here")
    };
    let counts = count.map(|step| Count { key: "pending".to_owned(), step });
    let records = vec![draft("ann", &json!({"operation": operation, "id": doc.id}))];
    let counts = counts.into_iter().collect();
    Batch { writes: vec![write], counts, records, ..Batch::default() }
}

/// Records that are made and erased again, which empties the write-ahead log.
fn noise(dice: &mut Dice) -> Batch {
    let owner = Some("noise".to_owned());
    let erase = Erase { owner, by: "request".to_owned(), ..Erase::default() };
    let erase = (dice.below(4) == 0).then_some(erase);
    Batch { records: vec![draft("noise", &json!({}))], erase, ..Batch::default() }
}

fn draft(owner: &str, payload: &Value) -> Draft {
    let record_owner = RecordOwner { owner: Some(owner.to_owned()), ..RecordOwner::default() };
    Draft::new(Timestamp(0), Event::Approval, record_owner, payload.to_string(), [7; 16])
}

fn doc(id: &str, state: &str) -> Doc {
    Doc {
        kind: Kind::Approval,
        id: id.to_owned(),
        owner: Some("ann".to_owned()),
        workspace: None,
        session: Some("s".to_owned()),
        fingerprint: None,
        state: state.to_owned(),
        due: None,
        body: json!({"filling": "x".repeat(300)}).to_string(),
    }
}

/// Prints a line in one write, so that it is either whole or missing.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

fn keyring() -> Arc<Keyring> {
    Arc::new(Keyring::from_seed(&[4; 32]))
}

/// Runs the child until it is killed, and returns its output.
fn run_and_kill(folder: &Path, seed: u64, moment: Duration) -> Vec<String> {
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .args(["the_child_works_until_it_is_killed", "--exact", "--nocapture"])
        .env("KILL_CHILD", folder)
        .env("KILL_CHILD_SEED", (seed >> 32).to_string());
    kill_after(&mut child, moment)
}

fn kill_after(command: &mut Command, moment: Duration) -> Vec<String> {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let listener = thread::spawn(move || out.lines().map_while(Result::ok).collect());
    thread::sleep(moment);
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "the child ended by itself");
    listener.join().unwrap()
}

/// The steps that all children so far reported as done.
#[derive(Default)]
struct Reported {
    asked: BTreeSet<String>,
    answered: BTreeSet<String>,
    spent: BTreeSet<String>,
    end: (u64, [u8; 32]),
}

impl Reported {
    fn listen(&mut self, lines: &[String]) {
        for line in lines {
            let mut words = line.split(' ');
            let told = match (words.next(), words.next()) {
                (Some("ack"), Some("ask")) => &mut self.asked,
                (Some("ack"), Some("answer")) => &mut self.answered,
                (Some("ack"), Some("spend")) => &mut self.spent,
                (Some("failed"), _) => panic!("{line}"),
                _ => continue,
            };
            assert!(told.insert(words.next().unwrap().to_owned()), "done twice: {line}");
        }
    }

    /// Checks the store, first as another process would, then as the next server.
    fn check(&mut self, folder: &Path, round: u64) {
        let path = folder.join(FILE);
        let url = StoreUrl::Sqlite(path.clone());
        if round.is_multiple_of(5) && path.exists() {
            if let Ok(store) = store::open_read_only(&url) {
                self.check_chain(&*store);
            } else {
                // Killed before the schema was created: then nothing was reported either.
                assert_eq!(self.asked.len(), 0);
            }
        }
        let store = store::danger_open_or_begin(&url, keyring()).unwrap();
        self.check_chain(&*store);
        self.check_documents(&*store);
        drop(store);
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        // Killed during the write of a note; the next note overwrites it.
        names.retain(|name| name != "store.noted.new");
        names.sort_unstable();
        assert_eq!(names, [FILE, "store.noted"]);
    }

    fn check_chain(&mut self, store: &dyn Store) {
        let verifier = Verifier::new(block_on(store.chain()).unwrap(), keyring().public());
        let mut verifier = verifier.with_note(&store.noted());
        if self.end.0 > 0 {
            verifier = verifier.expecting(self.end.0, self.end.1);
        }
        let mut done: BTreeMap<(String, String), u64> = BTreeMap::new();
        let mut query = RecordQuery::default();
        loop {
            let page = block_on(store.records(&query)).unwrap();
            let Some(last) = page.last() else { break };
            query.after = last.number;
            for record in &page {
                verifier.next(record);
                let Some(content) = &record.content else { continue };
                let payload: Value = serde_json::from_str(&content.payload).unwrap();
                let word = |name| payload.get(name).and_then(Value::as_str).map(str::to_owned);
                if let (Some(operation), Some(id)) = (word("operation"), word("id")) {
                    *done.entry((operation, id)).or_default() += 1;
                }
            }
        }
        let report = verifier.finish();
        assert_eq!(report.damage, []);
        self.end = (report.end, report.end_hash);
        for (operation, ids) in
            [("ask", &self.asked), ("answer", &self.answered), ("spend", &self.spent)]
        {
            for id in ids {
                let key = (operation.to_owned(), id.clone());
                assert_eq!(done.get(&key), Some(&1), "{operation} {id} was said to be done");
            }
        }
        for (key, times) in &done {
            assert_eq!(*times, 1, "{key:?} was done more than once");
        }
        let expected =
            |operation: &str| done.keys().filter(|(done, _)| done == operation).count() as u64;
        let count = |states: &[&'static str]| {
            let query = Query { states: states.to_vec(), ..Query::of(Kind::Approval) };
            block_on(store.count(&query)).unwrap()
        };
        assert_eq!(count(&["pending", "approved", "started"]), expected("ask"));
        assert_eq!(count(&["approved", "started"]), expected("answer"));
        assert_eq!(count(&["started"]), expected("spend"));
    }

    fn check_documents(&self, store: &dyn Store) {
        let state = |id: &String| {
            let stored = block_on(store.get(Kind::Approval, id)).unwrap();
            stored.map(|stored| stored.doc.state)
        };
        for id in &self.asked {
            assert!(state(id).is_some(), "{id} is lost");
        }
        for id in &self.answered {
            assert_ne!(state(id).as_deref(), Some("pending"), "the answer to {id} is lost");
        }
        for id in &self.spent {
            assert_eq!(state(id).as_deref(), Some("started"), "{id} could be spent again");
        }
        let pending = Query { states: vec!["pending"], ..Query::of(Kind::Approval) };
        let pending = block_on(store.count(&pending)).unwrap();
        assert_eq!(block_on(store.counter("pending")), Ok(pending));
    }
}

/// Splitmix: the same every time for the same seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A folder that is deleted when the test has passed, and kept for inspection when it has not.
struct Folder(PathBuf);

impl Folder {
    fn new(seed: u64) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("countersign-kill-{}-{seed}-{next}", std::process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
