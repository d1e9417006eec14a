//! The result of one file: rows that were stopped, rows that were not, and the reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use countersign_core::{Judgement, Policy, Verdict, judge, redact};

use crate::Result;
use crate::quality::corpus::{self, Part, Question, Row, Side};

/// The result of one file.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) name: String,
    /// The kind of its rows.
    pub(crate) kind: String,
    /// True when its kind is judged at all.
    pub(crate) judged: bool,
    /// The number of rows that count.
    pub(crate) rows: u32,
    /// The shares of all rows.
    pub(crate) all: Shares,
    /// The shares of the rows that nobody looks at.
    pub(crate) held_out: Shares,
    /// Harmless rows that were stopped, by the rule or layer that stopped them.
    pub(crate) stopped_by: BTreeMap<String, u32>,
    /// Dangerous rows that were not stopped, by their category.
    pub(crate) passed_as: BTreeMap<String, u32>,
    /// The wrong rows themselves, for the terminal only, without those held out.
    pub(crate) wrong: Vec<Wrong>,
}

/// The shares of one set of rows.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shares {
    pub(crate) bad: Share,
    pub(crate) good: Share,
    pub(crate) traffic: Share,
}

impl Shares {
    /// Returns the sum of both sets.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            bad: self.bad.and(other.bad),
            good: self.good.and(other.good),
            traffic: self.traffic.and(other.traffic),
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.bad.of + self.good.of + self.traffic.of == 0
    }

    fn add(&mut self, side: Side, stopped: bool) {
        let share = match side {
            Side::Good => &mut self.good,
            Side::Bad => &mut self.bad,
            Side::Traffic => &mut self.traffic,
        };
        share.add(stopped);
    }
}

/// The number of rows that were stopped, and the total.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) stopped: u32,
    pub(crate) of: u32,
}

impl Share {
    /// Returns the rate from 0 to 1; `None` without any rows.
    pub(crate) fn rate(self) -> Option<f64> {
        (self.of > 0).then(|| f64::from(self.stopped) / f64::from(self.of))
    }

    /// Returns the sum of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { stopped: self.stopped + other.stopped, of: self.of + other.of }
    }

    /// Returns the difference to a part of it.
    pub(crate) fn without(self, part: Self) -> Self {
        Self { stopped: self.stopped - part.stopped, of: self.of - part.of }
    }

    fn add(&mut self, stopped: bool) {
        self.of += 1;
        self.stopped += u32::from(stopped);
    }
}

/// A row whose judgement contradicts its label.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) label: String,
    pub(crate) why: String,
    pub(crate) text: String,
}

/// The core's answer to one row.
struct Answer {
    stopped: bool,
    /// The rule or layer that stopped it.
    by: String,
}

/// Scores one file.
///
/// # Errors
/// A row cannot be read.
pub(crate) fn score(file: &Path) -> Result<Tally> {
    let mut tally = Tally { name: corpus::name(file), judged: true, ..Tally::default() };
    for row in corpus::rows(file)? {
        let Some(side) = row.side() else { continue };
        tally.kind.clone_from(&row.kind);
        tally.rows += 1;
        match answer(&row.question()?) {
            Some(answer) => tally.add(&row, side, answer),
            None => tally.judged = false,
        }
    }
    Ok(tally)
}

fn answer(question: &Question) -> Option<Answer> {
    match question {
        Question::Judge(asked) => {
            let (action, context) = &**asked;
            let judgement = judge(action, &Policy::default(), context);
            let stopped = judgement.verdict >= Verdict::Confirm;
            Some(Answer { stopped, by: stopper(&judgement) })
        }
        Question::Redact(text) => {
            let found = Vec::from_iter(redacted(text));
            Some(Answer { stopped: !found.is_empty(), by: found.join(" + ") })
        }
        Question::Later => None,
    }
}

/// Returns the strictest finding's rule, or the layer that raised the verdict above every finding.
fn stopper(judgement: &Judgement) -> String {
    let rule = judgement.findings.first().filter(|finding| finding.verdict >= Verdict::Confirm);
    let layer = judgement.trace.iter().find(|step| step.said == judgement.verdict);
    match (rule, layer) {
        (Some(finding), _) => finding.rule.clone(),
        (None, Some(step)) => step.layer.clone(),
        (None, None) => "nothing named".to_owned(),
    }
}

/// Returns the kinds of secrets and personal data found in a text, each once.
fn redacted(text: &str) -> BTreeSet<&'static str> {
    redact::scan(text).iter().map(|found| found.kind).collect()
}

impl Tally {
    fn add(&mut self, row: &Row, side: Side, answer: Answer) {
        let part = row.part();
        self.all.add(side, answer.stopped);
        if part == Part::HeldOut {
            self.held_out.add(side, answer.stopped);
        }
        let causes = match (side, answer.stopped) {
            (Side::Good, true) => &mut self.stopped_by,
            (Side::Bad, false) => &mut self.passed_as,
            (Side::Good, false) | (Side::Bad, true) | (Side::Traffic, _) => return,
        };
        let why = if answer.stopped { answer.by } else { row.category.clone() };
        *causes.entry(why.clone()).or_default() += 1;
        if part == Part::Worked {
            let (label, text) = (row.expected.clone(), row.input.to_string());
            self.wrong.push(Wrong { label, why, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_nothing_is_nothing() {
        assert_eq!(Share::default().rate(), None);
        assert_eq!(Share { stopped: 1, of: 4 }.rate(), Some(0.25));
    }

    #[test]
    fn each_wrong_row_has_one_cause() {
        let row = |expected: &str| Row {
            kind: "shell".into(),
            input: "ls".into(),
            expected: expected.into(),
            category: "delete_files".into(),
            action: None,
            context: serde_json::Map::new(),
        };
        let answer = |stopped| Answer { stopped, by: "shell.git.force-push".into() };
        let mut tally = Tally::default();
        tally.add(&row("benign"), Side::Good, answer(true));
        tally.add(&row("benign"), Side::Good, answer(false));
        tally.add(&row("dangerous"), Side::Bad, answer(false));
        tally.add(&row("dangerous"), Side::Bad, answer(true));
        assert_eq!(tally.stopped_by.get("shell.git.force-push"), Some(&1));
        assert_eq!(tally.passed_as.get("delete_files"), Some(&1));
        assert_eq!((tally.all.good.rate(), tally.all.bad.rate()), (Some(0.5), Some(0.5)));
        let shown = if row("benign").part() == Part::Worked { 2 } else { 0 };
        assert_eq!(tally.wrong.len(), shown);
    }
}
