//! Actions known only by their name.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::action::Action;
use crate::analyze::purpose::{self, Effect, Purpose};
use crate::analyze::{Analysis, arguments, whole};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::place::Scene;

/// What no agent may do, whoever agrees; compared by letters alone.
const FORBIDDEN: [&str; 6] = [
    "accessterminal",
    "deleteaccount",
    "formatdisk",
    "installsoftware",
    "modifysystemsettings",
    "runshellcommands",
];

/// What a named action says it does.
#[must_use]
pub fn analyze(action: &Action, scene: &Scene<'_>) -> Analysis {
    let Action::Named { name, params } = action else { return Analysis::default() };
    let span = whole(name);
    if action.is_question() {
        // What it says is for a person to read: nothing acts on it.
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

/// What the agent says about the risk may raise it and never lowers it.
fn question(params: &BTreeMap<String, Value>) -> FactKind {
    match params.get("risk_level").and_then(Value::as_str) {
        Some("high" | "critical") => FactKind::NamedGraveQuestion,
        Some(_) | None => FactKind::NamedQuestion,
    }
}

/// Whether the name is forbidden, in any spelling: case, separators, full-width letters, a
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

/// Full-width letters are letters; what takes no room is nothing.
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
        for name in ["deleteAccountNote", "account", "formatDate", "undeleteAccount", ""] {
            assert!(!is_forbidden(name), "{name}");
        }
    }
}
