//! Where hosts name their MCP servers, and in which words.

use std::path::{Path, PathBuf};

/// A file in which a host names MCP servers.
#[derive(Debug, Clone)]
pub(crate) struct Servers {
    pub(crate) path: PathBuf,
    pub(crate) layout: &'static Layout,
}

/// How such a file is written.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) syntax: Syntax,
    /// Ways to the objects that hold one server each; `*` stands for any name.
    pub(crate) places: &'static [&'static [&'static str]],
    pub(crate) started: Started,
    /// The field with the variables of a program.
    pub(crate) variables: &'static str,
    /// Fields with the URL of a server elsewhere, the usual one first.
    pub(crate) urls: &'static [(&'static str, Spoken)],
    /// The field that says how a server is reached.
    pub(crate) kind: Option<Reached>,
}

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// JSON, with comments.
    Json,
    /// TOML.
    Toml,
}

/// How a program is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Started {
    /// `command` is a text, `args` a list.
    Words,
    /// `command` is a list.
    List,
}

/// What a server speaks when nothing but its URL is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// Streamable HTTP.
    Http,
    /// The transport before it, of two connections.
    Sse,
}

/// The words for programs and for servers elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    pub(crate) field: &'static str,
    pub(crate) program: &'static str,
    pub(crate) http: &'static str,
}

const TYPE: Reached = Reached { field: "type", program: "stdio", http: "http" };

/// `mcpServers`, as most hosts have it.
pub(crate) const USUAL: Layout = Layout {
    syntax: Syntax::Json,
    places: &[&["mcpServers"]],
    started: Started::Words,
    variables: "env",
    urls: &[("url", Spoken::Http), ("serverUrl", Spoken::Http)],
    kind: Some(TYPE),
};

/// `servers`, as VS Code has it.
pub(crate) const VSCODE: Layout = Layout { places: &[&["servers"]], ..USUAL };

/// `mcp`, as `OpenCode` has it.
pub(crate) const OPENCODE: Layout = Layout {
    places: &[&["mcp"]],
    started: Started::List,
    variables: "environment",
    urls: &[("url", Spoken::Http)],
    kind: Some(Reached { field: "type", program: "local", http: "remote" }),
    ..USUAL
};

/// `mcp_servers` in TOML, as Codex has it.
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

    /// A file of a host we do not know, by what it holds.
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
