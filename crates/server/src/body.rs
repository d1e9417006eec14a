//! Extractors for requests: read whole, parsed strictly, bounded in size and time.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use zeroize::Zeroizing;

use crate::app::App;
use crate::error::Problem;

/// JSON in a request or a response.
pub(crate) struct Json<T>(pub(crate) T);

/// The fields of a form, in order.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// The first field of this name; nothing, if it is missing or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let field = self.0.iter().find(|field| field.0 == name);
        field.map(|field| field.1.as_str()).filter(|value| !value.is_empty())
    }

    /// A field that must be there.
    pub(crate) fn need(&self, name: &str) -> Result<&str, Problem> {
        self.get(name).ok_or_else(|| Problem::bad_request(format!("`{name}` is missing")))
    }

    /// Every field of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |field| field.0 == name).map(|field| field.1.as_str())
    }

    /// Reports whether a checkbox was ticked.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

impl FromRequest<App> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let limits = app.settings.limits;
        let bytes = read(request.into_body(), limits.body_bytes, limits.body()).await?;
        Ok(Self(form_urlencoded::parse(&bytes).into_owned().collect()))
    }
}

/// The query string.
pub(crate) struct Query<T>(pub(crate) T);

/// One segment of the path.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            let detail = "send JSON, with `Content-Type: application/json`";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail));
        }
        let limits = app.settings.limits;
        let bytes = read(request.into_body(), limits.body_bytes, limits.body()).await?;
        Ok(Self(serde_json::from_slice(&bytes).map_err(|error| not_understood(&error))?))
    }
}

/// Capacity for an ordinary answer, which then need not grow while it is written.
const ROOM: usize = 1_024;

/// Capacity for all headers of an answer.
const HEADERS: usize = 12;

/// Serialises into a plain `Vec<u8>`, which takes half as long as into axum's buffer.
impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let mut bytes = Vec::with_capacity(ROOM);
        if let Err(error) = serde_json::to_writer(&mut bytes, &self.0) {
            tracing::error!(%error, "an answer could not be written");
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
        let mut response = Response::new(Body::from(bytes));
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *response.headers_mut() = headers;
        response
    }
}

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        let query = axum::extract::Query::try_from_uri(&parts.uri);
        let query = query.map_err(|error| Problem::bad_request(error.body_text()))?;
        Ok(Self(query.0))
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let path = axum::extract::Path::from_request_parts(parts, app).await;
        Ok(Self(path.map_err(|error| Problem::bad_request(error.body_text()))?.0))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    media.eq_ignore_ascii_case("application/json")
}

/// Describes an error in JSON without the text or number that was found in the wrong place: that
/// could be somebody's password, and an answer may be stored.
pub(crate) fn not_understood(error: &serde_json::Error) -> Problem {
    Problem::bad_request(format!("this JSON is not understood: {}", unquoted(&error.to_string())))
}

fn unquoted(message: &str) -> String {
    for problem in ["invalid type: ", "invalid value: "] {
        let found = message.strip_prefix(problem).and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((found, expected)) = found {
            let kind = found.split(['"', '`']).next().unwrap_or_default().trim_end();
            return format!("{problem}{kind}, expected {expected}");
        }
    }
    let quoted = message.split_once('"').and_then(|(before, rest)| {
        let (_, after) = rest.rsplit_once('"')?;
        Some(format!("{before}`…`{after}"))
    });
    quoted.unwrap_or_else(|| message.to_owned())
}

/// Reads the whole body, and wipes it on drop: it may hold credentials.
pub(crate) async fn read(
    body: Body,
    most: usize,
    within: Duration,
) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let too_large = || {
        let detail = format!("more than {most} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    };
    let mut body = http_body_util::Limited::new(body, most);
    let mut bytes = Zeroizing::new(Vec::new());
    let all = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                if error.is::<http_body_util::LengthLimitError>() {
                    too_large()
                } else {
                    Problem::bad_request("the request ended early")
                }
            })?;
            let Ok(data) = frame.into_data() else { continue };
            // Never grown in place: the old allocation would stay behind unwiped.
            if bytes.capacity() < bytes.len().saturating_add(data.len()) {
                let room = bytes.len().saturating_add(data.len()).saturating_mul(2).min(most);
                let mut larger = Zeroizing::new(Vec::with_capacity(room));
                larger.extend_from_slice(&bytes);
                bytes = larger;
            }
            bytes.extend_from_slice(&data);
        }
        Ok(())
    };
    let Ok(read) = timeout(within, all).await else {
        let detail = format!("the request did not arrive within {} s", within.as_secs());
        return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail));
    };
    read.map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_without_what_stood_there() {
        let wrong =
            |json: &str| unquoted(&serde_json::from_str::<Vec<u8>>(json).unwrap_err().to_string());
        assert_eq!(
            wrong("\"hunter2\""),
            "invalid type: string, expected a sequence at line 1 column 9"
        );
        assert_eq!(
            wrong("[\"a, expected b\"]"),
            "invalid type: string, expected u8 at line 1 column 16"
        );
        assert_eq!(wrong("[4711]"), "invalid value: integer, expected u8 at line 1 column 5");
        assert!(wrong("[1").starts_with("EOF"));
    }
}
