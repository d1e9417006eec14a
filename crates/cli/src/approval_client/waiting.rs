//! Waiting for a person's answer: the kinds of waiters, the pauses between polls, and the wording
//! for an action that a person has changed.

use std::time::{Duration, Instant};

use countersign_core::Action;
use countersign_wire::Basis;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{A_DAY, ApprovalClient};
use crate::show::one_line;

/// A server that answers sooner than this has not waited.
const AT_ONCE: Duration = Duration::from_secs(1);
/// The first and the longest pause before such a server is asked again.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The time for which a waiter without a deadline retries a server that cannot be reached.
const RECONNECTS_FOR: Duration = Duration::from_mins(5);

/// A side that waits for an answer.
pub(crate) trait Waiter {
    /// The time that is left.
    fn left(&self) -> Duration;

    /// The time for which a server is retried that cannot be reached while a question is pending.
    fn reconnects_for(&self) -> Duration {
        self.left()
    }

    /// Tells the waiter the id of the pending question.
    fn asked(&self, approval_client: &ApprovalClient, approval: &str);

    /// The description of the wait for the server; `null` if nobody waits all the time.
    fn waits(&self) -> Value;

    /// Reports whether this waiter answers for a host and runs nothing itself.
    fn relays(&self) -> bool {
        false
    }

    /// The host's id of the call.
    fn call_id(&self) -> Option<String> {
        None
    }

    /// Reports whether an action that a person has changed can be run as changed.
    fn takes(&self, _edited: &Action) -> bool {
        false
    }
}

/// Waits without a deadline, and sends the id of the question once there is one.
pub(crate) struct Patient {
    to: UnboundedSender<String>,
    /// True when a request waits at every moment.
    stays: bool,
    call_id: Option<String>,
}

impl Patient {
    /// Returns a waiter and the channel on which the id arrives. A waiter that does not stay comes
    /// back later for its answer.
    pub(crate) fn new(stays: bool, call_id: Option<String>) -> (Self, UnboundedReceiver<String>) {
        let (to, from) = unbounded_channel();
        (Self { to, stays, call_id }, from)
    }
}

impl Waiter for Patient {
    fn left(&self) -> Duration {
        A_DAY
    }

    fn reconnects_for(&self) -> Duration {
        RECONNECTS_FOR
    }

    fn asked(&self, _: &ApprovalClient, approval: &str) {
        // A receiver that is gone does not withdraw the question either.
        let _ = self.to.send(approval.to_owned());
    }

    fn waits(&self) -> Value {
        if self.stays { json!({}) } else { Value::Null }
    }

    fn call_id(&self) -> Option<String> {
        self.call_id.clone()
    }
}

/// Adds pauses between polls of a server that does not wait.
#[derive(Debug)]
pub(super) struct Pace {
    asked: Instant,
    pause: Duration,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { asked: Instant::now(), pause: FIRST_PAUSE }
    }

    /// Notes the time of a poll.
    pub(super) fn asks(&mut self) {
        self.asked = Instant::now();
    }

    /// Pauses before the next poll, unless the server has waited.
    pub(super) async fn pause(&mut self, left: Duration) {
        let pause = self.next(self.asked.elapsed());
        tokio::time::sleep(pause.min(left)).await;
    }

    fn next(&mut self, waited: Duration) -> Duration {
        if waited >= AT_ONCE {
            self.pause = FIRST_PAUSE;
            return Duration::ZERO;
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

/// The message to an agent whose action was changed, where only the agent can propose the changed
/// one.
pub(super) fn changed(edited: &Action) -> String {
    let wanted = match edited {
        Action::Shell { command, cwd: None } => format!("run exactly this command: {command}"),
        Action::Shell { command, cwd: Some(cwd) } => {
            format!("in the folder {cwd}, run exactly this command: {command}")
        }
        Action::FileWrite { path, content: Some(content) } => {
            format!("write exactly this to {path}: {content}")
        }
        Action::Navigate { url } => format!("open exactly this address: {url}"),
        Action::Tool { tool, arguments, .. } => {
            let arguments = json!(arguments);
            format!("call {tool} with exactly these arguments: {arguments}")
        }
        other => format!("do exactly this: {}", json!(other)),
    };
    format!(
        "Countersign: a person agrees to this only with a change. Nothing has run. {} That is \
         already agreed to: it goes through immediately, once, within a few minutes.",
        sentence(&wanted)
    )
}

fn sentence(wanted: &str) -> String {
    let text = one_line(wanted);
    let mut letters = text.chars();
    let first: String = letters.next().map(char::to_uppercase).into_iter().flatten().collect();
    format!("{first}{}", letters.as_str())
}

/// The origin of an approval, for the host's user.
pub(super) const fn told(by: Basis) -> &'static str {
    match by {
        Basis::Person => "A person said yes through Countersign.",
        Basis::Remembered => {
            "A person said yes to this exact action before, and Countersign remembers it."
        }
        Basis::AutoConfirm => {
            "Nobody was asked: this Countersign session confirms automatically (auto_confirm)."
        }
        Basis::Autonomous => "Nobody was asked: Countersign's autonomous mode is on.",
        Basis::Program => "Nobody was asked: the owner of the key does not want to be asked.",
        Basis::HandedOver => "A person said yes when the host's hook asked.",
        Basis::Rules => "Nobody was asked: the rules of the Countersign server allow this.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_persons_yes_is_told_as_one() {
        for by in Basis::ALL {
            let person = matches!(by, Basis::Person | Basis::Remembered | Basis::HandedOver);
            let begins = if person { "A person said yes" } else { "Nobody was asked" };
            assert!(told(by).starts_with(begins), "{by:?}");
        }
    }

    #[test]
    fn a_changed_action_is_told_word_for_word() {
        let command = "git push --force-with-lease origin main".to_owned();
        let told = changed(&Action::Shell { command: command.clone(), cwd: None });
        assert!(told.contains(&format!("Run exactly this command: {command}")), "{told}");
    }

    #[test]
    fn a_server_that_does_not_wait_is_asked_less_and_less() {
        let mut pace = Pace::new();
        let pauses: Duration = (0..10).map(|_| pace.next(Duration::from_millis(1))).sum();
        // Ten polls in a quarter of a minute instead of thousands a second.
        assert!(pauses > Duration::from_secs(14), "{pauses:?}");
        assert_eq!(pace.next(Duration::from_secs(25)), Duration::ZERO, "it has waited");
    }
}
