//! Accessibility: the findings of axe-core, and everything by the keyboard alone.

use serde_json::json;

use super::super::browser::{Axe, Colours, Page};
use super::super::text;
use super::{ConsoleTest, OFTEN, Script, card, on_card, push};

/// Creates data of every kind, and returns the pages that show it.
fn pages(console_test: &ConsoleTest) -> Vec<(&'static str, String)> {
    let session = console_test.agent.session(&json!({"task": "Tidy up the branches"}));
    for branch in ["one", "two"] {
        console_test.agent.ask_in(&session, &push(branch));
    }
    let id = console_test.agent.ask(&push("main"));
    console_test.agent.propose(&json!({"kind": "shell", "command": "ls"})).expect(200);
    let workspace = console_test.owner.workspace();
    let bot = json!({"name": "ci", "workspace_id": workspace, "kind": "bot"});
    let bot = console_test.owner.post("/api/users", &bot).expect(201);
    let member = json!({"name": "Bea", "workspace_id": workspace});
    let member = console_test.owner.post("/api/users", &member).expect(201);
    vec![
        ("inbox", "/".to_owned()),
        ("approval", format!("/approvals/{id}")),
        ("sessions", "/sessions".to_owned()),
        ("session", format!("/sessions/{session}")),
        ("history", "/history".to_owned()),
        ("apps", "/apps".to_owned()),
        ("developer", "/developer".to_owned()),
        ("people", "/people".to_owned()),
        ("person", format!("/people/{}", text(&member["user_id"]))),
        ("bot", format!("/people/{}", text(&bot["user_id"]))),
        ("policy", "/policy".to_owned()),
        ("audit", "/audit".to_owned()),
        ("halt", "/halt".to_owned()),
        ("autonomous", "/autonomous".to_owned()),
        ("api", "/api/docs".to_owned()),
        ("sign-in", "/sign-in?link=csl_none".to_owned()),
        ("error", "/approvals/nothing".to_owned()),
    ]
}

#[test]
fn axe_finds_nothing_on_any_page() {
    let Some(axe) = Axe::load() else { return };
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    let pages = pages(&console_test);
    let page = console_test.page(Script::On);
    page.forgive("/approvals/nothing");
    let mut found = Vec::new();
    let mut look = |page: &Page, name: &str, colours: Colours, width: u32| {
        // A colour scheme changes only the colours.
        let lines = match colours {
            Colours::Light => axe.look(page),
            Colours::Dark => axe.look_at_colours(page),
        };
        found.extend(lines.into_iter().map(|line| format!("{name} {colours:?} {width}: {line}")));
    };
    for (width, colours) in [(1440, Colours::Light), (1440, Colours::Dark), (360, Colours::Light)] {
        page.resize(width, 900);
        page.prefer(colours);
        for (name, path) in &pages {
            page.go(path);
            look(&page, name, colours, width);
        }
        // Pages that only a form leads to.
        page.go("/policy");
        page.fill("form[action='/policy'] [name=input]", "git push --force");
        page.submit("form[action='/policy'] button");
        look(&page, "judgement", colours, width);
        page.go("/developer");
        page.fill("form[action='/developer/keys'] input[name=name]", "one more");
        page.submit("form[action='/developer/keys'] button");
        look(&page, "secret", colours, width);
    }
    console_test.owner.post("/api/halt", &json!({})).expect(204);
    page.go("/");
    look(&page, "halted", Colours::Light, 360);
    assert!(found.is_empty(), "{} violations\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_keys_of_the_inbox_answer() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    let page = console_test.page(Script::On);
    let ids = ["one", "two", "three"].map(|branch| console_test.agent.ask(&push(branch)));
    page.wait_for(&card(&ids[2]));
    let current = |id: &str| format!("{}[aria-current=true]", card(id));
    page.press("j");
    page.wait_for(&current(&ids[0]));
    page.press("j");
    page.wait_for(&current(&ids[1]));
    page.press("k");
    page.wait_for(&current(&ids[0]));
    page.press("j");
    page.wait_for(&current(&ids[1]));
    page.press("a");
    console_test.becomes(&ids[1], "approved");
    page.wait_gone(&card(&ids[1]));
    assert_eq!(console_test.owner.state(&ids[0]), "pending", "only the one");

    page.press("j");
    page.wait("document.querySelector('article.card[aria-current=true]')");
    let chosen = page.attribute("article.card[aria-current=true]", "data-approval");
    page.press("r");
    page.wait("document.activeElement.matches('textarea[name=feedback]')");
    // Letters are text again, not shortcuts.
    page.write("a no: ask me first");
    page.press("Enter");
    console_test.becomes(&chosen, "rejected");
    assert_eq!(console_test.agent.approval(&chosen)["feedback"], "a no: ask me first");
    page.wait_gone(&card(&chosen));

    page.press("?");
    page.wait_for("dialog[open]");
    page.press("Escape");
    page.wait_gone("dialog[open]");
}

#[test]
fn tab_and_enter_answer_with_script_and_without() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    for script in Script::BOTH {
        let page = console_test.page(script);
        let id = console_test.agent.ask(&push("one"));
        ConsoleTest::see(&page, script, &card(&id));
        page.reload();
        page.press("Tab");
        assert_eq!(page.eval("document.activeElement.matches('a.skip')"), true, "{script:?}");
        page.press("Enter");
        page.tab_to(&on_card(&id, "button[value=approve]"));
        page.press("Enter");
        console_test.becomes(&id, "approved");

        let id = console_test.agent.ask(&push("two"));
        page.go("/");
        page.tab_to(&on_card(&id, "textarea[name=feedback]"));
        page.write("not today");
        page.tab_to(&on_card(&id, "button[value=reject]"));
        page.press(" ");
        console_test.becomes(&id, "rejected");
        assert_eq!(console_test.agent.approval(&id)["feedback"], "not today", "{script:?}");
    }
}
