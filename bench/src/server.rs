//! The server on loopback, as a process of its own: decisions with their durable record beside a
//! bare echo, devices by the thousand, and what it takes up while it works.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;

use crate::sample::Times;

mod attack;
mod client;
mod device;
mod process;
mod waiting;

use client::{Client, Crowd};
use device::Devices;
use process::{Echo, Gate};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What an agent proposes again and again.
const SAFE: &str = r#"{"action":{"kind":"shell","command":"ls -la src"}}"#;
const PENDING: u32 = 100_000;
const DEVICES: usize = 10_000;
const BROADCASTS: usize = 20;
/// Agents that ask at once.
const CROWD: usize = 128;
/// Proposals in one request, where they come together.
const TOGETHER: u32 = 32;
const RUN: Duration = Duration::from_secs(4);

/// The bare server that ours is compared with.
pub(crate) fn echo() -> Outcome<()> {
    Runtime::new()?.block_on(process::echo())
}

/// The tables.
pub(crate) fn table(binary: &Path) -> Outcome<String> {
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let decisions = decisions(binary).await?;
        let devices = devices(binary).await?;
        let waiting = waiting::table(binary).await?;
        let attack = attack::table(binary).await?;
        Ok([decisions, devices, "\n".to_owned(), waiting, attack].concat())
    })
}

/// The table of what people wait for under attack, alone.
pub(crate) fn attack(binary: &Path) -> Outcome<String> {
    Runtime::new()?.block_on(attack::table(binary))
}

/// The table of hooks that wait, alone.
pub(crate) fn waiting(binary: &Path) -> Outcome<String> {
    Runtime::new()?.block_on(waiting::table(binary))
}

async fn decisions(binary: &Path) -> Outcome<String> {
    let echo = Echo::start()?;
    let gate = Gate::start(binary).await?;
    let mut lines = String::new();
    let one = Asked::alone();
    for connections in [1, 16, 128] {
        lines.push_str(&compared(&echo, &gate, &one, connections, "").await?);
    }
    for connections in [1, 16] {
        let note = format!(", {TOGETHER} proposals a request");
        lines.push_str(&compared(&echo, &gate, &Asked::together(), connections, &note).await?);
    }
    let began = Instant::now();
    fill(&gate, PENDING).await?;
    let rate = f64::from(PENDING) / began.elapsed().as_secs_f64();
    lines.push_str(&compared(&echo, &gate, &one, 128, ", 100,000 pending").await?);
    let memory = gate.kilobytes()?;
    Ok(format!(
        "| the server, on loopback | bare echo per second | decisions per second | ratio | p50 µs | p99 µs |\n\
         |---|---|---|---|---|---|\n{lines}\n\
         Filling it with 100,000 questions: {rate:.0} per second; {memory} KB of memory after.\n\n"
    ))
}

/// What is asked of the server: one proposal a request, or several.
struct Asked {
    path: &'static str,
    body: String,
    decisions: u32,
}

impl Asked {
    fn alone() -> Self {
        Self { path: "/api/actions", body: SAFE.to_owned(), decisions: 1 }
    }

    fn together() -> Self {
        let all: Vec<_> = (0..TOGETHER).map(|_| SAFE).collect();
        let body = format!("{{\"proposals\":[{}]}}", all.join(","));
        Self { path: "/api/actions/batch", body, decisions: TOGETHER }
    }
}

/// Both in turns, so that a busy machine slows them alike. The echo gets one small body a request.
async fn compared(
    echo: &Echo,
    gate: &Gate,
    asked: &Asked,
    connections: usize,
    note: &str,
) -> Outcome<String> {
    let (mut bare, mut ours, mut times) = (0.0, 0.0, Times::default());
    for _ in 0..2 {
        let target = Client::new(echo.address, "/api/actions", "");
        bare += Crowd::new(target, connections).run(SAFE, RUN).await?.rate() / 2.0;
        let target = Client::new(gate.address, asked.path, &gate.key);
        let run = Crowd::new(target, connections).run(&asked.body, RUN).await?;
        ours += run.rate() * f64::from(asked.decisions) / 2.0;
        times = run.times;
    }
    Ok(format!(
        "| {connections} connections{note} | {bare:.0} | {ours:.0} | {:.2}× | {:.0} | {:.0} |\n",
        ours / bare,
        times.median(),
        times.percentile(99),
    ))
}

/// Asks so many questions, each about another action.
async fn fill(gate: &Gate, count: u32) -> Outcome<()> {
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..128 {
        let client = Client::new(gate.address, "/api/actions", &gate.key);
        tasks.spawn(async move {
            let mut connection = client.connect().await.map_err(|error| error.to_string())?;
            for number in (worker..count).step_by(CROWD) {
                let command = format!("git push --force origin branch-{number}");
                let body = json!({"action": {"kind": "shell", "command": command}}).to_string();
                let status = connection.post(&body).await.map_err(|error| error.to_string())?;
                if status != 202 {
                    return Err(format!("a question was answered with {status}"));
                }
            }
            Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

async fn devices(binary: &Path) -> Outcome<String> {
    let gate = Gate::start(binary).await?;
    let before = gate.kilobytes()?;
    let began = Instant::now();
    let devices = Devices::connect(gate.address, &gate.device, DEVICES).await?;
    let connecting = began.elapsed();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let after = gate.kilobytes()?;
    let client = Client::new(gate.address, "/api/actions", &gate.key);
    let mut connection = client.connect().await?;
    let mut all = Times::default();
    let mut last = Times::default();
    for number in 0..BROADCASTS {
        let command = format!("git push --force origin round-{number}");
        let body = json!({"action": {"kind": "shell", "command": command}}).to_string();
        let (times, slowest) = devices.broadcast(async { connection.post(&body).await }).await?;
        for time in times {
            all.push(time);
        }
        last.push(slowest);
    }
    let each = after.saturating_sub(before) * 1_024 / DEVICES as u64;
    Ok(format!(
        "| {DEVICES} devices on WebSockets | |\n|---|---|\n\
         | connected in | {:.1} s |\n| memory per connection | {each} bytes |\n\
         | question asked → device told, p50 | {:.1} ms |\n\
         | question asked → device told, p99 | {:.1} ms |\n\
         | until the last of them is told, p50 | {:.1} ms |\n",
        connecting.as_secs_f64(),
        all.median() / 1_000.0,
        all.percentile(99) / 1_000.0,
        last.median() / 1_000.0,
    ))
}

/// Keeps a server busy for so many minutes: decisions, questions asked and answered, devices that
/// come and go. What it takes up must not grow.
pub(crate) fn soak(binary: &Path, minutes: u64) -> Outcome<String> {
    Runtime::new()?.block_on(async {
        let gate = Gate::start(binary).await?;
        let until = Instant::now() + Duration::from_mins(minutes);
        let mut lines = String::from(
            "| minute | decisions | answered | memory KB | open files |\n|---|---|---|---|---|\n",
        );
        let (mut minute, mut decided, mut answered) = (0, 0, 0);
        while Instant::now() < until {
            let began = Instant::now();
            while began.elapsed() < Duration::from_mins(1) {
                let client = Client::new(gate.address, "/api/actions", &gate.key);
                let run = Crowd::new(client, 16).run(SAFE, Duration::from_secs(2)).await?;
                decided += run.times.len();
                answered += gate.ask_and_answer(50).await?;
                drop(Devices::connect(gate.address, &gate.device, 50).await?);
            }
            minute += 1;
            let line = format!(
                "| {minute} | {decided} | {answered} | {} | {} |\n",
                gate.kilobytes()?,
                gate.open_files()?
            );
            eprint!("{line}");
            lines.push_str(&line);
        }
        Ok(lines)
    })
}
