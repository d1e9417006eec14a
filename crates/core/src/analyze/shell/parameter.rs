//! Variables and `${…}`.

use shuck_ast::{
    BourneParameterExpansion as Bourne, ParameterExpansion, ParameterOp, VarRef, Word,
};

use super::Walker;
use super::value::Arg;
use super::visit::Node;
use crate::analyze::UNKNOWN;
use crate::fact::{Tag, Tags};

impl Walker<'_> {
    /// What `$name` gives.
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

    /// A variable the script has not set.
    fn environment(&self, name: &str) -> Arg {
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

    /// What `${…}` gives.
    pub(super) fn parameter(&mut self, src: &str, expansion: &ParameterExpansion) -> Vec<Arg> {
        let Some(bourne) = expansion.bourne() else {
            self.follow_in(src, Node::Parameter(expansion));
            return vec![Arg::unknown(Tags::NONE)];
        };
        match bourne {
            Bourne::Access { reference } => self.access(src, reference),
            Bourne::Operation { reference, operator, operand_word_ast, .. } => {
                self.operation(src, reference, operator, operand_word_ast.as_deref())
            }
            Bourne::Indirect { reference, operator, operand_word_ast, .. } => {
                let operator = operator.as_deref().map(Node::Operator);
                let operand = operand_word_ast.as_deref().map(Node::Word);
                for node in [operator, operand].into_iter().flatten() {
                    self.follow_in(src, node);
                }
                let name = self.access(src, reference).into_iter().next().unwrap_or_default();
                if name.is_known() {
                    self.variable(&name.text)
                } else {
                    vec![Arg::unknown(name.taint)]
                }
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
                value.iter().map(|arg| slice(arg, &offset, length.as_deref())).collect()
            }
            Bourne::Transformation { reference, operator: 'P' } => {
                for value in self.access(src, reference) {
                    self.evaluated(&value.text);
                }
                vec![Arg::unknown(Tags::NONE)]
            }
            Bourne::Length { reference }
            | Bourne::Indices { reference }
            | Bourne::Transformation { reference, .. } => {
                self.subscript(src, reference);
                vec![Arg::unknown(Tags::NONE)]
            }
            Bourne::PrefixMatch { .. } => vec![Arg::unknown(Tags::NONE)],
        }
    }

    /// A subscript is evaluated: `${x[$(…)]}`.
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
        match subscript.syntax_text(src).trim().parse::<usize>() {
            Ok(at) => values.get(at).cloned().into_iter().collect(),
            Err(_) => vec![Arg::unknown(super::expand::taint_of(&values))],
        }
    }

    fn operation(
        &mut self,
        src: &str,
        reference: &VarRef,
        operator: &ParameterOp,
        operand: Option<&Word>,
    ) -> Vec<Arg> {
        let is_set = self.state.values(reference.name.as_str()).is_some();
        let values = self.access(src, reference);
        let is_empty = values.iter().all(|arg| arg.text.is_empty());
        match operator {
            ParameterOp::UseDefault | ParameterOp::AssignDefault => {
                let mut default = operand.map(|word| self.one(src, word)).unwrap_or_default();
                let known = values.iter().all(Arg::is_known);
                if known && !is_empty {
                    return values;
                }
                if !is_set {
                    // The environment may hold something else.
                    default.taint = default.taint.with(Tag::Unknown);
                }
                if matches!(operator, ParameterOp::AssignDefault) {
                    self.state.set(reference.name.as_str(), vec![default.clone()]);
                }
                vec![default]
            }
            ParameterOp::UseReplacement => {
                let replacement = operand.map(|word| self.one(src, word)).unwrap_or_default();
                if is_set && is_empty { Vec::new() } else { vec![replacement] }
            }
            ParameterOp::Error => {
                operand.map(|word| self.one(src, word));
                values
            }
            ParameterOp::UpperFirst | ParameterOp::LowerFirst => {
                operand.map(|word| self.one(src, word));
                values.iter().map(|arg| Arg::unknown(arg.taint)).collect()
            }
            ParameterOp::UpperAll | ParameterOp::LowerAll => {
                operand.map(|word| self.one(src, word));
                let upper = matches!(operator, ParameterOp::UpperAll);
                map_known(&values, |text| {
                    Some(if upper { text.to_uppercase() } else { text.to_lowercase() })
                })
            }
            ParameterOp::RemovePrefixShort { pattern }
            | ParameterOp::RemovePrefixLong { pattern } => {
                self.follow_in(src, Node::Pattern(pattern));
                let pattern = pattern.render(src);
                map_known(&values, |text| trim_start(text, &pattern))
            }
            ParameterOp::RemoveSuffixShort { pattern }
            | ParameterOp::RemoveSuffixLong { pattern } => {
                self.follow_in(src, Node::Pattern(pattern));
                let pattern = pattern.render(src);
                map_known(&values, |text| trim_end(text, &pattern))
            }
            ParameterOp::ReplaceFirst { pattern, replacement_word_ast, .. } => {
                self.follow_in(src, Node::Pattern(pattern));
                let (from, to) = (pattern.render(src), self.one(src, replacement_word_ast));
                map_known(&values, |text| replace(text, &from, &to, 1))
            }
            ParameterOp::ReplaceAll { pattern, replacement_word_ast, .. } => {
                self.follow_in(src, Node::Pattern(pattern));
                let (from, to) = (pattern.render(src), self.one(src, replacement_word_ast));
                map_known(&values, |text| replace(text, &from, &to, usize::MAX))
            }
        }
    }
}

/// `GITHUB_TOKEN`, `DB_PASSWORD`…
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

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '$', '\\'])
}

fn trim_start(text: &str, pattern: &str) -> Option<String> {
    if let Some(mark) =
        pattern.strip_prefix('*').filter(|rest| !is_pattern(rest) && !rest.is_empty())
    {
        // `${x##*/}`: what follows the last mark. The short form differs only with two marks.
        return Some(text.rsplit(mark).next().unwrap_or(text).to_owned());
    }
    (!is_pattern(pattern)).then(|| text.strip_prefix(pattern).unwrap_or(text).to_owned())
}

fn trim_end(text: &str, pattern: &str) -> Option<String> {
    if let Some(mark) =
        pattern.strip_suffix('*').filter(|rest| !is_pattern(rest) && !rest.is_empty())
    {
        return Some(text.rsplit_once(mark).map_or(text, |(before, _)| before).to_owned());
    }
    (!is_pattern(pattern)).then(|| text.strip_suffix(pattern).unwrap_or(text).to_owned())
}

fn replace(text: &str, from: &str, to: &Arg, times: usize) -> Option<String> {
    (!is_pattern(from) && !from.is_empty() && to.is_known())
        .then(|| text.replacen(from, &to.text, times))
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
