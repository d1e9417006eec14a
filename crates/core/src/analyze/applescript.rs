//! AppleScript: lexed, then read statement by statement for what it would do.
//!
//! Variables keep the texts they can have, `tell` says which app hears a command, and what is
//! handed to a shell, to another script or to Cocoa goes to whoever understands it. A string or a
//! comment that only mentions something is nothing. Nothing runs.
//!
//! Bounded in work: past the bound the answer is [`FactKind::Bound`], never a guess.

use std::collections::{HashMap, HashSet};

use crate::action::{Action, Field};
use crate::analyze::{Analysis, Invocation};
use crate::fact::{Fact, FactKind};
use crate::place::Scene;
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

/// Facts noted about one script.
const MOST_FACTS: usize = 1_024;
/// Blocks in blocks followed by name; deeper ones count, but speak to nobody.
const MOST_BLOCKS: usize = 10_000;
/// Names handed into one handler.
const MOST_PARAMETERS: usize = 64;

/// What a script would do.
#[must_use]
pub fn analyze(action: &Action, scene: &Scene<'_>) -> Analysis {
    match action {
        Action::Applescript { script } => read(script, scene),
        _ => Analysis::of(vec![Fact::new(FactKind::Unparsed, action.kind())]),
    }
}

/// What a script inside another text would do; everything is shown to be at `span`.
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
        // Read both ways: a comment in one language is code in the other.
        walker.analysis.facts.retain(|fact| fact.kind != FactKind::Unparsed);
        javascript::read(script, &mut walker);
    }
    walker.analysis
}

/// Whether some part of a script may run more than once, or later than it stands.
fn is_repeating(lexed: &Lexed<'_>) -> bool {
    lexed.statements().any(|statement| {
        matches!(statement.first().map_or("", |token| token.word()), "on" | "to" | "repeat")
    })
}

/// An open block.
struct Open {
    block: Block,
    /// Who hears commands in it.
    app: Option<App>,
    /// Names that are handed in.
    given: Vec<String>,
    /// What was assigned in it.
    log: HashMap<String, Logged>,
    /// Whether it goes over many objects.
    many: bool,
}

/// What an assignment replaced, and what earlier branches of the same block left.
struct Logged {
    before: Option<Value>,
    left: Option<Value>,
}

impl Open {
    fn new(block: Block) -> Self {
        Self { block, app: None, given: Vec::new(), log: HashMap::new(), many: false }
    }
}

/// Follows a script and notes what it would do.
struct Walker<'a> {
    scene: Scene<'a>,
    analysis: Analysis,
    blocks: Vec<Open>,
    variables: Variables,
    /// Every value a name gets anywhere, and the names that get one in a loop or handler.
    everywhere: Variables,
    restless: HashSet<String>,
    /// Only collects values.
    rehearsing: bool,
    /// Who hears the part of a one-line `tell` being read.
    inline: Option<App>,
    /// The app that was brought to the front last.
    front: App,
    /// The field that has the keyboard.
    focused: Option<Field>,
    /// What the script put on the clipboard.
    copied: Vec<String>,
    /// Commands that were handed to a shell already.
    handed: HashSet<String>,
    handed_bytes: usize,
    /// Whether the script wrote the message that it would send.
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

    /// Goes through the script once to learn what its variables can hold: a handler runs later
    /// than it stands, and a loop's end comes before its next beginning.
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
                // Everything before it has been read, and a script with an end too many never runs.
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

    /// Who hears a command here.
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

    /// Takes over what another analyzer found in a text of this script.
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

/// From the first token to the last.
fn span_of(tokens: &[Token<'_>]) -> Span {
    let start = tokens.first().map_or(0, |token| token.span[0]);
    [start, tokens.last().map_or(start, |token| token.span[1])]
}

/// The names in the brackets of `on go(a, b)`, or after `on go`.
fn parameters(statement: &[Token<'_>]) -> Vec<String> {
    let names = statement
        .iter()
        .skip(2)
        .filter(|token| matches!(token.kind, lex::Kind::Word | lex::Kind::Name));
    names.take(MOST_PARAMETERS).map(|token| token.text.to_ascii_lowercase()).collect()
}

/// What is wrong, in words.
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
