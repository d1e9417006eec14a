//! The API: one file per noun.

use axum::http::{Method, StatusCode, Uri};

use crate::error::Problem;
use crate::route::Route;

mod account;
mod action;
pub(crate) mod app;
pub(crate) mod approval;
mod audit;
mod batch;
mod check;
mod confirmation;
mod device;
mod execute;
mod file;
mod halt;
mod health;
pub(crate) mod history;
pub(crate) mod key;
mod machine;
mod me;
mod offline;
mod policy;
mod session;
mod settings;
mod upload;
mod usage;
mod user;
mod wait;

pub(crate) fn routes() -> Vec<Route> {
    [
        check::routes(),
        session::routes(),
        action::routes(),
        execute::routes(),
        batch::routes(),
        confirmation::routes(),
        file::routes(),
        upload::routes(),
        approval::routes(),
        history::routes(),
        audit::routes(),
        settings::routes(),
        app::routes(),
        key::routes(),
        device::routes(),
        user::routes(),
        account::routes(),
        usage::routes(),
        halt::routes(),
        me::routes(),
        policy::routes(),
        machine::routes(),
        offline::routes(),
        health::routes(),
    ]
    .concat()
}

pub(crate) async fn no_such_route(method: Method, uri: Uri) -> Problem {
    let path = uri.path();
    let detail = format!("there is no {method} `{path}`: see /api/docs");
    Problem::new(StatusCode::NOT_FOUND, "no-such-route", detail)
}

pub(crate) async fn no_such_method() -> Problem {
    let detail = "this method is not allowed here: see `Allow`";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no-such-method", detail)
}

/// Checks a name that a user gives to something. It is shown to people, so it is short and has no
/// characters that could deceive them.
pub(crate) fn name(text: &str) -> Result<String, Problem> {
    let text = countersign_core::visible::one_line(text.trim()).into_owned();
    match text.chars().count() {
        1..=100 => Ok(text),
        _ => Err(Problem::bad_request("a name has 1 to 100 characters")),
    }
}
