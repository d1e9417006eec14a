//! The tools that our server offers.

use std::pin::Pin;

use anyhow::{Context as _, Result, bail};
use countersign_core::{Action, Context, Judgement, JudgementWithEffects, Policy};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::asking::Asking;
use super::hands::{self, Called, Hands};
use crate::approval_client::{Outcome, Stranded};
use crate::context_options::{self, ContextOptions};
use crate::explanation;
use crate::hook::{self, Judged};
use crate::hook_options::Options;
use crate::mcp::json::{Json, Object, read};
use crate::mcp::message::Era;
use crate::{change, host, judging, settings};

/// The result of a tool.
#[derive(Debug)]
pub(super) struct ToolResult {
    text: String,
    structured: Option<Value>,
    is_error: bool,
}

impl ToolResult {
    fn plain(text: String) -> Self {
        Self { text, structured: None, is_error: false }
    }

    /// Returns the same JSON for programs and for models.
    fn structured(value: Value) -> Self {
        Self { text: value.to_string(), structured: Some(value), is_error: false }
    }

    fn error(why: &str) -> Self {
        Self { text: format!("Countersign: {why}"), structured: None, is_error: true }
    }

    /// The result of a panic, which is a no like any other.
    pub(super) fn failed() -> Self {
        Self::error("this failed internally, so treat it as a no")
    }

    pub(super) fn result(self, era: Era) -> Object {
        let block = Object::default().with("type", "text").with("text", self.text);
        let mut result = era.result().with("content", vec![Json::from(block)]);
        if let Some(value) = &self.structured {
            result.set("structuredContent", Json::from(value));
        }
        if self.is_error {
            result.set("isError", true);
        }
        result
    }
}

type Answer<'a> = Pin<Box<dyn Future<Output = ToolResult> + Send + 'a>>;
type Tool = for<'a> fn(Json, &'a Asking) -> Answer<'a>;

/// Finds a tool by its name.
pub(super) fn find(name: &str) -> Option<Tool> {
    match name {
        "request_confirmation" => {
            Some(|given, asking| Box::pin(request_confirmation(given.to_value(), asking)))
        }
        "check_action" => Some(|given, _| Box::pin(async move { said(check(given.to_value())) })),
        "explain_action" => {
            Some(|given, _| Box::pin(async move { said(explain_action(given.to_value())) }))
        }
        "approve" => Some(|given, asking| Box::pin(approve(given, asking))),
        _ => None,
    }
}

/// The tools as `tools/list` returns them.
pub(super) fn offered(hands: &Hands) -> Json {
    // Checked by a test; a list that cannot be parsed offers nothing.
    let Ok(Json::Array(mut tools)) = read(include_str!("offer.json")) else {
        return Json::Array(Vec::new());
    };
    tools.extend(hands.offered());
    Json::Array(tools)
}

/// Calls a tool that does something.
pub(super) async fn done(name: &str, given: Json, asking: &Asking) -> ToolResult {
    match hands::call(name, given.to_value(), asking).await {
        Ok(Called { text, succeeded }) => {
            ToolResult { text, structured: None, is_error: !succeeded }
        }
        Err(error) => ToolResult::error(&format!("{error:#}")),
    }
}

fn said(outcome: Result<ToolResult>) -> ToolResult {
    outcome.unwrap_or_else(|error| ToolResult::error(&format!("{error:#}")))
}

/// An action with its context.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    action: Action,
    #[serde(default)]
    context: Context,
}

struct Looked {
    action: Action,
    policy: Policy,
    context: Context,
    judgement: Judgement,
}

fn looked(given: Value) -> Result<Looked> {
    let Given { action, context } =
        serde_json::from_value(given).context("this is not an `action` that can be judged")?;
    let mut context = context_options::fill(context, &ContextOptions::at(None, None).context()?);
    let policy = settings::policy(&context)?;
    let judgement = judging::judge_with_facts(&action, &policy, &mut context)?;
    Ok(Looked { action, policy, context, judgement })
}

fn check(given: Value) -> Result<ToolResult> {
    let Looked { action, policy, context, judgement } = looked(given)?;
    let effects = judging::effects_of(&action, &policy, &context)?;
    Ok(ToolResult::structured(serde_json::to_value(JudgementWithEffects { judgement, effects })?))
}

fn explain_action(given: Value) -> Result<ToolResult> {
    let Looked { action, policy, context, judgement } = looked(given)?;
    let changes = change::changes(&action, &policy, &context, &judgement)?;
    let effects = judging::effects_of(&action, &policy, &context)?;
    Ok(ToolResult::plain(explanation::text(&action, &policy, &judgement, &effects, &changes)))
}

async fn request_confirmation(given: Value, asking: &Asking) -> ToolResult {
    let no = |why: String| ToolResult {
        is_error: true,
        ..ToolResult::structured(json!({"approved": false, "reason": why}))
    };
    let (question, options) = match question(given).and_then(|given| Ok((given, options()?))) {
        Ok(both) => both,
        Err(error) => return ToolResult::error(&format!("{error:#}")),
    };
    match asking.confirm(&question, &options).await {
        Ok(answer) => ToolResult::structured(json!(answer)),
        Err(Outcome::Nobody(why) | Outcome::NoAnswer(why)) => {
            no(format!("nobody can be asked: {why}"))
        }
        Err(Outcome::Refused(why)) => no(why),
        Err(Outcome::Agreed(_) | Outcome::Permitted(_)) => no("this cannot be".to_owned()),
    }
}

/// Checks the fields of a question; an agent may not set its session or owner.
fn question(given: Value) -> Result<Map<String, Value>> {
    let Value::Object(question) = given else { bail!("a question has a `description`") };
    let known = ["action", "description", "details", "risk_level"];
    if let Some(other) = question.keys().find(|name| !known.contains(&name.as_str())) {
        bail!("unknown field `{}`", other.escape_debug());
    }
    Ok(question)
}

pub(super) fn options() -> Result<Options> {
    Options::read(&settings::layers(&ContextOptions::at(None, None).context()?)?)
}

/// The request of Claude Code to a `--permission-prompt-tool`.
#[derive(Debug, Deserialize)]
struct Prompt {
    tool_name: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    tool_use_id: Option<String>,
}

/// Answers in the format of that contract: anything but a clear yes is a no. A permitted input is
/// returned as it was spelled, numbers included.
async fn approve(given: Json, asking: &Asking) -> ToolResult {
    let why = match refused(given.to_value(), asking).await {
        Ok(why) => why,
        Err(error) => {
            Some(format!("Countersign refused this because something is wrong: {error:#}"))
        }
    };
    let behaviour = match (why, given.get("input")) {
        (Some(why), _) => Object::default().with("behavior", "deny").with("message", why),
        (None, input) => {
            let input = input.cloned().unwrap_or_else(|| Object::default().into());
            Object::default().with("behavior", "allow").with("updatedInput", input)
        }
    };
    ToolResult::plain(behaviour.to_string())
}

/// The reason for a refusal, if there is one.
async fn refused(given: Value, asking: &Asking) -> Result<Option<String>> {
    let Prompt { tool_name, input, tool_use_id } =
        serde_json::from_value(given).context("this names no tool")?;
    let claude = host::find("claude-code").context("Claude Code is not known")?;
    let event = json!({
        "hook_event_name": "PreToolUse", "tool_name": tool_name, "tool_input": input,
        "tool_use_id": tool_use_id, "session_id": "permission prompt",
        "cwd": std::env::current_dir().context("cannot tell the working folder")?,
    });
    let told = match claude.decode(&event) {
        Ok(told) => told,
        Err(host::Unreadable(why)) => bail!("the call cannot be understood: {why}"),
    };
    let (judged_actions, options) = match hook::judged(claude, &told)? {
        Judged::Neutral => return Ok(None),
        Judged::Deny(why) => return Ok(Some(why)),
        Judged::Ask(judged_actions, options) => (judged_actions, options),
        // Nobody can be asked by the host here: its user has left that to us.
        Judged::Outdated(_, _, why) => return Ok(Some(format!("Countersign refused this: {why}"))),
    };
    for judged_action in &judged_actions {
        let why = match asking.ask(judged_action, &options).await {
            // Only the proposed action is approved: a changed one was refused with a message.
            Outcome::Agreed(_) | Outcome::Permitted(_) => continue,
            Outcome::Refused(why) => why,
            Outcome::Nobody(why) | Outcome::NoAnswer(why) => {
                let folder = Some(asking.folder.as_path());
                let stranded = Stranded { options: &options, folder, asker: "MCP" };
                hook::refused_alone(judged_action, &stranded, &why)
            }
        };
        return Ok(Some(why));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_is_offered_can_be_called_and_nothing_answers_for_a_person() {
        let Json::Array(tools) = offered(&Hands::default()) else { panic!("no list") };
        let names: Vec<_> =
            tools.iter().map(|tool| tool.get("name").unwrap().as_str().unwrap()).collect();
        assert_eq!(names, ["request_confirmation", "check_action", "explain_action", "approve"]);
        assert!(names.iter().all(|name| find(name).is_some()));
        for other in ["respond", "answer", "approve_approval", "spend"] {
            assert!(find(other).is_none(), "{other}");
        }
    }

    #[test]
    fn an_action_is_judged_and_what_is_none_is_an_error() {
        let judged = check(json!({"action": {"kind": "shell", "command": "rm -rf /"}})).unwrap();
        assert_eq!(judged.structured.unwrap()["verdict"], "block");
        let why = explain_action(json!({"action": {"kind": "shell", "command": "ls"}})).unwrap();
        assert!(why.text.starts_with("allow"), "{}", why.text);
        for odd in [json!({}), json!(null), json!({"action": {"kind": "shell"}, "x": 1})] {
            assert!(check(odd.clone()).is_err(), "{odd}");
        }
    }

    #[tokio::test]
    async fn what_may_run_comes_back_as_it_was_written() {
        let asking = Asking {
            folder: std::path::PathBuf::new(),
            session: Arc::default(),
            cancelled: Arc::default(),
        };
        let input = r#"{"timeout":1e3,"command":"ls","big":12345678901234567890123}"#;
        let given = read(&format!(r#"{{"tool_name":"Bash","input":{input}}}"#)).unwrap();
        let said = approve(given, &asking).await;
        assert_eq!(said.text, format!(r#"{{"behavior":"allow","updatedInput":{input}}}"#));
    }

    #[test]
    fn a_question_names_no_session_and_no_approval_of_its_own() {
        assert!(question(json!({"description": "x", "details": ["y"]})).is_ok());
        for odd in [json!({"approval_id": "apr_1"}), json!({"session_id": "s"}), json!([])] {
            assert!(question(odd.clone()).is_err(), "{odd}");
        }
    }
}
