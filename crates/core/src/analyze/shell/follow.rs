//! One command: choose the possible values of its variables, expand, unwrap wrappers, record.

use shuck_ast::{
    ArrayElem, Assignment, AssignmentValue, BourneParameterExpansion, SimpleCommand, Word,
    WordPart, WordPartNode,
};

use super::arguments::Arguments;
use super::catalogue::{self, Class, Program, Wrap};
use super::name::program_name;
use super::value::{Arg, Stream};
use super::visit::Node;
use super::wrapper::Inner;
use super::{MOST_DEPTH, Walker};
use crate::analyze::{Invocation, UNKNOWN};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// The number of combinations of possible values that are followed; with more, the remaining
/// variables are unknown.
const MOST_CHOICES: usize = 24;

impl Walker<'_> {
    pub(super) fn simple(&mut self, src: &str, simple: &SimpleCommand, stdin: Stream) -> Stream {
        if self.state.is_ambiguous() {
            self.each_choice(src, simple, &stdin)
        } else {
            self.simple_once(src, simple, stdin)
        }
    }

    /// Follows a command once for every combination of possible values of its variables.
    fn each_choice(&mut self, src: &str, simple: &SimpleCommand, stdin: &Stream) -> Stream {
        let text = simple.span.slice(src);
        let mut names = Vec::new();
        let mut combinations = 1_usize;
        self.state.work().entries(self.state.ambiguous().count());
        let mut candidates: Vec<_> = self
            .state
            .ambiguous()
            .filter(|(name, _)| *name == "PWD" || (text.contains('$') && text.contains(name)))
            .map(|(name, values)| (name.to_owned(), values.to_vec()))
            .collect();
        candidates.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, values) in candidates {
            if combinations.saturating_mul(values.len()) > MOST_CHOICES {
                self.state.set(&name, vec![Arg::unknown(Tags::of(&[Tag::Unknown]))]);
                continue;
            }
            combinations *= values.len();
            names.push((name, values));
        }
        let mut after: Vec<Vec<Vec<Arg>>> = vec![Vec::new(); names.len()];
        let mut taint = Tags::NONE;
        let mut printed: Option<Option<String>> = None;
        for choice in 0..combinations {
            let mut rest = choice;
            for (name, values) in &names {
                if let Some(value) = values.get(rest % values.len()) {
                    self.state.set(name, value.clone());
                }
                rest /= values.len();
            }
            let out = self.simple_once(src, simple, stdin.clone());
            taint = taint.and(out.taint);
            printed = match printed {
                None => Some(out.text),
                Some(same) => Some(same.filter(|text| Some(text) == out.text.as_ref())),
            };
            for ((name, _), after) in names.iter().zip(&mut after) {
                for value in self.state.values(name).unwrap_or_default() {
                    if !after.contains(value) {
                        after.push(value.clone());
                    }
                }
            }
        }
        for ((name, _), values) in names.iter().zip(after) {
            if !values.is_empty() {
                self.state.set_any(name, values);
            }
        }
        Stream { text: printed.flatten(), taint, from_caller: false }
    }

    /// Expands the words after a program's name.
    fn words_into(&mut self, src: &str, words: &[Word], args: &mut Vec<Arg>) {
        for word in words {
            let before = args.len();
            self.word_into(src, word, args);
            if let Some([arg]) = args.get_mut(before..) {
                arg.from_variable = plain_variable(word).is_some();
            }
        }
    }

    fn simple_once(&mut self, src: &str, simple: &SimpleCommand, stdin: Stream) -> Stream {
        let mut assigned: Vec<_> = simple
            .assignments
            .iter()
            .map(|assignment| (assignment, self.assigned(src, assignment)))
            .collect();
        let mut args = Vec::with_capacity(simple.args.len() + 1);
        let outer = self.environment.len();
        match assigned_stream(simple) {
            Some(name) => {
                let value = self.one(src, &simple.name);
                self.variable_that_runs(name, Some(&value), value.span);
                self.floor_of_values(std::slice::from_ref(&value));
                self.state.set(name, vec![value.clone()]);
                self.environment.push((name.to_owned(), Some(value)));
            }
            None => self.word_into(src, &simple.name, &mut args),
        }
        self.words_into(src, &simple.args, &mut args);
        // The grammar parses `X=<(…)` as an empty value and an adjacent word.
        if let (Some((assignment, value)), Some(first)) = (assigned.last_mut(), args.first())
            && first.stream.is_some()
            && assignment.span.end.offset() == simple.name.span.start.offset()
        {
            *value = vec![args.remove(0)];
        }
        let lasting = args.is_empty();
        for (assignment, words) in assigned {
            let name = assignment.target.name.as_str();
            if assigned_stream(simple) == Some(name) {
                continue;
            }
            let span = self.span(assignment.span);
            self.variable_that_runs(name, words.first(), span);
            self.floor_of_values(&words);
            if lasting {
                self.assign(assignment, words);
            } else {
                let value = words.into_iter().next().unwrap_or_default();
                self.environment.push((name.to_owned(), Some(value)));
            }
        }
        match lasting {
            // `$(<file)` and `<file` alone print the file.
            true if simple.assignments.is_empty() && !stdin.from_caller => stdin,
            true => {
                self.environment.truncate(outer);
                Stream::empty()
            }
            false => {
                let out = self.shell_command(args, stdin);
                self.environment.truncate(outer);
                out
            }
        }
    }

    /// Returns the words that an assignment gives its variable.
    pub(super) fn assigned(&mut self, src: &str, assignment: &Assignment) -> Vec<Arg> {
        self.subscript(src, &assignment.target);
        match &assignment.value {
            AssignmentValue::Scalar(word) => vec![self.one(src, word)],
            AssignmentValue::Compound(array) => {
                let mut words = Vec::new();
                for element in &array.elements {
                    if let ArrayElem::Keyed { key, .. } | ArrayElem::KeyedAppend { key, .. } =
                        element
                    {
                        self.calculate(src, Node::Subscript(key), key.syntax_text(src));
                    }
                    self.word_into(src, &element.value().word, &mut words);
                }
                words
            }
        }
    }

    pub(super) fn assign(&mut self, assignment: &Assignment, words: Vec<Arg>) {
        let name = assignment.target.name.as_str();
        if assignment.target.subscript.is_some() || assignment.append {
            // The old value is copied.
            let values = self.state.values(name).unwrap_or_default();
            self.state.work().entries(values.iter().map(Vec::len).sum());
        }
        if assignment.target.subscript.is_some() {
            let mut all = self.variable(name);
            all.extend(words);
            self.state.set(name, all);
        } else if assignment.append {
            let mut all = self.variable(name);
            match (&assignment.value, all.last_mut(), words.first()) {
                (AssignmentValue::Scalar(_), Some(last), Some(more)) => {
                    last.text.push_str(&more.text);
                    last.taint = last.taint.and(more.taint);
                }
                _ => all.extend(words),
            }
            self.state.set(name, all);
        } else {
            self.state.set(name, words);
        }
    }

    /// Follows a command given by its words.
    pub(super) fn follow_command(&mut self, args: Vec<Arg>, stdin: Stream) -> Stream {
        self.within_bounds(args, stdin, Self::follow_inside)
    }

    /// Follows a command unless the bounds on depth and work are passed.
    pub(super) fn within_bounds(
        &mut self,
        args: Vec<Arg>,
        stdin: Stream,
        follow: fn(&mut Self, Vec<Arg>, Stream) -> Stream,
    ) -> Stream {
        let Some(first) = args.first() else { return Stream::empty() };
        if self.depth >= MOST_DEPTH {
            self.note(Fact::new(FactKind::Bound, "too deep to follow").at(first.span));
            return Stream::unknown(Tags::NONE);
        }
        if self.is_exhausted() {
            return Stream::unknown(Tags::NONE);
        }
        self.state.work().text(stdin.text.as_ref().map_or(0, String::len));
        self.fuel = self.fuel.saturating_sub(1);
        self.depth += 1;
        let outer = self.environment.len();
        let out = follow(self, args, stdin);
        // Variables set by a wrapper such as `env` end with it.
        self.environment.truncate(outer);
        self.depth -= 1;
        out
    }

    /// Follows a program given by its words.
    pub(super) fn follow_inside(&mut self, args: Vec<Arg>, stdin: Stream) -> Stream {
        let Some(first) = args.first() else { return Stream::empty() };
        // A glob passed to a function is quoted there, and was expanded before.
        let by_pattern = (first.glob || first.text.contains('/'))
            && location::base_name(&first.text).contains(['*', '?', '[']);
        if by_pattern && first.text != "[" {
            return self.by_pattern(&args, &stdin);
        }
        if !first.is_known() && !names_a_local_file(first) {
            if let Some(assumed) = self.assumed_program(&args) {
                return self.follow_command(assumed, stdin);
            }
            return self.unknown_command(&args, &stdin);
        }
        if let Some(program) = self.linked_program(first) {
            let mut linked = args;
            if let Some(first) = linked.first_mut() {
                *first = first.saying(program);
            }
            return self.follow_command(linked, stdin);
        }
        let name = program_name(&first.text);
        let args = if name.ends_with("tar") { with_dashed_options(args) } else { args };
        let Some(first) = args.first() else { return Stream::empty() };
        if first.text == name
            && let Some(out) = self.builtin(&name, &args, &stdin)
        {
            return out;
        }
        if let Some(out) = self.own_script(first, &args, &stdin) {
            return out;
        }
        let program = catalogue::program(&name);
        if let Some(wrap) = program.and_then(|program| program.wraps.as_ref())
            && let Some(out) = self.wrapped_command(&name, wrap, program, &args, &stdin)
        {
            return out;
        }
        self.program(name, program, args, &stdin)
    }

    /// Follows the command that a wrapper runs; `None` when there is none.
    fn wrapped_command(
        &mut self,
        name: &str,
        wrap: &Wrap,
        program: Option<&'static Program>,
        args: &[Arg],
        stdin: &Stream,
    ) -> Option<Stream> {
        let inner = self.unwrap(name, wrap, program, args, stdin);
        // The words of the inner command are examined as its own.
        let own = match &inner {
            Inner::Command { args: inner, .. } => args.len().saturating_sub(inner.len()).max(1),
            Inner::Done(_) | Inner::Nothing => args.len(),
        };
        self.words_of_wrapper(name, program, args, own);
        let has_options = args.get(1).is_some_and(|word| word.text.starts_with('-'));
        match inner {
            Inner::Command { args: inner, tags, stdin } => {
                self.shows_given_variables(name, args, &inner);
                let args = inner;
                self.deceives_ours(name, &args);
                self.wrapped += 1;
                let appends = wrap.appends;
                let out = self.with_tags(tags, |walker| {
                    if appends {
                        walker.loops += 1;
                        let out = walker.perhaps(|walker| walker.follow_command(args, stdin));
                        walker.loops -= 1;
                        // With options of its own, it may run several times, with some of the words
                        // each.
                        if has_options { Stream { text: None, ..out } } else { out }
                    } else {
                        walker.follow_command(args, stdin)
                    }
                });
                self.wrapped -= 1;
                Some(out)
            }
            Inner::Done(out) => Some(out),
            Inner::Nothing => None,
        }
    }

    /// Examines the wrapper's own words: the first `own` ones.
    fn words_of_wrapper(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &[Arg],
        own: usize,
    ) {
        let words = Arguments::new(args.get(1..own).unwrap_or_default(), program);
        self.floor(name, &words, &Stream::caller());
        self.code_from_elsewhere(name, program, &words, whole_span(args));
        self.written_over_source(name, program, &words);
        self.protected_among(name, &words, self.analysis.facts.len(), whole_span(args));
        let all = args.get(1..).unwrap_or_default();
        self.named_by_lists(name, &Arguments::new(all, program));
        self.options_of_ssh(name, &words, whole_span(args));
        if name == "ssh" {
            self.encoded_words(&words);
        }
        self.covered_by_sandbox(name, all);
        self.answers(name, &Arguments::new(all, program), whole_span(args));
    }

    /// Follows every program that a glob such as `/bin/r?` can match, and perhaps another one.
    fn by_pattern(&mut self, args: &[Arg], stdin: &Stream) -> Stream {
        // Bounds on the number of globs, of programs for each, and of words.
        const MOST_PATTERNS: u32 = 32;
        const MOST_PROGRAMS: usize = 24;
        const MOST_WORDS: usize = 64;
        self.patterns += 1;
        if let Some((first, rest)) = args.split_first()
            && self.patterns <= MOST_PATTERNS
            && rest.len() <= MOST_WORDS
        {
            let named = catalogue::matching(location::base_name(&first.text));
            let own = location::matches(location::base_name(&first.text), super::own_command::OWN);
            let found = named.chain(own.then_some(super::own_command::OWN));
            for name in found.take(MOST_PROGRAMS).collect::<Vec<_>>() {
                let program = Arg { glob: false, ..first.saying(name) };
                let words = std::iter::once(program).chain(rest.iter().cloned()).collect();
                self.follow_command(words, stdin.clone());
            }
        }
        self.unknown_command(args, stdin)
    }

    /// Returns the command of a variable that names a program by convention: `$CARGO`, `${PYTHON}`.
    fn assumed_program(&mut self, args: &[Arg]) -> Option<Vec<Arg>> {
        let first = args.first().filter(|first| first.text.chars().eq([UNKNOWN]))?;
        let variable = first.variable.as_deref()?;
        let name = variable.rsplit('_').next().unwrap_or(variable).to_ascii_lowercase();
        let program = catalogue::program(&name)?;
        let harmless = program.own_verbs
            && program.wraps.is_none()
            && program.runs.is_none()
            && !program.does.iter().any(|effect| effect.fact == FactKind::Delete);
        if !harmless {
            return None;
        }
        self.note(Fact::new(FactKind::AssumedCommand, variable).at(first.span));
        let mut assumed = args.to_vec();
        if let Some(first) = assumed.first_mut() {
            *first = Arg { span: first.span, ..Arg::literal(name) };
        }
        Some(assumed)
    }

    /// Reports whether this is a call of an unknown program with a long option that no program
    /// which deletes, writes or interprets would accept.
    fn is_plain_call(args: &[Arg]) -> bool {
        const UNDERSTOOD: &[&str] = &[
            "--recursive",
            "--force",
            "--no-preserve-root",
            "--one-file-system",
            "--dir",
            "--verbose",
            "--remove",
            "--zero",
            "--parents",
            "--command",
            "--eval",
            "--exec",
            "--execute",
            "--run",
            "--call",
            "--print",
            "--login",
            "--posix",
            "--rcfile",
            "--init-file",
            "--init-command",
            "--expression",
            "--file",
            "--output",
            "--target-directory",
            "--delete",
        ];
        matches!(args, [first, option, ..]
            if first.one_word
                && option.is_known()
                && option.text.starts_with("--")
                && option.text.len() > 2
                && !UNDERSTOOD.iter().any(|known| known.starts_with(option.text.split('=').next().unwrap_or_default())))
            && !args
                .iter()
                .skip(1)
                .any(|arg| matches!(arg.text.as_str(), "-c" | "-e" | "-rf" | "-fr" | "-r" | "-f"))
    }

    fn unknown_command(&mut self, args: &[Arg], stdin: &Stream) -> Stream {
        if let Some(first) = args.first() {
            let kind = match first.taint {
                taint if taint.has(Tag::Fetched) => FactKind::RemoteCode,
                taint if taint.has(Tag::Decoded) => FactKind::DecodedCode,
                _ if Self::is_plain_call(args) => FactKind::AssumedCommand,
                _ => FactKind::UnknownCommand,
            };
            self.note(
                Fact::new(kind, location::shown(&first.text)).tagged(first.taint).at(first.span),
            );
        }
        Stream::unknown(stdin.taint.and(super::expand::taint_of(args)))
    }

    /// Follows a file that this script has written or fetched and now runs by its name.
    fn own_script(&mut self, first: &Arg, args: &[Arg], stdin: &Stream) -> Option<Stream> {
        if !first.text.contains('/') || self.state.files.is_empty() {
            return None;
        }
        let content = self.content_of(first);
        if !self.made_here(&first.text) && !content.taint.has(Tag::Fetched) {
            return None;
        }
        let outer = self.state.positional.replace(args.iter().skip(1).cloned().collect());
        let out = self.follow_text(super::catalogue::Code::Shell, &content, first.span, stdin);
        self.state.positional = outer;
        Some(out)
    }

    /// Records a program that is not a wrapper, and its effects.
    fn program(
        &mut self,
        name: String,
        program: Option<&'static Program>,
        args: Vec<Arg>,
        stdin: &Stream,
    ) -> Stream {
        self.state.work().words(&args);
        let span = whole_span(&args);
        let arguments = Arguments::new(args.get(1..).unwrap_or_default(), program);
        let searches =
            program.is_some_and(|program| matches!(program.acts_as, Some(Class::Find | Class::Fd)));
        let asks_help = !searches && super::verb::asks_for_help(&name, program, &arguments);
        let carried = self.carried(&name, &arguments, stdin);
        if !asks_help {
            self.passes_on_fetched(&name, &arguments, stdin, span);
            self.fills(&name, &arguments, stdin, span);
            self.starts_root_shell(&name, program, &arguments, span);
        }
        self.effects(&name, program, &arguments, asks_help, span);
        self.put_down(carried);
        if !asks_help {
            self.loses(&name, program, &arguments, stdin, span);
            self.runs_project_files(&name, &arguments, stdin, span);
        }
        self.about_own_command(&name, program, &arguments, span);
        self.floor(&name, &arguments, stdin);
        // No program has such a name: the word is a whole command for some wrapper.
        if let Some(first) = args.first().filter(|first| first.text.contains(' ')) {
            self.floor_of(&first.text, first.span);
        }
        if asks_help {
            return Stream::unknown(Tags::NONE);
        }
        if let Some(first) = args.first() {
            self.program_from_temp(first);
            self.hidden_script(first);
            self.program_from_address(first);
        }
        self.sends_input(&name, &arguments, stdin, span);
        self.after_a_wait(&name, &arguments, span);
        self.shows_secrets(&name, &arguments, span);
        self.filters_secrets(&name, &arguments, stdin, span);
        if !arguments.words().is_empty() {
            self.whatever_the_program(&name, program, &arguments, span);
        }
        self.answered_beforehand(&name, &arguments, stdin, span);
        self.destroys_by_query(&name, program, &arguments, stdin, span);
        self.sends_words(&name, program, &arguments, stdin, span);
        self.hands_over(&name, program, &arguments, stdin, span);
        let out = self.program_output(&name, program, &arguments, stdin, span);
        let span = if self.nested { self.shown_at } else { span };
        let operands = arguments.into_places();
        let words = args.into_iter().skip(1).map(|arg| arg.text).collect();
        let origin = self.origin();
        self.analysis.commands.push(Invocation { program: name, words, operands, span, origin });
        out
    }

    /// Records effects of words that are the same for every program.
    fn whatever_the_program(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        self.sends_to_address(name, args);
        self.sends_in_names(name, args);
        self.serves(name, args);
        self.listens(name, program, args, span);
        self.code_from_elsewhere(name, program, args, span);
        self.toolchain(name, program, args, span);
        self.kept_settings(name, args, span);
        self.loads_code(program, args, span);
        self.scans_for_secrets(name, args, span);
        self.runs_later(name, args, span);
        self.options_of_ssh(name, args, span);
        self.unpacks(name, args);
        self.tells_to_delete(name, args, span);
        self.granting_verbs(name, program, args, span);
        self.shells_in_options(name, program, args, span);
        let program = catalogue::program(name);
        if super::floor::only_mentions(name) || program.is_some_and(|known| known.runs.is_some()) {
            return;
        }
        self.commands_in_options(args, span);
        if program.is_none() {
            self.commands_in_words(args, span);
            self.commands_behind_letters(args, span);
        }
    }

    fn program_output(
        &mut self,
        name: &str,
        program: Option<&'static Program>,
        arguments: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Stream {
        if let Some(out) = self.stands_in(name, program, arguments, stdin, span) {
            return out;
        }
        if let Some(out) = self.special(name, program, arguments, stdin, span) {
            return out;
        }
        if let Some(runs) = program.and_then(|program| program.runs.as_ref()) {
            return self.follow_interpreter(name, runs, arguments, stdin, span);
        }
        if program.is_none_or(|program| !program.own_verbs) {
            self.general_verbs(name, arguments, span);
        }
        if program.is_some_and(|program| program.prompts) {
            self.commands_in_input(name, arguments, stdin, span);
            for line in arguments.values(&["-e", "-c", "--command"]) {
                let line = Stream::known(line.text, line.taint);
                self.commands_in_input(name, &Arguments::new(&[], program), &line, span);
            }
        }
        self.output(name, arguments, stdin)
    }

    /// Records a program in a temporary folder.
    fn program_from_temp(&mut self, first: &Arg) {
        if first.text.starts_with('/')
            && location::locate(&first.text, &self.scene_now()).has(Tag::Temp)
        {
            self.note(Fact::new(FactKind::TempProgram, first.text.clone()).at(first.span));
        }
    }

    /// Records a program that is downloaded and run: `npx github:x/y`, `uv run https://…`.
    fn program_from_address(&mut self, first: &Arg) {
        let is_foreign = super::foreign::is_on_a_forge(&first.text)
            || super::foreign::address(&first.text).is_some();
        if self.wrapped > 0 && is_foreign {
            let subject = location::shown(&first.text).into_owned();
            self.note(Fact::new(FactKind::RemoteCode, subject).at(first.span));
        }
    }

    /// Follows programs whose words have a grammar of their own.
    fn special(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Option<Stream> {
        let Some(class) = program.and_then(|program| program.acts_as) else {
            return self.inline(name, args, stdin, span);
        };
        match class {
            Class::Find => Some(self.find(args, span)),
            Class::Fd => self.fd(args, span),
            Class::HttpClient => {
                Some(self.http_client(catalogue::own_name(name), args, stdin, span))
            }
            Class::RawNetwork => {
                self.raw_network(name, args, stdin, span);
                None
            }
            Class::CopiesOverNetwork => {
                self.copies_over_network(name, args);
                None
            }
            Class::Git => {
                self.git(args, span);
                None
            }
            Class::Permissions => {
                self.permissions(name, args);
                None
            }
            Class::Crontab => {
                self.crontab(args, stdin, span);
                None
            }
            Class::Search => {
                self.greps_for_secrets(args, span);
                None
            }
            Class::Sed => {
                self.sed(args, stdin, span);
                None
            }
            Class::Awk => self.awk(args, stdin, span),
        }
    }
}

/// Reports whether a word names a program below the working folder: `./$NAME`,
/// `target/$TARGET/app`.
fn names_a_local_file(word: &Arg) -> bool {
    word.text.split_once(UNKNOWN).is_some_and(|(known, rest)| {
        let inside = !known.starts_with('/') && !known.contains("..") && !rest.contains("..");
        inside && known.contains('/')
    })
}

/// Turns `tar czf x .` into `tar -czf x .`.
fn with_dashed_options(mut args: Vec<Arg>) -> Vec<Arg> {
    if let Some(options) = args.get_mut(1)
        && !options.text.starts_with('-')
        && options.text.chars().all(|char| char.is_ascii_alphabetic())
    {
        options.text.insert(0, '-');
    }
    args
}

/// Returns the variable that is assigned `<(…)`, which the grammar parses as the command.
fn assigned_stream(simple: &SimpleCommand) -> Option<&str> {
    let last = simple.assignments.last()?;
    let first = simple.name.parts.first()?;
    let touches = last.span.end.offset() == simple.name.span.start.offset();
    let is_stream = matches!(first.kind, WordPart::ProcessSubstitution { .. });
    let is_empty =
        matches!(&last.value, AssignmentValue::Scalar(word) if word.span.start == word.span.end);
    (touches && is_stream && is_empty).then_some(last.target.name.as_str())
}

/// Returns the variable that makes up a whole word.
pub(super) fn plain_variable(word: &Word) -> Option<Box<str>> {
    let parts = match word.parts.as_slice() {
        [WordPartNode { kind: WordPart::DoubleQuoted { parts, .. }, .. }] => parts.as_slice(),
        parts => parts,
    };
    match parts {
        [WordPartNode { kind: WordPart::Variable(name), .. }] => Some(name.as_str().into()),
        [WordPartNode { kind: WordPart::Parameter(parameter), .. }] => match parameter.bourne()? {
            BourneParameterExpansion::Access { reference } if reference.subscript.is_none() => {
                Some(reference.name.as_str().into())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the span from the first word to the last.
pub(super) fn whole_span(args: &[Arg]) -> Option<Span> {
    let [start, _] = args.first()?.span?;
    let [_, end] = args.last()?.span?;
    Some([start, end.max(start)])
}

/// Quotes a word so that a shell reads it literally.
pub(super) fn quote(text: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "_-./=:@%+,~*?[]{}".contains(char);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
