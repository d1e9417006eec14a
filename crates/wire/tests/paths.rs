//! The paths of the API are named in `path.rs` and nowhere else.
#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of this package, where the test runs.
fn package() -> PathBuf {
    let named = std::env::var_os("CARGO_MANIFEST_DIR");
    named.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_path_of_the_api_is_written_out_in_the_server_or_the_command_line() {
    let mut files = Vec::new();
    for crate_name in ["server", "cli"] {
        sources(&package().join("..").join(crate_name).join("src"), &mut files);
    }
    assert!(files.len() > 100, "the sources were not found");
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        wrong.extend(
            lines
                .filter(|line| line.contains("\"/api/"))
                .map(|line| format!("{}: {}", file.display(), line.trim())),
        );
    }
    assert!(wrong.is_empty(), "take these from countersign_wire::path: {wrong:#?}");
}
