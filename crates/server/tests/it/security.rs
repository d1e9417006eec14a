//! Attacks: attempts to get in, or to do more than is allowed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::Method;
use countersign_gate::approval::Answer;
use countersign_gate::id::DeviceId;
use countersign_server::{Limits, routes};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::roles::{EVERYBODY, from, recipes};
use crate::world::{
    Ask, HttpAnswer, RISKY, Setup, World, ask, get, post, propose, rest, send, shell, world,
};

const COOKIE: &str = "countersign";

/// A browser's cookie.
fn cookie(device: &str) -> String {
    format!("{COOKIE}={device}")
}

async fn csrf(world: &World, device: &str) -> String {
    let me = world.ask(get("/api/me").header("cookie", cookie(device))).await.is(200);
    me["csrf_token"].as_str().unwrap().to_owned()
}

fn form(link: &str) -> Ask {
    let mut ask = post("/sign-in").header("content-type", "application/x-www-form-urlencoded");
    ask.body = format!("link={link}&name=Browser").into();
    ask
}

async fn link(world: &World) -> String {
    world.gate.invite(&world.member.person).await.unwrap().expose().to_owned()
}

async fn is_halted(world: &World) -> bool {
    world.gate.is_halted().await.unwrap()
}

// --- requests from other sites ---

#[tokio::test]
async fn another_site_s_page_changes_nothing_with_somebody_s_cookie() {
    let world = world().await;
    let device = &world.member.device;
    let tablet = world.device(&world.member).await;
    let own = csrf(&world, device).await;
    let halt = || post("/api/halt").header("cookie", cookie(device));
    world.ask(halt()).await.is_problem(403, "csrf");
    world.ask(halt().header("x-csrf-token", "")).await.is_problem(403, "csrf");
    let wrong: String = own.chars().rev().collect();
    world.ask(halt().header("x-csrf-token", wrong)).await.is_problem(403, "csrf");
    for other in [&tablet.device, &world.stranger.device] {
        let token = csrf(&world, other).await;
        world.ask(halt().header("x-csrf-token", token)).await.is_problem(403, "csrf");
    }
    let right = || halt().header("x-csrf-token", own.clone());
    let here = world.address;
    for origin in [
        "https://evil.example".to_owned(),
        "null".to_owned(),
        format!("http://{here}.evil.example"),
        "http://127.0.0.1:1".to_owned(),
        format!("http://localhost:{}", here.port()),
        format!("ftp://{here}"),
    ] {
        world.ask(right().header("origin", &*origin)).await.is_problem(403, "other-origin");
    }
    for site in ["cross-site", "same-site", "nonsense"] {
        let asked = right().header("sec-fetch-site", site);
        world.ask(asked).await.is_problem(403, "other-origin");
    }
    assert!(!is_halted(&world).await);
    let own_page = right().header("origin", format!("http://{here}"));
    world.ask(own_page.header("sec-fetch-site", "same-origin")).await.is(204);
    assert!(is_halted(&world).await);
}

#[tokio::test]
async fn another_site_s_form_signs_nobody_in_and_uses_no_link_up() {
    let world = world().await;
    let link = link(&world).await;
    let evil = form(&link).header("origin", "https://evil.example");
    let refused = world.ask(evil).await;
    refused.is(403);
    assert_eq!(refused.header("set-cookie"), "");
    let cross = form(&link).header("sec-fetch-site", "cross-site");
    world.ask(cross).await.is(403);
    world.ask(form(&link).header("origin", format!("http://{}", world.address))).await.is(303);
}

// --- single use ---

#[tokio::test]
async fn a_token_works_once_in_time_and_for_its_own_question() {
    let world = world().await;
    let (one, other) = (world.question(RISKY).await, world.question("npm publish").await);
    let (token, others) = (world.token(&one).await, world.token(&other).await);
    let respond = |id: &str, token: &str| {
        let body = json!({"approved": true, "token": token});
        post(format!("/api/approvals/{id}/respond")).json(&body).with(&world.member.device)
    };
    world.ask(respond(&one, &others)).await.is_problem(403, "token");
    world.ask(respond(&one, &world.agent.secret)).await.is_problem(403, "token");
    world.ask(respond(&one, "nonsense")).await.is_problem(403, "token");
    assert_eq!(world.state(&one).await, "pending");
    assert_eq!(world.ask(respond(&one, &token)).await.is(200)["state"], "approved");
    world.ask(respond(&one, &token)).await.is_problem(409, "already-settled");
    world.pass(3_600);
    world.ask(respond(&other, &others)).await.is_problem(409, "already-settled");
    assert_ne!(world.state(&other).await, "approved");
}

#[tokio::test]
async fn a_sign_in_link_works_once_and_in_time() {
    let world = world().await;
    let first = link(&world).await;
    // Opening the page does not use the link up.
    world.ask(get(format!("/sign-in?link={first}"))).await.is(200);
    world.ask(form(&first)).await.is(303);
    world.ask(form(&first)).await.is(410);
    let again = post("/api/sign-in").json(&json!({"link": first}));
    world.ask(again).await.is_problem(410, "link");
    let late = link(&world).await;
    world.pass(16 * 60);
    world.ask(post("/api/sign-in").json(&json!({"link": late}))).await.is_problem(410, "link");
}

#[tokio::test]
async fn signing_in_ignores_the_cookie_it_came_with() {
    let world = world().await;
    let old = &world.stranger.device;
    let answer = world.ask(form(&link(&world).await).header("cookie", cookie(old))).await;
    answer.is(303);
    let set = answer.header("set-cookie");
    let value = set.split(['=', ';']).nth(1).unwrap().to_owned();
    assert!(set.starts_with("countersign=csd_"), "{set}");
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("Domain"), "{set}");
    assert_ne!(&value, old);
    let who = async |device: &str| {
        let me = world.ask(get("/api/me").header("cookie", cookie(device))).await.is(200);
        me["user"]["user_id"].as_str().unwrap().to_owned()
    };
    assert_eq!(who(&value).await, world.member.id());
    assert_eq!(who(old).await, world.stranger.id());
}

async fn encrypted(world: &World) -> TlsStream<TcpStream> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    let certificate = world.folder().join("tls/self-signed.crt");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, world.connect().await).await.unwrap()
}

#[tokio::test]
async fn over_tls_the_cookie_is_for_this_server_alone_and_never_sent_in_the_clear() {
    let world = World::new(Setup { tls: true, ..Setup::default() }).await;
    let link = link(&world).await;
    let asked = form(&link).header("origin", format!("https://{}", world.address));
    let answer = send(encrypted(&world).await, world.address, asked).await;
    answer.is(303);
    let set = answer.header("set-cookie").to_owned();
    assert!(set.starts_with("__Host-countersign=csd_"), "{set}");
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Secure"] {
        assert!(set.contains(part), "{set}");
    }
    let pair = set.split(';').next().unwrap().to_owned();
    let me = get("/api/me").header("cookie", pair.clone());
    send(encrypted(&world).await, world.address, me).await.is(200);
    // Under the name that any page on this machine could set, the cookie is ignored.
    let plain = pair.replace("__Host-", "");
    let me = get("/api/me").header("cookie", plain);
    send(encrypted(&world).await, world.address, me).await.is(401);
    // A client without TLS gets no answer.
    let said = world.raw(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(!said.contains("HTTP/1.1 2"), "{said}");
}

#[tokio::test]
async fn behind_a_proxy_that_ends_tls_the_cookie_is_as_over_tls() {
    let url = Some("https://gate.example.com".to_owned());
    let world = World::new(Setup { url, ..Setup::default() }).await;
    let link = link(&world).await;
    let host = |ask: Ask| ask.header("host", "gate.example.com");
    let asked = host(form(&link)).header("origin", "https://gate.example.com");
    let answer = world.ask(asked).await;
    answer.is(303);
    let set = answer.header("set-cookie").to_owned();
    assert!(set.starts_with("__Host-countersign=csd_") && set.contains("; Secure"), "{set}");
    assert_eq!(answer.header("strict-transport-security"), "max-age=31536000");
    let pair = set.split(';').next().unwrap().to_owned();
    world.ask(host(get("/api/me")).header("cookie", pair.clone())).await.is(200);
    let plain = pair.replace("__Host-", "");
    world.ask(host(get("/api/me")).header("cookie", plain)).await.is(401);
    // With `localhost`, every other program of the machine would be affected too.
    let local = world.ask(get("/api/health").header("host", "localhost")).await;
    assert_eq!(local.header("strict-transport-security"), "");
    // A link is whole: it leads to where people reach the server.
    let invite = post("/api/devices/invite").with(&world.member.device);
    let made = world.ask(invite).await.is(201);
    let whole = format!("https://gate.example.com/sign-in?link={}", made["link"].as_str().unwrap());
    assert_eq!(made["url"], json!(whole));
}

#[tokio::test]
async fn without_tls_nothing_promises_it() {
    let world = world().await;
    let answer = world.ask(get("/api/health")).await;
    assert_eq!(answer.header("strict-transport-security"), "");
    let page = world.ask(get("/sign-in")).await.text();
    assert!(page.contains("<code>countersign devices invite</code>"), "{page}");
}

// --- names ---

#[tokio::test]
async fn under_another_name_nobody_is_answered() {
    let world = World::new(Setup { names: vec!["gate.example".into()], ..Setup::default() }).await;
    let status = async |hosts: &[&str]| {
        let lines: Vec<_> = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
        let lines = lines.concat();
        let head = format!("GET /api/health HTTP/1.1\r\n{lines}Connection: close\r\n\r\n");
        status_of(&world.raw(head).await)
    };
    let port = world.address.port();
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example:80",
        "gate.example.evil.example",
        "evil@127.0.0.1",
        "127.0.0.1@evil.example",
        "",
        "[::1].evil.example",
        "localhost, evil.example",
    ] {
        assert_eq!(status(&[host]).await, 421, "{host}");
    }
    for host in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]", "gate.example", "Gate.Example:1"] {
        assert_eq!(status(&[host]).await, 200, "{host}");
    }
    assert_eq!(status(&[&format!("127.0.0.1:{port}")]).await, 200);
    assert_eq!(status(&[&format!("[::1]:{port}")]).await, 200);
    assert_eq!(status(&[]).await, 421);
    assert_eq!(status(&["localhost", "evil.example"]).await, 421);
    assert_eq!(status(&["evil.example", "localhost"]).await, 421);
}

#[tokio::test]
async fn a_whole_address_must_name_the_same_host_as_the_request() {
    let world = World::new(Setup { names: vec!["gate.example".into()], ..Setup::default() }).await;
    let status = async |address: &str, host: &str| {
        let first = format!("GET {address} HTTP/1.1\r\nHost: {host}\r\n");
        status_of(&world.raw(format!("{first}Connection: close\r\n\r\n")).await)
    };
    for (address, host) in [
        ("http://evil.example/api/health", "localhost"),
        ("http://evil.example/api/health", "evil.example"),
        ("https://evil.example:443/api/health", "gate.example"),
        ("http://localhost@evil.example/api/health", "localhost"),
        ("http://evil.example@localhost/api/health", "localhost"),
        ("http://localhost.evil.example/api/health", "localhost"),
        ("http://localhost/api/health", "evil.example"),
        ("http://localhost/api/health", "gate.example"),
        ("ftp://evil.example/api/health", "localhost"),
    ] {
        assert_eq!(status(address, host).await, 421, "{address}, {host}");
    }
    for (address, host) in [
        ("http://localhost/api/health", "localhost"),
        ("http://Gate.Example:1/api/health", "gate.example:1"),
        ("http://127.0.0.1/api/health", "127.0.0.1"),
    ] {
        assert_eq!(status(address, host).await, 200, "{address}, {host}");
    }
}

fn status_of(said: &str) -> u16 {
    said.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}

// --- limits of size and time ---

fn tight() -> Setup {
    let limits = Limits {
        body_bytes: 10_000,
        head_seconds: 1,
        body_seconds: 1,
        shutdown_seconds: 2,
        ..Limits::default()
    };
    Setup { limits, ..Setup::default() }
}

fn head(world: &World, more: &str) -> String {
    let (host, key) = (world.address, &world.agent.secret);
    format!(
        "POST /api/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\n{more}\r\n"
    )
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_and_not_read_to_its_end() {
    let world = World::new(tight()).await;
    let body = json!({"action": {"kind": "shell", "command": "x".repeat(20_000)}}).to_string();
    let large = Ask { body: body.clone().into(), ..post("/api/check") };
    let large = large.header("content-type", "application/json").with(&world.agent.secret);
    world.ask(large.clone()).await.is_problem(413, "too-large");
    world.ask(large.header("idempotency-key", "k")).await.is_problem(413, "too-large");
    // A hundred megabytes are announced: the answer does not wait for them, and the connection
    // does not take them.
    let mut bytes = head(&world, "Content-Length: 100000000\r\n").into_bytes();
    bytes.extend(vec![b' '; 4_000_000]);
    let said = world.raw(&bytes).await;
    assert!(said.is_empty() || status_of(&said) == 413, "{said}");
    let mut bytes = head(&world, "Transfer-Encoding: chunked\r\n").into_bytes();
    for _ in 0..2_000 {
        bytes.extend(format!("3e8\r\n{}\r\n", " ".repeat(1_000)).into_bytes());
    }
    let said = world.raw(&bytes).await;
    assert!(said.is_empty() || status_of(&said) == 413, "{said}");
}

#[tokio::test]
async fn a_length_that_lies_ends_in_a_refusal() {
    let world = World::new(tight()).await;
    for length in ["99999999999999999999999", "-1", "+5", "5x", "0x5", " ", "5, 6"] {
        let said = world.raw(head(&world, &format!("Content-Length: {length}\r\n")));
        let said = said.await;
        assert!(said.is_empty() || (400..500).contains(&status_of(&said)), "{length}: {said}");
    }
    // More is announced than comes: the other end hangs up.
    let mut stream = world.connect().await;
    let body = shell(RISKY).to_string();
    let announced = format!("Content-Length: {}\r\n", body.len() + 10);
    stream.write_all(format!("{}{body}", head(&world, &announced)).as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let said = rest(&mut stream).await;
    assert!(said.is_empty() || (400..500).contains(&status_of(&said)), "{said}");
    // Less is announced than comes: the rest is not a request.
    let announced = format!("Content-Length: {}\r\n", body.len());
    let said = world.raw(format!("{}{body}rest\r\n\r\n", head(&world, &announced)));
    let said = said.await;
    assert_eq!(said.matches("HTTP/1.1 200").count(), 1, "{said}");
    assert_eq!(said.matches("HTTP/1.1 2").count(), 1, "{said}");
}

#[tokio::test]
async fn who_dawdles_is_not_waited_for() {
    let world = World::new(tight()).await;
    let began = Instant::now();
    for begun in ["", "GET / HT", "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: b"] {
        let said = world.raw(begun.as_bytes()).await;
        assert!(said.is_empty() || status_of(&said) == 408, "{said}");
    }
    let slow = world.raw(format!("{}{{", head(&world, "Content-Length: 100\r\n")).as_bytes()).await;
    assert_eq!(status_of(&slow), 408, "{slow}");
    let keyed = head(&world, "Idempotency-Key: k\r\nTransfer-Encoding: chunked\r\n");
    let slow = world.raw(format!("{keyed}1\r\n{{\r\n").as_bytes()).await;
    assert_eq!(status_of(&slow), 408, "{slow}");
    let announced = format!(
        "POST /sign-in HTTP/1.1\r\nHost: {}\r\nContent-Length: 100\r\n\r\nlink=",
        world.address
    );
    assert_eq!(status_of(&world.raw(announced.as_bytes()).await), 408);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    // Slowly sent bytes do not extend the time limit.
    let mut stream = world.connect().await;
    stream.write_all(head(&world, "Content-Length: 1000\r\n").as_bytes()).await.unwrap();
    let dripping = Instant::now();
    while dripping.elapsed() < Duration::from_millis(2_500) {
        if stream.write_all(b" ").await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let said = rest(&mut stream).await;
    assert!(said.is_empty() || status_of(&said) == 408, "{said}");
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let world = World::new(tight()).await;
    let begin = format!("GET /api/health HTTP/1.1\r\nHost: {}\r\n", world.address);
    let many: Vec<_> = (0..300).map(|number| format!("X-{number}: y\r\n")).collect();
    let many = many.concat();
    let long = format!("X-Long: {}\r\n", "y".repeat(300_000));
    for bomb in [many, long, format!("Cookie: {}\r\n", "a=b;".repeat(50_000))] {
        let said = world.raw(format!("{begin}{bomb}\r\n").as_bytes()).await;
        let refused = said.is_empty() || (400..500).contains(&status_of(&said));
        assert!(refused, "{}", said.chars().take(200).collect::<String>());
    }
    let path = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000));
    let said = world.raw(path.as_bytes()).await;
    assert!(said.is_empty() || (400..500).contains(&status_of(&said)));
}

#[tokio::test]
async fn no_request_hides_within_another() {
    let world = World::new(tight()).await;
    let (host, device, key) = (world.address, &world.owner.device, &world.agent.secret);
    let hidden = format!(
        "POST /api/halt HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {device}\r\n\r\n"
    );
    let json = shell("ls").to_string();
    let chunk = format!("{:x}\r\n{json}\r\n0\r\n\r\n", json.len());
    let (long, whole) = (chunk.len() + hidden.len(), json.len());
    let outer = |headers: &str, body: &str| {
        let line = format!("POST /api/check HTTP/1.1\r\nHost: {host}\r\n");
        let auth = format!("Authorization: Bearer {key}\r\nContent-Type: application/json\r\n");
        format!("{line}{auth}{headers}\r\n\r\n{body}{hidden}")
    };
    let te = "Transfer-Encoding: chunked";
    let tries = [
        outer(&format!("Content-Length: {long}\r\n{te}"), &chunk),
        outer(&format!("{te}\r\nContent-Length: {long}"), &chunk),
        outer(
            &format!("Content-Length: {whole}\r\nContent-Length: {}", whole + hidden.len()),
            &json,
        ),
        outer(
            &format!("Content-Length: {}\r\nContent-Length: {whole}", whole + hidden.len()),
            &json,
        ),
        outer(&format!("Content-Length: {whole}, {}", whole + hidden.len()), &json),
        outer("Transfer-Encoding: xchunked", &chunk),
        outer("Transfer-Encoding: chunked, identity", &chunk),
        outer("Transfer-Encoding : chunked", &chunk),
        outer("Transfer-Encoding:\r\n chunked", &chunk),
        outer(&format!("X: y\r\n Content-Length: {long}\r\n{te}"), &chunk),
        outer(&format!("{te}\r\n{te}"), &chunk),
        outer(&format!("X: y\n{te}\r\nContent-Length: {long}"), &chunk),
        outer(&format!("X: y\rContent-Length: {whole}"), &json),
        outer("Transfer-Encoding: chunked\r\nContent-Length: 0", &chunk.replace("\r\n", "\n")),
        outer(&format!("Content-Length: {}", whole + hidden.len()), &json),
    ];
    for text in &tries {
        let said = world.raw(text.as_bytes()).await;
        let did = said.matches("HTTP/1.1 2").count();
        assert!(!is_halted(&world).await, "{text}\n---\n{said}");
        assert!(did <= 1, "{text}\n---\n{said}");
    }
    // Lines that end in a bare line feed are one request at most.
    let bare = format!("GET /api/health HTTP/1.1\nHost: {host}\nConnection: close\n\n{hidden}");
    let said = world.raw(bare.as_bytes()).await;
    assert!(said.matches("HTTP/1.1").count() <= 1, "{said}");
    assert!(!is_halted(&world).await);
}

#[tokio::test]
async fn a_request_that_tells_its_length_twice_is_refused() {
    let world = World::new(tight()).await;
    let json = shell("ls").to_string();
    let chunks = format!("{:x}\r\n{json}\r\n0\r\n\r\n", json.len());
    let (te, cl) = ("Transfer-Encoding: chunked", format!("Content-Length: {}", json.len()));
    let request = |headers: &str, body: &str| {
        let head = head(&world, &format!("{headers}\r\n"));
        format!("{head}{body}")
    };
    // Each alone is fine.
    assert_eq!(status_of(&world.raw(request(te, &chunks)).await), 200);
    let sound = request(&cl, &json);
    assert_eq!(status_of(&world.raw(&sound).await), 200);
    for headers in [
        format!("{cl}\r\n{te}"),
        format!("{te}\r\n{cl}"),
        format!("{cl}\r\n{cl}\r\n{te}"),
        format!("{te}\r\nX: y\r\ncontent-length:0"),
        format!("CONTENT-LENGTH:   {}\r\n{te}", chunks.len()),
        format!("{cl}\n{te}"),
    ] {
        let wrong = request(&headers, &chunks);
        assert_eq!(status_of(&world.raw(&wrong).await), 400, "{headers}");
        // Also when it comes second, in the same packet.
        let said = world.raw(format!("{sound}{wrong}")).await;
        assert_eq!(said.matches("HTTP/1.1 200").count(), 1, "{headers}: {said}");
        assert_eq!(said.matches("HTTP/1.1 400").count(), 1, "{headers}: {said}");
    }
}

// --- paths and methods ---

#[tokio::test]
async fn tricks_in_a_path_lead_nowhere() {
    let world = World::new(Setup::default()).await;
    let long = "a".repeat(10_000);
    let tricks = [
        "..",
        ".",
        "%2e%2e",
        "%2e%2e%2f%2e%2e",
        "..%2f..%2fapi%2fme",
        "%00",
        "apr_%00",
        "%ff",
        "%c0%ae",
        "\u{e9}\u{2603}",
        "%E2%98%83",
        "%0d%0aX-Injected:%201",
        "null",
        "0",
        "-1",
        "*",
        "apr_0000000000000000000000000\u{a0}",
        "%3Cscript%3E",
        "{id}",
        "';--",
        "\\..\\..",
        &long,
    ];
    let mut asked = 0;
    for route in routes().iter().filter(|route| route.path.contains('{')) {
        for trick in tricks {
            let path: Vec<_> = route.path.split('/').collect();
            let path =
                path.into_iter().map(|part| if part.starts_with('{') { trick } else { part });
            let path = path.collect::<Vec<_>>().join("/");
            let (method, host, device) = (&route.method, world.address, &world.owner.device);
            let said = world.raw(
                format!(
                    "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {device}\r\n\
                     Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
                ),
            );
            let said = said.await;
            let status = status_of(&said);
            assert!([400, 404, 414].contains(&status), "{} {trick:.40}: {said:.300}", route.id);
            assert!(!said.to_lowercase().contains("\r\nx-injected"), "{said}");
            asked += 1;
        }
    }
    assert!(asked > 300, "{asked}");
}

#[tokio::test]
async fn a_method_that_a_route_does_not_have_is_refused() {
    let world = world().await;
    let all = routes();
    let paths: HashSet<_> = all.iter().map(|route| route.path).collect();
    for path in paths {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "get"] {
            let has = |name: &str| {
                all.iter().any(|route| route.path == path && route.method.as_str() == name)
            };
            if has(method) {
                continue;
            }
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let plain = path.replace(['{', '}'], "");
            let answer = world.ask(ask(method.clone(), plain).with(&world.owner.device)).await;
            // Some paths are another route's with something in the place of an id.
            let fits = [405, 400, 404].contains(&answer.status);
            assert!(fits, "{method} {path}: {} {}", answer.status, answer.text());
            if answer.status == 405 {
                assert!(!answer.header("allow").is_empty(), "{method} {path}");
                answer.is_problem(405, "no-such-method");
            }
        }
    }
}

/// Every row of every table, as text.
fn snapshot(world: &World) -> Vec<String> {
    let database = world.database();
    let mut tables = database
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        .unwrap();
    let names: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut rows = Vec::new();
    for name in names {
        let mut all = database.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns = all.column_count();
        let mut found = all.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let values: Vec<_> =
                (0..columns).map(|place| format!("{:?}", row.get_ref_unwrap(place))).collect();
            rows.push(format!("{name}: {}", values.join(", ")));
        }
    }
    rows.sort();
    assert!(rows.len() > 20, "{rows:?}");
    rows
}

#[tokio::test]
async fn looking_never_changes_anything() {
    let world = World::new(Setup { on_disk: true, ..Setup::default() }).await;
    let recipes = recipes();
    let mut asks = Vec::new();
    let paths: HashSet<_> = routes().iter().map(|route| route.path).collect();
    for route in routes() {
        // Writes too: their paths are requested below with methods that only read.
        let made = recipes[route.id](&world).await;
        if route.method == Method::GET || !paths.contains(made.path.as_str()) {
            asks.push(made);
        }
    }
    let mut everybody = Vec::new();
    for who in EVERYBODY {
        everybody.push(from(&world, who, get("/")).await.headers);
    }
    let before = snapshot(&world);
    for made in asks {
        for identity in &everybody {
            for method in [Method::GET, Method::HEAD] {
                let mut asked = Ask { method: method.clone(), ..made.clone() };
                asked.headers.extend(identity.clone());
                // A body, other methods' names and a key do not turn it into a write.
                for name in ["x-http-method-override", "x-http-method", "x-method-override"] {
                    asked = asked.header(name, "POST");
                }
                let asked = asked.header("idempotency-key", "k");
                let answer = world.ask(asked).await;
                assert!(answer.status < 500, "{} {}", made.path, answer.status);
            }
        }
    }
    let after = snapshot(&world);
    let changed: Vec<_> = after.iter().filter(|row| !before.contains(row)).collect();
    assert!(changed.is_empty() && before.len() == after.len(), "{changed:#?}");
}

// --- disabled users and revoked devices ---

#[tokio::test]
async fn who_is_disabled_is_no_longer_signed_in_and_their_keys_do_not_work() {
    let world = world().await;
    let disable = post(format!("/api/users/{}/disable", world.member.id()));
    world.ask(disable.with(&world.owner.device)).await.is(204);
    let by_cookie = get("/api/me").header("cookie", cookie(&world.member.device));
    world.ask(by_cookie).await.is_problem(401, "not-signed-in");
    world.ask(get("/api/me").with(&world.member.device)).await.is_problem(401, "not-signed-in");
    world.ask(propose("ls").with(&world.agent.secret)).await.is_problem(401, "not-signed-in");
}

#[tokio::test]
async fn strangers_who_make_up_methods_leave_no_trace_in_the_numbers() {
    let world = world().await;
    for number in 0..20 {
        let method = Method::from_bytes(format!("M{number}").as_bytes()).unwrap();
        world.ask(ask(method, "/api/health")).await;
    }
    let text = world.ask(get("/api/metrics").with(&world.owner.device)).await.text();
    assert!(!text.contains("method=\"M1"), "{text}");
}

// --- secrets in logs and answers ---

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// One world in which secrets go everywhere they should and should not. Returns them, and the
/// answers that must not contain any.
async fn scenario() -> (Vec<String>, Vec<HttpAnswer>) {
    let world = World::new(tight()).await;
    let password = ["hunter", "2-not", "-real"].concat();
    let mut problems = Vec::new();
    let mut secrets =
        vec![password.clone(), world.agent.secret.clone(), world.member.device.clone()];
    let link = link(&world).await;
    let fields = json!({"username": "cid", "password": password});
    let site = json!([{"site": "https://example.com", "fields": fields}]);
    let begin = post("/api/sessions").with(&world.member.device);
    world.ask(begin.clone().json(&json!({"consent": true, "credentials": site}))).await.is(201);
    for wrong in [
        json!({"consent": true, "credentials": [{"site": "nowhere", "fields": fields}]}),
        json!({"consent": password}),
        json!({"consent": true, "credentials": password}),
        json!({"consent": true, "credentials": [{"site": "https://a.example", "fields": password}]}),
        json!({"consent": true, "credentials": [{"site": "https://a.example", "fields": {"p": [password]}}]}),
    ] {
        problems.push(world.ask(begin.clone().json(&wrong)).await);
    }
    let approval = world.question(RISKY).await;
    let token = world.token(&approval).await;
    let respond = |token: &str| {
        let body = json!({"approved": true, "token": token});
        post(format!("/api/approvals/{approval}/respond")).json(&body)
    };
    problems.push(world.ask(respond(&link).with(&world.member.device)).await);
    problems.push(world.ask(respond(&token).with(&world.agent.secret)).await);
    world.ask(respond(&token).with(&world.member.device)).await.is(200);
    problems
        .push(world.ask(get(format!("/api/approvals/{token}")).with(&world.member.device)).await);
    problems.push(world.ask(get(format!("/{link}"))).await);
    problems.push(
        world.ask(get(format!("/api/sessions?state={token}")).with(&world.member.device)).await,
    );
    problems.push(world.ask(get("/api/me").with(&format!("{}x", world.member.device))).await);
    problems.push(world.ask(get("/api/me").with(&link)).await);
    problems.push(world.ask(post("/api/sign-in").json(&json!({"link": token}))).await);
    world.ask(form(&link)).await.is(303);
    problems.push(world.ask(form(&link)).await);
    let made = world.ask(
        post("/api/keys").with(&world.member.device).json(&json!({"name": "k", "scopes": ["*"]})),
    );
    let made = made.await.is(201)["secret"].as_str().unwrap().to_owned();
    problems.push(world.ask(get(format!("/api/me?key={made}")).with(&made)).await);
    secrets.extend([link, token, made, csrf(&world, &world.stranger.device).await]);
    world.say(&world.question("npm publish").await, Answer::Reject).await;
    (secrets, problems)
}

#[tokio::test]
async fn no_secret_is_logged_or_told_back() {
    let log = Log::default();
    let writer = log.clone();
    // For the whole process: a subscriber of one thread misses what another has switched off.
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let (secrets, problems) = scenario().await;
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("/api/approvals/{id}/respond"), "nothing was logged: {log}");
    for secret in secrets {
        assert!(!log.contains(&secret), "{secret} is in the log");
        for problem in &problems {
            assert!(problem.status >= 400, "{}", problem.text());
            assert!(!problem.text().contains(&secret), "{secret}: {}", problem.text());
        }
    }
}

// --- long-lived connections ---

#[tokio::test]
async fn the_stream_of_a_device_or_key_that_was_revoked_ends() {
    use http_body_util::BodyExt as _;
    let world = world().await;
    let tablet = world.device(&world.member).await;
    let mut stream = world.open(get("/api/events").with(&tablet.device)).await;
    let mut agents = world.open(get("/api/events").with(&world.agent.secret)).await;
    for stream in [&mut stream, &mut agents] {
        assert!(stream.frame().await.unwrap().unwrap().into_data().is_ok());
    }
    let id = DeviceId::parse(&tablet.device_id()).unwrap();
    world.gate.revoke_device(&world.member.person, &id).await.unwrap();
    let ended = async |stream: &mut hyper::Response<hyper::body::Incoming>| {
        let all = async { while let Some(Ok(_)) = stream.frame().await {} };
        tokio::time::timeout(Duration::from_secs(5), all).await.expect("it goes on");
    };
    ended(&mut stream).await;
    let key = countersign_gate::id::KeyId::parse(&world.agent.id).unwrap();
    world.gate.revoke_key(&world.member.person, &key).await.unwrap();
    // Something of theirs happens: they are not told.
    let assistant = world.member.person.assistant(&world.workspace).unwrap();
    let consent = countersign_gate::gate::Consent::Given;
    let plan = countersign_gate::session::Plan::default();
    world.gate.start(&assistant, plan, consent, Vec::new()).await.unwrap();
    ended(&mut agents).await;
}
