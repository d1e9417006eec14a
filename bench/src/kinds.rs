//! In process: one ordinary action of every kind that has an analyzer.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;

use countersign_core::{Action, Context, Policy, judge};

use crate::sample::Times;

const TURNS: u32 = 200;
const ROUNDS: u32 = 100;

const ACTIONS: &[&str] = &[
    r#"{"kind":"file_write","path":"src/main.rs"}"#,
    r#"{"kind":"code","language":"python","source":"import json\nprint(json.load(open('a.json')))"}"#,
    r#"{"kind":"code","language":"sql","source":"SELECT id, name FROM users WHERE id = 7"}"#,
    r#"{"kind":"navigate","url":"https://www.example.com/products/42?ref=home#top"}"#,
    r#"{"kind":"http_request","method":"POST","url":"https://api.example.com/v1/items"}"#,
    r#"{"kind":"download","files":[{"url":"https://example.com/a.pdf","bytes":1048576}]}"#,
    r#"{"kind":"ui","surface":"browser","op":"click","label":"Show more results"}"#,
    r#"{"kind":"ui","surface":"browser","op":"type","field":{"name":"email","type":"email","label":"E-mail"},"text":"a@example.com"}"#,
    r#"{"kind":"skill","skill":"shop.update_order","params":{"id":"1","note":"please ring"}}"#,
    r#"{"kind":"tool","server":"github","tool":"create_issue","description":"Creates an issue.","arguments":{"owner":"o","repo":"r","title":"A bug","body":"It breaks."}}"#,
    r#"{"kind":"applescript","script":"tell application \"Finder\"\nset names to name of every folder of desktop\nend tell\ndisplay dialog (item 1 of names)"}"#,
    r#"{"kind":"named","name":"openSettings"}"#,
];

/// What each kind costs.
pub(crate) fn table() -> Result<String, Box<dyn Error>> {
    let mut table = String::from("| one action | judge µs | goal |\n|---|---|---|\n");
    for text in ACTIONS {
        let action: Action = serde_json::from_str(text)?;
        let shown: String = text.chars().take(72).collect();
        writeln!(table, "| `{shown}` | {:.2} | ≤ 10 |", cost(&action, &Policy::default()))?;
    }
    Ok(table)
}

/// The median of one judgement, in microseconds.
fn cost(action: &Action, policy: &Policy) -> f64 {
    let [cost] = costs(action, [policy]);
    cost
}

/// The medians of one judgement by each policy, taken in turns, in microseconds.
pub(crate) fn costs<const N: usize>(action: &Action, policies: [&Policy; N]) -> [f64; N] {
    let context = Context {
        home: Some("/home/dev".into()),
        workspace: Some("/home/dev/project".into()),
        cwd: Some("/home/dev/project".into()),
        ..Context::default()
    };
    let mut turns = policies.map(|policy| (policy, Times::default()));
    for _ in 0..TURNS {
        for (policy, times) in &mut turns {
            times.add(|| {
                for _ in 0..ROUNDS {
                    black_box(judge(black_box(action), policy, &context));
                }
            });
        }
    }
    turns.map(|(_, times)| times.median() / f64::from(ROUNDS))
}
