//! Browsers, one for each session: Chromium, driven by its protocol over two pipes.
//!
//! ```text
//! page ──► Fetch: judged by address; what can change something is held and asked about
//!      ──► proxy on loopback: resolved once, judged with its addresses, connected to
//! element ──► described with a fingerprint ──► judged ──► acted on only if it is the same
//! ```
//!
//! - A fresh profile for each session, removed at its end. The browser ends with its process group.
//! - The proxy is the only route, and connects only to what `Fetch` has let through.
//! - What was filled in from the vault is masked in everything that leaves.
//!
//! This makes no decision: an address is judged by the policy, and everything else that a page
//! causes is proposed to the server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use countersign_core::Action;
use countersign_wire::work::{Element, Ended, ExecutorKind, WorkItem, WorkResult};
use serde_json::{Value, json};

use self::failed::Failed;
use self::session::Browser;
use crate::executor::{Executor, NotPermitted, Running};
use crate::permit::Permit;

mod act;
mod capture;
mod cdp;
mod download;
mod events;
mod failed;
mod login;
mod network;
mod output;
mod page;
mod process;
mod proxy;
mod request;
mod secrets;
mod session;
mod settings;
mod state;

pub use settings::{BrowserSettings, Resolver, Sandbox};

/// The browsers of all sessions.
pub struct Browsers {
    settings: BrowserSettings,
    /// One for each session; its lock is held while it starts.
    sessions: Mutex<BTreeMap<String, Slot>>,
}

type Slot = Arc<Mutex<Option<Arc<Browser>>>>;

/// The reason for which an element cannot be described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotDescribed(pub String);

impl From<Failed> for NotDescribed {
    fn from(failed: Failed) -> Self {
        Self(failed.message)
    }
}

impl Browsers {
    /// No browser yet; one is started for the first work of each session.
    #[must_use]
    pub const fn new(settings: BrowserSettings) -> Self {
        Self { settings, sessions: Mutex::new(BTreeMap::new()) }
    }

    /// Describes an element of a session's page, or the page itself where none is named.
    ///
    /// # Errors
    /// The session has no page, or no such element is on it.
    pub fn element(
        &self,
        session_id: &str,
        reference: Option<&str>,
    ) -> Result<Element, NotDescribed> {
        let browser = self.running(session_id)?;
        let mut element = match reference {
            Some(reference) => browser.find(reference)?.element,
            None => page_element(browser.address()?),
        };
        let mask = |text: &mut String| *text = browser.shared.secrets.mask(text);
        mask(&mut element.url);
        element.label.iter_mut().chain(&mut element.form_target).for_each(mask);
        Ok(element)
    }

    /// Counts the pages that a session's page prints on, for the judgement of an export.
    ///
    /// # Errors
    /// The session has no page, or it cannot be printed.
    pub fn count_pages(&self, session_id: &str) -> Result<u64, NotDescribed> {
        let browser = self.running(session_id)?;
        Ok(capture::pages(&browser.print()?))
    }

    fn running(&self, session_id: &str) -> Result<Arc<Browser>, NotDescribed> {
        let slot = self.sessions().get(session_id).cloned();
        let browser = slot.and_then(|slot| lock(&slot).clone());
        browser.ok_or_else(|| NotDescribed("the session has no page yet".to_owned()))
    }

    /// Returns the browser of a session, and starts it where there is none.
    fn browser(&self, session_id: &str) -> Result<Arc<Browser>, Failed> {
        let slot = Arc::clone(self.sessions().entry(session_id.to_owned()).or_default());
        let mut slot = lock(&slot);
        if let Some(browser) = slot.as_ref().filter(|browser| !browser.is_gone()) {
            return Ok(Arc::clone(browser));
        }
        // Ends what is left of one that has crashed.
        slot.take();
        let browser = Arc::new(Browser::start(&self.settings)?);
        *slot = Some(Arc::clone(&browser));
        Ok(browser)
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Slot>> {
        lock(&self.sessions)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn page_element(url: String) -> Element {
    Element {
        reference: String::new(),
        fingerprint: String::new(),
        url,
        role: None,
        label: None,
        field: None,
        form_target: None,
    }
}

impl Executor for Browsers {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::Browser
    }

    fn execute(&self, permit: Permit, running: Running<'_>) -> WorkResult {
        let began = Instant::now();
        let item = permit.into_item();
        let worked = self.browser(&item.session_id).map(|browser| work(&browser, &item, running));
        let mut result = worked.unwrap_or_else(Failed::into_result);
        if running.stop.is_given() {
            result = WorkResult::because(Ended::Stopped, "Stopped", running.stop.why());
        }
        result.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        result
    }

    fn describe(&self, session_id: &str, reference: Option<&str>) -> Result<Element, NotPermitted> {
        self.element(session_id, reference).map_err(|error| NotPermitted(error.0))
    }

    fn end_session(&self, session_id: &str) {
        let slot = self.sessions().remove(session_id);
        if let Some(browser) = slot.and_then(|slot| lock(&slot).take()) {
            browser.end();
        }
    }
}

impl Drop for Browsers {
    fn drop(&mut self) {
        for slot in std::mem::take(&mut *self.sessions()).into_values() {
            if let Some(browser) = lock(&slot).take() {
                browser.end();
            }
        }
    }
}

impl fmt::Debug for Browsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browsers").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Does one piece of work; its result tells what the page did besides, without secrets.
fn work(browser: &Browser, item: &WorkItem, running: Running<'_>) -> WorkResult {
    let result = browser.work(item, running, |browser| {
        let mut result = act(browser, item, running)?;
        result.files.extend(browser.landed(running)?);
        Ok(result)
    });
    let mut result = result.unwrap_or_else(Failed::into_result);
    tell(browser, &mut result);
    result
}

fn act(browser: &Browser, item: &WorkItem, running: Running<'_>) -> Result<WorkResult, Failed> {
    match &item.action {
        Action::Navigate { url } => browser.navigate(item, url),
        Action::ReadDom {} => browser.read(item),
        Action::Ui { .. } => browser.act(item),
        Action::Screenshot {} => browser.screenshot(),
        Action::ExportPdf { pages } => browser.export(*pages, running),
        Action::Download { files } => browser.download(item, files, running),
        Action::Login { site } => browser.login(site, running),
        other => {
            let why = format!("a browser does nothing of the kind `{}`", other.kind());
            Err(Failed::refused("OtherAction", why))
        }
    }
}

/// Adds the page, what was refused and the dialogs, and masks every secret.
fn tell(browser: &Browser, result: &mut WorkResult) {
    let (refused, dialogs) = {
        let state = browser.shared.state();
        (state.refused.clone(), state.dialogs.clone())
    };
    if result.value.is_null() {
        result.value = json!({});
    }
    if let Some(fields) = result.value.as_object_mut() {
        // A browser that is gone has no page.
        if let Ok(url) = browser.address() {
            fields.insert("url".to_owned(), Value::from(url));
        }
        for (name, lines) in [("refused", refused), ("dialogs", dialogs)] {
            if !lines.is_empty() {
                fields.insert(name.to_owned(), Value::from(lines));
            }
        }
    }
    let secrets = &browser.shared.secrets;
    secrets.mask_value(&mut result.value);
    result.output.head = secrets.mask(&result.output.head);
    result.output.tail = secrets.mask(&result.output.tail);
    if let Some(error) = &mut result.error {
        error.message = secrets.mask(&error.message);
    }
    for file in &mut result.files {
        file.name = secrets.mask(&file.name);
    }
}
