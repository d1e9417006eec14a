//! Entries of ours in a list that others write too, and the hooks by which they are known.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use crate::host::edit::{Document, To};

/// Items to add to a list in a shared file.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(super) keys: Vec<String>,
    pub(super) items: Vec<Value>,
    pub(super) kind: EntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A hook, recognised by the command that it runs.
    Hook,
    /// Adjacent texts, recognised by being equal to ours.
    Run,
}

impl Entry {
    /// Returns an entry of one hook.
    pub(crate) fn new(keys: &[&str], item: Value) -> Self {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        Self { keys, items: vec![item], kind: EntryKind::Hook }
    }

    /// Returns an entry of several texts.
    pub(crate) fn run(keys: &[&str], items: Vec<Value>) -> Self {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        Self { keys, items, kind: EntryKind::Run }
    }

    fn path(&self) -> Vec<To<'_>> {
        self.keys.iter().map(|key| To::Key(key)).collect()
    }

    pub(super) fn keys(&self) -> Vec<&str> {
        self.keys.iter().map(String::as_str).collect()
    }

    pub(super) fn list(&self, document: &Document) -> Vec<Value> {
        match document.get(&self.path()) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        }
    }

    /// Reports whether the entry is in the document, unchanged and only once.
    pub(super) fn is_in(&self, document: &Document, host: &str) -> bool {
        let list = self.list(document);
        match self.kind {
            EntryKind::Run => run_at(&list, &self.items).is_some(),
            EntryKind::Hook => {
                let ours: Vec<_> = list.iter().filter(|item| has_ours(item, host)).collect();
                ours.len() == self.items.len() && ours.iter().zip(&self.items).all(|(a, b)| *a == b)
            }
        }
    }

    /// The path below the list to the last item of ours.
    fn last(&self, document: &Document, host: &str) -> Option<Vec<To<'static>>> {
        let list = self.list(document);
        list.iter().enumerate().rev().find_map(|(at, item)| {
            let handlers = item.get("hooks").and_then(Value::as_array);
            let Some(handlers) = handlers else {
                return is_ours(item, host).then(|| vec![To::At(at)]);
            };
            let mine = handlers.iter().rposition(|handler| is_ours(handler, host))?;
            // Handlers of others in the same group stay, and the group with them.
            if handlers.iter().all(|handler| is_ours(handler, host)) {
                return Some(vec![To::At(at)]);
            }
            Some(vec![To::At(at), To::Key("hooks"), To::At(mine)])
        })
    }

    /// Removes the items from the last to the first, so that the first one still shows whether the
    /// list existed before.
    pub(super) fn take_away(&self, mut document: Document, host: &str) -> Result<Option<Document>> {
        let run = run_at(&self.list(&document), &self.items);
        let run = run.filter(|_| self.kind == EntryKind::Run);
        let mut run = run.into_iter().flat_map(|at| (at..at + self.items.len()).rev());
        loop {
            let below = match self.kind {
                EntryKind::Run => run.next().map(|at| vec![To::At(at)]),
                EntryKind::Hook => self.last(&document, host),
            };
            let Some(below) = below else { return Ok(Some(document)) };
            let mut path = self.path();
            path.extend(below);
            let Some(less) = document.remove(&path)? else { return Ok(None) };
            document = less;
        }
    }
}

/// The index at which a run of items begins.
fn run_at(list: &[Value], run: &[Value]) -> Option<usize> {
    if run.is_empty() {
        return None;
    }
    list.windows(run.len()).position(|window| window == run)
}

/// Reports whether an item of a list contains a hook of ours.
pub(super) fn has_ours(item: &Value, host: &str) -> bool {
    let handlers = item.get("hooks").and_then(Value::as_array);
    match handlers {
        Some(handlers) => handlers.iter().any(|handler| is_ours(handler, host)),
        None => is_ours(item, host),
    }
}

/// The command of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// A program and its arguments.
    Words(Vec<String>),
    /// A command line for a shell.
    Shell(String),
}

impl Line {
    /// Returns the command of a handler.
    pub(crate) fn of(handler: &Value) -> Option<Self> {
        let named = ["command", "exec", "bash"].iter().find_map(|name| handler.get(name)?.as_str());
        let program = named?.to_owned();
        match handler.get("args").and_then(Value::as_array) {
            Some(args) => {
                let args = args.iter().filter_map(Value::as_str).map(str::to_owned);
                Some(Self::Words(std::iter::once(program).chain(args).collect()))
            }
            None => Some(Self::Shell(program)),
        }
    }

    /// Reports whether it is our hook for this host.
    pub(crate) fn is_ours(&self, host: &str) -> bool {
        let words: Vec<&str> = match self {
            Self::Words(words) => words.iter().map(String::as_str).collect(),
            Self::Shell(line) => line.split_whitespace().collect(),
        };
        let program = |word: &str| {
            let word = word.trim_matches(['\'', '"']);
            Path::new(word).file_stem().is_some_and(|name| name == "countersign")
        };
        words.windows(3).any(|words| match words {
            [first, "hook", name] => program(first) && *name == host,
            _ => false,
        })
    }
}

fn is_ours(handler: &Value, host: &str) -> bool {
    Line::of(handler).is_some_and(|line| line.is_ours(host))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn our_hook_is_known_by_what_it_runs() {
        let is = |json: Value| is_ours(&json, "codex");
        assert!(is(json!({"command": "/usr/bin/countersign hook codex --timeout 5"})));
        assert!(is(json!({"command": "'/opt/a b/countersign' hook codex"})) || cfg!(unix));
        assert!(is(json!({"exec": "countersign", "args": ["hook", "codex"]})));
        assert!(!is(json!({"command": "countersign hook cursor"})));
        assert!(!is(json!({"command": "echo countersign; hook codex"})));
        assert!(!is(json!({"url": "https://example.com"})));
    }
}
