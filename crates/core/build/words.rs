//! Lists of words: each becomes a sorted slice, named for its file and its key.

use std::fmt::Write as _;
use std::path::Path;

use crate::{parse, strs, yaml_files};

pub(crate) fn generate(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut code = String::new();
    for (file, text) in yaml_files(folder)? {
        for (name, mut words) in parse::<Vec<String>>(&file, &text)? {
            words.sort();
            words.dedup();
            let constant = format!("{file}_{name}").replace('-', "_").to_uppercase();
            let _ = writeln!(code, "/// `{name}` of `words/{file}.yaml`.");
            let _ = writeln!(code, "pub(crate) static {constant}: &[&str] = {};", strs(&words));
        }
    }
    Ok(code)
}
