//! The difference between two texts, line by line, for people.

/// The number of unchanged lines shown around a change.
const AROUND: usize = 2;
/// Larger differences are shown as all old lines, then all new lines.
const MOST_LINES: usize = 2_000;

/// One line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// Returns the difference with a few lines around it; empty when there is none.
pub(crate) fn lines(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let rows = rows(&old, &new);
    let changed = |at: usize| rows.get(at).is_some_and(|row| !matches!(row, Row::Same(_)));
    let near = |at: usize| (at.saturating_sub(AROUND)..=at + AROUND).any(changed);
    let mut shown = Vec::new();
    let mut skipped = false;
    for (at, row) in rows.iter().enumerate() {
        if !near(at) {
            skipped = true;
            continue;
        }
        if skipped && !shown.is_empty() {
            shown.push("  …".to_owned());
        }
        skipped = false;
        shown.push(match row {
            Row::Same(line) => format!("  {line}"),
            Row::Gone(line) => format!("- {line}"),
            Row::New(line) => format!("+ {line}"),
        });
    }
    shown
}

fn rows<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Row<'a>> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(start..).unwrap_or(&[]), new.get(start..).unwrap_or(&[]));
    let end = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let (old_middle, tail) = old_rest.split_at(old_rest.len() - end);
    let (new_middle, _) = new_rest.split_at(new_rest.len() - end);
    let mut rows: Vec<_> = old.iter().take(start).map(|line| Row::Same(line)).collect();
    if old_middle.len().max(new_middle.len()) > MOST_LINES {
        rows.extend(old_middle.iter().map(|line| Row::Gone(line)));
        rows.extend(new_middle.iter().map(|line| Row::New(line)));
    } else {
        rows.extend(middle(old_middle, new_middle));
    }
    rows.extend(tail.iter().map(|line| Row::Same(line)));
    rows
}

/// Compares by the longest common subsequence of lines.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Row<'a>> {
    let width = new.len() + 1;
    let mut longest = vec![0_usize; (old.len() + 1) * width];
    let at = |longest: &[usize], i: usize, j: usize| {
        longest.get(i * width + j).copied().unwrap_or_default()
    };
    for (i, old) in old.iter().enumerate().rev() {
        for (j, new) in new.iter().enumerate().rev() {
            let value = if old == new {
                at(&longest, i + 1, j + 1) + 1
            } else {
                at(&longest, i + 1, j).max(at(&longest, i, j + 1))
            };
            if let Some(cell) = longest.get_mut(i * width + j) {
                *cell = value;
            }
        }
    }
    let (mut rows, mut i, mut j) = (Vec::new(), 0, 0);
    loop {
        match (old.get(i), new.get(j)) {
            (Some(one), Some(other)) if one == other => {
                rows.push(Row::Same(one));
                (i, j) = (i + 1, j + 1);
            }
            (Some(one), Some(_)) if at(&longest, i + 1, j) >= at(&longest, i, j + 1) => {
                rows.push(Row::Gone(one));
                i += 1;
            }
            (_, Some(other)) => {
                rows.push(Row::New(other));
                j += 1;
            }
            (Some(one), None) => {
                rows.push(Row::Gone(one));
                i += 1;
            }
            (None, None) => return rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_shown_with_a_little_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        assert_eq!(lines(before, before), Vec::<String>::new());
        let after = "1\n2\n3\nnew\n4\n5\n6\n7\nlast\n";
        let shown = lines(before, after).join("\n");
        assert_eq!(shown, "  2\n  3\n+ new\n  4\n  5\n  6\n  7\n- 8\n+ last");
        assert_eq!(lines("", "a\nb\n"), ["+ a", "+ b"]);
        assert_eq!(lines("a\n", ""), ["- a"]);
    }
}
