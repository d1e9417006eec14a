//! Retries requests to a server that restarts, is slow or cannot be reached for a moment: a restart
//! is not an answer.

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::Value;
use tokio::time::sleep;

use super::waiting::Waiter;
use crate::client::{Address, Client, ClientError, Manner};

/// The time for which the first request to a remote server is retried.
const FIRST_WORD: Duration = Duration::from_secs(5);
/// The time reserved for answering without the server.
const RESERVE: Duration = Duration::from_secs(1);
/// The time by which the answer to a long poll may be late.
const GRACE: Duration = Duration::from_secs(3);
/// The shortest timeout of a request.
const SHORTEST: Duration = Duration::from_millis(100);
/// The first and the longest pause between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The timeout of a request that does not wait for a person.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// The stage of a question, which decides how long a request is retried.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// Nobody has been asked yet.
    First,
    /// A question is pending: requests are retried as long as the waiter allows.
    Waiting,
}

/// One request, which may be sent again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) path: &'a str,
    /// The JSON body of a POST request; a GET request has none.
    pub(super) body: Option<&'a Value>,
    /// The most seconds to wait for a person.
    pub(super) wait: Option<u32>,
    /// The idempotency key: a request counts once, however often it is sent.
    pub(super) once: Option<&'a str>,
}

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) body: Value,
    /// True when the server could not be reached at first.
    pub(super) was_away: bool,
}

/// Sends a request until the server answers, a retry makes no sense, or the time is over.
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

/// The timeouts of a request, with the time that the asker needs for itself left over.
fn manner<'a, W: Waiter>(call: &Call<'a>, waiter: &W) -> Manner<'a> {
    let (left, once) = (waiter.left(), call.once);
    let Some(most) = call.wait else {
        let within = ANSWERS_WITHIN.min(left.saturating_sub(RESERVE)).max(SHORTEST);
        return Manner { wait: None, within, once };
    };
    let spare = left.saturating_sub(RESERVE).saturating_sub(GRACE).as_secs();
    if spare == 0 {
        // The last request runs until the asker's own deadline: a person may still approve.
        let wait = u32::try_from(left.as_secs()).unwrap_or(most).saturating_add(1);
        return Manner { wait: Some(wait), within: left.saturating_add(RESERVE), once };
    }
    let wait = most.min(u32::try_from(spare).unwrap_or(most));
    let within = Duration::from_secs(wait.into()).saturating_add(GRACE);
    Manner { wait: Some(wait), within, once }
}

/// The retries of one request.
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
            // Nobody waits for a server on this machine that does not run.
            (Stage::First, Address::Socket(_)) => Duration::ZERO,
            (Stage::First, Address::Plain { .. } | Address::Tls { .. }) => FIRST_WORD,
        };
        Self { began: Instant::now(), most, pause: FIRST_PAUSE, failed: false }
    }

    /// Pauses before the next try, if there is one.
    ///
    /// # Errors
    /// There is none: the error of the last try.
    async fn pause_after<W: Waiter>(
        &mut self,
        error: ClientError,
        waiter: &W,
    ) -> Result<(), ClientError> {
        let asked_to_wait = error.refused().and_then(|refused| refused.retry_after);
        let asked_to_wait = asked_to_wait.map(Duration::from_secs);
        let next = asked_to_wait.unwrap_or(self.pause).max(self.pause);
        // A request that was told when to come back may do so; any other is retried only for a
        // limited time.
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
    use crate::approval_client::ApprovalClient;

    struct Left(u64);

    impl Waiter for Left {
        fn left(&self) -> Duration {
            Duration::from_secs(self.0)
        }

        fn asked(&self, _: &ApprovalClient, _: &str) {}

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
            // A silent server is noticed in time to answer without it; or the asker's own deadline
            // ends the last request.
            let ends = Duration::from_secs(left);
            assert!(within <= ends.saturating_sub(RESERVE) || within > ends, "{left}: {within:?}");
        }
        let post = Call { wait: None, ..look };
        for left in [2, 5, 60] {
            assert!(manner(&post, &Left(left)).within < Duration::from_secs(left), "{left}");
        }
    }
}
