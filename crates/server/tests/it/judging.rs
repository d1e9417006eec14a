//! A caller never waits for another caller's large action.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fmt, io};

use countersign_gate::judging::{Executor, INLINE, Job};
use serde_json::{Value, json};

use crate::world::{HttpAnswer, Make, RISKY, SAFE, Setup, World, get, post, propose, shell};

/// An executor that takes jobs and runs none until it is released: every slot is occupied.
#[derive(Default)]
struct Stuck {
    jobs: Mutex<VecDeque<Job>>,
}

impl fmt::Debug for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stuck")
    }
}

impl Executor for Stuck {
    fn slots(&self) -> usize {
        2
    }

    fn start(&self, job: Job) -> io::Result<()> {
        self.jobs.lock().unwrap().push_back(job);
        Ok(())
    }
}

impl Stuck {
    fn started(&self) -> usize {
        self.jobs.lock().unwrap().len()
    }

    /// Runs the jobs that were started, and those that start later.
    fn let_go(&self) -> usize {
        let mut run = 0;
        while let Some(job) = self.next() {
            job();
            run += 1;
        }
        run
    }

    fn next(&self) -> Option<Job> {
        self.jobs.lock().unwrap().pop_front()
    }
}

async fn stuck() -> (World, Arc<Stuck>) {
    let stuck = Arc::new(Stuck::default());
    let executor: Arc<dyn Executor> = stuck.clone();
    let setup = Setup { executor: Some(executor), ..Setup::default() };
    (World::new(setup).await, stuck)
}

/// A harmless command that is too large to be judged at once.
fn large() -> Value {
    shell(&format!("echo {}", "word ".repeat(INLINE / 4)))
}

async fn until(what: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came to that");
}

/// The answers to large actions that two keys have sent, once all slots are occupied.
async fn occupy(world: &Arc<World>, stuck: &Stuck) -> Vec<tokio::task::JoinHandle<HttpAnswer>> {
    let mut asked = Vec::new();
    for _ in 0..2 {
        let key = world.key(&world.member, &world.workspace, Make::default()).await;
        for path in ["/api/actions", "/api/check"] {
            let mut body = large();
            if path == "/api/check" {
                body = json!({"action": body["action"]});
            }
            let (world, ask) = (Arc::clone(world), post(path).json(&body).with(&key.secret));
            asked.push(tokio::spawn(async move { world.ask(ask).await }));
        }
    }
    until(|| stuck.started() == 2).await;
    asked
}

#[tokio::test]
async fn whatever_people_need_goes_on_while_every_slot_is_occupied() {
    let (world, stuck) = stuck().await;
    let world = Arc::new(world);
    let question = world.question(RISKY).await;
    let asked = occupy(&world, &stuck).await;
    world.ask(get("/api/health")).await.is(200);
    world.ask(get("/api/ready")).await.is(200);
    let device = &world.member.device;
    world.ask(get("/api/approvals").with(device)).await.is(200);

    let no = post(format!("/api/approvals/{question}/respond"));
    let no = no.json(&json!({"approved": false}));
    world.ask(no.with(device)).await.is(200);
    world.ask(propose(SAFE).with(&world.agent.secret)).await.is(200);
    world.device(&world.member).await;
    world.ask(post("/api/halt").with(device)).await.is(204);
    assert_eq!(stuck.started(), 2, "they still wait");
    drop(asked);
}

#[tokio::test]
async fn what_was_judged_after_a_halt_is_refused() {
    let (world, stuck) = stuck().await;
    let world = Arc::new(world);
    let asked = occupy(&world, &stuck).await;
    world.ask(post("/api/halt").with(&world.member.device)).await.is(204);
    let mut answers = Vec::new();
    for asked in asked {
        until(|| stuck.let_go() > 0 || asked.is_finished()).await;
        answers.push(asked.await.unwrap());
    }
    for (number, answer) in answers.iter().enumerate() {
        if number % 2 == 0 {
            answer.is_problem(403, "halted");
        } else {
            assert_eq!(answer.is(200)["verdict"], "allow");
        }
    }
}

#[tokio::test]
async fn a_key_over_its_budget_is_told_how_long_to_wait() {
    let (world, stuck) = stuck().await;
    let world = Arc::new(world);
    let slow = {
        let (world, ask) = (Arc::clone(&world), post("/api/actions").json(&large()));
        let ask = ask.with(&world.agent.secret);
        tokio::spawn(async move { world.ask(ask).await })
    };
    until(|| stuck.started() == 1).await;
    world.pass(30);
    stuck.let_go();
    slow.await.unwrap().is(200);
    for path in ["/api/actions", "/api/check"] {
        let body = json!({"action": large()["action"]});
        let refused = world.ask(post(path).json(&body).with(&world.agent.secret)).await;
        refused.is_problem(429, "rate-limit");
        assert_eq!(refused.header("retry-after"), "80", "{path}");
    }
    world.ask(propose(SAFE).with(&world.agent.secret)).await.is(200);
    let other = post("/api/check").json(&json!({"action": large()["action"]}));
    let other = other.with(&world.program.secret);
    let world = Arc::clone(&world);
    let other = tokio::spawn(async move { world.ask(other).await });
    until(|| stuck.let_go() > 0).await;
    other.await.unwrap().is(200);
}
