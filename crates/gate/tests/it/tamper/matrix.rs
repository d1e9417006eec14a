//! Every table of the database × every way to tamper with it, and the check that detects it.
//!
//! The tables, their columns and their keys are read from the database itself, so that a new table
//! cannot be forgotten. `tamper.txt` contains the results; `BLESS=1` rewrites it. A change that is
//! not detected must be explained in SECURITY.md, under the words that the table gives as the
//! reason.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_core::Policy;
use countersign_gate::approval::{Answer, Scope};
use countersign_gate::audit::{self, Draft, Event, RecordOwner};
use countersign_gate::clock::Fake;
use countersign_gate::gate::{OwnerFilter, Page, PersonAnswer};
use countersign_gate::id::ApprovalId;
use countersign_gate::session::Plan;
use countersign_gate::store::{self, Batch, StoreUrl};
use countersign_gate::user::Membership;
use countersign_gate::{Caller, Config, Gate, Parts, Person, process};
use pollster::block_on;
use rusqlite::Connection;

use crate::world::{BEGIN, RISKY, SAFE, Setup, World, keyring, shell};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tamper.txt");
const SECURITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../SECURITY.md");
const SPENT: &str = "git push --force origin release";
const REMEMBERED: &str = "git push --force origin remembered";

/// A data folder with one of everything, an older copy of its database, and its users.
struct Scene {
    folder: PathBuf,
    older: PathBuf,
    now: Duration,
    owner: Person,
    agent: Caller,
    pending: ApprovalId,
    approved: ApprovalId,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Scene {
    fn new() -> Self {
        let world = World::new(Setup { on_disk: true, ..Setup::default() });
        // Enough records for a checkpoint, and then enough time for the first ones to be cut off.
        fill(&world, 30);
        world.pass(31 * 86_400);
        fill(&world, 1_100);
        block_on(world.gate.retain()).unwrap();
        let bob = world.person("Bob", Membership::Member);
        world.session(Plan::default());
        block_on(world.gate.invite(&world.owner)).unwrap();
        block_on(world.gate.change_settings(&world.owner, |settings| {
            settings.retention_days = Some(20);
        }))
        .unwrap();
        world.ask(&shell(RISKY));
        let folder = scratch();
        let older = folder.join("older.db");
        let copied = world.database().execute("VACUUM INTO ?1", [older.to_str().unwrap()]);
        copied.unwrap();
        block_on(world.gate.halt(&bob)).unwrap();
        block_on(world.gate.resume(&world.owner)).unwrap();
        let [pending, approved, remembered] =
            [RISKY, SPENT, REMEMBERED].map(|command| world.ask(&shell(command)));
        world.say(&approved, Answer::Approve);
        let reply = PersonAnswer {
            scope: Scope::Always,
            ..PersonAnswer::plain(remembered, Answer::Approve)
        };
        block_on(world.gate.answer(&world.owner, reply)).unwrap();
        drop(world.submit(&shell(SAFE)));
        block_on(world.gate.erase(&world.owner, &bob.user().id)).unwrap();
        drop(world.submit(&shell(SAFE)));
        world.verify();
        let now = world.gate.now().since(BEGIN);
        let (owner, agent) = (world.owner.clone(), world.agent.clone());
        world.close_into(&folder);
        Self { folder, older, now, owner, agent, pending, approved }
    }

    /// The checks that detect a change to a copy of the folder.
    fn try_out(&self, tamper: &dyn Fn(&Path)) -> Vec<&'static str> {
        let folder = scratch();
        for name in ["gate.db", "gate.noted"] {
            fs::copy(self.folder.join(name), folder.join(name)).unwrap();
        }
        tamper(&folder);
        let found = self.found_by(&folder.join("gate.db"));
        fs::remove_dir_all(&folder).unwrap();
        found
    }

    fn found_by(&self, database: &Path) -> Vec<&'static str> {
        let mut found = Vec::new();
        let url = StoreUrl::Sqlite(database.to_owned());
        let verified = store::open_read_only(&url).and_then(|store| {
            let key = keyring().public();
            block_on(audit::check(&*store, &key, &[], &mut |_| {}))
        });
        if verified.is_err() || verified.is_ok_and(|report| !report.damage.is_empty()) {
            found.push("verify");
        }
        match self.open(database) {
            None => found.push("start"),
            Some(gate) if self.complains(&gate) => found.push("use"),
            Some(_) => {}
        }
        found
    }

    fn open(&self, database: &Path) -> Option<Gate> {
        let clock = Fake::at(BEGIN.after(self.now));
        let url = StoreUrl::Sqlite(database.to_owned());
        let store = store::open(&url, Arc::new(keyring())).ok()?;
        block_on(Gate::open(Parts {
            store,
            keyring: Arc::new(keyring()),
            clock: Arc::new(clock),
            processes: Arc::new(process::Fake::default()),
            policy: Policy::default(),
            config: Config::default(),
        }))
        .ok()
    }

    /// Reports whether the gate detects the change, or is halted, when it is used as before.
    fn complains(&self, gate: &Gate) -> bool {
        let says_so = |error: &dyn std::fmt::Display| error.to_string().contains("tampered");
        let page = Page::default();
        let all = gate.approvals(&self.owner, &OwnerFilter::All, &[], None, &page);
        let damaged = block_on(all).is_ok_and(|page| !page.damaged.is_empty());
        let halted = block_on(gate.is_halted()).unwrap_or(true);
        let reply = PersonAnswer::plain(self.pending.clone(), Answer::Approve);
        let answer = block_on(gate.answer(&self.owner, reply)).err().is_some_and(|e| says_so(&e));
        let spend = block_on(gate.spend(&self.agent, &self.approved, &shell(SPENT)));
        let spend = spend.err().is_some_and(|error| says_so(&error));
        damaged || halted || answer || spend
    }
}

fn fill(world: &World, records: u32) {
    let record_owner =
        RecordOwner { owner: Some(world.user().to_string()), ..RecordOwner::default() };
    let draft = |number: u32| {
        let payload = format!("{{\"number\":{number}}}");
        Draft::new(world.gate.now(), Event::ActionPlanned, record_owner.clone(), payload, [1; 16])
    };
    let records = (0..records).map(draft).collect();
    block_on(world.store().commit(Batch { records, ..Batch::default() })).unwrap();
}

fn scratch() -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("countersign-tamper-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::create_dir_all(&path).unwrap();
    path
}

/// A table, or the rows of one kind in it.
struct Part {
    name: String,
    table: String,
    /// The condition that selects the rows.
    wanted: String,
    columns: Vec<Column>,
    key: Vec<String>,
}

struct Column {
    name: String,
    kind: String,
    nullable: bool,
}

/// Every table of the database; documents by their kind.
fn parts(database: &Connection) -> Vec<Part> {
    let tables = texts(
        database,
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
         ORDER BY name",
    );
    let mut parts = Vec::new();
    for table in tables {
        let columns = columns(database, &table);
        let key = key(database, &table);
        let kinds = if columns.iter().any(|column| column.name == "kind") {
            texts(database, &format!("SELECT DISTINCT kind FROM {table} ORDER BY kind"))
        } else {
            Vec::new()
        };
        let part = |name: String, wanted: String| Part {
            name,
            wanted,
            table: table.clone(),
            columns: self::columns(database, &table),
            key: key.clone(),
        };
        if kinds.is_empty() {
            parts.push(part(table.clone(), "1".to_owned()));
        }
        for kind in kinds {
            parts.push(part(format!("{table}/{kind}"), format!("kind = '{kind}'")));
        }
    }
    parts
}

fn columns(database: &Connection, table: &str) -> Vec<Column> {
    let mut statement =
        database.prepare("SELECT name, type, \"notnull\" + pk FROM pragma_table_info(?1)").unwrap();
    let column = |row: &rusqlite::Row<'_>| {
        Ok(Column { name: row.get(0)?, kind: row.get(1)?, nullable: row.get::<_, i64>(2)? == 0 })
    };
    statement.query_map([table], column).unwrap().map(Result::unwrap).collect()
}

/// The key of a table's rows: its primary key, or else its unique index.
fn key(database: &Connection, table: &str) -> Vec<String> {
    let primary = format!("SELECT name FROM pragma_table_info('{table}') WHERE pk > 0 ORDER BY pk");
    let primary = texts(database, &primary);
    if !primary.is_empty() {
        return primary;
    }
    texts(
        database,
        &format!(
            "SELECT columns.name FROM pragma_index_list('{table}') AS indexes,
                    pragma_index_info(indexes.name) AS columns WHERE indexes.\"unique\" = 1"
        ),
    )
}

fn texts(database: &Connection, sql: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

impl Part {
    /// The condition that selects one of the rows, counted from the last.
    fn row(&self, from_last: usize) -> String {
        let key = self.key.join(", ");
        let sort: Vec<_> = self.key.iter().map(|name| format!("{name} DESC")).collect();
        format!(
            "({key}) = (SELECT {key} FROM {} WHERE {} ORDER BY {} LIMIT 1 OFFSET {from_last})",
            self.table,
            self.wanted,
            sort.join(", ")
        )
    }

    /// All ways to tamper with it, by name.
    fn tampers(&self, older: &Path) -> Vec<(String, String)> {
        let Self { table, wanted, .. } = self;
        let mut tampers = vec![
            ("delete".to_owned(), format!("DELETE FROM {table} WHERE {}", self.row(0))),
            ("truncate".to_owned(), format!("DELETE FROM {table} WHERE {wanted}")),
            ("insert".to_owned(), self.insert()),
            ("swap".to_owned(), self.swap()),
            ("restore".to_owned(), self.restore(older)),
        ];
        for column in &self.columns {
            let set = |value: &str| {
                format!("UPDATE {table} SET {} = {value} WHERE {}", column.name, self.row(0))
            };
            tampers.push((format!("update {}", column.name), set(&column.other())));
            if column.nullable {
                tampers.push((format!("null {}", column.name), set("NULL")));
            }
        }
        tampers
    }

    /// Inserts a second row like the last one, under another key.
    fn insert(&self) -> String {
        let last = self.key.last().unwrap();
        let values: Vec<_> = self
            .columns
            .iter()
            .map(|column| if column.name == *last { column.other() } else { column.name.clone() })
            .collect();
        format!(
            "INSERT INTO {0} SELECT {1} FROM {0} WHERE {2}",
            self.table,
            values.join(", "),
            self.row(0)
        )
    }

    /// Swaps two rows.
    fn swap(&self) -> String {
        let Self { table, .. } = self;
        let others: Vec<_> = self
            .columns
            .iter()
            .filter(|column| !self.key.contains(&column.name))
            .map(|column| column.name.as_str())
            .collect();
        let others = others.join(", ");
        let (one, other) = (self.row(0), self.row(1));
        format!(
            "CREATE TEMP TABLE one AS SELECT * FROM {table} WHERE {one};
             CREATE TEMP TABLE other AS SELECT * FROM {table} WHERE {other};
             UPDATE {table} SET ({others}) = (SELECT {others} FROM temp.other)
                 WHERE {one} AND EXISTS (SELECT 1 FROM temp.other);
             UPDATE {table} SET ({others}) = (SELECT {others} FROM temp.one)
                 WHERE {other};"
        )
    }

    /// Restores all rows from an older copy.
    fn restore(&self, older: &Path) -> String {
        let Self { table, wanted, .. } = self;
        format!(
            "ATTACH '{}' AS older;
             DELETE FROM main.{table} WHERE {wanted};
             INSERT INTO main.{table} SELECT * FROM older.{table} WHERE {wanted};",
            older.display()
        )
    }
}

impl Column {
    /// Another value of the same type.
    fn other(&self) -> String {
        let name = &self.name;
        match self.kind.as_str() {
            "INTEGER" => format!("coalesce({name}, 0) + 1"),
            "BLOB" => format!("zeroblob(coalesce(length({name}), 16))"),
            _ => format!("coalesce({name}, '') || 'x'"),
        }
    }
}

/// The reason for which a change is not detected. Each of these is in SECURITY.md.
fn reason(part: &str, tamper: &str) -> &'static str {
    match part {
        "counters" | "paces" => "counters and rates",
        "docs/approval" => "questions that are hidden, put back or found under another name",
        "docs/remembered" => "remembered answers that are taken away or put back",
        "docs/control" => "a kill switch that is put back",
        "ends" if tamper == "insert" => "an end that nobody reads",
        "ends" | "records" | "checkpoints" if tamper == "restore" => "retention that is undone",
        _ if part.starts_with("docs/") => "people, devices, keys, settings, sessions and files",
        _ => "NOT EXPLAINED",
    }
}

fn execute(folder: &Path, sql: &str) -> bool {
    let database = Connection::open(folder.join("gate.db")).unwrap();
    let before = dump(&database);
    // A change that the database itself refuses is impossible.
    let done = database.execute_batch(sql).is_ok();
    done && dump(&database) != before
}

/// The whole content, to see if a statement has changed anything.
fn dump(database: &Connection) -> String {
    let mut all = String::new();
    for part in parts(database) {
        let columns: Vec<_> =
            part.columns.iter().map(|column| format!("quote({})", column.name)).collect();
        let sql = format!(
            "SELECT group_concat({}) FROM {} WHERE {}",
            columns.join(" || ',' || "),
            part.table,
            part.wanted
        );
        let text: Option<String> = database.query_row(&sql, [], |row| row.get(0)).unwrap();
        let _ = writeln!(all, "{} {}", part.name, text.unwrap_or_default());
    }
    all
}

/// A file of the data folder, the name of the change, and the change.
type Meddling<'a> = (&'a str, &'a str, &'a dyn Fn(&Path));

#[test]
fn every_table_and_everything_that_can_be_done_to_it() {
    let scene = Scene::new();
    let mut table = String::new();
    let mut add = |part: &str, tamper: &str, found: &[&str]| {
        let found = match found {
            [] => format!("not found: {}", reason(part, tamper)),
            found => format!("found by {}", found.join(", ")),
        };
        let _ = writeln!(table, "{part:18} {tamper:18} {found}");
    };
    let whole = scene.try_out(&|_| {});
    assert_eq!(whole, [""; 0], "what nobody touched is whole");
    for part in parts(&Connection::open(scene.folder.join("gate.db")).unwrap()) {
        for (tamper, sql) in part.tampers(&scene.older) {
            let changed = std::cell::Cell::new(false);
            let found = scene.try_out(&|folder| changed.set(execute(folder, &sql)));
            if changed.get() {
                add(&part.name, &tamper, &found);
            }
        }
    }
    let files: [Meddling<'_>; 8] = [
        ("gate.db", "delete", &|folder| fs::remove_file(folder.join("gate.db")).unwrap()),
        ("gate.db", "restore", &|folder| {
            fs::copy(&scene.older, folder.join("gate.db")).map(drop).unwrap();
        }),
        ("gate.db", "truncate all", &|folder| {
            execute(folder, "DELETE FROM records; DELETE FROM ends; DELETE FROM checkpoints;");
        }),
        ("gate.db", "empty all records", &|folder| {
            let null =
                "owner = NULL, workspace = NULL, session = NULL, payload = NULL, salt = NULL";
            execute(folder, &format!("UPDATE records SET {null}"));
        }),
        ("both files", "delete", &|folder| {
            fs::remove_file(folder.join("gate.db")).unwrap();
            fs::remove_file(folder.join("gate.noted")).unwrap();
        }),
        ("gate.noted", "delete", &|folder| fs::remove_file(folder.join("gate.noted")).unwrap()),
        ("gate.noted", "truncate", &|folder| fs::write(folder.join("gate.noted"), "").unwrap()),
        ("gate.noted", "update", &|folder| {
            let note = fs::read_to_string(folder.join("gate.noted")).unwrap();
            let changed = note.replacen("\"number\":", "\"number\":1", 1);
            fs::write(folder.join("gate.noted"), changed).unwrap();
        }),
    ];
    for (file, tamper, change) in files {
        add(file, tamper, &scene.try_out(change));
    }
    compare(&table);
    explained(&table);
}

fn compare(table: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::write(GOLDEN, table).unwrap();
    }
    let golden = fs::read_to_string(GOLDEN).unwrap_or_default();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(table), lines(&golden), "BLESS=1 rewrites it");
}

/// Checks that every reason for which a change is not detected is in SECURITY.md, and that none of
/// them concerns the audit trail itself.
fn explained(table: &str) {
    let security = fs::read_to_string(SECURITY).unwrap();
    for line in table.lines() {
        let Some((_, reason)) = line.split_once("not found: ") else { continue };
        assert!(security.contains(reason), "SECURITY.md does not explain: {line}");
    }
}
