//! The addresses that a browser may reach now: judged, and let through by `Fetch` before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::{Action, Context, Policy, Verdict, judge};
use countersign_net::{Destination, JudgeWith};
use countersign_wire::work::WorkItem;
use url::Url;

use super::settings::{BrowserSettings, Resolver};

/// The network of one browser.
///
/// INVARIANT: the proxy connects only to what [`Network::destination`] or [`Network::tunnel`]
/// returns.
#[derive(Debug)]
pub(super) struct Network {
    policy: Arc<Policy>,
    resolver: Resolver,
    now: Mutex<Now>,
}

#[derive(Debug, Default)]
struct Now {
    /// The circumstances of the latest work.
    context: Context,
    /// What a person agreed to, by origin: an approved page does not open others.
    agreed: BTreeMap<String, Verdict>,
    /// The latest URL that was let through, by host and port. What the browser fetches by itself
    /// never gets here.
    expected: BTreeMap<(String, u16), Url>,
}

impl Network {
    pub(super) fn new(settings: &BrowserSettings) -> Self {
        Self {
            policy: Arc::clone(&settings.policy),
            resolver: settings.resolver.clone(),
            now: Mutex::default(),
        }
    }

    /// Takes over the circumstances of the work that begins.
    pub(super) fn enter(&self, item: &WorkItem) {
        let base = item.context.base_url.as_deref().and_then(|base| Url::parse(base).ok());
        let named: Vec<&str> = match &item.action {
            Action::Navigate { url } => vec![url],
            Action::Download { files } => files.iter().map(|file| file.url.as_str()).collect(),
            _ => Vec::new(),
        };
        let named = named.into_iter();
        let origins: Vec<_> = named
            .filter_map(|url| Url::options().base_url(base.as_ref()).parse(url).ok())
            .map(|url| url.origin().ascii_serialization())
            .collect();
        let mut now = self.now();
        now.context = Context { base_url: None, ..item.context.clone() };
        for origin in origins {
            now.agreed.insert(origin, item.agreed);
        }
    }

    /// Judges a URL by its text, and expects its connection. Asks no name server.
    pub(super) fn admit(&self, url: &str) -> Result<(), String> {
        let parsed = Url::parse(url).map_err(|error| error.to_string())?;
        let (context, agreed) = self.circumstances(&parsed);
        let action = Action::Navigate { url: url.to_owned() };
        let judgement = judge(&action, &self.policy, &context);
        if judgement.verdict > agreed {
            return Err(judgement.reason);
        }
        if let Some(key) = key(&parsed) {
            self.now().expected.insert(key, parsed);
        }
        Ok(())
    }

    /// Returns the destination of a request to the proxy; `None` where no page has asked for it.
    pub(super) fn destination(&self, url: &Url) -> Option<Result<Destination, String>> {
        let key = key(url)?;
        let is_expected = self.now().expected.contains_key(&key);
        is_expected.then(|| self.judged(url))
    }

    /// Returns the destination of a tunnel; `None` where no page has asked for it.
    pub(super) fn tunnel(&self, host: &str, port: u16) -> Option<Result<Destination, String>> {
        let url = self.now().expected.get(&(host.to_ascii_lowercase(), port)).cloned();
        url.map(|url| self.judged(&url))
    }

    /// Returns the destination of a `WebSocket`.
    pub(super) fn socket(&self, host: &str, port: u16) -> Result<Destination, String> {
        let scheme = if port == 443 { "wss" } else { "ws" };
        let url = Url::parse(&format!("{scheme}://{host}:{port}/"));
        self.judged(&url.map_err(|error| error.to_string())?)
    }

    fn judged(&self, url: &Url) -> Result<Destination, String> {
        let (context, agreed) = self.circumstances(url);
        let judge_with = JudgeWith { policy: &self.policy, context: &context, agreed };
        Destination::new(url.as_str(), judge_with, &self.resolver)
            .map_err(|error| error.to_string())
    }

    fn circumstances(&self, url: &Url) -> (Context, Verdict) {
        let now = self.now();
        let origin = url.origin().ascii_serialization();
        let agreed = now.agreed.get(&origin).copied().unwrap_or(Verdict::Warn);
        (now.context.clone(), agreed)
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the host and port of a URL.
fn key(url: &Url) -> Option<(String, u16)> {
    Some((url.host_str()?.to_ascii_lowercase(), url.port_or_known_default()?))
}
