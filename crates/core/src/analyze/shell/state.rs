//! The state of a script so far: variables, functions, aliases, files.
//!
//! A variable can have several possible values (one per branch that set it). A command that uses it
//! is followed once for each.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use super::value::{Arg, Stream};
use super::work::Work;
use crate::fact::{Tag, Tags};

/// The number of possible values past which they become one unknown value.
const MOST_VALUES: usize = 8;

/// The possible values of a variable; each is a list of words, for arrays.
type Values = Vec<Vec<Arg>>;

/// The state of a script so far.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    variables: BTreeMap<String, Values>,
    /// Names of the variables with more than one possible value.
    ambiguous: BTreeSet<String>,
    /// Variables that are references to other variables.
    references: BTreeMap<String, String>,
    /// Names of the variables that the script gives to the programs it starts.
    exported: BTreeSet<String>,
    functions: BTreeMap<String, Functions>,
    pub(super) aliases: BTreeMap<String, String>,
    /// The content that the script wrote, by absolute path.
    pub(super) files: BTreeMap<String, File>,
    /// Other names that the script gave to files, by absolute path.
    pub(super) names: BTreeMap<String, String>,
    /// Other names that the script gave to programs, by absolute path.
    pub(super) links: BTreeMap<String, String>,
    /// The streams that open descriptors are read from.
    pub(super) descriptors: BTreeMap<i32, Stream>,
    /// True when a file of secrets has been read into variables.
    pub(super) secrets_sourced: bool,
    /// Files that open descriptors write to.
    pub(super) outputs: BTreeMap<i32, Arg>,
    /// `$1`, `$2`…, when known.
    pub(super) positional: Option<Vec<Arg>>,
}

/// A copy-on-write state, so that starting a subshell costs only a reference count.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedState {
    state: Rc<State>,
    work: Work,
}

impl SharedState {
    /// Reports whether nothing has changed since the other was cloned from it.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.state, &other.state)
    }

    /// Returns the counter of work.
    pub(super) fn work(&self) -> &Work {
        &self.work
    }

    /// Keeps what a child shell gets from this one.
    pub(super) fn enter_process(&mut self) {
        self.work.entries(self.state.variables.len() + self.state.functions.len());
        self.deref_mut().enter_process();
    }

    /// Merges the state of another branch that may have run instead.
    pub(super) fn join(&mut self, other: &Self) {
        if !self.is_same(other) {
            self.work.entries(other.size());
            self.deref_mut().join(&other.state);
        }
    }
}

impl Deref for SharedState {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for SharedState {
    fn deref_mut(&mut self) -> &mut State {
        if Rc::strong_count(&self.state) > 1 {
            self.work.entries(self.state.size());
        }
        Rc::make_mut(&mut self.state)
    }
}

/// The content that a script wrote to a file.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) content: Stream,
    /// True when this is all of it, not only an addition: deleting it loses nothing that existed
    /// before.
    pub(super) whole: bool,
}

/// The functions that a name can stand for.
#[derive(Debug, Clone, Default)]
pub(super) struct Functions {
    pub(super) bodies: Vec<Rc<Function>>,
    /// True when the name may stand for the program instead: the function was defined in a branch
    /// that may not have run.
    pub(super) may_be_program: bool,
    /// True when child shells know it too.
    exported: bool,
}

/// A function's body, stored as text and parsed again at each call.
#[derive(Debug, PartialEq)]
pub(super) struct Function {
    pub(super) body: String,
    pub(super) called: std::cell::Cell<bool>,
}

impl State {
    /// Returns the number of entries that cloning the state copies.
    fn size(&self) -> usize {
        self.variables.len()
            + self.functions.len()
            + self.aliases.len()
            + self.files.len()
            + self.names.len()
            + self.links.len()
            + self.descriptors.len()
    }

    /// Returns the possible values of a variable.
    pub(super) fn values(&self, name: &str) -> Option<&[Vec<Arg>]> {
        self.variables.get(self.referred(name)).map(Vec::as_slice)
    }

    /// Makes a variable a reference to another.
    pub(super) fn refer(&mut self, name: &str, target: &str) {
        self.references.insert(name.to_owned(), target.to_owned());
    }

    /// Resolves a reference, over a few steps.
    fn referred<'s>(&'s self, name: &'s str) -> &'s str {
        const MOST_STEPS: usize = 8;
        let mut name = name;
        for _ in 0..MOST_STEPS {
            match self.references.get(name) {
                Some(target) => name = target,
                None => break,
            }
        }
        name
    }

    /// Sets a variable to one value.
    pub(super) fn set(&mut self, name: &str, words: Vec<Arg>) {
        self.put(name, vec![bounded(words)]);
    }

    /// Sets `$1`, `$2`…
    pub(super) fn set_positional(&mut self, words: Vec<Arg>) {
        self.positional = Some(bounded(words));
    }

    /// Sets a variable to one of several values.
    pub(super) fn set_any(&mut self, name: &str, values: Values) {
        self.put(name, capped(values));
    }

    fn put(&mut self, name: &str, values: Values) {
        let name = &self.referred(name).to_owned();
        if values.len() > 1 {
            self.ambiguous.insert(name.to_owned());
        } else {
            self.ambiguous.remove(name);
        }
        self.variables.insert(name.to_owned(), values);
    }

    /// Forgets a variable.
    pub(super) fn unset(&mut self, name: &str) {
        self.variables.remove(name);
        self.ambiguous.remove(name);
    }

    /// Marks a variable or function as one that child processes get.
    pub(super) fn export(&mut self, name: &str) {
        if let Some(functions) = self.functions.get_mut(name) {
            functions.exported = true;
        }
        self.exported.insert(name.to_owned());
    }

    /// Defines a function, in place of an earlier one of this name.
    pub(super) fn define(&mut self, name: &str, function: Function) {
        let functions = Functions { bodies: vec![function.into()], ..Functions::default() };
        self.functions.insert(name.to_owned(), functions);
    }

    /// Forgets a function.
    pub(super) fn undefine(&mut self, name: &str) {
        self.functions.remove(name);
    }

    /// Returns the functions that a name can stand for.
    pub(super) fn functions(&self, name: &str) -> Option<&Functions> {
        self.functions.get(name)
    }

    /// Returns every function, with its name.
    pub(super) fn all_functions(&self) -> impl Iterator<Item = (&str, &Rc<Function>)> {
        self.functions
            .iter()
            .flat_map(|(name, it)| it.bodies.iter().map(move |body| (name.as_str(), body)))
    }

    /// Reports whether the name stands for exactly this function.
    pub(super) fn has_function(&self, name: &str, function: &Rc<Function>) -> bool {
        let functions = self.functions.get(name);
        functions.is_some_and(|it| it.bodies.iter().any(|body| Rc::ptr_eq(body, function)))
    }

    /// Keeps what a child shell gets from this one: exported variables and functions, files and
    /// descriptors. A variable whose name is written like those of the environment may have been
    /// there before, and is then exported without being told so: it has its value or none.
    fn enter_process(&mut self) {
        // Always in the environment, so the child gets what the script assigns.
        const INHERITED: &[&str] =
            &["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER"];
        self.aliases.clear();
        self.references.clear();
        self.functions.retain(|_, functions| functions.exported);
        let is_own = |name: &str| name.chars().any(|char| char.is_ascii_lowercase());
        let exported = std::mem::take(&mut self.exported);
        let stays =
            |name: &str| exported.contains(name) || INHERITED.contains(&name) || is_number(name);
        self.variables.retain(|name, _| stays(name) || !is_own(name));
        self.ambiguous.retain(|name| stays(name) || !is_own(name));
        let unsure: Vec<_> = self.variables.keys().filter(|name| !stays(name)).cloned().collect();
        for name in unsure {
            self.may_be_missing(&name);
        }
        self.exported = exported;
    }

    /// Adds to the possible values of a variable that it is not set.
    fn may_be_missing(&mut self, name: &str) {
        if let Some(values) = self.variables.get_mut(name)
            && !values.contains(&Vec::new())
        {
            values.push(Vec::new());
            *values = capped(std::mem::take(values));
            self.ambiguous.insert(name.to_owned());
        }
    }

    /// Returns every variable with more than one possible value.
    pub(super) fn ambiguous(&self) -> impl Iterator<Item = (&str, &[Vec<Arg>])> {
        self.ambiguous.iter().filter_map(|name| {
            self.variables.get(name).map(|values| (name.as_str(), values.as_slice()))
        })
    }

    /// Reports whether any variable has more than one possible value.
    pub(super) fn is_ambiguous(&self) -> bool {
        !self.ambiguous.is_empty()
    }

    /// Merges the state of another branch that may have run instead.
    fn join(&mut self, other: &Self) {
        self.join_variables(other);
        self.join_functions(other);
        for (path, program) in &other.links {
            self.links.entry(path.clone()).or_insert_with(|| program.clone());
        }
        for (path, file) in &other.names {
            self.names.entry(path.clone()).or_insert_with(|| file.clone());
        }
        for (path, content) in &other.files {
            self.files.entry(path.clone()).or_insert_with(|| content.clone());
        }
    }
}

impl State {
    fn join_variables(&mut self, other: &Self) {
        let unset_there: Vec<_> = self
            .variables
            .keys()
            .filter(|name| !other.variables.contains_key(*name))
            .cloned()
            .collect();
        for (name, theirs) in &other.variables {
            match self.variables.get_mut(name) {
                Some(ours) if ours == theirs => {}
                Some(ours) => {
                    for value in theirs {
                        if !ours.contains(value) {
                            ours.push(value.clone());
                        }
                    }
                    *ours = capped(std::mem::take(ours));
                    if ours.len() > 1 {
                        self.ambiguous.insert(name.clone());
                    }
                }
                None => {
                    self.put(name, theirs.clone());
                    self.may_be_missing(name);
                }
            }
        }
        for name in unset_there {
            self.may_be_missing(&name);
        }
        self.exported.extend(other.exported.iter().cloned());
    }

    fn join_functions(&mut self, other: &Self) {
        for (name, ours) in &mut self.functions {
            ours.may_be_program |= !other.functions.contains_key(name);
        }
        for (name, theirs) in &other.functions {
            let is_new = !self.functions.contains_key(name);
            let ours = self.functions.entry(name.clone()).or_default();
            ours.may_be_program |= is_new || theirs.may_be_program;
            ours.exported |= theirs.exported;
            for body in &theirs.bodies {
                // A definition in a loop is the same one in every round.
                if ours.bodies.len() < MOST_VALUES
                    && !ours.bodies.iter().any(|it| it.body == body.body)
                {
                    ours.bodies.push(Rc::clone(body));
                }
            }
        }
    }
}

fn is_number(name: &str) -> bool {
    name.chars().all(|char| char.is_ascii_digit())
}

/// Stops the growth of a list, such as one that doubles at every line.
fn bounded(words: Vec<Arg>) -> Vec<Arg> {
    const MOST_WORDS: usize = 4_096;
    const MOST_TEXT: usize = 256 * 1024;
    let text: usize = words.iter().map(|word| word.text.len()).sum();
    if words.len() <= MOST_WORDS && text <= MOST_TEXT {
        return words;
    }
    let taint = words.iter().fold(Tags::of(&[Tag::Unknown]), |tags, word| tags.and(word.taint));
    vec![Arg::unknown(taint)]
}

fn capped(values: Values) -> Values {
    if values.len() <= MOST_VALUES {
        return values;
    }
    // The most dangerous possibility must not be lost among many: keep the shortest paths, which
    // reach furthest, and mark that there are more.
    let taint =
        values.iter().flatten().fold(Tags::of(&[Tag::Unknown]), |tags, arg| tags.and(arg.taint));
    let mut values = values;
    values.sort_by_key(|words| words.first().map_or(0, |arg| arg.text.len()));
    values.truncate(MOST_VALUES - 1);
    values.push(vec![Arg::unknown(taint)]);
    values
}
