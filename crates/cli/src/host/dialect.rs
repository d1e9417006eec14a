//! The format that Claude Code's hooks made common: several hosts use it, each with small
//! differences.

use countersign_core::Action;
use serde_json::{Value, json};

use crate::host::tool::{self, Tools};
use crate::host::{
    HookAnswer, HookEvent, HookOutput, Host, UNCHANGEABLE, Unreadable, What, object, required, text,
};

/// The event before a tool is used.
pub(crate) const BEFORE: &str = "PreToolUse";
/// The event before the host asks its own user.
pub(crate) const PROMPT: &str = "PermissionRequest";

/// Parses an event of this format, with the host's own tools and the events in which nothing is
/// ours to judge.
///
/// # Errors
/// The event is missing or not known, or a tool lacks a required field.
pub(crate) fn decode(
    host: &str,
    tools: Tools,
    neutral: &[&str],
    payload: &Value,
) -> Result<HookEvent, Unreadable> {
    let event = text(payload, "hook_event_name").or_else(|| text(payload, "hookEventName"));
    let event = event.ok_or_else(|| Unreadable::missing("hook_event_name"))?;
    let what = match event {
        BEFORE => What::Acts(actions(host, tools, payload)?),
        PROMPT => What::Prompts(actions(host, tools, payload)?),
        other if neutral.contains(&other) => What::Nothing,
        other => return Err(Unreadable::event(other)),
    };
    let session = text(payload, "session_id").or_else(|| text(payload, "sessionId"));
    Ok(HookEvent {
        event: event.to_owned(),
        session: session.map(str::to_owned),
        cwd: text(payload, "cwd").map(str::to_owned),
        call: text(payload, "tool_use_id").map(str::to_owned),
        what,
    })
}

fn actions(host: &str, tools: Tools, payload: &Value) -> Result<Vec<Action>, Unreadable> {
    let name = required(payload, "tool_name")?;
    let input = object(payload.get("tool_input"))?;
    match tool::mcp(name, &input) {
        Some(action) => Ok(vec![action]),
        None => tool::actions(host, tools, name, &input),
    }
}

/// The input of a call as a person changed it.
pub(crate) fn changed(
    host: &dyn Host,
    tools: Tools,
    payload: &Value,
    edited: &Action,
) -> Option<Value> {
    let input = object(payload.get("tool_input")).ok()?;
    let changed = tool::changed(tools, text(payload, "tool_name")?, &input, edited)?;
    tool::read_back(host, payload, "tool_input", changed, edited)
}

/// The answer before a tool is used.
pub(crate) fn before(decision: &str, reason: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": BEFORE,
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }})
}

/// A yes to a call with another input than its own.
fn before_with(input: &Value) -> Value {
    let mut said = before("allow", "A person changed this and said yes through Countersign.");
    if let Some(specific) = said.get_mut("hookSpecificOutput").and_then(Value::as_object_mut) {
        specific.insert("updatedInput".to_owned(), input.clone());
    }
    said
}

/// A no to the host's own prompt.
pub(crate) fn refused_prompt(reason: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": PROMPT,
        "decision": {"behavior": "deny", "message": reason},
    }})
}

/// The answer for hosts that also read the exit code: an object, and the code for a no.
pub(crate) fn reply(event: &str, said: &HookAnswer<'_>) -> HookOutput {
    match (said, event == PROMPT) {
        // The host already asks.
        (HookAnswer::Neutral, _) | (HookAnswer::Approved(_) | HookAnswer::Ask(_), true) => {
            HookOutput::empty()
        }
        (HookAnswer::Approved(how), false) => HookOutput::json(&before("allow", how)),
        (HookAnswer::Changed(input), false) => HookOutput::json(&before_with(input)),
        (HookAnswer::Changed(_), true) => HookOutput::json(&refused_prompt(UNCHANGEABLE)),
        (HookAnswer::Deny(reason), true) => HookOutput::json(&refused_prompt(reason)),
        (HookAnswer::Deny(reason), false) => HookOutput::json(&before("deny", reason)),
        (HookAnswer::Ask(reason), false) => HookOutput::json(&before("ask", reason)),
    }
}

/// Reports whether an object of this format says no.
pub(crate) fn says_no(reply: &HookOutput) -> bool {
    let Some(object) = reply.object() else { return false };
    let specific = object.get("hookSpecificOutput");
    let decision = specific.and_then(|specific| text(specific, "permissionDecision"));
    let prompt = specific.and_then(|specific| text(specific.get("decision")?, "behavior"));
    decision == Some("deny") || prompt == Some("deny") || text(&object, "decision") == Some("block")
}

/// A call of a shell tool in this format.
pub(crate) fn canary(tool: &str, command: &str, cwd: &str) -> Value {
    json!({
        "session_id": "canary", "cwd": cwd, "hook_event_name": BEFORE, "tool_name": tool,
        "tool_input": {"command": command},
    })
}
