//! Apps and their skills: which of them ask.

use askama::Template;
use axum::extract::State;
use axum::response::{Html, Response};

use crate::api::app::{AppView, apps, choose_for_app, choose_for_skill};
use crate::app::App;
use crate::auth::Signed;
use crate::body::Form;
use crate::console::{Frame, done};
use crate::error::Problem;
use crate::html::show;
use crate::route::{Route, form, page};

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/apps", "apps").says("The skills that ask, by app.").to(look),
        form("/apps", "choose_form").says("Chooses whether an app or a skill asks.").to(choose),
    ]
}

#[derive(Template)]
#[template(path = "apps.html")]
struct Apps {
    frame: Frame,
    apps: Vec<AppView>,
}

async fn look(State(app): State<App>, frame: Frame) -> Result<Html<String>, Problem> {
    let apps = apps(&app, &frame.person).await?;
    show(&Apps { frame: frame.on("apps"), apps })
}

async fn choose(
    State(app): State<App>,
    Signed(person): Signed,
    form: Form,
) -> Result<Response, Problem> {
    let (confirm, always) = match form.need("confirm")? {
        "default" => (None, false),
        "ask" => (Some(true), false),
        "never" => (Some(false), false),
        "always" => (Some(true), true),
        _ => return Err(Problem::bad_request("no such choice")),
    };
    match (form.get("app"), form.get("skill")) {
        (Some(id), None) => choose_for_app(&app, &person, id, confirm).await?,
        (None, Some(id)) => choose_for_skill(&app, &person, id, confirm, always).await?,
        _ => return Err(Problem::bad_request("name an app or a skill")),
    }
    Ok(done("/apps", "chosen"))
}
