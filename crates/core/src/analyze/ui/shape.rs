//! Placeholders that show the form of what is asked for instead of its name.

use super::field::Ask;

/// What a placeholder of this form asks for.
#[must_use]
pub(super) fn of(placeholder: &str) -> Option<Ask> {
    let text = placeholder.trim();
    if text.len() > 128 {
        return None;
    }
    let groups: Vec<&str> = text.split([' ', '-']).filter(|group| !group.is_empty()).collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.chars().count()).collect();
    let stands = |char: char| char.is_ascii_digit() || matches!(char, 'X' | 'x' | '#' | '_');
    let filled = groups.iter().all(|group| group.chars().all(|char| stands(char) || is_dot(char)));
    match lengths.as_slice() {
        [4, 4, 4, 4] if filled => Some(Ask::Finance),
        [3, 2, 4] if filled && text.contains('-') => Some(Ask::Identity),
        _ if is_account(&groups) => Some(Ask::Finance),
        [only] if *only >= 6 && text.chars().all(is_dot) => Some(Ask::Password),
        _ => None,
    }
}

/// A sign that stands for a letter nobody shall see.
const fn is_dot(char: char) -> bool {
    matches!(char, '•' | '●' | '∙' | '·' | '*' | '⬤')
}

/// `DE00 0000 …`: two letters of a country, two digits, and groups of four.
fn is_account(groups: &[&str]) -> bool {
    let Some((first, rest)) = groups.split_first() else { return false };
    let country = matches!(first.as_bytes(), [a, b, c, d]
        if a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit());
    let four =
        |group: &&str| group.len() <= 4 && group.bytes().all(|byte| byte.is_ascii_alphanumeric());
    country && rest.len() >= 3 && rest.iter().all(four)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_tells_what_is_asked_for() {
        for (text, ask) in [
            ("1234 5678 9012 3456", Some(Ask::Finance)),
            ("XXXX-XXXX-XXXX-XXXX", Some(Ask::Finance)),
            ("XXX-XX-XXXX", Some(Ask::Identity)),
            ("DE00 0000 0000 0000 0000 00", Some(Ask::Finance)),
            ("••••••••", Some(Ask::Password)),
            ("********", Some(Ask::Password)),
            ("555-0100", None),
            ("+49 30 1234 5678", None),
            ("2024-01-31", None),
            ("***", None),
            ("Your name", None),
        ] {
            assert_eq!(of(text), ask, "{text}");
        }
    }
}
