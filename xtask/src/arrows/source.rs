//! The words of a Rust source file, without comments, texts and tests.

/// One word or sign of the source; `::` is one sign.
pub(super) type Token<'a> = &'a str;

/// The keywords with which an item begins.
const ITEMS: &[&str] = &[
    "mod", "fn", "impl", "use", "struct", "enum", "const", "static", "type", "trait", "async",
    "extern",
];

/// A source file, read for the paths in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Source<'a> {
    /// The tokens outside of `#[cfg(test)]`.
    pub(super) tokens: Vec<Token<'a>>,
    /// The modules that are declared for tests only, each in a file of its own.
    pub(super) test_modules: Vec<&'a str>,
}

impl<'a> Source<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let all = tokens(text);
        let mut source = Self::default();
        let mut rest = all.as_slice();
        while let Some((&token, behind)) = rest.split_first() {
            if let Some(item) = test_item(rest) {
                if let [.., "mod", name, ";"] = item.head {
                    source.test_modules.push(name);
                }
                rest = item.rest;
            } else {
                source.tokens.push(token);
                rest = behind;
            }
        }
        source
    }
}

/// An item that is compiled for tests only.
struct TestItem<'t, 'a> {
    /// The item, up to its block or semicolon.
    head: &'t [Token<'a>],
    rest: &'t [Token<'a>],
}

/// Returns the item at the front if it is marked `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn test_item<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<TestItem<'t, 'a>> {
    let ["#", "[", "cfg", "(", marks @ ..] = tokens else { return None };
    let (["test", ..] | ["all", "(", "test", ..]) = marks else { return None };
    let mut item = tokens;
    while let ["#", "[", ..] = item {
        item = item.get(closed(item.get(1..)?)? + 1..)?;
    }
    let unmarked = match item {
        ["pub", "(", ..] => item.get(closed(item.get(1..)?)? + 1..)?,
        ["pub", rest @ ..] => rest,
        other => other,
    };
    if !unmarked.first().is_some_and(|first| ITEMS.contains(first)) {
        return None;
    }
    let (mut at, mut depth) = (0_usize, 0_usize);
    loop {
        match *item.get(at)? {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            ";" if depth == 0 => {
                return Some(TestItem { head: item.get(..=at)?, rest: item.get(at + 1..)? });
            }
            "{" if depth == 0 => {
                let end = at + closed(item.get(at..)?)?;
                return Some(TestItem { head: item.get(..at)?, rest: item.get(end..)? });
            }
            _ => {}
        }
        at += 1;
    }
}

/// Returns the number of tokens up to the end of the bracket at the front, that one included.
fn closed(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Splits a source into its tokens.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = skipped(rest);
        if skipped > 0 {
            rest = rest.get(skipped..).unwrap_or_default();
            continue;
        }
        let length = match first {
            ':' if rest.starts_with("::") => 2,
            first if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        tokens.push(token);
        rest = behind;
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the space, comment or literal at the front, or 0.
fn skipped(text: &str) -> usize {
    let first = text.chars().next().unwrap_or_default();
    match first {
        c if c.is_whitespace() => c.len_utf8(),
        '/' if text.starts_with("//") => text.find('\n').unwrap_or(text.len()),
        '/' if text.starts_with("/*") => comment(text),
        '"' => quoted(text, 1),
        'b' | 'c' if text.get(1..2) == Some("\"") => quoted(text, 2),
        'b' | 'c' | 'r' => raw(text),
        '\'' => character(text),
        _ => 0,
    }
}

/// Returns the length of a block comment, which may hold others.
fn comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let step = match rest {
            rest if rest.starts_with("/*") => {
                depth += 1;
                2
            }
            rest if rest.starts_with("*/") => {
                depth = depth.saturating_sub(1);
                2
            }
            rest => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += step;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Returns the length of a text whose content begins at `from`.
fn quoted(text: &str, from: usize) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < from) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a raw text such as `r#"…"#`, or 0.
fn raw(text: &str) -> usize {
    let Some(rest) = text.trim_start_matches(['b', 'c']).strip_prefix('r') else { return 0 };
    let prefix = text.len() - rest.len();
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let Some(content) = rest.get(hashes..).and_then(|rest| rest.strip_prefix('"')) else {
        return 0;
    };
    let end = format!("\"{}", "#".repeat(hashes));
    match content.find(&end) {
        Some(at) if prefix <= 2 => prefix + hashes + 1 + at + end.len(),
        _ => 0,
    }
}

/// Returns the length of a character, or 0 before a lifetime.
fn character(text: &str) -> usize {
    let content = text.get(1..).unwrap_or_default();
    if let Some(escape) = content.strip_prefix('\\') {
        let more = escape.chars().next().map_or(0, char::len_utf8);
        let end = escape.get(more..).and_then(|rest| rest.find('\''));
        return end.map_or(0, |at| 2 + more + at + 1);
    }
    let mut characters = content.chars();
    match (characters.next(), characters.next()) {
        (Some(c), Some('\'')) => 1 + c.len_utf8() + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_not_tokens() {
        let text = "a /* crate::b /* c */ */ \"crate::d\\\"\" r#\"crate::e\"\"# 'x' '\\'' &'f g // crate::h\n::i";
        assert_eq!(tokens(text), ["a", "&", "'", "f", "g", "::", "i"]);
    }

    #[test]
    fn what_is_for_tests_is_left_out() {
        let text = "use a::B; #[cfg(test)] mod tests { fn f() { crate::x(); } } #[cfg(test)]
            #[path = \"y.rs\"] pub(crate) mod other; #[cfg(not(test))] fn kept() {}
            #[cfg(all(test, unix))] fn gone(_: [u8; 3]) { g() } struct Last;";
        let source = Source::read(text);
        assert_eq!(source.test_modules, ["other"]);
        assert_eq!(
            source.tokens.join(" "),
            "use a :: B ; # [ cfg ( not ( test ) ) ] fn kept ( ) { } struct Last ;"
        );
    }
}
