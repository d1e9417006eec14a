//! Compares the substitutions in the tree with those that were followed.

use super::tree;
use super::*;
use crate::analyze::shell::{MOST_TEXT, walk};
use crate::example::example_context;
use crate::fact::FactKind;
use crate::location::Scene;
use crate::{Action, Policy, Verdict, judge};

#[path = "../../../../tests/support/rows.rs"]
mod rows;

/// Scripts with a substitution at `@`.
const PLACES: &[&str] = &[
    "@",
    "echo @",
    "echo \"a @ b\"",
    "echo \"${x:-\"@\"}\"",
    "echo ${x:-@} ${x:=@} ${x:+@}",
    "x=1; echo ${x:-@}",
    "echo ${x#@} ${x##@} ${x%@} ${x%%@}",
    "echo ${x/@/b} ${x//a/@}",
    "echo ${x:@} ${x:1:@}",
    "echo ${x[@]} ${#x[@]} ${x[1+@]}",
    "echo ${!x:-@}",
    "echo $((1 + @)) $((x[@]))",
    "echo $(( (@) ? 1 : 2 ))",
    "((x = @))",
    "((x[@]++))",
    "let x=@",
    "for ((i = @; i < @; i += @)); do :; done",
    "for i in @; do :; done",
    "select i in @; do :; done",
    "while [ @ ]; do break; done",
    "until [[ -n @ ]]; do break; done",
    "if [[ x == @ ]]; then :; elif [[ x =~ @ ]]; then :; fi",
    "[[ x == *(@|b) ]]",
    "[[ -v x[@] ]]",
    "[[ 1 -eq @ ]]",
    "case @ in a) :;; esac",
    "case x in @) :;; a@*) :;; esac",
    "case x in [@]) :;; esac",
    "x=@",
    "x+=@ y=@",
    "x[@]=1",
    "x=(a @ b)",
    "x=([@]=1 [2]=@)",
    "x=@ true",
    "x=@ export y",
    "export x=@",
    "declare -a x=(@)",
    "declare -A x=([@]=1)",
    "local x=@",
    "readonly x[@]",
    "x=@ exit 1",
    "exit @",
    "f() { return @; }; f",
    "f() { echo @; }",
    "function f { echo @; }; f",
    "cat < @",
    "cat > /tmp/a@",
    "echo a 2> /tmp/a@",
    "cat <<< @",
    "cat << E\na @ b\nE",
    "cat << E\n$((1 + @)) ${x:-@} ${x[@]}\nE",
    "cat <<- E\n\ta @ b\nE",
    "{ :; } > /tmp/a@",
    "( : ) < @",
    "echo {a,@,b}",
    "echo a{@,b}c",
    "echo a | cat @ | wc",
    "true && echo @ || echo @",
    "! echo @",
    "time echo @",
    "coproc cat @",
    "echo @ &",
    "cat <(echo @) > >(cat @)",
    "echo `echo @`",
    "echo $(echo @)",
    "echo $[1 + @]",
    "echo $((echo @; echo b) | cat )",
    "eval \"echo @\"",
];

/// Forms of a substitution; `@` is the command.
const FORMS: &[&str] = &["$(@)", "$( @ )", "`@`", "\"$(@)\"", "$(@ | cat)"];

/// Returns the number of substitutions that were not followed in their context, and of those in the
/// tree. `None` where a bound was reached.
fn counted(script: &str) -> Option<(usize, usize)> {
    let context = example_context();
    let walker = walk(script, &Scene::new(&context, &[]));
    let bound = walker.analysis.facts.iter().any(|fact| fact.kind == FactKind::Bound);
    let profile = shuck_parser::ShellProfile::native(shuck_parser::ShellDialect::Bash);
    if bound || script.len() > MOST_TEXT {
        return None;
    }
    let parsed = shuck_parser::parser::Parser::with_profile(script, profile).parse();
    let found = tree::whole(script, Node::Seq(&parsed.file.body)).found.len();
    Some((walker.missed, found))
}

fn verdict(command: String) -> Verdict {
    judge(&Action::Shell { command, cwd: None }, &Policy::default(), &example_context()).verdict
}

#[test]
fn a_substitution_is_followed_wherever_it_stands() {
    let mut wrong = Vec::new();
    for place in PLACES {
        // A backtick inside another needs more backslashes.
        for form in FORMS.iter().filter(|form| !(place.contains('`') && form.contains('`'))) {
            let script = place.replace('@', &form.replace('@', "rm -rf /"));
            let missed = counted(&script).map_or(0, |(missed, _)| missed);
            let verdict = verdict(script.clone());
            if missed > 0 || verdict != Verdict::Block {
                wrong.push((script, missed, verdict));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn process_substitutions_are_followed_in_every_word() {
    for place in ["cat @", "cat < @", "echo a > @", "x=@ true", "for i in @; do :; done"] {
        for form in ["<(@)", ">(@)"] {
            let script = place.replace('@', &form.replace('@', "rm -rf /"));
            assert_eq!(counted(&script).map(|(missed, _)| missed), Some(0), "{script}");
            // The grammar does not parse all of them; those need a confirmation.
            assert!(verdict(script.clone()) >= Verdict::Confirm, "{script}");
        }
    }
}

#[test]
fn places_in_places_are_followed_too() {
    let mut seed = 7_u64;
    let mut draw = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap_or_default() % most
    };
    let (mut counts, mut wrong) = (0, Vec::new());
    for _ in 0..600 {
        let mut script = "rm -rf /".to_owned();
        for _ in 0..=draw(3) {
            let form = FORMS.iter().filter(|form| !form.contains('`')).nth(draw(4));
            let form = form.map_or_else(String::new, |form| form.replace('@', &script));
            script = PLACES.get(draw(PLACES.len())).map_or_else(String::new, |place| {
                // A here-document ends at a line of its own.
                place.replace('@', &form) + if place.contains("\nE") { "\n" } else { "" }
            });
        }
        let Some((missed, found)) = counted(&script) else { continue };
        counts += found;
        if missed > 0 || verdict(script.clone()) < Verdict::Confirm {
            wrong.push((missed, script));
        }
    }
    assert!(counts > 600, "{counts}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_substitution_of_the_corpora_is_followed() {
    let rows = rows::rows();
    if rows.is_empty() {
        eprintln!("skipped: no corpus beside the workspace");
        return;
    }
    let (mut seen, mut hidden, mut wrong) = (0, 0, Vec::new());
    for row in rows.iter().filter(|row| may_hold(&row.text)) {
        let Some((missed, found)) = counted(&row.text) else { continue };
        seen += found;
        match (missed, row.held_out) {
            (0, _) => {}
            (missed, true) => hidden += missed,
            (missed, false) => wrong.push((missed, &row.text, &row.expected, row.hash)),
        }
    }
    assert!(seen > 0);
    assert!(wrong.is_empty() && hidden == 0, "{hidden} in rows held out; {wrong:#?}");
}

#[test]
fn a_subshell_behind_a_dollar_is_no_expression() {
    assert_eq!(script_in_brackets("$((a; b) | c )"), Some("(a; b) | c "));
    assert_eq!(script_in_brackets("$((a) | (b))"), Some("(a) | (b)"));
    assert_eq!(script_in_brackets("$((1 + 2))"), None);
    assert_eq!(script_in_brackets("$(((1 + 2) * 3))"), None);
}

#[test]
fn a_substitution_that_the_grammar_ends_too_early_is_judged_as_a_whole() {
    for script in [
        "x=a; echo ${x//$(rm -rf /)/y}",
        "x=a; echo ${x/$(rm -rf /)/y}",
        "x=a; echo \"${x//$(rm -rf /)/y}\"",
        "x=a; echo ${x//`rm -rf /`/y}",
        "echo ${x/$(echo $(rm -rf /)/a)/y}",
    ] {
        let action = Action::Shell { command: script.into(), cwd: None };
        let judgement = judge(&action, &Policy::default(), &example_context());
        assert_eq!(judgement.verdict, Verdict::Block, "{script}");
    }
    for script in ["x=a; echo ${x//$(basename /a/b)/$(pwd)}", "echo ${x//`pwd`/y} ${x#*/}"] {
        let action = Action::Shell { command: script.into(), cwd: None };
        let judgement = judge(&action, &Policy::default(), &example_context());
        assert!(judgement.verdict < Verdict::Confirm, "{script}");
    }
}

#[test]
fn a_function_with_the_name_of_a_program_does_not_hide_it() {
    for script in [
        "rm() { command rm \"$@\"; }; rm -rf /",
        "rm() { sudo rm \"$@\"; }; rm -rf /",
        "rm() { env rm \"$@\"; }; rm -rf /",
        "alias rm='command rm'; rm -rf /",
        "declare 'a[$(rm -rf /)]=1'",
        "echo 'rm -rf /' | xargs -d '\\n' sh -c",
    ] {
        let action = Action::Shell { command: script.into(), cwd: None };
        let judgement = judge(&action, &Policy::default(), &example_context());
        assert_eq!(judgement.verdict, Verdict::Block, "{script}");
    }
    for script in [
        "ls() { command ls --color \"$@\"; }; ls src",
        "build() { time make \"$@\"; }; build all",
        "run() { echo \"$@\"; \"$@\"; }; run cargo test",
    ] {
        let action = Action::Shell { command: script.into(), cwd: None };
        let judgement = judge(&action, &Policy::default(), &example_context());
        assert!(judgement.verdict < Verdict::Confirm, "{script}");
    }
}
