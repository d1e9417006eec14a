//! A Telegram bot with buttons.
//!
//! ```text
//! Required ──sendMessage──► message with two buttons ──pressed──► getUpdates ──► Desk
//! Settled  ──editMessageText──► the same message, with its outcome and without buttons
//! ```
//!
//! A button carries a random id that is known only to this process: it belongs to one approval, in
//! one chat, on one message, until it expires. Presses are authorised by the number of the account,
//! never by its name. The bot's token is part of every URL, so a URL is never part of an error. The
//! agent's text is sent as plain text, without previews: Telegram would fetch a link to make one.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::dispatch::{Sleep, Stop, Wait};
use super::http::{self, Client, MOST_BYTES, Reach, Request, TIMEOUT};
use super::{
    AnswerSink, Channel, ChannelError, ChannelKind, Message, Notice, Opened, Secret, SendError,
    text,
};
use crate::clock::{Clock, Timestamp, random};
use crate::id::{ApprovalId, UserId};

mod press;

const NAME: &str = "telegram";
const API: &str = "https://api.telegram.org";

/// The longest card. Telegram takes 4096 UTF-16 units; the rest is for the outcome.
const MOST_UNITS: usize = 3_500;
const MOST_LINK: usize = 300;
const MOST_OUTCOME: usize = 200;
/// The time for which a message is remembered after its question has expired.
const REMEMBERED: Duration = Duration::from_hours(24);

/// The settings of a Telegram chat.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TelegramChannel"))]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The bot's token.
    pub token: Secret,
    /// The chat that is told.
    pub chat: i64,
    /// The accounts that may press a button, by number, with the user each belongs to.
    pub users: std::collections::BTreeMap<i64, UserId>,
    /// Another server than Telegram's, by plain HTTP and inside the network if need be.
    #[serde(default)]
    pub danger_api: Option<Secret>,
}

impl ChannelKind for Settings {
    fn check(&self) -> Result<(), &'static str> {
        match &self.danger_api {
            Some(api) => http::check(api.expose(), Reach::danger(true)),
            None => Ok(()),
        }
    }

    fn open(
        self,
        clock: Arc<dyn Clock>,
        answers: Arc<dyn AnswerSink>,
    ) -> Result<Opened, ChannelError> {
        Ok(Opened::channel(Telegram::open(self, clock, answers)?))
    }
}

/// A bot that sends to one chat.
pub struct Telegram {
    shared: Arc<Shared>,
}

impl fmt::Debug for Telegram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telegram").field("chat", &self.shared.chat).finish_non_exhaustive()
    }
}

impl Drop for Telegram {
    fn drop(&mut self) {
        // The polling thread may be in the middle of a long poll. It ends after it, and passes no
        // answer on.
        self.shared.stop.stop();
    }
}

/// The state shared by the channel and the polling thread.
struct Shared {
    bot: Bot,
    chat: i64,
    users: std::collections::BTreeMap<i64, UserId>,
    asked: Mutex<Vec<Asked>>,
    /// The reason for which the last poll failed.
    deaf: Mutex<Option<String>>,
    clock: Arc<dyn Clock>,
    answers: Arc<dyn AnswerSink>,
    stop: Stop,
}

/// A message with buttons.
#[derive(Clone)]
struct Asked {
    /// The id that its buttons carry.
    id: String,
    approval: ApprovalId,
    message: i64,
    expires_at: Timestamp,
    text: String,
}

impl Telegram {
    /// Opens the channel and starts polling.
    ///
    /// # Errors
    /// The settings cannot work.
    pub fn open(
        settings: Settings,
        clock: Arc<dyn Clock>,
        answers: Arc<dyn AnswerSink>,
    ) -> Result<Self, ChannelError> {
        Self::with(settings, clock, answers, Arc::new(Sleep))
    }

    fn with(
        settings: Settings,
        clock: Arc<dyn Clock>,
        answers: Arc<dyn AnswerSink>,
        wait: Arc<dyn Wait>,
    ) -> Result<Self, ChannelError> {
        let error = |problem| ChannelError::Settings { channel: NAME, problem };
        if !is_token(settings.token.expose()) {
            return Err(error("its `token` is not a bot's"));
        }
        if settings.users.is_empty() {
            return Err(error("its `users` are empty, so nobody could answer"));
        }
        let reach = Reach::danger(settings.danger_api.is_some());
        let base = settings.danger_api.as_ref().map_or(API, Secret::expose);
        let client = Client::new(base, reach).map_err(error)?;
        let shared = Arc::new(Shared {
            bot: Bot { client, token: settings.token },
            chat: settings.chat,
            users: settings.users,
            asked: Mutex::default(),
            deaf: Mutex::default(),
            clock,
            answers,
            stop: Stop::default(),
        });
        let news = Arc::clone(&shared);
        thread::Builder::new()
            .name("telegram news".to_owned())
            .spawn(move || press::poll(&news, &*wait))
            .map_err(|_| error("the machine gives no more threads"))?;
        Ok(Self { shared })
    }
}

impl Channel for Telegram {
    fn name(&self) -> &str {
        NAME
    }

    fn send(&mut self, message: &Message) -> Result<(), SendError> {
        match message {
            Message::Required(notice) => self.shared.ask(notice),
            Message::Settled { approval, state, by, .. } => {
                let by = by.as_deref().map(|by| format!(" by {}", text::line(by)));
                let outcome = format!("{state}{}", by.unwrap_or_default());
                self.shared.settle(approval, &text::cut(&outcome, MOST_OUTCOME))
            }
            Message::Test => self.shared.test(),
        }
    }
}

impl Shared {
    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, notice: &Notice) -> Result<(), SendError> {
        let lot: [u8; 16] = random(&*self.clock).map_err(|_| SendError::Later(None))?;
        let id = URL_SAFE_NO_PAD.encode(lot);
        let text = card(notice, self.clock.now());
        let button = |label: &str, say: char, style: &str| json!({"text": label, "callback_data": format!("{say}:{id}"), "style": style});
        let buttons = [button("Approve", 'a', "success"), button("Reject", 'r', "danger")];
        let body = json!({
            "chat_id": self.chat,
            "text": text,
            "protect_content": true,
            "link_preview_options": {"is_disabled": true},
            "reply_markup": {"inline_keyboard": [buttons]},
        });
        // The lock is held while sending: a button can be pressed before we know the message's
        // number.
        let mut asked = self.asked();
        let sent = self.bot.call("sendMessage", &body)?;
        let message = sent.get("message_id").and_then(Value::as_i64);
        let chat = sent.pointer("/chat/id").and_then(Value::as_i64);
        let Some(message) = message.filter(|_| chat == Some(self.chat)) else {
            return Err(SendError::Never("Telegram does not say where the message is".to_owned()));
        };
        let now = self.clock.now();
        asked.retain(|old| now < old.expires_at.after(REMEMBERED));
        let (approval, expires_at) = (notice.approval.clone(), notice.expires_at);
        asked.push(Asked { id, approval, message, expires_at, text });
        Ok(())
    }

    /// Succeeds only if both directions work: a button whose press is never received is worse than
    /// none.
    fn test(&self) -> Result<(), SendError> {
        let body = json!({"chat_id": self.chat, "text": "This is a test."});
        self.bot.call("sendMessage", &body)?;
        let deaf = self.deaf.lock().unwrap_or_else(PoisonError::into_inner);
        match &*deaf {
            None => Ok(()),
            Some(why) => Err(SendError::Never(format!("no button is heard: {why}"))),
        }
    }

    /// Removes the buttons and shows the outcome.
    fn settle(&self, approval: &ApprovalId, outcome: &str) -> Result<(), SendError> {
        let about = |asked: &&Asked| asked.approval == *approval;
        let settled: Vec<_> = self.asked().iter().filter(about).cloned().collect();
        for asked in settled {
            let body = json!({
                "chat_id": self.chat,
                "message_id": asked.message,
                "text": format!("{}\n\n{outcome}", asked.text),
                "link_preview_options": {"is_disabled": true},
                "reply_markup": {"inline_keyboard": []},
            });
            self.bot.edit("editMessageText", &body)?;
            self.asked().retain(|other| other.id != asked.id);
        }
        Ok(())
    }
}

/// The text of the message.
fn card(notice: &Notice, now: Timestamp) -> String {
    let mut lines = vec![
        format!("Approval needed ({} risk)", notice.risk.as_str()),
        format!("{}: {}", text::line(&notice.action), text::line_to_decide_on(&notice.description)),
    ];
    let details = notice.details.iter().take(50);
    lines.extend(details.map(|detail| format!("- {}", text::line_to_decide_on(detail))));
    let mut card = cut_units(&lines.join("\n"), MOST_UNITS);
    let minutes = notice.expires_at.since(now).as_secs().div_ceil(60);
    card.extend(["\n\nRefused in ", &minutes.to_string(), " min if nobody answers."]);
    if let Some(link) = text::link(notice).filter(|link| link.len() <= MOST_LINK) {
        card.extend(["\n", link]);
    }
    card
}

/// The text, cut off visibly after `most` UTF-16 units.
fn cut_units(text: &str, most: usize) -> String {
    let mut units = 0;
    let fits = text.chars().take_while(|char| {
        units += char.len_utf16();
        units <= most
    });
    text::cut(text, fits.count())
}

/// Reports whether a text is a bot's token: digits, a colon, and letters, which cannot change the
/// path that the token becomes part of.
fn is_token(token: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    token.split_once(':').is_some_and(|(bot, key)| {
        !bot.is_empty()
            && bot.bytes().all(|byte| byte.is_ascii_digit())
            && (20..=128).contains(&key.len())
            && key.bytes().all(letter)
    })
}

/// A client for Telegram's bot API.
struct Bot {
    client: Client,
    token: Secret,
}

impl Bot {
    fn call(&self, method: &str, body: &Value) -> Result<Value, SendError> {
        self.call_within(method, body, TIMEOUT, MOST_BYTES)
    }

    fn call_within(
        &self,
        method: &str,
        body: &Value,
        timeout: Duration,
        most_bytes: usize,
    ) -> Result<Value, SendError> {
        let path = Zeroizing::new(["bot", self.token.expose(), "/", method].concat());
        let body = body.to_string();
        let request =
            Request { path: &path, timeout, most_bytes, ..Request::json(body.as_bytes()) };
        let response = self.client.post(&request)?;
        let mut said: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        match response.delivered() {
            Ok(()) if said.get("ok") == Some(&Value::Bool(true)) => {
                Ok(said.get_mut("result").map(Value::take).unwrap_or_default())
            }
            // The answer cannot be parsed: the fate of the message is unknown.
            Ok(()) => Err(SendError::Never("Telegram's answer cannot be read".to_owned())),
            Err(SendError::Later(wish)) => {
                let asked = said.pointer("/parameters/retry_after").and_then(Value::as_u64);
                Err(SendError::Later(wish.or(asked.map(Duration::from_secs))))
            }
            Err(SendError::Never(reason)) => {
                let why = said.get("description").and_then(Value::as_str).unwrap_or(&reason);
                let why = why.replace(self.token.expose(), "…");
                Err(SendError::Never(text::cut(&text::line(&why), MOST_OUTCOME)))
            }
        }
    }

    /// Edits a message. A message that already has this content, or is gone, counts as edited.
    fn edit(&self, method: &str, body: &Value) -> Result<(), SendError> {
        match self.call(method, body) {
            Err(SendError::Never(reason))
                if reason.contains("not modified") || reason.contains("not found") =>
            {
                Ok(())
            }
            other => other.map(drop),
        }
    }
}

#[cfg(test)]
mod tests;
