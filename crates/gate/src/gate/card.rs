//! What a person is shown of a question.

use std::collections::HashSet;

use countersign_core::{Effects, Finding, RiskLevel};
use serde_json::Value;

use crate::approval::{Approval, Details, Receipt, Requester, Say, State};
use crate::caller::Person;
use crate::channel::Notice;
use crate::clock::Timestamp;
use crate::document::{self, Held};
use crate::gate::Gate;
use crate::gate::join::either;
use crate::gate::people::PeopleError;
use crate::id::{ApprovalId, KeyId, SessionId, UserId, WorkspaceId};
use crate::proposal::Script;
use crate::redacted;
use crate::secret::Secret;
use crate::store::{Doc, Kind, Query};
use crate::user::Role;

/// What a person is shown of a question.
#[derive(Debug)]
pub struct Card {
    /// Which one.
    pub approval: ApprovalId,
    /// For whom the agent works.
    pub user: UserId,
    /// In which workspace.
    pub workspace: WorkspaceId,
    /// In which session.
    pub session: Option<SessionId>,
    /// With which key the agent asked.
    pub key: Option<KeyId>,
    /// What kind of action, or which skill or tool.
    pub action: String,
    /// One line: what would happen.
    pub description: String,
    /// More lines.
    pub details: Vec<String>,
    /// The action, with secrets and personal data masked but for addresses.
    pub action_json: Value,
    /// Where it would run, redacted.
    pub cwd: Option<String>,
    /// Why the agent wants it, in its own words, redacted.
    pub reasoning: Option<String>,
    /// The files it runs, by what is in them; their paths redacted.
    pub scripts: Vec<Script>,
    /// The question in whose place it came.
    pub replaces: Option<ApprovalId>,
    /// How bad it would be.
    pub risk: RiskLevel,
    /// Why it is asked.
    pub reason: String,
    /// What to do instead.
    pub instead: Option<String>,
    /// The rules that asked.
    pub rules: Vec<String>,
    /// What they found, marked in the text of the action as it is shown.
    pub findings: Vec<Finding>,
    /// What would be touched.
    pub effects: Effects,
    /// Whether a yes may be remembered for good.
    pub may_remember: bool,
    /// When it was asked, as the system's clock shows it.
    pub created_at: Timestamp,
    /// From when on silence is a refusal, as the system's clock shows it.
    pub expires_at: Timestamp,
    /// How it stands.
    pub state: State,
    /// How many must agree.
    pub need: u8,
    /// How many have.
    pub have: usize,
    /// Whether others than the one for whom the agent works must agree.
    pub requester_excluded: bool,
    /// Whether a wider circle has been asked.
    pub escalated: bool,
    /// What to answer with, while it can be answered.
    pub token: Option<Secret>,
}

impl Card {
    /// Whether somebody who may see it is also asked: it is theirs, or others are called.
    #[must_use]
    pub fn asks(&self, user: &UserId) -> bool {
        self.user == *user || self.requester_excluded || self.escalated
    }
}

/// The first of the questions that wait for a person.
#[derive(Debug)]
pub struct WaitingFirst {
    /// Those.
    pub cards: Vec<Card>,
    /// How many wait in all.
    pub all: usize,
    /// Questions that were changed in the database: they cannot be shown or answered.
    pub damaged: Vec<String>,
}

/// The questions that can still be answered.
#[derive(Debug, Default)]
struct Open {
    approvals: Vec<Approval>,
    /// The ids of those that cannot be read.
    damaged: Vec<String>,
}

/// Whether somebody who may see a question is also asked it.
fn asks(approval: &Approval, user: &UserId) -> bool {
    let others = approval.request.quorum.requester == Requester::Excluded;
    approval.request.user == *user || others || approval.escalated
}

impl Gate {
    /// One question, for somebody who may see it.
    ///
    /// # Errors
    /// There is none for them, or the store failed.
    pub async fn card(&self, person: &Person, id: &ApprovalId) -> Result<Card, PeopleError> {
        // A stranger waits no longer for what is somebody else's than for what is not there.
        let wanted = |doc: &Doc| is_no_stranger(person, doc);
        let held = document::get_if::<Approval>(&*self.store, id.as_str(), wanted).await?;
        let held = held.ok_or(PeopleError::NotFound)?;
        may_see(person, &held.value)?;
        self.card_of(&held.value)
    }

    /// Waits until a question is settled that a person may see. Over the local socket that is the
    /// person's own assistant, whose question stays while it waits.
    ///
    /// # Errors
    /// There is none for them, or the store failed.
    pub async fn settled_for(&self, person: &Person, id: &ApprovalId) -> Result<(), PeopleError> {
        let mut attending = None;
        loop {
            let mut rights = self.bus.rights_changed();
            let (person, _) = self.person_now(person).await?;
            let mut settled = self.bus.settled(id);
            let held: Held<Approval> = self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
            may_see(&person, &held.value)?;
            if person.peer.is_some() {
                attending.get_or_insert_with(|| self.attend(id));
            }
            if !held.value.state.is_pending() {
                drop(settled);
                self.bus.forget(id);
                return Ok(());
            }
            // The sender is dropped when it has told, which wakes us as well.
            either(settled.changed(), rights.changed()).await;
        }
    }

    /// The questions that wait for a person, oldest id first. Also what a device is told again
    /// when it comes back.
    ///
    /// # Errors
    /// The store failed.
    pub async fn waiting(&self, person: &Person) -> Result<Vec<Card>, PeopleError> {
        let Open { approvals, .. } = self.open_to(person).await?;
        Ok(self.cards_of(&approvals).0)
    }

    /// The first so many questions that are put to a person, and how many there are: thousands may
    /// wait, and nobody looks at thousands.
    ///
    /// # Errors
    /// The store failed.
    pub async fn waiting_first(
        &self,
        person: &Person,
        most: usize,
    ) -> Result<WaitingFirst, PeopleError> {
        let Open { mut approvals, mut damaged } = self.open_to(person).await?;
        approvals.retain(|approval| asks(approval, &person.user().id));
        let all = approvals.len();
        approvals.truncate(most);
        let (cards, tampered) = self.cards_of(&approvals);
        let all = all.saturating_sub(tampered.len());
        damaged.extend(tampered);
        Ok(WaitingFirst { cards, all, damaged })
    }

    /// What people are shown of these questions, and which of them were changed in the database.
    pub(super) fn cards_of(&self, approvals: &[Approval]) -> (Vec<Card>, Vec<String>) {
        let (mut cards, mut damaged) = (Vec::new(), Vec::new());
        for approval in approvals {
            match self.card_of(approval) {
                Ok(card) => cards.push(card),
                Err(_) => damaged.push(approval.request.id.to_string()),
            }
        }
        (cards, damaged)
    }

    /// The questions that can still be answered and that a person may see.
    async fn open_to(&self, person: &Person) -> Result<Open, PeopleError> {
        let mut open = Open::default();
        let mut known = HashSet::new();
        let owner = Some(person.user().id.to_string());
        let mut queries = vec![Query { owner, ..Query::of(Kind::Approval) }];
        for workspace in person.user().workspaces.keys() {
            let workspace = Some(workspace.to_string());
            queries.push(Query { workspace, ..Query::of(Kind::Approval) });
        }
        let now = self.now();
        for query in queries {
            let query = Query { states: vec!["pending"], ..query };
            let found = self.all_found::<Approval>(query).await?;
            open.damaged.extend(found.damaged.into_iter().filter(|id| known.insert(id.clone())));
            for held in found.held {
                let approval = held.value;
                let in_time = now < approval.request.expires_at;
                if in_time
                    && may_see(person, &approval).is_ok()
                    && known.insert(approval.request.id.to_string())
                {
                    open.approvals.push(approval);
                }
            }
        }
        Ok(open)
    }

    /// The receipt of a decision, for somebody who may see it.
    ///
    /// # Errors
    /// There is none for them, it is not decided, or the store failed.
    pub async fn receipt(&self, person: &Person, id: &ApprovalId) -> Result<Receipt, PeopleError> {
        let held: Held<Approval> = self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        may_see(person, &held.value)?;
        let receipt = Receipt::of(&held.value, &self.keyring).map_err(tampered)?;
        receipt.ok_or(PeopleError::NotFound)
    }

    /// What a channel tells about a question, and leads to.
    ///
    /// # Errors
    /// There is none, or the store failed.
    pub async fn notice(
        &self,
        id: &ApprovalId,
        link: Option<String>,
    ) -> Result<Notice, PeopleError> {
        let held: Held<Approval> = self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        let card = self.card_of(&held.value)?;
        Ok(Notice {
            approval: card.approval,
            user: card.user,
            session: card.session,
            action: card.action,
            description: card.description,
            details: card.details,
            risk: card.risk,
            created_at: held.value.request.created_at,
            expires_at: held.value.request.expires_at,
            link,
        })
    }

    /// One question as those it concerns are shown it. Whoever asks passes it on to nobody else.
    ///
    /// # Errors
    /// There is none, or the store failed.
    pub async fn announced(&self, id: &ApprovalId) -> Result<Card, PeopleError> {
        let held: Held<Approval> = self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        self.card_of(&held.value)
    }

    /// Whether a question is for this user too: theirs, or one that others are called to.
    ///
    /// # Errors
    /// There is no such question or user, or the store failed.
    pub async fn concerns(&self, user: &UserId, id: &ApprovalId) -> Result<bool, PeopleError> {
        let held: Held<Approval> = self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        if held.value.request.user == *user {
            return Ok(true);
        }
        let others = held.value.request.quorum.requester == Requester::Excluded;
        let person = self.by_channel(user).await?;
        Ok((others || held.value.escalated) && may_see(&person, &held.value).is_ok())
    }

    pub(super) fn card_of(&self, approval: &Approval) -> Result<Card, PeopleError> {
        let details = approval.open(&self.keyring).map_err(tampered)?;
        let request = approval.request.clone();
        let token = match approval.state {
            State::Pending { .. } => Some(approval.token(&self.keyring).map_err(tampered)?),
            _ => None,
        };
        Ok(Card {
            cwd: cwd(&details),
            approval: request.id,
            user: request.user,
            workspace: request.workspace,
            session: request.session,
            key: request.key,
            action: request.action,
            description: details.description,
            details: details.details,
            action_json: details.action,
            reasoning: details.reasoning,
            scripts: details.scripts.iter().map(redacted_script).collect(),
            replaces: details.replaces,
            risk: request.risk,
            reason: details.reason,
            instead: details.instead,
            rules: details.rules,
            findings: details.findings,
            effects: details.touched,
            may_remember: details.may_remember,
            created_at: self.shown(request.created_at),
            expires_at: self.shown(request.expires_at),
            state: approval.state.clone(),
            need: request.quorum.need,
            have: agreed(&approval.state),
            requester_excluded: request.quorum.requester == Requester::Excluded,
            escalated: approval.escalated,
            token,
        })
    }
}

/// Where it would run: what the action says, or else what is true around it.
fn cwd(details: &Details) -> Option<String> {
    let said = details.action.get("cwd").and_then(Value::as_str);
    said.or(details.context.cwd.as_deref()).map(redacted::text)
}

fn redacted_script(script: &Script) -> Script {
    Script { path: redacted::text(&script.path), sha256: script.sha256 }
}

/// How many have said yes.
fn agreed(state: &State) -> usize {
    match state {
        State::Pending { votes } => votes.len(),
        state => match state.decision() {
            Some(decision) if decision.say == Say::Approve => decision.votes.len(),
            Some(_) | None => 0,
        },
    }
}

fn tampered(error: crate::approval::TamperedError) -> PeopleError {
    PeopleError::Gate(crate::store::StoreError(error.to_string()).into())
}

/// Whether a document is theirs, or of a workspace that they are in.
fn is_no_stranger(person: &Person, doc: &Doc) -> bool {
    let workspace = doc.workspace.as_deref().and_then(|id| WorkspaceId::parse(id).ok());
    doc.owner.as_deref() == Some(person.user().id.as_str())
        || workspace.is_some_and(|workspace| person.role_in(&workspace) > Role::Stranger)
}

/// Theirs; others' in a workspace where others must agree or that they look after.
fn may_see(person: &Person, approval: &Approval) -> Result<(), PeopleError> {
    let request = &approval.request;
    let others = request.quorum.requester == Requester::Excluded;
    let sees = request.user == person.user().id
        || match person.role_in(&request.workspace) {
            Role::SuperAdmin | Role::WorkspaceAdmin => true,
            Role::User => others,
            Role::Stranger => false,
        };
    if sees { Ok(()) } else { Err(PeopleError::NotFound) }
}
