//! The failures that each transformation may have: a table in a file, which only shrinks.
//!
//! A line is a scope, three counts and the name of a transformation. `BLESS=1` writes lower counts,
//! and the whole of a scope without a line yet. `BLESS=higher` writes higher ones too: for new
//! transformations and rows, and where the original command is now judged more strictly, so that
//! the same verdict on another spelling of it is a lower one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Failures of one transformation.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failures {
    /// Failures that cross the line between allowing and asking.
    pub(crate) crossed: usize,
    /// Failures that do not.
    pub(crate) moved: usize,
    /// Commands on which the core panics.
    pub(crate) panicked: usize,
}

impl Failures {
    fn exceeds(self, allowed: Self) -> bool {
        self.crossed > allowed.crossed
            || self.crossed + self.moved > allowed.crossed + allowed.moved
            || self.panicked > allowed.panicked
    }
}

/// Failures by transformation, of one set of rows.
pub(crate) type Table = BTreeMap<String, Failures>;

/// Compares the failures with the allowed ones.
///
/// # Panics
/// There are more failures than allowed, or a line names an unknown transformation.
pub(crate) fn check(file: &str, scope: &str, found: &Table) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/metamorphic").join(file);
    let mut scopes = read(&std::fs::read_to_string(&path).unwrap_or_default());
    let known = scopes.entry(scope.to_owned()).or_default();
    if let Some(how) = std::env::var_os("BLESS") {
        *known = if how == "higher" { found.clone() } else { lowered(known, found) };
        let written = std::fs::write(&path, write(&scopes));
        assert!(written.is_ok(), "{file} cannot be written: {written:?}");
    }
    let known = scopes.remove(scope).unwrap_or_default();
    let stale: Vec<_> = known.keys().filter(|name| !found.contains_key(*name)).collect();
    let allowed = |name: &String| known.get(name).copied().unwrap_or_default();
    let more: Vec<_> = found
        .iter()
        .filter(|(name, failures)| failures.exceeds(allowed(name)))
        .map(|(name, failures)| format!("{name}: {failures:?}, allowed {:?}", allowed(name)))
        .collect();
    let fewer = found.iter().filter(|(name, failures)| allowed(name).exceeds(**failures)).count();
    if fewer > 0 {
        eprintln!("{scope}: fewer failures of {fewer} transformations: BLESS=1 writes {file}");
    }
    assert!(stale.is_empty(), "no such transformation, in {file}: {stale:#?}");
    assert!(more.is_empty(), "{scope}: more failures than {file} allows: {more:#?}");
}

/// The counts that were found, where they are not higher than the known ones, if there are any.
fn lowered(known: &Table, found: &Table) -> Table {
    let keep = |(name, failures): (&String, &Failures)| {
        let allowed = known.get(name).copied().unwrap_or_default();
        let lower = known.is_empty() || !failures.exceeds(allowed);
        (name.clone(), if lower { *failures } else { allowed })
    };
    found.iter().map(keep).collect()
}

fn read(text: &str) -> BTreeMap<String, Table> {
    let mut scopes: BTreeMap<String, Table> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.splitn(5, '\t').map(str::trim);
        let mut word = || words.next().unwrap_or_default();
        let scope = word().to_owned();
        let mut count = || word().parse().unwrap_or_default();
        let failures = Failures { crossed: count(), moved: count(), panicked: count() };
        scopes.entry(scope).or_default().insert(word().to_owned(), failures);
    }
    scopes
}

fn write(scopes: &BTreeMap<String, Table>) -> String {
    let mut text = "# scope\tcrossed\tmoved\tpanicked\ttransformation\n".to_owned();
    for (scope, table) in scopes {
        for (name, failures) in
            table.iter().filter(|(_, failures)| **failures != Failures::default())
        {
            let Failures { crossed, moved, panicked } = failures;
            let _ = writeln!(text, "{scope}\t{crossed}\t{moved}\t{panicked}\t{name}");
        }
    }
    text
}
