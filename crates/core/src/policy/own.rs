//! Rules from a configuration: rows with the same fields as the built-in ones.

use std::collections::BTreeMap;

use crate::analysis::Analysis;
use crate::fact::FactKind;
use crate::policy::allowed::UNLISTED;
use crate::policy::config::{Source, SourceRef};
use crate::policy::error::{ConfigError, Problem, did_you_mean};
use crate::policy::layer::{Layer, PATTERN};
use crate::policy::rank::Rank;
use crate::policy::spot::To;
use crate::policy::{Policy, vocabulary};
use crate::row::Row;
use crate::rule::{Rule, RuleError, When};
use crate::verdict::Finding;

/// A file's rules, indexed by program and kind of fact, so that a hundred cost as much as one.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnRules {
    rules: Vec<Rule>,
    by_program: BTreeMap<String, Vec<usize>>,
    by_fact: BTreeMap<FactKind, Vec<usize>>,
}

impl OwnRules {
    fn new(rules: Vec<Rule>) -> Self {
        let mut set = Self::default();
        for (at, rule) in rules.iter().enumerate() {
            match &rule.when {
                When::Command { program, .. } => {
                    for name in program.iter() {
                        set.by_program.entry(name.to_string()).or_default().push(at);
                    }
                }
                When::Fact { kinds, .. } => {
                    for kind in kinds.iter() {
                        set.by_fact.entry(*kind).or_default().push(at);
                    }
                }
            }
        }
        Self { rules, ..set }
    }

    /// The rules, in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Adds their findings.
    pub(crate) fn find(&self, analysis: &Analysis, findings: &mut Vec<Finding>) {
        if self.rules.is_empty() {
            return;
        }
        for command in &analysis.commands {
            for rule in self.at(self.by_program.get(&command.program)) {
                rule.on_command(command, findings);
            }
        }
        for fact in &analysis.facts {
            for rule in self.at(self.by_fact.get(&fact.kind)) {
                rule.on_fact(fact, findings);
            }
        }
    }

    fn at<'a>(&'a self, places: Option<&'a Vec<usize>>) -> impl Iterator<Item = &'a Rule> {
        places.into_iter().flatten().filter_map(|at| self.rules.get(*at))
    }
}

/// Converts rows to rules.
pub(crate) fn read(
    rank: Rank,
    rows: BTreeMap<String, Row>,
    at: SourceRef<'_>,
) -> Result<OwnRules, ConfigError> {
    let mut rules = Vec::with_capacity(rows.len());
    for (key, row) in rows {
        let path = [To::Key("rules"), To::Key(&key)];
        if !is_key(&key) || key == PATTERN || key == UNLISTED {
            let hint = "use small letters, digits and `-`, and not `custom-pattern` or `unlisted`";
            return Err(at.error(&path, Problem::RuleName(key.clone()), hint));
        }
        if row.hard {
            let [rules, rule] = path;
            let hint = "`verdict: block` is the strictest a configured rule can be";
            let path = [rules, rule, To::Key("hard")];
            return Err(at.error(&path, Problem::HardRule(key.clone()), hint));
        }
        let id = format!("{}.{key}", rank.as_str());
        match Rule::from_row(id, row.clone()) {
            Ok(rule) if !rule.title.trim().is_empty() => rules.push(rule),
            Ok(_) => return Err(missing(&key, "title", at)),
            Err(problem) => return Err(bad_rule(&key, &row, problem, at)),
        }
    }
    Ok(OwnRules::new(rules))
}

fn is_key(key: &str) -> bool {
    let plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
    !key.is_empty() && key.chars().all(plain)
}

fn missing(key: &str, field: &'static str, at: SourceRef<'_>) -> ConfigError {
    let problem = Problem::Value { field, problem: "is missing" };
    let hint = format!("every rule says its `{field}`; see `countersign config init`");
    at.error(&[To::Key("rules"), To::Key(key)], problem, &hint)
}

/// An error that points at the wrong word, where there is one.
fn bad_rule(key: &str, row: &Row, problem: RuleError, at: SourceRef<'_>) -> ConfigError {
    let mut path = vec![To::Key("rules"), To::Key(key)];
    let mut hint = "`countersign rules show` prints a built-in rule to start from".to_owned();
    if let RuleError::Unknown { what, word } = &problem {
        if word.is_empty() {
            return missing(key, what, at);
        }
        let lists = [
            ("fact", row.fact.words()),
            ("where", &row.locations),
            ("with", &row.with),
            ("without", &row.without),
        ];
        let list = lists.iter().find(|(_, words)| words.contains(word));
        if let Some((field, words)) = list.filter(|_| matches!(*what, "fact" | "tag")) {
            path.push(To::Key(field));
            path.extend(words.iter().position(|known| known == word).map(To::Item));
        } else {
            path.push(To::Key(what));
        }
        hint = did_you_mean(vocabulary::nearest_word(what, word), &vocabulary::words_of(what));
    }
    at.error(&path, Problem::Rule { key: key.to_owned(), problem }, &hint)
}

/// Reports whether a rule finds something in an example, under a policy.
pub(crate) type IsFound = fn(&Rule, &str, &Policy) -> bool;

/// Runs the examples of a file's rules.
pub(crate) fn check_examples(
    layer: &Layer,
    source: &Source,
    policy: &Policy,
    is_found: IsFound,
) -> Result<(), ConfigError> {
    for rule in layer.rules.iter() {
        let key = rule.id.split_once('.').map_or(&*rule.id, |(_, key)| key);
        for (list, examples, wanted) in
            [("hits", &rule.hits, true), ("misses", &rule.misses, false)]
        {
            for (index, text) in examples.iter().enumerate() {
                if is_found(rule, text, policy) == wanted {
                    continue;
                }
                let problem = RuleError::Example {
                    list,
                    example: text.to_string(),
                    problem: if wanted { "does not match" } else { "matches" },
                };
                let path = [To::Key("rules"), To::Key(key), To::Key(list), To::Item(index)];
                let problem = Problem::Rule { key: key.to_owned(), problem };
                return Err(SourceRef(source).error(&path, problem, EXAMPLE_HINT));
            }
        }
    }
    Ok(())
}

const EXAMPLE_HINT: &str = "change the rule or the example until they agree";

#[cfg(test)]
mod tests {
    use crate::context::Context;
    use crate::judge::judge;
    use crate::policy::testing::{load, shell};

    /// The error of a user's file, and its hint.
    fn error(text: &str) -> (String, String) {
        let error = load(["", text, ""]).unwrap_err();
        (error.to_string(), error.hint)
    }

    const RULE: &str = "rules:\n  nul:\n    title: Holds a NUL\n    fact: malformed\n    \
                        risk: high\n    verdict: block\n    category: not_understood\n";

    /// A text in a valid rule and its replacement, the message about it, and the hint if it
    /// matters.
    const BROKEN: &[(&str, &str, &str, &str)] = &[
        ("high", "hihg", "user.yaml:5:5: rule `nul`: unknown risk `hihg`", "did you mean `high`?"),
        (
            "fact: malformed",
            "fact: [read, malfored]",
            "user.yaml:4:18: rule `nul`: unknown fact `malfored`",
            "did you mean `malformed`?",
        ),
        (
            "risk: high",
            "risk: high\n    with: [symlnk]",
            "user.yaml:6:12: rule `nul`: unknown tag `symlnk`",
            "did you mean `symlink`?",
        ),
        (
            "    risk: high\n",
            "",
            "user.yaml:2:3: `risk` is missing",
            "every rule says its `risk`; see `countersign config init`",
        ),
        (
            "    title: Holds a NUL\n",
            "",
            "user.yaml:2:3: `title` is missing",
            "every rule says its `title`; see `countersign config init`",
        ),
        ("nul:", "Nul:", "user.yaml:2:3: bad rule name `Nul`", ""),
        ("nul:", "custom-pattern:", "user.yaml:2:3: bad rule name `custom-pattern`", ""),
        (
            "risk: high",
            "hard: true\n    risk: high",
            "user.yaml:5:5: rule `nul` cannot be hard",
            "`verdict: block` is the strictest a configured rule can be",
        ),
        (
            "    fact: malformed\n",
            "",
            "user.yaml:2:3: rule `nul`: a rule needs `program` or `fact`",
            "",
        ),
        (
            "    misses: [ls]\n",
            "",
            "user.yaml:2:3: rule `nul`: a rule needs at least one example under `hits` and one \
             under `misses`",
            "",
        ),
    ];

    #[test]
    fn a_rule_is_checked_word_by_word() {
        let sound = format!("{RULE}    hits: [\"ls \\0\"]\n    misses: [ls]\n");
        assert!(load(["", &sound, ""]).is_ok());
        for (from, to, message, hint) in BROKEN {
            let (said, hinted) = error(&sound.replace(from, to));
            assert_eq!(said, *message);
            assert!(hint.is_empty() || *hint == hinted, "{hinted}");
            assert!(!hinted.is_empty());
        }
    }

    #[test]
    fn an_example_that_does_not_behave_is_named_with_its_place() {
        let text = format!("{RULE}    hits:\n      - \"ls \\0\"\n      - ls\n    misses: [ls]\n");
        let (message, hint) = error(&text);
        assert_eq!(message, "user.yaml:10:9: rule `nul`: example `ls` under `hits` does not match");
        assert_eq!(hint, "change the rule or the example until they agree");
        let text = format!("{RULE}    hits: [\"ls \\0\"]\n    misses: [ls, \"pwd \\0\"]\n");
        let (message, _) = error(&text);
        assert!(message.starts_with("user.yaml:9:18: rule `nul`: example `pwd "), "{message}");
        assert!(message.ends_with("under `misses` matches"), "{message}");
    }

    #[test]
    fn a_configured_rule_finds_under_its_layers_name() {
        let text = format!("{RULE}    hits: [\"ls \\0\"]\n    misses: [ls]\n");
        for (files, id) in [
            ([text.as_str(), "", ""], "organisation.nul"),
            (["", text.as_str(), ""], "user.nul"),
            (["", "", text.as_str()], "project.nul"),
        ] {
            let policy = load(files).unwrap();
            let judgement = judge(&shell("ls \0"), &policy, &Context::default());
            assert!(judgement.findings.iter().any(|finding| finding.rule == id), "{id}");
            assert_eq!(policy.settings().rules, [id]);
        }
    }
}
