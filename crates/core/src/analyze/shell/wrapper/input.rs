//! Words that `xargs` and `parallel` read from a stream.

use super::super::value::{Arg, Stream};
use crate::fact::Tag;

/// Returns the lines that would be read from a stream.
pub(super) fn lines_of(stdin: &Stream, end: char) -> Vec<Arg> {
    const MOST: usize = 32;
    let Some(text) = &stdin.text else { return vec![Arg::unknown(stdin.taint)] };
    let line = |line: &str| Arg { text: line.to_owned(), taint: stdin.taint, ..Arg::default() };
    let mut lines: Vec<_> =
        text.split(end).filter(|line| !line.is_empty()).take(MOST).map(line).collect();
    if lines.len() == MOST {
        lines.push(Arg::unknown(stdin.taint.with(Tag::Many)));
    }
    lines
}

/// Returns the lines that `xargs -I` puts in place of its placeholder: without leading blanks,
/// quotes and backslashes.
pub(super) fn unquoted_lines_of(stdin: &Stream) -> Vec<Arg> {
    let unquoted = |line: Arg| match unquoted(line.text.trim_start(), |_| false).as_deref() {
        Some([]) => line.saying(""),
        Some([text]) => line.saying(text.clone()),
        _ => Arg::unknown(line.taint),
    };
    lines_of(stdin, '\n').into_iter().map(unquoted).collect()
}

/// Returns the words that `xargs` reads from a stream.
pub(super) fn words_of(stdin: &Stream) -> Vec<Arg> {
    const MOST: usize = 256;
    let taint = stdin.taint;
    let Some(text) = &stdin.text else { return vec![Arg { glob: true, ..Arg::unknown(taint) }] };
    let Some(words) = unquoted(text, char::is_whitespace) else {
        return vec![Arg::unknown(taint)];
    };
    let many = words.len() > MOST;
    let words = words.into_iter().take(MOST);
    let mut words: Vec<_> = words.map(|text| Arg { text, taint, ..Arg::default() }).collect();
    if many {
        words.push(Arg::unknown(taint.with(Tag::Many)));
    }
    words
}

/// Splits a text into words, without quotes and backslashes; `None` where a quote does not end.
fn unquoted(text: &str, ends: impl Fn(char) -> bool) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\'' | '"' => {
                let (quoted, rest) = chars.as_str().split_once(char)?;
                if quoted.contains('\n') {
                    return None;
                }
                chars = rest.chars();
                word.get_or_insert_default().push_str(quoted);
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            char if ends(char) => words.extend(word.take()),
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_taken_away() {
        let words = |text: &str| unquoted(text, char::is_whitespace);
        assert_eq!(words("a 'b c' \\d\"e\"\n").unwrap(), ["a", "b c", "de"]);
        assert_eq!(words("a 'b"), None);
        assert_eq!(words("'"), None);
    }
}
