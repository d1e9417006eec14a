//! Pages for browsers: rendered, redirected to, or shown in place of a problem, in the language of
//! the reader.
//!
//! Knows neither people nor the gate.

use askama::Template;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};

use crate::error::Problem;

mod language;

pub(crate) use self::language::{COOKIE as LANGUAGE_COOKIE, Text};

/// Renders a page.
pub(crate) fn show(page: &impl Template) -> Result<Html<String>, Problem> {
    page.render().map(Html).map_err(|error| {
        tracing::error!(%error, "a page could not be written");
        let detail = "this page could not be written; see the log";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "page", detail)
    })
}

/// Redirects to another page.
pub(crate) fn go(to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    t: Text,
    status: StatusCode,
    detail: &'a str,
}

/// Shows a person at a browser an error page where a program gets problem details.
pub(crate) fn render_problem(t: Text, response: Response) -> Response {
    let Some(problem) = response.extensions().get::<Problem>().cloned() else { return response };
    let status = problem.status();
    match show(&ErrorPage { t, status, detail: problem.detail() }) {
        Ok(page) => {
            let mut dressed = (status, page).into_response();
            keep_headers(response.headers(), dressed.headers_mut());
            *dressed.extensions_mut() = response.extensions().clone();
            dressed
        }
        Err(_) => response,
    }
}

fn keep_headers(from: &HeaderMap, to: &mut HeaderMap) {
    for (name, value) in from {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            to.insert(name, value.clone());
        }
    }
}
