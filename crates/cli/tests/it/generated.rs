//! Rules, schemas, completions and manual pages.

use serde_json::Value;

use crate::sandbox::Sandbox;

#[test]
fn rules_are_listed_filtered_and_shown() {
    let sandbox = Sandbox::new("rules");
    let list = |args: &[&str]| -> Vec<Value> {
        let ended = sandbox.run(&[&["rules", "list", "--json"], args].concat());
        serde_json::from_str(&ended.out).unwrap()
    };
    let doubt = list(&["--family", "effect.doubt"]);
    assert!(doubt.iter().any(|rule| rule["id"] == "effect.doubt.unparsed"));
    assert!(doubt.iter().all(|rule| rule["id"].as_str().unwrap().starts_with("effect.doubt.")));
    assert!(list(&["--verdict", "confirm"]).iter().all(|rule| rule["verdict"] == "confirm"));
    assert_eq!(list(&["--family", "no.such"]), Vec::<Value>::new());
    let shown = sandbox.run(&["rules", "show", "effect.doubt.unparsed"]).out;
    for part in ["verdict", "why", "instead", "hits", "misses"] {
        assert!(shown.contains(part), "{shown}");
    }
    let unknown = sandbox.run(&["rules", "show", "no.such.rule"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("`no.such.rule`"));
}

#[test]
fn the_examples_of_every_rule_are_counted_and_the_exit_code_tells() {
    let sandbox = Sandbox::new("rules-test");
    let ended = sandbox.run(&["rules", "test", "--json"]);
    let outcome: Value = serde_json::from_str(&ended.out).unwrap();
    assert!(outcome["rules"].as_u64() >= Some(1));
    assert!(outcome["examples"].as_u64() >= Some(2));
    let failed = !outcome["failures"].as_array().unwrap().is_empty();
    assert_eq!(ended.code, Some(i32::from(failed)));
    assert!(sandbox.run(&["rules", "test"]).out.contains("failed: "));
}

#[test]
fn every_schema_is_json_and_all_of_them_together_too() {
    let sandbox = Sandbox::new("schema");
    for name in ["action", "context", "judgement", "config"] {
        let ended = sandbox.run(&["schema", name]);
        assert_eq!(ended.code, Some(0));
        let _: Value = serde_json::from_str(&ended.out).unwrap();
    }
    let all: Value = serde_json::from_str(&sandbox.run(&["schema"]).out).unwrap();
    assert!(all["action"].to_string().contains("file_write"));
    let config = all["config"].to_string();
    assert!(["most_pending", "topic", "QuorumRow"].iter().all(|word| config.contains(word)));
}

#[test]
fn completions_exist_for_every_shell() {
    let sandbox = Sandbox::new("completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = sandbox.run(&["completions", shell]);
        assert_eq!(ended.code, Some(0));
        assert!(ended.out.contains("countersign") && ended.out.contains("explain"));
    }
}

#[test]
fn manual_pages_go_to_standard_output_or_into_a_folder() {
    let sandbox = Sandbox::new("man");
    assert!(sandbox.run(&["man"]).out.contains(".TH countersign"));
    assert_eq!(sandbox.run(&["man", "pages"]).code, Some(0));
    for page in ["countersign.1", "countersign-check.1", "countersign-rules-test.1"] {
        assert!(sandbox.project().join("pages").join(page).exists(), "{page}");
    }
}
