//! The action on the command line: a kind and its input, or JSON.

use std::io::{self, Read as _};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use countersign_core::Action;
use serde_json::{Map, Value};

/// The action to judge.
#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "INPUT is what `--help` calls it")]
pub(crate) struct Input {
    /// The kind of action
    #[arg(value_enum, hide_possible_values = true)]
    kind: Option<Kind>,
    /// The command, source, path, URL or name; `-` reads it from standard input
    input: Option<String>,
    /// The whole action as JSON instead; `-` reads it from standard input
    #[arg(long, value_name = "JSON", conflicts_with_all = ["kind", "input"])]
    action: Option<String>,
    #[command(flatten)]
    more: More,
}

/// What some kinds say besides their input.
#[derive(Debug, Args)]
#[command(next_help_heading = "Parts of an action")]
struct More {
    /// code: python, javascript, perl, ruby or sql
    #[arg(long)]
    language: Option<String>,
    /// code in SQL: postgres, mysql, sqlite…
    #[arg(long)]
    dialect: Option<String>,
    /// `file_write`: what would be written
    #[arg(long, value_name = "TEXT")]
    content: Option<String>,
    /// `http_request`: GET, POST… [default: GET]
    #[arg(long)]
    method: Option<String>,
    /// `http_request`: what would be sent
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
}

/// What kind of action it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Kind {
    Shell,
    Code,
    FileRead,
    FileWrite,
    FileDelete,
    FileList,
    Navigate,
    HttpRequest,
    Ui,
    Screenshot,
    ReadDom,
    Download,
    ExportPdf,
    Login,
    Notify,
    Skill,
    Applescript,
    Tool,
    Named,
}

/// The kinds that take one input on the command line, for `--help`.
pub(crate) const KINDS: &str = "Kinds and their input:
  shell COMMAND          a command line or script for bash
  code SOURCE            source text, with --language
  file_read PATH         also file_write, file_delete, file_list
  navigate URL           opens a page
  http_request URL       with --method and --body
  applescript SCRIPT     runs an AppleScript
  skill NAME             an app's skill, such as email.send
  named NAME             an action known only by its name
  login SITE             also notify CHANNEL, export_pdf PAGES
  screenshot, read_dom   without input
  ui, download, tool     only with --action";

/// The field in which a kind keeps its input.
enum InputField {
    /// A text field.
    Text(&'static str),
    /// A number field.
    Number(&'static str),
    /// No field.
    None,
    /// Several fields: only JSON can express them.
    Json,
}

impl Input {
    /// Reads and validates the action.
    ///
    /// # Errors
    /// Nothing was named, an input is missing, superfluous or not UTF-8, or the parts do not form
    /// an action.
    pub(crate) fn action(&self) -> Result<Action> {
        if let Some(json) = &self.action {
            if !self.more.is_empty() {
                bail!("--action holds the whole action; leave the other parts out");
            }
            let json = if json == "-" { read_stdin()? } else { json.clone() };
            return serde_json::from_str(&json).context("not an action");
        }
        let Some(kind) = self.kind else {
            bail!("say what to judge: a kind and its input, or --action JSON (see --help)");
        };
        let name = kind.to_possible_value().map(|value| value.get_name().to_owned());
        let name = name.unwrap_or_default();
        let mut fields = self.more.fields(kind);
        if let Some((field, value)) = self.field(kind, &name)? {
            fields.insert(field.to_owned(), value);
        }
        fields.insert("kind".to_owned(), Value::String(name.clone()));
        serde_json::from_value(Value::Object(fields))
            .map_err(|error| anyhow!("not a `{name}` action: {error}"))
    }

    fn field(&self, kind: Kind, name: &str) -> Result<Option<(&'static str, Value)>> {
        let input_field = kind.input_field();
        let field = match (&input_field, &self.input) {
            (InputField::Json, _) => {
                bail!("`{name}` has several parts: give it with --action JSON")
            }
            (InputField::None, None) => return Ok(None),
            (InputField::None, Some(_)) => bail!("`{name}` takes no input"),
            (InputField::Text(field) | InputField::Number(field), None) => {
                bail!("`{name}` needs its {field}; `-` reads it from standard input")
            }
            (InputField::Text(field) | InputField::Number(field), Some(_)) => *field,
        };
        let text = match self.input.as_deref() {
            Some("-") => kind.trimmed(read_stdin()?),
            given => given.unwrap_or_default().to_owned(),
        };
        if matches!(input_field, InputField::Number(_)) {
            let number: u64 =
                text.parse().map_err(|_| anyhow!("`{text}` is not a number of {field}"))?;
            return Ok(Some((field, number.into())));
        }
        Ok(Some((field, Value::String(text))))
    }
}

impl More {
    fn is_empty(&self) -> bool {
        self.named().iter().all(|(_, value)| value.is_none())
    }

    fn named(&self) -> [(&'static str, &Option<String>); 5] {
        [
            ("language", &self.language),
            ("dialect", &self.dialect),
            ("content", &self.content),
            ("method", &self.method),
            ("body", &self.body),
        ]
    }

    fn fields(&self, kind: Kind) -> Map<String, Value> {
        let mut fields = Map::new();
        if kind == Kind::HttpRequest {
            fields.insert("method".to_owned(), "GET".into());
        }
        for (name, value) in self.named() {
            if let Some(value) = value {
                fields.insert(name.to_owned(), Value::String(value.clone()));
            }
        }
        fields
    }
}

impl Kind {
    const fn input_field(self) -> InputField {
        match self {
            Self::Shell => InputField::Text("command"),
            Self::Code => InputField::Text("source"),
            Self::FileRead | Self::FileWrite | Self::FileDelete | Self::FileList => {
                InputField::Text("path")
            }
            Self::Navigate | Self::HttpRequest => InputField::Text("url"),
            Self::Login => InputField::Text("site"),
            Self::Notify => InputField::Text("channel"),
            Self::Skill => InputField::Text("skill"),
            Self::Applescript => InputField::Text("script"),
            Self::Named => InputField::Text("name"),
            Self::ExportPdf => InputField::Number("pages"),
            Self::Screenshot | Self::ReadDom => InputField::None,
            Self::Ui | Self::Download | Self::Tool => InputField::Json,
        }
    }

    /// Removes a trailing newline. In a program it is part of the text; after a path or name it
    /// came from `echo`.
    fn trimmed(self, mut text: String) -> String {
        if !matches!(self, Self::Shell | Self::Code | Self::Applescript) && text.ends_with('\n') {
            text.pop();
        }
        text
    }
}

/// Reads all of standard input.
///
/// # Errors
/// It cannot be read, or is not UTF-8.
pub(crate) fn read_stdin() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    String::from_utf8(bytes).map_err(|_| anyhow!("standard input is not UTF-8"))
}
