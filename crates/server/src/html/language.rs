//! The texts of the pages, in the language of the reader.
//!
//! A message file has one `name = text` per line. `{n}` is replaced by a value; `{n?one|many}`
//! chooses by whether it is one. The others are checked against English: the tests refuse a file
//! that lacks a message or a value, so nobody is ever shown a name instead of a text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::OnceLock;

use axum::http::{HeaderMap, header};

/// The languages there are, English first.
static LANGUAGES: [(&str, &str, &str); 3] = [
    ("en", "English", include_str!("../../messages/en.txt")),
    ("de", "Deutsch", include_str!("../../messages/de.txt")),
    ("ko", "한국어", include_str!("../../messages/ko.txt")),
];

/// The cookie with the language that somebody has chosen.
pub(crate) const COOKIE: &str = "countersign-language";

type Messages = HashMap<&'static str, &'static str>;

fn messages() -> &'static [Messages; 3] {
    static READ: OnceLock<[Messages; 3]> = OnceLock::new();
    READ.get_or_init(|| LANGUAGES.map(|(_, _, file)| read(file)))
}

fn read(file: &'static str) -> Messages {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('=')).map(|(k, v)| (k.trim(), v.trim())).collect()
}

/// Writes messages in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text(usize);

impl Text {
    /// In English.
    pub(crate) const ENGLISH: Self = Self(0);

    /// The language that somebody has chosen, or that their browser prefers.
    pub(crate) fn wanted(headers: &HeaderMap) -> Self {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|text| text.split(';'));
        let chosen = pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='));
        let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let preferred = accepted.into_iter().flat_map(|text| text.split(','));
        chosen.into_iter().chain(preferred).find_map(Self::of).unwrap_or(Self::ENGLISH)
    }

    /// The language with this tag, if there is one.
    pub(crate) fn of(tag: &str) -> Option<Self> {
        let language = tag.split([';', '-']).next().unwrap_or_default().trim();
        let known = |(code, _, _): &(&str, &str, &str)| language.eq_ignore_ascii_case(code);
        LANGUAGES.iter().position(known).map(Self)
    }

    /// Its code, for `lang`.
    pub(crate) fn code(self) -> &'static str {
        LANGUAGES.get(self.0).map_or("en", |language| language.0)
    }

    /// All languages: code, name, and whether it is the current one.
    pub(crate) fn all(self) -> Vec<(&'static str, &'static str, bool)> {
        let rows = LANGUAGES.iter().enumerate();
        rows.map(|(n, (code, name, _))| (*code, *name, n == self.0)).collect()
    }

    pub(crate) fn find(self, name: &str) -> Option<&'static str> {
        let own = messages().get(self.0).and_then(|messages| messages.get(name));
        own.or_else(|| messages().first()?.get(name)).copied()
    }

    /// A message.
    pub(crate) fn say(self, name: &str) -> Cow<'static, str> {
        match self.find(name) {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(name.to_owned()),
        }
    }

    /// The translation of a word of the gate, such as a state; the word itself, if there is none.
    pub(crate) fn word(self, family: &str, word: &str) -> String {
        self.find(&format!("{family}.{word}")).unwrap_or(word).to_owned()
    }

    /// A message with a number in it.
    pub(crate) fn count(self, name: &str, n: impl Display) -> String {
        self.with(name, &[("n", &n)])
    }

    /// A message with a text in it.
    pub(crate) fn about(self, name: &str, what: impl Display) -> String {
        self.with(name, &[("what", &what)])
    }

    /// A message with values in it.
    pub(crate) fn with(self, name: &str, values: &[(&str, &dyn Display)]) -> String {
        fill(&self.say(name), values)
    }
}

fn fill(message: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((hole, after)) = after.split_once('}') else { break };
        let (name, choice) = hole.split_once('?').map_or((hole, None), |(n, c)| (n, Some(c)));
        let value = values.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        let value = value.map(ToString::to_string).unwrap_or_default();
        match choice.and_then(|choice| choice.split_once('|')) {
            Some((one, many)) => text.push_str(if value == "1" { one } else { many }),
            None => text.push_str(&value),
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use axum::http::HeaderValue;

    use super::*;

    fn holes(text: &str) -> BTreeSet<&str> {
        let inside = text.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        inside.filter_map(|hole| hole.split('?').next()).collect()
    }

    #[test]
    fn every_language_has_every_message_with_every_value() {
        let [english, others @ ..] = messages();
        for (messages, (code, _, file)) in others.iter().zip(&LANGUAGES[1..]) {
            let names = |messages: &Messages| messages.keys().copied().collect::<BTreeSet<_>>();
            let (ours, theirs) = (names(english), names(messages));
            let missing: Vec<_> = ours.difference(&theirs).collect();
            let unknown: Vec<_> = theirs.difference(&ours).collect();
            assert!(missing.is_empty() && unknown.is_empty(), "{code}: {missing:?} {unknown:?}");
            for (name, text) in english {
                assert_eq!(holes(text), holes(messages[name]), "{code}: {name}");
            }
            let lines = file.lines().filter(|line| !line.starts_with('#') && line.contains('='));
            assert_eq!(lines.count(), theirs.len(), "{code}: a message twice");
        }
    }

    #[test]
    fn every_message_a_page_says_exists_and_none_is_left_over() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut said = BTreeSet::new();
        let mut all = String::new();
        for folder in ["templates", "src/console", "src/html", "src"] {
            for entry in fs::read_dir(root.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    all.push_str(&fs::read_to_string(path).unwrap());
                }
            }
        }
        for call in ["say(\"", "count(\"", "about(\"", "with(\"", "find(\""] {
            for rest in all.split(&format!("t.{call}")).skip(1) {
                said.insert(rest.split('"').next().unwrap().to_owned());
            }
        }
        let known = &messages()[0];
        let missing: Vec<_> =
            said.iter().filter(|name| !known.contains_key(name.as_str())).collect();
        assert!(missing.is_empty(), "not in en.txt: {missing:?}");
        // Messages chosen by a value are looked up as `family.` and the value.
        let by_value = ["done", "effect", "event", "field", "risk", "role", "state", "verdict"];
        let is_said = |name: &str| {
            let family = name.split('.').next().unwrap_or_default();
            by_value.contains(&family) || all.contains(&format!("\"{name}\""))
        };
        let left: Vec<_> = known.keys().filter(|name| !is_said(name)).collect();
        assert!(left.is_empty(), "said nowhere: {left:?}");
    }

    #[test]
    fn numbers_choose_their_words() {
        let say = |n: u32| fill("{n} {n?question waits|questions wait}", &[("n", &n)]);
        assert_eq!((say(1).as_str(), say(2).as_str()), ("1 question waits", "2 questions wait"));
    }

    #[test]
    fn what_was_chosen_comes_before_what_the_browser_prefers() {
        let mut headers = HeaderMap::new();
        assert_eq!(Text::wanted(&headers), Text::ENGLISH);
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static("fr, ko-KR;q=0.9, en"));
        assert_eq!(Text::wanted(&headers).code(), "ko");
        let cookie = HeaderValue::from_static("a=b; countersign-language=de");
        headers.insert(header::COOKIE, cookie);
        assert_eq!(Text::wanted(&headers).code(), "de");
    }
}
