//! A browser or desktop app driven by a model. Rows A1, A5, A6 and A9.

use serde_json::{Value, json};

use crate::check::{judged, judged_in, verdict, verdict_in};

const PROFILE: &str = "browser-agent";

fn download(sizes: &[u64]) -> Value {
    let file = |bytes: &u64| json!({"url": "https://example.com/a.pdf", "bytes": bytes});
    json!({"kind": "download", "files": sizes.iter().map(file).collect::<Vec<_>>()})
}

fn click(surface: &str, label: &str) -> Value {
    json!({"kind": "ui", "surface": surface, "op": "click", "label": label})
}

fn navigate(url: &str) -> Value {
    json!({"kind": "navigate", "url": url})
}

fn submit() -> Value {
    json!({"kind": "ui", "surface": "browser", "op": "submit", "label": "Send"})
}

fn call() -> Value {
    json!({"kind": "http_request", "method": "POST", "url": "https://api.example.com/x", "body": "y"})
}

const MB: u64 = 1_000_000;

#[test]
fn a1_looking_and_navigating_never_ask() {
    for action in [
        json!({"kind": "screenshot"}),
        json!({"kind": "read_dom"}),
        navigate("https://example.com"),
    ] {
        assert_eq!(verdict(PROFILE, &action), "allow", "{action}");
        assert_eq!(verdict_in(PROFILE, "explore", &action), "allow", "{action}");
    }
}

#[test]
fn a1_a_single_small_download_does_not_ask() {
    assert_eq!(verdict(PROFILE, &download(&[10 * MB - 1])), "allow");
}

#[test]
fn a1_a_batch_of_more_than_five_files_or_fifty_megabytes_asks() {
    assert_eq!(verdict(PROFILE, &download(&[1; 6])), "confirm");
    assert_eq!(verdict(PROFILE, &download(&[26 * MB, 26 * MB])), "confirm");
    assert_eq!(judged(PROFILE, &download(&[1; 6]))["findings"][0]["risk"], "medium");
}

#[test]
fn a1_what_lies_between_the_limits_is_told_and_not_asked() {
    assert_eq!(verdict(PROFILE, &download(&[20 * MB])), "warn");
    assert_eq!(verdict(PROFILE, &download(&[25 * MB, 25 * MB])), "warn");
    assert_eq!(verdict(PROFILE, &download(&[51 * MB])), "confirm");
    assert_eq!(verdict(PROFILE, &download(&[MB; 5])), "allow");
}

#[test]
fn a1_more_than_five_pages_of_pdf_ask_and_one_does_not() {
    let export = |pages: u32| verdict(PROFILE, &json!({"kind": "export_pdf", "pages": pages}));
    assert_eq!([export(1), export(5), export(6)], ["allow", "allow", "confirm"]);
}

#[test]
fn a1_sending_a_form_asks() {
    let judgement = judged(PROFILE, &submit());
    assert_eq!(judgement["verdict"], "confirm");
}

#[test]
fn a1_signing_in_through_the_vault_does_not_ask() {
    assert_eq!(verdict(PROFILE, &json!({"kind": "login", "site": "https://example.com"})), "allow");
}

#[test]
fn a1_a_notification_somebody_set_up_does_not_ask() {
    assert_eq!(verdict(PROFILE, &json!({"kind": "notify", "channel": "telegram"})), "allow");
}

#[test]
fn a1_a_request_to_a_custom_url_asks_at_high_risk() {
    let judgement = judged(PROFILE, &call());
    assert_eq!(judgement["verdict"], "confirm");
    assert_eq!(judgement["findings"][0]["risk"], "high");
}

#[test]
fn a1_typing_into_an_unknown_field_does_not_ask() {
    let action = json!({"kind": "ui", "surface": "browser", "op": "type",
        "field": {"name": "q", "type": "text"}, "text": "weather"});
    assert_eq!(verdict(PROFILE, &action), "allow");
}

#[test]
fn a1_clicks_that_delete_are_blocked_in_apps_and_asked_about_in_pages() {
    for label in ["Delete", "Remove", "Uninstall"] {
        assert_eq!(verdict(PROFILE, &click("app", label)), "block", "{label}");
        assert_eq!(verdict(PROFILE, &click("browser", label)), "confirm", "{label}");
    }
}

#[test]
fn a5_exploring_changes_nothing() {
    for action in [
        submit(),
        download(&[1]),
        call(),
        json!({"kind": "notify", "channel": "webhook"}),
        json!({"kind": "file_write", "path": "a.txt"}),
        click("app", "Delete"),
        click("browser", "Delete account"),
    ] {
        assert_eq!(verdict_in(PROFILE, "explore", &action), "block", "{action}");
    }
    let login = json!({"kind": "login", "site": "https://example.com"});
    assert_eq!(verdict_in(PROFILE, "explore", &login), "allow");
}

#[test]
fn a5_working_follows_the_other_column() {
    assert_eq!(verdict_in(PROFILE, "task", &submit()), "confirm");
    assert_eq!(verdict_in(PROFILE, "task", &download(&[1])), "allow");
    assert_eq!(verdict_in(PROFILE, "task", &download(&[1; 6])), "confirm");
    assert_eq!(verdict_in(PROFILE, "task", &call()), "confirm");
    assert_eq!(verdict_in(PROFILE, "task", &click("app", "Delete")), "block");
}

#[test]
fn a5_closing_an_app_is_for_working_not_for_exploring() {
    for label in ["Close", "Exit", "Quit", "닫기", "종료"] {
        assert_eq!(verdict_in(PROFILE, "explore", &click("app", label)), "block", "{label}");
        assert_eq!(verdict_in(PROFILE, "task", &click("app", label)), "allow", "{label}");
    }
}

#[test]
fn a6_destructive_words_are_blocked_in_apps_in_english_and_korean() {
    for label in [
        "삭제",
        "Delete",
        "Remove",
        "제거",
        "포맷",
        "Format",
        "초기화",
        "Reset",
        "Clear all",
        "언인스톨",
        "Uninstall",
    ] {
        assert_eq!(verdict_in(PROFILE, "task", &click("app", label)), "block", "{label}");
    }
}

#[test]
fn a6_words_that_only_look_destructive_pass() {
    for label in ["Format painter", "Removed items: 0", "Reset filters", "Undelete", "Information"]
    {
        assert_eq!(verdict_in(PROFILE, "task", &click("app", label)), "allow", "{label}");
    }
}

#[test]
fn a9_schemes_that_reach_around_the_web_are_blocked_however_they_are_written() {
    for url in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "chrome://settings",
        "about:blank",
        "blob:https://example.com/1",
        "view-source:https://example.com",
        "chrome-extension://abc/x.html",
        "devtools://devtools/bundled/x.html",
        "vbscript:x",
        "filesystem:https://example.com/temporary/x",
        "JAVASCRIPT:alert(1)",
        " \t javascript:alert(1)",
        "java\nscript:alert(1)",
        "\u{1}file:///etc/passwd",
    ] {
        for mode in ["explore", "task"] {
            assert_eq!(verdict_in(PROFILE, mode, &navigate(url)), "block", "{url:?}");
        }
    }
}

#[test]
fn a9_a_relative_redirect_is_read_from_where_it_starts() {
    let context = json!({"profile": PROFILE, "base_url": "https://example.com/a"});
    let to = |url: &str| judged_in(&context, &navigate(url))["verdict"].clone();
    assert_eq!(to("/b"), "allow");
    assert_eq!(to("//169.254.169.254/latest"), "block");
    assert_eq!(to("javascript:x"), "block");
}
