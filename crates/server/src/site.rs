//! Where a request goes: past the guard to the handler of its row.
//!
//! ```text
//! method and path name a row ──► guard ──► its handler
//! anything else ──► router: paths with ids, methods that are not there ──► guard ──► handler
//! ```
//!
//! Most requests are for rows whose path is one fixed text, above all proposals. Those are looked up
//! and called straight away: a router copies each layer for each request and boxes what it answers.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::handler::Handler as _;
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use tower::ServiceExt as _;

use crate::api;
use crate::app::App;
use crate::guard::guard;
use crate::route::{Door, Handler, Route, routes};

/// Everything that can be asked of a server.
#[derive(Clone)]
pub(crate) struct Site(Arc<Inside>);

struct Inside {
    app: App,
    /// The rows whose path is one fixed text.
    fixed: HashMap<&'static str, Vec<Fixed>>,
    router: Router,
}

struct Fixed {
    method: Method,
    door: Door,
    handler: Handler,
}

/// What stands behind the guard.
pub(crate) enum Behind<'a> {
    Handler(&'a Handler),
    Router(Next),
}

impl Behind<'_> {
    pub(crate) async fn run(self, app: &App, request: Request) -> Response {
        match self {
            Self::Handler(handler) => handler(request, app.clone()).await,
            Self::Router(next) => next.run(request).await,
        }
    }
}

impl Site {
    pub(crate) fn new(app: &App) -> Self {
        let mut fixed: HashMap<_, Vec<_>> = HashMap::new();
        for route in routes().into_iter().filter(is_fixed) {
            let door = Door::of(&route);
            let Route { method, path, handler, .. } = route;
            fixed.entry(path).or_default().push(Fixed { method, door, handler });
        }
        Self(Arc::new(Inside { app: app.clone(), fixed, router: router(app) }))
    }

    pub(crate) async fn answer(&self, request: Request) -> Response {
        let Inside { app, fixed, router } = &*self.0;
        let here = fixed.get(request.uri().path());
        let row = here.and_then(|rows| rows.iter().find(|row| row.method == *request.method()));
        match row {
            Some(Fixed { door, handler, .. }) => {
                guard(app, Some(*door), request, Behind::Handler(handler)).await
            }
            None => match Box::pin(router.clone().oneshot(request)).await {
                Ok(response) => response,
            },
        }
    }
}

/// Whether a row is found by its path alone. What takes files has a layer of its own.
fn is_fixed(route: &Route) -> bool {
    !route.path.contains('{') && !route.takes_files()
}

/// The router over all rows.
///
/// One layer around each handler does all that must happen before it: another would cost every
/// request a copy of all that is below it.
fn router(app: &App) -> Router {
    let guarded = |door| from_fn_with_state((app.clone(), door), guarded);
    let mut router = Router::new();
    for route in routes() {
        let door = Door::of(&route);
        // Sizes are bounded where bodies are read: files may be large.
        let handler = if route.takes_files() {
            route.routed.layer(DefaultBodyLimit::disable())
        } else {
            route.routed
        };
        router = router.route(route.path, handler.layer(guarded(Some(door))));
    }
    let router = router.fallback(api::no_such_route.layer(guarded(None)));
    let router = router.method_not_allowed_fallback(api::no_such_method.layer(guarded(None)));
    router.with_state(app.clone())
}

async fn guarded(
    State((app, door)): State<(App, Option<Door>)>,
    request: Request,
    next: Next,
) -> Response {
    guard(&app, door, request, Behind::Router(next)).await
}
