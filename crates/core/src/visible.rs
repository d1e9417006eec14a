//! Texts of an agent, made safe to display: nothing in them moves a cursor, or hides or reorders
//! the text around them.

use std::borrow::Cow;

/// The text with its line breaks, and every other invisible character made visible.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    escape(text, |char| char == '\n')
}

/// The text on one line, with everything invisible made visible.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

fn escape(text: &str, keep: fn(char) -> bool) -> Cow<'_, str> {
    let hidden = |char: char| is_invisible(char) && !keep(char);
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().saturating_add(16));
    for char in text.chars() {
        if hidden(char) {
            out.extend(char.escape_default());
        } else {
            out.push(char);
        }
    }
    Cow::Owned(out)
}

/// Reports whether a character is a control, a zero-width character, a filler, a line separator, or
/// one that changes the order of others.
#[must_use]
pub fn is_invisible(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_could_fool_a_reader_is_left() {
        assert_eq!(
            one_line("a\x1b[2Kb\r\nc\u{202e}d\u{200b}"),
            r"a\u{1b}[2Kb\r\nc\u{202e}d\u{200b}"
        );
        assert_eq!(visible("a\nb\x07"), "a\nb\\u{7}");
        assert_eq!(one_line("größe 日本 🎉"), "größe 日本 🎉");
    }
}
