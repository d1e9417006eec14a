//! The output of commands, where it can be derived from their words.

use super::arguments::Arguments;
use super::expand::taint_of;
use super::value::{Arg, Stream};
use super::{Walker, network};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;

mod filter;
mod print;

pub(super) use print::{Escapes, printf, unescape};

/// Concatenates two streams.
pub(super) fn concat(first: Stream, second: Stream) -> Stream {
    let text = match (first.text, second.text) {
        (Some(mut first), Some(second)) => {
            first.push_str(&second);
            Some(first)
        }
        _ => None,
    };
    Stream { text, taint: first.taint.and(second.taint), from_caller: false }
}

/// Returns the text of a substitution as a word.
pub(super) fn as_arg(out: &Stream) -> Arg {
    match &out.text {
        Some(text) => {
            // Bash drops NUL bytes.
            let text = text.trim_end_matches('\n').replace('\0', "");
            Arg { text, taint: out.taint, ..Arg::default() }
        }
        None => Arg::unknown(out.taint),
    }
}

impl Walker<'_> {
    /// Returns the output of this program for these words and this input.
    pub(super) fn output(&mut self, name: &str, args: &Arguments<'_>, stdin: &Stream) -> Stream {
        let words = args.words();
        let taint = taint_of(words);
        match name {
            "echo" => print::echo(args),
            "printf" => printf(words, taint),
            "cat" | "tee" | "head" | "tail" | "less" | "more" | "sort" | "tac" | "nl" | "uniq"
            | "fold" | "fmt" | "bat" => self.passes_on(name, args, stdin),
            "base64" | "base32" | "xxd" | "openssl" | "uudecode" | "basenc" | "gunzip" | "zcat"
            | "gzip" | "bzip2" | "xz" | "zstd" | "rev" | "tr" | "hex" | "uncompress"
            | "ascii2uni" | "lzma" | "bunzip2" | "xzcat" | "gpg" | "age" | "unxz" => {
                self.decoded(name, args, stdin)
            }
            "pwd" => self.cwd().map_or_else(
                || Stream::unknown(Tags::NONE),
                |cwd| Stream::known(cwd.to_owned(), Tags::NONE),
            ),
            "mktemp" => self.temporary_file(args),
            "basename" | "dirname" if args.words().len() == 1 => first_operand(args, |path| {
                if name == "dirname" {
                    folder_of(path)
                } else {
                    location::base_name(path).to_owned()
                }
            }),
            "which" | "whereis" | "type" => first_operand(args, super::own_command::where_it_is),
            "realpath" | "readlink" => first_operand(args, str::to_owned),
            "pgrep" | "pidof" | "ps" | "lsof" | "fuser" | "grep" | "egrep" | "rg" | "awk"
                if super::process::finds_ours(name, args) =>
            {
                Stream::unknown(stdin.taint.and(taint).with(Tag::Guard))
            }
            "git" if args.has("--show-toplevel") => self.scene.workspace().map_or_else(
                || Stream::unknown(Tags::NONE),
                |workspace| Stream::known(workspace.to_owned(), Tags::NONE),
            ),
            "printenv" if names_a_secret(args) => Stream::unknown(Tags::of(&[Tag::Secret])),
            "env" | "printenv" | "set" | "export" if args.operands().is_empty() => {
                if self.state.secrets_sourced {
                    self.note(Fact::new(FactKind::SecretShow, "variables read from a file"));
                }
                Stream::unknown(Tags::of(&[Tag::Local, Tag::Secret]))
            }
            _ if super::secret::dumps_everything(name, args) => {
                Stream::unknown(stdin.taint.and(Tags::of(&[Tag::Local, Tag::Secret])))
            }
            "true" | ":" | "cd" | "mkdir" | "touch" | "sleep" | "rm" | "test" | "[" | "cp"
            | "mv" => Stream::empty(),
            _ if prints_settings(name, args) => Stream::known(":\n".to_owned(), Tags::NONE),
            _ if super::exhaust::prints_on(name, args) => {
                Stream::unknown(Tags::of(&[Tag::Endless]))
            }
            _ if network::fetches(name) => Stream::unknown(Tags::of(&[Tag::Fetched])),
            // A filter passes on what it was fed, changed in ways nobody tracks.
            _ => {
                Stream::unknown(stdin.taint.and(taint).without(Tag::Created).without(Tag::Endless))
            }
        }
    }

    /// Text that a program decodes, from its first file or from its input.
    fn decoded(&self, name: &str, args: &Arguments<'_>, stdin: &Stream) -> Stream {
        let file = args.operands().first().filter(|file| {
            file.text != "-" && !matches!(name, "tr" | "openssl" | "hex" | "ascii2uni")
        });
        match file {
            Some(file) => decode(name, args, &self.content_of(file)),
            None => decode(name, args, stdin),
        }
    }

    /// Follows programs that print their input or their files, or some of their lines.
    fn passes_on(&mut self, name: &str, args: &Arguments<'_>, stdin: &Stream) -> Stream {
        let files: Vec<_> = args.operands().iter().filter(|arg| arg.text != "-").collect();
        if name == "tee" {
            return stdin.clone();
        }
        let mut out = if files.is_empty() {
            stdin.clone()
        } else {
            let contents = files.into_iter().map(|file| match &file.stream {
                Some(stream) => (**stream).clone(),
                None => self.content_of(file),
            });
            contents.fold(Stream::empty(), concat)
        };
        let is_plain = !args.options().any(|option| option.text != "-");
        out.text = out.text.and_then(|text| match name {
            "head" => filter::head(&text, args),
            "tail" => filter::tail(&text, args),
            "cat" | "bat" | "less" | "more" if is_plain => Some(text),
            "tac" if is_plain => Some(filter::tac(&text)),
            "uniq" if is_plain => Some(filter::uniq(&text)),
            // The order depends on the locale.
            "sort" if is_plain && text.lines().count() < 2 => Some(text),
            _ => None,
        });
        // These stop, or print nothing before the end.
        if matches!(name, "head" | "tail" | "sort" | "tac") {
            out.taint = out.taint.without(Tag::Endless);
        }
        out
    }
}

/// Reports whether the output of a program is meant to be evaluated: `eval "$(ssh-agent -s)"`.
fn prints_settings(name: &str, args: &Arguments<'_>) -> bool {
    const ALWAYS: &[&str] = &[
        "ssh-agent",
        "dircolors",
        "lesspipe",
        "register-python-argcomplete",
        "keychain",
        "gnome-keyring-daemon",
        "resize",
        "tset",
        "fnm",
        "luarocks",
        "locale",
        "path_helper",
    ];
    const WORDS: &[&str] = &[
        "shellenv",
        "init",
        "hook",
        "completion",
        "completions",
        "activate",
        "shell-init",
        "env",
        "docker-env",
        "shell.bash",
        "shell.zsh",
        "export-env",
        "generate-shell-completion",
        "gen-completions",
        "complete",
        "virtualenv-init",
        "alias",
    ];
    ALWAYS.contains(&name)
        || args.operands().iter().take(2).any(|word| WORDS.contains(&word.text.as_str()))
}

/// Follows programs that decode text: computed where it is simple, tagged as decoded where it is
/// not.
fn decode(name: &str, args: &Arguments<'_>, stdin: &Stream) -> Stream {
    let taint = stdin.taint.and(taint_of(args.words()));
    let input = stdin.text.as_deref().filter(|text| !text.contains(UNKNOWN));
    let decodes = match name {
        "base64" | "base32" | "basenc" => args.has_any(&["-d", "-D", "--decode"]),
        "xxd" => args.has("-r"),
        "openssl" | "gpg" | "age" => args.has_any(&["-d", "--decrypt"]),
        "gzip" | "bzip2" | "xz" | "zstd" => args.has_any(&["-d", "--decompress"]),
        "tr" => {
            return match input.and_then(|text| filter::translate(text, args)) {
                Some(text) => Stream::known(text, taint),
                None => Stream::unknown(taint.with(Tag::Decoded)),
            };
        }
        _ => true,
    };
    if !decodes {
        return Stream::unknown(taint.with(Tag::Encoded));
    }
    let text = match (name, input) {
        ("base64", Some(text)) => filter::base64(text),
        ("openssl", Some(text)) if args.has("base64") || args.has_any(&["-base64", "-a"]) => {
            filter::base64(text)
        }
        ("xxd", Some(text)) if args.has_any(&["-p", "-ps", "-plain"]) => filter::hex(text),
        ("rev", Some(text)) => Some(filter::rev(text)),
        _ => None,
    };
    match text {
        Some(text) => Stream::known(text, taint),
        None => Stream::unknown(taint.with(Tag::Decoded)),
    }
}

impl Walker<'_> {
    /// The name that `mktemp` prints: a new one each time, with digits in place of its letters, so
    /// that what is written there is known when it is used.
    fn temporary_file(&mut self, args: &Arguments<'_>) -> Stream {
        self.temporary_files += 1;
        let digits = format!("{:010}", self.temporary_files);
        let template = args.operand(0).unwrap_or("tmp.XXXXXXXXXX");
        let name = match template.rfind('X') {
            Some(end) => {
                let start = template.get(..=end).unwrap_or_default().trim_end_matches('X');
                let rest = template.get(end + 1..).unwrap_or_default();
                format!("{start}{digits}{rest}")
            }
            None => format!("{template}{digits}"),
        };
        let folder = args.value(&["-p", "--tmpdir"]).map(|arg| arg.text);
        let is_named = args.operand(0).is_some() && !args.has_any(&["-t", "--tmpdir"]);
        let text = match folder {
            Some(folder) if !folder.is_empty() => format!("{folder}/{name}"),
            _ if is_named => name,
            _ => format!("/tmp/{name}"),
        };
        Stream::known(text, Tags::of(&[Tag::Created]))
    }
}

/// Returns the folder of a path, as `dirname` prints it.
fn folder_of(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((folder, _)) => folder.to_owned(),
        None if path.starts_with('/') => "/".to_owned(),
        None => ".".to_owned(),
    }
}

fn first_operand(args: &Arguments<'_>, change: impl Fn(&str) -> String) -> Stream {
    match args.operands().first() {
        Some(arg) => Stream::known(change(&arg.text), arg.taint),
        None => Stream::unknown(Tags::NONE),
    }
}
/// Reports whether one of the words is the name of a variable that holds a secret.
fn names_a_secret(args: &Arguments<'_>) -> bool {
    args.operands().iter().any(|name| super::parameter::names_a_secret(&name.text))
}
