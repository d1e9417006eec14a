//! The kinds of damage to the chain.

use std::fmt;

/// A kind of damage to the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// Records are missing before this one.
    Gap {
        /// The record that should have been next.
        missing: u64,
        /// The record that came instead.
        found: u64,
    },
    /// The content of this record does not match its digest.
    Changed(u64),
    /// This record does not follow from the previous one.
    Unlinked(u64),
    /// A signature is not the server's, or signs something else.
    Forged(&'static str, u64),
    /// The chain ends before or after the end that the server signed.
    End {
        /// The last record.
        found: u64,
        /// The number of the end that the server signed.
        signed: u64,
    },
    /// A signed checkpoint is missing.
    NoCheckpoint(u64),
    /// The signed end is missing.
    NoEnd,
    /// A record that was noted down earlier is no longer in the chain.
    NotAsNoted(u64),
    /// Content is missing, and no record says that it was erased.
    Emptied {
        /// The first of the records.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// Content is present that a record names as erased.
    Restored {
        /// The first of the records.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// The number of records whose number is below 1.
    Stray(u64),
    /// The file beside the key that holds the minimum length of the chain is missing.
    NoteMissing,
    /// The file beside the key that holds the minimum length of the chain cannot be read.
    NoteUnreadable,
    /// The chain is shorter than it was.
    Shortened {
        /// The last record.
        found: u64,
        /// The record that the chain had already reached.
        noted: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gap { missing, found } => {
                write!(f, "record {missing} is missing: {found} comes in its place")
            }
            Self::Changed(number) => write!(f, "record {number} was changed"),
            Self::Unlinked(number) => {
                write!(f, "record {number} does not follow from the one before it")
            }
            Self::Forged(what, number) => {
                write!(f, "the {what} at record {number} is not signed by this server")
            }
            Self::End { found, signed } => {
                write!(f, "the chain ends at record {found}, and was signed to end at {signed}")
            }
            Self::NoCheckpoint(number) => {
                write!(f, "the checkpoint at record {number} is missing")
            }
            Self::NoEnd => f.write_str("the end of the chain is not signed"),
            Self::NotAsNoted(number) => {
                write!(f, "record {number} is not the one that was noted down")
            }
            Self::Emptied { first, last } => {
                write!(f, "{} without content that no record says was erased", span(*first, *last))
            }
            Self::Restored { first, last } => {
                write!(f, "{} with content that was erased", span(*first, *last))
            }
            Self::Stray(count) => write!(f, "{count} records have a number below 1"),
            Self::NoteMissing => {
                f.write_str("the file that says how long the chain is at least is missing")
            }
            Self::NoteUnreadable => {
                f.write_str("the file that says how long the chain is at least cannot be read")
            }
            Self::Shortened { found, noted } => {
                write!(f, "the chain ends at record {found}, and had already come to {noted}")
            }
        }
    }
}

fn span(first: u64, last: u64) -> String {
    if first == last {
        format!("record {first} is")
    } else {
        format!("records {first} to {last} are")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_told_with_its_numbers() {
        let emptied = |first, last| Damage::Emptied { first, last }.to_string();
        assert_eq!(emptied(3, 3), "record 3 is without content that no record says was erased");
        assert_eq!(
            emptied(3, 5),
            "records 3 to 5 are without content that no record says was erased"
        );
        assert_eq!(
            Damage::Gap { missing: 6, found: 9 }.to_string(),
            "record 6 is missing: 9 comes in its place"
        );
    }
}
