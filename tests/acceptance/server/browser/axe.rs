//! axe-core, which finds accessibility problems. It is downloaded by `cargo xtask setup`.

use std::fs;

use serde_json::Value;

use super::{Page, missing, target};

/// The script that checks a page.
pub(in super::super) struct Axe(String);

impl Axe {
    /// Reads the downloaded script. In CI it has to be there.
    pub(in super::super) fn load() -> Option<Self> {
        let path = target().join("axe-core/package/axe.min.js");
        if let Ok(script) = fs::read_to_string(&path) {
            return Some(Self(script));
        }
        missing("there is no axe-core");
        None
    }

    /// Returns all problems of a page, one per line.
    pub(in super::super) fn look(&self, page: &Page) -> Vec<String> {
        self.run(page, "{}")
    }

    /// Returns the problems with the colours of a page.
    pub(in super::super) fn look_at_colours(&self, page: &Page) -> Vec<String> {
        self.run(page, "{runOnly: ['color-contrast', 'link-in-text-block']}")
    }

    fn run(&self, page: &Page, options: &str) -> Vec<String> {
        page.eval(&format!("{};undefined", self.0));
        // Its best practices count as much as WCAG.
        let found = page.eval(&format!(
            "axe.run(document, {{resultTypes: ['violations'], preload: false, ...{options}}})
                .then(found => found.violations.flatMap(violation => violation.nodes.map(
                    node => `${{violation.id}}: ${{node.target}} ${{node.failureSummary}}`)))",
        ));
        let found = found.as_array().expect("a list").iter().filter_map(Value::as_str);
        found.map(|line| line.replace('\n', " ")).collect()
    }
}
