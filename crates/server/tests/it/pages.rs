//! The console's pages and forms: who may open them, and what a form needs to be accepted.

use futures_util::FutureExt as _;

use crate::roles::{Recipe, link, newcomer, remembered};
use crate::world::{Ask, Make, RISKY, World, get, post, shell, world};

const FORM: &str = "application/x-www-form-urlencoded";

/// A form that is sent.
fn form(path: impl Into<String>, fields: &str) -> Ask {
    Ask { body: fields.into(), ..post(path).header("content-type", FORM) }
}

/// A question of the member's agent, and the token that answers it.
async fn question(world: &World) -> (String, String) {
    let id = world.question(RISKY).await;
    let token = world.token(&id).await;
    (id, token)
}

/// The request for each page and form, about something that belongs to the member.
#[expect(clippy::too_many_lines, reason = "one line per route")]
pub(crate) fn recipes() -> Vec<(&'static str, Recipe)> {
    vec![
        ("inbox", |_| async { get("/") }.boxed()),
        ("approval", |w| async { get(format!("/approvals/{}", question(w).await.0)) }.boxed()),
        ("answer_form", |w| {
            async {
                let (id, token) = question(w).await;
                form(format!("/approvals/{id}/answer"), &format!("say=approve&token={token}"))
            }
            .boxed()
        }),
        ("edit_form", |w| {
            async {
                let (id, token) = question(w).await;
                let fields = format!("field=command&edited=ls&token={token}");
                form(format!("/approvals/{id}/edit"), &fields)
            }
            .boxed()
        }),
        ("answer_group_form", |w| {
            async {
                let (id, token) = question(w).await;
                form("/approvals/answer", &format!("say=approve&answer={id}+{token}"))
            }
            .boxed()
        }),
        ("sessions", |_| async { get("/sessions") }.boxed()),
        ("session", |w| async { get(format!("/sessions/{}", w.session().await)) }.boxed()),
        ("stop_session_form", |w| {
            async { form(format!("/sessions/{}/stop", w.session().await), "") }.boxed()
        }),
        ("resume_session_form", |w| {
            async { form(format!("/sessions/{}/resume", w.session().await), "") }.boxed()
        }),
        ("history", |_| async { get("/history") }.boxed()),
        ("history_csv", |_| async { get("/history/export.csv") }.boxed()),
        ("erase_history_form", |_| async { form("/history/delete", "sure=yes") }.boxed()),
        ("apps", |_| async { get("/apps") }.boxed()),
        ("choose_form", |_| async { form("/apps", "skill=email.send&confirm=always") }.boxed()),
        ("developer", |_| async { get("/developer") }.boxed()),
        ("create_key_form", |_| async { form("/developer/keys", "name=k&scopes=*") }.boxed()),
        ("rotate_key_form", |w| {
            async {
                let key = w.key(&w.member, &w.workspace, Make::default()).await;
                form(format!("/developer/keys/{}/rotate", key.id), "")
            }
            .boxed()
        }),
        ("revoke_key_form", |w| {
            async {
                let key = w.key(&w.member, &w.workspace, Make::default()).await;
                form(format!("/developer/keys/{}/revoke", key.id), "")
            }
            .boxed()
        }),
        ("approve_device_form", |w| {
            async {
                let path = format!("/developer/devices/{}/approve", w.machine(false).await.0);
                form(path, "role=machine")
            }
            .boxed()
        }),
        ("revoke_device_form", |w| {
            async {
                let device = w.device(&w.member).await;
                form(format!("/developer/devices/{}/revoke", device.device_id()), "")
            }
            .boxed()
        }),
        ("invite_form", |_| async { form("/developer/invite", "") }.boxed()),
        ("settings_form", |_| async { form("/developer/settings", "logging=enhanced") }.boxed()),
        ("forget_form", |w| {
            async { form(format!("/developer/remembered/{}/forget", remembered(w).await), "") }
                .boxed()
        }),
        ("people", |_| async { get("/people") }.boxed()),
        ("add_user_form", |w| {
            async { form("/people", &format!("name=Eve&as=member&workspace={}", w.workspace)) }
                .boxed()
        }),
        ("person", |w| async { get(format!("/people/{}", w.member.id())) }.boxed()),
        ("invite_user_form", |w| {
            async { form(format!("/people/{}/invite", newcomer(w).await), "") }.boxed()
        }),
        ("change_membership_form", |w| {
            async {
                let fields = format!("as=admin&workspace={}", w.workspace);
                form(format!("/people/{}/role", w.member.id()), &fields)
            }
            .boxed()
        }),
        ("change_account_form", |w| {
            async { form(format!("/people/{}/account", w.member.id()), "to=disabled") }.boxed()
        }),
        ("create_bot_key_form", |w| {
            async {
                let bot = w.gate.add_bot(&w.owner.person, "ci", &w.workspace).await.unwrap();
                form(format!("/people/{bot}/keys"), "name=k&scopes=*")
            }
            .boxed()
        }),
        ("revoke_users_key_form", |w| {
            async {
                let key = w.key(&w.member, &w.workspace, Make::default()).await;
                form(format!("/people/{}/keys/{}/revoke", w.member.id(), key.id), "")
            }
            .boxed()
        }),
        ("revoke_users_device_form", |w| {
            async {
                let device = w.device(&w.member).await.device_id();
                form(format!("/people/{}/devices/{device}/revoke", w.member.id()), "")
            }
            .boxed()
        }),
        ("policy", |_| async { get("/policy") }.boxed()),
        ("try_form", |_| async { form("/policy", "kind=shell&input=ls") }.boxed()),
        ("audit", |_| async { get("/audit") }.boxed()),
        ("verify_form", |_| async { form("/audit/verify", "") }.boxed()),
        ("halt_page", |_| async { get("/halt") }.boxed()),
        ("halt_form", |_| async { form("/halt", "") }.boxed()),
        ("resume_form", |_| async { form("/resume", "") }.boxed()),
        ("autonomous_page", |_| async { get("/autonomous") }.boxed()),
        ("autonomous_form", |_| async { form("/autonomous", "on=true") }.boxed()),
        ("choose_language", |_| async { form("/language", "language=de") }.boxed()),
        ("sign_in_page", |_| async { get("/sign-in") }.boxed()),
        ("sign_in_form", |w| {
            async { form("/sign-in", &format!("link={}&name=Browser", link(w).await)) }.boxed()
        }),
        ("sign_out_form", |_| async { form("/sign-out", "") }.boxed()),
        ("asset", |_| async { get("/static/console.css") }.boxed()),
        ("icon", |_| async { get("/static/icon/3.svg") }.boxed()),
        ("service_worker", |_| async { get("/sw.js") }.boxed()),
        ("manifest", |_| async { get("/manifest.webmanifest") }.boxed()),
    ]
}

/// The member's browser.
fn in_browser(world: &World, ask: Ask) -> Ask {
    ask.header("cookie", format!("countersign={}", world.member.device))
}

/// The text between the first `before` and the next `after` of a page.
fn between<'a>(page: &'a str, before: &str, after: &str) -> &'a str {
    let rest = page.split_once(before).unwrap_or_else(|| panic!("no {before} in {page}")).1;
    rest.split_once(after).unwrap().0
}

#[tokio::test]
async fn a_form_is_believed_only_with_the_token_of_its_own_page() {
    let world = world().await;
    let (id, token) = question(&world).await;
    let page = world.ask(in_browser(&world, get("/"))).await.text();
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    assert_eq!(between(&page, "name=\"token\" value=\"", "\""), token);
    let path = format!("/approvals/{id}/answer");
    let answer = |more: &str| {
        let fields = format!("say=approve&token={token}{more}");
        in_browser(&world, form(path.clone(), &fields))
    };
    for more in ["", "&csrf=", "&csrf=guess", "&x=csrf&csrf2=1"] {
        let refused = world.ask(answer(more)).await;
        assert_eq!(refused.status, 403, "{more}");
        assert!(refused.text().contains("data-page=\"error\""), "{}", refused.text());
    }
    let right = || answer(&format!("&csrf={csrf}"));
    let foreign = world.ask(right().header("origin", "https://evil.example")).await;
    assert_eq!(foreign.status, 403);
    let cross = world.ask(right().header("sec-fetch-site", "cross-site")).await;
    assert_eq!(cross.status, 403);
    assert_eq!(world.state(&id).await, "pending");
    let done = world.ask(right()).await;
    assert_eq!((done.status, done.header("location")), (303, "/?done=approved"));
    assert_eq!(world.state(&id).await, "approved");
    let again = world.ask(right()).await;
    assert_eq!(again.status, 409, "a second answer changes nothing");
}

#[tokio::test]
async fn what_is_sent_as_anything_but_a_form_needs_the_token_as_well() {
    let world = world().await;
    let me = world.ask(in_browser(&world, get("/api/me"))).await.is(200);
    let field = format!("csrf={}", me["csrf_token"].as_str().unwrap());
    for media in ["text/plain", "multipart/form-data; boundary=x", "application/json"] {
        let mut halt = in_browser(&world, post("/halt").header("content-type", media));
        assert_eq!(world.ask(halt.clone()).await.status, 403, "{media}");
        halt.body = field.clone().into();
        assert_eq!(world.ask(halt).await.status, 403, "{media}, with a field");
    }
    // Nor is a field enough where no page has a form.
    let form = "application/x-www-form-urlencoded";
    let mut halt = in_browser(&world, post("/api/halt").header("content-type", form));
    halt.body = field.into();
    world.ask(halt).await.is_problem(403, "csrf");
    assert!(!world.gate.is_halted().await.unwrap());
}

#[tokio::test]
async fn whoever_is_not_signed_in_is_shown_where_to() {
    let world = world().await;
    for path in ["/", "/sessions", "/history", "/apps", "/developer", "/policy", "/audit"] {
        let answer = world.ask(get(path)).await;
        assert_eq!((answer.status, answer.header("location")), (303, "/sign-in"), "{path}");
    }
    let old = get("/").header("cookie", "countersign=csd_none");
    assert_eq!(world.ask(old).await.header("location"), "/sign-in");
}

#[tokio::test]
async fn what_an_agent_writes_is_never_markup() {
    let world = world().await;
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}txt";
    let action = serde_json::json!({"kind": "tool", "server": evil, "tool": "delete_everything",
        "arguments": {evil: evil}, "annotations": {"title": evil}});
    let body = serde_json::json!({"action": action, "reasoning": evil});
    let asked = post("/api/actions").with(&world.agent.secret).json(&body);
    let id = world.ask(asked).await.is(202)["approval_id"].as_str().unwrap().to_owned();
    for path in ["/".to_owned(), format!("/approvals/{id}"), "/history".to_owned()] {
        let page = world.ask(in_browser(&world, get(path))).await.text();
        assert!(!page.contains("<script>alert") && !page.contains("<img src=x"), "{page}");
        assert!(!page.contains('\u{202e}'), "what turns a text around is shown by its number");
    }
}

#[tokio::test]
async fn what_is_too_long_to_judge_among_others_is_approved_only_where_all_of_it_is_shown() {
    let world = world().await;
    let long = format!("echo {} ; rm -rf build", "x".repeat(20_000));
    let id = world.question(&long).await;
    let inbox = world.ask(in_browser(&world, get("/"))).await.text();
    assert!(inbox.contains("class=\"cut\"") && !inbox.contains("value=\"approve\""), "{inbox}");
    assert!(inbox.len() < 40_000, "{}", inbox.len());
    assert!(inbox.contains("<code>build</code>"), "what was found beyond the cut is quoted");
    let alone = world.ask(in_browser(&world, get(format!("/approvals/{id}")))).await.text();
    assert!(alone.contains(&"x".repeat(20_000)) && alone.contains("value=\"approve\""));
}

#[tokio::test]
async fn pages_are_written_in_the_language_of_their_reader() {
    let world = world().await;
    for (language, word) in [("de", "Verlauf"), ("ko", "이력"), ("fr", "History")] {
        let page = in_browser(&world, get("/history").header("accept-language", language));
        let page = world.ask(page).await.text();
        assert!(page.contains(word), "{language}: {page}");
    }
}

#[tokio::test]
async fn a_list_of_sessions_that_is_cut_says_so() {
    let world = world().await;
    let page = async |path: &str| world.ask(in_browser(&world, get(path))).await.text();
    for number in 1..=21 {
        let id = world.session().await;
        let stop = post(format!("/api/sessions/{id}/stop")).with(&world.member.device);
        assert_eq!(world.ask(stop).await.status, 204);
        let shown = page("/sessions").await;
        assert_eq!(shown.contains("id=\"ended-cut\""), number > 20, "{number}: {shown}");
    }
    let id = world.session().await;
    assert!(!page(&format!("/sessions/{id}")).await.contains("id=\"cut\""));
    for _ in 0..100 {
        let path = format!("/api/sessions/{id}/actions");
        let ask = post(path).with(&world.agent.secret).json(&shell("ls"));
        assert_eq!(world.ask(ask).await.status, 200);
    }
    let shown = page(&format!("/sessions/{id}")).await;
    assert!(shown.contains("id=\"cut\"") && shown.contains("href=\"/history\""), "{shown}");
}
