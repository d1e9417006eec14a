//! What a command prints, where that can be told from its words.

use std::iter::Peekable;
use std::str::Chars;

use super::arguments::Arguments;
use super::expand::taint_of;
use super::value::{Arg, Stream};
use super::{Walker, network};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::place;

/// Text that `printf` is followed to print.
const MOST_PRINTED: usize = 1024 * 1024;

/// One text after the other.
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

/// What a substitution puts into a word.
pub(super) fn as_arg(out: &Stream) -> Arg {
    match &out.text {
        Some(text) => {
            Arg { text: text.trim_end_matches('\n').to_owned(), taint: out.taint, ..Arg::default() }
        }
        None => Arg::unknown(out.taint),
    }
}

impl Walker<'_> {
    /// What this program prints when given these words and this input.
    pub(super) fn output(&mut self, name: &str, args: &Arguments<'_>, stdin: &Stream) -> Stream {
        let words = args.words();
        let taint = taint_of(words);
        match name {
            "echo" => echo(args),
            "printf" => printf(words, taint),
            "cat" | "tee" | "head" | "tail" | "less" | "more" | "sort" | "tac" | "nl" | "uniq"
            | "fold" | "fmt" | "bat" => self.passes_on(name, args, stdin),
            "base64" | "base32" | "xxd" | "openssl" | "uudecode" | "basenc" | "gunzip" | "zcat"
            | "gzip" | "bzip2" | "xz" | "zstd" | "rev" | "tr" | "hex" | "uncompress"
            | "ascii2uni" | "lzma" | "bunzip2" | "xzcat" | "gpg" | "age" | "unxz" => {
                let file = args.operands().first().filter(|file| {
                    file.text != "-"
                        && matches!(name, "base64" | "base32" | "basenc" | "xxd" | "rev")
                });
                match file {
                    Some(file) => decode(name, args, &self.content_of(file)),
                    None => decode(name, args, stdin),
                }
            }
            "pwd" => self.cwd().map_or_else(
                || Stream::unknown(Tags::NONE),
                |cwd| Stream::known(cwd.to_owned(), Tags::NONE),
            ),
            "mktemp" => temporary_file(args),
            "basename" => first_operand(args, |path| place::base_name(path).to_owned()),
            "dirname" => first_operand(args, folder_of),
            "which" | "whereis" | "type" => first_operand(args, super::guard::where_it_is),
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
            "printenv"
                if args
                    .operands()
                    .iter()
                    .any(|name| super::parameter::names_a_secret(&name.text)) =>
            {
                Stream::unknown(Tags::of(&[Tag::Secret]))
            }
            "env" | "printenv" | "set" | "export" if args.operands().is_empty() => {
                if self.state.secrets_sourced {
                    self.note(Fact::new(FactKind::SecretShow, "variables read from a file"));
                }
                Stream::unknown(Tags::of(&[Tag::Local, Tag::Secret]))
            }
            "true" | ":" | "cd" | "mkdir" | "touch" | "sleep" | "rm" | "test" | "[" | "cp"
            | "mv" => Stream::empty(),
            _ if prints_settings(name, args) => Stream::known(":\n".to_owned(), Tags::NONE),
            _ if network::fetches(name) => Stream::unknown(Tags::of(&[Tag::Fetched])),
            // A filter passes on what it was fed, changed in ways nobody tracks.
            _ => Stream::unknown(stdin.taint.and(taint).without(Tag::Created)),
        }
    }

    /// Programs that print their input or their files unchanged, or nearly.
    fn passes_on(&mut self, name: &str, args: &Arguments<'_>, stdin: &Stream) -> Stream {
        let files: Vec<_> = args.operands().iter().filter(|arg| arg.text != "-").collect();
        if files.is_empty() || name == "tee" {
            return stdin.clone();
        }
        let mut out = Stream::empty();
        for file in files {
            let content = match &file.stream {
                Some(stream) => (**stream).clone(),
                None => self.content_of(file),
            };
            out = concat(out, content);
        }
        if !matches!(name, "cat" | "tac") {
            out.text = None;
        }
        out
    }
}

/// Programs made to have their output evaluated: `eval "$(ssh-agent -s)"`.
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

fn echo(args: &Arguments<'_>) -> Stream {
    let mut words = args.words();
    let mut escapes = false;
    while let [first, rest @ ..] = words
        && matches!(first.text.as_str(), "-n" | "-e" | "-E" | "-ne" | "-en")
    {
        escapes |= first.text.contains('e');
        words = rest;
    }
    let text = words.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ");
    let text = if escapes { unescape(&text) } else { text };
    let mut taint = taint_of(words);
    if text.contains(UNKNOWN) {
        taint = taint.with(Tag::Unknown);
    }
    Stream::known(format!("{text}\n"), taint)
}

/// `printf` with its usual directives and escapes.
pub(super) fn printf(words: &[Arg], taint: Tags) -> Stream {
    let Some((format, values)) = words.split_first() else { return Stream::empty() };
    if format.text == "-v" {
        return Stream::empty();
    }
    let mut values = values.iter();
    let mut text = String::new();
    // The format is used again for the words that are left.
    loop {
        let before = values.len();
        let mut chars = format.text.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                // Read before the escapes are: an escaped percent sign is only that.
                '%' => match directive(&mut chars, &mut values) {
                    Some(piece) => text.push_str(&piece),
                    None => return Stream::unknown(taint),
                },
                '\\' => text.extend(escape(&mut chars, 3)),
                char => text.push(char),
            }
        }
        if text.len() > MOST_PRINTED {
            return Stream::unknown(taint.with(Tag::Unknown));
        }
        if values.len() == 0 || values.len() == before {
            break;
        }
    }
    Stream::known(text, taint)
}

/// One directive of `printf`, behind its percent sign.
fn directive<'a>(
    format: &mut Peekable<Chars<'_>>,
    values: &mut impl Iterator<Item = &'a Arg>,
) -> Option<String> {
    let mut spec = String::new();
    let kind = loop {
        match format.next()? {
            char if char.is_ascii_digit() || "-+ #.".contains(char) => spec.push(char),
            char => break char,
        }
    };
    if kind == '%' {
        return Some("%".to_owned());
    }
    let value = values.next().map_or("", |arg| arg.text.as_str());
    let (width, most) = spec.split_once('.').map_or((spec.as_str(), None), |(width, most)| {
        (width, Some(most.parse::<usize>().unwrap_or_default()))
    });
    let to_left = width.contains('-');
    let width = width.trim_start_matches(|char: char| !char.is_ascii_digit());
    let width = if width.is_empty() { 0 } else { width.parse::<usize>().ok()? };
    let piece = match kind {
        'b' => unescape(value),
        's' | 'd' | 'i' | 'u' | 'q' => value.to_owned(),
        'c' => value.chars().take(1).collect(),
        _ => return None,
    };
    let piece: String = piece.chars().take(most.unwrap_or(usize::MAX)).collect();
    let room = width.saturating_sub(piece.chars().count());
    let space = (room <= MOST_PRINTED).then(|| " ".repeat(room))?;
    Some(if to_left { piece + &space } else { space + &piece })
}

/// `\n`, `\x72`, `\162`, `\u0072`.
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => {
                // A zero in front is one digit more.
                let digits = if chars.peek() == Some(&'0') { 4 } else { 3 };
                out.extend(escape(&mut chars, digits));
            }
            char => out.push(char),
        }
    }
    out
}

/// What a backslash and the characters behind it stand for.
fn escape(chars: &mut Peekable<Chars<'_>>, digits: usize) -> Option<char> {
    let mut number = |base: u32, most: usize| {
        let mut value = None;
        for _ in 0..most {
            let Some(digit) = chars.peek().and_then(|char| char.to_digit(base)) else { break };
            value = Some(value.unwrap_or(0_u32).saturating_mul(base).saturating_add(digit));
            chars.next();
        }
        value.and_then(char::from_u32)
    };
    if let Some(octal) = number(8, digits) {
        return Some(octal);
    }
    match chars.next() {
        Some('n') => Some('\n'),
        Some('t') => Some('\t'),
        Some('r') => Some('\r'),
        Some('e' | 'a' | 'b' | 'f' | 'v') => None,
        Some(kind @ ('x' | 'u' | 'U')) => {
            let most = match kind {
                'x' => 2,
                'u' => 4,
                _ => 8,
            };
            let mut value = None;
            for _ in 0..most {
                let Some(digit) = chars.peek().and_then(|char| char.to_digit(16)) else { break };
                value = Some(value.unwrap_or(0_u32).saturating_mul(16).saturating_add(digit));
                chars.next();
            }
            value.and_then(char::from_u32)
        }
        Some(other) => Some(other),
        None => Some('\\'),
    }
}

/// Programs that turn one text into another: computed where it is simple, marked as decoded where
/// it is not.
fn decode(name: &str, args: &Arguments<'_>, stdin: &Stream) -> Stream {
    let taint = stdin.taint.and(taint_of(args.words()));
    let input = stdin.text.as_deref().filter(|text| !text.contains(UNKNOWN));
    let decodes = match name {
        "base64" | "base32" | "basenc" => args.has_any(&["-d", "-D", "--decode"]),
        "xxd" => args.has("-r"),
        "openssl" | "gpg" | "age" => args.has_any(&["-d", "--decrypt"]),
        "gzip" | "bzip2" | "xz" | "zstd" => args.has_any(&["-d", "--decompress"]),
        "tr" => {
            return match input.and_then(|text| translate(text, args)) {
                Some(text) => Stream::known(text, taint),
                None => Stream::unknown(taint.with(Tag::Decoded)),
            };
        }
        _ => true,
    };
    if !decodes {
        return Stream::unknown(taint);
    }
    let text = match (name, input) {
        ("base64", Some(text)) => base64(text),
        ("openssl", Some(text)) if args.has("base64") || args.has_any(&["-base64", "-a"]) => {
            base64(text)
        }
        ("xxd", Some(text)) => hex(text),
        ("rev", Some(text)) => Some(
            text.lines().map(|line| line.chars().rev().chain(['\n']).collect::<String>()).collect(),
        ),
        _ => None,
    };
    match text {
        Some(text) => Stream::known(text, taint),
        None => Stream::unknown(taint.with(Tag::Decoded)),
    }
}

/// `tr` with plain ranges, as rot13 uses it.
fn translate(text: &str, args: &Arguments<'_>) -> Option<String> {
    let [from, to] = args.operands() else { return None };
    let (from, to) = (ranges(&from.text)?, ranges(&to.text)?);
    Some(
        text.chars()
            .map(|char| match from.iter().position(|known| *known == char) {
                Some(at) => to.get(at).or(to.last()).copied().unwrap_or(char),
                None => char,
            })
            .collect(),
    )
}

fn ranges(text: &str) -> Option<Vec<char>> {
    let chars: Vec<_> = unescape(text).chars().filter(|char| !"[]".contains(*char)).collect();
    let mut out = Vec::new();
    let mut rest = chars.as_slice();
    while let Some((first, tail)) = rest.split_first() {
        rest = match tail {
            ['-', last, tail @ ..] if first <= last => {
                out.extend(*first..=*last);
                tail
            }
            tail => {
                out.push(*first);
                tail
            }
        };
        if out.len() > 512 {
            return None;
        }
    }
    Some(out)
}

fn base64(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for char in text.chars().filter(|char| !char.is_whitespace() && *char != '=') {
        let value = match char {
            'A'..='Z' => char as u32 - 'A' as u32,
            'a'..='z' => char as u32 - 'a' as u32 + 26,
            '0'..='9' => char as u32 - '0' as u32 + 52,
            '+' | '-' => 62,
            '/' | '_' => 63,
            _ => return None,
        };
        buffer = (buffer << 6 | value) & 0xFF_FFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(buffer >> bits & 0xFF).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

fn hex(text: &str) -> Option<String> {
    let digits: Vec<u32> = text.chars().filter_map(|char| char.to_digit(16)).collect();
    let bytes = digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(pair.iter().fold(0, |value, digit| value * 16 + digit)).ok())
        .collect::<Option<Vec<_>>>()?;
    String::from_utf8(bytes).ok()
}

/// The name that `mktemp` prints.
fn temporary_file(args: &Arguments<'_>) -> Stream {
    let folder = args.value(&["-p", "--tmpdir"]).map(|arg| arg.text);
    let text = format!("{}/{UNKNOWN}", folder.as_deref().unwrap_or("/tmp"));
    Stream::known(text, Tags::of(&[Tag::Created]))
}

/// The folder of a path, as `dirname` prints it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders_decode() {
        assert_eq!(base64("aGVsbG8=").as_deref(), Some("hello"));
        assert_eq!(hex("6869").as_deref(), Some("hi"));
        assert_eq!(unescape(r"\x72\155"), "rm");
        assert_eq!(ranges("a-c").unwrap(), ['a', 'b', 'c']);
    }
}
