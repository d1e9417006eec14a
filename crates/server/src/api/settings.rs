//! The settings of a person, and the answers that are remembered for them.

use axum::Json;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use countersign_core::policy::SkillChoices;
use countersign_gate::id::RememberedId;
use countersign_gate::preferences::{Logging, Preferences};
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::Signed;
use crate::body::{self, Path};
use crate::error::Problem;
use crate::page::Listed;
use crate::route::{Route, get, row};

/// The settings to change. A setting that is left out stays as it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SettingsChange")]
struct Change {
    /// Everything is confirmed without asking, except what always asks.
    autonomous: Option<bool>,
    /// The amount that goes on record.
    logging: Option<Logging>,
    /// Programs with a key ask too.
    confirm_programs: Option<bool>,
    /// Days until your records lose their content; 0 for as long as everybody's.
    retention_days: Option<u32>,
    /// Your choices per app and skill, all of them.
    skills: Option<SkillChoices>,
}

/// A yes that is remembered.
#[derive(Debug, Serialize, JsonSchema)]
struct RememberedView {
    remembered_id: String,
    /// The reach: one `session`, one `agent` in one workspace, or `everywhere`.
    reach: &'static str,
    session_id: Option<String>,
    /// The workspace of the agent it is for.
    workspace_id: Option<String>,
    /// The key of the agent it is for, by the first of its line; none for your own assistant.
    key_id: Option<String>,
    /// The kind of action, or the skill or tool.
    action: String,
    rules: Vec<String>,
    /// The question that was answered.
    approval_id: String,
    created_at: String,
    expires_at: String,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::SETTINGS, "show_settings")
            .says("Your settings.")
            .gives::<Preferences>(200)
            .to(show),
        row(Method::PATCH, path::SETTINGS, "change_settings")
            .says("Changes your settings, from the next action on.")
            .takes::<Change>()
            .gives::<Preferences>(200)
            .to(change),
        get(path::SETTINGS_REMEMBERED, "list_remembered")
            .says("Your remembered answers.")
            .gives::<Listed<RememberedView>>(200)
            .to(remembered),
        row(Method::DELETE, path::SETTINGS_REMEMBERED_ANSWER, "forget_remembered")
            .says("Forgets an answer: its question is asked again from now on.")
            .by_socket_alone()
            .gives_media(204, "")
            .to(forget),
    ]
}

async fn show(
    State(app): State<App>,
    Signed(person): Signed,
) -> Result<Json<Preferences>, Problem> {
    Ok(Json(app.gate.settings(&person).await?))
}

async fn change(
    State(app): State<App>,
    Signed(person): Signed,
    body::Json(change): body::Json<Change>,
) -> Result<Json<Preferences>, Problem> {
    let changed = app.gate.change_settings(&person, |settings| {
        let Change { autonomous, logging, confirm_programs, retention_days, skills } = &change;
        settings.autonomous = autonomous.unwrap_or(settings.autonomous);
        settings.logging = logging.unwrap_or(settings.logging);
        settings.confirm_programs = confirm_programs.unwrap_or(settings.confirm_programs);
        if let Some(days) = retention_days {
            settings.retention_days = Some(*days).filter(|days| *days > 0);
        }
        if let Some(skills) = skills {
            settings.skills = skills.clone();
        }
    });
    Ok(Json(changed.await?))
}

async fn remembered(
    State(app): State<App>,
    Signed(person): Signed,
) -> Result<Json<Listed<RememberedView>>, Problem> {
    let answers = app.gate.remembered_answers(&person).await?;
    let views = answers.into_iter().map(|answer| RememberedView {
        remembered_id: answer.id.to_string(),
        reach: answer.reach.as_str(),
        session_id: answer.session.map(|id| id.to_string()),
        workspace_id: answer.workspace.map(|id| id.to_string()),
        key_id: answer.key.map(|id| id.to_string()),
        action: answer.action,
        rules: answer.rules,
        approval_id: answer.approval.to_string(),
        created_at: answer.created_at.to_string(),
        expires_at: answer.expires_at.to_string(),
    });
    Ok(Json(Listed::whole(views)))
}

async fn forget(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<RememberedId>,
) -> Result<StatusCode, Problem> {
    app.gate.forget_answer(&person, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
