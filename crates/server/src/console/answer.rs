//! Answering, by forms: one question, several at once, or with the action changed.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use countersign_core::Action;
use countersign_gate::approval::{Answer, Scope, State as Settled};
use countersign_gate::gate::{Answered, PersonAnswer};
use countersign_gate::id::ApprovalId;
use serde_json::Value;

use crate::api::approval::{answer_all, token_of};
use crate::app::App;
use crate::auth::Signed;
use crate::body::{Form, Path};
use crate::console::{Frame, done};
use crate::error::Problem;
use crate::html::show;
use crate::route::{Route, form};

pub(super) fn routes() -> Vec<Route> {
    vec![
        form("/approvals/{id}/answer", "answer_form").says("Answers a question.").to(answer),
        form("/approvals/{id}/edit", "edit_form")
            .says("Approves an edited action; it is judged again.")
            .to(edit),
        form("/approvals/answer", "answer_group_form")
            .says("Answers several questions, each with its own token.")
            .gives_media(200, "text/html")
            .to(answer_group),
    ]
}

fn say(form: &Form) -> Result<Answer, Problem> {
    match form.need("say")? {
        "approve" => Ok(Answer::Approve),
        "reject" => Ok(Answer::Reject),
        _ => Err(Problem::bad_request("`say` is neither `approve` nor `reject`")),
    }
}

fn scope(form: &Form) -> Result<Scope, Problem> {
    match form.get("scope") {
        None | Some("once") => Ok(Scope::Once),
        Some("session") => Ok(Scope::Session),
        Some("always") => Ok(Scope::Always),
        Some("everywhere") => Ok(Scope::Everywhere),
        Some(_) => {
            let detail = "`scope` is none of `once`, `session`, `always`, `everywhere`";
            Err(Problem::bad_request(detail))
        }
    }
}

async fn answer(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<ApprovalId>,
    form: Form,
) -> Result<Response, Problem> {
    let say = say(&form)?;
    let reply = PersonAnswer {
        // The scope of a no cannot be chosen.
        scope: if say == Answer::Approve { scope(&form)? } else { Scope::Once },
        feedback: form.get("feedback").map(str::to_owned),
        token: Some(token_of(form.need("token")?)?),
        ..PersonAnswer::plain(id, say)
    };
    Ok(told(&app.gate.answer(&person, reply).await?))
}

/// Redirects to the page that shows the answer.
fn told(answered: &Answered) -> Response {
    match answered {
        Answered::Settled(state) => done("/", state.as_str()),
        Answered::Counted { .. } => done("/", "counted"),
        Answered::AskedAgain(next) => done(&format!("/approvals/{next}"), "asked-again"),
    }
}

async fn edit(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<ApprovalId>,
    form: Form,
) -> Result<Response, Problem> {
    let card = app.gate.card(&person, &id).await?;
    let edited = edited(card.action_json, form.get("field"), form.need("edited")?)?;
    let reply = PersonAnswer {
        edited: Some(edited),
        feedback: form.get("feedback").map(str::to_owned),
        token: Some(token_of(form.need("token")?)?),
        ..PersonAnswer::plain(id, Answer::Approve)
    };
    let answered = app.gate.answer(&person, reply).await?;
    match &answered {
        Answered::Settled(Settled::Approved { .. }) => Ok(done("/", "edited")),
        _ => Ok(told(&answered)),
    }
}

/// Returns the action with one field, or all of it, replaced by the text a person wrote.
fn edited(action: Value, field: Option<&str>, text: &str) -> Result<Action, Problem> {
    // A browser sends every line break as two characters.
    let text = text.replace("\r\n", "\n");
    let wanted = match (action, field) {
        (Value::Object(mut action), Some(field)) if action.contains_key(field) => {
            action.insert(field.to_owned(), Value::from(text));
            Value::Object(action)
        }
        (_, Some(_)) => return Err(Problem::bad_request("the action has no such part")),
        (_, None) => {
            serde_json::from_str(&text).map_err(|error| crate::body::not_understood(&error))?
        }
    };
    serde_json::from_value(wanted).map_err(|error| crate::body::not_understood(&error))
}

#[derive(Template)]
#[template(path = "answers.html")]
struct Answers {
    frame: Frame,
    results: Vec<countersign_wire::Answered>,
}

async fn answer_group(
    State(app): State<App>,
    frame: Frame,
    form: Form,
) -> Result<Response, Problem> {
    let say = say(&form)?;
    let mut replies = Vec::new();
    for answer in form.all("answer") {
        let (id, token) = answer.split_once(' ').unwrap_or((answer, ""));
        let id = ApprovalId::parse(id).map_err(Problem::bad_request)?;
        // A malformed token is a wrong token: it spoils only its own answer.
        replies.push((PersonAnswer::plain(id, say), Some(token_of(token))));
    }
    if replies.is_empty() {
        return Err(Problem::bad_request("there is nothing to answer"));
    }
    let results = answer_all(&app, &frame.person, replies).await?;
    if results.iter().all(|result| result.accepted) {
        let word = if say == Answer::Approve { "all-approved" } else { "all-rejected" };
        return Ok(done("/", word));
    }
    Ok(show(&Answers { frame: frame.on("answers"), results })?.into_response())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_part_is_changed_and_the_rest_stays() {
        let action = json!({"kind": "shell", "command": "rm -rf build", "cwd": "/repo"});
        let changed = edited(action.clone(), Some("command"), "ls\r\nls").unwrap();
        let wanted = Action::Shell { command: "ls\nls".into(), cwd: Some("/repo".into()) };
        assert_eq!(changed, wanted);
        assert!(edited(action.clone(), Some("hidden"), "x").is_err());
        let whole = r#"{"kind":"navigate","url":"https://a.test"}"#;
        assert!(matches!(edited(action.clone(), None, whole), Ok(Action::Navigate { .. })));
        assert!(edited(action, None, "{").is_err());
    }
}
