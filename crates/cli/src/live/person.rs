//! A Countersign server for one trial, and the person who answers its questions.

use std::path::Path;

use anyhow::{Result, anyhow};
use countersign_core::Policy;
use countersign_core::policy::Sources;
use countersign_gate::secret::Secret;
use countersign_server::Inherited;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use url::Url;

use crate::client::{Address, Client, Trust};
use crate::listing::{field, pages, part};
use crate::serving::{Plan, SOCKET, Serving};

/// More questions than a trial has.
const MOST: usize = 50;

/// A person with a signed-in device, on a server of their own.
#[derive(Debug)]
pub(super) struct Person {
    device: Client,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Person {
    /// Starts a server with its data in this folder, and signs in.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) async fn open(folder: &Path) -> Result<Self> {
        let policy = Policy::load(&Sources::default()).map_err(|error| anyhow!("{error}"))?;
        let mut settings = countersign_server::Settings::default();
        settings.listen.set_port(0);
        settings.socket = Some(folder.join(SOCKET));
        let config = countersign_gate::Config::default();
        let folder = folder.to_owned();
        let (channels, inherited) = (Vec::new(), Inherited::default());
        let plan = Plan { folder, policy, config, channels, settings, inherited };
        let serving = Serving::open(plan).await?;
        let nobody = Client::new(Address::of(&Url::parse(&serving.bound.url())?)?, Trust::Usual)?;
        let link = serving.link.as_ref().map(|link| link.expose().to_owned());
        let (stop, stopping) = oneshot::channel::<()>();
        let serving = tokio::spawn(serving.run(async move { drop(stopping.await) }));
        let body = json!({"link": link.unwrap_or_default(), "name": "The trial's own device"});
        let device = nobody.post("/api/sign-in", &body).await?;
        let device = nobody.with(Secret::parse(field(&device, "secret"))?);
        Ok(Self { device, stop, serving })
    }

    /// Returns the ids of the pending questions that contain this text.
    ///
    /// # Errors
    /// The server does not answer.
    pub(super) async fn waiting(&self, about: &str) -> Result<Vec<String>> {
        let query = [("state", "pending".to_owned())];
        let found = pages(&self.device, "/api/approvals", &query, MOST).await?;
        let about = found.items.iter().filter(|item| item.to_string().contains(about));
        Ok(about.map(|item| field(item, "approval_id").to_owned()).collect())
    }

    /// Answers a question.
    ///
    /// # Errors
    /// The server does not accept the answer.
    pub(super) async fn answer(&self, question: &str, answer: &Value) -> Result<()> {
        let path = format!("/api/approvals/{}/respond", part(question));
        self.device.post(&path, answer).await?;
        Ok(())
    }

    /// Reports whether a question is still pending.
    ///
    /// # Errors
    /// The server does not answer.
    pub(super) async fn waits(&self, question: &str) -> Result<bool> {
        let question = self.device.get(&format!("/api/approvals/{}", part(question))).await?;
        Ok(field(&question, "state") == "pending")
    }

    /// Stops the server, so that it no longer writes.
    pub(super) async fn leave(self) {
        drop(self.stop);
        let _ = self.serving.await;
    }
}
