//! Options and words that make an interpreter or `make` load its source from somewhere else.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{Code, Program};
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// Modules of Python that run the source, or the file, that they are given.
const RUN_SOURCE: &[&str] = &["timeit"];
const RUN_FILE: &[&str] =
    &["cProfile", "profile", "pdb", "trace", "runpy", "coverage", "pyinstrument"];

/// Endings of files that contain code.
const CODE: &[&str] = &[
    ".so", ".dylib", ".dll", ".jar", ".el", ".vim", ".nse", ".lua", ".ko", ".wasm", ".node",
    ".cmake", ".gradle", ".mk", ".spec", ".specs",
];

/// Options, and ends of settings, that name code to run.
const LOADS: &[&str] = &[
    "-specs",
    "-B",
    "-wrapper",
    "-fplugin",
    "linker",
    "wrapper",
    "runner",
    "--run_under",
    "--test_wrapper",
    "-toolexec",
    "-exec",
    "-javaagent",
    "-agentpath",
    "-processorpath",
    "--plugin",
    "--load",
    "-load",
    "--load-extension",
    "-P",
    "--init-script",
    "--rsh-command",
    "--script",
    "--script-shell",
    "--filter",
    "@",
    "-I",
    "--require",
    "--template",
    "--toolchain",
    "--native-file",
    "--cross-file",
    "--build-file",
    "--gruntfile",
    "--rulesdir",
    "-xcconfig",
    "prefix_command",
    "COMPILER",
    "LAUNCHER",
    "TOOLCHAIN_FILE",
];

impl Walker<'_> {
    /// Records source that is not in its usual location.
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
            "ruby" | "perl" | "irb" | "lua" | "luajit" | "rake" | "erb" | "php" | "jruby" => {
                self.libraries_from_temp(args, span);
                if !matches!(name, "ruby" | "perl") {
                    return;
                }
                self.command_library(args);
                for option in
                    args.values(&["-r"]).iter().filter(|option| option.text.starts_with('/'))
                {
                    self.loaded(name, option, span);
                }
            }
            "cmake" => {
                self.cmake_tool(args);
                self.installed_into_system(args);
            }
            "make" | "gmake" | "bmake" => {
                self.makefile(args, stdin, span);
                self.installed_into_system(args);
            }
            "ninja" | "meson" => self.installed_into_system(args),
            "java" => self.remote_script(name, args, span),
            _ => {}
        }
    }

    /// Follows `python -m timeit 'code'` and `python -m cProfile file`.
    fn python_module(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let Some(module) = args.value(&["-m"]) else { return };
        let name = module.text.as_str();
        let at = args.words().iter().position(|word| word.text == "-m");
        if let Some(words) = at.and_then(|at| args.words().get(at + 1..))
            && super::catalogue::program(name).is_some_and(|program| program.runs.is_none())
        {
            // `python -m pip` is pip.
            self.follow_command(words.to_vec(), Stream::caller());
        }
        for word in args.operands() {
            if RUN_SOURCE.contains(&name) {
                let content = Stream::known(word.text.clone(), word.taint);
                self.follow_text(Code::Python, &content, word.span.or(span), &Stream::caller());
            } else if RUN_FILE.contains(&name) && super::source::ends_in(&word.text, "py") {
                let content = Stream { text: None, ..self.content_of(word) };
                self.file_of_code(name, word, content);
            }
        }
    }

    /// Follows `cmake -E rm -rf x`: the shell's tools under another name.
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
            "rm".clone_into(&mut first.text);
            words.insert(1, option);
        }
        self.follow_command(words, Stream::caller());
    }

    /// Follows a command that a library defines: `ruby -run -e rm -- -r x`, `perl
    /// -MExtUtils::Command -e rm_rf x`.
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
            "rm".clone_into(&mut first.text);
            words.insert(1, option);
        }
        self.follow_command(words, Stream::caller());
    }

    /// Records code from a world-writable folder: `perl -I/tmp -MX`, `ruby -r/tmp/x`, `php -d
    /// auto_prepend_file=/tmp/x.php`.
    fn libraries_from_temp(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        const LETTERS: &[&str] = &["-I", "-M", "-m", "-r", "-l", "-C", "-S"];
        const SETTINGS: &[&str] = &[
            "auto_prepend_file",
            "auto_append_file",
            "extension",
            "zend_extension",
            "include_path",
            "extension_dir",
            "ffi.preload",
            "opcache.preload",
        ];
        let mut before = "";
        for word in args.words() {
            let text = word.text.as_str();
            let option = std::mem::replace(&mut before, text);
            if !text.starts_with('-') && !option.starts_with('-') {
                break;
            }
            let value = match text.get(..2).filter(|start| LETTERS.contains(start)) {
                Some(_) => text.get(2..).unwrap_or_default(),
                None if LETTERS.contains(&option) => text,
                None => match text.strip_prefix("-d").unwrap_or(text).trim().split_once('=') {
                    Some((key, value)) if SETTINGS.contains(&key) => value,
                    _ => continue,
                },
            };
            let path = value.strip_prefix("lib=").unwrap_or(value);
            let tags = location::locate(path, &self.scene_now());
            if path.starts_with('/') && tags.has(Tag::Temp) && !self.made_here(path) {
                self.note(Fact::new(FactKind::TempProgram, path).at(word.span.or(span)));
            }
        }
    }

    /// Follows a preloaded module: `data:` contains its text, any other address is remote.
    fn loaded(&mut self, name: &str, module: &Arg, span: Option<Span>) {
        let text = module.text.as_str();
        if let Some((_, source)) = text.strip_prefix("data:").and_then(|data| data.split_once(','))
        {
            let content = Stream::known(source.to_owned(), module.taint);
            self.follow_text(Code::Javascript, &content, module.span.or(span), &Stream::caller());
            self.note(Fact::new(FactKind::DecodedCode, name).at(module.span.or(span)));
        } else if text.contains("://") {
            self.note(Fact::new(FactKind::RemoteCode, name).at(module.span.or(span)));
        } else if text.starts_with(['/', '~']) {
            let content = Stream { text: None, ..self.content_of(module) };
            self.file_of_code(name, module, content);
        }
    }

    /// Records `deno run https://…`.
    fn remote_script(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let scripts = args.operands().iter().take(2);
        let remote =
            |word: &&&Arg| word.text.starts_with("https://") || word.text.starts_with("http://");
        if let Some(script) = scripts.into_iter().find(remote) {
            let tags = Tags::of(&[Tag::Remote]);
            self.note(Fact::new(FactKind::RemoteCode, name).tagged(tags).at(script.span.or(span)));
        }
    }

    /// Follows the recipes of a makefile whose text is known: `make -f - <<< …`, `make --eval=…`.
    fn makefile(&mut self, args: &Arguments<'_>, stdin: &Stream, span: Option<Span>) {
        let mut texts: Vec<Stream> = Vec::new();
        for file in args.values(&["-f", "--file", "--makefile"]) {
            texts.push(match &file.stream {
                Some(stream) => (**stream).clone(),
                None if matches!(file.text.as_str(), "-" | "/dev/stdin") => stdin.clone(),
                None => self.content_of(&file),
            });
        }
        for word in args.operands() {
            if let Some((name, value)) = word.text.split_once('=') {
                let name = name.trim_end_matches([':', '?', '+']);
                self.variable_that_runs(name, Some(&word.saying(value)), word.span.or(span));
            }
        }
        let given = args.values(&["-E", "--eval"]);
        texts.extend(given.into_iter().map(|text| Stream::known(text.text, text.taint)));
        for text in texts.into_iter().filter_map(|stream| stream.text) {
            self.recipes(&text, span);
        }
    }

    pub(super) fn recipes(&mut self, text: &str, span: Option<Span>) {
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

    /// Records libraries, plug-ins, scripts and option files that an option makes the program load:
    /// from a temporary folder, or native code from anywhere but the system.
    pub(super) fn loads_code(
        &mut self,
        program: Option<&Program>,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        for value in args.values(program.map_or(&[][..], |program| program.loads)) {
            let tags = location::locate(&value.text, &self.scene_now());
            let unseen = tags.has(Tag::Temp) && value.is_known() && !self.made_here(&value.text);
            if unseen {
                self.note(Fact::new(FactKind::TempProgram, value.text.clone()).at(value.span));
            }
        }
        let mut previous = "";
        for word in args.words() {
            if word.text == "-wrapper"
                || self.is_native_code(previous, &word.text)
                || self.is_own_tool(&word.text)
            {
                let fact = Fact::new(FactKind::ShellEscape, location::shown(&word.text));
                self.note(fact.at(word.span.or(span)));
            }
            self.loads_from_temp(previous, word);
            self.loads_folder(previous, word);
            previous = &word.text;
        }
    }

    /// Records a temporary folder that an option names as a folder of code, unless this script made
    /// it: `--plugin-dir DIR`, `--module-path=DIR`.
    fn loads_folder(&mut self, previous: &str, word: &Arg) {
        const CODE: &[&str] = &[
            "plugin",
            "plugins",
            "module",
            "modules",
            "extension",
            "extensions",
            "library",
            "libraries",
            "provider",
            "engine",
        ];
        const FOLDERS: &[&str] = &["dir", "dirs", "path", "paths", "folder", "directory", "load"];
        // The last one, as in `--setopt=pluginpath=/x`.
        let (option, value) = match word.text.rsplit_once('=') {
            Some((option, value)) if option.starts_with('-') => (option, value),
            _ => (previous, word.text.as_str()),
        };
        if !option.starts_with('-') {
            return;
        }
        let parts = || option.split(['-', '_', '=', '.']).filter(|part| !part.is_empty());
        let holds = |names: &[&str]| parts().any(|part| names.contains(&part));
        let glued = parts().any(|part| {
            let code = CODE.iter().find_map(|code| part.strip_prefix(code));
            code.is_some_and(|folder| FOLDERS.contains(&folder))
        });
        if !glued && (!holds(CODE) || !holds(FOLDERS)) {
            return;
        }
        let tags = location::locate(value, &self.scene_now());
        if tags.has(Tag::Temp) && !self.made_here(value) {
            self.note(Fact::new(FactKind::TempProgram, value).at(word.span));
        }
    }

    /// Reports whether an option for code names a native library: `-fplugin=./x.so`, `--load-module
    /// ./x.so`.
    fn is_native_code(&self, previous: &str, word: &str) -> bool {
        const NATIVE: &[&str] = &["so", "dylib", "dll", "node", "ko"];
        const NAMES: &[&str] =
            &["plugin", "load", "agent", "preload", "module", "extension", "engine"];
        let (option, value) = match word.split_once(['=', ':']) {
            Some((option, value)) if option.starts_with('-') => (option, value),
            _ => (previous, word),
        };
        option.starts_with('-')
            && value.contains('/')
            && NATIVE.iter().any(|ending| super::source::ends_in(value, ending))
            && NAMES.iter().any(|name| option.to_ascii_lowercase().contains(name))
            && !location::locate(value, &self.scene_now()).has(Tag::System)
    }

    /// Reports whether a setting names a tool outside the system folders: `-C linker=./x`,
    /// `--config 'build.rustc-wrapper="./x"'`.
    fn is_own_tool(&self, word: &str) -> bool {
        const TOOLS: &[&str] =
            &["linker", "wrapper", "runner", "pager", "askpass", "launcher", "sshcommand"];
        let Some((setting, tool)) = word.split_once('=') else { return false };
        let setting = setting.trim();
        let tool = tool.trim().trim_matches(['"', '\'']);
        TOOLS.iter().any(|end| setting.ends_with(end))
            && (super::handed::is_shell_line(tool)
                || tool.contains('/')
                    && !location::locate(tool, &self.scene_now()).has(Tag::System))
    }

    fn loads_from_temp(&mut self, previous: &str, word: &Arg) {
        let Some((before, path)) =
            word.text.find("/tmp").and_then(|at| word.text.split_at_checked(at))
        else {
            return;
        };
        if !path.strip_prefix("/tmp").is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return;
        }
        let option = before.trim_end_matches(['=', ':', '"', '\'', ',']);
        // A list of words: `-DCMAKE_C_COMPILER_LAUNCHER=sh;/tmp/x`.
        let option = option.split_once('=').map_or(option, |(option, _)| option);
        let loads = LOADS.iter().any(|load| {
            option.ends_with(load) || (option.is_empty() && previous == *load && previous != "-B")
        });
        let is_code =
            CODE.iter().any(|ending| path.trim_end_matches(['"', '\'']).ends_with(ending));
        let named = word.text.starts_with('-') || previous.starts_with('-') || before.contains('=');
        if loads || (is_code && named) {
            self.note(Fact::new(FactKind::TempProgram, path).at(word.span));
        }
    }
}
