//! One record as one message of RFC 5424.
//!
//! ```text
//! <109>1 2026-11-16T06:00:00.000Z gate countersign 812 violation [record@32473 number="7" …] {…}
//! ```

use std::fmt::Write as _;

use serde::Deserialize;

use crate::audit::Record;
use crate::bytes::Hash;
use crate::channel::sink::bounded;

/// Every receiver should take 8192 octets; this leaves room for what stands before the JSON.
const MOST_BYTES: usize = 7_000;
/// What a name may have at most.
const MOST_HOSTNAME: usize = 255;
/// The number that is set aside for those who have none of their own.
const ENTERPRISE: u32 = 32_473;

/// What kind of program speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SyslogFacility"))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each variant is the facility of its name")]
pub enum Facility {
    Auth,
    Authpriv,
    #[default]
    Audit,
    Local0,
    Local1,
    Local2,
    Local3,
    Local4,
    Local5,
    Local6,
    Local7,
}

impl Facility {
    const fn number(self) -> u8 {
        match self {
            Self::Auth => 4,
            Self::Authpriv => 10,
            Self::Audit => 13,
            Self::Local0 => 16,
            Self::Local1 => 17,
            Self::Local2 => 18,
            Self::Local3 => 19,
            Self::Local4 => 20,
            Self::Local5 => 21,
            Self::Local6 => 22,
            Self::Local7 => 23,
        }
    }
}

/// Who speaks.
#[derive(Debug)]
pub(super) struct Source {
    facility: Facility,
    hostname: String,
    process: u32,
}

impl Source {
    /// This process on this machine.
    pub(super) fn this_process(facility: Facility) -> Self {
        Self { facility, hostname: hostname(), process: std::process::id() }
    }

    /// A record as a message.
    pub(super) fn message(&self, record: &Record) -> String {
        let Self { facility, hostname, process } = self;
        let priority = u16::from(facility.number()) * 8 + severity(&record.event);
        let (at, event) = (record.at, word(&record.event, 32));
        let data = data(record);
        let json = bounded(record, MOST_BYTES, |json| ascii(&json.to_string()));
        format!("<{priority}>1 {at} {hostname} countersign {process} {event} {data} {json}")
    }
}

/// What can be searched for without reading the JSON.
fn data(record: &Record) -> String {
    let record_owner = record.content.as_ref().map(|content| &content.record_owner);
    let mut all = format!(
        "[record@{ENTERPRISE} number=\"{}\" hash=\"{}\"",
        record.number,
        value(&Hash(record.hash).to_string())
    );
    let fields = record_owner.map(|record_owner| {
        [
            ("user", &record_owner.owner),
            ("workspace", &record_owner.workspace),
            ("session", &record_owner.session),
        ]
    });
    for (name, text) in fields.into_iter().flatten() {
        if let Some(text) = text {
            let _ = write!(all, " {name}=\"{}\"", value(text));
        }
    }
    all.push(']');
    all
}

/// How urgent: 3 is an error, 4 a warning, 5 worth a note, 6 the usual course.
fn severity(event: &str) -> u16 {
    match event {
        "error" => 3,
        "violation" | "answer_refused" | "spend_refused" | "halted" | "begun_anew"
        | "clock_stepped" | "decided_offline" => 4,
        "critical_point" | "erased" | "cut" | "resumed" | "user_changed" | "device_changed"
        | "key_changed" | "settings_changed" => 5,
        _ => 6,
    }
}

/// A value of a parameter: quotes, backslashes and closing brackets are escaped.
fn value(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for character in text.chars().filter(|character| !character.is_control()) {
        if matches!(character, '"' | '\\' | ']') {
            all.push('\\');
        }
        all.push(character);
    }
    all
}

/// A field of the header: printable ASCII without spaces, or nothing.
fn word(text: &str, most: usize) -> &str {
    let sound =
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    if sound { text } else { "-" }
}

/// JSON in ASCII alone: it needs no mark of its encoding, which many receivers do not take away.
fn ascii(json: &str) -> String {
    let mut all = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            all.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(all, "\\u{unit:04x}");
        }
    }
    all
}

#[cfg(unix)]
fn hostname() -> String {
    let name = rustix::system::uname();
    word(name.nodename().to_str().unwrap_or_default(), MOST_HOSTNAME).to_owned()
}

#[cfg(not(unix))]
fn hostname() -> String {
    word(&std::env::var("COMPUTERNAME").unwrap_or_default(), MOST_HOSTNAME).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::audit::{Draft, Event, Head, RecordOwner};
    use crate::channel::testing::NOW;

    fn record(event: Event, payload: &Value) -> Record {
        let record_owner =
            RecordOwner { owner: Some("usr_\"]\\".to_owned()), ..RecordOwner::default() };
        Head::genesis().link(Draft::new(NOW, event, record_owner, payload.to_string(), [1; 16]))
    }

    fn source() -> Source {
        Source { facility: Facility::Audit, hostname: "gate".to_owned(), process: 812 }
    }

    #[test]
    fn a_message_is_what_the_rfc_says() {
        let record = record(Event::Violation, &json!({"why": "Größe 🎉"}));
        let message = source().message(&record);
        let begins = format!("<108>1 {NOW} gate countersign 812 violation [record@32473 ");
        assert!(message.starts_with(&begins), "{message}");
        assert!(message.contains(r#" user="usr_\"\]\\"] {"#), "{message}");
        assert!(message.is_ascii());
        let json = message.split_once("] {").unwrap().1;
        let json: Value = serde_json::from_str(&format!("{{{json}")).unwrap();
        assert_eq!(json["payload"], json!({"why": "Größe 🎉"}));
        assert_eq!(json["number"], json!(1));
    }

    #[test]
    fn a_message_is_one_that_every_receiver_takes_and_says_what_is_missing() {
        let record = record(Event::ActionPlanned, &json!({"text": "界".repeat(20_000)}));
        let message = source().message(&record);
        assert!(message.len() <= 8_192, "{}", message.len());
        assert!(message.contains(r#""left_out":"payload""#), "{message}");
    }

    #[test]
    fn a_header_holds_words_alone() {
        for bad in ["", "two words", "größe", "a\nb", &"x".repeat(33)] {
            assert_eq!(word(bad, 32), "-", "{bad}");
        }
        assert_eq!(word("gate.example.com", 255), "gate.example.com");
    }
}
