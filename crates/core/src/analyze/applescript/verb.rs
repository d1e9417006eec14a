//! Commands: the effect of each verb on its objects.

use super::app::App;
use super::lex::{Kind, Token};
use super::noun::{self, Noun, Objects};
use super::shape::after_word;
use super::{Walker, span_of};
use crate::fact::FactKind;

/// The number of tokens that are searched for a command's object.
const MOST_AHEAD: usize = 24;

impl Walker<'_> {
    /// Records every command of a statement.
    pub(super) fn commands(&mut self, statement: &[Token<'_>]) {
        for (at, token) in statement.iter().enumerate() {
            let rest = statement.get(at..).unwrap_or_default();
            let before = at.checked_sub(1).and_then(|at| statement.get(at));
            match token.kind {
                Kind::Word => {
                    self.anywhere(rest, statement.get(..at).unwrap_or_default());
                    if is_head(before) {
                        self.at_head(rest);
                    }
                    self.cocoa(rest, before, statement);
                }
                Kind::Name => self.cocoa(rest, before, statement),
                _ => {}
            }
        }
    }

    /// Follows words that are a command at any position.
    fn anywhere(&mut self, rest: &[Token<'_>], before: &[Token<'_>]) {
        let word = |at: usize| rest.get(at).map_or("", |token| token.word());
        match (word(0), word(1)) {
            ("do", "shell") if word(2) == "script" => self.shell_script(rest),
            ("do", "script") | ("write", "text") => {
                self.terminal(rest.get(2..).unwrap_or_default(), rest);
            }
            ("do", "javascript") => self.page_script(rest, 2),
            ("execute", _) if word(1) == "javascript" || word(2) == "javascript" => {
                self.page_script(rest, if word(1) == "javascript" { 2 } else { 3 });
            }
            ("execute", _) if self.listener() == App::Browser => self.tab_script(rest),
            ("run", "script") => self.run_script(rest),
            ("load", "script") => {
                self.tell_of(FactKind::ScriptLoad, rest);
                self.load_script(rest);
            }
            ("command", _)
                if self.listener() == App::Terminal
                    && rest.get(1).is_some_and(|next| next.kind == Kind::Text) =>
            {
                self.terminal(rest.get(1..).unwrap_or_default(), rest);
            }
            ("keystroke", _) => self.keystroke(rest),
            ("key", "code") => {
                self.tell_of(FactKind::ScriptKeyCode, rest);
                let key = rest.get(2).map_or("", |token| &token.text);
                self.shortcut(rest, key);
            }
            ("hidden", "answer") => self.hidden_answer(rest, before),
            ("screen" | "audio" | "movie", "recording") => {
                self.tell_of(FactKind::ScriptRecording, rest);
            }
            ("clipboard", _) if !is_set(before) => self.tell_of(FactKind::ScriptClipboard, rest),
            ("open", "for") if word(2) == "access" => self.open_for_access(rest),
            ("password", _) if self.listener() == App::Keychain => {
                self.tell_of(FactKind::ScriptKeychain, rest);
            }
            ("with" | "user" | "as", "password") => self.clear_password(rest),
            _ => {}
        }
    }

    /// Follows words that are a command only where one begins.
    fn at_head(&mut self, rest: &[Token<'_>]) {
        let word = |at: usize| rest.get(at).map_or("", |token| token.word());
        let called = rest.get(1).is_some_and(|next| {
            next.is_sign("(") && rest.get(2).is_some_and(|close| close.is_sign(")"))
        });
        if called {
            return;
        }
        match (word(0), word(1)) {
            ("tell", _) => self.tell(rest),
            ("open", "location") => self.open_address(rest.get(2..).unwrap_or_default()),
            ("open", _) => {
                self.bring_to_front(rest);
                self.read_file(rest);
            }
            ("read", _) => self.read_file(rest),
            ("activate" | "launch", _) => self.bring_to_front(rest),
            ("delete" | "remove", _) => self.delete(rest),
            ("empty", _) => self.empty(rest),
            ("erase", _) => self.tell_of(FactKind::ScriptErase, rest),
            ("eject" | "unmount", _) => self.tell_of(FactKind::ScriptEject, rest),
            ("move", _) => self.move_objects(rest),
            ("duplicate", _) => self.duplicate(rest),
            ("quit", _) => self.quit(rest),
            ("shut", "down") | ("log", "out") => self.tell_of(FactKind::ScriptPower, rest),
            ("shutdown" | "restart" | "sleep", next) if is_power(next, rest.len()) => {
                self.tell_of(FactKind::ScriptPower, rest);
            }
            ("send", _) => self.send(rest),
            ("make", _) => self.make(rest),
            ("click" | "pick", _) | ("perform", "action") => self.press_control(rest),
            ("set", _) => self.set_property(rest),
            ("write", next) if next != "text" => self.write(rest),
            ("store", "script") => self.write(rest),
            ("download", _) => self.tell_of(FactKind::ScriptDownload, rest),
            ("mount", "volume") => self.tell_of(FactKind::ScriptMount, rest),
            _ => {}
        }
    }

    /// Records a command as it is written.
    pub(super) fn tell_of(&mut self, kind: FactKind, rest: &[Token<'_>]) {
        let command = rest.get(..rest.len().min(MOST_AHEAD)).unwrap_or_default();
        self.note(kind, shown(command), span_of(command));
    }

    /// Follows `tell x to …` and `tell x`.
    fn tell(&mut self, rest: &[Token<'_>]) {
        let target = rest.get(1..).unwrap_or_default();
        let (value, _) = self.value(target);
        let process = target.first().is_some_and(|token| {
            matches!(token.word(), "process" | "application")
                && target.get(1).is_some_and(|t| t.word() == "process" || token.word() == "process")
        });
        let word = |at: usize| target.get(at).map_or("", |token| token.word());
        if (word(0), word(1)) == ("security", "preferences") {
            self.inline = Some(App::Protection);
        } else if let Some(app) = value.app {
            self.inline = Some(app);
        } else if let Some(app) = addressed(target) {
            self.inline = Some(app);
        }
        if process && let Some(name) = target.iter().take(3).find(|token| token.kind == Kind::Text)
        {
            self.front = App::named(&name.text);
        }
        let objects =
            if value.objects.noun.is_some() { value.objects } else { noun::objects(target) };
        let told = after_word(rest, "to").and_then(|told| told.first());
        if objects.many
            && objects.noun == Some(Noun::Application)
            && told.is_some_and(|told| told.word() == "quit")
        {
            self.tell_of(FactKind::ScriptQuitAll, rest);
        }
    }

    fn bring_to_front(&mut self, rest: &[Token<'_>]) {
        let (value, _) = self.value(rest.get(1..).unwrap_or_default());
        self.front = match (value.app, rest.len()) {
            (Some(app), _) => app,
            (None, 1) => self.listener(),
            (None, _) => return,
        };
    }

    /// Returns the objects that a command names: by its words, or by the value of its variable.
    pub(super) fn named(&mut self, rest: &[Token<'_>]) -> Objects {
        let given = rest.get(1..).unwrap_or_default();
        let mut objects = noun::objects(given);
        if objects.noun.is_none() {
            let value = self.value(given).0;
            objects.noun = value.objects.noun;
            objects.many |= value.objects.many;
        }
        objects
    }

    fn delete(&mut self, rest: &[Token<'_>]) {
        let objects = self.named(rest);
        let many = objects.many || self.in_loop();
        let pick = |one, all| if many { all } else { one };
        let app = self.listener();
        let kind = match objects.noun {
            Some(Noun::LoginItem) => FactKind::ScriptLoginItem,
            Some(Noun::Calendar) => {
                pick(FactKind::ScriptDeleteRecord, FactKind::ScriptBulkDeleteCalendar)
            }
            Some(Noun::People) => {
                pick(FactKind::ScriptDeleteRecord, FactKind::ScriptBulkDeletePeople)
            }
            Some(Noun::Part | Noun::Window) => FactKind::ScriptDeletePart,
            Some(Noun::Mail | Noun::Media | Noun::User | Noun::Key | Noun::Application) => {
                pick(FactKind::ScriptDeleteRecord, FactKind::ScriptBulkDeleteData)
            }
            Some(Noun::File | Noun::Disk) => {
                pick(FactKind::ScriptDelete, FactKind::ScriptBulkDelete)
            }
            None => match app {
                App::Document | App::Browser => FactKind::ScriptDeletePart,
                App::Finder | App::SystemEvents | App::Unknown => {
                    pick(FactKind::ScriptDelete, FactKind::ScriptBulkDelete)
                }
                _ => pick(FactKind::ScriptDeleteRecord, FactKind::ScriptBulkDeleteData),
            },
        };
        self.tell_of(kind, rest);
        if matches!(kind, FactKind::ScriptDelete | FactKind::ScriptBulkDelete) {
            self.deleted_files(rest, objects.many);
        }
    }

    /// Follows `empty trash`, `empty the trash`, `tell trash to empty`.
    fn empty(&mut self, rest: &[Token<'_>]) {
        let said = ahead(rest).iter().any(|token| token.word() == "trash");
        let app = self.listener();
        // This is the Finder's word, and means only the trash there.
        if said || app == App::Finder || (rest.len() == 1 && app == App::Unknown) {
            self.tell_of(FactKind::ScriptEmptyTrash, rest);
        }
    }

    fn move_objects(&mut self, rest: &[Token<'_>]) {
        let target = after_word(ahead(rest), "to").unwrap_or_default();
        let objects = self.named(rest);
        if target.iter().any(|token| token.word() == "trash") {
            return self.delete(rest);
        }
        let target = self.value(target).0;
        if target.texts.iter().any(|text| text.contains("/.Trash")) {
            return self.delete(rest);
        }
        let files = matches!(objects.noun, Some(Noun::File | Noun::Disk));
        let finder = matches!(self.listener(), App::Finder | App::SystemEvents | App::Unknown);
        match objects.noun {
            Some(Noun::Window | Noun::Part) => {}
            _ if objects.many && (files || finder) => self.tell_of(FactKind::ScriptBulkMove, rest),
            _ if files || finder => self.tell_of(FactKind::ScriptMove, rest),
            _ => {}
        }
    }

    fn duplicate(&mut self, rest: &[Token<'_>]) {
        let objects = self.named(rest);
        let files = matches!(objects.noun, Some(Noun::File | Noun::Disk) | None);
        if objects.many && files {
            self.tell_of(FactKind::ScriptBulkDuplicate, rest);
        }
    }

    fn quit(&mut self, rest: &[Token<'_>]) {
        let objects = self.named(rest);
        let apps = matches!(objects.noun, Some(Noun::Application));
        let unnamed = self.in_loop()
            && self.listener() == App::Unknown
            && !rest.iter().take(4).any(|token| token.kind == Kind::Text);
        if (objects.many && apps) || unnamed {
            self.tell_of(FactKind::ScriptQuitAll, rest);
        }
    }

    fn make(&mut self, rest: &[Token<'_>]) {
        let given = rest.get(1..).unwrap_or_default();
        let given = match given {
            [new, rest @ ..] if new.word() == "new" => rest,
            given => given,
        };
        let word = |at: usize| given.get(at).map_or("", |token| token.word());
        if (word(0), word(1)) == ("outgoing", "message") {
            self.composed = true;
            return;
        }
        match noun::objects(given).noun {
            Some(Noun::LoginItem) => self.tell_of(FactKind::ScriptLoginItem, rest),
            Some(Noun::Calendar | Noun::People | Noun::User | Noun::Key) => {
                self.tell_of(FactKind::ScriptRecord, rest);
            }
            Some(Noun::Mail) if word(0) != "text" => self.tell_of(FactKind::ScriptRecord, rest),
            _ => {}
        }
    }

    /// `set x of y to z`, where `y` is a setting, a file or a field.
    fn set_property(&mut self, rest: &[Token<'_>]) {
        let names = ahead(rest);
        let end =
            after_word(names, "to").map_or(names.len(), |after| names.len() - after.len() - 1);
        let names = names.get(1..end).unwrap_or_default();
        let has = |word: &str| names.iter().any(|token| token.word() == word);
        let first = names.first().map_or("", |token| token.word());
        if first == "eof" {
            return self.write(rest);
        }
        if first == "url" {
            let given = after_word(ahead(rest), "to").unwrap_or_default();
            return self.open_address(given);
        }
        if first == "focused" {
            return self.focus(names);
        }
        if first == "clipboard" || (first == "the" && has("clipboard")) {
            let given = after_word(ahead(rest), "to").unwrap_or_default();
            self.copied = self.value(given).0.texts;
        }
        // `set require password to wake of security preferences to false`: the name holds a `to`.
        let whole = ahead(rest);
        let of = |word: &str| {
            whole.windows(2).any(|pair| {
            matches!(pair, [kind, all] if kind.word() == word && all.word() == "preferences")
        })
        };
        let setting = ["dock", "appearance", "expose", "network", "saver"].into_iter().any(of);
        if of("security") || self.listener() == App::Protection {
            self.tell_of(FactKind::ScriptSecuritySetting, rest);
        } else if setting || has("privileges") {
            self.tell_of(FactKind::ScriptSetting, rest);
        } else if first == "deleted" && has("status") {
            self.tell_of(FactKind::ScriptDeleteRecord, rest);
        } else if first == "value"
            && (has("field") || has("area") || has("checkbox") || has("attribute"))
        {
            self.fill_control(names, rest);
        } else if first == "name" && has("of") && self.is_about_files(names) {
            self.tell_of(FactKind::ScriptRename, rest);
        }
    }

    fn is_about_files(&self, names: &[Token<'_>]) -> bool {
        let object = names.get(2..).unwrap_or_default();
        self.listener() == App::Finder
            && !matches!(noun::objects(object).noun, Some(Noun::Window | Noun::Part))
    }

    /// Records `with hidden answer` and `hidden answer true`, but not `hidden answer false`.
    fn hidden_answer(&mut self, rest: &[Token<'_>], before: &[Token<'_>]) {
        let off = rest.get(2).is_some_and(|next| next.word() == "false")
            || before.last().is_some_and(|before| before.word() == "without");
        if !off {
            self.tell_of(FactKind::ScriptPasswordDialog, rest);
        }
    }
}

/// Returns the part of a command that is examined.
pub(super) fn ahead<'t, 'a>(rest: &'t [Token<'a>]) -> &'t [Token<'a>] {
    rest.get(..rest.len().min(MOST_AHEAD)).unwrap_or_default()
}

/// Reports whether a command can begin after this token.
fn is_head(before: Option<&Token<'_>>) -> bool {
    before.is_none_or(|before| match before.kind {
        Kind::Word => {
            matches!(
                &*before.text,
                "to" | "then" | "else" | "return" | "and" | "get" | "not" | "try" | "ignoring"
            )
        }
        Kind::Sign => matches!(&*before.text, "(" | "{" | "&" | ","),
        Kind::End => true,
        Kind::Name | Kind::Text | Kind::Number | Kind::Raw | Kind::Possessive => false,
    })
}

/// Reports whether `restart` or `sleep` is a command; in `restart counter` it is not.
fn is_power(next: &str, tokens: usize) -> bool {
    tokens == 1 || matches!(next, "state" | "computer" | "with" | "without" | "the" | "end")
}

/// Reports whether the clipboard is written, not read: `set the clipboard to`, `set clipboard to`.
fn is_set(before: &[Token<'_>]) -> bool {
    matches!(before, [.., set] if set.word() == "set")
        || matches!(before, [.., set, the] if set.word() == "set" && the.word() == "the")
}

/// Returns the app in `window 1 of application "X"` and `menu bar 1 of process "X"`.
fn addressed(target: &[Token<'_>]) -> Option<App> {
    let at = target
        .iter()
        .take(MOST_AHEAD)
        .position(|token| matches!(token.word(), "application" | "app"))?;
    let next = target.get(at + 1..)?;
    let name = next.iter().take(2).find(|token| token.kind == Kind::Text)?;
    Some(App::named(&name.text))
}

/// Returns a command as shown to a person.
pub(super) fn shown(command: &[Token<'_>]) -> String {
    let mut text = String::new();
    for token in command {
        if text.len() > 96 {
            break;
        }
        let glued = matches!(token.kind, Kind::Possessive)
            || (token.kind == Kind::Sign && ":,)".contains(&*token.text));
        if !text.is_empty() && !glued {
            text.push(' ');
        }
        if token.kind == Kind::Text {
            text.push('"');
            text.extend(token.text.chars().take(48));
            text.push('"');
        } else {
            text.push_str(token.text.get(..token.text.len().min(48)).unwrap_or("…"));
        }
    }
    text
}
