//! People and bots over HTTP, the record that the organisation keeps, and the common properties of
//! all routes: their parameters and the shape of their lists.

use axum::http::Method;
use countersign_gate::Config;
use countersign_gate::config::Erasure;
use countersign_gate::id::UserId;
use countersign_gate::preferences::Preferences as UserSettings;
use countersign_server::{Who, routes};
use serde_json::{Value, json};

use crate::roles::recipes;
use crate::world::{Ask, RISKY, Setup, World, ask, get, post, propose, world};

async fn keeping() -> World {
    let setup = Setup::default();
    let config = Config { erasure: Erasure::Administrators, ..setup.config.clone() };
    World::new(Setup { config, ..setup }).await
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Somebody new who has signed in over the API: their id and the secret of their device.
async fn sign_up(world: &World, name: &str) -> (String, String) {
    let body = json!({"name": name, "workspace_id": world.workspace});
    let made = world.ask(post("/api/users").with(&world.owner.device).json(&body)).await.is(201);
    let sign_in = post("/api/sign-in").json(&json!({"link": made["link"], "name": "laptop"}));
    let device = world.ask(sign_in).await.is(201);
    (text(&made["user_id"]), text(&device["secret"]))
}

#[tokio::test]
async fn where_the_organisation_keeps_the_record_nobody_erases_or_shortens_their_own() {
    let world = keeping().await;
    for who in [&world.member.device, &world.owner.device] {
        let erase = ask(Method::DELETE, "/api/history").with(who);
        world.ask(erase).await.is_problem(403, "kept");
        let shorter = ask(Method::PATCH, "/api/settings").with(who);
        let shorter = shorter.json(&json!({"retention_days": 1, "autonomous": true}));
        world.ask(shorter).await.is_problem(403, "kept");
    }
    let settings = world.ask(get("/api/settings").with(&world.member.device)).await.is(200);
    let own = serde_json::from_value::<UserSettings>(settings).unwrap();
    assert!(!own.autonomous && own.retention_days.is_none(), "all of a change or nothing");
    let page = world.ask(get("/history").with(&world.member.device)).await.text();
    assert!(!page.contains("/history/delete"), "nothing is offered that is refused");
    // By default, their history belongs to them.
    let world = World::new(Setup::default()).await;
    let erase = || ask(Method::DELETE, "/api/history").with(&world.member.device);
    assert!(world.ask(erase()).await.is(200)["erased"].as_u64().unwrap() > 0);
    let page = world.ask(get("/history").with(&world.member.device)).await.text();
    assert!(page.contains("/history/delete"));
}

#[tokio::test]
async fn an_administrator_erases_a_user_completely() {
    let world = keeping().await;
    let (id, device) = sign_up(&world, "Marker-Gus").await;
    let key = json!({"name": "k", "scopes": ["*"], "devices": "any"});
    let key = world.ask(post("/api/keys").with(&device).json(&key)).await.is(201);
    let secret = text(&key["secret"]);
    let question = text(&world.ask(propose(RISKY).with(&secret)).await.is(202)["approval_id"]);
    let erase = |who: &str| post(format!("/api/users/{id}/erase")).with(who);
    for who in [&device, &world.member.device, &world.admin.device] {
        world.ask(erase(who)).await.is_problem(403, "not-allowed");
    }
    world.ask(erase(&world.agent.secret)).await.is_problem(403, "people-only");
    let erased = world.ask(erase(&world.owner.device)).await.is(200)["erased"].as_u64().unwrap();
    assert!(erased > 3, "{erased}");
    world.ask(erase(&world.owner.device)).await.is(404);
    world.ask(get("/api/me").with(&device)).await.is(401);
    world.ask(propose("ls").with(&secret)).await.is(401);
    let owner = &world.owner.device;
    world.ask(get(format!("/api/approvals/{question}")).with(owner)).await.is(404);
    for path in ["/api/users?all=true&removed=true", "/api/audit/export", "/people"] {
        let said = world.ask(get(path).with(owner)).await;
        assert_eq!(said.status, 200, "{path}");
        assert!(!said.text().contains("Marker-Gus") && !said.text().contains(&id), "{path}");
    }
    let last = world.ask(get("/api/audit?event=erased").with(owner)).await.is(200);
    assert_eq!(last["items"][0]["payload"]["by"], world.owner.id(), "{last}");
    assert_eq!(world.ask(get("/api/audit/verify").with(owner)).await.is(200)["whole"], true);
}

#[tokio::test]
async fn people_come_and_go_over_the_api() {
    let world = world().await;
    let owner = &world.owner.device;
    let (id, device) = sign_up(&world, "Gus").await;
    let of = |path: &str| format!("/api/users/{id}{path}");
    let me = || get("/api/me").with(&device);
    world.ask(post(of("/invite")).with(owner)).await.is_problem(409, "signed-in");
    // A lost laptop.
    let devices = get(format!("/api/devices?user_id={id}"));
    world.ask(devices.clone().with(&world.member.device)).await.is(404);
    let listed = world.ask(devices.with(&world.admin.device)).await.is(200);
    let laptop = text(&listed["items"][0]["device_id"]);
    let revoke = ask(Method::DELETE, format!("/api/devices/{laptop}"));
    world.ask(revoke.with(&world.admin.device)).await.is(204);
    world.ask(me()).await.is(401);
    let link = world.ask(post(of("/invite")).with(&world.admin.device)).await.is(201);
    let sign_in = post("/api/sign-in").json(&json!({"link": link["link"]}));
    let device = text(&world.ask(sign_in).await.is(201)["secret"]);
    let me = || get("/api/me").with(&device);
    // Another role, and a second super admin.
    let promote = |who: &str, is: bool| {
        let body = json!({"super_admin": is});
        ask(Method::PUT, of("/super-admin")).with(who).json(&body)
    };
    world.ask(promote(&world.admin.device, true)).await.is_problem(403, "not-allowed");
    world.ask(promote(owner, true)).await.is(204);
    assert_eq!(world.ask(me()).await.is(200)["user"]["super_admin"], true);
    world.ask(promote(&device, false)).await.is_problem(403, "not-allowed");
    world.ask(promote(owner, false)).await.is(204);
    // Out, in again, and gone.
    world.ask(post(of("/disable")).with(owner)).await.is(204);
    world.ask(me()).await.is(401);
    world.ask(post(of("/enable")).with(owner)).await.is(204);
    world.ask(me()).await.is(200);
    world.ask(ask(Method::DELETE, of("")).with(owner)).await.is(204);
    world.ask(me()).await.is(401);
    world.ask(post(of("/enable")).with(owner)).await.is(404);
    let names = async |path: &str| world.ask(get(path).with(owner)).await.text();
    assert!(!names("/api/users?all=true").await.contains(&id));
    assert!(names("/api/users?all=true&removed=true").await.contains("Gus"));
}

#[tokio::test]
async fn a_bot_has_keys_and_no_way_to_sign_in() {
    let world = world().await;
    let admin = &world.admin.device;
    let bot = json!({"name": "ci", "workspace_id": world.workspace, "kind": "bot"});
    let made = world.ask(post("/api/users").with(admin).json(&bot)).await.is(201);
    assert_eq!(made["link"], Value::Null);
    let id = text(&made["user_id"]);
    world.ask(post(format!("/api/users/{id}/invite")).with(admin)).await.is_problem(409, "bot");
    let key = json!({"name": "k", "user_id": id, "scopes": ["*"], "devices": "any"});
    let create = |who: &str| post("/api/keys").with(who).json(&key);
    world.ask(create(&world.member.device)).await.is(404);
    let key = world.ask(create(admin)).await.is(201);
    let asked = propose(RISKY).with(&text(&key["secret"]));
    let question = text(&world.ask(asked).await.is(202)["approval_id"]);
    let say = |who: &str| {
        let path = format!("/api/approvals/{question}/respond");
        post(path).with(who).json(&json!({"approved": true}))
    };
    world.ask(say(&world.member.device)).await.is(404);
    let inbox = world.ask(get("/").with(admin)).await.text();
    assert!(inbox.contains(&question), "an administrator finds it in the inbox");
    world.ask(say(admin)).await.is(200);
}

/// A request of somebody who has the right to use a route.
fn with_a_right(world: &World, who: Who, ask: Ask) -> Ask {
    match who {
        Who::Anybody => ask,
        Who::KeyAnywhere => ask.with(&world.agent.secret),
        Who::Person | Who::Either | Who::PersonOrKey | Who::PersonOrLocalAgent => {
            ask.with(&world.owner.device)
        }
    }
}

#[tokio::test]
async fn every_route_refuses_a_parameter_that_it_does_not_know_and_names_it() {
    let recipes = recipes();
    for route in routes() {
        let world = world().await;
        let made = recipes[route.id](&world).await;
        let mark = if made.path.contains('?') { '&' } else { '?' };
        let asked = Ask { path: format!("{}{mark}no_such_name=1", made.path), ..made };
        let answer = world.ask(with_a_right(&world, route.who, asked)).await;
        let line = format!("{} {}: {}", route.method, route.path, answer.text());
        assert_eq!(answer.status, 400, "{line}");
        assert!(answer.text().contains("no_such_name"), "{line}");
    }
}

#[tokio::test]
async fn a_parameter_that_is_refused_changes_nothing() {
    let world = world().await;
    let path = format!("/api/skills/email.send?user_id={}", world.stranger.id());
    let choose = ask(Method::PUT, path).with(&world.member.device).json(&json!({"confirm": false}));
    world.ask(choose).await.is_problem(400, "unknown-parameter");
    let own = world.gate.settings(&world.member.person).await.unwrap();
    let other = world.gate.settings(&world.stranger.person).await.unwrap();
    assert!(own.skills.skills.is_empty() && other.skills.skills.is_empty());
}

#[tokio::test]
async fn every_list_has_items_and_says_whether_there_is_more() {
    let recipes = recipes();
    let mut lists = 0;
    let is_list = |id: &str| id.starts_with("list_") || id == "show_quorum";
    for route in routes().iter().filter(|route| is_list(route.id)) {
        let world = world().await;
        let made = recipes[route.id](&world).await;
        let list = world.ask(with_a_right(&world, route.who, made)).await.is(200);
        assert!(list["items"].is_array(), "{}: {list}", route.path);
        assert!(list.get("next").is_some(), "{}: {list}", route.path);
        lists += 1;
    }
    assert!(lists > 10, "{lists}");
}

#[tokio::test]
async fn the_console_does_what_the_api_does_for_people() {
    let world = world().await;
    let owner = |ask: Ask| ask.header("cookie", format!("countersign={}", world.owner.device));
    let page = world.ask(owner(get("/people"))).await.text();
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
    let csrf = rest.split_once('"').unwrap().0;
    let form = |path: String, fields: &str| {
        let body = format!("csrf={csrf}&{fields}").into();
        let media = "application/x-www-form-urlencoded";
        owner(Ask { body, ..post(path).header("content-type", media) })
    };
    let at = &world.workspace;
    let added = form("/people".to_owned(), &format!("name=Gus&as=member&workspace={at}"));
    let added = world.ask(added).await;
    assert!(added.text().contains("/sign-in?link="), "{}", added.text());
    let bot = form("/people".to_owned(), &format!("name=ci&as=bot&workspace={at}"));
    let bot = world.ask(bot).await;
    let id = bot.header("location").strip_prefix("/people/").unwrap();
    let id = id.split_once('?').unwrap().0.to_owned();
    let key = world.ask(form(format!("/people/{id}/keys"), "name=k")).await;
    assert!(key.text().contains("id=\"new-key\""), "{}", key.text());
    // A member's laptop is lost.
    let member = world.member.id();
    let page = world.ask(owner(get(format!("/people/{member}")))).await.text();
    assert!(page.contains(&world.member.device_id()), "{page}");
    let path = format!("/people/{member}/devices/{}/revoke", world.member.device_id());
    assert_eq!(world.ask(form(path, "")).await.status, 303);
    world.ask(get("/api/me").with(&world.member.device)).await.is(401);
    let invited = world.ask(form(format!("/people/{member}/invite"), "")).await;
    assert!(invited.text().contains("/sign-in?link="), "{}", invited.text());
    // Nothing final without a tick.
    let account = format!("/people/{member}/account");
    assert_eq!(world.ask(form(account.clone(), "to=erased")).await.status, 400);
    assert_eq!(world.ask(form(account, "to=erased&sure=yes")).await.status, 303);
    let user = UserId::parse(&member).unwrap();
    assert!(world.gate.user(&world.owner.person, &user).await.is_err());
}

#[tokio::test]
async fn a_key_for_hooks_is_made_in_the_console_too() {
    let world = world().await;
    let member = |ask: Ask| ask.header("cookie", format!("countersign={}", world.member.device));
    let page = world.ask(member(get("/developer"))).await.text();
    assert!(page.contains("name=\"hooks\""), "{page}");
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
    let csrf = rest.split_once('"').unwrap().0;
    for (name, fields, uses) in [("a hook", "&hooks=yes", 600), ("a script", "", 10)] {
        let body = format!("csrf={csrf}&name={name}{fields}").into();
        let media = "application/x-www-form-urlencoded";
        let ask = member(Ask { body, ..post("/developer/keys").header("content-type", media) });
        let made = world.ask(ask).await;
        assert!(made.text().contains("id=\"new-key\""), "{}", made.text());
        let keys = world.ask(get("/api/keys").with(&world.member.device)).await.is(200);
        let all = keys["items"].as_array().unwrap();
        let key = all.iter().find(|key| key["name"] == name).unwrap();
        assert_eq!(key["writes"], json!({"uses": uses, "seconds": 60}), "{key}");
    }
}

#[tokio::test]
async fn the_console_asks_in_which_workspace_a_key_is_to_work() {
    let world = world().await;
    let owner = |ask: Ask| ask.header("cookie", format!("countersign={}", world.owner.device));
    let page = world.ask(owner(get("/developer"))).await.text();
    let option = format!("<option value=\"{}\">", world.workspace);
    assert!(page.contains("name=\"workspace\"") && page.contains(&option), "{page}");
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
    let csrf = rest.split_once('"').unwrap().0;
    let body = format!("csrf={csrf}&name=k&workspace={}", world.workspace).into();
    let media = "application/x-www-form-urlencoded";
    let ask = owner(Ask { body, ..post("/developer/keys").header("content-type", media) });
    let made = world.ask(ask).await;
    assert!(made.text().contains("id=\"new-key\""), "{}", made.text());
    let keys = world.ask(get("/api/keys").with(&world.owner.device)).await.is(200);
    assert_eq!(keys["items"][0]["workspace_id"], json!(world.workspace), "{keys}");
    // Nobody is asked without a choice.
    let member = get("/developer").header("cookie", format!("countersign={}", world.member.device));
    let page = world.ask(member).await.text();
    assert!(!page.contains("key-workspace"), "{page}");
}

#[tokio::test]
async fn the_console_says_to_whom_a_machine_belongs() {
    let world = world().await;
    let proof = json!({"machine": "vm", "version": "0.1.0", "clock_skew_ms": 0, "hosts": []});
    world.ask(post("/api/machines").json(&proof).with(&world.agent.secret)).await.is(200);
    for (secret, is_told) in [(&world.owner.device, true), (&world.member.device, false)] {
        let ask = get("/developer").header("cookie", format!("countersign={secret}"));
        let page = world.ask(ask).await.text();
        let (_, rest) = page.split_once("<tr data-machine=").unwrap();
        let row = rest.split_once("</tr>").unwrap().0;
        assert_eq!(row.contains("Cid"), is_told, "{row}");
    }
}
