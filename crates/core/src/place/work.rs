//! Files that people work on, by how their names end.

/// Endings of sources, documents, data and media.
const ENDINGS: &[&str] = &[
    "rs", "py", "js", "ts", "tsx", "jsx", "go", "c", "h", "cc", "cpp", "hpp", "java", "kt", "rb",
    "php", "pl", "sh", "swift", "scala", "cs", "ex", "hs", "ml", "lua", "r", "sql", "tex", "doc",
    "docx", "odt", "xls", "xlsx", "ods", "ppt", "pptx", "odp", "pdf", "html", "css", "vue",
    "ipynb", "db", "sqlite", "psd", "svg", "jpg", "jpeg", "png", "mp3", "mp4", "mov", "wav",
    "kdbx", "toml", "yaml", "yml",
];

/// Whether a file's name says that somebody works on it.
pub(crate) fn is_work(name: &str) -> bool {
    !name.starts_with('.')
        && name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_and_documents_are_worked_on() {
        for name in ["main.rs", "thesis.tex", "app.db"] {
            assert!(is_work(name), "{name}");
        }
        for name in ["app.log", ".eslintrc.js", "out", "x.tmp"] {
            assert!(!is_work(name), "{name}");
        }
    }
}
