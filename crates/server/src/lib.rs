//! The HTTP server of the gate: HTTP, WebSocket and SSE.
//!
//! Nothing is decided here. A request is parsed strictly, its sender is authenticated in `auth` and
//! let in by `admit`, the gate is asked, and its answer is returned. `table` has all routes; the
//! router, the access rules, the OpenAPI document and its page are all generated from it.

mod activation;
mod admit;
mod answers;
mod api;
mod app;
mod auth;
mod behind;
mod body;
mod console;
mod decision;
mod error;
mod framing;
mod hex;
mod html;
mod hub;
mod idempotent;
mod link;
mod listen;
mod live;
mod metrics;
mod middleware;
mod moment;
mod notify;
mod openapi;
mod page;
mod parameter;
mod reference;
mod route;
mod settings;
mod sign_in;
mod site;
#[cfg(unix)]
mod socket;
mod table;
mod tls;
mod trace;
mod view;
mod worker;

pub use activation::{ActivationError, Inherited};
pub use app::{App, Inner, OpenError};
pub use decision::DecisionLog;
pub use listen::{Bound, ListenError, bind, bind_inherited};
pub use notify::{ready, stopping};
pub use route::{Route, Who};
pub use settings::{Limits, Settings, Tls};
#[cfg(unix)]
pub use socket::SocketName;
pub use table::{document, routes};
pub use tls::{Certificates, TlsError};
pub use trace::CollectorError;
