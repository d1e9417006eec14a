use super::*;

const COMMAND: &str = "echo hello";

/// A first request of each protocol, and a second one with the command's result.
fn conversations() -> Vec<(&'static str, Value, Value)> {
    let takes = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    let function = json!({"name": "bash", "parameters": takes});
    let messages = json!({"tools": [{"name": "Bash", "input_schema": takes}], "messages": []});
    let said = json!([{"type": "tool_result", "content": [{"type": "text", "text": "no"}]}]);
    let responses = json!({"tools": [function], "input": []});
    let output = json!([{"type": "function_call_output", "output": "no"}]);
    let chat = json!({"tools": [{"type": "function", "function": function}], "messages": []});
    let declared = json!([{"name": "run_shell_command", "parametersJsonSchema": takes}]);
    let gemini = json!({"tools": [{"functionDeclarations": declared}], "contents": []});
    let response = json!({"functionResponse": {"name": "x", "response": {"text": "no"}}});
    let with = |body: &Value, name: &str, value: Value| {
        let mut body = body.clone();
        body[name] = value;
        body
    };
    let told = |name, value| json!([{"role": name, "content": value}]);
    vec![
        ("/v1/messages", messages.clone(), with(&messages, "messages", told("user", said))),
        ("/v1/responses", responses.clone(), with(&responses, "input", output)),
        ("/v1/chat/completions", chat.clone(), with(&chat, "messages", told("tool", json!("no")))),
        (
            "/v1beta/models/x:generateContent",
            gemini.clone(),
            with(&gemini, "contents", json!([{"parts": [response]}])),
        ),
    ]
}

async fn body(response: Response<Full<Bytes>>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn every_dialect_proposes_once_and_keeps_what_comes_back() {
    for (path, first, second) in conversations() {
        for stream in [false, true] {
            let mut script = Script { command: COMMAND.to_owned(), ..Script::default() };
            let (mut first, mut second) = (first.clone(), second.clone());
            first["stream"] = json!(stream);
            second["stream"] = json!(stream);
            let path = path.replace(
                ":generateContent",
                if stream { ":streamGenerateContent" } else { ":generateContent" },
            );
            let response = reply(&mut script, &path, &first);
            let kind = response.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
            assert_eq!(kind == "text/event-stream", stream, "{path}");
            assert!(body(response).await.contains(COMMAND), "{path}");
            let response = body(reply(&mut script, &path, &second)).await;
            assert!(response.contains(DONE) && !response.contains(COMMAND), "{path}: {response}");
            let heard = Heard { requests: 2, proposed: 1, results: vec!["no".to_owned()] };
            assert_eq!(script.heard, heard, "{path}");
        }
    }
}

#[test]
fn what_a_host_says_behind_a_result_is_kept_too() {
    let messages = json!([
        {"role": "user", "content": "please"},
        {"role": "assistant", "content": null, "tool_calls": []},
        {"role": "tool", "content": "[]"},
        {"role": "user", "content": [{"type": "text", "text": "a hook said no"}]},
        {"role": "assistant", "content": "well"},
    ]);
    let asked = chat::Completions.read(&json!({"messages": messages}));
    assert_eq!(asked.results, ["[]", "a hook said no"]);
}

#[tokio::test]
async fn a_request_without_a_shell_gets_words_and_json_where_that_is_wanted() {
    for (path, mut first, _) in conversations() {
        first["tools"] = json!([]);
        let mut script = Script { command: COMMAND.to_owned(), ..Script::default() };
        assert!(body(reply(&mut script, path, &first)).await.contains(DONE), "{path}");
        assert_eq!(script.heard.proposed, 0);
    }
    let wanted =
        json!({"type": "object", "required": ["next"], "properties": {"next": {"enum": ["user"]}}});
    let asked = json!({"generationConfig": {"responseJsonSchema": wanted}});
    let mut script = Script::default();
    let said = body(reply(&mut script, "/v1beta/models/x:generateContent", &asked)).await;
    assert!(said.contains(r#"{\"next\":\"user\"}"#), "{said}");
}

#[tokio::test]
async fn it_is_reached_over_loopback() {
    use crate::client::{Address, Client};
    let model = Model::start().await.unwrap();
    model.begin(COMMAND);
    let at = Address::parse(&model.url()).unwrap();
    let client = Client::new(at, crate::client::Trust::Usual).unwrap();
    let (path, first, _) = conversations().remove(2);
    let said = client.post(path, &first).await.unwrap();
    assert!(said.to_string().contains(COMMAND));
    assert_eq!(model.heard().proposed, 1);
}
