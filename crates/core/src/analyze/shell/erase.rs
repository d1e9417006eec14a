//! Edits that leave nothing of a text: substitutions whose pattern matches everything, and editor
//! commands for every line.

/// Per-line statements that leave nothing of the line, written without blanks.
const ERASES_LINES: &[&str] =
    &["", "$_=''", "$_=\"\"", "$_=qq{}", "undef$_", "$_=undef", "{}", "0", "NR<0", "d", "BEGIN{}"];

/// Reports whether a substitution matches everything and keeps nothing of the match.
pub(super) fn wipes(pattern: &str, replacement: &str, flags: &str) -> bool {
    let kept = ["&", "\\0", "\\1", "\\2", "$1", "$2", "$&", "${", "\\g"];
    if kept.iter().any(|part| replacement.contains(part)) || flags.contains('e') {
        return false;
    }
    match wildcards(pattern) {
        Some(Wild::Anything { repeated }) => repeated || flags.contains('g'),
        Some(Wild::Letters) => flags.contains('g'),
        None => false,
    }
}

/// The matches of a pattern that contains only wildcards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wild {
    /// Every character; `repeated` for a whole run of them.
    Anything { repeated: bool },
    /// Every letter.
    Letters,
}

/// Parses a pattern of nothing but wildcards; `None` when it contains literal text.
fn wildcards(pattern: &str) -> Option<Wild> {
    let mut found = None;
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '^' | '$' | '(' | ')' | '|' | '*' | '+' | '?' => {}
            '.' => {
                found = Some(Wild::Anything { repeated: matches!(chars.peek(), Some('*' | '+')) });
            }
            '\\' => match chars.next()? {
                'w' | 'S' => found = found.or(Some(Wild::Letters)),
                '(' | ')' | '+' | '?' | 'v' | '{' | '}' => {}
                '_' if chars.next() == Some('.') => {
                    found = Some(Wild::Anything { repeated: true });
                }
                _ => return None,
            },
            '[' => {
                let class: String = chars.by_ref().take_while(|char| *char != ']').collect();
                let letters = ["a-z", "A-Z", "[:alpha:", "[:alnum:", "[:graph:"];
                if class.starts_with('^') || !letters.iter().any(|range| class.contains(range)) {
                    return None;
                }
                if class.contains("[:") && chars.peek() == Some(&']') {
                    chars.next();
                }
                found = found.or(Some(Wild::Letters));
            }
            _ => return None,
        }
    }
    found
}

/// Splits `s/a/b/g`, with any delimiter, into pattern, replacement and flags.
pub(super) fn substitution(text: &str) -> Option<(&str, &str, &str)> {
    let rest = text.trim().strip_prefix('s')?;
    let mark = rest.chars().next().filter(char::is_ascii_punctuation)?;
    let close = match mark {
        '{' => '}',
        '(' => ')',
        '[' => ']',
        '<' => '>',
        mark => mark,
    };
    let (pattern, rest) = until(rest.get(1..)?, close)?;
    let rest = if close == mark { rest } else { rest.trim_start().strip_prefix(mark)? };
    let (replacement, flags) = until(rest, close).unwrap_or((rest, ""));
    Some((pattern, replacement, flags))
}

/// Splits a text at the first unescaped delimiter.
fn until(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        if char == mark && !escaped {
            return Some((text.get(..at)?, text.get(at + char.len_utf8()..)?));
        }
        escaped = char == '\\' && !escaped;
    }
    None
}

/// Reports whether a statement that Perl, Ruby or awk executes for every line leaves nothing of it.
pub(super) fn statement(text: &str) -> bool {
    let plain: String = text.chars().filter(|char| !char.is_whitespace()).collect();
    let bare = plain.trim_end_matches(';');
    let bare = bare.strip_prefix("$_=~").unwrap_or(bare);
    ERASES_LINES.contains(&bare)
        || substitution(bare).is_some_and(|(pattern, replacement, flags)| {
            wipes(pattern, replacement, flags.split(';').next().unwrap_or_default())
        })
        || bare.strip_prefix("gsub(/").is_some_and(|rest| {
            until(rest, '/').is_some_and(|(pattern, with)| {
                wipes(pattern, with.trim_matches([',', '"', '\'', ')']), "g")
            })
        })
}

/// Reports whether editor commands leave no line: `%d`, `1,$c`, `g/./d`, `%s/.*//`, `%!true`.
pub(super) fn editor(commands: &str) -> bool {
    commands.split(['\n', '|']).any(command) || commands.split('\n').any(command)
}

fn command(text: &str) -> bool {
    let text: String = text.chars().filter(|char| !char.is_whitespace()).collect();
    let text = text.trim_start_matches(':');
    let keys = text.find("norm").and_then(|at| text.get(at..)).unwrap_or_default();
    if keys.contains("ggdG") || keys.contains("ggVGd") || keys.contains("ggcG") {
        return true;
    }
    let ranges = ["%", "1,$", "0,$", "1;$", ",$", ","];
    let whole = ranges.iter().find_map(|range| text.strip_prefix(range));
    if let Some(rest) = whole {
        return on_every_line(rest);
    }
    let listed = text.strip_prefix("g").or_else(|| text.strip_prefix("global"));
    let Some((pattern, rest)) = listed.and_then(|rest| until(rest.get(1..)?, rest.chars().next()?))
    else {
        return false;
    };
    let matches_all = matches!(pattern, "" | "^" | "$") || wildcards(pattern).is_some();
    matches_all && on_every_line(rest)
}

/// Reports whether a command leaves nothing of the lines it applies to.
fn on_every_line(command: &str) -> bool {
    let command = command.trim_end_matches('!');
    let deletes = [
        "d",
        "delete",
        "d_",
        "c",
        "change",
        "norm!dd",
        "normdd",
        "normal!dd",
        "normaldd",
        "de",
        "del",
    ];
    let printed_nothing = ["true", ":", "cat/dev/null", "head-0", "head-n0", "echo-n", "false"];
    deletes.contains(&command)
        || command.strip_prefix('!').is_some_and(|filter| printed_nothing.contains(&filter))
        || substitution(command).is_some_and(|(pattern, with, flags)| wipes(pattern, with, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_take_everything_wipe() {
        for text in ["s/.*//", "s/^.*$/x/", "s/./x/g", "s/[a-z]/x/g", "s{.+}{}s", "s,\\w,,g"] {
            let (pattern, with, flags) = substitution(text).unwrap();
            assert!(wipes(pattern, with, flags), "{text}");
        }
        for text in [
            "s/[ \\t]*$//",
            "s/\\r$//",
            "s/^.//",
            "s/.*/\"&\"/",
            "s/foo/bar/g",
            "s/^\\s+//g",
            "s/[0-9]*$//",
            "s/[^,]*,//",
            "s/\\(.*\\)/\\1/",
        ] {
            let (pattern, with, flags) = substitution(text).unwrap();
            assert!(!wipes(pattern, with, flags), "{text}");
        }
    }

    #[test]
    fn editors_leave_no_line_in_many_ways() {
        for text in [
            "%d",
            ":%d_|wq",
            "1,$d\nw\nq",
            ",d\nw",
            "g/./d",
            "g/^/normal! dd",
            "%s/.*//",
            "%!true",
            "0,$c",
            "norm ggdG",
            "%s/[a-z]/x/g",
        ] {
            assert!(editor(text), "{text}");
        }
        for text in ["1d", "%s/foo/bar/g", "g/foo/d", "$d", "w", "set nu", "%!sort", "%p"] {
            assert!(!editor(text), "{text}");
        }
    }

    #[test]
    fn statements_for_every_line_are_read() {
        for text in ["", "s/.*//s", "$_ = ''", "gsub(/./,\"x\")"] {
            assert!(statement(text), "{text}");
        }
        assert!(!statement("s/a/b/"));
        assert!(!statement("print if /x/"));
    }
}
