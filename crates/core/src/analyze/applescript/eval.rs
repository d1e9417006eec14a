//! The text of an expression, as far as the script itself determines it.
//!
//! Strings, `&`, variables, `quoted form of`, `POSIX path of`, `path to … folder`, characters by
//! number, and the path arithmetic of Cocoa. Everything else is unknown, never guessed.

use super::app::App;
use super::lex::{Kind, Token};
use super::noun::{self, Objects};
use super::value::Value;
use crate::analyze::UNKNOWN;

/// The depth of nested brackets that is followed.
const MOST_DEPTH: u32 = 24;

/// The source of variables, and the budget of work.
pub(super) trait Names {
    /// Returns the value of a variable.
    fn lookup(&mut self, name: &str) -> Value;
    /// Returns the user's home folder.
    fn home(&self) -> String;
    /// Spends this much work; returns false when there is none left.
    fn spend(&mut self, work: usize) -> bool;
}

/// Returns the value at the start of these tokens, and how many of them it took.
pub(super) fn value(tokens: &[Token<'_>], names: &mut dyn Names) -> (Value, usize) {
    let mut eval = Eval { tokens, at: 0, depth: 0, names };
    let value = eval.expression();
    (value, eval.at)
}

struct Eval<'t, 'a, 'n> {
    tokens: &'t [Token<'a>],
    at: usize,
    depth: u32,
    names: &'n mut dyn Names,
}

impl<'t, 'a> Eval<'t, 'a, '_> {
    fn peek(&self) -> Option<&'t Token<'a>> {
        self.tokens.get(self.at)
    }

    fn word(&self, ahead: usize) -> &'t str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.word())
    }

    fn bump(&mut self, tokens: usize) {
        self.at = if self.names.spend(tokens) { self.at + tokens } else { self.tokens.len() };
    }

    fn sign(&mut self, sign: &str) -> bool {
        let is = self.peek().is_some_and(|token| token.is_sign(sign));
        if is {
            self.bump(1);
        }
        is
    }

    fn expression(&mut self) -> Value {
        let mut value = self.operand();
        loop {
            if self.sign("&") {
                let next = self.operand();
                let work = value.work().saturating_mul(next.work());
                value = if self.names.spend(work) { value.join(&next) } else { Value::unknown() };
            } else if self.word(0) == "as" {
                self.coercion();
            } else if self.peek().is_some_and(|token| token.kind == Kind::Possessive) {
                self.bump(1);
                value = self.member(value);
            } else {
                return value;
            }
        }
    }

    /// Skips `as text`, `as Unicode text`, `as «class utf8»`.
    fn coercion(&mut self) {
        let more = matches!(self.word(1), "unicode" | "posix" | "international" | "styled");
        self.bump(if more { 3 } else { 2 });
    }

    fn operand(&mut self) -> Value {
        let Some(token) = self.peek() else { return Value::unknown() };
        match token.kind {
            Kind::Text | Kind::Number => {
                self.bump(1);
                self.names.spend(token.text.len() / 64);
                Value::text(&*token.text)
            }
            Kind::Sign => match &*token.text {
                "(" => self.brackets(),
                "{" => self.list(),
                "-" => self.unknown_until_end(),
                _ => Value::unknown(),
            },
            Kind::Word => self.spoken(),
            Kind::Name => {
                self.bump(1);
                self.names.lookup(&token.text.to_ascii_lowercase())
            }
            Kind::Raw | Kind::Possessive | Kind::End => {
                self.bump(1);
                Value::unknown()
            }
        }
    }

    fn brackets(&mut self) -> Value {
        self.bump(1);
        if self.depth >= MOST_DEPTH {
            self.close();
            return Value::unknown();
        }
        self.depth += 1;
        let value = self.expression();
        self.depth -= 1;
        if self.sign(")") {
            return value;
        }
        // The value is used in another way before the bracket ends.
        self.close();
        Value::of(value.objects)
    }

    fn list(&mut self) -> Value {
        self.bump(1);
        if self.depth >= MOST_DEPTH {
            self.close();
            return Value::unknown();
        }
        self.depth += 1;
        let mut all: Option<Value> = None;
        while self.peek().is_some_and(|token| !token.is_sign("}")) {
            let before = self.at;
            let value = self.expression();
            all = Some(match all {
                Some(all) => all.or(&value),
                None => value,
            });
            if !self.sign(",") && self.at == before {
                self.bump(1);
            }
        }
        self.depth -= 1;
        self.sign("}");
        all.unwrap_or_else(|| Value::text(""))
    }

    /// Skips past the bracket that closes the innermost open one.
    fn close(&mut self) {
        let mut depth = 1_usize;
        while let Some(token) = self.peek() {
            if token.is_sign("(") || token.is_sign("{") {
                depth += 1;
            } else if token.is_sign(")") || token.is_sign("}") {
                depth -= 1;
            }
            self.bump(1);
            if depth == 0 {
                return;
            }
        }
    }

    fn spoken(&mut self) -> Value {
        match (self.word(0), self.word(1), self.word(2)) {
            ("quoted", "form", "of") => self.of(3).map(quoted),
            ("posix", "path", "of") => self.of(3).map(posix),
            ("posix", "file", _) => self.of(2).map(posix),
            ("contents" | "content" | "value" | "text", "of", _) => self.of(2),
            ("text" | "string", "items", "of")
            | ("item", _, "of")
            | ("first" | "last" | "some", "item", "of")
            | ("a" | "an", "reference", "to") => self.of(3),
            ("my" | "the" | "its" | "get" | "a" | "an", _, _) => self.of(1),
            ("return", _, _) => self.constant("\r"),
            ("linefeed", _, _) => self.constant("\n"),
            ("tab", next, _) if next != "of" => self.constant("\t"),
            ("space", _, _) => self.constant(" "),
            ("quote", _, _) => self.constant("\""),
            ("ascii", "character", _) | ("character" | "string", "id", _) => {
                self.of(2).map(character)
            }
            ("application" | "app", next, _) if next != "process" => self.application(),
            ("current", "application", _) => {
                self.bump(2);
                Value::app(App::Other, "current application")
            }
            ("path", "to", _) => self.path_to(),
            ("file" | "folder" | "alias" | "disk", _, _) if self.names_a_path() => {
                self.of(1).map(posix)
            }
            ("every" | "all", _, _) => self.many(),
            ("do" | "run" | "choose" | "display" | "make" | "missing" | "system", _, _) => {
                self.unknown_until_end()
            }
            _ => self.variable(),
        }
    }

    fn of(&mut self, words: usize) -> Value {
        self.bump(words);
        if self.depth >= MOST_DEPTH {
            return self.unknown_until_end();
        }
        self.depth += 1;
        let mut value = self.operand();
        while self.peek().is_some_and(|token| token.kind == Kind::Possessive) {
            self.bump(1);
            value = self.member(value);
        }
        self.depth -= 1;
        value
    }

    fn constant(&mut self, text: &str) -> Value {
        self.bump(1);
        Value::text(text)
    }

    /// Evaluates `application "Finder"` and `application id "com.apple.finder"`.
    fn application(&mut self) -> Value {
        self.bump(if self.word(1) == "id" { 2 } else { 1 });
        let name = self.of(0);
        match name.only() {
            Some(name) => Value::app(App::named(name), name),
            None => Value { app: Some(App::Unknown), ..Value::unknown() },
        }
    }

    fn names_a_path(&self) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|next| {
            matches!(next.kind, Kind::Text | Kind::Name)
                || next.is_sign("(")
                || matches!(next.word(), "posix" | "path")
                || (next.kind == Kind::Word
                    && noun::class(&next.text, "").is_none()
                    && next.text != "of")
        })
    }

    /// Evaluates `path to desktop folder from user domain`.
    fn path_to(&mut self) -> Value {
        self.bump(2);
        let mut local = false;
        let mut words = Vec::new();
        while let Some(token) = self.peek().filter(|token| token.kind == Kind::Word) {
            match &*token.text {
                "as" | "with" | "without" => break,
                "local" | "system" if words.contains(&"from") => local = true,
                word => words.push(word),
            }
            self.bump(1);
        }
        let pair = words.iter().take(2).copied().collect::<String>();
        let named = folder(&pair).or_else(|| words.first().and_then(|word| folder(word)));
        match named {
            Some(("~", below)) if !local => Value::text(format!("{}/{below}", self.names.home())),
            Some((_, below)) => Value::text(format!("/{below}")),
            None => Value::unknown(),
        }
    }

    fn many(&mut self) -> Value {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let objects = noun::objects(rest);
        self.unknown_until_end();
        Value::of(Objects { many: true, ..objects })
    }

    /// Evaluates a name that may be a variable; any further use of it makes it unknown.
    fn variable(&mut self) -> Value {
        let word = self.word(0);
        let next = self.tokens.get(self.at + 1);
        let plain = next.is_none_or(|next| match next.kind {
            Kind::Word => is_stop(&next.text) || next.text == "as",
            Kind::Sign => !matches!(&*next.text, "(" | ":" | "."),
            Kind::Possessive => true,
            Kind::Text | Kind::Number | Kind::Name | Kind::Raw | Kind::End => false,
        });
        if plain {
            self.bump(1);
            return self.names.lookup(word);
        }
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let objects = noun::objects(rest);
        self.unknown_until_end();
        Value::of(objects)
    }

    /// Skips to the end of this operand.
    fn unknown_until_end(&mut self) -> Value {
        while let Some(token) = self.peek() {
            match token.kind {
                Kind::Sign => match &*token.text {
                    "&" | ")" | "}" | "," => break,
                    "(" | "{" => {
                        self.bump(1);
                        self.close();
                        continue;
                    }
                    _ => {}
                },
                Kind::Word if is_stop(&token.text) => break,
                _ => {}
            }
            self.bump(1);
        }
        Value::unknown()
    }

    /// Evaluates `x's y`, given `x`: with Cocoa's path arithmetic a path remains a path.
    fn member(&mut self, owner: Value) -> Value {
        let Some(token) = self.peek() else { return Value::unknown() };
        let name = token.text.to_ascii_lowercase();
        self.bump(1);
        let given = self.argument();
        self.more_arguments();
        match name.as_str() {
            "stringwithstring"
            | "fileurlwithpath"
            | "initfileurlwithpath"
            | "urlwithstring"
            | "initwithstring"
            | "stringwithutf8string"
            | "alloc_fileurlwithpath"
            | "initwithsource"
            | "arraywithobject" => given.unwrap_or_else(Value::unknown),
            "stringbystandardizingpath"
            | "stringbyexpandingtildeinpath"
            | "path"
            | "firstobject"
            | "lastobject"
            | "objectatindex"
            | "absoluteurl"
            | "absolutestring"
            | "mutablecopy"
            | "copy"
            | "astext"
            | "urlbystandardizingpath"
            | "urlbyresolvingsymlinksinpath"
            | "filepathurl"
            | "filesystemrepresentation"
            | "defaultmanager"
            | "alloc"
            | "init"
            | "sharedworkspace" => owner,
            "urlbyappendingpathcomponent" | "stringbyappendingpathcomponent" => {
                let below = given.unwrap_or_else(Value::unknown).map(|text| format!("/{text}"));
                owner.join(&below)
            }
            "stringbyappendingstring" => owner.join(&given.unwrap_or_else(Value::unknown)),
            "urlsfordirectory" | "urlfordirectory" => self.directory(),
            _ => Value::unknown(),
        }
    }

    /// Evaluates `:(x)`, `(x)` or `:x` after a method's name.
    fn argument(&mut self) -> Option<Value> {
        let colon = self.sign(":");
        if !colon && !self.peek().is_some_and(|token| token.is_sign("(")) {
            return None;
        }
        Some(self.of(0))
    }

    /// Skips ` inDomains:(y) |error|:(reference)`.
    fn more_arguments(&mut self) {
        while self.tokens.get(self.at + 1).is_some_and(|token| token.is_sign(":"))
            && self.peek().is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Name))
        {
            self.bump(2);
            self.of(0);
        }
    }

    /// Returns the folder that `URLsForDirectory:(x's NSLibraryDirectory) inDomains:…` just named.
    fn directory(&mut self) -> Value {
        let seen = self.tokens.get(..self.at).unwrap_or_default();
        let words = || seen.iter().rev().take(16).map(Token::word);
        let named =
            words().find_map(|word| folder(word.strip_prefix("ns")?.strip_suffix("directory")?));
        let local = words().any(|word| word == "nslocaldomainmask");
        match named {
            Some(("~", below)) if !local => Value::text(format!("{}/{below}", self.names.home())),
            Some((_, below)) => Value::text(format!("/{below}")),
            None => Value::unknown(),
        }
    }
}

/// Returns the root of a special folder, and its path there.
fn folder(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "desktop" => ("~", "Desktop/"),
        "documents" | "document" => ("~", "Documents/"),
        "downloads" => ("~", "Downloads/"),
        "home" | "user" => ("~", ""),
        "library" => ("~", "Library/"),
        "preferences" => ("~", "Library/Preferences/"),
        "applicationsupport" => ("~", "Library/Application Support/"),
        "caches" => ("~", "Library/Caches/"),
        "scripts" => ("~", "Library/Scripts/"),
        "pictures" => ("~", "Pictures/"),
        "movies" => ("~", "Movies/"),
        "music" => ("~", "Music/"),
        "public" => ("~", "Public/"),
        "trash" => ("~", ".Trash/"),
        "startupdisk" | "boot" => ("/", ""),
        "startupitems" => ("/", "Library/StartupItems/"),
        "applications" | "application" => ("/", "Applications/"),
        "system" => ("/", "System/"),
        "temporary" => ("/", "tmp/"),
        "users" => ("/", "Users/"),
        _ => return None,
    })
}

/// Reports whether a word begins another part of a statement.
fn is_stop(word: &str) -> bool {
    matches!(
        word,
        "with"
            | "without"
            | "user"
            | "password"
            | "in"
            | "to"
            | "then"
            | "given"
            | "at"
            | "into"
            | "using"
            | "by"
            | "starting"
            | "for"
            | "returning"
            | "altering"
            | "contains"
            | "is"
            | "starts"
            | "ends"
            | "and"
            | "or"
            | "as"
            | "replacing"
            | "whose"
            | "where"
            | "equals"
            | "does"
            | "giving"
            | "buttons"
            | "default"
            | "through"
            | "thru"
    )
}

/// Quotes a text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Converts `Macintosh HD:Users:me:` and `~/x:y` to POSIX paths.
pub(super) fn posix(text: &str) -> String {
    if text.starts_with(['/', '~', UNKNOWN]) {
        return text.replace(':', "/");
    }
    match text.split_once(':') {
        Some((_, below)) if !text.contains("://") => format!("/{}", below.replace(':', "/")),
        _ => text.to_owned(),
    }
}

/// Returns a character by its number.
fn character(number: &str) -> String {
    let number = number.trim().parse().ok().and_then(char::from_u32);
    number.unwrap_or(UNKNOWN).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::lex::lex;
    use super::super::value::Variables;
    use super::*;

    struct Known(Variables);

    impl Names for Known {
        fn lookup(&mut self, name: &str) -> Value {
            self.0.get(name).cloned().unwrap_or_else(Value::unknown)
        }

        fn home(&self) -> String {
            "/home/me".to_owned()
        }

        fn spend(&mut self, _: usize) -> bool {
            true
        }
    }

    fn texts(expression: &str) -> Vec<String> {
        let known = [("cmd", "rm"), ("dir", "/tmp")]
            .map(|(name, text)| (name.to_owned(), Value::text(text)));
        let lexed = lex(expression);
        value(&lexed.tokens, &mut Known(known.into_iter().collect())).0.texts
    }

    #[test]
    fn known_texts_are_joined() {
        for (expression, text) in [
            (r#""a" & "b""#, "ab"),
            (r#"(cmd & " -rf ") & dir"#, "rm -rf /tmp"),
            (r#"("ls" as text) & " x""#, "ls x"),
            (r#"quoted form of "it's""#, r"'it'\''s'"),
            (r#""rm " & quoted form of (dir & "/a b")"#, "rm '/tmp/a b'"),
            (r#"POSIX path of "Macintosh HD:Users:me:x""#, "/Users/me/x"),
            ("POSIX path of (path to desktop folder)", "/home/me/Desktop/"),
            (r#"(path to library folder from local domain as text) & "x""#, "/Library/x"),
            ("(ASCII character 114) & (character id 109)", "rm"),
            (r#"current application's NSURL's fileURLWithPath:("/a")"#, "/a"),
            (r#"dir's URLByAppendingPathComponent:("x") isDirectory:(true)"#, "/tmp/x"),
        ] {
            assert_eq!(texts(expression), [text], "{expression}");
        }
        assert_eq!(texts(r#"{"a", "b"}"#), ["a", "b"]);
    }

    #[test]
    fn what_is_not_known_says_so() {
        for expression in ["x", "text 1 thru 3 of cmd", "go(cmd)", "1 + 2", "reverse of cmd"] {
            let all = texts(&format!("\"a\" & ({expression})"));
            assert!(all.iter().all(|text| text.contains(UNKNOWN)), "{expression}: {all:?}");
        }
        assert_eq!(texts(r#""ls " & x & " b""#), [format!("ls {UNKNOWN} b")]);
    }
}
