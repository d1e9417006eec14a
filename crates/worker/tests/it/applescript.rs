//! AppleScript by a stand-in for `osascript`, which writes down what it is given.

use crate::support::{Bench, done, executable, why, write};
use countersign_core::Action;
use countersign_wire::work::{Ended, ExecutorKind, WorkResult};

const STAND_IN: &str = r#"#!/bin/sh
printf '%s\n' "$@" > "$HOME/argv"
cat > "$HOME/stdin"
case "$(cat "$HOME/stdin")" in
  *calendar*)
    echo 'execution error: Not authorized to send Apple events to Calendar. (-1743)' >&2
    exit 1 ;;
  *wait*) exec sleep 1000 ;;
esac
echo told
"#;

fn with_osascript(name: &str) -> Bench {
    let mut bench = Bench::new(name);
    executable(&write(&bench.outside().join("osascript"), STAND_IN));
    let path = std::env::var("PATH").unwrap();
    bench.set("PATH", format!("{}:{path}", bench.outside().display()));
    bench.set("HOME", bench.outside().clone());
    bench
}

fn run(bench: &Bench, script: &str) -> WorkResult {
    bench.act(Action::Applescript { script: script.to_owned() })
}

#[test]
fn the_script_arrives_as_it_was_judged_and_is_analyzed() {
    let bench = with_osascript("osascript");
    assert!(bench.executors().kinds().contains(&ExecutorKind::Applescript));
    let script = "tell application \"Finder\"\n\tactivate -- \"$HOME\" `id`\nend tell";
    let ended = run(&bench, script);
    assert_eq!(done(&ended), "told\n");
    let given = |name: &str| std::fs::read_to_string(bench.outside().join(name)).unwrap();
    assert_eq!((&*given("argv"), &*given("stdin")), ("-\n", script));
    assert_eq!(ended.value["safetyAnalysis"]["safe"], true, "{ended:?}");
}

#[test]
fn a_failure_is_explained_and_still_analyzed() {
    let bench = with_osascript("explained");
    let ended = run(&bench, "tell application \"calendar\" to empty trash");
    assert_eq!(
        (ended.ended, why(&ended), ended.code),
        (Ended::Failed, "AppleScriptError", Some(1))
    );
    assert_eq!(ended.value["explained"]["kind"], "automation_denied", "{ended:?}");
    assert_eq!(ended.value["safetyAnalysis"]["requiresConfirmation"], true, "{ended:?}");
    assert!(ended.error.unwrap().message.contains("1. "), "the remedies are told");
}

#[test]
fn a_script_that_waits_ends_when_its_time_is_over() {
    let mut bench = with_osascript("waits");
    bench.limits.seconds = 1;
    let ended = run(&bench, "wait");
    assert_eq!(ended.ended, Ended::TimedOut);
    assert!(ended.value["safetyAnalysis"].is_object());
}

#[test]
fn without_osascript_the_answer_says_what_is_missing() {
    let mut bench = Bench::new("no-mac");
    bench.set("PATH", bench.outside().clone());
    let ended = run(&bench, "beep");
    assert_eq!((ended.ended, why(&ended)), (Ended::Refused, "NeedsMacOs"));
    assert!(ended.error.unwrap().message.contains("needs macOS"));
    assert!(ended.value["safetyAnalysis"].is_object());
    assert!(!bench.executors().kinds().contains(&ExecutorKind::Applescript));
}
