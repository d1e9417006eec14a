//! Statements and words of Python.

use std::rc::Rc;

use super::expression::{ASSIGNING, CHOOSING, LOOSE};
use super::{Argument, Block, Kind, Parser, Ref, StepKind, Target};
use crate::analyze::code::script::tree::{Operator, Param};

mod import;
mod operand;

/// A precedence above `in`, so that a target ends before it.
const TARGET: u8 = 7;
/// A precedence above `if`, so that a condition is not parsed as a choice.
const CLAUSE: u8 = 3;

/// A block whose lines are indented further than its head.
struct Open {
    indent: u32,
    kind: Opened,
}

enum Opened {
    Function,
    Class,
    Plain,
    Maybe,
    /// The step and the token where it began, and whether its condition is always true.
    Loop(Ref, usize, bool),
}

impl Parser<'_> {
    pub(super) fn python_statements(&mut self) {
        let mut open: Vec<Open> = Vec::new();
        let mut indent = 0;
        while let Some(token) = self.token() {
            if let Some(column) = token.indent
                && token.kind != Kind::Line
            {
                indent = column;
                while open.last().is_some_and(|block| block.indent >= indent) {
                    self.python_close(open.pop());
                }
            }
            let before = self.input.at;
            if matches!(self.kind(), Some(Kind::Line)) || self.is(";") {
                self.skip();
                continue;
            }
            let in_class = matches!(open.last(), Some(Open { kind: Opened::Class, .. }));
            if let Some(kind) = self.python_statement(in_class) {
                open.push(Open { indent, kind });
            }
            if self.input.at == before {
                self.skip();
            }
        }
        while let Some(block) = open.pop() {
            self.python_close(Some(block));
        }
    }

    fn python_close(&mut self, block: Option<Open>) {
        match block.map(|block| block.kind) {
            Some(Opened::Function) => self.close_function(),
            Some(Opened::Class) => {
                self.class_stack.pop();
            }
            Some(Opened::Maybe) => self.finish(),
            Some(Opened::Loop(begin, from, forever)) => {
                if forever && !self.pauses(from, self.input.at) {
                    self.patch(begin, Block::Endless);
                }
                self.finish();
            }
            Some(Opened::Plain) | None => {}
        }
    }

    /// Parses one statement, or the head of a block.
    fn python_statement(&mut self, in_class: bool) -> Option<Opened> {
        if self.is_word("async") {
            self.skip();
        }
        if self.accept("@") {
            self.expression(ASSIGNING);
            return None;
        }
        // A keyword used as a name (`match = 1`, `type(x)`) is not a keyword.
        let named = self.is_at(1, "=") || self.is_at(1, ".") || self.is_at(1, ",");
        match self.word() {
            "def" => return self.python_def(in_class),
            "class" => return self.python_class(),
            "if" | "elif" => {
                let main = self.word_at(1) == "__name__";
                self.skip();
                self.expression(ASSIGNING);
                return Some(self.python_block(main));
            }
            "else" | "except" | "finally" | "try" => return Some(self.python_branch()),
            "for" => return Some(self.python_for()),
            "while" => return Some(self.python_while()),
            "with" if !named => return Some(self.python_with()),
            "match" | "case" if !named && self.ends_with_colon() => {
                self.skip();
                self.expression(LOOSE);
                return Some(self.python_block(false));
            }
            "import" => self.python_import(),
            "from" => self.python_from(),
            "return" => {
                self.skip();
                let value = self.python_tuple(ASSIGNING);
                self.emit(StepKind::Return(value));
            }
            "global" | "nonlocal" => self.python_global(),
            "exec" | "print" if self.takes_operand() => {
                let start = self.start();
                let callee = self.plain_name();
                let value = self.python_tuple(CHOOSING);
                let argument = Argument { name: None, value, spread: false };
                self.emit_at(StepKind::Call(callee, vec![argument]), start, self.last_end());
            }
            "del" | "raise" | "assert" | "pass" | "break" | "continue" => {
                self.skip();
                if !self.ends_expression() {
                    self.python_tuple(ASSIGNING);
                }
            }
            _ => self.python_assignment(in_class),
        }
        None
    }

    /// Reports whether a word takes an operand without brackets, as in Python 2: `print "text"`,
    /// `exec "code"`.
    fn takes_operand(&self) -> bool {
        matches!(self.kind_at(1), Some(Kind::Text(..) | Kind::Name(_)))
            && !matches!(self.word_at(1), "in" | "is" | "if" | "and" | "or" | "not" | "for")
    }

    fn ends_with_colon(&self) -> bool {
        const LONGEST: usize = 500;
        let end = self.input.end.min(self.input.at + LONGEST);
        let line = self.find(end, |kind| *kind == Kind::Line).unwrap_or(end);
        line.checked_sub(1).and_then(|at| self.token_at(at)).is_some_and(|token| token.kind.is(":"))
    }

    fn python_block(&mut self, certain: bool) -> Opened {
        self.accept(":");
        if certain {
            return Opened::Plain;
        }
        self.begin(Block::Maybe);
        Opened::Maybe
    }

    fn python_branch(&mut self) -> Opened {
        let certain = matches!(self.word(), "try" | "finally");
        self.skip();
        self.accept("*");
        if !self.is(":") {
            self.expression(ASSIGNING);
            if self.accept_word("as") || self.accept(",") {
                let target = self.expression(TARGET);
                let caught = self.unknown();
                self.assign(self.target_of(target), caught);
            }
        }
        self.python_block(certain)
    }

    fn python_for(&mut self) -> Opened {
        self.skip();
        let target = self.python_tuple(TARGET);
        self.accept_word("in");
        let list = self.python_tuple(ASSIGNING);
        self.accept(":");
        let from = self.input.at;
        let begin = self.begin(Block::Loop);
        let item = self.emit(StepKind::Item(list));
        self.assign(self.target_of(target), item);
        Opened::Loop(begin, from, false)
    }

    fn python_while(&mut self) -> Opened {
        self.skip();
        let constant = matches!(self.word(), "True")
            || matches!(self.kind(), Some(Kind::Number(Some(number))) if *number != 0);
        let forever = constant && self.is_at(1, ":");
        let from = self.input.at;
        let begin = self.begin(Block::Loop);
        self.expression(ASSIGNING);
        self.accept(":");
        Opened::Loop(begin, from, forever)
    }

    fn python_with(&mut self) -> Opened {
        self.skip();
        if self.is("(") {
            let close = self.partner(self.input.at);
            let next = self.token_at(close + 1);
            if next.is_some_and(|token| token.kind.is(":")) {
                self.bracketed(Self::python_contexts);
                self.accept(":");
                return Opened::Plain;
            }
        }
        self.python_contexts();
        self.accept(":");
        Opened::Plain
    }

    /// Parses `a as b, c as d`.
    fn python_contexts(&mut self) {
        while self.token().is_some() && !self.is(":") && !matches!(self.kind(), Some(Kind::Line)) {
            let before = self.input.at;
            let value = self.expression(CHOOSING);
            if self.accept_word("as") {
                let target = self.expression(TARGET);
                self.assign(self.target_of(target), value);
            }
            self.accept(",");
            if self.input.at == before {
                self.skip();
            }
        }
    }

    fn python_def(&mut self, in_class: bool) -> Option<Opened> {
        self.skip();
        let name = self.name()?;
        let id = self.functions.len();
        // Declared in the outer function, before its body becomes the current one.
        self.declare(&name, id, in_class);
        self.open_function(&name);
        if self.is("[") {
            self.input.at = self.partner(self.input.at) + 1;
        }
        if self.is("(") {
            self.bracketed(Self::python_params);
        }
        if self.accept("->") {
            self.expression(CHOOSING);
        }
        self.accept(":");
        Some(Opened::Function)
    }

    /// Parses parameters up to the end of the bracket, or of a lambda's head.
    fn python_params(&mut self) {
        while self.token().is_some() {
            let before = self.input.at;
            let rest = self.is("*") || self.is("**");
            if rest {
                self.skip();
            }
            if let Some(name) = self.name() {
                self.add_param(Target::Local(Rc::clone(&name)), rest);
                if self.accept(":") {
                    let end = self.input.end;
                    let stop = self.find(end, |kind| kind.is(",") || kind.is("="));
                    self.input.at = stop.unwrap_or(end);
                }
                if self.accept("=") {
                    let value = self.expression(CHOOSING);
                    self.emit(StepKind::Default(name, value));
                }
            }
            self.accept(",");
            self.accept("/");
            if self.input.at == before {
                self.skip();
            }
        }
    }

    pub(super) fn add_param(&mut self, target: Target, rest: bool) {
        if let Some(function) = self.function() {
            function.params.push(Param { target, rest });
        }
    }

    fn python_class(&mut self) -> Option<Opened> {
        self.skip();
        let name = self.name()?;
        if self.is("[") {
            self.input.at = self.partner(self.input.at) + 1;
        }
        let mut bases = Vec::new();
        if self.is("(") {
            let close = self.partner(self.input.at);
            let inside = self.input.tokens.get(self.input.at..close).unwrap_or_default();
            bases = inside.iter().filter_map(|token| token.kind.name()).map(Rc::from).collect();
            self.input.at = close + 1;
        }
        self.accept(":");
        self.open_class(name, bases);
        Some(Opened::Class)
    }

    fn python_global(&mut self) {
        self.skip();
        while let Some(name) = self.name() {
            if let Some(function) = self.function() {
                function.globals.insert(name);
            }
            self.accept(",");
        }
    }

    /// Parses `a`, or `a, b` without brackets.
    fn python_tuple(&mut self, least: u8) -> Ref {
        let first = self.expression(least);
        if !self.is(",") {
            return first;
        }
        let mut items = vec![first];
        while self.accept(",") {
            if self.ends_expression() {
                break;
            }
            items.push(self.expression(least));
        }
        self.emit(StepKind::List(items))
    }

    fn python_assignment(&mut self, in_class: bool) {
        let mut targets = Vec::new();
        let mut value = self.python_tuple(CHOOSING);
        if self.is(":") && !self.is_at(1, "=") {
            self.skip();
            self.expression(CHOOSING);
        }
        loop {
            let operator = match self.kind() {
                Some(Kind::Mark("=" | ":=")) => None,
                Some(Kind::Mark("+=")) => Some(Operator::Add),
                Some(Kind::Mark("/=")) => Some(Operator::Divide),
                Some(Kind::Mark("%=")) => Some(Operator::Format),
                Some(Kind::Mark("|=")) => Some(Operator::Merge),
                Some(Kind::Mark(mark)) if mark.len() > 1 && mark.ends_with('=') => {
                    Some(Operator::Other)
                }
                _ => break,
            };
            self.skip();
            targets.push(self.target_of(value));
            let right = self.python_tuple(CHOOSING);
            value = match operator {
                Some(operator) => self.emit(StepKind::Binary(operator, value, right)),
                None => right,
            };
        }
        for target in targets {
            let target = match target {
                // Methods see the variables of a class as `self.name`.
                Target::Name(name) if in_class => Target::Member(name),
                target => target,
            };
            self.assign(target, value);
        }
    }
}
