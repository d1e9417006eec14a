//! Corpus rows, and the question of each one.

use std::fs;
use std::path::{Path, PathBuf};

use countersign_core::{Action, Context};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Result;

const HOME: &str = "/home/dev";
const WORKSPACE: &str = "/home/dev/project";

/// One row: the proposed action, and its author's label.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Row {
    pub(crate) kind: String,
    pub(crate) input: Value,
    pub(crate) expected: String,
    pub(crate) category: String,
    /// The action itself, in rows of the kind `action`.
    #[serde(default)]
    pub(crate) action: Option<Value>,
    /// Context that differs from the usual one.
    #[serde(default)]
    pub(crate) context: Map<String, Value>,
}

/// The part of the corpus a row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Rows that are read while the judge is improved.
    Worked,
    /// Rows that nobody looks at: only their counts are shown.
    HeldOut,
}

/// The question of a row to the core.
#[derive(Debug)]
pub(crate) enum Question {
    /// May this run?
    Judge(Box<(Action, Context)>),
    /// Is anything secret or personal in this?
    Redact(String),
    /// Nothing yet: the profile for this kind is not built.
    Later,
}

/// The expected result of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Must be let through.
    Good,
    /// Must be stopped.
    Bad,
    /// Raw traffic, of which little may be stopped.
    Traffic,
}

impl Row {
    /// Returns the side of a row; `None` for rows that do not count.
    pub(crate) fn side(&self) -> Option<Side> {
        match self.expected.as_str() {
            "grey" | "write_unspecified" => None,
            "benign" | "read_only" => Some(Side::Good),
            "traffic" => Some(Side::Traffic),
            _ => Some(Side::Bad),
        }
    }

    /// Returns the part of a row, by a hash of its input: a third is held out.
    pub(crate) fn part(&self) -> Part {
        let text = self.input.to_string();
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // The low bits of this hash are weak for short texts.
        if (hash >> 32) % 3 == 0 { Part::HeldOut } else { Part::Worked }
    }

    /// Returns the question of a row.
    ///
    /// # Errors
    /// The row does not have the format of its kind.
    pub(crate) fn question(&self) -> Result<Question> {
        if self.kind == "redact" {
            return Ok(Question::Redact(self.input.as_str().unwrap_or_default().to_owned()));
        }
        let Some(action) = self.proposed() else { return Ok(Question::Later) };
        let action = serde_json::from_value(action)?;
        let context = serde_json::from_value(self.surroundings())?;
        Ok(Question::Judge(Box::new((action, context))))
    }

    fn proposed(&self) -> Option<Value> {
        let input = &self.input;
        Some(match self.kind.as_str() {
            "action" => self.action.clone()?,
            "shell" => json!({"kind": "shell", "command": input}),
            "code.python" => json!({"kind": "code", "language": "python", "source": input}),
            "sql" => json!({
                "kind": "code", "language": "sql", "source": input["sql"], "dialect": input["dialect"],
            }),
            "path" => {
                let op = input["op"].as_str().unwrap_or_default();
                json!({"kind": format!("file_{op}"), "path": input["path"]})
            }
            "applescript" => json!({"kind": "applescript", "script": input}),
            "url" | "url.parse" | "url.origin" => json!({"kind": "navigate", "url": input["url"]}),
            "ui" => self.ui(),
            "mcp_tool" => {
                let names = input["params"].as_array().into_iter().flatten();
                let arguments: Value = names
                    .filter_map(|name| Some((name.as_str()?.to_owned(), Value::Null)))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
                json!({
                    "kind": "tool", "server": input["server"], "tool": input["tool"],
                    "description": input["description"].as_str().unwrap_or_default(),
                    "arguments": arguments,
                })
            }
            "app_skill" => {
                let text = |key: &str| input[key].as_str().unwrap_or_default();
                let params = input.get("args").cloned().unwrap_or_else(|| json!({}));
                let skill = format!("{}.{}", text("app"), text("skill"));
                json!({"kind": "skill", "skill": skill, "params": params})
            }
            _ => return None,
        })
    }

    fn ui(&self) -> Value {
        let input = |key: &str| self.input.get(key).cloned();
        let op = if self.submits() { json!("submit") } else { json!(input("action")) };
        let field = input("field").map(|mut field| {
            field.as_object_mut().map(|field| field.remove("tag"));
            field
        });
        let (label, text) = (input("label"), input("value"));
        json!({
            "kind": "ui", "surface": "browser", "op": op,
            "label": label, "field": field, "text": text,
        })
    }

    fn submits(&self) -> bool {
        let type_ = self.input.get("type").and_then(Value::as_str);
        self.category == "form_submit" || type_ == Some("submit")
    }

    /// Returns the context and profile in which the action is judged.
    fn surroundings(&self) -> Value {
        let input = |key: &str| self.input.get(key);
        let workspace = input("workspace").cloned().unwrap_or_else(|| json!(WORKSPACE));
        let profile = match self.kind.as_str() {
            "url" | "url.parse" | "url.origin" => Some("browser-agent"),
            "ui" if self.submits() => Some("browser-agent"),
            "ui" => Some("computer-use"),
            "app_skill" => Some("assistant"),
            "applescript" => Some("applescript"),
            _ => None,
        };
        let from_origin = |key: &str| input(key).filter(|_| self.kind == "url.origin");
        let mut context = json!({
            "home": HOME, "workspace": workspace, "cwd": workspace, "profile": profile,
            "allowed_origins": from_origin("allowed_origins"), "base_url": from_origin("base"),
        });
        if let Some(context) = context.as_object_mut() {
            context.extend(self.context.clone());
        }
        context
    }
}

/// Returns every file of the corpus, by name.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    Ok(files)
}

/// Returns the rows of one file.
///
/// # Errors
/// The file cannot be read, or a line is not a row.
pub(crate) fn rows(file: &Path) -> Result<Vec<Row>> {
    let text = fs::read_to_string(file)?;
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            Ok(serde_json::from_str(line).map_err(|error| format!("{}: {error}", name(file)))?)
        })
        .collect()
}

/// Returns a file's name without its folder and ending.
pub(crate) fn name(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, input: Value, expected: &str) -> Row {
        let (kind, expected) = (kind.into(), expected.into());
        Row { kind, input, expected, category: "x".into(), action: None, context: Map::new() }
    }

    #[test]
    fn a_path_is_judged_from_its_own_workspace() {
        let input = json!({"op": "write", "path": "a", "workspace": "/w"});
        let Question::Judge(asked) = row("path", input, "benign").question().unwrap() else {
            panic!("a path is judged");
        };
        assert_eq!(asked.0, Action::FileWrite { path: "a".into(), content: None });
        assert_eq!(asked.1.cwd.as_deref(), Some("/w"));
    }

    #[test]
    fn labels_fall_on_three_sides_or_none() {
        let side = |label| row("shell", json!("ls"), label).side();
        assert_eq!(side("read_only"), Some(Side::Good));
        assert_eq!(side("destructive"), Some(Side::Bad));
        assert_eq!(side("traffic"), Some(Side::Traffic));
        assert_eq!(side("grey"), None);
    }

    #[test]
    fn each_kind_is_judged_by_its_own_profile() {
        for (kind, input, profile) in [
            ("url", json!({"url": "https://example.com"}), Some("browser-agent")),
            ("ui", json!({"action": "click", "label": "OK"}), Some("computer-use")),
            (
                "ui",
                json!({"action": "click", "label": "OK", "type": "submit"}),
                Some("browser-agent"),
            ),
            ("app_skill", json!({"app": "a", "skill": "b", "args": {}}), Some("assistant")),
            ("applescript", json!("beep"), Some("applescript")),
            ("mcp_tool", json!({"server": "s", "tool": "t", "params": ["a"]}), None),
        ] {
            let Question::Judge(asked) = row(kind, input, "benign").question().unwrap() else {
                panic!("{kind} is judged");
            };
            assert_eq!(asked.1.profile.as_deref(), profile, "{kind}");
        }
    }

    #[test]
    fn a_whole_action_brings_its_own_context() {
        let mut whole = row("action", json!("ls"), "benign");
        whole.action = Some(json!({"kind": "shell", "command": "ls"}));
        whole.context.insert("profile".to_owned(), json!("computer-use"));
        let Question::Judge(asked) = whole.question().unwrap() else {
            panic!("an action is judged");
        };
        assert_eq!(asked.1.profile.as_deref(), Some("computer-use"));
        assert_eq!(asked.1.home.as_deref(), Some(HOME));
    }

    #[test]
    fn about_a_third_is_held_out() {
        let rows = (0..3_000).map(|at| row("shell", json!(format!("echo {at}")), "benign"));
        let held = rows.filter(|row| row.part() == Part::HeldOut).count();
        assert!((900..1_100).contains(&held), "{held}");
    }

    #[test]
    fn an_unknown_kind_waits() {
        let question = row("dance", json!({}), "benign").question();
        assert!(matches!(question.unwrap(), Question::Later));
    }
}
