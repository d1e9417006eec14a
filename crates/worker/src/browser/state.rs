//! The state of one browser, which its events change and its work waits for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Sender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use countersign_core::Action;

use super::failed::Failed;
use super::network::Network;
use super::proxy::Guard;
use super::secrets::Secrets;

/// The most refusals that are told with one piece of work.
const MOST_REFUSALS: usize = 50;
/// The time without anything new after which a page has settled.
const QUIET: Duration = Duration::from_millis(250);
/// The time for which requests that stay open are waited for.
const OPEN_REQUESTS: Duration = Duration::from_secs(3);

/// Something that a page does, and that waits for an answer.
pub(super) struct Held {
    pub(super) action: Action,
    pub(super) details: Vec<String>,
    /// Lets it go on, or ends it.
    pub(super) decide: Box<dyn FnOnce(Result<(), String>) + Send>,
}

/// A target that the browser attached.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// `page`, `iframe`, `worker`…
    pub(super) kind: String,
    /// The session of the target that it belongs to.
    pub(super) parent: Option<String>,
    /// For pages: the id of the main frame.
    pub(super) frame: String,
    /// The order in which targets came.
    pub(super) order: u64,
}

/// A download that the browser began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Landing {
    pub(super) url: String,
    pub(super) name: String,
    pub(super) asked: bool,
    pub(super) permitted: bool,
    pub(super) ended: Option<LandingEnd>,
}

/// The end of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LandingEnd {
    Complete,
    Canceled,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) targets: BTreeMap<String, Target>,
    pub(super) last_order: u64,
    /// Frames that are loading.
    pub(super) loading: BTreeSet<String>,
    /// Requests that were let through and are not over.
    pub(super) in_flight: BTreeSet<String>,
    /// Where questions go while work runs.
    pub(super) asker: Option<Sender<Held>>,
    /// The questions without an answer.
    pub(super) held: usize,
    pub(super) refused: Vec<String>,
    pub(super) dialogs: Vec<String>,
    pub(super) landings: BTreeMap<String, Landing>,
    /// The origin that a sign-in is done at, while it is.
    pub(super) sign_in: Option<String>,
    /// The numbers of frames, for references.
    pub(super) frame_numbers: BTreeMap<String, usize>,
}

/// The state of one browser, shared by its threads.
pub(super) struct Shared {
    pub(super) network: Network,
    pub(super) secrets: Secrets,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    pub(super) fn new(network: Network) -> Self {
        Self {
            network,
            secrets: Secrets::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes everything that waits for a change.
    pub(super) fn change<R>(&self, by: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state();
        let result = by(&mut state);
        drop(state);
        self.changed.notify_all();
        result
    }

    /// Waits until the state gives an answer; `None` when it does not in time.
    pub(super) fn wait<R>(
        &self,
        most: Duration,
        mut of: impl FnMut(&State) -> Option<R>,
    ) -> Option<R> {
        let until = Instant::now().checked_add(most)?;
        let mut state = self.state();
        loop {
            if let Some(found) = of(&state) {
                return Some(found);
            }
            let left = until.checked_duration_since(Instant::now())?;
            state = self.pause(state, left);
        }
    }

    fn pause<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Notes a refusal, for the result of the work that runs.
    pub(super) fn note(&self, what: &str) {
        let what = self.secrets.mask(what);
        self.change(|state| {
            if state.refused.len() < MOST_REFUSALS {
                state.refused.push(what);
            }
        });
    }

    /// Asks about something that the page does. Without work that could have caused it, it ends.
    pub(super) fn ask(&self, held: Held) {
        let asker = self.state().asker.clone();
        let refused = match asker {
            Some(asker) => {
                // Counted first: its answer counts down.
                self.change(|state| state.held = state.held.saturating_add(1));
                match asker.send(held) {
                    Ok(()) => return,
                    Err(unsent) => {
                        self.answered();
                        unsent.0
                    }
                }
            }
            None => held,
        };
        (refused.decide)(Err("the page did it by itself, while nothing was running".to_owned()));
    }

    /// Counts an answer.
    pub(super) fn answered(&self) {
        self.change(|state| state.held = state.held.saturating_sub(1));
    }

    /// Waits until the page has nothing more to do. The time that people take does not count.
    pub(super) fn settle(&self, most: Duration, is_gone: impl Fn() -> bool) -> Result<(), Failed> {
        let mut spent = Duration::ZERO;
        let mut quiet = Duration::ZERO;
        let mut state = self.state();
        loop {
            let before = Instant::now();
            state = self.pause(state, QUIET);
            let passed = before.elapsed();
            if is_gone() {
                return Err(Failed::because("BrowserGone", "the browser has ended"));
            }
            if state.held > 0 {
                quiet = Duration::ZERO;
                continue;
            }
            spent = spent.saturating_add(passed);
            let requests = !state.in_flight.is_empty() && spent < OPEN_REQUESTS;
            let is_loading = state.is_loading();
            quiet =
                if is_loading || requests { Duration::ZERO } else { quiet.saturating_add(passed) };
            if quiet >= QUIET {
                return Ok(());
            }
            if spent >= most {
                let slow = Failed::because("TooSlow", "the page is still loading");
                return if is_loading { Err(slow) } else { Ok(()) };
            }
        }
    }
}

impl State {
    /// Reports whether a frame or a download that was agreed to is loading.
    fn is_loading(&self) -> bool {
        let landing = self.landings.values().any(|it| it.permitted && it.ended.is_none());
        landing || !self.loading.is_empty()
    }

    /// The session of the current page: the latest that is open.
    pub(super) fn page(&self) -> Option<(String, Target)> {
        let pages = self.targets.iter().filter(|(_, target)| target.kind == "page");
        let latest = pages.max_by_key(|(_, target)| target.order)?;
        Some((latest.0.clone(), latest.1.clone()))
    }

    /// The sessions of the iframes in their own processes that belong to a session.
    pub(super) fn below(&self, session: &str) -> Vec<String> {
        let mut found = vec![session.to_owned()];
        let mut at = 0;
        while let Some(parent) = found.get(at).cloned() {
            let children = self.targets.iter().filter(|(_, it)| {
                it.kind == "iframe" && it.parent.as_deref() == Some(parent.as_str())
            });
            found.extend(children.map(|(session, _)| session.clone()));
            at = at.saturating_add(1);
        }
        found
    }
}

impl Guard for Shared {
    fn network(&self) -> &Network {
        &self.network
    }

    fn permit_socket(&self, url: &str) -> Result<(), String> {
        let (sender, receiver) = sync_channel(1);
        let action =
            Action::HttpRequest { method: "GET".to_owned(), url: url.to_owned(), body: None };
        let details = vec![
            format!("opens a WebSocket to {url}"),
            "what is sent through it later is not seen".to_owned(),
        ];
        let decide = Box::new(move |answer| {
            // A connection that is gone needs no answer.
            let _ = sender.try_send(answer);
        });
        self.ask(Held { action, details, decide });
        receiver.recv().map_err(|_| "nobody answered".to_owned())?
    }

    fn refused(&self, what: String) {
        self.note(&what);
    }
}
