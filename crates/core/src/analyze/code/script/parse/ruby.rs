//! Statements and words of Ruby.

use std::rc::Rc;

use super::expression::{ASSIGNING, LOOSE};
use super::{Block, Kind, Parser, Ref, StepKind, Target};

mod operand;

/// A construct that an `end` closes.
enum Opened {
    Plain,
    Maybe,
    Loop(Ref, usize, bool),
    Function,
    Class,
}

const MODIFIERS: &[&str] = &["if", "unless", "while", "until", "rescue"];

/// Words that are never an argument.
const KEYWORDS: &[&str] = &[
    "if", "unless", "while", "until", "rescue", "do", "then", "end", "and", "or", "in", "else",
    "elsif", "when", "ensure",
];

impl Parser<'_> {
    /// Parses statements up to an `end` that closes an outer construct, or to the end.
    pub(super) fn ruby_statements(&mut self) {
        let mut open: Vec<Opened> = Vec::new();
        let mut last = None;
        while self.token().is_some() {
            let before = self.input.at;
            if matches!(self.kind(), Some(Kind::Line)) || self.is(";") {
                self.skip();
                continue;
            }
            if self.is_word("end") {
                match open.pop() {
                    Some(kind) => {
                        self.skip();
                        self.ruby_close(&kind, last.take());
                        continue;
                    }
                    None => break,
                }
            }
            let in_class = matches!(open.last(), Some(Opened::Class));
            match self.ruby_statement(in_class) {
                Ok(kind) => open.push(kind),
                Err(value) => last = value.or(last),
            }
            if self.input.at == before {
                self.skip();
            }
        }
        while let Some(kind) = open.pop() {
            self.ruby_close(&kind, last.take());
        }
        // A block or the source returns its last value.
        if let Some(value) = last {
            self.emit(StepKind::Return(value));
        }
    }

    fn ruby_close(&mut self, kind: &Opened, last: Option<Ref>) {
        match *kind {
            Opened::Plain => {}
            Opened::Maybe => self.finish(),
            Opened::Loop(begin, from, forever) => {
                if forever && !self.pauses(from, self.input.at) {
                    self.patch(begin, Block::Endless);
                }
                self.finish();
            }
            Opened::Function => {
                if let Some(value) = last {
                    self.emit(StepKind::Return(value));
                }
                self.close_function();
            }
            Opened::Class => {
                self.class_stack.pop();
            }
        }
    }

    /// Parses a head that an `end` closes, or a whole statement and its value.
    fn ruby_statement(&mut self, in_class: bool) -> Result<Opened, Option<Ref>> {
        match self.word() {
            "def" => return self.ruby_def(in_class).ok_or(None),
            "class" | "module" => return Ok(self.ruby_class()),
            "if" | "unless" | "case" => {
                self.skip();
                if !matches!(self.kind(), Some(Kind::Line)) {
                    self.expression(LOOSE);
                }
                self.accept_word("then");
                self.begin(Block::Maybe);
                return Ok(Opened::Maybe);
            }
            "while" | "until" => return Ok(self.ruby_while()),
            "for" => return Ok(self.ruby_for()),
            "begin" => {
                self.skip();
                return Ok(Opened::Plain);
            }
            // Parts of a block that continue at the same level.
            "else" | "ensure" | "then" => self.skip(),
            "elsif" | "when" | "rescue" | "in" => {
                self.skip();
                while !matches!(self.kind(), None | Some(Kind::Line)) && !self.is_word("then") {
                    let before = self.input.at;
                    self.expression(LOOSE);
                    while self.accept(",") || self.accept("=>") {}
                    if self.input.at == before {
                        self.skip();
                    }
                }
            }
            "return" | "next" | "break" => {
                self.skip();
                if !self.ends_expression() && !MODIFIERS.contains(&self.word()) {
                    let value = self.expression(LOOSE);
                    self.emit(StepKind::Return(value));
                }
                self.ruby_modifiers(None);
            }
            "alias" | "undef" => {
                self.skip();
                self.skip();
            }
            _ => {
                let idle = self.emit(StepKind::Idle);
                let value = self.ruby_tuple();
                self.ruby_modifiers(Some(idle));
                return Err(Some(value));
            }
        }
        Err(None)
    }

    /// Parses `a`, or `a, b = c`.
    fn ruby_tuple(&mut self) -> Ref {
        let first = self.expression(LOOSE);
        if !self.is(",") {
            return first;
        }
        let mut items = vec![first];
        while self.accept(",") {
            items.push(self.expression(super::expression::CHOOSING));
        }
        let targets: Vec<_> = items.iter().map(|item| (None, self.flat_target(*item))).collect();
        for (_, target) in &targets {
            self.ruby_local(target);
        }
        if self.accept("=") {
            let value = self.deeper(Self::ruby_tuple);
            self.assign(Target::Many(targets), value);
            return value;
        }
        self.emit(StepKind::List(items))
    }

    /// Records an assigned name, which is a variable from then on, never a call.
    fn ruby_local(&mut self, target: &Target) {
        if let Target::Name(name) | Target::Local(name) = target {
            self.locals.insert(Rc::clone(name));
        }
    }

    fn ruby_modifiers(&mut self, idle: Option<Ref>) {
        while MODIFIERS.contains(&self.word()) {
            let word = self.word().to_owned();
            let forever = match (&*word, self.kind_at(1)) {
                ("while", Some(Kind::Name(name))) => matches!(&**name, "true" | "fork"),
                ("while", Some(Kind::Number(_))) => true,
                ("until", Some(Kind::Name(name))) => matches!(&**name, "false" | "nil"),
                _ => false,
            };
            self.skip();
            self.expression(LOOSE);
            if let Some(idle) = idle {
                let block = match &*word {
                    "while" | "until" if forever => Block::Endless,
                    "while" | "until" => Block::Loop,
                    _ => Block::Maybe,
                };
                self.patch(idle, block);
                self.finish();
                return;
            }
        }
    }

    fn ruby_while(&mut self) -> Opened {
        let until = self.is_word("until");
        self.skip();
        self.accept("(");
        let always = match self.kind() {
            Some(Kind::Name(name)) if until => matches!(&**name, "false" | "nil"),
            Some(Kind::Name(name)) => &**name == "true",
            Some(Kind::Number(_)) => !until,
            _ => false,
        };
        let next = self.kind_at(1);
        let alone = matches!(next, None | Some(Kind::Line | Kind::Mark(")" | ";")))
            || self.word_at(1) == "do";
        let from = self.input.at;
        let begin = self.begin(Block::Loop);
        self.without_do(|parser| parser.expression(LOOSE));
        self.accept(")");
        self.accept_word("do");
        Opened::Loop(begin, from, always && alone)
    }

    fn ruby_for(&mut self) -> Opened {
        self.skip();
        let end = self.input.end;
        let over = self.find(end, |kind| kind.name() == Some("in")).unwrap_or(end);
        let name = self.name();
        self.input.at = over + 1;
        let from = self.input.at;
        let begin = self.begin(Block::Loop);
        let list = self.without_do(|parser| parser.expression(LOOSE));
        self.accept_word("do");
        let item = self.emit(StepKind::Item(list));
        if let Some(name) = name {
            self.locals.insert(Rc::clone(&name));
            self.assign(Target::Name(name), item);
        }
        Opened::Loop(begin, from, false)
    }

    fn without_do(&mut self, read: impl FnOnce(&mut Self) -> Ref) -> Ref {
        let outer = std::mem::replace(&mut self.no_do, true);
        let result = read(self);
        self.no_do = outer;
        result
    }

    fn ruby_def(&mut self, in_class: bool) -> Option<Opened> {
        self.skip();
        let mut name = self.name()?;
        if self.accept(".") {
            name = self.name()?;
        }
        let id = self.functions.len();
        self.declare(&name, id, in_class);
        self.open_function(&name);
        if self.is("(") {
            self.bracketed(Self::ruby_params);
        } else if !self.is("=") {
            let end = self.input.end;
            let stop = self.find(end, |kind| *kind == Kind::Line || kind.is(";")).unwrap_or(end);
            self.within(stop, Self::ruby_params);
        }
        if self.accept("=") {
            let value = self.expression(LOOSE);
            self.emit(StepKind::Return(value));
            self.close_function();
            return None;
        }
        Some(Opened::Function)
    }

    fn ruby_params(&mut self) {
        while let Some(kind) = self.kind() {
            let before = self.input.at;
            let rest = matches!(kind, Kind::Mark("*" | "**"));
            if rest || self.is("&") {
                self.skip();
            }
            let name = match self.kind() {
                Some(Kind::Name(name)) => Some(Rc::clone(name)),
                // `name:` is a keyword parameter.
                Some(Kind::Text(parts, _)) => match parts.first() {
                    Some(super::Part::Text(text)) => Some(Rc::from(text.as_str())),
                    _ => None,
                },
                _ => None,
            };
            if let Some(name) = name {
                self.skip();
                self.locals.insert(Rc::clone(&name));
                self.add_param(Target::Local(Rc::clone(&name)), rest);
                if (self.accept("=") || self.accept("=>"))
                    && !self.is(",")
                    && self.token().is_some()
                {
                    let value = self.expression(ASSIGNING);
                    self.emit(StepKind::Default(name, value));
                }
            }
            self.accept(",");
            if self.input.at == before {
                self.skip();
            }
        }
    }

    fn ruby_class(&mut self) -> Opened {
        self.skip();
        let name = self.name().unwrap_or_default();
        let mut bases = Vec::new();
        while !matches!(self.kind(), None | Some(Kind::Line)) && !self.is(";") {
            bases.extend(self.name());
            if !matches!(self.kind(), None | Some(Kind::Line | Kind::Name(_))) {
                self.skip();
            }
        }
        self.open_class(name, bases);
        Opened::Class
    }
}
