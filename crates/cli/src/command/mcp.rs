//! `countersign mcp`: the proxy between MCP clients and their servers.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use url::Url;

use super::wrap;
use crate::approval_client;
use crate::data::Data;
use crate::exit::Exit;
use crate::mcp::{self, Hands, Tools, http::Upstream};

/// Stand between MCP clients and their servers
///
/// When a client starts `countersign mcp proxy -- SERVER` instead of `SERVER`, every call is
/// judged: risky calls wait for a person, and catastrophic ones never reach the server.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Proxy(Proxy),
    Serve(Serve),
    Wrap(wrap::Wrap),
    Unwrap(wrap::Unwrap),
}

/// Start a server and judge every call before it reaches the server
///
/// Tool definitions are pinned when they are first seen; a tool that has changed since then asks
/// on its next call. Unknown fields and methods pass unchanged.
#[derive(Debug, Args)]
struct Proxy {
    /// The server's name in questions, rules and pinned definitions [default: from its
    /// command]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The URL of a server to connect to over HTTP instead of starting one
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    http: Option<String>,
    /// Listen for clients on this local address, instead of standard input
    #[arg(long, value_name = "ADDRESS", requires = "http")]
    listen: Option<SocketAddr>,
    /// A header to send to that server with every request, as `Name: value`; `${VARIABLE}` is
    /// replaced from the environment
    #[arg(long = "header", value_name = "HEADER", requires = "http")]
    headers: Vec<String>,
    /// A header whose whole value is in a variable, as `Name=VARIABLE`: for files in which a host
    /// would replace `${VARIABLE}` itself
    #[arg(long, value_name = "HEADER", requires = "http")]
    header_from: Vec<String>,
    /// The certificate to trust, as a PEM file, for a server with a self-signed certificate
    #[arg(long, value_name = "FILE", requires = "http")]
    tls_ca: Option<PathBuf>,
    /// Connect to a server on another machine without encryption
    #[arg(long, requires = "http")]
    danger_plain_http: bool,
    #[command(flatten)]
    data: Data,
    /// The server's command, after `--`
    #[arg(last = true, required_unless_present = "http", value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Run an MCP server that lets an agent ask before it acts
///
/// Its tools: `request_confirmation` asks a person, `check_action` and `explain_action` judge,
/// `approve` answers Claude Code's `--permission-prompt-tool`. None of them answers a question
/// that was put to a person. With --tools it has hands too: each call of those is an action of one
/// session, which a worker of a running server does once it is permitted.
#[derive(Debug, Args)]
struct Serve {
    /// Tools that do something: `shell` is `bash`; `files` are `read_file`, `write_file`,
    /// `edit_file` and `list_files`
    #[arg(long, value_enum, value_delimiter = ',', value_name = "GROUPS")]
    tools: Vec<Tools>,
    /// The session in which they do it, where a person has begun one [default: one of its own]
    #[arg(long, value_name = "ID", requires = "tools")]
    session: Option<String>,
    #[command(flatten)]
    data: Data,
}

impl Mcp {
    /// Runs the command.
    ///
    /// # Errors
    /// Bad configuration, or something that cannot be started or written.
    pub(crate) fn run(self) -> Result<Exit> {
        match self.what {
            What::Proxy(proxy) => proxy.run(),
            What::Serve(serve) => {
                let folder = serve.data.folder()?;
                approval_client::register(&folder);
                mcp::serve(folder, Hands::new(serve.tools), serve.session)
            }
            What::Wrap(wrap) => wrap.run(),
            What::Unwrap(unwrap) => unwrap.run(),
        }
    }
}

impl Proxy {
    fn run(self) -> Result<Exit> {
        let name = self.name.unwrap_or_else(|| match &self.http {
            Some(url) => host(url),
            None => name(&self.command),
        });
        if name.is_empty() || name.contains(|char: char| char.is_control() || char == '/') {
            bail!("`{}` is not a name for a server", name.escape_debug());
        }
        let folder = self.data.folder()?;
        // A proxy that listens was started by a person, not by a host.
        if self.listen.is_none() {
            approval_client::register(&folder);
        }
        let Some(url) = &self.http else {
            // clap allows these options together with a command.
            let headers = !self.headers.is_empty() || !self.header_from.is_empty();
            if self.listen.is_some() || self.tls_ca.is_some() || headers {
                bail!("--listen, --header and --tls-ca are for servers that --http names");
            }
            return mcp::relay_program(name, folder, &self.command);
        };
        let (tls_ca, danger) = (self.tls_ca.as_deref(), self.danger_plain_http);
        let mut headers = self.headers;
        for header in &self.header_from {
            let Some((name, variable)) = header.split_once('=') else {
                bail!("`{header}` is not of the form `Name=VARIABLE`");
            };
            headers.push(format!("{name}: ${{{variable}}}"));
        }
        let upstream = Upstream::new(url, &headers, tls_ca, danger)?;
        match self.listen {
            Some(address) => mcp::http::listen(name, folder, upstream, address),
            None => mcp::http::relay(name, folder, upstream),
        }
    }
}

/// The default name of a server that is reached by URL.
fn host(url: &str) -> String {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str);
    host.unwrap_or("server").to_owned()
}

/// Programs that only start another one.
const STARTERS: &[&str] = &[
    "npx", "npm", "exec", "uvx", "uv", "run", "node", "python", "python3", "docker", "bunx", "env",
];

/// The default name of a server that is started by a command.
fn name(command: &[OsString]) -> String {
    let words = command.iter().filter_map(|word| word.to_str());
    let words = words.filter_map(|word| Path::new(word).file_stem()?.to_str());
    let mut words = words.filter(|word| !word.starts_with('-') && !word.contains('='));
    let first = words.find(|word| !STARTERS.contains(word)).unwrap_or("server");
    first.split('@').next().filter(|name| !name.is_empty()).unwrap_or(first).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_by_what_is_really_started() {
        for (command, called) in [
            ("/usr/bin/github-mcp stdio", "github-mcp"),
            ("npx -y @scope/server-files@1.2 /tmp", "server-files"),
            ("python3 tools/weather.py", "weather"),
            ("docker run -i --rm mcp/time", "time"),
            ("npx", "server"),
        ] {
            let words: Vec<OsString> = command.split(' ').map(OsString::from).collect();
            assert_eq!(name(&words), called, "{command}");
        }
    }
}
