//! Methods of values, judged by what the value is, or by their name where that says enough.

use std::rc::Rc;

use super::network::socket;
use super::{Args, Runner, decode, text};
use crate::action::Language;
use crate::analyze::code::script::value::{Marks, Shape, Storage, Thing, Value};
use crate::fact::{FactKind, Tag, Tags};
use crate::verdict::Span;

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
            Shape::Thing(thing) => {
                let thing = thing.clone();
                self.thing_method(&thing, object, name, args, span)
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
                self.unknown_method(object, name, args, span)
            }
        }
    }

    /// `f.call(this, x)`, `f.apply(this, [x])`, `Class.new(x)`, `Class.method(x)`
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

    /// Text, and paths as Python and Ruby have them.
    fn text_method(
        &mut self,
        text: &Rc<String>,
        object: &Value,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        if let Some(value) = self.path_method(text, object, name, args, span) {
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
        text: &Rc<String>,
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
            "open" => {
                let mut given = vec![object.clone()];
                given.extend(args.positional().cloned());
                let mut all = Args::of(given);
                all.list.extend(args.list.iter().filter(|arg| arg.name.is_some()).cloned());
                return Some(self.open(&all, span));
            }
            "rename" | "replace" if args.count() == 1 => {
                self.move_file(&Args::of([object.clone(), args.at(0)]), span);
            }
            "chmod" => {
                let tags = Self::mode_tags(&args.at(0));
                self.touch(FactKind::Chmod, object, tags, span);
            }
            "touch" | "symlink_to" | "hardlink_to" | "link_to" => {
                self.write(FactKind::Append, object, &Value::unknown(), span);
            }
            "iterdir" | "children" | "entries" => {
                self.touch(FactKind::List, object, Tags::NONE, span);
                let all = Value::text("*");
                return Some(Value::list(vec![self.join_paths(object, &all)]));
            }
            "glob" | "rglob" => {
                let marks = if name == "rglob" { Marks::WALKED } else { Marks::NONE };
                let path = self.join_paths(object, &args.at(0));
                return Some(Value::list(vec![path.marked(marks)]));
            }
            "expanduser" => return Some(self.expand_home(object)),
            "with_name" | "with_suffix" | "relative_to" => return Some(object.clone()),
            "dirname" | "parent" => return Some(self.folder_of(object)),
            _ => return None,
        }
        let _ = text;
        Some(Value::unknown())
    }

    fn thing_method(
        &mut self,
        thing: &Thing,
        object: &Value,
        name: &Rc<str>,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        match thing {
            Thing::File(_) => self.file_method(object, name, args, span),
            Thing::Socket => self.socket_method(object, name, args, span),
            Thing::Process => self.process_method(object, name, args, span),
            Thing::Response => {
                let answer = match &**name {
                    "status" | "close" => Value::unknown(),
                    _ => Value::from(Marks::FETCHED).with(&object.origin),
                };
                self.call_back(args, &answer);
                if matches!(&**name, "on" | "then" | "pipe" | "catch") {
                    self.pipe_to_file(object, name, args);
                    return object.clone();
                }
                answer
            }
            Thing::Request => self.request_method(object, name, args, span),
            Thing::Sender => self.sender_method(object, name, args, span),
            Thing::Database(storage, dialect) => {
                if *storage == Storage::Lasting {
                    self.query(&args.at(0), dialect, span);
                }
                self.call_back(args, object);
                object.clone()
            }
            Thing::Tree(_) => {
                self.call_back(args, &Value::unknown());
                object.clone()
            }
            Thing::Processes => {
                if matches!(&**name, "kill" | "terminate" | "suspend" | "send_signal") {
                    let tags = Tags::of(&[Tag::Many]);
                    self.fact(FactKind::Kill, "other processes", tags, span);
                }
                object.clone()
            }
            // `Process.pid.to_s`, `process.pid.toString()`
            Thing::Itself => object.clone(),
            Thing::Environment => self.environment_method(object, name, args),
        }
    }

    fn file_method(
        &mut self,
        object: &Value,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        match name {
            "write" | "writelines" | "puts" | "print" | "<<" | "syswrite" | "writeSync" | "end" => {
                self.remember(object, &args.at(0));
                self.use_up("disk", span);
                Value::unknown()
            }
            "fileno" | "close" | "flush" | "tell" | "seek" => Value::unknown(),
            "pipe" => {
                let to = args.at(0);
                if to.has(Marks::SOCKET) || matches!(to.shape, Shape::Thing(Thing::Sender)) {
                    self.send(object, None);
                }
                to
            }
            "on" => {
                self.call_back(args, &object.derived());
                object.clone()
            }
            "__enter__" | "rewind" | "binmode" => object.clone(),
            _ => {
                let content = object.derived().with(&args.joined().origin);
                self.call_back(args, &content);
                content
            }
        }
    }

    fn socket_method(
        &mut self,
        object: &Value,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        match name {
            "connect" | "connect_ex" | "bind" | "listen" => {
                self.connected = self.connected.or(span);
                self.use_up("connections", span);
                self.call_back(args, object);
                object.clone()
            }
            "accept" | "sysaccept" => {
                self.connected = self.connected.or(span);
                Value::list(vec![socket(), Value::unknown()]).or(socket())
            }
            "send" | "sendall" | "sendto" | "write" | "puts" | "print" | "sendfile"
            | "send_bytes" | "syswrite" | "end" | "printf" | "<<" | "emit" | "sendmsg" => {
                self.send(&args.joined(), span);
                self.use_up("network", span);
                Value::unknown()
            }
            "fileno" | "to_i" | "detach" | "to_io" | "makefile" | "dup" | "getInputStream"
            | "getOutputStream" | "wrap_socket" => object.clone(),
            "close" | "shutdown" | "settimeout" | "setsockopt" | "setblocking" | "drain" => {
                Value::unknown()
            }
            "pipe" => self.pipe(object, args, span),
            "on" | "once" | "addEventListener" => {
                let event = args.at(0);
                let value = match event.known_text().map(|text| text.as_str()) {
                    Some("connection" | "connect" | "open" | "secureConnection") => object.clone(),
                    _ => Value::from(Marks::RECEIVED),
                };
                self.call_back(args, &value);
                object.clone()
            }
            "each_line" | "each" => {
                self.call_back(args, &Value::from(Marks::RECEIVED));
                object.clone()
            }
            _ => Value::from(Marks::RECEIVED),
        }
    }

    /// A connection into a program, or a program into a connection.
    fn pipe(&mut self, from: &Value, args: &Args, span: Option<Span>) -> Value {
        let to = args.at(0);
        let connection = from.has(Marks::SOCKET) || to.has(Marks::SOCKET);
        let program = from.has(Marks::OUTPUT) || to.has(Marks::OUTPUT);
        if connection && program {
            self.fact(FactKind::ReverseShell, "a program on a connection", Tags::NONE, span);
        }
        to
    }

    fn process_method(
        &mut self,
        object: &Value,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        match name {
            "communicate" | "write" => {
                let given = args.get(0, "input");
                if given.has(Marks::RECEIVED) {
                    self.judge_source(&given, "a program's input", span);
                }
                Value::list(vec![Value::from(Marks::OUTPUT), Value::from(Marks::OUTPUT)])
            }
            "pipe" => self.pipe(object, args, span),
            "on" | "once" => {
                self.call_back(args, &Value::from(Marks::OUTPUT));
                object.clone()
            }
            "wait" | "kill" | "terminate" | "poll" | "close" => Value::unknown(),
            _ => {
                let output = Value::from(Marks::OUTPUT);
                self.call_back(args, &output);
                output
            }
        }
    }

    fn request_method(
        &mut self,
        object: &Value,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        if matches!(name, "send" | "end" | "write" | "execute" | "perform") {
            let data = object.derived().with(&args.joined().origin);
            self.send(&data, span);
            return Value::thing(Thing::Response).marked(Marks::FETCHED);
        }
        object.clone().with(&args.joined().origin)
    }

    /// Sessions, mail, uploads.
    fn sender_method(
        &mut self,
        object: &Value,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        match name {
            "get" | "head" | "retr" | "getresponse" | "getfo" | "download_file" | "retrbinary" => {
                self.fetch(args, span)
            }
            "post" | "patch" | "post_form" => self.post(args, span),
            "put"
            | "upload_file"
            | "upload"
            | "putfo"
            | "fput"
            | "upload_from_filename"
            | "fastPut"
            | "putbinaryfile"
            | "puttextfile"
            | "upload!"
            | "uploadFrom" => {
                self.send_file(&args.at(0), span);
                self.send(&args.joined(), span);
                Value::thing(Thing::Response).marked(Marks::FETCHED)
            }
            "request" if self.language == Language::Python => self.fetch(&args.skip(1), span),
            "exec_command" | "exec" | "run" => Value::thing(Thing::Response).marked(Marks::FETCHED),
            "close"
            | "quit"
            | "login"
            | "starttls"
            | "ehlo"
            | "set_missing_host_key_policy"
            | "connect" => object.clone(),
            "invoke_shell" | "get_transport" | "open_session" => socket(),
            _ => {
                self.send(&args.joined().with(&object.origin), span);
                self.call_back(args, &Value::from(Marks::FETCHED));
                object.clone()
            }
        }
    }

    fn environment_method(&mut self, object: &Value, name: &str, args: &Args) -> Value {
        match name {
            "get" | "fetch" | "pop" | "[]" | "__getitem__" => {
                let value = self.variable(&args.at(0));
                match (&value.shape, &args.at(1).shape) {
                    (Shape::Unknown, Shape::Text(_)) => args.at(1).with(&value.origin),
                    _ => value,
                }
            }
            "copy" | "to_h" | "dup" | "to_hash" => object.clone(),
            "keys" | "key?" | "has_key" | "setdefault" | "update" | "delete" => Value::unknown(),
            _ => {
                self.call_back(args, &object.derived());
                object.derived()
            }
        }
    }

    /// Methods of something that is not known: some names say enough.
    fn unknown_method(
        &mut self,
        object: &Value,
        name: &Rc<str>,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        if args.list.is_empty()
            && let Some(value) = self.attributes.get(name)
        {
            let value = value.clone();
            return match value.shape {
                Shape::Closure(..) => self.call(&value, args, span),
                _ => value,
            };
        }
        if object.has(Marks::SOCKET) {
            return self.socket_method(object, name, args, span);
        }
        match &**name {
            "recv" | "recvfrom" | "recv_bytes" | "sysread" | "recv_string" => {
                return Value::from(Marks::RECEIVED);
            }
            "execute" | "executemany" | "executescript" | "query" | "exec" | "raw" | "do"
            | "run" | "prepare" | "execute_sql" | "exec_query" | "fetch" | "fetchval"
            | "fetchrow" => {
                self.query(&args.at(0), "generic", span);
            }
            "submit" | "apply_async" | "apply" | "call_soon" | "register" => {
                let function = args.at(0);
                if matches!(function.shape, Shape::Closure(..) | Shape::Api(_)) {
                    return self.call(&function, &args.skip(1), span);
                }
            }
            "unlink" | "rmtree" if args.count() == 0 => {
                self.touch(FactKind::Delete, object, Tags::NONE, span);
            }
            "read_text" | "read_bytes" => return self.read(object, span),
            "fdopen" | "reopen"
                if (args.joined().has(Marks::SOCKET) || self.connected.is_some()) =>
            {
                self.redirected = self.redirected.or(span);
            }
            "pipe" if object.has(Marks::OUTPUT) => return self.pipe(object, args, span),
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
        self.call_unknown(object, args)
    }

    /// `response.pipe(fs.createWriteStream(path))`
    fn pipe_to_file(&mut self, object: &Value, name: &str, args: &Args) {
        if name == "pipe" {
            let to = args.at(0);
            self.remember(&to, object);
        }
    }
}

/// The encoding that an argument names.
fn coding(args: &Args) -> Option<super::super::api::Coding> {
    decode::named(args.at(0).known_text()?)
}

/// The text behind an encoding, or just that it was hidden.
pub(super) fn decoded(coding: super::super::api::Coding, text: &str, object: &Value) -> Value {
    match decode::decode(coding, text) {
        Some(plain) => Value::text(plain).with(&object.origin).marked(Marks::DECODED),
        None => object.derived().marked(Marks::DECODED),
    }
}
