//! The order of a decision: analyze, apply rules, let policy settle.

use crate::action::Action;
use crate::analyze::{self, Analysis};
use crate::context::Context;
use crate::digest::digest;
use crate::place::Scene;
use crate::policy::Policy;
use crate::rule;
use crate::verdict::{Finding, Judgement};

/// Judges one action.
#[must_use]
pub fn judge(action: &Action, policy: &Policy, context: &Context) -> Judgement {
    let findings = findings(action, policy, context);
    policy.settle(action, context, findings, digest(action))
}

/// Everything the rules say about one action, strictest first.
fn findings(action: &Action, policy: &Policy, context: &Context) -> Vec<Finding> {
    let analysis = analyze(action, context, policy);
    let mut findings = Vec::new();
    rule::apply(&analysis.commands, &analysis.facts, &mut findings);
    policy.apply_own_rules(action, &analysis, &mut findings);
    findings.sort_by(|a, b| b.verdict.cmp(&a.verdict).then(b.risk.cmp(&a.risk)));
    findings
}

fn analyze(action: &Action, context: &Context, policy: &Policy) -> Analysis {
    let mut scene = Scene::new(context, policy.sensitive_paths());
    match action {
        Action::Shell { command, cwd } => {
            if let Some(cwd) = cwd {
                scene.cwd = Some(cwd);
            }
            analyze::shell::analyze(command, &scene)
        }
        Action::Code { language, source, dialect } => {
            analyze::code::analyze(*language, source, dialect.as_deref(), &scene)
        }
        Action::FileRead { .. }
        | Action::FileWrite { .. }
        | Action::FileDelete { .. }
        | Action::FileList { .. } => analyze::path::analyze(action, &scene),
        // The other kinds get their analyzers with their profiles.
        Action::Navigate { .. }
        | Action::HttpRequest { .. }
        | Action::Ui { .. }
        | Action::Screenshot {}
        | Action::ReadDom {}
        | Action::Download { .. }
        | Action::ExportPdf { .. }
        | Action::Login { .. }
        | Action::Notify { .. }
        | Action::Skill { .. }
        | Action::Applescript { .. }
        | Action::Tool { .. }
        | Action::Named { .. } => analyze::unsupported(action),
    }
}
