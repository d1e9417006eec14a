//! Gemini's generateContent.

use serde_json::{Value, json};

use super::{Answer, Asked, Dialect, ModelReply, Tool, list, named, schema, text_of};

pub(super) struct GenerateContent;

impl Dialect for GenerateContent {
    fn knows(&self, path: &str) -> bool {
        path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent")
    }

    fn read(&self, body: &Value) -> Asked {
        let tools = list(body, "tools").flat_map(|tools| list(tools, "functionDeclarations"));
        let tools = tools.map(|tool| {
            let takes = tool.get("parametersJsonSchema").or_else(|| tool.get("parameters"));
            Tool { name: named(tool, "name"), takes: takes.cloned().unwrap_or_default() }
        });
        let parts = list(body, "contents").flat_map(|content| list(content, "parts"));
        let results = parts.filter_map(|part| part.get("functionResponse")?.get("response"));
        Asked { tools: tools.collect(), results: results.map(text_of).collect() }
    }

    fn say(&self, path: &str, body: &Value, answer: &Answer) -> ModelReply {
        let part = match answer {
            Answer::Call { tool, arguments } => {
                json!({"functionCall": {"name": tool, "args": arguments}})
            }
            Answer::Text(text) => json!({"text": wanted(body).unwrap_or_else(|| text.clone())}),
        };
        let candidate = json!({
            "content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0,
        });
        let usage =
            json!({"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15});
        let whole = json!({
            "candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted",
        });
        if path.ends_with(":streamGenerateContent") {
            return ModelReply::Stream { events: vec![(None, whole)], closing: None };
        }
        ModelReply::Whole(whole)
    }
}

/// The JSON that a host requests instead of prose, if it does.
fn wanted(body: &Value) -> Option<String> {
    let config = body.get("generationConfig")?;
    let shape = ["responseJsonSchema", "responseSchema"];
    let shape = shape.iter().find_map(|name| config.get(name));
    if shape.is_none() && named(config, "responseMimeType") != "application/json" {
        return None;
    }
    Some(schema::example(shape.unwrap_or(&Value::Null)).to_string())
}
