//! A worker without a server: permits that a test signs itself, in a folder of its own.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_core::action::Language;
use countersign_core::{Action, Context, Policy, Verdict, digest};
use countersign_wire::work::{
    Ended, PURPOSE, SignedWork, Stream, WorkFile, WorkItem, WorkLimits, WorkResult, binding,
};
use countersign_wire::{PublicKey, Script};
use countersign_worker::{
    Acceptance, Controller, Executors, NotPermitted, Running, Settings, Stop, Supervisor, executors,
};
use ed25519_dalek::{Signer as _, SigningKey};
use sha2::{Digest as _, Sha256};

/// A folder with a workspace, a folder outside of it, and a worker.
pub(crate) struct Bench {
    pub(crate) folder: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) context: Context,
    pub(crate) scripts: Vec<Script>,
    pub(crate) limits: WorkLimits,
    /// The strictest verdict that was agreed to.
    pub(crate) agreed: Verdict,
    pub(crate) stop: Stop,
    pub(crate) server: Server,
}

/// A server that permits what a test says, and notes everything that it is told.
#[derive(Default)]
pub(crate) struct Server {
    pub(crate) permits: bool,
    pub(crate) pieces: Mutex<String>,
    pub(crate) proposed: Mutex<Vec<Action>>,
}

impl Controller for Server {
    fn piece(&self, _: Stream, text: &str) {
        self.pieces.lock().unwrap().push_str(text);
    }

    fn fill(&self, _: &str, _: &str, _: &mut dyn FnMut(&str)) -> Result<(), NotPermitted> {
        Err(NotPermitted("there is no credential".to_owned()))
    }

    fn propose(&self, action: &Action, _: &[String]) -> Result<(), NotPermitted> {
        self.proposed.lock().unwrap().push(action.clone());
        if self.permits { Ok(()) } else { Err(NotPermitted("rejected".to_owned())) }
    }

    fn hand_in(&self, _: &str, _: &mut dyn Read) -> Result<WorkFile, NotPermitted> {
        Err(NotPermitted("there are no transfers".to_owned()))
    }
}

impl Bench {
    pub(crate) fn new(name: &str) -> Self {
        let root = std::env::var_os("CARGO_TARGET_TMPDIR");
        let root = root.map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
        let folder = root.join(format!("worker-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("workspace")).unwrap();
        std::fs::create_dir_all(folder.join("outside")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let workspace = folder.join("workspace");
        let mut settings = Settings::new(workspace.clone(), Arc::new(Policy::default()));
        settings.supervisor =
            Supervisor::program(env!("CARGO_BIN_EXE_countersign-supervisor").into());
        let context = Context {
            cwd: Some(workspace.display().to_string()),
            workspace: Some(workspace.display().to_string()),
            ..Context::default()
        };
        let (scripts, limits) = (Vec::new(), WorkLimits::default());
        let (stop, server) = (Stop::default(), Server::default());
        Self { folder, settings, context, scripts, limits, agreed: Verdict::Warn, stop, server }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.join("outside")
    }

    /// Sets a variable of the worker's own environment.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.settings.environment.retain(|(known, _)| known != name);
        self.settings.environment.push((name.into(), value.into()));
    }

    /// Writes a file into the workspace.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        write(&self.workspace().join(name), content)
    }

    /// Writes a script into the workspace that was judged with this content.
    pub(crate) fn judged_script(&mut self, name: &str, content: &str) -> PathBuf {
        let path = self.write(name, content);
        let sha256 = URL_SAFE_NO_PAD.encode(Sha256::digest(content));
        self.scripts.push(Script { path: name.to_owned(), sha256 });
        path
    }

    pub(crate) fn executors(&self) -> Executors {
        executors(&self.settings).unwrap()
    }

    pub(crate) fn run(&self, command: &str) -> WorkResult {
        self.act(Action::Shell { command: command.to_owned(), cwd: None })
    }

    pub(crate) fn code(&self, language: Language, source: &str) -> WorkResult {
        self.act(Action::Code { language, source: source.to_owned(), dialect: None })
    }

    pub(crate) fn act(&self, action: Action) -> WorkResult {
        self.act_by(&self.executors(), action)
    }

    pub(crate) fn act_by(&self, executors: &Executors, action: Action) -> WorkResult {
        let running = Running { stop: &self.stop, controller: &self.server };
        executors.execute(self.permit(action), running)
    }

    fn permit(&self, action: Action) -> countersign_worker::Permit {
        let server = SigningKey::from_bytes(&[7; 32]);
        let digest = digest::digest(&action, &self.context);
        let item = WorkItem {
            action_id: "act_1".to_owned(),
            worker_id: "wrk_1".to_owned(),
            session_id: "ses_1".to_owned(),
            approval_id: None,
            digest: binding(&digest, &self.scripts),
            action,
            element: None,
            context: self.context.clone(),
            scripts: self.scripts.clone(),
            agreed: self.agreed,
            limits: self.limits,
            begin_by: 1_000,
        };
        let item = serde_json::to_string(&item).unwrap();
        let signature = server.sign(&[PURPOSE.as_bytes(), item.as_bytes()].concat());
        let signature = URL_SAFE_NO_PAD.encode(signature.to_bytes());
        let acceptance =
            Acceptance::new(PublicKey::new(server.verifying_key()), "wrk_1".to_owned());
        acceptance.accept(&SignedWork { item, signature }, 0).unwrap()
    }
}

pub(crate) fn write(path: &Path, content: &str) -> PathBuf {
    std::fs::write(path, content).unwrap();
    path.to_owned()
}

/// Ends a thread that goes on until it is told, also where the test fails meanwhile.
pub(crate) struct EndsWith<'a>(pub(crate) &'a AtomicBool);

impl Drop for EndsWith<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Makes a file executable.
pub(crate) fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The name of the error of a result.
pub(crate) fn why(result: &WorkResult) -> &str {
    result.error.as_ref().map_or("", |error| &error.name)
}

#[track_caller]
pub(crate) fn done(result: &WorkResult) -> &str {
    assert_eq!(result.ended, Ended::Done, "{result:?}");
    &result.output.head
}

/// Waits until something is so; a test that waits for it in vain has failed.
#[track_caller]
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let given_up = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < given_up, "it did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Reports whether a process that wrote its id into a file still runs.
pub(crate) fn runs(file: &Path) -> bool {
    let id = std::fs::read_to_string(file).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
