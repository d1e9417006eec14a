//! What every handler has at hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use countersign_gate::Gate;
use countersign_gate::channel::Dispatcher;
use countersign_gate::clock::{ChanceError, Clock, System, random};
use countersign_gate::forward::Forwarder;
use tokio::sync::watch;

use crate::answers;
use crate::hex::hex;
use crate::live::Hub;
use crate::metrics::Metrics;
use crate::settings::Settings;
use crate::trace::{Collector, CollectorError, Tracer};

/// What every handler has at hand. Copies are the same app.
#[derive(Debug, Clone)]
pub struct App(Arc<Inner>);

/// The one app that all copies are.
#[derive(Debug)]
pub struct Inner {
    pub(crate) gate: Arc<Gate>,
    pub(crate) settings: Settings,
    pub(crate) hub: Hub,
    pub(crate) metrics: Arc<Metrics>,
    /// Where traces go, if anywhere.
    pub(crate) tracer: Option<Tracer>,
    /// Tells one run of the server from another.
    pub(crate) boot: String,
    /// What the next request is called that brings no name of its own.
    next_request: AtomicU64,
    stopping: watch::Sender<Stopping>,
}

/// How far the server is on its way to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stopping {
    /// It runs.
    No,
    /// It serves, and wants no new requests.
    Drains,
    /// Everything that lasts is to end.
    Now,
}

/// Why there is no app.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The machine has no randomness to give.
    #[error(transparent)]
    Chance(#[from] ChanceError),
    /// Traces would go nowhere.
    #[error(transparent)]
    Collector(#[from] CollectorError),
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    /// Puts a gate on the wire. Needs a runtime: live events are passed on from here on.
    ///
    /// # Errors
    /// The machine has no randomness to give, or a setting is impossible.
    pub fn open(gate: Arc<Gate>, settings: Settings) -> Result<Self, OpenError> {
        let boot = random::<8>(&System as &dyn Clock)?;
        let next_request = AtomicU64::new(u64::from_be_bytes(boot));
        let boot = hex(&boot);
        let hub = Hub::start(&gate);
        let collector = settings.otlp.as_deref().map(Collector::parse).transpose()?;
        let tracer = collector.map(Tracer::start);
        let metrics = Arc::new(Metrics::default());
        answers::count(&gate, &metrics);
        let stopping = watch::Sender::new(Stopping::No);
        let settings = settings.under_its_own_name();
        let inner = Inner { gate, settings, hub, metrics, tracer, boot, next_request, stopping };
        Ok(Self(Arc::new(inner)))
    }

    /// Lets the numbers of the server tell how these channels are doing.
    pub fn watch_channels(
        &self,
        dispatchers: Vec<Arc<Dispatcher>>,
        forwarders: Vec<Arc<Forwarder>>,
    ) {
        self.metrics.watch_channels(dispatchers, forwarders);
    }

    /// A name for a request. No two of a run have the same.
    pub(crate) fn name_request(&self) -> String {
        // Any odd number meets all others before it meets itself.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        format!("{:016x}", self.next_request.fetch_add(STEP, Ordering::Relaxed))
    }

    /// Says from now on that new requests should go elsewhere.
    pub(crate) fn drain(&self) {
        self.stopping.send_replace(Stopping::Drains);
    }

    /// Whether the server is about to end.
    pub(crate) fn is_draining(&self) -> bool {
        *self.stopping.borrow() != Stopping::No
    }

    /// Tells everything that lasts to end.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(Stopping::Now);
    }

    /// Ends when the server stops.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as the app does.
        let _ = stopping.wait_for(|stopping| *stopping == Stopping::Now).await;
    }
}
