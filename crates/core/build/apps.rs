//! Apps: every `apps/<id>.yaml` becomes a static `App`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::{camel, yaml_files};

/// One app as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    /// The provider that serves it; the app itself unless said.
    provider: Option<String>,
    skills: BTreeMap<String, Skill>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Skill {
    name: String,
    access: String,
    /// If left out, anything that writes is asked about.
    confirm: Option<bool>,
    timeout: Option<u32>,
}

pub(crate) fn generate(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut code = String::from("static APPS: &[App] = &[\n");
    for (id, text) in yaml_files(folder)? {
        let entry: Entry =
            serde_saphyr::from_str(&text).map_err(|error| format!("apps/{id}.yaml: {error}"))?;
        let provider = entry.provider.as_ref().unwrap_or(&id);
        writeln!(
            code,
            "App {{ id: {id:?}, name: {:?}, provider: {provider:?}, skills: &[",
            entry.name
        )?;
        for (skill, row) in &entry.skills {
            let confirm = row.confirm.unwrap_or(row.access != "read");
            writeln!(
                code,
                "({skill:?}, {:?}, Skill {{ access: Access::{}, confirm: {confirm}, timeout: {:?} }}),",
                row.name,
                camel(&row.access),
                row.timeout,
            )?;
        }
        code.push_str("] },\n");
    }
    code.push_str("];\n");
    Ok(code)
}
