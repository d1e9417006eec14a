//! The tools that a server declares, and the list that its client is shown.

use std::collections::{BTreeMap, HashMap};

use countersign_core::analyze::tool::definition;
use countersign_core::{Action, Context, Verdict};
use serde_json::Value;

use super::active_config::ActiveConfig;
use super::json::{Json, Object};
use crate::judging;

/// Added to the description of a tool that may ask, for the model.
const MARK: &str = "(Countersign may ask a person before this runs; then the call waits.)";

/// The tools of one server.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    known: HashMap<String, Definition>,
}

/// The definition of a tool, as its server declares it.
#[derive(Debug, Clone, PartialEq)]
struct Definition {
    description: Option<String>,
    annotations: Option<Value>,
    schema: Option<Value>,
}

impl Tools {
    /// Reports whether a tool is known.
    pub(crate) fn knows(&self, tool: &str) -> bool {
        self.known.contains_key(tool)
    }

    /// The schema of a tool's arguments.
    pub(crate) fn schema(&self, tool: &str) -> Option<&Value> {
        self.known.get(tool)?.schema.as_ref()
    }

    /// Forgets all tools, because the server says that they have changed.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }

    /// A call of a tool as an action.
    pub(crate) fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: BTreeMap<String, Value>,
    ) -> Action {
        let known = self.known.get(tool).cloned();
        let (description, annotations, schema) = known
            .map(|known| (known.description, known.annotations, known.schema))
            .unwrap_or_default();
        let (server, tool) = (server.to_owned(), tool.to_owned());
        Action::Tool { server, tool, description, arguments, annotations, schema }
    }

    /// Stores the definitions of a list, and returns the digest of each by `server/tool`.
    pub(crate) fn learn(&mut self, server: &str, list: &[Json]) -> Vec<(String, String)> {
        let mut seen = Vec::new();
        for tool in list {
            let Some(name) = name(tool) else { continue };
            self.known.insert(name.to_owned(), Definition::of(tool));
            let action = self.call(server, name, BTreeMap::new());
            seen.extend(definition(&action).map(|digest| (format!("{server}/{name}"), digest)));
        }
        seen
    }

    /// Prepares the list for the client: hides tools that could never run, and marks those that may
    /// ask. Reports whether anything was changed.
    pub(crate) fn show(
        &self,
        server: &str,
        list: &mut Vec<Json>,
        active_config: &ActiveConfig,
        context: &Context,
    ) -> bool {
        let mut changed = false;
        list.retain_mut(|tool| {
            let shown = self.shown(server, tool, active_config, context);
            changed |= shown != Shown::Plain;
            match shown {
                Shown::Hidden => return false,
                Shown::Marked => mark(tool),
                Shown::Plain => {}
            }
            true
        });
        changed
    }

    fn shown(
        &self,
        server: &str,
        tool: &Json,
        active_config: &ActiveConfig,
        context: &Context,
    ) -> Shown {
        // A tool without a name cannot be called.
        let Some(name) = name(tool) else { return Shown::Hidden };
        if active_config.mcp.hides(server, name) {
            return Shown::Hidden;
        }
        let action = self.call(server, name, BTreeMap::new());
        match judging::judge_plainly(&action, &active_config.policy, context)
            .map(|judged| judged.verdict)
        {
            Ok(Verdict::Block) | Err(_) => Shown::Hidden,
            Ok(Verdict::Confirm) if active_config.mcp.mark_tools => Shown::Marked,
            Ok(_) => Shown::Plain,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Plain,
    Marked,
    Hidden,
}

impl Definition {
    fn of(tool: &Json) -> Self {
        let value = |name: &str| tool.get(name).map(Json::to_value);
        Self {
            description: tool.get("description").map(text),
            annotations: value("annotations"),
            schema: value("inputSchema"),
        }
    }
}

/// The text of a description. One that is not a string is kept as JSON, because the server sent it.
fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn name(tool: &Json) -> Option<&str> {
    tool.get("name")?.as_str()
}

fn mark(tool: &mut Json) {
    let Some(fields) = tool.as_object_mut() else { return };
    let described = fields.get("description").and_then(Json::as_str).unwrap_or_default();
    let marked = if described.is_empty() { MARK.to_owned() } else { format!("{described} {MARK}") };
    fields.set("description", marked);
}

/// Marks the result as private for caches, because it depends on the client.
pub(crate) fn make_private(result: &mut Object) {
    if result.get("cacheScope").is_some() {
        result.set("cacheScope", "private");
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::read;
    use super::*;

    fn active_config(mcp: &str) -> ActiveConfig {
        ActiveConfig {
            policy: countersign_core::Policy::default(),
            hook: crate::hook_options::Options::default(),
            mcp: serde_json::from_str(mcp).unwrap(),
        }
    }

    fn shown(mcp: &str, list: &str) -> String {
        let Json::Array(mut list) = read(list).unwrap() else { panic!("no list") };
        let mut tools = Tools::default();
        tools.learn("s", &list);
        tools.show("s", &mut list, &active_config(mcp), &Context::default());
        Json::Array(list).to_string()
    }

    #[test]
    fn a_tool_that_may_ask_says_so_and_the_others_stay_as_they_are() {
        let list = r#"[{"x":1,"name":"get_x","description":"Gets x."},{"name":"delete_x"}]"#;
        let marked = shown("{}", list);
        assert!(marked.starts_with(r#"[{"x":1,"name":"get_x","description":"Gets x."},"#));
        assert!(marked.contains(MARK), "{marked}");
        assert_eq!(shown(r#"{"mark_tools":false}"#, list), list);
    }

    #[test]
    fn what_is_hidden_or_has_no_name_is_not_shown() {
        let list = r#"[{"name":"get_x"},{"name":"get_y"},{"title":"z"}]"#;
        let hidden = shown(r#"{"servers":{"s":{"hide":["*_y"]}}}"#, list);
        assert_eq!(hidden, r#"[{"name":"get_x"}]"#);
    }

    #[test]
    fn another_description_schema_or_hint_is_another_definition() {
        let digest = |tool: &str| {
            let list = [read(tool).unwrap()];
            Tools::default().learn("s", &list).pop().unwrap().1
        };
        let first = digest(r#"{"name":"a","description":"x"}"#);
        assert_eq!(first, digest(r#"{"name":"a","description":"x","title":"T"}"#));
        for other in [
            r#"{"name":"a","description":"y"}"#,
            r#"{"name":"a","description":["x"]}"#,
            r#"{"name":"a","description":"x","inputSchema":{}}"#,
            r#"{"name":"a","description":"x","annotations":{"readOnlyHint":true}}"#,
        ] {
            assert_ne!(first, digest(other), "{other}");
        }
    }
}
