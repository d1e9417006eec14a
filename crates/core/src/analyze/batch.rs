//! Downloads and exports: their number and size.
//!
//! | download | verdict in a profile that asks about batches |
//! |---|---|
//! | one file under 10 MB | quiet |
//! | up to 5 files, 50 MB together, one of 10 MB or more or of unknown size | told, not asked |
//! | more than 5 files, or more than 50 MB | asked |
//!
//! A megabyte is a million bytes, the stricter reading.

use crate::action::{Action, DownloadFile};
use crate::analyze::{Analysis, url};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location::Scene;

const MOST_FILES: usize = 5;
const MOST_BYTES: u64 = 50_000_000;
const LARGE_FILE: u64 = 10_000_000;
const MOST_PAGES: u64 = 5;

/// Returns the facts of a download or an export.
#[must_use]
pub fn analyze(action: &Action, scene: &Scene<'_>) -> Analysis {
    Analysis::of(match action {
        Action::Download { files } => download(files, scene),
        Action::ExportPdf { pages } => export(*pages),
        _ => Vec::new(),
    })
}

fn download(files: &[DownloadFile], scene: &Scene<'_>) -> Vec<Fact> {
    let mut facts: Vec<Fact> = files
        .iter()
        .flat_map(|file| url::facts(&file.url, scene))
        .map(|fact| fact.at(None))
        .collect();
    let known = files.iter().filter_map(|file| file.bytes);
    let bytes = known.clone().fold(0_u64, u64::saturating_add);
    let unknown = files.len().saturating_sub(known.clone().count());
    let noun = if files.len() == 1 { "file" } else { "files" };
    let subject = format!("{} {noun}, {}", files.len(), size(bytes, unknown, files.len()));
    let large = known.clone().any(|bytes| bytes >= LARGE_FILE) || unknown > 0;
    if files.len() > MOST_FILES || bytes > MOST_BYTES {
        facts.push(Fact::new(FactKind::DownloadBatch, subject).tagged(Tags::of(&[Tag::Many])));
    } else if large {
        facts.push(Fact::new(FactKind::DownloadBatch, subject));
    }
    facts
}

/// Returns the size as shown to a person: an unknown size is not shown as zero.
fn size(bytes: u64, unknown: usize, files: usize) -> String {
    let megabytes = bytes.div_ceil(1_000_000);
    match unknown {
        0 => format!("{megabytes} MB"),
        unknown if unknown == files => "size unknown".to_owned(),
        unknown => format!("{megabytes} MB and {unknown} of unknown size"),
    }
}

fn export(pages: u64) -> Vec<Fact> {
    if pages > MOST_PAGES {
        vec![Fact::new(FactKind::ExportBatch, format!("{pages} pages"))]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    fn told(sizes: &[Option<u64>]) -> Option<bool> {
        let files = sizes
            .iter()
            .map(|bytes| DownloadFile {
                url: "https://example.com/a".to_owned(),
                name: None,
                bytes: *bytes,
            })
            .collect();
        let context = Context::default();
        let analysis = analyze(&Action::Download { files }, &Scene::new(&context, &[]));
        analysis.facts.first().map(|fact| fact.tags.has(Tag::Many))
    }

    #[test]
    fn both_limits_decide() {
        const MB: u64 = 1_000_000;
        assert_eq!(told(&[Some(10 * MB - 1)]), None);
        assert_eq!(told(&[Some(MB); 5]), None);
        assert_eq!(told(&[Some(10 * MB)]), Some(false));
        assert_eq!(told(&[None]), Some(false));
        assert_eq!(told(&[Some(25 * MB), Some(25 * MB)]), Some(false));
        assert_eq!(told(&[Some(50 * MB + 1)]), Some(true));
        assert_eq!(told(&[Some(20 * MB); 3]), Some(true));
        assert_eq!(told(&[Some(1); 6]), Some(true));
        assert_eq!(told(&[Some(u64::MAX), Some(1)]), Some(true));
    }

    #[test]
    fn a_size_that_nobody_knows_is_told_as_that() {
        let subject = |sizes: &[Option<u64>]| {
            let file = |bytes: &Option<u64>| DownloadFile {
                url: "https://example.com/a".to_owned(),
                name: None,
                bytes: *bytes,
            };
            let files = sizes.iter().map(file).collect();
            let context = Context::default();
            let analysis = analyze(&Action::Download { files }, &Scene::new(&context, &[]));
            analysis.facts[0].subject.clone()
        };
        assert_eq!(subject(&[None]), "1 file, size unknown");
        assert_eq!(subject(&[None, None]), "2 files, size unknown");
        assert_eq!(subject(&[Some(11_000_000), None]), "2 files, 11 MB and 1 of unknown size");
        assert_eq!(subject(&[Some(11_000_000)]), "1 file, 11 MB");
    }

    #[test]
    fn where_it_comes_from_counts_too() {
        let files =
            vec![DownloadFile { url: "file:///etc/x".to_owned(), name: None, bytes: Some(1) }];
        let context = Context::default();
        let analysis = analyze(&Action::Download { files }, &Scene::new(&context, &[]));
        assert_eq!(analysis.facts[0].kind, FactKind::UrlScheme);
    }
}
