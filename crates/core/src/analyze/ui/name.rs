//! Identifiers of programmers, split into words.

use super::fold::fold;

/// Folds an identifier: `cardNumber`, `card_number` and `CARD-NUMBER` become `card number`.
#[must_use]
pub(super) fn fold_name(name: &str, most: usize) -> String {
    let mut spaced = String::with_capacity(name.len().min(most).saturating_add(8));
    let mut before = ' ';
    let mut chars = name.chars().peekable();
    while let Some(char) = chars.next() {
        if spaced.len() >= most {
            break;
        }
        let next_small = chars.peek().is_some_and(|next| next.is_lowercase());
        let hump = char.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit());
        let last_of_capitals = char.is_uppercase() && before.is_uppercase() && next_small;
        let number = char.is_ascii_digit() && before.is_alphabetic();
        if hump || last_of_capitals || number {
            spaced.push(' ');
        }
        spaced.push(char);
        before = char;
    }
    fold(&spaced, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_apart_where_their_author_joined_them() {
        for name in ["cardNumber", "card_number", "CARD-NUMBER", "card.number", "CardNumber"] {
            assert_eq!(fold_name(name, 99), "card number", "{name}");
        }
        assert_eq!(fold_name("userPWD2", 99), "user pwd 2");
        assert_eq!(fold_name("SSNField", 99), "ssn field");
    }
}
