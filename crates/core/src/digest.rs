//! The digest an approval is bound to: SHA-256 over the canonical JSON (RFC 8785) of an action.
//!
//! The base of relative names belongs to the action: a relative path, a script or a relative URL
//! means something else elsewhere, so the effective `cwd` or `base_url` joins the object where it
//! matters. The bytes are written directly from the action, without a JSON tree in between; a test
//! compares every kind with the general writer.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::action::{Action, DownloadFile, Field, Language, Surface, UiOp};
use crate::context::Context;
use crate::location::Scene;

mod canonical;

use canonical::Object;
pub use canonical::canonical;

/// SHA-256 of the canonical action, with the folder or URL it is relative to, in hex.
#[must_use]
pub fn digest(action: &Action, context: &Context) -> String {
    hex(&Sha256::digest(canonical_action(action, context).as_bytes()))
}

/// SHA-256 of a value's canonical form, in hex.
#[must_use]
pub fn of_value(value: &Value) -> String {
    hex(&Sha256::digest(canonical(value).as_bytes()))
}

/// The bytes that are hashed.
#[must_use]
pub fn canonical_action(action: &Action, context: &Context) -> String {
    let length = action.text().map_or(0, str::len);
    let mut out = String::with_capacity(length.saturating_add(128));
    write_action(action, context, &mut out);
    out
}

/// Writes the fields. The keys are in alphabetical order, because that is the canonical one.
fn write_action(action: &Action, context: &Context, out: &mut String) {
    let kind = action.kind();
    let object = Object::open(out);
    match action {
        Action::Shell { command, cwd } => object
            .text("command", command)
            .maybe("cwd", cwd.as_deref().or_else(|| cwd_of(context)))
            .text("kind", kind),
        Action::Code { language, source, dialect } => object
            .maybe("cwd", cwd_of(context))
            .maybe("dialect", dialect.as_deref())
            .text("kind", kind)
            .text("language", language_name(*language))
            .text("source", source),
        Action::FileRead { path } | Action::FileDelete { path } | Action::FileList { path } => {
            object.maybe("cwd", folder_of(path, context)).text("kind", kind).text("path", path)
        }
        Action::FileWrite { path, content } => object
            .maybe("content", content.as_deref())
            .maybe("cwd", folder_of(path, context))
            .text("kind", kind)
            .text("path", path),
        Action::Navigate { url } => {
            object.maybe("base_url", base_of(url, context)).text("kind", kind).text("url", url)
        }
        Action::HttpRequest { method, url, body } => object
            .maybe("base_url", base_of(url, context))
            .maybe("body", body.as_deref())
            .text("kind", kind)
            .text("method", method)
            .text("url", url),
        Action::Ui { .. }
        | Action::Screenshot {}
        | Action::ReadDom {}
        | Action::Download { .. }
        | Action::ExportPdf { .. }
        | Action::Login { .. }
        | Action::Notify { .. }
        | Action::Skill { .. }
        | Action::Applescript { .. }
        | Action::Tool { .. }
        | Action::Named { .. } => write_rarer(action, object),
    }
    .close();
}

/// Writes the kinds that neither run in a folder nor open a page.
fn write_rarer<'out>(action: &Action, object: Object<'out>) -> Object<'out> {
    let kind = action.kind();
    match action {
        Action::Ui { surface, op, label, field, text, url, reference } => {
            write_field(object, field.as_deref())
                .text("kind", kind)
                .maybe("label", label.as_deref())
                .text("op", op_name(*op))
                .maybe("reference", reference.as_deref())
                .text("surface", surface_name(*surface))
                .maybe("text", text.as_deref())
                .maybe("url", url.as_deref())
        }
        Action::Download { files } => {
            object.array("files", files.iter(), write_file).text("kind", kind)
        }
        Action::ExportPdf { pages } => object.text("kind", kind).number("pages", *pages),
        Action::Login { site } => object.text("kind", kind).text("site", site),
        Action::Notify { channel } => object.text("channel", channel).text("kind", kind),
        Action::Skill { skill, params } => {
            object.text("kind", kind).map("params", params).text("skill", skill)
        }
        Action::Applescript { script } => object.text("kind", kind).text("script", script),
        Action::Tool { server, tool, description, arguments, annotations, schema } => object
            .value("annotations", annotations.as_ref())
            .map("arguments", arguments)
            .maybe("description", description.as_deref())
            .text("kind", kind)
            .value("schema", schema.as_ref())
            .text("server", server)
            .text("tool", tool),
        Action::Named { name, params } => {
            object.text("kind", kind).text("name", name).map("params", params)
        }
        Action::Screenshot {}
        | Action::ReadDom {}
        | Action::Shell { .. }
        | Action::Code { .. }
        | Action::FileRead { .. }
        | Action::FileWrite { .. }
        | Action::FileDelete { .. }
        | Action::FileList { .. }
        | Action::Navigate { .. }
        | Action::HttpRequest { .. } => object.text("kind", kind),
    }
}

fn write_file<'out>(object: Object<'out>, file: &DownloadFile) -> Object<'out> {
    let object = match file.bytes {
        Some(bytes) => object.number("bytes", bytes),
        None => object,
    };
    object.maybe("name", file.name.as_deref()).text("url", &file.url)
}

fn write_field<'out>(object: Object<'out>, field: Option<&Field>) -> Object<'out> {
    object.object("field", field, |inner, field| {
        inner
            .maybe("aria_label", field.aria_label.as_deref())
            .maybe("autocomplete", field.autocomplete.as_deref())
            .maybe("class", field.class.as_deref())
            .maybe("id", field.id.as_deref())
            .maybe("inputmode", field.inputmode.as_deref())
            .maybe("label", field.label.as_deref())
            .value("maxlength", field.maxlength.as_ref())
            .maybe("name", field.name.as_deref())
            .maybe("nearby", field.nearby.as_deref())
            .maybe("placeholder", field.placeholder.as_deref())
            .maybe("role", field.role.as_deref())
            .maybe("title", field.title.as_deref())
            .maybe("type", field.kind.as_deref())
    })
}

/// The folder that this context is judged in; the same one the analyzers start from.
fn cwd_of(context: &Context) -> Option<&str> {
    Scene::new(context, &[]).cwd
}

/// The folder a path starts from, unless it starts from the root.
fn folder_of<'a>(path: &str, context: &'a Context) -> Option<&'a str> {
    if path.starts_with('/') { None } else { cwd_of(context) }
}

/// The base of a URL, unless it has a scheme of its own.
fn base_of<'a>(url: &str, context: &'a Context) -> Option<&'a str> {
    let first = url.split([':', '/', '?', '#']).next().unwrap_or_default();
    let has_scheme = url.get(first.len()..).is_some_and(|rest| rest.starts_with(':'));
    if has_scheme { None } else { context.base_url.as_deref() }
}

const fn language_name(language: Language) -> &'static str {
    match language {
        Language::Python => "python",
        Language::Javascript => "javascript",
        Language::Perl => "perl",
        Language::Ruby => "ruby",
        Language::Sql => "sql",
    }
}

const fn surface_name(surface: Surface) -> &'static str {
    match surface {
        Surface::Browser => "browser",
        Surface::App => "app",
    }
}

const fn op_name(op: UiOp) -> &'static str {
    match op {
        UiOp::Click => "click",
        UiOp::Type => "type",
        UiOp::Select => "select",
        UiOp::Submit => "submit",
        UiOp::Press => "press",
        UiOp::Scroll => "scroll",
        UiOp::Hover => "hover",
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    let mut out = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        out.push(digit(byte >> 4));
        out.push(digit(byte & 15));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At least one action of every kind, with and without its optional parts.
    const ACTIONS: &[&str] = &[
        r#"{"kind":"shell","command":"echo \"a\\b\"\n\t\u0001\u001f\u007fé€😀"}"#,
        r#"{"kind":"shell","command":"","cwd":"/repo"}"#,
        r#"{"kind":"code","language":"python","source":"print(1)"}"#,
        r#"{"kind":"code","language":"javascript","source":"1"}"#,
        r#"{"kind":"code","language":"perl","source":"1"}"#,
        r#"{"kind":"code","language":"ruby","source":"1"}"#,
        r#"{"kind":"code","language":"sql","source":"select 1","dialect":"sqlite"}"#,
        r#"{"kind":"file_read","path":"/a"}"#,
        r#"{"kind":"file_write","path":"/a"}"#,
        r#"{"kind":"file_write","path":"/a","content":"x"}"#,
        r#"{"kind":"file_delete","path":"/a"}"#,
        r#"{"kind":"file_list","path":"/a"}"#,
        r#"{"kind":"navigate","url":"https://example.com"}"#,
        r#"{"kind":"http_request","method":"POST","url":"https://example.com","body":"b"}"#,
        r#"{"kind":"http_request","method":"GET","url":"https://example.com"}"#,
        r#"{"kind":"ui","surface":"browser","op":"click"}"#,
        r#"{"kind":"ui","surface":"app","op":"type","label":"L","text":"t","url":"https://e.com",
            "field":{"name":"n","id":"i","type":"t","autocomplete":"a","label":"l","title":"t",
            "placeholder":"p","role":"r","aria_label":"al","inputmode":"im","maxlength":19,
            "class":"c","nearby":"nb"}}"#,
        r#"{"kind":"ui","surface":"app","op":"select","field":{}}"#,
        r#"{"kind":"ui","surface":"app","op":"submit"}"#,
        r#"{"kind":"ui","surface":"app","op":"press"}"#,
        r#"{"kind":"ui","surface":"app","op":"scroll"}"#,
        r#"{"kind":"ui","surface":"app","op":"hover"}"#,
        r#"{"kind":"ui","surface":"browser","op":"click","label":"OK","reference":"e12"}"#,
        r#"{"kind":"screenshot"}"#,
        r#"{"kind":"read_dom"}"#,
        r#"{"kind":"download","files":[]}"#,
        r#"{"kind":"download","files":[{"url":"https://e.com/a","name":"a","bytes":7},
            {"url":"https://e.com/b"}]}"#,
        r#"{"kind":"export_pdf","pages":3}"#,
        r#"{"kind":"login","site":"https://example.com"}"#,
        r#"{"kind":"notify","channel":"telegram"}"#,
        r#"{"kind":"skill","skill":"email.send"}"#,
        r#"{"kind":"skill","skill":"email.send","params":{"b":[1,2.50,{"z":null,"a":true}],"a":-0.0}}"#,
        r#"{"kind":"applescript","script":"beep"}"#,
        r#"{"kind":"tool","server":"s","tool":"t"}"#,
        r#"{"kind":"tool","server":"s","tool":"t","description":"d","arguments":{"\uFB33":1,"😀":2},
            "annotations":{"destructiveHint":true},"schema":{"type":"object"}}"#,
        r#"{"kind":"named","name":"deleteAccount","params":{"id":1e21}}"#,
    ];

    #[test]
    fn every_kind_is_written_as_the_general_writer_writes_it() {
        let mut kinds = std::collections::BTreeSet::new();
        for text in ACTIONS {
            let action: Action = serde_json::from_str(text).unwrap();
            let general = canonical(&serde_json::to_value(&action).unwrap());
            assert_eq!(canonical_action(&action, &Context::default()), general, "{text}");
            kinds.insert(action.kind());
        }
        assert_eq!(kinds.len(), 19, "a kind has no example here");
    }

    #[test]
    fn the_digest_is_sha_256_in_hex() {
        let action = Action::Shell { command: "ls".into(), cwd: None };
        let bytes = canonical_action(&action, &Context::default());
        assert_eq!(bytes, r#"{"command":"ls","kind":"shell"}"#);
        assert_eq!(hex(&Sha256::digest(b"abc")).get(..16), Some("ba7816bf8f01cfea"));
        assert_eq!(digest(&action, &Context::default()).len(), 64);
    }

    #[test]
    fn where_it_runs_is_part_of_what_was_approved() {
        let here = Context { cwd: Some("/here".into()), ..Context::default() };
        let there = Context { workspace: Some("/there".into()), ..Context::default() };
        for text in [
            r#"{"kind":"shell","command":"make"}"#,
            r#"{"kind":"code","language":"ruby","source":"1"}"#,
            r#"{"kind":"file_delete","path":"a"}"#,
            r#"{"kind":"file_write","path":"../a","content":"x"}"#,
        ] {
            let action: Action = serde_json::from_str(text).unwrap();
            assert_ne!(digest(&action, &here), digest(&action, &there), "{text}");
            assert_ne!(digest(&action, &here), digest(&action, &Context::default()), "{text}");
        }
        let rooted = Action::FileDelete { path: "/a".into() };
        assert_eq!(digest(&rooted, &here), digest(&rooted, &there));
    }

    #[test]
    fn the_actions_own_folder_goes_before_the_contexts() {
        let context = Context { cwd: Some("/other".into()), ..Context::default() };
        let action = Action::Shell { command: "ls".into(), cwd: Some("/own".into()) };
        assert_eq!(
            canonical_action(&action, &context),
            r#"{"command":"ls","cwd":"/own","kind":"shell"}"#
        );
        assert_eq!(digest(&action, &context), digest(&action, &Context::default()));
    }

    #[test]
    fn a_relative_address_is_bound_to_its_base() {
        let context =
            Context { base_url: Some("https://example.com/".into()), ..Context::default() };
        let bound = |url: &str| {
            canonical_action(&Action::Navigate { url: url.into() }, &context).contains("base_url")
        };
        assert!(bound("/settings") && bound("a/b:c") && bound("?q=a:b") && bound("//cdn/x"));
        assert!(!bound("https://e.com/") && !bound("javascript:alert(1)"));
    }
}
