//! Methods of live objects: files, connections, programs, servers.

use std::rc::Rc;

use super::super::network::socket;
use super::super::{Args, Runner};
use crate::action::Language;
use crate::analyze::code::script::value::{Handle, Provenance, Shape, Storage, Value};
use crate::fact::{FactKind, Tag, Tags};
use crate::verdict::Span;

/// Methods that unpack an archive into a folder.
pub(super) const UNPACKING: &[&str] =
    &["extractall", "extract", "extract_all", "extractAllTo", "extractAllToAsync"];

/// Returns the folder in which a method unpacks its archive.
pub(super) fn unpacked_into(name: &str, args: &Args) -> Value {
    // `extract(member, folder)`
    let folder = args.get(usize::from(name == "extract"), "path");
    if folder.known_text().is_some() { folder } else { Value::text(".") }
}

impl Runner<'_> {
    pub(super) fn thing_method(
        &mut self,
        handle: &Handle,
        object: &Value,
        name: &Rc<str>,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        match handle {
            Handle::File(_) => self.file_method(object, name, args, span),
            Handle::Socket => self.socket_method(object, name, args, span),
            Handle::Process => self.process_method(object, name, args, span),
            Handle::Response => {
                let answer = match &**name {
                    "status" | "close" => Value::unknown(),
                    _ => Value::from(Provenance::FETCHED).with(&object.origin),
                };
                self.call_back(args, &answer);
                if matches!(&**name, "on" | "then" | "pipe" | "catch") {
                    self.pipe_to_file(object, name, args);
                    return object.clone();
                }
                answer
            }
            Handle::Request => self.request_method(object, name, args, span),
            Handle::Sender => match self.running_method(name, args, span) {
                Some(value) => value,
                None => self.sender_method(object, name, args, span),
            },
            Handle::Database(storage, dialect) => {
                if *storage == Storage::Lasting {
                    self.query(&args.at(0), dialect, span);
                }
                self.call_back(args, object);
                object.clone()
            }
            Handle::Tree(_) => {
                self.call_back(args, &Value::unknown());
                object.clone()
            }
            Handle::Processes => {
                if matches!(&**name, "kill" | "terminate" | "suspend" | "send_signal") {
                    let tags = Tags::of(&[Tag::Many]);
                    self.fact(FactKind::Kill, "other processes", tags, span);
                }
                object.clone()
            }
            // `Process.pid.to_s`, `process.pid.toString()`
            Handle::Itself => object.clone(),
            Handle::Environment => self.environment_method(object, name, args),
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
            name if UNPACKING.contains(&name) => {
                self.unpack(object, &unpacked_into(name, args), span);
                Value::unknown()
            }
            "pipe" => {
                let to = args.at(0);
                if to.has(Provenance::SOCKET) || matches!(to.shape, Shape::Handle(Handle::Sender)) {
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

    pub(super) fn socket_method(
        &mut self,
        object: &Value,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        match name {
            "connect" | "connect_ex" | "bind" | "listen" => {
                self.connected = self.connected.or(span);
                self.reaches_guard(args, span);
                self.reaches_metadata(args, span);
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
                    _ => Value::from(Provenance::RECEIVED),
                };
                self.call_back(args, &value);
                object.clone()
            }
            "each_line" | "each" => {
                self.call_back(args, &Value::from(Provenance::RECEIVED));
                object.clone()
            }
            _ => Value::from(Provenance::RECEIVED),
        }
    }

    /// Follows a connection piped into a program, or a program into a connection.
    pub(super) fn pipe(&mut self, from: &Value, args: &Args, span: Option<Span>) -> Value {
        let to = args.at(0);
        // A connection is not known by its name yet while it is being made.
        let is_made = |end: &Value| {
            self.connected.is_some() && matches!(end.shape, Shape::Unknown | Shape::Api(_))
        };
        let connection = [from, &to].iter().any(|end| end.has(Provenance::SOCKET) || is_made(end));
        let program = from.has(Provenance::OUTPUT) || to.has(Provenance::OUTPUT);
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
            "communicate" | "write" | "writelines" | "puts" | "print" | "printf" | "<<" | "end"
            | "syswrite" | "write_nonblock" => {
                let given = args.get(0, "input");
                self.feed(&given, span);
                if given.has(Provenance::RECEIVED) {
                    self.judge_source(&given, "a program's input", span);
                }
                Value::list(vec![Value::from(Provenance::OUTPUT), Value::from(Provenance::OUTPUT)])
            }
            "pipe" => self.pipe(object, args, span),
            "on" | "once" => {
                self.call_back(args, &Value::from(Provenance::OUTPUT));
                object.clone()
            }
            "wait" | "kill" | "terminate" | "poll" | "close" => Value::unknown(),
            _ => {
                let output = Value::from(Provenance::OUTPUT);
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
            return Value::handle(Handle::Response).marked(Provenance::FETCHED);
        }
        object.clone().with(&args.joined().origin)
    }

    /// Follows methods of sessions, mail clients and uploads.
    fn sender_method(
        &mut self,
        object: &Value,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        self.reaches_metadata(args, span);
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
                Value::handle(Handle::Response).marked(Provenance::FETCHED)
            }
            "request" if self.language == Language::Python => self.fetch(&args.skip(1), span),
            // `session.delete(url)`, `client.delete_object(…)`
            name if name.starts_with("delete")
                || name.starts_with("terminate")
                || name == "prune" =>
            {
                self.fact(FactKind::RemoteDelete, name, Tags::NONE, span);
                Value::handle(Handle::Response).marked(Provenance::FETCHED)
            }
            "exec_command" | "exec" | "run" => {
                Value::handle(Handle::Response).marked(Provenance::FETCHED)
            }
            "close"
            | "quit"
            | "login"
            | "starttls"
            | "ehlo"
            | "set_missing_host_key_policy"
            | "connect" => object.clone(),
            "invoke_shell" | "get_transport" | "open_session" => socket(),
            _ => {
                self.far_method(object, name, span);
                self.send(&args.joined().with(&object.origin), span);
                self.call_back(args, &Value::from(Provenance::FETCHED));
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

    /// Follows `response.pipe(fs.createWriteStream(path))`.
    fn pipe_to_file(&mut self, object: &Value, name: &str, args: &Args) {
        if name == "pipe" {
            let to = args.at(0);
            self.remember(&to, object);
        }
    }
}
