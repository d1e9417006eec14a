//! Variables: their possible values, branch by branch.

use super::eval::posix;
use super::lex::{Kind, Token};
use super::shape::{Block, after_word};
use super::value::Value;
use super::{Logged, Open, Walker};

impl Walker<'_> {
    /// Returns the possible values of a name.
    pub(super) fn variable(&self, name: &str) -> Value {
        if self
            .blocks
            .iter()
            .rev()
            .take(64)
            .any(|open| open.given.iter().any(|given| given == name))
        {
            return Value::unknown();
        }
        let now = self.variables.get(name);
        let restless = self.restless.contains(name);
        match (now, self.everywhere.get(name)) {
            (Some(now), Some(ever)) if restless && self.is_again() => now.clone().or(ever),
            (Some(now), _) if !restless || self.is_again() => now.clone(),
            (Some(now), Some(ever)) => now.clone().or(ever),
            (Some(now), None) => now.clone(),
            (None, Some(ever)) => ever.clone(),
            (None, None) => Value::unknown(),
        }
    }

    /// Reports whether this may run again, or later than its position in the script.
    fn is_again(&self) -> bool {
        let again = |open: &Open| matches!(open.block, Block::Handler | Block::Repeat);
        self.blocks.iter().rev().take(64).any(again)
    }

    /// Assigns a value to a name.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        if !self.spend_work(value.work()) {
            return;
        }
        if self.rehearsing {
            if self.is_again() {
                self.restless.insert(name.to_owned());
            }
            let known = self.everywhere.remove(name);
            let either = known.map_or_else(|| value.clone(), |known| known.or(&value));
            self.everywhere.insert(name.to_owned(), either);
        }
        let before = self.variables.insert(name.to_owned(), value);
        if let Some(open) = self.blocks.last_mut()
            && !open.log.contains_key(name)
        {
            open.log.insert(name.to_owned(), Logged { before, left: None });
        }
    }

    /// Ends a branch: the values that it set are put aside, and the previous ones are restored.
    pub(super) fn end_branch(&mut self) {
        let Some(mut open) = self.blocks.pop() else { return };
        for (name, Logged { before, left }) in &mut open.log {
            self.spend_work(before.as_ref().map_or(1, Value::work));
            let now = match before {
                Some(before) => self.variables.insert(name.clone(), before.clone()),
                None => self.variables.remove(name),
            };
            *left = match (left.take(), now) {
                (Some(left), Some(now)) => Some(left.or(&now)),
                (left, now) => left.or(now),
            };
        }
        self.blocks.push(open);
    }

    /// Ends a block, which may have run or not: the values that it set are among the possible ones.
    pub(super) fn end_block(&mut self) {
        let Some(open) = self.blocks.pop() else { return };
        let always = matches!(
            open.block,
            Block::Tell
                | Block::Using
                | Block::Considering
                | Block::Ignoring
                | Block::Timeout
                | Block::Transaction
        );
        for (name, Logged { before, left }) in open.log {
            let mut value = self.variables.remove(&name);
            if !always {
                for other in [left.as_ref(), before.as_ref()].into_iter().flatten() {
                    self.spend_work(other.work());
                    value = Some(value.map_or_else(|| other.clone(), |value| value.or(other)));
                }
            }
            if let Some(value) = value {
                self.variables.insert(name.clone(), value);
            }
            if let Some(around) = self.blocks.last_mut() {
                around.log.entry(name).or_insert(Logged { before, left: None });
            }
        }
    }

    /// Follows `set x to y`, `copy y to x`, `property x : y`, also after `tell z to` and `if z
    /// then`.
    pub(super) fn assign(&mut self, statement: &[Token<'_>]) {
        let mut rest = statement;
        let mut perhaps = false;
        loop {
            let inner = match rest.first().map_or("", |token| token.word()) {
                "tell" => after_word(rest, "to"),
                "if" => after_word(rest, "then"),
                _ => break,
            };
            let Some(inner) = inner else { return };
            perhaps |= rest.first().is_some_and(|token| token.word() == "if");
            rest = inner;
        }
        if perhaps {
            // A conditional assignment leaves both values possible.
            self.blocks.push(Open::new(Block::If));
            self.assign_plain(rest);
            self.end_block();
        } else {
            self.assign_plain(rest);
        }
    }

    fn assign_plain(&mut self, statement: &[Token<'_>]) {
        match statement.first().map_or("", |token| token.word()) {
            "set" => self.assign_set(statement),
            "copy" => {
                if let Some([target, ..]) = after_word(statement, "to") {
                    let (value, _) = self.value(statement.get(1..).unwrap_or_default());
                    self.assign_name(target, value);
                }
            }
            "property" | "prop" => {
                if let [_, target, colon, value @ ..] = statement
                    && colon.is_sign(":")
                {
                    let (value, _) = self.value(value);
                    self.assign_name(target, value);
                }
            }
            _ => {}
        }
    }

    fn assign_set(&mut self, statement: &[Token<'_>]) {
        let Some(given) = after_word(statement, "to") else { return };
        let names = statement.len().saturating_sub(given.len() + 1);
        let targets = statement.get(1..names).unwrap_or_default();
        match targets {
            [open, ..] if open.is_sign("{") => {
                for target in targets {
                    self.assign_name(target, Value::unknown());
                }
            }
            // Most assignments of a script are to a property of something else.
            [target] => {
                let (value, _) = self.value(given);
                self.assign_name(target, value);
            }
            [article, target] if matches!(article.word(), "my" | "the" | "its") => {
                let (value, _) = self.value(given);
                self.assign_name(target, value);
            }
            _ => self.assign_part(targets, given),
        }
    }

    /// Follows `set end of x to y` and `set x's y to z`: `x` may now contain this too.
    fn assign_part(&mut self, targets: &[Token<'_>], given: &[Token<'_>]) {
        let owner = match targets {
            [owner, possessive, ..] if possessive.kind == Kind::Possessive => Some(owner),
            [.., of, owner] if of.word() == "of" => Some(owner),
            _ => None,
        };
        let Some(owner) = owner.filter(|owner| owner.kind == Kind::Word) else { return };
        if let Some(known) = self.variables.get(&*owner.text).cloned() {
            let (value, _) = self.value(given);
            self.set(&owner.text, known.or(&value));
        }
    }

    fn assign_name(&mut self, target: &Token<'_>, value: Value) {
        if matches!(target.kind, Kind::Word | Kind::Name) {
            self.set(&target.text.to_ascii_lowercase(), value);
        }
    }

    /// Follows `repeat with x in y`.
    pub(super) fn loop_variable(&mut self, statement: &[Token<'_>]) {
        if let [_, with, name, rest @ ..] = statement
            && with.word() == "with"
        {
            let value = match rest {
                [keyword, list @ ..] if keyword.word() == "in" => self.value(list).0,
                _ => Value::unknown(),
            };
            self.assign_name(name, value);
        }
    }

    /// Returns the paths at the start of these tokens.
    pub(super) fn paths(&mut self, tokens: &[Token<'_>]) -> (Vec<String>, usize) {
        let (value, used) = self.value(tokens);
        (value.texts.iter().map(|text| posix(text)).collect(), used)
    }
}
