//! Methods of values, judged by the value's shape, or by their name where that is enough.

use std::rc::Rc;

use super::{Args, Runner, decode, text};
use crate::action::Language;
use crate::analyze::code::script::value::{Provenance, Shape, Value};
use crate::fact::{FactKind, Tag, Tags};
use crate::verdict::Span;

mod handle;

impl Runner<'_> {
    pub(super) fn call_method(
        &mut self,
        object: &Value,
        name: &Rc<str>,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        self.spend(object.weight());
        match &object.shape {
            Shape::Any(choices) => {
                let results: Vec<_> = choices
                    .iter()
                    .take(64)
                    .map(|choice| self.call_method(choice, name, args, span))
                    .collect();
                results.into_iter().reduce(Value::or).unwrap_or_default()
            }
            Shape::Text(text) => {
                let text = Rc::clone(text);
                self.text_method(&text, object, name, args, span)
            }
            Shape::List(items) => {
                let items = Rc::clone(items);
                self.list_method(&items, object, name, args)
            }
            Shape::Map(pairs) => {
                let pairs = Rc::clone(pairs);
                self.map_method(&pairs, object, name, args)
            }
            Shape::Handle(handle) => {
                let handle = handle.clone();
                self.thing_method(&handle, object, name, args, span)
            }
            Shape::Closure(..) | Shape::Class(_) | Shape::Instance(_) => {
                self.function_method(object, name, args, span)
            }
            Shape::Api(_) if matches!(&**name, "then" | "catch" | "finally") => {
                self.call_back(args, object);
                object.clone()
            }
            Shape::Api(api) => {
                let full: Rc<str> = format!("{api}.{name}").into();
                self.call_api(&full, args, span)
            }
            Shape::Unknown | Shape::Nothing | Shape::Number(_) | Shape::Member(..) => {
                match self.running_method(name, args, span) {
                    Some(value) => value,
                    None => self.unknown_method(object, name, args, span),
                }
            }
        }
    }

    /// Follows `f.call(this, x)`, `f.apply(this, [x])`, `Class.new(x)`, `Class.method(x)`.
    fn function_method(
        &mut self,
        object: &Value,
        name: &Rc<str>,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        match (&**name, &object.shape) {
            ("call", Shape::Closure(..)) if self.language == Language::Javascript => {
                self.call(object, &args.skip(1), span)
            }
            ("new", Shape::Class(_)) | ("call" | "()" | "yield", Shape::Closure(..)) => {
                self.call(object, args, span)
            }
            ("apply", Shape::Closure(..)) => {
                let given = args.at(1);
                let given = Args::of(given.items().unwrap_or_default().to_vec());
                self.call(object, &given, span)
            }
            ("bind", Shape::Closure(..)) => object.clone(),
            _ => self.unknown_method(object, name, args, span),
        }
    }

    /// Follows methods of text, and of paths in Python and Ruby.
    fn text_method(
        &mut self,
        text: &Rc<String>,
        object: &Value,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        if let Some(value) = self.path_method(object, name, args, span) {
            return value;
        }
        match name {
            "format" => self.fill_braces(text, args).with(&object.origin),
            "join" | "joinpath" if name == "joinpath" || self.language == Language::Ruby => {
                let parts: Vec<_> = args.positional().cloned().collect();
                parts.iter().fold(object.clone(), |path, part| self.join_paths(&path, part))
            }
            "join" => self.join(object, &args.at(0)),
            "concat" | "+" | "<<" => {
                let parts: Vec<_> = args.positional().cloned().collect();
                parts.iter().fold(object.clone(), |all, part| self.concat(all, part))
            }
            "decode" | "toString" | "unpack1" | "unpack" | "encode" if coding(args).is_some() => {
                let coding = coding(args).unwrap_or(super::super::api::Coding::Packed);
                decoded(coding, text, object)
            }
            "map" | "each_char" | "each" | "forEach" => match args.closures().pop() {
                Some(function) => self.mapped(object, &function),
                None => object.derived(),
            },
            "startswith" | "endswith" | "startsWith" | "endsWith" | "includes" | "find"
            | "index" | "indexOf" | "count" | "isdigit" | "start_with?" | "end_with?"
            | "include?" | "match" | "exists" | "is_file" | "is_dir" | "exist?" | "length"
            | "size" => Value::unknown(),
            "to_sym" | "itself" => object.clone(),
            "then" | "catch" | "tap" => {
                self.call_back(args, object);
                object.clone()
            }
            _ => match text::method(text, name, args) {
                Some(value) => {
                    self.spend(text.len() as u64 / 16);
                    value.with(&object.origin)
                }
                None => object.derived().with(&args.joined().origin),
            },
        }
    }

    fn path_method(
        &mut self,
        object: &Value,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Option<Value> {
        if !matches!(self.language, Language::Python | Language::Ruby) {
            return None;
        }
        let ruby = self.language == Language::Ruby;
        match name {
            "unlink" | "rmdir" => self.touch(FactKind::Delete, object, Tags::NONE, span),
            "delete" if ruby && args.count() == 0 => {
                self.touch(FactKind::Delete, object, Tags::NONE, span);
            }
            "rmtree" | "rm_rf" => {
                self.touch(FactKind::Delete, object, Tags::of(&[Tag::Recursive]), span);
            }
            "read_text" | "read_bytes" | "readlines" => return Some(self.read(object, span)),
            "read" | "each_line" if ruby => {
                let content = self.read(object, span);
                self.call_back(args, &content);
                return Some(content);
            }
            "write_text" | "write_bytes" => {
                self.write(FactKind::Write, object, &args.at(0), span);
            }
            "open" => return Some(self.open(&args.after(object), span)),
            "rename" | "replace" if args.count() == 1 => {
                self.move_file(&Args::of([object.clone(), args.at(0)]), span);
            }
            "chmod" => {
                let tags = Self::mode_tags(&args.at(0));
                self.touch(FactKind::Chmod, object, tags, span);
            }
            "touch" | "symlink_to" | "hardlink_to" | "link_to" => {
                if args.count() > 0 && name != "touch" {
                    self.touch(FactKind::Link, &args.at(0), Tags::NONE, span);
                }
                self.write(FactKind::Append, object, &Value::unknown(), span);
            }
            "iterdir" | "children" | "entries" => {
                self.touch(FactKind::List, object, Tags::NONE, span);
                let all = Value::text("*");
                return Some(Value::list(vec![self.join_paths(object, &all)]));
            }
            "glob" | "rglob" => {
                let marks = if name == "rglob" { Provenance::WALKED } else { Provenance::NONE };
                let path = self.join_paths(object, &args.at(0));
                return Some(Value::list(vec![path.marked(marks)]));
            }
            "expanduser" => return Some(self.expand_home(object)),
            "with_name" | "with_suffix" | "relative_to" => return Some(object.clone()),
            "dirname" | "parent" => return Some(self.folder_of(object)),
            _ => return None,
        }
        Some(Value::unknown())
    }

    /// Returns a member that this source has set on some object, called if it is a function.
    fn own_member(&mut self, name: &Rc<str>, args: &Args, span: Option<Span>) -> Option<Value> {
        let value = self.attributes.get(name).filter(|_| args.list.is_empty()).cloned()?;
        let is_function = matches!(value.shape, Shape::Closure(..));
        Some(if is_function { self.call(&value, args, span) } else { value })
    }

    /// Follows methods of an unknown value, some of whose names are enough.
    fn unknown_method(
        &mut self,
        object: &Value,
        name: &Rc<str>,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        let known = self.own_member(name, args, span);
        if let Some(value) = known.or_else(|| self.handed_over(name, args, span)) {
            return value;
        }
        if object.has(Provenance::SOCKET) {
            return self.socket_method(object, name, args, span);
        }
        match &**name {
            "recv" | "recvfrom" | "recv_bytes" | "sysread" | "recv_string" => {
                return Value::from(Provenance::RECEIVED);
            }
            "execute" | "executemany" | "executescript" | "query" | "exec" | "raw" | "do"
            | "run" | "prepare" | "execute_sql" | "exec_query" | "fetch" | "fetchval"
            | "fetchrow" => {
                self.query(&args.at(0), "generic", span);
            }
            "unlink" | "rmtree" if args.count() == 0 => {
                self.touch(FactKind::Delete, object, Tags::NONE, span);
            }
            "read_text" | "read_bytes" => return self.read(object, span),
            name if handle::UNPACKING.contains(&name)
                && args.get(usize::from(name == "extract"), "path").known_text().is_some() =>
            {
                self.unpack(object, &handle::unpacked_into(name, args), span);
            }
            "fdopen" | "reopen"
                if (args.joined().has(Provenance::SOCKET) || self.connected.is_some()) =>
            {
                self.redirected = self.redirected.or(span);
            }
            "pipe" if object.has(Provenance::OUTPUT) || args.at(0).has(Provenance::OUTPUT) => {
                return self.pipe(object, args, span);
            }
            "send" | "public_send" | "__send__" if self.language == Language::Ruby => {
                if let Some(text) = args.at(0).known_text() {
                    let callee = self.member(object.clone(), &text.as_str().into());
                    return self.call(&callee, &args.skip(1), span);
                }
            }
            "upload_file" | "storbinary" | "sendmail" | "send_file" | "send_document" => {
                self.send_file(&args.at(0), span);
                self.send(&args.joined(), span);
            }
            "constructor" if self.language == Language::Javascript => {
                // `[].constructor.constructor("code")` is `Function("code")`.
                return self.eval(&args.at(0), span);
            }
            _ => {}
        }
        self.far_method(object, name, span);
        self.reaches_metadata(args, span);
        let protected = self.reads_protected(args, span);
        self.call_unknown(object, args).with(&protected.origin)
    }
}

/// Returns the encoding that an argument names.
fn coding(args: &Args) -> Option<super::super::api::Coding> {
    decode::named(args.at(0).known_text()?)
}

/// Decodes a text, or only marks it as decoded.
pub(super) fn decoded(coding: super::super::api::Coding, text: &str, object: &Value) -> Value {
    match decode::decode(coding, text) {
        Some(plain) => Value::text(plain).with(&object.origin).marked(Provenance::DECODED),
        None => object.derived().marked(Provenance::DECODED),
    }
}
