//! The history: found, exported, erased; and the chain remains intact.

use serde_json::{Value, json};

use super::{ConsoleTest, Script};

#[test]
fn history_is_searched_exported_and_erased() {
    for script in Script::BOTH {
        let Some(console_test) = ConsoleTest::open("gate: {logging: enhanced}\n") else { return };
        let page = console_test.page(script);
        for word in ["heron", "=bittern"] {
            let action = json!({"kind": "shell", "command": format!("echo {word}")});
            console_test.agent.propose(&action).expect(200);
        }
        page.go("/history");
        let all = page.count("table#records tbody tr");
        assert!(all >= 2, "{}", page.visible());
        page.fill("form#search input[name=q]", "heron");
        page.submit("form#search button");
        assert!(page.path().contains("q=heron"));
        assert_eq!(page.count("table#records tbody tr"), 1, "{}", page.visible());

        page.go("/history");
        page.click("a#export-json");
        let lines = page.downloaded("jsonl");
        let lines: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.len() as u64 >= all, "{script:?}");
        page.click("a#export-csv");
        let table = page.downloaded("csv");
        assert_eq!(table.lines().count(), lines.len() + 1, "{table}");
        assert!(table.contains("heron"), "{table}");

        // Not without confirmation: the browser requires the checkbox.
        page.click("details.danger-zone > summary");
        page.click("form[action='/history/delete'] button");
        assert!(page.has("[name=sure]:invalid"));
        page.go("/history");
        assert!(page.count("table#records tbody tr") >= all);
        page.click("details.danger-zone > summary");
        page.click("form[action='/history/delete'] [name=sure]");
        page.submit("form[action='/history/delete'] button");
        page.wait_for("html[data-page=history] .flash");
        assert!(!page.visible().contains("heron"), "{}", page.visible());
        assert_eq!(console_test.owner.history("action_planned"), Vec::<Value>::new());

        page.go("/audit");
        page.submit("form[action='/audit/verify'] button");
        page.wait_for("#chain[data-state=whole]");
    }
}

#[test]
fn the_policy_page_explains_what_it_would_say() {
    let Some(console_test) = ConsoleTest::open("profile: coding-agent\n") else { return };
    for script in Script::BOTH {
        let page = console_test.page(script);
        page.go("/policy");
        assert!(page.has("section.layer"));
        for (command, verdict) in
            [("ls", "allow"), ("git push --force", "confirm"), ("rm -rf /", "block")]
        {
            page.choose("form[action='/policy'] select[name=kind]", "shell");
            page.fill("form[action='/policy'] [name=input]", command);
            page.submit("form[action='/policy'] button");
            assert_eq!(page.attribute("#judgement", "data-verdict"), verdict, "{command}");
        }
        assert_eq!(
            console_test.owner.history("action_planned"),
            Vec::<Value>::new(),
            "nothing was asked"
        );
    }
}
