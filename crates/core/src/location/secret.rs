//! Files that hold secrets, by the words of their names.

/// Words that name a secret by themselves.
const SECRETS: &[&str] = &[
    "credential",
    "credentials",
    "creds",
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "apikey",
    "privkey",
    "htpasswd",
    "mnemonic",
];

/// Pairs of words that name a secret together.
const PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("private", "key"),
    ("access", "key"),
    ("secret", "key"),
    ("deploy", "key"),
    ("master", "key"),
    ("gcp", "key"),
    ("service", "account"),
    ("backup", "codes"),
    ("recovery", "codes"),
    ("recovery", "key"),
    ("seed", "phrase"),
    ("vault", "pass"),
    ("vault", "password"),
    ("auth", "token"),
    ("access", "token"),
    ("firebase", "adminsdk"),
];

/// Words that name a secret in a folder of a program's own settings.
const OWN: &[&str] =
    &["auth", "oauth", "token", "tokens", "key", "keys", "cookie", "cookies", "wallet", "wallets"];

/// Endings of files that hold data, not source text or prose.
const DATA: &[&str] = &[
    "json",
    "yaml",
    "yml",
    "toml",
    "txt",
    "ini",
    "cfg",
    "conf",
    "config",
    "properties",
    "enc",
    "pem",
    "key",
    "jks",
    "keystore",
    "b64",
];

/// Endings of copies, which hold the same.
const COPIES: &[&str] = &["bak", "backup", "old", "orig", "copy", "save", "saved", "swp", "prev"];

/// Names without an ending that are files of secrets.
const BARE: &[&str] =
    &["credentials", "deploy_key", "password", "passwords", "token", "vault_pass", "secrets"];

/// Reports whether a file's name says that it holds secrets: `client_secret.json`,
/// `~/.tool/auth.json`.
pub(super) fn by_words(path: &str, name: &str) -> bool {
    let original = without_copy_endings(name);
    if original.len() < name.len() && super::known_paths::is_secret_name(original) {
        return true;
    }
    let name = original;
    let hidden = name.starts_with('.');
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let in_settings = path.contains("/.");
    if ending.is_empty() || stem.is_empty() {
        let bare = name.trim_start_matches('.');
        return BARE.contains(&bare)
            && (hidden || in_settings || !matches!(bare, "secrets" | "password" | "passwords"));
    }
    if !DATA.contains(&ending) {
        return false;
    }
    let lower = stem.to_ascii_lowercase();
    let split = split_humps(stem);
    let words: Vec<_> = split.split(['.', '-', '_']).collect();
    let pair = |pair: &[&str]| matches!(pair, [a, b] if PAIRS.contains(&(*a, *b)));
    words.iter().any(|word| SECRETS.contains(word))
        || words.windows(2).any(pair)
        || (lower == "key" && ending == "pem")
        || (matches!(lower.as_str(), "token" | "password") && ending == "txt")
        || (in_settings && words.iter().any(|word| OWN.contains(word)))
}

/// Returns the name of the file of which this is a copy: `id_rsa` for `id_rsa.bak` and `id_rsa~`.
fn without_copy_endings(mut name: &str) -> &str {
    loop {
        let original = match name.rsplit_once('.') {
            Some((stem, ending)) if COPIES.contains(&ending) => stem,
            _ => name.strip_suffix('~').unwrap_or_default(),
        };
        if original.is_empty() {
            return name;
        }
        name = original;
    }
}

/// Returns a name in small letters, with a dash where a capital follows a small letter:
/// `serviceAccountKey`.
fn split_humps(name: &str) -> String {
    let mut small = false;
    let mut split = String::with_capacity(name.len());
    for char in name.chars() {
        if small && char.is_ascii_uppercase() {
            split.push('-');
        }
        small = char.is_ascii_lowercase();
        split.push(char.to_ascii_lowercase());
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_file_holds() {
        for path in [
            "/w/client_secret.json",
            "/w/service-account.json",
            "/w/passwords.txt",
            "/w/token.txt",
            "/w/key.pem",
            "/h/.tool/auth.json",
            "/h/.cache/hub/token",
            "/w/.vault_pass",
            "/w/serviceAccountKey.json",
            "/w/id_rsa.bak",
            "/w/credentials.json.old",
            "/h/.tool/passwords",
        ] {
            assert!(by_words(path, path.rsplit('/').next().unwrap()), "{path}");
        }
        for path in [
            "/w/src/secrets.rs",
            "/w/docs/passwords.md",
            "/w/tokens.json",
            "/w/tokenizer.json",
            "/w/package.json",
            "/w/keyboard.txt",
            "/w/main.rs.bak",
        ] {
            assert!(!by_words(path, path.rsplit('/').next().unwrap()), "{path}");
        }
    }
}
