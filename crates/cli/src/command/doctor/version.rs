//! The version of a host, and whether it was tested.

use std::process::Command;

use serde::Serialize;

use crate::host::Tested;
use crate::program::version;

/// The version of a host.
#[derive(Debug, Serialize)]
pub(super) struct VersionState {
    pub(super) version: String,
    /// True when we have tested it.
    pub(super) tested: bool,
}

/// Returns the version of a host, if it is installed and reports one.
pub(super) fn version_of(tested: Tested) -> Option<VersionState> {
    let version = version(&mut Command::new(tested.program)).ok().flatten()?;
    let (major, minor, patch) = version;
    Some(VersionState {
        version: format!("{major}.{minor}.{patch}"),
        tested: (tested.from..=tested.to).contains(&version),
    })
}
