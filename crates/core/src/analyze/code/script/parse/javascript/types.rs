//! Types of TypeScript, which are skipped.

use super::super::{Kind, Parser};

impl Parser<'_> {
    /// Skips `!: type` or `?: type` after a name.
    pub(super) fn skip_type(&mut self) {
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

    pub(super) fn skip_type_declaration(&mut self) {
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

    pub(super) fn skip_generics(&mut self) {
        if self.is("<") {
            let end = self.input.end;
            let mut at = self.input.at;
            while at < end && !self.token_at(at).is_some_and(|token| token.kind.is("(")) {
                at += 1;
            }
            self.input.at = at;
        }
    }

    /// Skips `: Promise<{a: string}>` before a body.
    pub(super) fn skip_result_type(&mut self) {
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
}
