//! Follows a program step by step, with values as far as they are known.
//!
//! Every branch is taken, every loop once, every function when it is called and, if it never is,
//! once at the end with unknown arguments. Variables are looked up from the innermost call
//! outwards, which is close enough for short scripts. A budget bounds the whole walk.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::tree::{Block, Class, Function, FunctionId, Program, Target};
use super::value::{Provenance, Shape, Value};
use crate::action::Language;
use crate::analyze::Analysis;
use crate::fact::{Fact, FactKind, Tags};
use crate::location::Scene;
use crate::verdict::Span;

mod argument;
mod call;
mod code;
mod decode;
mod effect;
mod far;
mod file;
mod flags;
mod indirect;
mod list;
mod method;
mod name;
mod network;
mod pass;
mod process;
mod prompt;
mod reach;
mod step;
mod text;

use argument::{Arg, Args};

/// The number of steps that any program may take, and more for each of its own.
const FUEL: u64 = 200_000;
const FUEL_PER_STEP: u64 = 8;
/// The number of steps that no program may exceed.
const MOST_FUEL: u64 = 3_000_000;
/// The smaller budget of a nested program: there may be thousands of them.
const FUEL_INSIDE: u64 = 4_000;
const FUEL_INSIDE_PER_STEP: u64 = 128;
/// The number of steps for a function that is never called.
const FUEL_SUPPOSED: u64 = 5_000;
/// The depth of nested calls that is followed; less inside other languages.
const DEEPEST_CALL: usize = 12;
/// The number of facts that are enough to judge by.
const MOST_FACTS: usize = 300;

/// Returns the facts of a program and the number of steps spent, up to a limit.
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
        prompt: None,
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

/// Returns the number of steps that a program may take at this depth of nested languages.
fn budget(program: &Program, depth: u8) -> u64 {
    let steps: usize = program.functions.iter().map(|function| function.code.len()).sum();
    let steps = u64::try_from(steps).unwrap_or(u64::MAX / 1024);
    let budget = FUEL + FUEL_PER_STEP * steps;
    match depth {
        0 => budget.min(MOST_FUEL),
        _ => budget.min(FUEL_INSIDE + FUEL_INSIDE_PER_STEP * steps).min(MOST_FUEL),
    }
}

/// Returns classes by name; of several with one name, the last.
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
    /// Modules whose names were all imported: `from os import *`.
    stars: Vec<Rc<str>>,
    classes: HashMap<Rc<str>, Methods<'a>>,
    called: HashSet<FunctionId>,
    /// The initial budget of steps.
    budget: u64,
    fuel: Cell<u64>,
    /// True when nobody called the current function: unknown values are not recorded.
    supposed: bool,
    /// The span at which a raw connection was made.
    connected: Option<Span>,
    /// The span at which the standard streams were redirected to a connection.
    redirected: Option<Span>,
    /// True when a program was started.
    spawned: bool,
    /// The command line of the last program that was started.
    fed: Option<String>,
    /// An interpreter that waits for its input, and where it was started; see [`prompt`].
    prompt: Option<(String, Option<Span>)>,
    /// The origins of content that was written to files, by path.
    written: HashMap<String, Provenance>,
    /// The working folder, if the program changed it.
    cwd: Option<String>,
    analysis: Analysis,
    seen: HashSet<(FactKind, Tags, String)>,
    /// True when there were more facts than are listed.
    overflowed: bool,
}

/// One call being followed.
struct Frame {
    function: FunctionId,
    values: Vec<Value>,
    locals: HashMap<Rc<str>, Value>,
    result: Option<Value>,
    blocks: Vec<Region>,
    /// True when it forked: a recursive call that forks again never ends.
    forked: bool,
}

/// A block being followed, and the values that its assignments replaced.
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
        // Uncalled functions are followed only for their certain effects.
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
        self.opens_prompt();
        if let (Some(span), true) = (self.redirected, self.spawned) {
            self.add(Fact::new(FactKind::ReverseShell, "a shell on a connection").at(Some(span)));
        }
        // Not by `add`, which refuses facts once the list is full.
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

    /// Follows a function with these arguments; returns its result.
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
            // The variables of the source are kept for the functions that are followed later.
            return Value::unknown();
        }
        self.frames.pop().and_then(|frame| frame.result).unwrap_or_default()
    }

    /// Returns the number of frames at the bottom that belong to the source itself.
    fn main_depth(&self) -> u8 {
        u8::from(!self.frames.is_empty())
    }

    /// Binds the parameters to the arguments.
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

    /// Records a fact, once.
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

    /// Adopts the findings of another analyzer in a part of this source.
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

    /// Records an unbounded use of memory, disk or network in an endless loop.
    fn use_up(&mut self, what: &str, span: Option<Span>) {
        if self.in_endless_loop() {
            self.fact(FactKind::Exhaust, what, Tags::NONE, span);
        }
    }

    /// Reports whether the current steps are in a loop that never ends.
    fn in_endless_loop(&self) -> bool {
        self.spend_on_blocks();
        self.frames
            .iter()
            .flat_map(|frame| &frame.blocks)
            .any(|region| region.kind == Block::Endless)
    }

    /// Spends steps on the open blocks, which may be nested by the thousand.
    fn spend_on_blocks(&self) {
        let blocks: usize = self.frames.iter().map(|frame| frame.blocks.len()).sum();
        self.spend(blocks as u64 / 16);
    }

    /// Reports whether the current steps run only under a condition inside a loop.
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
