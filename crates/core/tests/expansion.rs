//! Word expansion compared with bash itself: our result for a word must be bash's.
//!
//! A word that is expanded wrongly is worse than one that is not expanded: another command is
//! judged than the one that runs. So every word of a generated script without unknown parts must be
//! the one that bash passes to a function. The scripts expand words and call that function; bash
//! finds no programs, and it runs in an empty folder.

#[path = "support/probe.rs"]
mod probe;

use probe::Dice;

/// Pieces of values and patterns.
const PIECES: &[&str] = &[
    "a", "b", "ab", "rm", "/", ".", "-", " ", "%", "#", "*", "?", "[a]", "[!b]", "\\", "&", "~",
    ",", ":", "A", "1", "x.y.z", "a/b/a", "$", "_", "@",
];
/// Pieces of texts that are unquoted in an expansion.
const PLAIN: &[&str] = &["a", "b", "/", ".", "-", "*", "?", "[a]", "[!b]", "&", "%", "#", "A", "1"];

impl Dice {
    /// A pattern or a replacement as it is written in `${…}`.
    fn operand(&mut self) -> String {
        let text = self.text(PLAIN, 3).replace('/', "\\/");
        match self.roll(6) {
            0 => format!("'{}'", self.text(PLAIN, 2).replace('/', "")),
            1 => format!("\"{}\"", self.text(PLAIN, 2).replace('/', "")),
            2 => "$p".to_owned(),
            3 => "\\*".to_owned(),
            4 => format!("*{text}"),
            _ => text,
        }
    }

    fn expansion(&mut self) -> String {
        let (one, two) = (self.operand(), self.operand());
        let name = self.pick(&["v", "v", "u", "n", "w", "w[1]", "w[@]", "w[*]", "@", "2", "w[-1]"]);
        let number = self.pick(&["0", "1", "2", "5", " -1", " -2", "99", "1+1", "$#"]);
        let count = self.pick(&["0", "1", "2", "5", "-1", "9"]);
        match self.roll(26) {
            0 => format!("${{{name}#{one}}}"),
            1 => format!("${{{name}##{one}}}"),
            2 => format!("${{{name}%{one}}}"),
            3 => format!("${{{name}%%{one}}}"),
            4 => format!("${{{name}/{one}/{two}}}"),
            5 => format!("${{{name}//{one}/{two}}}"),
            6 => format!("${{{name}/#{one}/{two}}}"),
            7 => format!("${{{name}/%{one}/{two}}}"),
            8 => format!("${{{name}//{one}}}"),
            // The first would be the name that bash itself was started by.
            9 => format!("${{{name}:{number}}}").replace("@:0", "@:1"),
            10 => format!("${{{name}:{number}:{count}}}").replace("@:0", "@:1"),
            11 => format!("${{{name}^^}}"),
            12 => format!("${{{name},,}}"),
            13 => format!("${{{name}^}}"),
            14 => format!("${{{name},}}"),
            15 => format!("${{{name}^^{one}}}"),
            16 => format!("${{{name}@{}}}", self.pick(&["Q", "U", "L", "u", "E"])),
            17 => format!("${{#{name}}}"),
            18 => format!("${{{name}:-{one}}}"),
            // The environment is unknown, so `n` is taken to be set here.
            19 => format!("${{{name}+{one}}}").replace("{n+", "{v+"),
            20 => format!("${{{name}:+{one}}}").replace("{n:", "{v:"),
            21 => "${!r}".to_owned(),
            22 => format!("${{{name}-{one}}}"),
            23 => format!("${{{name}:={one}}}").replace("@:=", "@:-"),
            24 => format!(
                "$(({}))",
                self.pick(&["1+2", "2*3-1", "0x1f", "2#101", "7/2", "v2", "1<<3", "8%3"])
            ),
            _ => format!("${{{name}}}"),
        }
    }

    fn word(&mut self) -> String {
        let expansion = self.expansion();
        let around = self.pick(&["", "", "x", "-", "/"]);
        match self.roll(4) {
            0 | 1 => format!("\"{around}{expansion}\""),
            2 => format!("{around}{expansion}"),
            _ => format!("{around}{}\"{expansion}\"", self.expansion()),
        }
    }

    fn script(&mut self) -> String {
        let mut quoted = |most| format!("'{}'", self.text(PIECES, most));
        let mut lines = vec![
            format!("v={}", quoted(4)),
            format!("u={}", quoted(2)),
            format!("p={}", quoted(2)),
            format!("w=({} {} {})", quoted(2), quoted(2), quoted(1)),
            format!("set -- {} {}", quoted(2), quoted(2)),
            "r=v; v2=4".to_owned(),
        ];
        if self.roll(8) == 0 {
            lines.push(format!("IFS={}", self.pick(&["/", ":", "''", ","])));
        }
        lines.push(format!("probe {} {} end", self.word(), self.word()));
        lines.join("\n")
    }
}

#[test]
fn no_word_is_worked_out_wrongly() {
    let mut dice = Dice(7);
    let scripts: Vec<_> = (0..probe::count(4_000)).map(|_| dice.script()).collect();
    probe::compare(&scripts, &[]);
}
