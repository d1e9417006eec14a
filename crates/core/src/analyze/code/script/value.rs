//! The known part of a value: its shape, and the origin of its content.

use std::collections::HashSet;
use std::rc::Rc;

use super::tree::FunctionId;
use crate::analyze::UNKNOWN;
use crate::fact::{Tag, Tags};

/// A value as far as it is known.
#[derive(Debug, Clone, Default)]
pub(super) struct Value {
    pub(super) shape: Shape,
    pub(super) origin: Origin,
    /// The depth of nested values.
    depth: u8,
}

/// The shape of a value.
#[derive(Debug, Clone, Default)]
pub(super) enum Shape {
    #[default]
    Unknown,
    /// `None`, `null`, `nil`.
    Nothing,
    /// Text, bytes or a path; [`UNKNOWN`] marks its unknown parts.
    Text(Rc<String>),
    Number(i64),
    List(Rc<Vec<Value>>),
    Map(Rc<Vec<(Rc<str>, Value)>>),
    /// Something that the language or a library provides, by its full name.
    Api(Rc<str>),
    /// An unknown member of a value.
    Member(Rc<Value>, Rc<str>),
    Closure(FunctionId, Option<Rc<Value>>),
    Class(Rc<str>),
    Instance(Rc<str>),
    Handle(Handle),
    /// One of several values.
    Any(Rc<Vec<Value>>),
}

/// A live object of a library.
#[derive(Debug, Clone)]
pub(super) enum Handle {
    /// An open file, by its path.
    File(Rc<String>),
    /// A connection for raw bytes.
    Socket,
    /// A process that this source started.
    Process,
    /// A request that has not been sent, with its data.
    Request,
    /// A response from a server.
    Response,
    /// A connection to a database, in memory or on disk.
    Database(Storage, &'static str),
    /// An object that sends its arguments: mail, uploads.
    Sender,
    /// Everything below a folder.
    Tree(Rc<String>),
    /// Every process of the machine, or a foreign one.
    Processes,
    /// This process, or its id; an id computed from it is another process.
    Itself,
    /// The process's environment variables.
    Environment,
}

/// The storage of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    Memory,
    Lasting,
}

/// The origins of content, as one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Provenance(u16);

impl Provenance {
    pub(super) const NONE: Self = Self(0);
    /// A local file.
    pub(super) const FILE: Self = Self(1);
    /// One environment variable.
    pub(super) const VARIABLE: Self = Self(2);
    /// The whole environment.
    pub(super) const ENVIRONMENT: Self = Self(4);
    /// A response from the network.
    pub(super) const FETCHED: Self = Self(8);
    /// A raw connection.
    pub(super) const RECEIVED: Self = Self(16);
    /// Data unpacked or decoded here.
    pub(super) const DECODED: Self = Self(32);
    /// The output of a command.
    pub(super) const OUTPUT: Self = Self(64);
    /// Input that the user types or passes.
    pub(super) const INPUT: Self = Self(128);
    /// One of all files below a folder.
    pub(super) const WALKED: Self = Self(256);
    /// The location of this source itself.
    pub(super) const OWN: Self = Self(512);
    /// A raw connection itself, or its descriptor.
    pub(super) const SOCKET: Self = Self(1024);
    /// A temporary file made by this source.
    pub(super) const CREATED: Self = Self(2048);
    /// A secret from a key store, a dialog, a password prompt.
    pub(super) const CREDENTIAL: Self = Self(4096);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The origin of a value's content.
#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    pub(super) marks: Provenance,
    /// The file and its class of location.
    pub(super) source: Option<Rc<Source>>,
}

/// A local source of data.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) subject: Rc<str>,
    pub(super) tags: Tags,
}

impl Origin {
    pub(super) const fn of(marks: Provenance) -> Self {
        Self { marks, source: None }
    }

    /// Merges both origins; the more sensitive source is kept.
    pub(super) fn join(&mut self, other: &Self) {
        self.marks = self.marks.and(other.marks);
        let Some(theirs) = &other.source else { return };
        let keep = match &self.source {
            Some(ours) => weight(ours.tags) >= weight(theirs.tags),
            None => false,
        };
        if !keep {
            self.source = Some(Rc::clone(theirs));
        }
    }
}

/// Returns the sensitivity of content from such a location.
fn weight(tags: Tags) -> u8 {
    const WORST: Tags = Tags::of(&[Tag::Secret, Tag::Accounts, Tag::Sensitive, Tag::SignIn]);
    const BAD: Tags = Tags::of(&[Tag::System, Tag::OtherHome, Tag::Kernel, Tag::Home, Tag::Log]);
    if tags.any(WORST) { 2 } else { u8::from(tags.any(BAD)) }
}

/// The number of possible values of one variable.
const MOST_CHOICES: usize = 128;
/// The length past which texts are not compared: they may all start alike.
const LONGEST_COMPARED: usize = 1024;
/// The depth past which values are not followed: dropping them would recurse as deep.
const DEEPEST: u8 = 16;

impl Value {
    pub(super) fn unknown() -> Self {
        Self::default()
    }

    pub(super) const fn new(shape: Shape) -> Self {
        Self { shape, origin: Origin::of(Provenance::NONE), depth: 0 }
    }

    /// Creates a value from others.
    fn made_of(shape: impl FnOnce() -> Shape, origin: Origin, depth: u8) -> Self {
        let shape = if depth > DEEPEST { Shape::Unknown } else { shape() };
        let depth = if depth > DEEPEST { 0 } else { depth };
        Self { shape, origin, depth }
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::new(Shape::Text(Rc::new(text.into())))
    }

    pub(super) fn api(name: &str) -> Self {
        Self::new(Shape::Api(name.into()))
    }

    pub(super) const fn handle(handle: Handle) -> Self {
        Self::new(Shape::Handle(handle))
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        let (origin, depth) = together(items.iter());
        Self::made_of(|| Shape::List(Rc::new(items)), origin, depth)
    }

    pub(super) fn map(pairs: Vec<(Rc<str>, Self)>) -> Self {
        let (origin, depth) = together(pairs.iter().map(|(_, value)| value));
        Self::made_of(|| Shape::Map(Rc::new(pairs)), origin, depth)
    }

    /// Creates an unknown member of a value, with the value's origin.
    pub(super) fn member(object: Self, name: &Rc<str>) -> Self {
        let (origin, depth) = together(std::iter::once(&object));
        Self::made_of(|| Shape::Member(Rc::new(object), Rc::clone(name)), origin, depth)
    }

    /// Creates a function bound to a value.
    pub(super) fn method(function: FunctionId, object: Self) -> Self {
        let (_, depth) = together(std::iter::once(&object));
        let shape = || Shape::Closure(function, Some(Rc::new(object)));
        Self::made_of(shape, Origin::default(), depth)
    }

    /// Creates an unknown value with this origin.
    pub(super) fn from(marks: Provenance) -> Self {
        Self { shape: Shape::Unknown, origin: Origin::of(marks), depth: 0 }
    }

    pub(super) fn marked(mut self, marks: Provenance) -> Self {
        self.origin.marks = self.origin.marks.and(marks);
        self
    }

    pub(super) fn with(mut self, origin: &Origin) -> Self {
        self.origin.join(origin);
        self
    }

    /// Creates an unknown value with the origin of this one.
    pub(super) fn derived(&self) -> Self {
        Self { shape: Shape::Unknown, origin: self.origin.clone(), depth: 0 }
    }

    pub(super) const fn has(&self, marks: Provenance) -> bool {
        self.origin.marks.has(marks)
    }

    /// Returns every possible value.
    pub(super) fn choices(&self) -> &[Self] {
        match &self.shape {
            Shape::Any(choices) => choices,
            _ => std::slice::from_ref(self),
        }
    }

    /// Returns the text, where there is exactly one.
    pub(super) fn known_text(&self) -> Option<&Rc<String>> {
        match &self.shape {
            Shape::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text as part of a longer one, with [`UNKNOWN`] for unknown parts.
    pub(super) fn as_part(&self) -> String {
        match &self.shape {
            Shape::Text(text) => text.to_string(),
            Shape::Number(number) => number.to_string(),
            Shape::Handle(Handle::File(path)) => path.to_string(),
            Shape::Any(choices) => choices.first().map(Self::as_part).unwrap_or_default(),
            _ => String::from(UNKNOWN),
        }
    }

    /// Reports whether this may be a path from the root or from home.
    fn is_from_root(&self) -> bool {
        match &self.shape {
            Shape::Text(text) | Shape::Handle(Handle::File(text)) => text.starts_with(['/', '~']),
            _ => false,
        }
    }

    /// Returns the cost of examining all of it, in steps.
    pub(super) fn weight(&self) -> u64 {
        let size = match &self.shape {
            Shape::Text(text) | Shape::Handle(Handle::File(text) | Handle::Tree(text)) => {
                text.len() / 64
            }
            Shape::List(items) => items.len() / 8,
            Shape::Map(pairs) => pairs.len() / 8,
            Shape::Any(choices) => {
                return choices.iter().map(|choice| 1 + choice.weight()).sum();
            }
            _ => 0,
        };
        size as u64
    }

    /// Combines two possible values.
    pub(super) fn or(self, other: Self) -> Self {
        match (&self.shape, &other.shape) {
            (Shape::Nothing | Shape::Unknown, _) => other.with(&self.origin),
            (_, Shape::Nothing | Shape::Unknown) => self.with(&other.origin),
            (Shape::Number(_), Shape::Number(_)) => Self::unknown(),
            (Shape::Text(ours), Shape::Text(theirs)) if ours == theirs => self.with(&other.origin),
            (Shape::Api(ours), Shape::Api(theirs)) if ours == theirs => self,
            (Shape::Closure(ours, _), Shape::Closure(theirs, _)) if ours == theirs => other,
            (Shape::Instance(ours), Shape::Instance(theirs)) if ours == theirs => self,
            (Shape::Handle(ours), Shape::Handle(theirs)) if ours.is_like(theirs) => {
                self.with(&other.origin)
            }
            _ => Self::any(self.choices().iter().chain(other.choices()).cloned().collect()),
        }
    }

    /// Creates a choice of several values.
    pub(super) fn any(choices: Vec<Self>) -> Self {
        let (origin, depth) = together(choices.iter());
        // INVARIANT: a choice is never a choice itself, or examining all of them would be
        // exponential.
        let mut flat = Vec::with_capacity(choices.len());
        for choice in choices {
            match choice.shape {
                Shape::Any(inner) => {
                    let room = (4 * MOST_CHOICES).saturating_sub(flat.len());
                    flat.extend(inner.iter().take(room).cloned());
                }
                _ => flat.push(choice),
            }
        }
        let mut choices = flat;
        // A harmless value is cut off rather than a path from the root.
        if choices.len() > MOST_CHOICES {
            choices.sort_by_key(|choice| !choice.is_from_root());
        }
        choices.truncate(2 * MOST_CHOICES);
        let mut texts: HashSet<Rc<String>> = HashSet::new();
        choices.retain(|choice| match &choice.shape {
            Shape::Nothing => false,
            Shape::Text(text) if text.len() > LONGEST_COMPARED => true,
            Shape::Text(text) => texts.insert(Rc::clone(text)),
            _ => true,
        });
        choices.truncate(MOST_CHOICES);
        match choices.len() {
            0 => Self { shape: Shape::Unknown, origin, depth: 0 },
            1 => choices.pop().unwrap_or_default().with(&origin),
            _ => Self::made_of(|| Shape::Any(Rc::new(choices)), origin, depth),
        }
    }

    /// Returns the value under this key of a map.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.shape {
            Shape::Map(pairs) => {
                pairs.iter().rev().find(|(name, _)| &**name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub(super) fn items(&self) -> Option<&[Self]> {
        match &self.shape {
            Shape::List(items) => Some(items),
            _ => None,
        }
    }
}

/// Returns the combined origin of values, and the depth of a value made of them.
fn together<'a>(values: impl Iterator<Item = &'a Value>) -> (Origin, u8) {
    let (mut origin, mut depth) = (Origin::default(), 0);
    for value in values {
        origin.join(&value.origin);
        depth = depth.max(value.depth);
    }
    (origin, depth.saturating_add(1))
}

impl Handle {
    /// Reports whether nothing is lost by keeping only one of both.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(ours), Self::File(theirs)) | (Self::Tree(ours), Self::Tree(theirs)) => {
                ours == theirs
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}
