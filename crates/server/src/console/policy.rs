//! The policy in force, layer by layer, and its judgement of an action to try out.

use askama::Template;
use axum::extract::State;
use axum::response::Html;
use countersign_core::policy::Outline;
use countersign_core::{Action, Context, Judgement};
use countersign_gate::GateError;
use countersign_gate::judging::Lane;
use serde_json::json;

use crate::app::App;
use crate::body::{Form, not_understood};
use crate::console::Frame;
use crate::console::piece::{How, Piece, pieces, plain};
use crate::error::Problem;
use crate::html::show;
use crate::route::{Route, form, page};

/// The kinds of action that consist of one text, and the field that holds it; all others are JSON.
const KINDS: [(&str, &str); 9] = [
    ("shell", "command"),
    ("navigate", "url"),
    ("file_read", "path"),
    ("file_write", "path"),
    ("file_delete", "path"),
    ("applescript", "script"),
    ("skill", "skill"),
    ("named", "name"),
    ("json", ""),
];

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/policy", "policy").says("The current policy.").to(look),
        form("/policy", "try_form")
            .says("Judges an action with it, and does nothing else.")
            .gives_media(200, "text/html")
            .to(attempt),
    ]
}

#[derive(Template)]
#[template(path = "policy.html")]
struct Policy {
    frame: Frame,
    layers: Vec<Outline>,
    /// The kind and text of the last attempt.
    kind: String,
    input: String,
    tried: Option<Tried>,
}

impl Policy {
    fn kinds(&self) -> Vec<(&'static str, bool)> {
        KINDS.iter().map(|(kind, _)| (*kind, *kind == self.kind)).collect()
    }
}

/// An action and its judgement.
struct Tried {
    verdict: &'static str,
    risk: &'static str,
    score: String,
    text: Vec<Piece>,
    reason: Vec<Piece>,
    findings: Vec<(String, Vec<Piece>, Option<String>)>,
    factors: Vec<(String, String, Vec<Piece>)>,
    trace: Vec<(String, &'static str, Vec<Piece>)>,
    changes: Vec<String>,
}

async fn look(State(app): State<App>, frame: Frame) -> Result<Html<String>, Problem> {
    let layers = app.gate.policy().outline();
    let frame = frame.on("policy");
    show(&Policy { frame, layers, kind: "shell".into(), input: String::new(), tried: None })
}

async fn attempt(
    State(app): State<App>,
    frame: Frame,
    form: Form,
) -> Result<Html<String>, Problem> {
    let (kind, input) = (form.need("kind")?.to_owned(), form.need("input")?.to_owned());
    let choices = app.gate.settings(&frame.person).await?.skills;
    let policy = app.gate.policy().choosing(choices);
    let action = action(&kind, &input)?;
    let context = Context::default();
    let lane = Lane::of_person(&frame.person);
    let judged = app.gate.judge(&lane, &action, &policy, &context).await;
    let judgement = judged.map_err(GateError::from)?;
    let changes = policy.would_change(&action, &context, &judgement);
    let tried = Some(Tried::of(&action, judgement, changes));
    show(&Policy { frame: frame.on("policy"), layers: policy.outline(), kind, input, tried })
}

fn action(kind: &str, input: &str) -> Result<Action, Problem> {
    let input = input.replace("\r\n", "\n");
    let known = KINDS.iter().find(|(known, _)| *known == kind);
    let (_, part) = known.ok_or_else(|| Problem::bad_request("no such kind of action"))?;
    if part.is_empty() {
        return serde_json::from_str(&input).map_err(|error| not_understood(&error));
    }
    let mut action = json!({"kind": kind});
    if let Some(fields) = action.as_object_mut() {
        fields.insert((*part).to_owned(), input.into());
    }
    serde_json::from_value(action).map_err(|error| not_understood(&error))
}

impl Tried {
    fn of(action: &Action, judgement: Judgement, changes: Vec<String>) -> Self {
        let highlights: Vec<_> = judgement
            .findings
            .iter()
            .filter_map(|finding| finding.span)
            .map(|[start, end]| (start as usize, end as usize, How::Risky))
            .take(200)
            .collect();
        let findings = judgement.findings.into_iter();
        let factors = judgement.risk.factors.into_iter();
        let trace = judgement.trace.into_iter();
        Self {
            verdict: judgement.verdict.as_str(),
            risk: judgement.risk.level.as_str(),
            score: format!("{:.2}", judgement.risk.score),
            text: pieces(action.text().unwrap_or_default(), &highlights),
            reason: plain(&judgement.reason),
            findings: findings.map(|f| (f.rule, plain(&f.reason), f.instead)).collect(),
            factors: factors.map(|f| (f.name, format!("{:.2}", f.value), plain(&f.why))).collect(),
            trace: trace.map(|s| (s.layer, s.said.as_str(), plain(&s.because))).collect(),
            changes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_can_be_tried() {
        for (kind, part) in KINDS {
            let input = if part.is_empty() { r#"{"kind":"screenshot"}"# } else { "something" };
            assert!(action(kind, input).is_ok(), "{kind}");
        }
        assert!(action("other", "x").is_err());
        assert!(action("json", "{").is_err());
    }
}
