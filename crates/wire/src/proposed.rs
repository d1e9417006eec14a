//! The result of a proposal, and the outcome of what was permitted.

use countersign_core::Judgement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::Confirmation;
use crate::execution::Execution;

/// The result of a proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Proposed {
    /// It may run, this once.
    Permitted {
        /// The id to report the outcome with.
        action_id: String,
        /// The hash of the action it is bound to: nothing else may run.
        digest: String,
        /// The question a person said yes to, if one was asked.
        approval_id: Option<String>,
        /// The time until which it may take: after that it counts as over.
        #[serde(skip_serializing_if = "Option::is_none")]
        report_by: Option<String>,
        /// The authority that agreed.
        by: Basis,
        /// The action as a person wants it, where they changed it: run this instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        edited: Option<Value>,
        /// The judgement of the server, where it judged now.
        #[serde(skip_serializing_if = "Option::is_none")]
        judgement: Option<Box<Judgement>>,
    },
    /// A person is asked. It may not run.
    Waiting {
        /// The id of the question.
        approval_id: String,
        /// The id that the action has once it is agreed to, where a worker is to do it then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action_id: Option<String>,
        /// From when on silence is a refusal.
        expires_at: String,
        /// The question in the words of the browser agent.
        confirmation: Confirmation,
        /// The judgement of the server.
        judgement: Box<Judgement>,
    },
    /// It was given to a worker and is not over yet: ask for it by its id, or listen.
    Executing(Box<Execution>),
    /// A worker has done it, or it is over in another way.
    Executed(Box<Execution>),
}

/// The basis on which an action may run: the person or setting that agreed to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The rules ask nobody about it.
    Rules,
    /// A person was asked and approved.
    Person,
    /// A person has approved exactly this action before, and wanted that remembered.
    Remembered,
    /// The session confirms automatically: nobody was asked.
    AutoConfirm,
    /// Autonomous mode is on: nobody was asked.
    Autonomous,
    /// A program uses its owner's key, and its owner wants no questions: nobody was asked.
    Program,
    /// A person approved exactly this call when the host's hook asked.
    HandedOver,
}

impl Basis {
    /// Every basis.
    pub const ALL: [Self; 7] = [
        Self::Rules,
        Self::Person,
        Self::Remembered,
        Self::AutoConfirm,
        Self::Autonomous,
        Self::Program,
        Self::HandedOver,
    ];

    /// The name of the basis.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Person => "person",
            Self::Remembered => "remembered",
            Self::AutoConfirm => "auto_confirm",
            Self::Autonomous => "autonomous",
            Self::Program => "program",
            Self::HandedOver => "handed_over",
        }
    }
}

/// The outcome of a permitted action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran.
    Done,
    /// It failed.
    Failed,
}

impl Outcome {
    /// The name of the outcome.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_basis_is_read_by_the_name_under_which_it_is_written() {
        for basis in Basis::ALL {
            let written = serde_json::to_value(basis).unwrap();
            assert_eq!(written, basis.as_str());
            assert_eq!(serde_json::from_value::<Basis>(written).unwrap(), basis);
        }
    }
}
