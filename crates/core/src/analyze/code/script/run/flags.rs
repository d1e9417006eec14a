//! Files opened with the flags of the system: `os.open(path, os.O_WRONLY | os.O_TRUNC)`.

use super::Runner;
use crate::analyze::code::script::value::{Shape, Value};
use crate::verdict::Span;

/// The flags by which a file is opened for writing, and their values on Linux.
const FLAGS: &[(&str, i64)] = &[
    ("RDONLY", 0),
    ("WRONLY", WRITES),
    ("RDWR", READS_AND_WRITES),
    ("CREAT", 0o100),
    ("EXCL", 0o200),
    ("TRUNC", EMPTIES),
    ("APPEND", ADDS),
    ("NONBLOCK", 0o4000),
    ("CLOEXEC", 0),
    ("SYNC", 0),
];

const WRITES: i64 = 1;
const READS_AND_WRITES: i64 = 2;
const EMPTIES: i64 = 0o1000;
const ADDS: i64 = 0o2000;

/// Modules whose constants are these flags without the `O_`.
const SHORT: &[&str] = &["File.", "File.Constants.", "IO."];

/// Returns a flag, or else whatever has this name in a library.
pub(super) fn flag_or_api(name: &str) -> Value {
    flag(name).unwrap_or_else(|| Value::api(name))
}

/// Returns the value of a flag by its full name: `os.O_WRONLY`, `fs.constants.O_WRONLY`, Perl's
/// `O_WRONLY`, Ruby's `File.WRONLY`.
fn flag(name: &str) -> Option<Value> {
    let short = SHORT.iter().find_map(|module| name.strip_prefix(module));
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    let known =
        |name: &str| FLAGS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let value = last.strip_prefix("O_").and_then(known).or_else(|| short.and_then(known))?;
    Some(Value::new(Shape::Number(value)))
}

/// Returns the mode of `open` that has the effect of these flags.
pub(super) const fn mode(flags: i64) -> &'static str {
    if flags & (WRITES | READS_AND_WRITES) == 0 {
        "r"
    } else if flags & ADDS != 0 {
        "a"
    } else if flags & EMPTIES != 0 {
        "w"
    } else {
        "r+"
    }
}

impl Runner<'_> {
    /// Follows Perl's `sysopen(HANDLE, path, flags)`.
    pub(super) fn open_system(&mut self, path: &Value, flags: &Value, span: Option<Span>) -> Value {
        let mode = match flags.shape {
            Shape::Number(flags) => mode(flags),
            _ => "unknown",
        };
        self.opened(path, mode, span)
    }
}

#[cfg(test)]
mod tests {
    use crate::Verdict;
    use crate::example::verdict_of;

    #[test]
    fn flags_tell_reading_from_writing() {
        for (source, writing, reading) in [
            (
                "python: import os\nos.open('/etc/hosts', #)",
                "os.O_WRONLY | os.O_TRUNC",
                "os.O_RDONLY",
            ),
            ("python: import os\nos.open('/etc/hosts', flags=#)", "os.O_RDWR", "os.O_RDONLY"),
            (
                "javascript: const fs = require('fs'); fs.openSync('/etc/hosts', #)",
                "fs.constants.O_APPEND | fs.constants.O_WRONLY",
                "fs.constants.O_RDONLY",
            ),
            ("perl: use Fcntl; sysopen(F, '/etc/hosts', #);", "O_WRONLY|O_CREAT", "O_RDONLY"),
            ("ruby: File.open('/etc/hosts', #)", "File::WRONLY | File::TRUNC", "File::RDONLY"),
        ] {
            let [writes, reads] = [writing, reading].map(|flags| source.replace('#', flags));
            assert!(verdict_of(&writes) >= Verdict::Confirm, "{writes}");
            assert!(verdict_of(&reads) <= Verdict::Warn, "{reads}");
        }
    }

    #[test]
    fn flags_that_are_not_known_may_write() {
        assert!(
            verdict_of("python: import os\nos.open('/etc/hosts', flags())") >= Verdict::Confirm
        );
        assert!(verdict_of("python: import os\nos.open('notes.txt', flags())") <= Verdict::Warn);
    }
}
