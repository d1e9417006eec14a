//! A person's answer to a question, and its result.

use countersign_core::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::ApprovalState;
use crate::problem::Problem;
use crate::token::Token;

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Response")]
pub struct AnswerBody {
    /// Yes or no.
    pub approved: bool,
    /// A message for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The scope of a yes.
    #[serde(default)]
    pub scope: Scope,
    /// The token that came with the question, where it was sent to a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// The action as you want it instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited: Option<Action>,
}

impl AnswerBody {
    /// A yes.
    #[must_use]
    pub fn yes(scope: Scope) -> Self {
        Self { approved: true, scope, ..Self::default() }
    }

    /// A no, with a message for the agent if there is one.
    #[must_use]
    pub fn no(feedback: Option<String>) -> Self {
        Self { feedback, ..Self::default() }
    }
}

/// The reach of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalScope")]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For this one time.
    #[default]
    Once,
    /// For this very action, for the rest of the session and at most for a day. Without a session,
    /// once.
    Session,
    /// For this very action by this agent in this workspace, for some days.
    Always,
    /// For this very action by every agent of the person in every workspace, for some days.
    Everywhere,
}

/// A person's answer to one of several questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ResponseToOne")]
pub struct AnswerOne {
    /// The question.
    pub approval_id: String,
    /// Yes or no.
    pub approved: bool,
    /// A message for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The token that came with the question, where it was sent to a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

/// Answers to several questions at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Responses")]
pub struct Answers {
    /// One answer per question.
    pub answers: Vec<AnswerOne>,
}

/// The result of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AnswerView")]
pub struct Answered {
    /// The question.
    pub approval_id: String,
    /// True when the answer counts.
    pub accepted: bool,
    /// The state the question is in now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ApprovalState>,
    /// The number of people who have agreed, where more than one must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub have: Option<usize>,
    /// The number of people who must agree, where that is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<u8>,
    /// The question about the changed action, which must be answered in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_again: Option<String>,
    /// The reason that it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

impl Answered {
    /// The number of people who have agreed, of the number who must, while more are awaited.
    #[must_use]
    pub fn counted(&self) -> Option<(usize, u8)> {
        self.have.zip(self.need)
    }

    /// The reason that it does not count, for a person; empty if it counts.
    #[must_use]
    pub fn detail(&self) -> &str {
        self.problem.as_ref().map_or("", |problem| problem.detail.as_str())
    }
}

/// The results of several answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AnswersView")]
pub struct AnswersGiven {
    /// One result per question.
    pub results: Vec<Answered>,
}
