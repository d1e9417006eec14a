//! Programs that only read: asking about every `basename` would teach people to say yes.

use crate::analyze::{Analysis, Invocation};
use crate::fact::{FactKind, Tag};

/// Programs that only read, whatever they are given.
const READERS: &[&str] = &[
    ":", "[", "afplay", "arch", "awk", "basename", "bc", "cal", "cat", "cd", "cksum", "cmp", "col",
    "column", "comm", "cut", "date", "df", "diff", "dig", "dirname", "du", "echo", "egrep", "exit",
    "export", "expr", "false", "fgrep", "file", "find", "fmt", "fold", "gawk", "getconf", "grep",
    "groups", "gsed", "gzcat", "head", "hexdump", "host", "hostname", "iconv", "id", "ifconfig",
    "ioreg", "ipconfig", "jot", "jq", "last", "local", "locale", "locate", "logname", "look", "ls",
    "lsof", "man", "md5", "mdfind", "mdls", "netstat", "nl", "nm", "nslookup", "od", "open",
    "otool", "paste", "pbcopy", "pbpaste", "pgrep", "ping", "pr", "printf", "ps", "pwd", "pwd",
    "qlmanage", "read", "readlink", "realpath", "return", "rev", "say", "sed", "seq", "set", "shasum",
    "sleep", "sort", "stat", "strings", "sum", "sw_vers", "system_profiler", "tail", "tee", "test",
    "top", "tr", "tree", "true", "tsort", "tty", "type", "uname", "unexpand", "uniq", "uptime",
    "users", "uuidgen", "vm_stat", "w", "wc", "where", "whereis", "which", "who", "whoami", "xxd",
    "yes", "zcat", "lp", "lpr", "lpstat", "lpq", "lpoptions", "stty", "tput", "clear", "sha256sum",
    "md5sum", "base64", "exiftool", "mediainfo", "getfileinfo", "GetFileInfo", "command", "hash",
];

/// Programs that only read when told so by one of these words.
const ASKED: &[(&str, &[&str])] = &[
    ("defaults", &["read", "read-type", "domains", "find"]),
    ("plutil", &["-p", "-lint"]),
    ("PlistBuddy", &["Print", "Print*", "print*"]),
    ("pmset", &["-g"]),
    ("sips", &["-g", "--getProperty"]),
    ("scutil", &["--get", "--dns", "--proxy", "--nwi"]),
    ("networksetup", &["-get*", "-list*"]),
    ("diskutil", &["list", "info"]),
    ("hdiutil", &["info", "imageinfo"]),
    ("launchctl", &["list", "print"]),
    ("xattr", &["-l", "-p"]),
    ("textutil", &["-stdout", "-info"]),
    ("softwareupdate", &["-l", "--list"]),
    ("csrutil", &["status"]),
    ("spctl", &["--status", "--assess"]),
    ("codesign", &["-d", "-dv", "-dvv", "--display", "-v", "--verify"]),
    ("tmutil", &["list*", "latestbackup", "status"]),
    ("git", &["status", "log", "diff", "show", "branch", "rev-parse", "describe", "ls-files"]),
    ("brew", &["list", "info", "search", "--prefix"]),
    ("airport", &["-I", "-s"]),
    ("sysctl", &["-n", "-a", "hw*", "kern*", "machdep*"]),
    ("curl", &["--version"]),
];

/// Whether everything in it only reads.
pub(super) fn only_reads(found: &Analysis) -> bool {
    found.commands.iter().all(reads)
        && found.facts.iter().all(|fact| match fact.kind {
            FactKind::Read | FactKind::List => true,
            FactKind::Write | FactKind::Append => fact.tags.has(Tag::Stream),
            _ => false,
        })
}

fn reads(command: &Invocation) -> bool {
    let program = command.program.as_str();
    if READERS.contains(&program) {
        return true;
    }
    let asked = ASKED.iter().find(|(name, _)| *name == program);
    asked.is_some_and(|(_, words)| {
        command.words.iter().any(|word| {
            words.iter().any(|wanted| match wanted.strip_suffix('*') {
                Some(start) => word.starts_with(start),
                None => word == wanted,
            })
        })
    })
}
