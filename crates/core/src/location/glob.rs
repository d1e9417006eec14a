//! Patterns that can match a protected file: `/etc/sh*dow`.

use super::own_file::matches;

/// Protected files, at their usual locations.
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

/// Protected files that can be in any folder.
const NAMES: &[&str] = &[
    ".env",
    ".env.local",
    ".env.production",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    "id_rsa",
    "id_ecdsa",
    "id_ed25519",
];

/// Returns the protected files that a pattern can match. A part that is only a star matches
/// everything and is not significant, unless the folder before it was matched by a significant
/// pattern.
pub(super) fn protected(pattern: &str, home: &str) -> impl Iterator<Item = String> {
    let is_pattern = pattern.contains(['*', '?', '[']);
    let files =
        FILES.iter().filter(move |_| is_pattern).map(move |file| match file.strip_prefix('~') {
            Some(rest) => format!("{home}{rest}"),
            None => (*file).to_owned(),
        });
    let (folder, last) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let (folder, last) = (folder.to_owned(), last.to_owned());
    let anywhere = NAMES.iter().filter(move |name| is_pattern && names_it(&last, name));
    let placed = anywhere.map(move |name| format!("{folder}/{name}"));
    let pattern = pattern.to_owned();
    files.filter(move |file| stands_for(&pattern, file)).chain(placed)
}

/// Reports whether a pattern for one name matches a protected one. A leading star does not match a
/// dot, and a single letter is too little to go by for a name without a dot.
fn names_it(pattern: &str, name: &str) -> bool {
    // The letters between brackets are alternatives, not parts of a name.
    let letters = pattern
        .split('[')
        .map(|part| part.rsplit(']').next().unwrap_or(part))
        .flat_map(str::chars)
        .filter(|char| char.is_alphanumeric())
        .count();
    let dotted = pattern.starts_with('.') || pattern.starts_with("[.]");
    let can = if name.starts_with('.') { dotted } else { letters > 1 };
    can && is_telling(pattern) && matches(pattern, name)
}

fn stands_for(pattern: &str, path: &str) -> bool {
    let (mut parts, mut names) = (pattern.split('/'), path.split('/'));
    let mut told = false;
    loop {
        match (parts.next(), names.next()) {
            (None, None) => return true,
            (Some(part), Some(name)) if part == name || (told && part == "*") => {}
            (Some(part), Some(name)) if is_telling(part) && matches(part, name) => told = true,
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
        for pattern in [
            "/etc/sh*dow",
            "/etc/sha?ow",
            "/e*c/shadow",
            "/home/dev/.s*h/id_r*",
            "/home/dev/.??h/*",
            "/w/.e?v",
            "/w/.[e]nv",
            "/w/keys/id_*",
        ] {
            assert!(protected(pattern, "/home/dev").next().is_some(), "{pattern}");
        }
        for pattern in [
            "/etc/*",
            "/etc/*.conf",
            "src/*.rs",
            "/home/dev/*",
            "/etc/shadow",
            "/w/.*",
            "/w/*.md",
            "/w/i*",
        ] {
            assert!(protected(pattern, "/home/dev").next().is_none(), "{pattern}");
        }
    }
}
