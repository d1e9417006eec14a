//! Push messages by ntfy that lead to the console.
//!
//! A topic is a password that everybody who subscribes knows, so a button never answers: it only
//! opens the console, where a person signs in. The action is left out unless the server is declared
//! private.

use std::sync::Arc;

use countersign_core::RiskLevel;
use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{self, Client, Reach, Request};
use super::{
    AnswerSink, Channel, ChannelError, ChannelKind, Message, Notice, Opened, Secret, SendError,
    text,
};
use crate::clock::Clock;

const NAME: &str = "ntfy";

/// The longest message; ntfy turns a longer one into an attachment.
const MOST_BYTES: usize = 3_800;

/// The settings of an ntfy topic.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "NtfyChannel"))]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The topic.
    pub topic: Secret,
    /// The server's root.
    #[serde(default = "public_server")]
    pub server: String,
    /// The access token, if the server wants one.
    #[serde(default)]
    pub token: Option<Secret>,
    /// True when only our own people can read the server's messages.
    #[serde(default)]
    pub private: bool,
    /// Allows plain HTTP and servers inside the network.
    #[serde(default)]
    pub danger_any_address: bool,
}

impl ChannelKind for Settings {
    fn check(&self) -> Result<(), &'static str> {
        http::check(&self.server, Reach::danger(self.danger_any_address))
    }

    fn open(self, clock: Arc<dyn Clock>, _: Arc<dyn AnswerSink>) -> Result<Opened, ChannelError> {
        Ok(Opened::channel(Ntfy::open(self, clock)?))
    }
}

fn public_server() -> String {
    "https://ntfy.sh".to_owned()
}

/// A channel that sends to one topic.
#[derive(Debug)]
pub struct Ntfy {
    client: Client,
    topic: Secret,
    authorization: Option<Secret>,
    private: bool,
    clock: Arc<dyn Clock>,
}

impl Ntfy {
    /// Opens the channel; nothing is sent yet.
    ///
    /// # Errors
    /// The settings cannot work.
    pub fn open(settings: Settings, clock: Arc<dyn Clock>) -> Result<Self, ChannelError> {
        let error = |problem| ChannelError::Settings { channel: NAME, problem };
        let letter = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        let topic = settings.topic.expose();
        if topic.is_empty() || topic.len() > 64 || !topic.chars().all(letter) {
            return Err(error("a topic has 1 to 64 letters, digits, `_` and `-`"));
        }
        let client = Client::new(&settings.server, Reach::danger(settings.danger_any_address))
            .map_err(error)?;
        let bearer = |token: &Secret| Secret::from(format!("Bearer {}", token.expose()));
        Ok(Self {
            client,
            authorization: settings.token.as_ref().map(bearer),
            topic: settings.topic,
            private: settings.private,
            clock,
        })
    }

    fn push(&self, message: &Message) -> Value {
        let topic = self.topic.expose();
        match message {
            Message::Required(notice) => self.question(notice),
            Message::Settled { state, by, .. } => {
                let by = by.as_deref().filter(|_| self.private);
                let by = by.map(|by| format!(" by {}", text::line(by))).unwrap_or_default();
                json!({"topic": topic, "title": format!("Settled: {state}{by}"), "priority": 2,
                       "message": "Nothing more to do.", "tags": ["white_check_mark"]})
            }
            Message::Test => json!({"topic": topic, "title": "Countersign", "priority": 2,
                                    "message": "This is a test.", "tags": ["wave"]}),
        }
    }

    fn question(&self, notice: &Notice) -> Value {
        let (priority, tag) = match notice.risk {
            RiskLevel::None | RiskLevel::Low => (3, "grey_question"),
            RiskLevel::Medium => (4, "warning"),
            RiskLevel::High => (4, "rotating_light"),
            RiskLevel::Critical => (5, "rotating_light"),
        };
        let minutes = notice.expires_at.since(self.clock.now()).as_secs().div_ceil(60);
        let mut lines = Vec::new();
        if self.private {
            lines.push(format!(
                "{}: {}",
                text::line(&notice.action),
                text::line(&notice.description)
            ));
            lines.extend(notice.details.iter().take(20).map(|detail| text::line(detail)));
        }
        lines.push(format!("Refused in {minutes} min if nobody answers."));
        let mut push = json!({
            "topic": self.topic.expose(),
            "title": format!("Approval needed ({} risk)", notice.risk.as_str()),
            "message": bounded(&lines.join("\n")),
            "priority": priority,
            "tags": [tag],
        });
        if let (Some(link), Some(push)) = (text::link(notice), push.as_object_mut()) {
            let view = json!([{"action": "view", "label": "Review", "url": link, "clear": true}]);
            push.insert("actions".to_owned(), view);
        }
        push
    }
}

impl Channel for Ntfy {
    fn name(&self) -> &str {
        NAME
    }

    fn send(&mut self, message: &Message) -> Result<(), SendError> {
        let body = self.push(message).to_string();
        let header = self.authorization.as_ref().map(|token| ("authorization", token.expose()));
        let headers: Vec<_> = header.into_iter().collect();
        let request = Request { headers: &headers, ..Request::json(body.as_bytes()) };
        self.client.post(&request)?.delivered()
    }
}

fn bounded(text: &str) -> String {
    let end =
        text.char_indices().map(|(index, _)| index).take_while(|at| *at <= MOST_BYTES).count();
    text::cut(text, if text.len() <= MOST_BYTES { usize::MAX } else { end.saturating_sub(1) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::http::OUT_OF_REACH;
    use crate::channel::testing::{clock, notice, ok, response, serve, settled};

    fn ntfy(server: &str, extra: &str) -> Ntfy {
        let text = format!(
            r#"{{"topic":"secret-topic","server":"{server}","danger_any_address":true{extra}}}"#
        );
        Ntfy::open(serde_json::from_str(&text).unwrap(), clock()).unwrap()
    }

    #[test]
    fn a_public_topic_learns_the_risk_and_the_link_and_nothing_else() {
        let server = serve(|_| ok());
        let mut notice = notice();
        notice.link = Some("https://gate.example/approvals".to_owned());
        let message = Message::Required(notice);
        ntfy(&server.url, r#","token":"tk_test""#).send(&message).unwrap();
        let seen = server.next();
        assert_eq!((seen.path.as_str(), seen.header("authorization")), ("/", "Bearer tk_test"));
        assert!(!seen.body.contains("push --force") && !seen.body.contains("/repo"), "{seen:?}");
        let push = seen.json();
        assert_eq!(push["topic"], "secret-topic");
        assert_eq!((&push["priority"], &push["tags"][0]), (&json!(4), &json!("rotating_light")));
        let view = json!([{"action": "view", "label": "Review",
                           "url": "https://gate.example/approvals", "clear": true}]);
        assert_eq!(push["actions"], view);
    }

    #[test]
    fn a_private_one_is_told_what_the_agent_wants_without_its_secrets() {
        let server = serve(|_| ok());
        let mut notice = notice();
        notice.details.push(format!("psql postgres://ann:{}@db/app\u{202e}", "hunter22"));
        notice.details.push("界".repeat(5_000));
        ntfy(&server.url, r#","private":true"#).send(&Message::Required(notice)).unwrap();
        let push = server.next().json();
        let message = push["message"].as_str().unwrap();
        assert!(message.starts_with("shell: git push --force\nin /repo\n"), "{message}");
        assert!(!message.contains("hunter22") && message.contains("\\u{202e}"), "{message}");
        assert!(message.len() < 4_096 && message.ends_with(text::MARK), "{}", message.len());
        ntfy(&server.url, "").send(&settled()).unwrap();
        assert_eq!(server.next().json()["title"], "Settled: approved");
    }

    #[test]
    fn a_topic_that_is_a_path_and_a_server_inside_are_refused() {
        let open = |text: &str| Ntfy::open(serde_json::from_str(text).unwrap(), clock());
        assert!(open(r#"{"topic":"a/b"}"#).is_err());
        assert!(open(r#"{"topic":"a","server":"http://example.com"}"#).is_err());
        let mut inside = open(r#"{"topic":"a","server":"https://10.0.0.7"}"#).unwrap();
        assert_eq!(inside.send(&Message::Test), Err(SendError::Never(OUT_OF_REACH.to_owned())));
    }

    #[test]
    fn a_busy_server_is_asked_again() {
        let server = serve(|_| response(429, "retry-after: 7\r\n", ""));
        let sent = ntfy(&server.url, "").send(&Message::Test);
        assert_eq!(sent, Err(SendError::Later(Some(std::time::Duration::from_secs(7)))));
    }
}
