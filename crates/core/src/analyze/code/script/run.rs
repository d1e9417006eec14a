//! Follows a program step by step, with values as far as they are known.
//!
//! Every branch is taken, every loop once, every function when it is called and, if it never is,
//! once at the end with nothing known. Variables are looked up from the inside out along the calls,
//! which is close enough for short scripts. A budget bounds the whole walk.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::tree::{Block, Class, Function, FunctionId, Program, Target};
use super::value::{Marks, Shape, Value};
use crate::action::Language;
use crate::analyze::Analysis;
use crate::fact::{Fact, FactKind, Tags};
use crate::place::Scene;
use crate::verdict::Span;

mod argument;
mod call;
mod code;
mod decode;
mod effect;
mod file;
mod indirect;
mod list;
mod method;
mod name;
mod network;
mod process;
mod step;
mod text;

use argument::{Arg, Args};

/// Steps that any program may take, and more for each of its own.
const FUEL: u64 = 200_000;
const FUEL_PER_STEP: u64 = 8;
/// However long the program is.
const MOST_FUEL: u64 = 3_000_000;
/// A program inside another gets by on less: there may be thousands of them.
const FUEL_INSIDE: u64 = 4_000;
const FUEL_INSIDE_PER_STEP: u64 = 128;
/// Steps that a function may take which nobody calls.
const FUEL_SUPPOSED: u64 = 5_000;
/// Calls in calls that are followed; fewer when already inside other languages.
const DEEPEST_CALL: usize = 12;
/// Enough to judge by.
const MOST_FACTS: usize = 300;

/// What this program would do, and how many steps it took to find out; at most so many.
pub(super) fn analyze(
    language: Language,
    program: &Program,
    scene: &Scene<'_>,
    most: Option<u64>,
) -> (Analysis, u64) {
    let budget = budget(program, scene.depth).min(most.unwrap_or(MOST_FUEL));
    let mut runner = Runner {
        language,
        program,
        scene: *scene,
        frames: Vec::new(),
        attributes: HashMap::new(),
        stars: Vec::new(),
        classes: classes(program),
        called: HashSet::new(),
        budget,
        fuel: Cell::new(budget),
        supposed: false,
        connected: None,
        redirected: None,
        spawned: false,
        fed: None,
        written: HashMap::new(),
        cwd: None,
        analysis: Analysis::default(),
        seen: HashSet::new(),
        overflowed: false,
    };
    runner.run();
    let left = runner.fuel.get();
    (runner.analysis, budget - left.min(budget))
}

/// How many steps a program may take, so many languages deep.
fn budget(program: &Program, depth: u8) -> u64 {
    let steps: usize = program.functions.iter().map(|function| function.code.len()).sum();
    let steps = u64::try_from(steps).unwrap_or(u64::MAX / 1024);
    let budget = FUEL + FUEL_PER_STEP * steps;
    match depth {
        0 => budget.min(MOST_FUEL),
        _ => budget.min(FUEL_INSIDE + FUEL_INSIDE_PER_STEP * steps).min(MOST_FUEL),
    }
}

/// Classes by name; of several of one name, the last.
fn classes(program: &Program) -> HashMap<Rc<str>, Methods<'_>> {
    let known = program.classes.iter().map(|class| {
        let methods = class.methods.iter().map(|(name, id)| (&**name, *id)).collect();
        (Rc::clone(&class.name), Methods { class, methods })
    });
    known.collect()
}

/// A class, and its methods by name.
struct Methods<'a> {
    class: &'a Class,
    methods: HashMap<&'a str, FunctionId>,
}

struct Runner<'a> {
    language: Language,
    program: &'a Program,
    scene: Scene<'a>,
    frames: Vec<Frame>,
    /// Members of all objects, by name alone.
    attributes: HashMap<Rc<str>, Value>,
    /// Modules whose names are all known: `from os import *`.
    stars: Vec<Rc<str>>,
    classes: HashMap<Rc<str>, Methods<'a>>,
    called: HashSet<FunctionId>,
    /// What it had to spend, and what is left.
    budget: u64,
    fuel: Cell<u64>,
    /// Nobody called the current function: what is not known stays quiet.
    supposed: bool,
    /// Where a raw connection was made.
    connected: Option<Span>,
    /// Where the standard streams became a connection.
    redirected: Option<Span>,
    /// A program was started.
    spawned: bool,
    /// The command line of the last program that was started.
    fed: Option<String>,
    /// What was written to files, by path.
    written: HashMap<String, Marks>,
    /// Where the program went, if it changed its folder.
    cwd: Option<String>,
    analysis: Analysis,
    seen: HashSet<(FactKind, Tags, String)>,
    /// There was more to say than is listed.
    overflowed: bool,
}

/// One call being followed.
struct Frame {
    function: FunctionId,
    values: Vec<Value>,
    locals: HashMap<Rc<str>, Value>,
    result: Option<Value>,
    blocks: Vec<Region>,
    /// It forked: doing that again in a call of itself never ends.
    forked: bool,
}

/// A block being followed, and what its assignments replaced.
struct Region {
    kind: Block,
    replaced: BTreeMap<(usize, Rc<str>), Value>,
}

impl<'a> Runner<'a> {
    fn run(&mut self) {
        if self.program.functions.is_empty() {
            return;
        }
        self.invoke(0, &Args::default(), None);
        // What nobody called is looked at for what it would surely do.
        self.supposed = true;
        let exhausted = self.is_exhausted();
        let (main, mut left) = (self.fuel.get(), self.budget);
        for id in 1..self.program.functions.len() {
            if !self.called.contains(&id) && left > 0 {
                self.fuel.set(FUEL_SUPPOSED.min(left));
                left -= self.fuel.get();
                let this = self.function(id).and_then(|function| function.class.clone());
                let this = this.map(|class| Value::new(Shape::Instance(class)));
                self.invoke(id, &Args::default(), this);
                left += self.fuel.get();
            }
        }
        self.fuel.set(main.saturating_sub(self.budget - left));
        self.supposed = false;
        if let (Some(span), true) = (self.redirected, self.spawned) {
            self.add(Fact::new(FactKind::ReverseShell, "a shell on a connection").at(Some(span)));
        }
        // Not by `add`, which takes no more once the list is full.
        if exhausted {
            self.analysis.facts.push(Fact::new(FactKind::Bound, "more steps than are followed"));
        }
        if self.overflowed {
            self.analysis.facts.push(Fact::new(FactKind::Bound, "more effects than are listed"));
        }
    }

    const fn is_exhausted(&self) -> bool {
        self.fuel.get() == 0
    }

    fn spend(&self, fuel: u64) {
        self.fuel.set(self.fuel.get().saturating_sub(fuel));
    }

    fn function(&self, id: FunctionId) -> Option<&'a Function> {
        self.program.functions.get(id)
    }

    /// Runs a function with these arguments; what it returns.
    fn invoke(&mut self, id: FunctionId, args: &Args, this: Option<Value>) -> Value {
        let Some(function) = self.function(id) else { return Value::unknown() };
        let deepest = DEEPEST_CALL.saturating_sub(usize::from(self.scene.depth)).max(3);
        let repeated = self.frames.iter().any(|frame| frame.function == id);
        if repeated && self.frames.iter().any(|frame| frame.function == id && frame.forked) {
            self.add(Fact::new(FactKind::ForkBomb, &*function.name));
        }
        if repeated || self.frames.len() >= deepest + usize::from(self.main_depth()) {
            return args.joined();
        }
        self.called.insert(id);
        let given = function.declared.len() + function.params.len() + args.list.len();
        self.spend(4 + given as u64 / 4);
        if self.frames.is_empty() {
            self.frames.push(Frame::new(id));
        } else {
            self.frames.push(Frame::new(id));
            self.bind(function, args, this);
        }
        for (name, id) in &function.declared {
            let closure = Value::new(Shape::Closure(*id, None));
            self.set_local(name, closure);
        }
        for step in &function.code {
            if self.is_exhausted() {
                break;
            }
            self.spend(1);
            let value = self.step(step);
            self.spend(value.choices().len() as u64 / 4);
            if let Some(frame) = self.frames.last_mut() {
                frame.values.push(value);
            }
        }
        if id == 0 {
            // The variables of the source stay known for what is looked at later.
            return Value::unknown();
        }
        self.frames.pop().and_then(|frame| frame.result).unwrap_or_default()
    }

    /// The source's own frame stays at the bottom.
    fn main_depth(&self) -> u8 {
        u8::from(!self.frames.is_empty())
    }

    /// Gives the parameters their values.
    fn bind(&mut self, function: &Function, args: &Args, this: Option<Value>) {
        let mut given: Vec<Value> = Vec::new();
        if let Some(this) = this {
            match self.language {
                Language::Python | Language::Perl
                    if function.class.is_some() || self.language == Language::Perl =>
                {
                    given.push(this);
                }
                Language::Javascript => self.set_local(&"this".into(), this),
                _ => {}
            }
        }
        if self.language == Language::Perl {
            given.extend(args.flat().list.into_iter().map(|arg| arg.value));
        } else {
            given.extend(args.positional().cloned());
        }
        let mut given = given.into_iter();
        let named = args.by_name();
        for param in &function.params {
            let name = match &param.target {
                Target::Local(name) | Target::Name(name) => Some(name),
                _ => None,
            };
            let named = name.and_then(|name| named.get(&**name));
            let value = if param.rest {
                Value::list(given.by_ref().collect())
            } else if let Some(value) = named {
                Value::clone(value)
            } else if let Some(value) = given.next() {
                value
            } else {
                Value::new(Shape::Nothing)
            };
            match name {
                Some(name) => self.set_local(name, value),
                None => self.assign(&param.target, value),
            }
        }
    }

    // --- findings

    /// Adds a fact, once.
    fn add(&mut self, fact: Fact) {
        let known = (fact.kind, fact.tags, fact.subject.clone());
        if self.seen.contains(&known) {
            return;
        }
        if self.analysis.facts.len() >= MOST_FACTS {
            self.overflowed = true;
            return;
        }
        self.seen.insert(known);
        self.analysis.facts.push(fact);
    }

    fn fact(&mut self, kind: FactKind, subject: &str, tags: Tags, span: Option<Span>) {
        self.add(Fact::new(kind, subject).tagged(tags).at(span));
    }

    /// Takes over what another analyzer saw in a piece of this source.
    fn merge(&mut self, found: Analysis, span: Option<Span>) {
        for fact in found.facts {
            self.add(fact.at(span));
        }
        if self.analysis.commands.len() < MOST_FACTS {
            let commands = found.commands.into_iter().map(|mut command| {
                command.span = span;
                command
            });
            self.analysis.commands.extend(commands);
        } else {
            self.overflowed |= !found.commands.is_empty();
        }
    }

    /// Something that takes memory, disk or network, for ever and without a pause.
    fn use_up(&mut self, what: &str, span: Option<Span>) {
        if self.in_endless_loop() {
            self.fact(FactKind::Exhaust, what, Tags::NONE, span);
        }
    }

    /// Whether the steps here are in a loop that never ends.
    fn in_endless_loop(&self) -> bool {
        self.spend_on_blocks();
        self.frames
            .iter()
            .flat_map(|frame| &frame.blocks)
            .any(|region| region.kind == Block::Endless)
    }

    /// Blocks may stand in one another by the thousand.
    fn spend_on_blocks(&self) {
        let blocks: usize = self.frames.iter().map(|frame| frame.blocks.len()).sum();
        self.spend(blocks as u64 / 16);
    }

    /// Whether the steps here run only under a condition inside a loop.
    fn is_picked(&self) -> bool {
        self.spend_on_blocks();
        let regions =
            || self.frames.iter().flat_map(|frame| &frame.blocks).map(|region| region.kind);
        let first_loop = regions().position(|kind| kind != Block::Maybe);
        first_loop.is_some_and(|first| regions().skip(first).any(|kind| kind == Block::Maybe))
    }
}

impl Frame {
    fn new(function: FunctionId) -> Self {
        Self {
            function,
            values: Vec::new(),
            locals: HashMap::new(),
            result: None,
            blocks: Vec::new(),
            forked: false,
        }
    }
}
