//! Queries so simple that they are known to only read without the grammar.
//!
//! Without a bracket nothing is called or nested, and without any keyword but those of a query
//! nothing is written, locked or sent anywhere. Everything else goes to the grammar.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::lexeme::Lexeme;

/// Reports whether this statement is a plain query.
pub(super) fn only_reads(run: &[Lexeme]) -> bool {
    let [first, rest @ ..] = run else { return false };
    is_keyword(first, Keyword::SELECT) && !rest.is_empty() && rest.iter().all(is_plain)
}

fn is_keyword(lexeme: &Lexeme, wanted: Keyword) -> bool {
    matches!(&lexeme.token, Token::Word(word) if word.keyword == wanted && word.quote_style.is_none())
}

fn is_plain(lexeme: &Lexeme) -> bool {
    match &lexeme.token {
        Token::Word(word) => word.quote_style.is_some() || is_plain_word(word.keyword),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Comma
        | Token::Period
        | Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div => true,
        _ => false,
    }
}

const fn is_plain_word(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::NoKeyword
            | Keyword::FROM
            | Keyword::WHERE
            | Keyword::AND
            | Keyword::OR
            | Keyword::NOT
            | Keyword::IS
            | Keyword::NULL
            | Keyword::LIKE
            | Keyword::BETWEEN
            | Keyword::ORDER
            | Keyword::GROUP
            | Keyword::BY
            | Keyword::ASC
            | Keyword::DESC
            | Keyword::LIMIT
            | Keyword::OFFSET
            | Keyword::AS
            | Keyword::DISTINCT
            | Keyword::JOIN
            | Keyword::INNER
            | Keyword::LEFT
            | Keyword::RIGHT
            | Keyword::OUTER
            | Keyword::ON
            | Keyword::ID
            | Keyword::NAME
            | Keyword::USER
    )
}

#[cfg(test)]
mod tests {
    use super::super::flavour::Flavour;
    use super::super::lexeme::read;
    use super::*;

    fn is_plain_query(sql: &str) -> bool {
        only_reads(&read(sql, Flavour::named(None)).unwrap())
    }

    #[test]
    fn a_plain_query_needs_no_grammar() {
        for sql in [
            "SELECT id, name FROM users WHERE id = 7",
            "select * from \"order\" o join item i on i.o = o.id order by 1 desc limit 10",
        ] {
            assert!(is_plain_query(sql), "{sql}");
        }
    }

    #[test]
    fn whatever_could_do_more_goes_to_the_grammar() {
        for sql in [
            "SELECT",
            "SELECT f(1)",
            "SELECT * INTO x FROM y",
            "SELECT * FROM x FOR UPDATE",
            "SELECT * FROM x INTO OUTFILE 'y'",
            "SELECT 1 UNION DELETE FROM x",
            "SELECT 1 DROP TABLE x",
            "DELETE FROM x",
            "\"SELECT\" 1",
        ] {
            assert!(!is_plain_query(sql), "{sql}");
        }
    }
}
