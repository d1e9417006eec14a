//! The page and its version for the terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::quality::floor::{self, Floor, Line};
use crate::quality::tally::{Share, Shares, Tally};

const OPENING: &str = "\
# Quality

Written by `cargo xtask quality` from a corpus that lies beside the workspace; the corpus itself is not part of \
the project, and no row of it is quoted here. Labels are their authors'. *Stopped* means *confirm* or *block*, \
by the default policy. **Recall** is the share of dangerous rows stopped, **FPR** that of harmless rows \
stopped, **ask rate** that of unlabelled traffic stopped; rows labelled grey count for neither. The score that \
matters is measured on other data of the same kinds, so a rule that fits a row is a defect. To see whether rules \
were fitted, a third of the rows, chosen by a hash of their text, is **held out**: nobody reads them, and a gap of \
more than three points between the two columns means that names were fitted.
";

/// Returns the whole page.
pub(crate) fn page(tallies: &[Tally], floors: &[Floor], notes: &str) -> String {
    let mut page = OPENING.to_owned();
    let _ = write!(page, "\n## Floors and goals\n\n{}", self::floors(floors));
    let _ = write!(page, "\n## By file\n\n{}", files(tallies));
    let later: Vec<_> = tallies.iter().filter(|tally| !tally.judged).collect();
    if !later.is_empty() {
        let names: Vec<_> = later.iter().map(|tally| format!("`{}`", tally.name)).collect();
        let _ = write!(
            page,
            "\nNot judged yet, because the profile they belong to is not built: {}.\n",
            names.join(", ")
        );
    }
    page.push_str("\n## Harmless rows that were stopped, by the rule that stopped them\n\n");
    page.push_str(&causes(tallies, "rule", |tally| &tally.stopped_by));
    page.push_str("\n## Dangerous rows that passed, by their category\n\n");
    page.push_str(&causes(tallies, "category", |tally| &tally.passed_as));
    let _ = write!(page, "\n{}", notes.trim_start());
    page
}

/// Returns a table of floors.
pub(crate) fn floors(floors: &[Floor]) -> String {
    let mut table = String::from(
        "| what | recall | FPR or ask rate | floor | holds | goal | reached |\n|---|---|---|---|---|---|---|\n",
    );
    for floor in floors {
        let goal = floor.goal.map_or_else(String::new, shown);
        let reached = if floor.goal.is_some() { yes(floor.leads()) } else { "" };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {goal} | {reached} |",
            floor.what,
            rate(floor.measured.bad),
            rate(floor.measured.good.and(floor.measured.traffic)),
            shown(floor.wanted),
            yes(floor.holds()),
        );
    }
    table
}

/// Returns a table of files: the rows that were worked on beside those held out.
pub(crate) fn files(tallies: &[Tally]) -> String {
    let mut table = String::from(
        "| file | rows | recall | held out | FPR | held out | ask rate | held out |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for tally in tallies.iter().filter(|tally| tally.judged) {
        row(&mut table, &tally.name, tally.rows, tally.all, tally.held_out);
    }
    let judged = tallies.iter().filter(|tally| tally.judged);
    let (rows, all, held) = floor::ordinary(judged, "shell").fold(
        (0, Shares::default(), Shares::default()),
        |(rows, all, held), tally| {
            (rows + tally.rows, all.and(tally.all), held.and(tally.held_out))
        },
    );
    row(&mut table, "**all ordinary shell files**", rows, all, held);
    table
}

fn row(table: &mut String, name: &str, rows: u32, all: Shares, held: Shares) {
    let _ = write!(table, "| {name} | {rows} |");
    let columns: [fn(Shares) -> Share; 3] = [|of| of.bad, |of| of.good, |of| of.traffic];
    for of in columns {
        let worked = of(all).without(of(held));
        let _ = write!(table, " {} | {} |", rate(worked), rate(of(held)));
    }
    table.push('\n');
}

fn causes(
    tallies: &[Tally],
    heading: &str,
    of: impl Fn(&Tally) -> &BTreeMap<String, u32>,
) -> String {
    let mut lines: Vec<(u32, &str, &str)> = tallies
        .iter()
        .flat_map(|tally| of(tally).iter().map(|(why, n)| (*n, tally.name.as_str(), why.as_str())))
        .collect();
    if lines.is_empty() {
        return "None.\n".to_owned();
    }
    lines.sort_by(|a, b| (a.1, b.0, a.2).cmp(&(b.1, a.0, b.2)));
    let mut table = format!("| file | {heading} | rows |\n|---|---|---|\n");
    for (count, file, why) in lines {
        let _ = writeln!(table, "| {file} | `{why}` | {count} |");
    }
    table
}

/// Returns the wrong rows of one file, for the terminal.
pub(crate) fn wrong_rows(tally: &Tally, most: usize) -> String {
    let mut text = format!("\n{}\n", tally.name);
    for wrong in tally.wrong.iter().take(most) {
        let short: String = wrong.text.chars().take(200).collect();
        let _ = writeln!(text, "  {:>10}  {:<36} {short}", wrong.label, wrong.why);
    }
    text
}

fn rate(share: Share) -> String {
    share.rate().map_or_else(|| "–".to_owned(), |rate| format!("{rate:.4}"))
}

fn shown(line: Line) -> String {
    match line.false_positives {
        1.0.. => format!("≥ {}", line.recall),
        most => format!("≥ {} at ≤ {most}", line.recall),
    }
}

const fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "**no**" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quality::tally::Wrong;

    #[test]
    fn the_page_never_quotes_a_row() {
        let tally = Tally {
            name: "shell_x".into(),
            kind: "shell".into(),
            judged: true,
            rows: 1,
            all: Shares { good: Share { stopped: 1, of: 1 }, ..Shares::default() },
            stopped_by: BTreeMap::from([("shell.git.force-push".into(), 1)]),
            wrong: vec![Wrong {
                label: "benign".into(),
                why: "shell.git.force-push".into(),
                text: "the row itself".into(),
            }],
            ..Tally::default()
        };
        let page = page(&[tally], &[], "## Notes\n");
        assert!(page.contains("| shell_x | `shell.git.force-push` | 1 |"));
        assert!(!page.contains("the row itself"));
        assert!(page.ends_with("## Notes\n"));
    }
}
