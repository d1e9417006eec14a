//! Clicks and typing: what the thing acted on says it does, or asks for.
//!
//! Labels are read word by word in whatever language they are written (`lexicon/*.yaml`), never as
//! substrings. Values are judged by their check digits and never repeated in a fact.

mod click;
mod field;
mod fold;
mod lexicon;
mod name;
mod read;
mod value;

use crate::action::{Action, Field, Surface, UiOp};
use crate::analyze::Analysis;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::place::Scene;
use field::Ask;
use fold::fold;
use name::fold_name;
use read::Reading;

/// Labels and texts longer than this, in bytes, are not read to their end.
const MOST_LABEL: usize = 4 << 10;

/// What a click or an entry would do.
#[must_use]
pub fn analyze(action: &Action, _scene: &Scene<'_>) -> Analysis {
    let Action::Ui { surface, op, label, field, text, url } = action else {
        return Analysis::default();
    };
    let field = field.as_deref();
    let control =
        Control { label: label.as_deref(), field, text: text.as_deref(), url: url.as_deref() };
    let mut facts = Vec::new();
    match op {
        UiOp::Click => control.click(&mut facts),
        UiOp::Type | UiOp::Select => control.enter(&mut facts),
        UiOp::Submit => {
            control.click(&mut facts);
            facts.push(Fact::new(FactKind::FormSubmit, control.shown()));
        }
        UiOp::Press => control.press(&mut facts),
        UiOp::Scroll | UiOp::Hover => {}
    }
    if *op != UiOp::Scroll && *op != UiOp::Hover && control.is_long() {
        facts.push(Fact::new(FactKind::Bound, "a label longer than can be read"));
    }
    if *surface == Surface::App {
        for fact in &mut facts {
            fact.tags = fact.tags.and(Tags::of(&[Tag::App]));
        }
    }
    Analysis::of(facts)
}

/// What is acted on.
struct Control<'a> {
    label: Option<&'a str>,
    field: Option<&'a Field>,
    text: Option<&'a str>,
    url: Option<&'a str>,
}

impl Control<'_> {
    fn click(&self, facts: &mut Vec<Fact>) {
        let label = self.words();
        let reading = match (label, self.named()) {
            (Some(label), _) => Reading::of(&fold(label, MOST_LABEL)),
            (None, Some(name)) => Reading::of(&fold_name(name, MOST_LABEL)),
            (None, None) => return,
        };
        let sentence = label.is_some_and(|label| label.trim_end().ends_with(['.', '。']));
        let mut kinds = click::says(&reading, sentence);
        if kinds.is_empty() && click::only_assents(&reading) {
            kinds = self.assented();
        }
        facts.extend(kinds.into_iter().map(|kind| Fact::new(kind, self.shown())));
    }

    /// What a mere "Yes" says yes to: the words around it, or the page it stands on.
    fn assented(&self) -> Vec<FactKind> {
        let near = self.field.and_then(|field| field.nearby.as_deref());
        let said = near.map(|near| click::says(&Reading::of(&fold(near, MOST_LABEL)), false));
        if let Some(kinds) = said.filter(|kinds| !kinds.is_empty()) {
            return kinds;
        }
        // The query is anyone's to write; the path is the site's own.
        let path = self.url.and_then(|url| url.split(['?', '#']).next()).unwrap_or_default();
        let last = path.rsplit('/').filter(|part| !part.is_empty()).take(2);
        let mut kinds = Vec::new();
        for part in last {
            kinds.extend(click::says(&Reading::of(&fold_name(part, MOST_LABEL)), false));
        }
        kinds
    }

    fn enter(&self, facts: &mut Vec<Fact>) {
        let asked = field::asks(self.label, self.field);
        let given = self.text.and_then(|text| value::is(text, asked));
        for ask in [asked, given.filter(|given| asked != Some(*given))].into_iter().flatten() {
            if let Some(kind) = ask.fact() {
                facts.push(Fact::new(kind, self.shown()));
            }
        }
    }

    /// Keys: Enter sends the form it is pressed in, some shortcuts delete or quit.
    fn press(&self, facts: &mut Vec<Fact>) {
        let Some(key) = self.text.or(self.label) else { return };
        let key = fold(key, 64);
        match key.as_str() {
            "enter" | "return" | "numpadenter" | "space" => self.press_enter(&key, facts),
            "shift delete" | "cmd backspace" | "command backspace" | "meta backspace" => {
                facts.push(Fact::new(FactKind::UiDestructive, key));
            }
            "cmd q" | "command q" | "meta q" | "alt f4" | "ctrl q" | "control q" | "ctrl w"
            | "cmd w" => facts.push(Fact::new(FactKind::UiClose, key)),
            _ => {}
        }
    }

    fn press_enter(&self, key: &str, facts: &mut Vec<Fact>) {
        let role = self.field.and_then(|field| field.role.as_deref()).unwrap_or_default();
        let kind = self.field.and_then(|field| field.kind.as_deref()).unwrap_or_default();
        let button = ["button", "submit", "image"].iter().any(|known| kind == *known);
        if button || role.eq_ignore_ascii_case("button") {
            let label = self.label.filter(|_| self.text.is_some());
            Control { label, text: None, ..*self }.click(facts);
            if kind == "submit" || kind == "image" {
                facts.push(Fact::new(FactKind::FormSubmit, self.shown()));
            }
            return;
        }
        let label = self.label.filter(|_| self.text.is_some());
        let asked = field::asks(label, self.field);
        let form = matches!(asked, Some(Ask::Password | Ask::Finance | Ask::Identity | Ask::Code));
        if form && key != "space" {
            facts.push(Fact::new(FactKind::FormSubmit, self.shown()));
        }
    }

    /// What a person reads on the control.
    fn words(&self) -> Option<&str> {
        let field = self.field;
        [
            self.label,
            field.and_then(|field| field.aria_label.as_deref()),
            field.and_then(|field| field.label.as_deref()),
            field.and_then(|field| field.title.as_deref()),
        ]
        .into_iter()
        .flatten()
        .find(|text| text.chars().any(char::is_alphanumeric))
    }

    /// What its author called it.
    fn named(&self) -> Option<&str> {
        let field = self.field?;
        field.name.as_deref().or(field.id.as_deref())
    }

    fn shown(&self) -> String {
        let shown = self.words().or_else(|| self.named()).unwrap_or_default();
        shown.chars().take(80).collect()
    }

    fn is_long(&self) -> bool {
        let field = self.field;
        [
            self.label,
            field.and_then(|field| field.aria_label.as_deref()),
            field.and_then(|field| field.label.as_deref()),
            field.and_then(|field| field.name.as_deref()),
            field.and_then(|field| field.id.as_deref()),
        ]
        .into_iter()
        .flatten()
        .any(|text| text.len() > MOST_LABEL)
    }
}
