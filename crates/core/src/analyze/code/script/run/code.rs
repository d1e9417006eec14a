//! Text that runs as code.

use super::process::hides;
use super::{Args, Runner};
use crate::action::Language;
use crate::analyze::code::script::value::{Provenance, Shape, Value};
use crate::analyze::code::{self};
use crate::fact::{FactKind, Tag, Tags};
use crate::verdict::Span;

impl Runner<'_> {
    /// Follows `eval(code)`.
    pub(super) fn eval(&mut self, text: &Value, span: Option<Span>) -> Value {
        let given: Vec<_> = text.choices().to_vec();
        for choice in given {
            self.judge_source(&choice, "code", span);
            match &choice.shape {
                Shape::Text(text) => self.run_code(text, span),
                Shape::Closure(..) => {
                    self.call(&choice, &Args::default(), span);
                }
                Shape::Nothing | Shape::Api(_) => {}
                _ if hides(&choice) || is_own_file(&choice) => {}
                _ => self.unknown(FactKind::UnknownCode, "code", span),
            }
        }
        text.derived()
    }

    /// Follows code in a string, one language deeper.
    fn run_code(&mut self, text: &str, span: Option<Span>) {
        if self.scene.too_deep() {
            self.fact(FactKind::Bound, "code", Tags::NONE, span);
            return;
        }
        self.spend(200 + text.len() as u64);
        let unknown = text.contains(crate::analyze::UNKNOWN);
        let scene = self.scene.deeper();
        let (mut found, spent) =
            code::script::follow(self.language, text, &scene, Some(self.fuel.get()));
        self.spend(spent);
        if unknown {
            // A template with unknown gaps: its certain effects count, an incomplete program does
            // not.
            found
                .facts
                .retain(|fact| fact.kind != FactKind::Unparsed && !fact.tags.has(Tag::Unknown));
        }
        self.merge(found, span);
    }

    /// Follows a file that runs as code.
    pub(super) fn run_file(&mut self, path: &Value, span: Option<Span>) -> Value {
        let content = self.content(path);
        if content.has(Provenance::FETCHED) || path.has(Provenance::FETCHED) {
            self.fact(FactKind::RemoteCode, "a script", Tags::NONE, span);
        } else if let Some(text) = path.known_text() {
            self.foreign_file(&text.clone(), span);
        }
        content
    }

    /// Follows a deserialisation, which can run any code that the bytes name.
    pub(super) fn unpickle(&mut self, bytes: &Value, span: Option<Span>) -> Value {
        if bytes.has(Provenance::FETCHED.and(Provenance::RECEIVED)) {
            self.fact(FactKind::RemoteCode, "serialised objects", Tags::NONE, span);
        } else if bytes.known_text().is_some_and(|text| names_code(text))
            || (self.language == Language::Ruby && bytes.has(Provenance::FILE))
        {
            self.unknown(FactKind::UnknownCode, "serialised objects", span);
        }
        bytes.derived().marked(Provenance::DECODED)
    }

    /// Records a module whose text is in its address, or comes from the network.
    pub(super) fn imported_address(&mut self, name: &Value, span: Option<Span>) {
        let Some(address) = name.known_text() else { return };
        if address.starts_with("data:") {
            self.fact(FactKind::DecodedCode, "a module in an address", Tags::NONE, span);
        } else if address.starts_with("https://") || address.starts_with("http://") {
            self.fact(FactKind::RemoteCode, address, Tags::NONE, span);
        }
    }

    /// Returns a module by its name.
    pub(super) fn import(&self, name: &Value) -> Value {
        match name.known_text() {
            Some(text) => {
                let full = code::script::api::canonical(self.language, text);
                Value::api(&full)
            }
            None => Value::unknown(),
        }
    }

    /// Follows `getattr(object, name)`; Ruby's `send(name, …)` calls it as well.
    pub(super) fn get_member(&mut self, args: &Args, span: Option<Span>) -> Value {
        if self.language == Language::Ruby {
            let name = args.at(0);
            let Some(text) = name.known_text() else {
                self.unknown(FactKind::UnknownCode, "a method by its name", span);
                return args.joined();
            };
            let callee = self.lookup(&text.as_str().into());
            return if args.count() > 1 { self.call(&callee, &args.skip(1), span) } else { callee };
        }
        let (object, name) = (args.at(0), args.at(1));
        match name.known_text() {
            Some(text) => self.member(object, &text.as_str().into()),
            None => self.index(&object, &name),
        }
    }

    /// Follows SQL given to a database.
    pub(super) fn query(&mut self, statement: &Value, dialect: &str, span: Option<Span>) {
        for choice in statement.choices() {
            let Some(text) = choice.known_text() else { continue };
            if !code::sql::is_statement(text) {
                continue;
            }
            self.spend(500 + 4 * text.len() as u64);
            // A gap that is filled in later is replaced by a value.
            let text = text.replace(crate::analyze::UNKNOWN, "x");
            let facts = code::sql::facts(&text, Some(dialect), &self.scene.deeper());
            for fact in facts {
                // Placeholders differ by library, and writing rows is the normal use of a database.
                if !matches!(fact.kind, FactKind::Unparsed | FactKind::SqlWrite) {
                    self.add(fact.at(span));
                }
            }
        }
    }
}

/// Reports whether serialised objects name functions that are called when they are deserialised.
fn names_code(text: &str) -> bool {
    ["!!python", "!ruby/", "system", "posix", "__reduce__", "subprocess"]
        .iter()
        .any(|mark| text.contains(mark))
}

/// Reports whether code is the content of a file of the project: running it is like running the
/// project.
fn is_own_file(code: &Value) -> bool {
    let within = Tags::of(&[Tag::Workspace]);
    code.has(Provenance::FILE)
        && code.origin.source.as_ref().is_some_and(|source| source.tags.any(within))
}
