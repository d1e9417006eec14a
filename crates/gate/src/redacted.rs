//! Redaction before anything is kept or sent.

use countersign_core::Action;
use countersign_core::redact::redact;
use serde_json::Value;

/// A text with secrets and personal data masked.
pub(crate) fn text(text: &str) -> String {
    redact(text).text
}

/// An action as JSON with secrets and personal data masked.
///
/// What is typed into a field is left out whole where the field asks for something secret: a
/// password looks like any other word.
pub(crate) fn action(action: &Action) -> Value {
    let mut value = serde_json::to_value(action).unwrap_or_default();
    if let (Action::Ui { .. }, Some(typed)) = (action, value.get_mut("text")) {
        *typed = Value::from("[redacted:typed]");
    }
    mask(&mut value, None);
    value
}

/// Masks every text in a value. A name goes with its value, so that `"password": "hunter2"` is
/// found for what it is.
fn mask(value: &mut Value, name: Option<&str>) {
    match value {
        Value::String(found) => *found = named(name, found),
        Value::Number(number) => {
            let plain = number.to_string();
            let masked = named(name, &plain);
            if masked != plain {
                *value = Value::from(masked);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, name)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, field)| mask(field, Some(name)));
            // Names are the agent's own words too, where they are not those of the action.
            *fields = std::mem::take(fields).into_iter().map(|(k, v)| (text(&k), v)).collect();
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn named(name: Option<&str>, found: &str) -> String {
    let alone = text(found);
    let Some(name) = name.filter(|_| alone == found && !found.contains('\n')) else {
        return alone;
    };
    // The value is judged once more as what its name says it is.
    let pair = format!("{name}: {found}");
    match text(&pair).strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")) {
        Some(masked) => masked.to_owned(),
        None => alone,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: Value) -> String {
        action(&serde_json::from_value(value).unwrap()).to_string()
    }

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        let key = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
        let told = of(json!({"kind": "shell", "command": format!("aws --key {key}")}));
        assert!(!told.contains(&key), "{told}");
        let nested = json!({"kind": "tool", "server": "s", "tool": "t",
            "arguments": {"auth": {"password": "correct-horse-41"}, "list": ["a", {"b": key}]}});
        let told = of(nested);
        assert!(!told.contains(&key) && !told.contains("correct-horse"), "{told}");
    }

    #[test]
    fn what_is_typed_is_never_kept() {
        let typed = json!({"kind": "ui", "surface": "browser", "op": "type", "text": "hunter2",
            "field": {"type": "password"}});
        assert!(!of(typed).contains("hunter2"));
    }

    #[test]
    fn ordinary_words_stay_readable() {
        let told = of(json!({"kind": "shell", "command": "rm -rf build"}));
        assert!(told.contains("rm -rf build"), "{told}");
    }
}
