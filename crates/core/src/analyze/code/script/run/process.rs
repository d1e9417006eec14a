//! Programs that this program starts.

use std::fmt::Write as _;

use super::{Args, Runner};
use crate::action::Language;
use crate::analyze::code::script::value::{Handle, Provenance, Shape, Value};
use crate::analyze::{self, UNKNOWN};
use crate::fact::{FactKind, Tag, Tags};
use crate::location::{Scene, base_name};
use crate::verdict::Span;

/// Programs that read commands.
const SHELLS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ksh", "cmd", "cmd.exe", "powershell", "fish"];

/// Programs whose code is followed by this analyzer.
const INTERPRETERS: &[&str] = &["python", "perl", "ruby", "node", "deno", "bun"];

impl Runner<'_> {
    /// Follows a command line.
    pub(super) fn shell(&mut self, command: &Value, span: Option<Span>) -> Value {
        self.shell_in(command, &Args::default(), span)
    }

    /// Follows a command line in the folder and with the variables that a call names.
    pub(super) fn shell_in(&mut self, command: &Value, call: &Args, span: Option<Span>) -> Value {
        let folder = call.named("cwd").or_else(|| call.named("chdir"));
        let folder =
            folder.as_ref().and_then(Value::known_text).map(std::string::ToString::to_string);
        let folder = folder.as_deref();
        let exports = exports(call);
        self.spawned = true;
        let given: Vec<_> = command.choices().to_vec();
        for choice in given {
            self.judge_source(&choice, "a command", span);
            match &choice.shape {
                Shape::Text(text) if exports.is_empty() => self.run_text(text, folder, span),
                Shape::Text(text) => self.run_text(&format!("{exports}{text}"), folder, span),
                Shape::List(_) => {
                    let text = self.command_line(&choice);
                    self.run_text(&format!("{exports}{text}"), folder, span);
                }
                _ if hides(&choice) => {}
                _ => self.unknown(FactKind::UnknownCode, "a command", span),
            }
        }
        Value::handle(Handle::Process).marked(Provenance::OUTPUT)
    }

    /// Records a command or code whose origin is enough to judge it.
    pub(super) fn judge_source(&mut self, code: &Value, what: &str, span: Option<Span>) {
        if code.has(Provenance::RECEIVED.and(Provenance::SOCKET)) {
            self.fact(FactKind::ReverseShell, what, Tags::NONE, span);
        } else if code.has(Provenance::FETCHED) {
            self.fact(FactKind::RemoteCode, what, Tags::NONE, span);
        } else if code.has(Provenance::DECODED) {
            self.fact(FactKind::DecodedCode, what, Tags::NONE, span);
        }
    }

    /// Passes a command line to the shell analyzer.
    pub(super) fn run_text(&mut self, text: &str, folder: Option<&str>, span: Option<Span>) {
        self.fed = (text.len() < 4096).then(|| text.to_owned());
        if self.scene.too_deep() {
            self.fact(FactKind::Bound, "a command", Tags::NONE, span);
            return;
        }
        // A nested program takes steps of its own.
        let inside = INTERPRETERS.iter().any(|name| text.contains(name));
        self.spend(if inside { 2_000 } else { 200 } + 4 * text.len() as u64);
        if self.is_exhausted() {
            return;
        }
        let folder = folder.or(self.cwd.as_deref()).map(str::to_owned);
        let mut scene = Scene { cwd: self.scene.cwd, ..self.scene.deeper() };
        if let Some(folder) = &folder {
            scene.cwd = Some(folder);
        }
        let found = analyze::shell::analyze(text, &scene);
        for command in &found.commands {
            self.fetched_program(&command.program, &command.words, span);
        }
        self.waits_for_input(text, &found.commands, span);
        if self.supposed {
            // Nobody calls this function: an unknown name is not recorded.
            let facts = found.facts.into_iter().filter(|fact| {
                !fact.tags.has(Tag::Unknown)
                    && !matches!(fact.kind, FactKind::UnknownCommand | FactKind::UnknownCode)
            });
            let facts = facts.collect();
            self.merge(analyze::Analysis { facts, ..found }, span);
            return;
        }
        self.merge(found, span);
    }

    /// Records a program, or a script given to an interpreter, that was fetched before.
    fn fetched_program(&mut self, program: &str, words: &[String], span: Option<Span>) {
        self.spend((self.written.len() * (1 + words.len())) as u64 / 16);
        let fetched = self.written.iter().any(|(path, marks)| {
            marks.has(Provenance::FETCHED)
                && (base_name(path) == program
                    || words.iter().any(|word| {
                        base_name(word) == base_name(path)
                            && (SHELLS.contains(&program)
                                || program.starts_with("python")
                                || ["node", "perl", "ruby", "source", "."].contains(&program))
                    }))
        });
        if fetched {
            self.fact(FactKind::RemoteCode, program, Tags::NONE, span);
        }
    }

    /// Follows `subprocess.run([…])` and `subprocess.run("…", shell=True)`.
    pub(super) fn spawn(&mut self, args: &Args, span: Option<Span>) -> Value {
        let command = args.get(0, "args");
        self.check_streams(args, span);
        let process = self.shell_in(&command, args, span);
        self.feed_named(args, span);
        process
    }

    /// Follows `input="…"` and `stdin_data: "…"`.
    pub(super) fn feed_named(&mut self, args: &Args, span: Option<Span>) {
        let input = args.named("input").or_else(|| args.named("stdin_data"));
        if let Some(input) = input {
            self.feed(&input, span);
        }
    }

    /// Records a program whose streams are a connection.
    pub(super) fn check_streams(&mut self, args: &Args, span: Option<Span>) {
        if args.joined().has(Provenance::SOCKET) {
            self.fact(FactKind::ReverseShell, "a program on a connection", Tags::NONE, span);
        }
    }

    /// Follows `system("rm", "-rf", "/")`, `spawn("rm", ["-rf", "/"])`, `execv(path, [name, …])`.
    pub(super) fn program(&mut self, args: &Args, span: Option<Span>) -> Value {
        self.check_streams(args, span);
        let mut args = args.clone();
        // Ruby: variables for the program come first.
        if matches!(args.at(0).shape, Shape::Map(_)) && args.count() > 1 {
            args = args.skip(1);
        }
        let first = args.at(0);
        if let Shape::Any(_) = first.shape {
            return self.shell(&first, span);
        }
        let words = self.program_words(&args);
        let command = match words.as_slice() {
            [only] => only.clone(),
            _ => Value::list(words),
        };
        self.shell_in(&command, &args, span);
        self.feed_named(&args, span);
        let process = Value::handle(Handle::Process).marked(Provenance::OUTPUT);
        self.call_back(&args, &process);
        process
    }

    fn program_words(&self, args: &Args) -> Vec<Value> {
        let first = args.at(0);
        let mut words = match first.items() {
            Some(items) => items.to_vec(),
            None => vec![first],
        };
        let by_exec = self.language == Language::Python;
        for (place, value) in args.positional().enumerate().skip(1) {
            match &value.shape {
                Shape::List(items) => {
                    // `execv(path, [name, …])`: the name again.
                    let skipped = usize::from(by_exec && place == 1);
                    words.extend(items.iter().skip(skipped).cloned());
                }
                Shape::Map(pairs) => {
                    // `new Deno.Command("rm", { args: […] })`
                    let inner = pairs.iter().find(|(name, _)| &**name == "args");
                    let inner = inner.and_then(|(_, value)| value.items());
                    words.extend(inner.unwrap_or_default().iter().cloned());
                }
                Shape::Closure(..) => {}
                // `execl(path, name, …)`: the name again.
                Shape::Text(_) if by_exec && place == 1 => {}
                _ => words.push(value.clone()),
            }
        }
        words
    }

    /// Returns words as a command line, quoted where a shell would split them.
    fn command_line(&mut self, list: &Value) -> String {
        let mut line = String::new();
        for item in list.items().unwrap_or_default() {
            let word = item.as_part();
            self.spend(word.len() as u64 / 64);
            if !line.is_empty() {
                line.push(' ');
            }
            let plain = !word.is_empty()
                && word.chars().all(|char| {
                    char.is_ascii_alphanumeric() || "-_./=:,+@%".contains(char) || char == UNKNOWN
                });
            if plain {
                line.push_str(&word);
            } else {
                line.push('\'');
                line.push_str(&word.replace('\'', "'\\''"));
                line.push('\'');
            }
        }
        line
    }

    /// Follows a program with its own terminal: on a connection that is a remote shell.
    pub(super) fn terminal(&mut self, args: &Args, span: Option<Span>) -> Value {
        if self.connected.is_some() {
            self.fact(FactKind::ReverseShell, "a terminal on a connection", Tags::NONE, span);
        }
        self.shell(&args.at(0), span)
    }

    /// Follows a fork: in an endless loop it is a fork bomb.
    pub(super) fn fork(&mut self, args: &Args, span: Option<Span>) -> Value {
        let itself = args.joined().has(Provenance::OWN);
        if self.in_endless_loop()
            || (itself && !self.is_picked() && self.language == Language::Javascript)
        {
            self.fact(FactKind::ForkBomb, "fork", Tags::NONE, span);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.forked = true;
        }
        self.call_back(args, &Value::unknown());
        Value::unknown()
    }

    /// Follows a thread or process that runs a function.
    pub(super) fn start(&mut self, args: &Args, span: Option<Span>) -> Value {
        if self.in_endless_loop() {
            self.fact(FactKind::ForkBomb, "a process", Tags::NONE, span);
        }
        if args.named("eval").is_some() && self.language == Language::Javascript {
            return self.eval(&args.at(0), span);
        }
        self.call_later(args, span);
        Value::unknown()
    }

    /// Records signals to processes that it did not start.
    pub(super) fn kill(&mut self, args: &Args, span: Option<Span>) {
        let signal_first = matches!(self.language, Language::Perl | Language::Ruby);
        let args = &if self.language == Language::Perl { args.flat() } else { args.clone() };
        let victims: Vec<Value> = if signal_first {
            args.skip(1).positional().cloned().collect()
        } else {
            vec![args.at(0)]
        };
        // Signal 0 only checks that the process exists.
        let signal = args.at(usize::from(!signal_first));
        if matches!(signal.shape, Shape::Number(0)) {
            return;
        }
        for victim in victims {
            // It may end itself and the processes that it started.
            if victim.has(Provenance::OUTPUT)
                || matches!(victim.shape, Shape::Handle(Handle::Itself))
            {
                continue;
            }
            let everyone = matches!(victim.shape, Shape::Number(-1))
                || matches!(victim.shape, Shape::Handle(Handle::Processes))
                || victim.has(Provenance::WALKED);
            let (subject, tags) = match victim.shape {
                _ if everyone => ("every process".to_owned(), Tags::of(&[Tag::Many])),
                Shape::Number(number) => (number.to_string(), Tags::NONE),
                _ if self.supposed => continue,
                _ => ("…".to_owned(), Tags::of(&[Tag::Unknown])),
            };
            let tags = if is_forced(&signal) { tags.with(Tag::Forced) } else { tags };
            self.fact(FactKind::Kill, &subject, tags, span);
        }
    }

    /// Follows `dup2(connection, 0)`.
    pub(super) fn redirect(&mut self, args: &Args, span: Option<Span>) {
        let standard = match args.at(1).shape {
            Shape::Number(number) => (0..=2).contains(&number),
            _ => true,
        };
        if standard && args.at(0).has(Provenance::SOCKET) {
            self.redirected = self.redirected.or(span);
        }
    }
}

/// Returns the variables that a call gives its program, as shell assignments. Only names and values
/// that do not need quotes: others do not tell where a program finds its settings.
fn exports(call: &Args) -> String {
    let Some(Shape::Map(pairs)) = call.named("env").map(|env| env.shape) else {
        return String::new();
    };
    let plain = |text: &str| {
        text.chars().all(|char| char.is_ascii_alphanumeric() || "_-./:~".contains(char))
    };
    let mut line = String::new();
    for (name, value) in pairs.iter().take(64) {
        let value = value.known_text().map(std::string::ToString::to_string).unwrap_or_default();
        if plain(name) && plain(&value) {
            let _ = writeln!(line, "export {name}={value}");
        }
    }
    line
}

/// Reports whether a signal cannot be ignored by a process.
fn is_forced(signal: &Value) -> bool {
    match &signal.shape {
        Shape::Number(number) => number.abs() == 9,
        Shape::Text(name) => name.trim_start_matches('-').trim_start_matches("SIG") == "KILL",
        Shape::Api(name) => name.ends_with("SIGKILL"),
        _ => false,
    }
}

/// Reports whether [`Runner::judge_source`] has recorded a fact about this code.
pub(super) const fn hides(code: &Value) -> bool {
    code.has(
        Provenance::RECEIVED
            .and(Provenance::SOCKET)
            .and(Provenance::FETCHED)
            .and(Provenance::DECODED),
    )
}
