//! What calling a known function does.

use std::rc::Rc;

use super::method::decoded;
use super::network::socket;
use super::{Args, Runner, decode, text};
use crate::action::Language;
use crate::analyze::UNKNOWN;
use crate::analyze::code::script::api::{Coding, Effect};
use crate::analyze::code::script::value::{Marks, Origin, Shape, Source, Storage, Thing, Value};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::verdict::Span;

impl Runner<'_> {
    pub(super) fn perform(
        &mut self,
        effect: Effect,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        self.on_files(effect, args, span)
            .or_else(|| self.on_processes(effect, args, span))
            .or_else(|| self.on_network(effect, args, span))
            .or_else(|| self.on_values(effect, args))
            .unwrap_or_else(|| self.on_others(effect, name, args, span))
    }

    fn on_files(&mut self, effect: Effect, args: &Args, span: Option<Span>) -> Option<Value> {
        let recursive = Tags::of(&[Tag::Recursive]);
        match effect {
            Effect::Delete | Effect::DeleteTree => {
                let asked = args.named("recursive").or_else(|| args.named("recursively"));
                let deep = effect == Effect::DeleteTree
                    && (self.language != Language::Javascript
                        || asked.is_some()
                        || args.count() == 1);
                let deep = deep || matches!(asked, Some(Value { shape: Shape::Number(1), .. }));
                let tags = if deep { recursive } else { Tags::NONE };
                for path in self.paths(args) {
                    self.touch(FactKind::Delete, &path, tags, span);
                }
                self.call_back(args, &Value::unknown());
            }
            Effect::Open => return Some(self.open(args, span)),
            Effect::Read => {
                let content = self.read(&args.at(0), span);
                self.call_back(args, &content);
                return Some(content);
            }
            Effect::Write => {
                self.write(FactKind::Write, &args.at(0), &args.at(1), span);
                self.call_back(args, &Value::unknown());
                return Some(Self::handle_of(&args.at(0)));
            }
            Effect::Append => self.write(FactKind::Append, &args.at(0), &args.at(1), span),
            Effect::List => {
                let path = if args.count() == 0 { Value::text(".") } else { args.at(0) };
                self.touch(FactKind::List, &path, Tags::NONE, span);
                let names = Value::list(vec![self.names_in(&path)]);
                self.call_back(args, &names);
                return Some(names);
            }
            Effect::Walk => return Some(self.walk(args, span)),
            Effect::Glob => {
                let found = Value::list(args.at(0).choices().to_vec());
                self.call_back(args, &args.at(0));
                return Some(found);
            }
            Effect::Move => self.move_file(args, span),
            Effect::Copy => self.copy_file(args, span),
            Effect::Chmod => {
                let tags = Self::mode_tags(&args.at(1));
                self.touch(FactKind::Chmod, &args.at(0), tags, span);
            }
            Effect::Chown => self.touch(FactKind::Chown, &args.at(0), Tags::NONE, span),
            Effect::ChmodLast => {
                let tags = Self::mode_tags(&args.at(0));
                self.touch(FactKind::Chmod, &args.positional().last().cloned()?, tags, span);
            }
            Effect::ChownLast => {
                self.touch(FactKind::Chown, &args.positional().last().cloned()?, Tags::NONE, span);
            }
            Effect::Link => self.write(FactKind::Append, &args.at(1), &Value::unknown(), span),
            _ => return None,
        }
        Some(Value::unknown())
    }

    /// The paths among the arguments: all in Perl and Ruby, otherwise the first.
    fn paths(&self, args: &Args) -> Vec<Value> {
        let all = matches!(self.language, Language::Perl | Language::Ruby);
        let is_path = |value: &&Value| !matches!(value.shape, Shape::Map(_) | Shape::Closure(..));
        let paths = args.positional().filter(is_path).cloned();
        if !all {
            let named = args.list.iter().find(|arg| arg.name.as_deref() == Some("path"));
            let named = named.map(|arg| arg.value.clone());
            return paths.take(1).chain(named).take(1).collect();
        }
        if args.list.is_empty() && self.language == Language::Perl {
            return vec![self.lookup(&"$_".into())];
        }
        paths.collect()
    }

    /// A stream that is written to the file of this path.
    fn handle_of(path: &Value) -> Value {
        match &path.shape {
            Shape::Text(text) => Value::thing(Thing::File(Rc::clone(text))),
            _ => Value::unknown(),
        }
    }

    fn names_in(&mut self, folder: &Value) -> Value {
        match self.language {
            // Names alone; whoever uses them puts the folder before.
            Language::Python | Language::Javascript | Language::Ruby | Language::Perl => {
                Value::text("*").with(&folder.origin)
            }
            Language::Sql => Value::unknown(),
        }
    }

    /// Everything below a folder; Perl and Ruby pass it to a function at once.
    fn walk(&mut self, args: &Args, span: Option<Span>) -> Value {
        let place = usize::from(self.language == Language::Perl && !args.closures().is_empty());
        let folder = if place > 0 { args.at(1) } else { args.at(0) };
        self.touch(FactKind::List, &folder, Tags::NONE, span);
        let Some(path) = folder.known_text().cloned() else {
            self.call_back(args, &folder.derived());
            return folder.derived();
        };
        let below = Value::new(Shape::Text(Rc::clone(&path))).marked(Marks::WALKED);
        if self.language == Language::Perl {
            self.assign(&super::Target::Name("$_".into()), below.clone());
            self.assign(&super::Target::Name("$File::Find::name".into()), below.clone());
        }
        self.call_back(args, &below);
        Value::thing(Thing::Tree(path))
    }

    fn on_processes(&mut self, effect: Effect, args: &Args, span: Option<Span>) -> Option<Value> {
        Some(match effect {
            Effect::Shell => {
                self.check_streams(args, span);
                let command = args.at(0);
                let command = if args.count() == 0 {
                    args.named("cmd").or_else(|| args.named("command")).unwrap_or_default()
                } else {
                    command
                };
                let process = self.shell(&command, span);
                self.call_back(args, &Value::from(Marks::OUTPUT));
                process
            }
            Effect::Spawn => self.spawn(args, span),
            Effect::Program => {
                let process = self.program(args, span);
                self.start_endless(span);
                process
            }
            Effect::SpawnMode => self.program(&args.skip(1), span),
            Effect::Terminal => self.terminal(args, span),
            Effect::Fork => self.fork(args, span),
            Effect::Start => self.start(args, span),
            Effect::Kill => {
                self.kill(args, span);
                Value::unknown()
            }
            Effect::Redirect => {
                self.redirect(args, span);
                Value::unknown()
            }
            Effect::Processes => Value::thing(Thing::Processes).marked(Marks::WALKED),
            Effect::Itself => Value::thing(Thing::Itself),
            Effect::Eval => self.eval(&args.at(0), span),
            Effect::Compile if self.language == Language::Javascript => {
                let body = args.positional().last().cloned().unwrap_or_default();
                self.eval(&body, span)
            }
            Effect::Compile => args.at(0),
            Effect::RunFile => self.run_file(&args.at(0), span),
            Effect::Unpickle => self.unpickle(&args.at(0), span),
            Effect::Import => {
                let module = self.import(&args.at(0));
                self.call_back(args, &module);
                module
            }
            Effect::GetMember => self.get_member(args, span),
            Effect::Loop => {
                self.run_endless(args);
                Value::unknown()
            }
            _ => return None,
        })
    }

    /// A program started for ever, without a pause.
    fn start_endless(&mut self, span: Option<Span>) {
        if self.in_endless_loop() && self.language == Language::Javascript {
            self.fact(FactKind::ForkBomb, "a process", Tags::NONE, span);
        }
    }

    /// Ruby's `loop { … }`.
    fn run_endless(&mut self, args: &Args) {
        for closure in args.closures() {
            let Shape::Closure(id, _) = closure.shape else { continue };
            let pauses = self.function(id).is_some_and(super::step::pauses);
            let kind = if pauses { super::Block::Loop } else { super::Block::Endless };
            if let Some(frame) = self.frames.last_mut() {
                frame.blocks.push(super::Region { kind, replaced: super::BTreeMap::new() });
            }
            self.invoke(id, &Args::default(), None);
            if let Some(region) = self.frames.last_mut().and_then(|frame| frame.blocks.pop()) {
                self.leave(region);
            }
        }
    }

    fn on_network(&mut self, effect: Effect, args: &Args, span: Option<Span>) -> Option<Value> {
        Some(match effect {
            Effect::Fetch => self.fetch(args, span),
            Effect::Retrieve => self.retrieve(args, span),
            Effect::Post => self.post(args, span),
            Effect::Request => self.request(args, span),
            Effect::MakeRequest => self.make_request(args, span),
            Effect::Socket => socket(),
            Effect::Connect => self.connect(args, span),
            Effect::Listen => {
                self.connected = self.connected.or(span);
                let socket = socket();
                self.call_back(args, &socket);
                socket
            }
            Effect::Sender => {
                let sender = Value::thing(Thing::Sender);
                self.call_back(args, &sender);
                sender
            }
            _ => return None,
        })
    }

    fn on_values(&mut self, effect: Effect, args: &Args) -> Option<Value> {
        Some(match effect {
            Effect::Same => match args.at(0).shape {
                Shape::Number(number) => Value::text(number.to_string()),
                _ => args.at(0).with(&args.joined().origin),
            },
            Effect::Clean => {
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
                Some(text) => Value::text(crate::place::base_name(text)),
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
                let folder = Value::text(format!("/tmp/{UNKNOWN}")).marked(Marks::CREATED);
                self.call_back(args, &folder);
                folder
            }
            Effect::TemporaryFile => {
                let file = Thing::File(Rc::new(format!("/tmp/{UNKNOWN}")));
                let file = Value::thing(file).marked(Marks::CREATED);
                self.call_back(args, &file);
                match self.language {
                    // `fd, path = mkstemp()`
                    Language::Python if args.list.is_empty() => file,
                    _ => file,
                }
            }
            Effect::Variable => {
                let value = self.variable(&args.at(0));
                match (&value.shape, &args.at(1).shape) {
                    (Shape::Unknown, Shape::Text(_)) => args.at(1).with(&value.origin),
                    _ => value,
                }
            }
            Effect::Input => self.standard_input(),
            Effect::Credential => Value::from(Marks::CREDENTIAL),
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
                    self.assign(&super::Target::Name("$_".into()), item);
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
                let result = match (&first.shape, args.count()) {
                    (Shape::Closure(..), 2..) => args.at(1),
                    _ => first.with(&args.joined().origin),
                };
                self.call_back(args, &result);
                result
            }
            _ => return None,
        })
    }

    /// Perl's `shift`: the first argument of the current sub, unless a list is given.
    fn shift(&mut self, args: &Args) -> Value {
        if args.count() > 0 {
            return self.item(&args.at(0));
        }
        let name: Rc<str> = "@_".into();
        let Some(frame) = self.frames.last_mut() else { return Value::unknown() };
        let Some(list) = frame.locals.get(&name).cloned() else {
            return Value::from(Marks::INPUT);
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

    fn characters(args: &Args) -> Value {
        let numbers: Option<String> = args
            .positional()
            .map(|value| match value.shape {
                Shape::Number(number) => u32::try_from(number).ok().and_then(char::from_u32),
                _ => None,
            })
            .collect();
        match numbers {
            Some(text) => Value::text(text).marked(Marks::DECODED),
            None => args.joined().marked(Marks::DECODED),
        }
    }

    fn decode(&mut self, coding: Coding, args: &Args) -> Value {
        // Perl: `pack("H*", $text)`; elsewhere the text comes first.
        let format_first = self.language == Language::Perl && coding == Coding::Named;
        let (text, format) =
            if format_first { (args.at(1), args.at(0)) } else { (args.at(0), args.at(1)) };
        let coding = match coding {
            Coding::Named => match format.known_text().and_then(|name| decode::named(name)) {
                Some(coding) => coding,
                // Neither hidden nor shown: `Buffer.from("text")`.
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
                    // Percent signs hide little: every address has them.
                    let mut value = decoded(coding, text, choice);
                    if coding == Coding::Percent {
                        value.origin = choice.origin.clone();
                    }
                    value
                }
                _ if coding == Coding::Percent => choice.derived(),
                _ => choice.derived().marked(Marks::DECODED),
            })
            .collect();
        Value::any(results)
    }

    /// The value of an environment variable.
    pub(super) fn variable(&self, name: &Value) -> Value {
        let Some(name) = name.known_text() else { return Value::from(Marks::VARIABLE) };
        match name.as_str() {
            "HOME" | "USERPROFILE" => Value::text(self.scene.home()),
            "PWD" => Value::text(self.scene.cwd.unwrap_or(".")),
            "TMPDIR" | "TEMP" | "TMP" => Value::text("/tmp"),
            "SHELL" => Value::text("/bin/sh"),
            name => {
                let source = Source { subject: format!("${name}").into(), tags: Tags::NONE };
                let origin = Origin { marks: Marks::VARIABLE, source: Some(Rc::new(source)) };
                Value::unknown().with(&origin)
            }
        }
    }

    fn on_others(&mut self, effect: Effect, name: &str, args: &Args, span: Option<Span>) -> Value {
        match effect {
            Effect::Database(dialect) => {
                let place = args.get(0, "database");
                let memory = place.known_text().is_some_and(|text| {
                    text.contains(":memory:") || text.is_empty() || text.contains("mode=memory")
                });
                let storage = if memory { Storage::Memory } else { Storage::Lasting };
                if name.rsplit_once('.').is_some_and(|(_, last)| last == "text") {
                    return args.at(0);
                }
                return Value::thing(Thing::Database(storage, dialect));
            }
            Effect::Print => self.print(args, span),
            Effect::FindSecrets => {
                self.fact(FactKind::SecretSearch, name, Tags::NONE, span);
                return Value::from(Marks::CREDENTIAL);
            }
            Effect::Capture => {
                self.fact(FactKind::Capture, name, Tags::NONE, span);
                self.call_back(args, &Value::from(Marks::CREDENTIAL));
                return Value::from(Marks::CREDENTIAL);
            }
            Effect::Schedule => self.fact(FactKind::Schedule, name, Tags::NONE, span),
            Effect::SetVariable => {
                if let Some(text) = args.at(0).known_text() {
                    self.add(Fact::new(FactKind::EnvExecutes, text.as_str()).at(span));
                }
            }
            Effect::Callback => {
                if let Shape::Text(_) = args.at(0).shape
                    && self.language == Language::Javascript
                {
                    self.eval(&args.at(0), span);
                }
                self.call_back(args, &Value::unknown());
            }
            _ => {}
        }
        Value::unknown()
    }

    /// Shown to whoever looks, or sent, where the handle is a connection.
    fn print(&mut self, args: &Args, span: Option<Span>) {
        let handle = args.list.iter().find(|arg| arg.name.as_deref() == Some("handle"));
        if let Some(handle) = handle {
            let handle = handle.value.clone();
            let data =
                args.positional().fold(Value::unknown(), |all, value| all.with(&value.origin));
            if handle.has(Marks::SOCKET) {
                self.send(&data, span);
            }
            self.remember(&handle, &data);
            return;
        }
        if args.joined().has(Marks::ENVIRONMENT) {
            self.fact(FactKind::SecretPrint, "the environment", Tags::NONE, span);
        }
    }
}
