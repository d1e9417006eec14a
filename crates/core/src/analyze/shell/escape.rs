//! Ways to run code that nobody expects to run any: variables, git's settings and hooks.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{self, Code};
use super::value::{Arg, Stream};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::place;
use crate::verdict::Span;

/// Variables whose value is a command that other programs run.
const COMMAND_VARIABLES: &[&str] = &[
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "BROWSER",
    "PROMPT_COMMAND",
    "LESSOPEN",
    "LESSCLOSE",
    "GIT_PROXY_COMMAND",
    "FCEDIT",
    "PSQL_PAGER",
    "SYSTEMD_PAGER",
    "AWS_PAGER",
    "BAT_PAGER",
    "DELTA_PAGER",
    "npm_config_script_shell",
];

/// Variables whose value is a file that other programs load and run.
const LOADING_VARIABLES: &[&str] = &[
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "ENV",
    "PYTHONSTARTUP",
    "PERL5DB",
    "ZDOTDIR",
    "GIT_TEMPLATE_DIR",
    "GCONV_PATH",
    "OPENSSL_CONF",
    "GIT_EXEC_PATH",
];

/// Variables whose value holds options, some of which load code.
const OPTION_VARIABLES: &[&str] = &[
    "NODE_OPTIONS",
    "PERL5OPT",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "PYTHONWARNINGS",
    "GIT_CONFIG_PARAMETERS",
];

/// Parts of flags for build tools that make them run or load something.
const FLAGS_THAT_RUN: &[&str] =
    &["--eval", "-toolexec", "linker=", "-fplugin", "-specs", "-wrapper", "-f/", "--file=/"];

/// Programs one would expect in such a variable.
const EXPECTED: &[&str] = &[
    "",
    "cat",
    "less",
    "more",
    "most",
    "bat",
    "delta",
    "diff-so-fancy",
    "true",
    ":",
    "false",
    "vi",
    "vim",
    "nvim",
    "nano",
    "emacs",
    "emacsclient",
    "code",
    "subl",
    "micro",
    "hx",
    "kak",
    "ed",
    "ssh",
    "echo",
    "open",
    "xdg-open",
    "firefox",
    "chromium",
    "google-chrome",
    "w3m",
    "lynx",
    "none",
    "lesspipe",
    "lesspipe.sh",
    "col",
    "sh -c col -bx",
];

/// Settings of git whose value is a command.
const GIT_COMMANDS: &[&str] = &[
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "core.gitproxy",
    "core.hookspath",
    "diff.external",
    "credential.helper",
    "gpg.program",
    "gpg.ssh.program",
    "sequence.editor",
    "uploadpack.packobjectshook",
    "interactive.difffilter",
    "init.templatedir",
    "protocol.ext.allow",
    "include.path",
    "core.attributesfile",
    "web.browser",
    "sendemail.tocmd",
];

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
        let runs = if COMMAND_VARIABLES.contains(&name) {
            self.runs_unexpected(name, value, span)
        } else if LOADING_VARIABLES.contains(&name) {
            let tags = place::locate(&value.text, &self.scene_now());
            !value.text.is_empty() && !tags.has(Tag::System) && value.text != "/dev/null"
        } else if OPTION_VARIABLES.contains(&name) {
            [
                "-r ",
                "-r/",
                "-r.",
                "--require",
                "--import",
                "--loader",
                "-M",
                "-javaagent",
                "-agentpath",
                "-e",
            ]
            .iter()
            .any(|option| value.text.contains(option))
        } else if name == "PATH" {
            self.finds_own_programs(&value.text) || names_temporary_file(&value.text)
        } else if name.ends_with("FLAGS")
            && FLAGS_THAT_RUN.iter().any(|flag| value.text.contains(flag))
        {
            true
        } else if names_a_source(name) {
            let local = ["http://localhost", "http://127."];
            value.text.starts_with("http://")
                && !local.iter().any(|start| value.text.starts_with(start))
        } else if names_a_tool(name) {
            let program = value.text.split_whitespace().next().unwrap_or_default();
            let tags = place::locate(program, &self.scene_now());
            program.contains('/') && !program.contains(UNKNOWN) && !tags.has(Tag::System)
        } else {
            loads_by_its_name(name) && names_temporary_file(&value.text)
        };
        if let Some(stream) = &value.stream {
            let content = (**stream).clone();
            if LOADING_VARIABLES.contains(&name) {
                self.run_text(Code::Shell, &content, span, &Stream::caller());
            }
        }
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

    fn runs_unexpected(&mut self, name: &str, value: &Arg, span: Option<Span>) -> bool {
        let content = Stream::known(value.text.clone(), value.taint);
        let program = value.text.split_whitespace().next().map_or("", place::base_name);
        if EXPECTED.contains(&program) && name != "PROMPT_COMMAND" {
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
    const ENDINGS: &[&str] = &[
        "LIB",
        "PATH",
        "OPT",
        "OPTS",
        "OPTIONS",
        "FLAGS",
        "WRAPPER",
        "RC",
        "INIT",
        "PROFILE",
        "PROFILE_USER",
        "CONFIG",
        "CONFIG_FILE",
        "CONF",
        "PLUGIN",
        "PLUGINS",
        "PRELOAD",
        "STARTUP",
        "HOOK",
        "HOOKS",
        "COMMAND",
        "CMD",
        "SHELL",
        "LOADER",
        "MAKEFILES",
        "GEMFILE",
        "MODULES",
    ];
    let name = name.to_ascii_uppercase();
    let is_home = name.ends_with("_HOME") && !name.starts_with("XDG_");
    is_home || ENDINGS.iter().any(|ending| name.ends_with(ending))
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
    GIT_COMMANDS.contains(&key)
        || matches!(
            (section, last),
            ("filter", "clean" | "smudge" | "process")
                | ("diff", "command" | "textconv")
                | ("merge", "driver")
                | ("submodule", "update")
                | ("credential", "helper")
                | ("pager" | "difftool" | "mergetool", _)
        )
}

/// Values these settings usually have.
fn is_ordinary_setting(key: &str, value: &str) -> bool {
    let program = value.split_whitespace().next().map_or("", place::base_name);
    let plain = !value.contains([';', '|', '&', '`']) && !value.contains("$(");
    plain
        && (EXPECTED.contains(&program)
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
