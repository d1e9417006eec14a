//! Records as rows of a table.

use countersign_gate::audit::{Event, Record};
use serde_json::Value;

use crate::console::piece::{Piece, plain};
use crate::console::when::moment;
use crate::html::Text;

/// A record as it is displayed.
pub(crate) struct RecordView {
    pub(crate) number: u64,
    pub(crate) at: String,
    pub(crate) moment: String,
    pub(crate) event: String,
    pub(crate) word: String,
    pub(crate) session: Option<String>,
    /// A summary on one line; `None` if the content was erased.
    pub(crate) line: Option<Vec<Piece>>,
    /// The whole payload.
    pub(crate) payload: Vec<Piece>,
}

/// The most informative fields of a record, in this order.
const TELLING: [&str; 8] =
    ["description", "action", "state", "reason", "status", "violation", "what", "message"];
/// The length at which a line is cut.
const MOST_CHARACTERS: usize = 160;

impl RecordView {
    pub(crate) fn of(t: Text, record: &Record) -> Self {
        let content = record.content.as_ref();
        let payload = content.map(|content| {
            let text = content.payload.as_str();
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
        });
        let pretty = payload.as_ref().and_then(|json| serde_json::to_string_pretty(json).ok());
        Self {
            number: record.number,
            at: record.at.to_string(),
            moment: moment(record.at),
            word: t.word("event", &record.event),
            event: record.event.clone(),
            session: content.and_then(|content| content.record_owner.session.clone()),
            line: payload.as_ref().map(|payload| plain(&line(payload))),
            payload: plain(&pretty.unwrap_or_default()),
        }
    }
}

/// Every kind of event: its identifier and its translated name.
pub(crate) fn events(t: Text) -> Vec<(&'static str, String)> {
    Event::ALL.iter().map(|one| (one.as_str(), t.word("event", one.as_str()))).collect()
}

/// Summarises a record on one line, by its most informative fields.
pub(crate) fn line(payload: &Value) -> String {
    let told = TELLING.iter().filter_map(|name| match payload.get(name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Null | Value::String(_) => None,
        other => Some(other.to_string()),
    });
    let text = told.take(3).collect::<Vec<_>>().join(" · ");
    let text = if text.is_empty() { pairs(payload) } else { text };
    if text.chars().count() <= MOST_CHARACTERS {
        return text;
    }
    let kept: String = text.chars().take(MOST_CHARACTERS).collect();
    format!("{kept}…")
}

/// Lists all fields, for a record that has none of the informative ones.
fn pairs(payload: &Value) -> String {
    let Some(fields) = payload.as_object() else {
        return payload.as_str().unwrap_or("").to_owned();
    };
    let pair = |(name, value): (&String, &Value)| match value {
        Value::Null => None,
        Value::String(text) => Some(format!("{name}: {text}")),
        other => Some(format!("{name}: {other}")),
    };
    fields.iter().filter_map(pair).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_says_what_tells_most() {
        let planned = json!({"action": "shell", "status": "waiting", "key": null, "id": "x"});
        assert_eq!(line(&planned), "shell · waiting");
        let other = json!({"approval": "apr_1", "empty": null, "risk": 1});
        assert_eq!(line(&other), "approval: apr_1 · risk: 1");
        assert_eq!(line(&Value::Null), "");
        assert!(line(&json!({"reason": "a".repeat(900)})).ends_with('…'));
    }
}
