//! A timestamp in a request, in the usual format: `2026-11-16T06:00:00Z`, or a day.

use std::borrow::Cow;

use countersign_gate::clock::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A moment in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(pub(crate) Timestamp);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let moment = Timestamp::parse(&text).map(Self);
        moment.ok_or_else(|| D::Error::custom("write a time as 2026-11-16T06:00:00Z"))
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A time in UTC like `2026-11-16T06:00:00Z`, or the start of a day.",
        })
    }
}
