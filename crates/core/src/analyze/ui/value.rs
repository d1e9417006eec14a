//! Typed text, by its form: cards, accounts, national identifiers, one-time codes.

use super::field::Ask;
use crate::redact::{Concern, scan};

/// The length past which a text is not read; that is recorded elsewhere.
const MOST: usize = super::MOST_LABEL;

/// Returns the kind of a value, given the kind that the field asks for.
#[must_use]
pub(super) fn is(value: &str, asked: Option<Ask>) -> Option<Ask> {
    let plain = plain_digits(value);
    let value = plain.as_deref().unwrap_or(value).trim();
    if asked == Some(Ask::Code) && is_one_time_code(value) {
        return Some(Ask::Password);
    }
    if value.len() > MOST || value.len() < 8 {
        return None;
    }
    if asked != Some(Ask::Plain) && is_social_security(value) {
        return Some(Ask::Identity);
    }
    if tells_a_code(value) {
        return Some(Ask::Password);
    }
    let marked = value.bytes().any(|byte| !byte.is_ascii_digit());
    let told = is_three_by_three(value).then(|| format!("sin {value}"));
    scan(told.as_deref().unwrap_or(value)).iter().find_map(|found| {
        match (found.kind, found.concern) {
            ("payment-card" | "iban" | "bank-account", _) => Some(Ask::Finance),
            (kind, Concern::Personal) if is_national(kind) => {
                // Plain digits may be a telephone number; the field decides.
                let open = asked != Some(Ask::Plain);
                (open && (marked || kind == "cn-resident")).then_some(Ask::Identity)
            }
            // A key typed into a field of its own, not a text that contains one.
            (_, Concern::Secret) => {
                let [start, end] = found.span;
                let whole = end.saturating_sub(start) == value.len();
                let said = matches!(found.kind, "password" | "private-key");
                (whole || said).then_some(Ask::Password)
            }
            _ => None,
        }
    })
}

/// The value with digits of any script as plain ones, without what takes no room and without dots
/// between groups of four; nothing where that changes nothing.
fn plain_digits(value: &str) -> Option<String> {
    if value.len() > MOST {
        return None;
    }
    let groups = value.split('.').filter(|group| group.len() == 4).count() >= 3;
    let plain: String = value
        .chars()
        .filter(|char| !super::fold::is_invisible(*char))
        .map(|char| match char {
            '.' if groups => ' ',
            char => digit(char).unwrap_or(char),
        })
        .collect();
    (plain != value).then_some(plain)
}

/// The plain digit for one of another script.
fn digit(char: char) -> Option<char> {
    const ZEROS: [u32; 10] =
        [0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xE50, 0xFF10, 0x1D7CE];
    let code = u32::from(char);
    let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code))?;
    char::from_digit(code - zero, 10)
}

/// Four to eight digits, perhaps with one gap.
fn is_one_time_code(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let others = value.len().saturating_sub(digits);
    (4..=8).contains(&digits)
        && others <= 1
        && value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'-'))
}

/// Reports whether a value is three, two and four digits with a sign between them. Numbers that
/// were never issued count as well: the page cannot know.
fn is_social_security(value: &str) -> bool {
    let groups: Vec<&str> = value.split(['-', ' ']).collect();
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let lengths = groups.iter().map(|group| group.len());
    lengths.eq([3, 2, 4]) && groups.into_iter().all(digits)
}

/// Reports whether a text is a code and the word for it, and little else: `code 482913`.
fn tells_a_code(value: &str) -> bool {
    let words: Vec<&str> = value.split([' ', ':', '=', ',', '.', '\n']).collect();
    let is_code = |word: &&str| !word.is_empty() && is_one_time_code(word);
    let (codes, rest): (Vec<&str>, Vec<&str>) = words.iter().copied().partition(is_code);
    let asked = || super::field::text(&rest.join(" "));
    value.len() <= 64
        && codes.len() == 1
        && rest.len() <= 6
        && matches!(asked(), Some(Ask::Code | Ask::Password))
}

/// Reports whether a value is written like a Canadian insurance number: `130 692 544`.
fn is_three_by_three(value: &str) -> bool {
    let mut groups = 0_usize;
    value.split([' ', '-']).all(|group| {
        groups = groups.saturating_add(1);
        group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit())
    }) && groups == 3
}

/// Reports whether a kind of the redactor is a national identifier: a country and a scheme.
fn is_national(kind: &str) -> bool {
    const OTHERS: [&str; 6] = ["us-routing", "us-npi", "us-dea", "in-vehicle", "us-ein", "sg-uen"];
    let country = kind.split_once('-').is_some_and(|(country, _)| country.len() == 2);
    (country || matches!(kind, "passport" | "driver-licence")) && !OTHERS.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_codes_only_where_one_is_asked_for() {
        assert_eq!(is("123 456", Some(Ask::Code)), Some(Ask::Password));
        assert_eq!(is("123456", None), None);
        assert_eq!(is("10115", Some(Ask::Plain)), None);
        for text in ["code 482913", "OTP: 482913", "Your code is 482913", "PIN 4829 ok"] {
            assert_eq!(is(text, None), Some(Ask::Password), "{text}");
        }
        for text in ["Zip code 10115", "in the year 2024", "order 482913"] {
            assert_eq!(is(text, None), None, "{text}");
        }
    }

    #[test]
    fn papers_are_known_by_their_form() {
        assert_eq!(is("123-45-6788", None), Some(Ask::Identity));
        assert_eq!(is("123-45-6789", None), Some(Ask::Identity));
        assert_eq!(is("130 692 544", None), Some(Ask::Identity));
        assert_eq!(is("130 692 545", None), None);
        assert_eq!(is("5551234567", Some(Ask::Plain)), None);
    }

    #[test]
    fn cards_and_accounts_are_known_by_their_check_digit() {
        let card = ["4111", "1111", "1111", "1111"].join(" ");
        let wide = |digit: u32| char::from_u32(0xFF10 + digit).unwrap();
        for other in [
            card.replace(' ', "."),
            card.replace(' ', "\u{200B}"),
            card.chars().filter_map(|char| char.to_digit(10)).map(wide).collect(),
        ] {
            assert_eq!(is(&other, None), Some(Ask::Finance), "{other}");
        }
        assert_eq!(is(&card, Some(Ask::Plain)), Some(Ask::Finance));
        assert_eq!(is(&card.replace("4111", "4112"), None), None);
        let iban = ["DE89", "3704", "0044", "0532", "0130", "00"].join(" ");
        assert_eq!(is(&iban, None), Some(Ask::Finance));
    }
}
