//! The gate on a real disk: from a proposal to a permit with its durable record, from an answer to
//! the agent that waits for it, alone and with a hundred thousand questions waiting.
//!
//! Everything is compared with a loop that inserts one row per commit into SQLite, in the same
//! run on the same disk.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use countersign_core::{Action, Policy};
use countersign_gate::approval::Answer;
use countersign_gate::clock::{Fake, System, Timestamp};
use countersign_gate::gate::PersonAnswer;
use countersign_gate::id::ApprovalId;
use countersign_gate::key::{Access, Devices, NewKey};
use countersign_gate::keyring::Keyring;
use countersign_gate::rate::Rate;
use countersign_gate::scope::Scope;
use countersign_gate::store::{self, StoreUrl};
use countersign_gate::{Caller, Config, Gate, Parts, Person, Proposal, Submitted, process};
use pollster::block_on;
use rusqlite::Connection;

use crate::sample::Times;

type Outcome<T> = Result<T, Box<dyn Error>>;

const PENDING: usize = 100_000;
/// Agents at once.
const CROWD: usize = 100;

/// The table, from an empty folder to a full one.
pub(crate) fn table() -> Outcome<String> {
    let folder = Folder::new()?;
    let plain = plain_inserts(&folder.0)?;
    let before = kilobytes_now()?;
    let bench = Bench::open(&folder.0)?;
    let alone = bench.allow(1, 300)?;
    let crowd = bench.allow(CROWD, 200)?;
    let answers = bench.answers(300)?;
    let file_before = file_size(&folder.0)?;
    let asked = bench.fill(PENDING)?;
    let file_after = file_size(&folder.0)?;
    let after = kilobytes_now()?;
    let alone_full = bench.allow(1, 300)?;
    let crowd_full = bench.allow(CROWD, 200)?;
    let answers_full = bench.answers(300)?;

    let proposals = format!(
        "| the gate, on disk | p50 µs | p99 µs | per second | against a plain insert |\n\
         |---|---|---|---|---|\n{}{}{}{}{}{}",
        line("SQLite, one row per commit", &plain, &plain),
        line("submit → permit, 1 agent", &alone, &plain),
        line(&format!("submit → permit, {CROWD} agents"), &crowd, &plain),
        line("the same 1 agent with 100,000 pending", &alone_full, &plain),
        line(&format!("the same {CROWD} agents with 100,000 pending"), &crowd_full, &plain),
        line(&format!("submit → waiting, {CROWD} agents"), &asked, &plain),
    );
    let people = format!(
        "\n| a person answers | p50 µs | p99 µs |\n|---|---|---|\n{}{}{}{}",
        pair("answer, durable", &answers.durable),
        pair("from then until the agent wakes", &answers.woken),
        pair("answer with 100,000 pending", &answers_full.durable),
        pair("from then until the agent wakes, with 100,000 pending", &answers_full.woken),
    );
    let size = format!(
        "\n| one pending approval | bytes |\n|---|---|\n| in memory | {} |\n| on disk | {} |\n",
        after.saturating_sub(before) * 1_024 / PENDING as u64,
        file_after.saturating_sub(file_before) / PENDING as u64,
    );
    Ok([proposals, people, size].concat())
}

/// Times of many, and how long they took together.
struct Run {
    times: Times,
    took: Duration,
}

impl Run {
    fn rate(&self) -> f64 {
        f64::from(u32::try_from(self.times.len()).unwrap_or(u32::MAX)) / self.took.as_secs_f64()
    }
}

fn line(what: &str, run: &Run, plain: &Run) -> String {
    format!(
        "| {what} | {:.0} | {:.0} | {:.0} | {:.2}× |\n",
        run.times.median(),
        run.times.percentile(99),
        run.rate(),
        run.rate() / plain.rate(),
    )
}

fn pair(what: &str, times: &Times) -> String {
    format!("| {what} | {:.0} | {:.0} |\n", times.median(), times.percentile(99))
}

fn plain_inserts(folder: &Path) -> Outcome<Run> {
    let database = Connection::open(folder.join("plain.db"))?;
    database.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(id INTEGER PRIMARY KEY, body TEXT);",
    )?;
    let mut times = Times::default();
    let started = Instant::now();
    for number in 0..300 {
        times.add(|| {
            database.execute("INSERT INTO t(body) VALUES (?1)", [format!("{number:0>300}")])
        })?;
    }
    Ok(Run { times, took: started.elapsed() })
}

struct Bench {
    gate: Arc<Gate>,
    owner: Person,
    agent: Caller,
}

/// How an answer went, and how soon the agent heard of it.
struct Answers {
    durable: Times,
    woken: Times,
}

impl Bench {
    fn open(folder: &Path) -> Outcome<Self> {
        // Keys that everybody can guess do for a measurement.
        let keyring = Arc::new(Keyring::open(folder, &Fake::at(Timestamp(0)))?);
        let unhurried = Rate { uses: u32::MAX, seconds: 1 };
        let gate = block_on(Gate::open(Parts {
            store: store::open(&StoreUrl::in_folder(folder), keyring.clone())?,
            keyring,
            clock: Arc::new(System),
            processes: Arc::new(process::System),
            policy: Policy::default(),
            config: Config { most_pending: u64::MAX, prompts: unhurried, ..Config::default() },
        }))?;
        let (_, link) = block_on(gate.first_start("bench"))?.ok_or("not the first start")?;
        let owner = block_on(gate.sign_in(&block_on(gate.accept(&link, "bench"))?))?;
        let workspace = owner.user().workspaces.keys().next().cloned().ok_or("no workspace")?;
        let key = NewKey {
            name: "bench".into(),
            workspace,
            scopes: vec![Scope::parse("*", &[].into())?],
            access: Access::Agent,
            devices: Devices::Any,
            writes: unhurried,
            expires_at: None,
        };
        let made = block_on(gate.create_key(&owner, key))?;
        let agent = block_on(gate.authenticate(&made.secret, None))?;
        Ok(Self { gate: Arc::new(gate), owner, agent })
    }

    /// From a proposal to a permit whose record is on the disk.
    fn allow(&self, agents: usize, each: usize) -> Outcome<Run> {
        self.crowd(agents, each, |agent, number| format!("ls -la src/{agent}/{number}"))
    }

    /// Puts questions that nobody answers.
    fn fill(&self, many: usize) -> Outcome<Run> {
        let each = many / CROWD;
        self.crowd(CROWD, each, |agent, number| {
            format!("git push --force origin b{agent}-{number}")
        })
    }

    fn crowd(
        &self,
        agents: usize,
        each: usize,
        command: fn(usize, usize) -> String,
    ) -> Outcome<Run> {
        let started = Instant::now();
        let threads: Vec<_> = (0..agents)
            .map(|agent| {
                let (gate, caller) = (self.gate.clone(), self.agent.clone());
                thread::spawn(move || {
                    let mut times = Times::default();
                    for number in 0..each {
                        let proposal = shell(&command(agent, number));
                        let submitted = times.add(|| block_on(gate.submit(&caller, &proposal)));
                        match submitted {
                            Ok(Submitted::Permitted(..) | Submitted::Waiting(_)) => {}
                            other => return Err(format!("{other:?}")),
                        }
                    }
                    Ok(times)
                })
            })
            .collect();
        let mut times = Times::default();
        for thread in threads {
            times.extend(thread.join().map_err(|_| "an agent died")??);
        }
        Ok(Run { times, took: started.elapsed() })
    }

    /// A person answers while the agent waits.
    fn answers(&self, many: usize) -> Outcome<Answers> {
        let mut answers = Answers { durable: Times::default(), woken: Times::default() };
        for number in 0..many {
            let approval = self.ask(&format!("git push --force origin answer-{number}"))?;
            let (gate, caller, waits_for) =
                (self.gate.clone(), self.agent.clone(), approval.clone());
            let (ready, is_ready) = mpsc::channel();
            let waiter = thread::spawn(move || {
                let _ = ready.send(());
                let state = block_on(gate.settled(&caller, &waits_for));
                (Instant::now(), state.is_ok())
            });
            is_ready.recv()?;
            // Long enough that it waits for the event, not for the store.
            thread::sleep(Duration::from_millis(1));
            let reply = PersonAnswer::plain(approval, Answer::Approve);
            answers.durable.add(|| block_on(self.gate.answer(&self.owner, reply)))?;
            let answered = Instant::now();
            let (woken, told) = waiter.join().map_err(|_| "the agent died")?;
            if !told {
                return Err("the agent was not told".into());
            }
            answers.woken.push(woken.saturating_duration_since(answered));
        }
        Ok(answers)
    }

    fn ask(&self, command: &str) -> Outcome<ApprovalId> {
        match block_on(self.gate.submit(&self.agent, &shell(command)))? {
            Submitted::Waiting(waiting) => Ok(waiting.approval),
            other => Err(format!("{other:?}").into()),
        }
    }
}

fn shell(command: &str) -> Proposal {
    Proposal::of(Action::Shell { command: command.into(), cwd: Some("/work".into()) })
}

fn kilobytes_now() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().next().ok_or("no number")?.parse()?)
}

fn file_size(folder: &Path) -> Outcome<u64> {
    Ok(fs::metadata(folder.join("gate.db"))?.len())
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Outcome<Self> {
        let path = std::env::temp_dir().join(format!("countersign-bench-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
