//! The output of awk, and its destination.

use std::collections::BTreeSet;

use super::lex::Token;
use super::read::{Event, Reader};
use super::text::{Text, Values};

/// The number of tokens that are searched for the end of a list.
const MOST_WORDS: usize = 4_096;

impl Reader<'_> {
    /// Follows `print a, b > "file"` and `printf("%s", x) | "command"`.
    pub(super) fn print(&mut self, formatted: bool) {
        let outer = std::mem::replace(&mut self.in_print, true);
        let mut parts = if self.is("(") && self.list_ends_the_words() {
            self.at += 1;
            self.in_print = false;
            let parts = self.list(")");
            self.in_print = true;
            parts
        } else {
            self.list("")
        };
        if parts.is_empty() && !formatted {
            parts.push(Values::unknown());
        }
        let text = if formatted { super::function::format(&parts) } else { joined(&parts) };
        self.print_to(&text);
        self.in_print = outer;
    }

    fn print_to(&mut self, text: &Values) {
        let mark = match self.token() {
            Some(Token::Mark(mark @ (">" | ">>" | "|" | "|&"))) => *mark,
            _ => return self.printed(text),
        };
        self.at += 1;
        let target = self.concatenation();
        match mark {
            "|" | "|&" => self.command(&target, Some(text)),
            _ => {
                let content = match text.iter().next() {
                    Some(only) if text.only().is_some() => only.clone(),
                    _ => Text::unknown(),
                };
                for path in target.iter() {
                    let (path, content) = (path.clone(), content.clone());
                    self.event(match mark {
                        ">" => Event::Write { path, content },
                        _ => Event::Append { path, content },
                    });
                }
            }
        }
    }

    fn printed(&mut self, text: &Values) {
        match (&mut self.printed, text.only()) {
            (Some(printed), Some(text)) if printed.len() < 64 * 1024 => printed.push_str(text),
            _ => self.printed = None,
        }
    }

    /// Reports whether the bracket that opens here closes at the end of the arguments of `print`.
    fn list_ends_the_words(&self) -> bool {
        let mut open = 0_usize;
        for (at, token) in self.tokens.iter().enumerate().skip(self.at).take(MOST_WORDS) {
            match token {
                Token::Mark("(") => open += 1,
                Token::Mark(")") => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        return matches!(
                            self.tokens.get(at + 1),
                            None | Some(
                                Token::Line | Token::Mark(";" | "}" | ">" | ">>" | "|" | "|&")
                            )
                        );
                    }
                }
                _ => {}
            }
        }
        false
    }
}

/// Returns the output of `print`: its arguments separated by spaces, and a newline.
fn joined(parts: &[Values]) -> Values {
    let mut out = Values::known("");
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out = out.then(&Values::known(" "));
        }
        out = out.then(part);
    }
    out.then(&Values::known("\n"))
}

/// Reports whether every statement runs, once or once for each line.
pub(super) fn is_straight(tokens: &[Token]) -> bool {
    const TURNS: &[&str] = &[
        "if", "while", "for", "do", "function", "func", "switch", "getline", "exit", "next",
        "nextfile", "delete",
    ];
    let turns: BTreeSet<&str> = TURNS.iter().copied().collect();
    let mut depth = 0_usize;
    let mut prints = false;
    for token in tokens {
        match token {
            Token::Name(name) if turns.contains(name.as_str()) => return false,
            Token::Name(name) if depth == 0 && !matches!(name.as_str(), "BEGIN" | "END") => {
                return false;
            }
            Token::Name(name) => prints |= matches!(name.as_str(), "print" | "printf"),
            Token::Mark("{") => depth += 1,
            Token::Mark("}") => depth = depth.saturating_sub(1),
            Token::Line | Token::Mark(";") => {}
            Token::Mark("?") => return false,
            _ if depth == 0 => return false,
            _ => {}
        }
    }
    prints
}
