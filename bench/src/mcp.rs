//! One call of a tool and its answer: straight to a server, with a relay in between that only
//! copies bytes, and with the proxy in between.
//!
//! The server does nothing but answer, so the difference is what stands between: two more pipes,
//! and with the proxy also reading and judging what goes one way, reading what comes back, writing
//! both anew.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::sample::Times;

mod echo;
mod relay;

pub(crate) use echo::{echo, echo_http};
pub(crate) use relay::relay;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How many calls each makes before it is another's turn: a client has one connection or the other,
/// and a system that has got used to one goes on differently than one that changes all the time.
const CALLS: usize = 250;
const TURNS: usize = 40;
/// Turns that are not counted.
const WARM_UP: usize = 2;
/// Where a call has its number.
const ID: &str = r#""id":0"#;

/// The table.
pub(crate) fn table(binary: &Path) -> Outcome<String> {
    let mut table = String::from(
        "| one call of a tool | direct p50 µs | p99 | through a relay that only copies p50 µs | p99 \
         | through the proxy p50 µs | p99 | more than direct p50 µs | goal |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let own = std::env::current_exe()?;
    let folder = Folder::new()?;
    let proxy = |words: &[&Path]| {
        let mut command = Command::new(binary);
        command.env_clear().env("HOME", &folder.0).args(["mcp", "proxy", "--name", "bench"]);
        Pipe::start(command.args(words))
    };
    for (name, goal, call) in [
        ("a small one", "< 100", call(Era::Legacy, 0)),
        ("a small one, 2026-07-28", "< 100", call(Era::Modern, 0)),
        ("10 KB there and back", "", call(Era::Legacy, 10_000)),
    ] {
        let direct = Way::by(Pipe::start(Command::new(&own).arg("mcp-echo"))?);
        let relay = Pipe::start(Command::new(&own).arg("mcp-relay").arg(&own).arg("mcp-echo"))?;
        let through = Way::by(proxy(&["--".as_ref(), &own, "mcp-echo".as_ref()])?);
        let ways = Ways { direct, relay: Some(Way::by(relay)), through };
        table += &row(name, goal, &call, ways)?;
    }
    let server = Http::start(&own)?;
    let url = format!("http://{}/mcp", server.address);
    let through = Way::by(proxy(&["--http".as_ref(), url.as_ref()])?);
    let ways = Ways { direct: Way::by(server.connect()?), relay: None, through };
    table += &row("a small one, to a server over HTTP", "", &call(Era::Modern, 0), ways)?;
    Ok(table)
}

/// Something that answers.
trait Line {
    fn ask(&mut self, message: &str) -> Outcome<String>;
}

/// All ways to a server.
struct Ways {
    direct: Way,
    relay: Option<Way>,
    through: Way,
}

/// A way to a server, and how long calls took by it.
struct Way {
    line: Box<dyn Line>,
    times: Times,
}

impl Way {
    fn by(line: impl Line + 'static) -> Self {
        Self { line: Box::new(line), times: Times::default() }
    }

    /// Makes each of these calls, and gives the answers.
    fn ask(&mut self, calls: &[String]) -> Outcome<Vec<String>> {
        calls.iter().map(|call| self.times.add(|| self.line.ask(call))).collect()
    }

    fn columns(&self) -> String {
        format!("{:.0} | {:.0}", self.times.median(), self.times.percentile(99))
    }
}

/// All in turns, so that a busy machine slows them alike.
fn row(name: &str, goal: &str, call: &str, ways: Ways) -> Outcome<String> {
    let Ways { mut direct, mut relay, mut through } = ways;
    for turn in 0..WARM_UP + TURNS {
        if turn == WARM_UP {
            let ways = [&mut direct, &mut through].into_iter().chain(&mut relay);
            ways.for_each(|way| way.times = Times::default());
        }
        // No two requests of a session have one id.
        let numbers = turn * CALLS..(turn + 1) * CALLS;
        let calls: Vec<_> =
            numbers.map(|number| call.replacen(ID, &format!(r#""id":{number}"#), 1)).collect();
        let answers = direct.ask(&calls)?;
        for way in [&mut through].into_iter().chain(&mut relay) {
            let others = way.ask(&calls)?;
            if let Some((_, other)) =
                answers.iter().zip(&others).find(|(one, other)| !same(one, other))
            {
                return Err(format!("the answer was changed: {other}").into());
            }
        }
    }
    Ok(format!(
        "| {name} | {} | {} | {} | {:.0} | {goal} |\n",
        direct.columns(),
        relay.map_or_else(|| "| ".to_owned(), |relay| relay.columns()),
        through.columns(),
        through.times.median() - direct.times.median(),
    ))
}

fn same(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || (read(one).is_some() && read(one) == read(other))
}

#[derive(Debug, Clone, Copy)]
enum Era {
    Legacy,
    Modern,
}

/// A call with so many bytes in it.
fn call(era: Era, bytes: usize) -> String {
    let meta = match era {
        Era::Legacy => json!({}),
        Era::Modern => json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }),
    };
    let arguments = json!({"city": "Kyoto", "words": "word ".repeat(bytes / 5)});
    let params = json!({"name": "get_echo", "arguments": arguments, "_meta": meta});
    json!({"id": 0, "jsonrpc": "2.0", "method": "tools/call", "params": params}).to_string()
}

/// A process that is talked to by lines.
struct Pipe {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Pipe {
    fn start(command: &mut Command) -> Outcome<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = child.stdin.take().ok_or("no standard input")?;
        let from = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Self { child, to, from })
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Line for Pipe {
    fn ask(&mut self, message: &str) -> Outcome<String> {
        // At once: two writes would be two wake-ups.
        self.to.write_all(format!("{message}\n").as_bytes())?;
        let mut answer = String::new();
        if self.from.read_line(&mut answer)? == 0 {
            return Err("it has ended".into());
        }
        Ok(answer.trim_end().to_owned())
    }
}

/// A server over HTTP, and a connection to it.
struct Http {
    child: Child,
    address: SocketAddr,
}

struct Connection {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Http {
    fn start(own: &Path) -> Outcome<Self> {
        let mut child = Command::new(own).arg("mcp-echo-http").stdout(Stdio::piped()).spawn()?;
        let mut said = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut said)?;
        Ok(Self { child, address: said.trim().parse()? })
    }

    fn connect(&self) -> Outcome<Connection> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream: BufReader::new(stream), address: self.address })
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Line for Connection {
    fn ask(&mut self, message: &str) -> Outcome<String> {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{message}",
            self.address,
            message.len()
        );
        self.stream.get_mut().write_all(head.as_bytes())?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(String::from_utf8(body)?)
    }
}

/// A home for the proxy, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Outcome<Self> {
        let folder =
            std::env::temp_dir().join(format!("countersign-bench-mcp-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
