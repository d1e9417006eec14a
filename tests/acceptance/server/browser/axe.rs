//! axe-core, which looks for what keeps people out. It is fetched by `cargo xtask setup`.

use std::fs;

use serde_json::Value;

use super::{Page, missing, target};

/// The script that checks a page.
pub(in super::super) struct Axe(String);

impl Axe {
    /// Reads it from where it was fetched to. In CI it has to be there.
    pub(in super::super) fn load() -> Option<Self> {
        let path = target().join("axe-core/package/axe.min.js");
        if let Ok(script) = fs::read_to_string(&path) {
            return Some(Self(script));
        }
        missing("there is no axe-core");
        None
    }

    /// Everything it finds wrong with a page, one line each.
    pub(in super::super) fn look(&self, page: &Page) -> Vec<String> {
        self.run(page, "{}")
    }

    /// What is wrong with the colours of a page.
    pub(in super::super) fn look_at_colours(&self, page: &Page) -> Vec<String> {
        self.run(page, "{runOnly: ['color-contrast', 'link-in-text-block']}")
    }

    fn run(&self, page: &Page, options: &str) -> Vec<String> {
        page.eval(&format!("{};undefined", self.0));
        // What it calls best practice counts as much as what WCAG says.
        let found = page.eval(&format!(
            "axe.run(document, {{resultTypes: ['violations'], preload: false, ...{options}}})
                .then(found => found.violations.flatMap(violation => violation.nodes.map(
                    node => `${{violation.id}}: ${{node.target}} ${{node.failureSummary}}`)))",
        ));
        let found = found.as_array().expect("a list").iter().filter_map(Value::as_str);
        found.map(|line| line.replace('\n', " ")).collect()
    }
}
