//! Secrets that are sent through every interface, and then searched for everywhere.
//!
//! Not covered, because it cannot be recognised: a password or a code in free text without a name
//! or a form (`type 48291375`), and names that people give to their own devices and keys.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use countersign_core::action::{DownloadFile, Field, Language, Surface, UiOp};
use countersign_core::context::PathFacts;
use countersign_core::{Action, Context};
use countersign_gate::announce::{Announcer, Audience};
use countersign_gate::approval::{Answer, Outcome, Scope};
use countersign_gate::audit::Record;
use countersign_gate::channel::{Channel, Dispatcher, Message, SendError};
use countersign_gate::config::Rates;
use countersign_gate::gate::{Consent, PersonAnswer, ReportedError, SiteCredential};
use countersign_gate::id::{ApprovalId, SessionId};
use countersign_gate::key::Access;
use countersign_gate::preferences::Logging;
use countersign_gate::proposal::Script;
use countersign_gate::rate::Rate;
use countersign_gate::session::Plan;
use countersign_gate::store::RecordQuery;
use countersign_gate::vault::Credential;
use countersign_gate::{Config, Proposal, Submitted};
use pollster::block_on;
use serde_json::{Value, json};

use crate::world::{Setup, World, shell};

/// The secrets that must not be found anywhere. They are put together at run time, so that the
/// source contains nothing that looks like a real one.
struct Canaries {
    key: String,
    card: String,
    password: String,
    code: String,
}

impl Canaries {
    fn new() -> Self {
        Self {
            key: ["AKIA", "Z7KQ2M5X", "W3T9B4HD"].concat(),
            card: card("453914880343646"),
            password: ["Tr0ub4", "dor-", "xk9Q"].concat(),
            code: ["4829", "1375"].concat(),
        }
    }

    fn all(&self) -> [&String; 4] {
        [&self.key, &self.card, &self.password, &self.code]
    }

    /// Texts that contain each of them in the ways that programs write them.
    fn texts(&self) -> Vec<String> {
        let Self { key, card, password, code } = self;
        let grouped = grouped(card);
        vec![
            format!("aws_access_key_id={key}"),
            format!("use {key} for it"),
            format!("card {card} please"),
            format!("card {grouped} please"),
            format!("password: {password}"),
            format!("PASSWORD={password}"),
            format!("{{\"user\": \"ann\", \"password\": \"{password}\"}}"),
            format!("user=ann&password={password}"),
            format!("https://ann:{password}@files.example/x"),
            format!("otp={code}"),
            format!("{{\"otp\": \"{code}\"}}"),
            format!("your verification code is {code}"),
        ]
    }
}

/// A card number with its Luhn check digit.
fn card(digits: &str) -> String {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (u32::from(digit - b'0'), place % 2) {
            (digit, 0) if digit > 4 => digit * 2 - 9,
            (digit, 0) => digit * 2,
            (digit, _) => digit,
        })
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

fn grouped(card: &str) -> String {
    let groups: Vec<_> = card.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
    groups.join(" ")
}

/// The encodings of a text.
fn spellings(text: &str) -> Vec<String> {
    let each = |format: fn(u8) -> String| text.bytes().map(format).collect::<String>();
    let mut spellings = vec![
        text.to_owned(),
        text.to_lowercase(),
        each(|byte| format!("{byte:02x}")),
        each(|byte| format!("{byte:02X}")),
        each(|byte| format!("%{byte:02X}")),
        each(|byte| format!("%{byte:02x}")),
        each(|byte| format!("\\u{byte:04x}")),
        grouped(text),
        grouped(text).replace(' ', "-"),
    ];
    // Base64 depends on the offset in the text; the edges depend on the neighbouring bytes.
    for offset in 0..3 {
        let padded = [&[0; 2][..offset], text.as_bytes()].concat();
        let whole = STANDARD_NO_PAD.encode(padded);
        spellings.push(whole.get(4.min(offset * 4)..whole.len() - 2).unwrap().to_owned());
    }
    spellings
}

/// Everything that was returned, shown or printed.
#[derive(Default)]
struct Heard(Vec<String>);

impl Heard {
    fn debug(&mut self, value: impl Debug) {
        self.0.push(format!("{value:?}"));
    }
}

fn skill(params: Value) -> Action {
    let params = serde_json::from_value(params).unwrap();
    Action::Skill { skill: "email.send".into(), params }
}

fn tool(arguments: Value) -> Action {
    Action::Tool {
        server: "disk".into(),
        tool: "write_file".into(),
        description: Some("Writes a file".into()),
        arguments: serde_json::from_value(arguments).unwrap(),
        annotations: None,
        schema: None,
    }
}

fn ui(op: UiOp) -> Action {
    let (surface, label, field, text, url) = (Surface::Browser, None, None, None, None);
    Action::Ui { surface, op, label, field, text, url, reference: None }
}

/// Every action that can carry a text.
fn carrying(text: &str) -> Vec<Action> {
    [programs(text), files(text), addresses(text), calls(text), pages(text)].concat()
}

fn programs(text: &str) -> Vec<Action> {
    let line = text.replace('"', "\\\"");
    let run = |command: String| Action::Shell { command, cwd: None };
    let code = |language, source| Action::Code { language, source, dialect: None };
    vec![
        run(format!("git push --force origin main # {text}")),
        run(format!("curl -d '{text}' https://x.example")),
        run(format!("cat > .env <<'END'\n{text}\nEND\ngit push --force")),
        run(format!("rm -rf / # {text}")),
        run(format!("echo '{text}")),
        Action::Shell { command: "ls".into(), cwd: Some(format!("/work/{text}")) },
        code(Language::Python, format!("import os\n# {text}\nos.system(\"rm -rf src\")")),
        code(Language::Sql, format!("DROP TABLE a; -- {text}")),
        Action::Applescript { script: format!("tell app \"Finder\" to empty trash -- {text}") },
        Action::Applescript { script: format!("do shell script \"echo {line} > ~/.zshrc\"") },
    ]
}

fn files(text: &str) -> Vec<Action> {
    let path = || format!("/work/{text}");
    vec![
        Action::FileRead { path: path() },
        Action::FileWrite { path: "/work/.bashrc".into(), content: Some(format!("a\n{text}\nb")) },
        Action::FileWrite { path: format!("/etc/{text}"), content: None },
        Action::FileDelete { path: path() },
        Action::FileList { path: path() },
    ]
}

fn addresses(text: &str) -> Vec<Action> {
    let file = DownloadFile {
        url: format!("https://files.example/a?x={text}"),
        name: Some(text.to_owned()),
        bytes: Some(1),
    };
    let mut files = vec![file; 6];
    files[0].url = text.to_owned();
    let send = |url: String, body: Option<String>| {
        let method = "POST".into();
        Action::HttpRequest { method, url, body }
    };
    vec![
        Action::Navigate { url: format!("https://x.example/?q={text}") },
        Action::Navigate { url: text.to_owned() },
        send(format!("https://x.example/?{text}"), None),
        send("https://x.example/".into(), Some(text.to_owned())),
        Action::Login { site: format!("https://x.example/?{text}") },
        Action::Notify { channel: text.to_owned() },
        Action::Download { files },
    ]
}

fn calls(text: &str) -> Vec<Action> {
    vec![
        skill(json!({"body": text, "list": [text, {"deep": text}], text: "as a name"})),
        Action::Skill { skill: format!("email.{text}"), params: [].into() },
        tool(json!({"path": "/work/a", "content": text, "nested": {"more": [text]}})),
        Action::Tool {
            server: text.to_owned(),
            tool: format!("write_{text}"),
            description: Some(text.to_owned()),
            arguments: [].into(),
            annotations: Some(json!({"note": text})),
            schema: Some(json!({"default": text})),
        },
        Action::Named { name: format!("delete {text}"), params: [].into() },
        Action::Named { name: "deletePost".into(), params: [("note".into(), json!(text))].into() },
    ]
}

fn pages(text: &str) -> Vec<Action> {
    let told = || Some(text.to_owned());
    let field = Field {
        name: told(),
        placeholder: told(),
        title: told(),
        nearby: told(),
        label: told(),
        ..Field::default()
    };
    let on = |op, label: Option<String>, field: Option<Field>, text: Option<String>| {
        let url = Some(format!("https://x.example/?q={}", told().unwrap()));
        let (surface, field) = (Surface::Browser, field.map(Box::new));
        Action::Ui { surface, op, label, field, text, url, reference: None }
    };
    vec![
        on(UiOp::Click, told(), None, None),
        on(UiOp::Click, Some(format!("Delete {text}")), None, None),
        on(UiOp::Submit, Some("Send".into()), Some(field), None),
        on(UiOp::Type, None, None, told()),
        on(UiOp::Select, None, None, told()),
    ]
}

/// Actions in which the position of a bare value makes it a secret.
fn placed(canaries: &Canaries) -> Vec<Action> {
    let Canaries { password, code, card, .. } = canaries;
    let params = || {
        json!({"password": password, "otp": code, "verification_code": code, "card": card,
            "auth": {"passwd": password, "mfaCode": code, "pin": [code]}})
    };
    let number: u64 = code.parse().unwrap();
    let typing = |text: &str, field: Field| {
        let mut action = ui(UiOp::Type);
        if let Action::Ui { text: typed, field: into, .. } = &mut action {
            (*typed, *into) = (Some(text.to_owned()), Some(Box::new(field)));
        }
        action
    };
    let kind = |kind: &str| Field { kind: Some(kind.into()), ..Field::default() };
    let completes = |what: &str| Field { autocomplete: Some(what.into()), ..Field::default() };
    vec![
        skill(params()),
        skill(json!({"code": number, "otp": number})),
        tool(params()),
        Action::Named {
            name: "submitPayment".into(),
            params: serde_json::from_value(params()).unwrap(),
        },
        typing(password, kind("password")),
        typing(code, completes("one-time-code")),
        typing(card, completes("cc-number")),
        typing(code, Field { name: Some("pin".into()), ..Field::default() }),
        shell(&format!("npm publish --otp {code}")).action,
        shell(&format!("npm publish --otp={code}")).action,
        shell(&format!("mysql --user=ann --password={password} -e 'DROP TABLE a'")).action,
        shell(&format!("curl -X POST -u ann:{password} https://x.example/")).action,
        Action::Applescript {
            script: format!(
                "do shell script \"rm -rf /tmp/x\" user name \"ann\" password \"{password}\" \
                 with administrator privileges"
            ),
        },
    ]
}

/// Submits one action, and gives it one of several outcomes.
fn push(
    world: &World,
    session: &SessionId,
    action: &Action,
    turn: usize,
    text: &str,
    heard: &mut Heard,
) {
    let context = Context {
        home: Some(format!("/home/{text}")),
        workspace: Some("/work".into()),
        base_url: Some(format!("https://x.example/?{text}")),
        sensitive_paths: vec![text.to_owned()],
        paths: [(text.to_owned(), PathFacts::default())].into(),
        addresses: [(text.to_owned(), vec![text.to_owned()])].into(),
        ..Context::default()
    };
    let proposal = Proposal {
        context,
        scripts: vec![Script::new(text, text.as_bytes())],
        reasoning: Some(text.to_owned()),
        model: Some(text.to_owned()),
        ..Proposal::of(action.clone()).within(session)
    };
    let submitted = world.submit(&proposal.clone());
    heard.debug(&submitted);
    let approval = match submitted {
        Submitted::Waiting(waiting) => waiting.approval,
        Submitted::Permitted(permit, _) => {
            report(world, &permit, session, text);
            return;
        }
        Submitted::Refused(refusal) => {
            heard.0.push(refusal.why.line());
            return;
        }
    };
    heard.debug(block_on(world.gate.card(&world.owner, &approval)));
    heard.debug(block_on(world.gate.notice(&approval, None)));
    settle(world, &approval, &proposal, turn, text, heard);
    heard.debug(block_on(world.gate.card(&world.owner, &approval)));
    heard.debug(block_on(world.gate.receipt(&world.owner, &approval)));
}

fn report(world: &World, permit: &countersign_gate::Permit, session: &SessionId, text: &str) {
    let error = ReportedError {
        name: text.to_owned(),
        message: text.to_owned(),
        stack: Some(format!("at step (main.js:7)\n{text}")),
    };
    let report =
        world.gate.report(&world.agent, permit.id(), Some(session), Outcome::Failed, Some(&error));
    block_on(report).unwrap();
}

fn settle(
    world: &World,
    approval: &ApprovalId,
    proposal: &Proposal,
    turn: usize,
    text: &str,
    heard: &mut Heard,
) {
    let feedback = Some(text.to_owned());
    let plain = PersonAnswer::plain(approval.clone(), Answer::Approve);
    let reply = match turn % 5 {
        0 => PersonAnswer { feedback, say: Answer::Reject, ..plain },
        1 => PersonAnswer { feedback, scope: Scope::Session, ..plain },
        2 => PersonAnswer { feedback, scope: Scope::Always, ..plain },
        3 => PersonAnswer { edited: Some(shell(&format!("rm -rf / # {text}")).action), ..plain },
        _ => {
            world.pass(4_000);
            world.sweep();
            return;
        }
    };
    heard.debug(block_on(world.gate.answer(&world.owner, reply)));
    match block_on(world.gate.spend(&world.agent, approval, proposal)) {
        Ok(permit) => {
            heard.debug(&permit);
            let session = proposal.session.as_ref().unwrap();
            report(world, &permit, session, text);
        }
        Err(error) => heard.0.push(error.to_string()),
    }
    let other = Proposal::of(shell(&format!("git push --force # {text}")).action);
    heard.debug(block_on(world.gate.spend(&world.agent, approval, &other)));
}

fn setup() -> Setup {
    let plenty = Rate { uses: 1_000_000, seconds: 1 };
    let rates = Rates { provider: Some(plenty), skill: Some(plenty), model: Some(plenty) };
    let config = Config {
        logging: Logging::Enhanced,
        prompts: plenty,
        most_pending: 1_000_000,
        rates,
        ..Config::default()
    };
    Setup { config, on_disk: true, ..Setup::default() }
}

/// A session whose plan and credentials contain them too.
fn session(world: &World, canaries: &Canaries, text: &str, heard: &mut Heard) -> SessionId {
    let fields = [("password", canaries.password.as_str()), ("otp", canaries.code.as_str())];
    let credential = Credential::new(fields).unwrap();
    heard.debug(&credential);
    let credentials = vec![SiteCredential { site: "https://bank.example".into(), credential }];
    let plan = Plan {
        task: Some(text.to_owned()),
        flow: Some(text.to_owned()),
        allowed_origins: Some(vec!["x.example".into(), text.to_owned()]),
        ..Plan::default()
    };
    let unknown = Plan { profile: Some(text.to_owned()), ..plan.clone() };
    let caller = world.assistant();
    let refused = world.gate.start(&caller, unknown, Consent::Given, Vec::new());
    heard.0.push(block_on(refused).unwrap_err().to_string());
    let started = world.gate.start(&caller, plan, Consent::Given, credentials);
    let session = block_on(started).unwrap();
    heard.debug(&session);
    session.id
}

/// Reads everything that can be read from outside.
fn look_around(world: &World, heard: &mut Heard) {
    let (gate, owner) = (&world.gate, &world.owner);
    heard.debug(gate);
    heard.debug(gate.vault());
    heard.debug(owner);
    heard.debug(&world.agent);
    heard.debug(block_on(gate.waiting(owner)));
    heard.debug(block_on(gate.settings(owner)));
    heard.debug(block_on(gate.keys(owner)));
    heard.debug(block_on(gate.devices(owner)));
    heard.debug(block_on(gate.remembered_answers(owner)));
    for record in all_records(world) {
        heard.debug(record);
    }
}

fn all_records(world: &World) -> Vec<Record> {
    let mut all = Vec::new();
    let mut query = RecordQuery::default();
    loop {
        let records = block_on(world.gate.records(&world.owner, &query)).unwrap();
        let Some(last) = records.last() else { return all };
        query.after = last.number;
        all.extend(records);
    }
}

fn status_of(record: &Record) -> Option<String> {
    let payload: Value = serde_json::from_str(&record.content.as_ref()?.payload).unwrap();
    payload["status"].as_str().map(str::to_owned)
}

/// Each canary in a text, with some of its context.
fn found_in(what: &str, text: &str, canaries: &Canaries) -> Vec<String> {
    let spellings = canaries.all().into_iter().flat_map(|canary| spellings(canary));
    let found = spellings.filter_map(|spelling| text.split_once(&spelling).zip(Some(spelling)));
    found
        .map(|((before, after), spelling)| {
            let skipped = before.chars().count().saturating_sub(100);
            let before: String = before.chars().skip(skipped).collect();
            let after: String = after.chars().take(40).collect();
            format!("{what}: {before}{spelling}{after}")
        })
        .collect()
}

fn found_in_files(folder: &Path, canaries: &Canaries) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .flat_map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let bytes = std::fs::read(&path).unwrap();
            found_in(&name, &String::from_utf8_lossy(&bytes), canaries)
        })
        .collect()
}

#[test]
fn no_secret_is_found_anywhere_afterwards() {
    let canaries = Canaries::new();
    let world = World::new(setup());
    let mut heard = Heard::default();
    let mut events = world.gate.subscribe();
    let scoped = world.key(&world.owner, Access::Agent, "email.send");
    let id = session(&world, &canaries, &canaries.texts()[0], &mut heard);
    let mut turn = 0;
    for text in canaries.texts() {
        for action in carrying(&text) {
            push(&world, &id, &action, turn, &text, &mut heard);
            let proposal = Proposal::of(action);
            let submitted = block_on(world.gate.submit(&scoped, &proposal)).unwrap();
            if let Submitted::Refused(refusal) = &submitted {
                heard.0.push(refusal.why.line());
            }
            heard.debug(submitted);
            turn += 1;
        }
        let _ = session(&world, &canaries, &text, &mut heard);
        while let Ok(event) = events.try_recv() {
            heard.debug(event);
        }
    }
    for action in placed(&canaries) {
        push(&world, &id, &action, turn, "", &mut heard);
        turn += 1;
    }
    look_around(&world, &mut heard);
    let mut found = found_in_files(world.folder(), &canaries);
    let world = world.restart(setup());
    world.sweep();
    look_around(&world, &mut heard);
    found.extend(found_in_files(world.folder(), &canaries));
    found.extend(found_in("said", &heard.0.join("\n"), &canaries));
    assert!(found.is_empty(), "{} times: {found:#?}", found.len());
    world.verify();
    let statuses: BTreeSet<_> = all_records(&world).iter().filter_map(status_of).collect();
    for status in ["allowed", "waiting", "blocked", "started", "failed", "refused_scope"] {
        assert!(statuses.contains(status), "{status} in {statuses:?}");
    }
    assert!(!statuses.contains("refused_no_session"), "the session went on: {statuses:?}");
    assert!(heard.0.len() > 1_000, "it was a long conversation: {}", heard.0.len());
}

/// A channel that hands its messages to the test.
#[derive(Debug)]
struct Overheard(Sender<Message>);

impl Channel for Overheard {
    fn name(&self) -> &'static str {
        "overheard"
    }

    fn send(&mut self, message: &Message) -> Result<(), SendError> {
        self.0.send(message.clone()).unwrap();
        Ok(())
    }
}

#[test]
fn channels_are_told_no_secret() {
    let canaries = Canaries::new();
    let world = World::new(Setup { on_disk: false, ..setup() });
    let (sender, receiver) = channel();
    let channels: Vec<Box<dyn Channel>> = vec![Box::new(Overheard(sender))];
    let dispatcher = Arc::new(Dispatcher::new(channels, world.clock.clone()));
    let audience = Audience { user: None, dispatcher };
    let announcer = Announcer::start(&world.gate, vec![audience], None).unwrap();
    let texts = canaries.texts();
    let carried = texts.iter().flat_map(|text| carrying(text)).chain(placed(&canaries));
    let mut heard = Heard::default();
    for action in carried {
        if let Submitted::Waiting(waiting) = world.submit(&Proposal::of(action)) {
            let reply = PersonAnswer::plain(waiting.approval, Answer::Reject);
            let asked = receiver.recv_timeout(Duration::from_secs(10)).unwrap();
            heard.debug(asked);
            block_on(world.gate.answer(&world.owner, reply)).unwrap();
            heard.debug(receiver.recv_timeout(Duration::from_secs(10)).unwrap());
        }
    }
    drop(world);
    announcer.join();
    assert_eq!(found_in("told", &heard.0.join("\n"), &canaries), Vec::<String>::new());
    assert!(heard.0.len() > 200, "{}", heard.0.len());
}

#[test]
fn a_private_key_in_a_file_is_masked_line_by_line_too() {
    let world = World::new(setup());
    let body: Vec<_> =
        (0..6).map(|line| format!("{line}aB3dE5gH7jK9mN1pQ3sT5vW7yZ").repeat(2)).collect();
    let frame = |word: &str| ["-----", word, " PRIVATE", " KEY-----"].concat();
    let pem = format!("{}\n{}\n{}\n", frame("BEGIN"), body.join("\n"), frame("END"));
    let write = Action::FileWrite { path: "/work/.bashrc".into(), content: Some(pem.clone()) };
    drop(world.submit(&Proposal::of(write)));
    drop(world.submit(&shell(&format!("cat > k <<'END'\n{pem}END\ngit push --force"))));
    let told: String = world.recorded("action_planned").iter().map(Value::to_string).collect();
    for line in &body {
        assert!(!told.contains(line.as_str()), "{line}");
    }
}

#[test]
fn every_action_that_can_carry_a_text_is_tried() {
    let kinds = [
        "shell",
        "code",
        "file_read",
        "file_write",
        "file_delete",
        "file_list",
        "navigate",
        "http_request",
        "ui",
        "download",
        "login",
        "notify",
        "skill",
        "applescript",
        "tool",
        "named",
    ];
    let tried: BTreeSet<_> = carrying("x").iter().map(Action::kind).collect();
    assert_eq!(tried, BTreeSet::from(kinds));
}

#[test]
fn the_spellings_are_those_that_would_be_found() {
    let secret = "Tr0ub4dor";
    for written in [
        STANDARD_NO_PAD.encode(format!("x{secret}y")),
        STANDARD_NO_PAD.encode(format!("xy{secret}z")),
        STANDARD_NO_PAD.encode(format!("xyz{secret}")),
        "…5472307562".to_owned() + "34646f72",
    ] {
        let found = spellings(secret).iter().any(|spelling| written.contains(spelling.as_str()));
        assert!(found, "{written}");
    }
    assert_eq!(card("453914880343646"), "4539148803436467");
}
