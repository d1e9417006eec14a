//! Unexpected ways to run code: variables, git's settings and hooks.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{self, Code};
use super::value::{Arg, Stream};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

/// Parts of flags for build tools that make them run or load something.
const FLAGS_THAT_RUN: &[&str] =
    &["--eval", "-toolexec", "linker=", "-fplugin", "-specs", "-wrapper", "-f/", "--file=/"];

impl Walker<'_> {
    /// Records a variable that makes other programs run code.
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
        self.variable_that_uncovers(name, value, span);
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
            let tags = location::locate(program, &self.scene_now());
            let elsewhere =
                program.contains('/') && !program.contains(UNKNOWN) && !tags.has(Tag::System);
            // `CC='sh x'`: an interpreter is not a compiler.
            let interpreter = catalogue::program(location::base_name(program))
                .is_some_and(|program| program.runs.is_some())
                && value.text.contains(' ');
            elsewhere || interpreter || names_temporary_file(&value.text)
        } else {
            leaves_unchecked(name, &value.text)
                || names_another_machine(name, &value.text)
                || holds_loading_options(name, &value.text)
                || downloads_elsewhere(name, &value.text)
                || (loads_by_its_name(name) && names_temporary_file(&value.text))
        };
        if runs {
            let subject = format!("{name}={}", location::shown(&value.text));
            self.note(Fact::new(FactKind::EnvExecutes, subject).at(span));
        }
    }

    /// Records a persistent setting that runs code: `gh config set editor COMMAND`, `go env -w
    /// NAME=VALUE`.
    pub(super) fn kept_settings(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        if matches!(name, "git" | "hg") || super::floor::only_mentions(name) {
            return;
        }
        if args.operand(0) == Some("env") && args.has("-w") {
            for word in args.operands() {
                if let Some((key, value)) = word.text.split_once('=') {
                    self.variable_that_runs(key, Some(&word.saying(value)), word.span.or(span));
                }
            }
        }
        let operands = args.operands();
        let sets = operands
            .iter()
            .take(2)
            .any(|word| matches!(word.text.as_str(), "config" | "settings" | "alias"))
            && operands.iter().take(3).any(|word| word.text == "set");
        let [.., key, value] = operands else { return };
        let last = key.text.rsplit(['.', '-', '_']).next().unwrap_or_default();
        let runs = matches!(last, "editor" | "pager" | "browser" | "shell" | "command" | "hook");
        if sets && runs && self.runs_unexpected(&key.text, value, value.span.or(span)) {
            let subject = format!("{}={}", key.text, location::shown(&value.text));
            self.note(Fact::new(FactKind::EnvExecutes, subject).at(span));
        }
    }

    /// Reports whether `PATH` includes the working folder, or a folder where this script has put
    /// programs.
    fn finds_own_programs(&self, path: &str) -> bool {
        path.split(':').filter(|folder| !folder.is_empty()).any(|folder| {
            let inside = format!("{}/", location::absolute(folder, &self.scene_now()));
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

    /// Follows a value that another program loads as code: a text of this script is read. Reports
    /// whether the value needs a confirmation.
    fn loads_from(&mut self, name: &str, value: &Arg, span: Option<Span>) -> bool {
        if let Some(stream) = &value.stream {
            let content = (**stream).clone();
            self.follow_text(Code::Shell, &content, span, &Stream::caller());
            return true;
        }
        if matches!(name, "EXINIT" | "VIMINIT" | "GVIMINIT" | "LUA_INIT" | "PERL5DB") {
            let content = Stream::known(value.text.clone(), value.taint);
            self.follow_text(Code::Other, &content, span, &Stream::caller());
        }
        let tags = location::locate(&value.text, &self.scene_now());
        let from_script = value.text.starts_with("/dev/fd/");
        let from_anybody = tags.has(Tag::Temp) || value.text == "/tmp";
        !value.text.is_empty()
            && value.text != "/dev/null"
            && (from_script || from_anybody || !tags.has(Tag::System))
    }

    /// Records a git setting that is split into two variables, such as
    /// `GIT_CONFIG_KEY_0=core.pager`.
    fn git_variable(&mut self, name: &str, value: &Arg, span: Option<Span>) {
        let names_command = name.starts_with("GIT_CONFIG_KEY_")
            && (runs_a_command(&value.text.to_ascii_lowercase())
                || value.text.starts_with("alias."));
        if names_command {
            let subject = format!("{name}={}", location::shown(&value.text));
            self.note(Fact::new(FactKind::EnvExecutes, subject).at(span));
        }
    }

    /// Records variables that reveal secrets which are otherwise hidden: `GIT_TRACE_REDACT=0`,
    /// `SSLKEYLOGFILE=x`.
    fn variable_that_uncovers(&mut self, name: &str, value: &Arg, span: Option<Span>) {
        let off = matches!(value.text.as_str(), "0" | "false" | "no" | "off");
        let uncovers = name.ends_with("_REDACT") && off
            || name == "SSLKEYLOGFILE" && !value.text.is_empty()
            || name == "SSH_AUTH_SOCK" && value.text.contains("/ssh-")
            || matches!(name, "GIT_CURL_VERBOSE" | "GIT_TRACE_CURL") && self.is_unredacted();
        if uncovers {
            self.note(Fact::new(FactKind::SecretShow, format!("{name} uncovers secrets")).at(span));
        }
    }

    fn is_unredacted(&self) -> bool {
        self.environment.iter().any(|(name, _)| name == "GIT_TRACE_REDACT")
    }

    fn runs_unexpected(&mut self, name: &str, value: &Arg, span: Option<Span>) -> bool {
        let content = Stream::known(value.text.clone(), value.taint);
        let program = value.text.split_whitespace().next().map_or("", location::base_name);
        if has(words::VARIABLES_EXPECTED, program) && name != "PROMPT_COMMAND" {
            self.perhaps(|walker| {
                walker.follow_text(Code::Shell, &content, span, &Stream::caller())
            });
            return value.text.contains([';', '|', '&', '`']) || value.text.contains("$(");
        }
        if !value.text.starts_with(UNKNOWN) {
            self.perhaps(|walker| {
                walker.follow_text(Code::Shell, &content, span, &Stream::caller())
            });
        }
        true
    }

    /// Follows git's settings and options that run commands.
    pub(super) fn git(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        for setting in args.values(&["-c", "--config-env", "--config"]) {
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
            let pager = text.strip_prefix("-O").filter(|_| args.operand(0) == Some("grep"));
            if pager.is_some_and(|pager| !has(words::VARIABLES_EXPECTED, pager)) {
                self.note(Fact::new(FactKind::ShellEscape, text).at(span));
            }
        }
        self.discards(args, span);
        let starts = match args.operand(0) {
            Some("bisect") => Some("run"),
            Some("submodule") => Some("foreach"),
            _ => None,
        };
        // The command's options are among its words, so all words are taken.
        let at = starts.and_then(|start| args.words().iter().position(|word| word.text == start));
        if let Some(words) = at.and_then(|at| args.words().get(at + 1..))
            && !words.is_empty()
        {
            let command = super::builtin::skip_options(words, &[]);
            if let [line] = command {
                let content = Stream::known(line.text.clone(), line.taint);
                self.follow_text(Code::Shell, &content, span, &Stream::caller());
            } else {
                // Several words are a program with its arguments.
                self.follow_command(command.to_vec(), Stream::caller());
            }
        }
        self.git_transport(args, span);
    }

    fn git_setting(&mut self, key: &str, value: &Arg, span: Option<Span>) {
        let key = key.to_ascii_lowercase();
        if key.starts_with("alias.") {
            if let Some(command) = value.text.strip_prefix('!') {
                let content = Stream::known(command.to_owned(), value.taint);
                self.follow_text(Code::Shell, &content, span, &Stream::caller());
            }
            return;
        }
        if !runs_a_command(&key) || is_ordinary_setting(&key, &value.text) {
            return;
        }
        let subject = format!("{key}={}", location::shown(&value.text));
        self.note(Fact::new(FactKind::EnvExecutes, subject).tagged(Tags::NONE).at(span));
        let content = Stream::known(value.text.trim_start_matches('!').to_owned(), value.taint);
        if key != "core.hookspath" {
            self.perhaps(|walker| {
                walker.follow_text(Code::Shell, &content, span, &Stream::caller())
            });
        }
    }
}

/// Reports whether a variable names the source of packages.
fn names_a_source(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name == "GOPROXY" || name.ends_with("INDEX_URL") || name.ends_with("REGISTRY")
}

/// Reports whether a variable names the compiler, linker or other tool that a build runs.
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

/// Reports whether a variable's name implies that programs load code or settings from its value.
fn loads_by_its_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_home = name.ends_with("_HOME") && !name.starts_with("XDG_");
    is_home || ends_in(words::VARIABLES_LOAD_ENDINGS, &name)
}

fn ends_in(endings: &[&str], name: &str) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Reports whether a variable adds options to a command of which one loads code or destroys
/// something.
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
    let runs = |word: &str| options_of_its_program(name, word);
    adds && value
        .split_whitespace()
        .any(|word| loads(word) || super::verb::destroys(word) || runs(word))
}

/// Reports whether a variable hands its program an option that runs a command:
/// `TAR_OPTIONS=--to-command=x`.
fn options_of_its_program(variable: &str, word: &str) -> bool {
    let Some((program, _)) = variable.split_once('_') else { return false };
    let option = word.split('=').next().unwrap_or_default();
    catalogue::program(&program.to_ascii_lowercase())
        .is_some_and(|program| program.executes.contains(&option))
}

/// Reports whether a variable switches off the verification of downloads.
fn leaves_unchecked(name: &str, value: &str) -> bool {
    let off = matches!(value, "0" | "off" | "false" | "no");
    let on = !off && !value.is_empty();
    match name {
        "GOSUMDB" | "NODE_TLS_REJECT_UNAUTHORIZED" | "PYTHONHTTPSVERIFY" => off,
        "GOINSECURE" | "GONOSUMCHECK" | "GIT_SSL_NO_VERIFY" | "HEX_UNSAFE_HTTPS" => on,
        "PIP_TRUSTED_HOST" => on && !value.starts_with("localhost"),
        _ => {
            let lower = name.to_ascii_lowercase();
            off && lower.starts_with("npm_config") && lower.ends_with("strict_ssl")
        }
    }
}

/// Reports whether a variable moves what a client controls to another machine.
fn names_another_machine(name: &str, value: &str) -> bool {
    matches!(name, "DOCKER_HOST" | "CONTAINER_HOST" | "BUILDKIT_HOST")
        && value.split_once("://").is_some_and(|(scheme, rest)| {
            matches!(scheme, "tcp" | "ssh" | "http" | "https")
                && !super::upload::is_loopback(value)
                && !rest.is_empty()
        })
}

/// Reports whether code would be downloaded from an unusual source.
fn downloads_elsewhere(name: &str, value: &str) -> bool {
    let is_source = has(words::VARIABLES_SOURCES, name)
        || (name.starts_with("CARGO_REGISTRIES_") && name.ends_with("_INDEX"))
        || names_a_source(name);
    is_source
        && value.split([',', '|', ' ']).any(|part| {
            super::foreign::address(part).is_some_and(|host| {
                !has(words::VARIABLES_REGISTRIES, host) && !host.contains(UNKNOWN)
            })
        })
}

/// Reports whether a text names a file in a world-writable temporary folder.
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

/// Reports whether a git setting names a command.
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

/// Reports whether this is a usual value of such a setting.
fn is_ordinary_setting(key: &str, value: &str) -> bool {
    let program = value.split_whitespace().next().map_or("", location::base_name);
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
