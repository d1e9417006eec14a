//! Text from an agent is shown as text: no markup, no script, nothing invisible.

use serde_json::{Value, json};

use super::super::browser::Page;
use super::{Client, ConsoleTest, OFTEN, Script, card, on_card, until};

/// Closes any element around it, and then does harm; with characters that reverse text and
/// invisible ones.
const HARM: &str = "\"'></title></textarea></pre></script></style><script>window.harm = 1</script>\
                    <img src=x onerror=window.harm=1><b data-harm>{{7*7}}</b>&lt;i data-harm&gt;\
                    \u{202e}txt.exe\u{2066}a\u{200b}b\u{feff}c\u{00ad}d";

/// Characters that are invisible, or that reverse text.
const UNSEEN: &str = r"/[\u00AD\u061C\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/";

fn harm() -> Vec<Value> {
    vec![
        json!({"kind": "shell", "command": format!("git push --force origin '{HARM}'")}),
        json!({"kind": "skill", "skill": "email.send", "params": {"to": HARM, HARM: HARM}}),
        json!({"kind": "http_request", "method": "DELETE", "url": "https://api.example/x?a=<b data-harm>",
               "body": HARM}),
        json!({"kind": "ui", "surface": "browser", "op": "click", "label": format!("Delete account {HARM}"),
               "url": "https://shop.example/"}),
        json!({"kind": "tool", "server": "files", "tool": "delete_all", "description": HARM,
               "arguments": {"path": HARM}, "annotations": {"destructiveHint": true}}),
        json!({"kind": "file_delete", "path": format!("/srv/{HARM}")}),
        json!({"kind": "applescript", "script": format!("do shell script \"rm -rf {HARM}\"")}),
        json!({"kind": "named", "name": format!("deleteAccount {HARM}"), "params": {"a": HARM}}),
    ]
}

#[track_caller]
fn assert_harmless(page: &Page, where_: &str) {
    assert_eq!(page.eval("typeof window.harm"), "undefined", "{where_}: a script ran");
    assert_eq!(page.count("[data-harm]"), 0, "{where_}: it became markup");
    assert_eq!(page.count("img:not([src^='/static/'])"), 0, "{where_}: it became a picture");
    let unseen = page.eval(&format!(
        "(() => {{
            const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
            const found = [];
            while (walker.nextNode()) {{
                const inside = walker.currentNode.parentElement;
                // What is edited must be what it is.
                if (inside.closest('textarea, script, style')) continue;
                if ({UNSEEN}.test(walker.currentNode.data)) {{
                    found.push(inside.outerHTML.slice(0, 200));
                }}
            }}
            return found;
        }})()"
    ));
    assert_eq!(unseen, json!([]), "{where_}: characters that nobody sees");
}

/// Creates an agent that writes harm wherever it can write, its session, and the questions about
/// it.
fn writes_harm(console_test: &ConsoleTest) -> (Client, String, Vec<String>) {
    console_test
        .owner
        .json("PATCH", "/api/settings", &[], &json!({"logging": "enhanced"}))
        .expect(200);
    let key = json!({"name": "<b data-harm>key</b>", "scopes": ["*"], "devices": "any",
                     "writes": {"uses": 1000, "seconds": 1}});
    let agent = console_test.owner.key_of(&key);
    // A machine chooses its own name.
    let machine = console_test.owner.key_of(&json!({"name": "machine", "scopes": ["*"]}));
    machine.post("/api/devices", &json!({"name": "box <b data-harm>\u{202e}\u{200b}x</b>"}));
    let session = agent.session(&json!({"task": HARM}));
    let mut ids = Vec::new();
    for action in harm() {
        let body = json!({"action": action, "reasoning": HARM});
        let answer = agent.post(&format!("/api/sessions/{session}/actions"), &body);
        match answer.status {
            202 => ids.push(super::text(&answer.expect(202)["approval_id"])),
            // An invalid skill, address or name is not asked about.
            status => eprintln!("{status}: {action}: {}", answer.text()),
        }
    }
    (agent, session, ids)
}

#[test]
fn what_agents_write_is_shown_as_text_on_every_page() {
    let config = format!("{OFTEN}profile: assistant\n");
    let Some(console_test) = ConsoleTest::open(&config) else { return };
    let (agent, session, ids) = writes_harm(&console_test);
    assert!(ids.len() >= 4, "{}", ids.len());
    for script in Script::BOTH {
        let page = console_test.page(script);
        page.forgive("favicon.ico");
        assert_harmless(&page, "inbox");
        assert!(page.visible().contains("<script>window.harm = 1</script>"), "it is text");
        assert!(page.visible().contains("U+202E") && page.visible().contains("U+200B"));
        assert!(page.has("span.ghost"));
        page.keep_picture(&format!("hostile-{script:?}").to_lowercase());
        page.resize(360, 800);
        page.assert_fits("the inbox");
        for id in &ids {
            page.go(&format!("/approvals/{id}"));
            assert_harmless(&page, id);
            page.assert_fits(id);
        }
        for path in
            ["/sessions", &format!("/sessions/{session}"), "/history", "/developer", "/audit"]
        {
            page.go(path);
            assert_harmless(&page, path);
            page.assert_fits(path);
        }
        // Text from a person is shown as text too.
        page.go("/policy");
        page.fill("form[action='/policy'] [name=input]", HARM);
        page.submit("form[action='/policy'] button");
        assert_harmless(&page, "policy");
        page.go("/history?q=%3C%2Fscript%3E%3Cb+data-harm%3E&event=%22%3E%3Cb+data-harm%3E");
        assert_harmless(&page, "search");
        page.go("/?done=%3Cb+data-harm%3E");
        assert_harmless(&page, "flash");
    }
    // A live page gets the same text in other ways.
    let page = console_test.page(Script::On);
    let action =
        json!({"kind": "skill", "skill": "email.send", "params": {"to": HARM, "subject": "late"}});
    let id = agent.ask_in(&session, &action);
    page.wait_for(&card(&id));
    assert_harmless(&page, "live");
    agent.post(&format!("/api/sessions/{session}/complete"), &json!({})).expect(204);
    page.wait_gone(&card(&id));
    assert_harmless(&page, "live");
}

#[test]
fn a_command_of_two_hundred_thousand_bytes_is_shown_and_answered() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    let words = "<b data-harm>echo</b> 'a long line' \u{202e}; ";
    let command = format!("git push --force origin main; {}", words.repeat(200_000 / words.len()));
    let action = json!({"kind": "shell", "command": command});
    for script in Script::BOTH {
        let page = console_test.page(script);
        let id = console_test.agent.ask(&action);
        ConsoleTest::see(&page, script, &card(&id));
        assert_harmless(&page, "inbox");
        // The person who approves has seen all of it.
        page.go(&format!("/approvals/{id}"));
        assert_harmless(&page, "approval");
        let shown = page.eval("document.querySelector('pre.what').textContent.length");
        assert!(shown.as_u64().unwrap() >= 190_000, "{shown}");
        page.resize(360, 800);
        page.assert_fits("the page");
        page.click(&on_card(&id, "button[value=approve]"));
        until("it is approved", || (console_test.owner.state(&id) == "approved").then_some(()));
        console_test.agent.spend(&id, &action).expect(200);
    }
}
