//! A key that works only on approved machines: the hook identifies its machine.

use super::{Machine, PUSH, approve, end, waiting};
use crate::server::{Server, text};

#[test]
fn a_key_that_is_bound_to_a_machine_works_there_and_nowhere_else() {
    let server = Server::with("coding-agent");
    let owner = server.owner();
    let body = serde_json::json!({"name": "hook", "scopes": ["*"], "access": "agent"});
    let key = owner.key_of(&body);
    let machine = Machine::of(&server, "").with_key(&key);
    let (decision, reason) = machine.call(PUSH);
    assert_eq!(decision, "deny");
    assert!(reason.contains("countersign devices request"), "{reason}");
    let asked = machine.run(&["devices", "request", "laptop", "--server", &server.url]);
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    let secret = said.trim().strip_prefix("export COUNTERSIGN_MACHINE=").expect("a secret");
    let bound = Machine { setup: machine.setup.clone(), patience: "60" };
    let bound = bound.with("COUNTERSIGN_MACHINE", secret);
    let (decision, reason) = bound.call(PUSH);
    assert_eq!(decision, "deny", "nobody has let it in: {reason}");
    let devices = owner.get("/api/devices").expect(200);
    let laptop =
        devices["items"].as_array().expect("a list").iter().find(|it| it["name"] == "laptop");
    let id = text(&laptop.expect("it waits")["device_id"]);
    let role = serde_json::json!({"role": "machine"});
    owner.post(&format!("/api/devices/{id}/approve"), &role).expect(204);
    let call = bound.begin(PUSH);
    approve(&owner, &waiting(&owner));
    assert_eq!(end(call).0, "allow");
    // The same key elsewhere.
    assert_eq!(machine.call(PUSH).0, "deny");
    // Its result is stored under its device.
    assert_eq!(bound.doctor().0, 0);
    let machines = owner.get("/api/machines").expect(200);
    assert_eq!(machines["items"][0]["device_id"], id.as_str(), "{machines}");
    owner.delete(&format!("/api/devices/{id}")).expect(204);
    let (decision, reason) = bound.call(PUSH);
    assert_eq!(decision, "deny", "{reason}");
    assert!(reason.contains("was revoked"), "{reason}");
}
