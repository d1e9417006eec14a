//! `OpenAI`'s Responses.

use serde_json::{Value, json};

use super::{Answer, Asked, Dialect, ModelReply, Tool, list, named, streams, text_of};

pub(super) struct Responses;

impl Dialect for Responses {
    fn knows(&self, path: &str) -> bool {
        path.ends_with("/responses")
    }

    fn read(&self, body: &Value) -> Asked {
        let tools = list(body, "tools").map(|tool| Tool {
            name: named(tool, "name"),
            takes: tool.get("parameters").cloned().unwrap_or_default(),
        });
        let outputs =
            list(body, "input").filter(|item| named(item, "type").ends_with("call_output"));
        let results = outputs.map(|item| item.get("output").map(text_of).unwrap_or_default());
        Asked { tools: tools.collect(), results: results.collect() }
    }

    fn say(&self, _: &str, body: &Value, answer: &Answer) -> ModelReply {
        let item = item(answer);
        let whole = |status: &str, output: Value, usage: Value| {
            json!({
                "id": "resp_1", "object": "response", "created_at": 1, "status": status,
                "model": named(body, "model"), "output": output, "usage": usage,
            })
        };
        let usage = json!({
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 15,
        });
        let finished = whole("completed", json!([item]), usage);
        if !streams(body) {
            return ModelReply::Whole(finished);
        }
        let mut events = Vec::new();
        let mut tell = |name: &'static str, mut data: Value| {
            if let Some(members) = data.as_object_mut() {
                members.insert("type".to_owned(), Value::from(name));
                members.insert("sequence_number".to_owned(), Value::from(events.len()));
            }
            events.push((Some(name), data));
        };
        let begun = whole("in_progress", json!([]), Value::Null);
        tell("response.created", json!({"response": begun}));
        tell("response.output_item.added", json!({"output_index": 0, "item": item}));
        tell("response.output_item.done", json!({"output_index": 0, "item": item}));
        tell("response.completed", json!({"response": finished}));
        ModelReply::Stream { events, closing: None }
    }
}

fn item(answer: &Answer) -> Value {
    match answer {
        Answer::Call { tool, arguments } => json!({
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed",
            "name": tool, "arguments": arguments.to_string(),
        }),
        Answer::Text(text) => json!({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
    }
}
