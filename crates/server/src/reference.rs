//! The API's description: for programs as OpenAPI, for people as a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use axum::Json;
use axum::response::Html;
use countersign_wire::path;
use serde_json::Value;

use crate::route::{Route, Who, get};

/// The routes that describe the API. `document` describes all routes, these two among them.
pub(crate) fn routes(document: fn() -> Value) -> Vec<Route> {
    vec![
        get(path::OPENAPI, "openapi")
            .by(Who::Anybody)
            .says("This API, as OpenAPI 3.1.")
            .gives_media(200, "application/json")
            .to(move || async move { Json(document()) }),
        get(path::DOCS, "docs")
            .by(Who::Anybody)
            .says("The same, as a page for people.")
            .gives_media(200, "text/html")
            .to(move || async move { Html(render(&document())) }),
    ]
}

/// A page around some content.
fn frame(title: &str, content: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <link rel=\"icon\" type=\"image/svg+xml\" href=\"/static/icon/0.svg\">\n\
         <link rel=\"stylesheet\" href=\"/static/reference.css\">\n</head>\n<body>\n{content}\n\
         </body>\n</html>\n",
        escape(title)
    )
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn render(document: &Value) -> String {
    let mut nouns: BTreeMap<&str, Vec<(&str, &str, &Value)>> = BTreeMap::new();
    let paths = document.get("paths").and_then(Value::as_object);
    for (path, methods) in paths.into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let noun = operation.pointer("/tags/0").and_then(Value::as_str).unwrap_or_default();
            nouns.entry(noun).or_default().push((path, method, operation));
        }
    }
    let mut html = format!(
        "<header><h1>Countersign API</h1>\n<p>Errors are problem details \
        (RFC 9457). Lists come in pages: <code>cursor</code> takes what <code>next</code> gave. \
        Writes take an <code>Idempotency-Key</code>. \
        <a href=\"{}\">OpenAPI 3.1</a></p></header>\n<nav>",
        path::OPENAPI,
    );
    for noun in nouns.keys() {
        let _ = write!(html, "<a href=\"#{0}\">{0}</a> ", escape(noun));
    }
    html.push_str("</nav>\n<main>\n");
    for (noun, operations) in &nouns {
        let _ = writeln!(html, "<section id=\"{0}\"><h2>{0}</h2>", escape(noun));
        for (path, method, operation) in operations {
            write_operation(&mut html, path, method, operation);
        }
        html.push_str("</section>\n");
    }
    html.push_str("<section id=\"schemas\"><h2>schemas</h2>\n");
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    for (name, schema) in schemas.into_iter().flatten() {
        let (name, json) = (escape(name), pretty(schema));
        let _ = writeln!(
            html,
            "<details id=\"schema-{name}\"><summary><code>{name}</code></summary>\
             <pre tabindex=\"0\">{json}</pre></details>"
        );
    }
    html.push_str("</section>\n</main>");
    frame("Countersign API", &html)
}

fn write_operation(html: &mut String, path: &str, method: &str, operation: &Value) {
    let text = |name: &str| escape(operation.get(name).and_then(Value::as_str).unwrap_or_default());
    let _ = writeln!(
        html,
        "<article id=\"{}\"><h3><span class=\"method {method}\">{}</span> <code>{}</code></h3>\
         <p>{} <em>For {}.</em></p>",
        text("operationId"),
        method.to_ascii_uppercase(),
        escape(path),
        marked(&text("summary")),
        text("x-who"),
    );
    let parameters = operation.get("parameters").and_then(Value::as_array);
    if let Some(parameters) = parameters {
        html.push_str("<dl>");
        for parameter in parameters {
            let text = |name: &str| {
                escape(parameter.get(name).and_then(Value::as_str).unwrap_or_default())
            };
            let (name, place, description) = (text("name"), text("in"), text("description"));
            let description = marked(&description);
            let _ = write!(html, "<dt><code>{name}</code> ({place})</dt><dd>{description}</dd>");
        }
        html.push_str("</dl>\n");
    }
    if let Some(content) = operation.pointer("/requestBody/content") {
        write_content(html, "Takes", content);
    }
    for (status, response) in
        operation.get("responses").and_then(Value::as_object).into_iter().flatten()
    {
        if status == "default" {
            continue;
        }
        match response.get("content") {
            Some(content) => write_content(html, &format!("Gives {}", escape(status)), content),
            None => {
                let _ = writeln!(html, "<p class=\"content\">Gives {}</p>", escape(status));
            }
        }
    }
    html.push_str("</article>\n");
}

fn write_content(html: &mut String, verb: &str, content: &Value) {
    for (media, content) in content.as_object().into_iter().flatten() {
        let schema = content.get("schema").unwrap_or(&Value::Null);
        let named = schema.get("$ref").and_then(Value::as_str);
        let shown = match named.and_then(|text| text.rsplit('/').next()) {
            Some(name) => format!("<a href=\"#schema-{0}\">{0}</a>", escape(name)),
            None if schema.as_object().is_some_and(|schema| !schema.is_empty()) => {
                format!("<pre tabindex=\"0\">{}</pre>", pretty(schema))
            }
            None => String::new(),
        };
        let media = escape(media);
        let _ = writeln!(html, "<p class=\"content\">{verb} <code>{media}</code> {shown}</p>");
    }
}

/// Turns text in backticks into code.
fn marked(escaped: &str) -> String {
    let parts = escaped.split('`').enumerate();
    parts.fold(String::new(), |text, (number, part)| match number % 2 {
        0 => text + part,
        _ => text + "<code>" + part + "</code>",
    })
}

fn pretty(json: &Value) -> String {
    escape(&serde_json::to_string_pretty(json).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::document;

    #[test]
    fn the_page_holds_every_route_and_no_markup_of_others() {
        let document = document();
        let page = render(&document);
        for route in crate::table::routes().iter().filter(|route| !route.page) {
            assert!(
                page.contains(&format!("<code>{}</code>", escape(route.path))),
                "{}",
                route.path
            );
        }
        assert!(!page.contains("<script") && !page.contains("style="));
        assert_eq!(escape("<b a='1'>&\""), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;");
    }
}
