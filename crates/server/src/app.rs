//! The state that is shared by all handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use countersign_gate::Gate;
use countersign_gate::channel::Dispatcher;
use countersign_gate::clock::{ChanceError, Clock, System, random};
use countersign_gate::forward::Forwarder;
use tokio::sync::watch;

use crate::answers;
use crate::hex::hex;
use crate::hub::Hub;
use crate::metrics::Metrics;
use crate::settings::Settings;
use crate::trace::{Collector, CollectorError, Tracer};

/// The state that is shared by all handlers. Clones share one app.
#[derive(Debug, Clone)]
pub struct App(Arc<Inner>);

/// The state behind all clones of an [`App`].
#[derive(Debug)]
pub struct Inner {
    pub(crate) gate: Arc<Gate>,
    pub(crate) settings: Settings,
    pub(crate) hub: Hub,
    pub(crate) metrics: Arc<Metrics>,
    /// The exporter of traces, if there is one.
    pub(crate) tracer: Option<Tracer>,
    /// An identifier of this run of the server.
    pub(crate) boot: String,
    /// The counter from which requests without a name of their own get one.
    next_request: AtomicU64,
    stopping: watch::Sender<Stopping>,
}

/// The stage of a graceful shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stopping {
    /// The server is running.
    No,
    /// It still serves, and asks for new requests to go elsewhere.
    Drains,
    /// Everything long-lived has to end.
    Now,
}

/// The reason that an app cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The machine could not provide random numbers.
    #[error(transparent)]
    Chance(#[from] ChanceError),
    /// The address of the trace collector is invalid.
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
    /// Serves a gate. Needs a Tokio runtime: live events are passed on from here on.
    ///
    /// # Errors
    /// The machine could not provide random numbers, or a setting is invalid.
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

    /// Makes a request id, unique within this run.
    pub(crate) fn name_request(&self) -> String {
        // Steps of an odd size visit every value of a `u64` before one repeats.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        format!("{:016x}", self.next_request.fetch_add(STEP, Ordering::Relaxed))
    }

    /// Reports from now on that new requests should go elsewhere.
    pub(crate) fn drain(&self) {
        self.stopping.send_replace(Stopping::Drains);
    }

    /// Reports whether the server is shutting down.
    pub(crate) fn is_draining(&self) -> bool {
        *self.stopping.borrow() != Stopping::No
    }

    /// Tells everything long-lived to end.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(Stopping::Now);
    }

    /// Completes when the server stops.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as the app does.
        let _ = stopping.wait_for(|stopping| *stopping == Stopping::Now).await;
    }
}
