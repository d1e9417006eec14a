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

/// The remaining limit is described in the same words everywhere.
#[test]
fn the_limit_of_the_local_socket_is_told_in_the_same_words() {
    let read = |name: &str| {
        let path = format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let begins = "A process of an agent is never treated as a person,";
    let told = |name: &str| {
        let text = read(name);
        let lines: Vec<String> = text
            .lines()
            .filter_map(|line| line.find(begins).and_then(|at| line.get(at..)).map(str::to_owned))
            .collect();
        assert_eq!(lines.len(), 1, "{name}");
        lines
    };
    assert_eq!(told("SECURITY.md"), told("docs/guide/hosts.md"));
}

/// Every command of ours in a page: code spans, and lines of code blocks.
fn commands(page: &str) -> Vec<String> {
    let (mut found, mut in_block) = (Vec::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            found.push(line.trim_start_matches("$ ").trim().to_owned());
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found.retain(|command| command.starts_with("countersign "));
    found
}

/// A command without its quoted parts.
fn unquoted(command: &str) -> String {
    let without = |text: &str, quote: char| -> String {
        text.split(quote).step_by(2).collect::<Vec<_>>().join(" x ")
    };
    without(&without(command, '\''), '"')
}

/// The plain words of a command, and the flags after them.
fn parts(command: &str) -> (Vec<&str>, Vec<&str>) {
    let ends = |word: &&str| !matches!(*word, "--" | "|" | "||" | "&&" | ";" | ">" | "#");
    let words: Vec<_> = command.split_whitespace().skip(1).take_while(ends).collect();
    let plain: Vec<_> = words.iter().copied().take_while(|word| !word.starts_with('-')).collect();
    let flags = words.into_iter().filter(|word| word.starts_with("--"));
    let flags = flags.filter_map(|word| word.split(['=', ',', ')', ']']).next());
    (plain, flags.collect())
}

#[test]
fn every_flag_that_a_page_names_exists() {
    let sandbox = Sandbox::new("guide-flags");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_dir(root.join("docs/guide")).unwrap();
    let mut pages: Vec<_> = guide.map(|page| page.unwrap().path()).collect();
    pages.extend(["README.md", "SECURITY.md"].map(|page| root.join(page)));
    let mut checked = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for command in commands(&text) {
            let bare = unquoted(&command);
            let (plain, flags) = parts(&bare);
            if flags.is_empty() {
                continue;
            }
            let help = sandbox.run(&[plain.as_slice(), &["--help"]].concat());
            assert_eq!(help.code, Some(0), "{}: `{command}`: {help:?}", page.display());
            for flag in flags {
                let known =
                    help.out.split([' ', ',', '\n', '=', '[', ']']).any(|word| word == flag);
                assert!(known, "{}: `{command}` has no {flag}", page.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 10, "{checked}");
}
