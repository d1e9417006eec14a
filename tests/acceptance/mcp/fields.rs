//! No field is lost: any JSON that goes through comes out as it went in, token by token.
//!
//! The server behind the proxy is a line editor. It turns parameters into a result without parsing
//! them, so it cannot lose anything, and any missing field was lost by us.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::server::Setup;

/// A sed script whose responses return the parameters: as a result, as the data of an error, or as
/// a notification. It expects messages as we write them: a field that we moved would be noticed.
const ECHO: &str = r#"
s/^{"jsonrpc":"2.0","method":"example\/tell",/{"jsonrpc":"2.0","method":"example\/told",/
t
s/^\({"jsonrpc":"2.0","id":[^,]*,\)"method":"tools\/list".*/\1"result":{"tools":[{"name":"get_echo","inputSchema":{"type":"object"}}]}}/
t
s/^\({"jsonrpc":"2.0","id":[^,]*,\)"method":"example\/fail","params":\(.*\)}$/\1"error":{"code":-7,"message":"no","data":\2}}/
t
s/^\({"jsonrpc":"2.0","id":[^,]*,\)"method":"[^"]*","params":/\1"result":/
"#;

/// A client with the proxy and such a server behind it.
struct Echo {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    _setup: Setup,
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Echo {
    fn start() -> Self {
        let setup = Setup::new();
        let mut command = setup.command();
        // Bytes, whether or not they are valid text.
        command.env("LC_ALL", "C");
        command.args(["mcp", "proxy", "--name", "echo", "--", "sed", "-u", "-e", ECHO]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let to = child.stdin.take().expect("an input");
        let from = BufReader::new(child.stdout.take().expect("an output"));
        Self { child, to, from, _setup: setup }
    }

    /// Sends a line, and returns the one that comes back.
    fn ask(&mut self, line: &str) -> String {
        writeln!(self.to, "{line}").expect("it reads");
        let mut answer = String::new();
        self.from.read_line(&mut answer).expect("it answers");
        answer.trim_end_matches('\n').to_owned()
    }
}

/// A token of JSON. Numbers are compared by their spelling.
#[derive(Debug, PartialEq)]
enum Token {
    Sign(char),
    Word(String),
    Text(String),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => {
                let mut stream = serde_json::Deserializer::from_str(rest).into_iter();
                tokens.push(Token::Text(stream.next().expect("a text").expect("a text")));
                stream.byte_offset()
            }
            '{' | '}' | '[' | ']' | ':' | ',' => {
                tokens.push(Token::Sign(first));
                1
            }
            _ => {
                let end = rest.find(['}', ']', ',']).unwrap_or(rest.len());
                tokens.push(Token::Word(rest.split_at(end).0.to_owned()));
                end
            }
        };
        rest = rest.split_at(length).1;
    }
    tokens
}

/// Strings as they are written in JSON, in several spellings.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{0,3}".prop_map(|text| format!("\"{text}\"")),
        4 => any::<String>().prop_map(|text| serde_json::to_string(&text).expect("JSON")),
        1 => Just(r#""\ud83e\udd80 \u00e9 \/ \b\f""#.to_owned()),
        1 => Just("\"\u{202e}\u{200b}\u{feff}\u{10ffff}\"".to_owned()),
        1 => Just(r#""\u0000\u001f\u007f\u2028""#.to_owned()),
    ]
}

/// Numbers that most programs would write differently, or round.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-0.0",
    "1",
    "1.0",
    "1.00",
    "1e0",
    "1E+2",
    "1e-7",
    "0.10",
    "1e400",
    "-1e-400",
    "123456789012345678901234567890",
    "18446744073709551616",
    "-9223372036854775809",
    "9007199254740993",
    "3.141592653589793238462643383279",
];

fn numbers() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(NUMBERS).prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        (-1e18..1e18_f64).prop_map(|number| format!("{number:?}")),
    ]
}

fn object_of(fields: Vec<(String, String)>) -> String {
    let mut seen = Vec::new();
    let mut written = Vec::new();
    for (name, value) in fields {
        let read: String = serde_json::from_str(&name).expect("a text");
        // A duplicate name is refused, which another test covers.
        if !seen.contains(&read) {
            written.push(format!("{name}:{value}"));
            seen.push(read);
        }
    }
    format!("{{{}}}", written.join(","))
}

const WORDS: &[&str] = &["null", "true", "false", "[]", "{}"];

fn values(
    texts: impl Strategy<Value = String> + Clone + 'static,
    deepest: usize,
) -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        numbers(),
        texts.clone(),
        proptest::sample::select(WORDS).prop_map(str::to_owned),
    ];
    let nested = leaf.prop_recursive(8, 48, 5, move |inner| {
        let fields = prop::collection::vec((texts.clone(), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            fields.prop_map(object_of),
        ]
    });
    // Deeper than any value that is generated at random.
    (nested, 0..deepest, any::<bool>())
        .prop_map(|(inner, deep, is_list)| {
            let (open, close) = if is_list { ("[", "]") } else { ("{\"\":", "}") };
            format!("{}{inner}{}", open.repeat(deep), close.repeat(deep))
        })
        .boxed()
}

fn objects(
    texts: impl Strategy<Value = String> + Clone + 'static,
    deepest: usize,
) -> BoxedStrategy<String> {
    let fields = (texts.clone(), values(texts, deepest));
    prop::collection::vec(fields, 0..5).prop_map(object_of).boxed()
}

/// Strings without findings, because arguments are judged.
fn plain() -> BoxedStrategy<String> {
    "[a-e]{0,3}".prop_map(|text| format!("\"{text}\"")).boxed()
}

/// One message, and the expected response.
fn exchanges() -> impl Strategy<Value = (String, String)> {
    let params = objects(texts().boxed(), 80);
    let asked = params.clone().prop_map(|params| {
        let ask =
            |method: &str| message(&format!(r#""id":7,"method":"{method}","params":{params}"#));
        (ask("example/echo"), message(&format!(r#""id":7,"result":{params}"#)))
    });
    let failed = params.clone().prop_map(|params| {
        let error = format!(r#"{{"code":-7,"message":"no","data":{params}}}"#);
        let ask = message(&format!(r#""id":"a","method":"example/fail","params":{params}"#));
        (ask, message(&format!(r#""id":"a","error":{error}"#)))
    });
    let told = params.clone().prop_map(|params| {
        let tell = |method: &str| message(&format!(r#""method":"{method}","params":{params}"#));
        (tell("example/tell"), tell("example/told"))
    });
    let called = (objects(plain(), 30), params).prop_map(|(arguments, meta)| {
        let params = format!(
            r#"{{"name":"get_echo","arguments":{arguments},"_meta":{meta},"more":{meta}}}"#
        );
        let ask =
            message(&format!(r#""id":7,"method":"tools/call","params":{params},"extra":{meta}"#));
        (ask, message(&format!(r#""id":7,"result":{params},"extra":{meta}"#)))
    });
    prop_oneof![asked, failed, told, called]
}

fn message(rest: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0",{rest}}}"#)
}

#[test]
fn no_field_is_lost_moved_or_rounded() {
    let echo = RefCell::new(Echo::start());
    let mut runner =
        TestRunner::new(Config { cases: 256, failure_persistence: None, ..Config::default() });
    let ran = runner.run(&exchanges(), |(asked, expected)| {
        let answer = echo.borrow_mut().ask(&asked);
        prop_assert_eq!(tokens(&answer), tokens(&expected), "{}", answer);
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_name_that_stands_twice_goes_nowhere() {
    let mut echo = Echo::start();
    let twice = message(r#""id":7,"method":"example/echo","params":{"a":1,"\u0061":2}"#);
    let answer = echo.ask(&twice);
    assert!(answer.contains("-32700"), "{answer}");
    // And the next message is read.
    let answer = echo.ask(&message(r#""id":8,"method":"example/echo","params":{"a":1}"#));
    assert_eq!(answer, message(r#""id":8,"result":{"a":1}"#));
}
