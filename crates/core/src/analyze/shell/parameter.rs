//! Variables and `${…}`.

use shuck_ast::{
    BourneParameterExpansion as Bourne, ParameterExpansion, ParameterOp, Subscript, VarRef, Word,
    WordPart,
};

use super::Walker;
use super::pattern::{Length, Pattern, Where};
use super::value::Arg;
use super::visit::Node;
use crate::analyze::UNKNOWN;
use crate::fact::{Tag, Tags};

impl Walker<'_> {
    /// Returns the words of `$name`.
    pub(super) fn variable(&mut self, name: &str) -> Vec<Arg> {
        match name {
            "@" | "*" => match &self.state.positional {
                Some(words) => words.clone(),
                None => vec![Arg::unknown(Tags::NONE)],
            },
            "0" => match self.state.values("0") {
                Some([value, ..]) => value.clone(),
                _ => vec![Arg::literal("bash")],
            },
            _ if name.chars().all(|char| char.is_ascii_digit()) && !name.is_empty() => {
                let at = name.parse::<usize>().unwrap_or(0).wrapping_sub(1);
                match &self.state.positional {
                    Some(words) => words.get(at).cloned().into_iter().collect(),
                    None => vec![Arg::unknown(Tags::NONE)],
                }
            }
            _ => match self.state.values(name) {
                Some([value, ..]) => value.clone(),
                _ => vec![self.environment(name)],
            },
        }
    }

    /// Returns a variable that the script has not set.
    pub(super) fn environment(&self, name: &str) -> Arg {
        match name {
            "HOME" => Arg::literal(self.scene.home()),
            "PWD" => self.cwd().map_or_else(|| Arg::unknown(Tags::NONE), Arg::literal),
            "TMPDIR" => Arg::literal("/tmp"),
            "RUNNER_TEMP" | "BATS_TMPDIR" => Arg::literal(format!("/tmp/{UNKNOWN}")),
            "GITHUB_WORKSPACE" | "CI_PROJECT_DIR" | "WORKSPACE" => {
                self.scene.workspace().map_or_else(|| Arg::unknown(Tags::NONE), Arg::literal)
            }
            "IFS" => Arg::literal(" "),
            "SHELL" | "BASH" => Arg::literal("/bin/bash"),
            _ => Arg::unknown(if names_a_secret(name) {
                Tags::of(&[Tag::Secret])
            } else {
                Tags::NONE
            }),
        }
    }

    /// Returns the words of `${…}`.
    pub(super) fn parameter(&mut self, src: &str, expansion: &ParameterExpansion) -> Vec<Arg> {
        let Some(bourne) = expansion.bourne() else {
            self.follow_in(src, Node::Parameter(expansion));
            return vec![Arg::unknown(Tags::NONE)];
        };
        match bourne {
            Bourne::Access { reference } => self.access(src, reference),
            Bourne::Operation { reference, operator, operand_word_ast, colon_variant, .. } => {
                let operand = operand_word_ast.as_deref();
                let values = self.operation(src, reference, operator, operand, *colon_variant);
                if self.in_quotes && !operand.is_none_or(|word| is_same_in_quotes(src, word)) {
                    return values.iter().map(|value| Arg::unknown(value.taint)).collect();
                }
                values
            }
            Bourne::Indirect { reference, operator, operand_word_ast, .. } => {
                let operator = operator.as_deref().map(Node::Operator);
                let operand = operand_word_ast.as_deref().map(Node::Word);
                for node in [operator, operand].into_iter().flatten() {
                    self.follow_in(src, node);
                }
                self.named_indirectly(src, reference)
            }
            Bourne::Slice {
                reference, offset, offset_word_ast, length, length_word_ast, ..
            } => {
                let value = self.access(src, reference);
                let offset = offset.slice(src).trim().to_owned();
                let length = length.as_ref().map(|length| length.slice(src).trim().to_owned());
                self.calculate(src, Node::Word(offset_word_ast), &offset);
                if let (Some(word), Some(text)) = (length_word_ast, &length) {
                    self.calculate(src, Node::Word(word), text);
                }
                if let Some(whole) = self.whole_list(reference, &value) {
                    return part_of_list(whole, &offset, length.as_deref())
                        .unwrap_or_else(|| vec![Arg::unknown(super::expand::taint_of(&value))]);
                }
                value.iter().map(|arg| slice(arg, &offset, length.as_deref())).collect()
            }
            Bourne::Transformation { reference, operator: 'P' } => {
                for value in self.access(src, reference) {
                    self.evaluated(&value.text);
                }
                vec![Arg::unknown(Tags::NONE)]
            }
            Bourne::Transformation { reference, operator } => {
                map_known(&self.access(src, reference), |text| transformed(text, *operator))
            }
            Bourne::Length { reference } | Bourne::Indices { reference } => {
                self.subscript(src, reference);
                vec![Arg::unknown(Tags::NONE)]
            }
            Bourne::PrefixMatch { .. } => {
                vec![Arg::unknown(Tags::of(&[Tag::Local, Tag::Secret]))]
            }
        }
    }

    /// Returns the value of the variable whose name is in another.
    fn named_indirectly(&mut self, src: &str, reference: &VarRef) -> Vec<Arg> {
        let name = self.access(src, reference).into_iter().next().unwrap_or_default();
        if name.is_known() {
            self.variable(&name.text)
        } else {
            // The value of each variable whose name was listed.
            vec![Arg::unknown(name.taint.without(Tag::Local))]
        }
    }

    /// Follows a subscript, which is evaluated: `${x[$(…)]}`.
    pub(super) fn subscript(&mut self, src: &str, reference: &VarRef) {
        if let Some(subscript) = reference.subscript.as_deref() {
            self.calculate(src, Node::Subscript(subscript), subscript.syntax_text(src));
        }
    }

    fn access(&mut self, src: &str, reference: &VarRef) -> Vec<Arg> {
        self.subscript(src, reference);
        let values = self.variable(reference.name.as_str());
        let Some(subscript) = reference.subscript.as_deref() else {
            // `$array` is its first element.
            return match self.state.values(reference.name.as_str()) {
                Some(_) => values.into_iter().take(1).collect(),
                None => values,
            };
        };
        if subscript.is_array_selector() {
            return values;
        }
        let at = subscript.syntax_text(src).trim().parse::<isize>().ok();
        let at = at.map(|at| match usize::try_from(at) {
            Ok(at) => Some(at),
            Err(_) => values.len().checked_sub(at.unsigned_abs()),
        });
        match at {
            // None of its words is known.
            _ if values.iter().all(|value| !value.is_known()) => values,
            Some(Some(at)) => values.get(at).cloned().into_iter().collect(),
            _ => vec![Arg::unknown(super::expand::taint_of(&values))],
        }
    }

    fn operation(
        &mut self,
        src: &str,
        reference: &VarRef,
        operator: &ParameterOp,
        operand: Option<&Word>,
        or_empty: bool,
    ) -> Vec<Arg> {
        let is_set = self.is_set(reference.name.as_str());
        let values = self.access(src, reference);
        // Several words are joined first, with a separator that counts.
        let is_empty = values.len() < 2 && values.iter().all(|arg| arg.text.is_empty());
        match operator {
            ParameterOp::UseDefault | ParameterOp::AssignDefault => {
                let default = operand.map(|word| self.one(src, word)).unwrap_or_default();
                let is_kept =
                    values.iter().all(Arg::is_known) && (!is_empty || is_set && !or_empty);
                if is_kept {
                    return values;
                }
                let assigns = matches!(operator, ParameterOp::AssignDefault);
                vec![self.default(reference, &values, default, assigns)]
            }
            ParameterOp::UseReplacement => {
                let replacement = operand.map(|word| self.one(src, word)).unwrap_or_default();
                if is_set && is_empty && or_empty { Vec::new() } else { vec![replacement] }
            }
            ParameterOp::Error => {
                operand.map(|word| self.one(src, word));
                values
            }
            ParameterOp::UpperAll if operand.is_none() => {
                map_known(&values, |text| Some(text.to_uppercase()))
            }
            ParameterOp::LowerAll if operand.is_none() => {
                map_known(&values, |text| Some(text.to_lowercase()))
            }
            // With a pattern, only some characters change.
            ParameterOp::UpperAll
            | ParameterOp::LowerAll
            | ParameterOp::UpperFirst
            | ParameterOp::LowerFirst => {
                operand.map(|word| self.one(src, word));
                values.iter().map(|arg| Arg::unknown(arg.taint)).collect()
            }
            ParameterOp::RemovePrefixShort { pattern }
            | ParameterOp::RemovePrefixLong { pattern }
            | ParameterOp::RemoveSuffixShort { pattern }
            | ParameterOp::RemoveSuffixLong { pattern } => {
                self.trimmed(src, pattern, &values, operator)
            }
            ParameterOp::ReplaceFirst { pattern, replacement_word_ast, .. } => {
                let with = self.replacement(src, replacement_word_ast);
                self.replaced(src, pattern, &values, &with, Where::First)
            }
            ParameterOp::ReplaceAll { pattern, replacement_word_ast, .. } => {
                let with = self.replacement(src, replacement_word_ast);
                self.replaced(src, pattern, &values, &with, Where::Everywhere)
            }
        }
    }

    /// Returns the default of a variable that may be empty.
    fn default(
        &mut self,
        reference: &VarRef,
        values: &[Arg],
        mut default: Arg,
        assigns: bool,
    ) -> Arg {
        if !self.is_set(reference.name.as_str()) {
            // The environment may contain another value.
            default.taint = default.taint.with(Tag::Unknown);
        } else if !values.iter().all(Arg::is_known) {
            // Either value is possible.
            self.floor_of(&default.text, default.span);
            return Arg::unknown(super::expand::taint_of(values).and(default.taint));
        }
        if assigns {
            self.assign_default(reference, &default);
        }
        default
    }

    /// Reports whether the script has given a variable a value.
    fn is_set(&self, name: &str) -> bool {
        match (&self.state.positional, name.parse::<usize>()) {
            (Some(words), Ok(at)) => at <= words.len(),
            (Some(words), Err(_)) if matches!(name, "@" | "*") => !words.is_empty(),
            _ => self.state.values(name).is_some(),
        }
    }

    /// Assigns the default of `${x:=…}`; the result for a list is unknown.
    fn assign_default(&mut self, reference: &VarRef, default: &Arg) {
        let name = reference.name.as_str();
        let is_list = reference.subscript.is_some()
            || matches!(self.state.values(name), Some([value, ..]) if value.len() > 1);
        let value = if is_list { Arg::unknown(default.taint) } else { default.clone() };
        self.state.set(name, vec![value]);
    }

    /// Returns the list that `${list[@]:…}` and `${@:…}` select from; `None` for a single value.
    fn whole_list(&mut self, reference: &VarRef, values: &[Arg]) -> Option<Vec<Arg>> {
        if matches!(reference.name.as_str(), "@" | "*") {
            self.state.positional.as_ref()?;
            // Here the name of the script comes first.
            return Some([self.variable("0"), values.to_vec()].concat());
        }
        let is_list = reference.subscript.as_deref().is_some_and(Subscript::is_array_selector);
        is_list.then(|| values.to_vec())
    }

    /// Returns values without the part that a pattern matches.
    fn trimmed(
        &mut self,
        src: &str,
        pattern: &shuck_ast::Pattern,
        values: &[Arg],
        operator: &ParameterOp,
    ) -> Vec<Arg> {
        self.follow_in(src, Node::Pattern(pattern));
        let pattern = Pattern::read(&pattern.render_syntax(src));
        let length = match operator {
            ParameterOp::RemovePrefixShort { .. } | ParameterOp::RemoveSuffixShort { .. } => {
                Length::Shortest
            }
            _ => Length::Longest,
        };
        let at_start = matches!(
            operator,
            ParameterOp::RemovePrefixShort { .. } | ParameterOp::RemovePrefixLong { .. }
        );
        map_known(values, |text| {
            let pattern = pattern.as_ref()?;
            if at_start {
                pattern.without_start(text, length)
            } else {
                pattern.without_end(text, length)
            }
        })
    }

    /// Returns the replacement of a match; unknown where versions of bash differ.
    fn replacement(&mut self, src: &str, word: &Word) -> Arg {
        let with = self.one(src, word);
        let is_escaped = self.in_quotes && word.span.slice(src).contains(['\\', '\'']);
        // Newer versions replace `&` with the matched text.
        if is_escaped || with.text.contains('&') { Arg::unknown(with.taint) } else { with }
    }

    /// Returns values in which a text replaces the matches of a pattern.
    fn replaced(
        &mut self,
        src: &str,
        pattern: &shuck_ast::Pattern,
        values: &[Arg],
        with: &Arg,
        place: Where,
    ) -> Vec<Arg> {
        self.follow_in(src, Node::Pattern(pattern));
        let source = pattern.render_syntax(src);
        let (source, place) = match (place, source.chars().next()) {
            (Where::First, Some('#')) => (source.get(1..).unwrap_or_default(), Where::Start),
            (Where::First, Some('%')) => (source.get(1..).unwrap_or_default(), Where::End),
            _ => (source.as_str(), place),
        };
        let pattern = Pattern::read(source);
        map_known(values, |text| {
            pattern.as_ref().filter(|_| with.is_known())?.replaced(text, &with.text, place)
        })
    }
}

/// Reports whether a word means the same between double quotes, where single quotes and most
/// backslashes are literal.
fn is_same_in_quotes(src: &str, word: &Word) -> bool {
    word.parts.iter().all(|part| match &part.kind {
        WordPart::SingleQuoted { .. } => false,
        WordPart::Literal(_) => !part.span.slice(src).contains('\\'),
        _ => true,
    })
}

/// Reports whether a variable's name suggests a secret: `GITHUB_TOKEN`, `DB_PASSWORD`…
pub(super) fn names_a_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "API_KEY",
        "APIKEY",
        "PRIVATE_KEY",
        "ACCESS_KEY",
        "CREDENTIAL",
    ]
    .iter()
    .any(|word| upper.contains(word))
}

fn map_known(values: &[Arg], change: impl Fn(&str) -> Option<String>) -> Vec<Arg> {
    values
        .iter()
        .map(|arg| match (arg.is_known(), change(&arg.text)) {
            (true, Some(text)) => Arg { text, ..arg.clone() },
            _ => Arg::unknown(arg.taint),
        })
        .collect()
}

/// Returns a slice of a list, from an offset and with an optional length.
fn part_of_list(list: Vec<Arg>, offset: &str, length: Option<&str>) -> Option<Vec<Arg>> {
    let offset = offset.parse::<i64>().ok()?;
    let start = if offset < 0 {
        list.len().checked_sub(usize::try_from(offset.unsigned_abs()).ok()?)?
    } else {
        usize::try_from(offset).ok()?
    };
    let most = length.map_or(Some(list.len()), |length| length.parse().ok())?;
    Some(list.into_iter().skip(start).take(most).collect())
}

/// Applies `${x@Q}` and similar operators.
fn transformed(text: &str, operator: char) -> Option<String> {
    match operator {
        'U' => Some(text.to_uppercase()),
        'L' => Some(text.to_lowercase()),
        'u' => {
            let first = text.chars().next().map(|first| first.to_uppercase().to_string());
            let rest: String = text.chars().skip(1).collect();
            Some(first.unwrap_or_default() + &rest)
        }
        'Q' if !text.chars().any(char::is_control) => {
            Some(format!("'{}'", text.replace('\'', "'\\''")))
        }
        _ => None,
    }
}

fn slice(arg: &Arg, offset: &str, length: Option<&str>) -> Arg {
    let cut = || {
        let offset = offset.parse::<i64>().ok()?;
        let count = arg.text.chars().count();
        let start = if offset < 0 {
            count.checked_sub(usize::try_from(offset.unsigned_abs()).ok()?)?
        } else {
            usize::try_from(offset).ok()?
        };
        let most = match length {
            None => count,
            Some(length) => length.parse::<usize>().ok()?,
        };
        Some(arg.text.chars().skip(start).take(most).collect::<String>())
    };
    match cut() {
        Some(text) if arg.is_known() => Arg { text, ..arg.clone() },
        _ => Arg::unknown(arg.taint),
    }
}
