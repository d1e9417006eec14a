//! A signed request to a server, as Standard Webhooks specifies it.
//!
//! The id of a message is derived from its approval and state, so it is the same at every attempt,
//! and a receiver can skip a message that it has seen. The signature covers id, time and body.
//! Without a `danger` setting only HTTPS to the public internet is used.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::http::{self, Client, Reach, Request, Response};
use super::sink::{Feed, Sink, SinkError, bounded};
use super::subscription::{Subscription, records};
use super::{
    AnswerSink, Channel, ChannelError, ChannelKind, Message, Notice, Opened, Secret, SendError,
    text,
};
use crate::audit::Record;
use crate::clock::{Clock, Timestamp, random};

const NAME: &str = "webhook";

/// The longest body; receivers may refuse 20 KB.
const MOST_BODY: usize = 18_000;
const MOST_DETAILS: usize = 100;
const MOST_LINE: usize = 1_000;

/// The settings of a receiver.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "WebhookChannel"))]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The receiver's URL; a secret, because many contain one.
    pub url: Secret,
    /// The shared secret: `whsec_` and 24 to 64 bytes as base64.
    #[serde(default)]
    pub secret: Option<Secret>,
    /// The private half of an Ed25519 key: `whsk_` and its 32 or 64 bytes as base64.
    #[serde(default)]
    pub signing_key: Option<Secret>,
    /// What it is told: `approval.requested` and `approval.settled` unless said; `record.*` for
    /// every record, `record.violation` and the like for some, `*` for all.
    #[serde(default = "Subscription::usual")]
    pub events: Vec<Subscription>,
    /// Allows plain HTTP and servers inside the network.
    #[serde(default)]
    pub danger_any_address: bool,
}

impl ChannelKind for Settings {
    fn check(&self) -> Result<(), &'static str> {
        if self.events.is_empty() {
            return Err("`events` of a webhook names none");
        }
        http::check(self.url.expose(), Reach::danger(self.danger_any_address))
    }

    /// Opens what was asked for: questions and records each on a thread of their own, so that
    /// neither waits for the other.
    fn open(self, clock: Arc<dyn Clock>, _: Arc<dyn AnswerSink>) -> Result<Opened, ChannelError> {
        let mut opened = Opened::default();
        let webhook = || Webhook::open(&self, Arc::clone(&clock));
        if self.events.iter().any(|event| !is_record(*event)) {
            opened.channel = Some(Box::new(webhook()?));
        }
        if let Some(records) = records(&self.events) {
            let destination = self.url.expose().to_owned();
            let sink = Box::new(RecordWebhook(webhook()?));
            opened.feed = Some(Feed { sink, records, destination });
        }
        Ok(opened)
    }
}

const fn is_record(event: Subscription) -> bool {
    matches!(event, Subscription::Record(_) | Subscription::Records)
}

/// A receiver that is told.
pub struct Webhook {
    client: Client,
    secret: Option<Zeroizing<Vec<u8>>>,
    key: Option<SigningKey>,
    clock: Arc<dyn Clock>,
    events: Vec<Subscription>,
    /// The id of a test that did not get through yet.
    test: Option<String>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Webhook {
    /// Opens the channel; nothing is sent yet.
    ///
    /// # Errors
    /// The settings cannot work, or name no key to sign with.
    pub fn open(settings: &Settings, clock: Arc<dyn Clock>) -> Result<Self, ChannelError> {
        let reach = Reach::danger(settings.danger_any_address);
        let client = Client::new(settings.url.expose(), reach).map_err(problem)?;
        Self::with(client, settings, clock)
    }

    fn with(
        client: Client,
        settings: &Settings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ChannelError> {
        let secret = settings.secret.as_ref().map(shared_secret).transpose()?;
        let key = settings.signing_key.as_ref().map(signing_key).transpose()?;
        if secret.is_none() && key.is_none() {
            return Err(problem("it needs a `secret` or a `signing_key`"));
        }
        Ok(Self { client, secret, key, clock, events: settings.events.clone(), test: None })
    }

    /// The id of a message, the same at every attempt.
    fn id(&mut self, message: &Message) -> Result<String, SendError> {
        Ok(match message {
            Message::Required(notice) => format!("msg_{}_requested", notice.approval),
            Message::Settled { approval, state, .. } => format!("msg_{approval}_{state}"),
            Message::Test => {
                let drawn = || random(&*self.clock).map_err(|_| SendError::Later(None));
                let named = |lot| format!("msg_test_{:016x}", u64::from_le_bytes(lot));
                self.test.take().map_or_else(|| drawn().map(named), Ok)?
            }
        })
    }

    /// Posts a body under an id, signed.
    fn post(&self, id: &str, now: Timestamp, body: &str) -> Result<Response, SendError> {
        // The time of this attempt, not of the event: receivers refuse what is five minutes old.
        let seconds = now.0.div_euclid(1_000).to_string();
        let signature = self.signature(id, &seconds, body);
        let headers = [
            ("webhook-id", id),
            ("webhook-timestamp", &seconds),
            ("webhook-signature", &signature),
        ];
        self.client.post(&Request { headers: &headers, ..Request::json(body.as_bytes()) })
    }

    fn signature(&self, id: &str, seconds: &str, body: &str) -> String {
        let signed = [id, seconds, body].join(".");
        let hmac = self.secret.as_ref().and_then(|secret| {
            let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
            mac.update(signed.as_bytes());
            Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
        });
        let ed25519 = self
            .key
            .as_ref()
            .map(|key| format!("v1a,{}", STANDARD.encode(key.sign(signed.as_bytes()).to_bytes())));
        let signatures: Vec<_> = hmac.into_iter().chain(ed25519).collect();
        signatures.join(" ")
    }
}

impl Channel for Webhook {
    fn name(&self) -> &str {
        NAME
    }

    fn wants(&self, message: &Message) -> bool {
        let wanted = |one: &Subscription| match message {
            Message::Required(_) => matches!(one, Subscription::Requested | Subscription::All),
            Message::Settled { .. } => matches!(one, Subscription::Settled | Subscription::All),
            Message::Test => true,
        };
        self.events.iter().any(wanted)
    }

    fn send(&mut self, message: &Message) -> Result<(), SendError> {
        let id = self.id(message)?;
        let now = self.clock.wall();
        let body = body(message, now).to_string();
        let sent = self.post(&id, now, &body).and_then(|response| response.delivered());
        if matches!((message, &sent), (Message::Test, Err(SendError::Later(_)))) {
            self.test = Some(id);
        }
        sent
    }
}

/// A receiver that is sent records.
#[derive(Debug)]
pub struct RecordWebhook(Webhook);

impl Sink for RecordWebhook {
    fn name(&self) -> &str {
        NAME
    }

    fn send(&mut self, record: &Record) -> Result<(), SinkError> {
        // The hash tells it from a record of the same number in a chain that was begun anew.
        let print = u64::from_be_bytes(record.hash.first_chunk().copied().unwrap_or_default());
        let id = format!("msg_record_{}_{print:016x}", record.number);
        let body = bounded(record, MOST_BODY, |data| {
            let kind = format!("record.{}", data["event"].as_str().unwrap_or_default());
            json!({"type": kind, "timestamp": data["at"], "data": data}).to_string()
        });
        // What keeps a record from its receiver is not the record's fault: it waits.
        let response =
            self.0.post(&id, self.0.clock.wall(), &body).map_err(|error| match error {
                SendError::Later(wish) => {
                    SinkError::Later { why: "the receiver cannot be reached".to_owned(), wish }
                }
                SendError::Never(why) => SinkError::later(why),
            })?;
        response.delivered().map_err(|error| match error {
            SendError::Later(wish) => {
                let why = format!("the receiver says {}", response.status);
                SinkError::Later { why, wish }
            }
            SendError::Never(why) => SinkError::Refused(why),
        })
    }
}

fn body(message: &Message, now: Timestamp) -> Value {
    let (kind, at, data) = match message {
        Message::Required(notice) => ("approval.requested", notice.created_at, question(notice)),
        Message::Settled { approval, state, by, at } => {
            let by = by.as_deref().map(|by| text::cut(&text::clean(by), MOST_LINE));
            let data = json!({"approval_id": approval, "state": state, "by": by});
            ("approval.settled", *at, data)
        }
        Message::Test => ("test", now, json!({})),
    };
    json!({"type": kind, "timestamp": at.to_string(), "data": data})
}

/// The confirmation, with as many details as fit, and the number of those that do not.
fn question(notice: &Notice) -> Value {
    let bounded = |text: &str| text::cut(&text::clean(text), MOST_LINE);
    let mut data = json!({
        "approval_id": notice.approval,
        "action": bounded(&notice.action),
        "description": bounded(&notice.description),
        "risk_level": notice.risk.as_str(),
        "timeout": notice.expires_at.since(notice.created_at).as_secs(),
    });
    let Some(fields) = data.as_object_mut() else { return data };
    if let Some(link) = text::link(notice) {
        fields.insert("link".to_owned(), link.into());
    }
    let used = Value::Object(fields.clone()).to_string().len();
    let mut room = MOST_BODY.saturating_sub(used);
    let mut details = Vec::new();
    for detail in notice.details.iter().take(MOST_DETAILS) {
        let detail = Value::from(bounded(detail));
        let length = detail.to_string().len() + 1;
        if length > room {
            break;
        }
        room -= length;
        details.push(detail);
    }
    if let Some(more @ 1..) = notice.details.len().checked_sub(details.len()) {
        details.push(format!("{} {more} more left out", text::MARK).into());
    }
    fields.insert("details".to_owned(), details.into());
    data
}

fn problem(problem: &'static str) -> ChannelError {
    ChannelError::Settings { channel: NAME, problem }
}

fn shared_secret(secret: &Secret) -> Result<Zeroizing<Vec<u8>>, ChannelError> {
    let encoded = secret.expose().strip_prefix("whsec_");
    encoded
        .and_then(|text| STANDARD.decode(text).ok())
        .map(Zeroizing::new)
        .filter(|bytes| (24..=64).contains(&bytes.len()))
        .ok_or(problem("its `secret` must be `whsec_` and 24 to 64 bytes as base64"))
}

fn signing_key(secret: &Secret) -> Result<SigningKey, ChannelError> {
    let wrong = || problem("its `signing_key` must be `whsk_` and 32 or 64 bytes as base64");
    let encoded = secret.expose().strip_prefix("whsk_").ok_or_else(wrong)?;
    let bytes = Zeroizing::new(STANDARD.decode(encoded).map_err(|_| wrong())?);
    match bytes.len() {
        64 => {
            let pair = bytes.first_chunk::<64>().ok_or_else(wrong)?;
            SigningKey::from_keypair_bytes(pair).map_err(|_| wrong())
        }
        32 => bytes.first_chunk::<32>().map(SigningKey::from_bytes).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ed25519_dalek::{Signature, Verifier as _};

    use super::*;
    use crate::channel::dispatch::{CAPACITY, Dispatcher, Wait};
    use crate::channel::http::OUT_OF_REACH;
    use crate::channel::testing::{
        Leaping, NOW, Server, clock, dead, notice, ok, required, response, serve, settled,
    };

    fn settings(url: &str) -> Settings {
        Settings {
            url: format!("{url}/hook?key=hidden-key").into(),
            secret: Some(format!("whsec_{}", STANDARD.encode([7; 32])).into()),
            signing_key: Some(format!("whsk_{}", STANDARD.encode([9; 32])).into()),
            events: Subscription::usual(),
            danger_any_address: true,
        }
    }

    fn webhook(url: &str) -> Webhook {
        Webhook::open(&settings(url), clock()).unwrap()
    }

    #[test]
    fn an_independent_implementation_accepts_the_signature() {
        // It refuses a message that is five minutes old by the machine's own clock.
        let server = serve(|_| ok());
        let clock = Arc::new(crate::clock::System);
        Webhook::open(&settings(&server.url), clock).unwrap().send(&required()).unwrap();
        let seen = server.next();
        assert_eq!(seen.path, "/hook?key=hidden-key");
        let receiver = standardwebhooks::Webhook::from_bytes(vec![7; 32]).unwrap();
        let mut headers = ::http::HeaderMap::new();
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            headers.insert(name, seen.header(name).parse().unwrap());
        }
        receiver.verify(seen.body.as_bytes(), &headers).unwrap();
        assert!(receiver.verify(b"another", &headers).is_err());
    }

    #[test]
    fn a_record_is_signed_too_and_waits_for_a_receiver_that_is_away() {
        use crate::audit::{Draft, Event, Head, RecordOwner};
        let payload = json!({"why": "x".repeat(30_000)}).to_string();
        let draft = Draft::new(NOW, Event::Violation, RecordOwner::default(), payload, [1; 16]);
        let record = Head::genesis().link(draft);
        let mut answers = vec![response(400, "", ""), response(503, "", ""), ok()];
        let server = serve(move |_| answers.pop().unwrap_or_else(ok));
        let clock = Arc::new(crate::clock::System);
        let mut sink = RecordWebhook(Webhook::open(&settings(&server.url), clock).unwrap());
        sink.send(&record).unwrap();
        let seen = server.next();
        let receiver = standardwebhooks::Webhook::from_bytes(vec![7; 32]).unwrap();
        let mut headers = ::http::HeaderMap::new();
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            headers.insert(name, seen.header(name).parse().unwrap());
        }
        receiver.verify(seen.body.as_bytes(), &headers).unwrap();
        assert!(seen.body.len() < 20_000);
        assert_eq!(seen.json()["type"], "record.violation");
        assert_eq!(seen.json()["data"]["left_out"], "payload");
        assert!(matches!(sink.send(&record), Err(SinkError::Later { .. })));
        assert!(matches!(sink.send(&record), Err(SinkError::Refused(_))));
        let mut away = RecordWebhook(webhook(&dead()));
        assert!(matches!(away.send(&record), Err(SinkError::Later { .. })));
        // An address that may not be reached is not the record's fault either.
        let inside = Settings { danger_any_address: false, ..settings("https://10.0.0.7") };
        let mut inside =
            RecordWebhook(Webhook::open(&inside, crate::channel::testing::clock()).unwrap());
        assert!(matches!(inside.send(&record), Err(SinkError::Later { .. })));
    }

    #[test]
    fn the_ed25519_signature_holds_too() {
        let server = serve(|_| ok());
        webhook(&server.url).send(&settled()).unwrap();
        let seen = server.next();
        let signed = [seen.header("webhook-id"), seen.header("webhook-timestamp"), &seen.body];
        let encoded = seen.header("webhook-signature").split_once(" v1a,").unwrap().1;
        let signature = Signature::from_slice(&STANDARD.decode(encoded).unwrap()).unwrap();
        let key = SigningKey::from_bytes(&[9; 32]).verifying_key();
        key.verify(signed.join(".").as_bytes(), &signature).unwrap();
        assert!(key.verify(b"another", &signature).is_err());
    }

    #[test]
    fn the_body_is_the_confirmation_and_the_outcome() {
        let server = serve(|_| ok());
        let mut webhook = webhook(&server.url);
        webhook.send(&required()).unwrap();
        let id = notice().approval;
        let asked = json!({"type": "approval.requested", "timestamp": NOW.to_string(), "data": {
            "approval_id": id, "action": "shell", "description": "git push --force",
            "details": ["in /repo"], "risk_level": "high", "timeout": 300}});
        assert_eq!(server.next().json(), asked);
        webhook.send(&settled()).unwrap();
        let settled = json!({"type": "approval.settled", "timestamp": NOW.to_string(),
            "data": {"approval_id": id, "state": "approved", "by": "Ann"}});
        assert_eq!(server.next().json(), settled);
    }

    #[test]
    fn a_body_stays_small_says_what_is_missing_and_holds_no_secret() {
        let mut notice = notice();
        notice.action = "\u{1}".repeat(5_000);
        notice.description = "\u{1}".repeat(5_000);
        notice.details = vec!["界".repeat(2_000); 50];
        notice.details.insert(0, format!("psql postgres://ann:{}@db/app", "hunter22"));
        let body = body(&Message::Required(notice), NOW);
        let length = body.to_string().len();
        assert!(length < 20_000, "{length}");
        assert!(!body.to_string().contains("hunter22"));
        let last = body["data"]["details"].as_array().unwrap().last().unwrap();
        assert!(last.as_str().unwrap().ends_with("more left out"), "{last}");
    }

    fn dispatch(webhook: Webhook) -> (Dispatcher, Arc<Leaping>) {
        let clock = clock();
        let waiting = Leaping::new(&clock);
        let wait: Arc<dyn Wait> = waiting.clone();
        (Dispatcher::with(vec![Box::new(webhook)], clock, &wait, CAPACITY), waiting)
    }

    #[test]
    fn a_busy_receiver_is_asked_again_by_the_same_id() {
        let mut answers =
            vec![ok(), response(503, "retry-after: 20\r\n", ""), response(500, "", "")];
        let server = serve(move |_| answers.pop().unwrap_or_else(ok));
        let (dispatcher, waiting) = dispatch(webhook(&server.url));
        dispatcher.tell(required());
        let seen: Vec<_> = (0..3).map(|_| server.next()).collect();
        let ids: Vec<_> = seen.iter().map(|seen| seen.header("webhook-id")).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        dispatcher.shutdown(Duration::from_secs(10));
        assert_eq!(dispatcher.stats()[0].sent, 1);
        assert!(waiting.waits.lock().unwrap()[1] >= Duration::from_secs(20));
    }

    #[test]
    fn what_the_receiver_says_decides_whether_to_try_again() {
        for (status, again) in [(301, false), (400, false), (404, false), (410, false), (429, true)]
        {
            let server: Server = serve(move |_| response(status, "location: /other\r\n", ""));
            let sent = webhook(&server.url).send(&required());
            assert_eq!(matches!(sent, Err(SendError::Later(_))), again, "{status}");
            // There is only one request: a redirect is not followed.
            server.next();
            assert!(server.seen.try_recv().is_err());
        }
        assert_eq!(webhook(&dead()).send(&required()), Err(SendError::Later(None)));
    }

    #[test]
    fn a_test_keeps_its_id_until_it_gets_through() {
        let mut answers = vec![ok(), ok(), response(500, "", "")];
        let server = serve(move |_| answers.pop().unwrap());
        let mut webhook = webhook(&server.url);
        let mut id = || {
            let _ = webhook.send(&Message::Test);
            server.next().header("webhook-id").to_owned()
        };
        let (first, second, third) = (id(), id(), id());
        assert_eq!(first, second);
        assert_ne!(second, third);
    }

    #[test]
    fn plain_http_inside_addresses_and_unsigned_hooks_need_more_than_a_setting() {
        let open = |change: &dyn Fn(&mut Settings)| {
            let mut settings = settings("https://10.0.0.7");
            settings.danger_any_address = false;
            change(&mut settings);
            Webhook::open(&settings, clock())
        };
        let sent = open(&|_| {}).unwrap().send(&Message::Test);
        assert_eq!(sent, Err(SendError::Never(OUT_OF_REACH.to_owned())));
        for url in ["http://example.com/", "https://ann@example.com/", "ftp://x/", "x"] {
            assert!(open(&|settings| settings.url = url.to_owned().into()).is_err(), "{url}");
        }
        for secret in ["", "whsec_", "whsec_c2hvcnQ=", "whsec_!"] {
            let secret = || Some(secret.to_owned().into());
            assert!(open(&|settings| settings.secret = secret()).is_err());
        }
        let unsigned = open(&|settings| (settings.secret, settings.signing_key) = (None, None));
        assert!(unsigned.is_err());
        let printed = format!("{:?} {:?}", settings("https://x"), webhook(&dead()));
        assert!(!printed.contains("hidden-key") && !printed.contains("whs"), "{printed}");
    }
}
