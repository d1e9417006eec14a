//! The effects of each kind of step.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Arg, Args, Region, Runner};
use crate::analyze::code::script::tree::{
    Argument, Block, Direction, Function, Operator, Ref, Step, StepKind,
};
use crate::analyze::code::script::value::{Handle, Provenance, Shape, Value};
use crate::verdict::Span;

/// The length past which lists do not grow.
const MOST_ITEMS: usize = 4096;

/// Methods that change the list they are called on.
const GROWING: &[&str] =
    &["append", "push", "add", "<<", "extend", "concat", "insert", "unshift", "prepend"];

impl Runner<'_> {
    /// Follows one step; returns its value.
    pub(super) fn step(&mut self, step: &Step) -> Value {
        let span = span(step);
        match &step.kind {
            StepKind::Unknown | StepKind::Idle => Value::unknown(),
            StepKind::Nothing => Value::new(Shape::Nothing),
            StepKind::Text(text) => Value::new(Shape::Text(Rc::clone(text))),
            StepKind::Number(number) => Value::new(Shape::Number(*number)),
            StepKind::Name(name) => self.lookup(name),
            StepKind::Api(name) => self.imported(name),
            StepKind::Member(object, name) => {
                let object = self.value(*object);
                self.member(object, name)
            }
            StepKind::Index(object, key) => {
                let (object, key) = (self.value(*object), self.value(*key));
                self.index(&object, &key)
            }
            StepKind::Slice(object, direction) => self.slice(*object, *direction),
            StepKind::Call(callee, arguments) => self.call_step(*callee, arguments, span),
            StepKind::List(items) => {
                let items = items.iter().map(|item| self.value(*item)).collect();
                Value::list(items)
            }
            StepKind::Map(pairs) => self.map_step(pairs),
            StepKind::Binary(operator, left, right) => self.binary(*operator, *left, *right),
            StepKind::Joined(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.value(*part)).collect();
                parts.into_iter().fold(Value::text(""), |all, part| self.concat(all, &part))
            }
            StepKind::Either(choices) => {
                let choices: Vec<_> = choices.iter().map(|choice| self.value(*choice)).collect();
                choices.into_iter().reduce(Value::or).unwrap_or_default()
            }
            StepKind::Closure(id) => Value::new(Shape::Closure(*id, None)),
            StepKind::Class(name) => Value::new(Shape::Class(Rc::clone(name))),
            StepKind::Command(command) => {
                let command = self.value(*command);
                self.shell(&command, span);
                Value::from(Provenance::OUTPUT)
            }
            StepKind::Line(file) => self.line(*file),
            StepKind::Mapped(list, function) => {
                let list = self.value(*list);
                self.mapped(&list, &Value::new(Shape::Closure(*function, None)))
            }
            StepKind::Item(list) => {
                let list = self.value(*list);
                self.item(&list)
            }
            StepKind::Assign(..)
            | StepKind::Default(..)
            | StepKind::Return(_)
            | StepKind::Begin(_)
            | StepKind::End => {
                self.change(&step.kind);
                Value::unknown()
            }
        }
    }

    /// Follows a step without a value.
    fn change(&mut self, kind: &StepKind) {
        match kind {
            StepKind::Assign(target, value) => {
                let value = self.value(*value);
                self.assign(target, value);
            }
            StepKind::Default(name, value) => {
                if matches!(self.lookup(name).shape, Shape::Nothing) {
                    let value = self.value(*value);
                    self.set_local(name, value);
                }
            }
            StepKind::Return(value) => {
                let value = self.value(*value);
                if let Some(frame) = self.frames.last_mut() {
                    let old = frame.result.take().unwrap_or_default();
                    let either = old.or(value);
                    let choices = either.choices().len();
                    frame.result = Some(either);
                    self.spend(choices as u64 / 2);
                }
            }
            StepKind::Begin(block) => {
                self.enter(*block);
            }
            StepKind::End => {
                if let Some(region) = self.frames.last_mut().and_then(|frame| frame.blocks.pop()) {
                    self.leave(region);
                }
            }
            _ => {}
        }
    }

    /// Returns the value of an earlier step.
    pub(super) fn value(&self, step: Ref) -> Value {
        self.frames.last().and_then(|frame| frame.values.get(step)).cloned().unwrap_or_default()
    }

    /// Returns the variable that an earlier step read.
    pub(super) fn name_of(&self, step: Ref) -> Option<Rc<str>> {
        let function = self.function(self.frames.last()?.function)?;
        match &function.code.get(step)?.kind {
            StepKind::Name(name) => Some(Rc::clone(name)),
            _ => None,
        }
    }

    fn enter(&mut self, kind: Block) {
        if let Some(frame) = self.frames.last_mut() {
            frame.blocks.push(Region { kind, replaced: BTreeMap::new() });
        }
    }

    /// Returns a module or a member of one.
    fn imported(&self, name: &Rc<str>) -> Value {
        match name.rsplit_once('.') {
            Some((module, member)) => self.member(Value::api(module), &member.into()),
            None => Value::new(Shape::Api(Rc::clone(name))),
        }
    }

    fn slice(&mut self, object: Ref, direction: Direction) -> Value {
        let object = self.value(object);
        match (&object.shape, direction) {
            (Shape::Text(text), Direction::Backward) => {
                self.spend(text.len() as u64 / 64);
                Value::text(text.chars().rev().collect::<String>()).with(&object.origin)
            }
            (Shape::List(items), Direction::Backward) => {
                Value::list(items.iter().rev().cloned().collect())
            }
            (Shape::List(_) | Shape::Any(_), Direction::Forward) => object,
            // A part of a text is not the text.
            _ => object.derived(),
        }
    }

    fn map_step(&self, pairs: &[(Ref, Ref)]) -> Value {
        let mut known: Vec<(Rc<str>, Value)> = Vec::new();
        for (key, value) in pairs {
            let (key, value) = (self.value(*key), self.value(*value));
            match (&key.shape, &value.shape) {
                // `{**other}`
                (Shape::Nothing, Shape::Map(inner)) if inner.len() <= MOST_ITEMS => {
                    self.spend(2 * value.weight());
                    known.extend(inner.iter().cloned());
                }
                (Shape::Text(text), _) => known.push((text.as_str().into(), value)),
                _ => known.push(("".into(), value)),
            }
        }
        Value::map(known)
    }

    fn call_step(&mut self, callee: Ref, arguments: &[Argument], span: Option<Span>) -> Value {
        let args = self.arguments(arguments);
        let callee_value = self.value(callee);
        if let Some(value) = self.mutate(callee, &callee_value, &args) {
            self.use_up("memory", span);
            return value;
        }
        self.call(&callee_value, &args, span)
    }

    fn arguments(&self, arguments: &[Argument]) -> Args {
        let mut args = Args::default();
        for argument in arguments {
            let value = self.value(argument.value);
            match &value.shape {
                Shape::List(items) if argument.spread => {
                    args.list.extend(items.iter().cloned().map(|value| Arg { name: None, value }));
                }
                Shape::Map(pairs) if argument.spread => {
                    args.list.extend(pairs.iter().map(|(name, value)| Arg {
                        name: Some(Rc::clone(name)),
                        value: value.clone(),
                    }));
                }
                _ => args.list.push(Arg { name: argument.name.clone(), value }),
            }
        }
        args
    }

    /// Follows `list.append(x)` and the like, which change the variable that contains the list.
    fn mutate(&mut self, callee: Ref, callee_value: &Value, args: &Args) -> Option<Value> {
        let Shape::Member(object, method) = &callee_value.shape else { return None };
        let Shape::List(items) = &object.shape else { return None };
        let function = self.function(self.frames.last()?.function)?;
        let StepKind::Member(variable, _) = &function.code.get(callee)?.kind else { return None };
        let variable = self.name_of(*variable)?;
        if items.len() > MOST_ITEMS || !GROWING.contains(&&**method) {
            return None;
        }
        self.spend((items.len() + args.list.len()) as u64 / 16 + args.weight());
        let mut items = items.to_vec();
        match &**method {
            "append" | "push" | "add" | "<<" => items.extend(args.positional().cloned()),
            "extend" | "concat" => {
                items.extend(args.at(0).items().unwrap_or_default().iter().cloned());
            }
            "insert" | "unshift" | "prepend" => {
                let value = args.positional().last().cloned().unwrap_or_default();
                items.insert(0, value);
            }
            _ => return None,
        }
        let list = Value::list(items);
        self.assign(&crate::analyze::code::script::tree::Target::Name(variable), list.clone());
        Some(list)
    }

    fn line(&self, file: Ref) -> Value {
        let file = self.value(file);
        match &file.shape {
            Shape::Handle(Handle::File(_)) => file.derived(),
            Shape::Handle(Handle::Socket) => Value::from(Provenance::RECEIVED),
            Shape::Text(text) if text.is_empty() => self.standard_input(),
            // `<*.c>` is a list of names.
            Shape::Text(_) => file,
            _ if file.has(Provenance::SOCKET) => Value::from(Provenance::RECEIVED),
            _ if file.has(Provenance::INPUT) => self.standard_input(),
            _ => file.derived(),
        }
    }

    /// Returns standard input, which may be a connection by now.
    pub(super) fn standard_input(&self) -> Value {
        let marks =
            if self.redirected.is_some() { Provenance::RECEIVED } else { Provenance::INPUT };
        Value::from(marks)
    }

    fn binary(&mut self, operator: Operator, left: Ref, right: Ref) -> Value {
        let right = self.value(right);
        // Taken, not cloned: a sum of a thousand strings grows in place.
        let left = match operator {
            Operator::Add => {
                let slot = self.frames.last_mut().and_then(|frame| frame.values.get_mut(left));
                slot.map(std::mem::take).unwrap_or_default()
            }
            _ => self.value(left),
        };
        self.combine(operator, left, &right)
    }
}

/// Reports whether a function ends or waits by itself.
pub(super) fn pauses(function: &Function) -> bool {
    const PAUSES: &[&str] =
        &["sleep", "wait", "accept", "gets", "recv", "exit", "waitpid", "break"];
    function.code.iter().any(|step| match &step.kind {
        StepKind::Name(name) | StepKind::Member(_, name) => PAUSES.contains(&&**name),
        _ => false,
    })
}

/// Returns the position of a step in the source.
pub(super) fn span(step: &Step) -> Option<Span> {
    Some([u32::try_from(step.start).ok()?, u32::try_from(step.end).ok()?])
}
