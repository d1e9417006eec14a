//! The output of programs compared with the programs themselves: the text that we predict for a
//! pipe must be the real one, because it may be run.
//!
//! The scripts print generated texts through tools that only read and print, in an empty folder.

#[path = "support/probe.rs"]
mod probe;

use probe::Dice;

const PIECES: &[&str] = &[
    "a", "b", "rm", "-", " ", "  ", "/", "%", "\\n", "\\t", "\\x41", "\\101", "\\\\", "1", "A",
    ",", ":", "x y", "%%", "\"", "$", "*", "-n", "-e", "\\c", "é",
];
const LETTERS: &[&str] = &["a", "b", "c", " ", ",", "x", "\n", "A", "1", "ab", "b,c", "-"];

/// Tools that only read and print.
const TOOLS: &[&str] = &[
    "rev", "tr", "cut", "head", "tail", "sed", "awk", "base64", "base32", "tac", "sort", "fold",
    "paste", "cat", "grep", "uniq", "xargs", "xxd", "od", "nl", "expand", "printf", "echo",
    "basename", "dirname", "seq", "wc", "tee", "dd", "env", "column", "fmt", "split", "comm",
    "join", "shuf", "yes", "uudecode",
];

/// These tools with arguments that change their input.
#[rustfmt::skip]
const FILTERS: &[&str] = &[
    "rev",
    "tr a-z b-za",
    "tr -d a",
    "tr -s ' '",
    "tr ab ba",
    "tr -cd a-z",
    "tr '[:lower:]' '[:upper:]'",
    "tr 'a-c' 'x'",
    "tr ' ' '\\n'",
    "cut -c1-3",
    "cut -c2-",
    "cut -d, -f2",
    "cut -d, -f1,3",
    "cut -d' ' -f2-",
    "cut -b1",
    "cut -c1,3",
    "head -c 3",
    "tail -c 3",
    "head -n 1",
    "tail -n 1",
    "head -1",
    "tail -n +2",
    "head -n -1",
    "sed s/a/b/",
    "sed s/a/b/g",
    "sed 's/[ab]//g'",
    "sed -n 2p",
    "sed 1d",
    "sed 's/^/x/'",
    "sed 's/\\(a\\)/<\\1>/'",
    "sed -e s/a/b/ -e s/b/c/",
    "sed y/ab/ba/",
    "sed '$d'",
    "awk '{print $2}'",
    "awk '{print $1,$2}'",
    "awk -F, '{print $2}'",
    "awk '{print $NF}'",
    "awk NR==1",
    "base64",
    "base64 -d",
    "base64 -w0",
    "xxd -r -p",
    "xxd -p",
    "tac",
    "sort",
    "sort -r",
    "sort -u",
    "fold -w1",
    "paste -sd ''",
    "paste -sd,",
    "paste -s",
    "cat",
    "cat -",
    "cat -n",
    "grep a",
    "grep -v a",
    "grep -o b",
    "uniq",
    "xargs",
    "xargs -n1",
    "xargs echo",
    "xargs -n1 echo x",
    "xargs -I{} echo {}{}",
    "tee /dev/null",
    "od -An -c",
    "dd bs=1 count=2 2>/dev/null",
    "dd 2>/dev/null",
    "nl",
    "expand",
    "wc -c",
    "sed = ",
    "tr -d '\\n'",
];

impl Dice {
    fn quoted(&mut self, pieces: &[&str], most: usize) -> String {
        format!("'{}'", self.text(pieces, most))
    }

    /// A command that prints something.
    fn source(&mut self) -> String {
        let (one, two) = (self.quoted(PIECES, 4), self.quoted(PIECES, 3));
        let letters = self.quoted(LETTERS, 6);
        let dash = self.pick(&["", "", "-- "]);
        match self.roll(14) {
            0 => format!("printf {dash}{one}"),
            1 => format!("printf {dash}'%s' {one} {two}"),
            2 => format!("printf {dash}'%s\\n' {one} {two}"),
            3 => format!("printf {dash}'%b' {one} {two}"),
            4 => format!("printf {dash}'%5s|%-4s|%.2s|%c' {one} {two}"),
            5 => format!("printf {dash}'\\x72\\155 %s' {one}"),
            6 => format!("printf {dash}'%d %o %x' 12 8 255"),
            7 => format!("echo {one} {two}"),
            8 => format!("echo -e {one} {two}"),
            9 => format!("echo -n {one}"),
            10 => format!("echo -ne {one} {two}"),
            11 => format!("printf {dash}'%q' {one}"),
            12 => format!("cat <<< {letters}"),
            _ => format!("printf '%s' {letters}"),
        }
    }

    /// A tool that changes its input.
    fn filter(&mut self) -> &'static str {
        self.pick(FILTERS)
    }

    fn script(&mut self) -> String {
        let source = self.source();
        let filters: Vec<_> = (0..self.roll(3)).map(|_| self.filter()).collect();
        let pipe = [vec![source.as_str()], filters].concat().join(" | ");
        match self.roll(5) {
            0 => format!("x=$({pipe}); probe \"$x\" end"),
            1 => format!("x=`{}`; probe \"$x\" end", "echo a b"),
            2 => format!("{pipe} > out; probe \"$(cat out)\" end; "),
            3 => format!("probe $({pipe}) end"),
            _ => format!("probe \"$({pipe})\" end"),
        }
    }
}

#[test]
fn no_output_is_worked_out_wrongly() {
    let mut dice = Dice(11);
    let scripts: Vec<_> = (0..probe::count(1_000)).map(|_| dice.script()).collect();
    probe::compare(&scripts, TOOLS);
}
