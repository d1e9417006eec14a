//! Global controls: autonomous mode, and the switch that stops everything.

use serde_json::{Value, json};

use super::{ConsoleTest, OFTEN, Script, card, push};

fn skill(id: &str) -> Value {
    json!({"kind": "skill", "skill": id, "params": {"to": "john@example.com"}})
}

#[test]
fn autonomous_mode_never_covers_what_always_asks() {
    for script in Script::BOTH {
        let Some(console_test) = ConsoleTest::open("profile: assistant\n") else { return };
        let page = console_test.page(script);
        // One skill needs a confirmation in any mode.
        page.go("/apps");
        let forward = "form[action='/apps']:has([name=skill][value='email.forward'])";
        page.choose(&format!("{forward} select[name=confirm]"), "always");
        page.submit(&format!("{forward} button"));
        page.wait_for("html[data-page=apps] .flash");

        page.go("/");
        assert_eq!(page.attribute("body", "data-autonomous"), "false");
        page.submit("#autonomous a[href='/autonomous'], a#autonomous");
        page.wait_for("html[data-page=autonomous]");
        assert_eq!(page.attribute("body", "data-autonomous"), "false", "looking changes nothing");
        page.submit("main form[action='/autonomous'] button");
        page.wait_for("body[data-autonomous=true]");
        let permitted = console_test.agent.propose(&skill("email.reply")).expect(200);
        assert_eq!(permitted["status"], "permitted", "{script:?}");
        let id = console_test.agent.ask(&skill("email.forward"));
        page.go("/");
        page.wait_for(&card(&id));
        assert_eq!(page.count("article.card"), 1);
        page.keep_picture(&format!("autonomous-{script:?}").to_lowercase());

        page.submit("#autonomous button, form#autonomous button");
        page.wait_for("body[data-autonomous=false]");
        console_test.agent.ask(&skill("email.reply"));
    }
}

#[test]
fn stopping_everything_takes_one_page_and_one_button() {
    for script in Script::BOTH {
        let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
        let page = console_test.page(script);
        let other = console_test.page(Script::On);
        let id = console_test.agent.ask(&push("main"));
        ConsoleTest::see(&page, script, &card(&id));
        page.submit("#stop-all a, a#stop-all");
        page.wait_for("html[data-page=halt]");
        assert_eq!(
            console_test.owner.get("/api/halt").expect(200)["halted"],
            false,
            "looking stops nothing"
        );
        page.submit("main form[action='/halt'] button");
        page.wait_for("#halted");
        console_test.becomes(&id, "cancelled");
        let harmless = json!({"kind": "shell", "command": "ls"});
        assert_ne!(console_test.agent.propose(&harmless).status, 200, "{script:?}");
        // The other page is told.
        other.wait_for("#halted");
        other.wait_gone(&card(&id));

        page.submit("#halted form[action='/resume'] button, form[action='/resume'] button");
        page.wait_gone("#halted");
        assert_eq!(console_test.agent.propose(&harmless).expect(200)["status"], "permitted");
        other.wait_gone("#halted");
    }
}

#[test]
fn a_session_is_stopped_where_it_is_shown() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    for script in Script::BOTH {
        let page = console_test.page(script);
        let session = console_test.agent.session(&json!({"task": "Tidy up the branches"}));
        let id = console_test.agent.ask_in(&session, &push("main"));
        page.go("/sessions");
        let article = format!("article.session[data-session='{session}']");
        page.wait_for(&article);
        assert!(page.text(&article).contains("Tidy up the branches"));
        page.go(&format!("/sessions/{session}"));
        page.wait_for("html[data-page=session] ol#feed > li[data-event]");
        let before = page.count("ol#feed > li");
        let harmless = json!({"kind": "shell", "command": "ls"});
        console_test.agent.propose_in(&session, &harmless).expect(200);
        if script == Script::On {
            // The feed updates live.
            page.wait(&format!("document.querySelectorAll('ol#feed > li').length > {before}"));
        }
        page.go("/sessions");
        page.submit(&format!("{article} form[action='/sessions/{session}/stop'] button"));
        let shown = console_test.owner.get(&format!("/api/sessions/{session}")).expect(200);
        assert_eq!(shown["state"], "ended", "{script:?}");
        console_test.becomes(&id, "cancelled");
    }
}
