//! The smallest server of MCP that there can be: one tool, which gives back what it is given.

use std::error::Error;
use std::io::{BufRead as _, Write as _, stdin, stdout};

use axum::Json;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Serves on standard input and output until the client is gone.
pub(crate) fn echo() -> Result<(), Box<dyn Error>> {
    let mut out = stdout().lock();
    for line in stdin().lock().lines() {
        if let Some(answer) = answer(&serde_json::from_str(&line?)?) {
            out.write_all(format!("{answer}\n").as_bytes())?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Serves over HTTP until it is ended, and says where.
pub(crate) fn echo_http() -> Result<(), Box<dyn Error>> {
    Runtime::new()?.block_on(async {
        let echo = |Json(message): Json<Value>| async move { Json(answer(&message)) };
        let router = axum::Router::new().route("/mcp", axum::routing::post(echo));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        Ok(axum::serve(listener, router).await?)
    })
}

fn answer(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let result = match message.get("method")?.as_str()? {
        "tools/list" => json!({"tools": [{
            "name": "get_echo", "description": "Reads what it is given.",
            "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
        }]}),
        "tools/call" => {
            let text = message.pointer("/params/arguments/words").cloned().unwrap_or_default();
            json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
        }
        _ => json!({}),
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wants_an_answer_gets_one() {
        let call =
            json!({"id": 1, "method": "tools/call", "params": {"arguments": {"words": "x"}}});
        let answer = answer(&call).expect("an answer");
        assert_eq!(answer["result"]["content"][0]["text"], "x");
        assert_eq!(super::answer(&json!({"method": "notifications/initialized"})), None);
    }
}
