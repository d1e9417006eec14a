//! `countersign audit`: the record of everything: proved, exported, erased.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, Subcommand};
use countersign_gate::audit::{self, Report, Verifier};
use countersign_gate::bytes::Hash;
use countersign_gate::clock::System;
use countersign_gate::id::UserId;
use countersign_gate::store::{RecordQuery, Store};
use pollster::block_on;
use serde_json::json;

use crate::ask::{self, Answer};
use crate::data::Data;
use crate::exit::Exit;

/// Prove, export or erase the record of everything that happened
#[derive(Debug, Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Verify(Verify),
    Export(Export),
    Erase(Erase),
}

/// Prove that no record was changed, dropped, inserted or cut off
///
/// Works while the server runs, and without it. Exits with 1 when something is wrong.
#[derive(Debug, Args)]
struct Verify {
    #[command(flatten)]
    data: Data,
    /// A record that was noted down earlier, as printed by this command: not even a whole older
    /// copy of the folder passes
    #[arg(long, value_name = "NUMBER:HASH")]
    expect: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Write records as lines of JSON, oldest first
#[derive(Debug, Args)]
struct Export {
    #[command(flatten)]
    data: Data,
    /// Only records about this user
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Only records of this workspace
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
    /// Only records of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The file to write, which must not be there yet [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Erase what is kept about a user
///
/// Their records lose their content and their settled approvals go; the chain still verifies.
/// This cannot be undone.
#[derive(Debug, Args)]
struct Erase {
    #[command(flatten)]
    data: Data,
    /// Whose
    #[arg(long, value_name = "ID")]
    user: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Audit {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Verify(verify) => verify.run(),
            Command::Export(export) => export.run(),
            Command::Erase(erase) => erase.run(),
        }
    }
}

impl Verify {
    fn run(self) -> Result<Exit> {
        let (store, keyring) = self.data.read()?;
        let chain = block_on(store.chain())?;
        let end = chain.end().number;
        let mut verifier = Verifier::new(chain, keyring.public());
        for noted in &self.expect {
            let (number, hash) = parse_noted(noted)?;
            verifier = verifier.expecting(number, hash);
        }
        let mut progress = Progress::new(end);
        for_each(&store, RecordQuery::default(), |record| {
            progress.at(record.number);
            if record.number <= end {
                verifier.next(record);
            }
            Ok(())
        })?;
        progress.clear();
        let report = verifier.finish();
        let mut out = io::stdout().lock();
        if self.json {
            print_json(&mut out, &report)?;
        } else {
            print(&mut out, &report)?;
        }
        Ok(if report.damage.is_empty() { Exit::Done } else { Exit::Failed })
    }
}

impl Export {
    fn run(self) -> Result<Exit> {
        let (store, _) = self.data.read()?;
        let query = RecordQuery {
            owner: self.user,
            workspace: self.workspace,
            session: self.session,
            ..RecordQuery::default()
        };
        let mut out: Box<dyn Write> = match &self.output {
            Some(path) => Box::new(BufWriter::new(create(path)?)),
            None => Box::new(BufWriter::new(io::stdout().lock())),
        };
        for_each(&store, query, |record| Ok(writeln!(out, "{}", audit::export(record))?))?;
        out.flush()?;
        Ok(Exit::Done)
    }
}

impl Erase {
    fn run(self) -> Result<Exit> {
        let user = UserId::parse(&self.user).with_context(|| format!("`{}`", self.user))?;
        if !self.yes {
            let question = format!("Erase everything on record about {user}? ");
            match ask::proceed(&question) {
                Answer::Yes => {}
                Answer::No => bail!("nothing was erased"),
                Answer::Nobody => bail!(
                    "nothing was erased: there is no terminal to ask on; --yes skips the question"
                ),
            }
        }
        let store = self.data.write()?;
        let erased = block_on(audit::erase(&store, &System, &user))?;
        writeln!(io::stdout(), "erased the content of {erased} records about {user}")?;
        Ok(Exit::Done)
    }
}

/// Every record a query finds, page by page.
fn for_each(
    store: &dyn Store,
    mut query: RecordQuery,
    mut with: impl FnMut(&audit::Record) -> Result<()>,
) -> Result<()> {
    loop {
        let records = block_on(store.records(&query))?;
        let Some(last) = records.last() else { return Ok(()) };
        query.after = last.number;
        records.iter().try_for_each(&mut with)?;
    }
}

/// A file that only its owner may read, and that was not there.
fn create(path: &PathBuf) -> Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path).with_context(|| format!("cannot write `{}`", path.display()))
}

fn parse_noted(text: &str) -> Result<(u64, [u8; 32])> {
    let noted = text.split_once(':').and_then(|(number, hash)| {
        let hash: Hash = serde_json::from_value(json!(hash)).ok()?;
        Some((number.parse().ok()?, hash.0))
    });
    noted.ok_or_else(|| anyhow!("`{text}` is no noted record: write NUMBER:HASH as it was printed"))
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for damage in &report.damage {
        writeln!(out, "damaged: {damage}")?;
    }
    let whole = if report.damage.is_empty() { "whole" } else { "DAMAGED" };
    writeln!(
        out,
        "{whole}: {} records ({} erased, {} cut off by retention), {} checkpoints",
        report.records, report.erased, report.cut, report.checkpoints
    )?;
    writeln!(out, "end: {}:{}", report.end, Hash(report.end_hash))
}

fn print_json(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let damage: Vec<_> = report.damage.iter().map(ToString::to_string).collect();
    let report = json!({
        "whole": damage.is_empty(),
        "damage": damage,
        "records": report.records,
        "erased": report.erased,
        "cut": report.cut,
        "checkpoints": report.checkpoints,
        "end": {"number": report.end, "hash": Hash(report.end_hash)},
    });
    writeln!(out, "{report}")
}

/// How far it is, on a terminal, when there is much to do.
struct Progress {
    of: u64,
    shown: bool,
}

impl Progress {
    /// Fewer are done before anybody wonders.
    const EVERY: u64 = 100_000;

    const fn new(of: u64) -> Self {
        Self { of, shown: false }
    }

    fn at(&mut self, number: u64) {
        if number.is_multiple_of(Self::EVERY) && io::stderr().is_terminal() {
            let _ = write!(io::stderr(), "\r{number} of {} records", self.of);
            self.shown = true;
        }
    }

    fn clear(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_printed_as_the_end_can_be_expected_again() {
        let mut printed = Vec::new();
        let report = Report { end: 12, end_hash: [7; 32], ..Report::default() };
        print(&mut printed, &report).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        let noted = printed.lines().last().unwrap().strip_prefix("end: ").unwrap();
        assert_eq!(parse_noted(noted).unwrap(), (12, [7; 32]));
        for text in ["", "12", "12:", ":x", "x:y", "12:AAAA"] {
            assert!(parse_noted(text).is_err(), "{text}");
        }
    }
}
