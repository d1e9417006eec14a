//! The words that name a secret, the separators before it, and the owner of a code.

use super::Glue;
use crate::redact::{
    text::{Class, Text, is_any},
    words::{is_in, phrases, words},
};

/// The kind of secret that a phrase announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Password,
    Passphrase,
    /// A user and a password.
    Login,
    /// A token: a random value.
    Drawn,
    /// Any kind of key, many of which are harmless.
    AnyKey,
    /// A key to type in.
    Key,
    Pin,
    /// A code that is good for one use.
    OneTime,
    /// The number on the back of a card.
    Card,
    /// A code of some kind.
    Code,
    /// The number before the phrase is a code.
    Yours,
}

/// Words that name a secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phrase {
    pub(super) words: &'static str,
    pub(super) says: Says,
}

phrases! {
    PASSWORDS = "password|passwort|kennwort|passwd|pwd|pw|contraseña|contrasena|senha|\
    palavra-passe|mot de passe|wachtwoord|lösenord|adgangskode|passord|salasana|hasło|heslo|jelszó|\
    parola|şifre|Şifre|пароль|Пароль|пароля|κωδικός|mật khẩu|kata sandi|密码|密碼|口令|パスワード|비밀번호|\
    암호|รหัสผ่าน|كلمة المرور|סיסמה"
}

phrases!(PASSPHRASES = "passphrase|pass phrase|recovery phrase|seed phrase");

phrases! {
    LOGINS = "credentials|creds|login|log in with|log in as|logged in as|sign in with|sign in as|\
    zugangsdaten|identifiants|credenciales"
}

phrases! {
    TOKENS = "api key|api-key|api_key|apikey|access token|access_token|auth token|auth_token|\
    client secret|client_secret|secret key|secret_key|access key|access_key|bearer token|\
    private token|clé api|api-schlüssel|clave api|chave de api"
}

phrases! {
    KEYS = "license key|licence key|product key|activation key|recovery key|wifi key|wi-fi key|\
    wlan key|setup key|cd key|network key"
}

phrases!(ANY_KEYS = "key|keys|clé|schlüssel|clave|chave|ключ");

phrases!(PINS = "pin|sim pin|pin-code|пин|пин-код|暗証番号");

phrases! {
    ONE_TIMES = "otp|totp|2fa|mfa|tan|passcode|one-time password|one time password|one-time code|\
    one-time|one time code|einmalpasswort|verification code|验证码|驗證碼|認証コード|인증번호"
}

phrases!(CARDS = "cvv|cvv2|cvc|cvc2");

phrases!(CODES = "code|codes|código|код");

phrases!(YOURS = "is your");

/// Every list, and the kind that its phrases announce.
const LISTS: [(&[&str], Says); 11] = [
    (PASSWORDS, Says::Password),
    (PASSPHRASES, Says::Passphrase),
    (LOGINS, Says::Login),
    (TOKENS, Says::Drawn),
    (KEYS, Says::Key),
    (ANY_KEYS, Says::AnyKey),
    (PINS, Says::Pin),
    (ONE_TIMES, Says::OneTime),
    (CARDS, Says::Card),
    (CODES, Says::Code),
    (YOURS, Says::Yours),
];

/// For each byte, in both cases, a bit for every list with a phrase that starts with it.
static STARTS: [u16; 256] = starts();

#[expect(
    clippy::indexing_slicing,
    reason = "runs at compile time, where out of bounds is a build error"
)]
const fn starts() -> [u16; 256] {
    let mut starts = [0; 256];
    let mut list = 0;
    while list < LISTS.len() {
        let mut at = 0;
        while at < LISTS[list].0.len() {
            let first = LISTS[list].0[at].as_bytes()[0];
            starts[first as usize] |= 1 << list;
            starts[first.to_ascii_uppercase() as usize] |= 1 << list;
            at += 1;
        }
        list += 1;
    }
    starts
}

/// The phrase at this position, the longest if there are several.
pub(super) fn at(text: Text<'_>, index: usize) -> Option<Phrase> {
    let first = text.at(index);
    let lists = STARTS.get(usize::from(first)).copied().unwrap_or(0);
    if lists == 0 {
        return None;
    }
    let before = text.before(index);
    if first.is_ascii() && (Class::WORD.has(before) || before >= 0x80) {
        return None;
    }
    let mut found: Option<Phrase> = None;
    for (place, (list, says)) in LISTS.iter().enumerate() {
        if lists >> place & 1 == 0 {
            continue;
        }
        for words in *list {
            let longer = found.is_none_or(|found| words.len() > found.words.len());
            if longer && stands(text, index, words) {
                found = Some(Phrase { words, says: *says });
            }
        }
    }
    found
}

/// Reports whether the words are at this position, as whole words.
fn stands(text: Text<'_>, index: usize, words: &str) -> bool {
    text.has_any_case(index, words)
        && !(words.is_ascii() && Class::WORD.has(text.at(index + words.len())))
}

/// Marks before a value.
pub(super) const MARKS: &[&str] =
    &[":", "=", "->", "=>", "\u{2013}", "\u{2014}", "\u{2192}", "\u{ff1a}", "- "];

/// Words before a value, and nouns that may precede those.
pub(super) const VERBS: &[&str] = &[
    "is now ",
    "is ",
    "is:",
    "was ",
    "are ",
    "set to ",
    "changed to ",
    "should be ",
    "will be ",
    "to ",
    "ist ",
    "lautet ",
    "es ",
    "est ",
    "é ",
    "è ",
    "är ",
    "er ",
    "jest ",
    "to jest ",
    "это ",
    "是",
    "为",
    "は",
    "은 ",
    "는 ",
    "with ",
    "field ",
    "field: ",
    "box ",
    "input ",
    "code ",
    "codes ",
    "code: ",
    "codes: ",
    "code=",
    "token ",
    "token: ",
    "pin ",
    "number ",
    "again ",
];

/// Reports whether the word between is a noun, which does not introduce a value.
pub(super) fn is_noun(verb: &str) -> bool {
    is_any(
        verb.trim(),
        &["field", "box", "input", "code", "codes", "token", "pin", "number", "again"],
    )
}

/// The owner of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Something that the code gives access to.
    Secret,
    /// Unknown.
    Open,
    /// Something else: an error, a place, a discount.
    Other,
}

words! {
    /// Words before `code` that make it a secret.
    OPENED = "\
    2fa access activation alarm auth authentication authenticator authorization backup \
    confirmation door emergency entry garage gate invite keypad lock login mfa otp pairing passcode \
    pin recovery reset safe security sign-in signin sms unlock verification"
}

words! {
    /// Words before `code` that leave its kind open.
    PLAIN = "\
    a and el enter following is le my new one-time our received sent six-digit that the this \
    type use using with your"
}

/// The owner of the code, by the word before it.
pub(super) fn owner(before: &str) -> Owner {
    let head = before.trim_end_matches([' ', '"', '\'', '_', '{', '?', '&', '-']);
    let line = head.rsplit(['\n', '.', '?', '&']).next().unwrap_or("");
    let word = line.rsplit([' ', '"', '_', '(', ',']).next().unwrap_or("");
    match word {
        _ if is_in(word, OPENED) => Owner::Secret,
        "" | ":" | "{" => Owner::Open,
        _ if is_in(word, PLAIN) || word.ends_with([',', ':', '!']) => Owner::Open,
        _ => Owner::Other,
    }
}

words! {
    /// Words before `pin` that make it a person's number.
    HOLDERS = "\
    account atm bank card current debit enter her his my new old phone sim the their voicemail with your"
}

/// Reports whether `pin` means a number to type, rather than one of a board, or to pin.
pub(super) fn is_pin(
    text: Text<'_>,
    (start, end): (usize, usize),
    before: &str,
    glue: Glue,
) -> bool {
    let shouted = text.cut(start, end).bytes().all(|byte| !byte.is_ascii_lowercase());
    let option = before.ends_with("--") || before.ends_with(['"', '\'', '<', '?', '&', '_']);
    let word = before.trim_end().rsplit([' ', '\n', '"']).next().unwrap_or("");
    let fresh = word.is_empty() || word.ends_with([',', '.', ':', ';']);
    let held = is_in(word, HOLDERS);
    match glue {
        _ if shouted || option => !is_any(word, &["gpio", "input", "output", "led"]),
        Glue::Mark => fresh || held,
        Glue::Verb => held,
        Glue::Space => held && !is_any(word, &["the", "with"]),
    }
}
