//! Dispatch of requests: through the guard to the handler of their route.
//!
//! ```text
//! method and path name a row ──► guard ──► its handler
//! anything else ──► router: paths with ids, methods that are not there ──► guard ──► handler
//! ```
//!
//! Most requests are for routes with a fixed path, above all proposals. These are looked up and
//! called directly: a router clones each layer for each request and boxes the response.

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
use crate::behind::NextStep;
use crate::middleware::around_request;
use crate::route::{Handler, Route, RoutePolicy};
use crate::table::routes;

/// All routes of a server, ready to answer.
#[derive(Clone)]
pub(crate) struct Site(Arc<Inside>);

struct Inside {
    app: App,
    /// The routes with a fixed path.
    fixed: HashMap<&'static str, Vec<Fixed>>,
    router: Router,
}

struct Fixed {
    method: Method,
    route_policy: RoutePolicy,
    handler: Handler,
}

impl Site {
    pub(crate) fn new(app: &App) -> Self {
        let mut fixed: HashMap<_, Vec<_>> = HashMap::new();
        for route in routes().into_iter().filter(is_fixed) {
            let route_policy = RoutePolicy::of(&route);
            let Route { method, path, handler, .. } = route;
            fixed.entry(path).or_default().push(Fixed { method, route_policy, handler });
        }
        Self(Arc::new(Inside { app: app.clone(), fixed, router: router(app) }))
    }

    pub(crate) async fn answer(&self, request: Request) -> Response {
        let Inside { app, fixed, router } = &*self.0;
        let here = fixed.get(request.uri().path());
        let row = here.and_then(|rows| rows.iter().find(|row| row.method == *request.method()));
        match row {
            Some(Fixed { route_policy, handler, .. }) => {
                around_request(app, Some(*route_policy), request, NextStep::Handler(handler)).await
            }
            None => match Box::pin(router.clone().oneshot(request)).await {
                Ok(response) => response,
            },
        }
    }
}

/// Reports whether a route is found by its path alone. Uploads need a layer of their own.
fn is_fixed(route: &Route) -> bool {
    !route.path.contains('{') && !route.takes_files()
}

/// The router over all routes.
///
/// One layer around each handler does everything that must happen before it: another would cost
/// every request a clone of everything below it.
fn router(app: &App) -> Router {
    let guarded = |route_policy| from_fn_with_state((app.clone(), route_policy), guarded);
    let mut router = Router::new();
    for route in routes() {
        let route_policy = RoutePolicy::of(&route);
        // Sizes are limited where bodies are read: files may be large.
        let handler = if route.takes_files() {
            route.routed.layer(DefaultBodyLimit::disable())
        } else {
            route.routed
        };
        router = router.route(route.path, handler.layer(guarded(Some(route_policy))));
    }
    let router = router.fallback(api::no_such_route.layer(guarded(None)));
    let router = router.method_not_allowed_fallback(api::no_such_method.layer(guarded(None)));
    router.with_state(app.clone())
}

async fn guarded(
    State((app, route_policy)): State<(App, Option<RoutePolicy>)>,
    request: Request,
    next: Next,
) -> Response {
    around_request(&app, route_policy, request, NextStep::Router(next)).await
}
