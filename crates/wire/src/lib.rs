//! The types in which a Countersign server and its clients talk: one per question, proposal,
//! session, event and problem, with the names of their states and the paths of the API.
//!
//! Every type is read and written by both sides, so that neither compares names of its own. Nothing
//! here decides anything, and nothing here reads, sends or stores.

pub mod answer;
pub mod approval;
pub mod confirmation;
pub mod event;
pub mod execution;
mod halt;
mod key;
mod list;
pub mod path;
pub mod problem;
pub mod proposed;
mod token;
pub mod work;

pub use answer::{AnswerBody, AnswerOne, Answered, Answers, AnswersGiven, Scope};
pub use approval::{ApprovalCard, ApprovalState, Confirmation, Script};
pub use confirmation::{ConfirmationAnswer, Confirmed, Unanswered, Waiting};
pub use event::Event;
pub use execution::{Execution, ExecutionState};
pub use halt::Halted;
pub use key::PublicKey;
pub use list::List;
pub use problem::Problem;
pub use proposed::{Basis, Outcome, Proposed};
pub use token::Token;
