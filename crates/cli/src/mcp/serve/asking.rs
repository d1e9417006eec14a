//! A call that may have to wait for a person.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use countersign_wire::{Confirmed, path};
use serde_json::{Map, Value};
use tokio::sync::{Notify, OnceCell};

use crate::approval_client::{A_DAY, ApprovalClient, JudgedAction, Outcome, Patient};
use crate::client::Client;
use crate::hook_options::Options;

use super::tool::options;

/// The parameters for asking.
pub(super) struct Asking {
    pub(super) folder: PathBuf,
    /// The session in which tools do something, once there is one.
    pub(super) session: Arc<OnceCell<String>>,
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

    /// The session in which tools do something, and the client of its server.
    pub(super) async fn session(&self) -> Result<(Client, String)> {
        let approval_client = self.approval_client(&options()?).await?;
        let begun = self.session.get_or_try_init(|| approval_client.session_with_worker("MCP"));
        let session =
            begun.await.context("a session is begun by a person: name it by --session")?;
        Ok((approval_client.client().clone(), session.clone()))
    }

    /// Waits for an answer, and withdraws the question when the answer is no longer wanted.
    pub(super) async fn unless_withdrawn<T>(
        &self,
        client: &Client,
        approval: &str,
        answer: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tokio::select! {
            answer = answer => answer,
            () = self.cancelled.notified() => {
                let withdraw = path::of(path::APPROVAL_WITHDRAW, &[approval]);
                client.post(&withdraw, &Value::Null).await?;
                bail!("nobody is waiting any more")
            }
        }
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
