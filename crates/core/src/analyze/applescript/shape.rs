//! The statements that open, divide or close a block.

use super::lex::{Kind, Token};

/// A kind of block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    /// `tell … end tell`
    Tell,
    /// `if … end if`
    If,
    /// `repeat … end repeat`
    Repeat,
    /// `try … end try`
    Try,
    /// `on name() … end name`
    Handler,
    /// `script … end script`
    Script,
    /// `using terms from … end using terms from`
    Using,
    /// `considering … end considering`
    Considering,
    /// `ignoring … end ignoring`
    Ignoring,
    /// `with timeout … end timeout`
    Timeout,
    /// `with transaction … end transaction`
    Transaction,
}

impl Block {
    /// Returns the name of the block, as errors show it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tell => "tell",
            Self::If => "if",
            Self::Repeat => "repeat",
            Self::Try => "try",
            Self::Handler => "handler",
            Self::Script => "script",
            Self::Using => "using terms from",
            Self::Considering => "considering",
            Self::Ignoring => "ignoring",
            Self::Timeout => "with timeout",
            Self::Transaction => "with transaction",
        }
    }
}

/// The effect of a statement on the blocks around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Opens this block.
    Opens(Block),
    /// Divides this block: `else`, `on error`.
    Divides(Block),
    /// Closes this block; `None` when the statement does not name one.
    Closes(Option<Block>),
    /// None of these.
    Plain,
}

/// Returns the effect of a statement on the blocks around it. `inside` is the innermost open one.
pub(crate) fn shape(statement: &[Token<'_>], inside: Option<Block>) -> Shape {
    let mut rest = statement;
    loop {
        let word = |at: usize| rest.get(at).map_or("", |token| token.word());
        return match (word(0), word(1)) {
            ("tell", _) => match after_word(rest, "to") {
                // `tell a to tell b` opens the block of its last part.
                Some(after) if !after.is_empty() => {
                    rest = after;
                    continue;
                }
                _ => Shape::Opens(Block::Tell),
            },
            ("if", _) => match after_word(rest, "then") {
                Some(after) if !after.is_empty() => Shape::Plain,
                _ => Shape::Opens(Block::If),
            },
            ("else", _) => Shape::Divides(Block::If),
            ("on", "error") if inside == Some(Block::Try) => Shape::Divides(Block::Try),
            ("repeat", _) => Shape::Opens(Block::Repeat),
            ("try", _) => Shape::Opens(Block::Try),
            ("using", "terms") => Shape::Opens(Block::Using),
            ("considering", _) => Shape::Opens(Block::Considering),
            ("ignoring", _) => Shape::Opens(Block::Ignoring),
            ("with", "timeout") => Shape::Opens(Block::Timeout),
            ("with", "transaction") => Shape::Opens(Block::Transaction),
            ("on" | "to", _) if rest.len() > 1 => Shape::Opens(Block::Handler),
            ("script", _) if rest.get(1).is_none_or(|token| token.kind != Kind::Text) => {
                Shape::Opens(Block::Script)
            }
            ("end", "of") => Shape::Plain,
            ("end", closed) => Shape::Closes(closes(closed, rest.len())),
            _ => Shape::Plain,
        };
    }
}

fn closes(word: &str, tokens: usize) -> Option<Block> {
    Some(match word {
        "" if tokens < 2 => return None,
        "tell" => Block::Tell,
        "if" => Block::If,
        "repeat" => Block::Repeat,
        "try" | "error" => Block::Try,
        "script" => Block::Script,
        "using" => Block::Using,
        "considering" => Block::Considering,
        "ignoring" => Block::Ignoring,
        "timeout" => Block::Timeout,
        "transaction" => Block::Transaction,
        _ => Block::Handler,
    })
}

/// Returns the tokens after the first such word that is not in brackets.
pub(crate) fn after_word<'t, 'a>(tokens: &'t [Token<'a>], word: &str) -> Option<&'t [Token<'a>]> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Sign if matches!(&*token.text, "(" | "{") => depth += 1,
            Kind::Sign if matches!(&*token.text, ")" | "}") => depth = depth.saturating_sub(1),
            Kind::Word if depth == 0 && token.text == word => return tokens.get(at + 1..),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::lex::lex;
    use super::*;

    fn of(statement: &str) -> Shape {
        shape(&lex(statement).tokens, None)
    }

    #[test]
    fn one_line_forms_open_nothing() {
        for statement in [
            "tell application \"Finder\" to activate",
            "tell app \"A\" to tell window 1 to close",
            "if x then beep",
            "set end of x to 1",
            "end of x",
            "script \"Lib\"'s go()",
        ] {
            assert_eq!(of(statement), Shape::Plain, "{statement}");
        }
    }

    #[test]
    fn blocks_open_and_close_by_name() {
        for (statement, shape) in [
            ("tell application \"Finder\"", Shape::Opens(Block::Tell)),
            ("tell app \"A\" to tell window (x to y)", Shape::Opens(Block::Tell)),
            ("if x then", Shape::Opens(Block::If)),
            ("repeat 3 times", Shape::Opens(Block::Repeat)),
            ("on go(a, b)", Shape::Opens(Block::Handler)),
            ("to go()", Shape::Opens(Block::Handler)),
            ("with timeout of 3 seconds", Shape::Opens(Block::Timeout)),
            ("else if y then", Shape::Divides(Block::If)),
            ("end tell", Shape::Closes(Some(Block::Tell))),
            ("end", Shape::Closes(None)),
            ("end go", Shape::Closes(Some(Block::Handler))),
        ] {
            assert_eq!(of(statement), shape, "{statement}");
        }
        let error = lex("on error number 1");
        assert_eq!(shape(&error.tokens, Some(Block::Try)), Shape::Divides(Block::Try));
    }
}
