//! The console as a person meets it: in a real browser, with the mouse and with the keyboard.

use super::Server;
use super::browser::Browser;

#[test]
fn a_browser_signs_in_by_a_link_once() {
    let Some(browser) = Browser::launch() else { return };
    let server = Server::with("coding-agent");
    let page = browser.page(&server);
    page.forgive("favicon.ico");
    let link = format!("/sign-in?link={}", server.link.as_deref().unwrap());
    page.go(&link);
    page.fill("input[name=name]", "Kim's phone");
    page.submit("form[action='/sign-in'] button");
    assert_eq!(page.path(), "/");
    let other = browser.page(&server);
    other.forgive("favicon.ico");
    other.forgive("410 (Gone)");
    other.go(&link);
    other.submit("form[action='/sign-in'] button");
    assert!(other.visible().contains("link"), "{}", other.visible());
}
