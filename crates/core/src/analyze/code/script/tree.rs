//! The common form of all four languages: functions made of small steps, in the order they run.
//!
//! A step only refers to earlier steps of its own function, so following one is a walk from front
//! to back, and nothing nests however deep the source does.

use std::collections::HashSet;
use std::rc::Rc;

/// A parsed source. The first function is the source itself.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) functions: Vec<Function>,
    pub(super) classes: Vec<Class>,
    /// True when it is nested deeper than was followed.
    pub(super) bounded: bool,
    /// True when it is not valid in its language, as far as can be determined.
    pub(super) broken: bool,
}

/// The index of a function in a program.
pub(super) type FunctionId = usize;

#[derive(Debug, Default)]
pub(super) struct Function {
    pub(super) name: Rc<str>,
    pub(super) params: Vec<Param>,
    pub(super) code: Vec<Step>,
    /// Named functions declared in it, callable before their declaration.
    pub(super) declared: Vec<(Rc<str>, FunctionId)>,
    /// Names that it shares with the whole source.
    pub(super) globals: HashSet<Rc<str>>,
    /// The class that it is a method of.
    pub(super) class: Option<Rc<str>>,
}

#[derive(Debug, Clone)]
pub(super) struct Param {
    pub(super) target: Target,
    /// True when it takes all remaining arguments.
    pub(super) rest: bool,
}

/// A class and its methods.
#[derive(Debug, Default)]
pub(super) struct Class {
    pub(super) name: Rc<str>,
    pub(super) bases: Vec<Rc<str>>,
    pub(super) methods: Vec<(Rc<str>, FunctionId)>,
}

/// The index of an earlier step of the same function.
pub(super) type Ref = usize;

/// One step and its position in the source.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The kind of a step.
#[derive(Debug)]
pub(super) enum StepKind {
    /// An unknown value.
    Unknown,
    /// `None`, `null`, `nil`, `undef`.
    Nothing,
    Text(Rc<String>),
    Number(i64),
    /// A variable, or something that the language provides.
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
    /// One of several values.
    Either(Vec<Ref>),
    Closure(FunctionId),
    Class(Rc<str>),
    /// A command in backticks.
    Command(Ref),
    /// A line from a file or stream.
    Line(Ref),
    /// Every item of the first, passed through the function.
    Mapped(Ref, FunctionId),
    /// An item of a list, a file or a folder.
    Item(Ref),
    Assign(Target, Ref),
    /// A parameter's value where the call gave none.
    Default(Rc<str>, Ref),
    Return(Ref),
    Begin(Block),
    End,
    /// A step without effect; may become a [`StepKind::Begin`] later.
    Idle,
}

/// The direction of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// The target of an assignment.
#[derive(Debug, Clone)]
pub(super) enum Target {
    Name(Rc<str>),
    /// A variable declared here: never an outer variable.
    Local(Rc<str>),
    /// A member of any object: objects are not distinguished here.
    Member(Rc<str>),
    Index(Ref, Ref),
    /// Several targets, each of which takes a part by position or by key.
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

/// An operator between two values.
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
    /// A comparison.
    Compare,
    /// `|`: joins maps in Python.
    Merge,
    Other,
}

/// The property of the steps up to the matching end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// The steps may not run.
    Maybe,
    /// The steps may run often.
    Loop,
    /// The steps repeat endlessly, without a pause.
    Endless,
}
