//! The effects of calling a known function.

use std::rc::Rc;

use super::network::socket;
use super::{Args, Runner};
use crate::action::Language;
use crate::analyze::code::script::api::Effect;
use crate::analyze::code::script::value::{Handle, Provenance, Shape, Storage, Value};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

mod value;

impl Runner<'_> {
    pub(super) fn perform(
        &mut self,
        effect: Effect,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Value {
        self.on_functions(effect, args, span)
            .or_else(|| self.on_files(effect, args, span))
            .or_else(|| self.on_processes(effect, args, span))
            .or_else(|| self.on_network(effect, args, span))
            .or_else(|| self.on_values(effect, args))
            .unwrap_or_else(|| self.on_others(effect, name, args, span))
    }

    /// Records work files that lose their content.
    pub(super) fn emptied(&mut self, path: &Value, span: Option<Span>) {
        for choice in path.choices() {
            let (Shape::Text(text) | Shape::Handle(Handle::File(text) | Handle::Tree(text))) =
                &choice.shape
            else {
                continue;
            };
            let tags = self.located(text);
            let is_own = tags.any(Tags::of(&[Tag::Workspace, Tag::Home]))
                && !tags.any(Tags::of(&[Tag::BuildOutput, Tag::Temp]));
            let is_work =
                location::is_work(location::base_name(text)) || choice.has(Provenance::WALKED);
            if is_own && is_work && !self.written.contains_key(text.as_str()) {
                self.fact(FactKind::Empty, &location::shown(text), tags, span);
            }
        }
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
            Effect::SystemOpen => return Some(self.open_system(&args.at(1), &args.at(2), span)),
            Effect::Read => {
                let content = self.read(&args.at(0), span);
                self.call_back(args, &content);
                return Some(content);
            }
            Effect::Write => {
                // `truncate(path, 0)` in all its spellings.
                if matches!(args.at(1).shape, Shape::Number(0)) || args.count() == 1 {
                    self.emptied(&args.at(0), span);
                }
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
            Effect::Chmod | Effect::Chown | Effect::ChmodLast | Effect::ChownLast => {
                return self.on_rights(effect, args, span);
            }
            Effect::Link => {
                self.touch(FactKind::Link, &args.at(0), Tags::NONE, span);
                self.write(FactKind::Append, &args.at(1), &Value::unknown(), span);
            }
            _ => return None,
        }
        Some(Value::unknown())
    }

    /// Records new permissions or a new owner of a file: the first argument, or the last.
    fn on_rights(&mut self, effect: Effect, args: &Args, span: Option<Span>) -> Option<Value> {
        let last = || args.positional().last().cloned();
        let (kind, path, tags) = match effect {
            Effect::Chmod => (FactKind::Chmod, args.at(0), Self::mode_tags(&args.at(1))),
            Effect::ChmodLast => (FactKind::Chmod, last()?, Self::mode_tags(&args.at(0))),
            Effect::ChownLast => (FactKind::Chown, last()?, Tags::NONE),
            _ => (FactKind::Chown, args.at(0), Tags::NONE),
        };
        self.touch(kind, &path, tags, span);
        Some(Value::unknown())
    }

    /// Returns the paths among the arguments: all in Perl and Ruby, otherwise the first.
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

    /// Returns a stream that writes to the file of this path.
    fn handle_of(path: &Value) -> Value {
        match &path.shape {
            Shape::Text(text) => Value::handle(Handle::File(Rc::clone(text))),
            _ => Value::unknown(),
        }
    }

    fn names_in(&mut self, folder: &Value) -> Value {
        match self.language {
            // Names alone; the program prepends the folder.
            Language::Python | Language::Javascript | Language::Ruby | Language::Perl => {
                Value::text("*").with(&folder.origin)
            }
            Language::Sql => Value::unknown(),
        }
    }

    /// Returns everything below a folder; Perl and Ruby pass it to a function immediately.
    fn walk(&mut self, args: &Args, span: Option<Span>) -> Value {
        // Perl: `find(\&wanted, $folder)`, `find({wanted => \&wanted}, $folder)`.
        let wanted = if self.language == Language::Perl { args.named("wanted") } else { None };
        let is_first = self.language == Language::Perl && !args.closures().is_empty();
        let place = usize::from(wanted.is_some() || is_first);
        let folder = if place > 0 { args.at(1) } else { args.at(0) };
        self.touch(FactKind::List, &folder, Tags::NONE, span);
        let Some(path) = folder.known_text().cloned() else {
            self.call_back(args, &folder.derived());
            return folder.derived();
        };
        let below = Value::new(Shape::Text(Rc::clone(&path))).marked(Provenance::WALKED);
        if self.language == Language::Perl {
            self.assign(&super::Target::Name("$_".into()), below.clone());
            self.assign(&super::Target::Name("$File::Find::name".into()), below.clone());
        }
        self.call_back(args, &below);
        if let Some(wanted) = wanted {
            self.call(&wanted, &Args::of([below]), span);
        }
        Value::handle(Handle::Tree(path))
    }

    fn on_processes(&mut self, effect: Effect, args: &Args, span: Option<Span>) -> Option<Value> {
        Some(match effect {
            Effect::Shell => self.shell_call(args, span),
            Effect::Spawn => self.spawn(args, span),
            Effect::Program => {
                let process = self.program(args, span);
                self.start_endless(span);
                process
            }
            Effect::SpawnMode => self.program(&args.skip(1), span),
            Effect::Terminal => self.terminal(args, span),
            Effect::Prompt => {
                self.unknown(FactKind::OpenShell, "a prompt", span);
                Value::unknown()
            }
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
            Effect::Processes => Value::handle(Handle::Processes).marked(Provenance::WALKED),
            Effect::Itself => Value::handle(Handle::Itself),
            Effect::Eval => self.eval(&args.at(0), span),
            Effect::Compile if self.language == Language::Javascript => {
                let body = args.positional().last().cloned().unwrap_or_default();
                self.eval(&body, span)
            }
            Effect::Compile => args.at(0),
            Effect::RunFile => self.run_file(&args.at(0), span),
            Effect::Unpickle => self.unpickle(&args.at(0), span),
            Effect::Import => {
                self.imported_address(&args.at(0), span);
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

    /// Follows `os.system(line)`, `exec(line, done)`, `IO.popen(variables, line)`.
    fn shell_call(&mut self, args: &Args, span: Option<Span>) -> Value {
        self.check_streams(args, span);
        // Ruby: variables for the program come first.
        let with_variables = args.count() > 1 && matches!(args.at(0).shape, Shape::Map(_));
        let command = args.at(usize::from(with_variables));
        let command = if args.count() == 0 {
            args.named("cmd").or_else(|| args.named("command")).unwrap_or_default()
        } else {
            command
        };
        let process = self.shell(&command, span);
        self.feed_named(args, span);
        let given = match self.language {
            Language::Ruby => process.clone(),
            _ => Value::from(Provenance::OUTPUT),
        };
        self.call_back(args, &given);
        process
    }

    /// Records a program that is started in an endless loop, without a pause.
    fn start_endless(&mut self, span: Option<Span>) {
        if self.in_endless_loop() && self.language == Language::Javascript {
            self.fact(FactKind::ForkBomb, "a process", Tags::NONE, span);
        }
    }

    /// Follows Ruby's `loop { … }`.
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
                self.reaches_metadata(args, span);
                let sender = Value::handle(Handle::Sender);
                self.call_back(args, &sender);
                sender
            }
            _ => return None,
        })
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
                return Value::handle(Handle::Database(storage, dialect));
            }
            Effect::Print => self.print(args, span),
            Effect::FindSecrets => {
                self.fact(FactKind::SecretSearch, name, Tags::NONE, span);
                return Value::from(Provenance::CREDENTIAL);
            }
            Effect::Capture => {
                self.fact(FactKind::Capture, name, Tags::NONE, span);
                self.call_back(args, &Value::from(Provenance::CREDENTIAL));
                return Value::from(Provenance::CREDENTIAL);
            }
            Effect::Schedule => self.fact(FactKind::Schedule, name, Tags::NONE, span),
            Effect::SetVariable => {
                if let Some(text) = args.at(0).known_text() {
                    let ours = text.starts_with("COUNTERSIGN");
                    let kind = if ours { FactKind::GuardCommand } else { FactKind::EnvExecutes };
                    self.add(Fact::new(kind, text.as_str()).at(span));
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

    /// Follows a print: data is shown, or sent where the handle is a connection.
    fn print(&mut self, args: &Args, span: Option<Span>) {
        let handle = args.list.iter().find(|arg| arg.name.as_deref() == Some("handle"));
        if let Some(handle) = handle {
            let handle = handle.value.clone();
            let data =
                self.join(&Value::text(""), &Value::list(args.positional().cloned().collect()));
            if matches!(handle.shape, Shape::Handle(Handle::Process)) {
                self.feed(&data, span);
            }
            if handle.has(Provenance::SOCKET) {
                self.send(&data, span);
            }
            self.remember(&handle, &data);
            return;
        }
        if args.joined().has(Provenance::ENVIRONMENT) {
            self.fact(FactKind::SecretPrint, "the environment", Tags::NONE, span);
        }
    }
}
