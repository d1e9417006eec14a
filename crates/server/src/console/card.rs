//! A question as a card: everything about it, in the order a person needs it.

use std::collections::HashMap;

use countersign_core::visible::is_invisible;
use countersign_core::{Certainty, Effect, EffectKind, Effects};
use countersign_gate::Person;
use countersign_gate::approval::State;
use countersign_gate::clock::Timestamp;
use countersign_gate::gate::{Card, OwnerFilter, Page};
use countersign_gate::id::{KeyId, SessionId};
use serde_json::Value;

use crate::app::App;
use crate::console::piece::{Highlight, How, Piece, differences, pieces, plain};
use crate::console::when::{ago, left};
use crate::error::Problem;
use crate::html::Text;

/// A longer card is shortened in a list of cards, and is shown in full on its own page.
const MOST_BYTES: usize = 8_000;
/// The number of bytes of it that are shown in a list.
const FIRST_BYTES: usize = 2_000;
/// With more highlights than this, none is useful any more.
const MOST_HIGHLIGHTS: usize = 200;

/// A question as it is displayed.
pub(crate) struct CardView {
    pub(crate) id: String,
    pub(crate) state: &'static str,
    pub(crate) risk: &'static str,
    pub(crate) action: Vec<Piece>,
    pub(crate) title: Vec<Piece>,
    /// True when the title says nothing that the action itself does not say.
    pub(crate) title_repeats: bool,
    /// All fields of the action, the part that runs first.
    pub(crate) fields: Vec<Field>,
    /// True when some of it is left out here.
    pub(crate) cut: bool,
    pub(crate) cwd: Option<Vec<Piece>>,
    pub(crate) scripts: Vec<(Vec<Piece>, String)>,
    pub(crate) why: Vec<Piece>,
    pub(crate) findings: Vec<FindingView>,
    pub(crate) effects: Vec<EffectView>,
    /// The number of further effects.
    pub(crate) more_effects: usize,
    /// The parts that could not be analysed.
    pub(crate) opaque: Vec<Vec<Piece>>,
    /// The agent's reason, in its own words.
    pub(crate) reasoning: Option<Vec<Piece>>,
    pub(crate) asker: String,
    pub(crate) asked: String,
    pub(crate) created_at: String,
    pub(crate) expires_at: String,
    pub(crate) left: String,
    pub(crate) session: Option<String>,
    pub(crate) may_remember: bool,
    /// The others who have a say, and the number who have answered.
    pub(crate) circle: Vec<String>,
    pub(crate) feedback: Option<Vec<Piece>>,
    /// The token to answer it with, while it can be answered.
    pub(crate) token: Option<String>,
    pub(crate) edit: Option<Edit>,
    pub(crate) before: Vec<Before>,
    /// A revision that changes whenever an open page must show the card again.
    pub(crate) rev: String,
}

/// One part of an action.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) text: String,
    highlights: Vec<Highlight>,
    pub(crate) pieces: Vec<Piece>,
}

/// Something a rule found.
pub(crate) struct FindingView {
    pub(crate) rule: String,
    pub(crate) reason: Vec<Piece>,
    /// The words it was found in.
    pub(crate) found: Option<Vec<Piece>>,
    pub(crate) instead: Option<String>,
}

/// The targets of one kind of effect.
pub(crate) struct EffectView {
    pub(crate) what: String,
    /// Each target, and whether it is only possible.
    pub(crate) things: Vec<(Vec<Piece>, bool)>,
}

/// The part of an action that can be changed.
pub(crate) struct Edit {
    /// The name of the field; empty for the whole action as JSON.
    pub(crate) field: &'static str,
    pub(crate) text: String,
}

/// An earlier question of the same agent.
pub(crate) struct Before {
    pub(crate) id: String,
    pub(crate) title: Vec<Piece>,
    pub(crate) state: &'static str,
    pub(crate) ago: String,
}

/// The names and earlier questions that the cards of one page need.
pub(crate) struct Names {
    keys: HashMap<KeyId, String>,
    before: HashMap<SessionId, Vec<Card>>,
    t: Text,
    now: Timestamp,
}

impl Names {
    /// Loads the data needed to show these cards to a person.
    pub(crate) async fn of(
        app: &App,
        person: &Person,
        t: Text,
        cards: &[Card],
    ) -> Result<Self, Problem> {
        let keys = app.gate.keys(person).await?;
        let keys = keys.into_iter().map(|(key, _)| (key.id, key.name)).collect();
        let mut before = HashMap::new();
        for session in cards.iter().filter_map(|card| card.session.as_ref()) {
            if before.contains_key(session) {
                continue;
            }
            let page = Page { after: None, limit: 12 };
            let asked =
                app.gate.approvals(person, &OwnerFilter::Mine, &[], Some(session), &page).await?;
            before.insert(session.clone(), asked.items);
        }
        Ok(Self { keys, before, t, now: app.gate.shown(app.gate.now()) })
    }

    /// The name of the agent that asks.
    pub(crate) fn asker(&self, card: &Card) -> String {
        let name = card.key.as_ref().map(|key| {
            self.keys.get(key).cloned().unwrap_or_else(|| self.t.about("card.other-key", key))
        });
        name.unwrap_or_else(|| self.t.say("card.own-agent").into_owned())
    }

    fn before(&self, card: &Card) -> Vec<Before> {
        let asked = card.session.as_ref().and_then(|session| self.before.get(session));
        let earlier = asked
            .into_iter()
            .flatten()
            .filter(|other| other.approval != card.approval && other.created_at <= card.created_at);
        let view = |other: &Card| Before {
            id: other.approval.to_string(),
            title: plain(&other.description),
            state: other.state.as_str(),
            ago: ago(self.t, other.created_at, self.now),
        };
        earlier.take(5).map(view).collect()
    }

    /// A card among others: long fields are cut, and the card says so.
    pub(crate) fn brief(&self, card: Card) -> CardView {
        let mut fields = fields(self.t, &card);
        let size: usize = fields.iter().map(|field| field.text.len()).sum();
        if size <= MOST_BYTES {
            return self.view(card, fields);
        }
        for field in &mut fields {
            let end = field.text.floor_char_boundary(FIRST_BYTES);
            field.text.truncate(end);
            field.highlights.retain(|(_, to, _)| *to <= end);
        }
        CardView { cut: true, edit: None, ..self.view(card, fields) }
    }

    /// A card on its own, in full.
    pub(crate) fn whole(&self, card: Card) -> CardView {
        let fields = fields(self.t, &card);
        self.view(card, fields)
    }

    /// The targets of one kind of effect.
    fn effect(&self, kind: EffectKind, all: &Effects) -> Option<EffectView> {
        let of_kind = all.effects.iter().filter(|effect| effect.effect == kind);
        let shown =
            |effect: &Effect| (plain(&effect.target), effect.certainty == Certainty::Possible);
        let things: Vec<_> = of_kind.map(shown).collect();
        let what = self.t.word("effect", kind.name());
        (!things.is_empty()).then_some(EffectView { what, things })
    }

    fn view(&self, card: Card, mut fields: Vec<Field>) -> CardView {
        for field in &mut fields {
            field.pieces = pieces(&field.text, &field.highlights);
        }
        // The whole text, also where the field is cut: a finding beyond the cut must be quoted.
        let text = main_text(&card);
        let findings = card.findings.iter().take(MOST_HIGHLIGHTS).map(|finding| FindingView {
            rule: finding.rule.clone(),
            // The reason of a single finding is already shown above it.
            reason: if finding.reason == card.reason { Vec::new() } else { plain(&finding.reason) },
            found: finding.span.and_then(|[start, end]| {
                let part = text.get(start as usize..end as usize)?;
                (part.len() < text.len() && !part.is_empty()).then(|| plain(&shortened(part)))
            }),
            instead: finding.instead.clone(),
        });
        let effects = EffectKind::ALL.iter().filter_map(|kind| self.effect(*kind, &card.effects));
        let rev = format!("{}-{}-{}", card.state.as_str(), card.have, card.escalated);
        let decided = card.state.decision().and_then(|decision| decision.feedback.as_deref());
        CardView {
            state: card.state.as_str(),
            risk: card.risk.as_str(),
            action: plain(&card.action),
            title: plain(&card.description),
            title_repeats: !text.is_empty() && card.description.ends_with(text),
            cut: false,
            cwd: card.cwd.as_deref().map(plain),
            scripts: card.scripts.iter().map(|s| (plain(&s.path), s.sha256.to_string())).collect(),
            why: plain(&card.reason),
            findings: findings.collect(),
            effects: effects.collect(),
            more_effects: card.effects.more_effects,
            opaque: card.effects.opaque.iter().map(|text| plain(text)).collect(),
            reasoning: card.reasoning.as_deref().map(plain),
            asker: self.asker(&card),
            asked: ago(self.t, card.created_at, self.now),
            created_at: card.created_at.to_string(),
            expires_at: card.expires_at.to_string(),
            left: left(card.expires_at, self.now),
            session: card.session.as_ref().map(ToString::to_string),
            may_remember: card.may_remember,
            circle: circle(self.t, &card),
            feedback: decided.map(plain),
            edit: matches!(card.state, State::Pending { .. }).then(|| edit(&card)).flatten(),
            before: self.before(&card),
            id: card.approval.to_string(),
            token: card.token.map(|token| token.expose().to_owned()),
            fields,
            rev,
        }
    }
}

fn circle(t: Text, card: &Card) -> Vec<String> {
    let agreed = || t.with("card.quorum", &[("have", &card.have), ("need", &card.need)]);
    let notes = [
        (card.need > 1).then(agreed),
        card.requester_excluded.then(|| t.say("card.others").into_owned()),
        card.escalated.then(|| t.say("card.escalated").into_owned()),
    ];
    notes.into_iter().flatten().collect()
}

/// Cuts a long finding at its end: the whole text is shown above it.
fn shortened(text: &str) -> String {
    const MOST: usize = 160;
    if text.len() <= MOST {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MOST);
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// The field of an action that its findings point into.
fn main_field(kind: &str) -> &'static str {
    match kind {
        "shell" => "command",
        "code" => "source",
        "applescript" => "script",
        "navigate" | "http_request" => "url",
        "ui" => "label",
        "skill" => "skill",
        "named" => "name",
        "tool" => "tool",
        "login" => "site",
        "notify" => "channel",
        "download" => "files",
        "export_pdf" => "pages",
        _ => "path",
    }
}

/// The text that findings point into, as it is shown.
fn main_text(card: &Card) -> &str {
    let text = |name: &str| card.action_json.get(name).and_then(Value::as_str);
    text(main_field(text("kind").unwrap_or_default())).unwrap_or_default()
}

fn fields(t: Text, card: &Card) -> Vec<Field> {
    let Some(action) = card.action_json.as_object() else { return Vec::new() };
    let main = main_field(action.get("kind").and_then(Value::as_str).unwrap_or_default());
    let field = |name: &str, value: &Value, highlights: Vec<Highlight>| {
        let text = text_of(value);
        Field { name: t.word("field", name), text, highlights, pieces: Vec::new() }
    };
    let highlights = card.findings.iter().filter_map(|finding| {
        let [start, end] = finding.span?;
        Some((start as usize, end as usize, How::Risky))
    });
    let mut fields: Vec<_> = action
        .get(main)
        .map(|value| field(main, value, highlights.take(MOST_HIGHLIGHTS).collect()))
        .into_iter()
        .collect();
    let shown_elsewhere = |name: &str| name == "kind" || name == main || name == "cwd";
    let mut rest: Vec<_> = action.iter().filter(|(name, _)| !shown_elsewhere(name)).collect();
    rest.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name));
    for (name, value) in rest {
        if !value.is_null() {
            fields.push(field(name, value, Vec::new()));
        }
    }
    fields
}

/// Fields that come after the others, in this order: a tool's claims about itself come last.
const ORDER: [&str; 6] = ["method", "server", "params", "arguments", "content", "annotations"];

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// Returns the part that can be changed: the field that runs, or all of it. An action with masked
/// text cannot be changed, because the mask itself would be sent. Neither can one with invisible
/// characters, because nobody would see what they agree to.
fn edit(card: &Card) -> Option<Edit> {
    let action = card.action_json.as_object()?;
    if card.action_json.to_string().contains("[redacted:") || has_ghosts(&card.action_json) {
        return None;
    }
    let main = main_field(action.get("kind").and_then(Value::as_str)?);
    let one = matches!(main, "command" | "source" | "script" | "url" | "path");
    match action.get(main) {
        Some(Value::String(text)) if one => Some(Edit { field: main, text: text.clone() }),
        _ => Some(Edit { field: "", text: text_of(&card.action_json) }),
    }
}

fn has_ghosts(value: &Value) -> bool {
    let ghost =
        |text: &str| text.contains(|char| is_invisible(char) && char != '\n' && char != '\t');
    match value {
        Value::String(text) => ghost(text),
        Value::Array(items) => items.iter().any(has_ghosts),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| ghost(name) || has_ghosts(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Highlights, in cards of one kind, the text that differs between them.
pub(crate) fn highlight_differences(cards: &mut [CardView]) {
    let Some(most) = cards.iter().map(|card| card.fields.len()).min() else { return };
    for n in 0..most {
        let texts = cards.iter().filter_map(|card| card.fields.get(n));
        let texts: Vec<&str> = texts.map(|field| field.text.as_str()).collect();
        let highlights = differences(&texts);
        for (card, highlights) in cards.iter_mut().zip(highlights) {
            let Some(field) = card.fields.get_mut(n) else { continue };
            field.highlights.extend(highlights.into_iter().take(MOST_HIGHLIGHTS));
            field.pieces = pieces(&field.text, &field.highlights);
        }
    }
}
