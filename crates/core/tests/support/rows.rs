//! The shell rows of the corpora beside the workspace.

use std::path::Path;

use serde_json::Value;

/// One shell command of the corpora.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The command.
    pub(crate) text: String,
    /// The verdict that its author expects.
    pub(crate) expected: String,
    /// True when it is held out: it is counted, never shown.
    pub(crate) held_out: bool,
    /// A number that decides whether it is in a sample.
    pub(crate) hash: u64,
}

/// Every shell command of every file; empty without a corpus.
pub(crate) fn rows() -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let texts = files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    texts.flat_map(|text| text.lines().filter_map(row).collect::<Vec<_>>()).collect()
}

fn row(line: &str) -> Option<Row> {
    let row: Value = serde_json::from_str(line).ok()?;
    let input = row.get("input")?;
    let command = match row.get("kind")?.as_str()? {
        "shell" => input,
        "action" => {
            let action = row.get("action")?;
            action.get("command").filter(|_| action.get("kind").is_some_and(|k| k == "shell"))?
        }
        _ => return None,
    };
    // As in `xtask/src/quality/corpus.rs`: a third is held out.
    let hash = hash(&input.to_string());
    Some(Row {
        text: command.as_str()?.to_owned(),
        expected: row.get("expected")?.as_str()?.to_owned(),
        held_out: (hash >> 32).is_multiple_of(3),
        hash: self::hash(&format!("sample {input}")) >> 32,
    })
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
