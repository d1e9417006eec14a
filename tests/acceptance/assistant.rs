//! A chat assistant's app skills. Row B3, as far as judging goes.

use serde_json::{Value, json};

use crate::check::{judged, verdict, verdict_in};

const PROFILE: &str = "assistant";

fn skill(id: &str) -> Value {
    json!({"kind": "skill", "skill": id, "params": {}})
}

#[test]
fn b3_a_declared_skill_that_reads_runs_at_once() {
    for id in ["calendar.read", "email.read", "email.search", "web.search", "web.transcript"] {
        assert_eq!(verdict(PROFILE, &skill(id)), "allow", "{id}");
    }
}

#[test]
fn b3_a_declared_skill_that_writes_asks() {
    for id in ["email.send", "calendar.create", "files.delete", "files.update", "payments.send"] {
        assert_eq!(verdict(PROFILE, &skill(id)), "confirm", "{id}");
    }
}

#[test]
fn b3_a_skill_may_be_declared_not_to_ask() {
    assert_eq!(verdict(PROFILE, &skill("email.draft")), "allow");
}

#[test]
fn b3_an_undeclared_skill_asks_unless_its_name_only_reads() {
    for id in ["shop.frobnicate", "shop.update_order", "bank.send_money", "shop.get_or_create"] {
        assert_eq!(verdict(PROFILE, &skill(id)), "confirm", "{id}");
    }
    for id in ["shop.get_order", "bank.list_accounts"] {
        assert_eq!(verdict(PROFILE, &skill(id)), "warn", "{id}");
    }
}

#[test]
fn b3_what_is_paid_sent_or_deleted_is_of_high_risk() {
    for id in ["bank.transfer_funds", "chat.send_message", "shop.cancel_order", "payments.send"] {
        assert_eq!(judged(PROFILE, &skill(id))["findings"][0]["risk"], "high", "{id}");
    }
}

#[test]
fn b3_parameters_are_looked_at_too() {
    let fetch = json!({"kind": "skill", "skill": "web.read",
        "params": {"url": "http://169.254.169.254/latest/meta-data/"}});
    assert_eq!(verdict(PROFILE, &fetch), "block");
}

#[test]
fn exploring_never_writes() {
    for id in ["email.send", "files.delete", "shop.frobnicate"] {
        assert_eq!(verdict_in(PROFILE, "explore", &skill(id)), "block", "{id}");
    }
    assert_eq!(verdict_in(PROFILE, "explore", &skill("email.read")), "allow");
}
