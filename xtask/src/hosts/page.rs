//! The page, from the findings of the runs.

use std::fmt::Write as _;

use serde_json::Value;

use super::Row;

const OPENING: &str = "\
# What real hosts do with the hook

Written by `cargo xtask hosts`: every host below was installed from npm and run by `countersign doctor \
--live`, in a throw-away folder, with a scripted model instead of a real one. The model proposes one shell \
command; the table says what became of it. `countersign doctor --live HOST` does the same with the host \
that is installed on your machine.

| | what is tried |
|---|---|
| allow | `echo`: runs, and its output reaches the model |
| yes | `git push --force`: the hook asks, the host waits, a person says yes, it runs once |
| no | the same; a person says no, and what they wrote reaches the model |
| block | `mkfs.ext4`: does not run, and the reason reaches the model |
| silence | nobody answers: the hook says no before the host gives up |
| TERM, KILL | the waiting hook gets that signal |
| delay | a stand-in for the hook hangs for longer than the host waits |
| garbage | a stand-in for the hook prints something that is not an answer |

*Denied* is what must be there from *no* on; **RAN** is what must not. With *delay* and *garbage* \
something else runs in place of our hook, which answers in time and in the host's words: what a host \
does there is its own limit. It matters for a hook that is stopped (SIGSTOP) or on a machine that \
stands still.

";

const DESKTOP: &str = "
Cursor, VS Code and Windsurf need a desktop and were **not run live**: only their files are written \
and tested against what is documented.
";

/// The columns, by the names of the checks.
const CHECKS: [(&str, &str); 9] = [
    ("allow", "allow"),
    ("yes", "yes"),
    ("no", "no"),
    ("block", "block"),
    ("silence", "silence"),
    ("term", "TERM"),
    ("kill", "KILL"),
    ("delay", "delay"),
    ("garbage", "garbage"),
];

pub(super) fn page(found: &[(&Row, Value)]) -> String {
    let mut page = OPENING.to_owned();
    let heads: Vec<_> = CHECKS.iter().map(|(_, head)| *head).collect();
    let _ = writeln!(page, "| host | version | {} |", heads.join(" | "));
    let _ = writeln!(page, "|---|---|{}", "---|".repeat(CHECKS.len()));
    let mut notes = Vec::new();
    for (row, report) in found {
        let _ = writeln!(page, "{}", line(row, report, &mut notes));
    }
    if !notes.is_empty() {
        let _ = write!(page, "\n{}\n", notes.join("\n"));
    }
    page.push_str(DESKTOP);
    page
}

fn line(row: &Row, report: &Value, notes: &mut Vec<String>) -> String {
    let title = report.get("title").and_then(Value::as_str).unwrap_or(row.host);
    if let Some(why) = report.get("cannot").and_then(Value::as_str) {
        notes.push(format!("- {title} {}: could not be run: {why}", row.version));
        let cells = ["not run"; CHECKS.len()].join(" | ");
        return format!("| {title} | {} | {cells} |", row.version);
    }
    let version = report.get("version").and_then(Value::as_str).unwrap_or(row.version);
    let cells = CHECKS.iter().map(|(name, head)| {
        let tried = find(report, name);
        let detail = tried.and_then(|tried| tried.get("detail")?.as_str()).unwrap_or_default();
        if !detail.is_empty() {
            notes.push(format!("- {title} {version}, {head}: {detail}"));
        }
        cell(tried)
    });
    let cells: Vec<_> = cells.collect();
    format!("| {title} | {version} | {} |", cells.join(" | "))
}

fn find<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    let checks = report.get("checks").and_then(Value::as_array).into_iter().flatten();
    checks.into_iter().find(|tried| tried.get("check").and_then(Value::as_str) == Some(name))
}

fn cell(tried: Option<&Value>) -> &'static str {
    let outcome = tried.and_then(|tried| tried.get("outcome")?.as_str());
    let good = tried.and_then(|tried| tried.get("mark")?.as_str()) == Some("good");
    match (outcome, good) {
        (Some("resumed"), true) => "yes",
        (Some("denied"), true) => "denied",
        (Some("denied-untold"), true) => "denied, model not told",
        (Some("denied-untold"), false) => "denied, **model not told**",
        (Some("resumed" | "denied"), false) => "**not once**",
        (Some("ran"), _) => "**RAN**",
        (Some("failed"), _) => "**failed**",
        (Some(_) | None, _) => "**unknown**",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_ran_is_seen_and_what_is_missing_is_not_good() {
        let row = super::super::row("x", "x", "x", "1.0.0");
        let checks = json!([
            {"check": "yes", "outcome": "resumed", "mark": "good", "detail": ""},
            {"check": "kill", "outcome": "ran", "mark": "bad", "detail": "the hook did not fire"},
        ]);
        let report = json!({"title": "X", "version": "1.2.3", "checks": checks});
        let text = page(&[(&row, report)]);
        let unknown = "**unknown**";
        let line = format!(
            "| X | 1.2.3 | {unknown} | yes | {unknown} | {unknown} | {unknown} | {unknown} | \
             **RAN** | {unknown} | {unknown} |"
        );
        assert!(text.contains(&line), "{text}");
        assert!(text.contains("- X 1.2.3, KILL: the hook did not fire"), "{text}");
        assert!(text.contains("**not run live**"));
    }

    #[test]
    fn a_host_that_cannot_run_says_why() {
        let row = super::super::row("x", "x", "x", "1.0.0");
        let text = page(&[(&row, json!({"host": "x", "cannot": "no such package"}))]);
        assert!(text.contains("- x 1.0.0: could not be run: no such package"), "{text}");
        assert!(text.contains("| x | 1.0.0 | not run |"), "{text}");
    }
}
