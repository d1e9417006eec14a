//! One session with a browser, a server that signs and answers, and the site.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_core::action::{Surface, UiOp};
use countersign_core::{Action, Context, Policy, Verdict};
use countersign_wire::PublicKey;
use countersign_wire::work::{
    Element, PURPOSE, SignedWork, Stream, WorkFile, WorkItem, WorkLimits, WorkResult,
};
use countersign_worker::{
    Acceptance, BrowserSettings, Browsers, Controller, Executor as _, NotPermitted, Permit,
    Resolver, Running, Sandbox, Stop,
};
use ed25519_dalek::{Signer as _, SigningKey};

use super::site::Site;

/// The answers of a server, and what it was asked.
pub(crate) struct Server {
    pub(crate) says_yes: bool,
    pub(crate) credential: Vec<(String, String, String)>,
    pub(crate) asked: Mutex<Vec<(Action, Vec<String>)>>,
    pub(crate) files: Mutex<Vec<(String, Vec<u8>)>>,
}

impl Controller for Server {
    fn piece(&self, _: Stream, _: &str) {}

    fn fill(
        &self,
        origin: &str,
        field: &str,
        using: &mut dyn FnMut(&str),
    ) -> Result<(), NotPermitted> {
        let found = self.credential.iter().find(|(at, name, _)| at == origin && name == field);
        let (_, _, text) = found.ok_or_else(|| NotPermitted("there is none".to_owned()))?;
        using(text);
        Ok(())
    }

    fn propose(&self, action: &Action, details: &[String]) -> Result<(), NotPermitted> {
        self.asked.lock().unwrap().push((action.clone(), details.to_vec()));
        if self.says_yes { Ok(()) } else { Err(NotPermitted("a person said no".to_owned())) }
    }

    fn hand_in(
        &self,
        name: &str,
        content: &mut dyn std::io::Read,
    ) -> Result<WorkFile, NotPermitted> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(|error| NotPermitted(error.to_string()))?;
        let (length, name) = (bytes.len() as u64, name.to_owned());
        self.files.lock().unwrap().push((name.clone(), bytes));
        Ok(WorkFile { file_id: "f".to_owned(), name, bytes: length, sha256: String::new() })
    }
}

/// A session; its browser ends with it.
pub(crate) struct Hands {
    pub(crate) browsers: Browsers,
    pub(crate) folder: PathBuf,
    pub(crate) site: Site,
    pub(crate) server: Server,
    pub(crate) stop: Stop,
    pub(crate) origins: Vec<String>,
}

impl Drop for Hands {
    fn drop(&mut self) {
        self.browsers.end_session("ses_1");
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn program() -> Option<PathBuf> {
    let named = std::env::var_os("COUNTERSIGN_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).flat_map(|folder| {
        ["chromium", "chromium-browser", "google-chrome"].map(|it| folder.join(it))
    });
    named.or_else(|| found.find(|it| it.is_file()))
}

fn as_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0)
}

impl Hands {
    /// A session without a browser yet; `None` where there is no Chromium, which CI does not accept.
    pub(crate) fn new() -> Option<Self> {
        Self::with(Resolver::default())
    }

    pub(crate) fn with(resolver: Resolver) -> Option<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let Some(program) = program() else {
            assert!(std::env::var_os("COUNTERSIGN_CI").is_none(), "there is no chromium");
            println!("skipped: there is no chromium");
            return None;
        };
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let folder = format!("countersign-test-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let mut settings =
            BrowserSettings::new(program, folder.clone(), Arc::new(Policy::default()));
        settings.resolver = resolver;
        if as_root() {
            settings.sandbox = Sandbox::DangerOff;
        }
        let site = Site::start();
        let origins = vec![site.origin()];
        let server = Server {
            says_yes: true,
            credential: Vec::new(),
            asked: Mutex::default(),
            files: Mutex::default(),
        };
        let browsers = Browsers::new(settings);
        Some(Self { browsers, folder, site, server, stop: Stop::default(), origins })
    }

    pub(crate) fn permit(&self, action: Action, element: Option<Element>) -> Permit {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let context = Context { allowed_origins: Some(self.origins.clone()), ..Context::default() };
        let key = SigningKey::from_bytes(&[7; 32]);
        let item = WorkItem {
            action_id: format!("act_{}", LAST.fetch_add(1, Ordering::Relaxed)),
            worker_id: "wrk_1".to_owned(),
            session_id: "ses_1".to_owned(),
            approval_id: None,
            digest: countersign_core::digest::digest(&action, &context),
            action,
            element,
            context,
            scripts: Vec::new(),
            agreed: Verdict::Warn,
            limits: WorkLimits::default(),
            begin_by: 1_000,
        };
        let item = serde_json::to_string(&item).unwrap();
        let signature = key.sign(&[PURPOSE.as_bytes(), item.as_bytes()].concat());
        let signature = URL_SAFE_NO_PAD.encode(signature.to_bytes());
        let acceptance = Acceptance::new(PublicKey::new(key.verifying_key()), "wrk_1".to_owned());
        acceptance.accept(&SignedWork { item, signature }, 0).unwrap()
    }

    pub(crate) fn run(&self, action: Action) -> WorkResult {
        self.run_on(action, None)
    }

    pub(crate) fn run_on(&self, action: Action, element: Option<Element>) -> WorkResult {
        let running = Running { stop: &self.stop, controller: &self.server };
        self.browsers.execute(self.permit(action, element), running)
    }

    /// Opens a page of the site.
    pub(crate) fn open(&self, path: &str) -> WorkResult {
        self.run(Action::Navigate { url: format!("{}{path}", self.site.origin()) })
    }

    /// The text of the page.
    pub(crate) fn read(&self) -> String {
        let read = self.run(Action::ReadDom {});
        assert!(read.error.is_none(), "{read:?}");
        read.output.head
    }

    /// The description of the element in the line of the page that contains this text.
    pub(crate) fn element(&self, line: &str) -> Element {
        let page = self.read();
        let found =
            page.lines().find(|it| it.contains(line) && it.contains('[')).unwrap_or_else(|| {
                panic!("no `{line}` in:\n{page}");
            });
        let names = found.split('[').filter_map(|it| it.split_once(']'));
        let is_reference = |it: &&str| it.ends_with(|last: char| last.is_ascii_digit());
        let reference = names.map(|(name, _)| name).find(is_reference).unwrap();
        self.browsers.element("ses_1", Some(reference)).unwrap()
    }

    pub(crate) fn ui(&self, op: UiOp, element: &Element, text: Option<&str>) -> WorkResult {
        let action = Action::Ui {
            surface: Surface::Browser,
            op,
            label: element.label.clone(),
            field: element.field.clone().map(Box::new),
            text: text.map(str::to_owned),
            url: Some(element.url.clone()),
            reference: Some(element.reference.clone()),
        };
        self.run_on(action, Some(element.clone()))
    }

    pub(crate) fn click(&self, line: &str) -> WorkResult {
        self.ui(UiOp::Click, &self.element(line), None)
    }

    pub(crate) fn asked(&self) -> Vec<(Action, Vec<String>)> {
        self.server.asked.lock().unwrap().clone()
    }

    pub(crate) fn address(&self) -> String {
        self.browsers.element("ses_1", None).unwrap().url
    }
}

/// The processes whose command line names a folder.
pub(crate) fn processes(folder: &Path) -> usize {
    let folder = folder.to_str().unwrap();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(folder))
        .count()
}

pub(crate) fn name(result: &WorkResult) -> &str {
    result.error.as_ref().map_or("", |error| &error.name)
}
