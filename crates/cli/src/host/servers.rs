//! The files and formats in which hosts name their MCP servers.

use std::path::{Path, PathBuf};

/// A file in which a host names MCP servers.
#[derive(Debug, Clone)]
pub(crate) struct Servers {
    pub(crate) path: PathBuf,
    pub(crate) layout: &'static Layout,
}

/// The format of such a file.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) syntax: Syntax,
    /// Paths to the objects that contain one server each; `*` matches any name.
    pub(crate) places: &'static [&'static [&'static str]],
    pub(crate) started: Started,
    /// The field with the environment variables of a program.
    pub(crate) variables: &'static str,
    /// Fields with the URL of a remote server, the usual one first.
    pub(crate) urls: &'static [(&'static str, Spoken)],
    /// The field with the transport of a server.
    pub(crate) kind: Option<Reached>,
}

/// The syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// JSON, with comments.
    Json,
    /// TOML.
    Toml,
}

/// The way in which a program is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Started {
    /// `command` is a text, `args` a list.
    Words,
    /// `command` is a list.
    List,
}

/// The transport of a server of which only the URL is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// Streamable HTTP.
    Http,
    /// The older transport with two connections.
    Sse,
}

/// The values for programs and for remote servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    pub(crate) field: &'static str,
    pub(crate) program: &'static str,
    pub(crate) http: &'static str,
}

const TYPE: Reached = Reached { field: "type", program: "stdio", http: "http" };

/// `mcpServers`, the format of most hosts.
pub(crate) const USUAL: Layout = Layout {
    syntax: Syntax::Json,
    places: &[&["mcpServers"]],
    started: Started::Words,
    variables: "env",
    urls: &[("url", Spoken::Http), ("serverUrl", Spoken::Http)],
    kind: Some(TYPE),
};

/// `servers`, the format of VS Code.
pub(crate) const VSCODE: Layout = Layout { places: &[&["servers"]], ..USUAL };

/// `mcp`, the format of `OpenCode`.
pub(crate) const OPENCODE: Layout = Layout {
    places: &[&["mcp"]],
    started: Started::List,
    variables: "environment",
    urls: &[("url", Spoken::Http)],
    kind: Some(Reached { field: "type", program: "local", http: "remote" }),
    ..USUAL
};

/// `mcp_servers` in TOML, the format of Codex.
pub(crate) const CODEX: Layout = Layout {
    syntax: Syntax::Toml,
    places: &[&["mcp_servers"]],
    urls: &[("url", Spoken::Http)],
    kind: None,
    ..USUAL
};

impl Servers {
    pub(crate) const fn new(path: PathBuf, layout: &'static Layout) -> Self {
        Self { path, layout }
    }

    /// Guesses the format of an unknown host's file from its content.
    pub(crate) fn guessed(path: &Path, text: &str) -> Self {
        let layout = if path.extension().is_some_and(|ending| ending == "toml") {
            &CODEX
        } else if text.contains("\"mcpServers\"") {
            &USUAL
        } else if text.contains("\"servers\"") {
            &VSCODE
        } else if text.contains("\"mcp\"") {
            &OPENCODE
        } else {
            &USUAL
        };
        Self::new(path.to_owned(), layout)
    }
}
