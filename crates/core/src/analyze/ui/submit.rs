//! The Enter key: fields in which pressing it, or typing a text that ends in it, sends a form.

use super::field::{self, Ask};
use crate::action::Field;

/// Reports whether the typed text ends by pressing Enter.
#[must_use]
pub(super) fn ends_in_enter(text: &str) -> bool {
    let named = |end: &str| {
        let start = text.len().checked_sub(end.len());
        start.and_then(|at| text.get(at..)).is_some_and(|last| last.eq_ignore_ascii_case(end))
    };
    text.ends_with(['\n', '\r'])
        || ["{enter}", "<enter>", "{return}", "<return>", "[enter]"].into_iter().any(named)
}

/// Whether this, folded, is a key or several held together, and not the label of a button.
#[must_use]
pub(super) fn is_key(folded: &str) -> bool {
    const KEYS: [&str; 40] = [
        "alt",
        "arrow",
        "arrowdown",
        "arrowleft",
        "arrowright",
        "arrowup",
        "backspace",
        "capslock",
        "clear",
        "cmd",
        "command",
        "control",
        "ctrl",
        "del",
        "delete",
        "down",
        "end",
        "enter",
        "esc",
        "escape",
        "fn",
        "home",
        "insert",
        "left",
        "meta",
        "numpadenter",
        "option",
        "page",
        "pagedown",
        "pageup",
        "pause",
        "printscreen",
        "return",
        "right",
        "shift",
        "space",
        "super",
        "tab",
        "up",
        "win",
    ];
    let function = |word: &str| {
        word.strip_prefix('f').is_some_and(|number| number.parse::<u8>().is_ok_and(|n| n <= 24))
    };
    folded.split(' ').all(|word| {
        word.chars().count() <= 1 || KEYS.binary_search(&word).is_ok() || function(word)
    })
}

/// Whether Enter in this field sends the form around it. A search is a question to the page, and
/// in a text of several lines Enter is a letter; a field nobody describes may be any.
#[must_use]
pub(super) fn sends(field: Option<&Field>) -> bool {
    let Some(field) = field else { return true };
    let role = field.role.as_deref().unwrap_or_default();
    let kind = field.kind.as_deref().unwrap_or_default();
    let is = |text: &str, known: &[&str]| known.iter().any(|one| text.eq_ignore_ascii_case(one));
    let lines = is(kind, &["textarea"]) || is(role, &["textarea", "document", "code", "listbox"]);
    if lines || is(kind, &["search"]) || is(role, &["searchbox", "search", "combobox"]) {
        return false;
    }
    !searches(field)
}

/// Reports whether the field's description says that it is for a search.
fn searches(field: &Field) -> bool {
    let says = |text: &Option<String>| {
        text.as_deref().is_some_and(|text| {
            let folded = super::name::fold_name(text, 64);
            folded.split(' ').any(|word| matches!(word, "search" | "query" | "q" | "find"))
        })
    };
    let named = [&field.name, &field.id, &field.label, &field.placeholder, &field.aria_label];
    let secret = matches!(
        field::asks(None, Some(field)),
        Some(Ask::Password | Ask::Finance | Ask::Identity | Ask::Code)
    );
    !secret && named.into_iter().any(says)
}
