//! The processes that are measured: ours, and a bare echo.

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::server::client::Client;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A process that ends with its handle.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a process and gives the first line it says.
fn start(command: &mut Command) -> Outcome<(Running, Vec<String>)> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = child.stdout.take().ok_or("no standard output")?;
    let running = Running(child);
    let mut lines = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line?;
        let last = line.contains("answer here") || line.contains("echo");
        lines.push(line);
        if last {
            break;
        }
    }
    Ok((running, lines))
}

fn address(lines: &[String]) -> Outcome<SocketAddr> {
    let first = lines.first().ok_or("it said nothing")?;
    let address = first.rsplit("http://").next().ok_or("it did not say where")?;
    Ok(address.trim().parse()?)
}

/// A bare axum server that reads JSON and gives it back.
pub(super) struct Echo {
    pub(super) address: SocketAddr,
    _running: Running,
}

impl Echo {
    pub(super) fn start() -> Outcome<Self> {
        let (running, lines) = start(Command::new(std::env::current_exe()?).arg("echo"))?;
        Ok(Self { address: address(&lines)?, _running: running })
    }
}

/// Serves the echo until it is ended.
pub(super) async fn echo() -> Outcome<()> {
    let echo = |axum::Json(body): axum::Json<Value>| async move { axum::Json(body) };
    let router = axum::Router::new().route("/api/actions", axum::routing::post(echo));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("echo on http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

/// Our server, with everything durable, in a folder of its own.
pub(super) struct Gate {
    pub(super) address: SocketAddr,
    /// The secret of an agent's key.
    pub(super) key: String,
    /// The secret of the owner's device.
    pub(super) device: String,
    running: Running,
    folder: Folder,
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Limits that would end a measurement are out of its way.
const CONFIGURATION: &str = "gate:
  most_pending: 1000000
  prompts: {uses: 1000000, seconds: 1}
server:
  limits: {live_connections: 20000, connections: 30000}
";

impl Gate {
    pub(super) async fn start(binary: &Path) -> Outcome<Self> {
        let name = format!("countersign-bench-server-{}", std::process::id());
        let folder = Folder(std::env::current_dir()?.join("target").join(name));
        let _ = fs::remove_dir_all(&folder.0);
        fs::create_dir_all(&folder.0)?;
        let configuration = folder.0.join("config.yaml");
        fs::write(&configuration, CONFIGURATION)?;
        let (running, lines) = start(
            Command::new(binary)
                .args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--data"])
                .arg(folder.0.join("data"))
                .env("COUNTERSIGN_CONFIG", &configuration),
        )?;
        let address = address(&lines)?;
        let link = lines.iter().find_map(|line| line.split("link=").nth(1));
        let link = link.ok_or("it printed no link")?;
        let sign_in = Client::new(address, "/api/sign-in", "");
        let body = json!({"link": link, "name": "bench"}).to_string();
        let device = secret(&sign_in.connect().await?.post_for(&body).await?)?;
        let key = new_key(address, &device).await?;
        Ok(Self { address, key, device, running, folder })
    }

    /// The data folder.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.0.join("data")
    }

    /// How many requests it has answered.
    pub(super) async fn requests(&self) -> Outcome<u64> {
        let metrics = Client::get(self.address, "/api/metrics", &self.device);
        let (_, text) = metrics.connect().await?.post_for("").await?;
        let count = |line: &str| {
            let rest = line.strip_prefix("countersign_http_request_seconds_count")?;
            rest.rsplit(' ').next()?.parse::<u64>().ok()
        };
        Ok(text.lines().filter_map(count).sum())
    }

    /// The secret of one more key.
    pub(super) async fn another_key(&self) -> Outcome<String> {
        new_key(self.address, &self.device).await
    }

    /// What it has in memory now.
    pub(super) fn kilobytes(&self) -> Outcome<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.running.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.ok_or("the kernel does not say")?.parse()?)
    }

    pub(super) fn open_files(&self) -> Outcome<usize> {
        Ok(fs::read_dir(format!("/proc/{}/fd", self.running.0.id()))?.count())
    }

    /// Asks so many questions and answers them, one after another.
    pub(super) async fn ask_and_answer(&self, count: usize) -> Outcome<usize> {
        let agent = Client::new(self.address, "/api/actions", &self.key);
        let mut agent = agent.connect().await?;
        for number in 0..count {
            let command = format!("git push --force origin soak-{number}");
            let body = json!({"action": {"kind": "shell", "command": command}}).to_string();
            let (status, answer) = agent.post_for(&body).await?;
            if status != 202 {
                return Err(format!("a question was answered with {status}: {answer}").into());
            }
            let answer: Value = serde_json::from_str(&answer)?;
            let id = answer.get("approval_id").and_then(Value::as_str).unwrap_or_default();
            let path = format!("/api/approvals/{id}/respond");
            let person = Client::new(self.address, &path, &self.device);
            let status = person.connect().await?.post(r#"{"approved":false}"#).await?;
            if status != 200 {
                return Err(format!("an answer was answered with {status}").into());
            }
        }
        Ok(count)
    }
}

async fn new_key(address: SocketAddr, device: &str) -> Outcome<String> {
    let keys = Client::new(address, "/api/keys", device);
    let body = json!({
        "name": "bench",
        "scopes": ["*"],
        "devices": "any",
        "writes": {"uses": 1_000_000, "seconds": 1},
    });
    secret(&keys.connect().await?.post_for(&body.to_string()).await?)
}

fn secret((status, body): &(u16, String)) -> Outcome<String> {
    let value: Value = serde_json::from_str(body)?;
    let secret = value.get("secret").and_then(Value::as_str);
    Ok(secret.ok_or(format!("{status}: {body}"))?.to_owned())
}
