//! Locks: the settings that the organisation fixes with `lock:` in its file.
//!
//! A locked setting keeps the value of the organisation's file, or the default if that file does
//! not set it. A lower layer that says otherwise is ignored with a notice; it may still tighten.

use serde::{Deserialize, Serialize};

/// Something the organisation can pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lock {
    /// The profile: no file, session or caller names another.
    Profile,
    /// Asking, and every verdict: lower layers only raise.
    Safety,
    /// Autonomous mode stays off.
    Autonomous,
    /// Sessions confirm by themselves only what the organisation's `auto_confirm` names.
    AutoConfirm,
    /// Programs with a key ask as everybody does.
    ProgramKeys,
    /// The time for which records are kept.
    Retention,
    /// People do not erase their own records.
    Erasure,
}

impl Lock {
    /// Every one.
    pub const ALL: [Self; 7] = [
        Self::Profile,
        Self::Safety,
        Self::Autonomous,
        Self::AutoConfirm,
        Self::ProgramKeys,
        Self::Retention,
        Self::Erasure,
    ];

    /// The word used in configuration files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Safety => "safety",
            Self::Autonomous => "autonomous",
            Self::AutoConfirm => "auto_confirm",
            Self::ProgramKeys => "program_keys",
            Self::Retention => "retention",
            Self::Erasure => "erasure",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::load;

    #[test]
    fn every_lock_is_written_as_its_word() {
        for lock in Lock::ALL {
            let json = serde_json::to_string(&lock).unwrap();
            assert_eq!(json, format!("\"{}\"", lock.as_str()));
            let policy = load([&format!("lock: [{}]", lock.as_str()), "", ""]).unwrap();
            assert_eq!(policy.locks(), [lock]);
        }
    }

    #[test]
    fn only_the_organisation_locks() {
        for files in [["", "lock: [profile]\n", ""], ["", "", "lock: [profile]\n"]] {
            let error = load(files).unwrap_err();
            assert!(error.to_string().ends_with("`lock` is only for the organisation to set"));
            assert_eq!((error.line, error.column), (1, 1));
        }
        assert!(load(["lock: [profil]\n", "", ""]).is_err());
    }
}
