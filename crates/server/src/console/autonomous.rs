//! Autonomous mode: on after a warning, off at once.

use askama::Template;
use axum::extract::State;
use axum::response::{Html, Response};

use crate::app::App;
use crate::auth::Signed;
use crate::body::Form;
use crate::console::{Frame, done};
use crate::error::Problem;
use crate::html::show;
use crate::route::{Route, form, page};

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/autonomous", "autonomous_page").says("An explanation of autonomous mode.").to(look),
        form("/autonomous", "autonomous_form")
            .says("Switches autonomous mode on or off, from the next action on.")
            .to(switch),
    ]
}

#[derive(Template)]
#[template(path = "autonomous.html")]
struct Autonomous {
    frame: Frame,
    /// The actions that ask all the same.
    always: Vec<String>,
}

async fn look(State(app): State<App>, frame: Frame) -> Result<Html<String>, Problem> {
    let choices = app.gate.settings(&frame.person).await?.skills.skills;
    let always = choices.into_iter().filter(|(_, choice)| choice.always).map(|(id, _)| id);
    show(&Autonomous { frame: frame.on("autonomous"), always: always.collect() })
}

async fn switch(
    State(app): State<App>,
    Signed(person): Signed,
    form: Form,
) -> Result<Response, Problem> {
    let on = match form.need("on")? {
        "true" => true,
        "false" => false,
        _ => return Err(Problem::bad_request("`on` is neither `true` nor `false`")),
    };
    app.gate.change_settings(&person, |settings| settings.autonomous = on).await?;
    Ok(done("/", if on { "autonomous-on" } else { "autonomous-off" }))
}
