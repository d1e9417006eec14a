//! Variables and members.

use std::rc::Rc;

use super::{Region, Runner};
use crate::action::Language;
use crate::analyze::UNKNOWN;
use crate::analyze::code::script::api;
use crate::analyze::code::script::tree::{FunctionId, Target};
use crate::analyze::code::script::value::{Handle, Provenance, Shape, Value};
use crate::fact::{Fact, FactKind};

/// Variables that make other programs run code.
const EXECUTING: &[&str] = &[
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "PAGER",
    "GIT_SSH_COMMAND",
    "GIT_PAGER",
    "GIT_EXTERNAL_DIFF",
    "NODE_OPTIONS",
    "PERL5OPT",
    "RUBYOPT",
    "EDITOR",
    "VISUAL",
    "BROWSER",
];

impl Runner<'_> {
    /// Returns the value of a variable, or of something that the language provides.
    pub(super) fn lookup(&self, name: &Rc<str>) -> Value {
        for frame in self.frames.iter().rev() {
            if let Some(value) = frame.locals.get(name) {
                return value.clone();
            }
        }
        if let Some(value) = self.provided(name) {
            return value;
        }
        if self.classes.contains_key(name) {
            return Value::new(Shape::Class(Rc::clone(name)));
        }
        if name.starts_with(['$', '@', '%']) {
            return Value::unknown();
        }
        self.spend(self.stars.len() as u64);
        for module in self.stars.iter().rev() {
            let full = api::canonical(self.language, &format!("{module}.{name}"));
            if api::effect(self.language, &full).is_some() {
                return Value::api(&full);
            }
        }
        super::flags::flag_or_api(&api::canonical(self.language, name))
    }

    /// Returns a value that every program of the language starts with.
    fn provided(&self, name: &str) -> Option<Value> {
        let own = || Value::text(self.own_file()).marked(Provenance::OWN);
        Some(match (self.language, name) {
            (Language::Python, "__file__")
            | (Language::Javascript, "__filename")
            | (Language::Ruby, "__FILE__" | "$0" | "$PROGRAM_NAME")
            | (Language::Perl, "$0" | "__FILE__") => own(),
            (Language::Javascript, "__dirname") | (Language::Ruby, "__dir__") => {
                Value::text(self.scene.workspace().unwrap_or(".")).marked(Provenance::OWN)
            }
            (Language::Perl, "%ENV") | (Language::Ruby, "ENV") => environment(),
            (Language::Perl, "@ARGV" | "STDIN") | (Language::Ruby, "ARGV") => {
                Value::from(Provenance::INPUT)
            }
            (Language::Perl, "$^X") => Value::text("perl"),
            (Language::Perl | Language::Ruby, "$$" | "$PID" | "$PROCESS_ID") => {
                Value::handle(Handle::Itself)
            }
            _ => return None,
        })
    }

    fn own_file(&self) -> String {
        let ending = match self.language {
            Language::Python => "py",
            Language::Javascript => "js",
            Language::Perl => "pl",
            Language::Ruby | Language::Sql => "rb",
        };
        format!("{}/main.{ending}", self.scene.workspace().unwrap_or("."))
    }

    /// Returns a member of a value.
    pub(super) fn member(&self, object: Value, name: &Rc<str>) -> Value {
        self.spend(object.weight());
        match &object.shape {
            Shape::Api(api) => self.api_member(api, name),
            Shape::Any(choices) => {
                Value::any(choices.iter().map(|choice| self.member(choice.clone(), name)).collect())
            }
            Shape::Map(_) => match object.get(name) {
                Some(value) => value.clone(),
                None => Value::member(object, name),
            },
            Shape::Instance(class) | Shape::Class(class) => {
                if let Some(value) = self.attributes.get(name) {
                    return value.clone();
                }
                match self.find_method(class, name) {
                    Some(id) => Value::method(id, Value::new(Shape::Instance(Rc::clone(class)))),
                    None => Value::member(object, name),
                }
            }
            Shape::Handle(Handle::Environment) if self.language == Language::Javascript => {
                self.variable(&Value::text(&**name))
            }
            Shape::Handle(handle) => Self::thing_member(handle, &object, name),
            Shape::Text(text) => match text_member(text, name) {
                Some(value) => value.with(&object.origin),
                None => Value::member(object, name),
            },
            Shape::Unknown | Shape::Nothing | Shape::Member(..) => {
                match self.attributes.get(name) {
                    Some(value) => value.clone().with(&object.origin),
                    None => Value::member(object, name),
                }
            }
            Shape::Number(_) | Shape::List(_) | Shape::Closure(..) => Value::member(object, name),
        }
    }

    fn api_member(&self, api: &str, name: &str) -> Value {
        // No library has names this long; a name that grows with each member must be bounded.
        const LONGEST: usize = 256;
        if api.len() + name.len() > LONGEST {
            return Value::member(Value::unknown(), &name.into());
        }
        if matches!(name, "__dict__" | "default" | "prototype" | "__globals__") {
            return Value::api(api);
        }
        if self.language == Language::Javascript && matches!(name, "then" | "catch" | "finally") {
            return Value::member(Value::api(api), &name.into());
        }
        let full = api::canonical(self.language, &format!("{api}.{name}"));
        match &*full {
            "document.cookie" => Value::from(Provenance::CREDENTIAL),
            "os.environ" | "process.env" | "os.environb" | "Deno.env" | "Bun.env" => environment(),
            "sys.executable" | "process.execPath" | "process.argv0" => {
                let program = if self.language == Language::Python { "python3" } else { "node" };
                Value::text(program)
            }
            "sys.argv" | "process.argv" | "Deno.args" | "sys.stdin" => {
                Value::from(Provenance::INPUT)
            }
            "os.sep" | "path.sep" => Value::text("/"),
            "process.pid" | "Deno.pid" => Value::handle(Handle::Itself),
            "os.devnull" => Value::text("/dev/null"),
            "os.linesep" | "os.EOL" => Value::text("\n"),
            "os.curdir" => Value::text("."),
            "sys.modules" => Value::api(""),
            full => super::flags::flag_or_api(full.trim_start_matches('.')),
        }
    }

    fn thing_member(handle: &Handle, object: &Value, name: &Rc<str>) -> Value {
        match (handle, &**name) {
            (Handle::File(path), "name" | "path" | "filename") => {
                Value::new(Shape::Text(Rc::clone(path))).with(&object.origin)
            }
            (Handle::Process, "stdin") => object.clone(),
            (Handle::Process, "stdout" | "stderr" | "output" | "pid" | "stdio") => {
                Value::from(Provenance::OUTPUT)
            }
            (Handle::Response, "text" | "content" | "body" | "data" | "raw") => {
                Value::from(Provenance::FETCHED)
            }
            (Handle::Response, "status" | "status_code" | "ok" | "code" | "headers") => {
                Value::unknown()
            }
            // `resource.Bucket("x").objects.all()`
            (Handle::Sender, "objects" | "containers" | "images" | "volumes" | "instances") => {
                object.clone()
            }
            _ => Value::member(object.clone(), name),
        }
    }

    pub(super) fn find_method(&self, class: &str, name: &str) -> Option<FunctionId> {
        const MOST_BASES: usize = 8;
        let mut wanted: Vec<Rc<str>> = vec![class.into()];
        for _ in 0..MOST_BASES {
            let class = wanted.pop()?;
            let Some(known) = self.classes.get(&class) else { continue };
            if let Some(id) = known.methods.get(name) {
                return Some(*id);
            }
            wanted.extend(known.class.bases.iter().filter(|base| **base != class).cloned());
        }
        None
    }

    /// Returns the value under a key.
    pub(super) fn index(&self, object: &Value, key: &Value) -> Value {
        if !matches!((&object.shape, &key.shape), (Shape::List(_), Shape::Number(_))) {
            self.spend(2 * object.weight());
        }
        if let Shape::Any(choices) = &object.shape {
            return Value::any(choices.iter().map(|choice| self.index(choice, key)).collect());
        }
        let name = key.known_text();
        match (&object.shape, &key.shape) {
            (Shape::Handle(Handle::Environment), _) => self.variable(key),
            // Ruby: `Dir["*.rb"]` is a list of names.
            (Shape::Api(api), _) if &**api == "Dir" && self.language == Language::Ruby => {
                Value::list(vec![key.clone()])
            }
            (Shape::Api(api), _) => match name {
                Some(name) if api.is_empty() => Value::api(&api::canonical(self.language, name)),
                Some(name) => self.api_member(api, name),
                None => Value::api(&format!("{api}.{UNKNOWN}")),
            },
            (Shape::List(items), Shape::Number(number)) => {
                let place = if *number < 0 {
                    items
                        .len()
                        .checked_sub(usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX))
                } else {
                    usize::try_from(*number).ok()
                };
                place.and_then(|place| items.get(place)).cloned().unwrap_or_default()
            }
            (Shape::List(items), _) => Value::any(items.to_vec()),
            (Shape::Map(pairs), _) => match name.and_then(|name| object.get(name)) {
                Some(value) => value.clone(),
                None => Value::any(pairs.iter().map(|(_, value)| value.clone()).collect()),
            },
            (Shape::Text(text), Shape::Number(number)) => {
                let char = usize::try_from(*number).ok().and_then(|at| text.chars().nth(at));
                char.map_or_else(|| object.derived(), |char| Value::text(char).with(&object.origin))
            }
            (Shape::Unknown | Shape::Nothing | Shape::Instance(_) | Shape::Member(..), _) => {
                let known = name.and_then(|name| self.attributes.get(name.as_str())).cloned();
                let named = || name.and_then(|name| Self::named_somewhere(object, name));
                known.or_else(named).unwrap_or_default().with(&object.origin)
            }
            (Shape::Handle(Handle::Response), _) => Value::from(Provenance::FETCHED),
            _ => object.derived(),
        }
    }

    // --- assignments

    pub(super) fn set_local(&mut self, name: &Rc<str>, value: Value) {
        if let Some(frame) = self.frames.last_mut() {
            frame.locals.insert(Rc::clone(name), value);
        }
    }

    pub(super) fn assign(&mut self, target: &Target, value: Value) {
        match target {
            Target::Name(name) if &**name == "*" => {
                if let Shape::Api(module) = &value.shape
                    && !self.stars.contains(module)
                {
                    self.spend(self.stars.len() as u64 / 4);
                    self.stars.push(Rc::clone(module));
                }
            }
            Target::Name(name) => {
                let frame = self.scope(name);
                self.store(frame, name, value);
            }
            Target::Local(name) => {
                let frame = self.frames.len().saturating_sub(1);
                self.store(frame, name, value);
            }
            Target::Member(name) => self.set_attribute(name, value),
            Target::Index(object, key) => self.set_index(*object, *key, value),
            Target::Many(parts) => {
                for (place, (key, part)) in parts.iter().enumerate() {
                    let piece = if let Some(key) = key {
                        self.member(value.clone(), key)
                    } else {
                        let place = i64::try_from(place).unwrap_or_default();
                        match &value.shape {
                            Shape::List(_) | Shape::Any(_) => {
                                self.index(&value, &Value::new(Shape::Number(place)))
                            }
                            // Of a value that cannot be split, each part may be anything.
                            Shape::Handle(_) => value.clone(),
                            _ => value.derived(),
                        }
                    };
                    self.assign(part, piece);
                }
            }
            Target::Nowhere => {}
        }
    }

    /// Returns the frame in which a name is assigned.
    fn scope(&self, name: &Rc<str>) -> usize {
        let top = self.frames.len().saturating_sub(1);
        if name.starts_with('@') && self.language == Language::Ruby || name.starts_with("$::") {
            return 0;
        }
        let shared = self
            .frames
            .last()
            .and_then(|frame| self.function(frame.function))
            .is_some_and(|function| function.globals.contains(name));
        if shared {
            return 0;
        }
        if self.language == Language::Python {
            return top;
        }
        let known = self.frames.iter().rposition(|frame| frame.locals.contains_key(name));
        known.unwrap_or(top)
    }

    fn store(&mut self, scope: usize, name: &Rc<str>, value: Value) {
        let old = self
            .frames
            .get_mut(scope)
            .and_then(|frame| frame.locals.insert(Rc::clone(name), value));
        if let Some(old) = old
            && let Some(Region { replaced, .. }) =
                self.frames.last_mut().and_then(|frame| frame.blocks.last_mut())
        {
            replaced.entry((scope, Rc::clone(name))).or_insert(old);
        }
    }

    /// At the end of a block, merges its assignments, which may or may not have happened.
    pub(super) fn leave(&mut self, region: Region) {
        for ((scope, name), old) in region.replaced {
            self.spend(1);
            if self.is_exhausted() {
                return;
            }
            let Some(frame) = self.frames.get_mut(scope) else { continue };
            let Some(new) = frame.locals.remove(&name) else { continue };
            let either = old.clone().or(new);
            let choices = either.choices().len();
            frame.locals.insert(Rc::clone(&name), either);
            self.spend(choices as u64 / 2);
            // The outer block replaced it too.
            if let Some(outer) = self.frames.last_mut().and_then(|frame| frame.blocks.last_mut()) {
                outer.replaced.entry((scope, name)).or_insert(old);
            }
        }
    }

    pub(super) fn set_attribute(&mut self, name: &Rc<str>, value: Value) {
        let old = self.attributes.remove(name).unwrap_or_default();
        let either = old.or(value);
        self.spend(either.choices().len() as u64 / 2);
        self.attributes.insert(Rc::clone(name), either);
    }

    fn set_index(&mut self, object: usize, key: usize, value: Value) {
        let object_value = self.value(object);
        let key_value = self.value(key);
        if let Shape::Handle(Handle::Environment) = object_value.shape {
            if let Some(name) = key_value.known_text() {
                if EXECUTING.contains(&name.as_str()) {
                    self.add(Fact::new(FactKind::EnvExecutes, name.as_str()));
                } else if name.starts_with("COUNTERSIGN") {
                    self.add(Fact::new(FactKind::GuardCommand, name.as_str()));
                }
            }
            return;
        }
        let Some(name) = key_value.known_text() else { return };
        let name: Rc<str> = name.as_str().into();
        match (&object_value.shape, self.name_of(object)) {
            (Shape::Map(pairs), Some(variable)) if pairs.len() < 256 => {
                self.spend(pairs.len() as u64 / 4);
                let mut pairs = pairs.to_vec();
                pairs.push((name, value));
                let scope = self.scope(&variable);
                self.store(scope, &variable, Value::map(pairs));
            }
            _ => self.set_attribute(&name, value),
        }
    }
}

pub(super) fn environment() -> Value {
    Value::handle(Handle::Environment).marked(Provenance::ENVIRONMENT)
}

/// Returns a part of a path, like Python's `Path`.
fn text_member(text: &str, name: &str) -> Option<Value> {
    Some(match name {
        "parent" | "parents" => Value::text(super::file::folder(text)),
        "name" => Value::text(crate::location::base_name(text)),
        "href" | "pathname" | "path" => Value::text(text),
        _ => return None,
    })
}
