//! The checks of each country's identifiers.
//!
//! Every function takes letters in capitals and digits, without marks, of the right length.

use super::check::verhoeff;
use super::check::{digits, is_date, is_uniform, iso11_10, luhn, number, value, weighted};

pub(super) fn anything(id: &[u8]) -> bool {
    !is_uniform(id)
}

/// Reports whether it is not a number that somebody made up to fill a field: counting up or down,
/// or one repeated digit.
pub(super) fn unordered(id: &[u8]) -> bool {
    let digits: Vec<u8> = id.iter().copied().filter(u8::is_ascii_digit).take(9).collect();
    let up = digits.windows(2).all(|pair| matches!(pair, [left, right] if *right == *left + 1));
    let down = digits.windows(2).all(|pair| matches!(pair, [left, right] if *left == *right + 1));
    !up && !down && !is_uniform(&digits)
}

/// Checks the same, and that the first and last digit of a passport's number are not zero.
pub(super) fn indian_passport(id: &[u8]) -> bool {
    unordered(id) && at(id, 1) != 0 && at(id, 7) != 0
}

pub(super) fn half_digits(id: &[u8]) -> bool {
    id.iter().filter(|byte| byte.is_ascii_digit()).count() >= 5
}

fn at(id: &[u8], place: usize) -> u32 {
    id.get(place).map_or(0, |byte| value(*byte))
}

fn letter(id: &[u8], place: usize) -> u8 {
    id.get(place).copied().unwrap_or(0)
}

fn head(id: &[u8], length: usize) -> &[u8] {
    id.get(..length).unwrap_or(&[])
}

/// Numbers that were printed in advertisements and forms, and withdrawn.
const WITHDRAWN: &[u64] = &[78_051_120, 219_099_999, 457_555_462, 123_456_789, 987_654_321];

pub(super) fn ssn(id: &[u8]) -> bool {
    let (area, group, serial) = (number(id, 0, 3), number(id, 3, 5), number(id, 5, 9));
    area != 0
        && area != 666
        && area < 900
        && group != 0
        && serial != 0
        && !WITHDRAWN.contains(&number(id, 0, 9))
        && !is_uniform(id)
}

/// Digits without separators are believed only if the area existed while areas were assigned.
pub(super) fn old_ssn(id: &[u8]) -> bool {
    ssn(id) && number(id, 0, 3) <= 772
}

pub(super) fn itin(id: &[u8]) -> bool {
    let group = number(id, 3, 5);
    at(id, 0) == 9 && matches!(group, 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

pub(super) fn npi(id: &[u8]) -> bool {
    let mut whole = b"80840".to_vec();
    whole.extend(id);
    luhn(&whole)
}

pub(super) fn mbi(id: &[u8]) -> bool {
    at(id, 0) != 0 && id.iter().all(|byte| !b"SLOIBZ".contains(byte))
}

pub(super) fn dea(id: &[u8]) -> bool {
    let sum = at(id, 2) + at(id, 4) + at(id, 6) + 2 * (at(id, 3) + at(id, 5) + at(id, 7));
    sum % 10 == at(id, 8)
}

pub(super) fn routing(id: &[u8]) -> bool {
    weighted(id, &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10) && !is_uniform(id)
}

pub(super) fn nino(id: &[u8]) -> bool {
    let (first, second, last) = (letter(id, 0), letter(id, 1), letter(id, 8));
    let unused: [&[u8]; 7] = [b"BG", b"GB", b"NK", b"KN", b"TN", b"NT", b"ZZ"];
    !b"DFIQUV".contains(&first)
        && !b"DFIQUVO".contains(&second)
        && !unused.contains(&head(id, 2))
        && (b'A'..=b'D').contains(&last)
}

pub(super) fn nhs(id: &[u8]) -> bool {
    let check = 11 - weighted(head(id, 9), &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    // Ten digits with this beginning are seconds since 1970 far more often than a patient's number.
    let time = matches!(number(id, 0, 2), 15..=19);
    check % 11 == at(id, 9) && check != 10 && !is_uniform(id) && !time
}

pub(super) fn sin(id: &[u8]) -> bool {
    luhn(id) && !matches!(at(id, 0), 0 | 8)
}

pub(super) fn tfn(id: &[u8]) -> bool {
    weighted(id, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11) && !is_uniform(id)
}

pub(super) fn abn(id: &[u8]) -> bool {
    let sum = weighted(id, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    let stuck = id.windows(5).any(is_uniform);
    sum >= 10 && (sum - 10).is_multiple_of(89) && at(id, 0) != 0 && !stuck
}

pub(super) fn acn(id: &[u8]) -> bool {
    let rest = weighted(head(id, 8), &[8, 7, 6, 5, 4, 3, 2, 1]) % 10;
    (10 - rest) % 10 == at(id, 8) && !is_uniform(id)
}

pub(super) fn medicare(id: &[u8]) -> bool {
    matches!(at(id, 0), 2..=6) && weighted(head(id, 8), &[1, 3, 7, 9, 1, 3, 7, 9]) % 10 == at(id, 8)
}

pub(super) fn pps(id: &[u8]) -> bool {
    let second = if id.len() > 8 { u32::from(letter(id, 8).saturating_sub(64)) * 9 } else { 0 };
    let rest = (weighted(head(id, 7), &[8, 7, 6, 5, 4, 3, 2]) + second) % 23;
    b"WABCDEFGHIJKLMNOPQRSTUV".get(rest as usize) == id.get(7)
}

pub(super) fn nif(id: &[u8]) -> bool {
    let Some((last, digits)) = id.split_last() else { return false };
    control(number(digits, 0, digits.len())) == Some(*last)
}

pub(super) fn nie(id: &[u8]) -> bool {
    let first = match letter(id, 0) {
        b'X' => 0,
        b'Y' => 1,
        b'Z' => 2,
        _ => return false,
    };
    control(first * 10_000_000 + number(id, 1, 8)) == id.last().copied()
}

/// The letter that Spain appends to a number.
fn control(number: u64) -> Option<u8> {
    let place = usize::try_from(number % 23).ok()?;
    b"TRWAGMYFPDXBNJZSQVHLCKE".get(place).copied()
}

/// Checks month and day, which are constrained enough; the last letter is not checked, because of
/// misprints.
pub(super) fn fiscal_code(id: &[u8]) -> bool {
    let day = number(id, 9, 11);
    b"ABCDEHLMPRST".contains(&letter(id, 8)) && (matches!(day, 1..=31 | 41..=71))
}

/// Ten digits in which one occurs twice or thrice, then a check digit.
pub(super) fn tax_id(id: &[u8]) -> bool {
    let mut counts = [0_u8; 10];
    for digit in digits(head(id, 10)) {
        if let Some(count) = counts.get_mut(digit as usize) {
            *count += 1;
        }
    }
    let repeated = counts.iter().filter(|count| **count > 1).count();
    let most = counts.iter().max().copied().unwrap_or(0);
    at(id, 0) != 0 && repeated <= 1 && most <= 3 && iso11_10(id)
}

pub(super) fn nir(id: &[u8]) -> bool {
    let month = number(id, 3, 5);
    matches!(at(id, 0), 1..=4 | 7 | 8)
        && matches!(month, 1..=12 | 20..=42 | 50..=99)
        && 97 - number(id, 0, 13) % 97 == number(id, 13, 15)
}

pub(super) fn ean(id: &[u8]) -> bool {
    let rest = weighted(head(id, 12), &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]) % 10;
    (10 - rest) % 10 == at(id, 12)
}

pub(super) fn belgian(id: &[u8]) -> bool {
    let check = number(id, 9, 11);
    let body = number(id, 0, 9);
    97 - body % 97 == check || 97 - (2_000_000_000 + body) % 97 == check
}

pub(super) fn bsn(id: &[u8]) -> bool {
    let sum = i64::from(weighted(head(id, 8), &[9, 8, 7, 6, 5, 4, 3, 2])) - i64::from(at(id, 8));
    sum % 11 == 0 && !is_uniform(id)
}

pub(super) fn bsn_like(id: &[u8]) -> bool {
    let rest = weighted(head(id, 8), &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest < 2 { 0 } else { 11 - rest };
    check == at(id, 8)
}

pub(super) fn pesel(id: &[u8]) -> bool {
    let month = number(id, 2, 4) % 20;
    let check = (10 - weighted(head(id, 10), &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10) % 10;
    is_date(month, number(id, 4, 6)) && check == at(id, 10)
}

pub(super) fn nip(id: &[u8]) -> bool {
    weighted(head(id, 9), &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == at(id, 9)
}

pub(super) fn hetu(id: &[u8]) -> bool {
    let rest = (number(id, 0, 6) * 1000 + number(id, 7, 10)) % 31;
    let check =
        usize::try_from(rest).ok().and_then(|rest| b"0123456789ABCDEFHJKLMNPRSTUVWXY".get(rest));
    is_date(number(id, 2, 4), number(id, 0, 2)) && check == id.get(10)
}

pub(super) fn personnummer(id: &[u8]) -> bool {
    let id: Vec<u8> = id.iter().copied().filter(u8::is_ascii_digit).collect();
    let day = number(&id, 4, 6);
    is_date(number(&id, 2, 4), if day > 60 { day - 60 } else { day }) && luhn(&id)
}

pub(super) fn long_personnummer(id: &[u8]) -> bool {
    matches!(number(id, 0, 2), 18..=20) && personnummer(id.get(2..).unwrap_or(&[]))
}

pub(super) fn day_first(id: &[u8]) -> bool {
    is_date(number(id, 2, 4), number(id, 0, 2))
}

pub(super) fn year_first(id: &[u8]) -> bool {
    is_date(number(id, 2, 4), number(id, 4, 6))
}

pub(super) fn norwegian(id: &[u8]) -> bool {
    let first = weighted(head(id, 10), &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]) % 11;
    let second = weighted(id, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11;
    let day = number(id, 0, 2);
    first == 0 && second == 0 && is_date(number(id, 2, 4), if day > 40 { day - 40 } else { day })
}

pub(super) fn baltic(id: &[u8]) -> bool {
    let first = weighted(head(id, 10), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let second = weighted(head(id, 10), &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11;
    let check = if first < 10 { first } else { second % 10 };
    matches!(at(id, 0), 1..=8) && is_date(number(id, 3, 5), number(id, 5, 7)) && check == at(id, 10)
}

pub(super) fn birth_number(id: &[u8]) -> bool {
    let month = number(id, 2, 4);
    let month = [0, 20, 50, 70]
        .iter()
        .filter_map(|shift| month.checked_sub(*shift))
        .find(|month| matches!(month, 1..=12));
    month.is_some_and(|month| is_date(month, number(id, 4, 6)))
        && number(id, 0, 10).is_multiple_of(11)
}

pub(super) fn cnp(id: &[u8]) -> bool {
    let rest = weighted(head(id, 12), &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    let check = if rest == 10 { 1 } else { rest };
    at(id, 0) != 0
        && is_date(number(id, 3, 5), number(id, 5, 7))
        && number(id, 7, 9) <= 52
        && check == at(id, 12)
}

pub(super) fn egn(id: &[u8]) -> bool {
    weighted(head(id, 9), &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10 == at(id, 9)
}

pub(super) fn turkish(id: &[u8]) -> bool {
    let odd: u32 = [0, 2, 4, 6, 8].iter().map(|place| at(id, *place)).sum();
    let even: u32 = [1, 3, 5, 7].iter().map(|place| at(id, *place)).sum();
    let total: u32 = digits(head(id, 10)).sum();
    at(id, 0) != 0 && (odd * 7 + 90 - even) % 10 == at(id, 9) && total % 10 == at(id, 10)
}

pub(super) fn aadhaar(id: &[u8]) -> bool {
    let palindrome = id.iter().eq(id.iter().rev());
    at(id, 0) >= 2 && verhoeff(id) && !palindrome
}

pub(super) fn pan(id: &[u8]) -> bool {
    b"ABCFGHJLPT".contains(&letter(id, 3))
}

pub(super) fn gstin(id: &[u8]) -> bool {
    matches!(number(id, 0, 2), 1..=38 | 97)
        && pan(id.get(2..12).unwrap_or(&[]))
        && letter(id, 13) == b'Z'
}

pub(super) fn indian_vehicle(id: &[u8]) -> bool {
    const STATES: &str = "AN AP AR AS BR CG CH DD DL DN GA GJ HP HR JH JK KA KL LA LD MH ML MN MP MZ NL OD OR PB PY RJ SK TN TR TS UK UP WB";
    let state = std::str::from_utf8(head(id, 2)).unwrap_or("");
    state.len() == 2 && STATES.split(' ').any(|known| known == state)
}

/// The registration of a business in Singapore.
pub(super) fn business(id: &[u8]) -> bool {
    let rest = weighted(head(id, 8), &[10, 4, 9, 3, 8, 2, 7, 1]) % 11;
    b"XMKECAWLJDB".get(rest as usize) == id.get(8)
}

/// The registration of a company in Singapore, which starts with its year.
pub(super) fn company(id: &[u8]) -> bool {
    let rest = weighted(head(id, 9), &[10, 8, 6, 4, 9, 7, 5, 3, 1]) % 11;
    matches!(number(id, 0, 4), 1819..=2099) && b"ZKCMDNERGWH".get(rest as usize) == id.get(9)
}

/// The registration of any other entity in Singapore.
pub(super) fn entity(id: &[u8]) -> bool {
    b"RST".contains(&letter(id, 0))
}

pub(super) fn nric(id: &[u8]) -> bool {
    let series = letter(id, 0);
    let shift = match series {
        b'T' | b'G' => 4,
        b'M' => 3,
        b'S' | b'F' => 0,
        _ => return false,
    };
    let rest = (weighted(id.get(1..8).unwrap_or(&[]), &[2, 7, 6, 5, 4, 3, 2]) + shift) % 11;
    let table: &[u8] = match series {
        b'S' | b'T' => b"JZIHGFEDCBA",
        b'F' | b'G' => b"XWUTRQPNMLK",
        _ => b"KLJNPQRTUWX",
    };
    let place = if series == b'M' { 10 - rest } else { rest };
    let expected = table.get(place as usize);
    expected == id.get(8) || (series == b'M' && table.get(rest as usize) == id.get(8))
}

/// Checks the date of birth, and a digit for sex and century that is in use. Foreigners' numbers
/// must also pass the checksum, because the form alone is shared with serial numbers.
pub(super) fn rrn(id: &[u8]) -> bool {
    let sum = weighted(head(id, 12), &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11;
    let native = matches!(at(id, 6), 1..=4);
    let foreign = matches!(at(id, 6), 5..=8) && (13 - sum) % 10 == at(id, 12);
    is_date(number(id, 2, 4), number(id, 4, 6)) && (native || foreign)
}

/// Excludes thirteen digits that are probably milliseconds since 1970.
pub(super) fn plain_rrn(id: &[u8]) -> bool {
    rrn(id) && !matches!(number(id, 0, 2), 15..=17)
}

pub(super) fn korean_passport(id: &[u8]) -> bool {
    b"MSRODG".contains(&letter(id, 0))
}

pub(super) fn korean_licence(id: &[u8]) -> bool {
    matches!(number(id, 0, 2), 11..=26 | 28) && unordered(id)
}

pub(super) fn korean_business(id: &[u8]) -> bool {
    let sum = weighted(head(id, 9), &[1, 3, 7, 1, 3, 7, 1, 3, 5]) + at(id, 8) * 5 / 10;
    (10 - sum % 10) % 10 == at(id, 9)
}

pub(super) fn my_number(id: &[u8]) -> bool {
    let rest = weighted(head(id, 11), &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest <= 1 { 0 } else { 11 - rest };
    check == at(id, 11)
}

pub(super) fn resident(id: &[u8]) -> bool {
    let rest = weighted(head(id, 17), &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11;
    matches!(number(id, 6, 8), 18..=20)
        && is_date(number(id, 10, 12), number(id, 12, 14))
        && b"10X98765432".get(rest as usize) == id.get(17)
}

pub(super) fn taiwanese(id: &[u8]) -> bool {
    const PLACES: &[u8] = b"ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let Some(place) = PLACES.iter().position(|known| *known == letter(id, 0)) else { return false };
    let code = u32::try_from(place).unwrap_or(0) + 10;
    let sum = code / 10
        + code % 10 * 9
        + weighted(id.get(1..10).unwrap_or(&[]), &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    matches!(at(id, 1), 1 | 2 | 8 | 9) && sum.is_multiple_of(10) && unordered(id)
}

pub(super) fn hong_kong(id: &[u8]) -> bool {
    let Some((last, body)) = id.split_last() else { return false };
    let padded = if body.len() == 7 { 36 * 9 } else { at(body, 0) * 9 };
    let rest = if body.len() == 7 { body } else { body.get(1..).unwrap_or(&[]) };
    let sum = padded + weighted(rest, &[8, 7, 6, 5, 4, 3, 2]);
    let check = if *last == b'A' { 10 } else { value(*last) };
    (sum + check).is_multiple_of(11)
}

pub(super) fn thai(id: &[u8]) -> bool {
    let rest = weighted(head(id, 12), &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    (11 - rest) % 10 == at(id, 12)
}

/// The two check digits that Brazil computes the same way for people and firms.
fn brazilian(id: &[u8], first: &[u32], second: &[u32]) -> bool {
    let check = |weights: &[u32]| {
        let rest = weighted(id, weights) % 11;
        if rest < 2 { 0 } else { 11 - rest }
    };
    check(first) == at(id, first.len()) && check(second) == at(id, second.len()) && !is_uniform(id)
}

pub(super) fn cpf(id: &[u8]) -> bool {
    unordered(id) && brazilian(id, &[10, 9, 8, 7, 6, 5, 4, 3, 2], &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
}

pub(super) fn cnpj(id: &[u8]) -> bool {
    brazilian(id, &[5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2], &[6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
}

pub(super) fn curp(id: &[u8]) -> bool {
    b"HMX".contains(&letter(id, 10)) && is_date(number(id, 6, 8), number(id, 8, 10))
}

pub(super) fn cuit(id: &[u8]) -> bool {
    let check = 11 - weighted(head(id, 10), &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    matches!(number(id, 0, 2), 20 | 23 | 24 | 27 | 30 | 33 | 34) && (check % 11) % 10 == at(id, 10)
}

pub(super) fn rut(id: &[u8]) -> bool {
    let Some((last, body)) = id.split_last() else { return false };
    let sum: u32 = digits(body)
        .rev()
        .zip([2, 3, 4, 5, 6, 7, 2, 3])
        .map(|(digit, weight)| digit * weight)
        .sum();
    match 11 - sum % 11 {
        11 => *last == b'0',
        10 => *last == b'K',
        check => check == value(*last),
    }
}

pub(super) fn south_african(id: &[u8]) -> bool {
    year_first(id)
        && matches!(at(id, 10), 0 | 1)
        && luhn(id)
        && !matches!(number(id, 0, 2), 15..=17)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::scan;

    /// Completes a number with the digits or letters that make its check hold.
    fn complete(head: &str, tail: usize, check: fn(&[u8]) -> bool) -> String {
        let alphabet = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ";
        let mut ends = vec![String::new()];
        for _ in 0..tail {
            ends = ends
                .iter()
                .flat_map(|end| alphabet.chars().map(move |letter| format!("{end}{letter}")))
                .collect();
        }
        ends.iter().map(|end| format!("{head}{end}")).find(|id| check(id.as_bytes())).unwrap()
    }

    #[test]
    fn published_samples_pass_their_check() {
        // Numbers that the authorities themselves publish to explain the check.
        assert!(abn(b"51824753556"));
        assert!(belgian(b"85073003328"));
        assert!(hetu(b"131052-308T"));
        assert!(cnp(b"1800101221144"));
        assert!(resident(b"11010519491231002X"));
        assert!(cpf(b"11144477735") && cnpj(b"11222333000181"));
        assert!(rut(b"111111111") && ean(b"7569217076985"));
    }

    #[test]
    fn a_number_with_its_check_is_found_and_its_neighbour_is_not() {
        for (head, tail, check) in [
            ("45678901", 1, nif as fn(&[u8]) -> bool),
            ("X765432", 2, nie),
            ("234567890", 2, tax_id),
            ("90010112", 3, pesel),
        ] {
            let id = complete(head, tail, check);
            assert_eq!(scan(&id).len(), 1, "{id}");
        }
    }

    #[test]
    fn a_plain_number_in_a_sentence_needs_a_word() {
        let id = complete("900101123", 2, pesel);
        assert!(scan(&format!("processed {id} rows today")).is_empty());
        assert_eq!(scan(&format!("her pesel is {id} today")).len(), 1);
    }

    #[test]
    fn withdrawn_and_impossible_numbers_are_left() {
        for id in [
            "000-12-3456",
            "666-12-3456",
            "900-12-3456",
            "219-00-1234",
            "219-09-0000",
            "123-45-6789",
        ] {
            assert!(scan(id).is_empty(), "{id}");
        }
    }
}
