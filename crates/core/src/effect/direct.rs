//! Effects that an action names outright.

use serde_json::Value;
use url::Url;

use crate::action::Action;
use crate::effect::{Effect, EffectKind};

/// Parameters that name the receivers of something.
const RECIPIENTS: &[&str] =
    &["to", "cc", "bcc", "recipient", "recipients", "attendees", "invitees", "assignee", "channel"];

/// The effects that are in the action itself.
pub(crate) fn effects(action: &Action) -> Vec<Effect> {
    let one = |kind, target: &str| vec![Effect::certain(kind, target)];
    match action {
        Action::FileRead { path } | Action::FileList { path } => one(EffectKind::Read, path),
        Action::FileWrite { path, .. } => one(EffectKind::Write, path),
        Action::FileDelete { path } => one(EffectKind::Delete, path),
        Action::Navigate { url } => connects(url),
        Action::Login { site } => connects(site),
        Action::HttpRequest { method, url, body } => {
            let asks = matches!(method.to_ascii_uppercase().as_str(), "GET" | "HEAD" | "OPTIONS");
            let sends = body.is_some() || !asks;
            let target = host(url);
            let sent = sends.then(|| Effect::certain(EffectKind::Send, target));
            sent.into_iter().chain(connects(url)).collect()
        }
        Action::Download { files } => files.iter().flat_map(|file| connects(&file.url)).collect(),
        Action::ExportPdf { .. } => one(EffectKind::Write, "a PDF file"),
        Action::Screenshot {} => one(EffectKind::Read, "the screen"),
        Action::ReadDom {} => one(EffectKind::Read, "the page"),
        Action::Notify { channel } => one(EffectKind::Send, channel),
        Action::Skill { params, .. } | Action::Tool { arguments: params, .. } => {
            let named = |name: &str| RECIPIENTS.iter().any(|word| name.eq_ignore_ascii_case(word));
            let values = params.iter().filter(|(name, _)| named(name)).map(|(_, value)| value);
            values.flat_map(texts).map(|text| Effect::certain(EffectKind::Send, text)).collect()
        }
        Action::Shell { .. }
        | Action::Code { .. }
        | Action::Ui { .. }
        | Action::Applescript { .. }
        | Action::Named { .. } => Vec::new(),
    }
}

/// The part of an action that cannot be inspected from here.
pub(crate) fn opaque(action: &Action) -> Option<String> {
    match action {
        Action::Tool { server, tool, .. } => Some(format!("what {server}'s tool {tool} does")),
        Action::Skill { skill, .. } => Some(format!("what the skill {skill} does")),
        Action::Named { name, .. } => Some(format!("what {name} does")),
        Action::Ui { label, .. } => {
            Some(format!("what the page or app does with {}", label.as_deref().unwrap_or("this")))
        }
        Action::Shell { .. }
        | Action::Code { .. }
        | Action::FileRead { .. }
        | Action::FileWrite { .. }
        | Action::FileDelete { .. }
        | Action::FileList { .. }
        | Action::Navigate { .. }
        | Action::HttpRequest { .. }
        | Action::Screenshot {}
        | Action::ReadDom {}
        | Action::Download { .. }
        | Action::ExportPdf { .. }
        | Action::Login { .. }
        | Action::Notify { .. }
        | Action::Applescript { .. } => None,
    }
}

fn connects(url: &str) -> Vec<Effect> {
    vec![Effect::certain(EffectKind::Connect, host(url))]
}

/// The host of an address; the whole address where there is none.
pub(crate) fn host(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let host = parsed.as_ref().and_then(Url::host_str).map(str::to_owned);
    host.unwrap_or_else(|| url.to_owned())
}

/// A text, or each text of a list; deeper values are shown with the action.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}
