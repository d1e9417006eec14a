//! Messages that would be sent in the user's name, and code for web pages.

use super::app::App;
use super::lex::Token;
use super::noun::Noun;
use super::verb::ahead;
use super::{Walker, span_of};
use crate::analyze::UNKNOWN;
use crate::fact::FactKind;

/// Parts of a page's code that do more than read.
const ACTS: &[&str] = &[
    "click(",
    "submit(",
    "fetch(",
    "xmlhttprequest",
    "sendbeacon",
    ".value=",
    ".value =",
    "cookie",
    "localstorage",
    "sessionstorage",
    "eval(",
    "innerhtml=",
    "innerhtml =",
    "document.write",
    "location=",
    "location =",
    "location.href=",
    "location.href =",
    "dispatchevent",
    "password",
    "appendchild",
    "remove(",
    "websocket",
    "new image",
];

impl Walker<'_> {
    /// Follows `send x to y`.
    pub(super) fn send(&mut self, rest: &[Token<'_>]) {
        let app = self.listener();
        let objects = self.named(rest);
        let words = ahead(rest);
        let outgoing = words.iter().any(|token| token.word() == "outgoing");
        let mail = app == App::Mail || objects.noun == Some(Noun::Mail) || outgoing;
        let kind = if mail && (objects.many || self.in_loop()) {
            FactKind::ScriptBulkSend
        } else if outgoing || (mail && !self.composed) {
            FactKind::ScriptSendMail
        } else {
            FactKind::ScriptSend
        };
        // An app's own `send` of something else takes a recipient.
        let addressed = words.iter().any(|token| token.word() == "to");
        if mail || addressed || app == App::Messages {
            self.tell_of(kind, rest);
        }
    }

    /// Follows `do JavaScript "…" in document 1`.
    pub(super) fn page_script(&mut self, rest: &[Token<'_>], words: usize) {
        let (code, _) = self.value(rest.get(words..).unwrap_or_default());
        let acts = code.texts.iter().any(|text| {
            let text = text.to_ascii_lowercase();
            ACTS.iter().any(|part| text.contains(part))
        });
        let hidden = code.texts.iter().any(|text| text.trim_matches(UNKNOWN).is_empty());
        let kind = if acts { FactKind::ScriptPageActs } else { FactKind::ScriptPage };
        let subject = if hidden {
            "unknown code".to_owned()
        } else {
            code.texts.join("; ").replace(UNKNOWN, "…")
        };
        self.note(kind, subject.chars().take(200).collect::<String>(), span_of(ahead(rest)));
    }

    /// Follows `execute tab 1 of window 1 javascript "…"`.
    pub(super) fn tab_script(&mut self, rest: &[Token<'_>]) {
        if let Some(at) = ahead(rest).iter().position(|token| token.word() == "javascript") {
            self.page_script(rest, at + 1);
        }
    }
}
