//! MCP tools, by name, description, schema, hints and arguments.
//!
//! A tool's description comes from its server, and a server may be dishonest. So a hint can make a
//! call look worse and never better than its name and arguments do, and a description that
//! addresses the model is itself a finding.

use serde_json::{Value, json};

use crate::action::Action;
use crate::analyze::purpose::{self, Effect, Purpose};
use crate::analyze::{Analysis, arguments, named, whole};
use crate::digest;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location::Scene;

mod injection;

/// Returns the facts of a tool call.
#[must_use]
pub fn analyze(action: &Action, scene: &Scene<'_>) -> Analysis {
    let Action::Tool { server, tool, description, arguments, annotations, schema } = action else {
        return Analysis::default();
    };
    let purpose = purpose::of(tool, description.as_deref());
    let call = arguments::Call { owner: server, name: tool, purpose, schema: schema.as_ref() };
    let arguments::Seen { mut analysis, ran, stays } = arguments::analyze(arguments, call, scene);
    let span = whole(tool);
    let shown = format!("{server}/{tool}");
    let file = stays == Some(true) && writes_a_file(tool, purpose);
    let kinds = [
        does(purpose, ran).filter(|kind| !file || *kind != FactKind::ToolWrite),
        hinted(purpose, annotations.as_ref()),
        changed(action, &shown, scene),
        forbidden(tool),
    ];
    let told = kinds.into_iter().flatten().map(|kind| Fact::new(kind, &shown).at(span));
    analysis.facts.extend(told);
    if file {
        let inside = Tags::of(&[Tag::Workspace]);
        analysis.facts.push(Fact::new(FactKind::ToolWrite, &shown).tagged(inside).at(span));
    }
    if let Some(marker) = injection::found(description.as_deref(), schema.as_ref()) {
        analysis.facts.push(Fact::new(FactKind::ToolInjection, format!("{shown}: {marker}")));
    }
    analysis
}

/// Returns the fact of a purpose. A tool that runs its arguments is judged by them.
fn does(purpose: Purpose, ran: bool) -> Option<FactKind> {
    match purpose {
        Purpose::Known(Effect::Read) => None,
        Purpose::Known(Effect::Execute) => (!ran).then_some(FactKind::ToolExecutes),
        Purpose::Known(Effect::Destroy) => Some(FactKind::ToolDestructive),
        Purpose::Known(Effect::Write | Effect::Send | Effect::Pay) => Some(FactKind::ToolWrite),
        Purpose::Unknown => Some(FactKind::ToolUnknown),
    }
}

/// Reports whether the tool writes one file of this machine and does nothing else: `write_file`.
fn writes_a_file(tool: &str, purpose: Purpose) -> bool {
    let words = purpose::split(tool);
    let files = ["file", "files", "document", "text"];
    let plain = ["write", "create", "edit", "append", "save", "new", "to", "replace", "update"];
    purpose == Purpose::Known(Effect::Write)
        && words.iter().any(|word| files.contains(&&**word))
        && words.iter().all(|word| files.contains(&&**word) || plain.contains(&&**word))
}

/// Returns the fact that the server's own hints add.
fn hinted(purpose: Purpose, annotations: Option<&Value>) -> Option<FactKind> {
    let hints = match annotations {
        None | Some(Value::Null) => return None,
        Some(Value::Object(hints)) => hints,
        Some(_) => return Some(FactKind::ToolUnknown),
    };
    let says = |name: &str, what: bool| hints.get(name) == Some(&Value::Bool(what));
    if says("destructiveHint", true) && !says("readOnlyHint", true) {
        Some(FactKind::ToolDestructive)
    } else if says("readOnlyHint", false) && purpose == Purpose::Known(Effect::Read) {
        Some(FactKind::ToolWrite)
    } else {
        None
    }
}

/// Returns a fact if the name means one of the six actions that some profiles refuse.
fn forbidden(tool: &str) -> Option<FactKind> {
    named::is_like_a_forbidden(tool).then_some(FactKind::ToolForbidden)
}

/// Returns a fact if the definition differs from the one that was approved.
fn changed(action: &Action, shown: &str, scene: &Scene<'_>) -> Option<FactKind> {
    let pinned = scene.context.pinned_tools.get(shown)?;
    (definition(action).as_ref() != Some(pinned)).then_some(FactKind::ToolChanged)
}

/// Returns the digest of a tool's definition: its server's description of it, without the arguments
/// of one call. Approving a tool pins this digest.
#[must_use]
pub fn definition(action: &Action) -> Option<String> {
    let Action::Tool { server, tool, description, annotations, schema, .. } = action else {
        return None;
    };
    Some(digest::of_value(&json!({
        "server": server,
        "tool": tool,
        "description": description,
        "annotations": annotations,
        "schema": schema,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    fn kinds(call: &Value, context: &Context) -> Vec<FactKind> {
        let mut action = json!({"kind": "tool", "server": "s"});
        action.as_object_mut().unwrap().extend(call.as_object().unwrap().clone());
        let action: Action = serde_json::from_value(action).unwrap();
        let analysis = analyze(&action, &Scene::new(context, &[]));
        analysis.facts.into_iter().map(|fact| fact.kind).collect()
    }

    #[test]
    fn a_hint_raises_and_never_lowers() {
        let none = Context::default();
        let reads = json!({"tool": "get_x", "annotations": {"destructiveHint": true}});
        assert_eq!(kinds(&reads, &none), [FactKind::ToolDestructive]);
        let lies = json!({"tool": "delete_x", "annotations": {"readOnlyHint": true}});
        assert_eq!(kinds(&lies, &none), [FactKind::ToolDestructive]);
        let unknown = json!({"tool": "frob", "annotations": {"readOnlyHint": true}});
        assert_eq!(kinds(&unknown, &none), [FactKind::ToolUnknown]);
        let broken = json!({"tool": "get_x", "annotations": "read only"});
        assert_eq!(kinds(&broken, &none), [FactKind::ToolUnknown]);
    }

    #[test]
    fn a_command_is_judged_as_a_command() {
        let none = Context::default();
        let harmless = json!({"tool": "execute_command", "arguments": {"command": "ls -l"}});
        assert_eq!(kinds(&harmless, &none), [FactKind::ToolForbidden]);
        let chained = json!({"tool": "execute_command", "arguments": {"command": "ls; id"}});
        assert!(kinds(&chained, &none).contains(&FactKind::ToolMetacharacters));
        let empty = json!({"tool": "execute_command", "arguments": {"command": null}});
        assert_eq!(kinds(&empty, &none), [FactKind::ToolExecutes, FactKind::ToolForbidden]);
    }

    /// Every way to pass a command is judged like the command itself.
    #[test]
    fn a_command_in_pieces_is_the_command() {
        let none = Context::default();
        for tool in ["run", "fetch", "frobnicate", "shell"] {
            for arguments in [
                json!({"command": "rm -rf /"}),
                json!({"command": ["rm", "-rf", "/"]}),
                json!({"command": "rm", "args": ["-rf", "/"]}),
                json!({"argv": ["rm", "-rf", "/"]}),
                json!({"cmd": "rm", "arguments": "-rf /"}),
                json!({"data": {"nested": [{"cmd": ["rm", "-rf", "/"]}]}}),
                json!({"script": "rm -rf /"}),
                json!({"script": "import os\nos.system('rm -rf /')", "language": "python"}),
                json!({"command": "cm0gLXJmIC8=", "encoding": "base64"}),
                json!({"command": "cm0gLXJmIC8="}),
            ] {
                let found = kinds(&json!({"tool": tool, "arguments": arguments}), &none);
                assert!(found.contains(&FactKind::Delete), "{tool} {arguments}: {found:?}");
            }
        }
        let script = json!({"script": "do shell script \"rm -rf /\""});
        let found = kinds(&json!({"tool": "run_applescript", "arguments": script}), &none);
        assert!(found.contains(&FactKind::ScriptShellDestructive), "{found:?}");
        let drop = json!({"tool": "query", "arguments": {"q": "DROP TABLE users"}});
        assert!(kinds(&drop, &none).contains(&FactKind::SqlDrop));
        let branch = json!({"tool": "get_branch", "arguments": {"branch": "a`id`"}});
        assert_eq!(kinds(&branch, &none), [FactKind::ToolMetacharacters]);
        let prose = json!({"tool": "get_x", "arguments": {"body": "call `id` or $(id)"}});
        assert_eq!(kinds(&prose, &none), []);
    }

    #[test]
    fn urls_paths_and_statements_go_to_their_analyzers() {
        let none = Context::default();
        let call =
            |arguments: Value| kinds(&json!({"tool": "get_x", "arguments": arguments}), &none);
        assert_eq!(call(json!({"url": "http://127.0.0.1/"})), [FactKind::UrlInternal]);
        assert_eq!(call(json!({"a": [{"b": "http://10.0.0.1/"}]})), [FactKind::UrlInternal]);
        for host in ["localhost", "::1", "[::1]", "fe80::1%eth0", "127.0.0.1", "2130706433"] {
            assert_eq!(call(json!({"host": host})), [FactKind::UrlInternal], "{host}");
        }
        assert_eq!(call(json!({"url": "localhost"})), [FactKind::UrlInternal]);
        assert_eq!(call(json!({"url": "http://[fe80::1%25eth0]/"})), [FactKind::UrlInvalid]);
        assert_eq!(call(json!({"link": "readme", "url": "/a/b", "host": "web1"})), []);
        assert_eq!(call(json!({"sql": "DROP TABLE users"})), [FactKind::SqlDrop]);
        assert_eq!(call(json!({"path": "/etc/shadow"})), [FactKind::Read]);
        assert_eq!(call(json!({"body": "see http://localhost:3000 for more"})), []);
        assert_eq!(call(json!({"query": "delete button", "path": "src/main.rs"})), []);
    }

    #[test]
    fn a_definition_that_changed_since_it_was_agreed_to_is_told() {
        let call = json!({"tool": "get_x", "description": "Gets x."});
        let action: Action = serde_json::from_value(
            json!({"kind": "tool", "server": "s", "tool": "get_x", "description": "Gets x."}),
        )
        .unwrap();
        let mut context = Context::default();
        context.pinned_tools.insert("s/get_x".to_owned(), definition(&action).unwrap());
        assert_eq!(kinds(&call, &context), []);
        let other = json!({"tool": "get_x", "description": "Gets x and more."});
        assert_eq!(kinds(&other, &context), [FactKind::ToolChanged]);
    }
}
