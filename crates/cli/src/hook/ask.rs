//! Asks a person through a running server, and waits for the answer.
//!
//! A hook submits as the agent's side and never answers: over the socket it proposes as the
//! owner's assistant, over a URL with the key in `$COUNTERSIGN_KEY`. The secret of a person's
//! device is not even looked at.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use countersign_core::Verdict;
use countersign_gate::secret::{Secret, SecretKind};
use hyper::Method;
use serde_json::{Value, json};

use crate::client::{self, Address, Client, ClientError, Refused, block_on};
use crate::hook::{Case, Clock, Mouth, Options, Turn, agent};
use crate::host::{Host, Told};
use crate::listing::{field, part};
use crate::{data, serving};

/// The variable that holds a key of the agent's side.
pub(crate) const KEY: &str = "COUNTERSIGN_KEY";
/// One wait at the server; then it is looked again.
const WAIT: u32 = 25;
/// How long a server that was just started may take to listen.
const STARTS_WITHIN: Duration = Duration::from_secs(8);

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A person said yes, or had said so before.
    Agreed,
    /// Nothing had to be asked.
    Permitted,
    /// No, and why.
    Refused(String),
    /// There was nobody to ask, and why.
    Nobody(String),
}

/// Where questions are put.
pub(super) struct Desk<'a> {
    client: Client,
    /// What the agent's session is called, where it has one.
    session: Option<String>,
    clock: &'a Clock,
    mouth: &'a Mouth,
}

impl<'a> Desk<'a> {
    /// Finds the server, and starts one where that is wanted.
    ///
    /// # Errors
    /// There is none, or what names it is wrong.
    pub(super) fn open(turn: &Turn<'a>, options: &Options) -> Result<Self> {
        let address = address(options)?;
        let key = key()?;
        if key.is_none() && !matches!(address, Address::Socket(_)) {
            bail!("${KEY} must hold a key for {address}");
        }
        if let (Address::Socket(socket), true) = (&address, options.start_server) {
            start(socket, turn.clock)?;
        }
        if address.is_readable_by_others() {
            bail!("{address} is not encrypted, so the key is not shown to it");
        }
        let client = Client::new(address, None)?;
        let (client, session) = match key {
            Some(key) => (client.with(key), None),
            None => (client, Some(label(turn.host, turn.told))),
        };
        Ok(Self { client, session, clock: turn.clock, mouth: turn.mouth })
    }

    /// Asks about one action, to the end.
    pub(super) fn ask(&self, case: &Case<'_>) -> Outcome {
        match block_on(async { Ok(self.settle(case).await) }) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => failed(&error),
            Err(error) => Outcome::Nobody(format!("{error:#}")),
        }
    }

    async fn settle(&self, case: &Case<'_>) -> Result<Outcome, ClientError> {
        let session = match &self.session {
            Some(label) => Some(self.session(label).await?),
            None => None,
        };
        let proposal = json!({
            "action": case.action, "context": case.context, "session_id": session,
        });
        if let Some(session) = &session
            && self.has_agreed(session, &proposal).await?
        {
            return Ok(Outcome::Agreed);
        }
        let answer = self.client.post("/api/actions", &proposal).await?;
        if field(&answer, "status") == "permitted" {
            return Ok(permitted(case, &answer));
        }
        let id = field(&answer, "approval_id").to_owned();
        self.mouth.when_late(format!(
            "Countersign: nobody has answered in time. The question {id} may still wait: tell \
             the user, and try the very same call again once they have answered."
        ));
        self.wait(&id, &proposal).await
    }

    /// Uses a yes to this very call that came after an earlier hook had run out of time.
    async fn has_agreed(&self, session: &str, proposal: &Value) -> Result<bool, ClientError> {
        let path = format!("/api/approvals?state=approved&session_id={}", part(session));
        let found = self.client.get(&path).await?;
        let found = found.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        for approval in found {
            if approval.get("proposed") != proposal.get("action") {
                continue;
            }
            let id = part(field(&approval, "approval_id"));
            // Whether it is the same, the gate says: what it shows may be masked.
            if self.client.post(&format!("/api/approvals/{id}/spend"), proposal).await.is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until a person has answered, then uses the yes.
    async fn wait(&self, id: &str, proposal: &Value) -> Result<Outcome, ClientError> {
        let path = format!("/api/approvals/{}", part(id));
        loop {
            let left = u32::try_from(self.clock.left().as_secs()).unwrap_or(WAIT);
            let found =
                self.client.ask(Method::GET, &path, None, Some(left.clamp(1, WAIT))).await?;
            match field(&found, "state") {
                "pending" => {}
                "approved" => {
                    let path = format!("{path}/spend");
                    self.client.post(&path, proposal).await?;
                    return Ok(Outcome::Agreed);
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

/// What a server lets through without asking anybody. That is an answer only if it knows why we
/// ask: it may not know the project's own rules.
fn permitted(case: &Case<'_>, answer: &Value) -> Outcome {
    if !case.must_ask() {
        return Outcome::Permitted;
    }
    let theirs = answer.pointer("/judgement/findings").and_then(Value::as_array);
    let knows = |rule: &str| {
        theirs.is_some_and(|theirs| theirs.iter().any(|finding| field(finding, "rule") == rule))
    };
    let asking = case.judgement.findings.iter().filter(|found| found.verdict >= Verdict::Confirm);
    let mut asking = asking.peekable();
    if asking.peek().is_some() && asking.all(|finding| knows(&finding.rule)) {
        return Outcome::Agreed;
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

/// How the session of an agent is called.
fn label(host: &dyn Host, told: &Told) -> String {
    let session = told.session.as_deref().unwrap_or("-");
    let session: String = session.chars().filter(|char| !char.is_control()).take(80).collect();
    format!("{} {session}", host.title())
}

fn address(options: &Options) -> Result<Address> {
    // The configuration first: a project's settings may set variables for its host's hooks.
    let named = std::env::var(client::SERVER).ok().filter(|named| !named.is_empty());
    if let Some(named) = options.server.as_deref().or(named.as_deref()) {
        return Address::parse(named);
    }
    let folder = data::usual_folder().context("nothing says where the data folder is")?;
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
fn start(socket: &Path, clock: &Clock) -> Result<()> {
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
    let until = std::time::Instant::now() + STARTS_WITHIN.min(clock.left());
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
