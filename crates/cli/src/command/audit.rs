//! `countersign audit`: the audit trail: verified, exported, erased, begun anew.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, Subcommand};
use countersign_core::Context;
use countersign_core::policy::Lock;
use countersign_gate::audit::{self, Damage, Report};
use countersign_gate::bytes::Hash;
use countersign_gate::clock::{MonotonicClock, System, Timestamp};
use countersign_gate::config::Erasure;
use countersign_gate::id::UserId;
use countersign_gate::keyring::Keyring;
use countersign_gate::store::{self, RecordQuery, Store, StoreUrl};
use pollster::block_on;
use serde_json::json;

use crate::ask::{self, Answer};
use crate::data::{self, Data, RECORD_KEPT};
use crate::exit::Exit;
use crate::{serving, settings};

/// Verify, export or erase the audit record, or start a new one
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
    BeginAnew(BeginAnew),
}

/// Verify that no record was changed, dropped, inserted or cut off
///
/// Works with or without a running server. Exits with 1 when something is wrong.
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
    /// Only records from this time on, like `2026-11-16T06:00:00Z`, or from this day on
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only records after the one with this number, where an earlier export ended
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// Keep printing new records as they are written, until stopped
    #[arg(long)]
    follow: bool,
    /// The file to write, which must not exist yet [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn moment(text: &str) -> Result<Timestamp, &'static str> {
    Timestamp::parse(text).ok_or("write it as 2026-11-16T06:00:00Z or 2026-11-16")
}

/// The pause between two looks for new records.
const FOLLOWS_EVERY: Duration = Duration::from_millis(500);

/// Erase what is stored about a user
///
/// Their records lose their content and their settled approvals go; the chain still verifies, and
/// a record names the numbers of those that were erased. A record that was changed is not erased.
/// This cannot be undone.
#[derive(Debug, Args)]
struct Erase {
    #[command(flatten)]
    data: Data,
    /// The user's id
    #[arg(long, value_name = "ID")]
    user: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Set a damaged record aside and start a new one
///
/// Use this when `serve` refuses to start because the record is damaged. Nothing is repaired: a
/// copy of the database stays in the data folder, and the new record begins with a signed
/// description of the damage. Users, keys and settings stay as they are in the database: review
/// them. The server must not be running.
#[derive(Debug, Args)]
struct BeginAnew {
    #[command(flatten)]
    data: Data,
    /// Continue although the record is damaged and nobody can tell what is missing from it
    #[arg(long)]
    danger_leave_damage: bool,
}

impl Audit {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Verify(verify) => verify.run(),
            Command::Export(export) => export.run(),
            Command::Erase(erase) => erase.run(),
            Command::BeginAnew(begin) => begin.run(),
        }
    }
}

impl Verify {
    fn run(self) -> Result<Exit> {
        let (store, keyring) = self.data.read()?;
        let noted =
            self.expect.iter().map(|noted| parse_noted(noted)).collect::<Result<Vec<_>>>()?;
        let mut progress = Progress::new(block_on(store.chain())?.end().number);
        let mut tell = |number| progress.at(number);
        let report = block_on(audit::check(&*store, &keyring.public(), &noted, &mut tell))?;
        progress.clear();
        let mut out = io::stdout().lock();
        if self.json {
            print_json(&mut out, &report)?;
        } else {
            print(&mut out, &report)?;
        }
        Ok(if report.damage.is_empty() { Exit::Done } else { Exit::Failed })
    }
}

impl BeginAnew {
    fn run(self) -> Result<Exit> {
        let folder = self.data.writable()?;
        let _claim = serving::claim(&folder)?;
        let keyring = Keyring::existing(&folder)?;
        let damage = damage_of(&folder, &keyring)?;
        if damage.is_empty() {
            bail!("the record is intact: there is nothing to set aside");
        }
        if !self.danger_leave_damage {
            bail!(
                "{}; nothing was done: --danger-leave-damage starts a new record anyway",
                damage.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            );
        }
        let url = StoreUrl::in_folder(&folder);
        let copy = url.danger_begin_anew(&keyring, &System, &damage)?;
        let mut out = io::stdout().lock();
        writeln!(out, "started a new record, which says what was wrong with the old one")?;
        if let Some(copy) = copy {
            writeln!(out, "a copy of the old one is `{}`", copy.display())?;
        }
        Ok(Exit::Done)
    }
}

/// Returns the damage of the record; a database that is gone has lost all of it.
fn damage_of(folder: &Path, keyring: &Keyring) -> Result<Vec<Damage>> {
    if !data::database(folder).is_file() {
        return Ok(vec![Damage::NoEnd]);
    }
    let store = store::open_read_only(&StoreUrl::in_folder(folder))?;
    Ok(block_on(audit::check(&*store, &keyring.public(), &[], &mut |_| {}))?.damage)
}

impl Export {
    fn run(self) -> Result<Exit> {
        let (store, _) = self.data.read()?;
        let mut query = RecordQuery {
            owner: self.user,
            workspace: self.workspace,
            session: self.session,
            from: self.since,
            after: self.after,
            ..RecordQuery::default()
        };
        let mut out: Box<dyn Write> = match &self.output {
            Some(path) => Box::new(BufWriter::new(create(path)?)),
            None => Box::new(BufWriter::new(io::stdout().lock())),
        };
        loop {
            for_each(&*store, &mut query, |record| {
                Ok(writeln!(out, "{}", audit::export(record))?)
            })?;
            out.flush()?;
            if !self.follow {
                return Ok(Exit::Done);
            }
            thread::sleep(FOLLOWS_EVERY);
        }
    }
}

impl Erase {
    fn run(self) -> Result<Exit> {
        let user = UserId::parse(&self.user).with_context(|| format!("`{}`", self.user))?;
        if settings::policy(&Context::default())?.is_locked(Lock::Erasure) {
            bail!("nothing was erased: the organisation has locked `erasure`");
        }
        if !self.yes {
            let question = format!("Erase every record about {user}? ");
            match ask::proceed(&question) {
                Answer::Yes => {}
                Answer::No => bail!("nothing was erased"),
                Answer::Nobody => bail!(
                    "nothing was erased: there is no terminal to ask on; --yes skips the question"
                ),
            }
        }
        let gate = settings::server_sections(None)?.gate;
        if gate.erasure == Erasure::Administrators {
            bail!(
                "nothing was erased: the organisation keeps the record (`gate.erasure`); \
                 another administrator erases by `countersign users erase`"
            );
        }
        if self.data.folder()?.join(RECORD_KEPT).try_exists()? {
            bail!("nothing was erased: the policy of this folder's server keeps the record");
        }
        let store = self.data.write()?;
        let seen = block_on(store.chain())?.end().at;
        let clock = MonotonicClock::new(Arc::new(System), seen);
        let by = by();
        let erased = block_on(audit::erase(&*store, &clock, &user, &by))?;
        writeln!(io::stdout(), "erased the content of {erased} records about {user}")?;
        Ok(Exit::Done)
    }
}

/// The user who runs this command, as the record names them.
fn by() -> String {
    #[cfg(unix)]
    return format!("command line (uid {})", rustix::process::geteuid().as_raw());
    #[cfg(not(unix))]
    return "command line".to_owned();
}

/// Calls a function with every record that a query finds, page by page.
fn for_each(
    store: &dyn Store,
    query: &mut RecordQuery,
    mut with: impl FnMut(&audit::Record) -> Result<()>,
) -> Result<()> {
    loop {
        let records = block_on(store.records(query))?;
        let Some(last) = records.last() else { return Ok(()) };
        query.after = last.number;
        records.iter().try_for_each(&mut with)?;
    }
}

/// Creates a file that only its owner may read and that did not exist.
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

/// Parses a noted record, as this command prints it (`12:HASH`) or as the console shows it (`12
/// HASH`, with the hash in hexadecimal).
fn parse_noted(text: &str) -> Result<(u64, [u8; 32])> {
    let text = text.trim();
    let noted = text
        .split_once([':', ' '])
        .and_then(|(number, hash)| Some((number.parse().ok()?, parse_hash(hash.trim())?)));
    noted.ok_or_else(|| {
        anyhow!("`{text}` is not a noted record: write NUMBER:HASH as it was printed")
    })
}

fn parse_hash(text: &str) -> Option<[u8; 32]> {
    const HEXADECIMAL: usize = 64;
    if text.len() != HEXADECIMAL {
        return serde_json::from_value::<Hash>(json!(text)).ok().map(|hash| hash.0);
    }
    let mut bytes = [0; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        let digits = text.get(index * 2..index * 2 + 2)?;
        let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = u8::from_str_radix(digits, 16).ok().filter(|_| plain)?;
    }
    Some(bytes)
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for damage in &report.damage {
        writeln!(out, "damaged: {damage}")?;
    }
    let whole = if report.damage.is_empty() { "intact" } else { "DAMAGED" };
    writeln!(
        out,
        "{whole}: {} records ({} erased, {} cut off by retention), {} checkpoints",
        report.records, report.erased, report.cut, report.checkpoints
    )?;
    for number in &report.begun_anew {
        writeln!(out, "started anew after damage: record {number} says what was wrong")?;
    }
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
        "begun_anew": report.begun_anew,
        "end": {"number": report.end, "hash": Hash(report.end_hash)},
    });
    writeln!(out, "{report}")
}

/// The progress of a long check, shown on a terminal.
struct Progress {
    of: u64,
    shown: bool,
}

impl Progress {
    /// Fewer records than this are done before anybody wonders.
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
        // As the console's page shows it.
        let hexadecimal = "07".repeat(32);
        for text in
            [format!("12 {hexadecimal}"), format!("12:{hexadecimal}"), format!(" {noted}\n")]
        {
            assert_eq!(parse_noted(&text).unwrap(), (12, [7; 32]), "{text}");
        }
        let signs = format!("12:{}", "+7".repeat(32));
        for text in ["", "12", "12:", ":x", "x:y", "12:AAAA", &signs] {
            assert!(parse_noted(text).is_err(), "{text}");
        }
    }
}
