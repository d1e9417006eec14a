//! The top-level modules of a crate, and which of them use which.
//!
//! The crate root is left out: it declares the modules and passes their names on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::source::{Source, Token};
use crate::Result;

/// For each top-level module, the others that it uses.
pub(super) type Uses = BTreeMap<String, BTreeSet<String>>;

/// One use of a module by another.
pub(super) type Edge = (String, String);

/// A source file and the module that it is; empty for the crate root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) module: Vec<String>,
    pub(super) text: String,
}

/// Reads every source file of a crate.
///
/// # Errors
/// A file cannot be read.
pub(super) fn read(source: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from(source)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let module = module_of(path.strip_prefix(source)?);
                files.push(File { module, text: fs::read_to_string(&path)? });
            }
        }
    }
    Ok(files)
}

fn module_of(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    match names.as_slice() {
        [root] if root == "lib" || root == "main" => Vec::new(),
        _ => names,
    }
}

/// Finds which top-level module uses which, outside of tests.
pub(super) fn uses(files: &[File]) -> Uses {
    let sources: Vec<_> = files.iter().map(|file| (file, Source::read(&file.text))).collect();
    let mut tests = BTreeSet::new();
    for (file, source) in &sources {
        for name in &source.test_modules {
            let mut module = file.module.clone();
            module.push((*name).to_owned());
            tests.insert(module);
        }
    }
    let is_test = |module: &[String]| {
        (1..=module.len()).filter_map(|n| module.get(..n)).any(|outer| tests.contains(outer))
    };
    let live = sources.iter().filter(|(file, _)| !is_test(&file.module));
    let live: Vec<_> = live.collect();
    let mut uses: Uses = BTreeMap::new();
    for (file, _) in &live {
        if let Some(first) = file.module.first() {
            uses.entry(first.clone()).or_default();
        }
    }
    let passed_on = passed_on(&live, &uses);
    for (file, source) in &live {
        let Some(own) = file.module.first() else { continue };
        for name in names_at_root(&source.tokens, file.module.len()) {
            let module = passed_on.get(name).map_or(name, String::as_str);
            if module != own && uses.contains_key(module) {
                uses.entry(own.clone()).or_default().insert(module.to_owned());
            }
        }
    }
    uses
}

/// The names that the crate root passes on, with the module from which each comes.
fn passed_on(files: &[&(&File, Source<'_>)], modules: &Uses) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (_, source) in files.iter().filter(|(file, _)| file.module.is_empty()) {
        let mut rest = source.tokens.as_slice();
        while let Some((&token, behind)) = rest.split_first() {
            rest = behind;
            if token != "use" {
                continue;
            }
            for path in paths(&mut rest) {
                let path = path.strip_prefix(&["crate"]).unwrap_or(&path);
                if let (Some(first), Some(last)) = (path.first(), path.last())
                    && modules.contains_key(*first)
                {
                    names.insert((*last).to_owned(), (*first).to_owned());
                }
            }
        }
    }
    names.retain(|name, _| !modules.contains_key(name));
    names
}

/// Returns every name that the tokens take from the crate root, in a module at this depth.
fn names_at_root<'a>(tokens: &[Token<'a>], depth: usize) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut rest = tokens;
    while let [first, behind @ ..] = rest {
        rest = behind;
        if !matches!(*first, "crate" | "super") || behind.first() != Some(&"::") {
            continue;
        }
        let mut tree = behind.get(1..).unwrap_or_default();
        for mut path in paths(&mut tree) {
            path.insert(0, first);
            names.extend(at_root(&path, depth));
        }
        rest = tree;
    }
    names
}

/// Returns the name that a path takes from the crate root.
fn at_root<'a>(path: &[&'a str], depth: usize) -> Option<&'a str> {
    if let ["crate", name, ..] = path {
        return Some(name);
    }
    let up = path.iter().take_while(|name| **name == "super").count();
    if up == depth { path.get(up).copied() } else { None }
}

/// Reads a path, or a tree of paths as in `a::{b, c::D}`, from the front of the tokens.
fn paths<'a>(rest: &mut &[Token<'a>]) -> Vec<Vec<&'a str>> {
    let mut path = Vec::new();
    loop {
        match *rest {
            ["{", behind @ ..] => {
                *rest = behind;
                return branches(rest, &path);
            }
            [name, "::", behind @ ..] if is_name(name) => {
                path.push(*name);
                *rest = behind;
            }
            [name, "as", alias, behind @ ..] if is_name(name) => {
                path.extend([*name, *alias]);
                *rest = behind;
                return vec![path];
            }
            [name, behind @ ..] if is_name(name) || *name == "*" => {
                path.push(*name);
                *rest = behind;
                return vec![path];
            }
            _ => return vec![path],
        }
    }
}

/// Reads the paths between braces, each behind what stood before the braces.
fn branches<'a>(rest: &mut &[Token<'a>], before: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut all = Vec::new();
    loop {
        match *rest {
            [] => return all,
            ["}", behind @ ..] => {
                *rest = behind;
                return all;
            }
            [",", behind @ ..] => *rest = behind,
            [_, behind @ ..] => {
                let left = rest.len();
                all.extend(paths(rest).into_iter().map(|path| [before, path.as_slice()].concat()));
                if rest.len() == left {
                    *rest = behind;
                }
            }
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns the uses that lie on a cycle.
pub(super) fn on_cycles(uses: &Uses) -> BTreeSet<Edge> {
    let mut edges = BTreeSet::new();
    for (from, targets) in uses {
        for to in targets {
            if reaches(uses, to, from) {
                edges.insert((from.clone(), to.clone()));
            }
        }
    }
    edges
}

fn reaches(uses: &Uses, from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            open.extend(uses.get(module).into_iter().flatten().map(String::as_str));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(module: &str, text: &str) -> File {
        let module = module.split("::").filter(|name| !name.is_empty()).map(str::to_owned);
        File { module: module.collect(), text: text.to_owned() }
    }

    fn edges(files: &[File]) -> Vec<String> {
        let edges = on_cycles(&uses(files));
        edges.into_iter().map(|(from, to)| format!("{from} -> {to}")).collect()
    }

    #[test]
    fn a_cycle_is_found_by_every_kind_of_path() {
        let b = file("b", "");
        for text in [
            "use crate::b::B;",
            "use crate::{x, b::{self, C}};",
            "use super::b;",
            "fn f() -> u8 { crate::b::f() }",
            "use crate::Passed;",
            "use crate::Renamed as Other;",
        ] {
            let root = file("", "mod a; mod b; pub use b::Passed; pub use crate::b::X as Renamed;");
            let back = File { text: "use crate::a;".to_owned(), ..b.clone() };
            let files = [root, file("a", text), back];
            assert_eq!(edges(&files), ["a -> b", "b -> a"], "{text}");
        }
        let inner = [file("a::c", "use super::super::b;"), file("b", "use crate::a;")];
        assert_eq!(edges(&inner), ["a -> b", "b -> a"]);
    }

    #[test]
    fn one_direction_tests_and_texts_are_not_a_cycle() {
        let b = file("b", "use crate::a; use crate::missing;");
        for text in [
            "",
            "// use crate::b;",
            "const T: &str = \"crate::b::f\";",
            "#[cfg(test)] mod tests { use crate::b; }",
            "use super::c; mod c {}",
        ] {
            let none: [String; 0] = [];
            assert_eq!(edges(&[file("a", text), b.clone()]), none, "{text}");
        }
        let apart = [file("a", "#[cfg(test)] mod tests;"), file("a::tests", "use crate::b;"), b];
        assert!(edges(&apart).is_empty());
    }

    #[test]
    fn a_long_cycle_is_found_and_what_leads_to_it_is_not() {
        let files = [
            file("a", "use crate::b;"),
            file("b", "use crate::c;"),
            file("c", "use crate::a;"),
            file("d", "use crate::a;"),
        ];
        assert_eq!(edges(&files), ["a -> b", "b -> c", "c -> a"]);
    }
}
