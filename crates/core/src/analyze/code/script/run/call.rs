//! Calls of functions in this source, of classes, and of library functions.

use std::rc::Rc;

use super::{Args, Runner};
use crate::action::Language;
use crate::analyze::UNKNOWN;
use crate::analyze::code::script::api;
use crate::analyze::code::script::value::{Shape, Value};
use crate::fact::{FactKind, Tags};
use crate::verdict::Span;

/// Modules of which any unknown member may do harm.
const RISKY: &[&str] = &["os", "subprocess", "builtins", "child_process", "fs", "shutil", ""];

impl Runner<'_> {
    /// Calls a value; returns the result.
    pub(super) fn call(&mut self, callee: &Value, args: &Args, span: Option<Span>) -> Value {
        const MOST_CALLEES: usize = 16;
        if self.is_exhausted() {
            return Value::unknown();
        }
        self.spend(1 + args.weight());
        match &callee.shape {
            Shape::Closure(id, this) => self.invoke(*id, args, this.as_deref().cloned()),
            Shape::Class(name) => self.construct(name, args, span),
            Shape::Api(name) => self.call_api(name, args, span),
            Shape::Member(object, name) => self.call_method(object, name, args, span),
            Shape::Any(choices) => {
                let results = choices.iter().take(MOST_CALLEES);
                let results: Vec<_> = results.map(|choice| self.call(choice, args, span)).collect();
                results.into_iter().reduce(Value::or).unwrap_or_default()
            }
            Shape::Instance(class) => match self.find_method(class, "__call__") {
                Some(id) => self.invoke(id, args, Some(callee.clone())),
                None => self.call_unknown(callee, args),
            },
            // Perl: `&$name(…)` calls the function of that name.
            Shape::Text(text) => match super::indirect::symbol(self.language, text) {
                Some(name) => self.call_api(&name, args, span),
                None => self.call_unknown(callee, args),
            },
            _ => self.call_unknown(callee, args),
        }
    }

    /// Calls an unknown function: its result may contain its arguments, and it may call functions
    /// that it is given.
    pub(super) fn call_unknown(&mut self, callee: &Value, args: &Args) -> Value {
        let result = args.joined().with(&callee.origin);
        self.call_back(args, &result);
        self.call_given(args, None);
        result
    }

    /// Calls every function among the arguments with this value.
    pub(super) fn call_back(&mut self, args: &Args, value: &Value) {
        if self.language == Language::Javascript {
            // `.then(eval)`
            for name in args.apis() {
                if api::effect(self.language, &name).is_some() {
                    self.call_api(&name, &Args::of([value.clone()]), None);
                }
            }
        }
        for closure in args.closures() {
            let Shape::Closure(id, this) = &closure.shape else { continue };
            let params = self.function(*id).map_or(0, |function| function.params.len());
            // Node passes an error first, then the value.
            let given = match (self.language, params) {
                (Language::Javascript, 2..) => {
                    vec![Value::unknown(), value.clone(), value.derived()]
                }
                (_, 0) => Vec::new(),
                (_, count) => vec![value.clone(); count.min(4)],
            };
            self.invoke(*id, &Args::of(given), this.as_deref().cloned());
        }
    }

    fn construct(&mut self, class: &Rc<str>, args: &Args, span: Option<Span>) -> Value {
        let instance = Value::new(Shape::Instance(Rc::clone(class)));
        for name in ["__init__", "constructor", "initialize", "new", "__enter__"] {
            if let Some(id) = self.find_method(class, name) {
                self.invoke(id, args, Some(instance.clone()));
            }
        }
        // The base class may have effects as well: a server that handles requests.
        let bases = self.classes.get(class).map(|known| known.class.bases.clone());
        for base in bases.unwrap_or_default() {
            if matches!(&*base, "Thread" | "Process")
                && let Some(id) = self.find_method(class, "run")
            {
                self.invoke(id, &Args::default(), Some(instance.clone()));
            }
        }
        let _ = span;
        instance
    }

    /// Calls a library function.
    pub(super) fn call_api(&mut self, name: &Rc<str>, args: &Args, span: Option<Span>) -> Value {
        if let Some(value) = self.call_indirect(name, args, span) {
            return value;
        }
        if let Some(effect) = api::effect(self.language, name) {
            return self.perform(effect, name, args, span);
        }
        let (module, member) = name.rsplit_once('.').unwrap_or(("", name));
        if member.contains(UNKNOWN) && RISKY.contains(&module) && args.count() > 0 {
            self.unknown(FactKind::UnknownCode, module, span);
            return args.joined();
        }
        if module.is_empty() {
            return self.call_unknown(&Value::unknown(), args);
        }
        // `Foo.bar.query("…")`: judged by the method, and by the noun before it.
        let noun = module.rsplit('.').next().unwrap_or(module);
        let object = Value::member(Value::unknown(), &noun.into());
        self.call_method(&object, &member.into(), args, span)
    }

    /// Records a fact about something unknown, except in a function that nobody calls.
    pub(super) fn unknown(&mut self, kind: FactKind, subject: &str, span: Option<Span>) {
        if !self.supposed {
            self.fact(kind, subject, Tags::NONE, span);
        }
    }

    /// Applies a function to every item.
    pub(super) fn mapped(&mut self, list: &Value, function: &Value) -> Value {
        const MOST_ITEMS: usize = 512;
        match &list.shape {
            Shape::List(items) if items.len() <= MOST_ITEMS && !items.is_empty() => {
                let results: Vec<_> = items
                    .iter()
                    .map(|item| self.call(function, &Args::of([item.clone()]), None))
                    .collect();
                Value::list(results)
            }
            Shape::Text(text) if text.len() <= MOST_ITEMS && !text.is_empty() => {
                let results: Vec<_> = text
                    .chars()
                    .map(|char| self.call(function, &Args::of([Value::text(char)]), None))
                    .collect();
                Value::list(results).with(&list.origin)
            }
            _ => {
                let item = self.item(list);
                let result = self.call(function, &Args::of([item]), None);
                Value::list(vec![result])
            }
        }
    }
}
