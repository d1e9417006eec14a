//! A check that an action is well-formed: the first step of a decision.
//!
//! A NUL ends a string for the kernel and not for us, so that something else would run than was
//! judged. An action that is too large or too deep cannot be analysed in bounded time. The meaning
//! is not checked here.

use serde_json::Value;

use crate::action::Action;
use crate::fact::{Fact, FactKind, Tag, Tags};

/// The most bytes that all texts of an action may have together.
pub const MOST_BYTES: usize = 4 << 20;

/// The deepest nesting of parameters; JSON parsers stop at about twice as much.
pub const MOST_DEPTH: usize = 64;

/// Returns the fault in the form of an action, if there is one.
#[must_use]
pub fn fault(action: &Action) -> Option<Fact> {
    let mut look = Look::default();
    look.action(action);
    if look.nul {
        return Some(Fact::new(FactKind::Malformed, "a NUL byte"));
    }
    if look.bytes > MOST_BYTES {
        let unseen = Tags::of(&[Tag::Unseen]);
        return Some(Fact::new(FactKind::Bound, "more text than can be judged").tagged(unseen));
    }
    look.deep.then(|| Fact::new(FactKind::Bound, "parameters nested too deep"))
}

#[derive(Default)]
struct Look {
    bytes: usize,
    nul: bool,
    deep: bool,
}

impl Look {
    fn action(&mut self, action: &Action) {
        match action {
            Action::Shell { command, cwd } => self.texts([Some(command), cwd.as_ref()]),
            Action::Code { source, dialect, .. } => self.texts([Some(source), dialect.as_ref()]),
            Action::FileRead { path } | Action::FileDelete { path } | Action::FileList { path } => {
                self.texts([Some(path)]);
            }
            Action::FileWrite { path, content } => {
                self.texts([Some(path)]);
                self.data(content.as_deref());
            }
            Action::Navigate { url } => self.data(Some(url)),
            Action::HttpRequest { method, url, body } => {
                self.texts([Some(method)]);
                self.data(Some(url));
                self.data(body.as_deref());
            }
            Action::Ui { label, field, text, url, reference, .. } => {
                self.texts([label.as_ref(), text.as_ref(), reference.as_ref()]);
                self.data(url.as_deref());
                if let Some(field) = field {
                    self.field(field);
                }
            }
            Action::Download { files } => {
                for file in files {
                    self.texts([file.name.as_ref()]);
                    self.data(Some(&file.url));
                }
            }
            Action::Login { site } => self.data(Some(site)),
            Action::Notify { channel } => self.texts([Some(channel)]),
            Action::Applescript { script } => self.texts([Some(script)]),
            Action::Skill { skill: name, params } | Action::Named { name, params } => {
                self.texts([Some(name)]);
                self.entries(params.iter());
            }
            Action::Tool { server, tool, description, arguments, annotations, schema } => {
                self.texts([Some(server), Some(tool), description.as_ref()]);
                self.entries(arguments.iter());
                self.values(annotations.iter().chain(schema).map(|value| (1, value)).collect());
            }
            Action::Screenshot {} | Action::ReadDom {} | Action::ExportPdf { .. } => {}
        }
    }

    fn texts<const N: usize>(&mut self, texts: [Option<&String>; N]) {
        for text in texts.into_iter().flatten() {
            self.bytes = self.bytes.saturating_add(text.len());
            self.nul |= text.as_bytes().contains(&0);
        }
    }

    /// Counts the size only: contents and bodies may hold any byte, and the URL standard itself
    /// defines the meaning of a NUL in a URL.
    fn data(&mut self, data: Option<&str>) {
        self.bytes = self.bytes.saturating_add(data.map_or(0, str::len));
    }

    fn field(&mut self, field: &crate::action::Field) {
        self.texts([
            field.name.as_ref(),
            field.id.as_ref(),
            field.kind.as_ref(),
            field.autocomplete.as_ref(),
            field.label.as_ref(),
            field.placeholder.as_ref(),
            field.role.as_ref(),
            field.aria_label.as_ref(),
            field.inputmode.as_ref(),
            field.title.as_ref(),
            field.class.as_ref(),
            field.nearby.as_ref(),
        ]);
        self.values(field.maxlength.iter().map(|value| (1, value)).collect());
    }

    fn entries<'a>(&mut self, entries: impl Iterator<Item = (&'a String, &'a Value)>) {
        let mut values = Vec::new();
        for (key, value) in entries {
            self.texts([Some(key)]);
            values.push((1, value));
        }
        self.values(values);
    }

    /// Visits values without recursion, because the sender chooses their depth.
    fn values(&mut self, mut open: Vec<(usize, &Value)>) {
        while let Some((depth, value)) = open.pop() {
            if depth > MOST_DEPTH || self.bytes > MOST_BYTES {
                self.deep |= depth > MOST_DEPTH;
                continue;
            }
            self.bytes = self.bytes.saturating_add(8);
            let below = depth.saturating_add(1);
            match value {
                Value::String(text) => self.texts([Some(text)]),
                Value::Array(items) => open.extend(items.iter().map(|item| (below, item))),
                Value::Object(map) => {
                    for (key, value) in map {
                        self.texts([Some(key)]);
                        open.push((below, value));
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(action: &str) -> Option<FactKind> {
        let action: Action = serde_json::from_str(action).unwrap();
        fault(&action).map(|fact| fact.kind)
    }

    #[test]
    fn a_nul_is_found_wherever_text_has_meaning() {
        for action in [
            r#"{"kind":"shell","command":"ls\u0000"}"#,
            r#"{"kind":"shell","command":"ls","cwd":"/a\u0000"}"#,
            r#"{"kind":"file_list","path":"a\u0000b"}"#,
            r#"{"kind":"named","name":"x","params":{"a":{"b\u0000":1}}}"#,
            r#"{"kind":"skill","skill":"x","params":{"a":["\u0000"]}}"#,
            r#"{"kind":"tool","server":"s","tool":"t","annotations":["\u0000"]}"#,
            r#"{"kind":"ui","surface":"app","op":"click","field":{"id":"\u0000"}}"#,
        ] {
            assert_eq!(kind(action), Some(FactKind::Malformed), "{action}");
        }
    }

    #[test]
    fn contents_and_addresses_may_hold_any_byte() {
        assert_eq!(kind(r#"{"kind":"file_write","path":"a","content":"\u0000"}"#), None);
        assert_eq!(kind(r#"{"kind":"navigate","url":"https://e.com/\u0000"}"#), None);
    }

    #[test]
    fn size_and_depth_are_bounded() {
        let command = "x".repeat(MOST_BYTES + 1);
        let large = Action::Shell { command, cwd: None };
        assert_eq!(fault(&large).map(|fact| fact.kind), Some(FactKind::Bound));
        let list = |depth: usize| {
            let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            kind(&format!(r#"{{"kind":"named","name":"x","params":{{"a":{nested}}}}}"#))
        };
        assert_eq!(list(MOST_DEPTH), None);
        assert_eq!(list(MOST_DEPTH + 1), Some(FactKind::Bound));
    }
}
