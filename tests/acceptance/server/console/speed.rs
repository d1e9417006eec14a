//! The time until a person sees a question, and until an agent gets the answer.
//!
//! A few tries in every run, so that it keeps working; `cargo xtask bench console` makes many and
//! writes the table. No test asserts a time.

use std::fmt::Write as _;
use std::fs;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::super::browser::{Page, target};
use super::{ConsoleTest, OFTEN, Script, card, on_card, push};

/// Records when a card has been painted, and when a button was clicked.
const NOTE: &str = "
    window.seen = {};
    const now = () => performance.timeOrigin + performance.now();
    const look = () => {
        for (const card of document.querySelectorAll('article.card')) {
            const id = card.dataset.approval;
            if (id in seen) continue;
            seen[id] = null;
            requestAnimationFrame(() => setTimeout(() => seen[id] = now()));
        }
    };
    new MutationObserver(look).observe(document, {childList: true, subtree: true});
    addEventListener('click', () => sessionStorage.clicked = now(), true);
";

/// Returns the milliseconds since 1970, as the page counts them too.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs_f64() * 1_000.0
}

/// Starts an agent that proposes and waits; returns the times when it began and when it got the
/// answer.
fn proposes(console_test: &ConsoleTest, number: usize) -> JoinHandle<(f64, f64)> {
    let agent = console_test.agent.clone();
    let body = json!({"action": push(&format!("b{number}"))});
    std::thread::spawn(move || {
        let began = now();
        let answer = agent.json("POST", "/api/actions", &[("Prefer", "wait=25")], &body);
        let let_go = now();
        assert_eq!(answer.expect(200)["status"], "permitted");
        (began, let_go)
    })
}

fn number(page: &Page, expression: &str) -> f64 {
    let value = page.eval(expression);
    value.as_f64().unwrap_or_else(|| panic!("{expression}: {value}"))
}

fn at(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

#[test]
fn from_question_to_card_and_from_click_to_agent() {
    let tries = std::env::var("CONSOLE_TRIES").ok().and_then(|tries| tries.parse().ok());
    let tries: usize = tries.unwrap_or(5);
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    let page = console_test.page(Script::On);
    page.before_each(NOTE);
    page.go("/");
    page.wait_for("#connection[data-state=live]");
    let (mut shown, mut felt) = (Vec::new(), Vec::new());
    for number_of_try in 0..tries {
        let agent = proposes(&console_test, number_of_try);
        page.wait_for("article.card");
        let id = page.attribute("article.card", "data-approval");
        page.wait(&format!("window.seen['{id}']"));
        let seen = number(&page, &format!("window.seen['{id}']"));
        page.click(&on_card(&id, "button[value=approve]"));
        let (began, let_go) = agent.join().unwrap();
        let clicked = number(&page, "Number(sessionStorage.clicked)");
        shown.push(seen - began);
        felt.push(let_go - clicked);
        page.wait_gone(&card(&id));
        page.wait_for("#connection[data-state=live]");
        // A person takes a moment too; the next question finds an idle page.
        std::thread::sleep(Duration::from_millis(30));
    }
    let mut table = format!("| in a browser, {tries} times | p50 ms | p99 ms |\n|---|---|---|\n");
    for (what, times) in [
        ("an agent proposes → its card is painted", &mut shown),
        ("a click on Approve → the agent goes on", &mut felt),
    ] {
        times.sort_by(f64::total_cmp);
        let _ = writeln!(table, "| {what} | {:.1} | {:.1} |", at(times, 50), at(times, 99));
    }
    println!("{table}");
    fs::write(target().join("console-speed.md"), table).expect("a file");
}
