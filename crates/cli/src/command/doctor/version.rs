//! The version that a program reports.

use std::path::Path;
use std::process::Command;

use serde::Serialize;

use super::start::run;
use crate::host::Tested;

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

/// Returns the version that a program reports, if it reports one.
///
/// # Errors
/// It cannot be started, or does not end.
pub(crate) fn version(program: &mut Command) -> Result<Option<(u32, u32, u32)>, String> {
    let reply = run(program.arg("--version"), None, Path::new("."))?;
    Ok(parse_version(&reply.out).or_else(|| parse_version(&reply.err)))
}

/// Parses the first three numbers with dots between them.
fn parse_version(text: &str) -> Option<(u32, u32, u32)> {
    let words = text.split(|char: char| !char.is_ascii_digit() && char != '.');
    words.into_iter().find_map(|word| {
        let mut numbers = word.split('.').map(str::parse);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch))) => Some((major, minor, patch)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        assert_eq!(parse_version("2.1.325 (Claude Code)\n"), Some((2, 1, 325)));
        assert_eq!(parse_version("codex-cli 0.166.0"), Some((0, 166, 0)));
        assert_eq!(parse_version("1.109.2\nabc\nx64"), Some((1, 109, 2)));
        assert_eq!(parse_version("none"), None);
    }
}
