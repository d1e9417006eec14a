//! Channels, which tell a person about an approval; some of them bring an answer back.
//!
//! ```text
//! gate ──tell──► Dispatcher ──► one thread per channel ──send──► terminal, webhook, Telegram, ntfy
//! gate ◄──────────────Desk::answer────────────────────────────── terminal, Telegram
//! ```
//!
//! A channel never decides who may answer: it passes on the sender and the answer, and the gate
//! identifies the person. Nothing here blocks the gate, and every text is redacted once more before
//! it is sent. Tokens are in memory only, never in an error.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::RiskLevel;
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::approval::Answer;
use crate::clock::{ChanceError, Clock, Timestamp};
use crate::id::{ApprovalId, SessionId, UserId};

mod configured;
pub mod dispatch;
mod http;
mod kinds;
pub mod ntfy;
pub mod sink;
pub mod subscription;
pub mod syslog;
pub mod telegram;
pub mod terminal;
#[cfg(test)]
mod testing;
mod text;
pub mod webhook;

pub use configured::Configured;
pub use dispatch::Dispatcher;
pub use sink::{Feed, Sink, SinkError};
pub use subscription::{Records, Subscription};

/// A message to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// An approval that somebody must answer.
    Required(Notice),
    /// An approval that nobody needs to answer any more, or that has ended after it was approved.
    Settled {
        /// The approval.
        approval: ApprovalId,
        /// Its new state, such as `approved` or `expired`.
        state: &'static str,
        /// The display name of the person who answered.
        by: Option<String>,
        /// The time of the change.
        at: Timestamp,
    },
    /// A test of the channel.
    Test,
}

impl Message {
    /// The approval it is about.
    #[must_use]
    pub const fn approval(&self) -> Option<&ApprovalId> {
        match self {
            Self::Required(notice) => Some(&notice.approval),
            Self::Settled { approval, .. } => Some(approval),
            Self::Test => None,
        }
    }
}

/// An approval as it is shown to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The approval.
    pub approval: ApprovalId,
    /// The user whose agent asks.
    pub user: UserId,
    /// The session in which the agent asks.
    pub session: Option<SessionId>,
    /// The kind of action.
    pub action: String,
    /// The action, in one line.
    pub description: String,
    /// Further details.
    pub details: Vec<String>,
    /// The risk of the action.
    pub risk: RiskLevel,
    /// The time at which it was asked.
    pub created_at: Timestamp,
    /// The time at which an unanswered question counts as rejected.
    pub expires_at: Timestamp,
    /// The address at which all of it can be read and answered.
    pub link: Option<String>,
}

/// A way to notify a person. Runs on a thread of its own, so sending may be slow.
pub trait Channel: Send + fmt::Debug {
    /// The name in statistics.
    fn name(&self) -> &str;

    /// Whether it tells this at all.
    fn wants(&self, _message: &Message) -> bool {
        true
    }

    /// Tells.
    ///
    /// # Errors
    /// The message was not delivered; the error says if another attempt may succeed.
    fn send(&mut self, message: &Message) -> Result<(), SendError>;
}

/// The reason for which a message was not delivered. Never contains a token or an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Another attempt may succeed, after this time if the other side named one.
    #[error("not delivered yet")]
    Later(Option<Duration>),
    /// No attempt will succeed.
    #[error("not delivered: {0}")]
    Never(String),
}

/// Receives answers: the gate.
pub trait AnswerSink: Send + Sync {
    /// Takes an answer from a sender whom the gate has yet to identify.
    ///
    /// # Errors
    /// The answer does not count; the text can be shown to the sender.
    fn answer(&self, reply: ChannelAnswer) -> Result<Answered, String>;
}

/// Somebody's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelAnswer {
    /// The approval that is answered.
    pub approval: ApprovalId,
    /// The answer.
    pub say: Answer,
    /// The sender, as far as the channel knows.
    pub from: Sender,
}

/// The sender of an answer, as far as a channel knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// The owner of the account that the channel's settings bind to this user.
    User(UserId),
    /// The person at the terminal in which the gate runs.
    Terminal,
}

/// The result of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The approval is settled, and now in this state.
    Settled(&'static str),
    /// The answer counts, and more people must answer.
    Counted,
}

// A new kind of channel is a module and a line here.
kinds::kinds! {
    /// The terminal the gate runs in.
    terminal: Terminal,
    /// A signed request to a server.
    webhook: Webhook,
    /// A Telegram bot with buttons.
    telegram: Telegram,
    /// A push message that leads to the console.
    ntfy: Ntfy,
    /// A syslog server, which is told every record.
    syslog: Syslog,
}

/// Why a channel cannot be opened. Holds no token and no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The settings cannot work.
    #[error("cannot use channel `{channel}`: {problem}")]
    Settings {
        /// The kind of channel.
        channel: &'static str,
        /// The problem.
        problem: &'static str,
    },
    /// Nobody can be trusted by the files that it names.
    #[error("cannot use channel `{0}`: {1}")]
    Trust(&'static str, String),
    /// The machine has no randomness to give.
    #[error(transparent)]
    Chance(#[from] ChanceError),
}

/// The settings of one kind of channel.
///
/// A new kind is a module with settings that implement this, and one line in the list of kinds.
pub(crate) trait ChannelKind {
    /// The people who can be told by it.
    const AUDIENCE: Audience = Audience::Anybody;

    /// Refuses settings that could never work, before anybody waits for a message.
    ///
    /// # Errors
    /// They cannot work; the problem, without a token or an address.
    fn check(&self) -> Result<(), &'static str>;

    /// Opens the channel; nothing is sent yet.
    ///
    /// # Errors
    /// The settings cannot work.
    fn open(
        self,
        clock: Arc<dyn Clock>,
        answers: Arc<dyn AnswerSink>,
    ) -> Result<Opened, ChannelError>;
}

/// The people who can be told by a kind of channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// One user, or everybody who is asked.
    Anybody,
    /// Everybody's records at once: no row may name a user.
    Everybody,
}

/// A channel that is open: what tells people, and what sends the record on.
#[derive(Debug, Default)]
pub struct Opened {
    /// Tells people of questions.
    pub channel: Option<Box<dyn Channel>>,
    /// Sends the record on.
    pub feed: Option<Feed>,
}

impl Opened {
    /// What tells people, and nothing else.
    pub(crate) fn channel(channel: impl Channel + 'static) -> Self {
        Self { channel: Some(Box::new(channel)), feed: None }
    }
}

/// A secret text. Its `Debug` output is `…`, and it is wiped when it is dropped.
#[derive(Clone, Deserialize)]
#[serde(from = "String")]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Secret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ChannelSecret".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A text that opens something.",
        })
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Fake;

    #[test]
    fn settings_are_read_strictly_and_print_no_secret() {
        let read = |text: &str| serde_json::from_str::<Settings>(text);
        let token = ["123456:", &"k".repeat(35)].concat();
        let user = UserId::draw(&Fake::at(Timestamp(0))).unwrap();
        let telegram = format!(
            r#"{{"telegram":{{"token":"{token}","chat":-100,"users":{{"42":"{user}"}}}}}}"#
        );
        let settings = read(&telegram).unwrap();
        let printed = format!("{settings:?}");
        assert!(printed.contains('…') && !printed.contains("kkk"), "{printed}");
        assert!(read(&telegram.replace("chat", "chats")).is_err());
        assert!(read(r#"{"ntfy":{"topic":"t","sever":"https://x"}}"#).is_err());
        assert!(read(r#"{"pigeon":{}}"#).is_err());
        for text in [
            r#"{"terminal":{}}"#,
            r#"{"webhook":{"url":"https://hooks.example/x","secret":"whsec_x"}}"#,
            r#"{"ntfy":{"topic":"hidden-topic"}}"#,
        ] {
            let printed = format!("{:?}", read(text).unwrap());
            assert!(!printed.contains("hidden-topic") && !printed.contains("whsec_"), "{printed}");
            assert!(!printed.contains("hooks.example"), "{printed}");
        }
    }
}
