//! How our prose reads: `cargo xtask prose [--check]`.
//!
//! Counts, over doc comments (the help texts of the command line among them), messages and
//! Markdown, the turns of phrase that STYLE.md rules out, and prints where they are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::process::root;

/// The share of doc comments, in percent, that may begin with an opener.
const MOST_OPENERS: usize = 5;

/// The folders whose Rust sources are read.
const SOURCES: &[&str] = &["crates", "xtask", "bench"];

/// Folders of sources that are passed over: tests are named as sentences, and quote.
const SKIPPED: &[&str] = &["tests", "test", "test_data", "benches", "fuzz", "target"];

/// The first words of a doc comment that does not begin with a noun or a verb.
const OPENERS: &[&str] = &[
    "what",
    "whether",
    "where",
    "who",
    "whose",
    "whom",
    "which",
    "how",
    "when",
    "why",
    "by what",
    "by whom",
    "in which",
    "for whom",
    "to which",
    "from which",
    "to whom",
    "with which",
    "with what",
    "so many",
    "so much",
    "those",
];

/// The words that may follow `is no`, as in `is no longer`.
const AFTER_NO: &[&str] = &["longer", "one", "way", "such", "need", "more", "other"];

/// The pronouns that STYLE.md rules out.
const PRONOUNS: &[&str] = &[concat!("who", "ever"), concat!("whom", "ever")];

/// The counts, with the place of each finding.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    docs: usize,
    /// The doc comments that begin with an opener.
    openers: Vec<String>,
    /// Every `whoever`.
    pronouns: Vec<String>,
    /// Every `is no X` in place of `is not a X`.
    is_no: Vec<String>,
}

/// Counts, and fails on too much when `--check` is given.
///
/// # Errors
/// A file cannot be read, or there is too much of something.
pub(crate) fn run(args: &[&str]) -> Result {
    let check = match args {
        [] => false,
        ["--check"] => true,
        other => return Err(format!("unknown option `{}`", other.join(" ")).into()),
    };
    let count = count(&root())?;
    let problems = count.problems();
    for place in count.pronouns.iter().chain(&count.is_no) {
        println!("{place}");
    }
    if !check || count.has_too_many_openers() {
        count.openers.iter().for_each(|place| println!("{place}"));
    }
    println!(
        "{} doc comments, {} begin with what, who, whose, how…; {} `whoever`; {} `is no X`",
        count.docs,
        count.openers.len(),
        count.pronouns.len(),
        count.is_no.len()
    );
    if check && !problems.is_empty() { Err(problems.join("; ").into()) } else { Ok(()) }
}

fn count(root: &Path) -> Result<Count> {
    let mut count = Count::default();
    for folder in SOURCES {
        for path in files(&root.join(folder), "rs", SKIPPED)? {
            count.rust(&shown(root, &path), &fs::read_to_string(&path)?);
        }
    }
    for path in markdown(root)? {
        count.markdown(&shown(root, &path), &fs::read_to_string(&path)?);
    }
    let messages = root.join("crates/server/messages/en.txt");
    count.text(&shown(root, &messages), &fs::read_to_string(&messages)?);
    Ok(count)
}

fn markdown(root: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = files(&root.join("docs"), "md", &[])?;
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns the files below a folder that end in this extension, in order.
fn files(folder: &Path, extension: &str, skipped: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            if !skipped.iter().any(|skipped| name == *skipped) {
                found.extend(files(&path, extension, skipped)?);
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

impl Count {
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.has_too_many_openers() {
            problems.push(format!(
                "more than {MOST_OPENERS} % of doc comments begin with what, who, whose, how…: \
                 begin with a noun or a verb"
            ));
        }
        if !self.pronouns.is_empty() {
            problems.push("`whoever`: name the person or the program".to_owned());
        }
        if !self.is_no.is_empty() {
            problems.push("`is no X`: write `is not a X`".to_owned());
        }
        problems
    }

    fn has_too_many_openers(&self) -> bool {
        self.openers.len() * 100 > self.docs * MOST_OPENERS
    }

    /// Counts in a Rust source: the openings of doc comments, and the phrases of every line, since
    /// messages are texts in the code.
    fn rust(&mut self, file: &str, source: &str) {
        let mut is_inside = false;
        for (line, text) in (1..).zip(source.lines()) {
            let doc = text.trim_start().strip_prefix("///");
            if let (Some(doc), false) = (doc, is_inside) {
                self.docs += 1;
                if begins_with_opener(doc.trim_start()) {
                    self.openers.push(format!("{file}:{line}:{doc}"));
                }
            }
            is_inside = doc.is_some();
            self.phrases(file, line, text);
        }
    }

    /// Counts in Markdown, outside of code.
    fn markdown(&mut self, file: &str, source: &str) {
        let mut is_code = false;
        for (line, text) in (1..).zip(source.lines()) {
            if text.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                self.phrases(file, line, text);
            }
        }
    }

    fn text(&mut self, file: &str, source: &str) {
        for (line, text) in (1..).zip(source.lines()) {
            self.phrases(file, line, text);
        }
    }

    fn phrases(&mut self, file: &str, line: usize, text: &str) {
        let text = without_code(text).to_lowercase();
        let words: Vec<_> = words(&text).collect();
        let place = |what: &str| format!("{file}:{line}: {what}");
        for word in &words {
            if PRONOUNS.contains(word) {
                self.pronouns.push(place(word));
            }
        }
        let before = std::iter::once("").chain(words.iter().copied());
        for (before, three) in before.zip(words.windows(3)) {
            if let [verb @ ("is" | "are" | "was" | "were"), "no", noun] = three
                && before != "there"
                && *noun != "."
                && !AFTER_NO.contains(noun)
            {
                self.is_no.push(place(&format!("{verb} no {noun}")));
            }
        }
    }
}

/// Reports whether a doc comment begins with an opener, as whole words.
fn begins_with_opener(doc: &str) -> bool {
    let doc = doc.to_lowercase();
    OPENERS.iter().any(|opener| {
        doc.strip_prefix(opener).is_some_and(|rest| !rest.starts_with(is_part_of_word))
    })
}

/// Removes what is between backticks.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" x ")
}

/// The words of a text; a sentence's end separates, so that nothing is found across it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|c: char| !is_part_of_word(c)).flat_map(|part| {
        let word = part.trim_end_matches(|c: char| !is_part_of_word(c));
        let end = part.ends_with(['.', ';', ':', ',', '!', '?']).then_some(".");
        Some(word).filter(|word| !word.is_empty()).into_iter().chain(end)
    })
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '\'' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that would be found in this very file if it were written in one piece.
    fn bad(parts: &[&str]) -> String {
        parts.concat()
    }

    #[test]
    fn bad_text_fails() {
        let mut count = Count::default();
        let who = bad(&["who", "ever"]);
        count.rust(
            "a.rs",
            &format!("/// Whose turn it is.\n/// And more.\nfn f() {{}}\n/// {who}\n"),
        );
        assert_eq!(
            (count.docs, count.openers.as_slice()),
            (2, &["a.rs:1: Whose turn it is.".to_owned()][..])
        );
        assert_eq!(count.pronouns, [format!("a.rs:4: {who}")]);
        assert_eq!(count.problems().len(), 2);

        let mut count = Count::default();
        count.markdown(
            "b.md",
            &bad(&["One.\n\nThis is", " no answer, and `x`", " is", " no file.\n"]),
        );
        count.text("en.txt", &bad(&["a.b = That was", " no key\n"]));
        let found = |place: &str, verb: &str, noun: &str| format!("{place}: {verb} no {noun}");
        let is_no = [
            found("b.md:3", "is", "answer"),
            found("b.md:3", "is", "file"),
            found("en.txt:1", "was", "key"),
        ];
        assert_eq!(count.is_no, is_no);
        assert_eq!(count.problems().len(), 1);
    }

    #[test]
    fn plain_text_passes() {
        let mut count = Count::default();
        count.rust(
            "a.rs",
            "/// Returns whether it is open.\n/// What more.\nfn f() {}\n\n/// However.\n",
        );
        count.markdown(
            "b.md",
            "There is no file, it is no longer here, it is. No file. So the answer is no.\n",
        );
        count.markdown("b.md", &bad(&["```\nthis is", " no text\n```\n`it is", " no text`\n"]));
        assert_eq!(count, Count { docs: 2, ..Count::default() });
        assert!(count.problems().is_empty());
    }

    #[test]
    fn one_in_twenty_may_begin_with_an_opener() {
        let plain = "/// A thing.\nfn f() {}\n".repeat(19);
        let mut count = Count::default();
        count.rust("a.rs", &format!("{plain}/// How.\nfn f() {{}}\n"));
        assert!(count.problems().is_empty());
        count.rust("a.rs", "/// How.\n");
        assert_eq!(count.problems().len(), 1);
    }
}
