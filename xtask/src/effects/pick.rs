//! Selects the scripts to run: rows of the shell corpora and scripts of our own, by their hash.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::made;
use crate::process::root;

/// The name for scripts of our own beside the corpora's files.
pub(crate) const MADE: &str = "made";

/// One script to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) text: String,
    /// The file it is from.
    pub(crate) file: String,
    /// True when nobody may look at it: it is counted, never shown.
    pub(crate) held_out: bool,
}

/// Returns a limited number of scripts, the same ones every time: the lowest hashes.
pub(crate) fn scripts(only: Option<&str>, most: usize) -> Vec<Script> {
    let mut all: BTreeMap<(u64, String), Script> = BTreeMap::new();
    let made = made::scripts().into_iter().map(|text| own(&text));
    let wanted = |script: &Script| only.is_none_or(|only| script.file.starts_with(only));
    for script in rows().into_iter().chain(made).filter(wanted) {
        all.entry((hash(&format!("run {}", script.text)) >> 32, script.text.clone()))
            .or_insert(script);
    }
    all.into_values().take(most).collect()
}

fn own(text: &str) -> Script {
    Script { text: text.to_owned(), file: MADE.to_owned(), held_out: false }
}

/// Returns every shell row of the corpora; says so where there are none.
fn rows() -> Vec<Script> {
    let Ok(entries) = fs::read_dir(root().join("../shared/data")) else {
        println!("scripts of our own only: no corpus at ../shared/data");
        return Vec::new();
    };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut scripts = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("shell_") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            scripts.extend(text.lines().filter_map(|line| row(line, &name)));
        }
    }
    scripts
}

fn row(line: &str, file: &str) -> Option<Script> {
    let row: Value = serde_json::from_str(line).ok()?;
    let input = row.get("input")?;
    // As in `quality/corpus.rs`: a third is held out.
    let held_out = (hash(&input.to_string()) >> 32).is_multiple_of(3);
    let text = input.as_str().filter(|text| !text.contains('\0'))?.to_owned();
    Some(Script { text, file: file.to_owned(), held_out })
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_the_same_every_time_and_part_of_a_larger_one() {
        let (small, large) = (scripts(Some(MADE), 20), scripts(Some(MADE), 50));
        assert_eq!(small.len(), 20);
        assert_eq!(small.as_slice(), large.get(..20).unwrap());
        assert!(small.iter().all(|script| script.file == MADE));
    }

    #[test]
    fn a_row_that_no_program_could_be_given_is_left_out() {
        assert!(row(r#"{"kind":"shell","input":"ls\u0000"}"#, "x").is_none());
        assert_eq!(row(r#"{"kind":"shell","input":"ls"}"#, "x").unwrap().text, "ls");
    }
}
