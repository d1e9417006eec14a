//! Words and calls where an operand is expected.

use std::rc::Rc;

use super::super::expression::LOOSE;
use super::super::{Argument, Kind, Parser, Ref, StepKind, Target};
use super::{MODIFIERS, OPENERS, OPERATORS, TAKE_BLOCK};

impl Parser<'_> {
    /// Parses a word where an operand is expected.
    pub(in super::super) fn perl_word(&mut self) -> Ref {
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

    /// Parses a variable: `$x[0]` belongs to `@x`, `$x{k}` to `%x`.
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

    /// Parses `my $x` and `my ($a, $b)`.
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

    /// On `{`: parses statements that run right here.
    fn perl_inline(&mut self) -> Ref {
        let close = self.partner(self.input.at);
        self.deeper(|parser| {
            parser.bracketed(Self::perl_statements);
            0
        });
        self.input.at = close + 1;
        self.unknown()
    }

    /// After a function's name: parses its arguments, with or without brackets.
    fn perl_call(&mut self, callee: Ref, name: &str, start: usize) -> Ref {
        let mut arguments = Vec::new();
        if TAKE_BLOCK.contains(&name) && self.is("{") {
            let closure = self.perl_sub_rest(name);
            arguments.push(Argument { name: None, value: closure, spread: false });
            self.accept(",");
        }
        // `exec {"program"} "name", …`: the program, then the name that it is given.
        let program = if matches!(name, "system" | "exec") && self.is("{") {
            Some(self.bracketed(|parser| parser.expression(LOOSE)))
        } else {
            None
        };
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
        if let Some(value) = program {
            match arguments.first_mut() {
                // The name that it is given is one of a list.
                Some(first) if !self.is_list(first.value) => first.value = value,
                _ => arguments.insert(0, Argument { name: None, value, spread: false }),
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

    /// Reports whether an earlier step reads a whole list: `@words`.
    fn is_list(&mut self, step: Ref) -> bool {
        matches!(self.step(step), Some(StepKind::Name(name)) if name.starts_with('@'))
    }

    /// Parses the handle of `print HANDLE …`, `print $handle …`, `print {$handle} …`.
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

    /// Parses a member, subscript or call from its `->`.
    pub(in super::super) fn perl_arrow(&mut self, object: Ref, start: usize) -> Ref {
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

    /// Reports whether the `{` here is a subscript rather than a block.
    pub(in super::super) fn perl_subscript(&self, value: Ref) -> bool {
        let spaced = self.token().is_some_and(|token| token.spaced);
        !spaced
            && matches!(
                self.step(value),
                Some(StepKind::Name(_) | StepKind::Index(..) | StepKind::Call(..))
            )
    }
}
