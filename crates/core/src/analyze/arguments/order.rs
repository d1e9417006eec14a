//! Orders inside the arguments of a call whose name only reads: an HTTP method, an operation by
//! name, a mutation, a stage that writes.

use serde_json::Value;

use crate::analyze::purpose::{self, Effect, Purpose};
use crate::fact::FactKind;

/// Words of one mutation that are looked at for a verb.
const MOST_WORDS: usize = 64;

/// What a field orders by its name and value: `method: DELETE`, `action: purge_all`.
pub(super) fn of_field(name: &str, value: &Value) -> Option<FactKind> {
    if matches!(name, "$out" | "$merge") {
        return Some(FactKind::ToolWrite);
    }
    let words = purpose::split(name);
    let text = value.as_str().map(str::trim)?;
    match words.last().map_or("", |word| word) {
        "method" | "verb" => of_method(text),
        "action" | "operation" | "op" if is_name(text) => of_operation(text),
        _ => None,
    }
}

/// What a text orders, whatever its name: a GraphQL mutation, or `/users/_delete_by_query`.
pub(super) fn of_text(text: &str) -> Option<FactKind> {
    of_mutation(text).or_else(|| {
        let path = text.starts_with('/') && !text.contains(char::is_whitespace);
        let steps = text.split('/').filter(|step| path && step.starts_with('_'));
        let mut orders = steps.filter_map(of_operation);
        orders.find(|kind| *kind == FactKind::ToolDestructive)
    })
}

fn of_method(method: &str) -> Option<FactKind> {
    match method.to_ascii_uppercase().as_str() {
        "DELETE" => Some(FactKind::ToolDestructive),
        "POST" | "PUT" | "PATCH" => Some(FactKind::ToolWrite),
        _ => None,
    }
}

fn of_operation(name: &str) -> Option<FactKind> {
    match purpose::of_name(name) {
        Purpose::Known(Effect::Destroy | Effect::Pay) => Some(FactKind::ToolDestructive),
        Purpose::Known(Effect::Write | Effect::Send) => Some(FactKind::ToolWrite),
        Purpose::Known(Effect::Read | Effect::Execute) | Purpose::Unknown => None,
    }
}

/// `mutation { removeUser(id: 1) { id } }`, also with a name, variables or comments before it.
fn of_mutation(text: &str) -> Option<FactKind> {
    let lines = text.lines().skip_while(|line| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with('#')
    });
    let first = lines.map(str::trim_start).next()?;
    let rest = first.strip_prefix("mutation")?;
    if !rest.is_empty() && !rest.starts_with([' ', '\t', '(', '{', '@']) || !text.contains('{') {
        return None;
    }
    let names = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    let names = names.filter(|name| !name.is_empty()).skip(1).take(MOST_WORDS);
    let worst = names.filter_map(of_operation).any(|kind| kind == FactKind::ToolDestructive);
    Some(if worst { FactKind::ToolDestructive } else { FactKind::ToolWrite })
}

/// Whether this is the name of something and not a sentence about it.
fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    !text.is_empty() && text.len() <= 48 && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: &str) -> Option<FactKind> {
        of_field(name, &Value::from(value))
    }

    #[test]
    fn a_field_orders_what_it_names() {
        assert_eq!(field("method", "DELETE"), Some(FactKind::ToolDestructive));
        assert_eq!(field("httpMethod", "post"), Some(FactKind::ToolWrite));
        assert_eq!(field("action", "purge_all"), Some(FactKind::ToolDestructive));
        assert_eq!(field("operation", "updateUser"), Some(FactKind::ToolWrite));
        assert_eq!(field("$out", "orders"), Some(FactKind::ToolWrite));
        for (name, value) in [
            ("method", "GET"),
            ("method", "card"),
            ("action", "list"),
            ("action", "Delete what you do not need"),
            ("title", "delete"),
        ] {
            assert_eq!(field(name, value), None, "{name}: {value}");
        }
    }

    #[test]
    fn a_mutation_changes_what_its_fields_say() {
        let delete = "# note\nmutation Go($id: ID!) { removeUser(id: $id) { id } }";
        assert_eq!(of_text(delete), Some(FactKind::ToolDestructive));
        assert_eq!(of_text("mutation{setTitle(x:1){id}}"), Some(FactKind::ToolWrite));
        assert_eq!(of_text("/users/_delete_by_query"), Some(FactKind::ToolDestructive));
        for harmless in
            ["query { user { id } }", "mutations in DNA", "/users/_search", "/srv/delete_me.txt"]
        {
            assert_eq!(of_text(harmless), None, "{harmless}");
        }
    }
}
