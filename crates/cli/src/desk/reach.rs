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
/// How much later than it was asked to a server may answer that waits for a person.
const GRACE: Duration = Duration::from_secs(3);
/// The least time that a request is given.
const SHORTEST: Duration = Duration::from_millis(100);
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
    let (left, once) = (waiter.left(), call.once);
    let Some(most) = call.wait else {
        let within = ANSWERS_WITHIN.min(left.saturating_sub(RESERVE)).max(SHORTEST);
        return Manner { wait: None, within, once };
    };
    let spare = left.saturating_sub(RESERVE).saturating_sub(GRACE).as_secs();
    if spare == 0 {
        // The last look, until the asker's own clock ends it: a person may still say yes.
        let wait = u32::try_from(left.as_secs()).unwrap_or(most).saturating_add(1);
        return Manner { wait: Some(wait), within: left.saturating_add(RESERVE), once };
    }
    let wait = most.min(u32::try_from(spare).unwrap_or(most));
    let within = Duration::from_secs(wait.into()).saturating_add(GRACE);
    Manner { wait: Some(wait), within, once }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::Desk;

    struct Left(u64);

    impl Waiter for Left {
        fn left(&self) -> Duration {
            Duration::from_secs(self.0)
        }

        fn asked(&self, _: &Desk, _: &str) {}

        fn waits(&self) -> Value {
            Value::Null
        }
    }

    #[test]
    fn a_server_that_waits_is_heard_before_it_counts_as_silent() {
        let look = Call { path: "/", body: None, wait: Some(25), once: None };
        for left in [1, 2, 4, 5, 8, 20, 30, 60, 86_400] {
            let Manner { wait, within, .. } = manner(&look, &Left(left));
            let waits = Duration::from_secs(wait.unwrap().into());
            assert!(within >= waits, "{left}: {within:?} for {waits:?}");
            // Silence is noticed while there is time to say what holds without the server; or the
            // asker's own clock ends the last look.
            let ends = Duration::from_secs(left);
            assert!(within <= ends.saturating_sub(RESERVE) || within > ends, "{left}: {within:?}");
        }
        let post = Call { wait: None, ..look };
        for left in [2, 5, 60] {
            assert!(manner(&post, &Left(left)).within < Duration::from_secs(left), "{left}");
        }
    }
}
