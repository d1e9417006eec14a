//! Ways to run code that nobody expects to run any: variables, git's settings and hooks.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{self, Code};
use super::value::{Arg, Stream};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::place;
use crate::verdict::Span;
use crate::words::{self, has};

/// Parts of flags for build tools that make them run or load something.
const FLAGS_THAT_RUN: &[&str] =
    &["--eval", "-toolexec", "linker=", "-fplugin", "-specs", "-wrapper", "-f/", "--file=/"];

impl Walker<'_> {
    /// Notes a variable that makes other programs run code.
    pub(super) fn variable_that_runs(
        &mut self,
        name: &str,
        value: Option<&Arg>,
        span: Option<Span>,
    ) {
        let empty = Arg::default();
        let value = value.unwrap_or(&empty);
        if name.starts_with("COUNTERSIGN") {
            self.note(Fact::new(FactKind::GuardCommand, name).at(span));
        }
        if matches!(name, "HISTFILE" | "HISTSIZE" | "HISTFILESIZE" | "HISTCONTROL")
            && matches!(value.text.as_str(), "" | "0" | "/dev/null")
        {
            self.note(Fact::new(FactKind::HistoryOff, name).at(span));
        }
        self.git_variable(name, value, span);
        let runs = if has(words::VARIABLES_COMMANDS, name)
            || ends_in(words::VARIABLES_COMMAND_ENDINGS, name)
        {
            self.runs_unexpected(name, value, span)
        } else if has(words::VARIABLES_LOADS, name) {
            self.loads_from(name, value, span)
        } else if name == "PATH" {
            self.finds_own_programs(&value.text) || names_temporary_file(&value.text)
        } else if name.ends_with("FLAGS")
            && FLAGS_THAT_RUN.iter().any(|flag| value.text.contains(flag))
        {
            true
        } else if names_a_tool(name) {
            let program = value.text.split_whitespace().next().unwrap_or_default();
            let tags = place::locate(program, &self.scene_now());
            program.contains('/') && !program.contains(UNKNOWN) && !tags.has(Tag::System)
        } else {
            holds_loading_options(name, &value.text)
                || downloads_elsewhere(name, &value.text)
                || (loads_by_its_name(name) && names_temporary_file(&value.text))
        };
        if runs {
            let subject = format!("{name}={}", place::shown(&value.text));
            self.note(Fact::new(FactKind::EnvExecutes, subject).at(span));
        }
    }

    /// Whether programs are searched in the working folder, or where this script has put some.
    fn finds_own_programs(&self, path: &str) -> bool {
        path.split(':').filter(|folder| !folder.is_empty()).any(|folder| {
            let inside = format!("{}/", place::absolute(folder, &self.scene_now()));
            // Scripts under the names of known programs, and programs under other names.
            let shadows = self.state.files.iter().any(|(path, file)| {
                path.strip_prefix(&inside).is_some_and(|name| catalogue::program(name).is_some())
                    && file.content.text.is_some()
            });
            folder == "."
                || shadows
                || self.state.links.keys().any(|path| path.starts_with(&inside))
        })
    }

    /// A file that another program loads: text of this script is read, other files ask.
    fn loads_from(&mut self, name: &str, value: &Arg, span: Option<Span>) -> bool {
        if let Some(stream) = &value.stream {
            let content = (**stream).clone();
            self.run_text(Code::Shell, &content, span, &Stream::caller());
            return true;
        }
        if matches!(name, "EXINIT" | "VIMINIT" | "GVIMINIT" | "LUA_INIT" | "PERL5DB") {
            let content = Stream::known(value.text.clone(), value.taint);
            self.run_text(Code::Other, &content, span, &Stream::caller());
        }
        let tags = place::locate(&value.text, &self.scene_now());
        let from_script = value.text.starts_with("/dev/fd/");
        let from_anybody = tags.has(Tag::Temp) || value.text == "/tmp";
        !value.text.is_empty()
            && value.text != "/dev/null"
            && (from_script || from_anybody || !tags.has(Tag::System))
    }

    /// `GIT_CONFIG_KEY_0=core.pager`: a setting of git in two variables.
    fn git_variable(&mut self, name: &str, value: &Arg, span: Option<Span>) {
        let names_command = name.starts_with("GIT_CONFIG_KEY_")
            && (runs_a_command(&value.text.to_ascii_lowercase())
                || value.text.starts_with("alias."));
        if names_command {
            let subject = format!("{name}={}", place::shown(&value.text));
            self.note(Fact::new(FactKind::EnvExecutes, subject).at(span));
        }
    }

    fn runs_unexpected(&mut self, name: &str, value: &Arg, span: Option<Span>) -> bool {
        let content = Stream::known(value.text.clone(), value.taint);
        let program = value.text.split_whitespace().next().map_or("", place::base_name);
        if has(words::VARIABLES_EXPECTED, program) && name != "PROMPT_COMMAND" {
            self.perhaps(|walker| walker.run_text(Code::Shell, &content, span, &Stream::caller()));
            return value.text.contains([';', '|', '&', '`']) || value.text.contains("$(");
        }
        if !value.text.starts_with(UNKNOWN) {
            self.perhaps(|walker| walker.run_text(Code::Shell, &content, span, &Stream::caller()));
        }
        true
    }

    /// git: settings and options that run commands.
    pub(super) fn git(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        for setting in args.values(&["-c", "--config-env"]) {
            if let Some((key, value)) = setting.text.split_once('=') {
                self.git_setting(key, &setting.saying(value), span);
            }
        }
        if args.operand(0) == Some("config") {
            let reads = args.has_any(&[
                "--get",
                "--list",
                "-l",
                "--unset",
                "--get-all",
                "--get-regexp",
                "--unset-all",
            ]);
            let operands = match args.operands() {
                [_, set, rest @ ..] if matches!(set.text.as_str(), "set" | "add") => rest,
                [_, rest @ ..] => rest,
                [] => &[],
            };
            if let ([key, value, ..], false) = (operands, reads) {
                self.git_setting(&key.text, value, span);
            }
        }
        for word in args.words() {
            let text = word.text.as_str();
            if text.starts_with("ext::") {
                self.note(Fact::new(FactKind::ShellEscape, "ext:: transport").at(span));
            }
        }
        let starts = match args.operand(0) {
            Some("bisect") => Some("run"),
            Some("submodule") => Some("foreach"),
            _ => None,
        };
        // Options of the command are among its words, so all of them are taken.
        let at = starts.and_then(|start| args.words().iter().position(|word| word.text == start));
        if let Some(words) = at.and_then(|at| args.words().get(at + 1..))
            && !words.is_empty()
        {
            let line = super::builtin::join(super::builtin::skip_options(words, &[]));
            let content = Stream::known(line.text, line.taint);
            self.run_text(Code::Shell, &content, span, &Stream::caller());
        }
    }

    fn git_setting(&mut self, key: &str, value: &Arg, span: Option<Span>) {
        let key = key.to_ascii_lowercase();
        if key.starts_with("alias.") {
            if let Some(command) = value.text.strip_prefix('!') {
                let content = Stream::known(command.to_owned(), value.taint);
                self.run_text(Code::Shell, &content, span, &Stream::caller());
            }
            return;
        }
        if !runs_a_command(&key) || is_ordinary_setting(&key, &value.text) {
            return;
        }
        let subject = format!("{key}={}", place::shown(&value.text));
        self.note(Fact::new(FactKind::EnvExecutes, subject).tagged(Tags::NONE).at(span));
        let content = Stream::known(value.text.trim_start_matches('!').to_owned(), value.taint);
        if key != "core.hookspath" {
            self.perhaps(|walker| walker.run_text(Code::Shell, &content, span, &Stream::caller()));
        }
    }
}

/// Whether a variable says where packages come from.
fn names_a_source(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name == "GOPROXY" || name.ends_with("INDEX_URL") || name.ends_with("REGISTRY")
}

/// Whether a variable names the compiler, linker or other tool that a build runs.
fn names_a_tool(name: &str) -> bool {
    const TOOLS: &[&str] = &[
        "CC",
        "CXX",
        "CPP",
        "LD",
        "AR",
        "AS",
        "NM",
        "FC",
        "RANLIB",
        "OBJCOPY",
        "STRIP",
        "RUSTC",
        "RUSTDOC",
        "CARGO_BUILD_RUSTC",
        "HOSTCC",
        "CCACHE_PREFIX",
    ];
    const ENDINGS: &[&str] = &["_WRAPPER", "_RUNNER", "_LINKER", "_LAUNCHER"];
    TOOLS.contains(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a variable's name says that programs load code or settings from its value.
fn loads_by_its_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_home = name.ends_with("_HOME") && !name.starts_with("XDG_");
    is_home || ends_in(words::VARIABLES_LOAD_ENDINGS, &name)
}

fn ends_in(endings: &[&str], name: &str) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Whether a variable adds options to a command, and one of them loads code or destroys something.
fn holds_loading_options(name: &str, value: &str) -> bool {
    let known = has(words::VARIABLES_OPTIONS, name);
    let adds = known
        || name.starts_with("TF_CLI_ARGS")
        || ends_in(words::VARIABLES_MORE_WORDS, &name.to_ascii_uppercase());
    let loads = |option: &str| {
        let starts = |start: &&&str| option.starts_with(**start);
        words::VARIABLES_LOADING_OPTIONS.iter().filter(starts).any(|start| {
            // Short options mean something else in other programs.
            start.len() > 2 || (known && (option.len() == 2 || !option.starts_with("-e")))
        })
    };
    adds && value.split_whitespace().any(|word| loads(word) || super::verb::destroys(word))
}

/// Whether code would be downloaded from a place that is not one of the usual ones.
fn downloads_elsewhere(name: &str, value: &str) -> bool {
    let is_source = has(words::VARIABLES_SOURCES, name)
        || (name.starts_with("CARGO_REGISTRIES_") && name.ends_with("_INDEX"))
        || names_a_source(name);
    is_source
        && value.split([',', '|', ' ']).any(|part| {
            // Others may change what comes that way; a place with a certificate is its owner's.
            let Some(rest) = part.strip_prefix("http://") else { return false };
            let host = rest.split(['/', ':', '?']).next().unwrap_or(rest);
            let host = host.rsplit('@').next().unwrap_or(host);
            !has(words::VARIABLES_REGISTRIES, host) && !host.contains(UNKNOWN)
        })
}

/// Whether a text names a file that anybody may have put there.
fn names_temporary_file(text: &str) -> bool {
    ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|folder| {
        text.match_indices(folder).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let after = text.get(at + folder.len()..).and_then(|after| after.chars().next());
            before.is_none_or(|char| "=:, ".contains(char))
                && after.is_none_or(|char| "/: ".contains(char))
        })
    })
}

/// Whether a setting of git names a command.
fn runs_a_command(key: &str) -> bool {
    let section = key.split('.').next().unwrap_or_default();
    let last = key.rsplit('.').next().unwrap_or_default();
    let endings = match section {
        "filter" => words::GIT_FILTER,
        "diff" => words::GIT_DIFF,
        "merge" => words::GIT_MERGE,
        "submodule" => words::GIT_SUBMODULE,
        "remote" => words::GIT_REMOTE,
        "browser" => words::GIT_BROWSER,
        "includeif" => words::GIT_INCLUDEIF,
        "credential" => words::GIT_CREDENTIAL,
        "gpg" => words::GIT_GPG,
        "man" => words::GIT_MAN,
        "tar" => words::GIT_TAR,
        "trailer" => words::GIT_TRAILER,
        "guitool" => words::GIT_GUITOOL,
        _ => &[],
    };
    has(words::GIT_COMMANDS, key) || has(words::GIT_SECTIONS, section) || has(endings, last)
}

/// Values these settings usually have.
fn is_ordinary_setting(key: &str, value: &str) -> bool {
    let program = value.split_whitespace().next().map_or("", place::base_name);
    let plain = !value.contains([';', '|', '&', '`']) && !value.contains("$(");
    plain
        && (has(words::VARIABLES_EXPECTED, program)
            || matches!(program, "true" | "false")
            || (key.starts_with("credential")
                && matches!(
                    program,
                    "store"
                        | "cache"
                        | "osxkeychain"
                        | "manager"
                        | "manager-core"
                        | "libsecret"
                        | "wincred"
                        | "!gh"
                        | "gh"
                        | "gcloud.sh"
                ))
            || (key.starts_with("gpg")
                && matches!(program, "gpg" | "gpg2" | "ssh-keygen" | "op-ssh-sign"))
            || (key == "core.hookspath"
                && (value.starts_with(".husky")
                    || value.starts_with(".githooks")
                    || value == "/dev/null")))
}
