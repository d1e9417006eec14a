//! Ids: a prefix for the kind, the time of creation, and 80 random bits that cannot be guessed.
//!
//! The time comes first, so that later ids sort later and a store appends instead of writing to
//! random pages. An id that is derived from a secret (a key, a device) lacks the time.
//!
//! `apr_` and 26 letters and digits of an alphabet without look-alikes (Crockford's base 32). A
//! text of another form is not an id: it is refused before any lookup.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::{ChanceError, Clock, random};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 26;

/// A text that is not the id it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the id of {what}: it should be `{prefix}` and 26 letters and digits")]
pub struct IdError {
    what: &'static str,
    prefix: &'static str,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal $what:literal)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// Draws a new id.
            ///
            /// # Errors
            /// The operating system provides no randomness.
            pub fn draw(clock: &dyn Clock) -> Result<Self, ChanceError> {
                Ok(Self::from_bytes(drawn(clock)?))
            }

            /// The id made of bytes that are unique already, such as a hash.
            #[must_use]
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(format!("{}{}", $prefix, letters(bytes)))
            }

            /// Parses an id.
            ///
            /// # Errors
            /// The text has another form.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                match text.strip_prefix($prefix) {
                    Some(rest) if is_letters(rest) => Ok(Self(text.to_owned())),
                    _ => Err(IdError { what: $what, prefix: $prefix }),
                }
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(&text)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": concat!("The id of ", $what, "."),
                    "pattern": concat!("^", $prefix, "[0-9a-hjkmnp-tv-z]{26}$"),
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// The id of a question to a person.
    ApprovalId "apr_" "an approval"
    /// The id of one action that was allowed, with or without a question.
    ActionId "act_" "an action"
    /// The id of a bounded run of an agent.
    SessionId "ses_" "a session"
    /// The id of a person or bot.
    UserId "usr_" "a user"
    /// The id of a workspace, which owns sessions.
    WorkspaceId "wsp_" "a workspace"
    /// The id of one signed-in client.
    DeviceId "dev_" "a device"
    /// The id of a credential of an agent or program.
    KeyId "key_" "a key"
    /// The id of a file that an agent has handed in.
    FileId "fil_" "a file"
    /// The id of a connected worker.
    WorkerId "wrk_" "a worker"
    /// The id of a remembered approval.
    RememberedId "rem_" "a remembered answer"
}

impl ActionId {
    /// The id of the action that an approval is about, once it runs.
    #[must_use]
    pub fn of(approval: &ApprovalId) -> Self {
        Self(approval.0.replacen("apr_", "act_", 1))
    }

    /// The id of the approval that this action has, if it has one.
    #[must_use]
    pub fn approval(&self) -> ApprovalId {
        ApprovalId(self.0.replacen("act_", "apr_", 1))
    }
}

/// Draws 48 bits of time and 80 random bits.
fn drawn(clock: &dyn Clock) -> Result<[u8; 16], ChanceError> {
    let chance = u128::from_be_bytes(random(clock)?) & (u128::MAX >> 48);
    let moment = u128::try_from(clock.now().0).unwrap_or(0) & (u128::MAX >> 80);
    Ok(((moment << 80) | chance).to_be_bytes())
}

fn letters(bytes: [u8; 16]) -> String {
    let mut bits = u128::from_be_bytes(bytes);
    let mut text = [b'0'; LENGTH];
    for letter in text.iter_mut().rev() {
        let index = usize::try_from(bits & 31).unwrap_or_default();
        *letter = ALPHABET.get(index).copied().unwrap_or(b'0');
        bits >>= 5;
    }
    text.iter().map(|letter| char::from(*letter)).collect()
}

fn is_letters(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|letter| ALPHABET.contains(&letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Fake, Timestamp};

    #[test]
    fn an_id_reads_back_and_no_two_are_the_same() {
        let clock = Fake::at(Timestamp(0));
        let ids: Vec<_> = (0..100).map(|_| ApprovalId::draw(&clock).unwrap()).collect();
        for id in &ids {
            assert_eq!(ApprovalId::parse(id.as_str()).as_ref(), Ok(id));
            assert_eq!(ids.iter().filter(|other| *other == id).count(), 1);
        }
    }

    #[test]
    fn what_is_made_later_sorts_later() {
        let clock = Fake::at(Timestamp(1_767_225_600_000));
        let earlier = SessionId::draw(&clock).unwrap();
        clock.pass(std::time::Duration::from_millis(1));
        assert!(earlier < SessionId::draw(&clock).unwrap());
    }

    #[test]
    fn another_shape_is_no_id() {
        let good = ApprovalId::draw(&Fake::at(Timestamp(0))).unwrap();
        let other = good.as_str().replace("apr_", "ses_");
        let longer = format!("{good}0");
        for text in ["", "apr_", "../../etc", &other, &longer, &good.as_str().to_uppercase()] {
            assert!(ApprovalId::parse(text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<ApprovalId>("\"apr_x\"").is_err());
    }
}
