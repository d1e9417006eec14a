//! The accuracy of the core on real actions that nobody here wrote.
//!
//! The corpus is beside the workspace and is not part of it: where it is missing, this task says so
//! and does nothing. Rows of it are never written to the repository, only counts.

use std::fs;
use std::path::PathBuf;

use crate::Result;
use crate::generated::{How, settle};
use crate::process::root;

mod corpus;
mod floor;
mod report;
mod tally;

use tally::Tally;

const PAGE: &str = "docs/quality.md";
const NOTES: &str = "docs/quality-notes.md";

/// Scores every file of the corpus.
///
/// # Errors
/// Under `--check`: a floor is missed or the page is stale. Otherwise: the corpus or the page
/// cannot be read or written.
pub(crate) fn run(args: &[&str]) -> Result {
    let options = Options::parse(args)?;
    let folder = folder();
    if !folder.is_dir() {
        println!("skipped: no corpus at ../shared/data");
        return Ok(());
    }
    let tallies = corpus::files(&folder)?
        .iter()
        .filter(|file| options.wants(&corpus::name(file)))
        .map(|file| tally::score(file))
        .collect::<Result<Vec<Tally>>>()?;
    print!("{}", report::files(&tallies));
    if let Some(most) = options.show {
        for tally in &tallies {
            print!("{}", report::wrong_rows(tally, most));
        }
    }
    if options.only.is_some() || options.show.is_some() {
        return Ok(());
    }
    let floors = floor::measure(&tallies);
    let notes = fs::read_to_string(root().join(NOTES)).unwrap_or_default();
    print!("{}", report::floors(&floors));
    let stale = settle(PAGE, &report::page(&tallies, &floors, &notes), options.how, "quality");
    let missed: Vec<_> =
        floors.iter().filter(|floor| !floor.holds()).map(|f| f.what.as_str()).collect();
    if options.how == How::Check && !missed.is_empty() {
        return Err(format!("below the floor: {}", missed.join(", ")).into());
    }
    stale
}

fn folder() -> PathBuf {
    root().join("../shared/data")
}

/// The options of the task.
struct Options<'a> {
    how: How,
    /// Only files whose name begins like this.
    only: Option<&'a str>,
    /// The number of wrong rows of each file to print.
    show: Option<usize>,
}

impl<'a> Options<'a> {
    fn parse(args: &[&'a str]) -> Result<Self> {
        let mut options = Self { how: How::Write, only: None, show: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("`{arg}` needs a value"));
            match *arg {
                "--check" => options.how = How::Check,
                "--only" => options.only = Some(value()?),
                "--show" => options.show = Some(value()?.parse()?),
                other => return Err(format!("unknown option `{other}`").into()),
            }
        }
        Ok(options)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_none_or(|only| name.starts_with(only))
    }
}
