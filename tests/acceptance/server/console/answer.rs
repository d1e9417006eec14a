//! One question, or several: seen, answered, answered too late.

use serde_json::json;

use super::{ConsoleTest, OFTEN, Script, card, on_card, push};

#[test]
fn an_approved_agent_gets_its_permit() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    for script in Script::BOTH {
        let page = console_test.page(script);
        page.wait_for("#empty");
        let agent = console_test.proposes(&push("main"));
        let id = console_test.asked();
        ConsoleTest::see(&page, script, &card(&id));
        let what = page.text(&on_card(&id, "pre.what"));
        assert!(what.contains("git push --force origin main"), "{what}");
        assert!(page.has(&on_card(&id, "mark.risky")), "the risky part is marked");
        assert!(page.has(&on_card(&id, "p.why")) && page.has(&on_card(&id, "ul.findings > li")));
        assert!(page.text(&on_card(&id, ".asker")).contains("agent"), "who asks");
        page.wait("document.title.startsWith('(1) ')");
        page.wait_for("link[rel=icon][href='/static/icon/1.svg']");

        page.click(&on_card(&id, "button[value=approve]"));
        assert_eq!(agent.join().unwrap().expect(200)["status"], "permitted", "{script:?}");
        page.wait_gone(&card(&id));
        page.wait_for("#empty");
        page.wait("!document.title.startsWith('(')");
    }
}

#[test]
fn a_rejected_agent_reads_why() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    for script in Script::BOTH {
        let page = console_test.page(script);
        let branch = format!("b-{script:?}");
        let agent = console_test.proposes(&push(&branch));
        let id = console_test.asked();
        ConsoleTest::see(&page, script, &card(&id));
        page.fill(&on_card(&id, "textarea[name=feedback]"), "Open a pull request <instead>.");
        page.click(&on_card(&id, "button[value=reject]"));
        let refused = agent.join().unwrap();
        assert_eq!(refused.problem(403), "declined", "{script:?}");
        assert!(refused.text().contains("Open a pull request <instead>."), "{}", refused.text());
        let seen = console_test.agent.approval(&id);
        assert_eq!(seen["feedback"], "Open a pull request <instead>.");
        page.wait_gone(&card(&id));
    }
}

#[test]
fn an_edited_action_is_judged_again() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    for script in Script::BOTH {
        let page = console_test.page(script);
        let edit = |id: &str, command: &str| {
            ConsoleTest::see(&page, script, &card(id));
            page.click(&on_card(id, "details.edit > summary"));
            page.fill(&on_card(id, "form.edit textarea[name=edited]"), command);
            page.click(&on_card(id, "form.edit button"));
        };
        // Not riskier, and of the same kind: approved instead of the original.
        let id = console_test.agent.ask(&push("main"));
        edit(&id, "git push --force-with-lease origin main");
        console_test.becomes(&id, "cancelled");
        let next = console_test.agent.approval(&id)["replaced_by"].as_str().unwrap().to_owned();
        console_test.becomes(&next, "approved");
        let leased = json!({"kind": "shell", "command": "git push --force-with-lease origin main"});
        assert_eq!(console_test.agent.spend(&next, &push("main")).problem(409), "other-action");
        assert_eq!(console_test.agent.spend(&next, &leased).expect(200)["status"], "permitted");

        // Riskier: needs a new approval.
        page.go("/");
        let id = console_test.agent.ask(&json!({"kind": "shell", "command": "git branch -D old"}));
        edit(&id, "git branch -D old && git push --force origin main");
        console_test.becomes(&id, "cancelled");
        let next = console_test.agent.approval(&id)["replaced_by"].as_str().unwrap().to_owned();
        page.wait_for(&card(&next));
        assert!(page.text(&on_card(&next, "pre.what")).contains("push --force"));
        assert_eq!(console_test.owner.state(&next), "pending", "{script:?}");
        page.click(&on_card(&next, "button[value=reject]"));
        console_test.becomes(&next, "rejected");

        // A forbidden action is refused, and the question remains.
        page.forgive("403 (Forbidden)");
        page.go("/");
        let id = console_test.agent.ask(&push("other"));
        edit(&id, "rm -rf /");
        page.wait_for("#problem");
        assert_eq!(console_test.owner.state(&id), "pending", "{script:?}");
        console_test.owner.respond(&id, false).expect(200);
    }
}

#[test]
fn in_a_group_the_page_says_which_answer_was_not_taken() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    for script in Script::BOTH {
        let page = console_test.page(script);
        let session = console_test.agent.session(&json!({"task": "Tidy up"}));
        let ask = |branch: &str| console_test.agent.ask_in(&session, &push(branch));
        let ids = ["one", "two", "three"].map(ask);
        ConsoleTest::see(&page, script, &format!("section.group {}", card(&ids[2])));
        assert_eq!(page.count("form.all input[name=answer]"), 3);
        for (id, differs) in ids.iter().zip(["one", "two", "three"]) {
            assert_eq!(page.text(&on_card(id, "mark.differs")), differs, "{script:?}");
        }
        // With the token of another question.
        page.eval(&format!(
            "(() => {{
                const fields = [...document.querySelectorAll('form.all input[name=answer]')];
                const [ours] = fields.filter(field => field.value.startsWith('{id} '));
                const [other] = fields.filter(field => field !== ours);
                ours.value = '{id} ' + other.value.split(' ')[1];
            }})()",
            id = ids[1],
        ));
        page.submit("form.all button[value=approve]");
        page.wait_for("html[data-page=answers]");
        for (id, accepted) in ids.iter().zip([true, false, true]) {
            let line = format!("li[data-approval='{id}']");
            assert_eq!(page.attribute(&line, "data-accepted"), accepted.to_string(), "{script:?}");
        }
        let states = ids.each_ref().map(|id| console_test.owner.state(id));
        assert_eq!(states, ["approved", "pending", "approved"], "{script:?}");
        page.keep_picture(&format!("answers-{script:?}").to_lowercase());
        console_test.owner.respond(&ids[1], false).expect(200);

        // All of them, with the right tokens.
        let ids = ["four", "five"].map(ask);
        page.go("/");
        page.submit("form.all button[value=approve]");
        page.wait_for("html[data-page=inbox] .flash");
        for id in &ids {
            assert_eq!(console_test.owner.state(id), "approved", "{script:?}");
        }
        console_test
            .agent
            .post(&format!("/api/sessions/{session}/complete"), &json!({}))
            .expect(204);
    }
}

#[test]
fn what_expires_does_so_on_the_screen() {
    let Some(console_test) = ConsoleTest::open("gate: {approval_timeout: 4}\n") else { return };
    let page = console_test.page(Script::On);
    let id = console_test.agent.ask(&push("main"));
    page.wait_for(&on_card(&id, "time.left"));
    let left = page.text(&on_card(&id, "time.left"));
    page.wait(&format!(
        "document.querySelector('{}')?.textContent.trim() !== '{left}'",
        on_card(&id, "time.left"),
    ));
    page.wait_for(&format!("{}[data-state=expired]", card(&id)));
    let buttons = on_card(&id, "button[name=say]");
    assert_eq!(page.count(&buttons), page.count(&format!("{buttons}:disabled")));
    console_test.becomes(&id, "expired");
    page.wait("!document.title.startsWith('(')");

    // Without script the page is unchanged, and the answer comes too late.
    let page = console_test.page(Script::Off);
    page.forgive("409 (Conflict)");
    let id = console_test.agent.ask(&push("other"));
    ConsoleTest::see(&page, Script::Off, &card(&id));
    console_test.becomes(&id, "expired");
    page.submit(&on_card(&id, "button[value=approve]"));
    page.wait_for("html[data-page=error] #problem");
    assert_eq!(console_test.owner.state(&id), "expired");
}

#[test]
fn a_yes_may_reach_further_than_once() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    for script in Script::BOTH {
        let page = console_test.page(script);
        let session = console_test.agent.session(&json!({}));
        let id = console_test.agent.ask_in(&session, &push("main"));
        ConsoleTest::see(&page, script, &card(&id));
        page.choose(&on_card(&id, "select[name=scope]"), "session");
        page.click(&on_card(&id, "button[value=approve]"));
        console_test.becomes(&id, "approved");
        console_test.agent.spend(&id, &push("main")).expect(200);
        let again = console_test.agent.propose_in(&session, &push("main")).expect(200);
        assert_eq!(again["status"], "permitted", "{script:?}");
        console_test
            .agent
            .post(&format!("/api/sessions/{session}/complete"), &json!({}))
            .expect(204);
    }
}
