//! Access by role: every route, requested by everybody about things that belong to the member.
//!
//! `roles.txt` is the table that people review; `BLESS=1` rewrites it. Any cell of a stranger or an
//! agent that is neither 401, 403 nor 404 is explained in its first lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use axum::http::Method;
use countersign_gate::approval::{Answer, Scope};
use countersign_gate::gate::{Hello, OwnerFilter, PersonAnswer};
use countersign_gate::id::{ApprovalId, UserId};
use countersign_gate::key::{Access, Devices};
use countersign_gate::secret::Secret;
use countersign_server::{Who, routes};
use countersign_wire::work::ExecutorKind;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::world::{Ask, HttpAnswer, Make, RISKY, World, ask, get, post, propose, shell, world};

const NOTES: &str = "\
# Who gets what: the status of every route when it is asked about things of the member's.
#
# owner      the super admin, who made the gate     bound     an agent's key on an approved machine
# admin      looks after the member's workspace     unbound   the same key on one that waits
# member     whose session, question, key ... it is nowhere   the same key on no machine
# stranger   a member of another workspace          other     the stranger's agent's key
# agent      the member's agent's key, which asked  revoked   a key that was revoked
# program    the member's program's key             out       a device that was put out
# narrow     a key of theirs for email.send alone   nobody    comes with nothing
# socket     the owner over the local socket alone, who is signed in elsewhere
# within     a descendant of an agent of the owner's, over the local socket
#
# What looks wrong and is not:
# - Sessions, questions and users are asked for by the member's workspace, devices and keys by the
#   member. History, settings, usage and the rest show everybody their own: that no answer names
#   anything of the member's is checked for every cell of those it is not for.
# - Who is invited again or enabled is somebody new in the member's workspace.
# - The people page is 200 for everybody signed in, and shows whom they look after.
# - 400 is the owner's, who belongs to two workspaces and names none.
# - respond_all is 200 for everybody signed in: each answer in it has a result of its own, and
#   the stranger's is `not found`. propose_all is 200 likewise: what the owner, who names no
#   workspace, and a key for email.send alone propose is refused in it.
# - A sign-in link signs in whatever comes with it, once; that is what it is for. Only a process
#   of an agent is refused, over the socket.
# - Anybody signed in may halt everything. Only a super admin may let it go on.
# - A session is its user's: their other keys in its workspace (program, narrow, bound) see and
#   complete it, and read and write its files; never other keys' questions.
# - A report about an action that nobody was asked about is taken down as the sender's own words,
#   whatever id it names; one about a question is its asker's alone.
# - health, ready, halt, metrics and the documents of the API tell nothing about anybody. Keys read
#   metrics with `metrics.read` and the record with `audit.read`, which none of these has.
# - socket looks at everything the owner may and stops things, and says yes to nothing: respond
#   with a yes and whatever else needs the device is 403. In respond_all that stands in the result.
# - within is an agent: it works in the sessions of its own process (201 begins one), outside of
#   them it may only ask for a judgement, and it lists its own sessions alone. In propose_all the
#   refusal stands in the result. A report about what nobody was asked about is taken down.
# - An action that a worker was given is shown to whoever sees its session: as it was to the agent
#   that asked for it, redacted to everybody else. Only a key with the scope `worker`, which none of
#   these has, connects a worker.
# - Pages show whoever is not signed in where to sign in: that is the 303 of the last columns. A
#   form that did something leads on to a page by a 303 too.
# - Pages of everybody's own things are 200 for every person; what stands on them is theirs.
# - A page may be asked for a session by whoever looks after its workspace, as in the API.
";

/// The columns.
pub(crate) const EVERYBODY: [&str; 16] = [
    "owner", "admin", "member", "stranger", "agent", "program", "narrow", "bound", "unbound",
    "nowhere", "other", "revoked", "out", "nobody", "socket", "within",
];

/// The callers who must learn nothing about the member's things.
const OUTSIDERS: [&str; 8] =
    ["stranger", "unbound", "nowhere", "other", "revoked", "out", "nobody", "within"];

pub(crate) type Recipe = for<'a> fn(&'a World) -> BoxFuture<'a, Ask>;

/// The request for each route, about something of the member's that is made for this one time.
#[expect(clippy::too_many_lines, reason = "one line per route")]
pub(crate) fn recipes() -> BTreeMap<&'static str, Recipe> {
    fn plain(method: Method, path: &'static str) -> BoxFuture<'static, Ask> {
        async move { ask(method, path) }.boxed()
    }
    const GET: Method = Method::GET;
    const POST: Method = Method::POST;
    let rows: Vec<(&'static str, Recipe)> = vec![
        ("check", |_| async { post("/api/check").json(&shell(RISKY)) }.boxed()),
        ("start_session", |_| {
            async { post("/api/sessions").json(&json!({"consent": true})) }.boxed()
        }),
        ("list_sessions", |w| {
            async { get(format!("/api/sessions?workspace_id={}", w.workspace)) }.boxed()
        }),
        ("show_session", |w| async { get(format!("/api/sessions/{}", w.session().await)) }.boxed()),
        ("switch_session_mode", |w| {
            async {
                let path = format!("/api/sessions/{}", w.session().await);
                ask(Method::PATCH, path).json(&json!({"mode": "task"}))
            }
            .boxed()
        }),
        ("show_policy", |_| plain(GET, "/api/policy")),
        ("complete_session", |w| {
            async { post(format!("/api/sessions/{}/complete", w.session().await)) }.boxed()
        }),
        ("stop_session", |w| {
            async { post(format!("/api/sessions/{}/stop", w.session().await)) }.boxed()
        }),
        ("resume_session", |w| {
            async { post(format!("/api/sessions/{}/resume", w.session().await)) }.boxed()
        }),
        ("stop_all_sessions", |_| plain(POST, "/api/sessions/stop")),
        ("propose", |_| async { propose(RISKY) }.boxed()),
        ("propose_all", |_| {
            async { post("/api/actions/batch").json(&json!({"proposals": [shell(RISKY)]})) }.boxed()
        }),
        ("propose_in_session", |w| {
            async {
                let path = format!("/api/sessions/{}/actions", w.session().await);
                post(path).json(&shell(RISKY))
            }
            .boxed()
        }),
        ("report", |w| {
            async {
                let id = approved(w).await;
                let spend = post(format!("/api/approvals/{id}/spend")).json(&shell(RISKY));
                let permit = w.ask(spend.with(&w.agent.secret)).await.is(200);
                let action = permit["action_id"].as_str().unwrap();
                post(format!("/api/actions/{action}/report")).json(&json!({"outcome": "done"}))
            }
            .boxed()
        }),
        ("spend", |w| {
            async {
                post(format!("/api/approvals/{}/spend", approved(w).await)).json(&shell(RISKY))
            }
            .boxed()
        }),
        ("request_confirmation", |_| {
            async { post("/api/confirmations").json(&json!({"description": "Download 47 files?"})) }
                .boxed()
        }),
        ("list_files", |w| {
            async { get(format!("/api/sessions/{}/files", file(w).await.0)) }.boxed()
        }),
        ("zip_files", |w| {
            async { get(format!("/api/sessions/{}/files/zip", file(w).await.0)) }.boxed()
        }),
        ("get_file", |w| {
            async {
                let (session, file) = file(w).await;
                get(format!("/api/sessions/{session}/files/{file}"))
            }
            .boxed()
        }),
        ("upload_files", |w| {
            async {
                let path = format!("/api/sessions/{}/files", w.session().await);
                let form = post(path).header("content-type", "multipart/form-data; boundary=x");
                let part = "Content-Disposition: form-data; name=\"f\"; filename=\"a.txt\"";
                Ask { body: format!("--x\r\n{part}\r\n\r\nhello\r\n--x--\r\n").into(), ..form }
            }
            .boxed()
        }),
        ("begin_upload", |w| {
            async {
                let path = format!("/api/sessions/{}/uploads", w.session().await);
                post(path).json(&json!({"name": "a.txt"}))
            }
            .boxed()
        }),
        ("show_upload", |w| async { get(upload(w).await) }.boxed()),
        ("continue_upload", |w| {
            async {
                let piece = ask(Method::PATCH, upload(w).await).header("upload-offset", "5");
                Ask { body: b" world".to_vec(), ..piece }
            }
            .boxed()
        }),
        ("finish_upload", |w| async { post(format!("{}/finish", upload(w).await)) }.boxed()),
        ("abort_upload", |w| async { ask(Method::DELETE, upload(w).await) }.boxed()),
        ("list_approvals", |w| {
            async { get(format!("/api/approvals?workspace_id={}", w.workspace)) }.boxed()
        }),
        ("show_approval", |w| {
            async { get(format!("/api/approvals/{}", w.question(RISKY).await)) }.boxed()
        }),
        ("show_confirmation", |w| {
            async { get(format!("/api/approvals/{}/confirmation", w.question(RISKY).await)) }
                .boxed()
        }),
        ("show_receipt", |w| {
            async { get(format!("/api/approvals/{}/receipt", approved(w).await)) }.boxed()
        }),
        ("respond", |w| {
            async {
                let path = format!("/api/approvals/{}/respond", w.question(RISKY).await);
                post(path).json(&json!({"approved": true}))
            }
            .boxed()
        }),
        ("respond_all", |w| {
            async {
                let id = w.question(RISKY).await;
                let answers = json!([{"approval_id": id, "approved": true}]);
                post("/api/approvals/respond").json(&json!({"answers": answers}))
            }
            .boxed()
        }),
        ("withdraw", |w| {
            async { post(format!("/api/approvals/{}/withdraw", w.question(RISKY).await)) }.boxed()
        }),
        ("list_history", |_| plain(GET, "/api/history")),
        ("export_history", |_| plain(GET, "/api/history/export")),
        ("erase_history", |_| plain(Method::DELETE, "/api/history")),
        ("list_audit", |w| async { get(format!("/api/audit?user_id={}", w.member.id())) }.boxed()),
        ("export_audit", |w| {
            async { get(format!("/api/audit/export?workspace_id={}", w.workspace)) }.boxed()
        }),
        ("verify_audit", |_| plain(GET, "/api/audit/verify")),
        ("show_settings", |_| plain(GET, "/api/settings")),
        ("change_settings", |_| {
            async { ask(Method::PATCH, "/api/settings").json(&json!({"autonomous": true})) }.boxed()
        }),
        ("list_remembered", |_| plain(GET, "/api/settings/remembered")),
        ("forget_remembered", |w| {
            async {
                let path = format!("/api/settings/remembered/{}", remembered(w).await);
                ask(Method::DELETE, path)
            }
            .boxed()
        }),
        ("list_apps", |_| plain(GET, "/api/apps")),
        ("choose_for_app", |_| {
            async { ask(Method::PUT, "/api/apps/email").json(&json!({"confirm": true})) }.boxed()
        }),
        ("choose_for_skill", |_| {
            async { ask(Method::PUT, "/api/skills/email.send").json(&json!({"always": true})) }
                .boxed()
        }),
        ("list_keys", |w| async { get(format!("/api/keys?user_id={}", w.member.id())) }.boxed()),
        ("create_key", |w| {
            async {
                let body = json!({"name": "k", "workspace_id": w.workspace, "scopes": ["*"]});
                post("/api/keys").json(&body)
            }
            .boxed()
        }),
        ("rotate_key", |w| {
            async {
                let key = w.key(&w.member, &w.workspace, Make::default()).await;
                post(format!("/api/keys/{}/rotate", key.id)).json(&json!({}))
            }
            .boxed()
        }),
        ("revoke_key", |w| {
            async {
                let key = w.key(&w.member, &w.workspace, Make::default()).await;
                ask(Method::DELETE, format!("/api/keys/{}", key.id))
            }
            .boxed()
        }),
        ("list_devices", |w| {
            async { get(format!("/api/devices?user_id={}", w.member.id())) }.boxed()
        }),
        ("request_device", |_| {
            async { post("/api/devices").json(&json!({"name": "machine"})) }.boxed()
        }),
        ("invite_device", |_| plain(POST, "/api/devices/invite")),
        ("approve_device", |w| {
            async {
                let path = format!("/api/devices/{}/approve", w.machine(false).await.0);
                post(path).json(&json!({"role": "machine"}))
            }
            .boxed()
        }),
        ("revoke_device", |w| {
            async {
                let device = w.device(&w.member).await;
                ask(Method::DELETE, format!("/api/devices/{}", device.device_id()))
            }
            .boxed()
        }),
        ("list_users", |w| {
            async { get(format!("/api/users?workspace_id={}", w.workspace)) }.boxed()
        }),
        ("add_user", |w| {
            async {
                let at = &w.workspace;
                let body = json!({"name": "Eve", "workspace_id": at, "membership": "member"});
                post("/api/users").json(&body)
            }
            .boxed()
        }),
        ("change_membership", |w| {
            async {
                let path = format!("/api/users/{}/workspaces/{}", w.member.id(), w.workspace);
                ask(Method::PUT, path).json(&json!({"membership": "admin"}))
            }
            .boxed()
        }),
        ("join_workspace", |w| {
            async { post(format!("/api/workspaces/{}/join", w.workspace)) }.boxed()
        }),
        ("decline_workspace", |w| {
            async { post(format!("/api/workspaces/{}/decline", w.workspace)) }.boxed()
        }),
        ("disable_user", |w| {
            async { post(format!("/api/users/{}/disable", w.member.id())) }.boxed()
        }),
        ("enable_user", |w| {
            async {
                let id = newcomer(w).await;
                let user = UserId::parse(&id).unwrap();
                w.gate.disable_user(&w.owner.person, &user).await.unwrap();
                post(format!("/api/users/{id}/enable"))
            }
            .boxed()
        }),
        ("invite_user", |w| {
            async { post(format!("/api/users/{}/invite", newcomer(w).await)) }.boxed()
        }),
        ("change_super_admin", |w| {
            async {
                let path = format!("/api/users/{}/super-admin", w.member.id());
                ask(Method::PUT, path).json(&json!({"super_admin": true}))
            }
            .boxed()
        }),
        ("remove_user", |w| {
            async { ask(Method::DELETE, format!("/api/users/{}", w.member.id())) }.boxed()
        }),
        ("erase_user", |w| async { post(format!("/api/users/{}/erase", w.member.id())) }.boxed()),
        ("list_workspaces", |_| plain(GET, "/api/workspaces")),
        ("add_workspace", |_| {
            async { post("/api/workspaces").json(&json!({"name": "New"})) }.boxed()
        }),
        ("show_usage", |_| plain(GET, "/api/usage")),
        ("is_halted", |_| plain(GET, "/api/halt")),
        ("halt", |_| plain(POST, "/api/halt")),
        ("resume", |_| plain(POST, "/api/halt/resume")),
        ("show_me", |_| plain(GET, "/api/me")),
        ("deliver_offline", |_| {
            async {
                let body = json!({"journal": "0".repeat(32), "decisions": []});
                post("/api/offline").json(&body)
            }
            .boxed()
        }),
        ("show_quorum", |_| plain(GET, "/api/quorum")),
        ("list_machines", |w| {
            async {
                proved(w).await;
                get(format!("/api/machines?workspace_id={}", w.workspace))
            }
            .boxed()
        }),
        ("prove_machine", |_| async { post("/api/machines").json(&proof()) }.boxed()),
        ("health", |_| plain(GET, "/api/health")),
        ("ready", |_| plain(GET, "/api/ready")),
        ("metrics", |_| plain(GET, "/api/metrics")),
        ("events", |_| plain(GET, "/api/events")),
        ("websocket", |_| async { upgrade("/api/ws") }.boxed()),
        ("worker", |_| async { upgrade("/api/workers") }.boxed()),
        ("show_action", |w| async { get(execution(w).await) }.boxed()),
        ("sign_in", |w| {
            async { post("/api/sign-in").json(&json!({"link": link(w).await})) }.boxed()
        }),
        ("sign_out", |_| plain(POST, "/api/sign-out")),
        ("openapi", |_| plain(GET, "/api/openapi.json")),
        ("docs", |_| plain(GET, "/api/docs")),
    ];
    rows.into_iter().chain(crate::pages::recipes()).collect()
}

/// A request for a WebSocket.
fn upgrade(path: &str) -> Ask {
    get(path)
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==")
}

/// The path of an action of the member's agent that a worker was given.
async fn execution(world: &World) -> String {
    let make = Make { scope: "worker", access: Access::Program, ..Make::default() };
    let key = world.key(&world.member, &world.workspace, make).await;
    let key = Secret::parse(&key.secret).unwrap();
    let caller = world.gate.authenticate(&key, None).await.unwrap();
    let executors = vec![ExecutorKind::Shell];
    let hello = Hello { executors, folder: None, instance: None, process: None };
    let _registered = world.gate.register_worker(&caller, hello).await.unwrap();
    let path = format!("/api/sessions/{}/actions", world.session().await);
    let body = json!({"action": {"kind": "shell", "command": "ls"}, "execute": true});
    let given = world.ask(post(path.clone()).json(&body).with(&world.agent.secret)).await.is(202);
    format!("{path}/{}", given["action_id"].as_str().unwrap())
}

/// The proof of a machine about itself.
fn proof() -> serde_json::Value {
    json!({"machine": "secret-plan-laptop", "version": "0.1.0", "clock_skew_ms": 0, "hosts": []})
}

/// A machine of the member's that has proved something.
async fn proved(world: &World) {
    let prove = post("/api/machines").json(&proof());
    world.ask(prove.with(&world.agent.secret)).await.is(200);
}

/// Somebody in the member's workspace who has not signed in.
pub(crate) async fn newcomer(world: &World) -> String {
    let added = world.gate.add_user(
        &world.owner.person,
        "Fay",
        &world.workspace,
        countersign_gate::user::Membership::Member,
    );
    added.await.unwrap().0.to_string()
}

/// A question of the member's agent that the member has said yes to.
async fn approved(world: &World) -> String {
    let id = world.question(RISKY).await;
    world.say(&id, Answer::Approve).await;
    id
}

/// The path of a file that the member's agent has begun to upload.
async fn upload(world: &World) -> String {
    let path = format!("/api/sessions/{}/uploads", world.session().await);
    let begin = post(path.clone()).json(&json!({"name": "secret-plan.txt"}));
    let file = world.ask(begin.with(&world.agent.secret)).await.is(201);
    let path = format!("{path}/{}", file["file_id"].as_str().unwrap());
    let piece = ask(Method::PATCH, path.clone()).header("upload-offset", "0");
    let piece = Ask { body: b"hello".to_vec(), ..piece };
    world.ask(piece.with(&world.agent.secret)).await.is(200);
    path
}

/// A file that the member's agent has uploaded, and its session.
async fn file(world: &World) -> (String, String) {
    let finish = post(format!("{}/finish", upload(world).await));
    let file = world.ask(finish.with(&world.agent.secret)).await.is(200);
    let text = |name: &str| file[name].as_str().unwrap().to_owned();
    (text("session_id"), text("file_id"))
}

/// An answer of the member's that is remembered.
pub(crate) async fn remembered(world: &World) -> String {
    // An answer that is remembered for good is not asked again.
    let known = world.gate.remembered_answers(&world.member.person).await.unwrap().len();
    let asked = world.question(&format!("npm publish --tag t{known}")).await;
    let id = ApprovalId::parse(&asked).unwrap();
    let reply = PersonAnswer { scope: Scope::Always, ..PersonAnswer::plain(id, Answer::Approve) };
    world.gate.answer(&world.member.person, reply).await.unwrap();
    let all = world.gate.remembered_answers(&world.member.person).await.unwrap();
    all[0].id.to_string()
}

pub(crate) async fn link(world: &World) -> String {
    world.gate.invite(&world.member.person).await.unwrap().expose().to_owned()
}

/// Lets a request come from somebody.
pub(crate) async fn from(world: &World, who: &str, ask: Ask) -> Ask {
    let bound = || Make { devices: Devices::Approved, ..Make::default() };
    match who {
        "owner" => ask.with(&world.owner.device),
        "admin" => ask.with(&world.admin.device),
        "member" => ask.with(&world.member.device),
        "stranger" => ask.with(&world.stranger.device),
        "agent" => ask.with(&world.agent.secret),
        "program" => ask.with(&world.program.secret),
        "narrow" => {
            let make = Make { scope: "email.send", access: Access::Agent, ..Make::default() };
            ask.with(&world.key(&world.member, &world.workspace, make).await.secret)
        }
        "bound" | "unbound" => {
            let (_, device) = world.machine(who == "bound").await;
            let key = world.key(&world.member, &world.workspace, bound()).await;
            ask.with(&key.secret).header("countersign-device", device)
        }
        "nowhere" => ask.with(&world.key(&world.member, &world.workspace, bound()).await.secret),
        "other" => {
            let key = world.key(&world.stranger, &world.elsewhere, Make::default()).await;
            ask.with(&key.secret)
        }
        "revoked" => {
            let key = world.key(&world.member, &world.workspace, Make::default()).await;
            let secret = Secret::parse(&key.secret).unwrap();
            let id = countersign_gate::key::ApiKey::id_of(&secret);
            world.gate.revoke_key(&world.member.person, &id).await.unwrap();
            ask.with(&key.secret)
        }
        "out" => {
            let device = world.device(&world.member).await;
            let id = device.person.device().unwrap().clone();
            world.gate.revoke_device(&world.member.person, &id).await.unwrap();
            ask.with(&device.device)
        }
        "nobody" | "socket" | "within" => ask,
        other => panic!("nobody is called {other}"),
    }
}

/// Everything that is the member's, by the ids that would give it away.
async fn marks(world: &World) -> Vec<String> {
    let person = &world.member.person;
    let mut marks = vec![world.member.id(), world.member.device_id(), world.agent.id.clone()];
    marks.extend([world.workspace.to_string(), "secret-plan".to_owned()]);
    let waiting = world.gate.waiting(person).await.unwrap();
    marks.extend(waiting.iter().map(|card| card.approval.to_string()));
    let page = countersign_gate::gate::Page::default();
    let sessions = world.gate.sessions(person, &OwnerFilter::default(), &[], &page).await.unwrap();
    marks.extend(sessions.items.iter().map(|session| session.id.to_string()));
    marks
}

/// Asks one route as somebody, in a world made for it.
async fn cell(recipe: Recipe, who: &str) -> HttpAnswer {
    let world = if who == "within" { World::within_an_agent().await } else { world().await };
    let made = recipe(&world).await;
    let asked = from(&world, who, made.clone()).await;
    let marks = marks(&world).await;
    let answer = match who {
        "socket" | "within" => world.ask_locally(asked).await,
        _ => world.ask(asked).await,
    };
    // A sign-in link is returned to its holder.
    if OUTSIDERS.contains(&who) && !made.path.ends_with("sign-in") {
        let (said, sent) = (answer.text(), String::from_utf8_lossy(&made.body).into_owned());
        // The owner belongs to the member's workspace, so their agent knows its name.
        let own = (who == "within").then(|| world.workspace.to_string());
        let marks = marks.iter().filter(|mark| Some(*mark) != own.as_ref());
        for mark in marks.filter(|mark| !made.path.contains(*mark) && !sent.contains(*mark)) {
            assert!(!said.contains(mark), "{} tells {who} of {mark}: {said}", made.path);
        }
    }
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_of_roles_is_as_it_was_reviewed() {
    let recipes = recipes();
    let mut table = format!("{NOTES}\n{:<48}", "");
    for who in EVERYBODY {
        let _ = write!(table, " {who:>8}");
    }
    table.push('\n');
    let mut asked = Vec::new();
    for route in routes() {
        let recipe = *recipes.get(route.id).unwrap_or_else(|| panic!("no recipe: {}", route.id));
        asked.push(route.id);
        let _ = write!(table, "{:<48}", format!("{} {}", route.method, route.path));
        for who in EVERYBODY {
            let _ = write!(table, " {:>8}", cell(recipe, who).await.status);
        }
        table.push('\n');
    }
    for id in recipes.keys() {
        assert!(asked.contains(id), "a recipe for no route: {id}");
    }
    // Asked for now: the tests may run in another folder than the one they were built in.
    let package = std::env::var("CARGO_MANIFEST_DIR");
    let package = package.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let path = format!("{package}/tests/it/roles.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let reviewed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(reviewed == table, "not as reviewed (BLESS=1 writes it anew):\n{table}");
}

/// The same id of the same kind, of something that is not there.
fn unknown(path: &str) -> String {
    let parts = path.split('/').map(|part| match part.split_once('_') {
        Some((kind, rest)) if rest.len() == 26 => format!("{kind}_{}", "0".repeat(26)),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn a_stranger_cannot_tell_what_is_not_theirs_from_what_is_not_there() {
    let recipes = recipes();
    let mut compared = 0;
    for route in routes().iter().filter(|route| route.path.contains('{')) {
        let world = world().await;
        let made = recipes[route.id](&world).await;
        let other = Ask { path: unknown(&made.path), ..made.clone() };
        if other.path == made.path {
            // Apps and skills are everybody's.
            continue;
        }
        if route.id == "report" {
            // An action that was allowed without asking is not stored, so a report about any
            // unknown one is recorded; nobody can guess the 80 random bits of a known id.
            continue;
        }
        for who in ["stranger", "other", "nobody"] {
            let real = world.ask(from(&world, who, made.clone()).await).await;
            let none = world.ask(from(&world, who, other.clone()).await).await;
            assert_eq!(real.status, none.status, "{who} {}", made.path);
            assert_eq!(real.text(), none.text(), "{who} {}", made.path);
            let names = |answer: &HttpAnswer| {
                let mut names: Vec<_> = answer.headers.keys().map(ToString::to_string).collect();
                names.sort();
                names
            };
            assert_eq!(names(&real), names(&none), "{who} {}", made.path);
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

/// This must hold for every present and future route.
#[tokio::test]
async fn no_route_for_people_opens_to_a_descendant_of_an_agent() {
    let world = World::within_an_agent().await;
    let recipes = recipes();
    for route in routes().into_iter().filter(|route| route.who == Who::Person) {
        let made = recipes[route.id](&world).await;
        for secret in [None, Some(&world.member.device), Some(&world.owner.device)] {
            let asked = match secret {
                Some(secret) => made.clone().with(secret),
                None => made.clone(),
            };
            let answer = world.ask_locally(asked).await;
            assert_eq!(answer.status, 403, "{} {}: {}", route.method, route.path, answer.text());
        }
        let cookie = format!("countersign={}", world.owner.device);
        let answer = world.ask_locally(made.header("cookie", cookie)).await;
        assert_eq!(answer.status, 403, "{} {}: {}", route.method, route.path, answer.text());
    }
}

#[tokio::test]
async fn the_local_socket_makes_the_server_s_own_user_the_owner_and_a_key_a_key() {
    let world = world().await;
    let me = world.ask_locally(get("/api/me")).await.is(200);
    assert_eq!(me["user"]["user_id"], world.owner.id());
    let key = world.ask_locally(get("/api/me").with(&world.agent.secret)).await;
    key.is_problem(403, "people-only");
    let device = world.ask_locally(get("/api/me").with(&world.member.device)).await.is(200);
    assert_eq!(device["user"]["user_id"], world.member.id());
    world.ask_locally(get("/api/me").with("nonsense")).await.is(401);
    world.ask(get("/api/me")).await.is(401);
}

#[tokio::test]
async fn the_secret_of_a_machine_makes_nobody_a_person() {
    let world = world().await;
    for approved in [false, true] {
        let (_, secret) = world.machine(approved).await;
        world.ask(get("/api/me").with(&secret)).await.is_problem(401, "not-signed-in");
        let cookie = format!("countersign={secret}");
        world.ask(get("/api/me").header("cookie", cookie)).await.is_problem(401, "not-signed-in");
    }
}
