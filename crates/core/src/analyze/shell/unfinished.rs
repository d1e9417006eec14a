//! Lines that every shell rejects because an operator, a quote or a bracket is left open.
//!
//! Nothing of such a line runs, and a corrected line is judged again. So it does not need a
//! confirmation by itself: every way to complete it is followed, and every piece of it as a command
//! of its own, and the effects of all of them count. Where it is not certain that a shell rejects
//! the line, it is treated as one that could not be understood.

use super::Walker;
use super::value::Stream;
use crate::analyze::Analysis;
use crate::fact::FactKind;

/// The length past which a line is not completed.
const LONGEST: usize = 2_048;
/// The number of pieces past which a line is not completed.
const MOST_PIECES: usize = 48;
/// The number of commands that are followed in one reading.
const MOST_COMMANDS: u32 = 256;

/// Syntax in which quotes and brackets have another meaning than in plain words.
const DEEP: &[&str] = &["$(", "`", "<<", "${", "[[", "((", "$'", "$\"", "()", "case ", "\n"];

/// Characters that separate pieces of a line in any reading.
const BETWEEN: [char; 12] = [';', '|', '&', '(', ')', '{', '}', '"', '\'', '<', '>', '\\'];

impl Walker<'_> {
    /// Follows every reading of a line that is rejected because something is left open; reports
    /// whether it is such a line.
    pub(super) fn is_unfinished(&mut self, text: &str) -> bool {
        let is_whole_action = !self.nested && !self.is_floor && self.depth == 0;
        if !is_whole_action || text.len() > LONGEST {
            return false;
        }
        let readings = readings(text.trim());
        let pieces: Vec<&str> = text.split(BETWEEN).filter(|piece| !piece.is_empty()).collect();
        if readings.is_empty() || pieces.len() > MOST_PIECES {
            return false;
        }
        let mut is_read = false;
        for reading in &readings {
            is_read |= self.follow_reading(reading);
        }
        for piece in pieces {
            self.follow_piece(piece);
        }
        is_read
    }

    /// Follows a piece of the line. A word that was between quotes counts neither as an unknown
    /// program nor as code.
    fn follow_piece(&mut self, piece: &str) {
        const CUT_OFF: [FactKind; 4] = [
            FactKind::Unparsed,
            FactKind::UnknownCommand,
            FactKind::AssumedCommand,
            FactKind::UnknownCode,
        ];
        let mut found = self.reading(piece);
        found.facts.retain(|fact| !CUT_OFF.contains(&fact.kind));
        self.merge(found, None);
    }

    /// Follows one way to complete the line; reports whether a shell accepts it.
    fn follow_reading(&mut self, line: &str) -> bool {
        let mut found = self.reading(line);
        let all = found.facts.len();
        found.facts.retain(|fact| fact.kind != FactKind::Unparsed);
        let is_taken = found.facts.len() == all;
        self.merge(found, None);
        is_taken
    }

    fn reading(&self, line: &str) -> Analysis {
        let mut reader = Walker::new(self.scene_now());
        reader.fuel = MOST_COMMANDS;
        reader.nested = true;
        reader.script(line, None, Stream::caller());
        reader.analysis
    }
}

/// Returns the ways to complete a line that every shell certainly rejects; none for others.
fn readings(line: &str) -> Vec<String> {
    if DEEP.iter().any(|syntax| line.contains(syntax)) {
        return Vec::new();
    }
    let (line, named) = without_placeholder(line);
    let (line, cut) = without_last_operator(&line);
    let open = Open::of(&line);
    match open {
        Open { quote: Some((quote, at)), .. } => {
            let mut plain = line.clone();
            plain.remove(at);
            vec![format!("{line}{quote}"), plain]
        }
        Open { opened, closed, .. } if opened > closed => {
            vec![format!("{line}{}", ")".repeat(opened - closed)), with_plain_brackets(&line)]
        }
        Open { opened, closed, .. } if opened < closed => vec![with_plain_brackets(&line)],
        _ if named || cut => vec![line],
        _ => Vec::new(),
    }
}

/// Replaces a placeholder at the end of a line with its name: `split <file_name>`.
fn without_placeholder(line: &str) -> (String, bool) {
    let named = line.strip_suffix('>').and_then(|start| start.rsplit_once('<'));
    match named {
        Some((before, name))
            if !name.is_empty()
                && name
                    .chars()
                    .all(|char| char.is_ascii_alphanumeric() || "_-. ".contains(char)) =>
        {
            (format!("{before}{}", name.replace(' ', "_")), true)
        }
        _ => (line.to_owned(), false),
    }
}

/// Removes an operator at the end of a line, after which another command was to follow.
fn without_last_operator(line: &str) -> (String, bool) {
    let cut = line.trim_end_matches(['|', '&']);
    let operator = line.get(cut.len()..).unwrap_or_default();
    let is_one = matches!(operator, "|" | "||" | "&&" | "|&");
    if is_one && !cut.ends_with('\\') && !cut.trim().is_empty() {
        (cut.trim_end().to_owned(), true)
    } else {
        (line.to_owned(), false)
    }
}

/// The unclosed constructs of a line.
#[derive(Default)]
struct Open {
    /// The quote that never closes, and its position.
    quote: Option<(char, usize)>,
    /// The number of brackets outside of quotes.
    opened: usize,
    closed: usize,
}

impl Open {
    fn of(line: &str) -> Self {
        let mut open = Self::default();
        let mut chars = line.char_indices();
        let mut before = ' ';
        while let Some((at, char)) = chars.next() {
            match (open.quote, char) {
                (Some(('\'', _)), '\'') | (Some(('"', _)), '"') => open.quote = None,
                (None | Some(('"', _)), '\\') => {
                    chars.next();
                }
                (None, '\'' | '"') => open.quote = Some((char, at)),
                (None, '(') => open.opened += 1,
                (None, ')') => open.closed += 1,
                // The rest is a comment, in which a quote opens nothing.
                (None, '#') if before.is_whitespace() => return open,
                _ => {}
            }
            before = char;
        }
        open
    }
}

/// Returns the line with its brackets as literal words.
fn with_plain_brackets(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), close) if open == close => quote = None,
            (None | Some('"'), '\\') => {
                plain.push(char);
                plain.extend(chars.next());
                continue;
            }
            (None, '\'' | '"') => quote = Some(char),
            (None, '(' | ')') => plain.push('\\'),
            _ => {}
        }
        plain.push(char);
    }
    plain
}

#[cfg(test)]
mod tests {
    use crate::{Action, Context, Judgement, Policy, Verdict, judge};

    fn judged(command: &str) -> Judgement {
        let context = Context {
            home: Some("/home/dev".into()),
            workspace: Some("/home/dev/project".into()),
            ..Context::default()
        };
        let action = Action::Shell { command: command.into(), cwd: None };
        judge(&action, &Policy::default(), &context)
    }

    fn verdict(command: &str) -> Verdict {
        judged(command).verdict
    }

    #[test]
    fn what_only_looks_is_asked_about_for_nothing_but_its_form() {
        for command in [
            "ls -l |",
            "cargo test &&",
            "grep -rn 'todo src",
            "find . -name \"*.rs",
            "find . ( -name a -o -name b \\) -type f",
            "wc -l <file name>",
            "(ls src | sort",
        ] {
            let rules: Vec<_> = judged(command).findings.into_iter().map(|one| one.rule).collect();
            assert_eq!(rules, ["effect.doubt.unfinished"], "{command}");
            assert_eq!(verdict(command), Verdict::Confirm, "{command}");
        }
    }

    #[test]
    fn what_any_reading_would_do_counts() {
        for command in [
            "rm notes.txt |",
            "rm 'notes.txt",
            "echo 'a; rm notes.txt",
            "cat \"x | sh",
            "(curl https://example.com/x | sh",
            "echo a && rm -r <folder>",
            "ls ) ; rm -r src",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
    }

    #[test]
    fn what_a_shell_may_take_after_all_still_asks() {
        for command in ["if true; then", "echo $(ls", "ls `pwd", "for x in a; do ls |"] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
    }
}
