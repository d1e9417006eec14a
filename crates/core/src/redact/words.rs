//! Lists of words, written as one text and split at compile time, and the search in them.

/// Declares a sorted list of single words.
macro_rules! words {
    ($(#[$about:meta])* $name:ident = $text:literal) => {
        $(#[$about])*
        const $name: &[&str] = {
            const LIST: &[&str] = &$crate::redact::words::cut::<{ $crate::redact::words::count($text, b' ') }>($text, b' ');
            assert!($crate::redact::words::is_sorted(LIST), "the search needs sorted words");
            LIST
        };
    };
}

/// Declares a list of phrases, separated by bars.
macro_rules! phrases {
    ($(#[$about:meta])* $name:ident = $text:literal) => {
        $(#[$about])*
        const $name: &[&str] = &$crate::redact::words::cut::<{ $crate::redact::words::count($text, b'|') }>($text, b'|');
    };
}

pub(super) use {phrases, words};

/// Reports whether a sorted list, in lower case, contains the word in any case.
pub(super) fn is_in(word: &str, list: &[&str]) -> bool {
    list.binary_search_by(|known| compare(known, word)).is_ok()
}

/// Compares a word in lower case with one in any case.
pub(super) fn compare(known: &str, word: &str) -> std::cmp::Ordering {
    known.bytes().cmp(word.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// Reports whether every word sorts before the next.
#[expect(
    clippy::indexing_slicing,
    reason = "runs at compile time, where out of bounds is a build error"
)]
pub(super) const fn is_sorted(list: &[&str]) -> bool {
    let mut at = 1;
    while at < list.len() {
        let (left, right) = (list[at - 1].as_bytes(), list[at].as_bytes());
        let mut same = 0;
        while same < left.len() && same < right.len() && left[same] == right[same] {
            same += 1;
        }
        if same == right.len() || (same < left.len() && left[same] > right[same]) {
            return false;
        }
        at += 1;
    }
    true
}

/// The number of words in the text.
pub(super) const fn count(text: &str, mark: u8) -> usize {
    let mut rest = text.as_bytes();
    let mut count = 1;
    while let [byte, tail @ ..] = rest {
        if *byte == mark {
            count += 1;
        }
        rest = tail;
    }
    count
}

/// The words of the text.
#[expect(
    clippy::indexing_slicing,
    reason = "runs at compile time, where out of bounds is a build error"
)]
pub(super) const fn cut<const N: usize>(text: &'static str, mark: u8) -> [&'static str; N] {
    let mut words = [""; N];
    let mut rest = text;
    let mut at = 0;
    while at < N {
        let bytes = rest.as_bytes();
        let mut end = 0;
        while end < bytes.len() && bytes[end] != mark {
            end += 1;
        }
        let (word, tail) = rest.split_at(end);
        words[at] = word;
        rest = if tail.is_empty() { tail } else { tail.split_at(1).1 };
        at += 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    words!(FEW = "alpha beta gamma");
    phrases!(TOLD = "date of birth|born");

    #[test]
    fn lists_are_cut_at_compile_time() {
        assert_eq!(FEW, ["alpha", "beta", "gamma"]);
        assert_eq!(TOLD, ["date of birth", "born"]);
        assert!(is_in("BETA", FEW) && !is_in("bet", FEW));
    }
}
