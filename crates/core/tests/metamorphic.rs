//! Writing a command differently does not change the verdict.
//!
//! Transformations that keep the effect of a dangerous command never lower its verdict, and those
//! that keep an ordinary command harmless never raise it: over our own commands, and over every row
//! of the corpora where they are available beside the workspace. Present failures are counted in
//! tables that may only shrink, in `tests/metamorphic`.
//!
//! `COUNTERSIGN_METAMORPHIC=all` takes every row instead of a sample,
//! `COUNTERSIGN_METAMORPHIC_SHOW=N` prints N failures of each transformation, and `BLESS=1` lowers
//! the counts (see `support/ratchet.rs`).

use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::thread;

use countersign_core::example::example_context;
use countersign_core::{Action, Policy, Verdict, judge};

#[path = "support/calls.rs"]
mod calls;
#[path = "support/dangers.rs"]
mod dangers;
#[path = "support/launch.rs"]
mod launch;
#[path = "support/meaning.rs"]
mod meaning;
#[path = "support/quote.rs"]
mod quote;
#[path = "support/ratchet.rs"]
mod ratchet;
#[path = "support/rows.rs"]
mod rows;
#[path = "support/script.rs"]
mod script;
#[path = "support/stand_in.rs"]
mod stand_in;

use launch::{COMPUTED, LAUNCHED};
use meaning::{HARMLESS, KEEPING, Transformation};
use ratchet::Failures;
use rows::Row;

/// The sample has one in this many rows.
const SAMPLE: u64 = 8;

#[test]
fn what_stays_dangerous_is_judged_no_milder() {
    let question = Question { ways: dangerous_ways(), fails: |before, after| after < before };
    let own = dangers::DANGEROUS.iter().map(|text| own(text)).collect();
    question.check("dangerous.txt", own, corpus(|expected| expected == "dangerous"));
}

#[test]
fn what_stays_harmless_is_judged_no_stricter() {
    let ways = HARMLESS.iter().map(Way::of).collect();
    let question = Question { ways, fails: |before, after| after > before };
    let own = dangers::ORDINARY.iter().map(|text| own(text)).collect();
    let ordinary = |expected: &str| matches!(expected, "benign" | "traffic");
    question.check("ordinary.txt", own, corpus(ordinary));
}

/// Scripts whose outcome can be observed, in every form.
const SEEN: &[&str] = &[
    "rec -rf /",
    "rec 'a b' \"c d\" e\\ f ~ *.none \"it's\"",
    "touch a 'b c'",
    "rec a > out",
    "rec a; rec b && rec c",
    "(rec a; rec b) | rec c",
    "rec a # a note",
    "rec \"$(cat <<E\nx\nE\n)\"",
    "x=1; rec \"$x\" \"${x}y\"",
    "for i in 1 2; do rec $i; done",
];

#[test]
fn bash_does_the_same_after_every_transformation() {
    let cases: Vec<_> = SEEN
        .iter()
        .flat_map(|script| {
            let ways = KEEPING.iter().chain(COMPUTED).chain(HARMLESS);
            ways.map(move |way| (*script, way))
        })
        // Our own program is not in the folders where these look.
        .filter(|(script, way)| !way.looks_in_system_folders() || script.starts_with("touch"))
        .filter_map(|(script, way)| Some((script, way.template, way.apply(script)?)))
        .collect();
    let scripts: Vec<_> = SEEN
        .iter()
        .map(|script| (*script).to_owned())
        .chain(cases.iter().map(|(.., text)| text.clone()))
        .collect();
    let Some(outcomes) = stand_in::outcomes(&scripts) else {
        eprintln!("skipped: no sandbox of bubblewrap here");
        return;
    };
    let (plain, changed) = outcomes.split_at(SEEN.len());
    assert!(plain.iter().all(|outcome| !outcome.is_empty()), "{plain:#?}");
    let before: BTreeMap<_, _> = SEEN.iter().copied().zip(plain).collect();
    let differing: Vec<_> = cases
        .iter()
        .zip(changed)
        .filter(|((script, ..), after)| before.get(script) != Some(after))
        .map(|((_, _, text), after)| (text, after))
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

/// One way to propose the same command.
struct Way {
    name: String,
    make: Make,
}

/// The action that proposes a command, where it can be proposed that way.
type Make = Box<dyn Fn(&str) -> Option<Action> + Sync>;

impl Way {
    fn of(transformation: &'static Transformation) -> Self {
        let make = |text: &str| transformation.apply(text).map(|text| shell(&text));
        // One line of the table is one transformation.
        Self { name: transformation.template.replace('\n', "\\n"), make: Box::new(make) }
    }
}

fn dangerous_ways() -> Vec<Way> {
    let calls = calls::CALLS.iter().map(|(name, arguments)| Way {
        name: (*name).to_owned(),
        make: Box::new(|text| calls::action(&arguments(text)?)),
    });
    let ways = KEEPING.iter().chain(COMPUTED).chain(LAUNCHED);
    ways.map(Way::of).chain(calls).collect()
}

/// A property that must hold for every row, in every way it is proposed.
struct Question {
    ways: Vec<Way>,
    /// Reports whether the verdicts before and after are wrong.
    fails: fn(Verdict, Verdict) -> bool,
}

/// The failures of one way, and the rows that may be shown.
#[derive(Default)]
struct Tally {
    failures: Failures,
    shown: Vec<String>,
}

impl Question {
    fn check(&self, file: &str, own: Vec<Row>, corpus: Vec<Row>) {
        let scope = if takes_all() { "all" } else { "sample" };
        for (scope, rows) in [("own", own), (scope, corpus)] {
            if rows.is_empty() {
                eprintln!("{scope}: no corpus beside the workspace");
                continue;
            }
            let tallies = self.tally(&rows);
            show(scope, &tallies);
            let table = tallies.into_iter().map(|(name, tally)| (name, tally.failures)).collect();
            ratchet::check(file, scope, &table);
        }
    }

    fn tally(&self, rows: &[Row]) -> BTreeMap<String, Tally> {
        let half = rows.len().div_ceil(2).max(1);
        thread::scope(|scope| {
            let parts: Vec<_> =
                rows.chunks(half).map(|part| scope.spawn(|| self.tally_part(part))).collect();
            let mut all: BTreeMap<String, Tally> = BTreeMap::new();
            for (name, tally) in parts.into_iter().filter_map(|part| part.join().ok()).flatten() {
                all.entry(name).or_default().add(tally);
            }
            all
        })
    }

    fn tally_part(&self, rows: &[Row]) -> BTreeMap<String, Tally> {
        let names = self.ways.iter().map(|way| (way.name.clone(), Tally::default()));
        let mut tallies: BTreeMap<_, _> = names.collect();
        for row in rows {
            let before = verdict(&shell(&row.text)).unwrap_or_default();
            for way in &self.ways {
                let Some(action) = (way.make)(&row.text) else { continue };
                let Some(tally) = tallies.get_mut(&way.name) else { continue };
                let after = verdict(&action);
                if after.is_none_or(|after| (self.fails)(before, after)) {
                    tally.count(row, &action, before, after);
                }
            }
        }
        tallies
    }
}

impl Tally {
    fn count(&mut self, row: &Row, action: &Action, before: Verdict, after: Option<Verdict>) {
        let stops = |verdict| verdict >= Verdict::Confirm;
        let count = match after {
            None => &mut self.failures.panicked,
            Some(after) if stops(before) == stops(after) => &mut self.failures.moved,
            Some(_) => &mut self.failures.crossed,
        };
        *count += 1;
        if !row.held_out {
            let after = after.map_or("panic".to_owned(), |after| format!("{after:?}"));
            self.shown.push(format!("{before:?} -> {after}: {action:?}"));
        }
    }

    fn add(&mut self, other: Self) {
        self.failures.crossed += other.failures.crossed;
        self.failures.moved += other.failures.moved;
        self.failures.panicked += other.failures.panicked;
        self.shown.extend(other.shown);
    }
}

fn show(scope: &str, tallies: &BTreeMap<String, Tally>) {
    let most = std::env::var("COUNTERSIGN_METAMORPHIC_SHOW").ok();
    let Some(most) = most.and_then(|most| most.parse::<usize>().ok()) else { return };
    for (name, tally) in tallies.iter().filter(|(_, t)| t.failures != Failures::default()) {
        let Failures { crossed, moved, panicked } = tally.failures;
        eprintln!("{scope}: {name}\n    crossed {crossed}, moved {moved}, panicked {panicked}");
        let step = tally.shown.len().div_ceil(most.max(1)).max(1);
        tally.shown.iter().step_by(step).for_each(|row| eprintln!("      {row}"));
    }
}

fn own(text: &str) -> Row {
    Row { text: text.to_owned(), expected: String::new(), held_out: false, hash: 0 }
}

fn corpus(wanted: impl Fn(&str) -> bool) -> Vec<Row> {
    let taken = |row: &Row| takes_all() || row.hash.is_multiple_of(SAMPLE);
    let rows = rows::rows().into_iter().filter(|row| wanted(&row.expected) && taken(row));
    rows.filter(|row| script::is_sound(&row.text)).collect()
}

fn takes_all() -> bool {
    std::env::var_os("COUNTERSIGN_METAMORPHIC").is_some_and(|how| how == "all")
}

fn shell(command: &str) -> Action {
    Action::Shell { command: command.to_owned(), cwd: None }
}

/// The verdict; `None` where the core panics, which it never should.
fn verdict(action: &Action) -> Option<Verdict> {
    catch_unwind(|| judge(action, &Policy::default(), &example_context()).verdict).ok()
}
