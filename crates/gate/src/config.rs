//! The configuration of the gate.

use std::time::Duration;

use countersign_core::analyze::url::is_origin;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::approval::QuorumRow;
use crate::preferences::Logging;
use crate::rate::Rate;
use crate::session::PROMPTS;
use crate::transfer;

/// The configuration of the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "GateConfig"))]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `false` starts with the kill switch thrown.
    pub enabled: bool,
    /// The conditions under which more than one person must agree, or others are asked after a
    /// while.
    pub quorum: Vec<QuorumRow>,
    /// Origins any session may open; every one, if none are named. A session may name fewer.
    #[serde(deserialize_with = "read_origins")]
    pub allowed_origins: Option<Vec<String>>,
    /// Seconds until silence is a refusal, in place of the profile's.
    pub approval_timeout: Option<u32>,
    /// Questions that may wait for one person.
    pub most_pending: u64,
    /// Questions one session may put at once; more pauses it.
    pub prompts: Rate,
    /// Seconds in which a yes must be used.
    pub spend_within: u32,
    /// Seconds in which a started action must be reported, where its session does not say.
    pub report_within: u32,
    /// Seconds in which a worker must have registered for a session that needs one; without one the
    /// session ends.
    pub worker_within: u32,
    /// Days a yes is remembered that is meant for always or everywhere.
    pub remember_days: u32,
    /// Days a record keeps its content, where its person has not chosen fewer.
    pub retention_days: u32,
    /// The people who may erase what is on record about a person, or keep it for a shorter time.
    pub erasure: Erasure,
    /// The amount that goes on record, unless a user asks for more.
    pub logging: Logging,
    /// The rates at which one user's skills may be used.
    pub rates: Rates,
    /// The limits of files that may be handed in.
    pub files: transfer::Limits,
}

/// The people who may erase what is on record about a person, or keep it for a shorter time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Erasure {
    /// Everybody what is about themselves, and super admins what is about anybody.
    #[default]
    People,
    /// Super admins alone, and never what is about themselves. Nobody may keep it for a shorter
    /// time than `retention_days`.
    Administrators,
}

/// The rates at which one user's skills may be used; unlimited where left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
            allowed_origins: None,
            approval_timeout: None,
            most_pending: 100,
            prompts: PROMPTS,
            spend_within: 300,
            report_within: 600,
            worker_within: 300,
            remember_days: 30,
            retention_days: 30,
            erasure: Erasure::People,
            logging: Logging::Minimal,
            rates: Rates::default(),
            files: transfer::Limits::default(),
        }
    }
}

/// An environment variable with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{variable}` {problem}")]
pub struct EnvironmentError {
    /// The variable.
    pub variable: &'static str,
    /// The problem with its value.
    pub problem: &'static str,
}

impl Config {
    /// The same configuration, with the environment's values on top.
    ///
    /// # Errors
    /// A variable has an invalid value: the gate stays closed.
    pub fn with_environment(
        mut self,
        read: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Self, EnvironmentError> {
        let number = |variable: &'static str, most: u32| {
            let problem = "is not a whole number in its range";
            let wrong = EnvironmentError { variable, problem };
            let parse = |text: String| match text.trim().parse() {
                Ok(number) if (1..=most).contains(&number) => Ok(number),
                _ => Err(wrong),
            };
            read(variable).map(parse).transpose()
        };
        if let Some(text) = read("AUTO_ACTION_ENABLED") {
            self.enabled = match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => {
                    let problem = "is neither `true` nor `false`";
                    return Err(EnvironmentError { variable: "AUTO_ACTION_ENABLED", problem });
                }
            };
        }
        if let Some(days) = number("AUTO_ACTION_LOG_RETENTION_DAYS", 36_500)? {
            self.retention_days = days;
        }
        if let Some(milliseconds) = number("CRITICAL_POINT_TIMEOUT", 86_400_000)? {
            self.approval_timeout = Some(milliseconds.div_ceil(1_000));
        }
        if let Some(origins) = read("AUTO_ACTION_ALLOWED_ORIGINS") {
            let named = origins.split(',').map(str::trim).filter(|origin| !origin.is_empty());
            let named: Vec<_> = named.map(str::to_owned).collect();
            if !named.iter().all(|origin| is_origin(origin)) {
                let problem = NOT_AN_ORIGIN;
                return Err(EnvironmentError { variable: "AUTO_ACTION_ALLOWED_ORIGINS", problem });
            }
            self.allowed_origins = Some(named);
        }
        Ok(self)
    }

    pub(crate) fn spend_within(&self) -> Duration {
        Duration::from_secs(self.spend_within.into())
    }

    pub(crate) fn report_within(&self) -> Duration {
        Duration::from_secs(self.report_within.into())
    }

    pub(crate) fn worker_within(&self) -> Duration {
        Duration::from_secs(self.worker_within.into())
    }

    pub(crate) fn remember_for(&self) -> Duration {
        days(self.remember_days)
    }

    pub(crate) fn keep_for(&self) -> Duration {
        days(self.retention_days)
    }
}

const NOT_AN_ORIGIN: &str = "names something that is not an origin, such as `https://example.com`";

/// Reads the origins of a file. An entry that can never match is a mistake: the file is refused.
fn read_origins<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let origins = Option::<Vec<String>>::deserialize(from)?;
    if !origins.iter().flatten().all(|origin| is_origin(origin)) {
        return Err(D::Error::custom(format!("`allowed_origins` {NOT_AN_ORIGIN}")));
    }
    Ok(origins)
}

pub(crate) fn days(days: u32) -> Duration {
    Duration::from_secs(u64::from(days).saturating_mul(86_400))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variable: &'static str, text: &str) -> Result<Config, EnvironmentError> {
        Config::default().with_environment(|name| (name == variable).then(|| text.to_owned()))
    }

    #[test]
    fn the_environment_says_what_the_configuration_does_not() {
        assert!(!with("AUTO_ACTION_ENABLED", "false").unwrap().enabled);
        assert!(with("AUTO_ACTION_ENABLED", " True ").unwrap().enabled);
        assert_eq!(with("AUTO_ACTION_LOG_RETENTION_DAYS", "7").unwrap().retention_days, 7);
        let timeout = |text| with("CRITICAL_POINT_TIMEOUT", text).unwrap().approval_timeout;
        assert_eq!((timeout("300000"), timeout("1")), (Some(300), Some(1)));
        let origins = with("AUTO_ACTION_ALLOWED_ORIGINS", "localhost, synthex.social,").unwrap();
        assert_eq!(origins.allowed_origins.unwrap(), ["localhost", "synthex.social"]);
        assert_eq!(Config::default().with_environment(|_| None).unwrap(), Config::default());
    }

    #[test]
    fn what_cannot_be_meant_is_an_error_that_names_the_variable() {
        for (variable, text) in [
            ("AUTO_ACTION_ENABLED", "no"),
            ("AUTO_ACTION_ENABLED", ""),
            ("AUTO_ACTION_LOG_RETENTION_DAYS", "0"),
            ("AUTO_ACTION_LOG_RETENTION_DAYS", "-1"),
            ("CRITICAL_POINT_TIMEOUT", "5m"),
            ("CRITICAL_POINT_TIMEOUT", "99999999999"),
            ("AUTO_ACTION_ALLOWED_ORIGINS", "http://"),
            ("AUTO_ACTION_ALLOWED_ORIGINS", "localhost, https://"),
            ("AUTO_ACTION_ALLOWED_ORIGINS", "file:///etc"),
            ("AUTO_ACTION_ALLOWED_ORIGINS", "https://user:secret@example.com"),
        ] {
            let error = with(variable, text).unwrap_err();
            assert_eq!(error.variable, variable, "{text}");
        }
    }

    #[test]
    fn a_file_with_an_origin_that_lets_nothing_in_is_refused() {
        let read = |origins: serde_json::Value| {
            serde_json::from_value::<Config>(serde_json::json!({"allowed_origins": origins}))
        };
        assert!(read(serde_json::json!(["localhost", "https://example.com:8443"])).is_ok());
        assert!(read(serde_json::Value::Null).unwrap().allowed_origins.is_none());
        for bad in ["http://", "file:///etc", ""] {
            let error = read(serde_json::json!(["localhost", bad])).unwrap_err().to_string();
            assert!(error.contains("allowed_origins"), "{error}");
        }
    }
}
