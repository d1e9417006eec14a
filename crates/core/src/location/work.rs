//! Files that people work on, by the endings of their names.

/// Endings of sources, documents, data and media.
const ENDINGS: &[&str] = &[
    "rs", "py", "js", "ts", "tsx", "jsx", "go", "c", "h", "cc", "cpp", "hpp", "java", "kt", "rb",
    "php", "pl", "sh", "swift", "scala", "cs", "ex", "hs", "ml", "lua", "r", "sql", "tex", "doc",
    "docx", "odt", "xls", "xlsx", "ods", "ppt", "pptx", "odp", "pdf", "html", "css", "vue",
    "ipynb", "db", "sqlite", "psd", "svg", "jpg", "jpeg", "png", "mp3", "mp4", "mov", "wav",
    "kdbx", "toml", "yaml", "yml", "dart", "zig", "nim", "clj", "erl", "jl", "f90", "m", "mm",
    "fs", "vb", "ps1", "bat", "gradle", "tf", "proto", "graphql", "scss", "sass", "less", "svelte",
    "adoc", "rst", "bib", "org", "rmd", "key", "pages", "numbers", "heic", "raw", "blend", "dwg",
    "gpx", "mdx", "elm", "cljs", "groovy", "cmake", "mk", "parquet", "epub", "pst", "mbox",
];

/// Endings of source texts and of prose that people write.
const SOURCES: &[&str] = &[
    "rs", "py", "js", "ts", "tsx", "jsx", "mjs", "cjs", "go", "c", "h", "cc", "cpp", "hpp", "java",
    "kt", "rb", "php", "pl", "pm", "sh", "bash", "zsh", "swift", "scala", "cs", "ex", "exs", "hs",
    "ml", "lua", "r", "R", "sql", "tex", "css", "scss", "vue", "dart", "zig", "nim", "clj", "erl",
    "jl", "tf", "proto", "graphql", "svelte", "md", "rst", "adoc", "toml", "yaml", "yml",
];

/// Reports whether a file's name says that somebody works on it.
pub(crate) fn is_work(name: &str) -> bool {
    !name.starts_with('.')
        && name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Endings of files that hold the data of an application or of people.
const DATA: &[&str] = &[
    "sql", "db", "db3", "sqlite", "sqlite3", "dump", "bak", "mdb", "accdb", "csv", "tsv",
    "parquet", "xls", "xlsx", "ods", "pst", "mbox", "pcap", "pcapng", "dmp", "rdb", "ldif", "bson",
    "avro", "dta", "sav", "frm", "ibd", "vmdk", "qcow2", "vdi",
];

/// Words in the names of archives and lists that hold such data.
const DATA_WORDS: &[&str] = &[
    "dump",
    "backup",
    "backups",
    "customers",
    "payroll",
    "salaries",
    "invoices",
    "patients",
    "contacts",
    "accounts",
    "employees",
    "prod",
];

/// Endings with which such words count.
const PACKED: &[&str] =
    &["gz", "tgz", "bz2", "xz", "zst", "zip", "tar", "7z", "json", "jsonl", "ndjson", "xml", "pdf"];

/// Reports whether a file's name says that it holds data which others should not get without a
/// question.
pub(crate) fn holds_data(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut parts = lower.rsplit('.');
    let ending = parts.next().unwrap_or_default();
    let inner = parts.next().unwrap_or_default();
    let words = || lower.split(['.', '-', '_']);
    lower.contains('.')
        && (DATA.contains(&ending)
            || (PACKED.contains(&ending)
                && (DATA.contains(&inner) || words().any(|word| DATA_WORDS.contains(&word)))))
}

/// Reports whether a file's name says that it holds source text, prose or a table that somebody
/// keeps.
pub(crate) fn is_source(name: &str) -> bool {
    !name.starts_with('.')
        && name.rsplit_once('.').is_some_and(|(_, ending)| SOURCES.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_told_from_sources() {
        for name in ["app.sqlite", "users.csv", "app.sql.gz", "backup-2024.tar.gz", "x.dump"] {
            assert!(holds_data(name), "{name}");
        }
        for name in ["main.rs", "README.md", "dist.tar.gz", "dump", "app.json", "backup.sh"] {
            assert!(!holds_data(name), "{name}");
        }
    }

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
