//! Apps and their skills: the kind of access, the declared confirmation, and the person's choice.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::Method;
use countersign_core::app::{Access, Skill};
use countersign_core::policy::{AppChoice, SkillChoice};
use countersign_gate::Person;
use countersign_wire::path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::Signed;
use crate::body::{self, Path};
use crate::error::Problem;
use crate::page::Listed;
use crate::route::{Route, get, row};

/// One app.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AppView {
    pub(crate) app_id: String,
    /// Your choice for all of its skills: whether a person is asked; as declared, if none.
    pub(crate) confirm: Option<bool>,
    pub(crate) skills: Vec<SkillView>,
}

/// One skill.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillView {
    pub(crate) skill_id: String,
    /// `read`, `write` or `sensitive`.
    pub(crate) access: Access,
    /// True when a person is asked, as declared.
    pub(crate) confirm_by_default: bool,
    /// Seconds until silence is a refusal, where it has its own.
    pub(crate) timeout: Option<u32>,
    /// Your choice: whether a person is asked; as the app's choice says, if none.
    pub(crate) confirm: Option<bool>,
    /// A person is asked whatever the session, autonomous mode or an earlier answer says.
    pub(crate) always: bool,
}

impl SkillView {
    /// The kind of access as a word.
    pub(crate) const fn word(&self) -> &'static str {
        match self.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Sensitive => "sensitive",
        }
    }
}

/// A choice for an app.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChooseApp {
    /// True when a person is asked; `null` for as declared.
    confirm: Option<bool>,
}

/// A choice for a skill.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChooseSkill {
    /// True when a person is asked; `null` for as the app's choice says.
    confirm: Option<bool>,
    #[serde(default)]
    always: bool,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::APPS, "list_apps")
            .says("Apps and their skills, with your choices.")
            .gives::<Listed<AppView>>(200)
            .to(list),
        row(Method::PUT, path::APP, "choose_for_app")
            .says("Chooses whether the skills of an app ask.")
            .takes::<ChooseApp>()
            .gives::<Listed<AppView>>(200)
            .to(choose_app),
        row(Method::PUT, path::SKILL, "choose_for_skill")
            .says("Chooses whether a skill asks.")
            .takes::<ChooseSkill>()
            .gives::<Listed<AppView>>(200)
            .to(choose_skill),
    ]
}

async fn list(
    State(app): State<App>,
    Signed(person): Signed,
) -> Result<Json<Listed<AppView>>, Problem> {
    Ok(Json(Listed::whole(apps(&app, &person).await?)))
}

/// Apps and their skills, with a person's choices.
pub(crate) async fn apps(app: &App, person: &Person) -> Result<Vec<AppView>, Problem> {
    let choices = app.gate.settings(person).await?.skills;
    let policy = app.gate.policy();
    let mut apps: BTreeMap<String, Vec<(String, Skill)>> = BTreeMap::new();
    for id in policy.skill_ids() {
        let name = id.split('.').next().unwrap_or(&id).to_owned();
        if let Some(skill) = policy.skill(&id) {
            apps.entry(name).or_default().push((id, skill));
        }
    }
    let views = apps.into_iter().map(|(app_id, skills)| {
        let skills = skills.into_iter().map(|(skill_id, skill)| {
            let chosen = choices.skills.get(&skill_id).copied().unwrap_or_default();
            SkillView {
                skill_id,
                access: skill.access,
                confirm_by_default: skill.confirm,
                timeout: skill.timeout,
                confirm: chosen.confirm,
                always: chosen.always,
            }
        });
        let confirm = choices.apps.get(&app_id).and_then(|choice| choice.confirm);
        AppView { skills: skills.collect(), confirm, app_id }
    });
    Ok(views.collect())
}

async fn choose_app(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<String>,
    body::Json(choice): body::Json<ChooseApp>,
) -> Result<Json<Listed<AppView>>, Problem> {
    choose_for_app(&app, &person, &id, choice.confirm).await?;
    list(State(app), Signed(person)).await
}

/// Chooses whether the skills of an app ask; as declared, if `None`.
pub(crate) async fn choose_for_app(
    app: &App,
    person: &Person,
    id: &str,
    confirm: Option<bool>,
) -> Result<(), Problem> {
    let known = app.gate.policy().skill_ids();
    if !known.iter().any(|skill| skill.split('.').next() == Some(id)) {
        return Err(Problem::not_found());
    }
    let change = app.gate.change_settings(person, |settings| {
        match confirm {
            Some(_) => settings.skills.apps.insert(id.to_owned(), AppChoice { confirm }),
            None => settings.skills.apps.remove(id),
        };
    });
    change.await?;
    Ok(())
}

async fn choose_skill(
    State(app): State<App>,
    Signed(person): Signed,
    Path(id): Path<String>,
    body::Json(choice): body::Json<ChooseSkill>,
) -> Result<Json<Listed<AppView>>, Problem> {
    let ChooseSkill { confirm, always } = choice;
    choose_for_skill(&app, &person, &id, confirm, always).await?;
    list(State(app), Signed(person)).await
}

/// Chooses whether a skill asks; as its app's choice says, if `None`.
pub(crate) async fn choose_for_skill(
    app: &App,
    person: &Person,
    id: &str,
    confirm: Option<bool>,
    always: bool,
) -> Result<(), Problem> {
    if app.gate.policy().skill(id).is_none() {
        return Err(Problem::not_found());
    }
    let change = app.gate.change_settings(person, |settings| {
        if confirm.is_none() && !always {
            settings.skills.skills.remove(id);
        } else {
            settings.skills.skills.insert(id.to_owned(), SkillChoice { confirm, always });
        }
    });
    change.await?;
    Ok(())
}
