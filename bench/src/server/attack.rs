//! What people wait for while sixteen callers send the slowest inputs we know.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::Outcome;
use super::client::Client;
use super::process::Gate;
use crate::sample::Times;

/// Callers that send slow inputs, each with a key of its own.
const CALLERS: usize = 16;
/// How often each thing is measured.
const ROUNDS: usize = 200;
/// About as large as a body may be, with what JSON adds.
const LARGE: usize = 900_000;

/// The table.
pub(super) async fn table(binary: &Path) -> Outcome<String> {
    let gate = Gate::start(binary).await?;
    let quiet = Measured::take(&gate).await?;
    let attack = Attack::start(&gate).await?;
    let attacked = Measured::take(&gate).await?;
    let (answers, broken) = attack.end();
    let mut lines = String::new();
    for (what, quiet, attacked) in [
        ("halt", &quiet.halts, &attacked.halts),
        ("an answer", &quiet.answers, &attacked.answers),
        ("a small proposal of another key", &quiet.proposals, &attacked.proposals),
    ] {
        let ms = |time: f64| time / 1_000.0;
        writeln!(
            lines,
            "| {what} | {:.1} | {:.1} | {:.1} | {:.1} |",
            ms(quiet.median()),
            ms(quiet.percentile(99)),
            ms(attacked.median()),
            ms(attacked.percentile(99)),
        )?;
    }
    Ok(format!(
        "| while {CALLERS} callers send the slowest inputs we know | alone: p50 ms | p99 ms | under attack: p50 ms | p99 ms |\n\
         |---|---|---|---|---|\n{lines}\n\
         Meanwhile the {CALLERS} callers got {answers} answers, refusals included, and {broken} connections were closed on them.\n\n"
    ))
}

/// How long people waited.
struct Measured {
    halts: Times,
    answers: Times,
    proposals: Times,
}

impl Measured {
    async fn take(gate: &Gate) -> Outcome<Self> {
        let person = |path: &str| Client::new(gate.address, path, &gate.device);
        let mut halt = person("/api/halt").connect().await?;
        let mut resume = person("/api/halt/resume").connect().await?;
        let mut agent = Client::new(gate.address, "/api/actions", &gate.key).connect().await?;
        let (mut halts, mut answers) = (Times::default(), Times::default());
        let mut proposals = Times::default();
        for round in 0..ROUNDS {
            let nonce = Instant::now();
            let command = format!("git push --force origin attack-{round}-{nonce:?}");
            let body = json!({"action": {"kind": "shell", "command": command}}).to_string();
            let asked = Instant::now();
            let (status, answer) = agent.post_for(&body).await?;
            proposals.push(asked.elapsed());
            expect(status, 202)?;
            let answer: Value = serde_json::from_str(&answer)?;
            let id = answer.get("approval_id").and_then(Value::as_str).unwrap_or_default();
            let mut respond = person(&format!("/api/approvals/{id}/respond")).connect().await?;
            let answered = Instant::now();
            expect(respond.post(r#"{"approved":false}"#).await?, 200)?;
            answers.push(answered.elapsed());
            let halted = Instant::now();
            expect(halt.post("").await?, 204)?;
            halts.push(halted.elapsed());
            expect(resume.post("").await?, 204)?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Self { halts, answers, proposals })
    }
}

fn expect(status: u16, wanted: u16) -> Outcome<()> {
    if status == wanted { Ok(()) } else { Err(format!("answered with {status}").into()) }
}

/// Callers that send slow inputs until they are told to end.
struct Attack {
    over: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
    /// Connections that ended without an answer.
    broken: Arc<AtomicU64>,
    _callers: JoinSet<()>,
}

impl Attack {
    async fn start(gate: &Gate) -> Outcome<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let (answers, broken) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let bodies: Arc<Vec<String>> = Arc::new(slow_inputs().iter().map(body).collect());
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let key = gate.another_key().await?;
            let client = Client::new(gate.address, "/api/actions", &key);
            let over = Arc::clone(&over);
            let (answers, broken) = (Arc::clone(&answers), Arc::clone(&broken));
            let bodies = Arc::clone(&bodies);
            callers.spawn(async move {
                let mut turn = caller;
                while !over.load(Ordering::Relaxed) {
                    let Ok(mut connection) = client.connect().await else { continue };
                    let Some(body) = bodies.get(turn % bodies.len()) else { return };
                    let is_answered = connection.post(body).await.is_ok();
                    let count = if is_answered { &answers } else { &broken };
                    count.fetch_add(1, Ordering::Relaxed);
                    turn += 1;
                }
            });
        }
        // Long enough that every slot is occupied and every queue has something in it.
        tokio::time::sleep(Duration::from_secs(2)).await;
        Ok(Self { over, answers, broken, _callers: callers })
    }

    /// How many answers they got, and how many connections were closed on them.
    fn end(self) -> (u64, u64) {
        self.over.store(true, Ordering::Relaxed);
        (self.answers.load(Ordering::Relaxed), self.broken.load(Ordering::Relaxed))
    }
}

fn body(command: &String) -> String {
    json!({"action": {"kind": "shell", "command": command}}).to_string()
}

/// The slowest inputs for the judge that we know, as large as a request may be.
fn slow_inputs() -> Vec<String> {
    let repeat = |line: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for number in 0.. {
            if text.len() >= LARGE {
                break;
            }
            text.push_str(&line(number));
        }
        text
    };
    let aliases = repeat(&|number| format!("alias a{}=a{number}\n", number + 1));
    let last = aliases.lines().count();
    vec![
        format!("{aliases}a{last}\n"),
        repeat(&|number| format!("rm -rf ~/d{number};")),
        repeat(&|number| format!("cd d{number};rm f\n")),
        format!("x=a\n{}", repeat(&|_| "x=$x/aaaa;cat $x\n".to_owned())),
    ]
}
