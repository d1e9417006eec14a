//! The journeys of ARCHITECTURE.md: lists of files that follow one thing through the code. Each file
//! and each name in it must exist, and no journey may become longer than it is allowed to be.

use std::fs;
use std::path::Path;

use super::source::Source;
use crate::Result;

/// The page with the journeys.
const PAGE: &str = "ARCHITECTURE.md";
/// The section of the page.
const SECTION: &str = "## Three journeys";
/// The journeys, and the most files that each may have.
const MOST: &[(&str, usize)] =
    &[("A hook that waits", 9), ("Propose, answer, spend over HTTP", 40), ("`check`", 23)];
/// The words before the name of an item.
const ITEMS: &[&str] = &["fn", "struct", "enum", "trait", "const", "type"];

/// One file of a journey, and the items to look for in it.
#[derive(Debug, PartialEq, Eq)]
struct Stop<'a> {
    file: &'a str,
    items: Vec<&'a str>,
}

/// Describes everything about the journeys that does not match the code.
///
/// # Errors
/// The page cannot be read.
pub(super) fn wrong(root: &Path) -> Result<Vec<String>> {
    let page = fs::read_to_string(root.join(PAGE))?;
    let mut wrong = Vec::new();
    for (title, most) in MOST {
        let stops = stops(&page, title);
        if !(1..=*most).contains(&stops.len()) {
            let found = stops.len();
            wrong.push(format!("{PAGE}: `{title}` has {found} files, and may have 1 to {most}"));
        }
        for stop in stops {
            match fs::read_to_string(root.join(stop.file)) {
                Ok(text) => wrong.extend(missing(&stop, &text)),
                Err(_) => {
                    wrong.push(format!("{PAGE}: `{title}` names `{}`: no such file", stop.file));
                }
            }
        }
    }
    Ok(wrong)
}

/// The stops of one journey, in order.
fn stops<'a>(page: &'a str, title: &str) -> Vec<Stop<'a>> {
    let section = page.split_once(SECTION).map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    let heading = format!("\n### {title}\n");
    let list = section.split_once(&heading).map_or("", |(_, rest)| rest);
    let list = list.split("\n### ").next().unwrap_or_default();
    list.lines().filter_map(stop).collect()
}

/// Reads a line such as ``1. `file`, `item`, `item`: text``.
fn stop(line: &str) -> Option<Stop<'_>> {
    let (number, rest) = line.split_once(". `")?;
    number.parse::<usize>().ok()?;
    let (listed, _) = rest.split_once("`: ")?;
    let mut words = listed.split("`, `");
    Some(Stop { file: words.next()?, items: words.collect() })
}

/// Describes the items that are not in the file.
fn missing(stop: &Stop<'_>, text: &str) -> Vec<String> {
    let source = Source::read(text);
    let defines = |item: &str| {
        source.tokens.windows(2).any(|pair| match pair {
            [word, name] => ITEMS.contains(word) && *name == item,
            _ => false,
        })
    };
    let gone = stop.items.iter().filter(|item| !defines(item));
    gone.map(|item| format!("{PAGE}: there is no `{item}` in `{}`", stop.file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# A\n\n## Three journeys\n\n### One\n\n1. `a.rs`, `go`, `Way`: first.\n\
        2. `b.rs`: second.\n\n### Two\n\n1. `c.rs`: other.\n\n## Code map\n\n1. `d.rs`: none.\n";

    #[test]
    fn a_journey_is_the_list_below_its_title() {
        let files = |title: &str| -> Vec<_> {
            stops(LIST, title).into_iter().map(|stop| stop.file).collect()
        };
        assert_eq!(files("One"), ["a.rs", "b.rs"]);
        assert_eq!(files("Two"), ["c.rs"]);
        assert!(files("Three").is_empty());
        assert_eq!(stops(LIST, "One").first().unwrap().items, ["go", "Way"]);
    }

    #[test]
    fn an_item_that_is_gone_is_named() {
        let list = stops(LIST, "One");
        let stop = list.first().unwrap();
        assert!(missing(stop, "pub fn go() {}\nstruct Way;").is_empty());
        let wrong = missing(stop, "// fn go\nfn going() {}\nenum Way {}");
        assert_eq!(wrong, ["ARCHITECTURE.md: there is no `go` in `a.rs`"]);
    }

    #[test]
    fn our_own_journeys_match_the_code() {
        let wrong = wrong(&crate::process::root()).unwrap();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
