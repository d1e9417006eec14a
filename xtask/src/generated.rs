//! Generated files: rewritten, or compared in CI.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::process::root;

/// The way to treat a generated file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// Write it.
    Write,
    /// Fail if it would change.
    Check,
}

impl How {
    /// Parses the words after a task's name.
    ///
    /// # Errors
    /// Anything but `--check`.
    pub(crate) fn from_args(args: &[&str]) -> Result<Self> {
        match args {
            [] => Ok(Self::Write),
            ["--check"] => Ok(Self::Check),
            other => Err(format!("unknown option `{}`", other.join(" ")).into()),
        }
    }
}

/// Writes or compares one file, given relative to the workspace.
///
/// # Errors
/// It differs under [`How::Check`], or cannot be written.
pub(crate) fn settle(file: &str, text: &str, how: How, task: &str) -> Result {
    let path = root().join(file);
    let before = fs::read_to_string(&path).unwrap_or_default();
    if before == text {
        println!("{file}: unchanged");
        return Ok(());
    }
    match how {
        How::Write => {
            write(&path, text)?;
            println!("{file}: written");
            Ok(())
        }
        How::Check => Err(format!("{file} is stale: run `cargo xtask {task}`").into()),
    }
}

fn write(path: &Path, text: &str) -> Result {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, text)?)
}

/// Replaces the text between two markers.
///
/// # Errors
/// A marker is missing.
pub(crate) fn between(text: &str, name: &str, new: &str) -> Result<String> {
    let (start, end) = (format!("<!-- {name}:start -->"), format!("<!-- {name}:end -->"));
    let missing = || format!("no `{start}` … `{end}`");
    let (before, rest) = text.split_once(&start).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{start}\n{}\n{end}{after}", new.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_markers_changes() {
        let text = "a\n<!-- t:start -->\nold\n<!-- t:end -->\nb\n";
        assert_eq!(between(text, "t", "new\n").unwrap(), text.replace("old", "new"));
        assert!(between(text, "other", "new").is_err());
    }
}
