//! What whoever runs the gate can set.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::approval::QuorumRow;
use crate::rate::Rate;
use crate::session::PROMPTS;
use crate::settings::Logging;

/// What whoever runs the gate can set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `false` starts with the kill switch thrown.
    pub enabled: bool,
    /// When more people than one must agree, or others are asked after a while.
    pub quorum: Vec<QuorumRow>,
    /// Questions that may wait for one person.
    pub most_pending: u64,
    /// Questions one session may put at once; more pauses it.
    pub prompts: Rate,
    /// Seconds in which a yes must be used.
    pub spend_within: u32,
    /// Seconds in which a started action must be reported, where its session does not say.
    pub report_within: u32,
    /// Days a yes is remembered that is meant for always.
    pub remember_days: u32,
    /// Days a record keeps its content.
    pub retention_days: u32,
    /// How much goes on record, unless a user asks for more.
    pub logging: Logging,
    /// How fast one user's skills may be used.
    pub rates: Rates,
}

/// How fast one user's skills may be used; without limit, if none is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rates {
    /// All skills of one provider.
    pub provider: Option<Rate>,
    /// One skill.
    pub skill: Option<Rate>,
    /// All actions proposed by one model.
    pub model: Option<Rate>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            enabled: true,
            quorum: Vec::new(),
            most_pending: 100,
            prompts: PROMPTS,
            spend_within: 300,
            report_within: 600,
            remember_days: 30,
            retention_days: 30,
            logging: Logging::Minimal,
            rates: Rates::default(),
        }
    }
}

impl Config {
    pub(crate) fn spend_within(&self) -> Duration {
        Duration::from_secs(self.spend_within.into())
    }

    pub(crate) fn report_within(&self) -> Duration {
        Duration::from_secs(self.report_within.into())
    }

    pub(crate) fn remember_for(&self) -> Duration {
        days(self.remember_days)
    }

    pub(crate) fn keep_for(&self) -> Duration {
        days(self.retention_days)
    }
}

pub(crate) fn days(days: u32) -> Duration {
    Duration::from_secs(u64::from(days).saturating_mul(86_400))
}
