//! How a person is told about an approval, and how some channels bring an answer back.
//!
//! ```text
//! gate ──tell──► Dispatcher ──► one thread per channel ──send──► terminal, webhook, Telegram, ntfy
//! gate ◄──────────────Desk::answer────────────────────────────── terminal, Telegram
//! ```
//!
//! A channel never decides who may answer: it passes on who said what, and the gate knows the
//! person. Nothing here blocks the gate, and every text is redacted once more on its way out.
//! Tokens are in memory only, and in no error.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::RiskLevel;
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::approval::Say;
use crate::clock::{ChanceError, Clock, Timestamp};
use crate::id::{ApprovalId, SessionId, UserId};

mod configured;
pub mod dispatch;
mod http;
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

/// What a person is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Somebody must answer.
    Required(Notice),
    /// Nobody needs to any more, or what was approved has ended.
    Settled {
        /// Which approval.
        approval: ApprovalId,
        /// Its new state, such as `approved` or `expired`.
        state: &'static str,
        /// Who answered, as a name for people.
        by: Option<String>,
        /// Since when.
        at: Timestamp,
    },
    /// Whether this channel works.
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

/// An approval as a person is shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Which approval.
    pub approval: ApprovalId,
    /// Whose agent asks.
    pub user: UserId,
    /// The session it asks in.
    pub session: Option<SessionId>,
    /// What kind of thing it wants to do.
    pub action: String,
    /// What it wants to do, in one line.
    pub description: String,
    /// What else there is to know.
    pub details: Vec<String>,
    /// How bad it would be.
    pub risk: RiskLevel,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When silence becomes a refusal.
    pub expires_at: Timestamp,
    /// Where to read all of it and answer.
    pub link: Option<String>,
}

/// A way to tell a person. Lives on a thread of its own, so it may take its time.
pub trait Channel: Send + fmt::Debug {
    /// What it is called in statistics.
    fn name(&self) -> &str;

    /// Whether it tells this at all.
    fn wants(&self, _message: &Message) -> bool {
        true
    }

    /// Tells.
    ///
    /// # Errors
    /// The message did not get through, and may or may not another time.
    fn send(&mut self, message: &Message) -> Result<(), SendError>;
}

/// Why a message did not get through. Holds no token and no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// It may another time, after so long if the other side said so.
    #[error("not delivered yet")]
    Later(Option<Duration>),
    /// It never will.
    #[error("not delivered: {0}")]
    Never(String),
}

/// Where answers are brought: the gate.
pub trait Desk: Send + Sync {
    /// Takes an answer from somebody the gate has yet to recognise.
    ///
    /// # Errors
    /// It does not count, for a reason that can be shown to whoever gave it.
    fn answer(&self, reply: Reply) -> Result<Answered, String>;
}

/// Somebody's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// To which approval.
    pub approval: ApprovalId,
    /// What they said.
    pub say: Say,
    /// Who, as far as the channel knows.
    pub from: Sender,
}

/// Who answers, as far as a channel knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// Whoever has the account that the channel's settings bind to this user.
    User(UserId),
    /// Whoever sits at the terminal the gate runs in.
    Terminal,
}

/// What an answer led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The approval is settled, in this state.
    Settled(&'static str),
    /// It counts, and more people must answer.
    Counted,
}

/// One channel, as it is configured.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settings {
    /// The terminal the gate runs in.
    Terminal(terminal::Settings),
    /// A signed request to a server.
    Webhook(webhook::Settings),
    /// A Telegram bot with buttons.
    Telegram(telegram::Settings),
    /// A push message that leads to the console.
    Ntfy(ntfy::Settings),
    /// A syslog server, which is told every record.
    Syslog(syslog::Settings),
}

impl Settings {
    /// What kind of channel.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Terminal(_) => "terminal",
            Self::Webhook(_) => "webhook",
            Self::Telegram(_) => "telegram",
            Self::Ntfy(_) => "ntfy",
            Self::Syslog(_) => syslog::NAME,
        }
    }
}

/// Why a channel cannot be opened. Holds no token and no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The settings cannot work.
    #[error("cannot use channel `{channel}`: {problem}")]
    Settings {
        /// Which one.
        channel: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
    /// Nobody can be trusted by the files that it names.
    #[error("cannot use channel `{0}`: {1}")]
    Trust(&'static str, String),
    /// The machine has no randomness to give.
    #[error(transparent)]
    Chance(#[from] ChanceError),
}

/// A channel that is open: what tells people, and what sends the record on.
#[derive(Debug, Default)]
pub struct Opened {
    /// Tells people of questions.
    pub channel: Option<Box<dyn Channel>>,
    /// Sends the record on.
    pub feed: Option<Feed>,
}

/// Opens a channel.
///
/// # Errors
/// Its settings cannot work.
pub fn open(
    settings: Settings,
    clock: Arc<dyn Clock>,
    desk: Arc<dyn Desk>,
) -> Result<Opened, ChannelError> {
    let channel: Box<dyn Channel> = match settings {
        Settings::Terminal(settings) => Box::new(terminal::Terminal::open(settings, clock, desk)),
        Settings::Webhook(settings) => return webhook::open(&settings, &clock),
        Settings::Telegram(settings) => Box::new(telegram::Telegram::open(settings, clock, desk)?),
        Settings::Ntfy(settings) => Box::new(ntfy::Ntfy::open(settings, clock)?),
        Settings::Syslog(settings) => {
            let (sink, records) = (Box::new(syslog::Syslog::open(&settings)?), Records::Every);
            let feed = Feed { sink, records, destination: settings.server };
            return Ok(Opened { channel: None, feed: Some(feed) });
        }
    };
    Ok(Opened { channel: Some(channel), feed: None })
}

/// A text that opens something. Prints as `…`, and is wiped when it is dropped.
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
