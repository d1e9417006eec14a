//! The table of national identifiers, and what each country checks.

use super::{
    super::words::phrases,
    check::{digits, is_date, is_uniform, iso11_10, luhn, number, value, verhoeff, weighted},
    scheme::{
        Scheme,
        Trust::{self, Alone, Sure, Told},
    },
};

const fn row(
    kind: &'static str,
    shape: &'static str,
    trust: Trust,
    check: fn(&[u8]) -> bool,
    words: &'static [&'static str],
) -> Scheme {
    Scheme { kind, shape, trust, check, words }
}

phrases! {
    SSN = "ssn|social security|ss#|itin|taxpayer|tax id"
}
phrases! {
    PASSPORT = "\
    passport|travel document|travel doc|passeport|reisepass|pasaporte|passaporto|paszport|\
    여권|パスポート|护照"
}
phrases! {
    LICENCE = "license|licence|driver|driving|führerschein|fuehrerschein|permis|patente|면허"
}
phrases! {
    TAX = "tax|tin|tfn|vat|steuer|idnr|abn|acn|fiscal|fiscale|iva|nif|utr|nip|inn"
}
phrases! {
    HEALTH = "nhs|medicare|health|patient|mbi|insurance|npi|dea"
}
phrases! {
    IDENTITY = "\
    identity|national id|id number|id no|identification|citizen|nric|cedula|personal number|\
    dni|nie|cpf|curp|kimlik|personnummer|fødselsnummer|cpr|kennitala|isikukood|asmens|rodné|\
    cnp|egn|oib|emso|jmbg|amka|bsn|burgerservicenummer|rijksregister|ahv|avs|pesel|hetu|\
    henkilötunnus|aadhaar|aadhar|uid|pan |voter|rrn|resident registration|주민|외국인|my number|\
    マイナンバー|個人番号|身份证|身分證|hkid|mykad|nik|cccd|cnic|nin|bvn|cuit|cuil|rut|snils|sin|\
    social insurance|pps|ppsn|teudat|emirates|sozialversicherung"
}
phrases! {
    VEHICLE = "vehicle|registration|plate|rto"
}
phrases! {
    BIRTH = "date of birth|birth date|birthdate|birthday|dob|born on|geburtsdatum|생년월일"
}

/// Every form. The first that is believed gives the kind, so the stronger come first.
pub(super) const SCHEMES: &[Scheme] = &[
    row("us-ssn", "999-99-9999", Sure, ssn, SSN),
    row("us-ssn", "999 99 9999", Sure, ssn, SSN),
    row("us-ssn", "999_99_9999", Alone, old_ssn, SSN),
    row("us-itin", "999-99-9999", Sure, itin, SSN),
    row("us-itin", "999_99_9999", Alone, itin, SSN),
    row("us-ein", "99-9999999", Told, anything, &["ein", "employer"]),
    row("us-npi", "9999999999", Told, npi, &["npi", "provider"]),
    row("us-mbi", "9AX9_AX9_AA99", Alone, mbi, HEALTH),
    row("us-dea", "AA9999999", Told, dea, &["dea"]),
    row("us-routing", "999999999", Told, routing, &["routing", "aba"]),
    row("uk-nino", "AA_99_99_99_A", Sure, nino, &["nino", "national insurance"]),
    row("uk-nhs", "999_999_9999", Alone, nhs, HEALTH),
    row("uk-utr", "99999_99999", Told, anything, &["utr"]),
    row("uk-licence", "AAAAA999999AXXAA", Alone, anything, LICENCE),
    row("ca-sin", "999_999_999", Told, sin, IDENTITY),
    row("au-tfn", "999_999_999", Alone, tfn, TAX),
    row("au-abn", "99_999_999_999", Alone, abn, TAX),
    row("au-acn", "999_999_999", Alone, acn, TAX),
    row("au-medicare", "9999_99999_9", Alone, medicare, HEALTH),
    row("ie-pps", "9999999A", Told, pps, IDENTITY),
    row("ie-pps", "9999999AA", Alone, pps, IDENTITY),
    row("es-nif", "99999999_A", Alone, nif, IDENTITY),
    row("es-nif", "9999999_A", Alone, nif, IDENTITY),
    row("es-nie", "A_9999999_A", Sure, nie, IDENTITY),
    row("it-fiscal-code", "AAAAAA99A99A999A", Sure, fiscal_code, TAX),
    row("it-vat", "99999999999", Told, luhn, TAX),
    row("it-identity-card", "AA99999AA", Alone, anything, IDENTITY),
    row("it-identity-card", "AA_9999999", Told, anything, IDENTITY),
    row("it-driver-licence", "AA9999999A", Alone, anything, LICENCE),
    row("it-driver-licence", "U1XXXXXXXA", Alone, anything, LICENCE),
    row("de-tax-id", "99_999_999_999", Alone, tax_id, TAX),
    row(
        "de-pension",
        "99999999A999",
        Told,
        anything,
        &["rentenversicherung", "sozialversicherung", "rvnr"],
    ),
    row("fr-nir", "9_99_99_99_999_999_99", Sure, nir, &[]),
    row("ch-ahv", "756.9999.9999.99", Sure, ean, &[]),
    row("be-national", "99.99.99-999.99", Sure, belgian, &[]),
    row("be-national", "99999999999", Told, belgian, IDENTITY),
    row("nl-bsn", "999999999", Told, bsn, IDENTITY),
    row("pt-nif", "999999999", Told, bsn_like, TAX),
    row("pl-pesel", "99999999999", Alone, pesel, IDENTITY),
    row("pl-nip", "999-999-99-99", Told, nip, TAX),
    row("fi-hetu", "999999!999X", Sure, hetu, &[]),
    row("se-personnummer", "999999-9999", Alone, personnummer, IDENTITY),
    row("se-personnummer", "99999999-9999", Sure, long_personnummer, &[]),
    row("se-personnummer", "999999+9999", Alone, personnummer, IDENTITY),
    row("dk-cpr", "999999-9999", Told, day_first, IDENTITY),
    row("is-kennitala", "999999-9999", Told, day_first, IDENTITY),
    row("no-national", "999999_99999", Alone, norwegian, IDENTITY),
    row("lv-national", "999999-99999", Told, day_first, IDENTITY),
    row("ee-national", "99999999999", Told, baltic, IDENTITY),
    row("cz-birth-number", "999999/9999", Alone, birth_number, IDENTITY),
    row("ro-cnp", "9999999999999", Alone, cnp, IDENTITY),
    row("bg-egn", "9999999999", Told, egn, IDENTITY),
    row("hr-oib", "99999999999", Told, iso11_10, IDENTITY),
    row("gr-amka", "99999999999", Told, luhn, IDENTITY),
    row("tr-national", "99999999999", Alone, turkish, IDENTITY),
    row("ru-snils", "999-999-999 99", Told, anything, IDENTITY),
    row("in-aadhaar", "9999_9999_9999", Alone, aadhaar, IDENTITY),
    row("in-pan", "AAAAA9999A", Sure, pan, TAX),
    row("in-gstin", "99AAAAA9999AXAX", Sure, gstin, &[]),
    row("in-voter", "AAA9999999", Alone, anything, IDENTITY),
    row("in-pan", "AAAAA9999A", Alone, anything, TAX),
    row("in-passport", "A9999999", Alone, indian_passport, PASSPORT),
    row("in-passport", "A9999999", Told, anything, PASSPORT),
    row("in-vehicle", "AA99AA9999", Alone, indian_vehicle, VEHICLE),
    row("in-vehicle", "AA99A9999", Alone, indian_vehicle, VEHICLE),
    row("in-vehicle", "AA9AAA9999", Alone, indian_vehicle, VEHICLE),
    row("in-vehicle", "AA_99_AA_9999", Alone, indian_vehicle, VEHICLE),
    row("sg-nric", "A9999999A", Sure, nric, IDENTITY),
    row("sg-nric", "A9999999A", Alone, anything, IDENTITY),
    row("sg-uen", "99999999A", Alone, business, &["uen"]),
    row("sg-uen", "999999999A", Alone, company, &["uen"]),
    row("sg-uen", "A99AA9999A", Alone, entity, &["uen"]),
    row("kr-rrn", "999999-9999999", Sure, rrn, &[]),
    row("kr-rrn", "9999999999999", Alone, plain_rrn, IDENTITY),
    row("kr-passport", "A999A9999", Alone, korean_passport, PASSPORT),
    row("kr-passport", "A99999999", Alone, korean_passport, PASSPORT),
    row("kr-driver-licence", "99_99_999999_99", Alone, korean_licence, LICENCE),
    row("kr-business", "999-99-99999", Alone, korean_business, TAX),
    row("jp-my-number", "9999_9999_9999", Told, my_number, IDENTITY),
    row("cn-resident", "99999999999999999X", Sure, resident, &[]),
    row("tw-national", "A999999999", Alone, taiwanese, IDENTITY),
    row("hk-identity", "A999999(X)", Sure, hong_kong, &[]),
    row("hk-identity", "AA999999(X)", Sure, hong_kong, &[]),
    row("my-nric", "999999-99-9999", Alone, year_first, IDENTITY),
    row("th-national", "9-9999-99999-99-9", Sure, thai, &[]),
    row("th-national", "9999999999999", Alone, thai, IDENTITY),
    row("id-nik", "9999999999999999", Told, anything, IDENTITY),
    row("pk-cnic", "99999-9999999-9", Alone, anything, IDENTITY),
    row("br-cpf", "999.999.999-99", Sure, cpf, &[]),
    row("br-cpf", "99999999999", Alone, cpf, IDENTITY),
    row("br-cnpj", "99.999.999/9999-99", Sure, cnpj, &[]),
    row("mx-curp", "AAAA999999AAAAAAX9", Sure, curp, &[]),
    row("ar-cuit", "99-99999999-9", Alone, cuit, IDENTITY),
    row("cl-rut", "99.999.999-X", Sure, rut, &[]),
    row("cl-rut", "9.999.999-X", Sure, rut, &[]),
    row("cl-rut", "99999999-X", Told, rut, IDENTITY),
    row("za-identity", "9999999999999", Alone, south_african, IDENTITY),
    row("ng-nin", "99999999999", Told, anything, IDENTITY),
    row("il-identity", "999999999", Told, luhn, IDENTITY),
    row("ae-identity", "784-9999-9999999-9", Sure, luhn, &[]),
    row("passport", "AA9999999", Alone, anything, PASSPORT),
    row("passport", "A99999999", Alone, unordered, PASSPORT),
    row("passport", "A99999999", Told, anything, PASSPORT),
    row("passport", "999999999", Told, anything, PASSPORT),
    row("passport", "AA999999", Told, anything, PASSPORT),
    row("passport", "AXXXXXXXX", Told, half_digits, PASSPORT),
    row("driver-licence", "A9999999", Told, anything, LICENCE),
    row("driver-licence", "A99999999", Told, anything, LICENCE),
    row("driver-licence", "A999_9999_9999", Told, anything, LICENCE),
    row("driver-licence", "AA999999", Told, anything, LICENCE),
    row("driver-licence", "AA99999999", Told, anything, LICENCE),
    row("driver-licence", "99999999", Told, anything, LICENCE),
    row("driver-licence", "999999999", Told, anything, LICENCE),
    row("birth-date", "9999-99-99", Told, anything, BIRTH),
    row("birth-date", "99/99/9999", Told, anything, BIRTH),
    row("birth-date", "99.99.9999", Told, anything, BIRTH),
    row("birth-date", "99-99-9999", Told, anything, BIRTH),
];

fn anything(id: &[u8]) -> bool {
    !is_uniform(id)
}

/// Not a number somebody counted up or down to fill a field.
fn unordered(id: &[u8]) -> bool {
    let digits: Vec<u8> = id.iter().copied().filter(u8::is_ascii_digit).take(9).collect();
    let up = digits.windows(2).all(|pair| matches!(pair, [left, right] if *right == *left + 1));
    let down = digits.windows(2).all(|pair| matches!(pair, [left, right] if *left == *right + 1));
    !up && !down && !is_uniform(&digits)
}

/// The same, and what a passport's number starts and ends with.
fn indian_passport(id: &[u8]) -> bool {
    unordered(id) && at(id, 1) != 0 && at(id, 7) != 0
}

fn half_digits(id: &[u8]) -> bool {
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

/// Numbers printed in advertisements and forms, which were withdrawn.
const WITHDRAWN: &[u64] = &[78_051_120, 219_099_999, 457_555_462, 123_456_789, 987_654_321];

fn ssn(id: &[u8]) -> bool {
    let (area, group, serial) = (number(id, 0, 3), number(id, 3, 5), number(id, 5, 9));
    area != 0
        && area != 666
        && area < 900
        && group != 0
        && serial != 0
        && !WITHDRAWN.contains(&number(id, 0, 9))
        && !is_uniform(id)
}

/// Digits without marks are believed only if the area existed when areas meant something.
fn old_ssn(id: &[u8]) -> bool {
    ssn(id) && number(id, 0, 3) <= 772
}

fn itin(id: &[u8]) -> bool {
    let group = number(id, 3, 5);
    at(id, 0) == 9 && matches!(group, 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

fn npi(id: &[u8]) -> bool {
    let mut whole = b"80840".to_vec();
    whole.extend(id);
    luhn(&whole)
}

fn mbi(id: &[u8]) -> bool {
    at(id, 0) != 0 && id.iter().all(|byte| !b"SLOIBZ".contains(byte))
}

fn dea(id: &[u8]) -> bool {
    let sum = at(id, 2) + at(id, 4) + at(id, 6) + 2 * (at(id, 3) + at(id, 5) + at(id, 7));
    sum % 10 == at(id, 8)
}

fn routing(id: &[u8]) -> bool {
    weighted(id, &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10) && !is_uniform(id)
}

fn nino(id: &[u8]) -> bool {
    let (first, second, last) = (letter(id, 0), letter(id, 1), letter(id, 8));
    let unused: [&[u8]; 7] = [b"BG", b"GB", b"NK", b"KN", b"TN", b"NT", b"ZZ"];
    !b"DFIQUV".contains(&first)
        && !b"DFIQUVO".contains(&second)
        && !unused.contains(&head(id, 2))
        && (b'A'..=b'D').contains(&last)
}

fn nhs(id: &[u8]) -> bool {
    let check = 11 - weighted(head(id, 9), &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    // Ten digits that start so are seconds since 1970 far more often than a patient.
    let time = matches!(number(id, 0, 2), 15..=19);
    check % 11 == at(id, 9) && check != 10 && !is_uniform(id) && !time
}

fn sin(id: &[u8]) -> bool {
    luhn(id) && !matches!(at(id, 0), 0 | 8)
}

fn tfn(id: &[u8]) -> bool {
    weighted(id, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11) && !is_uniform(id)
}

fn abn(id: &[u8]) -> bool {
    let sum = weighted(id, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    let stuck = id.windows(5).any(is_uniform);
    sum >= 10 && (sum - 10).is_multiple_of(89) && at(id, 0) != 0 && !stuck
}

fn acn(id: &[u8]) -> bool {
    let rest = weighted(head(id, 8), &[8, 7, 6, 5, 4, 3, 2, 1]) % 10;
    (10 - rest) % 10 == at(id, 8) && !is_uniform(id)
}

fn medicare(id: &[u8]) -> bool {
    matches!(at(id, 0), 2..=6) && weighted(head(id, 8), &[1, 3, 7, 9, 1, 3, 7, 9]) % 10 == at(id, 8)
}

fn pps(id: &[u8]) -> bool {
    let second = if id.len() > 8 { u32::from(letter(id, 8).saturating_sub(64)) * 9 } else { 0 };
    let rest = (weighted(head(id, 7), &[8, 7, 6, 5, 4, 3, 2]) + second) % 23;
    b"WABCDEFGHIJKLMNOPQRSTUV".get(rest as usize) == id.get(7)
}

fn nif(id: &[u8]) -> bool {
    let Some((last, digits)) = id.split_last() else { return false };
    control(number(digits, 0, digits.len())) == Some(*last)
}

fn nie(id: &[u8]) -> bool {
    let first = match letter(id, 0) {
        b'X' => 0,
        b'Y' => 1,
        b'Z' => 2,
        _ => return false,
    };
    control(first * 10_000_000 + number(id, 1, 8)) == id.last().copied()
}

/// The letter that Spain puts after a number.
fn control(number: u64) -> Option<u8> {
    let place = usize::try_from(number % 23).ok()?;
    b"TRWAGMYFPDXBNJZSQVHLCKE".get(place).copied()
}

/// Month and day are constrained enough; the last letter is not held against a misprint.
fn fiscal_code(id: &[u8]) -> bool {
    let day = number(id, 9, 11);
    b"ABCDEHLMPRST".contains(&letter(id, 8)) && (matches!(day, 1..=31 | 41..=71))
}

/// Ten digits in which one occurs twice or thrice, then a check digit.
fn tax_id(id: &[u8]) -> bool {
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

fn nir(id: &[u8]) -> bool {
    let month = number(id, 3, 5);
    matches!(at(id, 0), 1..=4 | 7 | 8)
        && matches!(month, 1..=12 | 20..=42 | 50..=99)
        && 97 - number(id, 0, 13) % 97 == number(id, 13, 15)
}

fn ean(id: &[u8]) -> bool {
    let rest = weighted(head(id, 12), &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]) % 10;
    (10 - rest) % 10 == at(id, 12)
}

fn belgian(id: &[u8]) -> bool {
    let check = number(id, 9, 11);
    let body = number(id, 0, 9);
    97 - body % 97 == check || 97 - (2_000_000_000 + body) % 97 == check
}

fn bsn(id: &[u8]) -> bool {
    let sum = i64::from(weighted(head(id, 8), &[9, 8, 7, 6, 5, 4, 3, 2])) - i64::from(at(id, 8));
    sum % 11 == 0 && !is_uniform(id)
}

fn bsn_like(id: &[u8]) -> bool {
    let rest = weighted(head(id, 8), &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest < 2 { 0 } else { 11 - rest };
    check == at(id, 8)
}

fn pesel(id: &[u8]) -> bool {
    let month = number(id, 2, 4) % 20;
    let check = (10 - weighted(head(id, 10), &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10) % 10;
    is_date(month, number(id, 4, 6)) && check == at(id, 10)
}

fn nip(id: &[u8]) -> bool {
    weighted(head(id, 9), &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == at(id, 9)
}

fn hetu(id: &[u8]) -> bool {
    let rest = (number(id, 0, 6) * 1000 + number(id, 7, 10)) % 31;
    let check =
        usize::try_from(rest).ok().and_then(|rest| b"0123456789ABCDEFHJKLMNPRSTUVWXY".get(rest));
    is_date(number(id, 2, 4), number(id, 0, 2)) && check == id.get(10)
}

fn personnummer(id: &[u8]) -> bool {
    let id: Vec<u8> = id.iter().copied().filter(u8::is_ascii_digit).collect();
    let day = number(&id, 4, 6);
    is_date(number(&id, 2, 4), if day > 60 { day - 60 } else { day }) && luhn(&id)
}

fn long_personnummer(id: &[u8]) -> bool {
    matches!(number(id, 0, 2), 18..=20) && personnummer(id.get(2..).unwrap_or(&[]))
}

fn day_first(id: &[u8]) -> bool {
    is_date(number(id, 2, 4), number(id, 0, 2))
}

fn year_first(id: &[u8]) -> bool {
    is_date(number(id, 2, 4), number(id, 4, 6))
}

fn norwegian(id: &[u8]) -> bool {
    let first = weighted(head(id, 10), &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]) % 11;
    let second = weighted(id, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11;
    let day = number(id, 0, 2);
    first == 0 && second == 0 && is_date(number(id, 2, 4), if day > 40 { day - 40 } else { day })
}

fn baltic(id: &[u8]) -> bool {
    let first = weighted(head(id, 10), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let second = weighted(head(id, 10), &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11;
    let check = if first < 10 { first } else { second % 10 };
    matches!(at(id, 0), 1..=8) && is_date(number(id, 3, 5), number(id, 5, 7)) && check == at(id, 10)
}

fn birth_number(id: &[u8]) -> bool {
    let month = number(id, 2, 4);
    let month = [0, 20, 50, 70]
        .iter()
        .filter_map(|shift| month.checked_sub(*shift))
        .find(|month| matches!(month, 1..=12));
    month.is_some_and(|month| is_date(month, number(id, 4, 6)))
        && number(id, 0, 10).is_multiple_of(11)
}

fn cnp(id: &[u8]) -> bool {
    let rest = weighted(head(id, 12), &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    let check = if rest == 10 { 1 } else { rest };
    at(id, 0) != 0
        && is_date(number(id, 3, 5), number(id, 5, 7))
        && number(id, 7, 9) <= 52
        && check == at(id, 12)
}

fn egn(id: &[u8]) -> bool {
    weighted(head(id, 9), &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10 == at(id, 9)
}

fn turkish(id: &[u8]) -> bool {
    let odd: u32 = [0, 2, 4, 6, 8].iter().map(|place| at(id, *place)).sum();
    let even: u32 = [1, 3, 5, 7].iter().map(|place| at(id, *place)).sum();
    let total: u32 = digits(head(id, 10)).sum();
    at(id, 0) != 0 && (odd * 7 + 90 - even) % 10 == at(id, 9) && total % 10 == at(id, 10)
}

fn aadhaar(id: &[u8]) -> bool {
    let palindrome = id.iter().eq(id.iter().rev());
    at(id, 0) >= 2 && verhoeff(id) && !palindrome
}

fn pan(id: &[u8]) -> bool {
    b"ABCFGHJLPT".contains(&letter(id, 3))
}

fn gstin(id: &[u8]) -> bool {
    matches!(number(id, 0, 2), 1..=38 | 97)
        && pan(id.get(2..12).unwrap_or(&[]))
        && letter(id, 13) == b'Z'
}

fn indian_vehicle(id: &[u8]) -> bool {
    const STATES: &str = "AN AP AR AS BR CG CH DD DL DN GA GJ HP HR JH JK KA KL LA LD MH ML MN MP MZ NL OD OR PB PY RJ SK TN TR TS UK UP WB";
    let state = std::str::from_utf8(head(id, 2)).unwrap_or("");
    state.len() == 2 && STATES.split(' ').any(|known| known == state)
}

/// The registration of a business in Singapore.
fn business(id: &[u8]) -> bool {
    let rest = weighted(head(id, 8), &[10, 4, 9, 3, 8, 2, 7, 1]) % 11;
    b"XMKECAWLJDB".get(rest as usize) == id.get(8)
}

/// The registration of a company in Singapore, which starts with its year.
fn company(id: &[u8]) -> bool {
    let rest = weighted(head(id, 9), &[10, 8, 6, 4, 9, 7, 5, 3, 1]) % 11;
    matches!(number(id, 0, 4), 1819..=2099) && b"ZKCMDNERGWH".get(rest as usize) == id.get(9)
}

/// The registration of any other entity in Singapore.
fn entity(id: &[u8]) -> bool {
    b"RST".contains(&letter(id, 0))
}

fn nric(id: &[u8]) -> bool {
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

/// Born on a date, and of a sex and century in use. Foreigners' numbers must also check, because
/// the form alone is shared with serial numbers.
fn rrn(id: &[u8]) -> bool {
    let sum = weighted(head(id, 12), &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11;
    let native = matches!(at(id, 6), 1..=4);
    let foreign = matches!(at(id, 6), 5..=8) && (13 - sum) % 10 == at(id, 12);
    is_date(number(id, 2, 4), number(id, 4, 6)) && (native || foreign)
}

/// Thirteen digits that start so are milliseconds since 1970.
fn plain_rrn(id: &[u8]) -> bool {
    rrn(id) && !matches!(number(id, 0, 2), 15..=17)
}

fn korean_passport(id: &[u8]) -> bool {
    b"MSRODG".contains(&letter(id, 0))
}

fn korean_licence(id: &[u8]) -> bool {
    matches!(number(id, 0, 2), 11..=26 | 28) && unordered(id)
}

fn korean_business(id: &[u8]) -> bool {
    let sum = weighted(head(id, 9), &[1, 3, 7, 1, 3, 7, 1, 3, 5]) + at(id, 8) * 5 / 10;
    (10 - sum % 10) % 10 == at(id, 9)
}

fn my_number(id: &[u8]) -> bool {
    let rest = weighted(head(id, 11), &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest <= 1 { 0 } else { 11 - rest };
    check == at(id, 11)
}

fn resident(id: &[u8]) -> bool {
    let rest = weighted(head(id, 17), &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11;
    matches!(number(id, 6, 8), 18..=20)
        && is_date(number(id, 10, 12), number(id, 12, 14))
        && b"10X98765432".get(rest as usize) == id.get(17)
}

fn taiwanese(id: &[u8]) -> bool {
    const PLACES: &[u8] = b"ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let Some(place) = PLACES.iter().position(|known| *known == letter(id, 0)) else { return false };
    let code = u32::try_from(place).unwrap_or(0) + 10;
    let sum = code / 10
        + code % 10 * 9
        + weighted(id.get(1..10).unwrap_or(&[]), &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    matches!(at(id, 1), 1 | 2 | 8 | 9) && sum.is_multiple_of(10) && unordered(id)
}

fn hong_kong(id: &[u8]) -> bool {
    let Some((last, body)) = id.split_last() else { return false };
    let padded = if body.len() == 7 { 36 * 9 } else { at(body, 0) * 9 };
    let rest = if body.len() == 7 { body } else { body.get(1..).unwrap_or(&[]) };
    let sum = padded + weighted(rest, &[8, 7, 6, 5, 4, 3, 2]);
    let check = if *last == b'A' { 10 } else { value(*last) };
    (sum + check).is_multiple_of(11)
}

fn thai(id: &[u8]) -> bool {
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

fn cpf(id: &[u8]) -> bool {
    unordered(id) && brazilian(id, &[10, 9, 8, 7, 6, 5, 4, 3, 2], &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
}

fn cnpj(id: &[u8]) -> bool {
    brazilian(id, &[5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2], &[6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
}

fn curp(id: &[u8]) -> bool {
    b"HMX".contains(&letter(id, 10)) && is_date(number(id, 6, 8), number(id, 8, 10))
}

fn cuit(id: &[u8]) -> bool {
    let check = 11 - weighted(head(id, 10), &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    matches!(number(id, 0, 2), 20 | 23 | 24 | 27 | 30 | 33 | 34) && (check % 11) % 10 == at(id, 10)
}

fn rut(id: &[u8]) -> bool {
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

fn south_african(id: &[u8]) -> bool {
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
        // Numbers that the authorities themselves print to explain the check.
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
