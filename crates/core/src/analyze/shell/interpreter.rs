//! Programs that run source text: from an option, an operand, a file or standard input.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{self, Code, Program, Runs};
use super::value::{Arg, Stream};
use crate::action::Language;
use crate::analyze::{self, Analysis, Invocation, UNKNOWN};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

/// Returns the kind of code whose text is not available here.
pub(super) fn unseen(content: &Stream) -> Option<FactKind> {
    let hidden = match &content.text {
        None => true,
        Some(text) => {
            // A whole command that is not known, not just a word of one.
            let trimmed = text.trim();
            trimmed.starts_with(UNKNOWN)
                && trimmed.chars().all(|char| char == UNKNOWN || char.is_whitespace())
        }
    };
    let taint = content.taint;
    match hidden {
        true if taint.has(Tag::Fetched) => Some(FactKind::RemoteCode),
        true if taint.has(Tag::Decoded) => Some(FactKind::DecodedCode),
        true => Some(FactKind::UnknownCode),
        false => None,
    }
}

/// The number of sources on one command line that are followed: each sees all the words after it,
/// so following thousands would be quadratic.
const MOST_SOURCES: usize = 64;

/// Options with which an interpreter still reads what it runs from its input.
const PROMPTING: &[&str] = &[
    "-",
    "-B",
    "-I",
    "-i",
    "-il",
    "-l",
    "-li",
    "-p",
    "-q",
    "-s",
    "-u",
    "--login",
    "--noprofile",
    "--norc",
    "--posix",
    "--restricted",
];

/// Reports whether a command is an interpreter that reads what it runs from its input.
pub(crate) fn prompts(command: &Invocation) -> bool {
    const LANGUAGES: &[Code] = &[Code::Shell, Code::Python, Code::Perl, Code::Ruby];
    let runs = catalogue::program(&command.program).and_then(|program| program.runs.as_ref());
    runs.is_some_and(|runs| runs.stdin && LANGUAGES.contains(&runs.language))
        && command.words.iter().all(|word| PROMPTING.contains(&word.as_str()))
}

impl Walker<'_> {
    /// Follows an interpreter.
    pub(super) fn follow_interpreter(
        &mut self,
        name: &str,
        runs: &Runs,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Stream {
        if runs.language == Code::Shell {
            self.start_up_file(args, span);
        }
        let mut sources = match runs.language {
            Code::Shell => command_string(args),
            // Where `-cmd` is an option, `-csv` is another option and not `-c sv`.
            _ if runs.source.iter().any(|option| is_long_with_one_dash(option)) => {
                args.whole_values(runs.source)
            }
            _ => args.values(runs.source),
        };
        if runs.language == Code::Applescript {
            sources = joined_lines(sources);
        }
        let at = usize::from(runs.language == Code::Sql);
        if !sources.is_empty() {
            // `sqlite3 -cmd X db Y` runs X and then Y.
            let more = args.operands().get(at).filter(|_| runs.operand && at > 0);
            sources.extend(more.map(|source| (*source).clone()));
            return self.follow_sources(runs.language, sources, args, stdin, span);
        }
        if runs.operand
            && let Some(source) = args.operands().get(at)
        {
            let content = Stream::known(source.text.clone(), source.taint);
            return self.follow_text(runs.language, &content, source.span.or(span), stdin);
        }
        let is_shell = runs.language == Code::Shell;
        if is_shell && has_letter(args, 's') {
            let words = args.operands().iter().map(|word| (*word).clone()).collect();
            let outer = self.state.positional.replace(words);
            let out = self.follow_text(runs.language, stdin, span, &Stream::empty());
            self.state.positional = outer;
            return out;
        }
        self.interpret_file(name, runs, args, stdin, span)
    }

    /// Follows the file that an interpreter is given, or else its input.
    fn interpret_file(
        &mut self,
        name: &str,
        runs: &Runs,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Stream {
        let is_shell = runs.language == Code::Shell;
        let is_option = |word: &Arg| is_shell && word.text.starts_with('+');
        let mut operands = args.operands().iter().filter(|word| !is_option(word));
        let file = operands.next().filter(|file| file.text != "-" && runs.file);
        match file {
            Some(file) => {
                self.hidden_script(file);
                self.follow_file(name, runs.language, file, args, stdin)
            }
            None if runs.stdin
                && stdin.from_caller
                && let Some(opened) = self.state.descriptors.get(&0).cloned() =>
            {
                self.follow_text(runs.language, &opened, span, &Stream::empty())
            }
            None if runs.stdin
                && !stdin.from_caller
                && !args.has_any(&["--version", "-V", "-m"]) =>
            {
                self.follow_text(runs.language, stdin, span, &Stream::empty())
            }
            None => {
                self.opens_shell(name, runs.language, args, stdin, span);
                Stream::unknown(stdin.taint)
            }
        }
    }

    /// Follows the start-up file of a shell.
    fn start_up_file(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        const NAMES: [&str; 2] = ["BASH_ENV", "ENV"];
        let before = self.environment.len();
        let mut files = args.values(&["--rcfile", "--init-file"]);
        for name in NAMES {
            let given = self.environment.iter().rev().find(|(known, _)| known == name);
            let value = match (given, self.state.values(name)) {
                (Some((_, value)), _) => value.clone(),
                (None, Some([words, ..])) => words.first().cloned(),
                _ => None,
            };
            files.extend(value);
        }
        for file in files {
            let content = match &file.stream {
                Some(stream) => (**stream).clone(),
                None => self.content_of(&file),
            };
            if content.text.is_some() || file.stream.is_some() {
                // A nested shell does not read it again.
                self.environment.extend(NAMES.map(|name| (name.to_owned(), None)));
                self.follow_text(Code::Shell, &content, span, &Stream::caller());
                self.environment.truncate(before);
            }
        }
    }

    /// Follows the source texts given by options.
    fn follow_sources(
        &mut self,
        language: Code,
        sources: Vec<Arg>,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Stream {
        let mut out = Stream::empty();
        for (count, source) in sources.into_iter().enumerate() {
            if count >= MOST_SOURCES {
                self.note(Fact::new(FactKind::Bound, "too many sources").at(span));
                break;
            }
            let content = Stream::known(source.text.clone(), source.taint);
            let at = source.span.or(span);
            let outer = self.state.clone();
            if let Some((name, words)) = script_arguments(args, &source) {
                self.state.set("0", vec![name]);
                self.state.positional = Some(words);
            }
            out = self.follow_text(language, &content, at, stdin);
            self.leave_subshell(outer);
        }
        out
    }

    /// Records an interpreter without a script, as another user or started by another program.
    fn opens_shell(
        &mut self,
        name: &str,
        language: Code,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        let reached = self.wrapped > 0 || self.nested || self.tags.has(Tag::Elevated);
        let asks = args.has_any(&["--version", "-V", "--help", "-h", "-m", "-v", "-version"]);
        let languages = [Code::Shell, Code::Python, Code::Javascript, Code::Perl, Code::Ruby];
        // The console of a database, as its administrator.
        let administers = language == Code::Sql && self.tags.has(Tag::Elevated);
        let lists = args.has_any(&["-l", "--list", "-f", "--file", "-c", "--command", "-e"]);
        let opens = languages.contains(&language) || administers && !lists;
        if reached && !asks && stdin.from_caller && opens && !self.is_floor {
            self.note(Fact::new(FactKind::OpenShell, name).at(span));
        }
    }

    /// Notes a program that starts a shell as root: a terminal multiplexer, or one that is not known
    /// and is given the path of a shell.
    pub(super) fn starts_root_shell(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        const MULTIPLEXERS: &[&str] =
            &["abduco", "byobu", "dtach", "dvtm", "screen", "tmux", "zellij"];
        if !self.tags.has(Tag::Elevated) {
            return;
        }
        let is_shell = |word: &&Arg| {
            let known = catalogue::program(location::base_name(&word.text));
            let runs = known.and_then(|program| program.runs.as_ref());
            word.text.starts_with('/') && runs.is_some_and(|runs| runs.language == Code::Shell)
        };
        let is_given_one = program.is_none() && args.operands().last().is_some_and(is_shell);
        let is_multiplexer = MULTIPLEXERS.contains(&name) && args.words().is_empty();
        if is_given_one || is_multiplexer {
            self.note(Fact::new(FactKind::OpenShell, name).at(span));
        }
    }

    fn follow_file(
        &mut self,
        name: &str,
        language: Code,
        file: &Arg,
        args: &Arguments<'_>,
        stdin: &Stream,
    ) -> Stream {
        if let Some(content) = self.descriptor(&file.text, stdin) {
            return self.follow_text(language, &content, file.span, &Stream::empty());
        }
        if let Some(stream) = &file.stream {
            let content = (**stream).clone();
            return self.follow_text(language, &content, file.span, stdin);
        }
        // `node a` runs `a.js`.
        let ending = if language == Code::Javascript { ".js" } else { "" };
        let named = file.saying(format!("{}{ending}", file.text));
        let file = if self.made_here(&named.text) { &named } else { file };
        let content = self.content_of(file);
        let known_here = self.made_here(&file.text) || content.text.is_some();
        if known_here || content.taint.has(Tag::Fetched) {
            let outer = self
                .state
                .positional
                .replace(args.operands().iter().skip(1).map(|arg| (*arg).clone()).collect());
            let out = self.follow_text(language, &content, file.span, stdin);
            self.state.positional = outer;
            return out;
        }
        if !file.is_known() && file.text.starts_with(UNKNOWN) && file.taint.has(Tag::Fetched) {
            self.note(Fact::new(FactKind::RemoteCode, name).at(file.span));
        }
        Stream::unknown(stdin.taint)
    }

    /// Follows source text in any language.
    pub(super) fn follow_text(
        &mut self,
        language: Code,
        content: &Stream,
        span: Option<Span>,
        stdin: &Stream,
    ) -> Stream {
        if let Some(kind) = unseen(content) {
            let subject = match language {
                Code::Shell => "shell",
                Code::Python => "python",
                Code::Javascript => "javascript",
                Code::Perl => "perl",
                Code::Ruby => "ruby",
                Code::Sql => "sql",
                Code::Applescript => "applescript",
                Code::Other => "code",
            };
            if language != Code::Sql || kind != FactKind::UnknownCode {
                self.note(
                    Fact::new(kind, subject).tagged(content.taint.without(Tag::Created)).at(span),
                );
            }
            return Stream::unknown(content.taint);
        }
        let text = content.text.clone().unwrap_or_default();
        if let Some(call) = super::query::destroying_call(&text).filter(|_| language != Code::Shell)
        {
            self.note(Fact::new(FactKind::DestructiveVerb, call).at(span));
        }
        if language == Code::Sql {
            self.files_in_query(&text, span);
        }
        // Statements that another statement prints are code that nobody has read.
        let generates = language == Code::Sql && super::query::generates(&text);
        let language = match language {
            Code::Shell => return self.process_script(&text, span, stdin.clone()),
            Code::Python => Language::Python,
            Code::Javascript => Language::Javascript,
            Code::Perl => Language::Perl,
            Code::Ruby => Language::Ruby,
            Code::Sql => Language::Sql,
            Code::Applescript => {
                let scene = self.scene_now();
                let found = analyze::applescript::nested(&text, &scene, span);
                self.merge(found, span);
                return Stream::unknown(stdin.taint.and(content.taint));
            }
            Code::Other => {
                self.shell_calls_in(&text, span);
                self.without_reader(&text, span);
                return Stream::unknown(stdin.taint);
            }
        };
        let scene = self.scene_now().deeper();
        let found = analyze::code::analyze(language, &text, None, &scene);
        self.found_in_source(&text, found, span);
        let taint = stdin.taint.and(content.taint);
        Stream::unknown(if generates { taint.with(Tag::Decoded) } else { taint })
    }

    /// Adopts the findings of another analyzer for a text inside this one.
    pub(super) fn merge(&mut self, found: Analysis, span: Option<Span>) {
        let shown = if self.nested { self.shown_at } else { span };
        for fact in &found.facts {
            if matches!(fact.kind, FactKind::Write | FactKind::Append | FactKind::Create) {
                self.made(&Arg::literal(fact.subject.clone()), Tags::NONE);
            }
        }
        for fact in found.facts {
            // Writing rows is the normal use of a database client; losing them or changing
            // permissions is not.
            if fact.kind != FactKind::SqlWrite || administers(&fact.subject) {
                self.note(fact.at(shown));
            }
        }
        self.analysis.commands.extend(
            found
                .commands
                .into_iter()
                .map(|command| analyze::Invocation { span: shown, ..command }),
        );
    }

    /// Searches a text in a language without an analyzer for calls that start a shell, and follows
    /// their string arguments.
    pub(super) fn shell_calls_in(&mut self, text: &str, span: Option<Span>) {
        const CALLS: &[&str] = &[
            "system",
            "exec",
            "execute",
            "popen",
            "shell_exec",
            "passthru",
            "proc_open",
            "spawn",
            "do shell script",
            "shell-command",
            "shell",
            "start-process",
            "|getline",
            "execv",
        ];
        for call in CALLS {
            for (at, _) in text.match_indices(call) {
                let after = text.get(at + call.len()..).unwrap_or_default();
                let after =
                    after.trim_start_matches(|char: char| char == '(' || char.is_whitespace());
                if let Some(string) = first_string(after) {
                    self.child_script(&string, span, Stream::caller());
                }
            }
        }
        // An editor's `:!cmd`, a debugger's `!cmd`.
        if let Some((before, command)) = text.split_once('!')
            && before.len() <= 16
            && before.chars().all(|char| char.is_ascii_alphanumeric() || ": %.,$".contains(char))
        {
            self.child_script(command, span, Stream::caller());
        }
        for part in text.split('`').skip(1).step_by(2) {
            self.child_script(part, span, Stream::caller());
        }
    }
}

/// Reports whether a statement changes the server or its permissions rather than rows.
fn administers(statement: &str) -> bool {
    let mut words = statement.split_whitespace().map(str::to_ascii_lowercase);
    let first = words.next().unwrap_or_default();
    let first = first.trim_end_matches([';', '(']);
    let second = words.next().unwrap_or_default();
    has(words::SQL_ADMINISTERS, first)
        || has(words::SQL_ADMINISTERS, &format!("{first} {}", second.trim_end_matches(';')))
}

/// Reports whether a shell is given this option. Options after the script are for the script.
fn has_letter(args: &Arguments<'_>, letter: char) -> bool {
    args.leading_options().iter().take_while(|word| word.text != "--").any(|word| {
        let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        letters.is_some_and(|letters| letters.contains(letter))
    })
}

/// Returns the script of `bash -c`: the first operand, wherever the option is.
fn command_string(args: &Arguments<'_>) -> Vec<Arg> {
    let takes_a_script = has_letter(args, 'c');
    let is_option = |word: &Arg| word.text.starts_with('+');
    let mut operands = args.operands().iter().filter(|word| !is_option(word));
    operands.next().filter(|_| takes_a_script).map(|word| (*word).clone()).into_iter().collect()
}

/// Joins the `-e` options of osascript and sed, each of which is a line of one script.
pub(super) fn joined_lines(lines: Vec<Arg>) -> Vec<Arg> {
    let mut lines = lines.into_iter();
    let Some(mut first) = lines.next() else { return Vec::new() };
    for line in lines {
        first.text.push('\n');
        first.text.push_str(&line.text);
        first.taint = first.taint.and(line.taint);
    }
    vec![first]
}

/// Reports whether an option is longer than one letter and has a single dash, such as `-cmd`.
fn is_long_with_one_dash(option: &str) -> bool {
    option.len() > 2 && !option.starts_with("--")
}

/// Returns the words that `bash -c SCRIPT name a b` puts into `$0`, and into `$1`, `$2`.
fn script_arguments(args: &Arguments<'_>, source: &Arg) -> Option<(Arg, Vec<Arg>)> {
    let at = args.words().iter().position(|word| word == source)?;
    let (name, words) = args.words().get(at + 1..)?.split_first()?;
    Some((name.clone(), words.to_vec()))
}

/// Returns the string literal at the start of the text.
fn first_string(text: &str) -> Option<String> {
    let open = text.chars().next().filter(|char| matches!(char, '"' | '\''))?;
    let mut out = String::new();
    let mut chars = text.chars().skip(1);
    while let Some(char) = chars.next() {
        match char {
            '\\' => {
                out.push(char);
                out.extend(chars.next());
            }
            char if char == open => {
                let text = super::output::unescape(&out, super::output::Escapes::Quoted);
                return Some(text.unwrap_or_else(|| UNKNOWN.into()));
            }
            char => out.push(char),
        }
    }
    None
}
