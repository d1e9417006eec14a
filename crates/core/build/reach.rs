//! Programs that connect to other machines, and the words that name the machine.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::{camel, names, number_in, parse, strs, yaml_files};

/// One program as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    /// Other programs that do the same.
    also: Vec<String>,
    /// The operands that name the machine: `first`, `last`, `all` or `none`.
    on: String,
    /// Options whose value names the machine.
    options: Vec<String>,
    /// Only after one of these operands.
    after: Vec<String>,
    /// Not with any of these.
    unless: Vec<String>,
}

pub(crate) fn generate(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut programs = Vec::new();
    for (file, text) in yaml_files(folder)? {
        for (name, entry) in parse::<Entry>(&file, &text)? {
            let code = reach(&entry);
            programs
                .extend(entry.also.iter().chain([&name]).map(|one| (one.clone(), code.clone())));
        }
    }
    programs.sort();
    for pair in programs.windows(2) {
        if let [(first, _), (second, _)] = pair
            && first == second
        {
            return Err(format!("reach: `{first}` is listed twice").into());
        }
    }
    let mut kinds = Vec::new();
    let numbered: Vec<_> = programs
        .iter()
        .map(|(name, reach)| (name.as_str(), number_in(&mut kinds, reach)))
        .collect();
    let mut code = String::from("static REACHES: &[Reach] = &[\n");
    for reach in kinds {
        let _ = writeln!(code, "{reach},");
    }
    code.push_str("];\n");
    code.push_str(&names("REACH_NAMES", numbered.into_iter())?);
    Ok(code)
}

fn reach(entry: &Entry) -> String {
    let on = if entry.on.is_empty() { "none" } else { entry.on.as_str() };
    format!(
        "Reach {{ on: Named::{}, options: {}, after: {}, unless: {} }}",
        camel(on),
        strs(&entry.options),
        strs(&entry.after),
        strs(&entry.unless),
    )
}
