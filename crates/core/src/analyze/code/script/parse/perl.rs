//! Statements and words of Perl.

use std::rc::Rc;

use super::expression::LOOSE;
use super::{Block, Kind, Parser, Ref, StepKind, Target, Token};

mod operand;

struct Open {
    close: usize,
    kind: Opened,
}

enum Opened {
    Plain,
    Maybe,
    Loop(Ref, usize, bool),
}

/// Words whose first argument is a block.
const TAKE_BLOCK: &[&str] = &[
    "map", "grep", "sort", "first", "any", "all", "none", "try", "catch", "finally", "reduce",
    "async", "sum", "max_by", "min_by", "lives_ok", "dies_ok", "timethis",
];

/// Functions that assign the opened handle to their first argument.
const OPENERS: &[&str] =
    &["open", "opendir", "socket", "accept", "sysopen", "read", "sysread", "recv", "pipe"];

/// Words that may follow a statement.
const MODIFIERS: &[&str] = &["if", "unless", "while", "until", "for", "foreach"];

/// Words that are operators where an argument might be expected.
const OPERATORS: &[&str] =
    &["x", "eq", "ne", "lt", "gt", "le", "ge", "cmp", "and", "or", "xor", "isa"];

impl Parser<'_> {
    /// Parses statements up to the end of the input.
    pub(super) fn perl_statements(&mut self) {
        let mut open: Vec<Open> = Vec::new();
        loop {
            while let Some(block) = open.pop_if(|block| self.input.at >= block.close) {
                self.input.at = block.close + 1;
                self.perl_close(&block.kind);
            }
            if self.token().is_none() {
                break;
            }
            let before = self.input.at;
            if let Some(kind) = self.perl_statement() {
                if self.is("{") {
                    let close = self.partner(self.input.at);
                    self.skip();
                    open.push(Open { close, kind });
                } else {
                    self.perl_close(&kind);
                }
            }
            if self.input.at == before {
                self.skip();
            }
        }
        while let Some(block) = open.pop() {
            self.perl_close(&block.kind);
        }
    }

    fn perl_close(&mut self, kind: &Opened) {
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

    fn perl_statement(&mut self) -> Option<Opened> {
        if self.is("{") {
            return Some(Opened::Plain);
        }
        if self.accept(";") {
            return None;
        }
        match self.word() {
            "if" | "unless" | "elsif" | "given" | "when" => {
                self.skip();
                self.perl_condition();
                self.begin(Block::Maybe);
                return Some(Opened::Maybe);
            }
            "else" | "default" | "continue" if self.is_at(1, "{") => {
                self.skip();
                self.begin(Block::Maybe);
                return Some(Opened::Maybe);
            }
            "BEGIN" | "END" | "INIT" | "CHECK" if self.is_at(1, "{") => {
                self.skip();
                return Some(Opened::Plain);
            }
            "while" | "until" => {
                let forever = self.perl_always(1);
                self.skip();
                let from = self.input.at;
                let begin = self.begin(Block::Loop);
                let condition = self.perl_condition();
                self.perl_topic(condition);
                return Some(Opened::Loop(begin, from, forever));
            }
            "for" | "foreach" => return Some(self.perl_for()),
            "sub" if matches!(self.kind_at(1), Some(Kind::Name(_))) => self.perl_sub(),
            "package" => {
                self.skip();
                self.skip();
            }
            "use" | "no" => self.perl_use(),
            _ => self.perl_modified(),
        }
        None
    }

    fn perl_condition(&mut self) -> Option<Ref> {
        self.is("(").then(|| self.bracketed(|parser| parser.expression(LOOSE)))
    }

    /// Reports whether a condition is always true: `(1)`, `(fork)`, `()`.
    fn perl_always(&self, ahead: usize) -> bool {
        self.is_at(ahead, "(")
            && (self.is_at(ahead + 1, ")")
                || self.is_at(ahead + 2, ")")
                    && match self.kind_at(ahead + 1) {
                        Some(Kind::Number(number)) => *number != Some(0),
                        Some(Kind::Name(name)) => &**name == "fork",
                        _ => false,
                    })
    }

    fn perl_for(&mut self) -> Opened {
        self.skip();
        if matches!(self.word(), "my" | "our" | "local") {
            self.skip();
        }
        let variable = self.name().unwrap_or_else(|| "$_".into());
        let from = self.input.at;
        let forever = self.is("(") && self.is_at(1, ";") && self.is_at(2, ";");
        let begin = self.begin(Block::Loop);
        if self.is("(") {
            let list = self.bracketed(|parser| {
                let mut items = Vec::new();
                while parser.token().is_some() {
                    let before = parser.input.at;
                    items.push(parser.expression(LOOSE));
                    while parser.accept(",") || parser.accept("=>") || parser.accept(";") {}
                    if parser.input.at == before {
                        parser.skip();
                    }
                }
                parser.emit(StepKind::List(items))
            });
            let item = self.emit(StepKind::Item(list));
            self.assign(Target::Local(variable), item);
        }
        Opened::Loop(begin, from, forever)
    }

    fn perl_sub(&mut self) {
        self.skip();
        let Some(name) = self.name() else { return };
        let id = self.functions.len();
        self.declare(&name, id, false);
        self.perl_sub_rest(&name);
    }

    /// Parses a sub from its signature on.
    fn perl_sub_rest(&mut self, name: &str) -> Ref {
        let id = self.open_function(name);
        self.add_param(Target::Local("@_".into()), true);
        if self.is("(") {
            // A signature, or a prototype, which is discarded.
            let target = self.bracketed(|parser| {
                let mut parts = Vec::new();
                while let Some(kind) = parser.kind() {
                    if let Kind::Name(name) = kind {
                        parts.push((None, Target::Local(Rc::clone(name))));
                    }
                    parser.skip();
                }
                Target::Many(parts)
            });
            let arguments = self.emit(StepKind::Name("@_".into()));
            self.assign(target, arguments);
        }
        if self.is("{") {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(Self::perl_statements);
                0
            });
            self.input.at = close + 1;
        }
        self.close_function();
        self.emit(StepKind::Closure(id))
    }

    /// Parses `use constant`, and skips any other `use Module qw(names)`, whose names are known
    /// anyway.
    fn perl_use(&mut self) {
        let end = self.input.end;
        let stop = self.find(end, |kind| kind.is(";")).unwrap_or(end);
        if self.word_at(1) == "constant" {
            self.input.at += 2;
            let value = self.within(stop, super::Parser::perl_list);
            if let Some(StepKind::List(items)) = self.step(value)
                && let [name, value, ..] = **items
                && let Some(StepKind::Text(name)) = self.step(name)
            {
                let target = Target::Name(Rc::from(name.as_str()));
                self.assign(target, value);
            }
        }
        self.input.at = stop;
    }

    /// Parses `a, b => c`.
    fn perl_list(&mut self) -> Ref {
        let first = self.expression(LOOSE);
        if !self.is(",") && !self.is("=>") {
            return first;
        }
        let mut items = vec![first];
        while self.accept(",") || self.accept("=>") {
            if self.perl_ends() {
                break;
            }
            items.push(self.expression(LOOSE));
        }
        self.emit(StepKind::List(items))
    }

    /// Parses a statement with a modifier: `… if x`, `… while y`, `… for @z`. The modifier comes
    /// first, because it runs first.
    fn perl_modified(&mut self) {
        let start = self.input.at;
        let stop = self.input.stops.get(start).copied().unwrap_or(start).min(self.input.end);
        let modifier = self.token_at(stop).and_then(|token| token.kind.name()).map(str::to_owned);
        let Some(word) = modifier else {
            self.perl_simple();
            self.accept(";");
            return;
        };
        self.input.at = stop;
        let forever = matches!(&*word, "while" | "until") && self.perl_forever();
        self.skip();
        let block = match &*word {
            "if" | "unless" => Block::Maybe,
            _ if forever => Block::Endless,
            _ => Block::Loop,
        };
        self.begin(block);
        let over = self.perl_list();
        if matches!(&*word, "for" | "foreach") {
            let list = self.emit(StepKind::List(vec![over]));
            let item = self.emit(StepKind::Item(list));
            self.assign(Target::Name("$_".into()), item);
        } else {
            self.perl_topic(Some(over));
        }
        let after = self.input.at;
        self.input.at = start;
        self.within(stop, Self::perl_simple);
        self.finish();
        self.input.at = after;
        self.accept(";");
    }

    fn perl_simple(&mut self) {
        if self.accept_word("return") {
            if !self.perl_ends() {
                let value = self.perl_list();
                self.emit(StepKind::Return(value));
            }
            return;
        }
        let value = self.perl_list();
        // A sub returns its last value.
        if self.token().is_none() || self.is(";") && self.kind_at(1).is_none() {
            self.emit(StepKind::Return(value));
        }
    }

    /// On `while`: reports whether the condition is always true.
    fn perl_forever(&self) -> bool {
        match self.kind_at(1) {
            Some(Kind::Number(number)) => *number != Some(0),
            Some(Kind::Name(name)) => &**name == "fork",
            _ => self.perl_always(1),
        }
    }

    /// Assigns the line that `while (<$file>)` reads to `$_`.
    fn perl_topic(&mut self, condition: Option<Ref>) {
        if let Some(condition) = condition
            && matches!(self.step(condition), Some(StepKind::Line(_)))
        {
            self.assign(Target::Name("$_".into()), condition);
        }
    }

    /// Reports whether no part of an argument can follow here.
    fn perl_ends(&self) -> bool {
        match self.kind() {
            None => true,
            Some(Kind::Mark(mark)) => {
                matches!(*mark, ")" | "]" | "}" | ";" | ":" | "?" | "=" | "==" | "!=" | "=~" | "!~")
                    || matches!(*mark, "&&" | "||" | "//" | "." | "*" | "/" | ">" | ">=" | "<=")
                    || matches!(*mark, "," | "=>" | "->" | "+" | "|" | "^" | "..")
            }
            Some(Kind::Name(name)) => MODIFIERS.contains(&&**name) || OPERATORS.contains(&&**name),
            _ => false,
        }
    }
}

/// Returns for each token the end of the current statement: a `;`, a modifier or the bracket around
/// it. Brackets before that are part of it.
pub(super) fn stops(tokens: &[Token], partner: &[usize]) -> Vec<usize> {
    let count = tokens.len();
    let mut stops = vec![count; count];
    for (at, token) in tokens.iter().enumerate().rev() {
        let next = match &token.kind {
            Kind::Mark(";" | ")" | "]" | "}") => None,
            Kind::Name(name) if MODIFIERS.contains(&&**name) => None,
            Kind::Mark("(" | "[" | "{") => partner.get(at).map(|close| close + 1),
            _ => Some(at + 1),
        };
        let stop = next.map_or(at, |next| stops.get(next).copied().unwrap_or(count));
        if let Some(slot) = stops.get_mut(at) {
            *slot = stop;
        }
    }
    stops
}
