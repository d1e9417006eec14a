//! The console as a person uses it: in a real browser, with the mouse and with the keyboard, with
//! script and without.

use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::browser::{Browser, Page, Script};
use super::client::Answer;
use super::{Client, Server, Setup, text, until};

mod access;
mod answer;
mod control;
mod crowd;
mod developer;
mod first_use;
mod history;
mod hostile;
mod language;
mod live;
mod pictures;
mod speed;

/// A configuration without effective limits on questions.
const OFTEN: &str = "gate: {prompts: {uses: 100000, seconds: 1}, most_pending: 10000}\n";

/// A server, its owner with a browser, and an agent of theirs.
struct ConsoleTest {
    browser: Browser,
    server: Server,
    /// The owner at another device, to check the results.
    owner: Client,
    agent: Client,
}

impl ConsoleTest {
    /// Opens a desk; `None` without a browser.
    fn open(config: &str) -> Option<Self> {
        Self::of(Setup::new().config(config))
    }

    fn of(setup: Setup) -> Option<Self> {
        let browser = Browser::launch()?;
        let server = setup.start();
        let owner = server.owner();
        let agent = owner.key("agent");
        Some(Self { browser, server, owner, agent })
    }

    /// Opens another page of the owner, at the inbox.
    fn page(&self, script: Script) -> Page {
        let link = self.owner.post("/api/devices/invite", &json!({})).expect(201);
        let page = self.browser.signed_in(&self.server, &text(&link["link"]), script);
        if script == Script::On {
            page.wait_for("#connection[data-state=live]");
        }
        page
    }

    /// Polls a page until an element is there. Without script a page is as old as its last load.
    #[track_caller]
    fn see(page: &Page, script: Script, selector: &str) {
        if script == Script::Off {
            page.reload();
        }
        page.wait_for(selector);
    }

    /// Starts an agent that proposes an action, and waits for the answer.
    fn proposes(&self, action: &Value) -> JoinHandle<Answer> {
        let (agent, body) = (self.agent.clone(), json!({"action": action}));
        std::thread::spawn(move || {
            agent.json("POST", "/api/actions", &[("Prefer", "wait=25")], &body)
        })
    }

    /// Returns the pending question, once there is one.
    fn asked(&self) -> String {
        until("a question", || {
            let waiting = self.owner.get("/api/approvals?state=pending").expect(200);
            waiting["items"].get(0).map(|first| text(&first["approval_id"]))
        })
    }

    #[track_caller]
    fn becomes(&self, approval: &str, state: &str) {
        until(&format!("{approval} is {state}"), || {
            (self.owner.state(approval) == state).then_some(())
        });
    }
}

/// Returns an action of a coding agent that needs an approval.
fn push(branch: &str) -> Value {
    json!({"kind": "shell", "command": format!("git push --force origin {branch}")})
}

/// Returns the selector of a question's card.
fn card(approval: &str) -> String {
    format!("#card-{approval}")
}

/// Returns the selector of a part of a question's card.
fn on_card(approval: &str, selector: &str) -> String {
    format!("#card-{approval} {selector}")
}

#[test]
fn a_browser_signs_in_by_a_link_once() {
    let Some(browser) = Browser::launch() else { return };
    for script in Script::BOTH {
        let server = Server::with("coding-agent");
        let page = browser.page(&server, script);
        page.forgive("401");
        page.go("/");
        assert!(!page.has("html[data-page=inbox]"), "nobody is signed in");
        let link = format!("/sign-in?link={}", server.link.as_deref().unwrap());
        page.go(&link);
        page.fill("input[name=name]", "Kim's phone");
        page.submit("form[action='/sign-in'] button");
        assert_eq!(page.path(), "/");
        page.wait_for("html[data-page=inbox] #empty");
        page.go("/developer");
        assert!(page.visible().contains("Kim's phone"), "{}", page.visible());

        let other = browser.page(&server, script);
        other.forgive("410 (Gone)");
        other.go(&link);
        other.submit("form[action='/sign-in'] button");
        other.wait_for("html[data-page=error] #problem");
    }
}
