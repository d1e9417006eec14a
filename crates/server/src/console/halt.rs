//! Stopping everything, after a confirmation; and resuming.

use askama::Template;
use axum::extract::State;
use axum::response::{Html, Response};

use crate::app::App;
use crate::auth::Signed;
use crate::console::{Frame, done};
use crate::error::Problem;
use crate::html::show;
use crate::route::{Route, form, page};

pub(super) fn routes() -> Vec<Route> {
    vec![
        page("/halt", "halt_page").says("An explanation of stopping everything.").to(look),
        form("/halt", "halt_form").says("Stops everything.").to(halt),
        form("/resume", "resume_form").says("Resumes after a stop.").to(resume),
    ]
}

#[derive(Template)]
#[template(path = "halt.html")]
struct Halt {
    frame: Frame,
}

async fn look(frame: Frame) -> Result<Html<String>, Problem> {
    show(&Halt { frame: frame.on("halt") })
}

async fn halt(State(app): State<App>, Signed(person): Signed) -> Result<Response, Problem> {
    app.gate.halt(&person).await?;
    Ok(done("/", "halted"))
}

async fn resume(State(app): State<App>, Signed(person): Signed) -> Result<Response, Problem> {
    app.gate.resume(&person).await?;
    Ok(done("/", "goes-on"))
}
