//! Output without end, and sizes that no disk or memory has.

use super::Walker;
use super::arguments::Arguments;
use super::value::{Arg, Stream};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::verdict::Span;

/// A file of this size or more fills the disk of an ordinary machine.
const TOO_LARGE: f64 = 200e9;

/// The output of a device that never ends. In place of what a file held, it is as good as nothing.
pub(super) fn of_device(path: &str) -> Option<Stream> {
    let taint = match path {
        "/dev/null" => Tags::NONE,
        "/dev/zero" | "/dev/full" | "/dev/random" | "/dev/urandom" => Tags::of(&[Tag::Endless]),
        _ => return None,
    };
    Some(Stream::known(String::new(), taint))
}

/// Reports whether a program prints without end of its own accord.
pub(super) fn prints_on(name: &str, args: &Arguments<'_>) -> bool {
    match name {
        "yes" | "gyes" => true,
        "seq" => args.operands().last().is_some_and(|last| {
            last.text == "inf" || size(&last.text).is_some_and(|last| last >= TOO_LARGE)
        }),
        _ => false,
    }
}

impl Walker<'_> {
    /// Notes a file that would grow until the disk is full.
    pub(super) fn grows_without_end(&mut self, file: &Arg, content: &Stream) {
        let is_file = !file.text.starts_with("/dev/") && !file.text.starts_with("/proc/");
        if content.taint.has(Tag::Endless) && is_file {
            let shown = crate::location::shown(&file.text);
            self.note(Fact::new(FactKind::Exhaust, shown).at(file.span));
        }
    }

    /// Notes a size, given by an option, that fills the disk or the memory.
    pub(super) fn fills(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        if keeps_everything(name, args) && (stdin.taint.has(Tag::Endless) || reads_endless(args)) {
            self.note(Fact::new(FactKind::Exhaust, format!("{name} of what never ends")).at(span));
        }
        let sizes = match name {
            "fallocate" | "xfs_mkfile" => args.values(&["-l", "--length"]),
            "truncate" => args.values(&["-s", "--size"]),
            "head" | "ghead" => args.values(&["-c", "--bytes"]),
            "mkfile" => args.operands().first().map(|size| (*size).clone()).into_iter().collect(),
            "openssl" if args.operand(0) == Some("rand") => {
                args.operands().last().map(|size| (*size).clone()).into_iter().collect()
            }
            "dd" | "dcfldd" | "gdd" => return self.dd_fills(args, span),
            "tee" | "sponge" => {
                return args.operands().iter().for_each(|file| self.grows_without_end(file, stdin));
            }
            _ => return,
        };
        if sizes.iter().any(|wanted| size(&wanted.text).is_some_and(|size| size >= TOO_LARGE)) {
            self.note(Fact::new(FactKind::Exhaust, name).at(span));
        }
    }

    fn dd_fills(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let text = |option: &str| args.value(&[option]).map(|value| value.text);
        let is_file = text("of=").is_some_and(|file| !file.starts_with("/dev/"));
        let is_endless = text("if=")
            .as_deref()
            .and_then(of_device)
            .is_some_and(|stream| stream.taint.has(Tag::Endless));
        let count = text("count=");
        let block = text("bs=").map_or(Some(512.0), |block| size(&block));
        let total = match &count {
            _ if count.as_ref().is_some_and(|count| count.contains(UNKNOWN)) => None,
            Some(count) => size(count).zip(block).map(|(count, block)| count * block),
            None => Some(f64::INFINITY),
        };
        if is_file && is_endless && total.is_some_and(|total| total >= TOO_LARGE) {
            self.note(Fact::new(FactKind::Exhaust, "dd").at(span));
        }
    }
}

/// Reports whether a program keeps all of its input in memory before it prints.
fn keeps_everything(name: &str, args: &Arguments<'_>) -> bool {
    match name {
        "tac" | "sort" | "shuf" | "sponge" => true,
        "tail" | "gtail" => !args.has_any(&["-f", "-F", "--follow"]),
        _ => false,
    }
}

fn reads_endless(args: &Arguments<'_>) -> bool {
    let endless =
        |word: &&Arg| of_device(&word.text).is_some_and(|stream| stream.taint.has(Tag::Endless));
    args.operands().iter().any(endless)
}

/// A size as tools write it: `10`, `4k`, `9T`, `1GiB`, `+2G`.
fn size(text: &str) -> Option<f64> {
    let text = text.trim_start_matches(['+', '<', '>', '%', '/']);
    let digits = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let factor = match unit.chars().next().map(|unit| unit.to_ascii_lowercase()) {
        None | Some('b' | 'c' | 'w') => 1.0,
        Some('k') => 1e3,
        Some('m') => 1e6,
        Some('g') => 1e9,
        Some('t') => 1e12,
        Some('p') => 1e15,
        Some('e') => 1e18,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::size;
    use crate::analyze::shell::walk;
    use crate::example::example_context;
    use crate::fact::FactKind;
    use crate::location::Scene;

    fn exhausts(script: &str) -> bool {
        let context = example_context();
        let walker = walk(script, &Scene::new(&context, &[]));
        walker.analysis.facts.iter().any(|fact| fact.kind == FactKind::Exhaust)
    }

    #[test]
    fn sizes_are_read_as_tools_write_them() {
        assert_eq!(size("10"), Some(10.0));
        assert_eq!(size("4k"), Some(4e3));
        assert_eq!(size("+2GiB"), Some(2e9));
        assert_eq!(size("x"), None);
    }

    #[test]
    fn a_file_that_never_ends_is_noted() {
        for script in [
            "yes > f",
            "cat /dev/zero >> f",
            "tr '\\0' x < /dev/zero > f",
            "base64 /dev/urandom > f",
            "yes | tee f",
            "seq inf > f",
            "tail /dev/zero",
            "cat /dev/urandom | sort",
            "dd if=/dev/zero of=f",
            "dd if=/dev/zero of=f bs=1G count=9000",
            "head -c 9T /dev/zero > f",
            "fallocate -l 10T f",
        ] {
            assert!(exhausts(script), "{script}");
        }
        for script in [
            "yes | apt-get install x > log",
            "head -c 32 /dev/urandom > f",
            "cat /dev/urandom | tr -dc a-z | head -n 1 > f",
            "dd if=/dev/zero of=f bs=1M count=100",
            "cat /dev/zero > /dev/null",
            "fallocate -l 1G f",
            "yes | head -n 5 > f",
            "seq 10 > f",
            "head -c 9 /dev/urandom | sort",
            "sort --random-source=/dev/urandom f",
            "tail -f log",
        ] {
            assert!(!exhausts(script), "{script}");
        }
    }
}
