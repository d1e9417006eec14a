//! Strings, with the code inside them.

use std::rc::Rc;

use super::expression::LOOSE;
use super::{DEEPEST_STRING, Kind, Language, Parser, Part, Quote, Ref, StepKind};

impl Parser<'_> {
    /// On a string: parses its value.
    pub(super) fn text(&mut self) -> Ref {
        let start = self.start();
        let mut pieces = Vec::new();
        let mut kind = Quote::Plain;
        while let Some(Kind::Text(parts, quote)) = self.kind() {
            if !pieces.is_empty() && (!self.adjacent_strings_join() || *quote != Quote::Plain) {
                break;
            }
            let (parts, quote) = (parts.clone(), *quote);
            kind = quote;
            let end = self.token().map_or(start, |token| token.end);
            match quote {
                Quote::Words => pieces.push(self.words(&parts)),
                _ => self.pieces(parts, start, end, &mut pieces),
            }
            self.skip();
            if quote != Quote::Plain {
                break;
            }
        }
        let end = self.last_end();
        let value = match *pieces {
            [only] => only,
            _ => self.emit_at(StepKind::Joined(pieces), start, end),
        };
        match kind {
            Quote::Plain | Quote::Words => value,
            Quote::Command => self.emit_at(StepKind::Command(value), start, end),
            Quote::Handle => self.emit_at(StepKind::Line(value), start, end),
            Quote::Pattern => self.emit_at(StepKind::Unknown, start, end),
        }
    }

    /// Reports whether `"a" "b"` is one string, as in Python and Ruby.
    const fn adjacent_strings_join(&self) -> bool {
        matches!(self.language, Language::Python | Language::Ruby)
    }

    fn pieces(&mut self, parts: Vec<Part>, start: usize, end: usize, pieces: &mut Vec<Ref>) {
        if parts.is_empty() {
            pieces.push(self.emit_at(StepKind::Text(Rc::default()), start, end));
        }
        for part in parts {
            let piece = match part {
                Part::Text(text) => self.emit_at(StepKind::Text(Rc::new(text)), start, end),
                Part::Code(from, to) => self.embedded(from, to),
            };
            pieces.push(piece);
        }
    }

    fn words(&mut self, parts: &[Part]) -> Ref {
        let mut items = Vec::new();
        for part in parts {
            if let Part::Text(text) = part {
                for word in text.split_whitespace() {
                    items.push(self.emit(StepKind::Text(Rc::new(word.to_owned()))));
                }
            }
        }
        self.emit(StepKind::List(items))
    }

    /// Parses the value of code in a string.
    fn embedded(&mut self, from: usize, to: usize) -> Ref {
        if self.string_depth >= DEEPEST_STRING {
            self.bounded = true;
            return self.unknown();
        }
        self.string_depth += 1;
        let inner = self.read(from, to);
        let outer = std::mem::replace(&mut self.input, inner);
        let mut value = self.unknown();
        while self.token().is_some() {
            let before = self.input.at;
            self.skip_lines();
            value = self.expression(LOOSE);
            self.accept(";");
            if self.input.at == before {
                self.skip();
            }
        }
        self.input = outer;
        self.string_depth -= 1;
        value
    }
}
