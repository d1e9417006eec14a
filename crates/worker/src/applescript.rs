//! The executor of AppleScript.
//!
//! The script goes to `osascript` by its standard input, exactly as it was judged. Every result
//! carries the analysis of the script's safety, and a failure is explained with its remedies.

use std::ffi::OsStr;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;

use countersign_core::Action;
use countersign_core::applescript::{SafetyAnalysis, explain};
use countersign_wire::work::{Ended, ExecutorKind, WorkError, WorkItem, WorkResult};
use serde_json::json;

use crate::environment;
use crate::executor::{Executor, Running};
use crate::order::Argument;
use crate::permit::Permit;
use crate::process::Ready;
use crate::program::{Places, ProgramError};
use crate::settings::Settings;
use crate::workspace::Workspace;

/// The executor of AppleScript.
#[derive(Debug)]
pub(crate) struct AppleScript {
    workspace: Arc<Workspace>,
    settings: Settings,
}

impl AppleScript {
    pub(crate) const fn new(workspace: Arc<Workspace>, settings: Settings) -> Self {
        Self { workspace, settings }
    }

    fn search(&self) -> String {
        environment::search_path(&self.settings.environment, self.workspace.path())
    }

    fn ready(&self, item: &WorkItem, script: &str) -> Result<Ready, Box<WorkResult>> {
        let refuse = |name: &str, message: String| {
            Box::new(WorkResult::because(Ended::Refused, name, message))
        };
        let place = self
            .workspace
            .folder_of(&item.context, None)
            .map_err(|error| refuse(error.name(), error.to_string()))?;
        let folder = self
            .workspace
            .folder(place.path())
            .map_err(|error| refuse(error.name(), error.to_string()))?;
        let search = self.search();
        let places = Places { search: OsStr::new(&search), folder: folder.as_fd() };
        let program = places.find(OsStr::new("osascript")).map_err(|error| match error {
            ProgramError::NotFound(_) => refuse(
                "NeedsMacOs",
                "this needs macOS: there is no `osascript` on this machine".to_owned(),
            ),
            error @ ProgramError::NotRunnable { .. } => refuse("NotStarted", error.to_string()),
        })?;
        let workspace: &Path = self.workspace.path();
        Ok(Ready {
            program,
            // The script comes from standard input.
            arguments: vec![Argument::Word("-".to_owned())],
            environment: environment::for_work(&self.settings.environment, workspace),
            folder_path: workspace.join(place.path()).to_string_lossy().into_owned(),
            folder,
            input: Some(script.to_owned()),
            script: None,
        })
    }
}

impl Executor for AppleScript {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::Applescript
    }

    fn works_here(&self) -> bool {
        let search = self.search();
        let folder = self.workspace.as_fd();
        Places { search: OsStr::new(&search), folder }.find(OsStr::new("osascript")).is_ok()
    }

    fn execute(&self, permit: Permit, running: Running<'_>) -> WorkResult {
        let item = permit.into_item();
        let Action::Applescript { script } = &item.action else {
            let message = "this is not a script for AppleScript";
            return WorkResult::because(Ended::Refused, "NotSupported", message);
        };
        let mut result = match self.ready(&item, script) {
            Ok(ready) => ready.run(&self.settings.supervisor, item.limits, running),
            Err(refused) => *refused,
        };
        let analysis = SafetyAnalysis::of(script, &item.context);
        result.value = json!({ "safetyAnalysis": analysis });
        if result.ended == Ended::Failed && !result.errors.is_empty() {
            explained(&mut result);
        }
        result
    }
}

/// Adds to a failure what its error means, and what can be done.
fn explained(result: &mut WorkResult) {
    let told =
        if result.errors.tail.is_empty() { &result.errors.head } else { &result.errors.tail };
    let explained = explain(told.trim());
    let message = explained.to_string();
    if let serde_json::Value::Object(value) = &mut result.value {
        value.insert("explained".to_owned(), json!(explained));
    }
    result.error = Some(WorkError { name: "AppleScriptError".to_owned(), message, stack: None });
}
