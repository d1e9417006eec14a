//! The real channel against a server on loopback that behaves like Telegram.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::approval::Answer;
use crate::channel::testing::{
    NOW, Noting, Seen, Server, clock, dead, notice, required, response, serve, settled,
};
use crate::channel::{Answered, ChannelAnswer, Sender};
use crate::clock::Fake;

const CHAT: i64 = -1_000;
const ANN: i64 = 42;

/// Waits in real time, but only for a moment.
#[derive(Debug)]
struct Moment;

impl Wait for Moment {
    fn wait(&self, _: &Stop, _: Duration) {
        thread::sleep(Duration::from_millis(1));
    }
}

fn token() -> String {
    ["123456:", &"k".repeat(35)].concat()
}

fn settings(api: &str) -> Settings {
    let user = notice().user;
    Settings {
        token: token().into(),
        chat: CHAT,
        users: BTreeMap::from([(ANN, user.clone()), (43, user)]),
        danger_api: Some(api.to_owned().into()),
    }
}

struct Bench {
    telegram: Telegram,
    server: Server,
    news: Arc<Mutex<VecDeque<Value>>>,
    answers: Arc<Noting>,
    clock: Arc<Fake>,
}

fn bench(says: Result<Answered, String>) -> Bench {
    let news: Arc<Mutex<VecDeque<Value>>> = Arc::default();
    let waiting = Arc::clone(&news);
    let server = serve(move |seen| {
        let result = match method(seen) {
            "getUpdates" => waiting.lock().unwrap().pop_front().into_iter().collect(),
            "sendMessage" => json!({"message_id": 7, "chat": {"id": CHAT}}),
            _ => json!(true),
        };
        response(200, "", &json!({"ok": true, "result": result}).to_string())
    });
    let (answers, clock) = (Noting::new(says), clock());
    let settings = settings(&server.url);
    let telegram =
        Telegram::with(settings, clock.clone(), answers.clone(), Arc::new(Moment)).unwrap();
    Bench { telegram, server, news, answers, clock }
}

fn method(seen: &Seen) -> &str {
    seen.path.rsplit_once('/').unwrap().1
}

impl Bench {
    fn next(&self, wanted: &str) -> Value {
        // Between two calls there are a few polls, not thousands.
        for _ in 0..2_000 {
            let seen = self.server.next();
            if method(&seen) == wanted {
                assert_eq!(seen.path, format!("/bot{}/{wanted}", token()));
                return seen.json();
            }
        }
        panic!("`{wanted}` was never called");
    }

    /// Sends a question, and returns what the two buttons carry.
    fn ask(&mut self) -> (Value, String, String) {
        self.telegram.send(&required()).unwrap();
        let sent = self.next("sendMessage");
        let buttons = &sent["reply_markup"]["inline_keyboard"][0];
        let data = |index: usize| buttons[index]["callback_data"].as_str().unwrap().to_owned();
        let (approve, reject) = (data(0), data(1));
        (sent, approve, reject)
    }

    fn press(&self, user: i64, chat: i64, message: i64, data: &str) {
        static NEXT: AtomicI64 = AtomicI64::new(100);
        self.news.lock().unwrap().push_back(json!({
            "update_id": NEXT.fetch_add(1, Ordering::Relaxed),
            "callback_query": {"id": "q", "from": {"id": user}, "data": data,
                "message": {"message_id": message, "chat": {"id": chat}}},
        }));
    }

    fn shown(&self) -> String {
        self.next("answerCallbackQuery")["text"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_press_reaches_the_desk_and_takes_the_buttons_away() {
    let mut bench = bench(Ok(Answered::Settled("rejected")));
    let (sent, _, reject) = bench.ask();
    assert_eq!(sent["chat_id"], CHAT);
    assert!(sent.get("parse_mode").is_none());
    assert!(sent["text"].as_str().unwrap().contains("shell: git push --force\n- in /repo"));
    bench.press(ANN, CHAT, 7, &reject);
    assert_eq!(bench.shown(), "rejected");
    let edited = bench.next("editMessageReplyMarkup");
    assert_eq!((&edited["chat_id"], &edited["message_id"]), (&json!(CHAT), &json!(7)));
    assert_eq!(edited["reply_markup"]["inline_keyboard"], json!([]));
    let from = Sender::User(notice().user);
    let reply = ChannelAnswer { approval: notice().approval, say: Answer::Reject, from };
    assert_eq!(bench.answers.replies(), [reply]);
}

#[test]
fn a_forged_foreign_or_misplaced_press_is_refused_and_never_reaches_the_desk() {
    let mut bench = bench(Ok(Answered::Counted));
    let (_, approve, _) = bench.ask();
    let forged = format!("a:{}", "A".repeat(22));
    let by_approval = format!("a:{}", notice().approval);
    let (may_not, gone) = ("You may not answer here.", "This button no longer works");
    let elsewhere = "This button belongs to another message.";
    for (user, chat, message, data, refusal) in [
        (99, CHAT, 7, approve.as_str(), may_not),
        (ANN, -2_000, 7, &approve, elsewhere),
        (ANN, CHAT, 8, &approve, elsewhere),
        (ANN, CHAT, 7, &forged, gone),
        (ANN, CHAT, 7, &by_approval, gone),
        (ANN, CHAT, 7, "", gone),
        (ANN, CHAT, 7, &approve.replace("a:", "x:"), gone),
    ] {
        bench.press(user, chat, message, data);
        let shown = bench.shown();
        assert!(shown.starts_with(refusal), "{data} {shown}");
    }
    assert!(bench.answers.replies().is_empty());
    bench.press(43, CHAT, 7, &approve);
    assert_eq!(bench.shown(), "Noted; others must answer too.");
    assert_eq!(bench.answers.replies().len(), 1);
}

#[test]
fn a_late_press_and_one_after_the_end_are_refused() {
    let mut bench = bench(Ok(Answered::Counted));
    let (_, approve, _) = bench.ask();
    bench.clock.pass(Duration::from_mins(5));
    bench.press(ANN, CHAT, 7, &approve);
    assert!(bench.shown().starts_with("Too late"));
    bench.telegram.send(&settled()).unwrap();
    bench.press(ANN, CHAT, 7, &approve);
    assert!(bench.shown().starts_with("This button no longer works"));
    assert!(bench.answers.replies().is_empty());
}

#[test]
fn the_end_removes_the_buttons_and_says_how_it_went() {
    let mut bench = bench(Ok(Answered::Counted));
    bench.ask();
    bench.telegram.send(&settled()).unwrap();
    let edited = bench.next("editMessageText");
    assert_eq!(edited["message_id"], 7);
    assert_eq!(edited["reply_markup"]["inline_keyboard"], json!([]));
    assert!(edited["text"].as_str().unwrap().ends_with("\n\napproved by Ann"));
    assert!(bench.telegram.shared.asked().is_empty());
    bench.telegram.send(&Message::Test).unwrap();
    // A question that was never asked here is ignored.
    bench.telegram.send(&settled()).unwrap();
}

#[test]
fn what_the_desk_refuses_is_shown_without_its_secrets() {
    let mut bench = bench(Err(format!("no: postgres://ann:{}@db/app", "hunter22")));
    let (_, approve, _) = bench.ask();
    bench.press(ANN, CHAT, 7, &approve);
    let shown = bench.shown();
    assert!(shown.starts_with("no: ") && !shown.contains("hunter22"), "{shown}");
}

#[test]
fn buttons_and_texts_stay_within_what_telegram_takes() {
    let mut bench = bench(Ok(Answered::Counted));
    let (_, approve, reject) = bench.ask();
    assert!(approve.len() <= 64 && reject.len() <= 64, "{approve}");
    let mut notice = notice();
    notice.description = "🎉".repeat(5_000);
    notice.details = vec![format!("psql postgres://ann:{}@db/app", "hunter22"); 1_000];
    notice.link = Some(format!("https://gate.example/{}", "x/".repeat(130)));
    bench.telegram.send(&Message::Required(notice)).unwrap();
    let sent = bench.next("sendMessage");
    let text = sent["text"].as_str().unwrap();
    let units = text.encode_utf16().count();
    assert!(units + MOST_OUTCOME < 4_096 && units > 3_000, "{units}");
    assert!(text.contains('…') && !text.contains("hunter22"));
}

#[test]
fn the_token_is_in_no_error_and_nothing_printed() {
    let settings = settings(&dead());
    let printed = format!("{settings:?}");
    let mut telegram =
        Telegram::with(settings, clock(), Noting::new(Ok(Answered::Counted)), Arc::new(Moment))
            .unwrap();
    let failed = telegram.send(&required()).unwrap_err();
    let echo = serve(|seen| {
        let said = json!({"ok": false, "description": format!("bad {}", seen.path)});
        response(400, "", &said.to_string())
    });
    let bot = Bot {
        client: Client::new(&echo.url, Reach::DangerAnywhere).unwrap(),
        token: token().into(),
    };
    let refused = bot.call("sendMessage", &json!({})).unwrap_err();
    let all = format!("{printed} {telegram:?} {failed} {failed:?} {refused} {refused:?}");
    assert!(!all.contains("kkkk") && !all.contains("127.0.0.1"), "{all}");
    let wrong = Settings { token: "1:a/../b".to_owned().into(), ..self::settings(&dead()) };
    let answers = Noting::new(Ok(Answered::Counted));
    let error = Telegram::open(wrong, clock(), answers).unwrap_err().to_string();
    assert_eq!(error, "cannot use channel `telegram`: its `token` is not a bot's");
}

#[test]
fn telegram_says_how_long_to_wait() {
    let server = serve(|_| {
        response(429, "", r#"{"ok":false,"error_code":429,"parameters":{"retry_after":9}}"#)
    });
    let client = Client::new(&server.url, Reach::DangerAnywhere).unwrap();
    let bot = Bot { client, token: token().into() };
    let failed = bot.call("sendMessage", &json!({}));
    assert_eq!(failed, Err(SendError::Later(Some(Duration::from_secs(9)))));
}

#[test]
fn a_test_fails_while_no_button_is_heard() {
    let conflict = r#"{"ok":false,"error_code":409,"description":"Conflict: another asks"}"#;
    let server = serve(move |seen| match method(seen) {
        "getUpdates" => response(409, "", conflict),
        _ => response(200, "", r#"{"ok":true,"result":{}}"#),
    });
    let answers = Noting::new(Ok(Answered::Counted));
    let mut telegram =
        Telegram::with(settings(&server.url), clock(), answers, Arc::new(Moment)).unwrap();
    while method(&server.next()) != "getUpdates" {}
    // The second poll comes after the first was noted.
    while method(&server.next()) != "getUpdates" {}
    let failed = telegram.send(&Message::Test).unwrap_err().to_string();
    assert_eq!(failed, "not delivered: no button is heard: Conflict: another asks");
}

#[test]
fn whom_something_goes_to_can_be_read_where_it_is_decided() {
    let mut notice = notice();
    let address = ["bob", "example.com"].join("@");
    notice.description = format!("Send to {address}");
    notice.details =
        vec![format!("to: {address}"), format!("psql postgres://ann:{}@db", "hunter22")];
    let shown = card(&notice, NOW);
    assert_eq!(shown.matches(&address).count(), 2, "{shown}");
    assert!(!shown.contains("hunter22"), "{shown}");
}
