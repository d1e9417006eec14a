//! Actions known only by their name.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::action::Action;
use crate::analyze::purpose::{self, Effect, Purpose};
use crate::analyze::{Analysis, arguments, whole};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location::Scene;

/// Actions that no agent may do, even with approval; compared by letters alone.
const FORBIDDEN: [&str; 6] = [
    "accessterminal",
    "deleteaccount",
    "formatdisk",
    "installsoftware",
    "modifysystemsettings",
    "runshellcommands",
];

/// Returns the facts of a named action.
#[must_use]
pub fn analyze(action: &Action, scene: &Scene<'_>) -> Analysis {
    let Action::Named { name, params } = action else { return Analysis::default() };
    let span = whole(name);
    if action.is_question() {
        // Its text is for a person to read: nothing acts on it.
        let fact = Fact::new(question(params), name).at(span);
        return Analysis { facts: vec![fact], ..Analysis::default() };
    }
    let purpose = purpose::of_name(name);
    let call = arguments::Call { owner: "", name, purpose, schema: None };
    let mut analysis = arguments::analyze(params, call, scene).analysis;
    if is_forbidden(name) {
        analysis.facts.push(Fact::new(FactKind::NamedForbidden, name).at(span));
    } else {
        let tags = match purpose {
            Purpose::Known(Effect::Read) => Tags::of(&[Tag::ReadOnly]),
            _ => Tags::NONE,
        };
        analysis.facts.push(Fact::new(FactKind::NamedUnknown, name).tagged(tags).at(span));
    }
    analysis
}

/// Returns the kind of a question: the agent's own risk level may raise the risk and never lowers
/// it.
fn question(params: &BTreeMap<String, Value>) -> FactKind {
    match params.get("risk_level").and_then(Value::as_str) {
        Some("critical") => FactKind::NamedCriticalQuestion,
        Some("high") => FactKind::NamedGraveQuestion,
        Some(_) | None => FactKind::NamedQuestion,
    }
}

/// Reports whether the name is forbidden, in any spelling: case, separators, full-width letters, a
/// plural.
fn is_forbidden(name: &str) -> bool {
    let letters: String = name
        .chars()
        .filter_map(plain)
        .filter(|char| char.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(64)
        .collect();
    let letters = letters.trim_end_matches('s');
    FORBIDDEN.iter().any(|known| known.trim_end_matches('s') == letters)
}

/// Reports whether the name of a tool means one of the forbidden actions, also in other words:
/// `execute_command` runs shell commands.
pub(crate) fn is_like_a_forbidden(name: &str) -> bool {
    const SIX: [(&[&str], &[&str]); 6] = [
        (&["terminal", "console", "shell", "tty"], &["open", "access", "start", "new", "use"]),
        (
            &["account", "accounts"],
            &["delete", "remove", "close", "terminate", "erase", "deactivate"],
        ),
        (&["disk", "drive", "volume", "partition"], &["format", "erase", "wipe"]),
        (
            &["software", "package", "packages", "app", "apps", "program", "application"],
            &["install"],
        ),
        (
            &["settings", "setting", "preferences", "configuration"],
            &["modify", "change", "set", "update", "write", "edit"],
        ),
        (
            &["command", "commands", "shell", "cmd", "bash", "terminal", "powershell", "script"],
            &["run", "execute", "exec", "send", "invoke"],
        ),
    ];
    let words = purpose::split(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&&**word));
    let alone =
        matches!(words.as_slice(), [only] if matches!(&**only, "shell" | "bash" | "terminal"));
    let system = has(&["system", "os", "mac", "macos", "windows"]);
    is_forbidden(name)
        || alone
        || SIX.iter().any(|(objects, verbs)| {
            has(objects) && has(verbs) && (system || !objects.contains(&"settings"))
        })
}

/// Maps full-width letters to plain ones, and drops zero-width characters.
fn plain(char: char) -> Option<char> {
    match char {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(char) - 0xFEE0),
        '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}' | '\u{AD}' => None,
        char => Some(char),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forbidden_is_so_in_every_spelling() {
        for name in [
            "deleteAccount",
            "delete_account",
            "DELETE-ACCOUNT",
            "Delete Account",
            "delete.accounts",
            "ｄｅｌｅｔｅAccount",
            "delete\u{200b}Account",
            "run_shell_command",
            "runShellCommands",
            "format-disk",
            "install_software",
            "modifySystemSettings",
            "accessTerminal",
        ] {
            assert!(is_forbidden(name), "{name}");
        }
        for name in [
            "delete_user_account",
            "formatDrive",
            "install_package",
            "set_system_preferences",
            "open-terminal",
            "execute_command",
            "bash",
        ] {
            assert!(is_like_a_forbidden(name), "{name}");
        }
        for name in ["get_account", "set_settings", "list_commands", "format_date", "run_query"] {
            assert!(!is_like_a_forbidden(name), "{name}");
        }
        for name in ["deleteAccountNote", "account", "formatDate", "undeleteAccount", ""] {
            assert!(!is_forbidden(name), "{name}");
        }
    }
}
