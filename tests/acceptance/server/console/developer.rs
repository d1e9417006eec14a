//! Keys and devices: secrets that are shown once, and revocations.

use serde_json::json;

use super::super::Client;
use super::{ConsoleTest, Script};

#[test]
fn a_key_is_shown_once() {
    let Some(console_test) = ConsoleTest::open("") else { return };
    let harmless = json!({"kind": "shell", "command": "ls"});
    for script in Script::BOTH {
        let page = console_test.page(script);
        page.go("/developer");
        let form = "form[action='/developer/keys']";
        page.fill(&format!("{form} input[name=name]"), &format!("runner {script:?}"));
        page.click(&format!("{form} input[name=any_device]"));
        page.submit(&format!("{form} button"));
        let secret = page.text("code#new-key");
        assert!(secret.starts_with("csk_"), "a key");
        let key = Client { secret: Some(secret.clone()), ..console_test.owner.clone() };
        assert_eq!(key.propose(&harmless).expect(200)["status"], "permitted");

        // On no other page, not even where it was shown.
        for path in ["/developer", "/history", "/audit", "/"] {
            page.go(path);
            let all = page.eval("document.documentElement.outerHTML");
            assert!(!all.as_str().unwrap().contains(&secret), "{path}");
        }
        page.go("/developer");
        let rows = page.eval(&format!(
            "[...document.querySelectorAll('tr[data-key]')]
                .find(row => row.textContent.includes('runner {script:?}')).dataset.key"
        ));
        let row = format!("tr[data-key='{}']", rows.as_str().unwrap());
        page.submit(&format!("{row} form[action$='/rotate'] button"));
        let next = page.text("code#new-key");
        assert_ne!(next, secret);
        let rotated = Client { secret: Some(next), ..console_test.owner.clone() };
        rotated.propose(&harmless).expect(200);
        page.go("/developer");
        page.submit(&format!("{row} form[action$='/revoke'] button"));
        assert_eq!(key.propose(&harmless).problem(401), "not-signed-in");
        rotated.propose(&harmless).expect(200);
    }
}

#[test]
fn a_waiting_machine_is_let_in_and_put_out() {
    let Some(console_test) = ConsoleTest::open("") else { return };
    let harmless = json!({"kind": "shell", "command": "ls"});
    for script in Script::BOTH {
        let page = console_test.page(script);
        let key = json!({"name": "laptop", "scopes": ["*"], "access": "program"});
        let key = console_test.owner.key_of(&key);
        let asked = key.post("/api/devices", &json!({"name": "build machine"})).expect(201);
        let machine = Client { device: asked["secret"].as_str().map(str::to_owned), ..key };
        assert_eq!(machine.propose(&harmless).problem(403), "device-not-approved");
        page.go("/developer");
        let row = format!("tr[data-device='{}']", asked["device_id"].as_str().unwrap());
        page.submit(&format!("{row} form[action$='/approve'] button"));
        machine.propose(&harmless).expect(200);
        page.submit(&format!("{row} form[action$='/revoke'] button"));
        assert_eq!(machine.propose(&harmless).problem(403), "device-not-approved", "{script:?}");
    }
}
