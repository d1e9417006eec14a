//! Messages of a device on its WebSocket. Errors name the field that is wrong.

use std::collections::BTreeMap;

use countersign_gate::approval::Answer;
use countersign_gate::gate::PersonAnswer;
use countersign_gate::id::ApprovalId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::api::approval::{WithToken, token_of};
use crate::body::not_understood;
use crate::error::Problem;

/// A message of a device.
#[derive(Debug)]
pub(super) enum Incoming {
    Response(SkillResponse),
    Ping,
}

/// An answer to one question or many.
#[derive(Debug)]
pub(super) struct SkillResponse {
    app_skill_id: OneOrMany,
    confirmation_token: Tokens,
    decision: Answer,
    group_mode: bool,
    feedback: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(ApprovalId),
    Many(Vec<ApprovalId>),
}

/// One token for all, one for each in the same order, or a map from ids to tokens.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Tokens {
    One(String),
    Each(Vec<String>),
    ById(BTreeMap<String, String>),
}

impl Incoming {
    /// Parses one message.
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let message: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| not_understood(&error))?;
        let mut message = Fields { fields: message, within: "" };
        let kinds = "`app_skill_confirmation_response` or `ping`";
        let kind: String = message.need("type", kinds)?;
        let read = match kind.as_str() {
            "app_skill_confirmation_response" => {
                let payload = message.need("payload", "an object")?;
                Self::Response(SkillResponse::read(payload)?)
            }
            "ping" => {
                message.take::<Value>("payload", "anything")?;
                Self::Ping
            }
            _ => return Err(wrong("type", kinds)),
        };
        message.end()?;
        Ok(read)
    }
}

impl SkillResponse {
    fn read(payload: Map<String, Value>) -> Result<Self, Problem> {
        let mut payload = Fields { fields: payload, within: "payload." };
        let read = Self {
            app_skill_id: payload
                .need("app_skill_id", "the id of a question, or a list of them")?,
            confirmation_token: payload
                .need("confirmation_token", "a token, a list of tokens, or tokens by id")?,
            decision: payload.need("decision", "`approve` or `reject`")?,
            group_mode: payload.take("group_mode", "`true` or `false`")?.unwrap_or_default(),
            feedback: payload.take("feedback", "a text")?,
        };
        payload.end()?;
        Ok(read)
    }

    pub(super) fn replies(self) -> Result<Vec<WithToken>, Problem> {
        let Self { app_skill_id, confirmation_token, decision, group_mode, feedback } = self;
        let ids = match app_skill_id {
            OneOrMany::One(id) => vec![id],
            OneOrMany::Many(ids) => ids,
        };
        if ids.len() > 1 && !group_mode {
            let detail = "set `group_mode` to answer several at once";
            return Err(Problem::bad_request(detail).with("field", "payload.group_mode"));
        }
        let reply = |(place, id): (usize, ApprovalId)| {
            let token = match &confirmation_token {
                Tokens::One(token) => Some(token),
                Tokens::Each(tokens) => tokens.get(place),
                Tokens::ById(tokens) => tokens.get(id.as_str()),
            };
            let none = || Problem::forbidden("token", "there is no token for this one");
            let token = token.ok_or_else(none).and_then(|token| token_of(token));
            (
                PersonAnswer { feedback: feedback.clone(), ..PersonAnswer::plain(id, decision) },
                Some(token),
            )
        };
        Ok(ids.into_iter().enumerate().map(reply).collect())
    }
}

/// The fields of an object, taken one by one.
struct Fields {
    fields: Map<String, Value>,
    within: &'static str,
}

impl Fields {
    /// A field that may be left out.
    fn take<T: DeserializeOwned>(&mut self, name: &str, is: &str) -> Result<Option<T>, Problem> {
        match self.fields.remove(name) {
            None | Some(Value::Null) => Ok(None),
            // The value is not repeated in the error: it may be a token.
            Some(value) => {
                let read = serde_json::from_value(value);
                read.map(Some).map_err(|_| wrong(&format!("{}{name}", self.within), is))
            }
        }
    }

    /// A field that must be there.
    fn need<T: DeserializeOwned>(&mut self, name: &str, is: &str) -> Result<T, Problem> {
        let field = format!("{}{name}", self.within);
        self.take(name, is)?.ok_or_else(|| wrong(&field, is))
    }

    /// Refuses any other field.
    fn end(self) -> Result<(), Problem> {
        let Some(name) = self.fields.keys().next() else { return Ok(()) };
        // An unknown name is repeated only if it looks like a field name.
        let plain =
            name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let field = format!("{}{}", self.within, if plain { name } else { "…" });
        Err(Problem::bad_request(format!("`{field}` is not known")).with("field", field))
    }
}

fn wrong(field: &str, is: &str) -> Problem {
    Problem::bad_request(format!("`{field}` must be {is}")).with("field", field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_by_the_name_of_the_field() {
        let payload = |field: &str, value: &str| {
            let mut payload = serde_json::json!({
                "app_skill_id": "apr_00000000000000000000000000",
                "confirmation_token": "cst_x",
                "decision": "approve",
            });
            payload[field] = serde_json::from_str(value).unwrap();
            serde_json::json!({"type": "app_skill_confirmation_response", "payload": payload})
        };
        for (message, field) in [
            (payload("app_skill_id", "7"), "payload.app_skill_id"),
            (payload("confirmation_token", "7"), "payload.confirmation_token"),
            (payload("confirmation_token", "null"), "payload.confirmation_token"),
            (payload("decision", "\"yes\""), "payload.decision"),
            (payload("group_mode", "1"), "payload.group_mode"),
            (payload("feedback", "[]"), "payload.feedback"),
            (payload("scope", "\"always\""), "payload.scope"),
            (payload("Secret 1", "1"), "payload.…"),
            (serde_json::json!({"type": "app_skill_confirmation_response"}), "payload"),
            (serde_json::json!({"type": "pong"}), "type"),
            (serde_json::json!({"payload": {}}), "type"),
            (serde_json::json!({"type": "ping", "more": 1}), "more"),
        ] {
            let problem = Incoming::read(&message.to_string()).unwrap_err().to_json();
            assert_eq!(problem["field"], field, "{message}: {problem}");
            assert!(problem["detail"].as_str().unwrap().contains(field), "{problem}");
        }
    }
}
