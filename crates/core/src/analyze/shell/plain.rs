//! Source text in languages without a reader here: recognises text that only computes and prints.
//!
//! Every name in it must be one that prints, computes or reports a version, or a variable that it
//! has set itself. Any other name may do anything.

/// The length past which a text is not examined.
const MOST_TEXT: usize = 8 * 1024;

/// Words that print, compute, choose or report a version, in any of the languages.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    // Printing.
    "print", "println", "printf", "printfn", "echo", "puts", "putStrLn", "putStr", "say", "cat", "message", "princ",
    "prin1", "display", "displayln", "newline", "disp", "write-line", "sprintf", "format", "console", "log",
    "IO", "inspect", "Console", "WriteLine", "Write", "System", "out", "writeln", "dump", "var_dump", "print_r",
    "var_export", "show", "join", "concat", "paste", "paste0", "str", "string", "stdout", "flush", "fmt", "Println",
    "Printf", "io",
    // Computing.
    "sqrt", "sin", "cos", "tan", "exp", "abs", "min", "max", "sum", "mean", "median", "var", "sd", "floor", "ceil",
    "ceiling", "round", "pow", "mod", "rem", "div", "length", "len", "strlen", "count", "size", "reverse", "strrev",
    "sort", "range", "seq", "map", "filter", "reduce", "upcase", "downcase", "strtoupper", "strtolower", "toupper",
    "tolower", "str_repeat", "rep", "date", "time", "now", "pi", "PI", "Math", "math", "Enum", "String", "List",
    "Integer", "toString", "to_string", "tostring", "int", "float", "double", "number", "range_inclusive", "md5",
    "sha1", "hash", "random_int", "rand", "number_format", "json_encode", "is", "Sys.time", "head", "tail", "rnorm",
    "runif", "matrix", "c", "fact", "factorial", "gcd", "lcm", "isprime", "factor", "floatval", "intval", "ord",
    "base64_encode", "base64_decode", "gzdeflate", "chr", "dechex", "hexdec", "bin2hex", "uniqid", "microtime", "mt_rand",
    // Choosing and naming.
    "if", "else", "then", "end", "for", "in", "do", "while", "let", "var", "val", "local", "const", "def", "true",
    "false", "True", "False", "TRUE", "FALSE", "nil", "null", "NULL", "None", "and", "or", "not", "return", "fn",
    "each", "foreach", "as", "using", "import", "begin", "exit", "quit", "q", "halt", "init", "stop", "use", "of",
    "t", "expr",
    // Versions.
    "version", "Version", "VERSION", "PHP_VERSION", "phpversion", "PHP_EOL", "PHP_OS", "PHP_INT_MAX", "phpinfo",
    "_VERSION", "jit", "R", "major", "minor", "nickname", "sessionInfo", "packageVersion", "emacs-version",
    "emacs-major-version", "tcl_version", "info", "patchlevel", "lisp-implementation-version", "implementation",
    "otp_release", "system_info", "erlang", "OTP_RELEASE", "scala", "util", "Properties", "versionString",
    "versionNumberString", "libPaths", "extension_loaded", "get_loaded_extensions", "ini_get", "RUBY_VERSION",
    "memory_get_usage", "stdpath", "exists", "has", "executable", "sys_get_temp_dir", "php_sapi_name", "Statistics", "LinearAlgebra", "numeric_version",
];

/// Commands of editors that change the edited text, or the editor.
#[rustfmt::skip]
const EDITING: &[&str] = &[
    "q", "qa", "qall", "quit", "quitall", "w", "wa", "wall", "wq", "wqa", "wqall", "x", "xa", "xall", "set", "setlocal",
    "se", "syntax", "syn", "colorscheme", "colo", "filetype", "ft", "s", "d", "p", "noh", "nohlsearch", "startinsert",
    "sort", "retab", "version", "ver", "help", "h", "PlugInstall", "PlugUpdate", "PlugClean", "PluginInstall",
    "PluginUpdate", "BundleInstall", "PackerSync", "Lazy", "TSUpdate", "TSInstall", "checkhealth", "MasonInstall",
    "UpdateRemotePlugins", "NERDTree", "vsplit", "split", "vsp", "sp", "tabnew", "tabe", "diffthis", "e", "edit", "n",
    "next", "only", "buffer", "b", "bn", "bp", "copen", "TOhtml", "wincmd", "Goyo", "j",
    "undo", "redo", "delmarks", "hi", "highlight", "a", "i", "c", "CocInstall", "GoInstallBinaries",
    "LspInfo", "Gdiff", "DiffviewOpen",
];

/// Functions that read the file they are given.
const READING: &[&str] =
    &["file_get_contents", "readfile", "readLines", "readRDS", "filesize", "file_exists"];

/// Returns the files that a source text reads, when it only reads, computes and prints, or edits
/// the text in an editor.
pub(super) fn only_reads(text: &str) -> Option<Vec<String>> {
    if text.len() > MOST_TEXT {
        return None;
    }
    let mut files = Vec::new();
    if only_computes(text, 0, &mut files) {
        return Some(files);
    }
    let one_word = text.trim().chars().all(|char| char.is_alphanumeric() || char == '_');
    (one_word || only_edits(text)).then(Vec::new)
}

/// A piece of source text.
#[derive(Debug, PartialEq)]
enum Piece<'t> {
    Name(&'t str),
    /// A string, with the expressions inside it.
    Text(&'t str),
    Number,
    Mark(char),
}

fn only_computes(text: &str, depth: usize, files: &mut Vec<String>) -> bool {
    let text = text.trim().strip_prefix("<?php").unwrap_or(text);
    let Some(pieces) = pieces(text) else { return false };
    let mut own: Vec<&str> = Vec::new();
    let mut open = 0_usize;
    for (at, piece) in pieces.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| pieces.get(at));
        let next = pieces.get(at + 1);
        let fine = match piece {
            Piece::Number => true,
            Piece::Text(string) => depth < 4 && string_is_plain(string, depth, files),
            Piece::Mark('(' | '[' | '{') => {
                open += 1;
                true
            }
            Piece::Mark(')' | ']' | '}') => {
                open = open.saturating_sub(1);
                true
            }
            // `!=`, but not `.!` or `run!`.
            Piece::Mark('!') => next == Some(&Piece::Mark('=')),
            Piece::Mark('$') => matches!(next, Some(Piece::Name(_))),
            Piece::Mark('#') => false,
            Piece::Mark(mark) => "+-*/%^,;:.<>=&|?\\".contains(*mark),
            Piece::Name(name) if READING.contains(name) => match pieces.get(at + 1..at + 4) {
                Some([Piece::Mark('('), Piece::Text(path), Piece::Mark(')' | ',')])
                    if !path.contains("://") && !path.contains(['$', '{']) =>
                {
                    files.push((*path).to_owned());
                    true
                }
                _ => false,
            },
            Piece::Name(name) => {
                let set = next == Some(&Piece::Mark('=')) || sets_next(before);
                let called = next == Some(&Piece::Mark('('));
                if set && open == 0 && !called {
                    own.push(name);
                }
                let variable = own.contains(name) || (name.len() == 1 && !set);
                WORDS.contains(name) || (variable && !called)
            }
        };
        if !fine {
            return false;
        }
    }
    true
}

/// Reports whether the next name is a new variable.
fn sets_next(before: Option<&Piece<'_>>) -> bool {
    matches!(
        before,
        Some(Piece::Name("let" | "var" | "val" | "local" | "const" | "for" | "foreach" | "set"))
    )
}

/// Reports whether the expressions inside a string are plain: `#{…}`, `${…}`, `$(…)`, `\(…)`.
fn string_is_plain(string: &str, depth: usize, files: &mut Vec<String>) -> bool {
    let mut rest = string;
    while let Some(at) =
        ["#{", "${", "{$", "$(", "\\(", "["].iter().filter_map(|mark| rest.find(mark)).min()
    {
        let inside = rest.get(at + 1..).unwrap_or_default().trim_start_matches(['{', '(', '$']);
        let end = inside.find(['}', ')', ']']).unwrap_or(inside.len());
        let (code, after) = inside.split_at_checked(end).unwrap_or((inside, ""));
        let bracket = rest.get(at..).is_some_and(|rest| rest.starts_with('['));
        // `[x]` is text in most languages; in Tcl `[exec x]` is a command.
        if bracket
            && !code.trim_start().starts_with("exec")
            && !code.trim_start().starts_with("open")
        {
            rest = inside;
            continue;
        }
        if !only_computes(code, depth + 1, files) {
            return false;
        }
        rest = after;
    }
    true
}

/// Splits a text into pieces; `None` for an unclosed quote or a backtick.
fn pieces(text: &str) -> Option<Vec<Piece<'_>>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let tail = rest.get(char.len_utf8()..).unwrap_or_default();
        rest = match char {
            '"' | '\'' => {
                let (string, after) = quoted(tail, char)?;
                found.push(Piece::Text(string));
                after
            }
            '`' => return None,
            char if char.is_whitespace() => tail,
            char if char.is_alphabetic() || char == '_' => {
                let end = rest
                    .find(|char: char| !(char.is_alphanumeric() || char == '_'))
                    .unwrap_or(rest.len());
                // Names in Lisp may contain a dash.
                let long = rest
                    .find(|char: char| !(char.is_alphanumeric() || "_-".contains(char)))
                    .unwrap_or(rest.len());
                let end = if rest.get(..long).is_some_and(|name| WORDS.contains(&name)) {
                    long
                } else {
                    end
                };
                let (name, after) = rest.split_at_checked(end)?;
                found.push(Piece::Name(name));
                after
            }
            char if char.is_ascii_digit() => {
                let end = rest
                    .find(|char: char| !(char.is_ascii_alphanumeric() || "._".contains(char)))
                    .unwrap_or(rest.len());
                found.push(Piece::Number);
                rest.get(end..).unwrap_or_default()
            }
            char => {
                found.push(Piece::Mark(char));
                tail
            }
        };
    }
    Some(found)
}

fn quoted(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            char if char == mark => {
                return Some((text.get(..at)?, text.get(at + char.len_utf8()..)?));
            }
            _ => {}
        }
    }
    None
}

/// Reports whether a text consists of editing commands of vi and ed, one per line or between bars.
fn only_edits(text: &str) -> bool {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let commands: Vec<&str> =
            if line.contains('/') { vec![line] } else { line.split('|').collect() };
        if !commands.into_iter().all(edits) {
            return false;
        }
        // Text follows these commands, up to a line with only a dot.
        let word =
            line.trim_start_matches(|char: char| char.is_ascii_digit() || ",$.".contains(char));
        if matches!(word, "a" | "i" | "c") {
            lines.by_ref().find(|line| *line == ".");
        }
    }
    true
}

fn edits(command: &str) -> bool {
    let command = command.trim_start_matches(|char: char| {
        char.is_ascii_digit() || char.is_whitespace() || ":%.,$+-'<>".contains(char)
    });
    let end = command.find(|char: char| !char.is_alphanumeric()).unwrap_or(command.len());
    let (word, rest) = command.split_at_checked(end).unwrap_or((command, ""));
    // `q!` and `wq!`, but neither `w !cmd` nor `!cmd`.
    let rest = rest.strip_prefix('!').unwrap_or(rest);
    if rest.contains(['!', '`']) {
        return false;
    }
    match word {
        "" => rest.is_empty(),
        // The replacement may be an expression, which may call a shell.
        "s" => !rest.contains("\\=") && !rest.contains("\\\\="),
        "g" | "v" => rest.rsplit('/').next().is_some_and(|last| matches!(last, "d" | "p" | "")),
        "set" | "se" | "setlocal" => !rest.contains('('),
        "w" | "wq" | "x" | "e" | "edit" => rest.trim().is_empty(),
        word => EDITING.contains(&word) && !rest.contains(['=', '(']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_and_arithmetic_are_plain() {
        for text in [
            "echo 1+1;",
            "echo PHP_VERSION, PHP_EOL;",
            "$x = 3; echo $x * 2;",
            "print(1)",
            "print(\"hello\")",
            "x <- 3; print(x^2)",
            "cat(sum(c(1, 2, 3)), \"\\n\")",
            "IO.puts(\"#{1 + 1}\")",
            "System.out.println(2 * 21)",
            "(print (+ 1 2))",
            "(message \"%s\" emacs-version)",
            "println(sqrt(2))",
            "for i=1,3 do print(i) end",
            "2 3 + p",
            "wq",
            "%s/a/b/g",
            "set number | q!",
            "q",
        ] {
            assert!(only_reads(text).is_some(), "{text}");
        }
    }

    #[test]
    fn anything_else_is_not_plain() {
        for text in [
            "system(\"rm\")",
            "$f = \"sys\".\"tem\"; $f(\"rm -rf ~\");",
            "echo `rm -rf ~`;",
            "print(os.remove(\"x\"))",
            "println(\"$(run(`rm`))\")",
            "IO.puts(\"#{File.rm!(\"x\")}\")",
            "cat(\"x\", file=\"/etc/passwd\")",
            "import sys.process._; \"rm -rf ~\".!",
            "exec rm -rf ~",
            "(delete-file \"x\")",
            "!rm -rf ~",
            "r !rm",
            "w /etc/passwd",
            "call delete(\"x\")",
            "lua os.execute(\"x\")",
            "%!sh",
            "s/x/\\=system(\"id\")/",
            "echo \"unclosed",
        ] {
            assert!(only_reads(text).is_none(), "{text}");
        }
    }
}
