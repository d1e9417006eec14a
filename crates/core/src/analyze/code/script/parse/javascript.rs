//! Statements and words of JavaScript, with the types of TypeScript skipped.

use super::expression::{ASSIGNING, LOOSE};
use super::{Block, Kind, Parser, Ref, StepKind};

mod function;
mod operand;
mod pattern;
mod types;

/// A block in braces: the position where it closes, and its kind.
struct Open {
    close: usize,
    kind: Opened,
}

enum Opened {
    Plain,
    Maybe,
    /// The step and the token where it began, and whether its condition is always true.
    Loop(Ref, usize, bool),
}

/// Words that may precede a method or field.
const MODIFIERS: &[&str] = &[
    "static",
    "async",
    "get",
    "set",
    "public",
    "private",
    "protected",
    "readonly",
    "override",
    "abstract",
    "declare",
    "accessor",
];

impl Parser<'_> {
    /// Parses statements up to the end of the input.
    pub(super) fn javascript_statements(&mut self) {
        let mut open: Vec<Open> = Vec::new();
        loop {
            while let Some(block) = open.pop_if(|block| self.input.at >= block.close) {
                self.input.at = block.close + 1;
                self.javascript_close(&block.kind);
            }
            if self.token().is_none() {
                break;
            }
            let before = self.input.at;
            if let Some(kind) = self.javascript_statement() {
                // A body without braces ends with its statement.
                if self.is("{") {
                    let close = self.partner(self.input.at);
                    self.skip();
                    open.push(Open { close, kind });
                } else {
                    self.deeper(|parser| {
                        let nested = parser.javascript_statement();
                        if let Some(nested) = nested {
                            parser.javascript_body(&nested);
                        }
                        0
                    });
                    self.javascript_close(&kind);
                }
            }
            if self.input.at == before {
                self.skip();
            }
        }
        while let Some(block) = open.pop() {
            self.javascript_close(&block.kind);
        }
    }

    /// Parses the body of a head that is itself the body of another: `if (a) for (;;) { … }`.
    fn javascript_body(&mut self, kind: &Opened) {
        if self.is("{") {
            self.deeper(|parser| {
                parser.bracketed(Self::javascript_statements);
                0
            });
        } else {
            self.deeper(|parser| {
                if let Some(nested) = parser.javascript_statement() {
                    parser.javascript_body(&nested);
                }
                0
            });
        }
        self.javascript_close(kind);
    }

    fn javascript_close(&mut self, kind: &Opened) {
        match *kind {
            Opened::Plain => {}
            Opened::Maybe => self.finish(),
            Opened::Loop(begin, from, forever) => {
                if forever && !self.pauses(from, self.input.at) {
                    self.patch(begin, Block::Endless);
                }
                self.finish();
            }
        }
    }

    /// Parses one statement, or a head whose body follows.
    fn javascript_statement(&mut self) -> Option<Opened> {
        if self.is("{") {
            return Some(Opened::Plain);
        }
        let labelled = self.is_at(1, ":") || self.is_at(1, ".") || self.is_at(1, "=");
        if labelled && !self.word().is_empty() {
            self.expression_statement();
            return None;
        }
        let head = self.javascript_head();
        if head.is_none() {
            self.javascript_simple();
        }
        head
    }

    /// Parses the head of a block, if one starts here.
    fn javascript_head(&mut self) -> Option<Opened> {
        Some(match self.word() {
            "if" => self.javascript_condition(),
            "else" => {
                self.skip();
                if self.is_word("if") {
                    return Some(self.javascript_condition());
                }
                self.begin(Block::Maybe);
                Opened::Maybe
            }
            "for" => self.javascript_for(),
            "while" => self.javascript_while(),
            "do" => {
                self.skip();
                let begin = self.begin(Block::Loop);
                Opened::Loop(begin, self.input.at, self.do_forever())
            }
            "try" | "finally" => {
                self.skip();
                Opened::Plain
            }
            "catch" | "switch" | "with" if !self.is_at(1, "=>") => {
                self.skip();
                if self.is("(") {
                    self.bracketed(|parser| parser.expression(LOOSE));
                }
                self.begin(Block::Maybe);
                Opened::Maybe
            }
            _ => return None,
        })
    }

    /// Parses a statement without a body of its own.
    fn javascript_simple(&mut self) {
        match self.word() {
            "case" => {
                self.skip();
                self.expression(ASSIGNING);
                self.accept(":");
            }
            "const" | "let" | "var" => {
                self.skip();
                self.javascript_declarations();
            }
            "return" | "throw" => {
                self.skip();
                if !self.ends_expression() {
                    let value = self.expression(LOOSE);
                    self.emit(StepKind::Return(value));
                }
            }
            "import" if !self.is_at(1, "(") => self.javascript_import(),
            "export" | "default" | "declare" | "abstract" => self.skip(),
            "function" => self.function_declaration(),
            "async" if self.word_at(1) == "function" => {
                self.skip();
                self.function_declaration();
            }
            "class" => {
                self.javascript_class();
            }
            "interface" | "type" | "enum" if matches!(self.kind_at(1), Some(Kind::Name(_))) => {
                self.skip_type_declaration();
            }
            _ => self.expression_statement(),
        }
    }

    fn expression_statement(&mut self) {
        if matches!(self.kind(), Some(Kind::Name(_))) && self.is_at(1, ":") {
            // A label, or `default:`.
            self.input.at += 2;
            return;
        }
        self.expression(LOOSE);
        while self.accept(",") {
            self.expression(LOOSE);
        }
        self.accept(";");
    }

    fn javascript_condition(&mut self) -> Opened {
        self.skip();
        if self.is("(") {
            self.bracketed(|parser| parser.expression(LOOSE));
        }
        self.begin(Block::Maybe);
        Opened::Maybe
    }

    /// Reports whether a condition is always true: `while (true)`, `while (1)`, `while (!0)`.
    fn always(&self, ahead: usize) -> bool {
        let truth = |kind: Option<&Kind>| match kind {
            Some(Kind::Name(name)) => &**name == "true",
            Some(Kind::Number(number)) => *number != Some(0),
            _ => false,
        };
        self.is_at(ahead, "(")
            && (truth(self.kind_at(ahead + 1)) && self.is_at(ahead + 2, ")")
                || self.is_at(ahead + 1, "!")
                    && self.kind_at(ahead + 2) == Some(&Kind::Number(Some(0)))
                    && self.is_at(ahead + 3, ")"))
    }

    fn do_forever(&self) -> bool {
        if !self.is("{") {
            return false;
        }
        let ahead = self.partner(self.input.at) - self.input.at + 1;
        self.word_at(ahead) == "while" && self.always(ahead + 1)
    }

    fn javascript_while(&mut self) -> Opened {
        let forever = self.always(1);
        self.skip();
        let from = self.input.at;
        let begin = self.begin(Block::Loop);
        if self.is("(") {
            self.bracketed(|parser| parser.expression(LOOSE));
        }
        Opened::Loop(begin, from, forever)
    }

    fn javascript_for(&mut self) -> Opened {
        self.skip();
        self.accept_word("await");
        let from = self.input.at;
        let forever = self.is("(") && self.is_at(1, ";") && self.is_at(2, ";");
        let begin = self.begin(Block::Loop);
        if self.is("(") {
            self.bracketed(Self::for_head);
        }
        Opened::Loop(begin, from, forever)
    }

    fn for_head(&mut self) {
        let end = self.input.end;
        let over = self.find(end, |kind| matches!(kind.name(), Some("of" | "in")));
        if let Some(over) = over {
            if matches!(self.word(), "const" | "let" | "var") {
                self.skip();
            }
            let target = self.within(over, Self::pattern);
            self.skip();
            let list = self.expression(LOOSE);
            let item = self.emit(StepKind::Item(list));
            self.assign(target, item);
            return;
        }
        while self.token().is_some() {
            let before = self.input.at;
            if matches!(self.word(), "const" | "let" | "var") {
                self.skip();
                self.javascript_declarations();
            } else {
                self.expression(LOOSE);
            }
            while self.accept(";") || self.accept(",") {}
            if self.input.at == before {
                self.skip();
            }
        }
    }
}
