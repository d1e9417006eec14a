//! `countersign config`: where the configuration is, whether it is right, and a first one.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::around::Around;
use crate::beneath::Root;
use crate::exit::Exit;
use crate::settings::{self, Layer, PROJECT};
use crate::show::{one_line, visible};

/// Check, show or start the configuration
///
/// Three files count, if they are there: the organisation's `/etc/countersign/config.yaml`; the
/// user's `$COUNTERSIGN_CONFIG`, or else `$XDG_CONFIG_HOME/countersign/config.yaml`; the project's
/// `.countersign.yaml` at the root of the workspace, which may only tighten. When one of them is
/// wrong, nothing is judged and nothing runs.
#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Read every configuration file, or just this one, and say what is wrong
    Check {
        /// A file to check by itself, as if it were the user's
        file: Option<PathBuf>,
    },
    /// Show the files that count and what is in them
    Show {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a first configuration file, with everything explained
    Init {
        /// The project's file in this workspace, not the user's
        #[arg(long)]
        project: bool,
    },
}

impl Config {
    pub(super) fn run(self) -> Result<Exit> {
        match self.what {
            What::Check { file } => check(file.as_deref()),
            What::Show { json } => show(json),
            What::Init { project: true } => init_project(),
            What::Init { project: false } => init_user(),
        }
    }
}

fn layers() -> Result<Vec<Layer>> {
    settings::layers(&Around::default().context()?)
}

fn check(file: Option<&Path>) -> Result<Exit> {
    let layers = match file {
        Some(file) => vec![settings::layer_at(file)?],
        None => layers()?,
    };
    let mut report = String::new();
    for layer in &layers {
        let state = if layer.text.is_some() { "right" } else { "not there" };
        let (owner, path) = (layer.owner.as_str(), shown(&layer.path));
        let _ = writeln!(report, "{owner}: {path}: {state}");
    }
    settings::policy_of(layers)?;
    io::stdout().lock().write_all(report.as_bytes())?;
    Ok(Exit::Done)
}

/// A file that counts, as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    layer: &'static str,
    path: String,
    text: Option<&'a str>,
}

fn show(json: bool) -> Result<Exit> {
    let layers = layers()?;
    let mut out = io::stdout().lock();
    if json {
        let shown = layers.iter().map(|layer| Shown {
            layer: layer.owner.as_str(),
            path: layer.path.display().to_string(),
            text: layer.text.as_deref(),
        });
        serde_json::to_writer_pretty(&mut out, &shown.collect::<Vec<_>>())?;
        writeln!(out)?;
    } else {
        for layer in &layers {
            let state = if layer.text.is_some() { "" } else { " (not there)" };
            writeln!(out, "# {}: {}{state}", layer.owner.as_str(), shown(&layer.path))?;
            out.write_all(visible(layer.text.as_deref().unwrap_or_default()).as_bytes())?;
        }
    }
    drop(out);
    settings::policy_of(layers)?;
    Ok(Exit::Done)
}

fn init_user() -> Result<Exit> {
    let path = settings::user_path().ok_or_else(|| anyhow!("no $HOME to put it in"))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", shown(folder)))?;
    }
    write(File::create_new(&path), &path, USER)
}

fn init_project() -> Result<Exit> {
    let context = Around::default().context()?;
    let workspace = context.workspace.unwrap_or_default();
    let root = Root::open(Path::new(&workspace));
    let file = root.and_then(|root| root.create(Path::new(PROJECT)));
    write(file, &Path::new(&workspace).join(PROJECT), FOR_PROJECT)
}

fn write(file: io::Result<File>, path: &Path, text: &str) -> Result<Exit> {
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write `{}`", shown(path)))?;
    writeln!(io::stdout().lock(), "wrote {}", shown(path))?;
    Ok(Exit::Done)
}

fn shown(path: &Path) -> String {
    one_line(&path.display().to_string()).into_owned()
}

/// The user's first file.
const USER: &str = "\
# Countersign's configuration for this user.
# `countersign config check` tells what is wrong with it, `countersign schema config` what may be
# in it. While it is wrong, nothing is judged and nothing runs.

profile: coding-agent

safety:
  # false: nothing is asked any more. Hard blocks stay.
  enabled: true
  # Paths that are asked about before they are written.
  sensitive_paths: []
  # Commands that are asked about, as patterns.
  custom_patterns: []
";

/// A project's first file.
const FOR_PROJECT: &str = "\
# What Countersign watches besides, in this repository. This file can only make it stricter.

safety:
  # Paths that are asked about before they are written.
  sensitive_paths: []
";
