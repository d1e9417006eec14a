//! Lists, page by page, as far as the reader may see the items.
//!
//! A person sees their own items, an admin those of their workspace, a super admin everything. A
//! caller sees its user's sessions in its workspace and its own questions, and never the token that
//! answers a question.

use crate::approval::Approval;
use crate::caller::{Caller, Person};
use crate::document::{self, Document, Found, Versioned};
use crate::gate::card::Card;
use crate::gate::people::PeopleError;
use crate::gate::session::works_in;
use crate::gate::{Gate, GateError, Lookup};
use crate::id::{ApprovalId, SessionId, UserId, WorkspaceId};
use crate::session::Session;
use crate::store::{Kind, Order, Query};
use crate::user::{Role, User, Workspace};

mod progress;

pub use progress::Progress;

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The id after which the page begins; the beginning of the list, if `None`.
    pub after: Option<String>,
    /// The most items; never more than [`Page::MOST`], and at least one.
    pub limit: usize,
}

impl Page {
    /// The most items on one page.
    pub const MOST: usize = 200;

    fn limit(&self) -> usize {
        self.limit.clamp(1, Self::MOST)
    }
}

impl Default for Page {
    fn default() -> Self {
        Self { after: None, limit: 50 }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paged<T> {
    /// The items.
    pub items: Vec<T>,
    /// The id after which the next page begins, if there is one.
    pub next: Option<String>,
    /// The ids of items on this page that were changed in the database and cannot be shown.
    pub damaged: Vec<String>,
}

/// The owner of the items that a person wants to see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum OwnerFilter {
    /// The person themselves.
    #[default]
    Mine,
    /// A workspace that they administer.
    Workspace(WorkspaceId),
    /// All items.
    All,
}

/// The choice to list users who were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// Removed users are left out.
    Hidden,
    /// Removed users are listed.
    Shown,
}

impl Gate {
    /// Sessions in one of these states (any, if the list is empty), newest first.
    ///
    /// # Errors
    /// The person may not see these, or the store failed.
    pub async fn sessions(
        &self,
        person: &Person,
        whose: &OwnerFilter,
        states: &[&'static str],
        page: &Page,
    ) -> Result<Paged<Session>, PeopleError> {
        let query = Query { states: states.to_vec(), ..newest(person, whose, Kind::Session)? };
        self.page(query, page).await
    }

    /// Questions in one of these states (any, if the list is empty), of one session or of all,
    /// newest first.
    ///
    /// # Errors
    /// The person may not see these, or the store failed.
    pub async fn approvals(
        &self,
        person: &Person,
        whose: &OwnerFilter,
        states: &[&'static str],
        session: Option<&SessionId>,
        page: &Page,
    ) -> Result<Paged<Card>, PeopleError> {
        let query = Query {
            states: states.to_vec(),
            session: session.map(ToString::to_string),
            ..newest(person, whose, Kind::Approval)?
        };
        let Paged { items, next, mut damaged } = self.page::<Approval>(query, page).await?;
        let (items, tampered) = self.cards_of(&items);
        damaged.extend(tampered);
        Ok(Paged { items, next, damaged })
    }

    /// Users, in the order in which they were added: the person themselves, those of a workspace
    /// they administer, or all. A removed user belongs to no workspace.
    ///
    /// # Errors
    /// The person may not see these, or the store failed.
    pub async fn users(
        &self,
        person: &Person,
        whose: &OwnerFilter,
        removed: Removed,
        page: &Page,
    ) -> Result<Paged<User>, PeopleError> {
        let states = match removed {
            Removed::Hidden => vec!["active", "disabled"],
            Removed::Shown => Vec::new(),
        };
        let mut query = Query { states, ..Query::of(Kind::User) };
        let workspace = match whose {
            OwnerFilter::Mine => {
                query.owner = Some(person.user().id.to_string());
                None
            }
            OwnerFilter::Workspace(id) => Some(looks_after(person, id)?),
            OwnerFilter::All => {
                sees_all(person)?;
                None
            }
        };
        let Some(workspace) = workspace else { return self.page(query, page).await };
        // A user belongs to any number of workspaces, so an index column cannot find them.
        query.after.clone_from(&page.after);
        let mut items = Vec::new();
        while let Some(users) = self.more::<User>(&mut query).await? {
            items.extend(users.into_iter().filter(|user| user.workspaces.contains_key(workspace)));
            if items.len() > page.limit() {
                break;
            }
        }
        Ok(paged(items, page))
    }

    /// The workspaces to which a person belongs; all, for a super admin.
    ///
    /// # Errors
    /// The store failed.
    pub async fn workspaces(&self, person: &Person) -> Result<Vec<Workspace>, PeopleError> {
        let mut workspaces = Vec::new();
        if person.user().super_admin {
            let mut query = Query::of(Kind::Workspace);
            while let Some(more) = self.more::<Workspace>(&mut query).await? {
                workspaces.extend(more);
            }
            return Ok(workspaces);
        }
        for id in person.user().workspaces.keys() {
            let versioned: Option<Versioned<Workspace>> = self.get(id.as_str()).await?;
            workspaces.extend(versioned.map(|versioned| versioned.value));
        }
        Ok(workspaces)
    }

    /// The first super admin who was created and can still sign in.
    ///
    /// # Errors
    /// The store failed.
    pub async fn owner(&self) -> Result<Option<UserId>, GateError> {
        let mut query = Query { states: vec!["active"], ..Query::of(Kind::User) };
        while let Some(users) = self.more::<User>(&mut query).await? {
            if let Some(owner) = users.into_iter().find(|user| user.super_admin) {
                return Ok(Some(owner.id));
            }
        }
        Ok(None)
    }

    /// A session in which a caller may propose.
    ///
    /// # Errors
    /// The session does not exist for them, or the store failed.
    pub async fn session_of_caller(
        &self,
        caller: &Caller,
        id: &SessionId,
    ) -> Result<Session, PeopleError> {
        let versioned: Versioned<Session> =
            self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        if works_in(caller, &versioned.value) {
            Ok(versioned.value)
        } else {
            Err(PeopleError::NotFound)
        }
    }

    /// The sessions in which a caller works, in one of these states (any, if the list is empty),
    /// newest first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn sessions_of_caller(
        &self,
        caller: &Caller,
        states: &[&'static str],
        page: &Page,
    ) -> Result<Paged<Session>, PeopleError> {
        let mut query = Query {
            owner: Some(caller.user.to_string()),
            states: states.to_vec(),
            after: page.after.clone(),
            order: Order::Newest,
            ..Query::of(Kind::Session)
        };
        let mut items = Vec::new();
        while let Some(sessions) = self.more::<Session>(&mut query).await? {
            items.extend(sessions.into_iter().filter(|session| works_in(caller, session)));
            if items.len() > page.limit() {
                break;
            }
        }
        Ok(paged(items, page))
    }

    /// The questions in one of these states (any, if the list is empty) that a caller asked in one
    /// of its sessions, newest first. Never with the token that answers them.
    ///
    /// # Errors
    /// The session does not exist for them, or the store failed.
    pub async fn approvals_of_caller(
        &self,
        caller: &Caller,
        states: &[&'static str],
        session: &SessionId,
        page: &Page,
    ) -> Result<Paged<Card>, PeopleError> {
        self.session_of_caller(caller, session).await?;
        let query = Query {
            session: Some(session.to_string()),
            states: states.to_vec(),
            order: Order::Newest,
            ..Query::of(Kind::Approval)
        };
        let Paged { items, next, damaged } = self.page::<Approval>(query, page).await?;
        let mut cards = Vec::new();
        for approval in items {
            if self.is_theirs(caller, &approval.request).await? {
                cards.push(Card { token: None, ..self.card_of(&approval)? });
            }
        }
        Ok(Paged { items: cards, next, damaged })
    }

    /// A question that a caller asked itself. Never with the token that answers it.
    ///
    /// # Errors
    /// The question does not exist for them, or the store failed.
    pub async fn approval_of_caller(
        &self,
        caller: &Caller,
        id: &ApprovalId,
    ) -> Result<Card, PeopleError> {
        self.rights_of(caller, Lookup::Fresh).await?;
        let versioned: Versioned<Approval> =
            self.get(id.as_str()).await?.ok_or(PeopleError::NotFound)?;
        if !self.is_theirs(caller, &versioned.value.request).await? {
            return Err(PeopleError::NotFound);
        }
        Ok(Card { token: None, ..self.card_of(&versioned.value)? })
    }

    /// Reads one page, and one item more to know if another page follows.
    pub(super) async fn page<T: Document>(
        &self,
        query: Query,
        page: &Page,
    ) -> Result<Paged<T>, PeopleError> {
        let limit = page.limit().saturating_add(1);
        let query = Query { after: page.after.clone(), limit, ..query };
        let document::Found { versioned, mut damaged, last } =
            document::find_all::<T>(&*self.store, &query).await?;
        let mut items: Vec<T> = versioned.into_iter().map(|versioned| versioned.value).collect();
        if items.len() + damaged.len() <= page.limit() {
            return Ok(Paged { items, next: None, damaged });
        }
        // The last document found, parsed or not, is the first of the next page.
        let beyond = |id: &str| Some(id) == last.as_deref();
        items.retain(|item| !beyond(item.id()));
        damaged.retain(|id| !beyond(id));
        let ids = items.last().map(|item| item.id().to_owned()).into_iter();
        let ids = ids.chain(damaged.last().cloned());
        let next = match query.order {
            Order::Oldest => ids.max(),
            Order::Newest => ids.min(),
        };
        Ok(Paged { items, next, damaged })
    }

    /// All documents that a query finds and that can be parsed, over as many pages as it takes.
    pub(super) async fn all<T: Document>(&self, query: Query) -> Result<Vec<T>, GateError> {
        let found = self.all_found(query).await?;
        Ok(found.versioned.into_iter().map(|versioned| versioned.value).collect())
    }

    /// The same, with the ids of documents that cannot be parsed.
    pub(super) async fn all_found<T: Document>(
        &self,
        mut query: Query,
    ) -> Result<Found<T>, GateError> {
        let mut all = Found { versioned: Vec::new(), damaged: Vec::new(), last: None };
        loop {
            let found = document::find_all::<T>(&*self.store, &query).await?;
            let count = found.versioned.len() + found.damaged.len();
            all.versioned.extend(found.versioned);
            all.damaged.extend(found.damaged);
            if count < query.limit || found.last.is_none() {
                return Ok(all);
            }
            query.after = found.last;
        }
    }

    /// The next documents that a query finds; `None` after the last.
    async fn more<T: Document>(&self, query: &mut Query) -> Result<Option<Vec<T>>, GateError> {
        let found = document::find::<T>(&*self.store, query).await?;
        let Some(last) = found.last() else { return Ok(None) };
        query.after = Some(last.value.id().to_owned());
        Ok(Some(found.into_iter().map(|versioned| versioned.value).collect()))
    }
}

pub(super) fn newest(
    person: &Person,
    whose: &OwnerFilter,
    kind: Kind,
) -> Result<Query, PeopleError> {
    let query = Query { order: Order::Newest, ..Query::of(kind) };
    Ok(match whose {
        OwnerFilter::Mine => Query { owner: Some(person.user().id.to_string()), ..query },
        OwnerFilter::Workspace(id) => {
            let workspace = Some(looks_after(person, id)?.to_string());
            Query { workspace, ..query }
        }
        OwnerFilter::All => {
            sees_all(person)?;
            query
        }
    })
}

fn looks_after<'a>(person: &Person, id: &'a WorkspaceId) -> Result<&'a WorkspaceId, PeopleError> {
    let looks_after = person.role_in(id) >= Role::WorkspaceAdmin;
    if looks_after { Ok(id) } else { Err(PeopleError::NotAllowed) }
}

fn sees_all(person: &Person) -> Result<(), PeopleError> {
    if person.user().super_admin { Ok(()) } else { Err(PeopleError::NotAllowed) }
}

fn paged<T: Document>(mut items: Vec<T>, page: &Page) -> Paged<T> {
    let more = items.len() > page.limit();
    items.truncate(page.limit());
    let next = items.last().filter(|_| more).map(|item| item.id().to_owned());
    Paged { items, next, damaged: Vec::new() }
}
