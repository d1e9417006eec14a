//! Screenshots of every page, for people to look at; nothing compares them.

use serde_json::{Value, json};

use super::super::browser::Colours;
use super::{ConsoleTest, Script};

fn shell(command: &str) -> Value {
    json!({"kind": "shell", "command": command, "cwd": "/home/kim/shop"})
}

/// Creates a day's work of an agent, part of it pending.
fn work(console_test: &ConsoleTest) -> (String, String) {
    let named = |name: &str| {
        let writes = json!({"uses": 1000, "seconds": 1});
        let key = json!({"name": name, "scopes": ["*"], "devices": "any", "writes": writes});
        console_test.owner.key_of(&key)
    };
    let (coder, helper) = (named("Coding agent"), named("Release helper"));
    let session = coder.session(&json!({"task": "Publish the new shop pages"}));
    for command in ["git status", "cargo test", "ls -la src", "git diff --stat"] {
        let _ = coder.propose_in(&session, &shell(command));
    }
    let ask = |command: &str, why: &str| {
        let body = json!({"action": shell(command), "reasoning": why});
        let path = format!("/api/sessions/{session}/actions");
        super::text(&coder.post(&path, &body).expect(202)["approval_id"])
    };
    let id = ask("git push --force origin main", "The branch was rebased this morning.");
    let before = ask("git push --force origin staging", "So was this one.");
    console_test.owner.respond(&before, true).expect(200);
    ask("git push --force origin preview", "And this one.");
    let files = "rm -rf dist node_modules /var/www/shop/releases/2026-11-02";
    helper.propose(&shell(files));
    helper.propose(&json!({
        "kind": "http_request", "method": "DELETE",
        "url": "https://api.example.com/v1/releases/2026-11-02",
    }));
    (session, id)
}

#[test]
fn every_page_is_seen_at_three_widths_in_light_and_dark() {
    let Some(console_test) = ConsoleTest::open("profile: coding-agent\n") else { return };
    let (session, id) = work(&console_test);
    let page = console_test.page(Script::On);
    let paths = [
        ("inbox", "/".to_owned()),
        ("card", format!("/approvals/{id}")),
        ("sessions", "/sessions".to_owned()),
        ("session", format!("/sessions/{session}")),
        ("history", "/history".to_owned()),
        ("apps", "/apps".to_owned()),
        ("developer", "/developer".to_owned()),
        ("policy", "/policy".to_owned()),
        ("audit", "/audit".to_owned()),
        ("halt", "/halt".to_owned()),
        ("autonomous", "/autonomous".to_owned()),
        ("sign-in", "/sign-in?link=csl_example".to_owned()),
    ];
    for (name, path) in &paths {
        page.go(path);
        if *name == "policy" {
            page.fill("form[action='/policy'] [name=input]", "git push --force origin main");
            page.submit("form[action='/policy'] button");
            page.eval("document.querySelector('#judgement').scrollIntoView({block: 'center'})");
        }
        for colours in Colours::ALL {
            page.prefer(colours);
            for (width, height) in [(1440, 900), (768, 1024), (360, 740), (3840, 2160)] {
                page.resize(width, height);
                page.assert_fits(&format!("{name} at {width}"));
                if width < 3000 || *name == "inbox" {
                    page.keep_picture(&format!("{name}-{}-{width}", colours.name()));
                }
            }
        }
    }
}
