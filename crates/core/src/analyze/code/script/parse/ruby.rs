//! Statements and words of Ruby.

use std::rc::Rc;

use super::expression::{ASSIGNING, LOOSE};
use super::{Argument, Block, Kind, Language, Parser, Ref, StepKind, Target};

/// Something that an `end` closes.
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
    /// Statements up to an `end` that closes what was open before, or to the end.
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
        // The last value is what a block or the source returns.
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

    /// A head that an `end` closes, or a whole statement and its value.
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
            // Parts of a block that go on at the same level.
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

    /// `a`, or `a, b = c`
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

    /// A name that was assigned is a variable from then on, never a call.
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
                // `name:` is a parameter by keyword.
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

    /// On a word where an operand is expected.
    pub(super) fn ruby_word(&mut self) -> Ref {
        let start = self.start();
        match self.word() {
            "nil" => {
                let step = self.emit(StepKind::Nothing);
                self.skip();
                return step;
            }
            "true" | "false" => {
                let step = self.emit(StepKind::Number(i64::from(self.is_word("true"))));
                self.skip();
                return step;
            }
            "if" | "unless" | "case" | "while" | "until" | "begin" | "for" | "def" | "class" => {
                return self.ruby_inner();
            }
            _ => {}
        }
        let Some(Kind::Name(name)) = self.kind() else { return self.unknown() };
        let name = Rc::clone(name);
        let step = self.plain_name();
        if self.is("=") || self.is(",") && self.ruby_assigns() {
            self.locals.insert(Rc::clone(&name));
            return step;
        }
        let variable = name.starts_with(['@', '$']) || self.locals.contains(&name);
        let constant = name.starts_with(|char: char| char.is_ascii_uppercase());
        if variable || self.is("(") && !self.token().is_some_and(|token| token.spaced) {
            return step;
        }
        if constant && !self.ruby_argument_follows() {
            return step;
        }
        self.ruby_call(step, start)
    }

    /// `a, b = …`: the names before a comma may be targets.
    fn ruby_assigns(&self) -> bool {
        const LONGEST: usize = 16;
        (0..LONGEST)
            .map_while(|ahead| self.kind_at(ahead))
            .take_while(|kind| **kind != Kind::Line)
            .any(|kind| kind.is("="))
    }

    /// `if … end` and the like where a value is expected.
    fn ruby_inner(&mut self) -> Ref {
        let mut value = 0;
        let result = self.deeper(|parser| {
            let outer = std::mem::replace(&mut parser.no_do, false);
            match parser.ruby_statement(false) {
                Ok(kind) => {
                    parser.ruby_statements();
                    parser.accept_word("end");
                    parser.ruby_close(&kind, None);
                }
                Err(found) => value = found.unwrap_or_default(),
            }
            parser.no_do = outer;
            parser.unknown()
        });
        if value > 0 { value } else { result }
    }

    /// Behind a method's name in Ruby, arguments may follow without brackets.
    pub(super) fn with_arguments(&mut self, step: Ref) -> Ref {
        if self.language != Language::Ruby {
            return step;
        }
        let close = self.is("(") && !self.token().is_some_and(|token| token.spaced);
        let assigned = matches!(
            self.kind(),
            Some(Kind::Mark("=" | "+=" | "||=" | "-=" | "<<=" | "*=" | "&&="))
        );
        let constant = matches!(self.step(step), Some(StepKind::Member(_, name))
            if name.starts_with(|char: char| char.is_ascii_uppercase()));
        if close || assigned || (constant && !self.ruby_argument_follows()) {
            return step;
        }
        let start = self.start();
        self.ruby_call(step, start)
    }

    /// Whether what follows can only be an argument.
    fn ruby_argument_follows(&self) -> bool {
        let Some(token) = self.token() else { return false };
        let next_spaced = self.token_at(self.input.at + 1).is_none_or(|next| next.spaced);
        token.spaced
            && match &token.kind {
                Kind::Text(..) | Kind::Number(_) => true,
                Kind::Name(name) => !KEYWORDS.contains(&&**name),
                Kind::Mark(mark) => match *mark {
                    "->" | "!" | "(" => true,
                    "[" | "*" | "&" | "-" | "::" | ":" | "**" | "%" => !next_spaced,
                    _ => false,
                },
                Kind::Line => false,
            }
    }

    fn ruby_call(&mut self, callee: Ref, start: usize) -> Ref {
        let mut arguments = Vec::new();
        if self.ruby_argument_follows() {
            loop {
                let before = self.input.at;
                arguments.push(self.argument());
                if !self.accept(",") || self.input.at == before {
                    break;
                }
                self.skip_lines();
            }
        }
        let end = self.last_end();
        self.emit_at(StepKind::Call(callee, arguments), start, end)
    }

    /// `{ |x| … }` or `do |x| … end` behind a call is its last argument.
    pub(super) fn with_block(&mut self, value: Ref, start: usize) -> Ref {
        if self.language != Language::Ruby {
            return value;
        }
        let braces = self.is("{") && self.token().is_none_or(|token| token.indent.is_none());
        let words = self.is_word("do") && !self.no_do;
        let (callee, mut arguments) = match self.step(value) {
            Some(StepKind::Call(callee, arguments)) if braces || words => {
                (*callee, arguments.clone())
            }
            _ => return value,
        };
        if let Some(step) = self.function().and_then(|function| function.code.get_mut(value)) {
            // The call moves behind its block; it must not run twice.
            step.kind = StepKind::Idle;
        }
        let closure = self.ruby_block(braces);
        arguments.push(Argument { name: None, value: closure, spread: false });
        let end = self.last_end();
        self.emit_at(StepKind::Call(callee, arguments), start, end)
    }

    fn ruby_block(&mut self, braces: bool) -> Ref {
        let id = self.open_function("block");
        let outer = std::mem::replace(&mut self.no_do, false);
        if braces {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(|parser| {
                    parser.ruby_block_params();
                    parser.ruby_statements();
                });
                0
            });
            self.input.at = close + 1;
        } else {
            self.skip();
            self.ruby_block_params();
            self.deeper(|parser| {
                parser.ruby_statements();
                0
            });
            self.accept_word("end");
        }
        self.no_do = outer;
        self.close_function();
        self.emit(StepKind::Closure(id))
    }

    /// `|a, (b, c)|`
    fn ruby_block_params(&mut self) {
        if !self.accept("|") {
            return;
        }
        let end = self.input.end;
        let close = (self.input.at..end)
            .find(|at| self.token_at(*at).is_some_and(|token| token.kind.is("|")))
            .unwrap_or(end);
        self.within(close, |parser| {
            while parser.token().is_some() {
                let rest = parser.accept("*");
                match parser.name() {
                    Some(name) => {
                        parser.locals.insert(Rc::clone(&name));
                        parser.add_param(Target::Local(name), rest);
                    }
                    None => parser.skip(),
                }
            }
        });
        self.skip();
    }

    /// `->(x) { … }`
    pub(super) fn ruby_lambda(&mut self) -> Ref {
        self.skip();
        let id = self.open_function("->");
        if self.is("(") {
            self.bracketed(Self::ruby_params);
        }
        if self.is("{") {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(Self::ruby_statements);
                0
            });
            self.input.at = close + 1;
        } else if self.accept_word("do") {
            self.deeper(|parser| {
                parser.ruby_statements();
                0
            });
            self.accept_word("end");
        }
        self.close_function();
        self.emit(StepKind::Closure(id))
    }
}
