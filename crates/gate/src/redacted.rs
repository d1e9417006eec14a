//! Redaction before anything is stored or sent.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

use countersign_core::redact::{Found, mask as masked, redact, scan};
use countersign_core::{Action, Effect, Effects, Finding, Judgement, Span};
use serde_json::Value;

mod code;

/// A text with secrets, personal data and announced codes masked.
pub(crate) fn text(text: &str) -> String {
    code::mask(&redact(text).text)
}

/// A text as the person who decides must see it: with addresses, because the decision depends on
/// the recipient. Only for sealed texts, which go to nobody but them.
pub(crate) fn shown(text: &str) -> String {
    code::mask(&masked(text, &hidden(text)))
}

/// The parts of a text that are hidden even from the person who decides.
fn hidden(text: &str) -> Vec<Found> {
    scan(text).into_iter().filter(|found| !matches!(found.kind, "email" | "phone")).collect()
}

/// The findings, as the person who decides must see them.
pub(crate) fn shown_findings(action: &Action, findings: &[Finding]) -> Vec<Finding> {
    // The text is scanned once, however many findings there are: both are the agent's to choose.
    let text = action.text().unwrap_or_default();
    let hidden = hidden(text);
    let shown_text = code::mask(&masked(text, &hidden));
    let of = |finding: &Finding| Finding {
        reason: shown(&finding.reason),
        span: finding.span.and_then(|span| moved(text, &hidden, &shown_text, span)),
        ..finding.clone()
    };
    findings.iter().map(of).collect()
}

pub(crate) fn shown_effects(effects: Effects) -> Effects {
    let of = |effect: Effect| Effect { target: shown(&effect.target), ..effect };
    Effects {
        effects: effects.effects.into_iter().map(of).collect(),
        opaque: effects.opaque.iter().map(|text| shown(text)).collect(),
        ..effects
    }
}

/// The position of a part of a text in the shown text; `None` if it is hidden itself.
fn moved(text: &str, hidden: &[Found], shown: &str, [start, end]: Span) -> Option<Span> {
    let part = text.get(start as usize..end as usize)?;
    let mut at = start as usize;
    for found in hidden.iter().take_while(|found| found.span[0] < start as usize) {
        let [from, to] = found.span;
        let mask = "[redacted:]".len().checked_add(found.kind.len())?;
        at = at.checked_add(mask)?.checked_sub(to.checked_sub(from)?)?;
    }
    let until = at.checked_add(part.len())?;
    // Codes are masked too, and shift the rest: the position is right only if the same words are
    // there.
    let same = shown.get(at..until) == Some(part);
    if same { Some([u32::try_from(at).ok()?, u32::try_from(until).ok()?]) } else { None }
}

/// A cache of reasons that contain nothing to mask. The judgement of an action without findings has
/// the same few reasons every time, and scanning them takes longer than judging.
#[derive(Debug, Default)]
pub(crate) struct KnownCleanReasons(RwLock<HashSet<String>>);

impl KnownCleanReasons {
    /// The most reasons in the cache, and the longest.
    const MOST: usize = 256;
    const LONGEST: usize = 256;

    /// Redacts the reasons of a judgement, which quote the action.
    pub(crate) fn judgement(&self, mut judgement: Judgement) -> Judgement {
        let found = !judgement.findings.is_empty();
        let findings = judgement.findings.iter_mut().map(|finding| &mut finding.reason);
        let steps = judgement.trace.iter_mut().map(|step| &mut step.because);
        for told in findings.chain(steps).chain([&mut judgement.reason]) {
            if found {
                *told = text(told);
            } else if !self.knows(told) {
                *told = self.masked(told);
            }
        }
        judgement
    }

    fn knows(&self, reason: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(reason)
    }

    fn masked(&self, reason: &str) -> String {
        let masked = text(reason);
        if masked == reason && reason.len() <= Self::LONGEST {
            let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= Self::MOST {
                known.clear();
            }
            known.insert(masked.clone());
        }
        masked
    }
}

/// The name of a scope, whose parts are escaped: `tool.a%3Db`.
pub(crate) fn scope(name: &str) -> String {
    let part = |part: &str| {
        let plain = unescaped(part);
        let masked = text(&plain);
        if masked == plain { part.to_owned() } else { masked }
    };
    name.split('.').map(part).collect::<Vec<_>>().join(".")
}

fn unescaped(part: &str) -> String {
    let mut pieces = part.split('%');
    let mut plain = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let byte = piece.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.extend(byte);
        plain.extend(piece.bytes().skip(if byte.is_some() { 2 } else { 0 }));
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// A named value with secrets and personal data masked, except for addresses.
pub(crate) fn shown_value(name: &str, value: &Value) -> Value {
    let mut masked = value.clone();
    mask(&mut masked, Some(name), shown);
    masked
}

/// A value with every text in it masked.
pub(crate) fn value(value: &Value) -> Value {
    let mut masked = value.clone();
    mask(&mut masked, None, text);
    masked
}

/// An action as JSON with secrets and personal data masked.
///
/// Text typed into a field is always left out: a password looks like any other word.
pub(crate) fn action(action: &Action) -> Value {
    masked_action(action, text)
}

/// An action as the person who decides must see it.
pub(crate) fn shown_action(action: &Action) -> Value {
    masked_action(action, shown)
}

/// A function that masks a text.
type Mask = fn(&str) -> String;

fn masked_action(action: &Action, how: Mask) -> Value {
    let mut value = serde_json::to_value(action).unwrap_or_default();
    if let (Action::Ui { .. }, Some(typed)) = (action, value.get_mut("text")) {
        *typed = Value::from("[redacted:typed]");
    }
    mask(&mut value, None, how);
    value
}

/// Masks every text in a value. A value is checked together with its name, which is how a password
/// is recognised in `"password": "hunter2"`.
fn mask(value: &mut Value, name: Option<&str>, how: Mask) {
    match value {
        Value::String(found) => *found = named(name, found, how),
        Value::Number(number) => {
            let plain = number.to_string();
            let masked = named(name, &plain, how);
            if masked != plain {
                *value = Value::from(masked);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, name, how)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, field)| mask(field, Some(name), how));
            // Names are the agent's own words too, unless they are fields of the action.
            *fields = std::mem::take(fields).into_iter().map(|(k, v)| (how(&k), v)).collect();
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn named(name: Option<&str>, found: &str, how: Mask) -> String {
    let alone = how(found);
    let Some(name) = name.filter(|_| alone == found && !found.contains('\n')) else {
        return alone;
    };
    // The value is scanned once more together with its name.
    let pair = format!("{name}: {found}");
    match how(&pair).strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")) {
        Some(masked) => masked.to_owned(),
        None => alone,
    }
}

#[cfg(test)]
mod tests {
    use countersign_core::{Context, Policy, judge};
    use serde_json::json;

    use super::*;

    fn of(value: Value) -> String {
        action(&serde_json::from_value(value).unwrap()).to_string()
    }

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        let key = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
        let told = of(json!({"kind": "shell", "command": format!("aws --key {key}")}));
        assert!(!told.contains(&key), "{told}");
        let nested = json!({"kind": "tool", "server": "s", "tool": "t",
            "arguments": {"auth": {"password": "correct-horse-41"}, "list": ["a", {"b": key}]}});
        let told = of(nested);
        assert!(!told.contains(&key) && !told.contains("correct-horse"), "{told}");
    }

    #[test]
    fn a_reason_is_masked_the_same_however_often_it_is_told() {
        let plain = KnownCleanReasons::default();
        let action = Action::Shell { command: "ls".into(), cwd: None };
        let judged = judge(&action, &Policy::default(), &Context::default());
        assert!(judged.findings.is_empty());
        let secret = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
        for reason in ["nothing risky found", secret.as_str()] {
            let told = Judgement { reason: reason.to_owned(), ..judged.clone() };
            let masked = text(reason);
            for _ in 0..3 {
                assert_eq!(plain.judgement(told.clone()).reason, masked);
            }
            assert_eq!(plain.knows(reason), masked == reason);
        }
        for number in 0..=2 * KnownCleanReasons::MOST {
            let told = Judgement { reason: format!("nothing, {number}"), ..judged.clone() };
            assert_eq!(plain.judgement(told.clone()), told);
            assert!(plain.0.read().unwrap().len() <= KnownCleanReasons::MOST);
        }
    }

    #[test]
    fn what_is_typed_is_never_kept() {
        let typed = json!({"kind": "ui", "surface": "browser", "op": "type", "text": "hunter2",
            "field": {"type": "password"}});
        assert!(!of(typed).contains("hunter2"));
    }

    #[test]
    fn whoever_decides_sees_whom_it_goes_to_and_no_secret() {
        let key = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
        let mail = json!({"kind": "skill", "skill": "email.send",
            "params": {"to": "ann.lee@widget-makers.com", "body": format!("use {key}")}});
        let mail: Action = serde_json::from_value(mail).unwrap();
        let told = shown_action(&mail).to_string();
        assert!(told.contains("ann.lee@widget-makers.com") && !told.contains(&key), "{told}");
        assert!(
            !action(&mail).to_string().contains("ann.lee@widget-makers.com"),
            "a record does not"
        );
    }

    #[test]
    fn a_mark_moves_with_what_is_masked_before_it() {
        let key = format!("AKIA{}", "Z7KQ2M5XW3T9B4HD");
        let text = format!("aws --key {key} s3 rm --recursive s3://b");
        let at = text.find("s3 rm").unwrap();
        let span = [u32::try_from(at).unwrap(), u32::try_from(at + 5).unwrap()];
        let marked = |span| moved(&text, &hidden(&text), &shown(&text), span);
        let [start, end] = marked(span).unwrap();
        assert_eq!(shown(&text).get(start as usize..end as usize), Some("s3 rm"));
        let secret = text.find("AKIA").unwrap();
        let span = [u32::try_from(secret).unwrap(), u32::try_from(secret + 8).unwrap()];
        assert_eq!(marked(span), None, "what is masked cannot be pointed at");
    }

    #[test]
    fn ordinary_words_stay_readable() {
        let told = of(json!({"kind": "shell", "command": "rm -rf build"}));
        assert!(told.contains("rm -rf build"), "{told}");
    }
}
