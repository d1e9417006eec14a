//! The arguments of a call.

use std::collections::HashMap;
use std::rc::Rc;

use crate::analyze::code::script::value::{Shape, Value};

#[derive(Debug, Clone)]
pub(super) struct Arg {
    pub(super) name: Option<Rc<str>>,
    pub(super) value: Value,
}

/// The arguments of a call.
#[derive(Debug, Clone, Default)]
pub(super) struct Args {
    pub(super) list: Vec<Arg>,
}

impl Args {
    pub(super) fn of(values: impl IntoIterator<Item = Value>) -> Self {
        Self { list: values.into_iter().map(|value| Arg { name: None, value }).collect() }
    }

    /// Returns the positional argument at this index.
    pub(super) fn at(&self, place: usize) -> Value {
        self.positional().nth(place).cloned().unwrap_or_default()
    }

    pub(super) fn positional(&self) -> impl Iterator<Item = &Value> {
        self.list.iter().filter(|arg| arg.name.is_none()).map(|arg| &arg.value)
    }

    pub(super) fn count(&self) -> usize {
        self.positional().count()
    }

    /// Returns the argument of this name, given by keyword or in a map.
    pub(super) fn named(&self, name: &str) -> Option<Value> {
        let direct = self.list.iter().find(|arg| arg.name.as_deref() == Some(name));
        direct
            .map(|arg| arg.value.clone())
            .or_else(|| self.positional().find_map(|value| value.get(name).cloned()))
    }

    /// Returns the argument of this name, or the one at this position.
    pub(super) fn get(&self, place: usize, name: &str) -> Value {
        let direct = self.list.iter().find(|arg| arg.name.as_deref() == Some(name));
        direct.map_or_else(|| self.at(place), |arg| arg.value.clone())
    }

    /// Returns an unknown value with the origin of all arguments.
    pub(super) fn joined(&self) -> Value {
        self.list.iter().fold(Value::unknown(), |all, arg| all.with(&arg.value.origin))
    }

    /// Drops the first positional arguments.
    pub(super) fn skip(&self, count: usize) -> Self {
        let mut left = count;
        let list = self.list.iter().filter(|arg| {
            let drop = arg.name.is_none() && left > 0;
            left -= usize::from(drop);
            !drop
        });
        Self { list: list.cloned().collect() }
    }

    /// Returns the arguments with another one before them.
    pub(super) fn after(&self, first: &Value) -> Self {
        let first = Arg { name: None, value: first.clone() };
        Self { list: std::iter::once(first).chain(self.list.iter().cloned()).collect() }
    }

    /// Returns the functions of libraries among the arguments.
    pub(super) fn apis(&self) -> Vec<Rc<str>> {
        let name = |value: &Value| match &value.shape {
            Shape::Api(name) => Some(Rc::clone(name)),
            _ => None,
        };
        self.positional().filter_map(name).collect()
    }

    /// Flattens keyword arguments into positional ones, as Perl does.
    pub(super) fn flat(&self) -> Self {
        let values = self.list.iter().flat_map(|arg| {
            let name = arg.name.as_ref().map(|name| Value::text(&**name));
            name.into_iter().chain([arg.value.clone()])
        });
        Self::of(values)
    }

    /// Returns the arguments with a name; of several with one name, the first.
    pub(super) fn by_name(&self) -> HashMap<&str, &Value> {
        let named = |arg: &'_ Arg| arg.name.is_some();
        let named = self.list.iter().rev().filter(|arg| named(arg));
        named.filter_map(|arg| Some((arg.name.as_deref()?, &arg.value))).collect()
    }

    /// Returns the cost of examining all arguments, in steps.
    pub(super) fn weight(&self) -> u64 {
        self.list.iter().map(|arg| arg.value.weight()).sum::<u64>() + self.list.len() as u64 / 8
    }

    pub(super) fn closures(&self) -> Vec<Value> {
        let closure = |value: &Value| matches!(value.shape, Shape::Closure(..));
        self.list.iter().map(|arg| &arg.value).filter(|value| closure(value)).cloned().collect()
    }
}
