//! Measures redaction: `cargo run --example redact_score -- FILE.jsonl [misses]`.
//!
//! Rows carry `input` and `expected` (`benign`, `secret`, `pii`; anything else is skipped).

#![expect(clippy::print_stdout, reason = "an example that reports")]

use std::{collections::BTreeMap, env, error::Error, fs};

use countersign_core::redact::scan;
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("usage: redact_score FILE [misses]")?;
    let misses = arguments.next().is_some();
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for line in fs::read_to_string(path)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let input = row.get("input").and_then(Value::as_str).unwrap_or("");
        let expected = row.get("expected").and_then(Value::as_str).unwrap_or("");
        let found = scan(input);
        let (seen, hit) = counts.entry(expected.to_owned()).or_default();
        *seen += 1;
        *hit += usize::from(!found.is_empty());
        let wrong = match expected {
            "benign" => !found.is_empty(),
            "secret" | "pii" => found.is_empty(),
            _ => false,
        };
        if wrong && misses {
            let kinds: Vec<&str> = found.iter().map(|found| found.kind).collect();
            println!(
                "{expected} {} {kinds:?} {input:?}",
                row.get("category").and_then(Value::as_str).unwrap_or("")
            );
        }
    }
    for (label, (seen, hit)) in counts {
        println!("{label:10} {hit:5} of {seen:5}");
    }
    Ok(())
}
