//! The scripted agent: proposes actions over HTTP with its key, waits, and follows the answers.

use std::fmt;
use std::io::{self, Write as _};

use anyhow::{Result, bail};
use countersign_core::{Judgement, Verdict};
use countersign_wire::{ApprovalCard, ApprovalState, Outcome, Proposed, path, problem};
use hyper::Method;
use serde_json::{Value, json};

use super::Pace;
use super::person::Person;
use super::script::{HOME, PROJECT, Scene, Step};
use crate::client::{Client, ClientError, Refused, typed};
use crate::listing::field;
use crate::show::{Paint, one_line};

/// Seconds to wait for an answer in one request.
const WAIT: u32 = 30;

/// The agent, with the outcome of its actions.
#[derive(Debug)]
pub(super) struct Agent {
    key: Client,
    /// Used for the kill switch.
    owner: Client,
    person: Option<Person>,
    pace: Pace,
    session: String,
    pub(super) tally: Tally,
}

/// The number of actions by outcome.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) actions: usize,
    allowed: usize,
    asked: usize,
    approved: usize,
    rejected: usize,
    expired: usize,
    blocked: usize,
    halted: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { allowed, asked, approved, rejected, expired, blocked, halted, .. } = self;
        write!(f, "{allowed} allowed, {asked} asked ({approved} approved, {rejected} rejected, ")?;
        write!(f, "{expired} expired), {blocked} blocked, {halted} refused while halted")
    }
}

/// The gate's first answer.
enum FirstAnswer {
    /// It may run.
    Permitted { action: String, warned: Option<String> },
    /// A person is asked.
    Waiting { approval: String, reason: String },
    /// It may not.
    Refused { kind: String, reason: String },
}

impl Agent {
    /// Begins a session.
    pub(super) async fn begin(
        key: Client,
        owner: Client,
        person: Option<Person>,
        pace: Pace,
    ) -> Result<Self> {
        let body = json!({"consent": true, "plan": {"task": "Mend the rounding of prices"}});
        // A person consents to the session; the agent's key could not.
        let session = field(&owner.post(path::SESSIONS, &body).await?, "session_id").to_owned();
        Ok(Self { key, owner, person, pace, session, tally: Tally::default() })
    }

    /// Plays all steps in order.
    pub(super) async fn play(&mut self, steps: Vec<Step>) -> Result<()> {
        for step in steps {
            self.pace.pause(500).await;
            match step {
                Step::One(scene) => {
                    self.tell(scene.story, &scene)?;
                    self.together(vec![scene]).await?;
                }
                Step::Group(story, scenes) => self.group(story, scenes).await?,
                Step::Halt => {
                    self.owner.call(path::HALT).await?;
                    aside("the person halts everything")?;
                }
                Step::Resume => {
                    self.owner.call(path::HALT_RESUME).await?;
                    aside("the person resumes everything")?;
                }
            }
        }
        Ok(())
    }

    async fn group(&mut self, story: &str, scenes: Vec<Scene>) -> Result<()> {
        let first = self.tally.actions.saturating_add(1);
        let last = self.tally.actions.saturating_add(scenes.len());
        writeln!(io::stdout(), "{first}-{last}. {story}")?;
        for scene in &scenes {
            writeln!(io::stdout(), "    {}", scene.shown)?;
        }
        self.together(scenes).await
    }

    fn tell(&self, story: &str, scene: &Scene) -> io::Result<()> {
        let number = self.tally.actions.saturating_add(1);
        writeln!(io::stdout(), "{number:>2}. {story}: {}", scene.shown)
    }

    /// Proposes several actions, and waits for the answers to those that need one.
    async fn together(&mut self, scenes: Vec<Scene>) -> Result<()> {
        let mut waiting = Vec::new();
        for scene in scenes {
            self.tally.actions = self.tally.actions.saturating_add(1);
            match self.propose(&scene).await? {
                FirstAnswer::Permitted { action, warned } => {
                    self.tally.allowed = self.tally.allowed.saturating_add(1);
                    self.report(&action).await?;
                    let warned = warned.map(|why| format!(", with a warning: {why}"));
                    outcome("allowed", &warned.unwrap_or_default())?;
                }
                FirstAnswer::Refused { kind, reason } => {
                    let halted = kind == problem::HALTED;
                    let count =
                        if halted { &mut self.tally.halted } else { &mut self.tally.blocked };
                    *count = count.saturating_add(1);
                    let word = if kind == problem::BLOCKED { "blocked" } else { "refused" };
                    outcome(word, &format!(": {reason}"))?;
                }
                FirstAnswer::Waiting { approval, reason } => {
                    self.tally.asked = self.tally.asked.saturating_add(1);
                    // A person who answers at this terminal reads the card instead.
                    if self.person.is_some() {
                        outcome("asks", &format!(": {reason}"))?;
                    }
                    waiting.push((scene, approval));
                }
            }
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let asked = waiting.iter().map(|(scene, id)| (id.clone(), scene.reaction)).collect();
        let answering = self.person.as_ref().map(|person| person.answer(asked));
        for (scene, approval) in waiting {
            self.settle(&scene, &approval).await?;
        }
        match answering {
            Some(answering) => answering.await?,
            None => Ok(()),
        }
    }

    async fn propose(&self, scene: &Scene) -> Result<FirstAnswer> {
        let path = path::of(path::SESSION_ACTIONS, &[&self.session]);
        match self.key.send_to(&path, &proposal(scene)).await {
            Ok(said) => read(said),
            Err(ClientError::Refused(refused)) => {
                let judged = refused.problem.more.get("judgement");
                let judged = judged.map(|judgement| field(judgement, "reason"));
                let reason = judged.filter(|_| refused.kind == problem::BLOCKED);
                let reason = one_line(reason.unwrap_or(&refused.detail)).into_owned();
                let Refused { kind, .. } = *refused;
                Ok(FirstAnswer::Refused { kind, reason })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the answer, and spends the approval if there is one.
    async fn settle(&mut self, scene: &Scene, approval: &str) -> Result<()> {
        let path = path::of(path::APPROVAL, &[approval]);
        let settled = loop {
            let card = self.key.ask(Method::GET, &path, None, Some(WAIT)).await?;
            let card: ApprovalCard = typed(card)?;
            if !card.state.is_pending() {
                break card;
            }
        };
        let state = settled.state;
        let count = match state {
            ApprovalState::Approved => {
                let path = path::of(path::APPROVAL_SPEND, &[approval]);
                let permit = self.key.send_to(&path, &proposal(scene)).await?;
                let Proposed::Permitted { action_id, .. } = permit else {
                    bail!("an approval was spent, and the server asks again");
                };
                self.report(&action_id).await?;
                &mut self.tally.approved
            }
            ApprovalState::Rejected => &mut self.tally.rejected,
            _ => &mut self.tally.expired,
        };
        *count = count.saturating_add(1);
        let feedback = match (state, settled.feedback) {
            (ApprovalState::Expired, _) => ": nobody answered in time".to_owned(),
            (_, None) => String::new(),
            (_, Some(feedback)) => format!(": {}", one_line(&feedback)),
        };
        outcome(state.as_str(), &format!(" ({}){feedback}", scene.shown))?;
        Ok(())
    }

    async fn report(&self, action: &str) -> Result<()> {
        let body = json!({"outcome": Outcome::Done, "session_id": self.session});
        self.key.post(&path::of(path::ACTION_REPORT, &[action]), &body).await?;
        Ok(())
    }
}

fn proposal(scene: &Scene) -> Value {
    json!({
        "action": scene.action,
        "context": {"cwd": PROJECT, "home": HOME, "workspace": PROJECT},
        "reasoning": "This is a play.",
    })
}

fn read(said: Proposed) -> Result<FirstAnswer> {
    let reason = |judgement: &Judgement| one_line(&judgement.reason).into_owned();
    Ok(match said {
        Proposed::Permitted { action_id, judgement, .. } => {
            let warned = judgement.filter(|judgement| judgement.verdict == Verdict::Warn);
            FirstAnswer::Permitted { action: action_id, warned: warned.as_deref().map(reason) }
        }
        Proposed::Waiting { approval_id, judgement, .. } => {
            FirstAnswer::Waiting { approval: approval_id, reason: reason(&judgement) }
        }
        Proposed::Executing(_) | Proposed::Executed(_) => {
            bail!("the server has had it done, which nobody asked for")
        }
    })
}

fn outcome(word: &str, rest: &str) -> io::Result<()> {
    writeln!(io::stdout(), "    → {}{rest}", Paint::on(&io::stdout()).bold(&one_line(word)))
}

fn aside(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "    {text}")
}
