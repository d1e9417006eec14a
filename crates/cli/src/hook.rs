//! A hook: a host describes what its agent is about to do, and gets an answer before its timeout.
//!
//! ```text
//! standard input ─► decode ─► halted? ─► judge, in this process
//!                                          ├─ allow, warn ─► nothing against it
//!                                          ├─ block ───────► no
//!                                          └─ confirm ─────► a server asks a person ─► yes or no
//!                                                └ none, or it cannot be reached ─► `approval_client/fallback`
//! ```
//!
//! Every failure means no: input that cannot be parsed, a panic, a wrong configuration, a server
//! that does not answer, a signal. A separate thread says no before the host's timeout, because
//! nearly every host treats a hook that is late or killed as a yes. Judging starts no runtime,
//! opens no store and asks no server.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use countersign_core::{Action, Verdict};
use serde_json::{Value, json};

use crate::approval_client::{
    ApprovalClient, Fallback, HostCan, JudgedAction, Outcome, Permitted, Stranded, Waiter,
};
use crate::client::block_on;
use crate::hook_options::Options;
use crate::host::{self, HookAnswer, HookEvent, HookOutput, Host, Unreadable, What};
use crate::made::Runs;
use crate::show::one_line;
use crate::{approval_client, data, judging, settings};

mod judged;
mod single_reply;
mod words;

pub(crate) use judged::{Judged, is_halted_in, judged};
use judged::{made_by, surroundings};
use single_reply::SingleReply;
pub(crate) use words::{HALTED, refusal};
use words::{nobody, short};

/// More than any call of a tool; longer input is refused unread.
const MOST_BYTES: u64 = 16 << 20;
/// A day: no host waits longer.
pub(crate) const MOST_SECONDS: u64 = 86_400;

/// Runs the hook that these arguments name, as `install` writes them, without clap, to keep the
/// start short. Any other arguments are left to the command line parser.
pub(crate) fn named(words: &[OsString]) -> Option<u8> {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let (name, timeout) = match words?.as_slice() {
        ["hook", name] => (*name, None),
        ["hook", name, "--timeout", seconds] => (*name, Some(seconds.parse().ok()?)),
        _ => return None,
    };
    let seconds = timeout.filter(|seconds| (1..=MOST_SECONDS).contains(seconds));
    if timeout.is_some() != seconds.is_some() {
        return None;
    }
    Some(run(host::find(name)?, seconds.map(Duration::from_secs)))
}

/// Answers one event of a host, on standard output.
pub(crate) fn run(host: &'static dyn Host, timeout: Option<Duration>) -> u8 {
    let clock = Clock::start(timeout.unwrap_or_else(|| host.patience()));
    let single_reply = Arc::new(SingleReply::new(host));
    let reply = match single_reply::watch(clock, &single_reply) {
        Ok(()) => guarded(&single_reply, || answer(host, &clock, &single_reply)),
        Err(error) => single_reply.broken(&format!("Countersign cannot watch the time ({error}).")),
    };
    single_reply.say(&reply)
}

/// Runs work and turns a panic or an error into a no.
fn guarded(single_reply: &SingleReply, work: impl FnOnce() -> Result<HookOutput>) -> HookOutput {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(reply)) => reply,
        Ok(Err(error)) => single_reply.broken(&short(&format!(
            "Countersign refused this because something is wrong: {error:#}."
        ))),
        Err(_) => single_reply.broken("Countersign failed internally, so this is refused."),
    }
}

/// The deadline of a hook.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    until: Instant,
}

impl Clock {
    /// Ends before the host's timeout: by two seconds, or by a fifth where there is little time.
    fn start(patience: Duration) -> Self {
        let margin = (patience / 5).min(Duration::from_secs(2));
        Self { until: Instant::now() + patience.saturating_sub(margin) }
    }

    /// The time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

/// One event to answer, with its deadline.
struct Turn<'a> {
    host: &'a dyn Host,
    /// The host's event, unparsed.
    payload: &'a Value,
    hook_event: &'a HookEvent,
    clock: &'a Clock,
    single_reply: &'a SingleReply,
}

fn answer(host: &dyn Host, clock: &Clock, single_reply: &SingleReply) -> Result<HookOutput> {
    if let Some(folder) = data::usual_folder() {
        approval_client::register(&folder);
    }
    let payload = read(io::stdin().lock())?;
    let hook_event = match host.decode(&payload) {
        Ok(hook_event) => hook_event,
        Err(Unreadable(why)) => bail!("what {} said cannot be understood: {why}", host.title()),
    };
    single_reply.about(&hook_event.event);
    let decision =
        Turn { host, payload: &payload, hook_event: &hook_event, clock, single_reply }.decide()?;
    Ok(host.encode(&hook_event.event, &decision.as_answer()))
}

fn read(input: impl io::Read) -> Result<Value> {
    let mut bytes = Vec::new();
    input.take(MOST_BYTES + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    if bytes.len() as u64 > MOST_BYTES {
        bail!("the call is too large to be judged");
    }
    serde_json::from_slice(&bytes).context("standard input is not JSON")
}

/// The decision about an event.
#[derive(Debug, Clone, PartialEq)]
enum Decision {
    Neutral,
    /// It may run; the origin of the approval.
    Approved(&'static str),
    /// It may run with this input instead of its own.
    Changed(Value),
    Deny(String),
    Ask(String),
}

impl Decision {
    fn as_answer(&self) -> HookAnswer<'_> {
        match self {
            Self::Neutral => HookAnswer::Neutral,
            Self::Approved(how) => HookAnswer::Approved(how),
            Self::Changed(input) => HookAnswer::Changed(input),
            Self::Deny(reason) => HookAnswer::Deny(reason),
            Self::Ask(reason) => HookAnswer::Ask(reason),
        }
    }
}

impl Turn<'_> {
    fn decide(&self) -> Result<Decision> {
        let decision = match judged(self.host, self.hook_event)? {
            Judged::Neutral => Decision::Neutral,
            Judged::Deny(why) => Decision::Deny(why),
            Judged::Ask(judged_actions, options) => self.settle(&judged_actions, &options),
            Judged::Outdated(judged_actions, options, why) => {
                self.leave_to_host(&judged_actions, &options, &why)
            }
        };
        self.remember(&decision)?;
        Ok(decision)
    }

    /// Records the paths that the action is about to create, for the rest of the session.
    fn remember(&self, decision: &Decision) -> Result<()> {
        let runs = match decision {
            Decision::Neutral | Decision::Approved(_) => Runs::Surely,
            Decision::Changed(_) | Decision::Ask(_) => Runs::Perhaps,
            Decision::Deny(_) => return Ok(()),
        };
        let What::Acts(actions) = &self.hook_event.what else { return Ok(()) };
        let around = surroundings(self.host, self.hook_event)?;
        if let Some(mut made) = made_by(self.host, self.hook_event, &around) {
            for action in actions {
                made.note(action, &around, runs);
            }
        }
        Ok(())
    }

    /// Asks about the actions in turn: all of them run, or none.
    fn settle(&self, judged_actions: &[JudgedAction<'_>], options: &Options) -> Decision {
        let mut decision = Decision::Neutral;
        let Some(first) = judged_actions.first() else { return decision };
        let label = label(self.host, self.hook_event);
        let folder = data::usual_folder();
        let folder = folder.as_deref();
        let stranded = Stranded { options, folder, asker: &label };
        let approval_client =
            match ApprovalClient::open(options, folder, label.clone(), self.clock.left()) {
                Ok(approval_client) => approval_client,
                Err(error) => return self.nobody(first, &stranded, &format!("{error:#}")),
            };
        for judged_action in judged_actions {
            let outcome = block_on(async { Ok(approval_client.ask(judged_action, self).await) });
            self.single_reply.answered();
            match outcome.unwrap_or_else(|error| Outcome::Nobody(format!("{error:#}"))) {
                Outcome::Agreed(Permitted { edited: Some(edited), .. }) => {
                    return self.changed(&edited, judged_actions);
                }
                Outcome::Agreed(permitted) => decision = Decision::Approved(permitted.told()),
                Outcome::Permitted(_) => {}
                Outcome::Refused(why) => return Decision::Deny(short(&why)),
                Outcome::Nobody(why) => return self.nobody(judged_action, &stranded, &why),
                Outcome::NoAnswer(why) => {
                    let options = &options.without_an_answer();
                    return self.nobody(judged_action, &Stranded { options, ..stranded }, &why);
                }
            }
        }
        decision
    }

    /// The policy is too old to allow anything: the host asks about all of it, or it is a no.
    fn leave_to_host(
        &self,
        judged_actions: &[JudgedAction<'_>],
        options: &Options,
        why: &str,
    ) -> Decision {
        let label = label(self.host, self.hook_event);
        let folder = data::usual_folder();
        let stranded = Stranded { options, folder: folder.as_deref(), asker: &label };
        let asks = self.host.asks(&self.hook_event.event);
        let host = if asks { HostCan::Ask } else { HostCan::NotAsk };
        for judged_action in judged_actions {
            if let Fallback::Refuse(also) = stranded.decide(judged_action, host, why) {
                return Decision::Deny(nobody(judged_action, &stranded, why, &also));
            }
        }
        Decision::Ask(short(&format!("Countersign asks: {why}")))
    }

    /// A person wants the call otherwise. What they want is judged here as well: the server may
    /// not know the project's own rules.
    fn changed(&self, edited: &Action, judged_actions: &[JudgedAction<'_>]) -> Decision {
        let refused =
            || Decision::Deny("Countersign: the changed action cannot be run.".to_owned());
        let ([judged_action], Some(input)) =
            (judged_actions, self.host.changed(self.payload, edited))
        else {
            return refused();
        };
        let judged = settings::policy(&judged_action.context).and_then(|policy| {
            Ok(judging::judge_with_facts(edited, &policy, &mut judged_action.context.clone())?)
        });
        match judged {
            Ok(judgement) if judgement.verdict == Verdict::Block => {
                Decision::Deny(refusal(&judgement))
            }
            Ok(_) => Decision::Changed(input),
            Err(_) => refused(),
        }
    }

    /// Handles a question that nobody can be asked through us: the host asks, or it is refused.
    fn nobody(
        &self,
        judged_action: &JudgedAction<'_>,
        stranded: &Stranded<'_>,
        why: &str,
    ) -> Decision {
        let asks = self.host.asks(&self.hook_event.event) && judged_action.must_ask();
        let host = if asks { HostCan::Ask } else { HostCan::NotAsk };
        match stranded.decide(judged_action, host, why) {
            Fallback::Ask => {
                let reason = one_line(&judged_action.judgement.reason);
                Decision::Ask(short(&format!("Countersign asks: {reason}")))
            }
            Fallback::Refuse(also) => Decision::Deny(nobody(judged_action, stranded, why, &also)),
        }
    }
}

/// Refuses where no host can ask, and returns the message to the agent.
pub(crate) fn refused_alone(
    judged_action: &JudgedAction<'_>,
    stranded: &Stranded<'_>,
    why: &str,
) -> String {
    let also = match stranded.decide(judged_action, HostCan::NotAsk, why) {
        Fallback::Refuse(also) => also,
        Fallback::Ask => String::new(),
    };
    nobody(judged_action, stranded, why, &also)
}

impl Waiter for Turn<'_> {
    fn left(&self) -> Duration {
        self.clock.left()
    }

    fn asked(&self, approval_client: &ApprovalClient, approval: &str) {
        let late = "Countersign: nobody answered in time, which counts as a no. The question is \
                    withdrawn. Tell the user; when they are back, the same call asks again.";
        self.single_reply.asked(approval_client, approval, late.to_owned());
    }

    fn waits(&self) -> Value {
        json!({"seconds": self.clock.left().as_secs()})
    }

    fn relays(&self) -> bool {
        true
    }

    fn call_id(&self) -> Option<String> {
        self.hook_event.call.clone()
    }

    fn takes(&self, edited: &Action) -> bool {
        // If a call has several actions, nobody can say which one was changed.
        let single = matches!(&self.hook_event.what, What::Acts(actions) if actions.len() == 1);
        single && self.host.changed(self.payload, edited).is_some()
    }
}

/// The label of an agent's session.
fn label(host: &dyn Host, hook_event: &HookEvent) -> String {
    let session = hook_event.session.as_deref().unwrap_or("-");
    let session: String = session.chars().filter(|char| !char.is_control()).take(80).collect();
    format!("{} {session}", host.title())
}

#[cfg(test)]
mod tests {
    use super::words::LONGEST_REASON;
    use super::*;
    use crate::host::HOSTS;

    #[test]
    fn a_panic_and_an_error_are_a_no_for_every_host() {
        for host in HOSTS {
            let single_reply = SingleReply::new(*host);
            let panicked = guarded(&single_reply, || panic!("on purpose"));
            assert!(host.is_stopped_by(&panicked), "{}: {panicked:?}", host.name());
            let failed = guarded(&single_reply, || bail!("something \"odd\"\n"));
            assert!(host.is_stopped_by(&failed), "{}: {failed:?}", host.name());
        }
    }

    #[test]
    fn the_clock_ends_before_the_hosts_does() {
        for (patience, at_most) in [(1, 800), (5, 4_000), (10, 8_000), (330, 328_000)] {
            let left = Clock::start(Duration::from_secs(patience)).left();
            assert!(left <= Duration::from_millis(at_most), "{patience}: {left:?}");
            assert!(left > Duration::from_millis(at_most - 200), "{patience}: {left:?}");
        }
    }

    #[test]
    fn what_is_no_json_or_endless_is_not_judged() {
        for input in ["", "{", "nul", "{\"a\":1} {}"] {
            assert!(read(input.as_bytes()).is_err(), "{input}");
        }
        assert!(read(io::repeat(b' ')).is_err());
        assert!(read("[".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn a_long_reason_is_cut_at_a_character() {
        let cut = short(&"é".repeat(LONGEST_REASON + 1));
        assert_eq!(cut.chars().count(), LONGEST_REASON + 1);
        assert!(cut.ends_with('…'));
    }
}
