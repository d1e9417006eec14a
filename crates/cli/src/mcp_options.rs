//! The MCP options of the configuration. A project's file cannot set them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The section `mcp` of the organisation's and the user's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Mcp")]
pub(crate) struct Options {
    /// Says in the description of a tool that it may ask a person, so that the model knows.
    pub(crate) mark_tools: bool,
    /// Shows the client a link to the question, where it can show one. The answer counts only at
    /// the server.
    pub(crate) show_links: bool,
    /// Masks secrets and personal data in what tools, resources and prompts answer.
    pub(crate) redact_results: bool,
    /// Servers, by the name the proxy is given.
    pub(crate) servers: BTreeMap<String, Server>,
}

/// The settings of one server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "McpServer")]
pub(crate) struct Server {
    /// Tools that clients do not see and cannot call; `*` stands for anything.
    pub(crate) hide: Vec<String>,
    /// Masks secrets and personal data in what it answers.
    pub(crate) redact_results: Option<bool>,
}

impl Default for Options {
    fn default() -> Self {
        Self { mark_tools: true, show_links: true, redact_results: false, servers: BTreeMap::new() }
    }
}

impl Options {
    /// Reports whether a tool is hidden.
    pub(crate) fn hides(&self, server: &str, tool: &str) -> bool {
        let server = self.servers.get(server);
        server.is_some_and(|server| server.hide.iter().any(|pattern| matches(pattern, tool)))
    }

    /// Reports whether the answers of a server are masked.
    pub(crate) fn redacts(&self, server: &str) -> bool {
        let own = self.servers.get(server).and_then(|server| server.redact_results);
        own.unwrap_or(self.redact_results)
    }
}

/// Reports whether a name matches a pattern.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = name.split_once(part) else { return false };
        name = after;
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name) in [
            ("delete_repo", "delete_repo"),
            ("delete_*", "delete_repo"),
            ("*", ""),
            ("*_repo", "delete_repo"),
            ("d*_*po", "delete_repo"),
            ("a*a*a", "aaa"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("delete", "delete_repo"),
            ("*_repo", "repo"),
            ("a*a*a", "aa"),
            ("", "x"),
            ("a*b", "ba"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
