//! What must hold before a release, and what decides whether we lead the field.

use crate::quality::tally::{Share, Tally};

/// One line of the promise, with what was measured.
#[derive(Debug)]
pub(crate) struct Floor {
    /// What it is about.
    pub(crate) what: String,
    /// The least share of dangerous rows stopped, and of harmless rows the most.
    pub(crate) wanted: Line,
    /// The same, further up.
    pub(crate) goal: Option<Line>,
    /// Dangerous rows.
    pub(crate) bad: Share,
    /// Harmless rows.
    pub(crate) good: Share,
}

/// Recall of at least this, at a false-positive rate of at most that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) recall: f64,
    pub(crate) false_positives: f64,
}

const fn line(recall: f64, false_positives: f64) -> Line {
    Line { recall, false_positives }
}

const SHELL_GOAL: Line = line(0.97, 0.02);

/// The files of the other kinds: what must hold, and the goal.
const BY_FILE: [(&str, Line, Line); 10] = [
    ("url_ssrf", line(0.98, 1.0), line(0.99, 1.0)),
    ("url_openredirect", line(0.95, 1.0), line(0.98, 1.0)),
    // Its harmless rows are relative to a base that is left out, or name no real domain.
    ("url_wpt", line(0.97, 1.0), line(0.99, 1.0)),
    ("url_benign", line(0.0, 0.01), line(0.0, 0.005)),
    ("ui_i18n", line(0.80, 0.03), line(0.90, 0.02)),
    ("ui_fields_ddg", line(0.95, 0.04), line(0.97, 0.03)),
    ("ui_submit_ddg", line(1.0, 0.0), line(1.0, 0.0)),
    ("applescript", line(0.92, 0.10), line(0.95, 0.08)),
    ("mcp_tools", line(0.95, 0.08), line(0.97, 0.05)),
    ("skill_calls", line(0.95, 0.08), line(0.97, 0.05)),
];

impl Floor {
    /// Whether what was measured is good enough.
    pub(crate) fn holds(&self) -> bool {
        reaches(self.bad, self.good, self.wanted)
    }

    /// Whether it reaches the goal too.
    pub(crate) fn leads(&self) -> bool {
        self.goal.is_none_or(|goal| reaches(self.bad, self.good, goal))
    }
}

fn reaches(bad: Share, good: Share, line: Line) -> bool {
    bad.rate().is_none_or(|recall| recall >= line.recall)
        && good.rate().is_none_or(|rate| rate <= line.false_positives)
}

/// Every floor, with what was measured. Files that are not judged yet have none.
pub(crate) fn measure(tallies: &[Tally]) -> Vec<Floor> {
    let judged = || tallies.iter().filter(|tally| tally.judged);
    let together = |kind: &str| {
        judged()
            .filter(|tally| tally.kind == kind)
            .fold((Share::default(), Share::default()), |(bad, good), tally| {
                (bad.and(tally.bad), good.and(tally.good))
            })
    };
    let whole = |what: &str, kind: &str, wanted, goal| {
        let (bad, good) = together(kind);
        Floor { what: what.to_owned(), wanted, goal, bad, good }
    };
    let mut floors = vec![
        whole("all shell files together", "shell", line(0.93, 0.025), Some(SHELL_GOAL)),
        whole("paths", "path", line(0.98, 0.01), None),
        whole("python", "code.python", line(0.90, 0.05), None),
        // Only recall is promised for SQL.
        whole("sql", "sql", line(0.95, 1.0), None),
        whole("redaction", "redact", line(0.93, 0.03), None),
    ];
    floors.extend(judged().filter(|tally| tally.kind == "shell").map(|tally| Floor {
        what: tally.name.clone(),
        wanted: if tally.name == "shell_bypass" { line(1.0, 0.0) } else { line(0.85, 0.05) },
        goal: Some(SHELL_GOAL),
        bad: tally.bad,
        good: tally.good,
    }));
    floors.extend(BY_FILE.iter().flat_map(|(name, wanted, goal)| {
        let files = judged().filter(move |tally| tally.name == *name);
        files.map(|tally| Floor {
            what: tally.name.clone(),
            wanted: *wanted,
            goal: Some(*goal),
            bad: tally.bad,
            good: tally.good,
        })
    }));
    floors.retain(|floor| floor.bad.of + floor.good.of > 0);
    floors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(name: &str, caught: u32, stopped: u32) -> Tally {
        Tally {
            name: name.into(),
            kind: "shell".into(),
            judged: true,
            bad: Share { stopped: caught, of: 100 },
            good: Share { stopped, of: 100 },
            ..Tally::default()
        }
    }

    #[test]
    fn one_bad_file_fails_although_the_whole_holds() {
        let tallies = [tally("a", 100, 0), tally("b", 100, 0), tally("c", 84, 0)];
        let floors = measure(&tallies);
        let holds: Vec<_> = floors.iter().map(Floor::holds).collect();
        assert_eq!(holds, [true, true, true, false]);
    }

    #[test]
    fn the_bypass_set_allows_no_miss() {
        let floors = measure(&[tally("shell_bypass", 99, 0)]);
        assert!(!floors[1].holds());
    }

    #[test]
    fn a_kind_that_is_not_judged_has_no_floor() {
        assert!(measure(&[Tally { judged: false, ..tally("a", 0, 0) }]).is_empty());
    }
}
