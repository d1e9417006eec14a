//! `countersign config`: finds, checks and shows the configuration, and writes a first one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, Subcommand};
use countersign_core::policy::{Line, STARTER};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::beneath::Root;
use crate::context_options::ContextOptions;
use crate::exit::Exit;
use crate::layer::{self, Layer, PROJECT};
use crate::settings;
use crate::show::one_line;

/// Check, show or create the configuration
///
/// Three files are read, if they exist: the organisation's `/etc/countersign/config.yaml`; the
/// user's `$COUNTERSIGN_CONFIG`, or else `$XDG_CONFIG_HOME/countersign/config.yaml`; the project's
/// `.countersign.yaml` at the root of the workspace, which may only tighten. Where `hook.policy_key`
/// is set, the organisation's comes from its server instead. When one of them is wrong, nothing is
/// judged and nothing runs.
#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Read every configuration file, or just this one, and report what is wrong
    Check {
        /// A file to check by itself, as if it were the user's
        file: Option<PathBuf>,
    },
    /// Show the files in use, each resulting setting with the layer that decides it, and the
    /// digest of the policy
    Show {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write an initial configuration file, with everything explained
    Init {
        /// Write the project's file in this workspace, not the user's
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
    settings::layers(&ContextOptions::default().context()?)
}

fn check(file: Option<&Path>) -> Result<Exit> {
    let layers = match file {
        Some(file) => vec![layer::layer_at(file)?],
        None => layers()?,
    };
    let mut report = states(&layers, "valid");
    settings::sections_of(layers.clone())?;
    let policy = settings::policy_of(layers)?;
    for notice in policy.notices() {
        let _ = writeln!(report, "note: {}", one_line(&notice.to_string()));
    }
    io::stdout().lock().write_all(report.as_bytes())?;
    Ok(Exit::Done)
}

/// The state of each file: present or not.
fn states(layers: &[Layer], there: &str) -> String {
    let mut states = String::new();
    for layer in layers {
        let state = if layer.text.is_some() { there } else { "not found" };
        let (owner, path) = (layer.owner.as_str(), shown(&layer.path));
        let _ = writeln!(states, "{owner}: {path}: {state}");
    }
    states
}

/// The state of a configuration file, as JSON.
#[derive(Serialize)]
struct FileState {
    layer: &'static str,
    path: String,
    there: bool,
}

fn show(json: bool) -> Result<Exit> {
    let layers = layers()?;
    let states = states(&layers, "found");
    let files: Vec<_> = layers
        .iter()
        .map(|layer| FileState {
            layer: layer.owner.as_str(),
            path: layer.path.display().to_string(),
            there: layer.text.is_some(),
        })
        .collect();
    let policy = settings::policy_of(layers.clone())?;
    let sections = section_values(&layers)?;
    let mut out = io::stdout().lock();
    if json {
        let mut all = json!({
            "files": files,
            "settings": policy.settings(),
            "lines": policy.lines(),
            "digest": policy.digest(),
            "notices": policy.notices().iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        let mut from = Map::new();
        for Section { name, value, origins } in sections {
            if let Some(all) = all.as_object_mut() {
                all.insert(name.to_owned(), value);
            }
            from.insert(name.to_owned(), json!(origins));
        }
        if let Some(all) = all.as_object_mut() {
            all.insert("from".to_owned(), Value::Object(from));
        }
        serde_json::to_writer_pretty(&mut out, &all)?;
        writeln!(out)?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{states}")?;
    for Line { name, value, layer } in policy.lines() {
        writeln!(out, "{}: {} ({layer})", one_line(&name), one_line(&value))?;
    }
    for section in sections {
        write!(out, "{}:\n{}", section.name, indented(&readable(&section)))?;
    }
    for notice in policy.notices() {
        writeln!(out, "note: {}", one_line(&notice.to_string()))?;
    }
    writeln!(out, "policy digest: {}", policy.digest())?;
    Ok(Exit::Done)
}

/// A section beside the policy: its value, and the layer of each field.
struct Section {
    name: &'static str,
    value: Value,
    origins: BTreeMap<String, &'static str>,
}

fn section_values(layers: &[Layer]) -> Result<Vec<Section>> {
    let sections = settings::sections_of(layers.to_vec())?;
    let settings::Sections { gate, channels, server, hook, mcp } = sections;
    let channels: Vec<_> = channels.iter().map(|channel| channel.settings.name()).collect();
    let values = [
        ("gate", serde_json::to_value(gate)?),
        ("server", serde_json::to_value(server)?),
        ("hook", serde_json::to_value(hook)?),
        ("mcp", serde_json::to_value(mcp)?),
        ("channels", json!(channels)),
    ];
    let section = |(name, value): (&'static str, Value)| {
        let fields = value.as_object().into_iter().flatten().map(|(field, _)| field.clone());
        let origins = fields.map(|field| {
            let layer = settings::origin(layers, name, &field)?;
            Ok((field, layer))
        });
        Ok(Section { name, origins: origins.collect::<Result<_>>()?, value })
    };
    values.into_iter().map(section).collect()
}

/// A section for people: one field to a line, with its layer, and lists below their name.
fn readable(section: &Section) -> String {
    let mut text = String::new();
    if let Value::Array(items) = &section.value {
        let _ = match items.as_slice() {
            [] => writeln!(text, "none"),
            items => {
                items.iter().try_for_each(|item| writeln!(text, "{}", one_line(&item_text(item))))
            }
        };
    }
    for (name, value) in section.value.as_object().into_iter().flatten() {
        let layer = section.origins.get(name).copied().unwrap_or("default");
        match value {
            Value::Array(items) if items.is_empty() => {
                let _ = writeln!(text, "{name}: none ({layer})");
            }
            Value::Array(items) => {
                let _ = writeln!(text, "{name}: ({layer})");
                for item in items {
                    let _ = writeln!(text, "  {}", one_line(&item_text(item)));
                }
            }
            value => {
                let _ = writeln!(text, "{name}: {} ({layer})", one_line(&item_text(value)));
            }
        }
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().flat_map(|line| ["  ", line, "\n"]).collect()
}

fn item_text(item: &Value) -> String {
    match item {
        Value::String(text) => text.clone(),
        Value::Null => "not set".to_owned(),
        other => other.to_string(),
    }
}

fn init_user() -> Result<Exit> {
    let path = layer::user_path().ok_or_else(|| anyhow!("no $HOME to put it in"))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", shown(folder)))?;
    }
    write(File::create_new(&path), &path, STARTER)
}

fn init_project() -> Result<Exit> {
    let context = ContextOptions::default().context()?;
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

/// A project's first file.
const FOR_PROJECT: &str = "\
# What Countersign watches besides, in this repository. This file can only make it stricter.

safety:
  # Paths that are asked about before they are written.
  sensitive_paths: []
";
