//! The structure of a script of the corpora, as far as a transformation must know it: one command
//! of plain words, a list, or something that can only be quoted.

use shuck_parser::parser::{ParseStatus, Parser};

/// The positions in which a script may be inserted, from the freest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// Words of characters that mean nothing to the shell.
    Plain,
    /// One command of words, perhaps quoted or expanded.
    Words,
    /// One command with redirections.
    Redirected,
    /// Several commands, or one that only the shell itself can run.
    List,
    /// Ends in a heredoc, a comment or `&`: only when quoted.
    Loose,
}

/// Words that the shell reads or runs itself, so that a program cannot be given them.
const OF_THE_SHELL: &[&str] = &[
    "!",
    ".",
    ":",
    "[[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "then",
    "time",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
    "{",
    "}",
];

/// Reports whether the grammar accepts the script: a broken one lacks an effect to keep.
pub(crate) fn is_sound(text: &str) -> bool {
    Parser::new(text).parse().status == ParseStatus::Clean
}

/// The form of a script.
pub(crate) fn form(text: &str) -> Form {
    let text = text.trim();
    if is_loose(text) {
        return Form::Loose;
    }
    let Some(words) = words(text) else {
        return if is_redirected(text) { Form::Redirected } else { Form::List };
    };
    if words.iter().all(|word| word.chars().all(is_plain)) { Form::Plain } else { Form::Words }
}

/// The words as they are written, where the script is one command of nothing but words.
pub(crate) fn words(text: &str) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    let mut chars = text.trim().chars().peekable();
    while let Some(char) = chars.next() {
        let last = words.last_mut()?;
        match char {
            ' ' | '\t' if last.is_empty() => {}
            ' ' | '\t' => words.push(String::new()),
            '\'' | '"' => {
                last.push(char);
                let dollar = last.ends_with("$'");
                quoted(&mut chars, char, dollar, last)?;
            }
            '\\' => last.extend([char, chars.next().filter(|next| *next != '\n')?]),
            '$' if matches!(chars.peek(), Some('(' | '{')) => return None,
            '#' if last.is_empty() => return None,
            ';' | '|' | '&' | '(' | ')' | '<' | '>' | '\n' | '`' => return None,
            _ => last.push(char),
        }
    }
    let first = words.first()?;
    let runs = !first.is_empty()
        && !first.starts_with('-')
        && !first.contains('=')
        && !OF_THE_SHELL.contains(&first.as_str());
    runs.then_some(words)
}

/// Reports whether a character means nothing to the shell, in any position.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_./:@%+-".contains(letter)
}

/// Copies until the closing quote; `None` where a command is run in it.
fn quoted(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    quote: char,
    dollar: bool,
    to: &mut String,
) -> Option<()> {
    let expands = quote == '"';
    loop {
        let char = chars.next()?;
        to.push(char);
        match char {
            _ if char == quote => return Some(()),
            '\\' if expands || dollar => to.push(chars.next()?),
            '`' if expands => return None,
            '$' if expands && matches!(chars.peek(), Some('(')) => return None,
            _ => {}
        }
    }
}

fn is_loose(text: &str) -> bool {
    let comment = text.starts_with('#') || text.contains(" #") || text.contains("\n#");
    let heredoc = text.replace("<<<", "").contains("<<");
    comment || heredoc || text.is_empty() || text.ends_with(['&', ';', '\\', '|'])
}

/// Reports whether the rest without `>`, `<` and their operands is one command.
fn is_redirected(text: &str) -> bool {
    if text.contains(">(") || text.contains("<(") || text.contains("<<<") {
        return false;
    }
    let without = ["2>&1", "1>&2", ">&2", "&>", ">>", ">|", ">", "<"]
        .iter()
        .fold(text.to_owned(), |text, sign| text.replace(sign, " "));
    let starts = text.starts_with(['<', '>', '&']);
    !starts && words(&without).is_some()
}
