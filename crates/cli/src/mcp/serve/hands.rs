//! Tools that do something. Each call is an action of one session, which a worker of the server does
//! once it is permitted: an agent that has only these has no way round the gate.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::ValueEnum;
use countersign_core::Action;
use countersign_wire::work::{ExecutorKind, Output, WorkResult};
use countersign_wire::{ApprovalCard, ApprovalState, Execution, ExecutionState, Proposed, path};
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::asking::Asking;
use crate::client::{Client, ClientError, typed};
use crate::mcp::json::{Json, read};

/// The seconds for which one request waits.
const WAIT: u32 = 50;
/// The time within which an agreed action is given to a worker.
const GIVEN_WITHIN: Duration = Duration::from_secs(30);
const LOOKS_EVERY: Duration = Duration::from_millis(200);

/// A group of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Tools {
    /// `bash`
    Shell,
    /// `read_file`, `write_file`, `edit_file` and `list_files`
    Files,
}

impl Tools {
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Shell => &["bash"],
            Self::Files => &["read_file", "write_file", "edit_file", "list_files"],
        }
    }
}

/// The tools that do something, of the groups that were named.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hands(BTreeSet<Tools>);

impl Hands {
    pub(crate) fn new(tools: Vec<Tools>) -> Self {
        Self(tools.into_iter().collect())
    }

    /// Reports whether it has a tool of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|tools| tools.names().contains(&name))
    }

    /// The tools as `tools/list` returns them.
    pub(super) fn offered(&self) -> Vec<Json> {
        // Checked by a test; a list that cannot be parsed offers nothing.
        let Ok(Json::Array(all)) = read(include_str!("hands.json")) else { return Vec::new() };
        let own =
            |tool: &Json| tool.get("name").and_then(Json::as_str).is_some_and(|it| self.has(it));
        all.into_iter().filter(own).collect()
    }
}

/// The arguments of `bash`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bash {
    command: String,
}

/// The arguments of `read_file` and `list_files`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AtPath {
    path: String,
}

/// The arguments of `write_file`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    path: String,
    content: String,
}

/// The arguments of `edit_file`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    path: String,
    old_text: String,
    new_text: String,
}

/// Calls a tool, and returns its output; the flag says whether it succeeded.
pub(super) async fn call(name: &str, given: Value, asking: &Asking) -> Result<Called> {
    let action = match name {
        "bash" => {
            let Bash { command } = arguments(given)?;
            Action::Shell { command, cwd: None }
        }
        "read_file" => Action::FileRead { path: arguments::<AtPath>(given)?.path },
        "list_files" => Action::FileList { path: arguments::<AtPath>(given)?.path },
        "write_file" => {
            let Write { path, content } = arguments(given)?;
            Action::FileWrite { path, content: Some(content) }
        }
        "edit_file" => return edit(arguments(given)?, asking).await,
        _ => bail!("there is no such tool"),
    };
    done(&action, asking).await
}

/// The output of a tool.
pub(super) struct Called {
    pub(super) text: String,
    pub(super) succeeded: bool,
}

fn arguments<T: for<'de> Deserialize<'de>>(given: Value) -> Result<T> {
    serde_json::from_value(given).context("these are not the arguments of this tool")
}

/// Replaces a text that is in a file once.
async fn edit(edit: Edit, asking: &Asking) -> Result<Called> {
    let Edit { path, old_text, new_text } = edit;
    let execution = executed(&Action::FileRead { path: path.clone() }, asking).await?;
    let Some(WorkResult { output, .. }) = &execution.result else { bail!("it was not read") };
    if execution.state != ExecutionState::Done {
        return Ok(called(&execution));
    }
    if output.left_out > 0 {
        bail!("the file is too long to be edited: use `bash`");
    }
    match output.head.matches(&old_text).count() {
        1 if !old_text.is_empty() => {}
        count => bail!("`old_text` must be in the file exactly once, and is there {count} times"),
    }
    let content = Some(output.head.replacen(&old_text, &new_text, 1));
    done(&Action::FileWrite { path, content }, asking).await
}

async fn done(action: &Action, asking: &Asking) -> Result<Called> {
    Ok(called(&executed(action, asking).await?))
}

/// Has an action done, however long a person takes to agree.
async fn executed(action: &Action, asking: &Asking) -> Result<Execution> {
    let kind = ExecutorKind::of(action).map_or("", ExecutorKind::as_str);
    let (client, session) = asking.session().await?;
    let actions = path::of(path::SESSION_ACTIONS, &[&session]);
    let body = json!({"action": action, "execute": true});
    let proposed = client.ask(Method::POST, &actions, Some(&body), Some(WAIT)).await;
    match typed(proposed.with_context(|| format!("not done ({kind})"))?)? {
        Proposed::Executed(execution) => Ok(*execution),
        Proposed::Executing(execution) => followed(&client, &session, &execution.action_id).await,
        Proposed::Waiting { approval_id, .. } => {
            let agreed =
                asking.unless_withdrawn(&client, &approval_id, agreed(&client, &approval_id));
            followed(&client, &session, &agreed.await?).await
        }
        Proposed::Permitted { .. } => bail!("the server has no workers: it is an older one"),
    }
}

/// Waits until a person has agreed, and returns the id of the action.
async fn agreed(client: &Client, approval: &str) -> Result<String> {
    let mut approval = approval.to_owned();
    loop {
        let look = path::of(path::APPROVAL, &[&approval]);
        let card: ApprovalCard = typed(client.ask(Method::GET, &look, None, Some(WAIT)).await?)?;
        match (card.state, card.replaced_by) {
            (ApprovalState::Pending, _) => {}
            (ApprovalState::Cancelled, Some(next)) => approval = next,
            (ApprovalState::Rejected | ApprovalState::Expired | ApprovalState::Cancelled, _) => {
                let feedback = card.feedback.map_or_else(String::new, |said| format!(": {said}"));
                return Err(anyhow!("a person did not agree to this{feedback}"));
            }
            (
                ApprovalState::Approved
                | ApprovalState::Started
                | ApprovalState::Done
                | ApprovalState::Failed
                | ApprovalState::Unknown,
                _,
            ) => return Ok(approval.replacen("apr_", "act_", 1)),
        }
    }
}

/// Waits until an action is over.
async fn followed(client: &Client, session: &str, id: &str) -> Result<Execution> {
    let look = path::of(path::SESSION_ACTION, &[session, id]);
    let given_by = Instant::now() + GIVEN_WITHIN;
    loop {
        match client.ask(Method::GET, &look, None, Some(WAIT)).await {
            Ok(found) => {
                let execution: Execution = typed(found)?;
                if execution.state.is_over() {
                    return Ok(execution);
                }
            }
            Err(ClientError::Refused(refused))
                if refused.status == StatusCode::NOT_FOUND && Instant::now() < given_by =>
            {
                sleep(LOOKS_EVERY).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The output as a model reads it.
fn called(execution: &Execution) -> Called {
    let mut text = String::new();
    if let Some(result) = &execution.result {
        add(&mut text, "", &result.output);
        add(&mut text, "errors:\n", &result.errors);
        if let Some(error) = &result.error {
            let _ = writeln!(text, "{}: {}", error.name, error.message);
        }
        if let Some(code) = result.code.filter(|code| *code != 0) {
            let _ = writeln!(text, "code {code}");
        }
    }
    let succeeded = execution.state == ExecutionState::Done;
    if !succeeded {
        let _ = writeln!(text, "({})", execution.state.as_str());
    }
    Called { text, succeeded }
}

fn add(text: &mut String, title: &str, output: &Output) {
    if output.is_empty() {
        return;
    }
    text.push_str(title);
    text.push_str(&output.head);
    if output.left_out > 0 {
        let _ = write!(text, "\n[{} bytes left out]\n", output.left_out);
        text.push_str(&output.tail);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_groups_that_were_named_are_offered() {
        let names = |tools: Vec<Tools>| -> Vec<String> {
            let offered = Hands::new(tools).offered();
            let name = |tool: &Json| tool.get("name").and_then(Json::as_str).unwrap().to_owned();
            offered.iter().map(name).collect()
        };
        assert_eq!(names(vec![]), Vec::<String>::new());
        assert_eq!(names(vec![Tools::Shell]), ["bash"]);
        let files = ["read_file", "write_file", "edit_file", "list_files"];
        assert_eq!(names(vec![Tools::Files]), files);
        assert!(!Hands::new(vec![Tools::Shell]).has("read_file"));
    }

    #[test]
    fn a_model_reads_output_errors_and_the_end() {
        let mut result = WorkResult::of(countersign_wire::work::Ended::Failed);
        result.output = Output { head: "a\n".to_owned(), tail: "z".to_owned(), left_out: 7 };
        result.errors = Output { head: "no".to_owned(), ..Output::EMPTY };
        result.code = Some(2);
        let execution = Execution {
            action_id: String::new(),
            session_id: String::new(),
            worker_id: String::new(),
            approval_id: None,
            action: "shell".to_owned(),
            state: ExecutionState::Failed,
            result: Some(result),
        };
        let Called { text, succeeded } = called(&execution);
        assert!(!succeeded);
        assert_eq!(text, "a\n\n[7 bytes left out]\nz\nerrors:\nno\ncode 2\n(failed)\n");
    }
}
