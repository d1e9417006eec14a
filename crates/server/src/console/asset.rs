//! Static files of the pages: the style, the script, pictures, the manifest.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};

use crate::error::Problem;
use crate::html::Text;
use crate::route::{Route, Who, get};

pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/static/{name}", "asset")
            .by(Who::Anybody)
            .says("The style sheet and scripts of the pages.")
            .gives_media(200, "")
            .to(file),
        get("/static/icon/{name}", "icon")
            .by(Who::Anybody)
            .says("The icon of the pages, with the number of waiting questions.")
            .gives_media(200, SVG)
            .to(icon),
        get("/sw.js", "service_worker")
            .by(Who::Anybody)
            .says("The service worker, which shows notifications on a phone.")
            .gives_media(200, SCRIPT)
            .to(worker),
        get("/manifest.webmanifest", "manifest")
            .by(Who::Anybody)
            .says("The manifest with which a phone installs the pages.")
            .gives_media(200, "application/manifest+json")
            .to(manifest),
    ]
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// All static files by name, embedded in the binary.
const FILES: [(&str, &str, &str); 8] = [
    ("console.css", STYLE, include_str!("../../static/console.css")),
    ("reference.css", STYLE, include_str!("../../static/reference.css")),
    ("console.js", SCRIPT, include_str!("../../static/console.js")),
    ("live.js", SCRIPT, include_str!("../../static/live.js")),
    ("keys.js", SCRIPT, include_str!("../../static/keys.js")),
    ("clock.js", SCRIPT, include_str!("../../static/clock.js")),
    ("notify.js", SCRIPT, include_str!("../../static/notify.js")),
    ("patch.js", SCRIPT, include_str!("../../static/patch.js")),
];

fn of(media: &'static str, text: impl Into<axum::body::Body>) -> Response {
    // They change only with the binary, and a browser asks again when it comes back.
    let age = (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    ([(header::CONTENT_TYPE, HeaderValue::from_static(media)), age], text.into()).into_response()
}

async fn file(Path(name): Path<String>) -> Result<Response, Problem> {
    let found = FILES.iter().find(|(known, _, _)| *known == name);
    let (_, media, text) = found.ok_or_else(Problem::not_found)?;
    Ok(of(media, *text))
}

async fn worker() -> Response {
    of(SCRIPT, include_str!("../../static/sw.js"))
}

async fn manifest(headers: HeaderMap) -> Response {
    let t = Text::wanted(&headers);
    let icon = serde_json::json!({
        "src": "/static/icon/0.svg", "sizes": "any", "type": SVG, "purpose": "any",
    });
    let manifest = serde_json::json!({
        "name": "Countersign",
        "short_name": "Countersign",
        "description": t.say("manifest.description"),
        "lang": t.code(),
        "id": "/",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#f7f6f3",
        "theme_color": "#1f3a34",
        "icons": [icon],
    });
    of("application/manifest+json", manifest.to_string())
}

async fn icon(Path(name): Path<String>) -> Result<Response, Problem> {
    let number = name.strip_suffix(".svg").and_then(|number| number.parse::<u8>().ok());
    let number = number.filter(|number| *number <= 100).ok_or_else(Problem::not_found)?;
    Ok(of(SVG, picture(number)))
}

/// Draws the logo, with the number of waiting questions in a corner.
fn picture(waiting: u8) -> String {
    let badge = match waiting {
        0 => String::new(),
        waiting => {
            let text = if waiting > 99 { "99+".to_owned() } else { waiting.to_string() };
            let size = if waiting > 99 { 24 } else { 34 };
            format!(
                "<circle cx=\"92\" cy=\"36\" r=\"34\" fill=\"#b3261e\"/>\
                 <text x=\"92\" y=\"48\" font-family=\"sans-serif\" font-weight=\"700\" \
                 font-size=\"{size}\" text-anchor=\"middle\" fill=\"#fff\">{text}</text>"
            )
        }
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 128 128\">\
         <rect width=\"128\" height=\"128\" rx=\"28\" fill=\"#1f3a34\"/>\
         <path d=\"M34 66l22 22 40-46\" fill=\"none\" stroke=\"#f2efe6\" stroke-width=\"13\" \
         stroke-linecap=\"round\" stroke-linejoin=\"round\"/>\
         <path d=\"M30 104h68\" stroke=\"#8fb8a9\" stroke-width=\"8\" stroke-linecap=\"round\"/>\
         {badge}</svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_says_how_many_wait() {
        assert!(!picture(0).contains("<text"));
        assert!(picture(7).contains(">7<"));
        assert!(picture(100).contains(">99+<"));
    }
}
