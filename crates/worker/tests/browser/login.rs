//! Signing in, and the credential that is found nowhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_core::Action;
use countersign_wire::work::{Ended, WorkResult};

use super::harness::{Hands, name};

/// A password that is put together here, so that nothing in the repository looks like one.
fn canary() -> String {
    ["can", "ary", "/&", "bird", "<7>"].concat()
}

fn bank(form: &str) -> Option<Hands> {
    let mut hands = Hands::new()?;
    let origin = hands.site.origin();
    hands.server.credential = vec![
        (origin.clone(), "username".to_owned(), "anna-of-the-bank".to_owned()),
        (origin, "password".to_owned(), canary()),
    ];
    hands.site.html("/", form);
    hands.open("/");
    Some(hands)
}

fn sign_in(hands: &Hands) -> WorkResult {
    hands.run(Action::Login { site: hands.site.origin() })
}

/// Fails when the password is in a text, as it is or encoded.
fn is_clean(text: &str) {
    let canary = canary();
    let percent: String = url::form_urlencoded::byte_serialize(canary.as_bytes()).collect();
    let html = canary.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    for form in [STANDARD.encode(&canary), percent, html, canary] {
        assert!(!text.contains(&form), "{form} is in {text}");
    }
}

const FORM: &str = "<form method=post action=/in><input name=user><input type=password name=pass>\
    <button>Sign in</button></form>";

#[test]
fn a_sign_in_fills_and_submits_and_asks_nobody() {
    let Some(hands) = bank(FORM) else { return };
    hands.site.html("POST /in", "<h1>Your account</h1>");
    let result = sign_in(&hands);
    assert_eq!(result.ended, Ended::Done, "{result:?}");
    let arrived = &hands.site.changes()[0].body;
    let expected: String = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("user", "anna-of-the-bank"), ("pass", &canary())])
        .finish();
    assert_eq!(*arrived, expected);
    assert_eq!(hands.asked(), []);
}

#[test]
fn a_site_that_asks_again_has_not_let_us_in() {
    let Some(hands) = bank(FORM) else { return };
    hands.site.html("POST /in", &format!("<p>wrong</p>{FORM}"));
    let result = sign_in(&hands);
    assert_eq!((result.ended, name(&result)), (Ended::Failed, "NotSignedIn"));
}

#[test]
fn the_credential_is_found_in_nothing_that_leaves() {
    let canary = canary();
    let Some(hands) = bank(FORM) else { return };
    let html = canary.replace('&', "&amp;").replace('<', "&lt;");
    let percent: String = url::form_urlencoded::byte_serialize(canary.as_bytes()).collect();
    // A bank that shows what it was sent, in every way.
    hands.site.html(
        "POST /in",
        &format!(
            "<title>{html}</title><p>you are {html}</p><p>{}</p><p>{percent}</p>
             <a href='/x?p={percent}'>link {html}</a><input aria-label=shown value='{html}'>
             <button id=b>Go</button><script>let s='{}';b.onclick=()=>{{alert(atob(s));
             fetch('/leak?p='+encodeURIComponent(atob(s)));fetch('/leak',{{method:'POST',body:s}})}}</script>",
            STANDARD.encode(&canary),
            STANDARD.encode(&canary),
        ),
    );
    let signed_in = sign_in(&hands);
    let page = hands.run(Action::ReadDom {});
    let link = hands.browsers.element("ses_1", Some(&hands.element("link").reference));
    let clicked = hands.click("Go");
    for told in [&signed_in, &page, &clicked] {
        is_clean(&serde_json::to_string(told).unwrap());
        is_clean(&format!("{told:?}"));
    }
    is_clean(&format!("{link:?} {:?} {:?}", hands.asked(), hands.browsers));
    assert!(clicked.value["dialogs"][0].as_str().unwrap().contains("•••"), "{clicked:?}");
    assert!(!hands.site.has("POST /leak"), "{clicked:?}");
    assert_eq!(hands.site.changes().len(), 1, "only the sign-in");
}

#[test]
fn a_field_that_is_bait_gets_nothing() {
    let elsewhere = "<form method=post action=http://localhost:1/in><input name=user>\
        <input type=password name=pass><button>Sign in</button></form>";
    let open = "<form action=/in><input name=user><input type=password name=pass>\
        <button>Sign in</button></form>";
    let hidden = "<form method=post action=/in style='opacity:0'><input name=user>\
        <input type=password name=pass><button>Sign in</button></form>";
    for (form, why) in [(elsewhere, "OtherOrigin"), (open, "OpenForm"), (hidden, "NoForm")] {
        let Some(hands) = bank(form) else { return };
        let result = sign_in(&hands);
        assert_eq!(name(&result), why, "{result:?}");
        assert_eq!(hands.site.changes(), []);
    }
    let Some(hands) = bank(FORM) else { return };
    let result = hands.run(Action::Login { site: format!("http://localhost:{}", hands.site.port) });
    assert_eq!((result.ended, name(&result)), (Ended::Refused, "OtherOrigin"));
}
