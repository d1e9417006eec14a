//! Words as bash expands them: quotes, escapes, braces, tildes, variables, substitutions.

use std::borrow::Cow;

use shuck_ast::{
    BourneParameterExpansion as Bourne, CommandSubstitutionSyntax, Span as SyntaxSpan, StmtSeq,
    SubscriptSelector, VarRef, Word, WordPart, WordPartNode,
};
use shuck_parser::parser::Parser;

use super::follow::plain_variable;
use super::value::{Arg, Stream};
use super::visit::{Node, script_in_brackets};
use super::{Walker, output};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};

/// The number of words past which a brace expansion is not followed.
const MOST_WORDS: usize = 2_000;

/// The number of characters examined to expand the braces of one word.
const MOST_LETTERS: usize = 1024 * 1024;

/// The number of words of one command past which its expansions are not followed.
const MOST_ARGUMENTS: usize = 200_000;

/// The length past which an expanded word is not followed.
const MOST_TEXT: usize = 32 * 1024;

/// Words under construction.
#[derive(Default)]
struct Fields {
    done: Vec<Arg>,
    current: Option<Arg>,
}

impl Fields {
    fn current(&mut self) -> &mut Arg {
        self.current.get_or_insert_default()
    }

    fn text(&mut self, text: &str) {
        self.current().text.push_str(text);
    }

    fn arg(&mut self, arg: &Arg) {
        let current = self.current();
        current.text.push_str(&arg.text);
        current.taint = current.taint.and(arg.taint);
        // `x=$x$x` doubles at every line.
        if current.text.len() > MOST_TEXT {
            current.text = UNKNOWN.into();
            current.taint = current.taint.with(Tag::Unknown);
        }
        current.glob |= arg.glob;
        if current.stream.is_none() {
            current.stream.clone_from(&arg.stream);
        }
    }

    fn end_word(&mut self) {
        self.done.extend(self.current.take());
    }

    /// Splits an unquoted expansion at the separators.
    fn split(&mut self, arg: &Arg, separators: &str) {
        let is_separator = |char: char| separators.contains(char);
        let mut first = true;
        for piece in arg.text.split(is_separator) {
            if !first {
                self.end_word();
            }
            first = false;
            if !piece.is_empty() {
                let glob = arg.glob || piece.contains(['*', '?']);
                self.arg(&Arg { text: piece.to_owned(), glob, ..arg.clone() });
            }
        }
    }
}

impl Walker<'_> {
    /// Returns the words of a command, after every expansion.
    pub(super) fn words(&mut self, src: &str, words: &[Word]) -> Vec<Arg> {
        let mut args = Vec::with_capacity(words.len() + 1);
        for word in words {
            self.word_into(src, word, &mut args);
        }
        args
    }

    /// Expands one word that is not split: an assignment's value, a redirection's target.
    pub(super) fn one(&mut self, src: &str, word: &Word) -> Arg {
        let mut fields = Fields::default();
        self.parts(src, &word.parts, true, true, &mut fields);
        let mut arg = fields.done.into_iter().chain(fields.current).reduce(|mut all, next| {
            all.text.push(' ');
            all.text.push_str(&next.text);
            all.taint = all.taint.and(next.taint);
            all
        });
        if let Some(arg) = &mut arg {
            arg.span = self.span(word.span);
        }
        arg.unwrap_or_default()
    }

    pub(super) fn word_into(&mut self, src: &str, word: &Word, args: &mut Vec<Arg>) {
        if args.len() > MOST_ARGUMENTS {
            self.note(Fact::new(FactKind::Bound, "more words than can be followed"));
            return;
        }
        if self.is_exhausted() {
            return;
        }
        if word.has_active_brace_expansion() {
            return self.braces(src, word, args);
        }
        if let [WordPartNode { kind: WordPart::Literal(text), span }] = word.parts.as_slice() {
            let text = text.as_str(src, *span);
            if !text.is_empty() && !text.contains(['\\', '~', '*', '?', '[']) {
                args.push(Arg { span: self.span(word.span), ..Arg::literal(text) });
                return;
            }
        }
        let mut fields = Fields::default();
        self.parts(src, &word.parts, false, true, &mut fields);
        fields.end_word();
        let span = self.span(word.span);
        if let [one] = fields.done.as_mut_slice() {
            one.one_word = word.is_fully_double_quoted();
            one.variable = plain_variable(word);
        }
        args.extend(fields.done.into_iter().map(|arg| Arg { span, ..arg }));
    }

    /// Expands braces on the text, before any other expansion, as the shell does.
    fn braces(&mut self, src: &str, word: &Word, args: &mut Vec<Arg>) {
        let span = self.span(word.span);
        let text = word.span.slice(src);
        let Some(words) = brace_words(text) else {
            self.note(Fact::new(FactKind::Bound, "brace expansion makes too many words").at(span));
            args.push(Arg::unknown(Tags::NONE));
            return;
        };
        self.followed_elsewhere(src, word);
        let outer = std::mem::take(&mut self.followed);
        self.state.work().text(words.iter().map(String::len).sum());
        for raw in words {
            self.followed.clear();
            let line = format!(": {raw}");
            let parsed = Parser::new(&line).parse();
            for stmt in parsed.file.body.iter() {
                if let shuck_ast::Command::Simple(simple) = &stmt.command {
                    for word in &simple.args {
                        let mut fields = Fields::default();
                        self.parts(&line, &word.parts, false, true, &mut fields);
                        fields.end_word();
                        args.extend(fields.done.into_iter().map(|arg| Arg { span, ..arg }));
                    }
                }
            }
            self.follow_the_rest(&line, &parsed.file.body);
        }
        self.followed = outer;
    }

    fn parts(
        &mut self,
        src: &str,
        parts: &[WordPartNode],
        whole: bool,
        start_of_word: bool,
        fields: &mut Fields,
    ) {
        for (at, part) in parts.iter().enumerate() {
            self.part(src, part, whole, start_of_word && at == 0, fields);
        }
    }

    fn part(
        &mut self,
        src: &str,
        part: &WordPartNode,
        whole: bool,
        is_first: bool,
        fields: &mut Fields,
    ) {
        match &part.kind {
            WordPart::Literal(text) => {
                self.literal(text.as_str(src, part.span), is_first, fields);
            }
            WordPart::SingleQuoted { value, dollar } => {
                fields.text(&single_quoted(value.slice(src), *dollar, part, src));
            }
            WordPart::DoubleQuoted { parts, .. } => {
                fields.current();
                for part in parts {
                    self.quoted_part(src, part, fields);
                }
            }
            other if self.is_gap(other, fields) => {}
            other => {
                let mut values = self.expansion(src, other, part);
                if values.len() > 1 && is_joined(other) && self.separators().is_empty() {
                    values = vec![Arg::unknown(taint_of(&values))];
                }
                self.unquoted(&values, whole, fields);
            }
        }
    }

    fn quoted_part(&mut self, src: &str, part: &WordPartNode, fields: &mut Fields) {
        match &part.kind {
            WordPart::Literal(text) => fields.text(text.as_str(src, part.span)),
            WordPart::SingleQuoted { value, dollar } => {
                fields.text(&single_quoted(value.slice(src), *dollar, part, src));
            }
            WordPart::DoubleQuoted { parts, .. } => {
                for part in parts {
                    if let WordPart::Literal(text) = &part.kind {
                        fields.text(text.as_str(src, part.span));
                    } else {
                        self.quoted_expansion(src, part, fields);
                    }
                }
            }
            _ => self.quoted_expansion(src, part, fields),
        }
    }

    /// Reports whether a part is a variable in the middle of an option and is most likely empty,
    /// because the script has not set it: `--h${nothing}ard`.
    fn is_gap(&self, kind: &WordPart, fields: &Fields) -> bool {
        let name = match kind {
            WordPart::Variable(name) => name.as_str(),
            WordPart::Parameter(parameter) => match parameter.bourne() {
                Some(Bourne::Access { reference }) => reference.name.as_str(),
                _ => return false,
            },
            _ => return false,
        };
        let is_name = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
        let is_option = fields.current.as_ref().is_some_and(|word| {
            let letters = word.text.trim_start_matches('-');
            letters.len() < word.text.len()
                && !letters.is_empty()
                && letters.chars().all(|char| char.is_ascii_alphabetic() || char == '-')
        });
        is_option
            && is_name
            && self.state.values(name).is_none()
            && !self.environment(name).is_known()
    }

    fn quoted_expansion(&mut self, src: &str, part: &WordPartNode, fields: &mut Fields) {
        if self.is_gap(&part.kind, fields) {
            return;
        }
        let outer = std::mem::replace(&mut self.in_quotes, true);
        let mut values = self.expansion(src, &part.kind, part);
        self.in_quotes = outer;
        if values.len() > 1 && is_joined(&part.kind) {
            let separator = self.separators().chars().next().map(String::from).unwrap_or_default();
            let texts: Vec<_> = values.iter().map(|value| value.text.as_str()).collect();
            let joined = Arg { taint: taint_of(&values), ..Arg::literal(texts.join(&separator)) };
            values = vec![joined];
        }
        join_quoted(&values, fields);
    }

    fn unquoted(&mut self, values: &[Arg], whole: bool, fields: &mut Fields) {
        let separators = self.separators();
        for (at, value) in values.iter().enumerate() {
            if whole {
                fields.arg(value);
                continue;
            }
            if at > 0 {
                fields.end_word();
            }
            fields.split(value, &separators);
        }
    }

    pub(super) fn separators(&self) -> String {
        match self.state.values("IFS") {
            Some([one]) => one.first().map(|arg| arg.text.clone()).unwrap_or_default(),
            _ => " \t\n".to_owned(),
        }
    }

    /// Expands unquoted text: backslashes, tildes, globs.
    fn literal(&mut self, text: &str, is_first: bool, fields: &mut Fields) {
        if text.is_empty() {
            return;
        }
        let text = match text.strip_prefix('~') {
            Some(rest) if is_first => {
                let (user, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                if user.is_empty() {
                    fields.text(self.scene.home());
                } else if user == "+" {
                    match self.cwd() {
                        Some(cwd) => fields.text(cwd),
                        None => fields.text(UNKNOWN.encode_utf8(&mut [0; 4])),
                    }
                } else {
                    fields.text("~");
                    fields.text(user);
                }
                below
            }
            _ => text,
        };
        let current = fields.current();
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                '\\' => match chars.next() {
                    Some('\n') => {}
                    Some(escaped) => current.text.push(escaped),
                    None => current.text.push('\\'),
                },
                '*' | '?' | '[' => {
                    current.glob = true;
                    current.text.push(char);
                }
                char => current.text.push(char),
            }
        }
    }

    /// Returns the words of an expansion: one, or several for `$@` and arrays.
    pub(super) fn expansion(
        &mut self,
        src: &str,
        kind: &WordPart,
        part: &WordPartNode,
    ) -> Vec<Arg> {
        let values = self.expanded(src, kind, part);
        let bytes = values.iter().map(|value| value.text.len()).sum();
        self.state.work().text(bytes);
        self.state.work().entries(values.len());
        values
    }

    fn expanded(&mut self, src: &str, kind: &WordPart, part: &WordPartNode) -> Vec<Arg> {
        match kind {
            WordPart::Variable(name) => self.variable(name.as_str()),
            WordPart::Parameter(parameter) => self.parameter(src, parameter),
            WordPart::CommandSubstitution { body, syntax } => {
                vec![self.substitution(src, body, *syntax, part.span)]
            }
            WordPart::ProcessSubstitution { body, is_input } => {
                vec![self.process_substitution(src, body, *is_input, part.span)]
            }
            WordPart::ArithmeticExpansion { expression, .. } => {
                if let Some(script) = script_in_brackets(part.span.slice(src)) {
                    return vec![self.subshell_of(script, part.span)];
                }
                self.calculate(src, Node::Part(part), expression.slice(src));
                vec![Arg::unknown(Tags::NONE)]
            }
            WordPart::Literal(text) => vec![Arg::literal(text.as_str(src, part.span))],
            WordPart::SingleQuoted { value, dollar } => {
                vec![Arg::literal(single_quoted(value.slice(src), *dollar, part, src))]
            }
            // Forms of the grammar that appear only when the parser keeps old syntax.
            _ => {
                self.follow_in(src, Node::Part(part));
                vec![Arg::unknown(Tags::NONE)]
            }
        }
    }

    /// Returns the output of a command substitution, without its trailing newlines.
    pub(super) fn substitution(
        &mut self,
        src: &str,
        body: &StmtSeq,
        syntax: CommandSubstitutionSyntax,
        syntax_span: SyntaxSpan,
    ) -> Arg {
        // Between backticks a backslash is removed before the text is read as a script; the grammar
        // leaves it there, and `r\\m` would not be `rm`.
        let raw = syntax_span.slice(src);
        self.followed.insert(syntax_span.start.offset());
        if syntax == CommandSubstitutionSyntax::Backtick && raw.contains('\\') {
            let text = without_backticks(raw);
            let out = self.child_script(&text, self.span(syntax_span), Stream::caller());
            return output::as_arg(&out);
        }
        let outer = self.state.clone();
        let out = self.seq(src, body, Stream::caller());
        self.leave_subshell(outer);
        output::as_arg(&out)
    }

    pub(super) fn process_substitution(
        &mut self,
        src: &str,
        body: &StmtSeq,
        is_input: bool,
        syntax_span: SyntaxSpan,
    ) -> Arg {
        let span = self.span(syntax_span);
        self.followed.insert(syntax_span.start.offset());
        let outer = self.state.clone();
        self.beside += 1;
        // Text written to `>(…)` is not followed into it.
        let stdin = if is_input { Stream::caller() } else { Stream::unknown(Tags::NONE) };
        let out = self.seq(src, body, stdin);
        self.beside -= 1;
        self.leave_subshell(outer);
        Arg {
            text: "/dev/fd/63".to_owned(),
            taint: out.taint,
            span,
            stream: Some(Box::new(out)),
            ..Arg::default()
        }
    }

    /// Follows arithmetic, which runs commands through substitutions in its text and in the texts
    /// of the variables that it names: bash evaluates those again.
    pub(super) fn arithmetic(&mut self, text: &str) {
        self.evaluated(text);
        self.evaluate_names(text);
    }

    /// Follows the substitutions in the values of the variables that a text names.
    pub(super) fn evaluate_names(&mut self, text: &str) {
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        for name in text.split(|char: char| !is_name(char)).filter(|name| !name.is_empty()) {
            let Some([value, ..]) = self.state.values(name) else { continue };
            let Some(value) = value.first().map(|value| value.text.clone()) else { continue };
            self.evaluated(&value);
        }
    }
}

/// Returns the script between backticks, as the shell reads it.
fn without_backticks(raw: &str) -> String {
    let inner = raw.strip_prefix('`').unwrap_or(raw);
    let inner = inner.strip_suffix('`').unwrap_or(inner);
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(char) = chars.next() {
        match (char, chars.peek()) {
            ('\\', Some('\\' | '$' | '`' | '"')) => text.extend(chars.next()),
            _ => text.push(char),
        }
    }
    text
}

/// Reports whether all words become one between double quotes: `"$*"`, `"${list[*]}"`.
fn is_joined(kind: &WordPart) -> bool {
    let of = |reference: &VarRef| {
        reference.name.as_str() == "*"
            || reference
                .subscript
                .as_deref()
                .is_some_and(|at| matches!(at.selector(), Some(SubscriptSelector::Star)))
    };
    match kind {
        WordPart::Variable(name) => name.as_str() == "*",
        WordPart::Parameter(parameter) => match parameter.bourne() {
            Some(
                Bourne::Access { reference }
                | Bourne::Operation { reference, .. }
                | Bourne::Slice { reference, .. }
                | Bourne::Transformation { reference, .. },
            ) => of(reference),
            _ => false,
        },
        _ => false,
    }
}

fn join_quoted(values: &[Arg], fields: &mut Fields) {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            fields.end_word();
        }
        // A glob in a variable is just text between quotes.
        fields.arg(&Arg { glob: false, ..value.clone() });
    }
    if values.is_empty() {
        fields.current = fields.current.take().filter(|arg| !arg.text.is_empty());
    }
}

/// Expands `a{b,c}d` to `abd acd` and `{1..3}` to `1 2 3`. `None` when there would be too many.
fn brace_words(text: &str) -> Option<Vec<String>> {
    // For every opening brace the word is searched to its end.
    let mut left = MOST_LETTERS;
    let mut done = Vec::new();
    let mut waiting = vec![text.to_owned()];
    while let Some(word) = waiting.pop() {
        left = left.checked_sub(word.len() * (1 + word.matches('{').count()))?;
        if done.len() + waiting.len() > MOST_WORDS {
            return None;
        }
        match first_brace(&word) {
            None => done.push(word),
            Some((before, choices, after)) => {
                if choices.len() > MOST_WORDS {
                    return None;
                }
                waiting
                    .extend(choices.iter().rev().map(|choice| format!("{before}{choice}{after}")));
            }
        }
    }
    Some(done)
}

/// Finds the first brace expression that expands; returns the text before it, its choices and the
/// text after it.
fn first_brace(text: &str) -> Option<(String, Vec<String>, String)> {
    let mut from = 0;
    while let Some(open) = text.get(from..)?.find('{').map(|at| at + from) {
        let before = text.get(..open)?;
        if !is_quoted_at(before)
            && !before.ends_with('$')
            && let Some((choices, after)) = choices(text.get(open + 1..)?)
        {
            return Some((before.to_owned(), choices, after));
        }
        from = open + 1;
    }
    None
}

/// Reports whether the text after `before` is inside quotes or behind a backslash.
fn is_quoted_at(before: &str) -> bool {
    let (mut single, mut double, mut escaped) = (false, false, false);
    for char in before.chars() {
        match char {
            _ if escaped => escaped = false,
            '\\' if !single => escaped = true,
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            _ => {}
        }
    }
    single || double || escaped
}

/// Returns the choices of a brace expression whose `{` has just been read, and the text after its
/// `}`.
fn choices(text: &str) -> Option<(Vec<String>, String)> {
    let mut depth = 0_u32;
    let mut parts = vec![String::new()];
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        let last = parts.last_mut()?;
        match (quote, char) {
            (Some(open), _) => {
                last.push(char);
                if char == open {
                    quote = None;
                }
            }
            (None, '\'' | '"') => {
                quote = Some(char);
                last.push(char);
            }
            (None, '\\') => {
                last.push(char);
                last.extend(chars.next().map(|(_, escaped)| escaped));
            }
            (None, ',') if depth == 0 => parts.push(String::new()),
            (None, '}') if depth == 0 => {
                let after = text.get(at + 1..)?.to_owned();
                return match parts.as_slice() {
                    [one] => sequence(one).map(|choices| (choices, after)),
                    _ => Some((parts, after)),
                };
            }
            (None, char) => {
                depth = match char {
                    '{' => depth + 1,
                    '}' => depth.saturating_sub(1),
                    _ => depth,
                };
                last.push(char);
            }
        }
    }
    None
}

/// Expands `1..3`, `a..e`, `9..1..2` and `01..10`.
fn sequence(text: &str) -> Option<Vec<String>> {
    let bounds: Vec<&str> = text.split("..").collect();
    let (from, to, step) = match bounds.as_slice() {
        [from, to] => (*from, *to, 1),
        [from, to, step] => (*from, *to, step.parse::<i64>().ok()?.unsigned_abs().max(1)),
        _ => return None,
    };
    let letter = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|_| chars.next().is_none()).filter(char::is_ascii_alphabetic)
    };
    if let (Some(from), Some(to)) = (letter(from), letter(to)) {
        let numbers = steps(i64::from(u32::from(from)), i64::from(u32::from(to)), step)?;
        let chars = numbers.into_iter().map(|number| u32::try_from(number).ok());
        return chars.map(|number| char::from_u32(number?).map(String::from)).collect();
    }
    let (first, last) = (from.parse::<i64>().ok()?, to.parse::<i64>().ok()?);
    let is_padded = |text: &str| {
        let digits = text.trim_start_matches(['-', '+']);
        digits.len() > 1 && digits.starts_with('0')
    };
    let width = if is_padded(from) || is_padded(to) { from.len().max(to.len()) } else { 0 };
    Some(match steps(first, last, step) {
        Some(numbers) => numbers.iter().map(|number| format!("{number:0width$}")).collect(),
        None => vec![String::new(); MOST_WORDS + 1],
    })
}

/// Returns the numbers from one to another; `None` when there would be too many.
fn steps(from: i64, to: i64, step: u64) -> Option<Vec<i64>> {
    let count = usize::try_from(from.abs_diff(to) / step).ok()?;
    let stride = i64::try_from(step).ok()?.checked_mul(if from <= to { 1 } else { -1 })?;
    let number = |at: usize| from.checked_add(stride.checked_mul(i64::try_from(at).ok()?)?);
    (count <= MOST_WORDS).then(|| (0..=count).map(number).collect::<Option<Vec<_>>>())?
}

/// Returns the tags of all words together, except [`Tag::Created`].
pub(super) fn taint_of(args: &[Arg]) -> Tags {
    args.iter().fold(Tags::NONE, |tags, arg| tags.and(arg.taint)).without(Tag::Created)
}

/// Returns the text of `'…'` or `$'…'`. In array elements, the grammar leaves the escapes of the
/// latter as they are.
fn single_quoted<'a>(value: &'a str, dollar: bool, part: &WordPartNode, src: &str) -> Cow<'a, str> {
    let raw = part.span.slice(src).strip_prefix("$'").and_then(|rest| rest.strip_suffix('\''));
    if dollar && raw == Some(value) && value.contains('\\') {
        let text = output::unescape(value, output::Escapes::Quoted);
        return Cow::Owned(text.unwrap_or_else(|| UNKNOWN.into()));
    }
    Cow::Borrowed(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_expand_as_bash_does() {
        assert_eq!(brace_words("{rm,-rf,/}").unwrap(), ["rm", "-rf", "/"]);
        assert_eq!(brace_words("a{b,c{d,e}}f").unwrap(), ["abf", "acdf", "acef"]);
        assert_eq!(brace_words("{1..3}").unwrap(), ["1", "2", "3"]);
        assert_eq!(brace_words("{3..1}").unwrap(), ["3", "2", "1"]);
        assert_eq!(brace_words("{1..9..4}").unwrap(), ["1", "5", "9"]);
        assert_eq!(brace_words("{08..10}").unwrap(), ["08", "09", "10"]);
        assert_eq!(brace_words("{c..a}").unwrap(), ["c", "b", "a"]);
        assert_eq!(brace_words("{}").unwrap(), ["{}"]);
        assert_eq!(brace_words("'{a,b}'").unwrap(), ["'{a,b}'"]);
        assert_eq!(brace_words("{a,b}{c,d}").unwrap(), ["ac", "ad", "bc", "bd"]);
    }

    #[test]
    fn too_many_words_are_not_followed() {
        assert_eq!(brace_words("{1..99999}"), None);
        assert_eq!(brace_words(&"{a,b}".repeat(30)), None);
    }
}
