//! Hooks that wait for a person: how much they do meanwhile, and how soon they end after an answer.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Outcome;
use super::client::Client;
use super::device::Devices;
use super::process::Gate;
use crate::sample::Times;

/// Hooks that wait at the same time.
const HOOKS: u32 = 10;
/// How long they are watched.
const WATCHED: Duration = Duration::from_secs(30);
/// Answers that are measured.
const ANSWERS: usize = 200;
/// How long a question may take to be put before something is wrong.
const PATIENCE: Duration = Duration::from_secs(30);

/// The tables.
pub(super) async fn table(binary: &Path) -> Outcome<String> {
    let gate = Gate::start(binary).await?;
    // Without somebody who listens, nobody is asked.
    let _person = Devices::connect(gate.address, &gate.device, 1).await?;
    let idle = idle(binary, &gate).await?;
    let released = released(binary, &gate).await?;
    let ms = |percent| released.percentile(percent) / 1_000.0;
    Ok(format!(
        "| a hook that waits for a person | |\n|---|---|\n{idle}\
         | answer sent → hook has ended, p50 | {:.1} ms |\n\
         | answer sent → hook has ended, p99 | {:.1} ms |\n\n",
        ms(50),
        ms(99),
    ))
}

/// How much hooks do while nothing happens.
async fn idle(binary: &Path, gate: &Gate) -> Outcome<String> {
    let mut hooks = Vec::new();
    for number in 0..HOOKS {
        hooks.push(Hook::start(binary, gate, &format!("idle-{number}"))?);
    }
    pending(gate, HOOKS).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (before, requests) = (Work::of_all(&hooks)?, gate.requests().await?);
    tokio::time::sleep(WATCHED).await;
    let (after, later) = (Work::of_all(&hooks)?, gate.requests().await?);
    for id in pending(gate, HOOKS).await? {
        respond(gate, &id).await?;
    }
    for hook in hooks {
        hook.end()?;
    }
    // The one request more is that for the count itself.
    let requests = later.saturating_sub(requests).saturating_sub(1);
    let minutes = f64::from(HOOKS) * WATCHED.as_secs_f64() / 60.0;
    let a_minute = |count: u64| Duration::from_millis(count).as_secs_f64() * 1_000.0 / minutes;
    Ok(format!(
        "| processor time, ms a minute | {:.1} |\n\
         | times it wakes up, a minute | {:.1} |\n\
         | requests that end, a minute | {:.1} |\n",
        a_minute(after.milliseconds - before.milliseconds),
        a_minute(after.wakes - before.wakes),
        a_minute(requests),
    ))
}

/// How long after an answer a hook has ended, which is when its host goes on.
async fn released(binary: &Path, gate: &Gate) -> Outcome<Times> {
    let mut times = Times::default();
    for round in 0..ANSWERS {
        let hook = Hook::start(binary, gate, &format!("answer-{round}"))?;
        let waiting = pending(gate, 1).await?;
        let id = waiting.first().ok_or("no question waits")?;
        let answered = Instant::now();
        respond(gate, id).await?;
        hook.end()?;
        times.push(answered.elapsed());
    }
    Ok(times)
}

/// A hook that asks about one command.
struct Hook(Child);

impl Hook {
    fn start(binary: &Path, gate: &Gate, branch: &str) -> Outcome<Self> {
        let call = json!({
            "session_id": "bench", "hook_event_name": "PreToolUse", "cwd": "/",
            "tool_name": "Bash", "tool_use_id": branch,
            "tool_input": {"command": format!("git push --force origin {branch}")},
        });
        let mut child = Command::new(binary)
            .args(["hook", "claude-code"])
            .env("COUNTERSIGN_DATA", gate.data())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut input = child.stdin.take().ok_or("no standard input")?;
        input.write_all(call.to_string().as_bytes())?;
        Ok(Self(child))
    }

    /// Waits until it has ended.
    fn end(mut self) -> Outcome<()> {
        let status = self.0.wait()?;
        if status.success() { Ok(()) } else { Err(format!("a hook ended with {status}").into()) }
    }
}

/// How much processes have done.
#[derive(Default)]
struct Work {
    milliseconds: u64,
    wakes: u64,
}

impl Work {
    fn of_all(hooks: &[Hook]) -> Outcome<Self> {
        let mut all = Self::default();
        for Hook(child) in hooks {
            let folder = format!("/proc/{}", child.id());
            let stat = fs::read_to_string(format!("{folder}/stat"))?;
            // User and system time are the twelfth and thirteenth word after the name.
            let words = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
            let ticks: u64 =
                words.skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
            all.milliseconds += ticks * 1_000 / rustix::param::clock_ticks_per_second();
            for task in fs::read_dir(format!("{folder}/task"))? {
                let status = fs::read_to_string(task?.path().join("status"))?;
                let line =
                    status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
                all.wakes +=
                    line.and_then(|line| line.trim().parse::<u64>().ok()).unwrap_or_default();
            }
        }
        Ok(all)
    }
}

/// The questions that wait, once there are so many.
async fn pending(gate: &Gate, count: u32) -> Outcome<Vec<String>> {
    let list = Client::get(gate.address, "/api/approvals?state=pending", &gate.device);
    let mut list = list.connect().await?;
    let began = Instant::now();
    let mut found = 0;
    while began.elapsed() < PATIENCE {
        let (status, body) = list.post_for("").await?;
        if status != 200 {
            return Err(format!("{status}: {body}").into());
        }
        let body: Value = serde_json::from_str(&body)?;
        let items = body.get("items").and_then(Value::as_array).into_iter().flatten();
        let ids = items.filter_map(|item| item.get("approval_id").and_then(Value::as_str));
        let ids: Vec<_> = ids.map(str::to_owned).collect();
        found = u32::try_from(ids.len())?;
        if found >= count {
            return Ok(ids);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err(format!("{found} questions instead of {count} within {PATIENCE:?}").into())
}

async fn respond(gate: &Gate, id: &str) -> Outcome<()> {
    let person = Client::new(gate.address, &format!("/api/approvals/{id}/respond"), &gate.device);
    let (status, body) = person.connect().await?.post_for(r#"{"approved":true}"#).await?;
    if status == 200 { Ok(()) } else { Err(format!("{status}: {body}").into()) }
}
