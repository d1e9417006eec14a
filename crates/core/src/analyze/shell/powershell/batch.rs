//! `cmd /c`: the command interpreter of Windows, parsed to the level of words.

use super::super::Walker;
use super::super::value::{Arg, Stream};
use super::unix_path;
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tags};
use crate::verdict::Span;

impl Walker<'_> {
    /// Follows a line of `cmd`.
    pub(super) fn batch_line(&mut self, line: &str, span: Option<Span>) -> Stream {
        let mut out = Stream::caller();
        for command in line.replace("&&", "\n").replace("||", "\n").split(['\n', '&']) {
            out = Stream::caller();
            for part in command.split('|') {
                out = self.batch_command(part, span, out);
            }
        }
        out
    }

    fn batch_command(&mut self, command: &str, span: Option<Span>, stdin: Stream) -> Stream {
        let words = batch_words(command);
        let Some((first, rest)) = words.split_first() else { return stdin };
        let name = first.trim_start_matches(['@', '(']).to_ascii_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        let flags: Vec<String> = rest
            .iter()
            .filter(|word| is_flag(word))
            .map(|word| word.to_ascii_lowercase())
            .collect();
        let has = |letter: &str| flags.iter().any(|flag| flag.contains(letter));
        let operands = rest.iter().filter(|word| !is_flag(word));
        let mut line: Vec<String> = match name {
            "del" | "erase" | "rd" | "rmdir" => {
                let mut line = vec!["rm".to_owned()];
                line.extend(has("/s").then(|| "-r".to_owned()));
                line.extend((has("/q") || has("/f")).then(|| "-f".to_owned()));
                line
            }
            "format" | "diskpart" => vec!["mkfs".to_owned(), "/dev/sda".to_owned()],
            "type" | "more" => vec!["cat".to_owned()],
            "copy" | "xcopy" | "robocopy" => vec!["cp".to_owned(), "-r".to_owned()],
            "move" | "ren" | "rename" => vec!["mv".to_owned()],
            "dir" | "tree" => vec!["ls".to_owned()],
            "md" => vec!["mkdir".to_owned()],
            "rem" | "title" | "ver" | "vol" | "cls" | "pause" | "color" | "chcp" | "set"
            | "path" | "prompt" | "where" | "whoami" | "hostname" | "exit" | "setlocal"
            | "ping" | "tasklist" | "systeminfo" | "ipconfig" | "find" | "findstr" | "sort" => {
                return Stream::unknown(Tags::NONE);
            }
            "call" | "start" | "for" | "if" | "reg" | "bcdedit" | "vssadmin" | "wmic"
            | "schtasks" | "sc" | "net" | "wevtutil" | "cipher" | "icacls" | "takeown"
            | "shutdown" | "rundll32" | "mshta" | "certutil" | "bitsadmin" | "regsvr32"
            | "wscript" | "cscript" => {
                if !matches!(name, "call" | "start") && !is_query(rest) {
                    self.note(Fact::new(FactKind::UnknownCode, format!("cmd {name}")).at(span));
                }
                let inner: Vec<String> =
                    rest.iter().filter(|word| !is_flag(word)).cloned().collect();
                if matches!(name, "call" | "start") && !inner.is_empty() {
                    return self.batch_command(&inner.join(" "), span, stdin);
                }
                return Stream::unknown(Tags::NONE);
            }
            _ => {
                let args = words.iter().map(|word| Arg { span, ..Arg::literal(word.as_str()) });
                return self.follow_command(args.collect(), stdin);
            }
        };
        line.extend(operands.map(|word| unix_path(word)));
        let args = line.into_iter().map(|word| Arg { span, ..Arg::literal(word) });
        self.follow_command(args.collect(), stdin)
    }
}

fn is_flag(word: &str) -> bool {
    word.starts_with('/')
        && word.chars().filter(|char| *char == '/').count()
            == word.chars().filter(|char| *char != '/').count().max(1)
        || (word.len() <= 3 && word.starts_with('/'))
        || word.starts_with("/a:")
}

/// Reports whether a command only queries: `reg query`, `schtasks /query`.
fn is_query(words: &[String]) -> bool {
    words.first().is_some_and(|word| {
        matches!(
            word.to_ascii_lowercase().trim_start_matches(['/', '-']),
            "query"
                | "hashfile"
                | "list"
                | "view"
                | "/?"
                | "?"
                | "qc"
                | "queryex"
                | "enum"
                | "el"
                | "qe"
        ) || words.len() == 1 && word.eq_ignore_ascii_case("start")
    })
}

/// Splits a command into words, with `%…%` replaced.
fn batch_words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for char in expanded(command).chars() {
        match char {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '^' if !quoted => {}
            char if char.is_whitespace() && !quoted => words.extend(word.take()),
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}

fn expanded(command: &str) -> String {
    let mut out = String::new();
    for (at, part) in command.split('%').enumerate() {
        if at % 2 == 0 {
            out.push_str(part);
            continue;
        }
        match part.to_ascii_lowercase().as_str() {
            "userprofile" | "homepath" | "home" => out.push('~'),
            "systemdrive" | "homedrive" => out.push_str("C:"),
            "systemroot" | "windir" => out.push_str("C:\\Windows"),
            _ => out.push(UNKNOWN),
        }
    }
    out
}
