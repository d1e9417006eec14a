//! `countersign doctor --live`: a real host is run against a scripted model, and what it does
//! with our hook is seen.
//!
//! ```text
//! scripted model ◄──► the host, in a throw-away home ──► our hook ──► a throw-away server
//!      proposes             runs, or does not run                       a person answers
//! ```
//!
//! Nothing of the user's is read or changed, nothing leaves the machine, and what is proposed is
//! harmless even where a host runs it: a push to a remote in the same folder, and a stand-in for
//! `mkfs.ext4` that leaves a mark.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use rustix::process::Signal;
use serde::Serialize;
use serde_json::json;

use crate::command::doctor;
use crate::exit::Exit;
use crate::host::Host;

mod check;
mod model;
mod person;
mod process;
mod recipe;
mod stage;

use check::{CHECKS, Check, FEEDBACK, Mark, Seen, Tried, judge};
use model::Model;
use person::Person;
use recipe::Recipe;
use stage::{Program, Stage};

/// How long the host is told to wait for the hook, in seconds, where somebody answers.
const LONG: u64 = 60;
/// … and where nobody does.
const SHORT: u64 = 8;
/// Longer than any host takes over one task.
const MOST: Duration = Duration::from_secs(100);
/// How often it is looked.
const LOOK: Duration = Duration::from_millis(200);
/// How long a question is left waiting, to see that the host waits too.
const WAITS: Duration = Duration::from_secs(1);
/// How long a question may outlive its asker.
const WITHDRAWN_WITHIN: Duration = Duration::from_secs(5);

/// What was found out about one host.
#[derive(Debug, Serialize)]
struct Report {
    host: &'static str,
    title: &'static str,
    version: Option<String>,
    checks: Vec<Tried>,
}

/// How the report is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Tries a host out.
///
/// # Errors
/// It cannot be run here at all.
pub(crate) fn run(host: &dyn Host, form: Form) -> Result<Exit> {
    let Some(recipe) = recipe::find(host.name()) else {
        bail!(
            "{} needs a desktop and cannot be run live: `countersign doctor {}` looks at its files",
            host.title(),
            host.name()
        );
    };
    let stage = Stage::make()?;
    let version = doctor::version(&mut stage.command(recipe.program)).map_err(|why| {
        anyhow!("{} is not installed: `{}` on the path {why}", host.title(), recipe.program)
    })?;
    let version = version.map(|(major, minor, patch)| format!("{major}.{minor}.{patch}"));
    let mut report = Report { host: host.name(), title: host.title(), version, checks: Vec::new() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(report.try_all(&stage, recipe, form));
    // Before the folder goes, whatever still writes into it does.
    drop(runtime);
    ended?;
    report.finish(form)
}

impl Report {
    async fn try_all(&mut self, stage: &Stage, recipe: &Recipe, form: Form) -> Result<()> {
        self.open(form)?;
        let trial = Trial {
            stage,
            recipe,
            model: Model::start().await?,
            person: Person::open(&stage.data()).await?,
        };
        for check in CHECKS {
            let tried = trial.attempt(check).await;
            tell(&tried, form)?;
            self.checks.push(tried);
        }
        trial.person.leave().await;
        Ok(())
    }

    fn open(&self, form: Form) -> Result<()> {
        if form == Form::Text {
            let version = self.version.as_deref().unwrap_or("(it does not tell its version)");
            writeln!(io::stdout(), "{} {version}, run live", self.title)?;
        }
        Ok(())
    }

    fn finish(&self, form: Form) -> Result<Exit> {
        let mut out = io::stdout().lock();
        if form == Form::Json {
            serde_json::to_writer(&mut out, self)?;
            writeln!(out)?;
        }
        let bad = self.checks.iter().filter(|tried| tried.mark == Mark::Bad).count();
        if form == Form::Text && bad > 0 {
            writeln!(out, "{bad} of {} are not as they should be", self.checks.len())?;
        }
        Ok(if bad == 0 { Exit::Done } else { Exit::Failed })
    }
}

/// Says one line as soon as it is known: everything together takes minutes.
fn tell(tried: &Tried, form: Form) -> Result<()> {
    let line = tried.line();
    match form {
        Form::Text => writeln!(io::stdout(), "  {line}")?,
        Form::Json if io::stderr().is_terminal() => writeln!(io::stderr(), "{line}")?,
        Form::Json => {}
    }
    Ok(())
}

/// Everything that takes part.
struct Trial<'a> {
    stage: &'a Stage,
    recipe: &'a Recipe,
    model: Model,
    person: Person,
}

impl Trial<'_> {
    /// Tries one thing, and once more where the host hung before it did anything. What cannot be
    /// tried is no proof of anything.
    async fn attempt(&self, check: Check) -> Tried {
        let mut seen = self.see(check).await;
        if seen.as_ref().is_ok_and(|seen| seen.heard.proposed == 0) {
            seen = self.see(check).await;
        }
        match seen {
            Ok(seen) => judge(check, &seen),
            Err(error) => Tried::failed(check, format!("{error:#}")),
        }
    }

    async fn see(&self, check: Check) -> Result<Seen> {
        self.prepare(check)?;
        self.model.begin(&check.command());
        let mut child = self.stage.start(self.recipe, &self.model.url())?;
        let watched = self.watch(check, &mut child).await;
        process::end(child.id(), &self.stage.home());
        let status = child.wait()?;
        let mut seen = watched?;
        seen.ended = seen.ended.or(status.code());
        seen.ran = self.has_run(check);
        seen.heard = self.model.heard();
        for result in &mut seen.heard.results {
            *result = self.stage.unnamed(result);
        }
        seen.printed = self.stage.unnamed(&self.stage.printed());
        Ok(seen)
    }

    fn prepare(&self, check: Check) -> Result<()> {
        let seconds = match check {
            Check::Silence | Check::Delay | Check::Garbage => SHORT,
            Check::Allow | Check::Yes | Check::No | Check::Block | Check::Term | Check::Kill => {
                LONG
            }
        };
        // By ourselves; what stands in for us comes after.
        if matches!(check, Check::Allow | Check::Silence) {
            self.stage.install(self.recipe, &self.model.url(), seconds)?;
        }
        match check {
            Check::Delay => self.stage.put(Program::Hanging),
            Check::Garbage => self.stage.put(Program::Garbage),
            Check::Allow
            | Check::Yes
            | Check::No
            | Check::Block
            | Check::Silence
            | Check::Term
            | Check::Kill => Ok(()),
        }
    }

    fn has_run(&self, check: Check) -> bool {
        if check == Check::Block {
            return self.stage.is_formatted();
        }
        self.stage.is_pushed(check.branch())
    }

    /// Looks on until the host ends or has to be ended, and does what the check is about.
    async fn watch(&self, check: Check, child: &mut Child) -> Result<Seen> {
        let until = Instant::now() + MOST;
        let mut questions: Vec<String> = Vec::new();
        let mut seen = Seen::default();
        let mut acted = false;
        loop {
            for question in self.person.waiting(check.branch()).await? {
                if !questions.contains(&question) {
                    questions.push(question);
                }
            }
            if let (false, Some(question)) = (acted, questions.first()) {
                acted = self.act(check, question, &mut seen).await?;
            }
            seen.questions = questions.len();
            if let Some(status) = child.try_wait()? {
                seen.ended = status.code();
                return Ok(seen);
            }
            if Instant::now() > until {
                return Ok(seen);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Does what the check is about, once there is a question.
    async fn act(&self, check: Check, question: &str, seen: &mut Seen) -> Result<bool> {
        match check {
            Check::Yes => {
                tokio::time::sleep(WAITS).await;
                seen.ran_early = self.has_run(check);
                self.person.answer(question, &json!({"approved": true})).await?;
            }
            Check::No => {
                let no = json!({"approved": false, "feedback": FEEDBACK});
                self.person.answer(question, &no).await?;
            }
            Check::Term => return self.strike(question, Signal::TERM, seen).await,
            Check::Kill => return self.strike(question, Signal::KILL, seen).await,
            Check::Allow | Check::Block | Check::Silence | Check::Delay | Check::Garbage => {}
        }
        Ok(true)
    }

    /// Sends a signal to the waiting hook, and sees whether its question goes with it.
    async fn strike(&self, question: &str, signal: Signal, seen: &mut Seen) -> Result<bool> {
        let hooks = process::hooks(&self.stage.program());
        if hooks.is_empty() {
            return Ok(false);
        }
        process::signal(&hooks, signal);
        let until = Instant::now() + WITHDRAWN_WITHIN;
        loop {
            seen.still_waits = self.person.waits(question).await?;
            if !seen.still_waits || Instant::now() > until {
                return Ok(true);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
