//! The time that a caller is willing to wait.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::app::App;
use crate::error::Problem;

/// The time that the caller is willing to wait: `Prefer: wait=30`, as in RFC 7240.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait(pub(super) Option<Duration>);

impl FromRequestParts<App> for Wait {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let values = parts.headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        let wishes = values.flat_map(|text| text.split(',')).map(str::trim);
        for wish in wishes {
            let Some((name, value)) = wish.split_once('=') else { continue };
            if !name.trim().eq_ignore_ascii_case("wait") {
                continue;
            }
            let seconds = value.trim().trim_matches('"').parse::<u32>();
            let wrong = |_| Problem::bad_request("`Prefer: wait=` takes a whole number of seconds");
            let wait = Duration::from_secs(seconds.map_err(wrong)?.into());
            return Ok(Self(Some(wait.min(app.settings.limits.wait()))));
        }
        Ok(Self(None))
    }
}

pub(super) fn applied(headers: &mut HeaderMap, wait: Option<Duration>) {
    let Some(wait) = wait else { return };
    if let Ok(value) = HeaderValue::from_str(&format!("wait={}", wait.as_secs())) {
        headers.insert(HeaderName::from_static("preference-applied"), value);
    }
}
