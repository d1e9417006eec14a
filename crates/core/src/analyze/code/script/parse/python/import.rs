//! Imports.

use std::rc::Rc;

use super::super::{Parser, StepKind, Target};

impl Parser<'_> {
    /// Parses `import a.b as c, d`.
    pub(super) fn python_import(&mut self) {
        self.skip();
        loop {
            let path = self.python_module();
            let (name, module): (Rc<str>, Rc<str>) = if self.accept_word("as") {
                (self.name().unwrap_or_default(), path.into())
            } else {
                let first: Rc<str> = path.split('.').next().unwrap_or_default().into();
                (Rc::clone(&first), first)
            };
            let api = self.emit(StepKind::Api(module));
            self.assign(Target::Name(name), api);
            if !self.accept(",") {
                return;
            }
        }
    }

    /// Parses `from a.b import c as d, *`.
    pub(super) fn python_from(&mut self) {
        self.skip();
        let module = self.python_module();
        self.accept_word("import");
        self.accept("(");
        loop {
            if self.accept("*") {
                let api = self.emit(StepKind::Api(module.as_str().into()));
                self.assign(Target::Name("*".into()), api);
            }
            let Some(name) = self.name() else { break };
            let api = self.emit(StepKind::Api(format!("{module}.{name}").into()));
            let known = if self.accept_word("as") { self.name().unwrap_or(name) } else { name };
            self.assign(Target::Name(known), api);
            if !self.accept(",") {
                break;
            }
        }
        self.accept(")");
    }

    fn python_module(&mut self) -> String {
        let mut path = String::new();
        loop {
            if self.accept(".") || self.accept("...") {
                path.push('.');
            } else if self.is_word("import")
                || (self.is_word("as") && !path.ends_with('.'))
                || path.len() > 200
            {
                return path;
            } else if let Some(name) = self.name() {
                path.push_str(&name);
                if !self.is(".") {
                    return path;
                }
            } else {
                return path;
            }
        }
    }
}
