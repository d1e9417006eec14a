//! One session's browser: started once, used by one piece of work at a time, ended with everything.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use countersign_wire::work::{WorkItem, WorkResult};
use serde_json::{Value, json};

use super::cdp::Cdp;
use super::events;
use super::failed::Failed;
use super::network::Network;
use super::process::Process;
use super::proxy::Proxy;
use super::settings::BrowserSettings;
use super::state::{Held, Shared};
use crate::executor::Running;

/// The time for one step of the browser.
pub(super) const STEP: Duration = Duration::from_secs(30);
/// The time between two looks at the stop signal.
const LOOK: Duration = Duration::from_millis(50);

/// A running browser.
pub(super) struct Browser {
    pub(super) cdp: Arc<Cdp>,
    pub(super) shared: Arc<Shared>,
    /// The folder into which the browser writes downloads.
    pub(super) downloads: PathBuf,
    pub(super) screenshots: Mutex<u32>,
    process: Mutex<Option<Process>>,
    /// Held by the work that runs.
    turn: Mutex<()>,
    _proxy: Proxy,
}

impl Browser {
    /// Starts a browser and waits for its first page.
    pub(super) fn start(settings: &BrowserSettings) -> Result<Self, Failed> {
        let shared = Arc::new(Shared::new(Network::new(settings)));
        let proxy = Proxy::start(&shared)
            .map_err(|error| Failed::because("NoProxy", format!("cannot listen: {error}")))?;
        let (process, pipes) = Process::start(settings, proxy.ports())?;
        let downloads = process.downloads();
        let cdp = Cdp::new(pipes.to_browser);
        let (mine, state) = (Arc::clone(&cdp), Arc::clone(&shared));
        cdp.read(pipes.from_browser, move |event| events::handle(&mine, &state, &event));
        let browser = Self {
            cdp,
            shared,
            downloads,
            screenshots: Mutex::new(0),
            process: Mutex::new(Some(process)),
            turn: Mutex::new(()),
            _proxy: proxy,
        };
        let landing = json!({
            "behavior": "allowAndName", "downloadPath": browser.downloads, "eventsEnabled": true,
        });
        browser.call(None, "Browser.setDownloadBehavior", &landing)?;
        browser.call(None, "Target.setAutoAttach", &events::attach_all())?;
        let page = browser.shared.wait(STEP, |state| state.page().map(drop));
        page.ok_or_else(|| Failed::because("NoPage", "the browser opens no page"))?;
        Ok(browser)
    }

    /// Asks the browser, for the time of one step.
    pub(super) fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<Value, Failed> {
        self.cdp.call(session, method, params, STEP)
    }

    /// Reports whether the browser is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.cdp.is_closed()
    }

    /// Ends the browser, with everything that it started, and removes its profile.
    pub(super) fn end(&self) {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Does one piece of work. Questions of the page are asked meanwhile, each on a thread of its
    /// own, and the stop signal ends the browser.
    pub(super) fn work(
        &self,
        item: &WorkItem,
        running: Running<'_>,
        work: impl FnOnce(&Self) -> Result<WorkResult, Failed>,
    ) -> Result<WorkResult, Failed> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.network.enter(item);
        let (asker, questions) = channel();
        self.shared.change(|state| {
            state.asker = Some(asker);
            // What the page did between two pieces of work is not waited for.
            state.in_flight.clear();
            state.loading.clear();
            state.refused.clear();
            state.dialogs.clear();
        });
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| self.end_on_stop(running, &is_over));
            scope.spawn(move || self.answer(questions, running));
            let result = work(self);
            self.shared.change(|state| {
                // The last sender: it ends the thread that asks.
                state.asker = None;
                state.sign_in = None;
            });
            is_over.store(true, Ordering::SeqCst);
            result
        })
    }

    fn end_on_stop(&self, running: Running<'_>, is_over: &AtomicBool) {
        while !is_over.load(Ordering::SeqCst) {
            if running.stop.wait(LOOK) {
                self.end();
                return;
            }
        }
    }

    /// Asks each question, until the work is over.
    fn answer(&self, questions: Receiver<Held>, running: Running<'_>) {
        thread::scope(|scope| {
            for held in questions {
                scope.spawn(move || {
                    let answer = running.controller.propose(&held.action, &held.details);
                    (held.decide)(answer.map_err(|error| error.0));
                    self.shared.answered();
                });
            }
        });
    }
}
