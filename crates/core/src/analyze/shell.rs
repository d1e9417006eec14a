//! Shell scripts: parsed by a real bash grammar, then followed statement by statement.
//!
//! The walk is an abstract execution: variables get the values they can have, pipes carry the known
//! part of their text and its provenance, functions are entered, wrappers are unwrapped, and every
//! program that would run is recorded with its words and its effects. Nothing runs. Anything that
//! cannot be worked out is a fact of its own.
//!
//! Bounded in depth and in work: past the bound the answer is [`FactKind::Bound`], never a guess.

mod answer;
mod arguments;
mod awk;
mod builtin;
mod catalogue;
mod chain;
mod compound;
mod console;
mod debugger;
mod effect;
mod erase;
mod escape;
mod exhaust;
mod expand;
mod fetched;
mod files;
mod find;
mod floor;
mod follow;
mod foreign;
mod git;
mod handed;
mod host;
mod inline;
mod interpreter;
mod later;
mod listen;
mod loader;
mod lookup;
mod module;
mod name;
mod network;
mod option;
mod origin;
mod output;
mod overwrite;
mod own_command;
mod parameter;
mod pattern;
mod plain;
mod powershell;
mod process;
mod project;
mod query;
pub(crate) mod reach;
mod redirect;
mod remote;
mod replace;
mod request;
pub(crate) mod role;
mod secret;
mod sed;
mod send;
mod shown;
mod source;
mod ssh;
mod stand_in;
mod state;
mod toolchain;
mod unfinished;
mod unpack;
mod upload;
mod value;
mod verb;
mod visit;
mod work;
mod wrapper;

pub(crate) use interpreter::prompts;

use std::collections::BTreeSet;
use std::rc::Rc;

use shuck_ast::{Command, Span as SyntaxSpan, Stmt, StmtSeq, StmtTerminator};
use shuck_parser::parser::{ParseStatus, Parser};
use shuck_parser::{ShellDialect, ShellProfile};

use self::state::{Function, SharedState};
use self::value::{Arg, Stream};
use crate::analyze::{Analysis, bounds};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location::{self, Scene};
use crate::verdict::Span;

/// The shell option that enables alias expansion, and an inert word of the same length.
const EXPANDS: &str = "expand_aliases";
const NOT_EXPANDS: &str = "expand-aliases";
/// The greatest depth of statements inside statements and scripts inside scripts that is followed.
const MOST_DEPTH: usize = 64;
/// The number of commands examined in one action, repeats included.
const MOST_COMMANDS: u32 = 20_000;
/// The greatest length of standard input that is passed on to more than one command.
const MOST_SHARED: usize = 16 * 1024;
/// The number of facts recorded about one action.
const MOST_FACTS: usize = 4_096;
/// Tags that hard blocks look at.
const GRAVE: Tags = Tags::of(&[Tag::Root, Tag::Device, Tag::Blocked]);
/// The length past which a script is not followed: no system takes a command this long.
const MOST_TEXT: usize = 2 * 1024 * 1024;

/// Returns the facts and commands of a script.
#[must_use]
pub fn analyze(script: &str, scene: &Scene<'_>) -> Analysis {
    if script.len() > MOST_TEXT {
        let unseen = Tags::of(&[Tag::Unseen]);
        let fact = Fact::new(FactKind::Bound, "longer than any system takes").tagged(unseen);
        return Analysis { facts: vec![fact], ..Analysis::default() };
    }
    walk(script, scene).analysis
}

/// Follows a script to its end.
fn walk<'a>(script: &str, scene: &Scene<'a>) -> Walker<'a> {
    let mut walker = Walker::new(*scene);
    // Enough fuel that a script without loops and functions is always followed to its end.
    walker.fuel = MOST_COMMANDS.max(u32::try_from(script.len()).unwrap_or(u32::MAX));
    walker.most_steps = work::most_steps(walker.fuel);
    let printed = walker.script(script, None, Stream::caller());
    if printed.taint.has(Tag::Secret) && !printed.taint.has(Tag::Local) {
        walker.note(Fact::new(FactKind::SecretShow, "the value of a variable"));
    }
    walker.uncalled_functions(None);
    walker.floor_of_files();
    walker
}

/// Follows a script and records its commands and effects.
#[expect(clippy::struct_excessive_bools, reason = "each says one thing about the place")]
struct Walker<'a> {
    scene: Scene<'a>,
    analysis: Analysis,
    state: SharedState,
    /// Commands that may still be examined.
    fuel: u32,
    /// The number of steps that may be taken: see [`work`].
    most_steps: usize,
    /// The current depth, over all nested scripts.
    depth: usize,
    /// The functions being called, outermost first.
    calls: Vec<(String, Rc<Function>)>,
    /// The aliases being expanded: inside them, their names mean programs.
    replacing: Vec<String>,
    /// Files of a project that a tool is being followed through, by path and content.
    project_files: Vec<(String, Stream)>,
    /// Names that `mktemp` has made up so far.
    temporary_files: u32,
    /// Programs that were looked for by a pattern.
    patterns: u32,
    /// Nonzero inside a pipe or after `&`, where commands run concurrently.
    beside: u32,
    /// Nonzero after `&`, where nobody waits for the commands.
    background: u32,
    /// True once a long wait in the background is over.
    waited: bool,
    /// Variables set or unset for the commands being run, innermost last.
    environment: Vec<(String, Option<Arg>)>,
    /// The depth of loops: only bodies of the outermost are followed twice.
    loops: u32,
    /// Tags of everything that runs here, such as those of sudo or a container.
    tags: Tags,
    /// The span shown for everything in here, when its own text is not the action's.
    shown_at: Option<Span>,
    nested: bool,
    /// The number of wrappers and other programs around the command that runs.
    wrapped: u32,
    /// True when a text is read only to see whether it would be a hard block.
    is_floor: bool,
    /// True while the word being expanded is between double quotes.
    in_quotes: bool,
    /// The number of texts that were read for hard blocks.
    floor_reads: usize,
    /// The number of enclosing conditions, matches and events.
    conditions: u32,
    /// The start offsets of the substitutions already followed in the current text.
    followed: BTreeSet<usize>,
    /// The number of substitutions that only the visitor found.
    missed: usize,
    /// The number of facts known at the start of the pipe that is being followed.
    pipe_start: Option<usize>,
}

impl<'a> Walker<'a> {
    fn new(scene: Scene<'a>) -> Self {
        Self {
            scene,
            analysis: Analysis::default(),
            state: SharedState::default(),
            fuel: MOST_COMMANDS,
            most_steps: work::most_steps(MOST_COMMANDS),
            depth: 0,
            calls: Vec::new(),
            replacing: Vec::new(),
            project_files: Vec::new(),
            temporary_files: 0,
            patterns: 0,
            beside: 0,
            background: 0,
            waited: false,
            environment: Vec::new(),
            loops: 0,
            tags: Tags::NONE,
            shown_at: None,
            nested: false,
            wrapped: 0,
            is_floor: false,
            in_quotes: false,
            floor_reads: 0,
            conditions: 0,
            followed: BTreeSet::new(),
            missed: 0,
            pipe_start: None,
        }
    }

    /// Follows a script in the current shell, as `eval` does.
    fn script(&mut self, text: &str, shown_at: Option<Span>, stdin: Stream) -> Stream {
        let room = MOST_DEPTH.saturating_sub(self.depth);
        let too_long = text.len() > MOST_TEXT || !bounds::fits(text);
        if room == 0 || self.scene.depth > location::MOST_LANGUAGES || too_long {
            self.note(Fact::new(FactKind::Bound, "nested too deeply or too long").at(shown_at));
            return Stream::unknown(Tags::NONE);
        }
        self.state.work().script(text.len());
        if self.is_exhausted() {
            return Stream::unknown(Tags::NONE);
        }
        let profile = ShellProfile::native(ShellDialect::Bash);
        // With this option the grammar expands aliases itself, and then reports spans in a text
        // that we do not have. Aliases are followed in `follow_alias`.
        let unexpanded = text.contains(EXPANDS).then(|| text.replace(EXPANDS, NOT_EXPANDS));
        let text = unexpanded.as_deref().unwrap_or(text);
        let fuel = text.len().saturating_mul(40).max(100_000);
        let parsed = Parser::with_limits_and_profile(text, room, fuel, profile).parse();
        if parsed.status != ParseStatus::Clean {
            let why = parsed.diagnostics.first().map_or_else(
                || "not valid shell syntax".to_owned(),
                |diagnostic| diagnostic.message.clone(),
            );
            let span = parsed.diagnostics.first().map(|diagnostic| diagnostic.span);
            let span = if self.nested { shown_at } else { span.map(to_span) };
            let unfinished = self.is_unfinished(text);
            let kind = if unfinished { FactKind::Unfinished } else { FactKind::Unparsed };
            self.note(Fact::new(kind, why).at(span));
        }
        let outer = std::mem::take(&mut self.followed);
        let out = self.seq(text, &parsed.file.body, stdin);
        self.follow_the_rest(text, &parsed.file.body);
        self.followed = outer;
        out
    }

    /// Follows a script that another program would run.
    fn nested_script(&mut self, text: &str, shown_at: Option<Span>, stdin: Stream) -> Stream {
        let outer = (self.nested, self.shown_at, self.scene);
        self.shown_at = if self.nested { self.shown_at } else { shown_at };
        self.nested = true;
        self.scene = self.scene.deeper();
        self.depth += 1;
        let out = self.script(text, shown_at, stdin);
        self.depth -= 1;
        (self.nested, self.shown_at, self.scene) = outer;
        out
    }

    /// Follows a script in a shell of its own: the variables it sets are dropped afterwards, the
    /// files it writes are kept.
    fn child_script(&mut self, text: &str, shown_at: Option<Span>, stdin: Stream) -> Stream {
        let outer = self.state.clone();
        let out = self.nested_script(text, shown_at, stdin);
        self.leave_subshell(outer);
        out
    }

    /// Follows a script in another process, which gets only what is exported.
    fn process_script(&mut self, text: &str, shown_at: Option<Span>, stdin: Stream) -> Stream {
        let outer = self.state.clone();
        self.state.enter_process();
        // A function of the same name in another process is another function.
        let calls = std::mem::take(&mut self.calls);
        let out = self.nested_script(text, shown_at, stdin);
        self.leave_subshell(outer);
        self.calls = calls;
        out
    }

    fn leave_subshell(&mut self, outer: SharedState) {
        if self.state.is_same(&outer) {
            return;
        }
        self.uncalled_functions(Some(&outer));
        self.state.work().entries(self.state.files.len() + self.state.names.len());
        let inner = std::mem::replace(&mut self.state, outer);
        if !inner.files.is_empty() {
            self.state
                .files
                .extend(inner.files.iter().map(|(path, file)| (path.clone(), file.clone())));
        }
        if !inner.names.is_empty() {
            let names = inner.names.iter().map(|(path, file)| (path.clone(), file.clone()));
            self.state.names.extend(names);
        }
    }

    fn seq(&mut self, src: &str, seq: &StmtSeq, stdin: Stream) -> Stream {
        let mut out = Stream::empty();
        let mut stdin = stdin;
        for stmt in seq.iter() {
            let printed = self.stmt(src, stmt, stdin.clone());
            if stdin.text.as_ref().is_some_and(|text| text.len() > MOST_SHARED) {
                // The first command reads it; copying it for every other command would be
                // quadratic.
                stdin = Stream::unknown(stdin.taint);
            }
            out = output::concat(out, printed);
        }
        out
    }

    fn stmt(&mut self, src: &str, stmt: &Stmt, stdin: Stream) -> Stream {
        if self.depth >= MOST_DEPTH {
            self.note(Fact::new(FactKind::Bound, "too deep to follow"));
            return Stream::unknown(Tags::NONE);
        }
        if self.is_exhausted() {
            return Stream::unknown(Tags::NONE);
        }
        self.depth += 1;
        let background = matches!(stmt.terminator, Some(StmtTerminator::Background(_)));
        self.beside += u32::from(background);
        self.background += u32::from(background);
        // A redirection alone prints nothing of its piped input.
        let stdin = if only_redirects(stmt) { Stream::caller() } else { stdin };
        let outer = background.then(|| self.state.clone());
        let out = self.with_redirects(src, &stmt.redirects, stdin, |walker, stdin| {
            walker.command(src, &stmt.command, stdin)
        });
        if let Some(outer) = outer {
            self.leave_subshell(outer);
        }
        self.beside -= u32::from(background);
        self.background -= u32::from(background);
        self.waited &= self.background > 0;
        self.depth -= 1;
        out
    }

    fn command(&mut self, src: &str, command: &Command, stdin: Stream) -> Stream {
        match command {
            Command::Simple(simple) => self.simple(src, simple, stdin),
            Command::Builtin(builtin) => self.flow_word(src, builtin),
            Command::Decl(clause) => self.declare(src, clause),
            Command::Binary(binary) => self.chain(src, binary, stdin),
            Command::Compound(compound) => self.compound(src, compound, stdin),
            Command::Function(function) => self.define(src, function),
            Command::AnonymousFunction(function) => {
                self.words(src, &function.args);
                self.stmt(src, &function.body, stdin)
            }
        }
    }

    /// Calls a function with extra tags for everything inside, such as those of sudo or a
    /// container.
    fn with_tags<T>(&mut self, tags: Tags, inside: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.tags;
        self.tags = outer.and(tags);
        let done = inside(self);
        self.tags = outer;
        done
    }

    /// Records a fact, with the tags of everything here.
    fn note(&mut self, fact: Fact) {
        let fact = fact.tagged(self.tags);
        let fact = if self.nested { fact.at(self.shown_at) } else { fact };
        let fact = Fact { origin: self.origin(), ..fact };
        let facts = &mut self.analysis.facts;
        // Past the bound, facts that may be a hard block are still recorded, so that they cannot be
        // crowded out.
        let grave = fact.kind == FactKind::ForkBomb || fact.tags.any(GRAVE);
        if facts.len() >= MOST_FACTS && !grave {
            if facts.len() == MOST_FACTS {
                facts.push(Fact::new(FactKind::Bound, "does more than can be told"));
            }
        } else if !facts.iter().rev().take(64).any(|known| *known == fact) {
            facts.push(fact);
        }
    }

    /// Records a fact about a path.
    fn note_path(&mut self, kind: FactKind, path: &Arg, tags: Tags) {
        if let Some(real) = self.named(&path.text)
            && kind != FactKind::Delete
            && kind != FactKind::Link
        {
            let tags = tags.and(location::locate(&real, &self.scene_now()));
            let fact = Fact::new(kind, location::shown(&real)).tagged(tags).at(path.span);
            self.perhaps(|walker| walker.note(fact));
        }
        let mut found = location::locate(&path.text, &self.scene_now()).and(tags);
        if kind == FactKind::Send && location::holds_data(location::base_name(&path.text)) {
            found = found.with(Tag::Local);
        }
        // `$(mktemp -d)/../..` is not the folder that mktemp made, and neither is `/etc/$T`.
        let made = path.taint.has(Tag::Created)
            && found.has(Tag::Temp)
            && path.text.starts_with("/tmp/")
            && !path.text.contains("..");
        if made || self.made_here(&path.text) {
            found = found.with(Tag::Created);
        }
        let is_read = kind == FactKind::Read && !path.from_variable;
        if is_read && location::is_public(&location::absolute(&path.text, &self.scene_now())) {
            found = found.with(Tag::Public);
        }
        let whole = found.has(Tag::Recursive) && matches!(kind, FactKind::Read | FactKind::Send);
        if whole && location::holds_secrets(&path.text, &self.scene_now()) {
            found = found.with(Tag::Secret);
        }
        if path.glob {
            found = found.with(Tag::Many);
        }
        if path.taint.has(Tag::Unknown) {
            found = found.with(Tag::Unknown);
        }
        self.note(Fact::new(kind, location::shown(&path.text)).tagged(found).at(path.span));
    }

    fn span(&self, syntax_span: SyntaxSpan) -> Option<Span> {
        if self.nested { self.shown_at } else { Some(to_span(syntax_span)) }
    }
}

/// Reports whether a statement is only `> FILE`: without a command and without input.
fn only_redirects(stmt: &Stmt) -> bool {
    let Command::Simple(simple) = &stmt.command else { return false };
    let reads = |redirect: &shuck_ast::Redirect| {
        !matches!(
            redirect.kind,
            shuck_ast::RedirectKind::Output
                | shuck_ast::RedirectKind::Clobber
                | shuck_ast::RedirectKind::Append
        )
    };
    simple.name.parts.is_empty()
        && simple.args.is_empty()
        && simple.assignments.is_empty()
        && !stmt.redirects.iter().any(reads)
}

fn to_span(syntax_span: SyntaxSpan) -> Span {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    // The span of an unclosed construct may end before it starts.
    let start = offset(syntax_span.start.offset());
    [start, offset(syntax_span.end.offset()).max(start)]
}
