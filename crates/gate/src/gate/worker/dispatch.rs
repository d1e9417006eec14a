//! A permit becomes a signed item of work, for one worker, once.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_core::{Action, Context, Verdict};
use countersign_wire::Script;
use countersign_wire::work::{
    Element, Ended, ExecutorKind, SignedWork, ToWorker, WorkItem, WorkLimits, WorkResult,
};

use crate::approval::subject_of;
use crate::caller::Caller;
use crate::document::Versioned;
use crate::gate::session::{not_running, works_in};
use crate::gate::worker::GRACE;
use crate::gate::{Gate, GateError, Lookup};
use crate::id::{ActionId, SessionId, WorkerId};
use crate::keyring::Purpose;
use crate::permit::Permit;
use crate::proposal::Proposal;
use crate::session::Session;
use crate::worker::job::{Job, NewJob};

/// The time in which an item of work must begin.
const BEGIN_WITHIN: Duration = Duration::from_mins(1);
/// The seconds that a command may take, where its session does not say.
const COMMAND_SECONDS: u32 = 60;
/// The seconds that a download may take, where its session does not say.
const DOWNLOAD_SECONDS: u32 = 300;
/// The seconds that any other step may take, where its session does not say.
const STEP_SECONDS: u32 = 30;

/// Something permitted, and the worker that is to do it.
#[derive(Debug)]
pub struct Dispatch<'a> {
    /// The permit, which is used up.
    pub permit: Permit,
    /// The proposal that was permitted.
    pub proposal: &'a Proposal,
    /// The element of the page that it is for.
    pub element: Option<Element>,
    /// The worker.
    pub worker: &'a WorkerId,
    /// The strictest verdict that was agreed to.
    pub agreed: Verdict,
}

/// The reason for which something permitted was not given to a worker. It has not begun, and the
/// permit is used up.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    /// It is not what was permitted, or not something that a worker does in a session.
    #[error("this is not an action that was permitted for a worker")]
    NotWork,
    /// The worker is gone.
    #[error("the worker is gone: the action has not begun")]
    Gone,
    /// Something else went wrong.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl Gate {
    /// Gives a permitted action to a worker. The item is signed, and is handed out once.
    ///
    /// # Errors
    /// It cannot be given to this worker. The action has not begun.
    pub async fn dispatch(
        &self,
        caller: &Caller,
        dispatch: Dispatch<'_>,
    ) -> Result<ActionId, DispatchError> {
        let Dispatch { permit, proposal, element, worker, agreed } = dispatch;
        let session = permit.session().ok_or(DispatchError::NotWork)?;
        let session = self.get::<Session>(session.as_str()).await.map_err(GateError::from)?;
        let session = session.ok_or(DispatchError::NotWork)?.value;
        let context = worked_in(&session, &proposal.context);
        let (digest, approval) = (permit.digest().to_owned(), permit.approval().cloned());
        let id = permit
            .redeem(&proposal.action, &context, &proposal.scripts)
            .map_err(|_| DispatchError::NotWork)?;
        let (now, seconds) = (self.now(), seconds_for(&session, &proposal.action));
        let item = WorkItem {
            action_id: id.to_string(),
            worker_id: worker.to_string(),
            session_id: session.id.to_string(),
            approval_id: approval.as_ref().map(ToString::to_string),
            digest,
            action: proposal.action.clone(),
            element,
            context: context.clone(),
            scripts: proposal.scripts.iter().map(Script::from).collect(),
            agreed,
            limits: WorkLimits { seconds, ..WorkLimits::default() },
            begin_by: self.shown(now.after(BEGIN_WITHIN)).0,
        };
        let job = Job::new(NewJob {
            worker: worker.clone(),
            session: session.id,
            caller: Caller { epoch: None, ..caller.clone() },
            approval,
            action: subject_of(&proposal.action),
            kind: proposal.action.kind(),
            site: site_of(&proposal.action),
            context,
            seconds,
            given_at: now,
            end_by: now.after(Duration::from_secs(seconds.into())).after(GRACE),
        });
        self.queue(worker, &id, job, &item).await?;
        Ok(id)
    }

    /// Signs an item, and queues it for its worker.
    async fn queue(
        &self,
        worker: &WorkerId,
        id: &ActionId,
        job: Job,
        item: &WorkItem,
    ) -> Result<(), DispatchError> {
        let work = Box::new(self.signed(item)?);
        let queued = {
            let mut inside = self.workers.inside();
            inside.jobs.insert(id.clone(), job);
            inside.tell(worker, ToWorker::Work { work })
        };
        if queued {
            return Ok(());
        }
        self.not_begun(id, "NotSent", "the worker is gone").await?;
        Err(DispatchError::Gone)
    }

    /// Passes a message on to its worker, or keeps back work that may not begin any more: rights,
    /// kill switch and session are looked up again, at the last moment.
    ///
    /// # Errors
    /// The store failed: the work is kept back.
    pub async fn hand_out(
        &self,
        worker: &WorkerId,
        message: ToWorker,
    ) -> Result<Option<ToWorker>, GateError> {
        let ToWorker::Work { work } = &message else { return Ok(Some(message)) };
        let item: WorkItem = match serde_json::from_str(&work.item) {
            Ok(item) => item,
            // Our own item, written a moment ago.
            Err(_) => return Ok(None),
        };
        let Ok(id) = ActionId::parse(&item.action_id) else { return Ok(None) };
        let kept_back = match self.reason_against(&id, worker).await {
            Ok(reason) => reason,
            Err(error) => Some(error.to_string()),
        };
        // A stop that comes from here on is queued behind the work.
        let stopped = self.workers.inside().hand_out(&id);
        match kept_back.or(stopped) {
            None => Ok(Some(message)),
            Some(why) => {
                let result = WorkResult::because(Ended::Stopped, "KeptBack", why);
                self.conclude(&id, Ended::Stopped.into(), result).await?;
                Ok(None)
            }
        }
    }

    /// The reason for which work may not begin any more.
    async fn reason_against(
        &self,
        id: &ActionId,
        worker: &WorkerId,
    ) -> Result<Option<String>, GateError> {
        let (job, doer) = {
            let inside = self.workers.inside();
            let job = inside.jobs.get(id).filter(|job| job.worker == *worker);
            let doer = inside.connected.get(worker).map(|worker| worker.caller.clone());
            (job.map(|job| job.facts(id)), doer)
        };
        let (Some(job), Some(doer)) = (job, doer) else {
            return Ok(Some("it is not this worker's".to_owned()));
        };
        self.rights_of(&doer, Lookup::Fresh).await?;
        self.reason_against_session(&job.caller, &job.session).await
    }

    /// The reason for which nothing may happen for this caller in this session.
    pub(super) async fn reason_against_session(
        &self,
        caller: &Caller,
        session: &SessionId,
    ) -> Result<Option<String>, GateError> {
        self.rights_of(caller, Lookup::Fresh).await?;
        if self.control().await?.value.halted {
            return Ok(Some("everything is halted".to_owned()));
        }
        let session: Option<Versioned<Session>> = self.get(session.as_str()).await?;
        let session = session.map(|versioned| versioned.value);
        let Some(session) = session.filter(|session| works_in(caller, session)) else {
            return Ok(Some("the session is gone".to_owned()));
        };
        Ok(not_running(&session, self.now()).map(|why| why.line()))
    }

    fn signed(&self, item: &WorkItem) -> Result<SignedWork, GateError> {
        let unwritten =
            |error| crate::store::StoreError(format!("an item of work cannot be written: {error}"));
        let item = serde_json::to_string(item).map_err(unwritten)?;
        let signature = self.keyring.sign(Purpose::Work, item.as_bytes());
        Ok(SignedWork { item, signature: URL_SAFE_NO_PAD.encode(signature) })
    }
}

/// The circumstances of an action as a session has them.
fn worked_in(session: &Session, context: &Context) -> Context {
    let mut context = context.clone();
    (context.profile, context.mode) = (session.plan.profile.clone(), session.plan.mode);
    context.allowed_origins.clone_from(&session.plan.allowed_origins);
    context.history = None;
    context
}

fn seconds_for(session: &Session, action: &Action) -> u32 {
    let usual = match (ExecutorKind::of(action), action) {
        (_, Action::Download { .. }) => DOWNLOAD_SECONDS,
        (Some(ExecutorKind::Shell | ExecutorKind::Applescript), _) => COMMAND_SECONDS,
        (Some(ExecutorKind::File | ExecutorKind::Http | ExecutorKind::Browser) | None, _) => {
            STEP_SECONDS
        }
    };
    session.time_limit(action.kind()).map_or(usual, |(_, seconds)| seconds)
}

fn site_of(action: &Action) -> Option<String> {
    match action {
        Action::Login { site } => Some(site.clone()),
        _ => None,
    }
}
