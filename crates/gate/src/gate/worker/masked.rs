//! Results of work, masked: the credentials of the session for everybody, secrets and personal data
//! for everybody but the agent that asked.

use countersign_wire::work::{Output, WorkError, WorkFile, WorkResult};
use serde_json::Value;

use crate::redacted;

/// The result with every text of it changed.
pub(super) fn mapped(result: WorkResult, how: &dyn Fn(&str) -> String) -> WorkResult {
    let output = |output: Output| Output {
        head: how(&output.head),
        tail: how(&output.tail),
        left_out: output.left_out,
    };
    WorkResult {
        output: output(result.output),
        errors: output(result.errors),
        value: mapped_value(result.value, how),
        files: result
            .files
            .into_iter()
            .map(|file| WorkFile { name: how(&file.name), ..file })
            .collect(),
        error: result.error.map(|error| WorkError {
            name: how(&error.name),
            message: how(&error.message),
            stack: error.stack.map(|stack| how(&stack)),
        }),
        ..result
    }
}

fn mapped_value(value: Value, how: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(how(&text)),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| mapped_value(item, how)).collect())
        }
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (how(&name), mapped_value(value, how)))
                .collect(),
        ),
        value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
    }
}

/// The result with secrets and personal data masked.
pub(super) fn shown(plain: &WorkResult) -> WorkResult {
    let whole_lines = |output: &Output| {
        if output.left_out == 0 {
            return output.clone();
        }
        // A secret at the gap would be cut in two, and neither part looks like one.
        let head = output.head.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let tail = output.tail.split_once('\n').map_or("", |(_, lines)| lines);
        Output { head: head.to_owned(), tail: tail.to_owned(), left_out: output.left_out }
    };
    let result = WorkResult {
        output: whole_lines(&plain.output),
        errors: whole_lines(&plain.errors),
        value: redacted::value(&plain.value),
        ..plain.clone()
    };
    mapped(result, &redacted::text)
}

#[cfg(test)]
mod tests {
    use countersign_wire::work::Ended;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_in_any_part_of_a_result_is_masked() {
        let key = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
        let text = || Output { head: format!("a {key}"), ..Output::EMPTY };
        let mut result = WorkResult::because(Ended::Failed, "Error", format!("it said {key}"));
        (result.output, result.errors) = (text(), text());
        result.value = json!({"list": [{"x": key}]});
        assert!(serde_json::to_string(&result).unwrap().contains(&key));
        assert!(!serde_json::to_string(&shown(&result)).unwrap().contains(&key));
    }

    #[test]
    fn a_secret_at_the_gap_of_an_output_is_left_out() {
        let key = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
        let (one, other) = key.split_at(9);
        let head = format!("first\n{one}");
        let tail = format!("{other}\nlast");
        let mut result = WorkResult::of(Ended::Done);
        result.output = Output { head, tail, left_out: 7 };
        let Output { head, tail, left_out } = shown(&result).output;
        assert_eq!((head.as_str(), tail.as_str(), left_out), ("first", "last", 7));
    }
}
