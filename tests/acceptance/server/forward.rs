//! The record is sent on as it grows: by syslog over TLS, and by webhooks that ask for it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use super::fleet::trust::Authority;
use super::{Client, PATIENCE, Server, Setup, text, until};

/// A message as a syslog server understands it.
#[derive(Debug, Clone)]
struct Message {
    priority: u16,
    msgid: String,
    data: String,
    record: Value,
}

impl Message {
    /// Reads what RFC 5424 says, and nothing else.
    fn parse(text: &str) -> Self {
        let (priority, rest) =
            text.strip_prefix('<').and_then(|text| text.split_once('>')).unwrap();
        let (header, rest) = rest.split_once(" [").expect("structured data");
        let fields: Vec<_> = header.split(' ').collect();
        let [version, at, host, "countersign", process, msgid] = fields[..] else {
            panic!("{header}")
        };
        assert_eq!(version, "1");
        assert!(at.ends_with('Z') && at.contains('T'), "{at}");
        assert!(!host.is_empty() && process.parse::<u32>().is_ok(), "{header}");
        let (data, json) = rest.split_once("] ").expect("a message");
        let record: Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(record["event"], msgid);
        assert_eq!(record["at"], at);
        let priority = priority.parse().expect("a number");
        Self { priority, msgid: msgid.to_owned(), data: data.to_owned(), record }
    }

    fn number(&self) -> u64 {
        self.record["number"].as_u64().expect("a number")
    }
}

/// A syslog server of our own.
struct Syslog {
    address: SocketAddr,
    heard: Receiver<Message>,
}

impl Syslog {
    /// Listens here with a certificate of this authority; clients must show one of it, if so said.
    fn start(
        authority: &Authority,
        setup: &Setup,
        at: Option<SocketAddr>,
        clients: Clients,
    ) -> Self {
        let (certificate, key) = authority.issue(setup);
        let chain = vec![CertificateDer::from_pem_file(certificate).expect("a certificate")];
        let key = PrivateKeyDer::from_pem_file(key).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = match clients {
            Clients::Unknown => builder.with_no_client_auth(),
            Clients::Known => {
                let mut roots = RootCertStore::empty();
                let authority = CertificateDer::from_pem_file(authority.file(setup));
                roots.add(authority.expect("a certificate")).expect("an authority");
                let known = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                builder.with_client_cert_verifier(known.build().expect("a verifier"))
            }
        };
        let config = Arc::new(builder.with_single_cert(chain, key).expect("a pair"));
        let at = at.unwrap_or_else(|| "127.0.0.1:0".parse().expect("an address"));
        let listener = TcpListener::bind(at).expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, heard) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let connection = ServerConnection::new(config.clone()).expect("TLS");
                let sender = sender.clone();
                std::thread::spawn(move || hear(StreamOwned::new(connection, stream), &sender));
            }
        });
        Self { address, heard }
    }

    /// Hears until a message is like this, and gives all that were heard.
    fn until(&self, what: &str, is: impl Fn(&Message) -> bool) -> Vec<Message> {
        let mut all = Vec::new();
        loop {
            let message = self.heard.recv_timeout(PATIENCE);
            all.push(message.unwrap_or_else(|_| panic!("never: {what}: {all:?}")));
            if all.last().is_some_and(&is) {
                return all;
            }
        }
    }
}

/// Whether clients must show a certificate.
#[derive(Debug, Clone, Copy)]
enum Clients {
    Unknown,
    Known,
}

/// Reads frames: a length in octets, a space, and so many octets.
fn hear(stream: StreamOwned<ServerConnection, std::net::TcpStream>, heard: &Sender<Message>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = Vec::new();
        if !matches!(reader.read_until(b' ', &mut length), Ok(1..)) {
            return;
        }
        let length = String::from_utf8(length).expect("digits");
        let length = length.strip_suffix(' ').and_then(|text| text.parse().ok()).expect("a length");
        let mut message: Vec<u8> = vec![0; length];
        if reader.read_exact(&mut message).is_err() {
            return;
        }
        let message = Message::parse(&String::from_utf8(message).expect("UTF-8"));
        if heard.send(message).is_err() {
            return;
        }
    }
}

fn setup(channels: &str) -> Setup {
    Setup::new().config(&format!(
        "profile: coding-agent\ngate: {{logging: enhanced}}\nchannels:\n{channels}"
    ))
}

fn ls() -> Value {
    json!({"kind": "shell", "command": "ls"})
}

fn push() -> Value {
    json!({"kind": "shell", "command": "git push --force origin main"})
}

/// All of the record, as the server exports it.
fn exported(owner: &Client) -> Vec<Value> {
    let text = owner.get("/api/audit/export").text();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// A number of the metrics.
pub(super) fn metric(owner: &Client, name: &str) -> u64 {
    let text = owner.get("/api/metrics").text();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("no {name}: {text}"));
    line.trim().parse().expect("a number")
}

pub(super) fn became(channel: &str, word: &str) -> String {
    format!("countersign_channel_messages_total{{channel=\"{channel}\",became=\"{word}\"}}")
}

#[test]
fn every_record_is_sent_by_syslog_over_tls() {
    let authority = Authority::new();
    let files = Setup::new();
    let syslog = Syslog::start(&authority, &files, None, Clients::Unknown);
    let row = format!(
        "  - syslog: {{server: \"localhost:{}\", tls_ca: {}}}\n",
        syslog.address.port(),
        authority.file(&files)
    );
    let server = setup(&row).start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let secret = ["hunter", "22"].concat();
    let hidden =
        json!({"kind": "shell", "command": format!("psql postgres://ann:{secret}@db/größe")});
    agent.propose(&hidden).expect(200);
    let question = agent.ask(&push());
    owner.respond(&question, false).expect(200);
    let all = exported(&owner);
    let last = all.last().and_then(|record| record["number"].as_u64()).expect("a number");
    let heard = syslog.until("the last record", |message| message.number() == last);
    // From the first record after the start on, in order, each as the record says.
    let first = heard[0].number();
    let numbers: Vec<_> = heard.iter().map(Message::number).collect();
    assert_eq!(numbers, (first..=last).collect::<Vec<_>>());
    for message in &heard {
        let same = all.iter().find(|record| record["number"] == message.number());
        assert_eq!(Some(&message.record), same);
        assert!(message.data.starts_with("record@32473 number=\""), "{}", message.data);
        assert!(message.data.contains(&format!("hash=\"{}\"", text(&message.record["hash"]))));
        assert_eq!(message.priority / 8, 13, "the facility of audits");
        assert!(!message.record.to_string().contains(&secret), "{}", message.record);
    }
    for event in ["device_changed", "key_changed", "action_planned", "approval"] {
        assert!(heard.iter().any(|message| message.msgid == event), "{event}: {heard:?}");
    }
}

#[test]
fn what_a_syslog_server_has_missed_it_is_sent_when_it_is_there_again() {
    let authority = Authority::new();
    let files = Setup::new();
    let at = super::fleet::free_address();
    let authority_file = authority.file(&files);
    let row = format!("  - syslog: {{server: \"{at}\", tls_ca: {authority_file}}}\n");
    let server = setup(&row).start();
    let (owner, failed) = (server.owner(), became("syslog", "retried"));
    let agent = owner.key("agent");
    agent.propose(&ls()).expect(200);
    until("a failure", || (metric(&owner, &failed) > 0).then_some(()));
    // Ours is killed as well.
    let server = server.killed_and_started_again();
    let (owner, agent) = (moved(&owner, &server), moved(&agent, &server));
    agent.propose(&ls()).expect(200);
    let last = exported(&owner).last().and_then(|record| record["number"].as_u64());
    let last = last.expect("a number");
    let syslog = Syslog::start(&authority, &files, Some(at), Clients::Unknown);
    let heard = syslog.until("the last record", |message| message.number() == last);
    let numbers: Vec<_> = heard.iter().map(Message::number).collect();
    assert_eq!(numbers, (numbers[0]..=last).collect::<Vec<_>>(), "in order, none missing");
    let count = |event: &str| heard.iter().filter(|message| message.msgid == event).count();
    assert_eq!(count("device_changed"), 1, "from before the first failure: {heard:?}");
    assert_eq!(count("action_planned"), 2, "from before the kill and after it: {heard:?}");
}

#[test]
fn a_syslog_server_is_trusted_by_the_certificate_store_of_the_system() {
    let authority = Authority::new();
    let files = Setup::new();
    let syslog = Syslog::start(&authority, &files, None, Clients::Unknown);
    let row = format!("  - syslog: {{server: \"localhost:{}\"}}\n", syslog.address.port());
    // The store is named by the variable that tests and containers use for it.
    let server = setup(&row).variable("SSL_CERT_FILE", &authority.file(&files)).start();
    let owner = server.owner();
    owner.key("agent").propose(&ls()).expect(200);
    let last = exported(&owner).last().and_then(|record| record["number"].as_u64());
    let last = last.expect("a number");
    syslog.until("the last record", |message| message.number() == last);
}

/// The same client at a server that was started again.
fn moved(client: &Client, server: &Server) -> Client {
    Client { secret: client.secret.clone(), device: client.device.clone(), ..server.nobody() }
}

#[test]
fn a_syslog_server_that_nobody_vouches_for_is_told_nothing() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let (files, other) = (Setup::new(), Setup::new());
    let syslog = Syslog::start(&theirs, &other, None, Clients::Unknown);
    let row =
        format!("  - syslog: {{server: \"{}\", tls_ca: {}}}\n", syslog.address, ours.file(&files));
    let server = setup(&row).start();
    let owner = server.owner();
    until("a failure", || (metric(&owner, &became("syslog", "retried")) > 0).then_some(()));
    assert_eq!(metric(&owner, &became("syslog", "sent")), 0);
    assert!(metric(&owner, "countersign_channel_waiting{channel=\"syslog\"}") > 0);
    assert!(server.log().contains("certificate is not trusted"), "{}", server.log());
    assert!(syslog.heard.try_recv().is_err());
}

#[test]
fn our_side_shows_a_certificate_where_the_syslog_server_wants_one() {
    let authority = Authority::new();
    let (files, own) = (Setup::new(), Setup::new());
    let syslog = Syslog::start(&authority, &files, None, Clients::Known);
    let (certificate, key) = authority.issue(&own);
    let server = format!("server: \"{}\", tls_ca: {}", syslog.address, authority.file(&files));
    let anonymous = setup(&format!("  - syslog: {{{server}}}\n")).start();
    let owner = anonymous.owner();
    until("a failure", || (metric(&owner, &became("syslog", "retried")) > 0).then_some(()));
    assert!(syslog.heard.try_recv().is_err());
    drop(anonymous);
    let row = format!("  - syslog: {{{server}, certificate: {certificate}, key: {key}}}\n");
    let known = setup(&row).start();
    known.owner();
    syslog.until("a device", |message| message.msgid == "device_changed");
}

#[test]
fn a_dead_syslog_server_stops_nobody() {
    // One takes connections and says nothing, one is an address where nothing answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent_at = silent.local_addr().expect("an address");
    let nobody_at = super::fleet::free_address();
    let row = format!(
        "  - syslog: {{server: \"{silent_at}\"}}\n  - syslog: {{server: \"{nobody_at}\"}}\n"
    );
    let mut server = setup(&row).start();
    let owner = server.owner();
    let agent = owner.key("agent");
    for _ in 0..20 {
        agent.propose(&ls()).expect(200);
    }
    let question = agent.ask(&push());
    owner.respond(&question, true).expect(200);
    agent.spend(&question, &push()).expect(200);
    until("a failure", || (metric(&owner, &became("syslog", "retried")) > 0).then_some(()));
    assert_eq!(metric(&owner, &became("syslog", "sent")), 0);
    assert!(server.stop().success(), "it ends when asked to");
    assert_eq!(server.verified()["whole"], true);
}

#[test]
fn a_channel_that_only_keeps_the_record_is_nobody_to_ask() {
    let row = format!("  - syslog: {{server: \"{}\"}}\n", super::fleet::free_address());
    let server = setup(&row).start();
    let owner = server.owner();
    let agent = owner.key("agent");
    let device = text(&owner.get("/api/me").expect(200)["device_id"]);
    owner.delete(&format!("/api/devices/{device}")).expect(204);
    let said = agent.propose(&push());
    let with = Server::with("coding-agent");
    let owner = with.owner();
    let agent = owner.key("agent");
    let device = text(&owner.get("/api/me").expect(200)["device_id"]);
    owner.delete(&format!("/api/devices/{device}")).expect(204);
    assert_eq!(said.status, agent.propose(&push()).status, "as without it");
}

#[test]
fn a_wrong_configuration_is_refused_with_what_is_wrong() {
    for (row, wrong) in [
        ("syslog: {}", "missing field `server`"),
        ("syslog: {server: ''}", "a name and perhaps a port"),
        ("syslog: {server: 'tls://logs.example.com'}", "a name and perhaps a port"),
        ("syslog: {server: 'logs.example.com/x'}", "a name and perhaps a port"),
        ("syslog: {server: 'me@logs.example.com'}", "a name and perhaps a port"),
        ("syslog: {server: 'logs.example.com:99999'}", "a name and perhaps a port"),
        ("syslog: {server: logs.example.com, facility: kern}", "kern"),
        ("syslog: {server: logs.example.com, danger_plain: true}", "danger_plain"),
        ("syslog: {server: logs.example.com, certificate: /x.pem}", "belong together"),
        ("syslog: {server: logs.example.com, tls_ca: /no/such/file.pem}", "/no/such/file.pem"),
        (
            "webhook: {url: 'https://hooks.example', secret: whsec_x, events: [everything]}",
            "record.*",
        ),
        ("webhook: {url: 'https://hooks.example', secret: whsec_x, events: []}", "names none"),
    ] {
        let output = setup(&format!("  - {row}\n")).refused();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{row}: {said}");
        assert!(said.contains(wrong), "{row}: {said}");
    }
}

/// What becomes of the first request to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Taken,
    /// It is to be sent again.
    TurnedAway,
}

/// A receiver of requests: what it was posted, with its headers.
pub(super) fn receiver(first: First) -> (SocketAddr, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, posted) = channel();
    std::thread::spawn(move || {
        let mut turned_away = first == First::Taken;
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                    break;
                }
                if let Some(text) = line.strip_prefix("content-length: ") {
                    length = text.trim().parse().expect("a length");
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                continue;
            }
            let status = if turned_away { "200 OK" } else { "503 Busy" };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
            if turned_away {
                let _ = sender.send((head, serde_json::from_slice(&body).expect("JSON")));
            }
            turned_away = true;
        }
    });
    (address, posted)
}

#[test]
fn a_webhook_is_told_the_events_that_it_asks_for() {
    let usual = ["approval.requested", "approval.settled"];
    for (events, told) in [
        ("", usual.to_vec()),
        (", events: [approval.settled]", vec!["approval.settled"]),
        (", events: [record.approval]", vec!["record.approval"]),
        (", events: ['record.*']", vec!["record.action_planned", "record.approval"]),
        (", events: ['*']", [&usual[..], &["record.key_changed", "record.approval"]].concat()),
    ] {
        let (address, posted) = receiver(First::TurnedAway);
        let secret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let row = format!(
            "  - webhook: {{url: 'http://{address}/x', secret: {secret}, danger_any_address: \
             true{events}}}\n"
        );
        let server = setup(&row).start();
        let owner = server.owner();
        let agent = owner.key("agent");
        agent.propose(&ls()).expect(200);
        let question = agent.ask(&push());
        owner.respond(&question, false).expect(200);
        let mut kinds: Vec<String> = Vec::new();
        while told.iter().any(|kind| !kinds.iter().any(|heard| heard == kind)) {
            let (head, body) = posted
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("{events}: {told:?} are not all of {kinds:?}"));
            assert!(head.contains("webhook-signature: v1,"), "{head}");
            let kind = text(&body["type"]);
            if let Some(event) = kind.strip_prefix("record.") {
                let same = exported(&owner)
                    .into_iter()
                    .find(|one| one["number"] == body["data"]["number"]);
                assert_eq!(Some(&body["data"]), same.as_ref());
                assert_eq!(body["data"]["event"], event);
                assert!(
                    head.contains(&format!("webhook-id: msg_record_{}_", body["data"]["number"]))
                );
            }
            kinds.push(kind);
        }
        let is_asked_for = |kind: &String| match events {
            "" => usual.contains(&kind.as_str()),
            events if events.contains("'*'") => true,
            events if events.contains("record.*") => kind.starts_with("record."),
            events => events.contains(kind.as_str()),
        };
        assert!(kinds.iter().all(is_asked_for), "{events}: {kinds:?}");
    }
}
