//! Predicts whether Codex runs a hook: it skips every hook that its user has not accepted in
//! `/hooks`.
//!
//! Accepted hooks are recorded in the user's `config.toml`, under a key made of the hook's file,
//! its event and its position there, as a hash of the hook's definition:
//!
//! ```toml
//! [hooks.state."/home/u/.codex/hooks.json:pre_tool_use:0:0"]
//! trusted_hash = "sha256:…"
//! ```
//!
//! The hash is that of Codex 0.166.0, found by comparing with what its app server reports as
//! `currentHash`: SHA-256 over JSON with sorted keys and no spaces.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::host::dialect;
use crate::host::edit::{Document, To};
use crate::host::install::Line;
use crate::host::toml;

/// The steps that the user of Codex must take before a hook runs.
pub(crate) const ACCEPT: &str = "Codex skips a new or changed hook, and runs everything, until you accept it: start `codex`, \
     type /hooks, and press t on each hook of Countersign";

/// The events for which we are installed, as Codex names them in its keys.
const EVENTS: [(&str, &str); 2] =
    [(dialect::BEFORE, "pre_tool_use"), (dialect::PROMPT, "permission_request")];
/// The timeout of Codex when a hook sets none.
const USUAL_SECONDS: u64 = 600;

/// The files of a hook and of its acceptance.
pub(crate) struct HookFile<'a> {
    /// The file with the hook.
    pub(crate) file: &'a Path,
    /// The project to which the file belongs, if it belongs to one.
    pub(crate) project: Option<&'a Path>,
    /// The user's `config.toml`.
    pub(crate) config: &'a Path,
}

/// One hook of ours, as Codex identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hook {
    event: &'static str,
    /// The key under which its acceptance is recorded.
    pub(crate) key: String,
    /// The hash that has to be accepted.
    pub(crate) hash: String,
}

/// The reason why Codex does not run the hooks of this file, if there is one.
pub(crate) fn problem(hook_file: &HookFile<'_>, text: &str, settings: &str) -> Option<String> {
    let values = match toml::values(settings) {
        Ok(values) => values,
        Err(error) => {
            return Some(format!("`{}` is not TOML: {error}", hook_file.config.display()));
        }
    };
    let set = |keys: &[&str]| {
        let found = values.iter().rev().find(|(found, _)| found == keys);
        found.map(|(_, value)| value)
    };
    let off = |name: &str| set(&["features", name]) == Some(&Value::Bool(false));
    if off("hooks") || off("codex_hooks") {
        let config = hook_file.config.display();
        return Some(format!("`features` in `{config}` switches every hook of Codex off"));
    }
    if let Some(project) = hook_file.project.map(Path::to_string_lossy)
        && set(&["projects", &project, "trust_level"]) != Some(&Value::from("trusted"))
    {
        return Some(format!(
            "Codex reads no hooks of `{project}` until you trust that folder: start `codex` there"
        ));
    }
    let hooks = hooks(hook_file.file, text);
    let missing = EVENTS.iter().filter(|(event, _)| hooks.iter().all(|hook| hook.event != *event));
    if let Some((event, _)) = missing.into_iter().next() {
        return Some(format!("there is no hook for {event}"));
    }
    hooks.iter().find_map(|hook| {
        let state = |name| set(&["hooks", "state", &hook.key, name]);
        let event = hook.event;
        if state("enabled") == Some(&Value::Bool(false)) {
            return Some(format!("the hook for {event} is switched off in /hooks of Codex"));
        }
        match state("trusted_hash").and_then(Value::as_str) {
            Some(trusted) if trusted == hook.hash => None,
            Some(_) => Some(format!("the hook for {event} has changed since. {ACCEPT}")),
            None => Some(format!("the hook for {event} is not accepted. {ACCEPT}")),
        }
    })
}

/// Returns every hook of ours in the file, with the hash that has to be accepted.
pub(crate) fn hooks(file: &Path, text: &str) -> Vec<Hook> {
    let Ok(document) = Document::read(text) else { return Vec::new() };
    let mut found = Vec::new();
    for (event, label) in EVENTS {
        let groups = document.get(&[To::Key("hooks"), To::Key(event)]);
        let groups = groups.as_ref().and_then(Value::as_array).into_iter().flatten();
        for (group_at, group) in groups.enumerate() {
            let handlers = group.get("hooks").and_then(Value::as_array).into_iter().flatten();
            for (at, handler) in handlers.enumerate() {
                if Line::of(handler).is_some_and(|line| line.is_ours("codex")) {
                    let key = format!("{}:{label}:{group_at}:{at}", file.display());
                    let hash = hash(label, group.get("matcher"), handler);
                    found.push(Hook { event, key, hash });
                }
            }
        }
    }
    found
}

/// Computes the hash by which Codex identifies a hook.
fn hash(label: &str, matcher: Option<&Value>, handler: &Value) -> String {
    let seconds = handler.get("timeout").and_then(Value::as_u64).unwrap_or(USUAL_SECONDS);
    let asynchronous = handler.get("async").and_then(Value::as_bool).unwrap_or_default();
    let mut said = json!({"async": asynchronous, "timeout": seconds.max(1), "type": "command"});
    let mut whole = json!({"event_name": label});
    for name in ["command", "commandWindows", "statusMessage"] {
        if let Some(value) = handler.get(name) {
            put(&mut said, name, value.clone());
        }
    }
    if let Some(matcher) = matcher {
        put(&mut whole, "matcher", matcher.clone());
    }
    put(&mut whole, "hooks", Value::Array(vec![said]));
    // serde_json keeps the members of an object sorted, and writes them without spaces.
    let digest = Sha256::digest(whole.to_string().as_bytes());
    digest.iter().fold("sha256:".to_owned(), |hex, byte| hex + &format!("{byte:02x}"))
}

fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

/// The lines of `config.toml` that accept every hook of a file, for a Codex that nobody else uses.
#[cfg(unix)]
pub(crate) fn danger_accepted(file: &Path, text: &str) -> String {
    let states = hooks(file, text).into_iter().map(|hook| {
        let (key, hash) = (Value::from(hook.key), Value::from(hook.hash));
        format!("[hooks.state.{key}]\ntrusted_hash = {hash}\n")
    });
    states.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "/h/.codex/hooks.json";
    const CONFIG: &str = "/h/.codex/config.toml";

    fn text() -> String {
        let handler = json!({
            "type": "command", "command": "/usr/bin/countersign hook codex --timeout 150",
            "timeout": 150, "statusMessage": "Countersign",
        });
        let group = json!({"matcher": "*", "hooks": [handler]});
        json!({"hooks": {"PreToolUse": [group], "PermissionRequest": [group]}}).to_string()
    }

    fn problem_with(settings: &str, project: Option<&str>) -> Option<String> {
        let hook_file = HookFile {
            file: Path::new(FILE),
            project: project.map(Path::new),
            config: Path::new(CONFIG),
        };
        problem(&hook_file, &text(), settings)
    }

    /// The answer of `codex app-server` 0.166.0 to `hooks/list` for exactly this file.
    #[test]
    fn the_hash_is_the_one_codex_computes() {
        let hooks = hooks(Path::new(FILE), &text());
        let found: Vec<_> = hooks.iter().map(|hook| (hook.key.as_str(), &*hook.hash)).collect();
        let expected = [
            (
                "/h/.codex/hooks.json:pre_tool_use:0:0",
                "sha256:6034d598bad778d357cad4fcc95ef324b5745515f6df274f909188fae5f9d15c",
            ),
            (
                "/h/.codex/hooks.json:permission_request:0:0",
                "sha256:e754a64d110f5763a46c9b1e3a62bdb90ae6e3928ddecf2361b29f59a4b58c17",
            ),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn only_a_hook_that_is_accepted_as_it_is_runs() {
        let accepted = danger_accepted(Path::new(FILE), &text());
        assert_eq!(problem_with(&accepted, None), None);
        let one = accepted.split_inclusive('\n').take(2).collect::<String>();
        let off = format!("{accepted}enabled = false\n");
        let features = format!("[features]\nhooks = false\n{accepted}");
        for (settings, says) in [
            ("", "PreToolUse is not accepted"),
            (one.as_str(), "PermissionRequest is not accepted"),
            (&accepted.replace("e754a6", "000000"), "PermissionRequest has changed"),
            (&accepted.replace("/h/", "/other/"), "PreToolUse is not accepted"),
            (&off, "switched off"),
            (&features, "every hook of Codex off"),
            ("[hooks", "is not TOML"),
        ] {
            let found = problem_with(settings, None).unwrap_or_default();
            assert!(found.contains(says), "{settings}: {found}");
        }
    }

    #[test]
    fn a_project_must_be_trusted_too() {
        let accepted = danger_accepted(Path::new(FILE), &text());
        let found = problem_with(&accepted, Some("/p")).unwrap_or_default();
        assert!(found.contains("until you trust that folder"), "{found}");
        let trusted = format!("[projects.\"/p\"]\ntrust_level = \"trusted\"\n{accepted}");
        assert_eq!(problem_with(&trusted, Some("/p")), None);
    }
}
