//! Events elsewhere appear here: other devices, a lost connection, a server that comes back.

use std::net::TcpListener;

use super::super::browser::Network;
use super::{ConsoleTest, OFTEN, Script, Setup, card, on_card, push};

#[test]
fn the_other_device_is_told_at_once() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    let (first, second) = (console_test.page(Script::On), console_test.page(Script::On));
    let old = console_test.page(Script::Off);
    let id = console_test.agent.ask(&push("main"));
    for page in [&first, &second] {
        page.wait_for(&card(&id));
        page.wait("document.querySelector('#announce').textContent.trim() !== ''");
    }
    ConsoleTest::see(&old, Script::Off, &card(&id));
    // Neither page was reloaded.
    second.eval("window.stayed = true");
    first.click(&on_card(&id, "button[value=approve]"));
    console_test.becomes(&id, "approved");
    second.wait(&format!(
        "(card => !card || card.dataset.state === 'approved')(document.querySelector('{}'))",
        card(&id),
    ));
    second.wait_gone(&card(&id));
    second.wait_for("#empty");
    assert_eq!(second.eval("window.stayed"), true);
    // The page without script finds out when it answers.
    old.forgive("409 (Conflict)");
    old.submit(&on_card(&id, "button[value=reject]"));
    old.wait_for("html[data-page=error] #problem");
    assert_eq!(console_test.owner.state(&id), "approved");
}

#[test]
fn a_page_without_network_says_so_and_catches_up() {
    let Some(console_test) = ConsoleTest::open(OFTEN) else { return };
    let page = console_test.page(Script::On);
    let first = console_test.agent.ask(&push("one"));
    page.wait_for(&card(&first));
    page.forgive("ERR_INTERNET_DISCONNECTED");
    page.forgive("ERR_NETWORK_CHANGED");
    page.network(Network::Gone);
    page.wait_for("#connection[data-state=lost]");
    let second = console_test.agent.ask(&push("two"));
    console_test.owner.respond(&first, false).expect(200);
    page.network(Network::There);
    page.wait_for("#connection[data-state=live]");
    page.wait_for(&card(&second));
    page.wait_gone(&card(&first));
    page.click(&on_card(&second, "button[value=approve]"));
    console_test.becomes(&second, "approved");
}

#[test]
fn a_page_outlives_its_server() {
    // A fixed port, so that it comes back at the same address.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let setup = Setup::new().config(OFTEN).word("--listen").word(&port.to_string());
    let Some(console_test) = ConsoleTest::of(setup) else { return };
    let page = console_test.page(Script::On);
    let id = console_test.agent.ask(&push("main"));
    page.wait_for(&card(&id));
    page.forgive("ERR_CONNECTION_REFUSED");
    page.forgive("ERR_CONNECTION_RESET");
    page.forgive("ERR_EMPTY_RESPONSE");
    page.forgive("ERR_INCOMPLETE_CHUNKED_ENCODING");
    page.forgive("WebSocket connection");
    page.eval("window.stayed = true");
    let ConsoleTest { browser, mut server, owner, agent } = console_test;
    server.stop();
    page.wait_for("#connection[data-state=lost]");
    assert!(page.has(&card(&id)), "what was there stays to be read");
    let server = server.setup.clone().start();
    let console_test = ConsoleTest { browser, server, owner, agent };
    page.wait_for("#connection[data-state=live]");
    assert_eq!(page.eval("window.stayed"), true);
    let next = console_test.agent.ask(&push("other"));
    page.wait_for(&card(&next));
    page.click(&on_card(&id, "button[value=approve]"));
    console_test.becomes(&id, "approved");
    drop(page);
}
