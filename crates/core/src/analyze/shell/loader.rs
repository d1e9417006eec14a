//! Options and words by which an interpreter or `make` gets its source from somewhere else.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::verdict::Span;

/// Modules of Python that run the source, or the file, that they are given.
const RUN_SOURCE: &[&str] = &["timeit"];
const RUN_FILE: &[&str] =
    &["cProfile", "profile", "pdb", "trace", "runpy", "coverage", "pyinstrument"];

impl Walker<'_> {
    /// Notes source that does not stand in the usual place.
    pub(super) fn loads(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        match name {
            "python" | "python2" | "python3" | "pypy" | "pypy3" => self.python_module(args, span),
            "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node" => {
                for option in args.values(&[
                    "-r",
                    "--require",
                    "--import",
                    "--loader",
                    "--experimental-loader",
                    "--preload",
                ]) {
                    self.loaded(name, &option, span);
                }
                self.remote_script(name, args, span);
            }
            "ruby" | "perl" => {
                self.command_library(args);
                for option in
                    args.values(&["-r"]).iter().filter(|option| option.text.starts_with('/'))
                {
                    self.loaded(name, option, span);
                }
            }
            "cmake" => self.cmake_tool(args),
            "make" | "gmake" | "bmake" => self.makefile(args, stdin, span),
            _ => {}
        }
    }

    /// `python -m timeit 'code'`, `python -m cProfile file`.
    fn python_module(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let Some(module) = args.value(&["-m"]) else { return };
        let name = module.text.as_str();
        let at = args.words().iter().position(|word| word.text == "-m");
        if let Some(words) = at.and_then(|at| args.words().get(at + 1..))
            && super::catalogue::program(name).is_some_and(|program| program.runs.is_none())
        {
            // `python -m pip` is pip.
            self.run(words.to_vec(), Stream::caller());
        }
        for word in args.operands() {
            if RUN_SOURCE.contains(&name) {
                let content = Stream::known(word.text.clone(), word.taint);
                self.run_text(Code::Python, &content, word.span.or(span), &Stream::caller());
            } else if RUN_FILE.contains(&name) && super::source::ends_in(&word.text, "py") {
                let content = Stream { text: None, ..self.content_of(word) };
                self.file_of_code(name, word, content);
            }
        }
    }

    /// `cmake -E rm -rf x`: the tools of the shell, by another name.
    fn cmake_tool(&mut self, args: &Arguments<'_>) {
        let at = args.words().iter().position(|word| word.text == "-E");
        let Some(mut words) = at.and_then(|at| args.words().get(at + 1..)).map(<[Arg]>::to_vec)
        else {
            return;
        };
        if let Some(first) = words.first_mut()
            && matches!(first.text.as_str(), "remove" | "remove_directory")
        {
            let option = Arg { span: first.span, ..Arg::literal("-r") };
            first.text = "rm".to_owned();
            words.insert(1, option);
        }
        self.run(words, Stream::caller());
    }

    /// `ruby -run -e rm -- -r x`, `perl -MExtUtils::Command -e rm_rf x`: a command by its name.
    fn command_library(&mut self, args: &Arguments<'_>) {
        let is_library =
            |word: &Arg| matches!(word.text.as_str(), "-run" | "-MExtUtils::Command" | "-MShell");
        if !args.words().iter().any(is_library) {
            return;
        }
        let Some(at) = args.words().iter().position(|word| word.text == "-e") else { return };
        let mut words = args.words().get(at + 1..).unwrap_or_default().to_vec();
        words.retain(|word| word.text != "--");
        if let Some(first) = words.first_mut()
            && matches!(first.text.as_str(), "rm_rf" | "rm_r" | "rm_f")
        {
            let option = Arg { span: first.span, ..Arg::literal("-rf") };
            first.text = "rm".to_owned();
            words.insert(1, option);
        }
        self.run(words, Stream::caller());
    }

    /// A module that is loaded first: `data:` holds its text, another address is remote.
    fn loaded(&mut self, name: &str, module: &Arg, span: Option<Span>) {
        let text = module.text.as_str();
        if let Some((_, source)) = text.strip_prefix("data:").and_then(|data| data.split_once(','))
        {
            let content = Stream::known(source.to_owned(), module.taint);
            self.run_text(Code::Javascript, &content, module.span.or(span), &Stream::caller());
            self.note(Fact::new(FactKind::DecodedCode, name).at(module.span.or(span)));
        } else if text.contains("://") {
            self.note(Fact::new(FactKind::RemoteCode, name).at(module.span.or(span)));
        } else if text.starts_with(['/', '~']) {
            let content = Stream { text: None, ..self.content_of(module) };
            self.file_of_code(name, module, content);
        }
    }

    /// `deno run https://…`
    fn remote_script(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let scripts = args.operands().iter().take(2);
        let remote =
            |word: &&&Arg| word.text.starts_with("https://") || word.text.starts_with("http://");
        if let Some(script) = scripts.into_iter().find(remote) {
            let tags = Tags::of(&[Tag::Remote]);
            self.note(Fact::new(FactKind::RemoteCode, name).tagged(tags).at(script.span.or(span)));
        }
    }

    /// `make -f - <<< …`, `make --eval=…`: the recipes of a makefile whose text is known.
    fn makefile(&mut self, args: &Arguments<'_>, stdin: &Stream, span: Option<Span>) {
        let mut texts: Vec<Stream> = Vec::new();
        for file in args.values(&["-f", "--file", "--makefile"]) {
            texts.push(match &file.stream {
                Some(stream) => (**stream).clone(),
                None if matches!(file.text.as_str(), "-" | "/dev/stdin") => stdin.clone(),
                None => self.content_of(&file),
            });
        }
        let given = args.values(&["-E", "--eval"]);
        texts.extend(given.into_iter().map(|text| Stream::known(text.text, text.taint)));
        for text in texts.into_iter().filter_map(|stream| stream.text) {
            self.recipes(&text, span);
        }
    }

    fn recipes(&mut self, text: &str, span: Option<Span>) {
        let lines = text.lines().filter_map(|line| {
            line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, line)| line))
        });
        let mut script: String = lines
            .map(|line| line.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$") + "\n")
            .collect();
        for call in text.split("$(shell ").skip(1) {
            script.push_str(call.rsplit_once(')').map_or(call, |(command, _)| command));
            script.push('\n');
        }
        if !script.is_empty() {
            self.child_script(&script, span, Stream::caller());
        }
    }
}
