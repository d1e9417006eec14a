//! A limit that was hit: its name, its value, and its use so far.

use std::fmt;

use serde::Serialize;

use crate::rate::Rate;

/// A limit that was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hit {
    /// The limit, by its name in the configuration.
    pub limit: &'static str,
    /// The value of the limit.
    pub value: u64,
    /// The amount that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// In how many seconds, where it is a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_seconds: Option<u32>,
}

impl Hit {
    /// A limit and the amount that is used.
    #[must_use]
    pub const fn used(limit: &'static str, value: u64, used: u64) -> Self {
        Self { limit, value, used: Some(used), per_seconds: None }
    }

    /// A rate.
    #[must_use]
    pub fn rate(limit: &'static str, rate: Rate) -> Self {
        let Rate { uses, seconds } = rate;
        Self { limit, value: uses.into(), used: None, per_seconds: Some(seconds) }
    }
}

/// One line for a person, or for the agent.
impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, value, used, per_seconds } = self;
        match (used, per_seconds) {
            (Some(used), _) => write!(f, "`{limit}` is {value}, and {used} are used"),
            (None, Some(seconds)) => write!(f, "`{limit}` is {value} in {seconds} s"),
            (None, None) => write!(f, "`{limit}` is {value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_says_which_limit_and_how_much() {
        let hit = Hit::used("steps", 50, 50);
        assert_eq!(hit.to_string(), "`steps` is 50, and 50 are used");
        let hit = Hit::rate("actions_per_minute", Rate::per_minute(30));
        assert_eq!(hit.to_string(), "`actions_per_minute` is 30 in 60 s");
        let json = serde_json::to_value(hit).unwrap();
        assert_eq!(json["per_seconds"], 60);
        assert!(json.get("used").is_none());
    }
}
