//! The kind of data that a field asks for, by all that the page says about it.
//!
//! The page's own declarations come first (`autocomplete`, `type`), then the visible text, then the
//! author's names. A name's last word is its head: `creditCard.billingCity` is a city.

use super::fold::fold;
use super::lexicon::{Class, Classes, Language};
use super::name::fold_name;
use super::read::{Reading, any};
use super::{look, shape};
use crate::action::Field;
use crate::fact::FactKind;

/// The number of bytes of each text that are examined.
const MOST: usize = 256;

/// Short names of national numbers that are ordinary words in some language when beside others.
const ALONE: [&str; 2] = ["sin", "tin"];

/// The kind of data that a field asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// A password, code or answer.
    Password,
    /// Card or account data.
    Finance,
    /// A national identifier.
    Identity,
    /// Ordinary data.
    Plain,
    /// Some code, whose kind may follow from the value.
    Code,
}

impl Ask {
    /// Returns the fact for this kind of data.
    #[must_use]
    pub(super) const fn fact(self) -> Option<FactKind> {
        match self {
            Self::Password => Some(FactKind::UiPassword),
            Self::Finance => Some(FactKind::UiFinancial),
            Self::Identity => Some(FactKind::UiIdentity),
            Self::Plain | Self::Code => None,
        }
    }
}

/// Returns the kind of data that a field asks for, with the label of the action itself.
#[must_use]
pub(super) fn asks(label: Option<&str>, field: Option<&Field>) -> Option<Ask> {
    let empty = Field::default();
    let field = field.unwrap_or(&empty);
    let read = [
        field.label.as_deref(),
        label,
        field.aria_label.as_deref(),
        field.placeholder.as_deref(),
        field.title.as_deref(),
    ];
    let seen = read.into_iter().flatten().find_map(text);
    let seen = seen.or_else(|| read.into_iter().flatten().find_map(disguised));
    let seen = seen.or_else(|| field.placeholder.as_deref().and_then(shape::of));
    let named = [field.name.as_deref(), field.id.as_deref()].into_iter().flatten().find_map(name);
    let declared = field.autocomplete.as_deref().and_then(|text| autocomplete(text, field));
    let kind = field.kind.as_deref().unwrap_or_default();
    if kind.eq_ignore_ascii_case("password") {
        return Some(match seen.or(named).or(declared) {
            Some(ask @ (Ask::Finance | Ask::Identity)) => ask,
            _ => Ask::Password,
        });
    }
    let harmless = ["search", "email", "url", "checkbox", "radio", "color", "file", "range"];
    let searches = field.role.as_deref().is_some_and(|role| role.eq_ignore_ascii_case("searchbox"));
    if searches || harmless.iter().any(|known| kind.eq_ignore_ascii_case(known)) {
        return Some(declared.unwrap_or(Ask::Plain));
    }
    let ask = settle(declared, seen, named).or_else(|| weak(field));
    // A code that consists only of digits was sent to somebody's phone.
    if ask == Some(Ask::Code) && is_numeric(field) { Some(Ask::Password) } else { ask }
}

/// Reports whether only a few digits can be entered.
fn is_numeric(field: &Field) -> bool {
    let says = |text: &Option<String>, words: &[&str]| {
        text.as_deref().is_some_and(|text| words.contains(&text))
    };
    says(&field.inputmode, &["numeric", "decimal", "tel"]) || says(&field.kind, &["tel", "number"])
}

/// Decides between the declaration, the visible text and the author's name.
fn settle(declared: Option<Ask>, seen: Option<Ask>, named: Option<Ask>) -> Option<Ask> {
    match (declared, seen, named) {
        // `new-password` on any field is a common way to prevent a browser from filling it in.
        (Some(Ask::Password), Some(Ask::Plain), _)
        | (Some(Ask::Password), None, Some(Ask::Plain)) => Some(Ask::Plain),
        // A bare "Code" is classified by the author's name, and "Name" is the card holder's where
        // that says so.
        (Some(ask), _, _)
        | (None, Some(Ask::Code) | None, Some(ask))
        | (None, Some(Ask::Plain), Some(ask @ (Ask::Finance | Ask::Identity))) => Some(ask),
        (None, seen, _) => seen,
    }
}

/// Returns the kind by weaker evidence: the class and the text nearby.
fn weak(field: &Field) -> Option<Ask> {
    let class = field.class.as_deref().and_then(name);
    let near = field.nearby.as_deref().and_then(text);
    let ask = class.or(near)?;
    matches!(ask, Ask::Password | Ask::Finance | Ask::Identity | Ask::Code).then_some(ask)
}

/// Interprets the tokens of `autocomplete`, by the HTML standard.
fn autocomplete(text: &str, field: &Field) -> Option<Ask> {
    let token = text.split_ascii_whitespace().rfind(|token| *token != "webauthn")?;
    let token = token.to_ascii_lowercase();
    match token.as_str() {
        "current-password" | "one-time-code" => Some(Ask::Password),
        "new-password" => {
            let plain = ["tel", "number", "email", "search", "url", "date"];
            let kind = field.kind.as_deref().unwrap_or_default();
            (!plain.contains(&kind)).then_some(Ask::Password)
        }
        "cc-name" | "cc-number" | "cc-exp" | "cc-exp-month" | "cc-exp-year" | "cc-csc"
        | "cc-type" | "transaction-amount" => Some(Ask::Finance),
        "username" | "email" | "tel" | "name" | "given-name" | "family-name"
        | "additional-name" | "organization" | "street-address" | "address-line1"
        | "address-line2" | "country" | "country-name" | "postal-code" | "address-level1"
        | "address-level2" | "nickname" | "cc-given-name" | "cc-family-name"
        | "cc-additional-name" | "tel-national" | "url" | "sex" | "language" | "photo"
        | "honorific-prefix" => Some(Ask::Plain),
        _ => None,
    }
}

/// Returns the kind by a text beside the field, in any language.
#[must_use]
pub(super) fn text(text: &str) -> Option<Ask> {
    // An author's name that is also shown to people.
    if !text.contains(' ')
        && text.contains(['-', '_'])
        && let Some(ask) = name(text)
    {
        return Some(ask);
    }
    let folded = fold(text, MOST);
    if ALONE.contains(&folded.as_str()) {
        return Some(Ask::Identity);
    }
    let reading = Reading::of(&folded);
    let asks =
        reading.languages().filter_map(|language| said(&reading.classes(language), language));
    asks.reduce(|first, second| match (first, second) {
        // "Code postal" is a postal code to those who read it, and some code to others.
        (Ask::Plain, Ask::Code) => Ask::Plain,
        (Ask::Plain | Ask::Code, second) => second,
        (first, _) => first,
    })
}

/// What a text says that is spelt to look like another: `P@ssw0rd`, `p.a.s.s.w.o.r.d`.
fn disguised(label: &str) -> Option<Ask> {
    let seen = look::seen(label);
    let mut asked = seen.iter().filter_map(|seen| text(seen));
    asked.find(|ask| matches!(ask, Ask::Password | Ask::Finance | Ask::Identity))
}

/// Returns the kind by the author's name for the field.
#[must_use]
pub(super) fn name(name: &str) -> Option<Ask> {
    let folded = fold_name(name, MOST);
    if is_short_name(&folded) {
        return Some(Ask::Identity);
    }
    let reading = Reading::of(&folded);
    let classes: Vec<_> = reading
        .items
        .iter()
        .map(|item| item.classes(Language::Names).and(item.classes(Language::English)))
        .collect();
    head(&classes)
}

/// Reports whether a name is one of the short ones, perhaps with words that only mean a field.
fn is_short_name(folded: &str) -> bool {
    const BESIDE: [&str; 12] = [
        "field",
        "input",
        "txt",
        "text",
        "box",
        "number",
        "no",
        "num",
        "user",
        "applicant",
        "employee",
        "customer",
    ];
    let mut own = folded.split(' ').filter(|word| !BESIDE.contains(word));
    own.next().is_some_and(|word| ALONE.contains(&word)) && own.next().is_none()
}

fn said(items: &[Classes], language: Language) -> Option<Ask> {
    let blocked = any(items, Class::Help) && any(items, Class::Password);
    if blocked {
        return None;
    }
    let last_first = matches!(
        language,
        Language::Japanese
            | Language::Korean
            | Language::ChineseSimplified
            | Language::ChineseTraditional
    );
    if last_first {
        return head(items);
    }
    let combined = combined(items);
    items.iter().enumerate().find_map(|(at, item)| {
        // In "credit card billing address" the last word is the head.
        let next = items.get(at.saturating_add(1)).copied().unwrap_or_default();
        let own = ask(*item, combined)?;
        let plain_head = next.has(Class::Plain) && at.saturating_add(2) == items.len();
        Some(if plain_head && own != Ask::Password { Ask::Plain } else { own })
    })
}

/// Returns the kind by the last word that is known.
fn head(items: &[Classes]) -> Option<Ask> {
    let combined = combined(items);
    let mut found = None;
    for item in items {
        found = match (found, ask(*item, combined)) {
            // "verification code", "card code": the code belongs to the word before it.
            (Some(Ask::Password | Ask::Finance | Ask::Identity), Some(Ask::Code)) | (_, None) => {
                found
            }
            // A coupon, a token or a passport also expires.
            (Some(_), Some(Ask::Finance)) if item.has(Class::Expiry) => found,
            (_, ask) => ask,
        };
    }
    found
}

/// Reports whether a card and one of its details occur together.
fn combined(items: &[Classes]) -> bool {
    any(items, Class::Card) && any(items, Class::Detail)
}

fn ask(item: Classes, combined: bool) -> Option<Ask> {
    if item.has(Class::Password) {
        Some(Ask::Password)
    } else if item.has(Class::Finance) || item.has(Class::Expiry) {
        Some(Ask::Finance)
    } else if item.has(Class::Identity) {
        Some(Ask::Identity)
    } else if combined && item.has(Class::Card) {
        Some(Ask::Finance)
    } else if item.has(Class::Plain) {
        Some(Ask::Plain)
    } else if item.has(Class::Code) {
        Some(Ask::Code)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(field: &str) -> Option<Ask> {
        asks(None, Some(&serde_json::from_str(field).unwrap()))
    }

    #[test]
    fn the_page_s_own_declaration_comes_first() {
        assert_eq!(ask(r#"{"autocomplete":"cc-csc","name":"x"}"#), Some(Ask::Finance));
        assert_eq!(ask(r#"{"autocomplete":"section-a billing cc-exp"}"#), Some(Ask::Finance));
        assert_eq!(ask(r#"{"autocomplete":"current-password webauthn"}"#), Some(Ask::Password));
        assert_eq!(ask(r#"{"type":"password"}"#), Some(Ask::Password));
        assert_eq!(ask(r#"{"type":"password","label":"SSN"}"#), Some(Ask::Identity));
        assert_eq!(ask(r#"{"type":"password","name":"cvv"}"#), Some(Ask::Finance));
    }

    #[test]
    fn a_trick_against_filling_in_is_no_password() {
        let field = r#"{"autocomplete":"new-password","label":"Street address"}"#;
        assert_eq!(ask(field), Some(Ask::Plain));
        assert_eq!(ask(r#"{"autocomplete":"new-password","type":"tel"}"#), None);
    }

    #[test]
    fn the_last_word_of_a_name_says_what_it_is() {
        for name in ["cardNumber", "cc-num", "creditCard.cvv", "expiry_month", "nameOnCard"] {
            assert_eq!(super::name(name), Some(Ask::Finance), "{name}");
        }
        for name in ["cc", "creditCard.billingCity", "cardHolderZip", "passwordResetEmail"] {
            assert_eq!(super::name(name), Some(Ask::Plain), "{name}");
        }
        for name in ["business", "using", "settings", "spin", "destination", "passenger"] {
            assert_eq!(super::name(name), None, "{name}");
        }
        assert_eq!(super::name("coupon_expiry"), Some(Ask::Plain));
        for name in ["sin", "SIN", "sin_field", "applicantSin", "tin"] {
            assert_eq!(super::name(name), Some(Ask::Identity), "{name}");
        }
    }

    #[test]
    fn glued_names_are_taken_apart_only_where_it_is_clear() {
        assert_eq!(super::name("creditcardnumber"), Some(Ask::Finance));
        assert_eq!(super::name("loginpassword"), Some(Ask::Password));
        assert_eq!(super::name("compassion"), None);
    }

    #[test]
    fn digits_make_a_code_a_one_time_code() {
        assert_eq!(ask(r#"{"label":"Code","inputmode":"numeric"}"#), Some(Ask::Password));
        assert_eq!(ask(r#"{"label":"Code"}"#), Some(Ask::Code));
        assert_eq!(ask(r#"{"label":"Postal code","inputmode":"numeric"}"#), Some(Ask::Plain));
    }

    #[test]
    fn a_label_is_what_it_looks_like_and_a_placeholder_what_it_shows() {
        for label in ["P@ssw0rd", "P a s s w o r d", "Pаssword", "Pwd"] {
            let field = Field { label: Some(label.to_owned()), ..Field::default() };
            assert_eq!(asks(None, Some(&field)), Some(Ask::Password), "{label}");
        }
        assert_eq!(ask(r#"{"placeholder":"•••• •••• •••• ••••"}"#), Some(Ask::Finance));
        assert_eq!(ask(r#"{"label":"Phone","placeholder":"000-00-0000"}"#), Some(Ask::Plain));
        assert_eq!(ask(r#"{"label":"Code postal"}"#), Some(Ask::Plain));
    }

    #[test]
    fn what_stands_around_a_nameless_field_is_the_last_resort() {
        assert_eq!(ask(r#"{"nearby":"Enter your card number"}"#), Some(Ask::Finance));
        assert_eq!(ask(r#"{"class":"input otp-digit"}"#), Some(Ask::Password));
        assert_eq!(ask(r#"{"class":"input","nearby":"Tell us more"}"#), None);
    }
}
