//! A chat assistant with app skills, its user at several devices, and programs with keys. Rows B1,
//! B2 and B5 to B12.

use serde_json::{Value, json};

use super::live::response;
use super::{Client, Server, Setup, Socket, files_with, names, text, until};

const PROFILE: &str = "assistant";

fn skill(id: &str) -> Value {
    json!({"kind": "skill", "skill": id, "params": {"to": "john@example.com"}})
}

fn mail(number: u32) -> Value {
    json!({"kind": "skill", "skill": "email.reply", "params": {"message": number}})
}

#[test]
fn b1_a_person_is_asked_for_agents_and_programs_only_if_their_owner_wants() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let (agent, program) = (owner.key("agent"), owner.key("program"));
    agent.ask(&skill("email.send"));
    assert_eq!(program.propose(&skill("email.send")).expect(200)["status"], "permitted");
    owner.json("PATCH", "/api/settings", &[], &json!({"confirm_programs": true})).expect(200);
    program.ask(&skill("email.reply"));
    // Reading does not need a confirmation.
    for caller in [&agent, &program] {
        assert_eq!(caller.propose(&skill("email.read")).expect(200)["status"], "permitted");
    }
}

#[test]
fn b2_autonomous_mode_is_off_until_switched_on_and_never_covers_what_always_asks() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let agent = owner.key("agent");
    assert_eq!(owner.get("/api/settings").expect(200)["autonomous"], false);
    agent.ask(&skill("email.send"));
    let switch = |on: bool| owner.json("PATCH", "/api/settings", &[], &json!({"autonomous": on}));
    switch(true).expect(200);
    assert_eq!(agent.propose(&skill("email.reply")).expect(200)["status"], "permitted");
    assert_eq!(owner.history("action_planned")[0]["payload"]["status"], "auto_confirmed");
    let always = json!({"confirm": null, "always": true});
    owner.json("PUT", "/api/skills/email.forward", &[], &always).expect(200);
    agent.ask(&skill("email.forward"));
    switch(false).expect(200);
    agent.ask(&skill("email.reply"));
}

#[test]
fn b5_every_device_of_the_person_is_asked_and_nobody_else_is() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let mut first = Socket::open(&owner);
    let mut second = Socket::open(&server.device_of(&owner));
    let other = server.person(&owner, "member");
    let admin = server.person(&owner, "admin");
    let (mut others, mut admins) = (Socket::open(&other), Socket::open(&admin));
    let id = owner.key("agent").ask(&skill("email.send"));
    let told = first.until("app_skill_confirmation_required");
    assert_eq!(told, second.until("app_skill_confirmation_required"));
    assert_eq!(
        names(&told),
        [
            "action_type",
            "app_id",
            "app_skill_id",
            "confirmation_token",
            "description",
            "details",
            "expires_at",
            "skill_id",
        ]
    );
    assert_eq!(told["app_skill_id"], json!(id));
    let kind = [&told["skill_id"], &told["app_id"], &told["action_type"]];
    assert_eq!(kind, ["email.send", "email", "send_email"]);
    assert!(text(&told["expires_at"]).ends_with('Z'), "{told}");
    for stranger in [&mut others, &mut admins] {
        let heard = stranger.so_far();
        assert!(!format!("{heard:?}").contains(&id), "{heard:?}");
    }
    // Not with the right token either.
    others.say(&response(&told["app_skill_id"], &told["confirmation_token"], "approve"));
    let result = others.until("app_skill_confirmation_result");
    assert_eq!(result["results"][0]["accepted"], false);
    assert_eq!(owner.state(&id), "pending");
    assert_eq!(other.respond(&id, true).problem(404), "not-found");
    assert_eq!(other.get(&format!("/api/approvals/{id}")).problem(404), "not-found");
}

#[test]
fn b5_in_a_group_a_wrong_token_spoils_only_its_own() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let agent = owner.key("agent");
    let mut device = Socket::open(&owner);
    let mut asked = Vec::new();
    for number in 0..3 {
        agent.ask(&mail(number));
        asked.push(device.until("app_skill_confirmation_required"));
    }
    let ids: Vec<_> = asked.iter().map(|one| one["app_skill_id"].clone()).collect();
    let mut tokens: Vec<_> = asked.iter().map(|one| one["confirmation_token"].clone()).collect();
    // One token for all is right for one of them at most.
    tokens[1] = tokens[0].clone();
    device.say(&response(&json!(ids), &json!(tokens), "approve"));
    let results = device.until("app_skill_confirmation_result")["results"].clone();
    let accepted: Vec<_> = ids
        .iter()
        .map(|id| {
            let results = results.as_array().unwrap();
            let result = results.iter().find(|result| result["app_skill_id"] == *id).unwrap();
            result["accepted"].as_bool().unwrap()
        })
        .collect();
    assert_eq!(accepted, [true, false, true]);
    let states: Vec<_> = ids.iter().map(|id| owner.state(&text(id))).collect();
    assert_eq!(states, ["approved", "pending", "approved"]);
    let wrong = results.as_array().unwrap().iter().find(|it| it["accepted"] == false).unwrap();
    assert_eq!(wrong["problem"]["type"], "urn:countersign:problem:token");
    // The same over HTTP.
    let answers = json!({"answers": [
        {"approval_id": ids[1], "approved": false, "token": asked[1]["confirmation_token"]},
        {"approval_id": ids[0], "approved": false, "token": asked[0]["confirmation_token"]},
    ]});
    let results = owner.post("/api/approvals/respond", &answers).expect(200)["results"].clone();
    let accepted = |id: &Value| {
        let mut all = results.as_array().unwrap().iter();
        all.find(|result| result["approval_id"] == *id).unwrap()["accepted"].clone()
    };
    assert_eq!((accepted(&ids[1]), accepted(&ids[0])), (json!(true), json!(false)));
}

#[test]
fn b5_what_a_device_says_wrong_is_told_and_changes_nothing() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let mut device = Socket::open(&owner);
    let id = owner.key("agent").ask(&skill("email.send"));
    let told = device.until("app_skill_confirmation_required");
    for message in [
        json!("yes"),
        json!({"type": "approve_everything"}),
        response(&json!("../../etc/passwd"), &told["confirmation_token"], "approve"),
        response(&json!(id), &told["confirmation_token"], "maybe"),
        json!({"type": "app_skill_confirmation_response", "payload": {"app_skill_id": id}}),
    ] {
        device.say(&message);
        assert_eq!(device.until("error")["status"], 400, "{message}");
    }
    assert_eq!(owner.state(&id), "pending");
}

#[test]
fn b6_when_one_device_has_answered_the_others_are_told_and_then_how_it_went() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let agent = owner.key("agent");
    let (mut first, mut second) = (Socket::open(&owner), Socket::open(&server.device_of(&owner)));
    for (number, decision, status) in [(1, "approve", "approved"), (2, "reject", "rejected")] {
        let id = agent.ask(&mail(number));
        let told = first.until("app_skill_confirmation_required");
        first.say(&response(&told["app_skill_id"], &told["confirmation_token"], decision));
        for device in [&mut first, &mut second] {
            let resolved = device.until("app_skill_confirmation_resolved");
            assert_eq!(resolved["app_skill_id"], json!(id));
            assert_eq!(resolved["status"], status);
            assert_eq!(resolved["resolved_by"], json!(owner.id()));
        }
        // The second answer changes nothing.
        second.say(&response(&told["app_skill_id"], &told["confirmation_token"], "approve"));
        let result = second.until("app_skill_confirmation_result")["results"][0].clone();
        assert_eq!(result["accepted"], false);
        assert_eq!(owner.state(&id), status);
        if decision == "approve" {
            let permit = agent.spend(&id, &mail(number)).expect(200);
            let path = format!("/api/actions/{}/report", text(&permit["action_id"]));
            agent.post(&path, &json!({"outcome": "done"})).expect(204);
            for device in [&mut first, &mut second] {
                let completed = device.until("app_skill_completed");
                assert_eq!(completed["app_skill_id"], json!(id));
                assert_eq!(completed["status"], "done");
            }
        }
    }
}

#[test]
fn b6_expiry_is_told_too() {
    let setup = Setup::new().config("profile: assistant\ngate: {approval_timeout: 1}\n");
    let server = setup.start();
    let owner = server.owner();
    let mut device = Socket::open(&owner);
    let id = owner.key("agent").ask(&mail(1));
    let expired = device.until("app_skill_confirmation_expired");
    assert_eq!(expired["app_skill_id"], json!(id));
}

#[test]
fn b7_a_question_waits_for_whoever_is_away_and_is_told_when_they_come_back() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let agent = owner.key("agent");
    let away = agent.propose(&mail(1)).expect(202);
    assert_eq!(away["confirmation"]["timeout"], 1_800, "nobody is connected");
    let mut device = Socket::open(&owner);
    let told = device.until("app_skill_confirmation_required");
    assert_eq!(told["app_skill_id"], away["approval_id"]);
    let here = agent.propose(&mail(2)).expect(202);
    assert_eq!(here["confirmation"]["timeout"], 300, "somebody is");
    drop(device);
    // Even a killed server does not forget it.
    let server = server.killed_and_started_again();
    let owner = Client { address: server.address, ..owner };
    let mut device = Socket::open(&owner);
    let told = [(); 2].map(|()| device.until("app_skill_confirmation_required"));
    device.say(&response(&told[0]["app_skill_id"], &told[0]["confirmation_token"], "approve"));
    let result = device.until("app_skill_confirmation_result");
    assert_eq!(result["results"][0]["accepted"], true);
}

#[test]
fn b7_what_waits_and_what_has_expired_stays_visible() {
    let config = "profile: assistant\napps: {memo: {skills: {pin: {access: write, timeout: 1}}}}\n";
    let server = Setup::new().config(config).start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let (waits, expires) = (agent.ask(&mail(1)), agent.ask(&skill("memo.pin")));
    let listed = |state: &str| {
        let listed = owner.get(&format!("/api/approvals?state={state}")).expect(200);
        let items = listed["items"].as_array().unwrap();
        items.iter().map(|item| text(&item["approval_id"])).collect::<Vec<_>>()
    };
    until("it expires", || (listed("expired") == [expires.as_str()]).then_some(()));
    assert_eq!(listed("pending"), [waits]);
    let approvals = owner.history("approval");
    let record = approvals.iter().find(|it| it["payload"].to_string().contains(&expires));
    assert!(record.unwrap()["payload"].to_string().contains("expired"), "{record:?}");
}

#[test]
fn b8_a_token_works_once_on_its_own_question_and_a_yes_on_its_own_action() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let agent = owner.key("agent");
    let mut device = Socket::open(&owner);
    let (one, other) = (agent.ask(&mail(1)), agent.ask(&mail(2)));
    let tokens = [(); 2].map(|()| device.until("app_skill_confirmation_required"));
    let respond = |id: &str, token: &Value| {
        let body = json!({"approved": true, "token": token});
        owner.post(&format!("/api/approvals/{id}/respond"), &body)
    };
    let swapped = respond(&one, &tokens[1]["confirmation_token"]);
    assert_eq!(swapped.problem(403), "token");
    assert_eq!(respond(&one, &json!("cst_made-up")).problem(403), "token");
    respond(&one, &tokens[0]["confirmation_token"]).expect(200);
    assert_eq!(respond(&one, &tokens[0]["confirmation_token"]).problem(409), "already-settled");
    // The action that runs must be the approved one.
    assert_eq!(agent.spend(&one, &mail(99)).problem(409), "other-action");
    assert_eq!(agent.spend(&other, &mail(2)).problem(409), "pending");
    assert_eq!(owner.key("agent").spend(&one, &mail(1)).problem(404), "not-found");
    agent.spend(&one, &mail(1)).expect(200);
    assert_eq!(agent.spend(&one, &mail(1)).problem(409), "already-settled");
    assert!(owner.history("answer_refused").len() >= 2, "attempts are on record");
    assert!(owner.history("spend_refused").len() >= 2, "attempts are on record");
}

#[test]
fn b9_the_hundred_and_first_question_is_refused_and_says_why() {
    let prompts = "profile: assistant\ngate: {prompts: {uses: 1000, seconds: 1}}\n";
    let server = Setup::new().config(prompts).start();
    let owner = server.owner();
    let agent = owner.key("agent");
    for number in 0..100 {
        agent.ask(&mail(number));
    }
    let refused = agent.propose(&mail(100));
    assert_eq!(refused.problem(429), "too-many-pending");
    let detail = text(&refused.expect(429)["detail"]);
    assert!(detail.contains("100") && detail.contains("answer or withdraw"), "{detail}");
    assert_eq!(owner.history("action_planned")[0]["payload"]["status"], "refused_pending");
    // Another person has a limit of their own.
    let other = server.person(&owner, "member");
    other.key("agent").ask(&mail(1));
}

#[test]
fn b10_a_key_may_do_what_its_scopes_name_and_its_secret_is_shown_once() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let make = |scopes: Value| json!({"name": "mailer", "scopes": scopes, "access": "program", "devices": "any"});
    let key = owner.key_of(&make(json!(["email.send"])));
    assert_eq!(key.propose(&skill("email.send")).expect(200)["status"], "permitted");
    for other in ["email.delete", "calendar.create_event"] {
        assert_eq!(key.propose(&skill(other)).problem(403), "scope", "{other}");
    }
    let typo = owner.post("/api/keys", &make(json!(["emial.send"])));
    assert_eq!(typo.problem(400), "bad-request");
    assert!(typo.text().contains("email.send"), "{}", typo.text());
    let secret = key.secret.clone().unwrap();
    let listed = owner.get("/api/keys").text();
    assert!(!listed.contains(&secret), "{listed}");
    assert!(files_with(&server.data(), secret.as_bytes()).is_empty(), "only a hash is kept");
    let keys: Value = serde_json::from_str(&listed).unwrap();
    let keys = &keys["items"];
    assert_eq!((&keys[0]["uses"], &keys[0]["refused"]), (&json!(1), &json!(2)));
    let usage = owner.get("/api/usage").expect(200);
    assert_eq!(usage["keys"][0]["uses"], 1);
    // Keys do not open routes for people.
    for path in ["/api/keys", "/api/approvals", "/api/history", "/api/settings", "/api/users"] {
        assert_eq!(key.get(path).problem(403), "people-only", "{path}");
    }
}

#[test]
fn b10_keys_are_rotated_with_an_overlap_and_revoked_at_once() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let old = owner.key("program");
    let id_of = |at: usize| text(&owner.get("/api/keys").expect(200)["items"][at]["key_id"]);
    let rotate = |id: &str, seconds: u32| {
        let path = format!("/api/keys/{id}/rotate");
        let made = owner.post(&path, &json!({"overlap_seconds": seconds})).expect(201);
        (
            text(&made["key"]["key_id"]),
            Client { secret: Some(text(&made["secret"])), ..owner.clone() },
        )
    };
    let (next_id, next) = rotate(&id_of(0), 60);
    for key in [&old, &next] {
        key.propose(&skill("email.read")).expect(200);
    }
    let (last_id, last) = rotate(&next_id, 0);
    assert_eq!(next.propose(&skill("email.read")).problem(401), "not-signed-in");
    last.propose(&skill("email.read")).expect(200);
    owner.delete(&format!("/api/keys/{last_id}")).expect(204);
    assert_eq!(last.propose(&skill("email.read")).problem(401), "not-signed-in");
    old.propose(&skill("email.read")).expect(200);
    // Only an administrator of the workspace may revoke another person's.
    let other = server.person(&owner, "member");
    assert_eq!(other.delete(&format!("/api/keys/{}", id_of(0))).problem(404), "not-found");
}

#[test]
fn b10_ten_writes_a_minute_and_then_it_says_how_long_to_wait() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let make = json!({"name": "p", "scopes": ["*"], "access": "program", "devices": "any"});
    let key = owner.key_of(&make);
    for number in 0..10 {
        assert_eq!(key.propose(&mail(number)).expect(200)["status"], "permitted");
    }
    let refused = key.propose(&mail(10));
    assert_eq!(refused.problem(429), "rate-limit");
    let wait: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    // Reading continues, and so does another key.
    key.propose(&skill("email.read")).expect(200);
    owner.key_of(&make).propose(&mail(11)).expect(200);
}

#[test]
fn b10_skills_providers_and_models_have_limits_of_their_own() {
    let rate = |uses: u32| format!("{{uses: {uses}, seconds: 600}}");
    let rates = format!("{{skill: {}, provider: {}, model: {}}}", rate(2), rate(3), rate(5));
    let config = format!("profile: assistant\ngate: {{rates: {rates}}}\n");
    let server = Setup::new().config(&config).start();
    let owner = server.owner();
    let key = owner.key("program");
    let by = |skill_id: &str, model: &str| {
        let body = json!({"action": skill(skill_id), "model": model});
        key.post("/api/actions", &body)
    };
    let detail = |answer: super::client::Answer| {
        assert!(answer.header("retry-after").is_some());
        text(&answer.expect(429)["detail"])
    };
    by("email.read", "small").expect(200);
    by("email.read", "small").expect(200);
    assert!(detail(by("email.read", "small")).contains("skill"));
    by("email.search", "small").expect(200);
    assert!(detail(by("email.draft", "small")).contains("provider"));
    by("calendar.list_events", "small").expect(200);
    by("calendar.list_events", "small").expect(200);
    assert!(detail(by("weather.forecast", "small")).contains("model"));
    by("weather.forecast", "large").expect(200);
}

#[test]
fn b11_a_key_works_on_a_new_device_once_a_person_has_approved_it() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let mut console = Socket::open(&owner);
    let key = owner.key_of(&json!({"name": "laptop", "scopes": ["*"], "access": "program"}));
    let read = skill("email.read");
    assert_eq!(key.propose(&read).problem(403), "device-unknown");
    let asked = key.post("/api/devices", &json!({"name": "build machine"})).expect(201);
    let device = Client { device: Some(text(&asked["secret"])), ..key.clone() };
    assert_eq!(device.propose(&read).problem(403), "device-not-approved");
    let waiting = console.until("device_waiting");
    assert_eq!(waiting["device_id"], asked["device_id"]);
    let path = format!("/api/devices/{}/approve", text(&asked["device_id"]));
    // Not with a key, and not by another person.
    assert_eq!(device.post(&path, &json!({"role": "machine"})).status, 403);
    let other = server.person(&owner, "admin");
    assert_eq!(other.post(&path, &json!({"role": "machine"})).problem(404), "not-found");
    owner.post(&path, &json!({"role": "machine"})).expect(204);
    assert_eq!(device.propose(&read).expect(200)["status"], "permitted");
    // The key alone is still not enough, and a machine is not a person.
    assert_eq!(key.propose(&read).problem(403), "device-unknown");
    let machine = Client { secret: device.device.clone(), device: None, ..key.clone() };
    assert_eq!(machine.get("/api/approvals").status, 401);
    owner.delete(&path.replace("/approve", "")).expect(204);
    assert_eq!(device.propose(&read).problem(403), "device-not-approved");
}

#[test]
fn b12_the_record_is_minimal_unless_the_person_wants_more() {
    let server = Server::with(PROFILE);
    let owner = server.owner();
    let program = owner.key("program");
    let canary = ["to", "nobody", "known"].join("-");
    let action = json!({"kind": "skill", "skill": "email.send", "params": {"subject": canary}});
    program.propose(&action).expect(200);
    let record = owner.history("action_planned")[0].clone();
    assert_eq!(names(&record["payload"]), ["action", "id", "key", "status"]);
    assert_eq!(record["payload"]["action"], "email.send");
    assert_eq!(record["payload"]["status"], "auto_confirmed");
    let key = text(&owner.get("/api/keys").expect(200)["items"][0]["key_id"]);
    assert_eq!(record["payload"]["key"], json!(key));
    let export = owner.get("/api/history/export").text();
    assert!(export.lines().count() > 3);
    let address = "127.0.0.1";
    assert!(!export.contains(&canary) && !export.contains(address), "{export}");
    assert!(files_with(&server.data(), canary.as_bytes()).is_empty());

    owner.json("PATCH", "/api/settings", &[], &json!({"logging": "enhanced"})).expect(200);
    program.propose(&action).expect(200);
    let record = owner.history("action_planned")[0].clone();
    assert_eq!(record["payload"]["target"]["params"]["subject"], json!(canary));
    assert!(!owner.get("/api/history/export").text().contains(address));
}

#[test]
fn b12_a_person_may_erase_their_history_and_the_chain_stays_whole() {
    let mut server = Server::with(PROFILE);
    let owner = server.owner();
    let other = server.person(&owner, "member");
    let (mine, theirs) = (owner.key("program"), other.key("program"));
    for number in 0..3 {
        mine.propose(&mail(number)).expect(200);
        theirs.propose(&mail(number)).expect(200);
    }
    let page = other.get("/api/history?limit=2").expect(200);
    let next = format!("/api/history?limit=2&cursor={}", text(&page["next"]));
    let more = other.get(&next).expect(200);
    assert!(more["items"][0]["number"].as_u64() < page["items"][1]["number"].as_u64());
    let lines = other.get("/api/history/export").text();
    let all: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(all.iter().all(|record| record["user"] == json!(other.id())), "{lines}");

    let erased = other.delete("/api/history").expect(200)["erased"].as_u64().unwrap();
    assert_eq!(erased, all.len() as u64);
    assert_eq!(other.history("action_planned"), Vec::<Value>::new());
    assert_eq!(owner.history("action_planned").len(), 3, "only their own");
    assert_eq!(owner.get("/api/audit/verify").expect(200)["whole"], true);
    let ended = server.stop();
    assert!(ended.success());
    let verified = server.verified();
    assert!(verified.to_string().contains(&format!("\"erased\":{erased}")), "{verified}");
}
