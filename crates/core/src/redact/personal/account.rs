//! Bank accounts: the IBAN by its country's length and its check digits, others by the words near
//! them.

use super::{
    super::{
        Hits,
        text::{Class, Text},
    },
    Setting, check, is_told,
};

/// The length of an IBAN, by country.
const LENGTHS: &str = "\
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 \
    DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 \
    HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 \
    MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 \
    RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 \
    VA22 VG24 XK20 YE30";

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
    let known = LENGTHS.split(' ').find_map(|known| known.strip_prefix(country));
    let Some(length) = known.and_then(|length| length.parse().ok()) else { return };
    if !Class::DIGIT.has(text.at(start + 2)) || !Class::DIGIT.has(text.at(start + 3)) {
        return;
    }
    let mut compact = Vec::with_capacity(length);
    let mut at = start;
    while compact.len() < length {
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

/// Masks a plain number, if the words before it say that it is an account.
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
    use crate::redact::{grouped, redact, scan};

    fn iban(country: &str, bban: &str) -> String {
        let rest = check::mod97(format!("{bban}{country}00").bytes());
        format!("{country}{:02}{bban}", 98 - rest)
    }

    #[test]
    fn an_iban_is_masked_with_and_without_spaces() {
        let number = iban("DE", "500105175407324931");
        for given in [number.clone(), grouped(&number, 4, " ")] {
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
