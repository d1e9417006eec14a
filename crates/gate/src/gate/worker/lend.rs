//! What running work may ask for: one field of a credential, and what it has caused.

use countersign_core::Context;
use countersign_wire::work::Secret;
use serde_json::json;

use crate::audit;
use crate::caller::Caller;
use crate::gate::control::failed;
use crate::gate::{Gate, GateError, Lookup};
use crate::id::{ActionId, SessionId, WorkerId};
use crate::store::Batch;
use crate::vault::same_origin;
use crate::worker::job::Facts;

/// The most fields that one sign-in is lent.
const MOST_FIELDS: u32 = 16;

/// The reason for which a field is not lent.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The worker does not run a sign-in by this id.
    #[error("no sign-in of this worker's is running")]
    NoSignIn,
    /// The page is another site's.
    #[error("the page is not of the site that the sign-in is for")]
    OtherSite,
    /// There is no such field for this site.
    #[error("the session has no such field for this site")]
    NoField,
    /// It has asked for more fields than a sign-in has.
    #[error("too many fields were asked for")]
    TooMany,
    /// Nothing may happen any more.
    #[error("{0}")]
    Over(String),
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

/// Running work that has caused something: whose it is, and where.
#[derive(Debug)]
pub struct Causing {
    /// The agent that asked for the work.
    pub caller: Caller,
    /// The session.
    pub session: SessionId,
    /// The circumstances.
    pub context: Context,
}

impl Gate {
    /// Lends a worker one field of a credential, for a sign-in that it runs, on a page of exactly
    /// that site. The name of the field goes on record, its content nowhere.
    ///
    /// # Errors
    /// It is not lent, for the reason given.
    pub async fn lend(
        &self,
        worker: &WorkerId,
        id: &ActionId,
        origin: &str,
        field: &str,
    ) -> Result<Secret, FillError> {
        let (facts, site, doer) = {
            let inside = self.workers.inside();
            let job = inside.jobs.get(id).filter(|job| job.worker == *worker);
            let job = job.filter(|job| job.is_with_worker() && job.stopping.is_none());
            let job = job.ok_or(FillError::NoSignIn)?;
            let site = job.site.clone().ok_or(FillError::NoSignIn)?;
            let doer = inside.connected.get(worker).ok_or(FillError::NoSignIn)?.caller.clone();
            (job.facts(id), site, doer)
        };
        if !same_origin(&site, origin) {
            return Err(FillError::OtherSite);
        }
        self.rights_of(&doer, Lookup::Fresh).await?;
        if let Some(why) = self.reason_against_session(&facts.caller, &facts.session).await? {
            return Err(FillError::Over(why));
        }
        if !self.vault.fields(&facts.session, &site).iter().any(|known| known == field) {
            return Err(FillError::NoField);
        }
        let count = self.count_field(id)?;
        self.record_lent(&facts, field, count).await?;
        let lent =
            self.vault.fill(&facts.session, &site, field, |text| Secret::new(text.to_owned()));
        lent.ok_or(FillError::NoField)
    }

    fn count_field(&self, id: &ActionId) -> Result<u32, FillError> {
        let mut inside = self.workers.inside();
        let job = inside.jobs.get_mut(id).ok_or(FillError::NoSignIn)?;
        if job.lent >= MOST_FIELDS {
            return Err(FillError::TooMany);
        }
        job.lent = job.lent.saturating_add(1);
        Ok(job.lent)
    }

    async fn record_lent(&self, facts: &Facts, field: &str, count: u32) -> Result<(), GateError> {
        // The name is one of the vault's, not a text of the worker's.
        let payload = json!({
            "id": facts.id,
            "status": "field_lent",
            "worker": facts.worker,
            "field": field,
            "count": count,
        });
        let executed = audit::Event::ActionExecuted;
        let record = self.record(executed, facts.record_owner(), &payload)?;
        let batch = Batch { records: vec![record], ..Batch::default() };
        self.commit(batch).await.map(drop).map_err(failed)
    }

    /// Notes that running work has caused something that must be decided first; its time stands
    /// still until [`answered`](Gate::answered). `None` if this worker runs no such work.
    pub fn causing(&self, worker: &WorkerId, id: &ActionId) -> Option<Causing> {
        let now = self.now();
        let mut inside = self.workers.inside();
        let job = inside.jobs.get_mut(id).filter(|job| job.worker == *worker)?;
        if !job.is_with_worker() || job.stopping.is_some() {
            return None;
        }
        job.ask(now);
        let (caller, session) = (job.caller.clone(), job.session.clone());
        Some(Causing { caller, session, context: job.context.clone() })
    }

    /// Notes that something was decided that running work has caused.
    pub fn answered(&self, id: &ActionId) {
        let now = self.now();
        if let Some(job) = self.workers.inside().jobs.get_mut(id) {
            job.answered(now);
        }
    }
}
