//! The console in the reader's language, and on their phone.

use super::{ConsoleTest, OFTEN, Script, push};

#[test]
fn pages_speak_the_languages_there_are_and_fit_a_phone_in_each() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    let page = console_test.page(Script::On);
    console_test.agent.ask(&push("main"));
    page.resize(360, 740);
    let mut seen = Vec::new();
    for (wanted, spoken) in [("en-US", "en"), ("de-AT", "de"), ("ko", "ko"), ("tlh", "en")] {
        page.speaks(wanted);
        for path in ["/sessions", "/history", "/apps", "/developer", "/policy", "/audit", "/"] {
            page.go(path);
            assert_eq!(page.attribute("html", "lang"), spoken, "{wanted} {path}");
            page.assert_fits(&format!("{wanted} {path}"));
        }
        page.keep_picture(&format!("language-{wanted}"));
        seen.push(page.text("h1"));
    }
    assert_eq!(seen[0], seen[3], "what is not spoken is English");
    seen.truncate(3);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3, "{seen:?}");
}

#[test]
fn a_phone_can_install_it() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    let page = console_test.page(Script::On);
    assert_eq!(page.not_installable(), Vec::<String>::new());
}
