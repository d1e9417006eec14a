//! Which events a webhook is told.

use std::fmt;

use serde::Deserialize;

use crate::audit::Event;

/// One entry of `events`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Subscription {
    /// A person is asked.
    Requested,
    /// A question is settled.
    Settled,
    /// One kind of record.
    Record(Event),
    /// Every record.
    Records,
    /// All of it.
    All,
}

const REQUESTED: &str = "approval.requested";
const SETTLED: &str = "approval.settled";
const RECORD: &str = "record.";

/// Why an entry is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an event: name `approval.requested`, `approval.settled`, `record.` and a kind of \
     record such as `record.violation`, `record.*` or `*`"
)]
pub struct UnknownEventError(String);

impl TryFrom<String> for Subscription {
    type Error = UnknownEventError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let known = |name: &str| Event::ALL.iter().find(|event| event.as_str() == name).copied();
        match text.as_str() {
            "*" => Ok(Self::All),
            REQUESTED => Ok(Self::Requested),
            SETTLED => Ok(Self::Settled),
            name => match name.strip_prefix(RECORD) {
                Some("*") => Ok(Self::Records),
                Some(name) => known(name).map(Self::Record).ok_or(UnknownEventError(text)),
                None => Err(UnknownEventError(text)),
            },
        }
    }
}

impl fmt::Display for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str(REQUESTED),
            Self::Settled => f.write_str(SETTLED),
            Self::Record(event) => write!(f, "{RECORD}{}", event.as_str()),
            Self::Records => write!(f, "{RECORD}*"),
            Self::All => f.write_str("*"),
        }
    }
}

impl Subscription {
    /// Those of a webhook that names none.
    #[must_use]
    pub fn usual() -> Vec<Self> {
        vec![Self::Requested, Self::Settled]
    }
}

/// What these entries ask for of the record.
#[must_use]
pub(super) fn records(all: &[Subscription]) -> Option<Records> {
    let every = |entry| matches!(entry, &Subscription::Records | &Subscription::All);
    if all.iter().any(every) {
        return Some(Records::Every);
    }
    let named = all.iter().filter_map(|entry| match entry {
        Subscription::Record(event) => Some(event.as_str()),
        Subscription::Requested
        | Subscription::Settled
        | Subscription::Records
        | Subscription::All => None,
    });
    let named: Vec<_> = named.collect();
    (!named.is_empty()).then_some(Records::Of(named))
}

/// Records that somebody is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Records {
    /// All of them.
    Every,
    /// Those about these events.
    Of(Vec<&'static str>),
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Subscription {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WebhookEvent".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let records = Event::ALL.iter().map(|event| Self::Record(*event));
        let others = [Self::Requested, Self::Settled, Self::Records, Self::All];
        let all: Vec<_> = others.into_iter().chain(records).map(|one| one.to_string()).collect();
        schemars::json_schema!({
            "type": "string",
            "description": "An event that a webhook is told.",
            "enum": all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_written_as_it_is_read() {
        let every = Event::ALL.iter().map(|event| Subscription::Record(*event));
        for one in every.chain(Subscription::usual()).chain([Subscription::All]) {
            assert_eq!(Subscription::try_from(one.to_string()), Ok(one));
        }
        for bad in ["", "record.", "record.nothing", "approval", "Record.*", "violation"] {
            Subscription::try_from(bad.to_owned()).unwrap_err();
        }
    }

    #[test]
    fn questions_are_no_records_and_one_entry_for_all_is_for_all() {
        use Subscription::{All, Record, Requested};
        assert_eq!(records(&Subscription::usual()), None);
        let violations = Record(Event::Violation);
        assert_eq!(records(&[Requested, violations]), Some(Records::Of(vec!["violation"])));
        assert_eq!(records(&[violations, All]), Some(Records::Every));
    }
}
