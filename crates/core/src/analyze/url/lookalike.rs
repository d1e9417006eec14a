//! Domains made to be mistaken for others.
//!
//! A name in one script is ordinary language; letters of several scripts in one label, or a label
//! of another script that reads like Latin, is a deception. So is a name that becomes plain letters
//! only after the browser has mapped it.

use unicode_security::{GeneralSecurityProfile as _, MixedScript as _};

/// Cyrillic, Greek and Armenian letters that most typefaces draw like Latin ones. The whole table
/// of confusable characters would slow every start of the program; these are enough for words.
const LIKE_LATIN: &str = "асԁеһіјӏорԛѕԝхуѵьгαγικνορσυօոսհցքյ";

/// Returns the domain as it is meant to be seen, when that differs. `written` is the whole URL.
pub(super) fn shown(domain: &str, written: &str) -> Option<String> {
    if !domain.contains("xn--") {
        return maps_to_ascii(domain, written).then(|| domain.to_owned());
    }
    let (unicode, valid) = idna::domain_to_unicode(domain);
    let trick = valid.is_err() || unicode.split('.').any(is_trick);
    trick.then(|| format!("{unicode} is {domain}"))
}

/// Reports whether the browser maps a domain to ASCII: `ｅｘａｍｐｌｅ.com` and `ⓔxample.com` are
/// `example.com` to the browser and something else in a text comparison.
fn maps_to_ascii(domain: &str, written: &str) -> bool {
    let authority = written.split(['/', '\\', '?', '#']).filter(|part| !part.is_empty()).nth(1);
    domain.is_ascii() && authority.is_some_and(|authority| !authority.is_ascii())
}

fn is_trick(label: &str) -> bool {
    if label.is_ascii() {
        return false;
    }
    let odd = label.chars().any(|char| !char.identifier_allowed() && char != '-');
    odd || !label.is_single_script() || reads_as_latin(label)
}

/// Reports whether every letter is of another script and yet the whole reads like Latin.
fn reads_as_latin(label: &str) -> bool {
    let mut letters = label.chars().filter(|char| !char.is_numeric() && *char != '-').peekable();
    letters.peek().is_some() && letters.all(|char| LIKE_LATIN.contains(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_lookalike(domain: &str) -> bool {
        let written = format!("https://{domain}/");
        let ascii = idna::domain_to_ascii(domain).unwrap();
        shown(&ascii, &written).is_some()
    }

    #[test]
    fn names_in_one_language_are_what_they_seem() {
        for domain in [
            "example.com",
            "münchen.example",
            "日本語.jp",
            "ひらがなとカタカナ.jp",
            "пример.рф",
            "москва.com",
            "παράδειγμα.gr",
            "한국어.kr",
            "中国.cn",
            "العربية.com",
            "straße.example",
        ] {
            assert!(!is_lookalike(domain), "{domain}");
        }
    }

    #[test]
    fn names_made_to_be_mistaken_are_found() {
        for domain in [
            // Cyrillic letters in Latin words, and a word all of Cyrillic.
            "ex\u{430}mple.com",
            "\u{430}\u{440}\u{440}\u{4cf}\u{435}.com",
            // A Greek letter among Latin ones.
            "g\u{3bf}ogle.com",
            // Mapped to plain letters by the browser.
            "ｅｘａｍｐｌｅ.com",
            "ⓔxample.com",
        ] {
            assert!(is_lookalike(domain), "{domain}");
        }
    }
}
