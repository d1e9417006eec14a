//! Properties of every judgement of every action; shared by the tests and the fuzz targets.

use countersign_core::analyze::bounds;
use countersign_core::{Action, Category, Context, Judgement, Policy, Verdict, judge, rule};
use shuck_parser::parser::{ParseStatus, Parser};

/// Judges an action by the default policy and checks the properties.
///
/// # Panics
/// A property does not hold.
pub(crate) fn judged(action: &Action, context: &Context) -> Judgement {
    let policy = Policy::default();
    let judgement = judge(action, &policy, context);
    assert_eq!(judgement, judge(action, &policy, context), "the same question, another answer");
    spans_point_into_the_text(action, &judgement);
    what_is_not_understood_is_never_let_through(action, &judgement);
    hard_findings_block(&judgement);
    the_judgement_is_well_formed(&judgement);
    judgement
}

fn spans_point_into_the_text(action: &Action, judgement: &Judgement) {
    for finding in &judgement.findings {
        let Some([start, end]) = finding.span else { continue };
        let text = action.text().unwrap_or_default();
        let inside = text.get(start as usize..end as usize);
        assert!(inside.is_some(), "{} has span {start}..{end} of {}", finding.rule, text.len());
    }
}

fn what_is_not_understood_is_never_let_through(action: &Action, judgement: &Judgement) {
    let doubt = judgement.findings.iter().any(|finding| {
        finding.category == Category::NotUnderstood && finding.verdict >= Verdict::Confirm
    });
    // Not for long scripts, on which the grammar gives up at a length of its own.
    let unparsed = matches!(action, Action::Shell { command, .. }
        if command.len() < 16 * 1024 && !parses(command));
    if doubt || unparsed {
        assert!(judgement.verdict >= Verdict::Confirm, "not understood, yet {judgement:?}");
    }
    let is_path_or_command = matches!(
        action,
        Action::Shell { .. }
            | Action::FileRead { .. }
            | Action::FileWrite { .. }
            | Action::FileDelete { .. }
            | Action::FileList { .. }
    );
    if is_path_or_command && action.text().is_some_and(|text| text.contains('\0')) {
        assert_eq!(judgement.verdict, Verdict::Block, "a NUL got through");
    }
}

fn hard_findings_block(judgement: &Judgement) {
    let hard = |id: &str| rule::find(id).is_some_and(|rule| rule.hard);
    if let Some(finding) = judgement.findings.iter().find(|finding| hard(&finding.rule)) {
        assert_eq!(judgement.verdict, Verdict::Block, "{} was lowered", finding.rule);
    }
}

fn the_judgement_is_well_formed(judgement: &Judgement) {
    let Judgement { risk, digest, reason, findings, .. } = judgement;
    assert!((0.0..=1.0).contains(&risk.score), "score {}", risk.score);
    assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{digest}");
    assert!(!reason.is_empty() && !reason.contains('\n'), "not one line: {reason:?}");
    assert!(findings.is_sorted_by(|a, b| a.verdict >= b.verdict), "the strictest comes first");
    assert!(serde_json::to_string(judgement).is_ok(), "must be sayable in JSON");
}

/// Reports whether the bash grammar accepts this script.
pub(crate) fn parses(script: &str) -> bool {
    bounds::fits(script) && Parser::new(script).parse().status == ParseStatus::Clean
}
