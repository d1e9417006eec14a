//! One record as one line of JSON, for other tools.

use serde_json::{Value, json};

use crate::audit::Record;
use crate::bytes::Hash;

/// A record as JSON. What was erased is `null`.
#[must_use]
pub fn export(record: &Record) -> Value {
    let content = record.content.as_ref();
    let subject = content.map(|content| &content.subject);
    let payload = content.map(|content| {
        // Ours is always JSON; what somebody put there instead is shown as it is.
        serde_json::from_str(&content.payload)
            .unwrap_or_else(|_| Value::from(content.payload.as_str()))
    });
    json!({
        "number": record.number,
        "at": record.at.to_string(),
        "event": record.event,
        "user": subject.and_then(|subject| subject.owner.as_deref()),
        "workspace": subject.and_then(|subject| subject.workspace.as_deref()),
        "session": subject.and_then(|subject| subject.session.as_deref()),
        "payload": payload,
        "erased": content.is_none(),
        "digest": Hash(record.digest),
        "previous": Hash(record.previous),
        "hash": Hash(record.hash),
    })
}
