//! Statements and words of Perl.

use std::rc::Rc;

use super::expression::LOOSE;
use super::{Argument, Block, Kind, Parser, Ref, StepKind, Target, Token};

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

/// Words that put what they open into their first argument.
const OPENERS: &[&str] =
    &["open", "opendir", "socket", "accept", "sysopen", "read", "sysread", "recv", "pipe"];

/// Words that may stand behind a statement.
const MODIFIERS: &[&str] = &["if", "unless", "while", "until", "for", "foreach"];

/// Words that are operators where an argument might be expected.
const OPERATORS: &[&str] =
    &["x", "eq", "ne", "lt", "gt", "le", "ge", "cmp", "and", "or", "xor", "isa"];

impl Parser<'_> {
    /// Statements up to the end of what is being read.
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

    /// `(1)`, `(fork)`, `()`
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

    /// From the signature on.
    fn perl_sub_rest(&mut self, name: &str) -> Ref {
        let id = self.open_function(name);
        self.add_param(Target::Local("@_".into()), true);
        if self.is("(") {
            // A signature, or a prototype of which nothing remains.
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

    /// `use Module qw(names)`: the names are known anyway.
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

    /// `a, b => c`
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

    /// A statement with what may stand behind it: `… if x`, `… while y`, `… for @z`. That comes
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
        // The last value of a sub is what it returns.
        if self.token().is_none() || self.is(";") && self.kind_at(1).is_none() {
            self.emit(StepKind::Return(value));
        }
    }

    /// On `while`: whether what follows is always true.
    fn perl_forever(&self) -> bool {
        match self.kind_at(1) {
            Some(Kind::Number(number)) => *number != Some(0),
            Some(Kind::Name(name)) => &**name == "fork",
            _ => self.perl_always(1),
        }
    }

    /// `while (<$file>)` reads into `$_`.
    fn perl_topic(&mut self, condition: Option<Ref>) {
        if let Some(condition) = condition
            && matches!(self.step(condition), Some(StepKind::Line(_)))
        {
            self.assign(Target::Name("$_".into()), condition);
        }
    }

    /// Nothing of an argument can stand here.
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

    /// On a word where an operand is expected.
    pub(super) fn perl_word(&mut self) -> Ref {
        let start = self.start();
        let Some(Kind::Name(name)) = self.kind() else { return self.unknown() };
        let name = Rc::clone(name);
        if name.starts_with(['$', '@', '%', '&']) {
            return self.perl_variable(&name);
        }
        match &*name {
            "my" | "our" | "local" | "state" => return self.perl_declaration(),
            "undef" if !self.is_at(1, "(") => {
                let step = self.emit(StepKind::Nothing);
                self.skip();
                return step;
            }
            "sub" => {
                self.skip();
                return self.perl_sub_rest("sub");
            }
            "do" | "eval" if self.is_at(1, "{") => {
                self.skip();
                return self.perl_inline();
            }
            "new" if matches!(self.kind_at(1), Some(Kind::Name(class)) if !class.starts_with('$')) =>
            {
                self.skip();
                let class = self.plain_name();
                let callee = self.emit(StepKind::Member(class, "new".into()));
                return self.perl_call(callee, "new", start);
            }
            _ => {}
        }
        let callee = self.plain_name();
        if self.is("->") || self.is("::") || self.is("=>") {
            return callee;
        }
        let shouting =
            name.chars().all(|char| char.is_ascii_uppercase() || char == '_' || char == ':');
        let class = name.contains("::") && !self.is("(");
        if (shouting || class) && !self.is("(") {
            return callee;
        }
        self.perl_call(callee, &name, start)
    }

    /// `$x[0]` is of `@x`, `$x{k}` of `%x`.
    fn perl_variable(&mut self, name: &Rc<str>) -> Ref {
        let bare: String = name.chars().skip(1).collect();
        let close = |mark: &str| {
            self.is_at(1, mark)
                && self.token_at(self.input.at + 1).is_some_and(|token| !token.spaced)
        };
        let known: Rc<str> = match name.chars().next() {
            Some('$') if close("[") => format!("@{bare}").into(),
            Some('$') if close("{") => format!("%{bare}").into(),
            Some('&') => bare.into(),
            _ => Rc::clone(name),
        };
        let step = self.emit(StepKind::Name(known));
        self.skip();
        step
    }

    /// `my $x`, `my ($a, $b)`
    fn perl_declaration(&mut self) -> Ref {
        self.skip();
        if self.is("(") {
            let items = self.items();
            for item in &items {
                self.perl_local(*item);
            }
            return self.emit(StepKind::List(items));
        }
        let variable = self.plain_name();
        self.perl_local(variable);
        variable
    }

    fn perl_local(&mut self, variable: Ref) {
        if let Some(StepKind::Name(name)) = self.step(variable) {
            let target = Target::Local(Rc::clone(name));
            let nothing = self.emit(StepKind::Nothing);
            self.assign(target, nothing);
        }
    }

    /// On `{`: statements that run right here.
    fn perl_inline(&mut self) -> Ref {
        let close = self.partner(self.input.at);
        self.deeper(|parser| {
            parser.bracketed(Self::perl_statements);
            0
        });
        self.input.at = close + 1;
        self.unknown()
    }

    /// Behind a function's name: its arguments, in brackets or not.
    fn perl_call(&mut self, callee: Ref, name: &str, start: usize) -> Ref {
        let mut arguments = Vec::new();
        if TAKE_BLOCK.contains(&name) && self.is("{") {
            let closure = self.perl_sub_rest(name);
            arguments.push(Argument { name: None, value: closure, spread: false });
            self.accept(",");
        }
        if self.is("(") {
            let prints = matches!(name, "print" | "printf" | "say");
            let more = self.bracketed(|parser| {
                let handle = if prints { parser.perl_handle() } else { None };
                let mut arguments: Vec<_> = handle.into_iter().collect();
                arguments.extend(parser.arguments());
                arguments
            });
            arguments.extend(more);
        } else {
            if matches!(name, "print" | "printf" | "say") {
                arguments.extend(self.perl_handle());
            }
            while !self.perl_ends() {
                let before = self.input.at;
                arguments.push(self.argument());
                if !self.accept(",") || self.input.at == before {
                    break;
                }
            }
        }
        let first = arguments.first().map(|argument| argument.value);
        let end = self.last_end();
        let call = self.emit_at(StepKind::Call(callee, arguments), start, end);
        if OPENERS.contains(&name)
            && let Some(first) = first
        {
            let place = usize::from(matches!(name, "read" | "sysread" | "recv"));
            let step = match self.step(call) {
                Some(StepKind::Call(_, arguments)) => arguments.get(place).map(|a| a.value),
                _ => Some(first),
            };
            let target = self.target_of(step.unwrap_or(first));
            self.assign(target, call);
            return self.emit(StepKind::Either(vec![call]));
        }
        call
    }

    /// `print HANDLE …`, `print $handle …`, `print {$handle} …`
    fn perl_handle(&mut self) -> Option<Argument> {
        let handle = |value| Some(Argument { name: Some("handle".into()), value, spread: false });
        if self.is("{") {
            let value = self.bracketed(|parser| parser.expression(LOOSE));
            return handle(value);
        }
        let Some(Kind::Name(name)) = self.kind() else { return None };
        let bareword = name.chars().all(|char| char.is_ascii_uppercase() || char == '_')
            && !self.is_at(1, ",")
            && !self.is_at(1, "(");
        let variable = name.starts_with('$')
            && self.token_at(self.input.at + 1).is_some_and(|next| {
                next.spaced
                    && match &next.kind {
                        Kind::Text(..) | Kind::Number(_) => true,
                        Kind::Name(word) => {
                            !OPERATORS.contains(&&**word) && !MODIFIERS.contains(&&**word)
                        }
                        _ => false,
                    }
            });
        if !bareword && !variable {
            return None;
        }
        let value = self.plain_name();
        handle(value)
    }

    /// On `->`.
    pub(super) fn perl_arrow(&mut self, object: Ref, start: usize) -> Ref {
        self.skip();
        match self.kind() {
            Some(Kind::Mark("[" | "{")) => self.subscript(object),
            Some(Kind::Mark("(")) => self.call(object, start),
            Some(Kind::Name(name)) => {
                let name = Rc::clone(name);
                let member = self.emit(StepKind::Member(object, name));
                self.skip();
                if self.is("(") {
                    self.call(member, start)
                } else {
                    self.emit_at(StepKind::Call(member, Vec::new()), start, self.last_end())
                }
            }
            Some(Kind::Mark("@" | "%" | "$")) => {
                self.skip();
                self.accept("*");
                object
            }
            _ => object,
        }
    }

    /// Whether the `{` here is a subscript rather than a block.
    pub(super) fn perl_subscript(&self, value: Ref) -> bool {
        let spaced = self.token().is_some_and(|token| token.spaced);
        !spaced
            && matches!(
                self.step(value),
                Some(StepKind::Name(_) | StepKind::Index(..) | StepKind::Call(..))
            )
    }
}

/// For each token, where the statement that goes on there ends: at a `;`, a modifier or the
/// bracket around it. Brackets before that are part of it.
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
