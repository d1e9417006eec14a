//! Patterns that can stand for a protected file: `/etc/sh*dow`.

use super::guard::matches;

/// Protected files of the kinds that matter, by where they usually are.
const FILES: &[&str] = &[
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/passwd",
    "/etc/sudoers",
    "/etc/sudoers.d/x",
    "/dev/sda",
    "/dev/nvme0n1",
    "/dev/vda",
    "/proc/sysrq-trigger",
    "~/.ssh/id_rsa",
    "~/.ssh/id_ed25519",
    "~/.ssh/authorized_keys",
    "~/.aws/credentials",
    "~/.netrc",
    "~/.bashrc",
    "~/.zshrc",
    "~/.profile",
    "~/.npmrc",
    "~/.pypirc",
    "~/.gnupg/x",
    "~/.kube/config",
    "~/.docker/config.json",
    "~/.bash_history",
];

/// The protected files that a pattern can stand for. A part that is nothing but a star stands for
/// everything and says nothing.
pub(super) fn protected(pattern: &str, home: &str) -> impl Iterator<Item = String> {
    let is_pattern = pattern.contains(['*', '?', '[']);
    let files =
        FILES.iter().filter(move |_| is_pattern).map(move |file| match file.strip_prefix('~') {
            Some(rest) => format!("{home}{rest}"),
            None => (*file).to_owned(),
        });
    let pattern = pattern.to_owned();
    files.filter(move |file| stands_for(&pattern, file))
}

fn stands_for(pattern: &str, path: &str) -> bool {
    let (mut parts, mut names) = (pattern.split('/'), path.split('/'));
    loop {
        match (parts.next(), names.next()) {
            (None, None) => return true,
            (Some(part), Some(name)) if part == name => {}
            (Some(part), Some(name)) if is_telling(part) && matches(part, name) => {}
            _ => return false,
        }
    }
}

fn is_telling(part: &str) -> bool {
    part.contains(['*', '?', '[']) && part.chars().any(|char| !"*?[].".contains(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_protected_files() {
        for pattern in ["/etc/sh*dow", "/etc/sha?ow", "/e*c/shadow", "/home/dev/.s*h/id_r*"] {
            assert!(protected(pattern, "/home/dev").next().is_some(), "{pattern}");
        }
        for pattern in ["/etc/*", "/etc/*.conf", "src/*.rs", "/home/dev/*", "/etc/shadow"] {
            assert!(protected(pattern, "/home/dev").next().is_none(), "{pattern}");
        }
    }
}
