//! The shell's own commands: `eval`, `source`, `cd`, `trap`, `read`…

use shuck_ast::{BuiltinCommand, DeclClause, DeclOperand};

use super::Walker;
use super::catalogue::Code;
use super::expand::taint_of;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};

impl Walker<'_> {
    /// Follows a builtin; `None` when this is a program.
    pub(super) fn builtin(&mut self, name: &str, args: &[Arg], stdin: &Stream) -> Option<Stream> {
        let words = args.get(1..).unwrap_or_default();
        let span = super::run::whole_span(args);
        match name {
            ":" | "true" | "false" | "test" | "[" | "wait" | "jobs" | "hash" | "umask" | "ulimit"
            | "times" | "let" | "shopt" | "getopts" | "fg" | "bg" | "disown" | "dirs" => {
                Some(Stream::empty())
            }
            "eval" => {
                let line = join(words);
                Some(self.run_here(&line, span, stdin))
            }
            "source" | "." => Some(self.source(words, span)),
            "exec" => {
                let rest = skip_options(words, &["-a"]);
                Some(self.run(rest.to_vec(), stdin.clone()))
            }
            "builtin" => Some(self.run(words.to_vec(), stdin.clone())),
            "command" => {
                let asks = words.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"));
                if asks {
                    let found = words.get(1).map(|word| word.text.clone());
                    return Some(found.map_or_else(Stream::empty, |text| Stream::known(text, Tags::NONE)));
                }
                Some(self.run(skip_options(words, &[]).to_vec(), stdin.clone()))
            }
            "cd" | "pushd" => {
                let folder = skip_options(words, &[]).first();
                self.change_folder(folder);
                Some(Stream::empty())
            }
            "popd" => {
                self.state.set("PWD", vec![Arg::unknown(Tags::NONE)]);
                Some(Stream::empty())
            }
            "trap" => self.trap(words, span),
            "alias" => {
                self.alias(words, span);
                Some(Stream::empty())
            }
            "unset" => {
                self.unset(words, span);
                Some(Stream::empty())
            }
            "read" | "mapfile" | "readarray" => {
                for word in words.iter().filter(|word| !word.text.starts_with('-')) {
                    self.state.set(&word.text, vec![Arg::unknown(stdin.taint)]);
                }
                Some(Stream::empty())
            }
            "shift" => {
                self.state.positional = None;
                Some(Stream::empty())
            }
            "set" => self.set_options(words, span),
            "history" => {
                if words.iter().any(|word| matches!(word.text.as_str(), "-c" | "-d" | "-cw")) {
                    self.note(Fact::new(FactKind::HistoryOff, "history -c").at(span));
                }
                Some(Stream::unknown(Tags::of(&[Tag::Local, Tag::Secret])))
            }
            "enable" | "bind" | "complete" => {
                if words.iter().any(|word| matches!(word.text.as_str(), "-f" | "-x" | "-C")) {
                    self.note(Fact::new(FactKind::ShellEscape, name).at(span));
                }
                Some(Stream::empty())
            }
            _ => None,
        }
    }

    /// Text that this very shell runs.
    fn run_here(&mut self, line: &Arg, span: Option<crate::verdict::Span>, stdin: &Stream) -> Stream {
        let content = Stream::known(line.text.clone(), line.taint);
        if let Some(kind) = super::interpreter::unseen(&content) {
            self.note(Fact::new(kind, "eval").tagged(line.taint).at(span));
            return Stream::unknown(line.taint);
        }
        self.nested_script(&line.text, span, stdin.clone())
    }

    fn source(&mut self, words: &[Arg], span: Option<crate::verdict::Span>) -> Stream {
        let Some(file) = words.first() else { return Stream::empty() };
        let (content, is_stream) = match &file.stream {
            Some(stream) => ((**stream).clone(), true),
            None => (self.content_of(file), false),
        };
        if let Some(text) = &content.text
            && super::interpreter::unseen(&content).is_none()
        {
            return self.nested_script(&text.clone(), span, Stream::caller());
        }
        match super::interpreter::unseen(&content) {
            // A file that is simply there is the project's own script.
            Some(FactKind::UnknownCode) if !is_stream => {}
            Some(kind) => self.note(Fact::new(kind, "source").tagged(content.taint).at(span)),
            None => {}
        }
        Stream::unknown(content.taint)
    }

    fn trap(&mut self, words: &[Arg], span: Option<crate::verdict::Span>) -> Option<Stream> {
        let [handler, signals @ ..] = skip_options(words, &[]) else { return Some(Stream::empty()) };
        if signals.is_empty() || handler.text.is_empty() || handler.text == "-" {
            return Some(Stream::empty());
        }
        if signals.iter().any(|signal| signal.text == "DEBUG") {
            self.note(Fact::new(FactKind::Capture, "runs before every command").at(span));
        }
        let content = Stream::known(handler.text.clone(), handler.taint);
        self.run_text(Code::Shell, &content, span, &Stream::caller());
        Some(Stream::empty())
    }

    fn alias(&mut self, words: &[Arg], span: Option<crate::verdict::Span>) {
        for word in words {
            let Some((name, body)) = word.text.split_once('=') else { continue };
            // Looked at where it is defined: an alias is there to be used.
            self.child_script(body, span, Stream::caller());
            self.state.aliases.insert(name.to_owned(), body.to_owned());
        }
    }

    fn unset(&mut self, words: &[Arg], span: Option<crate::verdict::Span>) {
        for word in words {
            if matches!(word.text.as_str(), "HISTFILE" | "HISTSIZE" | "PROMPT_COMMAND") {
                self.note(Fact::new(FactKind::HistoryOff, format!("unset {}", word.text)).at(span));
            }
            if word.text.starts_with("COUNTERSIGN") {
                self.note(Fact::new(FactKind::GuardCommand, format!("unset {}", word.text)).at(span));
            }
            self.state.unset(&word.text);
        }
    }

    fn set_options(&mut self, words: &[Arg], span: Option<crate::verdict::Span>) -> Option<Stream> {
        let first = words.first()?;
        if first.text == "--" {
            self.state.positional = Some(words.get(1..).unwrap_or_default().to_vec());
        }
        if first.text == "+o" && words.get(1).is_some_and(|word| word.text == "history") {
            self.note(Fact::new(FactKind::HistoryOff, "set +o history").at(span));
        }
        Some(Stream::empty())
    }

    /// `export X=…`, `local x=…`, `declare -a x`.
    pub(super) fn declare(&mut self, src: &str, clause: &DeclClause) -> Stream {
        let names = clause.operands.iter().any(|operand| !matches!(operand, DeclOperand::Flag(_)));
        for operand in &clause.operands {
            match operand {
                DeclOperand::Assignment(assignment) => {
                    let words = self.assigned(src, assignment);
                    let span = self.span(assignment.span);
                    self.variable_that_runs(assignment.target.name.as_str(), words.first(), span);
                    self.assign(assignment, words);
                }
                DeclOperand::Name(_) => {}
                DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => {
                    self.one(src, word);
                }
            }
        }
        if names { Stream::empty() } else { Stream::unknown(Tags::of(&[Tag::Local, Tag::Secret])) }
    }

    /// `break`, `continue`, `return`, `exit`: only their words can do anything.
    pub(super) fn flow_word(&mut self, src: &str, builtin: &BuiltinCommand) -> Stream {
        let (code, more) = match builtin {
            BuiltinCommand::Break(command) => (&command.depth, &command.extra_args),
            BuiltinCommand::Continue(command) => (&command.depth, &command.extra_args),
            BuiltinCommand::Return(command) => (&command.code, &command.extra_args),
            BuiltinCommand::Exit(command) => (&command.code, &command.extra_args),
        };
        for word in code.iter().chain(more) {
            self.one(src, word);
        }
        Stream::empty()
    }
}

/// All words as one line.
pub(super) fn join(words: &[Arg]) -> Arg {
    let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    Arg { text, taint: taint_of(words), ..Arg::default() }
}

/// The words after the options, some of which take a value.
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
