//! An engine that fills forms on allowed origins. Rows C1, C2, C5, C6 and C10.

use serde_json::{Value, json};

use crate::check::{judged, judged_in, verdict};

const PROFILE: &str = "computer-use";

fn click(label: &str) -> Value {
    json!({"kind": "ui", "surface": "browser", "op": "click", "label": label})
}

fn field(label: &str) -> Value {
    json!({"kind": "ui", "surface": "browser", "op": "type", "field": {"label": label, "type": "text"}})
}

/// Returns the categories and risks of the findings.
fn found(action: &Value) -> Vec<(String, String)> {
    let judgement = judged(PROFILE, action);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = judgement["findings"].as_array().cloned().unwrap_or_default();
    findings.iter().map(|finding| (text(&finding["category"]), text(&finding["risk"]))).collect()
}

#[test]
fn c1_six_categories_have_their_levels() {
    for (action, category, risk) in [
        (field("Card number"), "financial_information", "critical"),
        (field("Passport number"), "identity_documents", "critical"),
        (field("Password"), "passwords_and_security_answers", "critical"),
        (click("Place order"), "final_submission_or_purchase", "high"),
        (click("Transfer ownership"), "irreversible_changes", "high"),
        (click("Delete account"), "destructive_actions", "high"),
    ] {
        let expected = (category.to_owned(), risk.to_owned());
        assert!(found(&action).contains(&expected), "{action}: {:?}", found(&action));
        assert_eq!(verdict(PROFILE, &action), "confirm", "{action}");
    }
}

#[test]
fn c2_the_patterns_of_the_old_guard_are_all_covered() {
    for label in [
        "Credit card",
        "Card number",
        "CVV",
        "CVC",
        "Security code",
        "Bank account",
        "Passport",
        "Driver's license",
        "Driving licence number",
        "Social security number",
        "SSN",
        "SIN",
        "TIN",
        "Password",
        "Secret question",
        "Two-factor code",
        "2FA code",
        "MFA code",
        "Recovery code",
    ] {
        assert_eq!(verdict(PROFILE, &field(label)), "confirm", "{label}");
    }
    for label in [
        "Submit order",
        "Confirm purchase",
        "Sign agreement",
        "Accept terms",
        "Delete account",
        "Erase data",
        "Terminate account",
    ] {
        assert_eq!(verdict(PROFILE, &click(label)), "confirm", "{label}");
    }
}

#[test]
fn c2_words_that_hold_those_letters_are_left_alone() {
    for label in ["Using", "Settings", "Business", "Casino", "Continue reading", "Forgot password?"]
    {
        assert_eq!(verdict(PROFILE, &click(label)), "allow", "{label}");
    }
    for label in ["Business name", "Search", "First name", "City"] {
        assert_eq!(verdict(PROFILE, &field(label)), "allow", "{label}");
    }
}

#[test]
fn c2_eight_languages_are_understood() {
    for label in [
        "Delete account",
        "계정 삭제",
        "アカウントを削除",
        "删除账户",
        "刪除帳號",
        "Konto löschen",
        "Supprimer le compte",
        "Eliminar cuenta",
        "Excluir conta",
    ] {
        assert_eq!(verdict(PROFILE, &click(label)), "confirm", "{label}");
    }
    for label in
        ["비밀번호", "パスワード", "密码", "Passwort", "Mot de passe", "Contraseña", "Senha"]
    {
        assert_eq!(verdict(PROFILE, &field(label)), "confirm", "{label}");
    }
}

#[test]
fn c2_what_is_typed_tells_by_its_checksum() {
    let typed = |text: &str| {
        json!({"kind": "ui", "surface": "browser", "op": "type",
            "field": {"name": "x1", "type": "text"}, "text": text})
    };
    // Test numbers that card schemes publish; the last digit is a checksum.
    let financial = [("financial_information".to_owned(), "critical".to_owned())];
    assert_eq!(found(&typed("4111 1111 1111 1111")), financial);
    assert_eq!(verdict(PROFILE, &typed("4111 1111 1111 1112")), "allow");
    assert_eq!(found(&typed("DE89 3704 0044 0532 0130 00")), financial);
    assert_eq!(verdict(PROFILE, &typed("DE88 3704 0044 0532 0130 00")), "allow");
}

#[test]
fn c5_some_names_are_never_allowed_in_any_spelling() {
    for name in [
        "deleteAccount",
        "formatDisk",
        "installSoftware",
        "modifySystemSettings",
        "accessTerminal",
        "runShellCommands",
        "delete_account",
        "delete-account",
        "DELETE ACCOUNT",
        "RunShellCommands",
    ] {
        for profile in [PROFILE, "coding-agent", "assistant", "browser-agent"] {
            let action = json!({"kind": "named", "name": name});
            assert_eq!(verdict(profile, &action), "block", "{profile}: {name}");
        }
    }
}

#[test]
fn c6_an_origin_is_a_domain_and_not_a_piece_of_text() {
    let context = json!({"profile": PROFILE,
        "allowed_origins": ["localhost", "synthex.social", "unite-hub.com", "https://a.example:8443"]});
    let to = |url: &str| {
        judged_in(&context, &json!({"kind": "navigate", "url": url}))["verdict"].clone()
    };
    for url in [
        "http://localhost:3000/x",
        "https://synthex.social/",
        "https://app.synthex.social/",
        "https://UNITE-HUB.com./",
        "https://a.example:8443/",
    ] {
        assert_eq!(to(url), "allow", "{url}");
    }
    for url in [
        "https://localhost.evil.com/",
        "https://notsynthex.social/",
        "https://synthex.social.evil.com/",
        "https://evil.com/synthex.social",
        "https://synthex.social@evil.com/",
        "https://a.example/",
        "http://a.example:8443/",
    ] {
        assert_eq!(to(url), "block", "{url}");
    }
}

#[test]
fn c6_a_click_on_a_page_of_another_origin_is_blocked() {
    let context = json!({"profile": PROFILE, "allowed_origins": ["synthex.social"]});
    let on = |url: &str| {
        let action = json!({"kind": "ui", "surface": "browser", "op": "click", "label": "Next",
            "url": url});
        judged_in(&context, &action)["verdict"].clone()
    };
    assert_eq!(on("https://synthex.social/form"), "allow");
    assert_eq!(on("https://synthex.social.evil.com/form"), "block");
}

#[test]
fn c10_the_score_has_its_factors_and_its_thresholds() {
    let risk = |context: Value, action: &Value| judged_in(&context, action)["risk"].clone();
    let score = |risk: &Value| risk["score"].as_f64().unwrap();
    let plain = risk(json!({"profile": PROFILE}), &click("Delete account"));
    let names: Vec<_> =
        plain["factors"].as_array().unwrap().iter().map(|factor| factor["name"].clone()).collect();
    assert!(names.contains(&json!("category")) && names.contains(&json!("action")), "{plain}");
    assert!(score(&plain) >= 0.6, "{plain}");
    let unsure = risk(json!({"profile": PROFILE, "confidence": 0.1}), &click("Delete account"));
    let refused = risk(
        json!({"profile": PROFILE, "history": {"approved": 0, "rejected": 9}}),
        &click("Delete account"),
    );
    assert!(score(&unsure) > score(&plain), "{unsure}");
    assert!(score(&refused) > score(&plain), "{refused}");
    let nothing = risk(json!({"profile": PROFILE}), &click("Next"));
    assert_eq!(nothing["level"], "none");
    assert_eq!(judged(PROFILE, &field("Password"))["risk"]["level"], "critical");
}
