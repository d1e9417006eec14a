//! The home folder of the user.

use std::env;
use std::path::PathBuf;

/// The user's home folder, when the environment names one.
pub(crate) fn home() -> Option<PathBuf> {
    env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}
