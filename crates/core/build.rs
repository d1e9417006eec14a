//! Compiles the YAML of `rules`, `catalogue`, `apps`, `guarded`, `lexicon`, `profiles`, `reach` and
//! `words` into static tables.
//!
//! The names of facts, tags, risks and categories are written as Rust paths, so a misspelt one is
//! a compile error.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde::de::DeserializeOwned;

#[path = "build/apps.rs"]
mod apps;
#[path = "build/catalogue.rs"]
mod catalogue;
#[path = "src/analyze/ui/fold.rs"]
pub mod fold;
#[path = "build/guarded.rs"]
mod guarded;
#[path = "build/lexicon.rs"]
mod lexicon;
#[path = "src/lookup.rs"]
#[expect(dead_code, reason = "only the library searches")]
mod lookup;
#[path = "build/profiles.rs"]
mod profiles;
#[path = "build/reach.rs"]
mod reach;
#[path = "src/row.rs"]
pub mod row;
#[path = "build/rules.rs"]
mod rules;
#[path = "build/words.rs"]
mod words;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=rules");
    println!("cargo::rerun-if-changed=apps");
    println!("cargo::rerun-if-changed=catalogue");
    println!("cargo::rerun-if-changed=guarded");
    println!("cargo::rerun-if-changed=lexicon");
    println!("cargo::rerun-if-changed=reach");
    println!("cargo::rerun-if-changed=profiles");
    println!("cargo::rerun-if-changed=words");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/row.rs");
    println!("cargo::rerun-if-changed=src/lookup.rs");
    println!("cargo::rerun-if-changed=src/analyze/ui/fold.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("rules.rs"), rules::generate(Path::new("rules"))?)?;
    fs::write(out.join("apps.rs"), apps::generate(Path::new("apps"))?)?;
    fs::write(out.join("catalogue.rs"), catalogue::generate(Path::new("catalogue"))?)?;
    fs::write(out.join("guarded.rs"), guarded::generate(Path::new("guarded"))?)?;
    fs::write(out.join("lexicon.rs"), lexicon::generate(Path::new("lexicon"))?)?;
    fs::write(out.join("reach.rs"), reach::generate(Path::new("reach"))?)?;
    fs::write(out.join("profiles.rs"), profiles::generate(Path::new("profiles"))?)?;
    fs::write(out.join("words.rs"), words::generate(Path::new("words"))?)?;
    Ok(())
}

/// Every YAML file below a folder, sorted, as (name without ending, content).
fn yaml_files(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            for (name, text) in yaml_files(&path)? {
                files.push((format!("{stem}.{name}"), text));
            }
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            files.push((stem, fs::read_to_string(&path)?));
        }
    }
    files.sort();
    Ok(files)
}

fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<BTreeMap<String, T>, String> {
    serde_saphyr::from_str(text).map_err(|error| format!("{name}.yaml: {error}"))
}

/// `force-push` and `data_exfiltration` become `ForcePush` and `DataExfiltration`.
fn camel(name: &str) -> String {
    name.split(['-', '_'])
        .map(|part| {
            let mut chars = part.chars();
            chars.next().map_or_else(String::new, |first| {
                first.to_uppercase().chain(chars).collect::<String>()
            })
        })
        .collect()
}

fn tags(names: &[String]) -> String {
    let list: Vec<_> = names.iter().map(|name| format!("Tag::{}", camel(name))).collect();
    format!("Tags::of(&[{}])", list.join(", "))
}

fn optional(text: Option<&String>) -> String {
    text.map_or_else(|| "None".to_owned(), |text| format!("Some(Cow::Borrowed({text:?}))"))
}

fn words(words: &[String]) -> String {
    let list: Vec<_> = words.iter().map(|word| format!("Cow::Borrowed({word:?})")).collect();
    format!("Cow::Borrowed(&[{}])", list.join(", "))
}

fn strs(words: &[String]) -> String {
    let list: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("&[{}]", list.join(", "))
}

/// Writes a table of names with their numbers, for `lookup::Names`.
fn names<'a>(
    constant: &str,
    numbered: impl ExactSizeIterator<Item = (&'a str, usize)>,
) -> Result<String, std::num::TryFromIntError> {
    // At most half full, so that a search soon finds an empty slot.
    let mut slots = vec![lookup::EMPTY; numbered.len().next_power_of_two() * 2];
    let (mut text, mut listed) = (String::new(), String::new());
    for (position, (name, number)) in numbered.enumerate() {
        let mut at = lookup::start(name, slots.len());
        while slots.get(at).is_some_and(|slot| *slot != lookup::EMPTY) {
            at = (at + 1) % slots.len();
        }
        if let Some(slot) = slots.get_mut(at) {
            *slot = u16::try_from(position)?;
        }
        let start = u16::try_from(text.len())?;
        text.push_str(name);
        let (end, number) = (u16::try_from(text.len())?, u16::try_from(number)?);
        let _ = write!(listed, "Name {{ start: {start}, end: {end}, number: {number} }}, ");
    }
    Ok(format!(
        "static {constant}: Names = Names {{ text: {text:?}, listed: &[{listed}], slots: &{slots:?} }};\n"
    ))
}

/// The index of an item in a list, to which it is appended if it is not there yet.
fn number_in<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|listed| *listed == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

fn numbers(numbers: &[usize]) -> String {
    let mut text = String::from("&[");
    for number in numbers {
        let _ = write!(text, "{number}, ");
    }
    text.push(']');
    text
}
