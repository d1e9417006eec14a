//! Five thousand questions at once.

use std::time::Instant;

use super::{ConsoleTest, OFTEN, Script, card, on_card, push};

const MANY: usize = 5_000;
const THREADS: usize = 8;

#[test]
fn with_five_thousand_questions_one_can_still_be_answered() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    let began = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let agent = &console_test.agent;
            scope.spawn(move || {
                for number in (thread..MANY).step_by(THREADS) {
                    agent.ask(&push(&format!("b{number}")));
                }
            });
        }
    });
    println!("{MANY} questions asked in {:.1?}", began.elapsed());
    for script in Script::BOTH {
        let began = Instant::now();
        let page = console_test.page(script);
        println!("{script:?}: signed in and shown after {:.2?}", began.elapsed());
        let began = Instant::now();
        page.reload();
        println!("{script:?}: loaded again in {:.2?}", began.elapsed());
        assert_eq!(page.count("article.card"), 50);
        assert!(page.text("#more").contains("950"), "{}", page.text("#more"));
        page.wait("document.title.startsWith('(')");
        page.wait_for("link[rel=icon][href='/static/icon/100.svg']");
        if script == Script::On {
            page.wait_for("#connection[data-state=live]");
        }
        let id = page.attribute("article.card", "data-approval");
        let began = Instant::now();
        page.click(&on_card(&id, "button[value=approve]"));
        console_test.becomes(&id, "approved");
        println!("{script:?}: approved {:.2?} after the click", began.elapsed());
        page.wait_gone(&card(&id));
        println!("{script:?}: gone {:.2?} after the click", began.elapsed());
        // The next one replaces it.
        page.wait("document.querySelectorAll('article.card').length >= 49");
        console_test.agent.ask(&push(&format!("again-{script:?}")));
    }
}
