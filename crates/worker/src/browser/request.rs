//! A request that a page wants to send, held in `Fetch`.
//!
//! A request that only reads goes on when its address may be reached. One that can change something
//! is shown first: a method other than those that read, or a body. On a yes, exactly the body that
//! was shown is sent.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use countersign_core::Action;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::cdp::Cdp;
use super::events::text;
use super::state::{Held, Shared};

/// The most lines of details, and the most characters of one.
const MOST_DETAILS: usize = 60;
const MOST_CHARACTERS: usize = 300;

/// Words of fields that hold an amount of money.
const AMOUNTS: [&str; 7] = ["amount", "total", "price", "sum", "cost", "betrag", "value"];

/// Lets a request go on, ends it, or asks.
pub(super) fn paused(cdp: &Arc<Cdp>, shared: &Arc<Shared>, session: &str, params: &Value) {
    let id = text(params, "/requestId").to_owned();
    let release = Release { cdp: Arc::clone(cdp), session: session.to_owned(), id };
    let request = Request {
        method: text(params, "/request/method").to_owned(),
        url: text(params, "/request/url").to_owned(),
        content_type: header(params, "content-type"),
        flight: text(params, "/networkId").to_owned(),
        body: None,
    };
    let found = body(params).and_then(|body| {
        let request = Request { body, ..request.clone() };
        request.answer(shared).map(|answer| (request, answer))
    });
    match found {
        Ok((request, Answer::GoOn)) => request.go_on(shared, &release),
        Ok((request, Answer::Ask)) => request.ask(shared, release),
        Err(why) => request.fail(shared, &release, &why),
    }
}

/// A request that a page wants to send.
#[derive(Debug, Clone)]
struct Request {
    method: String,
    url: String,
    content_type: String,
    /// The number that the browser's network gives it.
    flight: String,
    body: Option<Vec<u8>>,
}

/// The answer to a request that may be sent at all.
enum Answer {
    GoOn,
    Ask,
}

impl Request {
    /// Decides; an error is the reason for which it ends.
    fn answer(&self, shared: &Shared) -> Result<Answer, String> {
        if shared.secrets.are_in(&self.url) {
            return Err("the address contains a credential".to_owned());
        }
        // A fragment stays in the browser.
        shared.network.admit(self.url.split('#').next().unwrap_or(&self.url))?;
        let reads = matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        match &self.body {
            None if reads => Ok(Answer::GoOn),
            Some(body) if shared.secrets.are_in(&String::from_utf8_lossy(body)) => {
                let url = Url::parse(&self.url).map_err(|error| error.to_string())?;
                // The sign-in itself, at the origin that the credential is for.
                if shared.state().sign_in == Some(url.origin().ascii_serialization()) {
                    Ok(Answer::GoOn)
                } else {
                    Err("the body contains a credential".to_owned())
                }
            }
            Some(_) | None => Ok(Answer::Ask),
        }
    }

    fn go_on(&self, shared: &Shared, release: &Release) {
        shared.change(|state| state.in_flight.insert(self.flight.clone()));
        release.go_on(self.body.as_deref());
    }

    fn fail(&self, shared: &Shared, release: &Release, why: &str) {
        shared.note(&format!("{} {}: {why}", self.method, self.url));
        release.fail();
    }

    /// Asks, and on a yes sends exactly what was shown.
    fn ask(self, shared: &Arc<Shared>, release: Release) {
        let body = self.body.clone().unwrap_or_default();
        let details = details(&self.method, &self.url, &self.content_type, &body);
        let action = Action::HttpRequest {
            method: self.method.clone(),
            url: self.url.clone(),
            body: String::from_utf8(body).ok(),
        };
        let mine = Arc::clone(shared);
        let decide = Box::new(move |answer: Result<(), String>| match answer {
            Ok(()) => self.go_on(&mine, &release),
            Err(why) => self.fail(&mine, &release, &why),
        });
        shared.ask(Held { action, details, decide });
    }
}

/// One request that waits.
struct Release {
    cdp: Arc<Cdp>,
    session: String,
    id: String,
}

impl Release {
    fn go_on(&self, body: Option<&[u8]>) {
        let mut params = json!({"requestId": self.id});
        if let (Some(body), Some(fields)) =
            (body.filter(|it| !it.is_empty()), params.as_object_mut())
        {
            fields.insert("postData".to_owned(), Value::from(STANDARD.encode(body)));
        }
        self.cdp.tell(Some(&self.session), "Fetch.continueRequest", &params);
    }

    fn fail(&self) {
        let params = json!({"requestId": self.id, "errorReason": "BlockedByClient"});
        self.cdp.tell(Some(&self.session), "Fetch.failRequest", &params);
    }
}

/// Returns the body of a request; one that the browser does not show completely is an error.
fn body(params: &Value) -> Result<Option<Vec<u8>>, String> {
    let unseen = || "a part of the body cannot be seen, such as a file".to_owned();
    let has = params.pointer("/request/hasPostData").and_then(Value::as_bool) == Some(true);
    let entries = params.pointer("/request/postDataEntries").and_then(Value::as_array);
    let Some(entries) = entries else {
        return if has { Err(unseen()) } else { Ok(None) };
    };
    let mut body = Vec::new();
    for entry in entries {
        let part = entry.get("bytes").and_then(Value::as_str).ok_or_else(unseen)?;
        body.extend(STANDARD.decode(part).map_err(|_| unseen())?);
    }
    Ok(Some(body))
}

fn header(params: &Value, name: &str) -> String {
    let headers = params.pointer("/request/headers").and_then(Value::as_object);
    let found = headers.and_then(|all| all.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)));
    found.and_then(|(_, value)| value.as_str()).unwrap_or_default().to_owned()
}

/// The lines for a person: where it goes, every field, the amounts first.
fn details(method: &str, url: &str, content_type: &str, body: &[u8]) -> Vec<String> {
    let origin = Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let mut lines = vec![format!("{method} to {origin}")];
    let fields = fields(content_type, body);
    match fields {
        Some(mut fields) => {
            fields.sort_by_key(|(name, _)| !is_amount(name));
            let left = fields.len().saturating_sub(MOST_DETAILS);
            for (name, value) in fields.into_iter().take(MOST_DETAILS) {
                let kind = if is_amount(&name) { "amount" } else { "field" };
                let line = format!("{kind} {name}: {value}");
                lines.push(line.chars().take(MOST_CHARACTERS).collect());
            }
            if left > 0 {
                lines.push(format!("{left} further fields"));
            }
        }
        None if body.is_empty() => lines.push("no body".to_owned()),
        None => {
            let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(body));
            lines.push(format!("{} bytes of {content_type}, SHA-256 {digest}", body.len()));
        }
    }
    lines
}

fn is_amount(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    AMOUNTS.iter().any(|word| name.contains(word))
}

/// Returns the fields of a body, where its type is understood.
fn fields(content_type: &str, body: &[u8]) -> Option<Vec<(String, String)>> {
    let (kind, rest) = content_type.split_once(';').unwrap_or((content_type, ""));
    match kind.trim().to_ascii_lowercase().as_str() {
        "application/x-www-form-urlencoded" => {
            let pairs = url::form_urlencoded::parse(body);
            Some(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
        }
        "application/json" => {
            let value = serde_json::from_slice(body).ok()?;
            let mut found = Vec::new();
            flatten("", &value, &mut found);
            Some(found)
        }
        "multipart/form-data" => {
            let boundary = rest.split(';').find_map(|it| it.trim().strip_prefix("boundary="))?;
            Some(parts(std::str::from_utf8(body).ok()?, boundary.trim_matches('"')))
        }
        _ => None,
    }
}

fn flatten(name: &str, value: &Value, found: &mut Vec<(String, String)>) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| flatten(&below(key), value, found));
        }
        Value::Array(all) => {
            all.iter()
                .enumerate()
                .for_each(|(n, value)| flatten(&below(&n.to_string()), value, found));
        }
        Value::String(text) => found.push((name.to_owned(), text.clone())),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            found.push((name.to_owned(), value.to_string()));
        }
    }
}

fn parts(body: &str, boundary: &str) -> Vec<(String, String)> {
    let part = |part: &str| {
        let (head, content) = part.split_once("\r\n\r\n")?;
        let name = head.split_once("name=\"")?.1.split('"').next()?;
        Some((name.to_owned(), content.trim_end_matches("\r\n").to_owned()))
    };
    body.split(&format!("--{boundary}")).filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_type_of_form_are_shown_with_amounts_first() {
        let form = details(
            "POST",
            "https://shop.example/pay?x=1",
            "application/x-www-form-urlencoded",
            b"to=Anna+B&amount=12.50",
        );
        assert_eq!(
            form,
            ["POST to https://shop.example", "amount amount: 12.50", "field to: Anna B"]
        );
        let json = br#"{"order":{"total":3,"to":["x"]}}"#;
        let json =
            details("POST", "https://shop.example/", "application/json; charset=utf-8", json);
        assert_eq!(json[1..], ["amount order.total: 3", "field order.to.0: x"]);
        let multipart = b"--b\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\n1\r\n--b--\r\n";
        let multipart =
            details("POST", "https://shop.example/", "multipart/form-data; boundary=b", multipart);
        assert_eq!(multipart[1..], ["field q: 1"]);
        let unknown = details("POST", "https://shop.example/", "text/plain", b"\xff");
        assert!(unknown[1].starts_with("1 bytes of text/plain"), "{unknown:?}");
    }

    #[test]
    fn a_body_that_is_not_shown_completely_is_an_error() {
        let request = |request: Value| body(&json!({"request": request}));
        assert_eq!(request(json!({})), Ok(None));
        assert!(request(json!({"hasPostData": true})).is_err());
        let entries = json!([{"bytes": "YQ=="}, {"bytes": "Yg=="}]);
        let shown = request(json!({"hasPostData": true, "postDataEntries": entries}));
        assert_eq!(shown, Ok(Some(b"ab".to_vec())));
        let entries = json!([{"bytes": "YQ=="}, {}]);
        assert!(request(json!({"hasPostData": true, "postDataEntries": entries})).is_err());
    }
}
