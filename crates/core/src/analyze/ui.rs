//! Clicks and typing: the effect of a control, or the data that it asks for.
//!
//! Labels are read word by word in any language (`lexicon/*.yaml`), never as substrings. Values are
//! judged by their check digits and never repeated in a fact.

mod click;
mod field;
mod fold;
mod icon;
mod lexicon;
mod look;
mod name;
mod read;
mod shape;
mod submit;
mod value;

use crate::action::{Action, Field, Surface, UiOp};
use crate::analyze::{Analysis, url, whole};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location::Scene;
use fold::fold;
use name::fold_name;
use read::Reading;

/// The length in bytes past which labels and texts are not read to their end.
const MOST_LABEL: usize = 4 << 10;

/// Returns the facts of a click or an entry.
#[must_use]
pub fn analyze(action: &Action, scene: &Scene<'_>) -> Analysis {
    let Action::Ui { surface, op, label, field, text, url, reference: _ } = action else {
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
    let tags = if *surface == Surface::App { Tags::of(&[Tag::App]) } else { Tags::NONE };
    let span = label.as_deref().filter(|label| control.words() == Some(*label)).and_then(whole);
    for fact in &mut facts {
        fact.tags = fact.tags.and(tags);
        fact.span = span;
    }
    facts.extend(url.iter().flat_map(|url| foreign(url, scene)));
    Analysis::of(facts)
}

/// Returns the facts of a page that is not among the origins an agent was given.
fn foreign(page: &str, scene: &Scene<'_>) -> impl Iterator<Item = Fact> {
    let facts =
        if scene.context.allowed_origins.is_some() { url::facts(page, scene) } else { Vec::new() };
    let outside = [FactKind::UrlForeign, FactKind::UrlInvalid, FactKind::Bound];
    facts.into_iter().filter(move |fact| outside.contains(&fact.kind)).map(|fact| fact.at(None))
}

/// The control that is acted on.
struct Control<'a> {
    label: Option<&'a str>,
    field: Option<&'a Field>,
    text: Option<&'a str>,
    url: Option<&'a str>,
}

impl Control<'_> {
    fn click(&self, facts: &mut Vec<Fact>) {
        let kinds = match (self.words(), self.named(), self.sign()) {
            (Some(label), ..) => self.said(label),
            (None, Some(name), _) => {
                let reading = Reading::of(&fold_name(name, MOST_LABEL));
                let said = click::says(&reading, false);
                if said.is_empty() && click::only_assents(&reading) {
                    self.assented()
                } else {
                    said
                }
            }
            (None, None, Some(icon::Sign::Does(kind))) => vec![kind],
            (None, None, Some(icon::Sign::Assents)) => self.assented(),
            (None, None, Some(icon::Sign::Nothing) | None) => return,
        };
        facts.extend(kinds.into_iter().map(|kind| Fact::new(kind, self.shown())));
    }

    /// Returns the effects of the words on the control, as they are written and as they are seen.
    fn said(&self, label: &str) -> Vec<FactKind> {
        let reading = Reading::of(&fold(label, MOST_LABEL));
        let sentence = label.trim_end().ends_with(['.', '。']);
        let mut kinds = click::says(&reading, sentence);
        for seen in look::seen(label) {
            let other = click::says(&Reading::of(&seen), sentence);
            kinds.extend(other.into_iter().filter(|kind| *kind != FactKind::UiClose));
        }
        kinds.dedup();
        let undecided = kinds.iter().all(|kind| *kind == FactKind::UiChange);
        if undecided && click::only_assents(&reading) {
            kinds.extend(self.assented());
        }
        if kinds.is_empty() && icon::names_a_bin(label) {
            kinds.push(FactKind::UiDestructive);
        }
        if kinds.is_empty() && read::is_unreadable(label) {
            kinds.push(FactKind::UiUnknown);
        }
        kinds
    }

    /// Returns the symbol on a control that shows no word.
    fn sign(&self) -> Option<icon::Sign> {
        let field = self.field;
        [
            self.label,
            field.and_then(|field| field.aria_label.as_deref()),
            field.and_then(|field| field.label.as_deref()),
            field.and_then(|field| field.title.as_deref()),
        ]
        .into_iter()
        .flatten()
        .find_map(icon::says)
    }

    /// Returns the effects that a mere "Yes" agrees to: by the words around it, or by its page.
    fn assented(&self) -> Vec<FactKind> {
        let near = self.field.and_then(|field| field.nearby.as_deref());
        let said = near.map(|near| click::says(&Reading::of(&fold(near, MOST_LABEL)), false));
        if let Some(kinds) = said.filter(|kinds| !kinds.is_empty()) {
            return kinds;
        }
        // Anyone can write the query; the path is the site's own.
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
        if self.text.is_some_and(submit::ends_in_enter) && submit::sends(self.field) {
            facts.push(Fact::new(FactKind::FormSubmit, self.shown()));
        }
    }

    /// Follows keys: Enter sends the form it is pressed in, some shortcuts delete or quit.
    fn press(&self, facts: &mut Vec<Fact>) {
        let Some(written) = self.text.or(self.label) else { return };
        let key = if written == " " { "space".to_owned() } else { fold(written, 64) };
        // A press of something that is not a key is a press of the button with that label.
        if self.text.is_none() && !submit::is_key(&key) {
            return self.click(facts);
        }
        match key.as_str() {
            "enter" | "return" | "numpadenter" | "space" => self.press_enter(&key, facts),
            "ctrl enter" | "control enter" | "cmd enter" | "command enter" | "meta enter"
            | "ctrl return" | "cmd return" | "command return" | "meta return" => {
                facts.push(Fact::new(FactKind::FormSubmit, self.shown()));
            }
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
        let button = ["button", "submit", "image"].contains(&kind);
        let labelled = self.field.is_none() && self.text.is_some() && self.label.is_some();
        if labelled {
            Control { text: None, ..*self }.click(facts);
        }
        if button || role.eq_ignore_ascii_case("button") {
            let label = self.label.filter(|_| self.text.is_some());
            Control { label, text: None, ..*self }.click(facts);
            if kind == "submit" || kind == "image" {
                facts.push(Fact::new(FactKind::FormSubmit, self.shown()));
            }
            return;
        }
        if key != "space" && submit::sends(self.field) {
            facts.push(Fact::new(FactKind::FormSubmit, self.shown()));
        }
    }

    /// Returns the visible words on the control.
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

    /// Returns the author's name of the control.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    fn kinds(action: &str) -> Vec<FactKind> {
        let action: Action = serde_json::from_str(action).unwrap();
        facts(&action).iter().map(|fact| fact.kind).collect()
    }

    fn facts(action: &Action) -> Vec<Fact> {
        analyze(action, &Scene::new(&Context::default(), &[])).facts
    }

    #[test]
    fn looking_changes_nothing() {
        for op in ["hover", "scroll"] {
            let action = format!(r#"{{"kind":"ui","surface":"app","op":"{op}","label":"Delete"}}"#);
            assert!(kinds(&action).is_empty());
        }
    }

    #[test]
    fn a_form_is_sent_whatever_its_button_says() {
        let submit = |label: &str| {
            kinds(&format!(
                r#"{{"kind":"ui","surface":"browser","op":"submit","label":"{label}"}}"#
            ))
        };
        assert_eq!(submit("Log in"), [FactKind::FormSubmit]);
        assert_eq!(submit("Place order"), [FactKind::UiFinal, FactKind::FormSubmit]);
    }

    #[test]
    fn enter_sends_the_form_it_is_pressed_in() {
        let press = |field: &str| {
            kinds(&format!(
                r#"{{"kind":"ui","surface":"browser","op":"press","text":"Enter","field":{field}}}"#
            ))
        };
        assert_eq!(press(r#"{"type":"password"}"#), [FactKind::FormSubmit]);
        assert_eq!(press(r#"{"type":"text","name":"city"}"#), [FactKind::FormSubmit]);
        assert!(press(r#"{"type":"search"}"#).is_empty());
        let delete = r#"{"role":"button","aria_label":"Delete account"}"#;
        assert_eq!(press(delete), [FactKind::UiDestructive]);
    }

    #[test]
    fn a_text_that_ends_in_enter_is_sent() {
        let typed = |text: &str, field: &str| {
            kinds(&format!(
                r#"{{"kind":"ui","surface":"browser","op":"type","text":"{text}","field":{field}}}"#
            ))
        };
        assert_eq!(typed("hi\\n", "{}"), [FactKind::FormSubmit]);
        assert_eq!(typed("hi{Enter}", r#"{"name":"x"}"#), [FactKind::FormSubmit]);
        assert!(typed("hi", "{}").is_empty());
        assert!(typed("hi\\n", r#"{"type":"search"}"#).is_empty());
        assert!(typed("a\\nb\\n", r#"{"type":"textarea"}"#).is_empty());
    }

    #[test]
    fn a_mere_yes_means_what_stands_beside_it_or_in_the_address() {
        let yes = |rest: &str| {
            kinds(&format!(
                r#"{{"kind":"ui","surface":"browser","op":"click","label":"Yes"{rest}}}"#
            ))
        };
        assert!(yes("").is_empty());
        assert_eq!(yes(r#","field":{"nearby":"Delete this site?"}"#), [FactKind::UiDestructive]);
        assert_eq!(yes(r#","url":"https://e.com/delete-account""#), [FactKind::UiDestructive]);
        assert!(yes(r#","url":"https://e.com/welcome?next=delete-account""#).is_empty());
    }

    #[test]
    fn what_an_app_shows_is_tagged() {
        let action = r#"{"kind":"ui","surface":"app","op":"click","label":"삭제"}"#;
        let facts = facts(&serde_json::from_str(action).unwrap());
        assert!(facts.iter().all(|fact| fact.tags.has(Tag::App)));
        assert_eq!(facts.len(), 1);
    }

    #[test]
    fn a_value_is_never_repeated() {
        let card = ["4111", "1111", "1111", "1111"].concat();
        let action = format!(
            r#"{{"kind":"ui","surface":"browser","op":"type","label":"Notes","text":"{card}"}}"#
        );
        let facts = facts(&serde_json::from_str(&action).unwrap());
        assert_eq!(facts.len(), 1);
        assert!(facts.iter().all(|fact| !fact.subject.contains("4111")));
    }

    #[test]
    fn a_label_of_a_megabyte_is_cut_and_told() {
        for part in [
            "a", "delete ", "삭제", "削除", "が", "passwort", " ", "\u{200B}", "e\u{301}", "ลบ",
            "ก", "حذف ", "\u{64B}",
        ] {
            let label = part.repeat((1 << 20) / part.len());
            for op in ["click", "type", "submit", "press"] {
                let action = serde_json::json!({
                    "kind": "ui", "surface": "browser", "op": op, "label": label,
                    "text": label, "field": {"name": label, "nearby": label, "class": label},
                });
                let facts = facts(&serde_json::from_value(action).unwrap());
                assert!(facts.iter().any(|fact| fact.kind == FactKind::Bound), "{part} {op}");
            }
        }
    }
}
