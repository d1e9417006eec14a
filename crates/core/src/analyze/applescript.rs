//! AppleScript: lexed, then followed statement by statement for its effects.
//!
//! Variables keep their possible texts, `tell` determines the app that receives a command, and text
//! passed to a shell, to another script or to Cocoa goes to the analyzer for it. A string or a
//! comment that only mentions something does not count. Nothing runs.
//!
//! Bounded in work: past the bound the answer is [`FactKind::Bound`], never a guess.

use std::collections::{HashMap, HashSet};

use crate::action::{Action, Field};
use crate::analyze::{Analysis, Invocation};
use crate::fact::{Fact, FactKind};
use crate::location::Scene;
use crate::verdict::Span;

mod app;
mod assign;
mod cocoa;
mod control;
mod eval;
mod file;
mod javascript;
pub(crate) mod lex;
mod member;
mod noun;
mod reader;
mod send;
pub(crate) mod shape;
mod shell;
mod value;
mod verb;

use app::App;
use lex::{Fault, Lexed, Token};
use shape::{Block, Shape};
use value::{Value, Variables};

/// The number of facts recorded about one script.
const MOST_FACTS: usize = 1_024;
/// The depth of nested blocks that are followed by name; deeper ones count, but address no app.
const MOST_BLOCKS: usize = 10_000;
/// The number of parameters of one handler.
const MOST_PARAMETERS: usize = 64;

/// Returns the facts of a script.
#[must_use]
pub fn analyze(action: &Action, scene: &Scene<'_>) -> Analysis {
    match action {
        Action::Applescript { script } => read(script, scene),
        _ => Analysis::of(vec![Fact::new(FactKind::Unparsed, action.kind())]),
    }
}

/// Returns the facts of a script inside another text; all of them are shown at `span`.
#[must_use]
pub fn nested(script: &str, scene: &Scene<'_>, span: Option<Span>) -> Analysis {
    if scene.too_deep() {
        return Analysis::of(vec![Fact::new(FactKind::Bound, "nested too deeply").at(span)]);
    }
    let mut found = read(script, &scene.deeper());
    for fact in &mut found.facts {
        fact.span = span;
    }
    for command in &mut found.commands {
        command.span = span;
    }
    found
}

fn read(script: &str, scene: &Scene<'_>) -> Analysis {
    let lexed = lex::lex(script);
    let is_javascript = javascript::is_javascript(&lexed.tokens);
    let mut walker = Walker::new(*scene, &lexed);
    if is_repeating(&lexed) {
        walker.rehearse(&lexed);
    }
    walker.walk(&lexed);
    if is_javascript {
        // Read as both languages: a comment in one is code in the other.
        walker.analysis.facts.retain(|fact| fact.kind != FactKind::Unparsed);
        javascript::read(script, &mut walker);
    }
    walker.analysis
}

/// Reports whether some part of a script may run more than once, or later than its position.
fn is_repeating(lexed: &Lexed<'_>) -> bool {
    lexed.statements().any(|statement| {
        matches!(statement.first().map_or("", |token| token.word()), "on" | "to" | "repeat")
    })
}

struct Open {
    block: Block,
    /// The app that receives commands in it.
    app: Option<App>,
    /// The names of its parameters.
    given: Vec<String>,
    /// The assignments in it.
    log: HashMap<String, Logged>,
    /// True when it iterates over many objects.
    many: bool,
}

/// The value that an assignment replaced, and the values that earlier branches of the same block
/// left.
struct Logged {
    before: Option<Value>,
    left: Option<Value>,
}

impl Open {
    fn new(block: Block) -> Self {
        Self { block, app: None, given: Vec::new(), log: HashMap::new(), many: false }
    }
}

/// Follows a script and records its effects.
struct Walker<'a> {
    scene: Scene<'a>,
    analysis: Analysis,
    blocks: Vec<Open>,
    variables: Variables,
    /// Every value that a name gets anywhere, and the names that get one in a loop or handler.
    everywhere: Variables,
    restless: HashSet<String>,
    /// True in the first pass, which only collects values.
    rehearsing: bool,
    /// The app that receives the part of a one-line `tell` being read.
    inline: Option<App>,
    /// The app that was activated last.
    front: App,
    /// The field that has the keyboard.
    focused: Option<Field>,
    /// What the script put on the clipboard.
    copied: Vec<String>,
    /// Commands that were handed to a shell already.
    handed: HashSet<String>,
    handed_bytes: usize,
    /// True when the script wrote the message that it would send.
    composed: bool,
    fuel: usize,
}

impl<'a> Walker<'a> {
    fn new(scene: Scene<'a>, lexed: &Lexed<'_>) -> Self {
        Self {
            scene,
            analysis: Analysis::default(),
            blocks: Vec::new(),
            variables: Variables::new(),
            everywhere: Variables::new(),
            restless: HashSet::new(),
            rehearsing: false,
            inline: None,
            front: App::Unknown,
            focused: None,
            copied: Vec::new(),
            handed: HashSet::new(),
            handed_bytes: 0,
            composed: false,
            fuel: lexed.tokens.len().saturating_mul(32).saturating_add(100_000),
        }
    }

    /// Follows the script once to collect the values of its variables: a handler runs later than
    /// its position, and a loop's end comes before its next beginning.
    fn rehearse(&mut self, lexed: &Lexed<'_>) {
        self.rehearsing = true;
        let fuel = self.fuel;
        self.follow(lexed);
        self.fuel = fuel;
        self.rehearsing = false;
        self.blocks.clear();
        self.variables.clear();
    }

    fn walk(&mut self, lexed: &Lexed<'_>) {
        if let Some((fault, span)) = lexed.faults.first() {
            self.note(FactKind::Unparsed, fault_text(*fault), *span);
        }
        self.follow(lexed);
        if let Some(open) = self.blocks.last() {
            let subject = format!("`{}` without its end", open.block.name());
            let end = lexed.tokens.last().map_or([0, 0], |token| token.span);
            self.note(FactKind::Unparsed, subject, end);
        }
        if self.fuel == 0 {
            self.note(FactKind::Bound, "longer than can be followed", [0, 0]);
        }
    }

    fn follow(&mut self, lexed: &Lexed<'_>) {
        let mut statements = lexed.statements().peekable();
        while let Some(statement) = statements.next() {
            let inside = self.blocks.last().map(|open| open.block);
            match shape::shape(statement, inside) {
                Shape::Opens(Block::Handler) => self.open(Block::Handler, statement),
                Shape::Opens(block) => {
                    self.commands(statement);
                    self.open(block, statement);
                }
                Shape::Divides(block) => {
                    self.divide(block, statement);
                    self.commands(statement);
                }
                // Everything before it has been read, and a script with a superfluous `end` never
                // runs.
                Shape::Closes(None) if self.blocks.is_empty() && statements.peek().is_none() => {
                    let subject = "an end that closes nothing".to_owned();
                    self.note_at(FactKind::Unfinished, subject, statement);
                }
                Shape::Closes(block) => self.close(block, statement),
                Shape::Plain => {
                    self.commands(statement);
                    self.assign(statement);
                }
            }
            self.inline = None;
        }
    }

    fn open(&mut self, block: Block, statement: &[Token<'_>]) {
        if self.blocks.len() >= MOST_BLOCKS {
            self.fuel = 0;
        }
        let mut open = Open::new(block);
        match block {
            // The last of `tell a to tell b` decides.
            Block::Tell => open.app = self.inline.take(),
            Block::Handler => open.given = parameters(statement),
            Block::Repeat => open.many = true,
            _ => {}
        }
        self.blocks.push(open);
        if block == Block::Repeat {
            self.loop_variable(statement);
        }
    }

    fn divide(&mut self, block: Block, statement: &[Token<'_>]) {
        if self.blocks.last().is_none_or(|open| open.block != block) {
            let subject = format!("a part of `{}` outside of one", block.name());
            self.note_at(FactKind::Unparsed, subject, statement);
            return;
        }
        self.end_branch();
    }

    fn close(&mut self, block: Option<Block>, statement: &[Token<'_>]) {
        let open = self.blocks.last().map(|open| open.block);
        // A handler may be closed by any name, even by that of a block.
        let fits = match (open, block) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(open), Some(block)) => open == block || open == Block::Handler,
        };
        if fits {
            self.end_block();
        } else {
            self.note_at(FactKind::Unparsed, "an end that closes nothing".to_owned(), statement);
        }
    }

    /// Returns the app that receives a command here.
    fn listener(&self) -> App {
        let told = || self.blocks.iter().rev().take(64).find_map(|open| open.app);
        self.inline.or_else(told).unwrap_or(App::Unknown)
    }

    fn in_loop(&self) -> bool {
        self.blocks.iter().rev().take(64).any(|open| open.many)
    }

    fn note(&mut self, kind: FactKind, subject: impl Into<String>, span: Span) {
        self.add(Fact::new(kind, subject).at(Some(span)));
    }

    fn note_at(&mut self, kind: FactKind, subject: String, tokens: &[Token<'_>]) {
        let span = span_of(tokens);
        self.note(kind, subject, span);
    }

    fn add(&mut self, fact: Fact) {
        if self.rehearsing || self.analysis.facts.len() >= MOST_FACTS {
            return;
        }
        if !self.analysis.facts.contains(&fact) || self.analysis.facts.len() > 64 {
            self.analysis.facts.push(fact);
        }
    }

    /// Adopts the findings of another analyzer in a text of this script.
    fn merge(&mut self, found: Analysis, span: Span) {
        if self.rehearsing {
            return;
        }
        for fact in found.facts {
            self.add(fact.at(Some(span)));
        }
        let span = Some(span);
        let commands = found.commands.into_iter();
        self.analysis.commands.extend(commands.map(|command| Invocation { span, ..command }));
    }
}

impl eval::Names for Walker<'_> {
    fn lookup(&mut self, name: &str) -> Value {
        let value = self.variable(name);
        if self.spend_work(value.work()) { value } else { Value::unknown() }
    }

    fn home(&self) -> String {
        self.scene.home().to_owned()
    }

    fn spend(&mut self, work: usize) -> bool {
        self.spend_work(work)
    }
}

impl Walker<'_> {
    fn spend_work(&mut self, work: usize) -> bool {
        self.fuel = self.fuel.saturating_sub(work);
        self.fuel > 0
    }

    fn value(&mut self, tokens: &[Token<'_>]) -> (Value, usize) {
        eval::value(tokens, self)
    }
}

/// Returns the span from the first token to the last.
fn span_of(tokens: &[Token<'_>]) -> Span {
    let start = tokens.first().map_or(0, |token| token.span[0]);
    [start, tokens.last().map_or(start, |token| token.span[1])]
}

/// Returns the names in the brackets of `on go(a, b)`, or after `on go`.
fn parameters(statement: &[Token<'_>]) -> Vec<String> {
    let names = statement
        .iter()
        .skip(2)
        .filter(|token| matches!(token.kind, lex::Kind::Word | lex::Kind::Name));
    names.take(MOST_PARAMETERS).map(|token| token.text.to_ascii_lowercase()).collect()
}

/// Describes a fault.
pub(crate) fn fault_text(fault: Fault) -> String {
    match fault {
        Fault::OpenString => "a string without its closing quote".to_owned(),
        Fault::OpenComment => "a comment without its end `*)`".to_owned(),
        Fault::OpenName => "a name without its closing `|`".to_owned(),
        Fault::OpenRaw => "`«` without its `»`".to_owned(),
        Fault::Continuation => "`¬` that does not end its line".to_owned(),
        Fault::Character(char) => {
            format!("`{}` outside of a string", char.escape_debug())
        }
    }
}
