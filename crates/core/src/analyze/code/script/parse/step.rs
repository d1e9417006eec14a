//! Construction of steps, functions and classes.

use std::rc::Rc;

use super::{Block, Class, Function, FunctionId, MOST_BASES, Parser, Ref, Step, StepKind, Target};

impl Parser<'_> {
    pub(super) fn function(&mut self) -> Option<&mut Function> {
        let id = self.building.last()?;
        self.functions.get_mut(*id)
    }

    pub(super) fn emit(&mut self, kind: StepKind) -> Ref {
        let at = self.input.at;
        let place = self.input.tokens.get(at).or(self.input.tokens.last());
        let (start, end) = place.map_or((0, 0), |token| (token.start, token.end));
        self.emit_at(kind, start, end)
    }

    pub(super) fn emit_at(&mut self, kind: StepKind, start: usize, end: usize) -> Ref {
        match self.function() {
            Some(function) => {
                function.code.push(Step { kind, start, end: end.max(start) });
                function.code.len() - 1
            }
            None => 0,
        }
    }

    /// Returns the end of the token before the current one.
    pub(super) fn last_end(&self) -> usize {
        // No token follows a bracket that never closes.
        let at = self.input.at.saturating_sub(1);
        self.input.tokens.get(at).or(self.input.tokens.last()).map_or(0, |token| token.end)
    }

    pub(super) fn start(&self) -> usize {
        self.token().map_or(self.source.len(), |token| token.start)
    }

    pub(super) fn step(&self, step: Ref) -> Option<&StepKind> {
        let id = self.building.last()?;
        self.functions.get(*id)?.code.get(step).map(|step| &step.kind)
    }

    pub(super) fn unknown(&mut self) -> Ref {
        self.emit(StepKind::Unknown)
    }

    pub(super) fn assign(&mut self, target: Target, value: Ref) {
        self.emit(StepKind::Assign(target, value));
    }

    /// Returns the target that an expression denotes on the left of `=`.
    pub(super) fn target_of(&self, step: Ref) -> Target {
        match self.step(step) {
            Some(StepKind::Name(name)) => Target::Name(Rc::clone(name)),
            Some(StepKind::Member(_, name)) => Target::Member(Rc::clone(name)),
            Some(StepKind::Index(object, key)) => Target::Index(*object, *key),
            Some(StepKind::List(items)) => {
                Target::Many(items.iter().map(|item| (None, self.flat_target(*item))).collect())
            }
            Some(StepKind::Assign(target, _)) => target.clone(),
            _ => Target::Nowhere,
        }
    }

    /// Returns a target without nested lists: targets must not nest without bound.
    pub(super) fn flat_target(&self, step: Ref) -> Target {
        match self.step(step) {
            Some(StepKind::List(items)) => {
                let first = items.iter().find_map(|item| match self.step(*item) {
                    Some(StepKind::Name(name)) => Some(Target::Name(Rc::clone(name))),
                    _ => None,
                });
                first.unwrap_or(Target::Nowhere)
            }
            Some(StepKind::Name(name)) => Target::Name(Rc::clone(name)),
            Some(StepKind::Member(_, name)) => Target::Member(Rc::clone(name)),
            Some(StepKind::Index(object, key)) => Target::Index(*object, *key),
            _ => Target::Nowhere,
        }
    }

    pub(super) fn open_function(&mut self, name: &str) -> FunctionId {
        let class = self.class_stack.last().and_then(|class| self.classes.get(*class));
        let class = class.map(|class| Rc::clone(&class.name));
        self.functions.push(Function { name: name.into(), class, ..Function::default() });
        let id = self.functions.len() - 1;
        self.building.push(id);
        id
    }

    pub(super) fn close_function(&mut self) {
        self.building.pop();
    }

    /// Declares a function by its name: as a method in a class, otherwise as a variable.
    pub(super) fn declare(&mut self, name: &Rc<str>, id: FunctionId, in_class: bool) {
        if in_class
            && let Some(class) = self.class_stack.last().and_then(|c| self.classes.get_mut(*c))
        {
            class.methods.push((Rc::clone(name), id));
            return;
        }
        let closure = self.emit(StepKind::Closure(id));
        self.assign(Target::Local(Rc::clone(name)), closure);
        if let Some(function) = self.function() {
            function.declared.push((Rc::clone(name), id));
        }
    }

    pub(super) fn open_class(&mut self, name: Rc<str>, mut bases: Vec<Rc<str>>) {
        self.bounded |= bases.len() > MOST_BASES;
        bases.truncate(MOST_BASES);
        let class = self.emit(StepKind::Class(Rc::clone(&name)));
        self.assign(Target::Name(Rc::clone(&name)), class);
        self.classes.push(Class { name, bases, methods: Vec::new() });
        self.class_stack.push(self.classes.len() - 1);
    }

    pub(super) fn begin(&mut self, block: Block) -> Ref {
        self.emit(StepKind::Begin(block))
    }

    pub(super) fn finish(&mut self) {
        self.emit(StepKind::End);
    }

    /// Turns an idle step into the beginning of a loop that was only recognised later.
    pub(super) fn patch(&mut self, step: Ref, block: Block) {
        if let Some(step) = self.function().and_then(|function| function.code.get_mut(step)) {
            step.kind = StepKind::Begin(block);
        }
    }
}
