//! The card of a question, as a person is shown it.

use std::collections::HashSet;

use countersign_core::{Effects, Finding, RiskLevel};
use serde_json::Value;

use crate::approval::{Answer, Approval, Details, Receipt, Requester, State};
use crate::caller::Person;
use crate::channel::Notice;
use crate::clock::Timestamp;
use crate::document::{self, Versioned};
use crate::gate::Gate;
use crate::gate::join::either;
use crate::gate::people::PeopleError;
use crate::id::{ApprovalId, KeyId, SessionId, UserId, WorkspaceId};
use crate::proposal::Script;
use crate::redacted;
use crate::secret::Secret;
use crate::store::{Doc, Kind, Query};
use crate::user::Role;

mod wire;

/// A question as a person is shown it.
#[derive(Debug)]
pub struct Card {
    /// The approval.
    pub approval: ApprovalId,
    /// The user for whom the agent works.
    pub user: UserId,
    /// The workspace in which the agent works.
    pub workspace: WorkspaceId,
    /// The session in which the agent asked.
    pub session: Option<SessionId>,
    /// The API key with which the agent asked.
    pub key: Option<KeyId>,
    /// The kind of the action, or the name of the skill or tool.
    pub action: String,
    /// One line that tells what would happen.
    pub description: String,
    /// More lines.
    pub details: Vec<String>,
    /// The action, with secrets and personal data masked, except for addresses.
    pub action_json: Value,
    /// The directory in which it would run, redacted.
    pub cwd: Option<String>,
    /// The agent's own words on why it wants the action, redacted.
    pub reasoning: Option<String>,
    /// The files that the action runs, with a digest of their content; their paths redacted.
    pub scripts: Vec<Script>,
    /// The question that this one replaces.
    pub replaces: Option<ApprovalId>,
    /// The risk of the action.
    pub risk: RiskLevel,
    /// The reason for asking.
    pub reason: String,
    /// A suggestion of what to do instead.
    pub instead: Option<String>,
    /// The rules that asked.
    pub rules: Vec<String>,
    /// The findings of these rules, marked in the text of the action as it is shown.
    pub findings: Vec<Finding>,
    /// The things that would be touched.
    pub effects: Effects,
    /// True when an approval may be remembered.
    pub may_remember: bool,
    /// The time at which it was asked, by the system's clock.
    pub created_at: Timestamp,
    /// The time at which it expires unanswered, by the system's clock.
    pub expires_at: Timestamp,
    /// The state.
    pub state: State,
    /// The number of people who must agree.
    pub need: u8,
    /// The number of people who have agreed.
    pub have: usize,
    /// True when others than the one for whom the agent works must agree.
    pub requester_excluded: bool,
    /// True once the question was escalated to workspace admins.
    pub escalated: bool,
    /// The token to answer with, while the question can be answered.
    pub token: Option<Secret>,
}

impl Card {
    /// Reports whether a user who may see the question is also asked: it is theirs, or others are
    /// called.
    #[must_use]
    pub fn asks(&self, user: &UserId) -> bool {
        self.user == *user || self.requester_excluded || self.escalated
    }
}

/// The first of the pending questions of a person.
#[derive(Debug)]
pub struct WaitingFirst {
    /// The cards.
    pub cards: Vec<Card>,
    /// The number of pending questions in all.
    pub all: usize,
    /// The ids of questions that were changed in the database: they cannot be shown or answered.
    pub damaged: Vec<String>,
}

/// The questions that can still be answered.
#[derive(Debug, Default)]
struct Open {
    approvals: Vec<Approval>,
    /// The ids of questions that cannot be parsed.
    damaged: Vec<String>,
}

/// Reports whether a user who may see a question is also asked.
fn asks(approval: &Approval, user: &UserId) -> bool {
    let others = approval.request.quorum.requester == Requester::Excluded;
    approval.request.user == *user || others || approval.escalated
}

impl Gate {
    /// One question, for a person who may see it.
    ///
    /// # Errors
    /// The question does not exist for them, or the store failed.
    pub async fn card(&self, person: &Person, id: &ApprovalId) -> Result<Card, PeopleError> {
        // For a stranger, another person's question takes no longer than a missing one.
        let wanted = |doc: &Doc| is_no_stranger(person, doc);
        let versioned = document::get_if::<Approval>(&*self.store, id.as_str(), wanted).await?;
        let versioned = versioned.ok_or(PeopleError::NotFound)?;
        may_see(person, &versioned.value)?;
        self.card_of(&versioned.value)
    }

    /// Waits until a question that a person may see is settled. Over the local socket the waiter is
    /// the person's own assistant, whose question stays open while it waits.
    ///
    /// # Errors
    /// The question does not exist for them, or the store failed.
    pub async fn settled_for(&self, person: &Person, id: &ApprovalId) -> Result<(), PeopleError> {
        let mut attending = None;
        loop {
            let mut rights = self.bus.rights_changed();
            let (person, _) = self.person_now(person).await?;
            let mut settled = self.bus.settled(id);
            let versioned: Versioned<Approval> =
                self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
            may_see(&person, &versioned.value)?;
            if person.peer.is_some() {
                attending.get_or_insert_with(|| self.attend(id));
            }
            if !versioned.value.state.is_pending() {
                drop(settled);
                self.bus.forget(id);
                return Ok(());
            }
            // The sender is dropped after it has sent, which wakes us as well.
            either(settled.changed(), rights.changed()).await;
        }
    }

    /// The pending questions of a person: their own, then those of each of their workspaces, each
    /// by id, oldest first. A device that reconnects gets these again.
    ///
    /// # Errors
    /// The store failed.
    pub async fn waiting(&self, person: &Person) -> Result<Vec<Card>, PeopleError> {
        let Open { approvals, .. } = self.open_to(person).await?;
        Ok(self.cards_of(&approvals).0)
    }

    /// The first pending questions of a person, up to a limit, and their number in all: thousands
    /// may be pending, too many to show.
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

    /// The cards of these questions, and the ids of those that were changed in the database.
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

    /// The pending questions that a person may see, among their own and those of the workspaces
    /// they belong to.
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
            for versioned in found.versioned {
                let approval = versioned.value;
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

    /// The receipt of a decision, for a person who may see it.
    ///
    /// # Errors
    /// The question does not exist for them, it is not decided, or the store failed.
    pub async fn receipt(&self, person: &Person, id: &ApprovalId) -> Result<Receipt, PeopleError> {
        let versioned: Versioned<Approval> =
            self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        may_see(person, &versioned.value)?;
        let receipt = Receipt::of(&versioned.value, &self.keyring)?;
        receipt.ok_or(PeopleError::NotFound)
    }

    /// The notice that a channel sends about a question.
    ///
    /// # Errors
    /// The question does not exist, or the store failed.
    pub async fn notice(
        &self,
        id: &ApprovalId,
        link: Option<String>,
    ) -> Result<Notice, PeopleError> {
        let versioned: Versioned<Approval> =
            self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        let card = self.card_of(&versioned.value)?;
        Ok(Notice {
            approval: card.approval,
            user: card.user,
            session: card.session,
            action: card.action,
            description: card.description,
            details: card.details,
            risk: card.risk,
            created_at: versioned.value.request.created_at,
            expires_at: versioned.value.request.expires_at,
            link,
        })
    }

    /// The card of a question for the people it concerns. The caller must not pass it on to anybody
    /// else.
    ///
    /// # Errors
    /// The question does not exist, or the store failed.
    pub async fn announced(&self, id: &ApprovalId) -> Result<Card, PeopleError> {
        let versioned: Versioned<Approval> =
            self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        self.card_of(&versioned.value)
    }

    /// Reports whether a question is for this user too: theirs, or one to which others are called.
    ///
    /// # Errors
    /// There is no such question or user, or the store failed.
    pub async fn concerns(&self, user: &UserId, id: &ApprovalId) -> Result<bool, PeopleError> {
        let versioned: Versioned<Approval> =
            self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        if versioned.value.request.user == *user {
            return Ok(true);
        }
        let others = versioned.value.request.quorum.requester == Requester::Excluded;
        let person = self.by_channel(user).await?;
        Ok((others || versioned.value.escalated) && may_see(&person, &versioned.value).is_ok())
    }

    pub(super) fn card_of(&self, approval: &Approval) -> Result<Card, PeopleError> {
        let details = approval.open(&self.keyring)?;
        let request = approval.request.clone();
        let token = match approval.state {
            State::Pending { .. } => Some(approval.token(&self.keyring)?),
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

/// The directory in which it would run: the action's own, or else the context's.
fn cwd(details: &Details) -> Option<String> {
    let said = details.action.get("cwd").and_then(Value::as_str);
    said.or(details.context.cwd.as_deref()).map(redacted::text)
}

fn redacted_script(script: &Script) -> Script {
    Script { path: redacted::text(&script.path), sha256: script.sha256 }
}

/// The number of people who have agreed.
fn agreed(state: &State) -> usize {
    match state {
        State::Pending { votes } => votes.len(),
        state => match state.decision() {
            Some(decision) if decision.say == Answer::Approve => decision.votes.len(),
            Some(_) | None => 0,
        },
    }
}

/// Reports whether a document is theirs, or belongs to a workspace of theirs.
fn is_no_stranger(person: &Person, doc: &Doc) -> bool {
    let workspace = doc.workspace.as_deref().and_then(|id| WorkspaceId::parse(id).ok());
    doc.owner.as_deref() == Some(person.user().id.as_str())
        || workspace.is_some_and(|workspace| person.role_in(&workspace) > Role::Stranger)
}

/// Allows a person's own questions, those of a workspace they administer, and those in a workspace
/// of theirs where others must agree.
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
