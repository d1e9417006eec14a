//! `countersign redact`: masks secrets and personal data.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use countersign_core::redact::redact;
use serde::{Deserialize, Serialize};

use crate::batch;
use crate::exit::Exit;

/// Mask secrets and personal data in a text
///
/// Reads a file or standard input and writes it to standard output with everything found masked.
/// With --batch every line of standard input is {"text":…}, and every line of output is
/// {"text":…,"found":[{"kind":…,"span":…}]}, where a span is its start and end in bytes of the text given.
#[derive(Debug, Args)]
pub(crate) struct Redact {
    /// The file to read [default: standard input]
    #[arg(conflicts_with = "batch")]
    file: Option<PathBuf>,
    /// Answer each JSON line of standard input
    #[arg(long)]
    batch: bool,
}

/// One line of a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: String,
}

/// The answer to a line that could not be parsed. It does not repeat the line.
#[derive(Serialize)]
struct Refusal {
    error: String,
    line: usize,
}

impl Redact {
    pub(super) fn run(self) -> Result<Exit> {
        if self.batch {
            return batch::each_line(
                io::BufReader::new(io::stdin().lock()),
                io::stdout().lock(),
                |line| {
                    let line: Line = serde_json::from_str(line).context("not {\"text\":…}")?;
                    Ok(redact(&line.text))
                },
                |error, line| Refusal { error, line },
            );
        }
        let mut bytes = Vec::new();
        if let Some(path) = &self.file {
            bytes = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        } else {
            io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
        }
        // One invalid byte in a log must not withhold all of it: it becomes U+FFFD.
        let text = String::from_utf8_lossy(&bytes);
        io::stdout().lock().write_all(redact(&text).text.as_bytes())?;
        Ok(Exit::Done)
    }
}
