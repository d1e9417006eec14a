//! A receiver of the record: told every record, one after the other, by [`crate::forward`].

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::subscription::Records;
use crate::audit::{Record, export};

/// A receiver of records. Lives on a thread of its own, so it may take its time.
pub trait Sink: Send + fmt::Debug {
    /// The name it has in statistics.
    fn name(&self) -> &str;

    /// Sends one record.
    ///
    /// # Errors
    /// It did not get through.
    fn send(&mut self, record: &Record) -> Result<(), SinkError>;

    /// Looks whether what was sent before has got through, as far as that can be seen.
    ///
    /// # Errors
    /// The connection broke since.
    fn check(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    /// Returns the number of the first record that may be lost, because the connection broke before
    /// anything showed that it had arrived.
    fn first_unconfirmed(&mut self) -> Option<u64> {
        None
    }
}

/// Why a record did not get through. Holds no token and no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// It is sent again, after so long if the other side said so.
    #[error("{why}")]
    Later {
        /// What is wrong.
        why: String,
        /// When the other side wants to be asked again.
        wish: Option<Duration>,
    },
    /// The receiver does not take this record, and is sent the next one.
    #[error("{0}")]
    Refused(String),
}

impl SinkError {
    pub(super) fn later(why: impl Into<String>) -> Self {
        Self::Later { why: why.into(), wish: None }
    }
}

/// A receiver, and the records that it is sent.
#[derive(Debug)]
pub struct Feed {
    /// The receiver.
    pub sink: Box<dyn Sink>,
    /// The records.
    pub records: Records,
    /// Tells this receiver from others, over restarts. May hold a secret.
    pub destination: String,
}

/// A record as JSON, of at most so many bytes: one that is longer comes without its payload, and
/// says so. Its number finds the rest.
pub(super) fn bounded(record: &Record, most_bytes: usize, write: fn(&Value) -> String) -> String {
    let mut all = export(record);
    let whole = write(&all);
    if whole.len() <= most_bytes {
        return whole;
    }
    if let Some(fields) = all.as_object_mut() {
        fields.insert("payload".to_owned(), Value::Null);
        fields.insert("left_out".to_owned(), "payload".into());
    }
    write(&all)
}
