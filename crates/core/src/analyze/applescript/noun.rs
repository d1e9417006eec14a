//! The object of a command: the class of the objects it names, and whether it means many of them.

use super::lex::{Kind, Token};

/// A class of objects, by the cost of losing them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noun {
    /// Files, folders, documents on disk.
    File,
    /// A whole disk.
    Disk,
    /// Events, reminders, calendars.
    Calendar,
    /// Notes and contacts.
    People,
    /// Mail and chat messages, mailboxes, accounts.
    Mail,
    /// Apps that start after signing in.
    LoginItem,
    /// Songs, photos, playlists, bookmarks.
    Media,
    /// Users and their groups.
    User,
    /// Parts of an open document, which undo restores.
    Part,
    /// Windows and tabs.
    Window,
    /// Apps and processes.
    Application,
    /// Stored passwords.
    Key,
}

/// A class, and whether many objects of it are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Objects {
    pub(super) noun: Option<Noun>,
    pub(super) many: bool,
}

/// Returns the class with this name, and whether the name is a plural.
pub(super) fn class(word: &str, next: &str) -> Option<(Noun, bool)> {
    if word == "login" && matches!(next, "item" | "items") {
        return Some((Noun::LoginItem, next == "items"));
    }
    if word == "text" && matches!(next, "chat" | "chats") {
        return Some((Noun::Mail, next == "chats"));
    }
    if word == "media" && matches!(next, "item" | "items") {
        return Some((Noun::Media, next == "items"));
    }
    if word == "application" && matches!(next, "file" | "files") {
        return Some((Noun::File, next == "files"));
    }
    if let Some(noun) = singular(word) {
        return Some((noun, false));
    }
    match word {
        "people" => Some((Noun::People, true)),
        "entire" if next == "contents" => Some((Noun::File, true)),
        "mailboxes" => Some((Noun::Mail, true)),
        "aliases" => Some((Noun::File, true)),
        "processes" => Some((Noun::Application, true)),
        _ => word.strip_suffix('s').and_then(singular).map(|noun| (noun, true)),
    }
}

fn singular(word: &str) -> Option<Noun> {
    Some(match word {
        "file" | "folder" | "item" | "document" | "alias" | "container" | "package" => Noun::File,
        "disk" | "volume" => Noun::Disk,
        "event" | "reminder" | "calendar" | "todo" | "alarm" => Noun::Calendar,
        "note" | "contact" | "person" | "attachment" => Noun::People,
        "message" | "mailbox" | "email" | "mail" | "account" | "rule" | "signature" | "chat" => {
            Noun::Mail
        }
        "track" | "playlist" | "photo" | "album" | "bookmark" | "artwork" => Noun::Media,
        "user" | "group" => Noun::User,
        "application" | "app" | "process" => Noun::Application,
        "window" | "tab" => Noun::Window,
        "key" | "keychain" | "password" => Noun::Key,
        "word" | "paragraph" | "character" | "line" | "row" | "column" | "cell" | "sheet"
        | "slide" | "layer" | "range" | "shape" | "table" | "style" | "object" | "graphic"
        | "text" | "comment" | "swatch" | "channel" | "section" | "worksheet" | "chart" => {
            Noun::Part
        }
        _ => return None,
    })
}

/// Returns the objects named at the start of these tokens, by words alone.
pub(super) fn objects(tokens: &[Token<'_>]) -> Objects {
    /// The number of words searched for a class, which is named at the start; its owner follows.
    const MOST_WORDS: usize = 6;
    let mut many = false;
    for (at, token) in tokens.iter().take(MOST_WORDS).enumerate() {
        let next = tokens.get(at + 1).map_or("", |token| token.word());
        match (token.kind, &*token.text) {
            (Kind::Word, "every" | "all") => many = true,
            (Kind::Word, "the" | "my" | "its") | (Kind::Sign, "(" | "{") => {}
            (Kind::Word, word) if is_adjective(word) && class(next, "").is_some() => {}
            (Kind::Word, word) => {
                let named = class(word, next);
                let noun = named.map(|(noun, _)| noun);
                return Objects { noun, many: many || named.is_some_and(|(_, plural)| plural) };
            }
            _ => break,
        }
    }
    Objects { noun: None, many }
}

/// Reports whether a word can precede the class itself.
fn is_adjective(word: &str) -> bool {
    matches!(
        word,
        "a" | "an"
            | "first"
            | "last"
            | "some"
            | "front"
            | "outgoing"
            | "selected"
            | "posix"
            | "document"
            | "disk"
    )
}

#[cfg(test)]
mod tests {
    use super::super::lex::lex;
    use super::*;

    #[test]
    fn plurals_and_every_mean_many() {
        for (text, noun, many) in [
            ("every file of x", Noun::File, true),
            ("all files", Noun::File, true),
            ("(every item of desktop whose name is 1)", Noun::File, true),
            ("the files of x", Noun::File, true),
            ("file \"a\"", Noun::File, false),
            ("document file 1", Noun::File, false),
            ("every login item", Noun::LoginItem, true),
            ("people", Noun::People, true),
            ("word 1 of document 1", Noun::Part, false),
            ("outgoing message 1", Noun::Mail, false),
        ] {
            let objects = objects(&lex(text).tokens);
            assert_eq!(objects, Objects { noun: Some(noun), many }, "{text}");
        }
    }
}
