//! Bank accounts: the IBAN by its country's length and its check digits, others by what is said
//! about them.

use super::{
    super::{
        Hits,
        text::{Class, Text},
    },
    Setting, check, is_told,
};

/// The length of an IBAN, by country.
const LENGTHS: &[(&str, usize)] = &[
    ("AD", 24),
    ("AE", 23),
    ("AL", 28),
    ("AT", 20),
    ("AZ", 28),
    ("BA", 20),
    ("BE", 16),
    ("BG", 22),
    ("BH", 22),
    ("BI", 27),
    ("BR", 29),
    ("BY", 28),
    ("CH", 21),
    ("CR", 22),
    ("CY", 28),
    ("CZ", 24),
    ("DE", 22),
    ("DJ", 27),
    ("DK", 18),
    ("DO", 28),
    ("EE", 20),
    ("EG", 29),
    ("ES", 24),
    ("FI", 18),
    ("FK", 18),
    ("FO", 18),
    ("FR", 27),
    ("GB", 22),
    ("GE", 22),
    ("GI", 23),
    ("GL", 18),
    ("GR", 27),
    ("GT", 28),
    ("HN", 28),
    ("HR", 21),
    ("HU", 28),
    ("IE", 22),
    ("IL", 23),
    ("IQ", 23),
    ("IS", 26),
    ("IT", 27),
    ("JO", 30),
    ("KW", 30),
    ("KZ", 20),
    ("LB", 28),
    ("LC", 32),
    ("LI", 21),
    ("LT", 20),
    ("LU", 20),
    ("LV", 21),
    ("LY", 25),
    ("MC", 27),
    ("MD", 24),
    ("ME", 22),
    ("MK", 19),
    ("MN", 20),
    ("MR", 27),
    ("MT", 31),
    ("MU", 30),
    ("NI", 28),
    ("NL", 18),
    ("NO", 15),
    ("OM", 23),
    ("PK", 24),
    ("PL", 28),
    ("PS", 29),
    ("PT", 25),
    ("QA", 29),
    ("RO", 24),
    ("RS", 22),
    ("RU", 33),
    ("SA", 24),
    ("SC", 31),
    ("SD", 18),
    ("SE", 24),
    ("SI", 19),
    ("SK", 24),
    ("SM", 27),
    ("SO", 23),
    ("ST", 25),
    ("SV", 28),
    ("TL", 23),
    ("TN", 24),
    ("TR", 26),
    ("UA", 29),
    ("VA", 22),
    ("VG", 24),
    ("XK", 20),
    ("YE", 30),
];

/// Masks the account that starts there.
pub(super) fn find(text: Text<'_>, start: usize, setting: Setting, hits: &mut Hits) {
    if Class::UPPER.has(text.at(start)) {
        iban(text, start, hits);
    } else if setting == Setting::Amid {
        told(text, start, hits);
    }
}

fn iban(text: Text<'_>, start: usize, hits: &mut Hits) {
    let country = text.cut(start, start + 2);
    let Some((_, length)) = LENGTHS.iter().find(|(code, _)| *code == country) else { return };
    if !Class::DIGIT.has(text.at(start + 2)) || !Class::DIGIT.has(text.at(start + 3)) {
        return;
    }
    let mut compact = Vec::with_capacity(*length);
    let mut at = start;
    while compact.len() < *length {
        let byte = text.at(at);
        if Class::UPPER_NUM.has(byte) {
            compact.push(byte);
        } else if !matches!(byte, b' ' | b'-') || matches!(text.before(at), b' ' | b'-') {
            return;
        }
        at += 1;
    }
    let (head, tail) = compact.split_at_checked(4).unwrap_or((&[], &[]));
    if !Class::WORD.has(text.at(at)) && check::mod97(tail.iter().chain(head).copied()) == 1 {
        hits.personal("iban", start, at);
    }
}

/// A plain number, if the words before it say that it is an account.
fn told(text: Text<'_>, start: usize, hits: &mut Hits) {
    let end = text.run_within(start, Class::DIGIT, 18);
    let fits = (8..=17).contains(&(end - start)) && !Class::WORD.has(text.at(end));
    let words = [
        "bank account",
        "account number",
        "account no",
        "acct no",
        "acct #",
        "kontonummer",
        "checking account",
    ];
    let digits = text.cut(start, end).as_bytes();
    if fits && is_told(text, start, start, &words) && !check::is_uniform(digits) {
        hits.personal("bank-account", start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{redact, scan};

    fn iban(country: &str, bban: &str) -> String {
        let rest = check::mod97(format!("{bban}{country}00").bytes());
        format!("{country}{:02}{bban}", 98 - rest)
    }

    #[test]
    fn an_iban_is_masked_with_and_without_spaces() {
        let number = iban("DE", "500105175407324931");
        let spaced: Vec<&str> =
            [&number[..4], &number[4..8], &number[8..12], &number[12..16], &number[16..]].to_vec();
        for given in [number.clone(), spaced.join(" ")] {
            assert_eq!(redact(&format!("to {given}, today")).text, "to [redacted:iban], today");
        }
    }

    #[test]
    fn a_wrong_check_length_or_country_is_no_iban() {
        let number = iban("DE", "500105175407324931");
        assert!(scan(&number.replace("4931", "4932")).is_empty());
        assert!(scan(&iban("DE", "50010517540732493")).is_empty());
        assert!(scan(&iban("XX", "500105175407324931")).is_empty());
    }

    #[test]
    fn a_plain_number_needs_a_word() {
        assert_eq!(scan("Bank account: 40817810099").len(), 1);
        assert!(scan("batch 40817810099 done").is_empty());
    }
}
