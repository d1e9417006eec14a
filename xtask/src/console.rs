//! The console in a browser, beyond the checks of CI: screenshots for the documentation, and
//! timings.

use std::fs;

use crate::generated::{How, between, settle};
use crate::process::{PROFILE, cargo, root, run, target};
use crate::{Result, setup};

/// The screenshots of the tests that are shown in the documentation.
const SHOWN: &[&str] = &["inbox-light-1440", "inbox-dark-360", "audit-light-1440"];

/// The largest size of a screenshot: a page of documentation should load quickly.
const MOST_BYTES: u64 = 200_000;

const PAGE: &str = "docs/performance.md";

/// Takes screenshots of every page, and copies a few to `docs/images`.
///
/// # Errors
/// A page cannot be opened, or a screenshot is too large.
pub(crate) fn screenshots() -> Result {
    setup::run_all()?;
    let words = ["test", "--package", "countersign", "--test", "acceptance", "--profile", PROFILE];
    run(cargo(&words).args(["--", "console::pictures"]).env("COUNTERSIGN_CI", "1"))?;
    let (from, to) = (target().join("screenshots"), root().join("docs/images"));
    fs::create_dir_all(&to)?;
    for name in SHOWN {
        let name = format!("{name}.png");
        let bytes = fs::copy(from.join(&name), to.join(&name))?;
        if bytes > MOST_BYTES {
            return Err(format!("{name} has {bytes} bytes, of at most {MOST_BYTES}").into());
        }
        println!("docs/images/{name}: {bytes} bytes");
    }
    Ok(())
}

/// Measures how soon a question is shown and an answer takes effect, and rewrites the table.
///
/// # Errors
/// The build or the measurement failed.
pub(crate) fn bench() -> Result {
    setup::run_all()?;
    let words = ["test", "--package", "countersign", "--test", "acceptance", "--release"];
    let mut command = cargo(&words);
    command.args(["--", "--nocapture", "console::speed"]).env("COUNTERSIGN_CI", "1");
    if std::env::var_os("CONSOLE_TRIES").is_none() {
        command.env("CONSOLE_TRIES", "200");
    }
    run(&mut command)?;
    let table = fs::read_to_string(target().join("console-speed.md"))?;
    let page = fs::read_to_string(root().join(PAGE))?;
    settle(PAGE, &between(&page, "console", &table)?, How::Write, "bench console")
}
