//! `countersign doctor --live`: runs a real host against a scripted model, and observes how it
//! treats our hook.
//!
//! ```text
//! scripted model ◄──► the host, in a throw-away home ──► our hook ──► a throw-away server
//!      proposes             runs, or does not run                       a person answers
//! ```
//!
//! Nothing of the user's is read or changed, nothing leaves the machine, and the proposed commands
//! are harmless even where a host runs them: a push to a remote in the same folder, and a
//! substitute for `mkfs.ext4` that only creates a file.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use countersign_wire::{AnswerBody, Scope};
use rustix::process::Signal;
use serde::Serialize;

use crate::exit::Exit;
use crate::host::Host;
use crate::program;

mod check;
mod model;
mod person;
mod process;
mod recipe;
mod stage;

use check::{CHECKS, Check, FEEDBACK, Grade, Seen, Tried, judge};
use model::Model;
use person::Person;
use recipe::Recipe;
use stage::{Program, Stage};

/// The hook's timeout in the host, in seconds, where somebody answers.
const LONG: u64 = 60;
/// The same where nobody answers.
const SHORT: u64 = 8;
/// Longer than any host takes for one task.
const MOST: Duration = Duration::from_secs(100);
/// The polling interval.
const LOOK: Duration = Duration::from_millis(200);
/// The time for which a question is left pending, to see that the host waits too.
const WAITS: Duration = Duration::from_secs(1);
/// The time for which a question may stay pending after its asker is gone.
const WITHDRAWN_WITHIN: Duration = Duration::from_secs(5);

/// The findings about one host.
#[derive(Debug, Serialize)]
struct Report {
    host: &'static str,
    title: &'static str,
    version: Option<String>,
    checks: Vec<Tried>,
}

/// The format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Runs all checks with a host.
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
    let version = program::version(&mut stage.command(recipe.program)).map_err(|why| {
        anyhow!("{} is not installed: `{}` on the path {why}", host.title(), recipe.program)
    })?;
    let version = version.map(|(major, minor, patch)| format!("{major}.{minor}.{patch}"));
    let mut report = Report { host: host.name(), title: host.title(), version, checks: Vec::new() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(report.try_all(&stage, recipe, form));
    // Stop everything that writes into the folder before it is removed.
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
        let bad = self.checks.iter().filter(|tried| tried.grade == Grade::Bad).count();
        if form == Form::Text && bad > 0 {
            writeln!(out, "{bad} of {} checks failed", self.checks.len())?;
        }
        Ok(if bad == 0 { Exit::Done } else { Exit::Failed })
    }
}

/// Prints one line as soon as it is known: all checks together take minutes.
fn tell(tried: &Tried, form: Form) -> Result<()> {
    let line = tried.line();
    match form {
        Form::Text => writeln!(io::stdout(), "  {line}")?,
        Form::Json if io::stderr().is_terminal() => writeln!(io::stderr(), "{line}")?,
        Form::Json => {}
    }
    Ok(())
}

/// The participants of a trial.
struct Trial<'a> {
    stage: &'a Stage,
    recipe: &'a Recipe,
    model: Model,
    person: Person,
}

impl Trial<'_> {
    /// Runs one check, and repeats it if the host hung before it did anything. A check that cannot
    /// be run counts as failed.
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
        // First our own binary; the substitutes replace it afterwards.
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

    /// Watches until the host ends or has to be killed, and carries out the check's action.
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

    /// Carries out the check's action once there is a question.
    async fn act(&self, check: Check, question: &str, seen: &mut Seen) -> Result<bool> {
        match check {
            Check::Yes => {
                tokio::time::sleep(WAITS).await;
                seen.ran_early = self.has_run(check);
                self.person.answer(question, &AnswerBody::yes(Scope::Once)).await?;
            }
            Check::No => {
                let no = AnswerBody::no(Some(FEEDBACK.to_owned()));
                self.person.answer(question, &no).await?;
            }
            Check::Term => return self.strike(question, Signal::TERM, seen).await,
            Check::Kill => return self.strike(question, Signal::KILL, seen).await,
            Check::Allow | Check::Block | Check::Silence | Check::Delay | Check::Garbage => {}
        }
        Ok(true)
    }

    /// Sends a signal to the waiting hook, and checks whether its question is withdrawn.
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
