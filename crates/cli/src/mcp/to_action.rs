//! Converts a message to an action that can be judged.

use std::collections::BTreeMap;

use countersign_core::action::{Field, Surface, UiOp};
use countersign_core::{Action, Context};
use countersign_net::{Resolve as _, System};
use serde_json::Value;
use url::{Host, Url};

use super::json::{Json, Object};
use super::message::Message;
use super::tools::Tools;

/// Further names in one call are not resolved: a person must look at it.
const MOST_DOMAINS: usize = 16;
/// Parts of argument names whose values name a machine.
const MACHINES: &[&str] = &["host", "domain", "server", "address", "endpoint", "url", "uri"];
/// An address that could not be resolved, which leads to a question.
const UNKNOWN: &str = "?";

/// The error in a request's parameters.
pub(crate) type Wrong = &'static str;

/// Converts a call of a tool.
///
/// # Errors
/// It does not name a tool, or its arguments cannot be judged.
pub(crate) fn call(message: &Message, server: &str, tools: &Tools) -> Result<Action, Wrong> {
    let tool = message.param("name").and_then(Json::as_str).ok_or("`name` must be a text")?;
    Ok(tools.call(server, tool, arguments(message.param("arguments"))?))
}

/// Converts reading or subscribing to a resource. Files and pages become ordinary actions; other
/// names belong to the server.
///
/// # Errors
/// It does not name one.
pub(crate) fn resource(message: &Message, server: &str) -> Result<Action, Wrong> {
    let uri = message.param("uri").and_then(Json::as_str).ok_or("`uri` must be a text")?;
    let (scheme, rest) = uri.split_once(':').unwrap_or(("", uri));
    let argument = match scheme.to_ascii_lowercase().as_str() {
        "file" => {
            let path = Url::parse(uri).ok().and_then(|url| url.to_file_path().ok());
            let path = path.and_then(|path| path.to_str().map(str::to_owned));
            return Ok(Action::FileRead { path: path.unwrap_or_else(|| uri.to_owned()) });
        }
        "http" | "https" | "ws" | "wss" | "ftp" => ("url", uri),
        // Some servers accept plain paths, or paths under a scheme of their own.
        "" => ("path", uri),
        _ => match rest.strip_prefix("//").unwrap_or(rest) {
            path if path.starts_with('/') => ("path", path),
            name => ("name", name),
        },
    };
    Ok(named(server, "read_resource", [argument]))
}

/// Converts getting a prompt.
///
/// # Errors
/// Its arguments cannot be judged.
pub(crate) fn prompt(message: &Message, server: &str) -> Result<Action, Wrong> {
    let mut arguments = arguments(message.param("arguments"))?;
    let name = message.param("name").and_then(Json::as_str).ok_or("`name` must be a text")?;
    arguments.insert("prompt".to_owned(), Value::from(name));
    Ok(tool(server, "get_prompt", arguments))
}

/// Converts any other request that has an effect, by its name.
pub(crate) fn request(message: &Message, server: &str, name: &str) -> Action {
    let params = message.params().cloned().unwrap_or_default();
    let mut params = params;
    params.remove("_meta");
    let arguments = params.iter().map(|(name, value)| (name.to_owned(), value.to_value()));
    tool(server, name, arguments.collect())
}

/// Converts a server's request that a person open a page or fill in a form. The client shows it in
/// its own name, so the requested data must be fit to be given to a stranger.
pub(crate) fn elicitation(params: &Object) -> Vec<Action> {
    let text = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
    if let Some(url) = text(params.get("url")) {
        return vec![Action::Navigate { url }];
    }
    let schema = params.get("requestedSchema");
    let fields = schema.and_then(|schema| schema.get("properties")).and_then(Json::as_object);
    let asked = |(name, about): (&str, &Json)| Action::Ui {
        surface: Surface::App,
        op: UiOp::Type,
        label: None,
        field: Some(Box::new(Field {
            name: Some(name.to_owned()),
            label: text(about.get("title")),
            nearby: text(about.get("description")),
            ..Field::default()
        })),
        text: None,
        url: None,
        reference: None,
    };
    fields.map(|fields| fields.iter().map(asked).collect()).unwrap_or_default()
}

fn arguments(given: Option<&Json>) -> Result<BTreeMap<String, Value>, Wrong> {
    match given {
        None | Some(Json::Null) => Ok(BTreeMap::new()),
        Some(Json::Object(object)) => {
            Ok(object.iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect())
        }
        Some(_) => Err("`arguments` must be an object"),
    }
}

fn named<const N: usize>(server: &str, name: &str, arguments: [(&str, &str); N]) -> Action {
    let arguments = arguments.map(|(name, value)| (name.to_owned(), Value::from(value)));
    tool(server, name, arguments.into())
}

fn tool(server: &str, name: &str, arguments: BTreeMap<String, Value>) -> Action {
    Tools::default().call(server, name, arguments)
}

/// The machine names in the arguments of an action.
pub(crate) fn domains(action: &Action) -> Vec<String> {
    let mut found = Vec::new();
    if let Action::Tool { arguments, .. } = action {
        let mut open: Vec<(&str, &Value)> =
            arguments.iter().map(|(name, value)| (name.as_str(), value)).collect();
        while let Some((name, value)) = open.pop() {
            match value {
                Value::String(text) => found.extend(domain(name, text.trim())),
                Value::Array(items) => open.extend(items.iter().map(|item| (name, item))),
                Value::Object(fields) => {
                    open.extend(fields.iter().map(|(name, value)| (name.as_str(), value)));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The domain of a URL, or of an argument that names a machine. Other texts are not resolved:
/// `main.rs` could be a domain, too.
fn domain(name: &str, text: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let is_machine = MACHINES.iter().any(|machine| name.contains(machine));
    let bare = || is_machine.then(|| Url::parse(&format!("http://{text}/")).ok()).flatten();
    match Url::parse(text).ok().filter(Url::has_host).or_else(bare)?.host()? {
        Host::Domain(domain) => Some(domain.to_owned()),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// Resolves the addresses of these machines. Blocks.
pub(crate) fn resolve(domains: &[String], context: &mut Context) {
    for (at, domain) in domains.iter().enumerate() {
        let addresses = if at < MOST_DOMAINS {
            let found = System.resolve(domain).unwrap_or_default();
            found.into_iter().map(|address| address.to_string()).collect()
        } else {
            vec![UNKNOWN.to_owned()]
        };
        context.addresses.insert(domain.clone(), addresses);
    }
}

/// Notes that the addresses were not resolved in time.
pub(crate) fn unresolved(domains: &[String], context: &mut Context) {
    let unknown = |domain: &String| (domain.clone(), vec![UNKNOWN.to_owned()]);
    context.addresses.extend(domains.iter().map(unknown));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(params: &str) -> Message {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        Message::read(&text).unwrap()
    }

    #[test]
    fn a_resource_is_a_file_a_page_or_the_servers_own() {
        let of = |uri: &str| {
            let action = resource(&message(&format!(r#"{{"uri":"{uri}"}}"#)), "s").unwrap();
            serde_json::to_string(&action).unwrap()
        };
        assert_eq!(of("file:///etc/a%20b"), r#"{"kind":"file_read","path":"/etc/a b"}"#);
        assert_eq!(of("FILE:/x"), r#"{"kind":"file_read","path":"/x"}"#);
        assert_eq!(of("file://host/x"), r#"{"kind":"file_read","path":"file://host/x"}"#);
        assert!(
            of("https://example.org/").contains(r#""arguments":{"url":"https://example.org/"}"#)
        );
        assert!(of("weather://now").contains(r#""arguments":{"name":"now"}"#));
        assert!(of("p://http://10.0.0.1/").contains(r#""arguments":{"name":"http://10.0.0.1/"}"#));
        for path in ["/etc/shadow", "fs:///etc/shadow", "fs:/etc/shadow"] {
            assert!(of(path).contains(r#""arguments":{"path":"/etc/shadow"}"#), "{path}");
        }
        assert!(resource(&message("{}"), "s").is_err());
    }

    #[test]
    fn a_call_without_a_tool_or_with_odd_arguments_is_wrong() {
        let tools = Tools::default();
        for params in ["{}", r#"{"name":1}"#, r#"{"name":"x","arguments":[1]}"#] {
            assert!(call(&message(params), "s", &tools).is_err(), "{params}");
        }
        assert!(call(&message(r#"{"name":"x","arguments":null}"#), "s", &tools).is_ok());
    }

    #[test]
    fn machines_are_found_in_urls_and_as_bare_names() {
        let call = call(
            &message(
                r#"{"name":"x","arguments":{"a":"https://One.example/p","b":[{"hostName":"two.example.org"},
                {"c":"see three.example for more"}],"host":"10.0.0.1","file":"main.rs"}}"#,
            ),
            "s",
            &Tools::default(),
        );
        assert_eq!(domains(&call.unwrap()), ["one.example", "two.example.org"]);
    }

    #[test]
    fn what_a_person_is_asked_for_is_judged_field_by_field() {
        let form = message(r#"{"requestedSchema":{"properties":{"password":{},"name":{}}}}"#);
        assert_eq!(elicitation(form.params().unwrap()).len(), 2);
        let link = message(r#"{"url":"http://169.254.169.254/","requestedSchema":{}}"#);
        assert!(matches!(
            elicitation(link.params().unwrap()).as_slice(),
            [Action::Navigate { .. }]
        ));
    }
}
