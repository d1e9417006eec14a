//! Tokens with their offsets in the text, without space and comments.

use sqlparser::tokenizer::{Location, Token, Tokenizer};

use super::flavour::Flavour;
use super::span_of;
use crate::verdict::Span;

/// One token and its byte offsets.
#[derive(Debug, Clone)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Returns every token that is not space or comment; `None` where a quote or comment never ends.
pub(super) fn read(text: &str, flavour: Flavour) -> Option<Vec<Lexeme>> {
    let dialect = flavour.dialect();
    let tokens = Tokenizer::new(&*dialect, text).tokenize_with_location().ok()?;
    let mut offsets =
        Offsets { chars: text.char_indices(), line: 1, column: 1, length: text.len() };
    let mut lexemes = Vec::new();
    for spanned in tokens {
        if matches!(spanned.token, Token::Whitespace(_) | Token::EOF) {
            continue;
        }
        let start = offsets.offset(spanned.span.start);
        let end = offsets.offset(spanned.span.end);
        lexemes.push(Lexeme { token: spanned.token, start, end });
    }
    Some(lexemes)
}

/// Converts lines and columns, requested in order, to byte offsets.
struct Offsets<'a> {
    chars: std::str::CharIndices<'a>,
    line: u64,
    column: u64,
    length: usize,
}

impl Offsets<'_> {
    fn offset(&mut self, to: Location) -> usize {
        while (self.line, self.column) < (to.line, to.column) {
            match self.chars.next() {
                Some((_, '\n')) => {
                    self.line += 1;
                    self.column = 1;
                }
                Some(_) => self.column += 1,
                None => return self.length,
            }
        }
        self.chars.offset()
    }
}

/// Returns the span from the first token to the last.
pub(super) fn span(run: &[Lexeme]) -> Option<Span> {
    span_of(run.first()?.start, run.last()?.end)
}

/// Returns the text of a span.
pub(super) fn slice(text: &str, span: Option<Span>) -> &str {
    span.and_then(|[start, end]| text.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?))
        .unwrap_or_default()
}

/// Returns the beginning of a statement, on one line.
pub(super) fn shorten(text: &str) -> String {
    const MOST_WORDS: usize = 12;
    const MOST_CHARS: usize = 100;
    let words: Vec<_> = text.split_whitespace().take(MOST_WORDS).collect();
    words.join(" ").chars().take(MOST_CHARS).collect()
}

impl Lexeme {
    /// Returns an unquoted word in capitals, otherwise an empty string.
    pub(super) fn word(&self) -> String {
        match &self.token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
            _ => String::new(),
        }
    }

    /// Reports whether this is the unquoted word, given in capitals.
    pub(super) fn is(&self, wanted: &str) -> bool {
        matches!(&self.token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
    }

    /// Reports whether this is one of these unquoted words, given in capitals.
    pub(super) fn is_any(&self, wanted: &[&str]) -> bool {
        wanted.iter().any(|wanted| self.is(wanted))
    }

    /// Returns a name, quoted or not, in lower case.
    pub(super) fn name(&self) -> Option<String> {
        match &self.token {
            Token::Word(word) => Some(word.value.to_ascii_lowercase()),
            _ => None,
        }
    }

    /// Returns the content of a string.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.token {
            Token::SingleQuotedString(text)
            | Token::DoubleQuotedString(text)
            | Token::TripleSingleQuotedString(text)
            | Token::TripleDoubleQuotedString(text)
            | Token::NationalStringLiteral(text)
            | Token::EscapedStringLiteral(text)
            | Token::UnicodeStringLiteral(text)
            | Token::SingleQuotedRawStringLiteral(text)
            | Token::DoubleQuotedRawStringLiteral(text) => Some(text),
            Token::DollarQuotedString(text) => Some(&text.value),
            Token::QuoteDelimitedStringLiteral(text)
            | Token::NationalQuoteDelimitedStringLiteral(text) => Some(&text.value),
            _ => None,
        }
    }

    /// Returns how much deeper the grammar nests from here on: a query costs it more than an
    /// expression.
    pub(super) fn weight(&self, before: Option<&Self>, next: Option<&Self>) -> usize {
        let after = |words: &[&str]| before.is_some_and(|before| before.is_any(words));
        match self.token {
            Token::LParen
                if after(&["FROM", "JOIN", "USING", "LATERAL"])
                    || before.is_some_and(|before| before.token == Token::LParen)
                    || next.is_some_and(|next| next.is_any(&["SELECT", "WITH", "FROM"])) =>
            {
                3
            }
            Token::LParen | Token::LBracket | Token::LBrace => 1,
            Token::Lt if after(&["ARRAY", "STRUCT", "MAP", "TABLE", "NESTED", "TUPLE"]) => 1,
            Token::Word(_) if self.is("BEGIN") => 3,
            Token::Word(_) if self.is("CASE") => 1,
            _ => 0,
        }
    }

    /// Reports whether this closes `open`. An unmatched `>` is a comparison.
    pub(super) fn closes(&self, open: &Token) -> bool {
        match open {
            Token::LParen => self.token == Token::RParen,
            Token::LBracket => self.token == Token::RBracket,
            Token::LBrace => self.token == Token::RBrace,
            Token::Lt => self.token == Token::Gt,
            _ => self.is("END"),
        }
    }

    /// Reports whether this is between two expressions or queries: the grammar nests one level for
    /// each.
    pub(super) fn is_operator(&self) -> bool {
        const WORDS: &[&str] = &[
            "AND",
            "OR",
            "XOR",
            "UNION",
            "EXCEPT",
            "INTERSECT",
            "MINUS",
            "IS",
            "IN",
            "LIKE",
            "ILIKE",
            "RLIKE",
            "REGEXP",
            "BETWEEN",
            "COLLATE",
            "AT",
            "DIV",
            "MOD",
            "MEMBER",
            "ISNULL",
            "NOTNULL",
            "SIMILAR",
            "OVERLAPS",
            "OPERATOR",
            "JOIN",
            "ELSE",
            "WHEN",
        ];
        match &self.token {
            Token::Word(_) => self.is_any(WORDS),
            Token::Comma
            | Token::LParen
            | Token::RParen
            | Token::SemiColon
            | Token::Number(..)
            | Token::Placeholder(_)
            | Token::AtSign => false,
            _ => self.text().is_none() && !matches!(self.token, Token::Period),
        }
    }

    /// Reports whether this is a prefix operator, which can be repeated.
    pub(super) fn is_prefix(&self) -> bool {
        matches!(
            self.token,
            Token::Minus
                | Token::Plus
                | Token::Tilde
                | Token::ExclamationMark
                | Token::DoubleExclamationMark
                | Token::AtSign
                | Token::Sharp
        ) || self.is_any(&["NOT", "CASE", "WHEN", "PRIOR", "INTERVAL", "IF", "BEGIN", "EXPLAIN"])
    }
}
