//! Quotes words so that a shell reads exactly those words.

/// Characters that need no quoting anywhere in a word.
const PLAIN: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@+,";

/// Words that bash would read as keywords if they came first and unquoted.
const RESERVED: &[&str] = &[
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "time", "until", "while",
];

/// Returns a command line that runs exactly these words: without expansions and keywords.
pub(crate) fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (at, word) in words.into_iter().enumerate() {
        if at > 0 {
            line.push(' ');
        }
        if needs_quotes(word) {
            line.push('\'');
            // Single quotes cannot contain a single quote: close, escape it, open again.
            line.push_str(&word.replace('\'', r"'\''"));
            line.push('\'');
        } else {
            line.push_str(word);
        }
    }
    line
}

fn needs_quotes(word: &str) -> bool {
    word.is_empty() || RESERVED.contains(&word) || !word.chars().all(|char| PLAIN.contains(char))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn plain_words_stay_readable() {
        assert_eq!(join(["git", "push", "--force-with-lease"]), "git push --force-with-lease");
    }

    #[test]
    fn a_word_that_looks_like_grammar_or_an_assignment_is_quoted() {
        assert_eq!(join(["X=1", "if", "~", ""]), "'X=1' 'if' '~' ''");
    }

    #[test]
    fn bash_reads_back_the_very_same_words() {
        let words = [
            "printf", "%s\\0", "a b", "it's", "$HOME", "`id`", "*", "~", "{a,b}", "\n", "\t", "!",
            "#", "\\", "\"", "''", "a'b\"c", "time", "é", "\u{202e}", "--", "[x]", "x=y", ";", "&",
        ];
        let out = Command::new("bash").args(["-c", &join(words)]).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let back: Vec<_> = text.split_terminator('\0').collect();
        assert_eq!(back, &words[2..]);
    }
}
