//! Declarations and imports: the names that values are assigned to.

use std::rc::Rc;

use super::super::expression::ASSIGNING;
use super::super::{Argument, DEEPEST, Kind, Parser, StepKind, Target};

impl Parser<'_> {
    /// Parses `a = 1, {b, c: d} = e`.
    pub(super) fn javascript_declarations(&mut self) {
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

    /// Parses a name, or a destructuring `{…}` or `[…]`.
    pub(super) fn pattern(&mut self) -> Target {
        if self.depth >= DEEPEST {
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

    /// Parses `import a, {b as c} from "d"`, `import * as e from "f"`.
    pub(super) fn javascript_import(&mut self) {
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
        let argument = Argument { name: None, value: module, spread: false };
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
}
