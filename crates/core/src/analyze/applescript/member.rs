//! JavaScript for Automation that names its members in a roundabout way: `app["do" + "X"](…)`,
//! `Reflect.get(app, "x")`, `const {x: y} = app`, `x.call(app, …)`.
//!
//! Each is turned into the plain spelling, so that the reader has one form to know. A member of
//! an app or of Cocoa whose name nobody can tell, and that is called, becomes [`HIDDEN`].

use std::collections::{HashMap, HashSet};

use super::javascript::{Kind, Token};

/// Stands for a member whose name is not known.
pub(super) const HIDDEN: &str = "\u{E000}hidden";

/// Texts that one name is put together from.
const MOST_PARTS: usize = 64;

/// The tokens in their plain spelling.
pub(super) fn plain(tokens: &[Token]) -> Vec<Token> {
    let mut folder =
        Folder { tokens, texts: HashMap::new(), renamed: HashMap::new(), apps: HashSet::new() };
    folder.learn();
    folder.fold()
}

struct Folder<'t> {
    tokens: &'t [Token],
    /// Names that hold a text.
    texts: HashMap<String, String>,
    /// Names that stand for a member.
    renamed: HashMap<String, String>,
    /// Names that hold an app or something of Cocoa.
    apps: HashSet<String>,
}

impl Folder<'_> {
    fn name(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", Token::name)
    }

    fn is(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(sign))
    }

    /// What names hold: `n = "x"`, `for (const n of ["x"])`, `{x: n} = app`, `n = Application(…)`.
    fn learn(&mut self) {
        for at in 0..self.tokens.len() {
            let name = self.name(at).to_owned();
            if name.is_empty() {
                continue;
            }
            if self.is(at + 1, '=') && !self.is(at + 2, '=') {
                if let Some((text, _)) = self.text(at + 2) {
                    self.texts.insert(name, text);
                } else if self.is_app(at + 2) {
                    self.apps.insert(name);
                }
            } else if self.name(at + 1) == "of" && self.is(at + 2, '[') {
                if let Some((text, _)) = self.text(at + 3) {
                    self.texts.insert(name, text);
                }
            } else if self.is(at + 1, ':')
                && self.is(at + 3, '}')
                && self.is(at + 4, '=')
                && !self.name(at + 2).is_empty()
            {
                self.renamed.insert(self.name(at + 2).to_owned(), name);
            }
        }
    }

    fn is_app(&self, at: usize) -> bool {
        let name = self.name(at);
        matches!(name, "Application" | "$" | "ObjC") || self.apps.contains(name)
    }

    fn fold(&self) -> Vec<Token> {
        let mut out: Vec<Token> = Vec::with_capacity(self.tokens.len());
        let mut at = 0;
        while let Some(token) = self.tokens.get(at) {
            let start = token.at;
            let named = |name: &str| Token { kind: Kind::Name(name.to_owned()), at: start };
            let dot = Token { kind: Kind::Sign('.'), at: start };
            let owned = out
                .last()
                .is_some_and(|last| !last.name().is_empty() || last.is(')') || last.is(']'));
            if token.is('[') && owned {
                if let Some((text, end)) = self.text(at + 1).filter(|(_, end)| self.is(*end, ']')) {
                    out.extend([dot, named(&text)]);
                    at = end + 1;
                    continue;
                }
                if let Some(end) = self.hidden(&out, at) {
                    out.extend([dot, named(HIDDEN)]);
                    at = end + 1;
                    continue;
                }
            }
            if let Some((text, end)) = self.reflected(at) {
                out.extend([named("it"), dot, named(&text)]);
                at = end;
                continue;
            }
            if let Some(skip) = self.handed_on(at) {
                out.push(Token { kind: Kind::Sign('('), at: start });
                at += skip;
                continue;
            }
            out.push(match self.renamed.get(token.name()) {
                Some(member) if !self.is(at + 1, '}') => named(member),
                _ => token.clone(),
            });
            at += 1;
        }
        out
    }

    /// The closing bracket of a member of an app that is called and that nobody can tell.
    fn hidden(&self, before: &[Token], at: usize) -> Option<usize> {
        let owner = before.last().map_or("", Token::name);
        let called = before.len().checked_sub(4).and_then(|at| before.get(at..));
        let current = called.is_some_and(|last| {
            matches!(last, [.., member, open, close]
                if member.name() == "currentApplication" && open.is('(') && close.is(')'))
        });
        if owner != "$" && !self.apps.contains(owner) && !current {
            return None;
        }
        let end = (at + 1..self.tokens.len().min(at + 64)).find(|at| self.is(*at, ']'))?;
        let number = self
            .tokens
            .get(at + 1)
            .is_some_and(|token| matches!(token.kind, Kind::Sign(sign) if sign.is_ascii_digit()));
        (self.is(end + 1, '(') && !number).then_some(end)
    }

    /// `Reflect.get(app, "x")`.
    fn reflected(&self, at: usize) -> Option<(String, usize)> {
        let get = self.name(at) == "Reflect" && self.name(at + 2) == "get" && self.is(at + 3, '(');
        let comma = (at + 4..at + 24).find(|at| self.is(*at, ',')).filter(|_| get)?;
        let (text, end) = self.text(comma + 1)?;
        self.is(end, ')').then_some((text, end + 1))
    }

    /// How many tokens `.call(app,` and `.apply(app, [` take, where they stand here.
    fn handed_on(&self, at: usize) -> Option<usize> {
        let how = self.name(at + 1);
        if !self.is(at, '.') || !matches!(how, "call" | "apply") || !self.is(at + 2, '(') {
            return None;
        }
        // Only the simple receiver: anything else is left as it stands.
        let receiver = !self.name(at + 3).is_empty() && self.is(at + 4, ',');
        let list = usize::from(how == "apply" && self.is(at + 5, '['));
        receiver.then_some(5 + list)
    }

    /// The text that starts here, and where it ends.
    fn text(&self, start: usize) -> Option<(String, usize)> {
        let mut text = String::new();
        let mut at = start;
        for _ in 0..MOST_PARTS {
            let (part, end) = self.part(at)?;
            text.push_str(&part);
            at = end;
            if !self.is(at, '+') {
                return Some((text, at));
            }
            at += 1;
        }
        None
    }

    fn part(&self, at: usize) -> Option<(String, usize)> {
        match &self.tokens.get(at)?.kind {
            Kind::Text(text) => Some((text.clone(), at + 1)),
            Kind::Name(name) if name == "String" && self.name(at + 2) == "fromCharCode" => {
                self.characters(at + 4)
            }
            Kind::Name(name) => self.texts.get(name).map(|text| (text.clone(), at + 1)),
            Kind::Sign('[') => self.joined(at + 1),
            Kind::Sign(_) => None,
        }
    }

    /// `["a", "b"].join("")`.
    fn joined(&self, start: usize) -> Option<(String, usize)> {
        let mut parts = Vec::new();
        let mut at = start;
        while let Kind::Text(text) = &self.tokens.get(at)?.kind {
            parts.push(text.as_str());
            at += 1;
            if !self.is(at, ',') || parts.len() > MOST_PARTS {
                break;
            }
            at += 1;
        }
        if !self.is(at, ']') || self.name(at + 2) != "join" || !self.is(at + 3, '(') {
            return None;
        }
        match &self.tokens.get(at + 4)?.kind {
            Kind::Text(between) if self.is(at + 5, ')') => Some((parts.join(between), at + 6)),
            Kind::Sign(')') => Some((parts.join(","), at + 5)),
            _ => None,
        }
    }

    /// The numbers of `String.fromCharCode(…)`, whose digits are signs of their own.
    fn characters(&self, start: usize) -> Option<(String, usize)> {
        let mut text = String::new();
        let mut number = 0_u32;
        for at in start..start + 512 {
            match self.tokens.get(at)?.kind {
                Kind::Sign(digit) if digit.is_ascii_digit() => {
                    let digit = digit.to_digit(10)?;
                    number = number.saturating_mul(10).saturating_add(digit);
                }
                Kind::Sign(end @ (',' | ')')) => {
                    text.push(char::from_u32(number)?);
                    number = 0;
                    if end == ')' {
                        return Some((text, at + 1));
                    }
                }
                _ => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::analyze::applescript::nested;
    use crate::context::Context;
    use crate::fact::FactKind;
    use crate::location::Scene;

    fn kinds(script: &str) -> Vec<FactKind> {
        let context = Context { home: Some("/Users/dev".into()), ..Context::default() };
        let found = nested(script, &Scene::new(&context, &[]), None);
        found.facts.into_iter().map(|fact| fact.kind).collect()
    }

    #[test]
    fn a_member_in_disguise_is_the_member() {
        for call in [
            "a['doShell' + 'Script']('whoami')",
            "a[['do', 'ShellScript'].join('')]('whoami')",
            "const n = 'doShellScript'; a[n]('whoami')",
            "for (const m of ['doShellScript']) a[m]('whoami')",
            "a.doShellScript.call(a, 'whoami')",
            "const {doShellScript: go} = a; go.apply(a, ['whoami'])",
            "Reflect.get(a, 'doShellScript')('whoami')",
            "$[String.fromCharCode(115,121,115,116,101,109)]('whoami')",
        ] {
            let script = format!("const a = Application.currentApplication(); {call};");
            let found = kinds(&script);
            assert!(found.contains(&FactKind::ScriptShellRead), "{call}: {found:?}");
        }
        let unknown = kinds("const a = Application('Finder'); a[pick()]('x');");
        assert!(unknown.contains(&FactKind::UnknownCode), "{unknown:?}");
        let plain = kinds("const a = Application('Finder'); a.windows[0].name();");
        assert!(!plain.contains(&FactKind::UnknownCode), "{plain:?}");
    }
}
