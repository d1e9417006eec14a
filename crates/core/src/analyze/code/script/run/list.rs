//! Lists and maps: their items and methods.

use std::rc::Rc;

use super::{Args, Runner, decode};
use crate::action::Language;
use crate::analyze::code::script::value::{Handle, Provenance, Shape, Value};

impl Runner<'_> {
    /// Returns an item of a list, a map, a file or a folder.
    pub(super) fn item(&self, list: &Value) -> Value {
        self.spend(2 * list.weight());
        match &list.shape {
            // Perl's lists do not nest.
            Shape::List(items) if self.language == Language::Perl => {
                let flat = items.iter().flat_map(|item| match item.items() {
                    Some(inner) => inner.to_vec(),
                    None => vec![item.clone()],
                });
                Value::any(flat.collect())
            }
            Shape::List(items) => Value::any(items.to_vec()),
            Shape::Map(pairs) => {
                Value::any(pairs.iter().map(|(name, _)| Value::text(&**name)).collect())
            }
            Shape::Any(choices) => {
                Value::any(choices.iter().map(|choice| self.item(choice)).collect())
            }
            // `os.walk` yields a folder, the folders in it and the files in it.
            Shape::Handle(Handle::Tree(path)) => {
                let names = || Value::list(vec![Value::text("*").marked(Provenance::WALKED)]);
                let folder = Value::new(Shape::Text(Rc::clone(path))).marked(Provenance::WALKED);
                Value::list(vec![folder, names(), names()]).marked(Provenance::WALKED)
            }
            Shape::Handle(Handle::Socket) => Value::from(Provenance::RECEIVED),
            Shape::Handle(Handle::Response) => Value::from(Provenance::FETCHED),
            Shape::Handle(Handle::Processes) => list.clone(),
            // A glob represents every name that matches it.
            Shape::Text(text) if text.contains('*') => list.clone(),
            _ => list.derived(),
        }
    }

    pub(super) fn list_method(
        &mut self,
        items: &[Value],
        object: &Value,
        name: &str,
        args: &Args,
    ) -> Value {
        match name {
            "join" => self.join(&args.at(0), object),
            "map" | "forEach" | "each" | "collect" | "flat_map" | "flatMap" | "filter"
            | "select" | "reject" | "find" | "some" | "every" | "reduce" | "inject"
            | "each_with_index" | "each_with_object" | "sort_by" | "any?" | "all?" => {
                match super::indirect::function_of(args) {
                    Some(function) => self.mapped(object, &function),
                    None => self.mapped_by_name(object, args),
                }
            }
            "reverse" | "reversed" => Value::list(items.iter().rev().cloned().collect()),
            "pop" | "last" => items.last().cloned().unwrap_or_default(),
            "shift" | "first" | "head" => items.first().cloned().unwrap_or_default(),
            "concat" => {
                let more = args.at(0);
                let more = more.items().unwrap_or_default();
                Value::list(items.iter().chain(more).cloned().collect())
            }
            "pack" => Self::pack(items, &args.at(0)),
            "shelljoin" => Value::new(object.shape.clone()).with(&object.origin),
            "index" | "count" | "length" | "size" | "includes" | "include?" | "empty?" => {
                Value::unknown()
            }
            _ => object.clone(),
        }
    }

    /// Follows `list.each(&:delete)`: the method of this name, on every item.
    fn mapped_by_name(&mut self, list: &Value, args: &Args) -> Value {
        let first = args.at(0);
        let Some(name) = first.known_text().filter(|_| self.language == Language::Ruby) else {
            return list.clone();
        };
        let item = self.item(list);
        let result = self.call_method(&item, &name.as_str().into(), &Args::default(), None);
        Value::list(vec![result])
    }

    /// Computes `["6869"].pack("H*")` and `[104, 105].pack("c*")`.
    fn pack(items: &[Value], format: &Value) -> Value {
        let format = format.known_text().map(std::string::ToString::to_string).unwrap_or_default();
        let text = match items {
            [only] => {
                only.known_text().and_then(|text| decode::decode(decode::named(&format)?, text))
            }
            _ => None,
        };
        let characters = || {
            items
                .iter()
                .map(|item| match item.shape {
                    Shape::Number(number) => u32::try_from(number).ok().and_then(char::from_u32),
                    _ => None,
                })
                .collect::<Option<String>>()
        };
        match text.or_else(characters) {
            Some(text) => Value::text(text).marked(Provenance::DECODED),
            None => Value::from(Provenance::DECODED),
        }
    }

    pub(super) fn map_method(
        &mut self,
        pairs: &[(Rc<str>, Value)],
        object: &Value,
        name: &str,
        args: &Args,
    ) -> Value {
        match name {
            "get" | "fetch" | "dig" => {
                let key = args.at(0);
                let found = key.known_text().and_then(|key| object.get(key));
                found.cloned().unwrap_or_else(|| args.at(1))
            }
            "values" => Value::list(pairs.iter().map(|(_, value)| value.clone()).collect()),
            "keys" => Value::list(pairs.iter().map(|(name, _)| Value::text(&**name)).collect()),
            "items" | "each" | "entries" | "each_pair" | "to_a" | "map" => {
                let items = pairs
                    .iter()
                    .map(|(name, value)| Value::list(vec![Value::text(&**name), value.clone()]));
                let list = Value::list(items.collect());
                match args.closures().pop() {
                    Some(function) => self.mapped(&list, &function),
                    None => list,
                }
            }
            "copy" | "dup" | "to_h" => object.clone(),
            "call" | "run" | "exec" | "send" => self.call_unknown(object, args),
            _ => {
                let result = args.joined().with(&object.origin);
                self.call_back(args, &result);
                result
            }
        }
    }

    /// Joins the items of a list with a separator.
    pub(super) fn join(&mut self, separator: &Value, list: &Value) -> Value {
        let Some(items) = list.items() else {
            return match &list.shape {
                Shape::Text(_) => list.clone(),
                _ => list.derived().with(&separator.origin),
            };
        };
        let mut joined = Value::text("").with(&list.origin);
        for (place, item) in items.iter().enumerate() {
            if place > 0 && matches!(separator.shape, Shape::Text(_)) {
                joined = self.concat(joined, separator);
            }
            joined = self.concat(joined, item);
        }
        joined
    }
}
