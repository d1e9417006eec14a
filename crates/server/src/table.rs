//! The table of all routes of the server.
//!
//! The router, the authentication, the OpenAPI document and its page, and the golden table of roles
//! all read it, so none of them can forget a route.

use serde_json::Value;

use crate::route::Route;
use crate::{api, console, live, openapi, reference, sign_in, worker};

/// All routes.
#[must_use]
pub fn routes() -> Vec<Route> {
    [
        api::routes(),
        live::routes(),
        worker::routes(),
        reference::routes(document),
        sign_in::routes(),
        console::routes(),
    ]
    .concat()
}

/// The OpenAPI 3.1 document of all routes.
#[must_use]
pub fn document() -> Value {
    openapi::document(&routes())
}
