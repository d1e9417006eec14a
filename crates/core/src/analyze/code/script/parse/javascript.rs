//! Statements and words of JavaScript, with the types of TypeScript skipped.

use std::rc::Rc;

use super::expression::{ASSIGNING, LOOSE};
use super::{Block, Kind, Parser, Ref, StepKind, Target};

/// A block in braces: where it closes, and what it is.
struct Open {
    close: usize,
    kind: Opened,
}

enum Opened {
    Plain,
    Maybe,
    /// Where it began, as a step and as a token, and whether its condition is always true.
    Loop(Ref, usize, bool),
}

/// Words that may stand before a method or field.
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
    /// Statements up to the end of what is being read.
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

    /// The body of a head that is itself the body of another: `if (a) for (;;) { … }`.
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

    /// One statement, or a head whose body follows.
    #[expect(clippy::too_many_lines, reason = "one arm for each word a statement starts with")]
    fn javascript_statement(&mut self) -> Option<Opened> {
        if self.is("{") {
            return Some(Opened::Plain);
        }
        let labelled = self.is_at(1, ":") || self.is_at(1, ".") || self.is_at(1, "=");
        match self.word() {
            _ if labelled && !self.word().is_empty() => self.expression_statement(),
            "if" => return Some(self.javascript_condition()),
            "else" => {
                self.skip();
                if self.is_word("if") {
                    return Some(self.javascript_condition());
                }
                self.begin(Block::Maybe);
                return Some(Opened::Maybe);
            }
            "for" => return Some(self.javascript_for()),
            "while" => return Some(self.javascript_while()),
            "do" => {
                self.skip();
                let begin = self.begin(Block::Loop);
                return Some(Opened::Loop(begin, self.input.at, self.do_forever()));
            }
            "try" | "finally" => {
                self.skip();
                return Some(Opened::Plain);
            }
            "catch" | "switch" | "with" if !self.is_at(1, "=>") => {
                self.skip();
                if self.is("(") {
                    self.bracketed(|parser| parser.expression(LOOSE));
                }
                self.begin(Block::Maybe);
                return Some(Opened::Maybe);
            }
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
        None
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

    /// `while (true)`, `while (1)`, `while (!0)`
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

    /// `a = 1, {b, c: d} = e`
    fn javascript_declarations(&mut self) {
        loop {
            let target = self.pattern();
            self.skip_type();
            if self.accept("=") {
                let value = self.expression(ASSIGNING);
                self.assign(target, value);
            } else if let Target::Local(name) = target {
                let nothing = self.emit(StepKind::Nothing);
                self.assign(Target::Local(name), nothing);
            }
            if !self.accept(",") {
                break;
            }
        }
        self.accept(";");
    }

    /// `!: type` or `?: type` behind a name.
    fn skip_type(&mut self) {
        self.accept("!");
        self.accept("?");
        if !self.accept(":") {
            return;
        }
        let first = self.input.at;
        let mut at = first;
        while let Some(token) = self.token_at(at) {
            at = match token.kind {
                Kind::Mark("=" | "," | ";" | "=>") => break,
                // A type ends with its line where nothing else ends it.
                _ if at > first && token.indent.is_some() => break,
                Kind::Mark("(" | "[" | "{") => self.partner(at) + 1,
                _ => at + 1,
            };
        }
        self.input.at = at.min(self.input.end);
    }

    /// A name, `{…}` or `[…]` that takes a value apart.
    fn pattern(&mut self) -> Target {
        if self.depth >= super::DEEPEST {
            self.bounded = true;
            return Target::Nowhere;
        }
        match self.kind() {
            Some(Kind::Name(name)) => {
                let name = Rc::clone(name);
                self.skip();
                Target::Local(name)
            }
            Some(Kind::Mark("{" | "[")) => {
                let keyed = self.is("{");
                self.depth += 1;
                let parts = self.bracketed(|parser| parser.pattern_parts(keyed));
                self.depth -= 1;
                Target::Many(parts)
            }
            _ => Target::Nowhere,
        }
    }

    fn pattern_parts(&mut self, keyed: bool) -> Vec<(Option<Rc<str>>, Target)> {
        let mut parts = Vec::new();
        while self.token().is_some() {
            let before = self.input.at;
            self.accept("...");
            let key = match self.kind() {
                Some(Kind::Name(name)) if keyed => Some(Rc::clone(name)),
                Some(Kind::Text(..)) if keyed => None,
                _ => None,
            };
            if keyed && self.is_at(1, ":") {
                self.input.at += 2;
            }
            if !self.is(",") {
                parts.push((key, self.pattern()));
            } else if !keyed {
                parts.push((None, Target::Nowhere));
            }
            if self.accept("=") {
                self.expression(ASSIGNING);
            }
            self.accept(",");
            if self.input.at == before {
                self.skip();
            }
        }
        parts
    }

    /// `import a, {b as c} from "d"`, `import * as e from "f"`
    fn javascript_import(&mut self) {
        self.skip();
        self.accept_word("type");
        let mut names: Vec<(Option<Rc<str>>, Rc<str>)> = Vec::new();
        while let Some(kind) = self.kind() {
            match kind {
                Kind::Mark("*") => {
                    self.skip();
                    self.accept_word("as");
                    names.extend(self.name().map(|name| (None, name)));
                }
                Kind::Mark("{") => {
                    let inner = self.bracketed(|parser| {
                        let mut names = Vec::new();
                        while parser.token().is_some() {
                            if let Some(member) = parser.name() {
                                let known =
                                    if parser.accept_word("as") { parser.name() } else { None };
                                names.push((Some(Rc::clone(&member)), known.unwrap_or(member)));
                            } else {
                                parser.skip();
                            }
                        }
                        names
                    });
                    names.extend(inner);
                }
                Kind::Name(name) if &**name != "from" => {
                    let name = Rc::clone(name);
                    self.skip();
                    names.push((None, name));
                }
                Kind::Mark(",") | Kind::Name(_) => self.skip(),
                Kind::Text(..) => break,
                _ => return,
            }
        }
        let module = self.text();
        let callee = self.emit(StepKind::Api("require".into()));
        let argument = super::Argument { name: None, value: module, spread: false };
        let module = self.emit(StepKind::Call(callee, vec![argument]));
        for (member, known) in names {
            let value = match member {
                Some(member) if &*member != "default" => {
                    self.emit(StepKind::Member(module, member))
                }
                _ => module,
            };
            self.assign(Target::Local(known), value);
        }
        self.accept(";");
    }

    fn skip_type_declaration(&mut self) {
        let end = self.input.end;
        if self.is_word("type") {
            let line = (self.input.at + 1..end)
                .find(|at| self.token_at(*at).is_some_and(|token| token.indent.is_some()));
            let line = line.unwrap_or(end);
            let stop = self.find(line, |kind| kind.is(";"));
            self.input.at = stop.unwrap_or(line).max(self.input.at + 1);
        } else {
            let brace = (self.input.at..end)
                .find(|at| self.token_at(*at).is_some_and(|token| token.kind.is("{")));
            self.input.at = brace.map_or(end, |brace| self.partner(brace) + 1);
        }
    }

    // --- functions and classes

    fn function_declaration(&mut self) {
        self.skip();
        self.accept("*");
        let Some(name) = self.name() else { return };
        let id = self.functions.len();
        self.declare(&name, id, false);
        self.function_rest(&name);
    }

    /// From the parameters on.
    fn function_rest(&mut self, name: &str) -> Ref {
        let id = self.open_function(name);
        self.skip_generics();
        if self.is("(") {
            self.bracketed(Self::javascript_params);
        }
        if self.is(":") {
            self.skip_result_type();
        }
        if self.is("{") {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(Self::javascript_statements);
                0
            });
            self.input.at = close + 1;
        }
        self.close_function();
        self.emit(StepKind::Closure(id))
    }

    fn skip_generics(&mut self) {
        if self.is("<") {
            let end = self.input.end;
            let mut at = self.input.at;
            while at < end && !self.token_at(at).is_some_and(|token| token.kind.is("(")) {
                at += 1;
            }
            self.input.at = at;
        }
    }

    /// `: Promise<{a: string}>` before a body.
    fn skip_result_type(&mut self) {
        self.skip();
        if self.is("{") {
            self.input.at = self.partner(self.input.at) + 1;
        }
        let end = self.input.end;
        let mut at = self.input.at;
        while let Some(token) = self.token_at(at) {
            match token.kind {
                Kind::Mark("{")
                    if !self.token_at(at.saturating_sub(1)).is_some_and(|before| {
                        before.kind.is("<") || before.kind.is("|") || before.kind.is(",")
                    }) =>
                {
                    break;
                }
                Kind::Mark("=>" | ";") => break,
                Kind::Mark("(" | "[" | "{") => at = self.partner(at),
                _ => {}
            }
            at += 1;
        }
        self.input.at = at.min(end);
    }

    fn javascript_params(&mut self) {
        while self.token().is_some() {
            let before = self.input.at;
            while MODIFIERS.contains(&self.word()) && matches!(self.kind_at(1), Some(Kind::Name(_)))
            {
                self.skip();
            }
            let rest = self.accept("...");
            let target = self.pattern();
            let name = match &target {
                Target::Local(name) => Some(Rc::clone(name)),
                _ => None,
            };
            self.add_param(target, rest);
            self.skip_type();
            if self.accept("=") {
                let value = self.expression(ASSIGNING);
                if let Some(name) = name {
                    self.emit(StepKind::Default(name, value));
                }
            }
            self.accept(",");
            if self.input.at == before {
                self.skip();
            }
        }
    }

    /// On `(`: whether the parameters of an arrow function start here.
    pub(super) fn is_arrow_function(&self) -> bool {
        let after = self.partner(self.input.at) + 1;
        let mark =
            |at: usize, mark: &str| self.token_at(at).is_some_and(|token| token.kind.is(mark));
        mark(after, "=>") || (mark(after, ":") && mark(after + 2, "=>"))
    }

    /// On the parameters of an arrow function.
    pub(super) fn arrow_function(&mut self) -> Ref {
        let id = self.open_function("=>");
        if self.is("(") {
            self.bracketed(Self::javascript_params);
        } else {
            let target = self.pattern();
            self.add_param(target, false);
        }
        if self.is(":") {
            self.input.at += 2;
        }
        self.accept("=>");
        if self.is("{") {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(Self::javascript_statements);
                0
            });
            self.input.at = close + 1;
        } else {
            let value = self.expression(ASSIGNING);
            self.emit(StepKind::Return(value));
        }
        self.close_function();
        self.emit(StepKind::Closure(id))
    }

    /// On `class`.
    fn javascript_class(&mut self) -> Ref {
        self.skip();
        let name = match self.kind() {
            Some(Kind::Name(name)) if &**name != "extends" => Rc::clone(name),
            _ => "class".into(),
        };
        let mut bases = Vec::new();
        while let Some(kind) = self.kind() {
            match kind {
                Kind::Mark("{" | ";") => break,
                Kind::Name(name) => bases.push(Rc::clone(name)),
                _ => {}
            }
            self.skip();
        }
        self.open_class(Rc::clone(&name), bases);
        if self.is("{") {
            let close = self.partner(self.input.at);
            self.deeper(|parser| {
                parser.bracketed(Self::class_members);
                0
            });
            self.input.at = close + 1;
        }
        self.class_stack.pop();
        self.emit(StepKind::Class(name))
    }

    fn class_members(&mut self) {
        while self.token().is_some() {
            let before = self.input.at;
            while MODIFIERS.contains(&self.word())
                && !self.is_at(1, "(")
                && !self.is_at(1, "=")
                && !self.is_at(1, ";")
            {
                self.skip();
            }
            if self.is("#") || self.is("*") {
                self.skip();
            }
            if let Some(name) = self.name() {
                if self.is("(") || self.is("<") {
                    let id = self.functions.len();
                    self.declare(&name, id, true);
                    self.function_rest(&name);
                } else {
                    self.skip_type();
                    if self.accept("=") {
                        let value = self.expression(ASSIGNING);
                        self.assign(Target::Member(name), value);
                    }
                }
            } else if self.is("{") {
                self.bracketed(Self::javascript_statements);
            }
            self.accept(";");
            if self.input.at == before {
                self.skip();
            }
        }
    }

    // --- operands

    /// On a word where an operand is expected.
    pub(super) fn javascript_word(&mut self) -> Ref {
        if self.is_at(1, "=>") {
            return self.arrow_function();
        }
        match self.word() {
            "null" | "undefined" => {
                let step = self.emit(StepKind::Nothing);
                self.skip();
                step
            }
            "true" | "false" => {
                let step = self.emit(StepKind::Number(i64::from(self.is_word("true"))));
                self.skip();
                step
            }
            "function" => {
                self.skip();
                self.accept("*");
                let name = self.name().unwrap_or_else(|| "function".into());
                self.function_rest(&name)
            }
            "class" => self.javascript_class(),
            "new" if !self.is_at(1, ".") => {
                self.skip();
                if self.kind().is_none() {
                    return self.unknown();
                }
                self.new_operand()
            }
            _ => self.plain_name(),
        }
    }

    /// Behind `new`: a name or bracket; the members and the call follow by themselves.
    fn new_operand(&mut self) -> Ref {
        if self.is("(") {
            return self.bracketed(|parser| parser.expression(LOOSE));
        }
        if self.is_word("class") {
            return self.javascript_class();
        }
        self.plain_name()
    }

    /// On `{` where an operand is expected.
    pub(super) fn javascript_object(&mut self) -> Ref {
        let pairs = self.bracketed(|parser| {
            let mut pairs = Vec::new();
            while parser.token().is_some() {
                let before = parser.input.at;
                pairs.extend(parser.property());
                parser.accept(",");
                if parser.input.at == before {
                    parser.skip();
                }
            }
            pairs
        });
        self.emit(StepKind::Map(pairs))
    }

    /// `key: value`, `key`, `[key]: value`, `...rest`, `method() {…}`
    fn property(&mut self) -> Option<(Ref, Ref)> {
        if self.accept("...") {
            let key = self.emit(StepKind::Nothing);
            return Some((key, self.expression(ASSIGNING)));
        }
        while MODIFIERS.contains(&self.word())
            && matches!(self.kind_at(1), Some(Kind::Name(_) | Kind::Text(..)))
        {
            self.skip();
        }
        self.accept("*");
        let key = match self.kind()? {
            Kind::Name(name) => {
                let name = Rc::clone(name);
                let key = self.emit(StepKind::Text(Rc::new(name.to_string())));
                self.skip();
                if self.is("(") {
                    return Some((key, self.function_rest(&name)));
                }
                if !self.is(":") {
                    let value = self.emit(StepKind::Name(name));
                    if self.accept("=") {
                        self.expression(ASSIGNING);
                    }
                    return Some((key, value));
                }
                key
            }
            Kind::Text(..) => self.text(),
            Kind::Mark("[") => self.bracketed(|parser| parser.expression(LOOSE)),
            _ => self.expression(ASSIGNING),
        };
        if self.is("(") {
            return Some((key, self.function_rest("method")));
        }
        if !self.accept(":") {
            return None;
        }
        Some((key, self.expression(ASSIGNING)))
    }
}
