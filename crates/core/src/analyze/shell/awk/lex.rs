//! The tokens of an awk program.

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or keyword.
    Name(String),
    /// A string, without its quotes and escapes.
    Text(String),
    Number(String),
    /// A regular expression between slashes.
    Pattern(String),
    /// An operator or bracket.
    Mark(&'static str),
    /// The end of a line.
    Line,
    /// A character that is not part of any token.
    Other,
}

/// Operators, the longest first.
const MARKS: &[&str] = &[
    "**=", ">>", "&&", "||", "|&", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "^=",
    "++", "--", "!~", "**", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^",
    "!", ">", "<", "|", "?", ":", "~", "$", "=", "@", "&",
];

/// The tokens of a program.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub(super) tokens: Vec<Token>,
    /// True when a string or a regular expression does not end.
    pub(super) broken: bool,
}

/// Splits a program into its tokens.
pub(super) fn tokens(program: &str) -> Tokens {
    let mut out = Tokens::default();
    let mut rest = program;
    while let Some(char) = rest.chars().next() {
        let tail = rest.get(char.len_utf8()..).unwrap_or_default();
        rest = match char {
            '\n' => push(&mut out, Token::Line, tail),
            '\\' if tail.trim_start_matches('\r').starts_with('\n') => {
                tail.trim_start_matches('\r').get(1..).unwrap_or_default()
            }
            '#' => tail.find('\n').and_then(|at| tail.get(at..)).unwrap_or_default(),
            '"' => {
                let (text, after) = quoted(tail, '"', &mut out.broken);
                push(&mut out, Token::Text(unescaped(text)), after)
            }
            '/' if pattern_may_start(out.tokens.last()) => {
                let (text, after) = pattern(tail, &mut out.broken);
                push(&mut out, Token::Pattern(text.to_owned()), after)
            }
            char if char.is_whitespace() => tail,
            char if char.is_ascii_digit() || (char == '.' && starts_with_digit(tail)) => {
                let (number, after) =
                    split_while(rest, |char| char.is_ascii_alphanumeric() || char == '.');
                push(&mut out, Token::Number(number.to_owned()), after)
            }
            char if char.is_alphabetic() || char == '_' => {
                let (name, after) =
                    split_while(rest, |char| char.is_alphanumeric() || "_:".contains(char));
                let name =
                    if name.contains("::") { name } else { name.split(':').next().unwrap_or(name) };
                let after = rest.get(name.len()..).unwrap_or(after);
                push(&mut out, Token::Name(name.to_owned()), after)
            }
            _ => match MARKS.iter().find(|mark| rest.starts_with(**mark)) {
                Some(mark) => {
                    push(&mut out, Token::Mark(mark), rest.get(mark.len()..).unwrap_or_default())
                }
                None => push(&mut out, Token::Other, tail),
            },
        };
    }
    out
}

fn push<'t>(out: &mut Tokens, token: Token, rest: &'t str) -> &'t str {
    out.tokens.push(token);
    rest
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_digit())
}

fn split_while(text: &str, holds: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|char| !holds(char)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Reports whether a slash starts a regular expression: after an operand it divides.
fn pattern_may_start(before: Option<&Token>) -> bool {
    match before {
        Some(Token::Name(name)) => matches!(
            name.as_str(),
            "print" | "printf" | "return" | "in" | "case" | "else" | "do" | "getline"
        ),
        Some(Token::Text(_) | Token::Number(_) | Token::Pattern(_) | Token::Other) => false,
        Some(Token::Mark(mark)) => !matches!(*mark, ")" | "]" | "$" | "++" | "--"),
        Some(Token::Line) | None => true,
    }
}

/// Splits a text at the closing delimiter, escapes included.
fn quoted<'t>(text: &'t str, mark: char, broken: &mut bool) -> (&'t str, &'t str) {
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            char if char == mark => {
                let after = text.get(at + char.len_utf8()..).unwrap_or_default();
                return (text.get(..at).unwrap_or_default(), after);
            }
            _ => {}
        }
    }
    *broken = true;
    (text, "")
}

/// Splits a text at the end of a regular expression; a slash between brackets does not end it.
fn pattern<'t>(text: &'t str, broken: &mut bool) -> (&'t str, &'t str) {
    let (mut escaped, mut class) = (false, None);
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => break,
            '[' if class.is_none() => class = Some(at),
            // `[]x]` and `[^]x]` contain the bracket itself.
            ']' if class.is_some_and(|open| {
                text.get(open + 1..at).is_some_and(|held| !matches!(held, "" | "^"))
            }) =>
            {
                class = None;
            }
            '/' if class.is_none() => {
                return (
                    text.get(..at).unwrap_or_default(),
                    text.get(at + 1..).unwrap_or_default(),
                );
            }
            _ => {}
        }
    }
    // Not every awk supports character classes: there the first slash ends it.
    if class.is_some() {
        let mut ignored = false;
        let (text, after) = quoted(text, '/', &mut ignored);
        *broken |= ignored;
        return (text, after);
    }
    *broken = true;
    (text, "")
}

/// Decodes a string's escapes: `
/// `, `\162`, `\x72`, `\"`.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        let (base, most) = match chars.peek() {
            Some('0'..='7') => (8, 3),
            Some('x') => (16, 2),
            _ => {
                match chars.next() {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('r') => out.push('\r'),
                    Some('a' | 'b' | 'f' | 'v') | None => out.push(' '),
                    Some('\n') => {}
                    Some(other) => out.push(other),
                }
                continue;
            }
        };
        if base == 16 {
            chars.next();
        }
        let mut value = 0;
        for _ in 0..most {
            let Some(digit) = chars.peek().and_then(|char| char.to_digit(base)) else { break };
            value = value * base + digit;
            chars.next();
        }
        out.extend(char::from_u32(value));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_divides_after_an_operand_and_opens_a_pattern_elsewhere() {
        let found = tokens("/a\\/b[/]/ { x = $1 / 2 / y }");
        assert!(!found.broken);
        assert_eq!(found.tokens.first(), Some(&Token::Pattern("a\\/b[/]".to_owned())));
        assert_eq!(found.tokens.iter().filter(|token| **token == Token::Mark("/")).count(), 2);
    }

    #[test]
    fn strings_lose_their_escapes() {
        assert_eq!(unescaped(r#"\162\x6d \"x\""#), "rm \"x\"");
        assert!(tokens("BEGIN { print \"x }").broken);
    }
}
