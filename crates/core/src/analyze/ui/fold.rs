//! One spelling for each word: small letters, one space between words, nothing that cannot be seen.
//!
//! The lexicon is folded by this very code when it is compiled, so that both sides agree.

/// Folds a text into words with one space between them, and stops after about that many bytes.
#[must_use]
pub(super) fn fold(text: &str, most: usize) -> String {
    let mut folded = String::with_capacity(text.len().min(most).saturating_add(8));
    let mut gap = false;
    for char in text.chars() {
        if folded.len() >= most {
            break;
        }
        if is_invisible(char) {
            continue;
        }
        let char = narrow(char);
        if let Some(base) = folded.chars().next_back().filter(|_| !gap)
            && let Some(composed) = compose(base, char)
        {
            folded.pop();
            folded.push(composed);
            continue;
        }
        if !is_word(char) {
            gap = true;
            continue;
        }
        if gap && !folded.is_empty() {
            folded.push(' ');
        }
        gap = false;
        for small in char.to_lowercase() {
            folded.push(if small == 'ё' { 'е' } else { small });
        }
    }
    folded
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == 'ー'
}

/// Soft hyphens, joiners and marks of direction split a word for a machine and not for a person.
const fn is_invisible(char: char) -> bool {
    matches!(char, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2064}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

/// Full-width letters and digits in their usual width.
fn narrow(char: char) -> char {
    match char {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(char) - 0xFEE0).unwrap_or(char),
        _ => char,
    }
}

/// A letter and the mark over it, as macOS writes them, in one.
fn compose(base: char, mark: char) -> Option<char> {
    let pairs = match mark {
        '\u{300}' => "aàeèiìoòuù",
        '\u{301}' => "aáeéiíoóuúyýcćnńsśzź",
        '\u{302}' => "aâeêiîoôuû",
        '\u{303}' => "aãnñoõ",
        '\u{306}' => "ий",
        '\u{307}' => "zż",
        '\u{308}' => "aäeëiïoöuüе\u{435}",
        '\u{327}' => "cç",
        '\u{328}' => "aąeę",
        _ => return None,
    };
    let mut chars = pairs.chars();
    while let (Some(from), Some(to)) = (chars.next(), chars.next()) {
        if from == base {
            return Some(to);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_is_the_same_however_it_was_typed() {
        assert_eq!(fold("  Delete — ACCOUNT… ", 99), "delete account");
        assert_eq!(fold("Lo\u{308}schen", 99), "löschen");
        assert_eq!(fold("De\u{200B}lete", 99), "delete");
        assert_eq!(fold("ＰＩＮ　番号", 99), "pin 番号");
        assert_eq!(fold("Don’t", 99), "don t");
    }

    #[test]
    fn long_texts_are_cut() {
        assert!(fold(&"x".repeat(1 << 20), 100).len() < 110);
        assert!(fold(&" ".repeat(1 << 20), 100).is_empty());
    }
}
