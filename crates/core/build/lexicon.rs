//! The lexicon: words of many languages, folded and sorted into one table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::fold::fold;
use crate::{camel, parse, strs, yaml_files};

/// One class of words as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    /// The common meaning of these words.
    means: String,
    /// Words and phrases. `delet*` also starts longer words, `~passwort` occurs anywhere in
    /// compounds.
    words: Vec<String>,
    /// Labels that must be found.
    hits: Vec<String>,
    /// Labels that must not be found.
    misses: Vec<String>,
}

/// Class names by the position of the word: whole, as a stem, or inside a compound.
#[derive(Debug, Default)]
struct Senses {
    whole: Vec<String>,
    stem: Vec<String>,
    inner: Vec<String>,
}

/// The meanings of each folded word, by language.
type Words = BTreeMap<String, BTreeMap<String, Senses>>;

pub(crate) fn generate(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut words = Words::new();
    let mut languages = Vec::new();
    let mut examples = String::from("#[cfg(test)]\nstatic EXAMPLES: &[Examples] = &[\n");
    for (language, text) in yaml_files(folder)? {
        let name = camel(&language);
        for (class, entry) in parse::<Entry>(&language, &text)? {
            if entry.means.is_empty() || entry.words.is_empty() {
                return Err(format!("{language}.yaml: `{class}` needs `means` and `words`").into());
            }
            for word in &entry.words {
                add(&mut words, &name, &class, word);
            }
            let (hits, misses) = (strs(&entry.hits), strs(&entry.misses));
            let _ = writeln!(
                examples,
                "Examples {{ language: Language::{name}, class: {class:?}, hits: {hits}, \
                 misses: {misses} }},"
            );
        }
        languages.push(name);
    }
    examples.push_str("];\n");
    Ok(format!("{}{}{examples}", enumeration(&languages), table(&words)?))
}

fn add(words: &mut Words, language: &str, class: &str, written: &str) {
    let (inner, rest) = written.strip_prefix('~').map_or((false, written), |rest| (true, rest));
    let (stem, rest) = rest.strip_suffix('*').map_or((false, rest), |rest| (true, rest));
    let senses = words.entry(fold(rest, 200)).or_default().entry(language.to_owned()).or_default();
    let class = format!("Class::{}", camel(class));
    for (wanted, list) in
        [(!stem, &mut senses.whole), (stem || inner, &mut senses.stem), (inner, &mut senses.inner)]
    {
        if wanted && !list.contains(&class) {
            list.push(class.clone());
        }
    }
}

fn enumeration(languages: &[String]) -> String {
    let variants = languages.join(", ");
    let paths: Vec<_> = languages.iter().map(|name| format!("Self::{name}")).collect();
    format!(
        "/// A file of the lexicon.\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq)]\n\
         #[repr(u8)]\n\
         pub(super) enum Language {{ {variants} }}\n\
         impl Language {{\n\
             /// How many there are.\n\
             pub(super) const COUNT: usize = {};\n\
             /// Every one.\n\
             pub(super) const ALL: &'static [Self] = &[{}];\n\
         }}\n",
        languages.len(),
        paths.join(", "),
    )
}

fn table(words: &Words) -> Result<String, Box<dyn std::error::Error>> {
    let texts: Vec<&String> = words.keys().collect();
    // Offsets instead of pointers: a position-independent program would have to relocate thousands
    // of pointers at every start.
    let (mut all, mut meanings, mut count) = (String::new(), String::new(), 0_u32);
    let mut code = String::from(
        "#[expect(clippy::unreadable_literal, reason = \"only the compiler reads it\")]\n\
         static WORDS: &[Word] = &[\n",
    );
    // The entries that are a prefix of the current one, the longest last.
    let mut open: Vec<usize> = Vec::new();
    for (at, (text, senses)) in words.iter().enumerate() {
        if text.is_empty() {
            return Err("lexicon: a word without a letter".into());
        }
        while open
            .last()
            .and_then(|last| texts.get(*last))
            .is_some_and(|last| !text.starts_with(last.as_str()))
        {
            open.pop();
        }
        let shorter = match open.last() {
            Some(last) => format!("Some({})", u16::try_from(*last)?),
            None => "None".to_owned(),
        };
        open.push(at);
        let _ = writeln!(
            code,
            "Word {{ start: {}, length: {}, shorter: {shorter}, first: {count}, senses: {} }},",
            u32::try_from(all.len())?,
            u8::try_from(text.len())?,
            u8::try_from(senses.len())?,
        );
        all.push_str(text);
        for (language, senses) in senses {
            let _ = writeln!(meanings, "{},", sense(language, senses));
            count += 1;
        }
    }
    let _ = writeln!(code, "];\nstatic TEXT: &str = {all:?};");
    let _ = writeln!(code, "static SENSES: &[Sense] = &[\n{meanings}];");
    Ok(code)
}

fn sense(language: &str, senses: &Senses) -> String {
    let set = |classes: &[String]| format!("Classes::of(&[{}])", classes.join(", "));
    // A word that is a stem in one class counts as itself in all its classes.
    let whole: Vec<_> = senses.whole.iter().chain(&senses.stem).cloned().collect();
    format!(
        "Sense {{ language: Language::{language}, whole: {}, stem: {}, inner: {} }}",
        set(&whole),
        set(&senses.stem),
        set(&senses.inner),
    )
}
