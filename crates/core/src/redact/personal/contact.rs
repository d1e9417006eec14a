//! Contact data: e-mail addresses and telephone numbers.

use super::{
    super::{
        Hits,
        text::{Class, Text, contains, is_any, starts},
        words::{is_in, phrases, words},
    },
    Setting,
};

words! {
    /// Domains reserved for documentation and machines.
    NOBODYS = "example internal invalid local localdomain localhost test"
}

words! {
    /// File name endings that could be mistaken for a top-level domain.
    FILES = "\
    css gif gz html jpeg jpg js json jsx lock md png py service socket svg tgz timer toml \
    ts tsx txt webp xml yaml yml zip"
}

/// Finds e-mail addresses and telephone numbers.
pub(super) fn find(text: Text<'_>, setting: Setting, hits: &mut Hits) {
    for (index, byte) in text.0.bytes().enumerate() {
        match byte {
            b'@' => email(text, index, hits),
            b'+' if Class::DIGIT.has(text.at(index + 1)) => international(text, index, hits),
            b'0'..=b'9' | b'(' if setting == Setting::Amid && !is_inside(text, index) => {
                national(text, index, hits);
            }
            _ => {}
        }
    }
}

fn email(text: Text<'_>, at: usize, hits: &mut Hits) {
    let mut start = at;
    while at - start < 64
        && (Class::DOTTED.has(text.before(start))
            || matches!(text.before(start), b'+' | b'%' | b'\''))
    {
        start -= 1;
    }
    let local = text.cut(start, at).trim_start_matches(['.', '-', '\'', '%', '+']);
    let start = at - local.len();
    let mut end = text.run_within(at + 1, Class::DOTTED, 200);
    while end > at && matches!(text.before(end), b'.' | b'-' | b'_') {
        end -= 1;
    }
    let domain = text.cut(at + 1, end);
    if !local.is_empty()
        && is_domain(domain)
        && !is_machine(local, domain)
        && !is_in_address(text, start)
    {
        hits.personal("email", start, end);
    }
}

fn is_domain(domain: &str) -> bool {
    let Some((rest, top)) = domain.rsplit_once('.') else { return false };
    let named = top.len() >= 2
        && (top.bytes().all(|byte| byte.is_ascii_alphabetic()) || starts(top, "xn--"));
    let labels = rest.split('.').all(|label| {
        !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.contains('_')
    });
    named && labels && !is_in(top, FILES)
}

/// Reports whether mail to this address reaches no particular person.
fn is_machine(local: &str, domain: &str) -> bool {
    let mut labels = domain.rsplit('.');
    let top = labels.next().unwrap_or("");
    let second = labels.next().unwrap_or("");
    is_in(top, NOBODYS)
        || is_any(
            second,
            &[
                "example",
                "yourdomain",
                "your-domain",
                "mydomain",
                "yourcompany",
                "yourserver",
                "domain",
            ],
        )
        || is_any(
            local,
            &["git", "hg", "noreply", "no-reply", "donotreply", "do-not-reply", "root", "nobody"],
        )
        || is_any(second, &["gserviceaccount"])
        || is_any(domain, &["users.noreply.github.com", "email.com"])
}

/// Reports whether the position is in the authority of a URL, where `@` follows a user.
fn is_in_address(text: Text<'_>, start: usize) -> bool {
    let bytes = text.0.as_bytes().get(start.saturating_sub(96)..start).unwrap_or(&[]);
    let mut after = 0;
    for byte in bytes.iter().rev() {
        if byte.is_ascii_whitespace()
            || matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'?' | b'=' | b'&')
        {
            return false;
        }
        if *byte == b'/' && after == b'/' {
            return true;
        }
        after = *byte;
    }
    false
}

/// Masks a number with `+` and a country code: the form of E.164, with the marks people put
/// between.
fn international(text: Text<'_>, plus: usize, hits: &mut Hits) {
    if Class::WORD.has(text.before(plus)) || matches!(text.before(plus), b'+' | b'-' | b'/' | b'=')
    {
        return;
    }
    let (end, digits, marks) = dial(text, plus + 1);
    let decimal = marks == 1 && text.cut(plus, end).contains('.');
    let spread = marks > 0 || !matches!(text.before(plus), b'\n' | 0) || text.len() < 24;
    if !decimal && (9..=15).contains(&digits) && text.at(plus + 1) != b'0' && spread {
        hits.personal("phone", plus, end);
    }
}

phrases! {
    /// Words that introduce a telephone number.
    PHONE = "phone|telephone|cellphone|tel:|tel.|tel |mobile|cell|fax|telefon|whatsapp|call me|handynummer|text me"
}

/// Masks a number as it is dialled within a country, where the words before it say so.
fn national(text: Text<'_>, start: usize, hits: &mut Hits) {
    let (end, digits, _) = dial(text, start);
    let address = text.cut(start, end).matches('.').count() == 3;
    let near = text.back(start, 28);
    let told = PHONE.iter().any(|word| leads(near, word)) && !contains(near, "telnet");
    let date = end - start == 10 && matches!(text.at(start + 4), b'-' | b'/');
    if (7..=13).contains(&digits) && !address && !date && told && !Class::WORD.has(text.at(end)) {
        hits.personal("phone", start, end);
    }
}

/// Reports whether the word occurs, not as the end of a longer one.
fn leads(near: &str, word: &str) -> bool {
    near.as_bytes().windows(word.len()).enumerate().any(|(at, window)| {
        let before = at.checked_sub(1).and_then(|at| near.as_bytes().get(at));
        window.eq_ignore_ascii_case(word.as_bytes())
            && before.is_none_or(|byte| !byte.is_ascii_alphabetic())
    })
}

/// Reads digits and single marks between them. Returns the end, the digits and the marks.
fn dial(text: Text<'_>, start: usize) -> (usize, usize, usize) {
    let (mut end, mut digits, mut marks, mut gap) = (start, 0, 0, 0);
    let mut at = start;
    while digits < 18 && at - start < 32 {
        match text.at(at) {
            b'0'..=b'9' => {
                digits += 1;
                marks += usize::from(gap > 0);
                gap = 0;
                end = at + 1;
            }
            b' ' | b'-' | b'.' | b'(' | b')' | b'/' if gap < 2 => gap += 1,
            _ => break,
        }
        at += 1;
    }
    (end, digits, marks)
}

/// Reports whether this position is within a number that begins further left.
fn is_inside(text: Text<'_>, index: usize) -> bool {
    let before = text.before(index);
    Class::WORD.has(before)
        || matches!(before, b'.' | b'-' | b'+' | b'(' | b')')
        || (before == b' '
            && index
                .checked_sub(2)
                .is_some_and(|second| matches!(text.at(second), b'0'..=b'9' | b')' | b'+')))
}

#[cfg(test)]
mod tests {
    use crate::redact::{redact, scan};

    #[test]
    fn addresses_of_people_are_masked() {
        assert_eq!(redact("mail ann.lee+x@acme.io.").text, "mail [redacted:email].");
        assert_eq!(redact("ring +49 30 901820, please").text, "ring [redacted:phone], please");
        assert_eq!(redact("phone: (212) 736-5000").text, "phone: [redacted:phone]");
    }

    #[test]
    fn addresses_of_machines_and_samples_are_left() {
        for source in [
            "git@github.com:a/b.git",
            "ann@example.com",
            "pkg@1.2.3",
            "icon@2x.png",
            "a@b",
            "noreply@acme.io",
            "https://ann@acme.io/x",
            "1+1234567",
            "version 212-736-5000",
            "@@ -1,9 +1234567,8 @@",
        ] {
            assert!(scan(source).is_empty(), "{source}");
        }
    }
}
