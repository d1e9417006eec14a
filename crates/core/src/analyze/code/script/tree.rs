//! The common form of all four languages: functions made of small steps, in the order they run.
//!
//! A step only refers to earlier steps of its own function, so running one is a walk from front to
//! back, and nothing nests however deep the source does.

use std::collections::HashSet;
use std::rc::Rc;

/// A source, read. The first function is the source itself.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) functions: Vec<Function>,
    pub(super) classes: Vec<Class>,
    /// Nested deeper than was followed.
    pub(super) bounded: bool,
    /// Not valid in its language, as far as can be told.
    pub(super) broken: bool,
}

/// Which function of a program.
pub(super) type FunctionId = usize;

/// One function.
#[derive(Debug, Default)]
pub(super) struct Function {
    pub(super) name: Rc<str>,
    pub(super) params: Vec<Param>,
    pub(super) code: Vec<Step>,
    /// Named functions declared in it, callable before their declaration.
    pub(super) declared: Vec<(Rc<str>, FunctionId)>,
    /// Names it shares with the whole source.
    pub(super) globals: HashSet<Rc<str>>,
    /// The class it is a method of.
    pub(super) class: Option<Rc<str>>,
}

/// A parameter.
#[derive(Debug, Clone)]
pub(super) struct Param {
    pub(super) target: Target,
    /// Takes all that is left.
    pub(super) rest: bool,
}

/// A class and its methods.
#[derive(Debug, Default)]
pub(super) struct Class {
    pub(super) name: Rc<str>,
    pub(super) bases: Vec<Rc<str>>,
    pub(super) methods: Vec<(Rc<str>, FunctionId)>,
}

/// An earlier step of the same function.
pub(super) type Ref = usize;

/// One step and where in the source it was written.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum StepKind {
    /// Nothing known.
    Unknown,
    /// `None`, `null`, `nil`, `undef`.
    Nothing,
    Text(Rc<String>),
    Number(i64),
    /// A variable, or something the language provides.
    Name(Rc<str>),
    /// Something from outside, by its full name: `os.path`.
    Api(Rc<str>),
    Member(Ref, Rc<str>),
    Index(Ref, Ref),
    /// A part of a text or list; reversed for `[::-1]`.
    Slice(Ref, Direction),
    Call(Ref, Vec<Argument>),
    List(Vec<Ref>),
    Map(Vec<(Ref, Ref)>),
    Binary(Operator, Ref, Ref),
    /// A string with values in it.
    Joined(Vec<Ref>),
    /// One of these.
    Either(Vec<Ref>),
    Closure(FunctionId),
    Class(Rc<str>),
    /// A command in backticks.
    Command(Ref),
    /// A line from a file or stream.
    Line(Ref),
    /// Every item of the first, run through the function.
    Mapped(Ref, FunctionId),
    /// One of the things in a list, a file, a folder.
    Item(Ref),
    Assign(Target, Ref),
    /// A parameter's value where the call gave none.
    Default(Rc<str>, Ref),
    Return(Ref),
    Begin(Block),
    End,
    /// Without effect; may become a [`StepKind::Begin`] later.
    Idle,
}

/// Which way a slice runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// What a value is stored in.
#[derive(Debug, Clone)]
pub(super) enum Target {
    Name(Rc<str>),
    /// Declared here: never an outer variable.
    Local(Rc<str>),
    /// A member of any object: which one makes no difference here.
    Member(Rc<str>),
    Index(Ref, Ref),
    /// Each takes a part: by place, or by key.
    Many(Vec<(Option<Rc<str>>, Target)>),
    Nowhere,
}

/// One argument of a call.
#[derive(Debug, Clone)]
pub(super) struct Argument {
    pub(super) name: Option<Rc<str>>,
    pub(super) value: Ref,
    pub(super) spread: bool,
}

/// What two values are joined by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `+`, or `.` in Perl.
    Add,
    /// `/`: joins paths in Python.
    Divide,
    /// `%`: fills a format.
    Format,
    /// `*`, or `x` in Perl.
    Repeat,
    Subtract,
    Xor,
    /// Yes or no.
    Compare,
    /// `|`: joins maps in Python.
    Merge,
    /// Anything else.
    Other,
}

/// What holds for the steps up to the matching end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// They may not run.
    Maybe,
    /// They may run often.
    Loop,
    /// They run for ever, without a pause.
    Endless,
}
