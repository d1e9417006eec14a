//! One record as one line of JSON, for other tools.

use serde_json::{Value, json};

use crate::audit::Record;
use crate::bytes::Hash;

/// A record as JSON. Erased fields are `null`.
#[must_use]
pub fn export(record: &Record) -> Value {
    let content = record.content.as_ref();
    let record_owner = content.map(|content| &content.record_owner);
    let payload = content.map(|content| {
        // The server always writes JSON; a payload that somebody else put there is shown unchanged.
        serde_json::from_str(&content.payload)
            .unwrap_or_else(|_| Value::from(content.payload.as_str()))
    });
    json!({
        "number": record.number,
        "at": record.at.to_string(),
        "event": record.event,
        "user": record_owner.and_then(|record_owner| record_owner.owner.as_deref()),
        "workspace": record_owner.and_then(|record_owner| record_owner.workspace.as_deref()),
        "session": record_owner.and_then(|record_owner| record_owner.session.as_deref()),
        "payload": payload,
        "erased": content.is_none(),
        "digest": Hash(record.digest),
        "previous": Hash(record.previous),
        "hash": Hash(record.hash),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Draft, Event, Head, RecordOwner};
    use crate::clock::Timestamp;

    #[test]
    fn a_record_is_written_with_everything_it_holds_and_erased_content_as_null() {
        let record_owner =
            RecordOwner { owner: Some("usr_1".to_owned()), ..RecordOwner::default() };
        let payload = r#"{"kind":"shell"}"#.to_owned();
        let draft = Draft::new(Timestamp(0), Event::ActionPlanned, record_owner, payload, [1; 16]);
        let mut record = Head::genesis().link(draft);
        let line = export(&record);
        assert_eq!((&line["number"], &line["event"]), (&json!(1), &json!("action_planned")));
        assert_eq!((&line["user"], &line["payload"]["kind"]), (&json!("usr_1"), &json!("shell")));
        assert_eq!((&line["erased"], &line["hash"]), (&json!(false), &json!(Hash(record.hash))));
        record.content = None;
        let line = export(&record);
        assert_eq!((&line["user"], &line["payload"]), (&Value::Null, &Value::Null));
        assert_eq!((&line["erased"], &line["hash"]), (&json!(true), &json!(Hash(record.hash))));
    }
}
