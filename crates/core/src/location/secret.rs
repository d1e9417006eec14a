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

/// Names without an ending that are files of secrets.
const BARE: &[&str] = &["credentials", "deploy_key", "token", "vault_pass", "secrets"];

/// Reports whether a file's name says that it holds secrets: `client_secret.json`,
/// `~/.tool/auth.json`.
pub(super) fn by_words(path: &str, name: &str) -> bool {
    let hidden = name.starts_with('.');
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let in_settings = path.contains("/.");
    if ending.is_empty() || stem.is_empty() {
        let bare = name.trim_start_matches('.');
        return BARE.contains(&bare) && (hidden || in_settings || bare != "secrets");
    }
    if !DATA.contains(&ending) {
        return false;
    }
    let lower = stem.to_ascii_lowercase();
    let words: Vec<_> = lower.split(['.', '-', '_']).collect();
    let pair = |pair: &[&str]| matches!(pair, [a, b] if PAIRS.contains(&(*a, *b)));
    words.iter().any(|word| SECRETS.contains(word))
        || words.windows(2).any(pair)
        || (lower == "key" && ending == "pem")
        || (matches!(lower.as_str(), "token" | "password") && ending == "txt")
        || (in_settings && words.iter().any(|word| OWN.contains(word)))
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
        ] {
            assert!(!by_words(path, path.rsplit('/').next().unwrap()), "{path}");
        }
    }
}
