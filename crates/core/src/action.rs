//! The actions that an agent proposes, in one type.
//!
//! The JSON is tagged by `kind`; unknown fields and unknown kinds are errors, so that nothing an
//! agent sends is silently left out of the judgement.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An action that the agent proposes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// A command line or script for bash.
    Shell {
        /// The script, as it would be given to `bash -c`.
        command: String,
        /// The folder it would run in, when that is not the context's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// Source text for an interpreter or a database.
    Code {
        /// The language it is written in.
        language: Language,
        /// The text itself.
        source: String,
        /// For SQL: `postgres`, `mysql`, `sqlite`…
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dialect: Option<String>,
    },
    /// Reads a file.
    FileRead {
        /// Absolute, or relative to the working folder.
        path: String,
    },
    /// Creates or overwrites a file.
    FileWrite {
        /// Absolute, or relative to the working folder.
        path: String,
        /// The content that would be written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    /// Deletes a file.
    FileDelete {
        /// Absolute, or relative to the working folder.
        path: String,
    },
    /// Lists a folder.
    FileList {
        /// Absolute, or relative to the working folder.
        path: String,
    },
    /// Opens a page.
    Navigate {
        /// As written; may be relative to the context's `base_url`.
        url: String,
    },
    /// Sends a request.
    HttpRequest {
        /// `GET`, `POST`…
        method: String,
        /// The address it is sent to.
        url: String,
        /// The body that is sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<String>,
    },
    /// Clicks, types, submits…
    Ui {
        /// A page or a desktop app.
        surface: Surface,
        /// The operation.
        op: UiOp,
        /// The text on the thing acted on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The form field acted on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<Box<Field>>,
        /// The text that is typed or chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The page it happens on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The element of a worker's page that it is for, such as `e12`. Label, field and page are
        /// then read from that page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
    /// Takes a picture of the screen.
    Screenshot {},
    /// Reads the page.
    ReadDom {},
    /// Downloads files.
    Download {
        /// Each file.
        files: Vec<DownloadFile>,
    },
    /// Prints pages to PDF.
    ExportPdf {
        /// The number of pages.
        pages: u64,
    },
    /// Signs in with credentials from the vault.
    Login {
        /// The site to sign in at.
        site: String,
    },
    /// Sends a notification the user configured.
    Notify {
        /// The channel it is sent by.
        channel: String,
    },
    /// Uses an app skill.
    Skill {
        /// `app.skill`.
        skill: String,
        /// Its parameters.
        #[serde(default)]
        params: BTreeMap<String, Value>,
    },
    /// Runs an AppleScript.
    Applescript {
        /// The source.
        script: String,
    },
    /// Calls an MCP tool.
    Tool {
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
        /// The server's description of the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The arguments.
        #[serde(default)]
        arguments: BTreeMap<String, Value>,
        /// The server's hints.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Value>,
        /// The input schema the server declared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
    },
    /// An action known only by name.
    Named {
        /// For example `deleteAccount`.
        name: String,
        /// Its parameters.
        #[serde(default)]
        params: BTreeMap<String, Value>,
    },
}

/// The name of the action by which an agent asks a person something and does nothing itself.
pub const QUESTION: &str = "request_confirmation";

impl Action {
    /// Reports whether an agent only asks a person. A yes answers the agent and permits nothing
    /// else.
    #[must_use]
    pub fn is_question(&self) -> bool {
        matches!(self, Self::Named { name, .. } if name == QUESTION)
    }

    /// The `kind` tag.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Shell { .. } => "shell",
            Self::Code { .. } => "code",
            Self::FileRead { .. } => "file_read",
            Self::FileWrite { .. } => "file_write",
            Self::FileDelete { .. } => "file_delete",
            Self::FileList { .. } => "file_list",
            Self::Navigate { .. } => "navigate",
            Self::HttpRequest { .. } => "http_request",
            Self::Ui { .. } => "ui",
            Self::Screenshot {} => "screenshot",
            Self::ReadDom {} => "read_dom",
            Self::Download { .. } => "download",
            Self::ExportPdf { .. } => "export_pdf",
            Self::Login { .. } => "login",
            Self::Notify { .. } => "notify",
            Self::Skill { .. } => "skill",
            Self::Applescript { .. } => "applescript",
            Self::Tool { .. } => "tool",
            Self::Named { .. } => "named",
        }
    }

    /// The text that findings' spans point into, where there is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Shell { command, .. } => Some(command),
            Self::Code { source, .. } => Some(source),
            Self::FileRead { path }
            | Self::FileWrite { path, .. }
            | Self::FileDelete { path }
            | Self::FileList { path } => Some(path),
            Self::Navigate { url } | Self::HttpRequest { url, .. } => Some(url),
            Self::Applescript { script } => Some(script),
            Self::Ui { label, .. } => label.as_deref(),
            Self::Skill { skill, .. } => Some(skill),
            Self::Named { name, .. } => Some(name),
            Self::Tool { tool, .. } => Some(tool),
            Self::Login { site } => Some(site),
            Self::Notify { channel } => Some(channel),
            Self::Screenshot {}
            | Self::ReadDom {}
            | Self::Download { .. }
            | Self::ExportPdf { .. } => None,
        }
    }
}

/// The language of source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Python 2 or 3.
    Python,
    /// JavaScript or TypeScript, for node, deno or bun.
    Javascript,
    /// Perl 5.
    Perl,
    /// Ruby.
    Ruby,
    /// SQL in any of the common dialects.
    Sql,
}

/// The surface that a user-interface action happens on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// A web page.
    Browser,
    /// A desktop app.
    App,
}

/// The operation of a user-interface action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each variant is the word it stands for")]
pub enum UiOp {
    Click,
    Type,
    Select,
    Submit,
    Press,
    Scroll,
    Hover,
}

/// A form field, as far as the page describes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is the HTML attribute of its name")]
pub struct Field {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autocomplete: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(alias = "aria-label", skip_serializing_if = "Option::is_none")]
    pub aria_label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputmode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxlength: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearby: Option<String>,
}

/// One file of a download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DownloadFile {
    /// The address it is fetched from.
    pub url: String,
    /// The name it would get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its size, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}
