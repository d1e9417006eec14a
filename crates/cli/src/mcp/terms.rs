//! The configuration by which calls are judged: as it is now, not as it was when the proxy started.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use countersign_core::{Context, Policy};

use super::Options;
use crate::settings::{self, Layer};
use crate::{around::Around, hook};

/// The time for which a check of the files is valid.
const FRESH: Duration = Duration::from_secs(1);

/// The content of the configuration.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) policy: Policy,
    pub(crate) hook: hook::Options,
    pub(crate) mcp: Options,
}

/// The configuration, reloaded when its files change.
#[derive(Debug)]
pub(crate) struct Standing {
    /// The context of the agent.
    pub(crate) around: Context,
    now: Mutex<Now>,
}

#[derive(Debug)]
struct Now {
    looked: Instant,
    layers: Vec<Layer>,
    terms: Result<Arc<Terms>, String>,
}

impl Standing {
    /// Loads the configuration in force here.
    ///
    /// # Errors
    /// It is invalid, or the working folder is not known.
    pub(crate) fn here() -> Result<Self> {
        let around = Around::at(None, None).context()?;
        let layers = settings::layers(&around)?;
        let terms = Terms::of(&layers)?;
        let now = Now { looked: Instant::now(), layers, terms: Ok(Arc::new(terms)) };
        Ok(Self { around, now: Mutex::new(now) })
    }

    /// Sets terms that apply regardless of the files.
    #[cfg(test)]
    pub(crate) fn fix(&self, terms: Terms) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.terms = Ok(Arc::new(terms));
    }

    /// Returns the terms in force now.
    ///
    /// # Errors
    /// A file was changed and is invalid now: nothing may run by its earlier content.
    pub(crate) fn terms(&self) -> Result<Arc<Terms>, String> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.looked.elapsed() >= FRESH {
            now.look(&self.around);
        }
        now.terms.clone()
    }
}

impl Now {
    fn look(&mut self, around: &Context) {
        self.looked = Instant::now();
        let wrong = |error: anyhow::Error| format!("the configuration is wrong: {error:#}");
        match settings::layers(around) {
            Ok(layers) if same(&layers, &self.layers) => {}
            Ok(layers) => {
                self.terms = Terms::of(&layers).map(Arc::new).map_err(wrong);
                self.layers = layers;
            }
            Err(error) => {
                self.terms = Err(wrong(error));
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

impl Terms {
    fn of(layers: &[Layer]) -> Result<Self> {
        let hook = hook::Options::read(layers)?;
        let mcp = settings::mcp_of(layers.to_vec())?.unwrap_or_default();
        Ok(Self { policy: settings::policy_of(layers.to_vec())?, hook, mcp })
    }
}
