//! No input of an agent makes the core panic, overflow its stack, run for ever or answer with more
//! than it was asked.
//!
//! Every input is judged on a thread with a small stack. No test asserts a time: a runaway is
//! stopped by [`PATIENCE`], and work is bounded by counting the results.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use countersign_core::action::{Field, Language, Surface, UiOp};
use countersign_core::{Action, Context, Verdict};
use proptest::prelude::*;

#[path = "support/invariant.rs"]
mod invariant;

use invariant::judged;

/// The stack size of a thread on the systems with the smallest.
const STACK: usize = 2 * 1024 * 1024;

/// Far beyond the time of any input here on the slowest machine; only an endless loop or a
/// quadratic one at this size reaches it.
const PATIENCE: Duration = Duration::from_mins(4);

const MEGABYTE: usize = 1024 * 1024;

/// The length of the inputs that are tried in every kind of action: `LONG_KILOBYTES`, which `cargo
/// xtask soak` sets to a megabyte.
fn long() -> usize {
    let kilobytes = std::env::var("LONG_KILOBYTES").ok();
    let kilobytes = kilobytes.map_or(Ok(128), |number| number.parse::<usize>());
    assert!(kilobytes.is_ok(), "LONG_KILOBYTES: {kilobytes:?}");
    kilobytes.unwrap_or_default() * 1024
}

/// The opening, the inside and the closing of a nesting.
const NESTINGS: &[(&str, &str, &str)] = &[
    ("(", "ls", ")"),
    ("{ ", "ls", "; }"),
    ("$(", "ls", ")"),
    ("echo $(", "ls", ")"),
    ("echo \"$(", "ls", ")\""),
    ("`", "ls", "`"),
    ("<(", "ls", ")"),
    ("cat <(", "ls", ")"),
    ("${x:-", "y", "}"),
    ("echo ${x:-", "y", "}"),
    ("echo \"${x:-", "y", "}\""),
    ("$((", "1", "))"),
    ("echo $((1+", "1", "))"),
    ("((", "1", "))"),
    ("[[ ", "x", " ]]"),
    ("[[ ( ", "x", " ) ]]"),
    ("if true; then ", "ls", "; fi"),
    ("if ", "ls", "; then :; fi"),
    ("while true; do ", "ls", "; done"),
    ("for x in y; do ", "ls", "; done"),
    ("case x in *) ", "ls", ";; esac"),
    ("f() { ", "ls", "; }"),
    ("! ", "ls", ""),
    ("time ", "ls", ""),
    ("sudo ", "ls", ""),
    ("env ", "ls", ""),
    ("eval ", "ls", ""),
    ("bash -c ", "ls", ""),
    ("bash -c '", "ls", "'"),
    ("bash -c \"", "ls", "\""),
    ("find . -exec ", "ls", " \\;"),
    ("{a,", "b", "}"),
    ("echo {a,", "b", "}"),
    ("true && ", "ls", ""),
    ("ls | ", "ls", ""),
    ("ls; ", "ls", ""),
    ("ls & ", "ls", ""),
    ("'", "x", "'"),
    ("\"", "x", "\""),
    ("$'", "x", "'"),
    ("\\", "x", ""),
    ("cat <<A\n", "x\n", "A\n"),
    ("<", "x", ""),
    (">", "x", ""),
    ("x=(", "y", ")"),
    ("x[", "1", "]=2 "),
    ("#", "x", ""),
    ("!(", "x", ")"),
    ("[", "x", "]"),
    ("[", "1", "]"),
    ("{", "\"a\": 1", "}"),
    ("f(", "x", ")"),
    ("f'", "{x}", "'"),
    ("f\"{", "x", "}\""),
    ("lambda: ", "x", ""),
    ("not ", "x", ""),
    ("-", "1", ""),
    ("/* ", "x", " */"),
    ("`${", "x", "}`"),
    ("#{", "x", "}"),
    ("q(", "x", ")"),
    ("SELECT (", "SELECT 1", ")"),
    ("SELECT * FROM (", "SELECT 1", ") t"),
    ("NOT ", "1", ""),
    ("CASE WHEN ", "1", " THEN 2 END"),
    ("WITH a AS (", "SELECT 1", ") SELECT 1"),
    ("../", "x", ""),
    ("./", "x", ""),
    ("~/", "x", ""),
    ("%2e%2e%2f", "x", ""),
    ("%25", "2e", ""),
    ("(*", "x", "*)"),
    ("tell me\n", "beep", "\nend tell"),
    ("tell app \"A\" to ", "beep", ""),
    ("if x then\n", "beep", "\nend if"),
    ("do shell script ", "\"ls\"", ""),
    ("do shell script (", "\"ls\"", ")"),
    ("run script \"", "beep", "\""),
    ("set x to (", "1", ")"),
    ("quoted form of ", "x", ""),
    ("a's ", "b", ""),
    ("delete (every file of ", "x", ")"),
];

const DEPTH: usize = 10_000;

#[test]
fn deep_nesting_of_every_kind_is_survived_closed_and_open() {
    for (open, inside, close) in NESTINGS {
        let closed = format!("{}{inside}{}", open.repeat(DEPTH), close.repeat(DEPTH));
        survived(closed, open);
        survived(open.repeat(DEPTH), open);
        survived(close.repeat(DEPTH), close);
    }
}

#[test]
fn quoting_quotes_at_every_depth_is_survived() {
    let mut script = "rm -rf /".to_owned();
    // Each layer multiplies the quotes, so stop at the size that is tested anyway.
    while script.len() < MEGABYTE {
        script = format!("bash -c '{}'", script.replace('\'', r"'\''"));
    }
    let verdict = judge_all(script, "quotes in quotes");
    assert!(verdict >= Verdict::Confirm, "beyond every bound, yet {verdict:?}");
}

/// Pieces that are repeated to a long text.
const FILLINGS: &[&str] = &[
    "a",
    " ",
    "\n",
    "\t",
    "\r",
    ";",
    "&",
    "|",
    "'",
    "\"",
    "`",
    "$",
    "\\",
    "#",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "*",
    "?",
    "~",
    "=",
    "/",
    ".",
    "-",
    "!",
    "%",
    ":",
    ",",
    "\u{0}",
    "\u{1}",
    "\u{7f}",
    "é",
    "\u{E000}",
    "\u{202e}",
    "\u{feff}",
    "𝒳",
    "a ",
    "a\n",
    "a;",
    "a=b ",
    "-a ",
    "$a ",
    "$a",
    "\"$a\" ",
    "${a}",
    "'a' ",
    "a\\\n",
    "/a",
    "../",
    "a|",
    "a&&",
    "a||",
    "ls\n",
    "rm -rf x\n",
    "cat <<E\n",
    "cat <<E\nx\nE\n",
    "x=$x$x\n",
    "x=(a b)\n",
    "f() { f; }\n",
    "{a,b}",
    "{a,b} ",
    "{1..9}",
    "{1..999999} ",
    "[a-z]",
    "**/",
    "$((1+",
    "1+",
    "<<<x ",
    ">x ",
    "2>&1 ",
    "$(a) ",
    "`a` ",
    "$'\\x41' ",
    "#x\n",
    "\"\"\"",
    "'''",
    "f'{x}' ",
    "import os\n",
    "os.system('ls')\n",
    "x = x + x\n",
    "eval(",
    "system(\"ls\");",
    "SELECT 1;",
    "SELECT 1 UNION ",
    "-- x\n",
    "/* x */",
    "DROP TABLE t;\n",
    "a AND ",
    "('a'),",
    "%2e",
    "%252e",
    "\\..",
    "AKIA",
    "4111 ",
    "4111111111111111",
    "DE89370400440532013000 ",
    "a@b.co ",
    "-----BEGIN ",
    "password=",
    "eyJ",
    "0x",
    "(*",
    "*)",
    "¬",
    "¬\n",
    "«",
    "»",
    "tell ",
    "tell to ",
    "tell me\n",
    "end\n",
    "& ",
    "\"a\" & ",
    "set x to x & x\n",
    "set x to x & \"a\"\n",
    "if a then\nset x to \"b\" & x\nelse\n",
    "repeat\nset x to x\n",
    "on f(x)\n",
    "do shell script \"ls\"\n",
    "do shell script x\n",
    "do shell script ",
    "to delete every file ",
    "run script \"beep\"\n",
    "x's removeItemAtPath:y ",
    "var x = x + 'a';",
    "$.NSTask ",
    "a.doShellScript(",
];

#[test]
fn a_long_text_of_anything_is_survived() {
    for filling in FILLINGS {
        survived(filling.repeat(long() / filling.len()), filling);
    }
}

#[test]
fn a_megabyte_is_survived() {
    for filling in ["a", "\n", "(", "$a ", "rm -rf x\n"] {
        survived(filling.repeat(MEGABYTE / filling.len()), filling);
    }
}

/// The most source text that is read.
const SOURCE: usize = 512 * 1024;

/// Text that might make a parser read everything behind each of its pieces again.
const HOSTILE_CODE: &[(Language, &str, &str)] = &[
    (Language::Python, "", "'"),
    (Language::Python, "", "("),
    (Language::Python, "", "f\"{"),
    (Language::Python, "", ".x"),
    (Language::Python, "", "x="),
    (Language::Python, "", "{a:b,"),
    (Language::Python, "", "lambda x="),
    (Language::Python, "", "case x:"),
    (Language::Python, "", "while 1:"),
    (Language::Python, "", "class A: x\n"),
    (Language::Python, "", "from x import *\n"),
    (Language::Python, "", "def f(g): g(g)\nf(f)\n"),
    (Language::Python, "x = 'a'\n", "x = x + x\n"),
    (Language::Python, "x = []\n", "x.append(x)\n"),
    (Language::Python, "import os\n", "os.system('ls')\n"),
    (Language::Javascript, "", "`${"),
    (Language::Javascript, "", "=/["),
    (Language::Javascript, "", "x=>"),
    (Language::Javascript, "", "let x:y\n"),
    (Language::Javascript, "", "type x=y\n"),
    (Language::Javascript, "", "for(;;){"),
    (Language::Javascript, "", "{...{"),
    (Language::Javascript, "", "this.x="),
    (Language::Perl, "", "$"),
    (Language::Perl, "", "$x "),
    (Language::Perl, "", "$#"),
    (Language::Perl, "", "q("),
    (Language::Perl, "", "x,"),
    (Language::Perl, "", "<<A"),
    (Language::Perl, "", "\"@{["),
    (Language::Perl, "", "\"$$"),
    (Language::Perl, "", "while(1){"),
    (Language::Perl, "", "sub f{f();f()}"),
    (Language::Ruby, "", "\"#{"),
    (Language::Ruby, "", "a,b="),
    (Language::Ruby, "", "x do "),
    (Language::Ruby, "", "x{|y|"),
    (Language::Ruby, "", "<<A\n"),
    (Language::Ruby, "", "class A<B\n"),
    (Language::Ruby, "", "if x\n"),
];

#[test]
fn as_much_hostile_code_as_is_read_is_survived() {
    for (language, before, filling) in HOSTILE_CODE {
        let filling = filling.repeat((SOURCE - before.len()) / filling.len());
        code_is_survived(*language, format!("{before}{filling}"));
    }
}

/// Lines that each define a new name.
const NUMBERED_LINES: &[(Language, &str, &str)] = &[
    (Language::Python, "if y:\n", " x# = 1\n x# = 2\n"),
    (Language::Python, "", "def f#(): pass\n"),
    (Language::Python, "", "class C#(B#): pass\n"),
    (Language::Python, "", "from m# import *\nf()\n"),
    (Language::Python, "", "def f():\n global x#\n x# = 1\n"),
    (Language::Python, "", "open('f#', 'w')\n"),
    (Language::Python, "", "x['k#'] = x\nx['k']\n"),
    (Language::Python, "", "self.x = '#'\n"),
    (Language::Javascript, "", "x.y# = x; f(x.y#);"),
    (Language::Javascript, "x = {", "k#: 1, [x.k#]: 2,"),
    (Language::Perl, "", "my $x# = $x . '#'; system($x#);"),
    (Language::Ruby, "", "x# = 1 if x#\n"),
];

#[test]
fn code_full_of_different_names_is_survived() {
    for (language, before, line) in NUMBERED_LINES {
        let lines = 0..SOURCE / (line.len() + 12);
        let lines = lines.map(|number| line.replace('#', &number.to_string()));
        code_is_survived(*language, before.chars().map(String::from).chain(lines).collect());
    }
}

#[test]
fn code_that_runs_itself_again_and_again_is_bounded() {
    let evals = (0..6).fold("x = 1\n".to_owned(), |inner, _| {
        format!("x = {inner:?} * 40\nfor y in [1, 2]:\n eval(x)\neval(x)\neval(x)\n")
    });
    let calls = (0..64).fold("def f0(): pass\n".to_owned(), |script, at| {
        format!("{script}def f{}():\n f{at}()\n f{at}()\n", at + 1)
    }) + "f64()";
    let choices = "x = x + 'a' if y else x + 'b'\n".repeat(1_000);
    let fields = format!("x = '{}' % ({})", "%s".repeat(50_000), "'a',".repeat(50_000));
    let places = format!("x = '{}'.format({})", "{}".repeat(50_000), "'a',".repeat(50_000));
    let trimmed = format!("x = '{}'.strip('{}')", "a".repeat(250_000), "b".repeat(250_000));
    for source in [evals, calls, choices, fields, places, trimmed] {
        code_is_survived(Language::Python, source);
    }
}

fn code_is_survived(language: Language, source: String) {
    let name = source.chars().take(40).collect::<String>();
    judge_on_thread(move || vec![Action::Code { language, source, dialect: None }], &name);
}

#[test]
fn very_many_tokens_are_survived() {
    for token in ["x ", "-x ", "'x' ", "$x ", "x;", "x|", "x&&", "x=y ", ">x ", "{a,b} ", "(x)\n"] {
        survived(format!("echo {}", token.repeat(long() / 10)), token);
        survived(format!("rm -rf {}", token.repeat(long() / 10)), token);
    }
}

#[test]
fn expansions_that_multiply_are_bounded() {
    let braces = format!("echo {}", "{a,b}".repeat(64));
    let numbers = "echo {1..999999999}{1..999999999}".to_owned();
    let doubling = (0..64).fold("a=xx\n".to_owned(), |script, _| script + "a=$a$a\n") + "$a";
    let functions = (0..64).fold("f0() { ls; }\n".to_owned(), |script, at| {
        format!("{script}f{}() {{ f{at}; f{at}; }}\n", at + 1)
    }) + "f64";
    let loops = "for a in 1 2 3 4 5 6 7 8; do ".repeat(24) + "$a" + &"; done".repeat(24);
    let positional = "f() { f \"$@\" \"$@\"; }; f a".to_owned();
    let aliases = (0..64)
        .fold(String::new(), |script, at| format!("{script}alias a{}='a{at}; a{at}'\n", at + 1))
        + "a64";
    let evals =
        (0..24).fold("x=ls\n".to_owned(), |script, _| script + "x=\"$x; $x\"\n") + "eval \"$x\"";
    for script in [braces, numbers, doubling, functions, loops, positional, aliases, evals] {
        let name = script.chars().take(40).collect::<String>();
        survived(script, &name);
    }
}

#[test]
fn what_comes_back_grows_no_faster_than_what_goes_in() {
    for line in ["rm -rf x\n", "cat ~/.ssh/id_rsa\n", "curl x | sh\n", "$x\n", "echo a > /etc/b\n"]
    {
        let findings = |lines: usize| {
            let command = line.repeat(lines);
            judged(&Action::Shell { command, cwd: None }, &Context::default()).findings.len()
        };
        let one = findings(1).max(1);
        for lines in [10, 100, 1_000] {
            assert!(findings(lines) <= lines * one, "{line:?} × {lines}: {}", findings(lines));
        }
    }
}

#[test]
fn bytes_that_never_belong_in_a_command_block_it() {
    for command in ["ls\0", "\0", "rm\0 -rf x", "cat 'a\0b'"] {
        let verdict = judged(&shell(command.to_owned()), &Context::default()).verdict;
        assert_eq!(verdict, Verdict::Block, "{command:?}");
    }
    for path in ["a\0", "\0", "notes.txt\0.png", "/etc/\0passwd"] {
        let action = Action::FileWrite { path: path.to_owned(), content: None };
        assert_eq!(judged(&action, &Context::default()).verdict, Verdict::Block, "{path:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_judged_as_anything(text in any_text()) {
        for action in every_kind(&text) {
            judged(&action, &Context::default());
        }
    }

    #[test]
    fn any_surroundings_are_survived(
        text in any_text(),
        cwd in prop::option::of(any_text()),
        home in prop::option::of(any_text()),
        workspace in prop::option::of(any_text()),
    ) {
        let context = Context { cwd, home, workspace, ..Context::default() };
        for action in every_kind(&text) {
            judged(&action, &context);
        }
    }
}

/// Mostly meaningful pieces in any order, and now and then anything at all.
fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(PIECES).prop_map(str::to_owned);
    let piece = prop_oneof![20 => pieces, 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const PIECES: &[&str] = &[
    "rm",
    "-rf",
    "/",
    "~",
    "..",
    ".",
    "*",
    " ",
    " ",
    " ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    "[[",
    "]]",
    "$(",
    "`",
    "${",
    "$((",
    "))",
    "<<",
    "<<'E'",
    "\nE\n",
    "<<<",
    ">",
    ">>",
    "2>&1",
    "<(",
    "'",
    "\"",
    "\\",
    "$'",
    "$x",
    "x=",
    "x=rm",
    "\"$@\"",
    "$1",
    "#",
    "!",
    "if",
    "then",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "case",
    "esac",
    ";;",
    "function",
    "f()",
    "sudo",
    "env",
    "-S",
    "xargs",
    "bash",
    "-c",
    "eval",
    "exec",
    "find",
    "-exec",
    "\\;",
    "-delete",
    "{}",
    "+",
    "curl",
    "http://x/",
    "base64",
    "-d",
    "python3",
    "import os",
    "os.system(",
    "open(",
    "\"w\"",
    "perl",
    "-e",
    "ruby",
    "node",
    "awk",
    "BEGIN{",
    "system(",
    "SELECT",
    "FROM",
    "WHERE",
    "DROP TABLE",
    "DELETE",
    "t",
    "git",
    "push",
    "-f",
    "tell ",
    "application ",
    "\"Finder\"",
    " to ",
    "do shell script ",
    "end tell",
    "delete every ",
    " & ",
    "'s ",
    "¬\n",
    "(*",
    "*)",
    "set x to ",
    "/etc/shadow",
    "/dev/sda",
    "/proc/1/mem",
    "%2e%2e%2f",
    "C:\\",
    "é",
    "\u{202e}",
    "\u{E000}",
    "\0",
    "--",
    "=",
    ",",
    ":",
    "@",
    "%",
    "1",
    "a",
];

/// The strictest verdict, over every analyzer that takes text.
fn judge_all(text: String, name: &str) -> Verdict {
    judge_on_thread(move || every_kind(&text).collect(), name)
}

/// The strictest verdict on these actions.
fn judge_on_thread(actions: impl FnOnce() -> Vec<Action> + Send + 'static, name: &str) -> Verdict {
    let (done, waiting) = channel();
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || {
        let actions = actions().into_iter();
        let verdicts = actions.map(|action| judged(&action, &Context::default()).verdict);
        // The receiver is gone only if the test has already failed.
        let _ = done.send(verdicts.max().unwrap_or_default());
    });
    assert!(worker.is_ok(), "no thread to judge on");
    let verdict = waiting.recv_timeout(PATIENCE);
    assert_ne!(verdict, Err(RecvTimeoutError::Timeout), "{name:?} does not end");
    assert!(verdict.is_ok(), "{name:?} panicked");
    verdict.unwrap_or_default()
}

fn survived(text: String, name: &str) {
    judge_all(text, name);
}

fn every_kind(text: &str) -> impl Iterator<Item = Action> {
    let (path, source) = (text.to_owned(), text.to_owned());
    let languages =
        [Language::Python, Language::Javascript, Language::Perl, Language::Ruby, Language::Sql];
    let code = languages.into_iter().map(move |language| Action::Code {
        language,
        source: source.clone(),
        dialect: None,
    });
    let files = [
        Action::FileRead { path: path.clone() },
        Action::FileWrite { path: path.clone(), content: Some(path.clone()) },
        Action::FileDelete { path: path.clone() },
        Action::FileList { path: path.clone() },
    ];
    let applescript = Action::Applescript { script: text.to_owned() };
    [shell(text.to_owned()), applescript].into_iter().chain(code).chain(files).chain(others(text))
}

/// Pages, clicks, skills, tools and names, with the text wherever they take one.
fn others(text: &str) -> [Action; 6] {
    let own = || text.to_owned();
    let arguments =
        ["url", "host", "path", "query", "title"].map(|name| (name.to_owned(), text.into()));
    let click = |op| Action::Ui {
        surface: Surface::Browser,
        op,
        label: Some(own()),
        field: Some(Box::new(Field { name: Some(own()), nearby: Some(own()), ..Field::default() })),
        text: Some(own()),
        url: Some(own()),
        reference: None,
    };
    [
        Action::Navigate { url: own() },
        click(UiOp::Click),
        click(UiOp::Type),
        Action::Skill { skill: own(), params: [(own(), text.into())].into() },
        Action::Tool {
            server: own(),
            tool: own(),
            description: Some(own()),
            arguments: arguments.into(),
            annotations: None,
            schema: Some(text.into()),
        },
        Action::Named { name: own(), params: [(own(), text.into())].into() },
    ]
}

fn shell(command: String) -> Action {
    Action::Shell { command, cwd: None }
}
