//! Cmdlets and their aliases, and their equivalents in a Unix shell.

use super::read::Word;
use super::unix_path;
use crate::analyze::UNKNOWN;
use crate::fact::FactKind;

/// The effect of a PowerShell command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Only inspects, computes or prints.
    Nothing,
    /// A command that is not read here.
    Unread,
    /// Runs a text, or its input.
    Evaluate(Option<String>),
    /// Changes these files.
    Write(Vec<String>, FactKind),
    /// Equivalent to this command of a Unix shell.
    Line(Vec<String>),
}

/// Cmdlets, with their aliases, and the equivalent program.
#[rustfmt::skip]
const SAME: &[(&[&str], &str)] = &[
    (&["remove-item", "ri", "del", "erase", "rd", "rmdir", "remove-itemproperty"], "rm"),
    (&["get-content", "gc", "type"], "cat"),
    (&["copy-item", "copy", "cpi"], "cp"),
    (&["move-item", "move", "mi", "rename-item", "ren", "rni"], "mv"),
    (&["get-childitem", "gci", "dir"], "ls"),
    (&["set-location", "chdir", "sl", "push-location"], "cd"),
    (&["invoke-webrequest", "iwr", "invoke-restmethod", "irm", "start-bitstransfer"], "curl"),
    (&["stop-process", "spps"], "kill"),
    (&["stop-computer"], "shutdown"),
    (&["restart-computer"], "reboot"),
    (&["new-item", "ni"], "touch"),
    (&["md"], "mkdir"),
    (&["format-volume", "clear-disk", "initialize-disk", "remove-partition"], "mkfs"),
];

/// Cmdlets that write files.
const WRITING: &[&str] = &[
    "set-content",
    "out-file",
    "clear-content",
    "clc",
    "tee-object",
    "export-csv",
    "add-content",
    "ac",
];

/// The first half of cmdlets that only inspect or compute.
#[rustfmt::skip]
const LOOKING: &[&str] = &[
    "get", "select", "where", "foreach", "sort", "measure", "format", "convertto", "convertfrom", "test", "compare",
    "group", "write", "join", "split", "resolve", "show", "find", "out", "new", "import", "read", "pop", "wait", "search",
    "trace", "confirm", "step", "use",
];

/// Cmdlets that do more than their first half suggests.
const NOT_LOOKING: &[&str] = &[
    "new-service",
    "new-localuser",
    "new-psdrive",
    "new-scheduledtask",
    "get-credential",
    "read-host",
    "import-pssession",
    "new-pssession",
    "format-volume",
    "new-itemproperty",
    "import-clixml",
    "out-file",
];

/// Other words that only inspect, choose or name.
#[rustfmt::skip]
const PLAIN: &[&str] = &[
    "?", "%", "where", "foreach", "select", "sort", "measure", "ft", "fl", "gm", "gps", "gsv", "echo", "write", "cls",
    "clear", "if", "else", "elseif", "for", "while", "do", "switch", "function", "param", "return", "exit", "break",
    "continue", "try", "catch", "finally", "throw", "begin", "process", "end", "in", "until", "filter", "pwd", "help",
    "set-variable", "set-strictmode", "start-sleep", "expand-archive", "compress-archive", "install-module",
    "install-packageprovider", "install-package", "update-module", "update-help", "set-psrepository", "set-psdebug",
    "start-transcript", "stop-transcript", "start-job", "receive-job", "remove-job", "remove-variable", "remove-module",
    "clear-host", "set-alias", "invoke-pester", "invoke-build", "invoke-scriptanalyzer", "set-item", "add-member",
    "push-appveyorartifact", "set-appveyorbuildvariable", "update-appveyorbuild", "start-service", "set-date",
    "add-appveyormessage", "start-threadjob", "set-psreadlineoption", "update-typedata", "set-timezone", "using", "h", "history", "tee",
];

/// Methods that only compute.
#[rustfmt::skip]
const METHODS: &[&str] = &[
    "tostring", "trim", "trimstart", "trimend", "split", "replace", "substring", "toupper", "tolower",
    "contains", "startswith", "endswith", "padleft", "padright", "indexof", "round", "floor", "ceiling",
    "abs", "max", "min", "sqrt", "pow", "newguid", "now", "adddays", "join", "format", "gettype", "equals",
    "getenvironmentvariable", "setenvironmentvariable", "getfolderpath", "combine", "getfullpath", "exists",
    "add", "addrange", "matches", "ismatch", "getenumerator", "dispose", "close", "addseconds",
    "downloadfile", "containskey", "toarray", "compareto", "insert", "isnullorempty", "parse",
];

/// Verbs that PowerShell's own cmdlets start with, besides those that only inspect.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "add", "clear", "close", "disable", "enable", "enter", "exit", "export", "install", "invoke", "limit",
    "mount", "dismount", "publish", "push", "register", "remove", "rename", "repair", "reset", "restart",
    "restore", "resume", "revoke", "grant", "save", "send", "set", "start", "stop", "submit", "suspend",
    "sync", "unblock", "undo", "uninstall", "unregister", "update", "new", "import", "read", "get", "format",
    "move", "copy", "block", "connect", "disconnect", "debug", "expand", "compress", "initialize", "optimize",
    "protect", "unprotect", "receive", "request",
];

/// Reports whether this is the name of a cmdlet that is read here.
pub(super) fn is_known(name: &str) -> bool {
    let cmdlet = name.contains('-')
        && (SAME.iter().any(|(names, _)| names.contains(&name)) || WRITING.contains(&name));
    cmdlet
        || matches!(name, "invoke-expression" | "iwr" | "irm" | "invoke-command" | "start-process")
}

/// Reports whether a name has the form of a cmdlet that changes something: `Clear-EventLog`,
/// `Disable-LocalUser`. Programs of Unix are written in small letters.
pub(super) fn acts_by_form(name: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.chars().all(char::is_alphanumeric)
            && word.chars().any(char::is_lowercase)
    };
    name.split_once('-').is_some_and(|(verb, noun)| {
        let lower = verb.to_ascii_lowercase();
        is_word(verb) && is_word(noun) && is_verb(&lower) && !LOOKING.contains(&lower.as_str())
    })
}

/// Reports whether a method only computes.
pub(super) fn is_plain_method(method: &str) -> bool {
    let name = method
        .rsplit(['.', ':'])
        .next()
        .unwrap_or_default()
        .trim_end_matches(UNKNOWN)
        .to_ascii_lowercase();
    METHODS.contains(&name.as_str())
}

/// Returns the effect of a command.
pub(super) fn meaning(name: &str, words: &[Word], before: &[String]) -> Meaning {
    let lower = name.to_ascii_lowercase();
    let lower = lower.rsplit(['\\', '/']).next().unwrap_or(&lower);
    if matches!(lower, "invoke-expression" | "iex") {
        return Meaning::Evaluate(operands(words).first().cloned());
    }
    let scoped = words
        .iter()
        .any(|word| matches!(word.text.to_ascii_lowercase().as_str(), "process" | "currentuser"));
    if lower == "set-executionpolicy" && scoped {
        return Meaning::Nothing;
    }
    if matches!(lower, "start-process" | "saps" | "start") {
        return started(words);
    }
    if WRITING.contains(&lower) {
        let kind =
            if matches!(lower, "add-content" | "ac") { FactKind::Append } else { FactKind::Write };
        return Meaning::Write(
            operands(words).iter().map(|path| unix_path(path)).take(1).collect(),
            kind,
        );
    }
    if let Some((_, program)) = SAME.iter().find(|(names, _)| names.contains(&lower)) {
        return Meaning::Line(translated(program, words, before));
    }
    if PLAIN.contains(&lower) {
        return Meaning::Nothing;
    }
    match lower.split_once('-') {
        Some((verb, _)) if LOOKING.contains(&verb) && !NOT_LOOKING.contains(&lower) => {
            Meaning::Nothing
        }
        Some((verb, noun))
            if verb.chars().all(char::is_alphabetic)
                && noun.chars().all(char::is_alphanumeric)
                && is_verb(verb) =>
        {
            Meaning::Unread
        }
        // A program, or a file.
        _ => {
            let words = words.iter().map(|word| unix_path(&word.text));
            Meaning::Line(std::iter::once(name.to_owned()).chain(words).collect())
        }
    }
}

/// Reports whether a cmdlet may start with this verb.
fn is_verb(verb: &str) -> bool {
    VERBS.contains(&verb)
}

/// Follows `Start-Process name -ArgumentList a, b`.
fn started(words: &[Word]) -> Meaning {
    let elevated = words.iter().any(|word| word.text.eq_ignore_ascii_case("runas"));
    let mut line: Vec<String> = Vec::new();
    line.extend(elevated.then(|| "sudo".to_owned()));
    line.extend(
        operands(words)
            .iter()
            .filter(|word| !word.eq_ignore_ascii_case("runas"))
            .flat_map(|word| word.split(' ').map(str::to_owned).collect::<Vec<_>>()),
    );
    let unknown = line.is_empty() || line.iter().any(|word| word.contains(UNKNOWN));
    if unknown { Meaning::Unread } else { Meaning::Line(line) }
}

/// Returns the words that are not parameters, including the parameters' values.
fn operands(words: &[Word]) -> Vec<String> {
    let plain = words.iter().filter(|word| word.quoted || !word.text.starts_with('-'));
    plain.map(|word| word.text.clone()).collect()
}

/// Returns the equivalent line of a Unix shell.
fn translated(program: &str, words: &[Word], before: &[String]) -> Vec<String> {
    let has = |parameter: &str, least: usize| {
        words.iter().any(|word| {
            let option = word.text.to_ascii_lowercase();
            let option = option.strip_prefix('-').unwrap_or_default();
            let option = option.split(':').next().unwrap_or_default();
            !word.quoted && option.len() >= least && parameter.starts_with(option)
        })
    };
    let mut line = vec![program.to_owned()];
    match program {
        "rm" => {
            let letters = words.iter().any(|word| matches!(word.text.as_str(), "-rf" | "-fr"));
            line.extend((has("recurse", 1) || letters).then(|| "-r".to_owned()));
            line.extend((has("force", 1) || letters).then(|| "-f".to_owned()));
        }
        "kill" => line.extend(has("force", 2).then(|| "-9".to_owned())),
        "cp" => line.extend(has("recurse", 1).then(|| "-r".to_owned())),
        "mkfs" => line.push("/dev/sda".to_owned()),
        "curl" => {
            line.extend(has("outfile", 4).then(|| "-O".to_owned()));
            line.extend((has("body", 2) || has("infile", 3)).then(|| "--data".to_owned()));
        }
        _ => {}
    }
    let paths: Vec<String> = operands(words).iter().map(|word| unix_path(word)).collect();
    if paths.is_empty() && program == "rm" {
        // The result of the previous command.
        line.extend(before.iter().cloned());
        line.extend(before.is_empty().then(|| UNKNOWN.to_string()));
    }
    line.extend(paths);
    line
}
