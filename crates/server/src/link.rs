//! Links to sign in with, as they are shown to people.

use axum::http::{HeaderMap, header};
use countersign_gate::secret::Secret;

use crate::app::App;
use crate::auth::Remote;

/// The sign-in link for a browser, at the address people reach the server under.
pub(crate) fn sign_in_url(app: &App, remote: Remote, headers: &HeaderMap, link: &Secret) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let scheme = if remote.is_https() { "https" } else { "http" };
    let here = || format!("{scheme}://{host}");
    let base = app.settings.url.clone().unwrap_or_else(here);
    format!("{}/sign-in?link={}", base.trim_end_matches('/'), link.expose())
}
