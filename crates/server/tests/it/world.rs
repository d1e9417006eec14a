//! A server with people, agents and programs, and a clock that a test owns.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, Method, Request, header};
use bytes::Bytes;
use countersign_core::Policy;
use countersign_gate::approval::Answer;
use countersign_gate::clock::{Fake, Timestamp};
use countersign_gate::gate::PersonAnswer;
use countersign_gate::id::{ApprovalId, WorkspaceId};
use countersign_gate::judging::Executor;
use countersign_gate::key::{Access, Devices, NewKey};
use countersign_gate::keyring::Keyring;
use countersign_gate::process::{self, Process};
use countersign_gate::rate::Rate;
use countersign_gate::scope::Scope;
use countersign_gate::secret::Secret;
use countersign_gate::store::{self, Store, StoreUrl};
use countersign_gate::user::{Device, DeviceRole, Membership};
use countersign_gate::{Config, Gate, Parts, Person};
use countersign_server::{App, Limits, Settings, Tls, bind};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// 2026-01-01.
const BEGIN: Timestamp = Timestamp(1_767_225_600_000);
/// A timeout that is longer than anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A command that asks, and one that never does.
pub(crate) const RISKY: &str = "git push --force origin main";
pub(crate) const SAFE: &str = "ls -la";

/// The setup of a world.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) on_disk: bool,
    pub(crate) tls: bool,
    pub(crate) limits: Limits,
    pub(crate) config: Config,
    pub(crate) names: Vec<String>,
    pub(crate) url: Option<String>,
    /// True when the gate sees the processes of this machine; false for none.
    pub(crate) knows_processes: bool,
    /// The executor of large actions, if not the threads of the gate.
    pub(crate) executor: Option<Arc<dyn Executor>>,
}

impl Default for Setup {
    fn default() -> Self {
        let often = Rate::per_minute(100_000);
        let config = Config { prompts: often, most_pending: 10_000, ..Config::default() };
        let limits = Limits { shutdown_seconds: 5, ..Limits::default() };
        Self {
            on_disk: false,
            tls: false,
            limits,
            config,
            names: Vec::new(),
            url: None,
            knows_processes: false,
            executor: None,
        }
    }
}

/// Somebody at a signed-in device.
pub(crate) struct Being {
    pub(crate) person: Person,
    /// The secret of the device.
    pub(crate) device: String,
}

impl Being {
    pub(crate) fn id(&self) -> String {
        self.person.user().id.to_string()
    }

    pub(crate) fn device_id(&self) -> String {
        self.person.device().unwrap().to_string()
    }
}

/// A key, with its secret.
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) secret: String,
}

pub(crate) struct World {
    pub(crate) gate: Arc<Gate>,
    pub(crate) clock: Arc<Fake>,
    pub(crate) address: SocketAddr,
    pub(crate) owner: Being,
    pub(crate) admin: Being,
    pub(crate) member: Being,
    /// Somebody in another workspace.
    pub(crate) stranger: Being,
    pub(crate) workspace: WorkspaceId,
    pub(crate) elsewhere: WorkspaceId,
    /// The member's keys: of an agent and of a program, for everything.
    pub(crate) agent: Key,
    pub(crate) program: Key,
    pub(crate) setup: Setup,
    store: Arc<dyn Store>,
    running: Running,
    folder: Folder,
}

struct Running {
    stop: Option<oneshot::Sender<()>>,
    ended: Option<JoinHandle<()>>,
}

pub(crate) async fn world() -> World {
    World::new(Setup::default()).await
}

impl World {
    pub(crate) async fn new(setup: Setup) -> Self {
        let folder = Folder::new();
        let clock = Arc::new(Fake::at(BEGIN));
        let store = open_store(setup.on_disk.then_some(&folder.0));
        let gate = open_gate(&store, &clock, &setup, &folder.0).await;
        let (_, link) = gate.first_start("Ann").await.unwrap().unwrap();
        let owner = accept(&gate, &link, "laptop").await;
        let workspace = owner.person.user().workspaces.keys().next().unwrap().clone();
        let elsewhere = gate.add_workspace(&owner.person, "Elsewhere").await.unwrap();
        let owner = Being { person: signed_in(&gate, &owner.device).await, ..owner };
        let add = async |name: &str, at: &WorkspaceId, is| {
            let (_, link) = gate.add_user(&owner.person, name, at, is).await.unwrap();
            accept(&gate, &link, "phone").await
        };
        let admin = add("Bea", &workspace, Membership::Admin).await;
        let member = add("Cid", &workspace, Membership::Member).await;
        let stranger = add("Dan", &elsewhere, Membership::Member).await;
        let agent = key(&gate, &member.person, &workspace, Make::default()).await;
        let program = Make { access: Access::Program, ..Make::default() };
        let program = key(&gate, &member.person, &workspace, program).await;
        let (address, running) = serve(&gate, &setup, &folder.0).await;
        Self {
            gate,
            clock,
            address,
            owner,
            admin,
            member,
            stranger,
            workspace,
            elsewhere,
            agent,
            program,
            setup,
            store,
            running,
            folder,
        }
    }

    /// Stops the server, and waits until it has stopped.
    pub(crate) async fn stop(&mut self) {
        timeout(PATIENCE, self.begin_to_stop()).await.unwrap().unwrap();
    }

    /// Tells the server to stop, without waiting.
    pub(crate) fn begin_to_stop(&mut self) -> JoinHandle<()> {
        let running = &mut self.running;
        let _ = running.stop.take().unwrap().send(());
        running.ended.take().unwrap()
    }

    /// Stops server and gate, and starts both again on the same data.
    pub(crate) async fn restart(mut self) -> Self {
        self.stop().await;
        let Self { gate, clock, setup, store, folder, .. } = self;
        drop((gate, store));
        let store = open_store(setup.on_disk.then_some(&folder.0));
        let gate = open_gate(&store, &clock, &setup, &folder.0).await;
        let (address, running) = serve(&gate, &setup, &folder.0).await;
        Self { gate, clock, address, setup, store, running, folder, ..self }
    }

    /// A gate as another process has it: with a store of its own on the same file.
    pub(crate) async fn another(&self) -> Arc<Gate> {
        let store = open_store(Some(&self.folder.0));
        open_gate(&store, &self.clock, &self.setup, &self.folder.0).await
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder.0
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.0.join("local.sock")
    }

    /// The database, opened without the gate.
    pub(crate) fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.folder.0.join("gate.db")).unwrap()
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a request over a new connection.
    pub(crate) async fn ask(&self, ask: Ask) -> HttpAnswer {
        timeout(PATIENCE, send(self.connect().await, self.address, ask)).await.unwrap()
    }

    /// A world that takes this process for one that an agent has started.
    pub(crate) async fn within_an_agent() -> Self {
        let world = Self::new(Setup { knows_processes: true, ..Setup::default() }).await;
        world.register(World::agents_process());
        world
    }

    /// The process that [`World::within_an_agent`] takes for the agent: the one that runs the
    /// tests.
    pub(crate) fn agents_process() -> Process {
        let parent = std::os::unix::process::parent_id();
        let agent = if parent > 1 { parent } else { std::process::id() };
        Process::of(agent, &process::System).unwrap()
    }

    /// Registers an agent as a hook does.
    pub(crate) fn register(&self, agent: Process) {
        process::agents::register(&self.folder.0, agent, &process::System).unwrap();
    }

    /// Asks over the local socket.
    pub(crate) async fn ask_locally(&self, ask: Ask) -> HttpAnswer {
        let name = countersign_server::SocketName::of(&self.socket()).unwrap();
        let stream = UnixStream::connect(name.path()).await.unwrap();
        timeout(PATIENCE, send(stream, self.address, ask)).await.unwrap()
    }

    /// Sends a request, and returns the answer while it is still being read.
    pub(crate) async fn open(&self, ask: Ask) -> hyper::Response<Incoming> {
        let opened = begin(self.connect().await, self.address, ask);
        timeout(PATIENCE, opened).await.unwrap()
    }

    /// Sends raw bytes, and returns everything that comes back until the server closes.
    pub(crate) async fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        // The server may close before it has read everything.
        let _ = stream.write_all(bytes.as_ref()).await;
        rest(&mut stream).await
    }

    /// Another key of somebody.
    pub(crate) async fn key(&self, of: &Being, at: &WorkspaceId, make: Make) -> Key {
        key(&self.gate, &of.person, at, make).await
    }

    /// Another device of somebody.
    pub(crate) async fn device(&self, of: &Being) -> Being {
        let link = self.gate.invite(&of.person).await.unwrap();
        accept(&self.gate, &link, "tablet").await
    }

    /// A machine of the member: its id and its secret.
    pub(crate) async fn machine(&self, approved: bool) -> (String, String) {
        let key = Secret::parse(&self.agent.secret).unwrap();
        let secret = self.gate.request_device_with(&key, "server").await.unwrap();
        let id = Device::id_of(&secret);
        if approved {
            let role = DeviceRole::Machine;
            self.gate.approve_device(&self.member.person, &id, role).await.unwrap();
        }
        (id.to_string(), secret.expose().to_owned())
    }

    /// A session that the member began for their agents.
    pub(crate) async fn session(&self) -> String {
        let begin = post("/api/sessions").with(&self.member.device).json(&json!({"consent": true}));
        self.ask(begin).await.is(201)["session_id"].as_str().unwrap().to_owned()
    }

    /// A question of an agent, outside of any session.
    pub(crate) async fn question_of(&self, key: &str, command: &str) -> String {
        let answer = self.ask(propose(command).with(key)).await;
        answer.is(202)["approval_id"].as_str().unwrap().to_owned()
    }

    /// A question of the member's agent.
    pub(crate) async fn question(&self, command: &str) -> String {
        self.question_of(&self.agent.secret, command).await
    }

    /// The token that answers a question.
    pub(crate) async fn token(&self, approval: &str) -> String {
        let id = ApprovalId::parse(approval).unwrap();
        let card = self.gate.card(&self.member.person, &id).await.unwrap();
        card.token.unwrap().expose().to_owned()
    }

    /// The member answers.
    pub(crate) async fn say(&self, approval: &str, say: Answer) {
        let reply = PersonAnswer::plain(ApprovalId::parse(approval).unwrap(), say);
        self.gate.answer(&self.member.person, reply).await.unwrap();
    }

    pub(crate) async fn state(&self, approval: &str) -> &'static str {
        let id = ApprovalId::parse(approval).unwrap();
        self.gate.card(&self.member.person, &id).await.unwrap().state.as_str()
    }

    pub(crate) async fn sweep(&self) {
        self.gate.sweep().await.unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(ended) = &self.ended {
            ended.abort();
        }
    }
}

/// The properties of a new key.
pub(crate) struct Make {
    pub(crate) scope: &'static str,
    pub(crate) access: Access,
    pub(crate) devices: Devices,
}

impl Default for Make {
    fn default() -> Self {
        Self { scope: "*", access: Access::Agent, devices: Devices::Any }
    }
}

async fn key(gate: &Gate, of: &Person, at: &WorkspaceId, make: Make) -> Key {
    let skills = ["email.send".to_owned()].into();
    let new = NewKey {
        name: "key".into(),
        workspace: at.clone(),
        scopes: vec![Scope::parse(make.scope, &skills).unwrap()],
        access: make.access,
        devices: make.devices,
        writes: Rate::per_minute(100_000),
        expires_at: None,
    };
    let new = gate.create_key(of, new).await.unwrap();
    Key { id: new.key.id.to_string(), secret: new.secret.expose().to_owned() }
}

async fn accept(gate: &Gate, link: &Secret, name: &str) -> Being {
    let device = gate.accept(link, name).await.unwrap().expose().to_owned();
    Being { person: signed_in(gate, &device).await, device }
}

async fn signed_in(gate: &Gate, device: &str) -> Person {
    gate.sign_in(&Secret::parse(device).unwrap()).await.unwrap()
}

async fn open_gate(
    store: &Arc<dyn Store>,
    clock: &Arc<Fake>,
    setup: &Setup,
    folder: &Path,
) -> Arc<Gate> {
    let parts = Parts {
        store: store.clone(),
        keyring: Arc::new(keyring()),
        clock: clock.clone(),
        processes: if setup.knows_processes {
            Arc::new(process::System)
        } else {
            Arc::new(process::Fake::default())
        },
        policy: Policy::default(),
        config: setup.config.clone(),
    };
    let mut gate = Gate::open(parts).await.unwrap().knowing_agents_in(folder);
    if let Some(executor) = &setup.executor {
        gate = gate.judging_on(Arc::clone(executor));
    }
    Arc::new(gate.keeping_files_in(&folder.join("files")).unwrap())
}

fn open_store(folder: Option<&PathBuf>) -> Arc<dyn Store> {
    let keyring = Arc::new(keyring());
    match folder {
        Some(folder) => store::danger_open_or_begin(&StoreUrl::in_folder(folder), keyring).unwrap(),
        None => store::open(&StoreUrl::Memory, keyring).unwrap(),
    }
}

fn keyring() -> Keyring {
    Keyring::from_seed(&[7; 32])
}

async fn serve(gate: &Arc<Gate>, setup: &Setup, folder: &Path) -> (SocketAddr, Running) {
    let tls = setup.tls.then(|| Tls::SelfSigned { folder: folder.join("tls") });
    let settings = Settings {
        listen: "127.0.0.1:0".parse().unwrap(),
        socket: Some(folder.join("local.sock")),
        tls,
        names: setup.names.clone(),
        url: setup.url.clone(),
        limits: setup.limits,
        ..Settings::default()
    };
    let bound = bind(App::open(gate.clone(), settings).unwrap()).await.unwrap();
    let address = bound.address();
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(bound.run(async {
        let _ = stopped.await;
    }));
    (address, Running { stop: Some(stop), ended: Some(ended) })
}

/// A request, while it is being made.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn ask(method: Method, path: impl Into<String>) -> Ask {
    Ask { method, path: path.into(), headers: Vec::new(), body: Vec::new() }
}

pub(crate) fn get(path: impl Into<String>) -> Ask {
    ask(Method::GET, path)
}

pub(crate) fn post(path: impl Into<String>) -> Ask {
    ask(Method::POST, path)
}

/// An action as an agent proposes it, outside of any session.
pub(crate) fn propose(command: &str) -> Ask {
    post("/api/actions").json(&shell(command))
}

pub(crate) fn shell(command: &str) -> Value {
    json!({"action": {"kind": "shell", "command": command, "cwd": "/work"}})
}

impl Ask {
    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Comes with the secret of a key or a device.
    pub(crate) fn with(self, secret: &str) -> Self {
        self.header("authorization", format!("Bearer {secret}"))
    }

    pub(crate) fn json(mut self, body: &Value) -> Self {
        self.body = body.to_string().into();
        self.header("content-type", "application/json")
    }
}

/// A response, read completely.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpAnswer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The JSON of an answer that must have this status.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    /// An answer that must be this kind of problem.
    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16, slug: &str) {
        let problem = self.is(status);
        assert_eq!(problem["type"], format!("urn:countersign:problem:{slug}"), "{problem}");
        assert_eq!(self.header("content-type"), "application/problem+json");
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Asks over a stream.
pub(crate) async fn send<S>(stream: S, address: SocketAddr, ask: Ask) -> HttpAnswer
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (parts, body) = begin(stream, address, ask).await.into_parts();
    // A stream of events is endless: the tests look only at its head.
    let lasting =
        parts.headers.get(header::CONTENT_TYPE).is_some_and(|it| it == "text/event-stream");
    let body = if lasting { Bytes::new() } else { body.collect().await.unwrap().to_bytes() };
    HttpAnswer { status: parts.status.as_u16(), headers: parts.headers, body }
}

/// Asks over a stream, and gives the head of the answer.
pub(crate) async fn begin<S>(stream: S, address: SocketAddr, ask: Ask) -> hyper::Response<Incoming>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.unwrap();
    tokio::spawn(connection.with_upgrades());
    let mut request = Request::builder().method(ask.method).uri(ask.path);
    if !ask.headers.iter().any(|(name, _)| name == "host") {
        request = request.header("host", address.to_string());
    }
    for (name, value) in ask.headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(Bytes::from(ask.body))).unwrap();
    sender.send_request(request).await.unwrap()
}

/// Everything that comes until the server closes.
pub(crate) async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    // A reset is an end too.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("it never closed");
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("countersign-server-it-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
