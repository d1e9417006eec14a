//! The configuration by which calls are judged: as it is now, not as it was when the proxy started.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use countersign_core::{Context, Policy};

use crate::context_options::ContextOptions;
use crate::layer::{Layer, section_of};
use crate::{hook_options, mcp_options, settings};

/// The time for which a check of the files is valid.
const FRESH: Duration = Duration::from_secs(1);

/// The content of the configuration.
#[derive(Debug)]
pub(crate) struct ActiveConfig {
    pub(crate) policy: Policy,
    pub(crate) hook: hook_options::Options,
    pub(crate) mcp: mcp_options::Options,
}

/// The configuration, reloaded when its files change.
#[derive(Debug)]
pub(crate) struct ConfigWatcher {
    /// The context of the agent.
    pub(crate) context: Context,
    snapshot: Mutex<Snapshot>,
}

#[derive(Debug)]
struct Snapshot {
    looked: Instant,
    layers: Vec<Layer>,
    active_config: Result<Arc<ActiveConfig>, String>,
}

impl ConfigWatcher {
    /// Loads the configuration in force here.
    ///
    /// # Errors
    /// It is invalid, or the working folder is not known.
    pub(crate) fn here() -> Result<Self> {
        let context = ContextOptions::at(None, None).context()?;
        let layers = settings::layers(&context)?;
        let active_config = ActiveConfig::of(&layers)?;
        let snapshot =
            Snapshot { looked: Instant::now(), layers, active_config: Ok(Arc::new(active_config)) };
        Ok(Self { context, snapshot: Mutex::new(snapshot) })
    }

    /// Sets terms that apply regardless of the files.
    #[cfg(test)]
    pub(crate) fn fix(&self, active_config: ActiveConfig) {
        let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        snapshot.active_config = Ok(Arc::new(active_config));
    }

    /// Returns the terms in force now.
    ///
    /// # Errors
    /// A file was changed and is invalid now: nothing may run by its earlier content.
    pub(crate) fn active_config(&self) -> Result<Arc<ActiveConfig>, String> {
        let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if snapshot.looked.elapsed() >= FRESH {
            snapshot.look(&self.context);
        }
        snapshot.active_config.clone()
    }
}

impl Snapshot {
    fn look(&mut self, context: &Context) {
        self.looked = Instant::now();
        let wrong = |error: anyhow::Error| format!("the configuration is wrong: {error:#}");
        match settings::layers(context) {
            Ok(layers) if same(&layers, &self.layers) => {}
            Ok(layers) => {
                self.active_config = ActiveConfig::of(&layers).map(Arc::new).map_err(wrong);
                self.layers = layers;
            }
            Err(error) => {
                self.active_config = Err(wrong(error));
                self.layers.clear();
            }
        }
    }
}

fn same(one: &[Layer], other: &[Layer]) -> bool {
    let texts = |layers: &[Layer]| -> Vec<Option<String>> {
        layers.iter().map(|layer| layer.text.clone()).collect()
    };
    one.len() == other.len() && texts(one) == texts(other)
}

impl ActiveConfig {
    fn of(layers: &[Layer]) -> Result<Self> {
        let hook = hook_options::Options::read(layers)?;
        let mcp = section_of(layers.to_vec(), "mcp")?.unwrap_or_default();
        Ok(Self { policy: settings::policy_of(layers.to_vec())?, hook, mcp })
    }
}
