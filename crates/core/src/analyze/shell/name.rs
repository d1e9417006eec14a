//! The name under which a program is looked up.

use super::catalogue;
use crate::location;
use crate::rule;
use crate::words;

/// Returns the name of a program without its folder. Some file systems ignore case: there `RM` is
/// `rm`. GNU tools with a `g` prefix are looked up under their own names, and programs of Windows
/// without their ending.
pub(super) fn program_name(path: &str) -> String {
    let name = without_windows_ending(location::base_name(path));
    if let Some(own) = name.strip_prefix('g').filter(|own| words::has(words::PROGRAMS_GNU, own)) {
        return own.to_owned();
    }
    let lower = name.to_ascii_lowercase();
    let is_sql = matches!(name, "TRUNCATE" | "SELECT" | "DROP" | "DELETE" | "UPDATE" | "ALTER");
    let is_other = lower != name && !is_sql && catalogue::program(name).is_none();
    if is_other && catalogue::program(&lower).is_some() { lower } else { name.to_owned() }
}

/// Returns `git` for `git.exe`: shells on Windows start the same program by both names.
fn without_windows_ending(name: &str) -> &str {
    const ENDINGS: &[&str] = &[".exe", ".com", ".cmd", ".bat"];
    let Some((stem, ending)) = name.len().checked_sub(4).and_then(|at| name.split_at_checked(at))
    else {
        return name;
    };
    let is_program = ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending));
    // `at.exe` and `convert.exe` are other programs than those of Unix.
    let is_known = || catalogue::program(stem).is_some() || rule::knows(stem);
    if is_program && !rule::knows(name) && is_known() { stem } else { name }
}

#[cfg(test)]
mod tests {
    use crate::words::PROGRAMS_GNU;
    use crate::{Action, Context, Policy, Verdict, judge};

    fn verdict(command: String) -> Verdict {
        let context = Context {
            home: Some("/home/dev".into()),
            workspace: Some("/home/dev/project".into()),
            cwd: Some("/home/dev/project".into()),
            ..Context::default()
        };
        judge(&Action::Shell { command, cwd: None }, &Policy::default(), &context).verdict
    }

    #[test]
    fn a_program_of_windows_is_judged_alike_by_both_of_its_names() {
        for line in [
            "rm{} -rf /",
            "git{} push --force",
            "kubectl{} delete ns prod",
            "mimikatz{} x",
            "git{} status",
        ] {
            let plain = verdict(line.replace("{}", ""));
            for ending in [".exe", ".EXE", ".cmd"] {
                assert_eq!(verdict(line.replace("{}", ending)), plain, "{line} {ending}");
            }
        }
    }

    #[test]
    fn a_tool_of_gnu_is_judged_alike_by_both_of_its_names() {
        for name in PROGRAMS_GNU {
            for words in
                ["-R 777 /", "-rf /", "-rf ~", "a b", "-9 1", "/etc/shadow", "x ~/.ssh/id_rsa"]
            {
                let plain = verdict(format!("{name} {words}"));
                assert_eq!(verdict(format!("g{name} {words}")), plain, "g{name} {words}");
                assert_eq!(verdict(format!("/opt/bin/g{name} {words}")), plain, "{name} {words}");
            }
        }
    }
}
