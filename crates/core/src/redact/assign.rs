//! Values given to names that announce a secret: settings, assignments, flags, headers, fields.
//!
//! The name says how much the value has to prove: a password may be any word that is not a blank,
//! a token must have been drawn by a machine.

use super::{
    Hits, call, command,
    fake::{is_blank, is_chosen, is_hex, is_placeholder, is_random, is_reference, is_uuid},
    header,
    key::{self, Key},
    plausible::{
        is_code, is_formatted, is_literal, is_naming, is_place, is_secret, is_selector,
        is_sentence, is_token, is_vendor,
    },
    prose,
    text::{Class, Text, contains, is_any},
    value::{self, Joint, Value},
    words::{is_in, words},
};

/// Names longer than this are data.
const LONGEST_NAME: usize = 96;

/// Nobody types a longer password, and no server takes one.
const LONGEST_PASSWORD: usize = 200;

/// How far back a user may have been named for a password to belong to it.
const PAIR: usize = 240;

/// A name in the text.
#[derive(Debug, Clone, Copy)]
struct Name {
    start: usize,
    end: usize,
    /// It is an option, such as `--token`.
    flag: bool,
}

/// Finds the values of telling names.
pub(super) fn find(text: Text<'_>, hits: &mut Hits) {
    let mut scan = Scan {
        text,
        hits,
        user: None,
        previous: [None, None],
        commands: command::Commands::default(),
    };
    let mut index = 0;
    while index < text.len() {
        if Class::NAME.has(text.at(index)) {
            let end = text.run(index, Class::NAME);
            if let Some(name) = trim(text, index, end) {
                scan.name(name);
            }
            index = end;
        } else {
            index += 1;
        }
    }
}

/// Drops the dashes of an option and the stop of a sentence.
fn trim(text: Text<'_>, start: usize, end: usize) -> Option<Name> {
    if end - start > LONGEST_NAME {
        return None;
    }
    let raw = text.cut(start, end);
    let name = raw.trim_start_matches(['-', '.']);
    let flag = raw.starts_with('-') && !raw.starts_with("---");
    // `-Dname=value` sets a property.
    let name = if raw.starts_with("-D") { name.strip_prefix('D').unwrap_or(name) } else { name };
    let start = start + (raw.len() - name.len());
    let name = name.trim_end_matches(['-', '.']);
    (!name.is_empty()).then_some(Name { start, end: start + name.len(), flag })
}

struct Scan<'a, 'h> {
    text: Text<'a>,
    hits: &'h mut Hits,
    /// Where a user was last named.
    user: Option<usize>,
    /// The two names before this one.
    previous: [Option<Name>; 2],
    commands: command::Commands,
}

impl Scan<'_, '_> {
    fn name(&mut self, name: Name) {
        let text = self.text;
        // The kind in a mask is no name: what follows `[redacted:password]` is not its value.
        if text.back(name.start, 10) == "[redacted:" {
            return;
        }
        let [second, first] = self.previous;
        self.previous = [first, Some(name)];
        let word = text.cut(name.start, name.end);
        self.commands.word(text, name.start, name.end, self.hits);
        header::scheme(text, word, name.end, self.hits);
        if name.flag && is_in(word, PIPED) {
            command::piped_in(text, name.start, self.hits);
        }
        if text.at(name.end) == b'(' {
            call::find(text, word, name.end, self.hits);
        }
        if is_in(word, INTRODUCING) {
            self.introduced(word, name.end);
        }
        if !is_joined(text, name) {
            return;
        }
        let words = words(text, name, [second, first]);
        if is_any(word, &["key"]) && matches!(text.before(name.start), b'?' | b'&') {
            return self.value(Key::Token, name, &words);
        }
        if key::is_published_user(word, &words) {
            self.published_user(name);
        }
        match key::classify(&words) {
            None => {}
            Some(Key::User) => self.user = Some(name.end),
            Some(Key::Authorization) => header::authorization(text, name.end, self.hits),
            Some(Key::Cookie) => header::cookie(text, name.end, self.hits),
            Some(Key::Token) if call::is_pair(text, name.end) => {
                call::pair(text, name.end, self.hits);
            }
            Some(key) => self.value(key, name, &words),
        }
    }

    /// `IDENTIFIED BY '…'` of SQL, `ConvertTo-SecureString "…"` of PowerShell.
    fn introduced(&mut self, word: &str, end: usize) {
        let text = self.text;
        if text.at(end) != b' '
            || (is_any(word, &["by"]) && !contains(text.back(end, 48), "identified"))
        {
            return;
        }
        let mut start = text.run_within(end, Class::SPACE, 8);
        if text.has_any_case(start, "-string ") {
            start += 8;
        }
        let Some(value) =
            value::read(text, start, Joint::Space, false).filter(|value| value.quoted)
        else {
            return;
        };
        let given = text.cut(value.start, value.end);
        if given.len() >= 3
            && text.before(value.start) != b'`'
            && !is_blank(given)
            && !given.contains(' ')
        {
            self.hits.named("password", value.start, value.end);
        }
    }

    fn published_user(&mut self, name: Name) {
        let Some(value) = value::after(self.text, name.end) else { return };
        let given = self.text.cut(value.start, value.end);
        if value.joint == Joint::Assign
            && value.tight
            && given.len() >= 3
            && !is_blank(given)
            && !given.contains('/')
        {
            self.hits.personal("username", value.start, value.end);
        }
    }

    fn value(&mut self, key: Key, name: Name, words: &[&str]) {
        let text = self.text;
        let Some(value) = value::after(text, name.end) else { return self.told(key, name, words) };
        let given = text.cut(value.start, value.end);
        let fits = self.is_given(value, name, words)
            && match key {
                Key::Password => self.is_password(value, given, name),
                Key::Secret => is_secret(value, given) || self.is_set(value, given, name),
                Key::Token => is_token(value, given) || is_formatted(words, given),
                Key::Vendor => is_vendor(value, given, words),
                Key::Other => {
                    let hex = is_hex(given) && (given.len() < 32 || words.len() > 2);
                    is_random(given, 16) && !hex && !is_uuid(given) && !is_literal(given)
                }
                Key::Account => {
                    given.len() == 12 && given.bytes().all(|byte| byte.is_ascii_digit())
                }
                Key::User | Key::Authorization | Key::Cookie => false,
            };
        if !fits {
            return self.told(key, name, words);
        }
        match key {
            Key::Account => self.hits.resource("cloud-account", value.start, value.end),
            Key::Password => self.hits.named("password", value.start, value.end),
            Key::Secret => self.hits.named("secret", value.start, value.end),
            _ => self.hits.named("token", value.start, value.end),
        }
    }

    /// Looks for the value in the words that follow.
    fn told(&mut self, key: Key, name: Name, words: &[&str]) {
        if words.len() > 1 || !is_verb(words) {
            prose::find(self.text, key, name.end, self.hits);
        }
    }

    /// Whether the joint between name and value is one that gives it.
    fn is_given(&self, value: Value, name: Name, words: &[&str]) -> bool {
        let text = self.text;
        match value.joint {
            Joint::Assign | Joint::Colon => true,
            Joint::Comma => value.quoted && is_argument(text, name, value),
            Joint::Default | Joint::Compare => value.quoted,
            Joint::Call => value.quoted && !key::is_query(words) && !is_verb(words),
            Joint::Tag => text.has(text.run_within(value.end, Class::BLANK, 48), "</"),
            Joint::Space => {
                let next = text.at(value.start);
                let spoken = words.len() > 1 || !is_verb(words);
                let stated = value.quoted && text.before(value.start) != b'`' && spoken;
                let drawn = is_random(text.cut(value.start, value.end), 16) && spoken;
                (name.flag && next != b'-')
                    || stated
                    || drawn
                    || self.is_netrc(name)
                    || is_recipe(text, name.start)
            }
        }
    }

    /// `machine … login … password …`
    fn is_netrc(&self, name: Name) -> bool {
        let mut before = self.text.back(name.start, 96).split_whitespace().rev().skip(1);
        is_any(self.text.cut(name.start, name.end), &["password"]) && before.next() == Some("login")
    }

    /// Whether a secret is set as settings are: `client_secret=…`, `APP_SECRET=…`.
    fn is_set(&self, value: Value, given: &str, name: Name) -> bool {
        let whole = self.text.cut(name.start, name.end);
        let owned = whole.len() > "secret".len() && !whole.contains('.');
        let set = value.tight && value.joint == Joint::Assign && !value.quoted && owned;
        set && given.len() >= 8
            && is_chosen(given)
            && !is_placeholder(given)
            && !is_code(self.text, value, given)
            && !contains(given, "secret")
    }

    fn is_password(&self, value: Value, given: &str, name: Name) -> bool {
        let paired = self.user.is_some_and(|user| name.start.saturating_sub(user) < PAIR);
        if given.len() > LONGEST_PASSWORD
            || is_reference(given)
            || is_place(given)
            || given.contains('\n')
        {
            return false;
        }
        if value.quoted || value.joint == Joint::Tag {
            if value.joint == Joint::Comma && !is_chosen(given) {
                return false;
            }
            let least = if paired || value.joint == Joint::Compare { 3 } else { 4 };
            let plain =
                if paired { is_blank(given) } else { is_placeholder(given) || is_naming(given) };
            return given.len() >= least && !plain && !is_sentence(given) && !is_selector(given);
        }
        if is_code(self.text, value, given) || is_literal(given) {
            return false;
        }
        let text = self.text;
        let listed = text.before(name.start) == b';' || (value.tight && text.at(value.end) == b';');
        let shouted = (value.tight || value.joint == Joint::Colon)
            && text.cut(name.start, name.end).bytes().all(|byte| !byte.is_ascii_lowercase());
        let option = name.flag && matches!(value.joint, Joint::Space | Joint::Assign);
        let netrc = value.joint == Joint::Space && !name.flag;
        let letter = given.bytes().any(|byte| byte.is_ascii_alphabetic());
        if ((paired && letter) || listed || shouted || option || netrc)
            && value.joint != Joint::Comma
        {
            return given.len() >= 4 && !is_blank(given) && (listed || netrc || !is_naming(given));
        }
        given.len() >= 5
            && letter
            && is_chosen(given)
            && !is_placeholder(given)
            && !is_naming(given)
            && !is_literal(given)
    }
}

/// The parts of the name, after those of the words it needs: `secret key:`, `Unseal Key 2:`.
fn words(text: Text<'_>, name: Name, [second, first]: [Option<Name>; 2]) -> Vec<&str> {
    let own = key::parts(text.cut(name.start, name.end));
    let Some(first) = first.filter(|first| is_partial(&own) && is_beside(text, *first, name))
    else {
        return own;
    };
    let mut words = key::parts(text.cut(first.start, first.end));
    if is_partial(&words)
        && let Some(second) = second.filter(|second| is_beside(text, *second, first))
    {
        words.splice(0..0, key::parts(text.cut(second.start, second.end)));
    }
    words.extend(own);
    words
}

/// Whether the word says nothing without the one before it.
fn is_partial(words: &[&str]) -> bool {
    let [word] = words else { return false };
    is_any(word, &["key", "keys", "id", "code", "string"])
        || word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_beside(text: Text<'_>, left: Name, right: Name) -> bool {
    left.end + 1 == right.start && text.at(left.end) == b' '
}

/// Whether anything that can join a value follows the name.
fn is_joined(text: Text<'_>, name: Name) -> bool {
    match text.at(name.end) {
        b'=' | b':' | b'"' | b'\'' | b'`' | b']' | b'\\' | b'(' | b'>' | b'!' | b'<' => true,
        b'?' | b'+' => text.at(name.end + 1) == b'=',
        b'\n' | b'\r' => text.has_any_case(text.run_within(name.end, Class::BLANK, 32), "value"),
        b' ' | b'\t' => {
            let next = text.at(text.run_within(name.end, Class::SPACE, 48));
            let joint = matches!(
                next,
                b'=' | b':' | b'!' | b'?' | b'+' | b'|' | b'"' | b'\'' | b'(' | b'v' | b'V' | b'a'
            );
            joint
                || text.has(text.run_within(name.end, Class::SPACE, 48), "string =")
                || name.flag
                || is_spoken(text.cut(name.start, name.end))
                || is_recipe(text, name.start)
        }
        _ => false,
    }
}

words! {
    /// Words of a language that bring a password in quotes.
    INTRODUCING = "by convertto-securestring"
}

words! {
    /// Options that say a secret comes from what is piped in.
    PIPED = "api-key-stdin pass-stdin password-stdin secret-stdin token-stdin with-token"
}

words! {
    /// Names that may be followed by their value without a joint, or by words about it.
    SPOKEN = "apikey credentials key passphrase passwd password passwords pwd secret token"
}

/// Whether the name may be followed by its value and nothing between: `token …`, `set X_TOKEN …`.
fn is_spoken(name: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or(name);
    is_in(last, SPOKEN) && (last.len() == name.len() || !is_any(last, &["key"]))
}

/// Whether the name stands in `ENV NAME value` of a container's recipe.
fn is_recipe(text: Text<'_>, start: usize) -> bool {
    start >= 4 && matches!(text.cut(start - 4, start), "ENV " | "ARG ")
}

/// Whether the name may as well mean "to pass".
fn is_verb(words: &[&str]) -> bool {
    words.last().is_some_and(|last| is_any(last, &["pass"]))
}

/// Whether name and value are neighbouring arguments: `('NAME', 'value')`, not `"x": "NAME", "y": …`.
fn is_argument(text: Text<'_>, name: Name, value: Value) -> bool {
    let quote = text.before(name.start);
    let mut at = name.start.saturating_sub(1);
    while Class::SPACE.has(text.before(at)) {
        at -= 1;
    }
    let opened = matches!(quote, b'"' | b'\'') && matches!(text.before(at), b'(' | b',' | b'[' | 0);
    let next = text.run_within(value.end + 1, Class::SPACE, 8);
    (opened || name.start == 0) && text.at(next) != b':'
}

#[cfg(test)]
mod tests {
    use crate::redact::{draw, redact, scan};

    #[test]
    fn passwords_are_found_in_every_notation() {
        for source in [
            "password = 'tr0ub4dor'",
            "\"password\": \"tr0ub4dor\"",
            "DB_PASS=tr0ub4dor",
            "<password>tr0ub4dor</password>",
            "Server=db;User Id=sa;Password=tr0ub4dor;",
            "user = ann\npassword = correcthorse",
            "--password tr0ub4dor",
            "if (password == \"correcthorse\")",
            "machine h login ann password correcthorse",
            "<add key=\"MailPassword\" value=\"tr0ub4dor\"/>",
            "setPassword(\"correcthorse\")",
        ] {
            let redacted = redact(source);
            assert!(!redacted.found.is_empty(), "{source}");
            assert!(
                !redacted.text.contains("tr0ub4dor") && !redacted.text.contains("correcthorse"),
                "{source}"
            );
        }
    }

    #[test]
    fn blanks_code_and_labels_are_left() {
        for source in [
            "password = request.form[\"password\"]",
            "password: string;",
            "password = os.environ['DB_PASSWORD']",
            "password=${DB_PASSWORD}",
            "PASSWORD=$(pass show db)",
            "password: <your password>",
            "token = getToken()",
            "\"password\": \"password\"",
            "passwordLabel: \"Enter your password\"",
            "api_key = 'YOUR_API_KEY'",
            "secretName: rabbitmq-default-user",
            "token: null",
            "password = user_password",
            "--token $TOKEN",
            "def login(user, password=None):",
            "password: { type: String, required: true }",
        ] {
            assert!(scan(source).is_empty(), "{source}: {:?}", scan(source));
        }
    }

    #[test]
    fn a_token_must_have_been_drawn() {
        let token = draw("", 32, 7);
        for source in [
            format!("api_key = \"{token}\""),
            format!("ACME_TOKEN={token}"),
            format!("secret key: {token}"),
            format!("https://h/x?access_token={token}&y=1"),
            format!("- name: X_TOKEN\n  value: {token}"),
        ] {
            assert!(!redact(&source).text.contains(&token), "{source}");
        }
        assert!(scan("token = \"refresh\"").is_empty());
        assert!(scan("api_key: my-key-name").is_empty());
        assert!(scan(&format!("key = {token}")).is_empty());
    }
}
