//! The table of all routes of the server.
//!
//! The router, the authentication, the OpenAPI document and its page, and the golden table of roles
//! all read it, so none of them can forget a route.

use crate::route::Route;
use crate::{api, console, live, reference, sign_in, worker};

/// All routes.
#[must_use]
pub fn routes() -> Vec<Route> {
    [
        api::routes(),
        live::routes(),
        worker::routes(),
        reference::routes(),
        sign_in::routes(),
        console::routes(),
    ]
    .concat()
}
