//! The table of national identifiers.

use super::{
    super::words::phrases,
    check::{iso11_10, luhn},
    scheme::{
        Scheme,
        Trust::{self, Alone, Sure, Told},
    },
    valid::{
        aadhaar, abn, acn, anything, baltic, belgian, birth_number, bsn, bsn_like, business, cnp,
        cnpj, company, cpf, cuit, curp, day_first, dea, ean, egn, entity, fiscal_code, gstin,
        half_digits, hetu, hong_kong, indian_passport, indian_vehicle, itin, korean_business,
        korean_licence, korean_passport, long_personnummer, mbi, medicare, my_number, nhs, nie,
        nif, nino, nip, nir, norwegian, npi, nric, old_ssn, pan, personnummer, pesel, plain_rrn,
        pps, resident, routing, rrn, rut, sin, south_african, ssn, taiwanese, tax_id, tfn, thai,
        turkish, unordered, year_first,
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
    TAX = "tax|pan|tin|tfn|vat|steuer|idnr|abn|acn|fiscal|fiscale|iva|nif|utr|nip|inn"
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

/// Every form. The first that is believed determines the kind, so the stronger come first.
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
    row("se-personnummer", "9999999999", Told, personnummer, IDENTITY),
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
