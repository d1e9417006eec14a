//! Modules of Python that are programs of their own: `python -m MODULE …`.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{self, Code};
use super::stand_in::after;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// Modules of Python that are programs of their own.
const MODULES: &[&str] =
    &["pip", "pytest", "virtualenv", "ansible", "twine", "poetry", "uv", "flask", "django"];

impl Walker<'_> {
    /// Follows `python -m MODULE …` where the module is a program of its own.
    pub(super) fn python_program(
        &mut self,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Option<Stream> {
        let asks = |source: &Arg| {
            ["breakpoint(", "interact(", "input(", "stdin", "set_trace("]
                .iter()
                .any(|call| source.text.contains(call))
        };
        if let Some(text) = stdin.text.clone().filter(|_| !stdin.from_caller)
            && args.values(&["-c"]).iter().any(asks)
        {
            self.floor_of(&text, span);
        }
        let module = args.value(&["-m"])?;
        let words = after(args.words(), "-m")?;
        let rest = words.get(1..).unwrap_or_default();
        let inner = Arguments::new(rest, None);
        match module.text.as_str() {
            known if MODULES.contains(&known) || opens(known) => {
                Some(self.follow_command(words.to_vec(), stdin.clone()))
            }
            "pdb" | "idlelib" if inner.has("-c") => {
                self.debugger_commands(&inner, stdin, span);
                None
            }
            "zipfile" | "tarfile" => {
                self.python_archive(&inner);
                Some(Stream::empty())
            }
            "venv" if inner.has("--clear") => {
                for folder in inner.operands() {
                    self.note_path(FactKind::Delete, folder, Tags::of(&[Tag::Recursive]));
                }
                Some(Stream::empty())
            }
            "json.tool" => {
                if let [_, .., target] = inner.operands() {
                    self.note_path(FactKind::Write, target, Tags::NONE);
                }
                None
            }
            "sqlite3" => {
                let statement = inner.operands().get(1)?;
                let content = Stream::known(statement.text.clone(), statement.taint);
                Some(self.follow_text(Code::Sql, &content, statement.span.or(span), stdin))
            }
            "code" | "asyncio" | "idlelib" | "IPython" | "pdb" if !stdin.from_caller => {
                Some(self.follow_text(Code::Python, stdin, span, &Stream::empty()))
            }
            other => {
                self.module_that_acts(other, rest, &inner, span);
                self.own_module(other, stdin, span)
            }
        }
    }

    /// Follows the commands that a debugger is given.
    fn debugger_commands(&mut self, args: &Arguments<'_>, stdin: &Stream, span: Option<Span>) {
        for command in args.values(&["-c"]) {
            let text = command.text.trim_start_matches('!').to_owned();
            let content = Stream::known(text, command.taint);
            self.follow_text(Code::Python, &content, command.span.or(span), stdin);
        }
    }

    /// Follows modules that run the content of a file, serve something or write files.
    fn module_that_acts(
        &mut self,
        module: &str,
        rest: &[Arg],
        inner: &Arguments<'_>,
        span: Option<Span>,
    ) {
        match module {
            // Loading such a file runs the code in it.
            "pickle" | "joblib" | "cloudpickle" | "dill" | "shelve" => {
                for file in inner.operands() {
                    let content = Stream { text: None, ..self.content_of(file) };
                    let content = Stream { taint: content.taint.with(Tag::Unknown), ..content };
                    self.file_of_code("python", file, content);
                }
            }
            // Python 2 always serves its folder on all interfaces.
            "SimpleHTTPServer" | "CGIHTTPServer" => {
                self.note(Fact::new(FactKind::Listen, module).at(span));
            }
            "http.server" | "pydoc" if inner.has("--cgi") || privileged(inner) => {
                self.note(Fact::new(FactKind::Listen, module).at(span));
            }
            "cProfile" | "profile" | "trace" | "coverage" => {
                for file in super::effect::results(rest) {
                    if location::is_source(location::base_name(&file.text)) {
                        self.lost(&file, span);
                    }
                }
            }
            "lib2to3" | "compileall" | "zipapp" => {
                for file in super::effect::results(rest) {
                    self.note_path(FactKind::Write, &file, Tags::NONE);
                }
            }
            "pyftpdlib" | "uploadserver" | "RangeHTTPServer" | "wsgidav" => {
                if matches!(module, "pyftpdlib" | "uploadserver") {
                    self.note(Fact::new(FactKind::Listen, module).at(span));
                }
                for folder in inner.values(&["-d", "--directory", "-r", "--root"]) {
                    self.note_path(FactKind::Serve, &folder, Tags::NONE);
                }
            }
            _ => {}
        }
    }

    /// Follows `python -m zipfile -e ARCHIVE FOLDER` and `python -m tarfile -c ARCHIVE FILE…`.
    fn python_archive(&mut self, args: &Arguments<'_>) {
        let creates = args.has_any(&["-c", "--create"]);
        let unpacks = args.has_any(&["-e", "--extract"]);
        let Some((archive, rest)) = args.operands().split_first() else { return };
        if creates {
            self.note_path(FactKind::Write, archive, Tags::NONE);
            if location::is_source(location::base_name(&archive.text)) {
                self.lost(archive, None);
            }
        }
        for path in rest {
            if unpacks {
                self.note_path(FactKind::Write, path, Tags::of(&[Tag::Recursive]));
            } else if creates {
                self.note_path(FactKind::Read, path, Tags::of(&[Tag::Recursive]));
            }
        }
    }
}

/// Reports whether a module of Python is a server that exposes much to others.
fn opens(module: &str) -> bool {
    catalogue::program(module).is_some_and(|program| program.opens.is_some())
}

/// Reports whether a server takes a privileged port, where others expect a service.
fn privileged(args: &Arguments<'_>) -> bool {
    args.operands().iter().any(|word| word.text.parse().is_ok_and(|port: u16| port < 1024))
}
