//! Examples: the `hits` and `misses` of a rule, turned into actions and judged.
//!
//! Ours run at test time, the user's when a policy is loaded, both by `countersign rules test`.
//! An example is a shell command unless it says otherwise:
//!
//! ```text
//! python: import os                  javascript: perl: ruby: likewise
//! sql: DROP TABLE users              sql[mysql]: names the dialect
//! write: .env                        read: delete: list: likewise
//! padded: ls                         followed by more blanks than can be judged
//! navigate: https://example.com      login: likewise
//! click: Delete account              on a page; `app click:` in a desktop app
//! applescript: tell app "Finder" to activate
//! skill: email.send                  tool: server.tool, named: deleteAccount
//! {"kind":"download","files":[]}     anything else, as JSON
//! ```
//!
//! The circumstances may be given before any of them: `tracked src/a: rm src/a` (git has it),
//! `ignored out: rm -r out`, `made a.txt: rm a.txt` (by this agent in this session), `empty old:
//! rmdir old` (nothing is in it), `sensitive ~/notes: write: ~/notes/x` (the user named it),
//! `origin https://a.example: navigate: /x` (where the agent may go, and is), `resolves
//! a.example=10.0.0.1: navigate: https://a.example/` (the answer of the name server), `pinned
//! server/tool=DIGEST: tool: server.tool` (the definition that was agreed to).

use std::collections::BTreeMap;

use crate::action::{Action, Language, Surface, UiOp};
use crate::context::Context;
use crate::judge::judge;
use crate::policy::Policy;
use crate::rule::{Rule, RuleError};
use crate::verdict::Judgement;

/// Returns the action that an example describes.
#[must_use]
pub fn example_action(text: &str) -> Action {
    let (_, text) = surroundings(text, &Context::default());
    if text.starts_with(r#"{"kind":"#)
        && let Ok(action) = serde_json::from_str(text)
    {
        return action;
    }
    text.split_once(": ")
        .and_then(|(prefix, rest)| prefixed(prefix, rest))
        .unwrap_or_else(|| Action::Shell { command: text.to_owned(), cwd: None })
}

/// The context that examples are judged in.
#[must_use]
pub fn example_context() -> Context {
    Context {
        home: Some("/home/user".to_owned()),
        workspace: Some("/home/user/project".to_owned()),
        cwd: Some("/home/user/project".to_owned()),
        ..Context::default()
    }
}

/// Judges an example in this context and its own.
#[must_use]
pub fn judge_example(text: &str, policy: &Policy, context: &Context) -> Judgement {
    let (context, _) = surroundings(text, context);
    judge(&example_action(text), policy, &context)
}

/// Reports whether a rule finds something in an example, judged in this context and its own.
#[must_use]
pub fn example_matches(rule: &Rule, text: &str, policy: &Policy, context: &Context) -> bool {
    let judgement = judge_example(text, policy, context);
    judgement.findings.iter().any(|finding| finding.rule == rule.id)
}

/// Runs every example of one rule.
///
/// # Errors
/// The first hit that does not match, or miss that does.
pub fn check_examples(rule: &Rule, policy: &Policy, context: &Context) -> Result<(), RuleError> {
    example_failures(rule, policy, context).next().map_or(Ok(()), Err)
}

/// Every example of one rule that fails.
pub fn example_failures<'a>(
    rule: &'a Rule,
    policy: &'a Policy,
    context: &'a Context,
) -> impl Iterator<Item = RuleError> + 'a {
    let hits = rule
        .hits
        .iter()
        .filter(|example| !example_matches(rule, example, policy, context))
        .map(|example| failure("hits", example, "does not match"));
    let misses = rule
        .misses
        .iter()
        .filter(|example| example_matches(rule, example, policy, context))
        .map(|example| failure("misses", example, "matches"));
    hits.chain(misses)
}

/// Splits an example into the context it declares and the rest of it.
fn surroundings<'a>(text: &'a str, context: &Context) -> (Context, &'a str) {
    let mut context = context.clone();
    let mut rest = text;
    while let Some((word, path, after)) = given(rest) {
        match word {
            "sensitive" => context.sensitive_paths.push(path.to_owned()),
            "tracked" => context.paths.entry(path.to_owned()).or_default().tracked_clean = true,
            "ignored" => context.paths.entry(path.to_owned()).or_default().ignored = true,
            "empty" => context.paths.entry(path.to_owned()).or_default().empty = true,
            "made" => context.paths.entry(path.to_owned()).or_default().made_in_session = true,
            "pinned" => {
                let (tool, digest) = path.split_once('=').unwrap_or((path, ""));
                context.pinned_tools.insert(tool.to_owned(), digest.to_owned());
            }
            "resolves" => {
                let (domain, address) = path.split_once('=').unwrap_or((path, ""));
                context.addresses.entry(domain.to_owned()).or_default().push(address.to_owned());
            }
            "origin" => {
                if path.contains("://") {
                    context.base_url.get_or_insert_with(|| path.to_owned());
                }
                context.allowed_origins.get_or_insert_default().push(path.to_owned());
            }
            _ => break,
        }
        rest = after;
    }
    (context, rest)
}

/// Splits `WORD PATH: REST` into its three parts.
fn given(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(": ")?;
    let (word, path) = before.split_once(' ')?;
    (!path.contains(' ')).then_some((word, path, rest))
}

fn failure(list: &'static str, example: &str, problem: &'static str) -> RuleError {
    RuleError::Example { list, example: example.to_owned(), problem }
}

fn prefixed(prefix: &str, rest: &str) -> Option<Action> {
    let text = || rest.to_owned();
    let code = |language| Action::Code { language, source: rest.to_owned(), dialect: None };
    Some(match prefix {
        "python" => code(Language::Python),
        "javascript" => code(Language::Javascript),
        "perl" => code(Language::Perl),
        "ruby" => code(Language::Ruby),
        "sql" => code(Language::Sql),
        "read" => Action::FileRead { path: text() },
        "write" => Action::FileWrite { path: text(), content: None },
        "delete" => Action::FileDelete { path: text() },
        "list" => Action::FileList { path: text() },
        "navigate" => Action::Navigate { url: text() },
        "login" => Action::Login { site: text() },
        "click" => click(Surface::Browser, rest),
        "app click" => click(Surface::App, rest),
        "applescript" => Action::Applescript { script: text() },
        "skill" => Action::Skill { skill: text(), params: BTreeMap::new() },
        "named" => Action::Named { name: text(), params: BTreeMap::new() },
        "tool" => tool(rest),
        "padded" => {
            let command = format!("{rest}{}", " ".repeat(crate::form::MOST_BYTES));
            Action::Shell { command, cwd: None }
        }
        other => Action::Code {
            language: Language::Sql,
            source: rest.to_owned(),
            dialect: Some(other.strip_prefix("sql[")?.strip_suffix(']')?.to_owned()),
        },
    })
}

fn click(surface: Surface, label: &str) -> Action {
    let label = Some(label.to_owned());
    Action::Ui {
        surface,
        op: UiOp::Click,
        label,
        field: None,
        text: None,
        url: None,
        reference: None,
    }
}

fn tool(name: &str) -> Action {
    let (server, tool) = name.split_once('.').unwrap_or(("server", name));
    Action::Tool {
        server: server.to_owned(),
        tool: tool.to_owned(),
        description: None,
        arguments: BTreeMap::new(),
        annotations: None,
        schema: None,
    }
}

/// Returns the verdict on an example by the default policy.
#[cfg(test)]
pub(crate) fn verdict_of(example: &str) -> crate::verdict::Verdict {
    judge_example(example, &Policy::default(), &example_context()).verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    #[test]
    fn an_example_without_a_prefix_is_a_shell_command() {
        for text in ["ls -l", "echo 'note: this'", "git commit -m fix: it", "readme: x"] {
            let Action::Shell { command, .. } = example_action(text) else {
                panic!("`{text}` is not a shell command");
            };
            assert_eq!(command, text);
        }
    }

    #[test]
    fn a_prefix_names_the_kind_and_the_dialect() {
        assert_eq!(
            example_action("sql[mysql]: DROP TABLE t"),
            Action::Code {
                language: Language::Sql,
                source: "DROP TABLE t".to_owned(),
                dialect: Some("mysql".to_owned())
            }
        );
        assert_eq!(
            example_action("write: notes: final.txt"),
            Action::FileWrite { path: "notes: final.txt".to_owned(), content: None }
        );
        assert_eq!(example_action("list: /"), Action::FileList { path: "/".to_owned() });
    }

    #[test]
    fn what_is_true_around_an_example_stands_before_it() {
        let text = "tracked src/a: sensitive ~/notes: write: ~/notes/x";
        let (context, rest) = surroundings(text, &example_context());
        assert_eq!(rest, "write: ~/notes/x");
        assert!(context.paths["src/a"].tracked_clean);
        assert_eq!(context.sensitive_paths, ["~/notes"]);
        assert_eq!(
            example_action(text),
            Action::FileWrite { path: "~/notes/x".to_owned(), content: None }
        );
    }

    #[test]
    fn a_hit_that_does_not_match_is_told() {
        let row = Row {
            title: "Does what nothing does".to_owned(),
            risk: "low".to_owned(),
            verdict: "warn".to_owned(),
            category: "system_change".to_owned(),
            program: crate::row::OneOrMany::One("no-such-program".to_owned()),
            hits: vec!["another-program".to_owned()],
            misses: vec!["ls".to_owned()],
            ..Row::default()
        };
        let rule = Rule::from_row("user.test".to_owned(), row).unwrap();
        let error = check_examples(&rule, &Policy::default(), &example_context()).unwrap_err();
        assert_eq!(error.to_string(), "example `another-program` under `hits` does not match");
    }
}
