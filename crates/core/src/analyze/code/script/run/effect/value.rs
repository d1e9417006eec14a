//! Functions that return a value and change nothing.

use std::rc::Rc;

use super::super::method::decoded;
use super::super::{Args, Runner, Target, decode, text};
use crate::action::Language;
use crate::analyze::UNKNOWN;
use crate::analyze::code::script::api::{Coding, Effect};
use crate::analyze::code::script::value::{Handle, Origin, Provenance, Shape, Source, Value};
use crate::fact::Tags;

impl Runner<'_> {
    pub(super) fn on_values(&mut self, effect: Effect, args: &Args) -> Option<Value> {
        Some(match effect {
            Effect::Same => match args.at(0).shape {
                Shape::Number(number) => Value::text(number.to_string()),
                _ => args.at(0).with(&args.joined().origin),
            },
            Effect::Clean => {
                self.applied_to_items(args);
                self.call_back(args, &Value::unknown());
                Value::unknown()
            }
            Effect::JoinPath => self.join_all(args),
            Effect::Home => Value::text(self.scene.home()),
            Effect::ExpandHome => {
                let path = if args.count() > 1 && self.language == Language::Ruby {
                    self.join_paths(&args.at(1), &args.at(0))
                } else {
                    args.at(0)
                };
                self.expand_home(&path)
            }
            Effect::Folder => self.folder_of(&args.at(0)),
            Effect::BaseName => match args.at(0).known_text() {
                Some(text) => Value::text(crate::location::base_name(text)),
                None => args.at(0).derived(),
            },
            Effect::WorkingFolder => match self.cwd.as_deref().or(self.scene.cwd) {
                Some(cwd) => Value::text(cwd),
                None => Value::text("."),
            },
            Effect::ChangeFolder => {
                self.change_folder(&args.at(0));
                self.call_back(args, &Value::unknown());
                Value::unknown()
            }
            Effect::Temporary => {
                let folder = Value::text(format!("/tmp/{UNKNOWN}")).marked(Provenance::CREATED);
                self.call_back(args, &folder);
                folder
            }
            Effect::TemporaryFile => {
                let file = Handle::File(Rc::new(format!("/tmp/{UNKNOWN}")));
                let file = Value::handle(file).marked(Provenance::CREATED);
                self.call_back(args, &file);
                file
            }
            Effect::Variable => {
                let value = self.variable(&args.at(0));
                match (&value.shape, &args.at(1).shape) {
                    (Shape::Unknown, Shape::Text(_)) => args.at(1).with(&value.origin),
                    _ => value,
                }
            }
            Effect::Input => self.standard_input(),
            Effect::Credential => Value::from(Provenance::CREDENTIAL),
            _ => return self.on_texts(effect, args),
        })
    }

    fn on_texts(&mut self, effect: Effect, args: &Args) -> Option<Value> {
        Some(match effect {
            Effect::Decode(coding) => self.decode(coding, args),
            Effect::Character => Self::characters(args),
            Effect::CodePoint => match args.at(0).known_text().and_then(|text| text.chars().next())
            {
                Some(char) => Value::new(Shape::Number(i64::from(u32::from(char)))),
                None => args.at(0).derived(),
            },
            Effect::Map => {
                let rest = args.skip(1);
                let list = match (rest.count(), self.language) {
                    (0..=1, Language::Python) | (1, _) => rest.at(0),
                    _ => Value::list(rest.positional().cloned().collect()),
                };
                if self.language == Language::Perl {
                    let item = self.item(&list);
                    self.assign(&Target::Name("$_".into()), item);
                }
                self.mapped(&list, &args.at(0))
            }
            Effect::Join => {
                let list = match args.count() {
                    2 => match args.at(1).shape {
                        Shape::List(_) => args.at(1),
                        _ => Value::list(vec![args.at(1)]),
                    },
                    _ => Value::list(args.skip(1).positional().cloned().collect()),
                };
                self.join(&args.at(0), &list)
            }
            Effect::Format => match args.at(0).known_text() {
                Some(format) => {
                    let items: Vec<_> = args.skip(1).positional().cloned().collect();
                    let filled = text::fill_percent(format, &items, &args.at(1));
                    self.made(filled).with(&args.joined().origin)
                }
                None => args.joined(),
            },
            Effect::Shift => self.shift(args),
            Effect::Items => {
                let first = args.at(0);
                let result = if args.count() > 1 && self.is_function(&first) {
                    args.at(1)
                } else {
                    first.with(&args.joined().origin)
                };
                self.applied_to_items(args);
                self.call_back(args, &result);
                result
            }
            _ => return None,
        })
    }

    /// Follows Perl's `shift`: the first argument of the current sub, unless a list is given.
    pub(super) fn shift(&mut self, args: &Args) -> Value {
        if args.count() > 0 {
            return self.item(&args.at(0));
        }
        let name: Rc<str> = "@_".into();
        let Some(frame) = self.frames.last_mut() else { return Value::unknown() };
        let Some(list) = frame.locals.get(&name).cloned() else {
            return Value::from(Provenance::INPUT);
        };
        self.fuel.set(self.fuel.get().saturating_sub(list.weight()));
        match list.items() {
            Some([first, rest @ ..]) => {
                frame.locals.insert(name, Value::list(rest.to_vec()));
                first.clone()
            }
            _ => list.derived(),
        }
    }

    pub(super) fn characters(args: &Args) -> Value {
        let numbers: Option<String> = args
            .positional()
            .map(|value| match value.shape {
                Shape::Number(number) => u32::try_from(number).ok().and_then(char::from_u32),
                _ => None,
            })
            .collect();
        match numbers {
            Some(text) => Value::text(text).marked(Provenance::DECODED),
            None => args.joined().marked(Provenance::DECODED),
        }
    }

    pub(super) fn decode(&mut self, coding: Coding, args: &Args) -> Value {
        // Perl: `pack("H*", $text)`; elsewhere the text comes first.
        let format_first = self.language == Language::Perl && coding == Coding::Named;
        let (text, format) =
            if format_first { (args.at(1), args.at(0)) } else { (args.at(0), args.at(1)) };
        let coding = match coding {
            Coding::Named => match format.known_text().and_then(|name| decode::named(name)) {
                Some(coding) => coding,
                // Not an encoding: `Buffer.from("text")`.
                None => return text.with(&args.joined().origin),
            },
            coding => coding,
        };
        self.spend(1 + 4 * text.weight());
        let results: Vec<_> = text
            .choices()
            .iter()
            .map(|choice| match &choice.shape {
                Shape::Text(text) => {
                    // Percent-encoding hides little: every address uses it.
                    let mut value = decoded(coding, text, choice);
                    if coding == Coding::Percent {
                        value.origin = choice.origin.clone();
                    }
                    value
                }
                _ if coding == Coding::Percent => choice.derived(),
                _ => choice.derived().marked(Provenance::DECODED),
            })
            .collect();
        Value::any(results)
    }

    /// Returns the value of an environment variable.
    pub(in super::super) fn variable(&self, name: &Value) -> Value {
        let Some(name) = name.known_text() else { return Value::from(Provenance::VARIABLE) };
        match name.as_str() {
            "HOME" | "USERPROFILE" => Value::text(self.scene.home()),
            "PWD" => Value::text(self.scene.cwd.unwrap_or(".")),
            "TMPDIR" | "TEMP" | "TMP" => Value::text("/tmp"),
            "SHELL" => Value::text("/bin/sh"),
            name => {
                let source = Source { subject: format!("${name}").into(), tags: Tags::NONE };
                let origin = Origin { marks: Provenance::VARIABLE, source: Some(Rc::new(source)) };
                Value::unknown().with(&origin)
            }
        }
    }
}
