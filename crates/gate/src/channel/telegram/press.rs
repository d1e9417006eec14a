//! Pressed buttons, passed from Telegram to the desk.
//!
//! A press that does not match exactly (an unknown id, another chat, another message, another
//! person, too late) is refused with a text and not passed on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::dispatch::Wait;
use super::super::{Answered, ChannelAnswer, SendError, Sender, text};
use super::{Asked, MOST_OUTCOME, Shared};
use crate::approval::Answer;
use crate::id::UserId;

/// The time for which Telegram holds a long poll.
const HELD: Duration = Duration::from_secs(25);
const TIMEOUT: Duration = Duration::from_secs(35);
/// The most updates per poll. Each contains the whole message.
const MOST_NEWS: usize = 10;
const MOST_BYTES: usize = 1_024 * 1_024;
/// The pause between polls, in case a server does not hold them.
const BREATH: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Polls for updates until it is stopped.
pub(super) fn poll(shared: &Shared, wait: &dyn Wait) {
    let mut offset = 0;
    let mut failures = 0_u32;
    while !shared.stop.is_stopped() {
        let body = json!({
            "offset": offset,
            "timeout": HELD.as_secs(),
            "limit": MOST_NEWS,
            "allowed_updates": ["callback_query"],
        });
        let news = shared.bot.call_within("getUpdates", &body, TIMEOUT, MOST_BYTES);
        shared.note(&news);
        let pause = match news {
            Ok(news) => {
                failures = 0;
                for update in news.as_array().into_iter().flatten() {
                    let number = update.get("update_id").and_then(Value::as_i64).unwrap_or(0);
                    offset = offset.max(number.saturating_add(1));
                    if let Some(press) = Press::read(update).filter(|_| !shared.stop.is_stopped()) {
                        shared.pressed(&press);
                    }
                }
                BREATH
            }
            Err(error) => {
                failures = failures.saturating_add(1);
                let doubled = Duration::from_secs(1 << failures.min(6)).min(LONGEST_PAUSE);
                match error {
                    SendError::Later(wish) => wish.map_or(doubled, |wish| wish.min(LONGEST_PAUSE)),
                    // A wrong token, or another process that polls for this bot: either may be
                    // fixed.
                    SendError::Never(_) => doubled,
                }
            }
        };
        wait.wait(&shared.stop, pause);
    }
}

/// A pressed button, as Telegram reports it.
#[derive(Debug)]
struct Press {
    id: String,
    user: i64,
    chat: i64,
    message: i64,
    data: String,
}

impl Press {
    fn read(update: &Value) -> Option<Self> {
        let query = update.get("callback_query")?;
        let number = |path| query.pointer(path).and_then(Value::as_i64);
        let text = |path| query.pointer(path).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            id: text("/id")?,
            user: number("/from/id")?,
            // A missing number matches nothing.
            chat: number("/message/chat/id").unwrap_or_default(),
            message: number("/message/message_id").unwrap_or_default(),
            data: text("/data").unwrap_or_default(),
        })
    }
}

impl Shared {
    fn note(&self, news: &Result<Value, SendError>) {
        let failure = match news {
            Ok(_) => None,
            Err(SendError::Later(_)) => Some("Telegram does not answer".to_owned()),
            Err(SendError::Never(why)) => Some(why.clone()),
        };
        *self.deaf.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    fn pressed(&self, press: &Press) {
        let (asked, say, user) = match self.judge(press) {
            Ok(fitting) => fitting,
            Err(refusal) => return self.show(press, refusal),
        };
        if asked.expires_at <= self.clock.now() {
            self.show(press, "Too late: nobody answered in time.");
            return self.remove_buttons(&asked);
        }
        let reply =
            ChannelAnswer { approval: asked.approval.clone(), say, from: Sender::User(user) };
        let answered = catch_unwind(AssertUnwindSafe(|| self.answers.answer(reply)))
            .unwrap_or_else(|_| Err("something broke; nothing was approved".to_owned()));
        match answered {
            Ok(Answered::Settled(state)) => {
                self.show(press, state);
                self.remove_buttons(&asked);
            }
            Ok(Answered::Counted) => self.show(press, "Noted; others must answer too."),
            Err(reason) => self.show(press, &text::line(&reason)),
        }
    }

    /// The approval and answer of a button, if this person may press it in this place.
    fn judge(&self, press: &Press) -> Result<(Asked, Answer, UserId), &'static str> {
        let user = self.users.get(&press.user).ok_or("You may not answer here.")?;
        let gone = "This button no longer works. Open the console.";
        let (say, id) = press.data.split_once(':').ok_or(gone)?;
        let say = match say {
            "a" => Answer::Approve,
            "r" => Answer::Reject,
            _ => return Err(gone),
        };
        let asked = self.asked().iter().find(|asked| asked.id == id).cloned().ok_or(gone)?;
        if press.chat != self.chat || press.message != asked.message {
            return Err("This button belongs to another message.");
        }
        Ok((asked, say, user.clone()))
    }

    /// Shows a text to the presser. A failure is ignored: the answer counts in any case.
    fn show(&self, press: &Press, text: &str) {
        let body = json!({
            "callback_query_id": press.id,
            "text": text::cut(text, MOST_OUTCOME - 1),
            "show_alert": true,
        });
        let _ = self.bot.call("answerCallbackQuery", &body);
    }

    /// Removes the buttons. If this fails, [`super::Message::Settled`] removes them later.
    fn remove_buttons(&self, asked: &Asked) {
        let body = json!({
            "chat_id": self.chat,
            "message_id": asked.message,
            "reply_markup": {"inline_keyboard": []},
        });
        let _ = self.bot.edit("editMessageReplyMarkup", &body);
    }
}
