//! A Countersign server for one trial, and the person who answers its questions.

use std::path::Path;

use anyhow::{Result, anyhow};
use countersign_core::Policy;
use countersign_core::policy::Sources;
use countersign_gate::secret::Secret;
use countersign_server::Inherited;
use countersign_wire::{AnswerBody, Answered, ApprovalCard, ApprovalState, path};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use url::Url;

use crate::client::{Address, Client, Trust};
use crate::data::SOCKET;
use crate::listing::{field, pages};
use crate::serving::{Plan, Serving};

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
        let device = nobody.post(path::SIGN_IN, &body).await?;
        let device = nobody.with(Secret::parse(field(&device, "secret"))?);
        Ok(Self { device, stop, serving })
    }

    /// Returns the ids of the pending questions that contain this text.
    ///
    /// # Errors
    /// The server does not answer.
    pub(super) async fn waiting(&self, about: &str) -> Result<Vec<String>> {
        let query = [("state", ApprovalState::Pending.as_str().to_owned())];
        let found = pages::<ApprovalCard>(&self.device, path::APPROVALS, &query, MOST).await?;
        let cards = found.items.into_iter();
        let about = cards.filter(|card| json!(card).to_string().contains(about));
        Ok(about.map(|card| card.approval_id).collect())
    }

    /// Answers a question.
    ///
    /// # Errors
    /// The server does not accept the answer.
    pub(super) async fn answer(&self, question: &str, answer: &AnswerBody) -> Result<()> {
        let path = path::of(path::APPROVAL_RESPOND, &[question]);
        let _: Answered = self.device.send_to(&path, answer).await?;
        Ok(())
    }

    /// Reports whether a question is still pending.
    ///
    /// # Errors
    /// The server does not answer.
    pub(super) async fn waits(&self, question: &str) -> Result<bool> {
        let path = path::of(path::APPROVAL, &[question]);
        let card: ApprovalCard = self.device.read(&path).await?;
        Ok(card.state.is_pending())
    }

    /// Stops the server, so that it no longer writes.
    pub(super) async fn leave(self) {
        drop(self.stop);
        let _ = self.serving.await;
    }
}
