//! The step that a request takes after the checks before it: the handler of its route, or the router
//! that finds one.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use crate::route::Handler;

/// The next step behind the guard.
pub(crate) enum NextStep<'a> {
    Handler(&'a Handler),
    Router(Next),
}

impl NextStep<'_> {
    pub(crate) async fn run(self, app: &App, request: Request) -> Response {
        match self {
            Self::Handler(handler) => handler(request, app.clone()).await,
            Self::Router(next) => next.run(request).await,
        }
    }
}
