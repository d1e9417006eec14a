//! The choice of a language for the pages, which a browser keeps in a cookie.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};

use crate::auth::{Remote, Signed};
use crate::body::Form;
use crate::error::Problem;
use crate::html::{LANGUAGE_COOKIE, Text, go};
use crate::route::{Route, form};

pub(super) fn routes() -> Vec<Route> {
    vec![form("/language", "choose_language").says("Chooses the language of the pages.").to(choose)]
}

async fn choose(Signed(_): Signed, remote: Remote, form: Form) -> Result<Response, Problem> {
    let language = form.need("language")?;
    let language = Text::of(language).ok_or_else(|| Problem::bad_request("no such language"))?;
    let secure = if remote.is_https() { "; Secure" } else { "" };
    let cookie = format!(
        "{LANGUAGE_COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000{secure}",
        language.code()
    );
    let mut response = go("/").into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
