//! Rules: every row becomes a `Rule`, and two indexes map programs and facts to rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::row::Row;
use crate::{camel, names, number_in, numbers, optional, parse, tags, words, yaml_files};

pub(crate) fn generate(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut rows = Vec::new();
    for (family, text) in yaml_files(folder)? {
        for (key, row) in parse::<Row>(&family, &text)? {
            let id = format!("{family}.{key}");
            check(&id, &row)?;
            rows.push((id, row));
        }
    }
    let mut code = String::from("static RULES: &[Rule] = &[\n");
    for (id, row) in &rows {
        code.push_str(&rule(id, row));
    }
    code.push_str("];\n");
    code.push_str(&program_index(&rows)?);
    code.push_str(&fact_index(&rows));
    Ok(code)
}

fn check(id: &str, row: &Row) -> Result<(), String> {
    if row.hits.is_empty() || row.misses.is_empty() {
        return Err(format!("{id}: a rule needs hits and misses"));
    }
    if row.program.words().is_empty() == row.fact.words().is_empty() {
        return Err(format!("{id}: a rule has either `program` or `fact`"));
    }
    if !row.optional.is_empty() {
        return Err(format!("{id}: `optional` is for configured rules that allow"));
    }
    if row.hard && row.verdict != "block" {
        return Err(format!("{id}: a hard rule blocks"));
    }
    Ok(())
}

fn rule(id: &str, row: &Row) -> String {
    format!(
        "Rule {{ id: Cow::Borrowed({id:?}), title: Cow::Borrowed({:?}), why: {}, \
         risk: RiskLevel::{}, verdict: Verdict::{}, category: Category::{}, instead: {}, \
         hard: {}, when: {}, optional: None, hits: {}, misses: {} }},\n",
        row.title,
        optional(row.why.as_ref()),
        camel(&row.risk),
        camel(&row.verdict),
        camel(&row.category),
        optional(row.instead.as_ref()),
        row.hard,
        when(row),
        words(&row.hits),
        words(&row.misses),
    )
}

fn when(row: &Row) -> String {
    if row.fact.words().is_empty() {
        return format!(
            "When::Command {{ program: {}, args: {}, any: {}, all: {}, none: {} }}",
            words(row.program.words()),
            words(&row.args),
            words(&each(&row.any)),
            words(&row.all),
            words(&each(&row.none)),
        );
    }
    let kinds: Vec<_> =
        row.fact.words().iter().map(|kind| format!("FactKind::{}", camel(kind))).collect();
    format!(
        "When::Fact {{ kinds: Cow::Borrowed(&[{}]), locations: {}, with: {}, without: {} }}",
        kinds.join(", "),
        tags(&row.locations),
        tags(&row.with),
        tags(&row.without),
    )
}

/// Splits `a|b` into two words, so that none has to be split when a command is judged.
fn each(words: &[String]) -> Vec<String> {
    words.iter().flat_map(|word| word.split('|')).map(str::to_owned).collect()
}

fn program_index(rows: &[(String, Row)]) -> Result<String, std::num::TryFromIntError> {
    let mut index = BTreeMap::<&str, Vec<usize>>::new();
    for (at, (_, row)) in rows.iter().enumerate() {
        for program in row.program.words() {
            index.entry(program).or_default().push(at);
        }
    }
    // Many programs have the same rules.
    let mut lists = Vec::new();
    let numbered: Vec<_> =
        index.iter().map(|(program, rules)| (*program, number_in(&mut lists, rules))).collect();
    let mut code = String::from("static PROGRAM_RULES: &[&[u16]] = &[\n");
    for rules in lists {
        let _ = writeln!(code, "{},", numbers(rules));
    }
    code.push_str("];\n");
    code.push_str(&names("PROGRAM_RULE_NAMES", numbered.into_iter())?);
    Ok(code)
}

fn fact_index(rows: &[(String, Row)]) -> String {
    let mut index = BTreeMap::<&str, Vec<usize>>::new();
    for (at, (_, row)) in rows.iter().enumerate() {
        for kind in row.fact.words() {
            index.entry(kind).or_default().push(at);
        }
    }
    let mut code =
        String::from("const fn fact_rules(kind: FactKind) -> &'static [u16] { match kind {\n");
    let mut arms = BTreeMap::<Vec<usize>, Vec<String>>::new();
    for (kind, rules) in index {
        arms.entry(rules).or_default().push(format!("FactKind::{}", camel(kind)));
    }
    for (rules, kinds) in arms {
        let _ = write!(code, "{} => {}, ", kinds.join(" | "), numbers(&rules));
    }
    code.push_str("_ => &[] } }\n");
    code
}
