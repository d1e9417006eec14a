//! Requests from schemathesis to the server: everything that its OpenAPI document allows, and much
//! that it does not. Once with an agent's key, once as the owner, and at last the requests that
//! would end the other runs.
//!
//! No request may make it respond with a 5xx, violate its document, or crash.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Result;
use crate::process::{PROFILE, cargo, run as run_command, target};

/// The name of this part.
pub(super) const NAME: &str = "api";
pub(super) const SECONDS: &str = "SOAK_SECONDS";
pub(super) const SEED: &str = "SOAK_SEED";

/// A configuration without effective limits, so that the code behind them is reached.
const CONFIG: &str = "\
gate:
  most_pending: 1000000
  prompts: {uses: 1000000, seconds: 1}
";

/// Operations that would sign the device out or stop everything; tried last, from another device.
const ENDS: &[&str] = &["sign_out", "revoke_device", "disable_user", "halt"];

/// An operation that never ends by itself.
const ENDLESS: &str = "events";

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance";

/// Sends requests for this many seconds.
///
/// # Errors
/// Something cannot be started, or something was found: schemathesis has printed how to repeat it.
pub(super) fn run(seconds: u64, seed: Option<u64>) -> Result {
    run_command(&mut cargo(&["build", "--profile", PROFILE, "--package", "countersign"]))?;
    let schemathesis = schemathesis()?;
    let folder = target().join("soak-api");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut server = Server::start(&folder)?;
    let found = server.ask_everything(&schemathesis, seconds, seed);
    server.report()?;
    found?;
    drop(server);
    Ok(fs::remove_dir_all(&folder)?)
}

/// Returns the program, installed from `PyPI` if it is missing.
fn schemathesis() -> Result<PathBuf> {
    let folder = target().join("schemathesis");
    let program = folder.join("bin/schemathesis");
    if !program.is_file() {
        println!("installing schemathesis");
        run_command(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run_command(Command::new(folder.join("bin/pip")).args(["install", "-q", "schemathesis"]))?;
    }
    Ok(program)
}

/// A server on a temporary folder.
struct Server {
    child: Child,
    folder: PathBuf,
    address: String,
    link: String,
    /// Its metrics, when they could last be read.
    metrics: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(folder: &Path) -> Result<Self> {
        let config = folder.join(".config/countersign");
        fs::create_dir_all(&config)?;
        fs::write(config.join("config.yaml"), CONFIG)?;
        let mut child = Command::new(target().join(PROFILE).join("countersign"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.join("data"))
            // Nothing of the environment of the person who runs this has an influence.
            .env_clear()
            .env("HOME", folder)
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("log"))?)
            .spawn()?;
        let out = child.stdout.take().ok_or("the server has no output")?;
        let (mut address, mut link) = (None, None);
        for said in BufReader::new(out).lines() {
            let said = said?;
            if let Some(found) = said.strip_prefix("countersign listens on http://") {
                address = Some(found.to_owned());
            } else if let Some((_, found)) = said.split_once("/sign-in?link=") {
                link = Some(found.to_owned());
            } else if said.starts_with("answer here") {
                break;
            }
        }
        let folder = folder.to_owned();
        let none = String::new;
        let mut server = Self { child, folder, address: none(), link: none(), metrics: none() };
        server.address = address.ok_or("the server did not start")?;
        server.link = link.ok_or("the server gave no link")?;
        Ok(server)
    }

    fn ask_everything(
        &mut self,
        schemathesis: &Path,
        seconds: u64,
        seed: Option<u64>,
    ) -> Result<()> {
        let owner = self.sign_in(&self.link)?;
        let invited = self.post("/api/devices/invite", Some(&owner), &json!({}))?;
        let other = self.sign_in(&text(&invited, "link")?)?;
        let key = json!({"name": "soak", "scopes": ["*"], "devices": "any"});
        let key = text(&self.post("/api/keys", Some(&owner), &key)?, "secret")?;
        let all: Vec<_> = ENDS.iter().map(|id| ("--exclude-operation-id", *id)).collect();
        let ends: Vec<_> = ENDS.iter().map(|id| ("--include-operation-id", *id)).collect();
        let (few, some) = ((seconds / 10).max(5), (seconds * 3 / 10).max(5));
        let rest = seconds.saturating_sub(few + some).max(5);
        for (who, secret, which, seconds) in [
            ("an agent's key", &key, &all, some),
            ("the owner", &owner, &all, rest),
            ("the owner, and what ends things", &other, &ends, few),
        ] {
            println!("\n--- as {who}, {seconds} s");
            let mut command = Command::new(schemathesis);
            command.arg("run").arg(format!("http://{}/api/openapi.json", self.address));
            command.args(["--header", &format!("Authorization: Bearer {secret}")]);
            command.args(["--max-time", &seconds.to_string(), "--checks", CHECKS]);
            // More than one worker fails in some versions of Python.
            command.args(["--workers", "1", "--request-timeout", "30", "--warnings", "off"]);
            command.args(["--suppress-health-check", "all"]);
            command.args(which.iter().flat_map(|(option, id)| [*option, *id]));
            if which == &all {
                command.args(["--exclude-operation-id", ENDLESS]);
            }
            if let Some(seed) = seed {
                command.args(["--seed", &seed.to_string()]);
            }
            let found = run_command(command.current_dir(&self.folder));
            self.look([&owner, &key])?;
            found?;
            self.is_well(if which == &all { Some(secret) } else { None })?;
        }
        Ok(())
    }

    /// Reads its metrics, if one of these credentials is still accepted.
    fn look(&mut self, secrets: [&String; 2]) -> Result {
        for secret in secrets {
            if let (200, metrics) = self.ask("GET", "/api/metrics", Some(secret), "")? {
                self.metrics = metrics;
            }
        }
        Ok(())
    }

    /// Checks that the server runs, and that the client's credentials are still accepted.
    fn is_well(&mut self, secret: Option<&str>) -> Result {
        if let Some(status) = self.child.try_wait()? {
            return Err(format!("the server ended: {status}").into());
        }
        let (status, _) = self.ask("GET", "/api/halt", secret, "")?;
        match (status, secret) {
            (200, _) | (401, None) => Ok(()),
            (status, _) => Err(format!("the client was signed out ({status})").into()),
        }
    }

    /// Prints the number of requests, and fails on any 5xx.
    fn report(&self) -> Result {
        let counts: Vec<_> = self.metrics.lines().filter_map(count).collect();
        // 405: a method that the route does not support.
        let known = counts.iter().filter(|count| count.status != "405");
        let routes: BTreeSet<_> = known.map(|count| (count.method, count.route)).collect();
        let total: u64 = counts.iter().map(|count| count.times).sum();
        println!("\n{total} requests to {} operations", routes.len());
        for class in ["2", "3", "4", "5"] {
            let of_class = counts.iter().filter(|count| count.status.starts_with(class));
            println!("  {class}xx {:>8}", of_class.map(|count| count.times).sum::<u64>());
        }
        // By its log, which does not need credentials.
        let log = fs::read_to_string(self.folder.join("log"))?;
        let failed: Vec<_> = log.lines().filter(|line| line.contains("status=5")).collect();
        if failed.is_empty() {
            return Ok(());
        }
        Err(format!("the server failed {} times\n{}", failed.len(), failed.join("\n")).into())
    }

    fn sign_in(&self, link: &str) -> Result<String> {
        let signed_in = self.post("/api/sign-in", None, &json!({"link": link}))?;
        text(&signed_in, "secret")
    }

    fn post(&self, path: &str, secret: Option<&str>, body: &Value) -> Result<Value> {
        let (status, answer) = self.ask("POST", path, secret, &body.to_string())?;
        if !(200..300).contains(&status) {
            return Err(format!("{path}: {status} {answer}").into());
        }
        Ok(serde_json::from_str(&answer)?)
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        secret: Option<&str>,
        body: &str,
    ) -> Result<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let secret = secret.map(|secret| format!("Authorization: Bearer {secret}\r\n"));
        let (host, secret, length) = (&self.address, secret.unwrap_or_default(), body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{secret}\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("an answer without an end")?;
        let status = head.split(' ').nth(1).ok_or("an answer without a status")?;
        Ok((status.parse()?, body.to_owned()))
    }
}

fn text(value: &Value, name: &str) -> Result<String> {
    let found = value.get(name).and_then(Value::as_str);
    Ok(found.ok_or_else(|| format!("no `{name}` in {value}"))?.to_owned())
}

/// The number of responses of a route with a status.
#[derive(Debug, PartialEq, Eq)]
struct Count<'a> {
    method: &'a str,
    route: &'a str,
    status: &'a str,
    times: u64,
}

/// Parses a line of the server's metrics.
fn count(line: &str) -> Option<Count<'_>> {
    let line = line.strip_prefix("countersign_http_request_seconds_count{")?;
    let (labels, times) = line.rsplit_once("} ")?;
    let label = |name: &str| {
        let (_, rest) = labels.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    let times = times.parse().ok()?;
    Some(Count {
        method: label("method")?,
        route: label("route")?,
        status: label("status")?,
        times,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_metrics_is_read() {
        let labels = "method=\"GET\",route=\"/api/users/{id}\",status=\"200\"";
        let line = format!("countersign_http_request_seconds_count{{{labels}}} 12");
        let wanted = Count { method: "GET", route: "/api/users/{id}", status: "200", times: 12 };
        assert_eq!(count(&line), Some(wanted));
        assert_eq!(count("# HELP countersign_connections Open connections."), None);
    }
}
