//! Profiles: every `profiles/<name>.yaml` becomes a static `Profile`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::{camel, strs, yaml_files};

/// One profile as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    title: String,
    families: Vec<String>,
    #[serde(default)]
    always: Always,
    #[serde(default)]
    verdicts: BTreeMap<String, String>,
    #[serde(default)]
    modes: Modes,
    #[serde(default)]
    options: BTreeMap<String, Choice>,
    approval_timeout: u32,
    /// Seconds when no person is present to answer; the same as otherwise, unless said.
    approval_timeout_away: Option<u32>,
    #[serde(default)]
    limits: Limits,
}

/// The limits of a session. A limit that is left out does not apply.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Limits {
    steps: Steps,
    screenshots: Option<u32>,
    files: Option<u32>,
    errors: Option<u32>,
    step_seconds: Option<u32>,
    download_seconds: Option<u32>,
    session_seconds: Option<u32>,
    actions_per_minute: Option<u32>,
    sessions_per_hour: Option<u32>,
    sessions_at_once: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Steps {
    explore: Option<u32>,
    task: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Always {
    rules: Vec<String>,
    categories: Vec<String>,
    /// From this level of risk on.
    risk: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Modes {
    explore: Mode,
    task: Mode,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Mode {
    verdicts: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    verdict: String,
    rules: Vec<String>,
}

pub(crate) fn generate(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut code = String::new();
    let mut names = Vec::new();
    for (name, text) in yaml_files(folder)? {
        let entry: Entry =
            serde_saphyr::from_str(&text).map_err(|error| format!("{name}.yaml: {error}"))?;
        let constant = name.to_uppercase().replace('-', "_");
        writeln!(code, "static {constant}: Profile = {};", profile(&name, &entry))?;
        names.push(format!("&{constant}"));
    }
    writeln!(code, "static PROFILES: &[&Profile] = &[{}];", names.join(", "))?;
    Ok(code)
}

fn profile(name: &str, entry: &Entry) -> String {
    let options: Vec<_> = entry.options.iter().map(option).collect();
    format!(
        "Profile {{ name: {name:?}, title: {:?}, families: {}, always: {}, verdicts: {}, \
         explore: {}, task: {}, options: &[{}], approval_timeout: {}, \
         approval_timeout_away: {}, limits: {} }}",
        entry.title,
        strs(&entry.families),
        always(&entry.always),
        verdicts(&entry.verdicts),
        verdicts(&entry.modes.explore.verdicts),
        verdicts(&entry.modes.task.verdicts),
        options.join(", "),
        entry.approval_timeout,
        entry.approval_timeout_away.unwrap_or(entry.approval_timeout),
        limits(&entry.limits),
    )
}

fn limits(limits: &Limits) -> String {
    format!(
        "Limits {{ steps_exploring: {:?}, steps: {:?}, screenshots: {:?}, files: {:?}, \
         errors: {:?}, step_seconds: {:?}, download_seconds: {:?}, session_seconds: {:?}, \
         actions_per_minute: {:?}, sessions_per_hour: {:?}, sessions_at_once: {:?} }}",
        limits.steps.explore,
        limits.steps.task,
        limits.screenshots,
        limits.files,
        limits.errors,
        limits.step_seconds,
        limits.download_seconds,
        limits.session_seconds,
        limits.actions_per_minute,
        limits.sessions_per_hour,
        limits.sessions_at_once,
    )
}

fn always(always: &Always) -> String {
    let categories: Vec<_> =
        always.categories.iter().map(|name| format!("Category::{}", camel(name))).collect();
    let risk = always
        .risk
        .as_ref()
        .map_or_else(|| "None".to_owned(), |risk| format!("Some(RiskLevel::{})", camel(risk)));
    format!(
        "Always {{ rules: {}, categories: &[{}], risk: {risk} }}",
        strs(&always.rules),
        categories.join(", "),
    )
}

fn verdicts(verdicts: &BTreeMap<String, String>) -> String {
    let rows: Vec<_> = verdicts
        .iter()
        .map(|(what, verdict)| format!("({what:?}, Verdict::{})", camel(verdict)))
        .collect();
    format!("&[{}]", rows.join(", "))
}

fn option((name, choice): (&String, &Choice)) -> String {
    format!(
        "Choice {{ name: {name:?}, verdict: Verdict::{}, rules: {} }}",
        camel(&choice.verdict),
        strs(&choice.rules),
    )
}
