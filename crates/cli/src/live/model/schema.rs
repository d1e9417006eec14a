//! Composes arguments for a tool from the schema of its input.

use serde_json::{Map, Value, json};

/// Valid as a summary or a reason of a tool: a capital letter, a few words.
const WORDS: &str = "Try one command out";
/// Deeper than any tool's arguments.
const DEEPEST: usize = 16;
/// The fields in which tools take the command.
const COMMAND: [&str; 3] = ["command", "cmd", "commands"];

/// Returns the arguments with which a tool runs a command.
pub(super) fn arguments(takes: &Value, command: &str) -> Value {
    let mut arguments = example(takes);
    let properties = takes.get("properties");
    let found = COMMAND.iter().find(|name| properties.is_some_and(|all| all.get(name).is_some()));
    let name = found.copied().unwrap_or("command");
    let shape = properties.and_then(|all| all.get(name)).map(kind).unwrap_or_default();
    let value = match (shape.as_str(), name) {
        ("array", "commands") => json!([command]),
        ("array", _) => json!(["bash", "-lc", command]),
        _ => json!(command),
    };
    if !arguments.is_object() {
        arguments = Value::Object(Map::new());
    }
    if let Some(members) = arguments.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
    arguments
}

/// Returns a minimal value that matches a schema.
pub(super) fn example(schema: &Value) -> Value {
    within(schema, 0)
}

fn within(schema: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(first) = schema.get("enum").and_then(|all| all.get(0)) {
        return first.clone();
    }
    let choices = ["anyOf", "oneOf", "allOf"];
    if let Some(first) = choices.iter().find_map(|name| schema.get(name)?.get(0)) {
        return within(first, depth.saturating_add(1));
    }
    match kind(schema).as_str() {
        "string" => json!(WORDS),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        "boolean" => json!(false),
        "array" => json!([]),
        _ => Value::Object(members(schema, depth)),
    }
}

fn members(schema: &Value, depth: usize) -> Map<String, Value> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let member = |name: &Value| {
        let name = name.as_str()?;
        let takes = schema.get("properties")?.get(name)?;
        Some((name.to_owned(), within(takes, depth.saturating_add(1))))
    };
    required.filter_map(member).collect()
}

/// The type, which some write in capitals and some as a list.
fn kind(schema: &Value) -> String {
    let named = schema.get("type");
    let named = named.and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    named.unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_put_where_the_tool_takes_it() {
        let text = json!({"type": "string"});
        let list = json!({"type": "array"});
        for (properties, expected) in [
            (json!({"command": text}), json!({"command": "ls"})),
            (json!({"cmd": text}), json!({"cmd": "ls"})),
            (json!({"commands": list}), json!({"commands": ["ls"]})),
            (json!({"command": list}), json!({"command": ["bash", "-lc", "ls"]})),
        ] {
            let takes = json!({"type": "object", "properties": properties});
            assert_eq!(arguments(&takes, "ls"), expected);
        }
        assert_eq!(arguments(&Value::Null, "ls"), json!({"command": "ls"}));
    }

    #[test]
    fn what_else_is_required_is_filled_in() {
        let takes = json!({
            "type": "OBJECT",
            "required": ["command", "summary", "risk", "wait", "ask", "of"],
            "properties": {
                "command": {"type": "STRING"}, "summary": {"type": "string"},
                "risk": {"enum": ["low", "high"]}, "wait": {"type": ["integer"], "minimum": 3},
                "ask": {"type": "boolean"}, "not": {"type": "string"},
                "of": {"anyOf": [{"type": "array"}, {"type": "null"}]},
            },
        });
        let expected = json!({
            "command": "ls", "summary": WORDS, "risk": "low", "wait": 3, "ask": false, "of": [],
        });
        assert_eq!(arguments(&takes, "ls"), expected);
    }
}
