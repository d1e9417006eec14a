//! The scripted person: answers over HTTP, from a device of their own.

use anyhow::Result;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Pace;
use super::script::Reaction;
use crate::client::Client;
use crate::listing::{field, part};

/// A scripted person who reads a question, thinks, and answers.
#[derive(Debug, Clone)]
pub(super) struct Person {
    device: Client,
    pace: Pace,
}

impl Person {
    pub(super) const fn new(device: Client, pace: Pace) -> Self {
        Self { device, pace }
    }

    /// Answers these questions while the agent waits.
    pub(super) fn answer(&self, asked: Vec<(String, Reaction)>) -> JoinHandle<Result<()>> {
        let person = self.clone();
        tokio::spawn(async move { person.think(asked).await })
    }

    async fn think(&self, asked: Vec<(String, Reaction)>) -> Result<()> {
        self.pace.pause(1_500).await;
        match asked.as_slice() {
            [(_, Reaction::Silence)] => Ok(()),
            [(id, reaction)] => {
                let path = format!("/api/approvals/{}/respond", part(id));
                self.device.post(&path, &said(*reaction)).await?;
                Ok(())
            }
            several => self.answer_all(several).await,
        }
    }

    /// Answers several at once, each with the token that came with its own question.
    async fn answer_all(&self, asked: &[(String, Reaction)]) -> Result<()> {
        let mut answers = Vec::new();
        for (id, reaction) in asked {
            let question = self.device.get(&format!("/api/approvals/{}", part(id))).await?;
            let mut answer = said(*reaction);
            if let Some(fields) = answer.as_object_mut() {
                fields.insert("approval_id".to_owned(), id.as_str().into());
                let token = Some(field(&question, "token")).filter(|token| !token.is_empty());
                fields.insert("token".to_owned(), token.into());
            }
            answers.push(answer);
        }
        self.device.post("/api/approvals/respond", &json!({"answers": answers})).await?;
        Ok(())
    }
}

fn said(reaction: Reaction) -> Value {
    match reaction {
        Reaction::Yes => json!({"approved": true}),
        Reaction::No(why) => json!({"approved": false, "feedback": why}),
        Reaction::Silence => json!({"approved": false}),
    }
}
