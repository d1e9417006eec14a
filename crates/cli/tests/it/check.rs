//! `check` and `explain`: arguments, exit codes, output.

use serde_json::Value;

use crate::sandbox::Sandbox;

#[test]
fn an_allowed_action_exits_with_zero_and_says_so() {
    let ended = Sandbox::new("check-allow").run(&["check", "shell", "ls"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.starts_with("allow: "), "{ended:?}");
}

#[test]
fn a_name_nobody_knows_must_be_confirmed() {
    let ended = Sandbox::new("check-confirm").run(&["check", "named", "doSomethingNew"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.out.starts_with("confirm: "), "{ended:?}");
}

#[test]
fn json_is_one_line_with_the_verdict_and_the_digest() {
    let sandbox = Sandbox::new("check-json");
    let ended = sandbox.run(&["check", "--json", "shell", "ls"]);
    assert_eq!(ended.out.lines().count(), 1);
    let judgement: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(judgement["verdict"], "allow");
    assert_eq!(judgement["digest"].as_str().unwrap().len(), 64);
    let same = sandbox.run(&["check", "--json", "--action", r#"{"command":"ls","kind":"shell"}"#]);
    assert_eq!(same.out, ended.out);
}

#[test]
fn a_dash_reads_the_input_from_standard_input() {
    let sandbox = Sandbox::new("check-stdin");
    let json = |args: &[&str], input| sandbox.run_with(args, input).out;
    assert_eq!(
        json(&["check", "--json", "file_read", "-"], "notes.txt\n"),
        json(&["check", "--json", "file_read", "notes.txt"], "")
    );
    assert_eq!(
        json(&["check", "--json", "--action", "-"], r#"{"kind":"shell","command":"ls\n"}"#),
        json(&["check", "--json", "shell", "-"], "ls\n")
    );
}

#[test]
fn bad_input_exits_with_two_and_one_line_on_standard_error() {
    let sandbox = Sandbox::new("check-bad");
    for (args, told) in [
        (&["check"][..], "say what to judge"),
        (&["check", "shell"], "`shell` needs its command"),
        (&["check", "screenshot", "x"], "`screenshot` takes no input"),
        (&["check", "tool", "x"], "--action"),
        (&["check", "code", "x"], "`language`"),
        (&["check", "code", "--language", "cobol", "x"], "`cobol`"),
        (&["check", "shell", "ls", "--language", "sql"], "`language`"),
        (&["check", "export_pdf", "many"], "`many`"),
        (&["check", "--action", "{"], "not an action"),
        (&["check", "--action", r#"{"kind":"shell","command":"ls","x":1}"#], "`x`"),
        (&["check", "--action", r#"{"kind":"shell","command":"ls"}"#, "--body", "x"], "--action"),
        (&["explain"], "say what to judge"),
    ] {
        let ended = sandbox.run(args);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(ended.err.starts_with("countersign: ") && ended.err.contains(told), "{ended:?}");
        assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    }
}

#[test]
fn usage_that_makes_no_sense_exits_with_two() {
    let sandbox = Sandbox::new("check-usage");
    for args in [
        &["check", "shall", "ls"][..],
        &["check", "--batch", "shell", "ls"],
        &["check", "shell", "ls", "extra"],
        &["check", "shell", "ls", "--mode", "sleep"],
        &["run"],
        &["run", "-c", "ls", "--", "ls"],
        &["nonsense"],
        &[],
    ] {
        assert_eq!(sandbox.run(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn help_and_version_exit_with_zero() {
    let sandbox = Sandbox::new("check-help");
    let commands =
        ["check", "explain", "run", "rules", "redact", "config", "schema", "completions", "man"];
    for command in commands {
        let ended = sandbox.run(&[command, "--help"]);
        assert_eq!(ended.code, Some(0));
        assert!(ended.out.contains("Usage: countersign"), "{ended:?}");
    }
    assert!(sandbox.run(&["--help"]).out.contains("Exit codes:"));
    assert_eq!(sandbox.run(&["--version"]).code, Some(0));
}

#[test]
fn output_into_a_pipe_has_no_colour() {
    let ended = Sandbox::new("check-colour").run(&["explain", "named", "x"]);
    assert!(!ended.out.contains('\u{1b}'), "{ended:?}");
}

#[test]
fn explain_names_rule_reason_layer_and_what_would_change_it() {
    let ended = Sandbox::new("explain").run(&["explain", "shell", "if true; then"]);
    assert_eq!(ended.code, Some(3));
    for told in ["effect.doubt.unparsed", "why:", "instead:", "Decided by", "What would change it"]
    {
        assert!(ended.out.contains(told), "{told}: {}", ended.out);
    }
}

#[test]
fn explain_shows_what_a_terminal_would_hide() {
    let sandbox = Sandbox::new("explain-hidden");
    let ended = sandbox.run(&["explain", "shell", "ls \u{202e}\u{1b}[2J"]);
    assert!(ended.out.contains("\\u{202e}") && ended.out.contains("\\u{1b}"), "{ended:?}");
    assert!(!ended.out.contains(['\u{202e}', '\u{1b}']), "{ended:?}");
}

#[test]
fn explain_as_json_holds_the_judgement() {
    let ended = Sandbox::new("explain-json").run(&["explain", "--json", "shell", "ls"]);
    let explanation: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(explanation["judgement"]["verdict"], "allow");
    assert!(!explanation["changes"].as_array().unwrap().is_empty());
}
