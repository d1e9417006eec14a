//! One-time codes, PINs and card codes. They are only digits, recognised by their name or a word
//! before them.

/// Names that announce a code.
const SURE: &[&str] =
    &["otp", "totp", "hotp", "2fa", "mfa", "tan", "pin", "cvv", "cvv2", "cvc", "cvc2", "csc"];

/// Words before `code` that make it a secret one.
const QUALIFIED: &[&str] = &[
    "2fa",
    "access",
    "auth",
    "authentication",
    "authenticator",
    "backup",
    "confirmation",
    "email",
    "factor",
    "login",
    "mfa",
    "one",
    "otp",
    "passcode",
    "phone",
    "pin",
    "recovery",
    "security",
    "signin",
    "sms",
    "text",
    "time",
    "totp",
    "verification",
    "verify",
];

/// Words before `code` that make it harmless.
const HARMLESS: &[&str] = &[
    "area", "bar", "country", "currency", "error", "exit", "http", "language", "postal", "product",
    "return", "status", "zip",
];

/// The certainty with which a name announces a code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announced {
    Surely,
    Perhaps,
}

/// A text with every announced code masked.
pub(super) fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let (mut rest, mut before) = (text, "");
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_alphanumeric()) {
        let (skipped, named) = rest.split_at(start);
        let (name, after) = named.split_at(named.find(ends_name).unwrap_or(named.len()));
        masked.push_str(skipped);
        masked.push_str(name);
        rest = after;
        let found = announced(before, name).and_then(|how| code(after, how));
        before = name;
        if let Some((joint, end)) = found {
            masked.push_str(after.get(..joint).unwrap_or_default());
            masked.push_str("[redacted:code]");
            rest = after.get(end..).unwrap_or_default();
        }
    }
    masked.push_str(rest);
    masked
}

fn ends_name(letter: char) -> bool {
    !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-'
}

fn announced(before: &str, name: &str) -> Option<Announced> {
    let mut words = words(name);
    let last = words.pop()?;
    if SURE.contains(&last.as_str()) {
        return Some(Announced::Surely);
    }
    let which = match last.as_str() {
        "code" | "passcode" => words.pop().or_else(|| self::words(before).pop()),
        other => Some(other.strip_suffix("code")?.to_owned()),
    };
    match which.as_deref() {
        Some(which) if QUALIFIED.contains(&which) => Some(Announced::Surely),
        Some(which) if HARMLESS.contains(&which) => None,
        // `barcode` and the like are words of their own.
        Some(_) if !matches!(last.as_str(), "code" | "passcode") => None,
        Some(_) | None if last == "passcode" => Some(Announced::Surely),
        Some(_) | None => Some(Announced::Perhaps),
    }
}

/// The last words of a name, lowercase: `smsOtp` is two. Earlier words do not matter.
fn words(name: &str) -> Vec<String> {
    let tail = name.len().saturating_sub(40);
    let mut words = vec![String::new()];
    let mut small = false;
    for letter in name.get(tail..).unwrap_or(name).chars() {
        let begins = letter.is_ascii_uppercase() && small;
        if begins || !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_ascii_alphanumeric()) {
            word.push(letter.to_ascii_lowercase());
        }
        small = letter.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The start and end of a code after a name.
fn code(after: &str, announced: Announced) -> Option<(usize, usize)> {
    let is_joint =
        |letter: char| matches!(letter, ' ' | '\t' | '"' | '\'' | '\\' | ':' | '=' | '(' | '[');
    let mut joint = after.find(|letter| !is_joint(letter))?;
    let assigned = after.get(..joint)?.contains([':', '=']);
    if let Some(told) = after.get(joint..)?.strip_prefix("is ") {
        joint = after.len() - told.len() + told.find(|letter| !is_joint(letter))?;
    }
    let value = after.get(joint..)?;
    let run = value.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(value.len());
    let (code, tail) = value.split_at(run);
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let only_digits = digits == code.len();
    let fits = match announced {
        Announced::Surely if only_digits => (3..=12).contains(&code.len()),
        Announced::Surely => (4..=12).contains(&code.len()) && digits > 0,
        Announced::Perhaps => only_digits && assigned && (4..=10).contains(&code.len()),
    };
    if joint == 0 || joint > 12 || !fits {
        return None;
    }
    // Two groups, as people write them: `482 913`.
    let group = tail.strip_prefix([' ', '-']).filter(|_| only_digits);
    let more = group.map_or(0, |group| group.bytes().take_while(u8::is_ascii_digit).count());
    let second = if more == code.len() { more + 1 } else { 0 };
    Some((joint, joint + code.len() + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_known_by_its_name() {
        for text in [
            "otp: 48291375",
            "--otp 482913",
            "--otp=482913",
            "https://x.example/?code=482913&next=1",
            "{\"smsOtp\":\"482913\"}",
            "{\"verification_code\": 482913}",
            "your verification code is 482913.",
            "security code: 482 913",
            "card CVV=123",
            "pin 4821",
            "backup code: a7f3k2q9",
            "passcode '482913'",
        ] {
            let masked = mask(text);
            let left = masked.bytes().filter(u8::is_ascii_digit).count();
            assert!(masked.contains("[redacted:code]") && left <= 1, "{masked}");
            assert_eq!(mask(&masked), masked);
        }
    }

    #[test]
    fn other_numbers_stay_readable() {
        for text in [
            "exited with code 127",
            "status code: 5000",
            "zip code: 90210",
            "barcode: 4006381333931",
            "port 8443",
            "git log --pretty=oneline -n 4000",
            "encode 123456",
            "spin 1234",
            "code review of 12345",
            "",
        ] {
            assert_eq!(mask(text), text);
        }
    }
}
