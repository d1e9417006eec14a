//! The scripted person: answers over HTTP, from a device of their own.

use anyhow::Result;
use countersign_wire::{
    AnswerBody, AnswerOne, Answered, Answers, AnswersGiven, ApprovalCard, Scope, path,
};
use tokio::task::JoinHandle;

use super::Pace;
use super::script::Reaction;
use crate::client::Client;

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
                let path = path::of(path::APPROVAL_RESPOND, &[id]);
                let _: Answered = self.device.send_to(&path, &said(*reaction)).await?;
                Ok(())
            }
            several => self.answer_all(several).await,
        }
    }

    /// Answers several at once, each with the token that came with its own question.
    async fn answer_all(&self, asked: &[(String, Reaction)]) -> Result<()> {
        let mut answers = Vec::new();
        for (id, reaction) in asked {
            let path = path::of(path::APPROVAL, &[id]);
            let card: ApprovalCard = self.device.read(&path).await?;
            let AnswerBody { approved, feedback, .. } = said(*reaction);
            let (approval_id, token) = (id.clone(), card.token);
            answers.push(AnswerOne { approval_id, approved, feedback, token });
        }
        let _: AnswersGiven =
            self.device.send_to(path::APPROVALS_RESPOND, &Answers { answers }).await?;
        Ok(())
    }
}

fn said(reaction: Reaction) -> AnswerBody {
    match reaction {
        Reaction::Yes => AnswerBody::yes(Scope::Once),
        Reaction::No(why) => AnswerBody::no(Some(why.to_owned())),
        Reaction::Silence => AnswerBody::no(None),
    }
}
