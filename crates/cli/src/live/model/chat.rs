//! `OpenAI`'s Chat Completions, which many other providers use too.

use serde_json::{Value, json};

use super::{Answer, Asked, Dialect, ModelReply, Tool, list, named, streams, text_of};

pub(super) struct Completions;

impl Dialect for Completions {
    fn knows(&self, path: &str) -> bool {
        path.ends_with("/chat/completions")
    }

    fn read(&self, body: &Value) -> Asked {
        let tools = list(body, "tools").filter_map(|tool| tool.get("function"));
        let tools = tools.map(|tool| Tool {
            name: named(tool, "name"),
            takes: tool.get("parameters").cloned().unwrap_or_default(),
        });
        let before = |message: &&Value| !answers_a_call(message);
        let results = list(body, "messages").skip_while(before);
        let results = results.filter(|message| named(message, "role") != "assistant");
        let results = results.map(|said| said.get("content").map(text_of).unwrap_or_default());
        Asked { tools: tools.collect(), results: results.collect() }
    }

    fn say(&self, _: &str, body: &Value, answer: &Answer) -> ModelReply {
        let (message, why) = message(answer);
        let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
        let whole = |object: &str, choice: Value| {
            json!({
                "id": "chatcmpl-1", "object": object, "created": 1,
                "model": named(body, "model"), "choices": [choice], "usage": usage,
            })
        };
        if !streams(body) {
            let choice = json!({"index": 0, "message": message, "finish_reason": why});
            return ModelReply::Whole(whole("chat.completion", choice));
        }
        let first = json!({"index": 0, "delta": message, "finish_reason": null});
        let last = json!({"index": 0, "delta": {}, "finish_reason": why});
        let events = [first, last].map(|choice| (None, whole("chat.completion.chunk", choice)));
        ModelReply::Stream { events: events.to_vec(), closing: Some("[DONE]") }
    }
}

/// Reports whether a message is the result of a call. Some hosts put a hook's text into separate
/// messages that follow it.
fn answers_a_call(message: &Value) -> bool {
    named(message, "role") == "tool"
}

/// The message of an answer, and its finish reason.
fn message(answer: &Answer) -> (Value, &'static str) {
    match answer {
        Answer::Call { tool, arguments } => {
            let function = json!({"name": tool, "arguments": arguments.to_string()});
            let call =
                json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (message, "tool_calls")
        }
        Answer::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
    }
}
