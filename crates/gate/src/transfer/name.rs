//! File names, sanitised once, at the edge.
//!
//! Any text that a program sends becomes a name that is one path component on every system, that
//! hides nothing from its reader, and that no system takes for a device. It is only ever shown and
//! sent back: on our own disk the bytes are stored under the file's id.

use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// A file name that is safe on every system.
///
/// It contains no separator, no control or invisible character, no leading or trailing dot or
/// space, is not a device's name, is in normal form (NFC), and has 1 to 255 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct FileName(String);

/// The most bytes of a name on Linux, macOS and Windows.
const MOST_BYTES: usize = 255;

/// The longest extension; a longer one counts as part of the stem.
const MOST_EXTENSION: usize = 32;

/// The name of a file if nothing is left of its own.
const NAMELESS: &str = "file";

impl FileName {
    /// The safe name nearest to a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let separators = ['/', '\\'];
        let last = text.rsplit(separators).find(|part| !part.is_empty()).unwrap_or_default();
        let mut name = clean(last);
        // Cutting can leave a space or a dot at an end. Every further pass only removes, so this
        // loop ends.
        loop {
            let again = clean(&name);
            if again.len() >= name.len() {
                return Self(name);
            }
            name = again;
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same with a number, for a name that is taken: `report (2).pdf`.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        Self::of(&shortened(&self.0, &format!(" ({number})")))
    }

    /// A key that is equal for two names that some system would treat as one.
    #[must_use]
    pub fn folded(&self) -> String {
        let upper = self.0.nfkc().flat_map(char::to_uppercase);
        upper.flat_map(char::to_lowercase).nfc().collect()
    }
}

impl From<String> for FileName {
    fn from(text: String) -> Self {
        Self::of(&text)
    }
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn clean(text: &str) -> String {
    let mut kept = String::new();
    for char in text.nfc() {
        match char {
            _ if is_invisible(char) => {}
            // Many spaces push an extension out of sight.
            _ if is_blank(char) => {
                if !kept.ends_with(' ') {
                    kept.push(' ');
                }
            }
            _ if is_special(char) => kept.push('_'),
            _ => kept.push(char),
        }
    }
    let kept: String = kept.nfc().collect();
    let mut name = kept.trim_matches([' ', '.']);
    if name.is_empty() {
        name = NAMELESS;
    }
    // A leading `-` is an option to some program; a combining mark changes the character before it.
    let is_odd = |first: char| first == '-' || is_combining_mark(first);
    if name.starts_with(is_odd) || is_device(name) {
        return shortened(&format!("_{name}"), "");
    }
    shortened(name, "")
}

/// Puts a suffix before the extension, and shortens the stem as far as necessary.
fn shortened(name: &str, suffix: &str) -> String {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension))
            if extension.len() <= MOST_EXTENSION && !extension.is_empty() && !stem.is_empty() =>
        {
            (stem, Some(extension))
        }
        Some(_) | None => (name, None),
    };
    let rest = suffix.len() + extension.map_or(0, |extension| extension.len() + 1);
    let mut stem = stem;
    while stem.len() + rest > MOST_BYTES {
        stem = stem.get(..stem.floor_char_boundary(MOST_BYTES - rest)).unwrap_or_default();
    }
    let stem = stem.trim_end_matches([' ', '.']);
    match extension {
        Some(extension) => format!("{stem}{suffix}.{extension}"),
        None => format!("{stem}{suffix}"),
    }
}

/// Reports whether Windows takes a name for a device, with any extension.
fn is_device(name: &str) -> bool {
    const DEVICES: [&str; 7] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"];
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    if stem.chars().count() > 8 {
        return false;
    }
    // Windows reads superscript digits as digits, and old programs read full-width letters as
    // letters.
    let stem: String = stem.nfkc().flat_map(char::to_uppercase).collect();
    let port = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let is_port = |rest: &str| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit());
    DEVICES.contains(&stem.as_str()) || port.is_some_and(is_port)
}

/// Reports whether a character is invisible: controls, zero-width characters, bidirectional
/// controls, and noncharacters.
fn is_invisible(char: char) -> bool {
    (char.is_control() && !char.is_whitespace())
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}'
            | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
        || u32::from(char) & 0xfffe == 0xfffe
}

fn is_blank(char: char) -> bool {
    char.is_whitespace() || char == '\u{2800}'
}

/// Reports whether a character separates paths or has a special meaning on some system, looks or is
/// converted like one that does, or is a private one, which Cygwin, Samba and macOS use to write
/// those.
fn is_special(char: char) -> bool {
    matches!(char,
        '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|'
        | '\u{2044}' | '\u{2215}' | '\u{2216}' | '\u{29f5}' | '\u{29f8}' | '\u{29f9}'
        | '\u{fe68}' | '\u{ff0f}' | '\u{ff1a}' | '\u{ff3c}' | '\u{a789}' | '\u{2236}'
        | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> String {
        FileName::of(text).0
    }

    #[test]
    fn ordinary_names_stay() {
        for name in [
            "report.pdf",
            "a",
            "archive.tar.gz",
            "größe.txt",
            "日本語.md",
            "v1..2 (final).doc",
            "it's & co, 50% [x] {y} #1 @home +a=b;c!.txt",
            "console.log",
            "com10.txt",
            "nulls",
            "🎉.png",
        ] {
            assert_eq!(of(name), name);
        }
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        for (text, name) in [
            ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            ("C:\\Users\\ann\\x.txt", "x.txt"),
            ("/", "file"),
            ("..", "file"),
            ("a/..", "file"),
            ("dir/", "dir"),
            ("C:x", "C_x"),
            ("x.txt:evil.exe", "x.txt_evil.exe"),
            ("a\u{2215}b\u{ff0f}c\u{f05c}d", "a_b_c_d"),
            ("a\0/b\0.txt", "b.txt"),
        ] {
            assert_eq!(of(text), name, "{text:?}");
        }
    }

    #[test]
    fn nothing_hides() {
        for (text, name) in [
            (".htaccess", "htaccess"),
            ("...", "file"),
            (" . x . ", "x"),
            ("x.exe.", "x.exe"),
            ("photo\u{202e}gpj.exe", "photogpj.exe"),
            ("a\u{200b}b\u{feff}.txt", "ab.txt"),
            ("invoice.pdf          .exe", "invoice.pdf.exe"),
            ("a\u{a0}\u{3000}b\tc\r\nd", "a b c d"),
            ("\u{301}x", "_\u{301}x"),
            ("-rf", "_-rf"),
            ("", "file"),
            ("\u{1b}[2K", "[2K"),
        ] {
            assert_eq!(of(text), name, "{text:?}");
        }
    }

    #[test]
    fn no_device_is_named() {
        for device in [
            "CON",
            "con",
            "nul.txt",
            "Aux.tar.gz",
            "COM1",
            "com0.x",
            "LPT9.txt",
            "com\u{b9}",
            "lpt\u{b3}.a",
            "CONIN$",
            "ＮＵＬ",
        ] {
            assert_eq!(of(device), format!("_{device}"));
        }
    }

    #[test]
    fn a_device_with_a_space_is_one_too() {
        assert_eq!(of("LPT9 .txt"), "_LPT9.txt");
        assert!(is_device("nul .tar.gz"));
    }

    #[test]
    fn spellings_of_the_same_name_are_the_same() {
        assert_eq!(of("e\u{301}.txt"), "é.txt");
        let folded = |text: &str| FileName::of(text).folded();
        assert_eq!(folded("Report.PDF"), folded("report.pdf"));
        assert_eq!(folded("STRASSE"), folded("straße"));
        assert_eq!(folded("ﬁle"), folded("file"));
        assert_eq!(folded("\u{3a3}"), folded("\u{3c2}"));
        assert_ne!(folded("a"), folded("b"));
    }

    #[test]
    fn long_names_are_cut_between_characters_and_keep_their_extension() {
        let name = of(&format!("{}.pdf", "ä".repeat(300)));
        assert_eq!((name.len(), name.ends_with("ä.pdf")), (254, true));
        let numbered = FileName(name).numbered(1_000);
        assert!(numbered.0.len() <= 255 && numbered.0.ends_with("ä (1000).pdf"), "{numbered}");
        assert_eq!(of(&"x".repeat(400)).len(), 255);
        assert_eq!(of(&format!("x.{}", "y".repeat(400))).len(), 255);
        assert_eq!(of(&format!("{} .{}", "x".repeat(240), "y".repeat(99))).len(), 254);
        assert_eq!(of(&"/".repeat(1_000_000)), "file");
        assert_eq!(of(&"\u{fdfa}".repeat(300_000)).len(), 255);
        assert_eq!(FileName::of("a.tar.gz").numbered(2).0, "a.tar (2).gz");
        assert_eq!(FileName::of("README").numbered(2).0, "README (2)");
    }

    #[test]
    fn every_single_character_makes_a_safe_name() {
        // The thousands of ideographs and syllables behave alike.
        let chars = ('\0'..'\u{3400}').chain('\u{d700}'..'\u{e100}').chain('\u{f000}'..'\u{10100}');
        for char in chars.chain('\u{1d100}'..'\u{1d200}').chain('\u{dff00}'..'\u{e0200}') {
            for text in [format!("{char}"), format!("a{char}.b"), format!("{char}con")] {
                check(&text);
            }
        }
    }

    fn check(text: &str) {
        let FileName(name) = FileName::of(text);
        assert!((1..=255).contains(&name.len()), "{name:?}");
        assert!(!name.starts_with(['.', ' ', '-']) && !name.ends_with(['.', ' ']), "{name:?}");
        assert!(!name.contains(|char| is_invisible(char) || is_special(char)), "{name:?}");
        assert!(!name.contains(|char: char| char.is_whitespace() && char != ' '), "{name:?}");
        assert!(!is_device(&name), "{name:?}");
        assert_eq!(of(&name), name, "again");
        assert_eq!(name.nfc().collect::<String>(), name, "normal form");
        let mut parts = std::path::Path::new(&name).components();
        assert!(matches!(parts.next(), Some(std::path::Component::Normal(_))), "{name:?}");
        assert_eq!(parts.next(), None);
    }

    proptest! {
        #[test]
        fn any_text_becomes_a_safe_name_and_stays_it(text in any::<String>()) {
            check(&text);
        }

        #[test]
        fn so_does_what_is_made_of_nasty_pieces(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "..", "/", "\\", ".", " ", "con", "NUL", "com", "\u{b9}", "1", "-", "\u{301}",
                    "e", "\u{202e}", "\u{200d}", "\0", ":", "<", "\u{338}", "\u{1100}", "\u{1161}",
                    "\u{11a8}", "ä", "日", "\u{fb01}", "\u{212a}", "\u{fdfa}", "\u{f02f}", ".txt",
                    "x\u{323}\u{307}", "\u{2000}", "\u{37e}", "\u{1fef}", "(2)",
                ]),
                0..400,
            ),
            number in 2_u32..,
        ) {
            let text = pieces.concat();
            check(&text);
            let name = FileName::of(&text);
            check(name.numbered(number).as_str());
            let mark = format!(" ({number})");
            prop_assert!(name.numbered(number).0.contains(&mark));
        }
    }
}
