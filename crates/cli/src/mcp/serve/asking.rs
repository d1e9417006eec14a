//! A call that may have to wait for a person.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use anyhow::Result;
use countersign_wire::Confirmed;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::approval_client::{A_DAY, ApprovalClient, JudgedAction, Outcome, Patient};
use crate::hook_options::Options;

/// The parameters for asking.
pub(super) struct Asking {
    pub(super) folder: PathBuf,
    /// Notified when the answer is no longer wanted.
    pub(super) cancelled: Arc<Notify>,
}

impl Asking {
    /// Asks about an action.
    pub(super) async fn ask(&self, judged_action: &JudgedAction<'_>, options: &Options) -> Outcome {
        let approval_client = match self.approval_client(options).await {
            Ok(approval_client) => approval_client,
            Err(error) => return Outcome::Nobody(format!("{error:#}")),
        };
        let asked = self.unless_cancelled(&approval_client, async |waiter| {
            approval_client.ask(judged_action, &waiter).await
        });
        asked.await.unwrap_or_else(|| Outcome::Refused("nobody is waiting any more".to_owned()))
    }

    /// Asks a question that is not about an action.
    pub(super) async fn confirm(
        &self,
        question: &Map<String, Value>,
        options: &Options,
    ) -> Result<Confirmed, Outcome> {
        let approval_client = self.approval_client(options).await;
        let approval_client =
            approval_client.map_err(|error| Outcome::Nobody(format!("{error:#}")))?;
        let asked = self.unless_cancelled(&approval_client, async |waiter| {
            approval_client.confirm(question, &waiter).await
        });
        let gone = || Err(Outcome::Refused("nobody is waiting any more".to_owned()));
        asked.await.unwrap_or_else(gone)
    }

    async fn approval_client(&self, options: &Options) -> Result<ApprovalClient> {
        let (options, folder) = (options.clone(), self.folder.clone());
        let opening =
            move || ApprovalClient::open(&options, Some(&folder), "MCP".to_owned(), A_DAY);
        tokio::task::spawn_blocking(opening).await?
    }

    /// Waits for an answer, and withdraws the question when the answer is no longer wanted.
    async fn unless_cancelled<T>(
        &self,
        approval_client: &ApprovalClient,
        ask: impl AsyncFnOnce(Patient) -> T,
    ) -> Option<T> {
        let (waiter, mut questions) = Patient::new(true, None);
        let mut answer = pin!(ask(waiter));
        let (mut question, mut is_cancelled) = (None, false);
        loop {
            tokio::select! {
                answer = &mut answer => return Some(answer),
                Some(approval) = questions.recv() => question = Some(approval),
                () = self.cancelled.notified(), if !is_cancelled => is_cancelled = true,
            }
            // A question that is just being created is withdrawn once its id is known.
            if let (true, Some(approval)) = (is_cancelled, &question) {
                let _ = approval_client.withdraw(approval).await;
                return None;
            }
        }
    }
}
