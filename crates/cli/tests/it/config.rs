//! Configuration: where it is found, and that an invalid one refuses everything.

use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, binary, end};

const BAD: &str = "profile: coding-agent\nthis is no YAML map\n";

#[test]
fn a_bad_configuration_stops_everything_that_judges() {
    let sandbox = Sandbox::new("config-bad");
    sandbox.configure(BAD);
    for args in [
        &["check", "shell", "ls"][..],
        &["check", "--batch"],
        &["explain", "shell", "ls"],
        &["run", "--", "touch", "ran"],
        &["run", "-c", "touch ran"],
        &["rules", "list"],
        &["config", "check"],
    ] {
        let ended = sandbox.run_with(args, "{\"kind\":\"shell\",\"command\":\"ls\"}\n");
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(ended.err.contains("config.yaml:"), "{ended:?}");
    }
    assert!(!sandbox.project().join("ran").exists());
}

#[test]
fn a_bad_project_file_stops_everything_too() {
    let sandbox = Sandbox::new("config-project");
    sandbox.write(".countersign.yaml", BAD);
    let ended = sandbox.run(&["run", "--", "touch", "ran"]);
    assert_eq!(ended.code, Some(2));
    assert!(!sandbox.project().join("ran").exists());
}

#[test]
fn a_file_named_by_the_environment_must_be_there() {
    let sandbox = Sandbox::new("config-named");
    let check = |path: &str| {
        let mut command = sandbox.command(binary());
        end(command.env("COUNTERSIGN_CONFIG", path).args(["check", "shell", "ls"]), "")
    };
    assert_eq!(check("missing.yaml").code, Some(2));
    sandbox.write("mine.yaml", "profile: coding-agent\n");
    assert_eq!(check("mine.yaml").code, Some(0));
    sandbox.write("mine.yaml", BAD);
    assert_eq!(check("mine.yaml").code, Some(2));
    // A variable that is set but empty counts as not set.
    assert_eq!(check("").code, Some(0));
}

#[test]
fn the_first_configuration_is_right_and_never_overwritten() {
    let sandbox = Sandbox::new("config-init");
    for args in [&["config", "init"][..], &["config", "init", "--project"]] {
        assert_eq!(sandbox.run(args).code, Some(0), "{args:?}");
        let again = sandbox.run(args);
        assert_eq!(again.code, Some(2), "{args:?}");
        assert!(again.err.contains("cannot write"), "{again:?}");
    }
    let check = sandbox.run(&["config", "check"]);
    assert_eq!(check.code, Some(0), "{check:?}");
    assert_eq!(check.out.matches(": valid").count(), 2, "{check:?}");
    assert!(sandbox.home().join(".config/countersign/config.yaml").exists());
    assert!(sandbox.project().join(".countersign.yaml").exists());
}

#[test]
fn one_file_can_be_checked_by_itself() {
    let sandbox = Sandbox::new("config-check");
    sandbox.write("new.yaml", BAD);
    let ended = sandbox.run(&["config", "check", "new.yaml"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("new.yaml:2:1"), "{ended:?}");
    assert_eq!(sandbox.run(&["config", "check", "none.yaml"]).code, Some(2));
}

#[test]
fn show_names_every_file_and_what_they_come_to() {
    let sandbox = Sandbox::new("config-show");
    sandbox.configure("profile: coding-agent\n");
    let ended = sandbox.run(&["config", "show", "--json"]);
    let shown: Value = serde_json::from_str(&ended.out).unwrap();
    let files = shown["files"].as_array().unwrap();
    let there =
        |name: &str| files.iter().find(|file| file["layer"] == name).unwrap()["there"].clone();
    assert_eq!((there("user"), there("project")), (Value::Bool(true), Value::Bool(false)));
    assert_eq!(shown["settings"]["profile"], "coding-agent");
    let told = sandbox.run(&["config", "show"]).out;
    assert!(
        told.contains("config.yaml: found") && told.contains("profile: coding-agent"),
        "{told}"
    );
}

#[test]
#[cfg(unix)]
fn a_project_file_cannot_lead_out_of_the_workspace() {
    let sandbox = Sandbox::new("config-link");
    fs::write(sandbox.home().join("private"), "not: yours\n").unwrap();
    std::os::unix::fs::symlink("../private", sandbox.project().join(".countersign.yaml")).unwrap();
    let ended = sandbox.run(&["check", "shell", "ls"]);
    assert_eq!(ended.code, Some(2));
    assert!(!ended.err.contains("yours"), "{ended:?}");
}

#[test]
fn the_gates_sections_are_checked_and_shown_without_secrets() {
    let sandbox = Sandbox::new("config-sections");
    let topic = "a-topic-nobody-guesses";
    sandbox.configure(&format!(
        "gate: {{most_pending: 7, quorum: [{{risk: critical, need: 2}}]}}\n\
         channels:\n  - terminal: {{ask: true}}\n  - ntfy: {{topic: {topic}}}\nserver: {{names: [gate.example]}}\n"
    ));
    assert_eq!(sandbox.run(&["config", "check"]).code, Some(0));
    assert_eq!(sandbox.run(&["check", "shell", "ls"]).code, Some(0));
    let shown = sandbox.run(&["config", "show", "--json"]);
    let all: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(all["gate"]["most_pending"], 7);
    assert_eq!(all["channels"], serde_json::json!(["terminal", "ntfy"]));
    let readable = sandbox.run(&["config", "show"]).out;
    assert!(readable.contains("\n  most_pending: 7 (user)\n"), "{readable}");
    assert!(readable.contains("\n  spend_within: 300 (default)\n"), "{readable}");
    assert_eq!(all["from"]["gate"]["most_pending"], "user");
    assert_eq!(
        readable.lines().last(),
        Some(&*format!("policy digest: {}", all["digest"].as_str().unwrap()))
    );
    assert!(!readable.contains(topic) && !shown.out.contains(topic));
    for (text, said) in [
        ("gate: {most_pendin: 7}\n", "1:8: unknown field `most_pendin`"),
        ("channels:\n  - ntfy: {topc: x}\n", "2:12: unknown field `topc`"),
        ("channels:\n  - terminal: {}\n    ntfy: {topic: x}\n", "each channel is one of"),
        ("channels: {}\n", "1:11: expected a list here"),
        ("server: 3\n", "1:9: expected `key: value` lines here"),
    ] {
        sandbox.configure(text);
        for args in [["config", "check"], ["config", "show"]] {
            let ended = sandbox.run(&args);
            assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{text}");
            assert!(ended.err.contains(said), "{}", ended.err);
        }
    }
    sandbox.configure("");
    let mut command = sandbox.command(binary());
    let ended = end(command.env("AUTO_ACTION_ENABLED", "no").args(["config", "check"]), "");
    assert!(ended.code == Some(2) && ended.err.contains("AUTO_ACTION_ENABLED"), "{ended:?}");
}

#[test]
fn a_project_cannot_set_what_the_gate_may_do() {
    let sandbox = Sandbox::new("config-sections-project");
    sandbox.write(".countersign.yaml", "gate: {enabled: true}\n");
    for args in [&["config", "check"][..], &["check", "shell", "ls"]] {
        let ended = sandbox.run(args);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("1:1: `gate` is not for a project"), "{}", ended.err);
    }
}
