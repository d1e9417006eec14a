//! `countersign demo`: the whole product in one command, on temporary data.
//!
//! ```text
//! server on a free port ◄──HTTP, a key────── a scripted agent: thirty actions
//!           ▲──────────────HTTP, a device─── a scripted person, or you
//! ```
//!
//! Nothing that the agent proposes is run: the gate only decides.

use std::fs::{self, DirBuilder};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, ValueEnum};
use countersign_core::Policy;
use countersign_core::policy::{Source, Sources};
use countersign_gate::channel::{self, Configured, terminal};
use countersign_gate::clock::{Clock, System, random};
use countersign_gate::secret::Secret;
use countersign_server::Inherited;
use countersign_wire::path;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use url::Url;

use crate::client::{Address, Client, Trust};
use crate::data::SOCKET;
use crate::exit::Exit;
use crate::listing::{field, part};
use crate::serving::{Plan, Serving};

mod agent;
mod person;
mod script;

use agent::Agent;
use person::Person;

/// See the whole product in one command: an agent proposes thirty actions, and a person answers
///
/// Runs a server on temporary data. None of the proposed actions are run.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Who answers [default: you, at a terminal; otherwise the script]
    #[arg(long, value_enum)]
    answers: Option<Answers>,
    /// Keep the server running at the end, until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// Run without pauses
    #[arg(long)]
    fast: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Answers {
    /// You: here, in a browser, or with `countersign watch`
    Ask,
    /// A scripted person, on a device of their own
    Play,
}

impl Demo {
    pub(super) fn run(self) -> Result<Exit> {
        let folder = Folder::make()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let ended = runtime.block_on(self.show(&folder));
        // Stop everything that writes into the folder before it is removed.
        drop(runtime);
        ended
    }

    fn answers(&self) -> Answers {
        let person = io::stdin().is_terminal() && io::stderr().is_terminal();
        self.answers.unwrap_or(if person { Answers::Ask } else { Answers::Play })
    }

    fn plan(&self, folder: &Folder) -> Result<Plan> {
        let text = script::configuration(self.fast);
        let source = Source { name: "the demo".to_owned(), text };
        let sources = Sources { user: Some(source), ..Sources::default() };
        let policy = Policy::load(&sources).map_err(|error| anyhow!("{error}"))?;
        let mut settings = countersign_server::Settings::default();
        settings.listen.set_port(0);
        settings.socket = Some(folder.0.join(SOCKET));
        let channels = match self.answers() {
            Answers::Play => Vec::new(),
            Answers::Ask => {
                let here = channel::Settings::Terminal(terminal::Settings { ask: true });
                vec![Configured { user: None, settings: here }]
            }
        };
        let config = countersign_gate::Config::default();
        let inherited = Inherited::default();
        Ok(Plan { folder: folder.0.clone(), policy, config, channels, settings, inherited })
    }

    async fn show(&self, folder: &Folder) -> Result<Exit> {
        let serving = Serving::open(self.plan(folder)?).await?;
        let url = serving.bound.url();
        let link = serving.link.as_ref().map(|link| link.expose().to_owned());
        let (stop, stopping) = oneshot::channel::<()>();
        let server = tokio::spawn(serving.run(async move { drop(stopping.await) }));
        let played = tokio::select! {
            played = self.play(&url, link.as_deref().unwrap_or_default()) => played,
            () = super::serve::stopped() => Ok(Exit::Failed),
        };
        if self.keep && matches!(played, Ok(Exit::Done)) {
            writeln!(io::stdout(), "\nthe server keeps running at {url} until Ctrl-C")?;
            super::serve::stopped().await;
        }
        drop(stop);
        let _ = server.await;
        played
    }

    async fn play(&self, url: &str, link: &str) -> Result<Exit> {
        let nobody = Client::new(Address::of(&Url::parse(url)?)?, Trust::Usual)?;
        let body = json!({"link": link, "name": "The demo's own device"});
        let device = nobody.post(path::SIGN_IN, &body).await?;
        let device = nobody.with(Secret::parse(field(&device, "secret"))?);
        self.greet(&device, url).await?;
        // Thirty actions in a second are more than a key's usual limit.
        let key = json!({"name": "The demo's agent", "scopes": ["*"], "devices": "any",
            "writes": {"uses": 1_000, "seconds": 60}});
        let key = device.post(path::KEYS, &key).await?;
        let key = nobody.with(Secret::parse(field(&key, "secret"))?);
        let pace = if self.fast { Pace::Fast } else { Pace::Slow };
        let person = match self.answers() {
            Answers::Play => Some(Person::new(device.clone(), pace)),
            Answers::Ask => None,
        };
        let mut agent = Agent::begin(key, device.clone(), person, pace).await?;
        agent.play(script::play()).await?;
        summary(&agent, &device).await
    }

    /// Prints where to look. Only the browser that opens the link is signed in by it.
    async fn greet(&self, device: &Client, url: &str) -> Result<()> {
        let made = device.call(path::DEVICES_INVITE).await?;
        let link = format!("{url}/sign-in?link={}", part(field(&made, "link")));
        let mut out = io::stdout().lock();
        writeln!(out, "countersign demo: nothing is really run, and all data is temporary")?;
        writeln!(out, "  look in a browser: {link}")?;
        writeln!(out, "  or in a terminal:  {}", terminal(&link))?;
        match self.answers() {
            Answers::Ask => {
                writeln!(
                    out,
                    "  or answer here:    y approves, n rejects, anything else leaves it open"
                )?;
            }
            Answers::Play => {
                writeln!(out, "  a scripted person answers on a device of their own")?;
            }
        }
        writeln!(out)?;
        Ok(())
    }
}

/// The command for another terminal. The demo's own device is signed in, so an approval there needs
/// a device too.
fn terminal(link: &str) -> String {
    if cfg!(unix) {
        format!("eval \"$(countersign sign-in '{link}')\" && countersign watch")
    } else {
        format!("countersign sign-in {link}, then countersign watch")
    }
}

/// The speed of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Slow,
    Fast,
}

impl Pace {
    async fn pause(self, milliseconds: u64) {
        let milliseconds = if self == Self::Slow { milliseconds } else { milliseconds / 100 };
        tokio::time::sleep(std::time::Duration::from_millis(milliseconds)).await;
    }
}

/// Prints the outcome of all actions, and the proof that all of it is on record.
async fn summary(agent: &Agent, device: &Client) -> Result<Exit> {
    let proof = device.get(path::AUDIT_VERIFY).await?;
    let whole = proof.get("whole").and_then(Value::as_bool).unwrap_or_default();
    let records = proof.get("records").and_then(Value::as_u64).unwrap_or_default();
    let tally = &agent.tally;
    let mut out = io::stdout().lock();
    writeln!(out, "\n{} actions: {tally}", tally.actions)?;
    if !whole {
        writeln!(out, "the record is damaged: {}", proof.get("damage").unwrap_or(&Value::Null))?;
        return Ok(Exit::Failed);
    }
    writeln!(out, "recorded: {records} records, each chained to the one before, verified")?;
    Ok(Exit::Done)
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self> {
        let name: [u8; 8] = random(&System as &dyn Clock)?;
        let name = u64::from_le_bytes(name);
        let path = std::env::temp_dir().join(format!("countersign-demo-{name:016x}"));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.create(&path).with_context(|| format!("cannot make `{}`", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
