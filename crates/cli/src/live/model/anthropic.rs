//! Anthropic's Messages.

use serde_json::{Value, json};

use super::{Answer, Asked, Dialect, ModelReply, Tool, list, named, streams, text_of};

pub(super) struct Messages;

impl Dialect for Messages {
    fn knows(&self, path: &str) -> bool {
        path.ends_with("/messages")
    }

    fn read(&self, body: &Value) -> Asked {
        let tools = list(body, "tools").map(|tool| Tool {
            name: named(tool, "name"),
            takes: tool.get("input_schema").cloned().unwrap_or_default(),
        });
        let parts = list(body, "messages").flat_map(|message| list(message, "content"));
        let results = parts.filter(|part| named(part, "type") == "tool_result");
        let results = results.map(|part| part.get("content").map(text_of).unwrap_or_default());
        Asked { tools: tools.collect(), results: results.collect() }
    }

    fn say(&self, _: &str, body: &Value, answer: &Answer) -> ModelReply {
        let (block, why) = block(answer);
        let message = |content: Value, stop: Value| {
            json!({
                "id": "msg_1", "type": "message", "role": "assistant",
                "model": named(body, "model"), "content": content, "stop_reason": stop,
                "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 5},
            })
        };
        if !streams(body) {
            return ModelReply::Whole(message(json!([block]), json!(why)));
        }
        let (empty, delta) = pieces(answer);
        let mut events = Vec::new();
        let mut tell = |name: &'static str, mut data: Value| {
            if let Some(members) = data.as_object_mut() {
                members.insert("type".to_owned(), Value::from(name));
            }
            events.push((Some(name), data));
        };
        tell("message_start", json!({"message": message(json!([]), Value::Null)}));
        tell("content_block_start", json!({"index": 0, "content_block": empty}));
        tell("content_block_delta", json!({"index": 0, "delta": delta}));
        tell("content_block_stop", json!({"index": 0}));
        let stopped = json!({"stop_reason": why, "stop_sequence": null});
        tell("message_delta", json!({"delta": stopped, "usage": {"output_tokens": 5}}));
        tell("message_stop", json!({}));
        ModelReply::Stream { events, closing: None }
    }
}

/// The whole answer, and its stop reason.
fn block(answer: &Answer) -> (Value, &'static str) {
    match answer {
        Answer::Call { tool, arguments } => (
            json!({"type": "tool_use", "id": "toolu_1", "name": tool, "input": arguments}),
            "tool_use",
        ),
        Answer::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
    }
}

/// The answer as a first event and the event that follows.
fn pieces(answer: &Answer) -> (Value, Value) {
    match answer {
        Answer::Call { tool, arguments } => (
            json!({"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
        ),
        Answer::Text(text) => {
            (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
        }
    }
}
