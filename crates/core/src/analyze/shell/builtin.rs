//! The shell's own commands: `eval`, `source`, `cd`, `trap`, `read`…

use shuck_ast::{BuiltinCommand, DeclClause, DeclOperand};

use super::Walker;
use super::expand::taint_of;
use super::value::{Arg, Stream};
use super::visit::{Node, flow_parts};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::verdict::Span;

/// Builtins that evaluate some of their words as arithmetic or as variables with a subscript.
const EVALUATING: &[&str] = &[
    "let",
    "test",
    "[",
    "printf",
    "read",
    "mapfile",
    "readarray",
    "unset",
    "compgen",
    "complete",
    "wait",
    "getopts",
    "typeset",
    "local",
    "declare",
    "export",
    "readonly",
    "exit",
    "return",
];

impl Walker<'_> {
    /// Follows a builtin; `None` when this is a program.
    pub(super) fn builtin(&mut self, name: &str, args: &[Arg], stdin: &Stream) -> Option<Stream> {
        let words = args.get(1..).unwrap_or_default();
        let span = super::follow::whole_span(args);
        if EVALUATING.contains(&name) {
            for word in words {
                self.arithmetic(&word.text);
            }
        }
        match name {
            "eval" => Some(self.follow_here(&join(words), span, stdin)),
            "source" | "." => Some(self.source(words, span, stdin)),
            "exec" if words.is_empty() => {
                if !stdin.from_caller {
                    self.state.descriptors.insert(0, stdin.clone());
                }
                Some(Stream::empty())
            }
            "exec" => {
                Some(self.follow_command(skip_options(words, &["-a"]).to_vec(), stdin.clone()))
            }
            "builtin" => Some(self.follow_command(words.to_vec(), stdin.clone())),
            "command" => match words {
                [asks, found, ..] if matches!(asks.text.as_str(), "-v" | "-V") => {
                    Some(Stream::known(super::own_command::where_it_is(&found.text), Tags::NONE))
                }
                _ => Some(self.follow_command(skip_options(words, &[]).to_vec(), stdin.clone())),
            },
            "history" => {
                if words.iter().any(|word| matches!(word.text.as_str(), "-c" | "-d" | "-cw")) {
                    self.note(Fact::new(FactKind::HistoryOff, "history -c").at(span));
                }
                self.reads_history(words, span);
                Some(Stream::unknown(Tags::of(&[Tag::Local, Tag::Secret])))
            }
            "set" if words.is_empty() => None,
            "compgen"
                if words.iter().any(|word| matches!(word.text.as_str(), "-v" | "-e" | "-A")) =>
            {
                Some(Stream::unknown(Tags::of(&[Tag::Local, Tag::Secret])))
            }
            _ => self.silent_builtin(name, words, stdin, span).then(Stream::empty),
        }
    }

    /// Records `history -r`, which reads the history of other shells, and `history search token`,
    /// which reads secrets in it.
    fn reads_history(&mut self, words: &[Arg], span: Option<Span>) {
        let reads = words.iter().any(|word| matches!(word.text.as_str(), "-r" | "-n"));
        let seeks = words.iter().any(|word| super::parameter::names_a_secret(&word.text));
        if reads {
            let history = Tags::of(&[Tag::History]);
            self.note(Fact::new(FactKind::Read, "the shell history").tagged(history).at(span));
        } else if seeks {
            self.note(Fact::new(FactKind::SecretSearch, "the shell history").at(span));
        }
    }

    /// Follows a builtin that prints nothing; reports whether this is one.
    fn silent_builtin(
        &mut self,
        name: &str,
        words: &[Arg],
        stdin: &Stream,
        span: Option<Span>,
    ) -> bool {
        match name {
            "hash" if words.iter().any(|word| word.text == "-p") => self.hash(words, span),
            ":" | "true" | "false" | "test" | "[" | "wait" | "jobs" | "umask" | "ulimit"
            | "times" | "let" | "shopt" | "getopts" | "fg" | "bg" | "disown" | "dirs" | "hash" => {}
            "cd" | "pushd" => {
                // Recorded so that a caller can resolve relative paths where they are used.
                let shown = if self.nested { self.shown_at } else { span };
                let arguments = super::arguments::Arguments::new(words, None);
                self.analysis.commands.push(arguments.invocation(name, shown));
                self.change_folder(skip_options(words, &[]).first());
            }
            "popd" => self.state.set("PWD", vec![Arg::unknown(Tags::NONE)]),
            "trap" => self.trap(words, span),
            "alias" => self.alias(words, span),
            "unset" => self.unset(words, span),
            "mapfile" | "readarray" | "compgen" | "complete"
                if words.iter().any(|word| word.text == "-C") =>
            {
                let command = words.iter().skip_while(|word| word.text != "-C").nth(1);
                if let Some(command) = command {
                    self.follow_aside(command, span);
                }
                self.note(Fact::new(FactKind::ShellEscape, name).at(span));
            }
            "read" | "mapfile" | "readarray" => self.read(name, words, stdin),
            "printf" => {
                let [option, variable, rest @ ..] = words else { return false };
                if option.text != "-v" {
                    return false;
                }
                let value = super::output::as_arg(&super::output::printf(rest, taint_of(rest)));
                self.state.set(&variable.text, vec![value]);
            }
            "shift" => self.state.positional = None,
            "set" => self.set_options(words, span),
            "enable" | "bind" | "complete" | "compgen" => {
                if words.iter().any(|word| matches!(word.text.as_str(), "-f" | "-x" | "-C")) {
                    self.note(Fact::new(FactKind::ShellEscape, name).at(span));
                }
            }
            _ => return false,
        }
        true
    }

    /// Follows `hash -p FILE NAME`: from now on the name means the file.
    fn hash(&mut self, words: &[Arg], span: Option<Span>) {
        let words = words.iter().skip_while(|word| word.text != "-p").collect::<Vec<_>>();
        if let [_, program, name, ..] = words.as_slice() {
            self.state.aliases.insert(name.text.clone(), program.text.clone());
            self.replaces_ours(&name.text, span);
        }
    }

    /// Follows text that the current shell runs at another time, with its own functions and
    /// variables.
    fn follow_aside(&mut self, line: &Arg, span: Option<Span>) {
        let outer = self.state.clone();
        self.follow_here(line, span, &Stream::caller());
        self.leave_subshell(outer);
    }

    /// Follows text that the current shell runs.
    fn follow_here(&mut self, line: &Arg, span: Option<Span>, stdin: &Stream) -> Stream {
        let content = Stream::known(line.text.clone(), line.taint);
        if let Some(kind) = super::interpreter::unseen(&content) {
            self.note(Fact::new(kind, "eval").tagged(line.taint).at(span));
            return Stream::unknown(line.taint);
        }
        self.nested_script(&line.text, span, stdin.clone())
    }

    fn source(&mut self, words: &[Arg], span: Option<Span>, stdin: &Stream) -> Stream {
        let Some(file) = skip_options(words, &[]).first() else { return Stream::empty() };
        let (content, is_stream) = match (self.descriptor(&file.text, stdin), &file.stream) {
            (Some(stream), _) => (stream, true),
            (None, Some(stream)) => ((**stream).clone(), true),
            (None, None) => (self.content_of(file), false),
        };
        if let Some(text) = &content.text
            && super::interpreter::unseen(&content).is_none()
        {
            return self.nested_script(&text.clone(), span, Stream::caller());
        }
        let tags = crate::location::locate(&file.text, &self.scene_now());
        if tags.has(Tag::Secret) {
            self.state.secrets_sourced = true;
        }
        match super::interpreter::unseen(&content) {
            // A file that already exists is the project's own script.
            Some(FactKind::UnknownCode) if !is_stream => {}
            Some(kind) => self.note(Fact::new(kind, "source").tagged(content.taint).at(span)),
            None => {}
        }
        // Sourcing prints nothing: the file's values are in variables now.
        Stream::unknown(content.taint.without(Tag::Local).without(Tag::Secret))
    }

    fn trap(&mut self, words: &[Arg], span: Option<Span>) {
        let [handler, signals @ ..] = skip_options(words, &[]) else { return };
        if signals.is_empty() || handler.text.is_empty() || handler.text == "-" {
            return;
        }
        if signals.iter().any(|signal| signal.text == "DEBUG") {
            self.note(Fact::new(FactKind::Capture, "runs before every command").at(span));
        }
        self.follow_aside(handler, span);
    }

    fn alias(&mut self, words: &[Arg], span: Option<Span>) {
        for word in words {
            let Some((name, body)) = word.text.split_once('=') else { continue };
            self.replaces_ours(name, span);
            // Followed at its definition: an alias is there to be used.
            self.child_script(body, span, Stream::caller());
            self.state.aliases.insert(name.to_owned(), body.to_owned());
        }
    }

    /// Follows `read x`, whose value can be any line of the input.
    fn read(&mut self, name: &str, words: &[Arg], stdin: &Stream) {
        const MOST_LINES: usize = 64;
        let values: &[&str] = match name {
            "read" => &["-d", "-n", "-N", "-p", "-t", "-u", "-i"],
            _ => &["-d", "-n", "-O", "-s", "-u", "-C", "-c"],
        };
        let names: Vec<_> = skip_options(words, values)
            .iter()
            .filter(|word| !word.text.starts_with('-'))
            .map(|word| word.text.clone())
            .collect();
        if name == "read"
            && words.iter().any(|word| word.text.starts_with('-') && word.text.ends_with('a'))
            && let (Some(text), Some(variable)) = (&stdin.text, names.first())
        {
            let word = |text: &str| Arg { taint: stdin.taint, ..Arg::literal(text) };
            let given = self.environment.iter().rev().find(|(name, _)| name == "IFS");
            let between = given.and_then(|(_, value)| value.as_ref()).map(|value| &value.text);
            let separates = |char: char| match between {
                Some(between) => between.contains(char),
                None => char.is_whitespace(),
            };
            let line = text.lines().next().unwrap_or_default();
            let words = line.split(separates).filter(|word| !word.is_empty()).map(word);
            let words = words.collect();
            self.state.set(variable, words);
            return;
        }
        let line =
            |text: &str| Arg { text: text.trim().to_owned(), taint: stdin.taint, ..Arg::default() };
        let lines: Option<Vec<Arg>> =
            stdin.text.as_deref().map(|text| text.lines().take(MOST_LINES).map(line).collect());
        match (lines, names.as_slice()) {
            (Some(lines), [variable]) if !lines.is_empty() && name == "read" => {
                self.state.set_any(variable, lines.into_iter().map(|line| vec![line]).collect());
            }
            (Some(lines), [variable]) if !lines.is_empty() => self.state.set(variable, lines),
            (Some(lines), names) if name == "read" => {
                for (at, variable) in names.iter().enumerate() {
                    let words = lines
                        .iter()
                        .map(|line| line.text.split_whitespace().nth(at).unwrap_or_default())
                        .map(|word| vec![line(word)])
                        .collect::<Vec<_>>();
                    self.state.set_any(variable, words);
                }
            }
            (_, names) => {
                for variable in names {
                    self.state.set(variable, vec![Arg::unknown(stdin.taint)]);
                }
            }
        }
    }

    fn unset(&mut self, words: &[Arg], span: Option<Span>) {
        for word in words {
            if matches!(word.text.as_str(), "HISTFILE" | "HISTSIZE" | "PROMPT_COMMAND") {
                self.note(Fact::new(FactKind::HistoryOff, format!("unset {}", word.text)).at(span));
            }
            if word.text.starts_with("COUNTERSIGN") {
                self.note(
                    Fact::new(FactKind::GuardCommand, format!("unset {}", word.text)).at(span),
                );
            }
            self.state.unset(&word.text);
            self.state.undefine(&word.text);
        }
    }

    fn set_options(&mut self, words: &[Arg], span: Option<Span>) {
        match words {
            [dashes, rest @ ..] if dashes.text == "--" => {
                self.state.set_positional(rest.to_vec());
            }
            [off, option, ..] if off.text == "+o" && option.text == "history" => {
                self.note(Fact::new(FactKind::HistoryOff, "set +o history").at(span));
            }
            _ => {}
        }
    }

    /// Follows `export X=…`, `local x=…`, `declare -a x`.
    pub(super) fn declare(&mut self, src: &str, clause: &DeclClause) -> Stream {
        let names = clause.operands.iter().any(|operand| !matches!(operand, DeclOperand::Flag(_)));
        // Integers and name references are evaluated when they are set.
        let evaluates = clause.operands.iter().any(|operand| match operand {
            DeclOperand::Flag(word) => word.span.slice(src).contains(['i', 'n']),
            _ => false,
        });
        let refers = matches!(clause.variant.as_str(), "declare" | "typeset" | "local")
            && clause.operands.iter().any(|operand| match operand {
                DeclOperand::Flag(word) => word.span.slice(src).contains('n'),
                _ => false,
            });
        let exports = clause.variant.as_str() == "export"
            || clause.operands.iter().any(|operand| match operand {
                DeclOperand::Flag(word) => word.span.slice(src).contains('x'),
                _ => false,
            });
        for assignment in &clause.assignments {
            self.follow_in(src, Node::Assignment(assignment));
        }
        for operand in &clause.operands {
            if exports && let Some(name) = declared(src, operand) {
                self.state.export(&name);
            }
            match operand {
                DeclOperand::Assignment(assignment) => {
                    let words = self.assigned(src, assignment);
                    let span = self.span(assignment.span);
                    self.variable_that_runs(assignment.target.name.as_str(), words.first(), span);
                    self.floor_of_values(&words);
                    for word in words.iter().filter(|_| evaluates) {
                        self.arithmetic(&word.text);
                    }
                    match words.first().filter(|_| refers) {
                        Some(target) => {
                            let name = assignment.target.name.as_str();
                            self.state.refer(name, &target.text);
                        }
                        None => self.assign(assignment, words),
                    }
                }
                DeclOperand::Name(reference) => self.subscript(src, reference),
                DeclOperand::Flag(word) => {
                    self.one(src, word);
                }
                DeclOperand::Dynamic(word) => {
                    let said = self.one(src, word).text;
                    // `declare 'a[$(x)]=1'`: the index is evaluated.
                    if let Some((target, _)) = said.split_once("]=")
                        && target.contains('[')
                    {
                        self.evaluated(target);
                    }
                }
            }
        }
        if names { Stream::empty() } else { Stream::unknown(Tags::of(&[Tag::Local, Tag::Secret])) }
    }

    /// Follows `break`, `continue`, `return` and `exit`, where only the words can have effects.
    pub(super) fn flow_word(&mut self, src: &str, builtin: &BuiltinCommand) -> Stream {
        let (code, more, assignments) = flow_parts(builtin);
        for assignment in assignments {
            self.follow_in(src, Node::Assignment(assignment));
        }
        for word in code.iter().chain(more) {
            let said = self.one(src, word).text;
            self.arithmetic(&said);
        }
        Stream::empty()
    }
}

/// Returns the name that an operand of `export` or `declare` is about.
fn declared(src: &str, operand: &DeclOperand) -> Option<String> {
    match operand {
        DeclOperand::Assignment(assignment) => Some(assignment.target.name.as_str().to_owned()),
        DeclOperand::Name(reference) => Some(reference.name.as_str().to_owned()),
        DeclOperand::Dynamic(word) => Some(word.span.slice(src).to_owned()),
        DeclOperand::Flag(_) => None,
    }
}

/// Joins all words into one line.
pub(super) fn join(words: &[Arg]) -> Arg {
    let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    Arg { text, taint: taint_of(words), ..Arg::default() }
}

/// Skips the options, some of which take a value.
pub(super) fn skip_options<'w>(words: &'w [Arg], values: &[&str]) -> &'w [Arg] {
    let mut rest = words;
    while let [first, tail @ ..] = rest
        && first.text.starts_with('-')
        && first.text.len() > 1
    {
        rest = tail;
        if first.text == "--" {
            break;
        }
        if values.contains(&first.text.as_str()) {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
}
