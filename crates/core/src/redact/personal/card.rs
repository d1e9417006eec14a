//! Payment cards: a known issuer, a length it uses, the Luhn digit.

use super::{
    super::{
        Hits,
        text::{Class, Text},
        words::words,
    },
    Setting, check, is_told,
};

words! {
    WORDS = "amex card carte credit debit kreditkarte mastercard tarjeta visa"
}

/// The ways in which the digits of a card are grouped.
const GROUPS: &[&[usize]] = &[
    &[4, 4, 4, 4, 3],
    &[4, 4, 4, 4, 2],
    &[4, 4, 4, 4, 1],
    &[4, 4, 4, 4],
    &[4, 6, 5],
    &[4, 6, 4],
    &[6, 13],
];

/// Masks the card number that starts there.
pub(super) fn find(text: Text<'_>, start: usize, setting: Setting, hits: &mut Hits) {
    if !Class::DIGIT.has(text.at(start)) || is_fraction(text, start) {
        return;
    }
    let run = text.run_within(start, Class::DIGIT, 20);
    let end = if run - start >= 13 {
        Some(run)
    } else {
        GROUPS.iter().find_map(|groups| grouped(text, start, groups))
    };
    let Some(end) =
        end.filter(|end| !Class::WORD.has(text.at(*end)) && !is_column(text, start, *end))
    else {
        return;
    };
    let digits: Vec<u8> = text.cut(start, end).bytes().filter(u8::is_ascii_digit).collect();
    let long = digits.len() > 16 && setting == Setting::Amid && !is_told(text, start, end, WORDS);
    if !long && is_issued(&digits) && check::luhn(&digits) && !check::is_uniform(&digits) {
        hits.personal("payment-card", start, end);
    }
}

/// Reports whether the groups go on in a table of numbers.
fn is_column(text: Text<'_>, start: usize, end: usize) -> bool {
    let spaced = text.cut(start, end).contains(' ');
    let before = start.checked_sub(2).is_some_and(|second| Class::ALNUM.has(text.at(second)))
        && text.before(start) == b' ';
    let group = text.run_within(end + 1, Class::ANY_HEX, 5) - end - 1;
    let after = text.at(end) == b' ' && group == 4;
    let previous =
        start.saturating_sub(1) - text.run_back(start.saturating_sub(1), Class::ANY_HEX, 6);
    let counted = before && matches!(previous, 4 | 5);
    spaced && (after || counted)
}

/// Reports whether the digits follow a decimal point or continue a longer number.
fn is_fraction(text: Text<'_>, start: usize) -> bool {
    matches!(text.before(start), b'.' | b'-' | b'/')
        && start.checked_sub(2).is_some_and(|second| text.at(second).is_ascii_digit())
}

/// The end of digits in these groups, with the same separator between all.
fn grouped(text: Text<'_>, start: usize, groups: &[usize]) -> Option<usize> {
    let mut at = start;
    let mut mark = 0;
    for (index, length) in groups.iter().enumerate() {
        if index > 0 {
            let found = text.at(at);
            if !matches!(found, b' ' | b'-') || (mark != 0 && mark != found) {
                return None;
            }
            mark = found;
            at += 1;
        }
        let end = text.run_within(at, Class::DIGIT, length + 1);
        if end - at != *length {
            return None;
        }
        at = end;
    }
    Some(at)
}

/// Reports whether an issuer uses numbers with this prefix and length.
fn is_issued(digits: &[u8]) -> bool {
    let length = digits.len();
    let first = check::number(digits, 0, 1);
    let two = check::number(digits, 0, 2);
    let three = check::number(digits, 0, 3);
    let four = check::number(digits, 0, 4);
    let six = check::number(digits, 0, 6);
    (first == 4 && matches!(length, 13 | 16 | 19))
        || ((51..=55).contains(&two) && length == 16)
        || ((222_100..=272_099).contains(&six) && length == 16)
        || (matches!(two, 34 | 37) && length == 15)
        || ((matches!(two, 36 | 38 | 39) || (300..=305).contains(&three) || three == 309)
            && matches!(length, 14 | 16))
        || ((four == 6011 || two == 65 || (644..=649).contains(&three))
            && matches!(length, 16 | 19))
        || ((3528..=3589).contains(&four) && matches!(length, 16..=19))
        || (matches!(two, 62 | 81) && matches!(length, 16..=19))
        || (matches!(two, 50 | 56 | 57 | 58 | 60 | 63 | 67 | 68 | 69)
            && matches!(length, 16 | 18 | 19))
        || (matches!(four, 2200..=2204 | 9792) && length == 16)
        || (first == 1 && length == 15)
}

#[cfg(test)]
mod tests {
    use crate::redact::{grouped, redact, scan};

    /// A number that no bank issued, with the right last digit.
    fn card(head: &str) -> String {
        (0..10)
            .map(|digit| format!("{head}{digit}"))
            .find(|number| super::check::luhn(number.as_bytes()))
            .unwrap()
    }

    #[test]
    fn cards_are_masked_however_they_are_grouped() {
        let number = card("400000123456789");
        for given in [number.clone(), grouped(&number, 4, " "), grouped(&number, 4, "-")] {
            assert_eq!(redact(&format!("pay {given} now")).text, "pay [redacted:payment-card] now");
        }
        assert_eq!(scan(&card("37000012345678")).len(), 1);
    }

    #[test]
    fn a_wrong_digit_or_an_unknown_issuer_is_no_card() {
        let number = card("400000123456789");
        let (head, last) = number.split_at(15);
        let last = (last.parse::<u8>().unwrap() + 1) % 10;
        assert!(scan(&format!("order {head}{last}")).is_empty());
        assert!(scan(&format!("id {}", card("990000123456789"))).is_empty());
        assert!(scan(&format!("x = 0.{number}")).is_empty());
    }
}
