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

use crate::client::{self, Address, Client, ClientError, Refused};
use crate::hook::Options;
use crate::listing::{field, part};
use crate::serving;

mod agent;
mod waiting;

pub(crate) use waiting::{Patient, Waiter};

use waiting::Pace;

pub(crate) use agent::register;

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
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// What must be asked about is agreed to; by whom, it says itself.
    Agreed(Permitted),
    /// Nothing had to be asked.
    Permitted(Permitted),
    /// No, and why.
    Refused(String),
    /// There was nobody to ask, and why.
    Nobody(String),
}

/// What was let through, for whoever can say how it went.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Permitted {
    action: String,
    session: Option<String>,
    /// Who or what has agreed, in the server's word.
    by: String,
    /// The action as a person wants it, where they have changed it: only that may run.
    pub(crate) edited: Option<Box<Action>>,
}

impl Permitted {
    /// How the yes came about, for the host's user.
    pub(crate) fn told(&self) -> &'static str {
        waiting::told(&self.by)
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
            let (session, proposal) = self.proposal(case, waiter).await?;
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
            let mut pace = Pace::new();
            loop {
                let body = Value::Object(question.clone());
                let path = "/api/confirmations";
                pace.asks();
                let answer = self.client.ask(Method::POST, path, Some(&body), Some(WAIT)).await?;
                if answer.get("approved").is_some() {
                    return Ok(answer);
                }
                let id = field(&answer, "approval_id");
                if question.insert("approval_id".to_owned(), Value::from(id)).is_none() {
                    waiter.asked(self, id);
                }
                pace.pause(waiter.left()).await;
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

    /// The organisation's policy, as the server hands it out.
    pub(crate) async fn policy(&self) -> Result<Value, ClientError> {
        self.client.get("/api/policy").await
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
        let (session, proposal) = self.proposal(case, waiter).await?;
        let answer = self.client.post("/api/actions", &proposal).await?;
        if field(&answer, "status") == "permitted" {
            return Ok(unasked(case, &answer, Permitted::of(&answer, session.as_deref())));
        }
        let id = field(&answer, "approval_id").to_owned();
        waiter.asked(self, &id);
        self.wait(&id, &proposal, session.as_deref(), waiter).await
    }

    /// What is proposed, in which session.
    async fn proposal(
        &self,
        case: &Case<'_>,
        waiter: &impl Waiter,
    ) -> Result<(Option<String>, Value), ClientError> {
        let session = match &self.session {
            Some(label) => Some(self.session(label).await?),
            None => None,
        };
        let proposal = json!({
            "action": case.action, "context": case.context, "session_id": session,
            "waits": waiter.waits(), "relays": waiter.relays(), "call_id": waiter.call_id(),
        });
        Ok((session, proposal))
    }

    /// Waits until a person has answered, then uses the yes.
    async fn wait(
        &self,
        id: &str,
        proposal: &Value,
        session: Option<&str>,
        waiter: &impl Waiter,
    ) -> Result<Outcome, ClientError> {
        let mut path = format!("/api/approvals/{}", part(id));
        let mut pace = Pace::new();
        while !waiter.left().is_zero() {
            let left = u32::try_from(waiter.left().as_secs()).unwrap_or(WAIT);
            pace.asks();
            let found =
                self.client.ask(Method::GET, &path, None, Some(left.clamp(1, WAIT))).await?;
            match (field(&found, "state"), field(&found, "replaced_by")) {
                ("pending", _) => pace.pause(waiter.left()).await,
                ("approved", _) => {
                    let edited = match edited(&found, proposal) {
                        Ok(Some(edited)) if !waiter.takes(&edited) => {
                            return Ok(Outcome::Refused(waiting::changed(&edited)));
                        }
                        Ok(edited) => edited,
                        Err(_) => return Ok(Outcome::Refused(OTHER_ACTION.to_owned())),
                    };
                    let mut proposal = proposal.clone();
                    if let (Some(edited), Some(fields)) = (&edited, proposal.as_object_mut()) {
                        fields.insert("action".to_owned(), json!(edited));
                    }
                    let spent = self.client.post(&format!("{path}/spend"), &proposal).await?;
                    return Ok(agreed(&spent, edited, session));
                }
                // A person wants it otherwise: that is what is waited for now.
                ("cancelled", next) if !next.is_empty() => {
                    path = format!("/api/approvals/{}", part(next));
                    waiter.asked(self, next);
                }
                (state, _) => {
                    return Ok(Outcome::Refused(said_no(state, field(&found, "feedback"))));
                }
            }
        }
        Ok(Outcome::Refused(said_no("expired", "")))
    }

    /// The session of this run of the agent. The server keeps it, so that no file of ours says
    /// which one an agent belongs to.
    async fn session(&self, label: &str) -> Result<String, ClientError> {
        let process = agent::process();
        let process = serde_json::to_value(process).unwrap_or_default();
        let plan = json!({"task": label, "process": process});
        let body = json!({"consent": true, "reuse": true, "plan": plan});
        let made = self.client.post("/api/sessions", &body).await?;
        Ok(field(&made, "session_id").to_owned())
    }
}

const OTHER_ACTION: &str =
    "Countersign: a person agreed to another action than this one, so this is refused.";

/// A yes that was used, on exactly the action that was named.
fn agreed(spent: &Value, edited: Option<Action>, session: Option<&str>) -> Outcome {
    if spent.get("edited").is_some_and(|other| !other.is_null()) {
        return Outcome::Refused(OTHER_ACTION.to_owned());
    }
    let edited = edited.map(Box::new);
    Outcome::Agreed(Permitted { edited, ..Permitted::of(spent, session) })
}

impl Permitted {
    fn of(answer: &Value, session: Option<&str>) -> Self {
        Self {
            action: field(answer, "action_id").to_owned(),
            session: session.map(str::to_owned),
            by: field(answer, "by").to_owned(),
            edited: None,
        }
    }
}

/// The action as a person wants it, where that is another one than was proposed.
///
/// # Errors
/// It cannot be read.
fn edited(found: &Value, proposal: &Value) -> Result<Option<Action>, serde_json::Error> {
    let replaces = found.get("replaces").is_some_and(|replaced| !replaced.is_null());
    let wanted = found.get("proposed").unwrap_or(&Value::Null);
    if !replaces || Some(wanted) == proposal.get("action") {
        return Ok(None);
    }
    serde_json::from_value(wanted.clone()).map(Some)
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
    let name = countersign_server::SocketName::of(socket);
    name.is_ok_and(|name| std::os::unix::net::UnixStream::connect(name.path()).is_ok())
}

#[cfg(not(unix))]
fn listens(_: &Path) -> bool {
    false
}
