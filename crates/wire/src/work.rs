//! The work that a server hands to a worker, and what a worker tells it.
//!
//! A worker connects to [`path::WORKERS`](crate::path::WORKERS) with a key that has the scope
//! `worker`, says [`FromWorker::Hello`], and is sent work. An item of work is a permit made
//! portable: the exact action, the digest it is bound to, the time until which it may begin, and
//! the server's signature over all of that.

use std::fmt;

use countersign_core::action::Field;
use countersign_core::{Action, Context, Verdict, digest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::approval::Script;
use crate::token::Token;

/// The purpose that a server signs work for.
pub const PURPOSE: &str = "countersign work v1\0";

/// One permitted action, for one worker, to be begun once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkItem {
    /// The id of the permitted action. A worker begins each id once.
    pub action_id: String,
    /// The id of the worker that it is for.
    pub worker_id: String,
    /// The session that the action belongs to.
    pub session_id: String,
    /// The approval that was spent for it, where a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// The digest that the permit is bound to.
    pub digest: String,
    /// The action, exactly as it was judged.
    pub action: Action,
    /// The element of the page that the action is for, as the worker described it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<Element>,
    /// The circumstances by which it was judged: folder, workspace, profile, mode, origins.
    pub context: Context,
    /// The files that it runs, with the digests of their content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<Script>,
    /// The strictest verdict that was agreed to. Redirects and addresses found later are judged
    /// too, and refused above it.
    pub agreed: Verdict,
    /// The limits it runs under.
    pub limits: WorkLimits,
    /// The time from which on it may no longer begin, in milliseconds since 1970.
    pub begin_by: i64,
}

/// The digest that a permit is bound to: the action in its circumstances, and the content of the
/// scripts that it runs.
#[must_use]
pub fn binding(action_digest: &str, scripts: &[Script]) -> String {
    if scripts.is_empty() {
        return action_digest.to_owned();
    }
    let mut scripts: Vec<_> = scripts.iter().collect();
    scripts.sort_by(|a, b| (&a.path, &a.sha256).cmp(&(&b.path, &b.sha256)));
    digest::of_value(&json!({"action": action_digest, "scripts": scripts}))
}

/// The limits of one item of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkLimits {
    /// The seconds after which it is ended.
    pub seconds: u32,
    /// The most bytes that are kept of each output, half from its start and half from its end.
    pub output_bytes: u32,
}

impl Default for WorkLimits {
    fn default() -> Self {
        Self { seconds: 60, output_bytes: 256 * 1024 }
    }
}

/// An item of work with the server's signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedWork {
    /// The [`WorkItem`] as JSON: these bytes are signed.
    pub item: String,
    /// The Ed25519 signature over [`PURPOSE`] and the item, as base64url.
    pub signature: String,
}

/// An element of a page, as a worker describes it. The agent names its reference; everything else
/// is read from the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// The reference, such as `e12`, which names the same element until the page is replaced.
    pub reference: String,
    /// A digest of everything that was read about the element and its form. The element must still
    /// have it when it is acted on.
    pub fingerprint: String,
    /// The address of the page's top frame.
    pub url: String,
    /// The accessible role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The accessible name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The attributes, where it is a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<Field>,
    /// The address that the element's form is sent to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form_target: Option<String>,
}

/// The end of an item of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It ran to its end and succeeded.
    Done,
    /// It ran to its end and failed.
    Failed,
    /// It was ended because its time was over.
    TimedOut,
    /// It was ended by a stop, a halt or the end of its session.
    Stopped,
    /// It did not begin: something was not as it was judged.
    Refused,
}

impl Ended {
    /// The name of the end.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Stopped => "stopped",
            Self::Refused => "refused",
        }
    }
}

/// The result of an item of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkResult {
    /// How it ended.
    pub ended: Ended,
    /// The exit code of a command, or the status of a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The standard output of a command, the content of a file, the text of a page or response.
    #[serde(default, skip_serializing_if = "Output::is_empty")]
    pub output: Output,
    /// The standard error of a command.
    #[serde(default, skip_serializing_if = "Output::is_empty")]
    pub errors: Output,
    /// Further results, by kind of action.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
    /// The files that went into the session's transfers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<WorkFile>,
    /// The reason, where it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<WorkError>,
    /// The milliseconds that it took.
    pub took_ms: u64,
}

impl WorkResult {
    /// A result without content.
    #[must_use]
    pub const fn of(ended: Ended) -> Self {
        Self {
            ended,
            code: None,
            output: Output::EMPTY,
            errors: Output::EMPTY,
            value: Value::Null,
            files: Vec::new(),
            error: None,
            took_ms: 0,
        }
    }

    /// A result with a reason.
    #[must_use]
    pub fn because(ended: Ended, name: &str, message: impl Into<String>) -> Self {
        let error = WorkError { name: name.to_owned(), message: message.into(), stack: None };
        Self { error: Some(error), ..Self::of(ended) }
    }
}

/// A text of which only the start and the end are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The start, or all of it.
    pub head: String,
    /// The end, where the middle was left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// The bytes left out between the two.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Output {
    /// No text.
    pub const EMPTY: Self = Self { head: String::new(), tail: String::new(), left_out: 0 };

    /// Reports whether there is no text.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty() && self.left_out == 0
    }
}

/// A file that a worker has handed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkFile {
    /// The id of the uploaded file.
    pub file_id: String,
    /// The name it was given.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its content, as base64url.
    pub sha256: String,
}

/// The reason for which work did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkError {
    /// The kind of error, such as `PathSwapped`.
    pub name: String,
    /// The text of the error.
    pub message: String,
    /// The stack trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
}

/// The kinds of work that a worker can do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each variant is the word it stands for")]
pub enum ExecutorKind {
    Shell,
    File,
    Http,
    Applescript,
    Browser,
}

impl ExecutorKind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Shell, Self::File, Self::Http, Self::Applescript, Self::Browser];

    /// The name of the kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::File => "file",
            Self::Http => "http",
            Self::Applescript => "applescript",
            Self::Browser => "browser",
        }
    }

    /// The kind that does an action, where there is one.
    #[must_use]
    pub const fn of(action: &Action) -> Option<Self> {
        match action {
            Action::Shell { .. } | Action::Code { .. } => Some(Self::Shell),
            Action::FileRead { .. }
            | Action::FileWrite { .. }
            | Action::FileDelete { .. }
            | Action::FileList { .. } => Some(Self::File),
            Action::HttpRequest { .. } => Some(Self::Http),
            Action::Applescript { .. } => Some(Self::Applescript),
            Action::Navigate { .. }
            | Action::Ui { .. }
            | Action::Screenshot {}
            | Action::ReadDom {}
            | Action::Download { .. }
            | Action::ExportPdf { .. }
            | Action::Login { .. } => Some(Self::Browser),
            Action::Notify { .. }
            | Action::Skill { .. }
            | Action::Tool { .. }
            | Action::Named { .. } => None,
        }
    }
}

/// A stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// A message of a server to a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "message", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToWorker {
    /// The worker is registered.
    Welcome {
        /// The id under which it is sent work.
        worker_id: String,
        /// The key by which it checks signatures, `cspk_…`.
        server_key: String,
    },
    /// An action to do.
    Work {
        /// The item, signed.
        work: Box<SignedWork>,
    },
    /// A running action must end, with everything that it started.
    Stop {
        /// The action; every action of the session where none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action_id: Option<String>,
        /// The session; every session where none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// The reason, for the record.
        why: String,
    },
    /// A session is over: its browser is closed and its folder removed.
    EndSession {
        /// The session.
        session_id: String,
    },
    /// The agent names an element, and the gate needs to know what it is before it judges.
    Describe {
        /// The number that the answer carries.
        request: u64,
        /// The session whose page it is on.
        session_id: String,
        /// The element; the page itself where none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
    /// The answer to [`FromWorker::Fill`].
    Filled {
        /// The number of the request.
        request: u64,
        /// The content of the field, unless it is refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Secret>,
    },
    /// The answer to [`FromWorker::Propose`].
    Decided {
        /// The number of the request.
        request: u64,
        /// True when exactly this may go on, once.
        permitted: bool,
        /// The reason, where it may not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// A message of a worker to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "message", rename_all = "snake_case", deny_unknown_fields)]
pub enum FromWorker {
    /// The first message.
    Hello {
        /// The version of the worker's program.
        version: String,
        /// The kinds of work it can do here.
        executors: Vec<ExecutorKind>,
        /// The folder in which it works.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
        /// A name that its process has drawn for itself: with the same key and the same name it is
        /// the same worker after a connection was lost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instance: Option<String>,
    },
    /// Work has begun.
    Began {
        /// The action.
        action_id: String,
    },
    /// A piece of a command's output.
    Piece {
        /// The action.
        action_id: String,
        /// The stream it was written to.
        stream: Stream,
        /// The text.
        text: String,
    },
    /// Work is over.
    Ended {
        /// The action.
        action_id: String,
        /// The result.
        result: Box<WorkResult>,
    },
    /// The answer to [`ToWorker::Describe`].
    Described {
        /// The number of the request.
        request: u64,
        /// The element, or the page as an element without a reference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        element: Option<Box<Element>>,
        /// The reason, where there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Asks for one field of a credential, for one input of a page.
    Fill {
        /// The number that the answer carries.
        request: u64,
        /// The sign-in that is being done.
        action_id: String,
        /// The origin of the page's top frame and of the input's own frame.
        origin: String,
        /// The field of the credential, such as `password`.
        field: String,
    },
    /// Asks about something that a permitted action caused, such as the request of a form that was
    /// submitted by a click. It is judged as an action of the same session.
    Propose {
        /// The number that the answer carries.
        request: u64,
        /// The action that caused it.
        action_id: String,
        /// What would happen.
        action: Box<Action>,
        /// More lines for a person: fields, amounts, where it would be sent.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        details: Vec<String>,
    },
}

/// A piece of a credential on its way into one input. It is not printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Secret(Token);

impl Secret {
    /// A secret from its text.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(Token::new(text))
    }

    /// The text, which must reach nothing but the input it is for.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let fill = FromWorker::Fill {
            request: 7,
            action_id: "act_1".to_owned(),
            origin: "https://example.com".to_owned(),
            field: "password".to_owned(),
        };
        let text = serde_json::to_string(&fill).unwrap();
        assert_eq!(serde_json::from_str::<FromWorker>(&text).unwrap(), fill);
        assert!(serde_json::from_str::<ToWorker>(&text).is_err());
    }

    #[test]
    fn a_secret_is_not_printed() {
        let filled = ToWorker::Filled { request: 7, content: Some(Secret::new("told".to_owned())) };
        assert!(!format!("{filled:?}").contains("told"));
    }
}
