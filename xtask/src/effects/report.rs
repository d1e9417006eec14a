//! The printed report, and the page: counts only.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Outcome;
use super::compare::{Score, Scores};
use super::thing::Class;

/// The number of programs on the page.
const MOST_PROGRAMS: usize = 25;

/// Returns the totals by class.
pub(crate) fn totals<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Scores {
    let mut totals = Scores::new();
    for outcome in outcomes {
        for (class, score) in &outcome.scores {
            totals.entry(*class).or_default().add(score);
        }
    }
    totals
}

/// Returns the tables for the terminal.
pub(crate) fn summary(outcomes: &[Outcome]) -> String {
    format!(
        "{}\n{}\n{}\n{}",
        endings(outcomes),
        classes(outcomes),
        worst(outcomes),
        files(outcomes)
    )
}

/// Returns the page.
pub(crate) fn page(outcomes: &[Outcome]) -> String {
    format!(
        "# Effects, predicted and real\n\n\
         Written by `cargo xtask effects`. A sample of the corpora's shell commands, dangerous ones \
         too, and scripts of our own are run in a throw-away root, every system call that touches \
         something is written down, and the result is compared with what `effects` says about the \
         same text. The numbers depend on the programs of the machine they were taken on.\n\n\
         * **missed**: it happened and was not predicted; **opaque** if the core said that it does \
         not know everything.\n\
         * **noise**: it was called certain and did not happen although the script succeeded and \
         the thing was there. What was called possible and did not happen is **unfulfilled**: it \
         stood in a branch, behind a pattern that found nothing, or beside a program that nobody \
         described.\n\
         * Recall counts both, precision only what was called certain.\n\
         * Reading counts for planted secrets and for files that the script names, not for what \
         programs read by themselves (libraries, locales, their own state); executing for programs \
         that it names. Rights and owners count as writing.\n\
         * There is no network: a connection counts where one was tried, also to a resolver. Of \
         connections and signals only whether there were any is compared.\n\n\
         {}\n{}\n## Programs\n\n\
         Scripts are counted by their first program. One could run where the shell found what it \
         was to run.\n\n{}\n## Files\n\n{}",
        endings(outcomes),
        classes(outcomes),
        worst(outcomes),
        files(outcomes),
    )
}

fn endings(outcomes: &[Outcome]) -> String {
    let ran = outcomes.iter().filter(|outcome| outcome.ran()).count();
    let succeeded = outcomes.iter().filter(|outcome| outcome.code == Some(0)).count();
    let killed = outcomes.iter().filter(|outcome| is_killed(outcome)).count();
    format!(
        "{} scripts: {ran} could run, {succeeded} succeeded, {killed} were stopped.\n",
        outcomes.len()
    )
}

/// Reports whether a script was stopped by a signal, mostly because its time was over.
fn is_killed(outcome: &Outcome) -> bool {
    outcome.code.is_none_or(|code| code == 137)
}

fn classes(outcomes: &[Outcome]) -> String {
    let mut text =
        "| effect | predicted and real | of these possible | missed | opaque | noise | unfulfilled \
         | recall | precision |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for (class, score) in totals(outcomes.iter()) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            class.name(),
            score.hits,
            score.possible,
            score.missed.len(),
            score.opaque,
            score.noise.len(),
            score.unfulfilled,
            percent(score.recall()),
            percent(score.precision()),
        );
    }
    text
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Returns the programs with the most wrong predictions.
fn worst(outcomes: &[Outcome]) -> String {
    let groups = grouped(outcomes, |outcome| &outcome.program);
    let mut rows: Vec<_> =
        groups.into_iter().map(|(name, group)| Group::new(name, &group)).collect();
    rows.sort_by_key(|group| (std::cmp::Reverse(group.wrong()), group.name.clone()));
    table("program", rows.iter().take(MOST_PROGRAMS))
}

fn files(outcomes: &[Outcome]) -> String {
    let groups = grouped(outcomes, |outcome| &outcome.script.file);
    let rows: Vec<_> = groups.into_iter().map(|(name, group)| Group::new(name, &group)).collect();
    table("file", rows.iter())
}

fn grouped(outcomes: &[Outcome], by: fn(&Outcome) -> &String) -> BTreeMap<&str, Vec<&Outcome>> {
    let mut groups: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        groups.entry(by(outcome)).or_default().push(outcome);
    }
    groups
}

/// The totals of some scripts.
struct Group {
    name: String,
    scripts: usize,
    ran: usize,
    sum: Score,
}

impl Group {
    fn new(name: &str, outcomes: &[&Outcome]) -> Self {
        let mut sum = Score::default();
        for score in outcomes.iter().flat_map(|outcome| outcome.scores.values()) {
            sum.add(score);
        }
        let ran = outcomes.iter().filter(|outcome| outcome.ran()).count();
        Self { name: name.to_owned(), scripts: outcomes.len(), ran, sum }
    }

    fn wrong(&self) -> usize {
        self.sum.missed.len() + self.sum.noise.len()
    }
}

fn table<'a>(what: &str, groups: impl Iterator<Item = &'a Group>) -> String {
    let mut text = format!(
        "| {what} | scripts | could run | predicted and real | missed | opaque | noise |\n\
         |---|---:|---:|---:|---:|---:|---:|\n"
    );
    for Group { name, scripts, ran, sum } in groups {
        let name = if name.is_empty() { "(none)" } else { name };
        let Score { hits, missed, opaque, noise, .. } = sum;
        let (missed, noise) = (missed.len(), noise.len());
        let _ = writeln!(
            text,
            "| {} | {scripts} | {ran} | {hits} | {missed} | {opaque} | {noise} |",
            name.replace('|', "\\|"),
        );
    }
    text
}

/// Returns the misses and false predictions themselves, for the terminal only, without rows that
/// are held out.
pub(crate) fn wrong(outcomes: &[Outcome], most: usize) -> String {
    let mut text = String::new();
    for class in Class::ALL {
        for (what, of) in [("missed", missed as fn(&Score) -> &[String]), ("noise", noise)] {
            let lines: Vec<_> = outcomes
                .iter()
                .filter(|outcome| !outcome.script.held_out)
                .filter_map(|outcome| Some((outcome, of(outcome.scores.get(&class)?))))
                .filter(|(_, things)| !things.is_empty())
                .collect();
            let step = lines.len().div_ceil(most.max(1)).max(1);
            for (outcome, things) in lines.iter().step_by(step) {
                let script: String = outcome.script.text.chars().take(300).collect();
                let code = outcome.code.unwrap_or(-1);
                let _ =
                    writeln!(text, "{} {what} {things:?}\n    [{code}] {script:?}", class.name());
            }
        }
    }
    text
}

fn missed(score: &Score) -> &[String] {
    &score.missed
}

fn noise(score: &Score) -> &[String] {
    &score.noise
}
