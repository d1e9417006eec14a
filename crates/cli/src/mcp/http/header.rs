//! Headers: those that the user sets for the server, and those that MCP copies from a message.

use anyhow::{Context as _, Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::mcp::json::Json;
use crate::mcp::message::Message;

/// A header that is sent with every request to the server.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(super) name: HeaderName,
    pub(super) value: HeaderValue,
}

impl Header {
    /// Parses `Name: value`, where `${VARIABLE}` is replaced from the environment: every process
    /// can see a secret on a command line.
    ///
    /// # Errors
    /// It is not a header, or a variable is not set.
    pub(crate) fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        // The text is not quoted: a secret may be where a name should be.
        let (name, value) =
            text.split_once(':').context("a --header is not of the form `Name: value`")?;
        let name: HeaderName =
            name.trim().parse().map_err(|_| anyhow!("a --header does not begin with a name"))?;
        if is_ours(&name) {
            bail!("`{name}` is for the proxy to set");
        }
        let value = expanded(value.trim(), variable)?;
        // The error does not repeat the value: it may be a secret.
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| anyhow!("the value of `{name}` cannot be sent in a header"))?;
        value.set_sensitive(true);
        Ok(Self { name, value })
    }
}

/// Reports whether a header of this name is set by the proxy, or is invalid.
pub(crate) fn is_for_the_proxy(name: &str) -> bool {
    name.parse().as_ref().map_or(true, is_ours)
}

/// Reports whether a header describes the format of a message.
fn is_ours(name: &HeaderName) -> bool {
    let name = name.as_str();
    let fixed = ["accept", "content-type", "content-length", "host", "connection", "last-event-id"];
    name.starts_with("mcp-") || name == "transfer-encoding" || fixed.contains(&name)
}

fn expanded(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) = after.split_once('}').context("`${` without its `}`")?;
        let found = variable(name).filter(|value| !value.is_empty());
        whole.push_str(before);
        whole.push_str(&found.with_context(|| format!("${name} is not set"))?);
        rest = behind;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// Sets the headers in which a request of the new era repeats parts of its body, for routers that
/// read only headers.
pub(super) fn routing(message: &Message, schema: Option<&Value>, headers: &mut HeaderMap) {
    let Some(version) = message.version() else { return };
    set(headers, "mcp-protocol-version", version);
    let Some(method) = message.method() else { return };
    set(headers, "mcp-method", method);
    let field = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return,
    };
    if let Some(name) = message.param(field).and_then(Json::as_str) {
        set(headers, "mcp-name", name);
    }
    if let (Some(schema), Some(arguments)) = (schema, message.param("arguments")) {
        repeat(schema, arguments, headers);
    }
}

/// Repeats the arguments that their schema wants in a header.
fn repeat(schema: &Value, arguments: &Json, headers: &mut HeaderMap) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        let Some(value) = arguments.get(name) else { continue };
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) {
            let text = match value {
                Json::String(text) => text.clone(),
                Json::Bool(is) => is.to_string(),
                Json::Number(spelled) => spelled.to_string(),
                Json::Null | Json::Array(_) | Json::Object(_) => continue,
            };
            set(headers, &format!("mcp-param-{header}"), &text);
        }
        repeat(property, value, headers);
    }
}

fn set(headers: &mut HeaderMap, name: &str, value: &str) {
    let name = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes());
    if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&encoded(value))) {
        headers.insert(name, value);
    }
}

/// Reports a header that contradicts the message. A program that decides by one and acts by the
/// other can be tricked.
pub(super) fn mismatch(message: &Message, headers: &HeaderMap) -> Option<String> {
    let mut meant = HeaderMap::new();
    routing(message, None, &mut meant);
    for name in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
        let mut said = headers.get_all(name).iter();
        let (one, another) = (said.next(), said.next());
        if another.is_some() {
            return Some(format!("Countersign: the header `{name}` appears twice"));
        }
        // A message of the old era has none of them but the version, which belongs to its session.
        let must_match = meant.contains_key(name) || (one.is_some() && message.version().is_some());
        if must_match && one.and_then(decoded) != meant.get(name).and_then(decoded) {
            return Some(format!("Countersign: the header `{name}` is not what the message says"));
        }
    }
    None
}

/// The decoded value of a header.
fn decoded(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    let wrapped = text.strip_prefix("=?base64?").and_then(|text| text.strip_suffix("?="));
    let Some(wrapped) = wrapped else { return Some(text.to_owned()) };
    String::from_utf8(STANDARD.decode(wrapped).ok()?).ok()
}

/// Encodes a value for a header: unchanged where that is safe, otherwise as base64.
fn encoded(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let wrapped = value.starts_with("=?base64?") && value.ends_with("?=");
    if plain && !wrapped && value.trim() == value {
        return value.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn variable(name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "abc".to_owned())
    }

    #[test]
    fn a_header_takes_its_secret_from_the_environment() {
        let header = Header::parse("Authorization: Bearer ${TOKEN}", variable).unwrap();
        assert_eq!(header.value.to_str().unwrap(), "Bearer abc");
        assert!(!format!("{header:?}").contains("abc"));
        for secret in ["s3same", "s3 same: x"] {
            let told = format!("{:#}", Header::parse(secret, variable).unwrap_err());
            assert!(!told.contains("s3"), "{told}");
        }
        for wrong in ["Authorization", "a b: c", "X: ${NO}", "X: ${TOKEN", "Mcp-Name: x", "Host: x"]
        {
            assert!(Header::parse(wrong, variable).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_request_of_the_new_era_repeats_itself_in_headers() {
        let message = Message::read(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"grüße",
               "arguments":{"region":"eu","deep":{"n":7},"other":"x","list":[]},
               "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        )
        .unwrap();
        let schema = json!({"properties": {
            "region": {"x-mcp-header": "Region"},
            "deep": {"properties": {"n": {"x-mcp-header": "N"}}},
            "list": {"x-mcp-header": "List"}, "absent": {"x-mcp-header": "Absent"},
        }});
        let mut headers = HeaderMap::new();
        routing(&message, Some(&schema), &mut headers);
        let got: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(
            got,
            [
                "mcp-protocol-version: 2026-07-28",
                "mcp-method: tools/call",
                "mcp-name: =?base64?Z3LDvMOfZQ==?=",
                "mcp-param-n: 7",
                "mcp-param-region: eu",
            ]
        );
    }

    #[test]
    fn headers_that_say_something_else_are_found() {
        let modern = Message::read(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_x",
               "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        )
        .unwrap();
        let given = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, HeaderValue::from_static(value));
            }
            mismatch(&modern, &headers)
        };
        let version = ("mcp-protocol-version", "2026-07-28");
        let method = ("mcp-method", "tools/call");
        assert_eq!(given(&[version, method, ("mcp-name", "get_x")]), None);
        assert_eq!(given(&[version, method, ("mcp-name", "=?base64?Z2V0X3g=?=")]), None);
        assert!(given(&[version, method, ("mcp-name", "get_y")]).is_some());
        assert!(given(&[version, ("mcp-method", "tools/list"), ("mcp-name", "get_x")]).is_some());
        assert!(given(&[version, method]).is_some());
        let name = ("mcp-name", "get_x");
        assert!(given(&[version, method, name, name]).is_some());
        let legacy = Message::read(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-11-25"));
        assert_eq!(mismatch(&legacy, &headers), None);
    }

    #[test]
    fn what_no_header_carries_is_wrapped() {
        assert_eq!(encoded("get_x"), "get_x");
        for odd in [" x", "a\nb", "é", "=?base64?eA==?="] {
            assert!(encoded(odd).starts_with("=?base64?"), "{odd:?}");
        }
    }
}
