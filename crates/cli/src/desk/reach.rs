//! Reaching a server that restarts, is slow or cannot be reached for a moment: a restart is not an
//! answer.

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::Value;
use tokio::time::sleep;

use super::waiting::Waiter;
use crate::client::{Address, Client, ClientError, Manner};

/// How long the first word to a server elsewhere is tried.
const FIRST_WORD: Duration = Duration::from_secs(5);
/// What is left for saying what holds without the server.
const RESERVE: Duration = Duration::from_secs(1);
/// The first and the longest pause between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long one request may take that waits for nobody.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// What is asked, and how long it is worth trying.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// Nobody has been asked yet.
    First,
    /// A question waits, and its answer is worth the asker's whole time.
    Waiting,
}

/// One request, which may be sent again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) path: &'a str,
    /// What is said; nothing, where it is only looked.
    pub(super) body: Option<&'a Value>,
    /// The most seconds to wait for a person.
    pub(super) wait: Option<u32>,
    /// Names a request that counts once, however often it is sent.
    pub(super) once: Option<&'a str>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) body: Value,
    /// Whether the server could not be reached at first.
    pub(super) was_away: bool,
}

/// Asks until the server answers, it makes no sense any more, or the time is over.
pub(super) async fn reach<W: Waiter>(
    client: &Client,
    call: Call<'_>,
    stage: Stage,
    waiter: &W,
) -> Result<Answer, ClientError> {
    let mut tries = Tries::begin(client.address(), stage, waiter);
    loop {
        let manner = manner(&call, waiter);
        let method = if call.body.is_some() { Method::POST } else { Method::GET };
        match client.ask_in(method, call.path, call.body, &manner).await {
            Ok(body) => return Ok(Answer { body, was_away: tries.failed }),
            Err(error) => tries.pause_after(error, waiter).await?,
        }
    }
}

/// How long a request may take, with what the asker needs for itself left over.
fn manner<'a, W: Waiter>(call: &Call<'a>, waiter: &W) -> Manner<'a> {
    let left = waiter.left();
    let seconds = u32::try_from(left.as_secs()).unwrap_or(u32::MAX).max(1);
    let wait = call.wait.map(|most| most.min(seconds));
    let most = ANSWERS_WITHIN.saturating_add(Duration::from_secs(wait.unwrap_or(0).into()));
    let within = most.min(left.saturating_sub(RESERVE)).max(Duration::from_millis(100));
    Manner { wait, within, once: call.once }
}

/// How often a server was tried.
struct Tries {
    began: Instant,
    most: Duration,
    pause: Duration,
    failed: bool,
}

impl Tries {
    fn begin<W: Waiter>(address: &Address, stage: Stage, waiter: &W) -> Self {
        let most = match (stage, address) {
            (Stage::Waiting, _) => waiter.reconnects_for(),
            // Where no server runs on this machine, nobody is kept waiting for one.
            (Stage::First, Address::Socket(_)) => Duration::ZERO,
            (Stage::First, Address::Plain { .. } | Address::Tls { .. }) => FIRST_WORD,
        };
        Self { began: Instant::now(), most, pause: FIRST_PAUSE, failed: false }
    }

    /// Pauses before the next try, where there is one.
    ///
    /// # Errors
    /// There is none: why the last one failed.
    async fn pause_after<W: Waiter>(
        &mut self,
        error: ClientError,
        waiter: &W,
    ) -> Result<(), ClientError> {
        let asked_to_wait = error.refused().and_then(|refused| refused.retry_after);
        let asked_to_wait = asked_to_wait.map(Duration::from_secs);
        let next = asked_to_wait.unwrap_or(self.pause).max(self.pause);
        // Who is told when to come back may come back then; anybody else only for so long.
        let most = if asked_to_wait.is_some() { waiter.reconnects_for() } else { self.most };
        let left = waiter.left().saturating_sub(RESERVE);
        let is_over = self.began.elapsed().saturating_add(next) > most || next >= left;
        if is_over || !error.may_pass() {
            return Err(error);
        }
        self.failed |= error.is_unreachable();
        self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
        sleep(next).await;
        Ok(())
    }
}
