//! Explanations of AppleScript errors, with remedies.
//!
//! An error is recognised by its number where it has one, else by its words.

use std::fmt;

use serde::Serialize;

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The app is not running.
    NotRunning,
    /// Nobody has allowed this program to drive that app.
    AutomationDenied,
    /// The file may not be touched.
    FileDenied,
    /// Nobody has allowed this program to press keys and click.
    AccessibilityNeeded,
    /// The script does not parse.
    Syntax,
    /// The app does not know the command.
    NotUnderstood,
    /// There is no such object.
    CannotGet,
    /// No answer came in time.
    Timeout,
    /// The person said no.
    Cancelled,
    /// A variable or result without a value.
    MissingValue,
}

/// An error with its explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The kind, when it is one of the known ones.
    pub kind: Option<ErrorKind>,
    /// AppleScript's number for it.
    pub number: Option<i32>,
    /// The original message.
    pub original: String,
    /// The meaning, in a line.
    pub meaning: &'static str,
    /// The remedies, in order.
    pub steps: &'static [&'static str],
}

/// Explains an error by its text.
#[must_use]
pub fn explain(text: &str) -> Explained {
    let number = number(text);
    let lower = text.to_lowercase().replace('’', "'");
    let kind = by_words_first(&lower).or_else(|| by_number(number)).or_else(|| by_words(&lower));
    let (meaning, steps) = kind.map_or(UNKNOWN, help);
    Explained { kind, number, original: text.to_owned(), meaning, steps }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.meaning)?;
        for (at, step) in self.steps.iter().enumerate() {
            writeln!(f, "  {}. {step}", at + 1)?;
        }
        write!(f, "The error itself: {}", self.original.trim())
    }
}

/// The last number in brackets, or the one after `number` or `error`.
fn number(text: &str) -> Option<i32> {
    let bracketed = text.rsplit('(').find_map(|part| part.split_once(')')?.0.trim().parse().ok());
    let named = || {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.windows(2).find_map(|pair| match pair {
            [word, number] if matches!(*word, "number" | "error" | "Error") => {
                number.trim_matches(|char: char| !char.is_ascii_digit() && char != '-').parse().ok()
            }
            _ => None,
        })
    };
    let alone = || text.trim().parse().ok();
    bracketed.or_else(named).or_else(alone)
}

/// Recognises words that say more than the number: several errors share one number.
fn by_words_first(text: &str) -> Option<ErrorKind> {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["assistive access", "accessibility", "send keystrokes"]) {
        Some(ErrorKind::AccessibilityNeeded)
    } else if has(&["missing value"]) {
        Some(ErrorKind::MissingValue)
    } else {
        None
    }
}

const fn by_number(number: Option<i32>) -> Option<ErrorKind> {
    let Some(number) = number else { return None };
    Some(match number {
        -600 | -609 | -10810 => ErrorKind::NotRunning,
        -1743 | -1744 | -10004 => ErrorKind::AutomationDenied,
        -5000 | -54 | -61 | -45 | 1 => ErrorKind::FileDenied,
        -25211 | 1002 | -25204 => ErrorKind::AccessibilityNeeded,
        -2740 | -2741 | -2742 | -2763 => ErrorKind::Syntax,
        -1708 | -1717 | -10000 => ErrorKind::NotUnderstood,
        -1728 | -1719 | -43 | -10006 => ErrorKind::CannotGet,
        -1712 => ErrorKind::Timeout,
        -128 => ErrorKind::Cancelled,
        -2753 | -1700 => ErrorKind::MissingValue,
        _ => return None,
    })
}

fn by_words(text: &str) -> Option<ErrorKind> {
    const WORDS: &[(ErrorKind, &[&str])] = &[
        (ErrorKind::NotRunning, &["isn't running", "is not running", "connection is invalid"]),
        (
            ErrorKind::AutomationDenied,
            &[
                "not authorized to send",
                "not authorised",
                "not permitted to send",
                "privilege violation",
            ],
        ),
        (
            ErrorKind::FileDenied,
            &[
                "permission denied",
                "operation not permitted",
                "file permission",
                "not allowed to open",
                "write permission",
            ],
        ),
        (ErrorKind::Cancelled, &["user canceled", "user cancelled"]),
        (ErrorKind::Timeout, &["timed out", "timeout"]),
        (ErrorKind::Syntax, &["syntax error", "expected "]),
        (ErrorKind::NotUnderstood, &["doesn't understand", "does not understand"]),
        (ErrorKind::CannotGet, &["can't get", "cannot get", "invalid index", "wasn't found"]),
    ];
    let found = WORDS.iter().find(|(_, words)| words.iter().any(|word| text.contains(word)));
    found.map(|(kind, _)| *kind)
}

type Help = (&'static str, &'static [&'static str]);

const UNKNOWN: Help = (
    "AppleScript could not do this.",
    &["Run the script in Script Editor, one statement at a time, to see which one fails."],
);

fn help(kind: ErrorKind) -> Help {
    HELP.iter().find(|(known, _)| *known == kind).map_or(UNKNOWN, |(_, help)| *help)
}

/// The explanation and remedies of each kind.
const HELP: &[(ErrorKind, Help)] = &[
    (
        ErrorKind::NotRunning,
        (
            "The app is not running, so nobody hears the command.",
            &[
                "Open the app, or put `activate` before the first command to it.",
                "Compare the name in `tell application` with the one in the Applications folder.",
                "If it has just been opened, wait with `delay 1` until it is ready.",
            ],
        ),
    ),
    (
        ErrorKind::AutomationDenied,
        (
            "macOS does not let this program drive that app.",
            &[
                "Open System Settings, Privacy & Security, Automation.",
                "Find the program that runs the script and switch the app on below it.",
                "Start that program again. If it is not listed, `tccutil reset AppleEvents` makes macOS ask anew.",
            ],
        ),
    ),
    (
        ErrorKind::FileDenied,
        (
            "macOS does not let this program touch that file.",
            &[
                "Look in the Finder whether the file is locked or belongs to somebody else.",
                "Open System Settings, Privacy & Security, Files and Folders, and allow the folder; for everything else, Full Disk Access.",
                "Start the program that runs the script again, or use a file in your own folders.",
            ],
        ),
    ),
    (
        ErrorKind::AccessibilityNeeded,
        (
            "Pressing keys and clicking in other apps needs the accessibility permission.",
            &[
                "Open System Settings, Privacy & Security, Accessibility.",
                "Add the program that runs the script and switch it on.",
                "Start that program again.",
            ],
        ),
    ),
    (
        ErrorKind::Syntax,
        (
            "The script is not valid AppleScript.",
            &[
                "Look whether every `tell`, `if`, `repeat`, `try` and handler has its `end`.",
                "Look whether every quote is closed, and quotes inside a string are written \\\".",
                "Use straight quotes, and `¬` only at the end of a line.",
                "`countersign applescript validate` names the line.",
            ],
        ),
    ),
    (
        ErrorKind::NotUnderstood,
        (
            "That app has no such command, or not for this object.",
            &[
                "Open the app's dictionary in Script Editor: File, Open Dictionary.",
                "Look whether the command stands inside the `tell` block of the right app.",
                "If the app cannot be scripted, its menus can be used through System Events.",
            ],
        ),
    ),
    (
        ErrorKind::CannotGet,
        (
            "There is no such object, at least not now.",
            &[
                "Look whether the window, document or file is open, and spelled like this.",
                "Ask `exists` first, or put the statement into a `try` block.",
                "Ask for `name of every …` to see what is there; counting begins at 1.",
            ],
        ),
    ),
    (
        ErrorKind::Timeout,
        (
            "The app did not answer in time.",
            &[
                "Look whether it is busy or waits behind a dialog.",
                "Give it longer: `with timeout of 300 seconds … end timeout`.",
                "Do less at once: fewer objects, a narrower `whose`.",
            ],
        ),
    ),
    (
        ErrorKind::Cancelled,
        (
            "The person chose Cancel. Nothing is broken.",
            &[
                "Put the dialog into a `try` block and handle error number -128 if the script should go on.",
            ],
        ),
    ),
    (
        ErrorKind::MissingValue,
        (
            "Something that was asked for has no value.",
            &[
                "Compare with `missing value` before using it.",
                "Look whether the property exists for this kind of object, and is filled in.",
                "Look whether every variable gets a value before it is used.",
            ],
        ),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_known_by_number_and_by_words() {
        for (text, kind) in [
            ("execution error: Application isn’t running. (-600)", ErrorKind::NotRunning),
            ("the app is not running", ErrorKind::NotRunning),
            ("Not authorized to send Apple events to Finder. (-1743)", ErrorKind::AutomationDenied),
            ("not authorised", ErrorKind::AutomationDenied),
            ("File permission error. (-54)", ErrorKind::FileDenied),
            ("error number -5000", ErrorKind::FileDenied),
            ("osascript is not allowed assistive access. (-25211)", ErrorKind::AccessibilityNeeded),
            ("osascript is not allowed assistive access. (-1719)", ErrorKind::AccessibilityNeeded),
            ("not allowed to send keystrokes. (1002)", ErrorKind::AccessibilityNeeded),
            ("syntax error: Expected end of line but found identifier. (-2741)", ErrorKind::Syntax),
            ("A identifier can’t go after this “\"”. (-2740)", ErrorKind::Syntax),
            (
                "Finder got an error: every file doesn’t understand the “x” message. (-1708)",
                ErrorKind::NotUnderstood,
            ),
            ("Can’t get window 1. (-1728)", ErrorKind::CannotGet),
            ("Can't get window 1", ErrorKind::CannotGet),
            ("AppleEvent timed out. (-1712)", ErrorKind::Timeout),
            ("User canceled. (-128)", ErrorKind::Cancelled),
            ("-128", ErrorKind::Cancelled),
            ("Can’t make missing value into type text. (-1700)", ErrorKind::MissingValue),
        ] {
            let explained = explain(text);
            assert_eq!(explained.kind, Some(kind), "{text}");
            assert_eq!(explained.original, text);
            assert!(!explained.steps.is_empty());
            assert!(explained.to_string().contains(text));
        }
    }

    #[test]
    fn an_unknown_error_is_told_as_it_is() {
        let explained = explain("something odd (-9999)");
        assert_eq!((explained.kind, explained.number), (None, Some(-9999)));
        assert!(explained.to_string().ends_with("something odd (-9999)"));
    }
}
