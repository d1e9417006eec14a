//! Cocoa from a script: `current application's NSFileManager's defaultManager()'s …`.

use super::lex::{Kind, Token};
use super::verb::{ahead, shown};
use super::{Walker, nested, span_of};
use crate::analyze::UNKNOWN;
use crate::fact::{FactKind, Tag, Tags};

/// The effect of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// Deletes the file that its first argument names.
    Delete,
    /// Writes the file that its first argument names.
    Write,
    /// Writes the file that a later argument, `toPath:` or `toURL:`, names.
    Transfer,
    /// Runs its first argument as a script.
    Script,
    /// Reads what its first argument names.
    Read,
    /// Opens the address that its first argument names.
    Open,
    /// Just this fact.
    Is(FactKind),
}

/// Returns the method or function with this name, in lower case; by its first part.
pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "removeitematpath"
        | "removeitematurl"
        | "trashitematurl"
        | "recycleurls"
        | "removefileatpath"
        | "removeitematpatherror"
        | "removeitematurlerror"
        | "trashitematurlresultingitemurlerror"
        | "recycleurlscompletionhandler" => Method::Delete,
        "writetourl"
        | "writetofile"
        | "createfileatpath"
        | "writetofileatomically"
        | "writetourlatomically"
        | "createfileatpathcontentsattributes"
        | "writetofileatomicallyencodingerror"
        | "setattributes"
        | "writetourloptions" => Method::Write,
        "moveitematpath"
        | "moveitematurl"
        | "copyitematpath"
        | "copyitematurl"
        | "replaceitematurl"
        | "createsymboliclinkatpath"
        | "createsymboliclinkaturl"
        | "linkitematpath"
        | "linkitematurl" => Method::Transfer,
        "initwithsource" => Method::Script,
        "contentsatpath" | "filehandleforreadingatpath" => Method::Read,
        "openurl" | "openlocation" | "loadrequest" => Method::Open,
        "performselector" | "nsselectorfromstring" | "objc_msgsend" | "nsinvocation" => {
            Method::Is(FactKind::UnknownCode)
        }
        "nstask"
        | "nsuserunixtask"
        | "nsuserapplescripttask"
        | "nsuserscripttask"
        | "nsuserautomatortask"
        | "launchedtaskwithlaunchpath" => Method::Is(FactKind::ScriptProcess),
        "cfpreferencessetappvalue"
        | "cfpreferencessetvalue"
        | "setpersistentdomain"
        | "removepersistentdomainforname" => Method::Is(FactKind::ScriptSetting),
        "cgwindowlistcreateimage" | "cgdisplaycreateimage" => Method::Is(FactKind::ScriptRecording),
        "cgeventpost" | "cgeventcreatekeyboardevent" => Method::Is(FactKind::ScriptKeystroke),
        "datataskwithrequest" | "sendsynchronousrequest" | "uploadtaskwithrequest" => {
            Method::Is(FactKind::ScriptDownload)
        }
        "performwithitems" => Method::Is(FactKind::ScriptSend),
        "unmountandejectdeviceatpath" | "unmountandejectdeviceaturl" => {
            Method::Is(FactKind::ScriptEject)
        }
        _ => return by_form(name),
    })
}

/// Methods that come in many lengths, by what their names have in common.
fn by_form(name: &str) -> Option<Method> {
    if name.contains("withcontentsoffile") || name.contains("withcontentsofurl") {
        Some(Method::Read)
    } else if name.starts_with("secitem") || name.starts_with("seckeychain") {
        Some(Method::Is(FactKind::ScriptKeychain))
    } else {
        None
    }
}

impl Walker<'_> {
    /// Records the effect of a method.
    pub(super) fn cocoa(
        &mut self,
        rest: &[Token<'_>],
        before: Option<&Token<'_>>,
        statement: &[Token<'_>],
    ) {
        let Some(token) = rest.first() else { return };
        let owned = before.is_some_and(|before| before.kind == Kind::Possessive);
        let called = rest.get(1).is_some_and(|next| next.is_sign(":") || next.is_sign("("));
        if !owned && !called {
            return;
        }
        // `removeItemAtPath_error_(x, y)` is the older syntax.
        let name = token.text.split('_').find(|part| !part.is_empty()).unwrap_or_default();
        let Some(method) = method(name) else { return };
        let span = span_of(ahead(rest));
        match method {
            Method::Is(kind) => self.note(kind, shown(ahead(rest)), span),
            Method::Delete => {
                self.note(FactKind::ScriptDelete, shown(ahead(rest)), span);
                let tags = Tags::of(&[Tag::Recursive]);
                self.cocoa_paths(rest.get(1..).unwrap_or_default(), FactKind::Delete, tags, span);
            }
            Method::Write => {
                self.note(FactKind::ScriptWrite, shown(ahead(rest)), span);
                self.cocoa_paths(
                    rest.get(1..).unwrap_or_default(),
                    FactKind::Write,
                    Tags::NONE,
                    span,
                );
            }
            Method::Transfer => {
                self.note(FactKind::ScriptWrite, shown(ahead(rest)), span);
                let to = ahead(rest).iter().position(|token| {
                    matches!(
                        token.word(),
                        "topath" | "tourl" | "withitematurl" | "withdestinationurl"
                    )
                });
                if let Some(to) = to {
                    let target = rest.get(to + 1..).unwrap_or_default();
                    self.cocoa_paths(target, FactKind::Write, Tags::NONE, span);
                }
            }
            Method::Script => self.cocoa_script(rest, statement),
            Method::Read => {
                let given = rest.get(1..).unwrap_or_default();
                self.cocoa_paths(given, FactKind::Read, Tags::NONE, span);
            }
            Method::Open => {
                // `openURL:(NSURL's URLWithString:"x")`: the text is the address.
                let texts = ahead(rest).iter().filter(|token| token.kind == Kind::Text);
                let texts: Vec<String> = texts.map(|token| token.text.to_string()).collect();
                self.addressed_to(&texts, span);
            }
        }
    }

    fn cocoa_paths(&mut self, argument: &[Token<'_>], kind: FactKind, tags: Tags, span: [u32; 2]) {
        let argument = match argument {
            [colon, rest @ ..] if colon.is_sign(":") => rest,
            argument => argument,
        };
        let (paths, _) = self.paths(argument);
        for path in paths.iter().filter(|path| path.contains('/')) {
            self.touch(kind, path, tags, span);
        }
    }

    /// Follows `NSAppleScript's alloc()'s initWithSource:(x)`.
    fn cocoa_script(&mut self, rest: &[Token<'_>], statement: &[Token<'_>]) {
        let is_script =
            statement.iter().any(|token| matches!(token.word(), "nsapplescript" | "osascript"));
        if !is_script {
            return;
        }
        let span = span_of(ahead(rest));
        let (source, _) = self.value(rest.get(2..).unwrap_or_default());
        for text in source.texts {
            if text.trim_matches(UNKNOWN).trim().is_empty() {
                self.note(FactKind::UnknownCode, "NSAppleScript", span);
            } else if self.may_read(&text, span) {
                let found = nested(&text, &self.scene, Some(span));
                self.merge(found, span);
            }
        }
    }
}
