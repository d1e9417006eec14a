//! The explanation of a judgement: the action with each finding underlined, the reasons, the layer
//! that decided, and the changes that would change the verdict.

use std::fmt::Write as _;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use countersign_core::rule::Rule;
use countersign_core::{
    Action, Certainty, Effects, Finding, Judgement, Policy, Step, Verdict, rule,
};

use crate::show::{MOST_FINDINGS, Paint, cut, one_line, visible};

/// The number of lines shown of an action in which nothing is underlined.
const MOST_LINES: usize = 20;
const MOST_COLUMNS: usize = 160;

/// Returns the explanation as a text without colours.
pub(crate) fn text(
    action: &Action,
    policy: &Policy,
    judgement: &Judgement,
    effects: &Effects,
    changes: &[String],
) -> String {
    Page { action, policy, paint: Paint::Plain }.text(judgement, effects, changes)
}

/// An explanation, as a text for people.
pub(crate) struct Page<'a> {
    pub(crate) action: &'a Action,
    pub(crate) policy: &'a Policy,
    pub(crate) paint: Paint,
}

impl Page<'_> {
    /// Writes the page.
    pub(crate) fn text(
        &self,
        judgement: &Judgement,
        effects: &Effects,
        changes: &[String],
    ) -> String {
        let verdict = self.paint.verdict(judgement.verdict);
        let mut page = format!("{verdict}: {}\n", one_line(&judgement.reason));
        if !judgement.findings.iter().any(|finding| self.underlined(finding).is_some()) {
            self.action_alone(&mut page);
        }
        for finding in judgement.findings.iter().take(MOST_FINDINGS) {
            let _ = write!(page, "\n{}\n", self.finding(finding));
        }
        if let Some(more @ 1..) = judgement.findings.len().checked_sub(MOST_FINDINGS) {
            let _ = write!(page, "\n…and {more} more findings; --json has them all\n");
        }
        touched(&mut page, effects);
        risk(&mut page, judgement);
        layers(&mut page, &judgement.trace);
        page.push_str("\nWhat would change it\n");
        for change in changes {
            let _ = writeln!(page, "  {}", one_line(change));
        }
        page
    }

    /// Writes the action without underlining.
    fn action_alone(&self, page: &mut String) {
        let text = self.action.text().map(visible).unwrap_or_default();
        let mut lines = text.lines();
        for line in lines.by_ref().take(MOST_LINES) {
            let _ = writeln!(page, "  {}", cut(line, MOST_COLUMNS));
        }
        if lines.next().is_some() {
            page.push_str("  …\n");
        }
    }

    fn finding(&self, finding: &Finding) -> String {
        let level = match finding.verdict {
            Verdict::Block => Level::ERROR,
            Verdict::Confirm => Level::WARNING,
            Verdict::Warn | Verdict::Allow => Level::NOTE,
        };
        let reason = one_line(&finding.reason);
        let rule = one_line(&finding.rule);
        let title = level.with_name(finding.verdict.as_str()).primary_title(reason).id(rule);
        let text = self.action.text().map(visible).unwrap_or_default();
        let (level, category) = (finding.risk.as_str(), word(finding.category));
        let mut group = Group::with_title(title);
        if let Some(span) = self.underlined(finding) {
            let label = format!("{level} risk, {category}");
            let underline = AnnotationKind::Primary.span(span).label(label);
            group = group.element(Snippet::source(&*text).fold(true).annotation(underline));
        } else {
            let message = format!("{level}, {category}");
            group = group.element(Level::NOTE.with_name("risk").message(message));
        }
        for (name, note) in self.notes(finding) {
            group = group.element(Level::NOTE.with_name(name).message(note));
        }
        let renderer = match self.paint {
            Paint::Plain => Renderer::plain(),
            Paint::Colour => Renderer::styled(),
        };
        renderer.decor_style(DecorStyle::Ascii).render(&[group])
    }

    /// The finding's span in the text as shown, if the finding has one.
    fn underlined(&self, finding: &Finding) -> Option<std::ops::Range<usize>> {
        let text = self.action.text()?;
        let [start, end] = finding.span?;
        // Escaping makes the shown text longer: the length of the escaped prefix is the offset.
        let shown = |at: u32| {
            let at = text.floor_char_boundary(usize::try_from(at).unwrap_or(usize::MAX));
            text.get(..at).map(|before| visible(before).len())
        };
        Some(shown(start)?..shown(end)?).filter(|span| !span.is_empty())
    }

    fn notes(&self, finding: &Finding) -> Vec<(&'static str, String)> {
        let rule = find(&finding.rule, self.policy);
        let why = rule.and_then(|rule| rule.why.as_deref());
        let why = why.map(|why| ("why", one_line(why).into_owned()));
        let instead = finding.instead.as_deref();
        let instead = instead.map(|instead| ("instead", one_line(instead).into_owned()));
        why.into_iter().chain(instead).collect()
    }
}

/// Finds a rule by its id, among ours and the user's.
pub(crate) fn find<'a>(id: &str, policy: &'a Policy) -> Option<&'a Rule> {
    rule::find(id).or_else(|| policy.own_rules().find(|rule| rule.id == id))
}

/// The name of a category in words.
pub(crate) fn word(category: countersign_core::Category) -> String {
    let word = serde_json::to_value(category).unwrap_or_default();
    word.as_str().unwrap_or_default().replace('_', " ")
}

/// Writes the effects of the action, and the parts that could not be analysed.
fn touched(page: &mut String, effects: &Effects) {
    if effects.effects.is_empty() && effects.opaque.is_empty() {
        return;
    }
    page.push_str("\nWhat it would touch\n");
    for effect in effects.effects.iter().take(MOST_FINDINGS) {
        let possible = match effect.certainty {
            Certainty::Certain => "",
            Certainty::Possible => " (possible)",
        };
        let target = cut(&one_line(&effect.target), MOST_COLUMNS).to_string();
        let _ = writeln!(page, "  {:8} {target}{possible}", effect.effect.name());
    }
    let more = effects.effects.len().saturating_sub(MOST_FINDINGS) + effects.more_effects;
    if more > 0 {
        let _ = writeln!(page, "  …and {more} more");
    }
    for text in &effects.opaque {
        let _ = writeln!(page, "  opaque   {}", one_line(text));
    }
}

fn risk(page: &mut String, judgement: &Judgement) {
    let risk = &judgement.risk;
    if risk.factors.is_empty() {
        return;
    }
    let _ = write!(page, "\nRisk {} ({:.2})\n", risk.level.as_str(), risk.score);
    for factor in &risk.factors {
        let _ = writeln!(
            page,
            "  {:+.2}  {}: {}",
            factor.value,
            one_line(&factor.name),
            one_line(&factor.why)
        );
    }
}

fn layers(page: &mut String, trace: &[Step]) {
    page.push_str("\nDecided by\n");
    let decider = decider(trace);
    let width = trace.iter().map(|step| step.layer.chars().count()).max().unwrap_or(0);
    for (at, step) in trace.iter().enumerate() {
        let mark = if Some(at) == decider { '>' } else { ' ' };
        let (layer, because) = (one_line(&step.layer), one_line(&step.because));
        let _ = writeln!(page, "{mark} {layer:width$}  {:7}  {because}", step.said.as_str());
    }
}

/// The index of the layer after which the verdict no longer changed.
fn decider(trace: &[Step]) -> Option<usize> {
    let last = trace.last()?.said;
    let before = trace.iter().rposition(|step| step.said != last);
    Some(before.map_or(0, |at| at + 1))
}

#[cfg(test)]
mod tests {
    use countersign_core::{Category, RiskLevel};

    use super::*;

    fn step(said: Verdict) -> Step {
        Step { layer: String::new(), said, because: String::new(), unasked: None }
    }

    fn finding(span: [u32; 2]) -> Finding {
        Finding {
            rule: "shell.test".to_owned(),
            category: Category::DestructiveActions,
            risk: RiskLevel::High,
            verdict: Verdict::Confirm,
            reason: "Does it".to_owned(),
            span: Some(span),
            instead: Some("something else".to_owned()),
            hard: false,
            fact: None,
        }
    }

    fn shown(command: &str, span: [u32; 2]) -> String {
        let action = Action::Shell { command: command.to_owned(), cwd: None };
        let policy = Policy::default();
        Page { action: &action, policy: &policy, paint: Paint::Plain }.finding(&finding(span))
    }

    #[test]
    fn the_decider_is_the_layer_after_which_nothing_changed() {
        let trace = [Verdict::Allow, Verdict::Confirm, Verdict::Confirm].map(step);
        assert_eq!(decider(&trace), Some(1));
        let trace = [Verdict::Block, Verdict::Block].map(step);
        assert_eq!(decider(&trace), Some(0));
        assert_eq!(decider(&[]), None);
    }

    #[test]
    fn the_span_is_underlined_where_it_is_shown() {
        let text = shown("ls\u{1b}; danger now", [5, 11]);
        let lines: Vec<_> = text.lines().collect();
        let source = lines.iter().position(|line| line.contains("danger")).unwrap();
        let at = lines[source].find("danger").unwrap();
        assert!(lines[source].contains("\\u{1b}"), "{text}");
        assert_eq!(lines[source + 1].find('^'), Some(at), "{text}");
        assert_eq!(lines[source + 1].matches('^').count(), 6, "{text}");
    }

    #[test]
    fn a_span_that_points_nowhere_does_no_harm() {
        for span in [[0, 0], [5, 2], [1, 2], [900, 1000], [u32::MAX, u32::MAX]] {
            assert!(shown("é日\n\n🎉", span).contains("shell.test"));
        }
        for text in ["", "\n", "a\r\nb\tc", "\u{202e}"] {
            for start in 0..6 {
                for end in 0..6 {
                    assert!(shown(text, [start, end]).contains("shell.test"));
                }
            }
        }
    }
}
