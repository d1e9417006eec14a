//! Asks a person through a running server, and waits for the answer.
//!
//! Hooks and the MCP proxy submit as the agent's side and never answer: over the socket they
//! propose as the owner's assistant, over a URL with the key in `$COUNTERSIGN_KEY`. The secret of
//! a person's device is not even looked at.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use countersign_core::{Action, Context, Judgement, Verdict};
use countersign_gate::secret::{Secret, SecretKind};
use hyper::Method;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::client::{self, Address, Client, ClientError, Refused};
use crate::hook::Options;
use crate::listing::{field, part};
use crate::serving;

mod agent;

/// The variable that holds a key of the agent's side.
pub(crate) const KEY: &str = "COUNTERSIGN_KEY";
/// One wait at the server; then it is looked again.
const WAIT: u32 = 25;
/// How long a server that was just started may take to listen.
const STARTS_WITHIN: Duration = Duration::from_secs(8);

/// Longer than any question waits.
pub(crate) const A_DAY: Duration = Duration::from_hours(24);

/// One action, and what we think of it.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) action: &'a Action,
    pub(crate) context: Context,
    pub(crate) judgement: Judgement,
}

impl Case<'_> {
    /// Whether a person must say yes.
    pub(crate) fn must_ask(&self) -> bool {
        self.judgement.verdict >= Verdict::Confirm
    }
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A person said yes, or had said so before.
    Agreed(Permitted),
    /// Nothing had to be asked.
    Permitted(Permitted),
    /// No, and why.
    Refused(String),
    /// There was nobody to ask, and why.
    Nobody(String),
}

/// What was let through, for whoever can say how it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Permitted {
    action: String,
    session: Option<String>,
}

/// Whoever waits for an answer.
pub(crate) trait Waiter {
    /// How long there still is.
    fn left(&self) -> Duration;
    /// The question waits under this name.
    fn asked(&self, approval: &str);
}

/// Waits as long as it takes, and tells the name of the question once it has one.
pub(crate) struct Patient(UnboundedSender<String>);

impl Patient {
    /// With where the name is told.
    pub(crate) fn new() -> (Self, UnboundedReceiver<String>) {
        let (to, from) = unbounded_channel();
        (Self(to), from)
    }
}

impl Waiter for Patient {
    fn left(&self) -> Duration {
        A_DAY
    }

    fn asked(&self, approval: &str) {
        // Whoever is no longer interested takes no question back, either.
        let _ = self.0.send(approval.to_owned());
    }
}

/// Where questions are put.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    client: Client,
    /// What the agent's session is called, where it has one.
    session: Option<String>,
}

impl Desk {
    /// Finds the server, by its data folder unless the configuration names it, and starts one
    /// where that is wanted and takes no longer than this.
    ///
    /// # Errors
    /// There is none, or what names it is wrong.
    pub(crate) fn open(
        options: &Options,
        folder: Option<&Path>,
        label: String,
        within: Duration,
    ) -> Result<Self> {
        let address = address(options, folder)?;
        let key = key()?;
        if key.is_none() && !matches!(address, Address::Socket(_)) {
            bail!("${KEY} must hold a key for {address}");
        }
        if let (Address::Socket(socket), true) = (&address, options.start_server) {
            start(socket, within)?;
        }
        if address.is_readable_by_others() {
            bail!("{address} is not encrypted, so the key is not shown to it");
        }
        let client = Client::new(address, None)?;
        Ok(match key {
            Some(key) => Self { client: client.with(key), session: None },
            None => Self { client, session: Some(label) },
        })
    }

    /// Asks about one action, to the end.
    pub(crate) async fn ask(&self, case: &Case<'_>, waiter: &impl Waiter) -> Outcome {
        self.settle(case, waiter).await.unwrap_or_else(|error| failed(&error))
    }

    /// Goes on waiting for a question that was put before, and uses a yes on this very action.
    pub(crate) async fn resume(
        &self,
        case: &Case<'_>,
        approval: &str,
        waiter: &impl Waiter,
    ) -> Outcome {
        let resumed = async {
            let (session, proposal) = self.proposal(case).await?;
            self.wait(approval, &proposal, session.as_deref(), waiter).await
        };
        resumed.await.unwrap_or_else(|error| failed(&error))
    }

    /// Asks a person something that is no action, and gives the answer: `approved`, and feedback
    /// where there is some.
    ///
    /// # Errors
    /// Nobody can be asked, or it was refused.
    pub(crate) async fn confirm(
        &self,
        question: &Map<String, Value>,
        waiter: &impl Waiter,
    ) -> Result<Value, Outcome> {
        let confirmed = async {
            let mut question = question.clone();
            if let Some(label) = &self.session {
                let session = self.session(label).await?;
                question.insert("session_id".to_owned(), Value::from(session));
            }
            loop {
                let body = Value::Object(question.clone());
                let path = "/api/confirmations";
                let answer = self.client.ask(Method::POST, path, Some(&body), Some(WAIT)).await?;
                if answer.get("approved").is_some() {
                    return Ok(answer);
                }
                let id = field(&answer, "approval_id");
                if question.insert("approval_id".to_owned(), Value::from(id)).is_none() {
                    waiter.asked(id);
                }
            }
        };
        confirmed.await.map_err(|error| failed(&error))
    }

    /// The page where a person can answer a question, where that is known.
    pub(crate) fn link(&self, approval: &str) -> Option<String> {
        let server = match self.client.address() {
            Address::Socket(socket) => {
                fs::read_to_string(socket.with_file_name(serving::URL)).ok()?
            }
            url => url.to_string(),
        };
        Some(format!("{}/approvals/{}", server.trim().trim_end_matches('/'), part(approval)))
    }

    /// Takes a question back: nobody waits for its answer any more.
    pub(crate) async fn withdraw(&self, approval: &str) -> Result<(), ClientError> {
        let path = format!("/api/approvals/{}/withdraw", part(approval));
        self.client.post(&path, &Value::Null).await.map(drop)
    }

    /// Says how it went with what was let through.
    pub(crate) async fn report(
        &self,
        permitted: &Permitted,
        went: bool,
    ) -> Result<(), ClientError> {
        let path = format!("/api/actions/{}/report", part(&permitted.action));
        let outcome = if went { "done" } else { "failed" };
        let body = json!({"outcome": outcome, "session_id": permitted.session});
        self.client.post(&path, &body).await.map(drop)
    }

    async fn settle(&self, case: &Case<'_>, waiter: &impl Waiter) -> Result<Outcome, ClientError> {
        let (session, proposal) = self.proposal(case).await?;
        if let Some(session) = &session
            && let Some(permitted) = self.has_agreed(session, &proposal).await?
        {
            return Ok(Outcome::Agreed(permitted));
        }
        let answer = self.client.post("/api/actions", &proposal).await?;
        if field(&answer, "status") == "permitted" {
            return Ok(unasked(case, &answer, Permitted::of(&answer, session.as_deref())));
        }
        let id = field(&answer, "approval_id").to_owned();
        waiter.asked(&id);
        self.wait(&id, &proposal, session.as_deref(), waiter).await
    }

    /// What is proposed, in which session.
    async fn proposal(&self, case: &Case<'_>) -> Result<(Option<String>, Value), ClientError> {
        let session = match &self.session {
            Some(label) => Some(self.session(label).await?),
            None => None,
        };
        let proposal = json!({
            "action": case.action, "context": case.context, "session_id": session,
        });
        Ok((session, proposal))
    }

    /// Uses a yes to this very call that came after an earlier hook had run out of time.
    async fn has_agreed(
        &self,
        session: &str,
        proposal: &Value,
    ) -> Result<Option<Permitted>, ClientError> {
        let path = format!("/api/approvals?state=approved&session_id={}", part(session));
        let found = self.client.get(&path).await?;
        let found = found.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        for approval in found {
            if approval.get("proposed") != proposal.get("action") {
                continue;
            }
            let id = part(field(&approval, "approval_id"));
            // Whether it is the same, the gate says: what it shows may be masked.
            let path = format!("/api/approvals/{id}/spend");
            if let Ok(spent) = self.client.post(&path, proposal).await {
                return Ok(Some(Permitted::of(&spent, Some(session))));
            }
        }
        Ok(None)
    }

    /// Waits until a person has answered, then uses the yes.
    async fn wait(
        &self,
        id: &str,
        proposal: &Value,
        session: Option<&str>,
        waiter: &impl Waiter,
    ) -> Result<Outcome, ClientError> {
        let path = format!("/api/approvals/{}", part(id));
        loop {
            let left = u32::try_from(waiter.left().as_secs()).unwrap_or(WAIT);
            let found =
                self.client.ask(Method::GET, &path, None, Some(left.clamp(1, WAIT))).await?;
            match field(&found, "state") {
                "pending" => {}
                "approved" => {
                    let spent = self.client.post(&format!("{path}/spend"), proposal).await?;
                    return Ok(Outcome::Agreed(Permitted::of(&spent, session)));
                }
                state => return Ok(Outcome::Refused(said_no(state, field(&found, "feedback")))),
            }
        }
    }

    /// The session of this run of the agent. The server keeps it, so that no file of ours says
    /// which one an agent belongs to.
    async fn session(&self, label: &str) -> Result<String, ClientError> {
        let process = agent::process();
        let process = serde_json::to_value(process).unwrap_or_default();
        let open = self.client.get("/api/sessions?state=active&limit=200").await?;
        let open = open.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let ours = open.iter().find(|session| {
            let plan = session.get("plan");
            let said =
                |name: &str| plan.and_then(|plan| plan.get(name)).cloned().unwrap_or_default();
            said("task") == label && said("process") == process && said("auto_confirm") == false
        });
        if let Some(session) = ours {
            return Ok(field(session, "session_id").to_owned());
        }
        let plan = json!({"task": label, "process": process});
        let body = json!({"consent": true, "plan": plan});
        let made = self.client.post("/api/sessions", &body).await?;
        Ok(field(&made, "session_id").to_owned())
    }
}

impl Permitted {
    fn of(answer: &Value, session: Option<&str>) -> Self {
        let session = session.map(str::to_owned);
        Self { action: field(answer, "action_id").to_owned(), session }
    }
}

/// What a server lets through without asking anybody. That is an answer only if it knows why we
/// ask: it may not know the project's own rules.
fn unasked(case: &Case<'_>, answer: &Value, permitted: Permitted) -> Outcome {
    if !case.must_ask() {
        return Outcome::Permitted(permitted);
    }
    let theirs = answer.pointer("/judgement/findings").and_then(Value::as_array);
    let knows = |rule: &str| {
        theirs.is_some_and(|theirs| theirs.iter().any(|finding| field(finding, "rule") == rule))
    };
    let asking = case.judgement.findings.iter().filter(|found| found.verdict >= Verdict::Confirm);
    let mut asking = asking.peekable();
    if asking.peek().is_some() && asking.all(|finding| knows(&finding.rule)) {
        return Outcome::Agreed(permitted);
    }
    Outcome::Nobody("the server does not know the rule that asks".to_owned())
}

fn said_no(state: &str, feedback: &str) -> String {
    match (state, feedback) {
        ("rejected", "") => "Countersign: a person said no to this.".to_owned(),
        ("rejected", feedback) => format!("Countersign: a person said no to this: {feedback}"),
        ("expired", _) => "Countersign: nobody answered in time, and silence is a no.".to_owned(),
        (state, _) => format!("Countersign: this is not approved, the question is {state}."),
    }
}

fn failed(error: &ClientError) -> Outcome {
    match error {
        ClientError::NoServer { .. } => Outcome::Nobody(error.to_string()),
        ClientError::Refused(refused) => said(refused),
        ClientError::Broken(why) => {
            Outcome::Refused(format!("Countersign: the server failed: {why}"))
        }
    }
}

fn said(refused: &Refused) -> Outcome {
    let feedback = field(&refused.body, "feedback");
    match refused.kind.as_str() {
        "nobody-to-ask" => Outcome::Nobody(refused.detail.clone()),
        "declined" => Outcome::Refused(said_no("rejected", feedback)),
        _ => Outcome::Refused(format!("Countersign: {refused}")),
    }
}

fn address(options: &Options, folder: Option<&Path>) -> Result<Address> {
    // The configuration first: a project's settings may set variables for its host's hooks.
    let named = std::env::var(client::SERVER).ok().filter(|named| !named.is_empty());
    if let Some(named) = options.server.as_deref().or(named.as_deref()) {
        return Address::parse(named);
    }
    let folder = folder.context("nothing says where the data folder is")?;
    Ok(Address::Socket(folder.join(serving::SOCKET)))
}

fn key() -> Result<Option<Secret>> {
    let Some(text) = std::env::var(KEY).ok().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let secret = Secret::parse(text.trim()).with_context(|| format!("${KEY}"))?;
    if secret.kind() != SecretKind::Key {
        bail!("${KEY} is not a key: `countersign keys create` gives one");
    }
    Ok(Some(secret))
}

/// Starts a server unless one listens.
fn start(socket: &Path, within: Duration) -> Result<()> {
    if listens(socket) {
        return Ok(());
    }
    let binary = std::env::current_exe().context("cannot find our own binary")?;
    let mut serve = Command::new(binary);
    let folder = socket.parent().context("the socket is in no folder")?;
    serve.args(["serve", "--data"]).arg(folder).env_remove(client::DEVICE).env_remove(KEY);
    serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It outlives the agent, and what is sent to the agent's group is not meant for it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut serve, 0);
    serve.spawn().context("cannot start a server")?;
    let until = std::time::Instant::now() + STARTS_WITHIN.min(within);
    while std::time::Instant::now() < until {
        if listens(socket) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("the server that was started does not listen")
}

#[cfg(unix)]
fn listens(socket: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(socket).is_ok()
}

#[cfg(not(unix))]
fn listens(_: &Path) -> bool {
    false
}
