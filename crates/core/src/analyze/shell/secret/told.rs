//! Words that make platforms, stores, services and interpreters show a secret.

use super::{seeks_secret, shows_environments};
use crate::analyze::shell::arguments::Arguments;
use crate::analyze::shell::parameter::names_a_secret;
use crate::analyze::shell::verb::form;
use crate::location;
use crate::words::{self, has};

/// Returns the words that determine what a program does: its name, its first operands, its long
/// options.
fn command_words<'a>(name: &'a str, args: &'a Arguments<'_>) -> Vec<&'a str> {
    let mut words = vec![name];
    words.extend(args.operands().iter().take(4).map(|word| word.text.as_str()));
    words.extend(
        args.words().iter().map(|word| word.text.as_str()).filter(|word| word.starts_with("--")),
    );
    words.retain(|word| form::is_command_word(word));
    words
}

fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split(['-', '_', ':'])
}

/// Finds `gh auth status --show-token`, `tool secrets download`, `tool config get DB_PASSWORD`.
pub(super) fn by_words(name: &str, args: &Arguments<'_>) -> Option<String> {
    let words = command_words(name, args);
    let names = words.iter().any(|word| parts(word).any(|part| has(words::VERBS_SECRETS, part)));
    // Only the first part of an option is its verb: `--show-token`, but not `--access-token x`.
    let shows = words.iter().any(|word| match word.strip_prefix("--") {
        Some(option) => option.split('-').next().is_some_and(|verb| has(words::VERBS_SHOWS, verb)),
        None => parts(word).any(|part| has(words::VERBS_SHOWS, part)),
    });
    if names && shows {
        return Some(words.join(" "));
    }
    let asked = args.operands().iter().take(4).position(|word| {
        let verbs = ["get", "getenv", "show", "read", "print", "output", "lookup"];
        let text = word.text.as_str();
        verbs.contains(&text) || text.ends_with(":get") || text.starts_with("get-")
    })?;
    let key = args.operands().iter().skip(asked + 1).find(|word| is_secret_key(&word.text));
    key.map(|key| format!("{name} {}", location::shown(&key.text)))
}

/// Reports whether a key names a secret: `DB_PASSWORD`, `//registry.example.com/:_authToken`,
/// `DATABASE_URL`.
fn is_secret_key(key: &str) -> bool {
    const HOLDS: &[&str] = &["_AUTH", "DATABASE_URL", "CONNECTION_STRING", "_DSN", "PASSPHRASE"];
    let upper = key.to_ascii_uppercase();
    !key.contains("://")
        && !key.contains(' ')
        && (names_a_secret(key) || HOLDS.iter().any(|part| upper.contains(part)))
}

/// Finds a text that reads a secret: `select * from pg_shadow`, `config get requirepass`,
/// `/v1/secret/data/x`.
pub(super) fn in_texts(args: &Arguments<'_>) -> Option<String> {
    let word = args.words().iter().find(|word| {
        let lower = word.text.to_ascii_lowercase();
        words::SECRETS_PLACES.iter().any(|place| lower.contains(place))
    })?;
    Some(location::shown(&word.text).into_owned())
}

/// Finds an option that reveals secrets: `--show-secrets`, `--with-decryption`,
/// `--cookies-from-browser chrome`.
pub(super) fn uncovered(args: &Arguments<'_>) -> Option<String> {
    let option = args.options().map(|word| word.text.as_str()).find(|word| {
        let Some(option) = word.strip_prefix("--") else { return false };
        let (option, value) = option.split_once('=').unwrap_or((option, ""));
        let mut parts = option.split(['-', '_']);
        let first = parts.next().unwrap_or_default();
        let rest: Vec<_> = parts.collect();
        let redaction = |part: &&str| matches!(*part, "redact" | "redaction" | "mask" | "masking");
        let hidden = |part: &&str| {
            matches!(*part, "sensitive" | "values" | "hidden") || has(words::VERBS_SECRETS, part)
        };
        let glued = ["show", "reveal", "print"].iter().any(|verb| {
            option.strip_prefix(verb).is_some_and(|rest| has(words::VERBS_SECRETS, rest))
        });
        let denied = matches!(value, "false" | "no" | "0");
        let shows = matches!(first, "show" | "print" | "display" | "reveal" | "expose" | "dump");
        let uncovers = matches!(first, "with" | "reveal" | "unmask" | "plaintext")
            && (rest.is_empty() || rest.iter().any(|part| has(words::SECRETS_UNCOVERS, part)))
            && first != "plaintext";
        !denied
            && (glued
                || shows && rest.iter().any(hidden)
                || uncovers && (first != "with" || !rest.is_empty())
                || first == "no" && rest.iter().any(redaction)
                || option == "cookies-from-browser")
    });
    option.map(str::to_owned)
}

/// Finds a command with which a platform prints its token, or an application's variables with their
/// values.
pub(super) fn by_platform(name: &str, args: &Arguments<'_>) -> Option<String> {
    let operands: Vec<&str> = args
        .operands()
        .iter()
        .map(|word| word.text.as_str())
        .take_while(|word| form::is_command_word(word))
        .collect();
    let told = || format!("{name} {}", operands.join(" "));
    let makes = operands.iter().any(|word| {
        has(words::SECRETS_MAKES, word) || parts(word).any(|part| has(words::SECRETS_MAKES, part))
    });
    let short =
        matches!(operands.as_slice(), ["auth", "status", ..] | ["whoami", ..]) && args.has("-t");
    let prints_token = match operands.as_slice() {
        _ if short && matches!(name, "gh" | "glab" | "oc") => true,
        ["create", "token", ..] => name == "kubectl" || name == "oc",
        [.., "auth" | "account" | "session" | "sts" | "oidc" | "identity" | "user", "token"] => {
            true
        }
        [.., last] => {
            has(words::SECRETS_PLATFORMS, name) && has(words::SECRETS_PRINTED, last) && !makes
        }
        [] => false,
    };
    if prints_token {
        return Some(told());
    }
    let first = operands.first().copied().unwrap_or_default();
    let whole = format!("{name} {first}");
    let alone = operands.len() < 3 && !makes;
    if alone && has(words::SECRETS_WHOLE, &whole) {
        return Some(whole);
    }
    if !has(words::SECRETS_PLATFORMS, name) {
        return None;
    }
    let named = |list: &[&str]| operands.iter().any(|word| parts(word).any(|part| has(list, part)));
    let values = args.has_any(words::SECRETS_VALUE_OPTIONS);
    let lists = operands.iter().any(|word| parts(word).any(|part| matches!(part, "list" | "ls")));
    let shows = named(words::SECRETS_VARIABLE_VERBS) || (lists && values);
    let keys = operands.windows(2).any(|pair| {
        matches!(pair, ["keys" | "credential" | "connection-string", "list" | "show" | "renew"])
    });
    let decrypts = operands.contains(&"decrypt");
    let generates =
        operands.iter().any(|word| word.starts_with("generate-") && word.ends_with("-token"));
    let inner = operands.last().is_some_and(|last| matches!(*last, "env" | "printenv"))
        && operands.iter().any(|word| matches!(*word, "run" | "exec" | "ssh" | "console"));
    let described = args.words().iter().any(|word| {
        let value = word.text.rsplit('=').next().unwrap_or_default();
        value.starts_with("Environment") || value.contains("environmentVariables")
    });
    let settings = operands.windows(2).any(|pair| {
        matches!(pair, ["appsettings" | "connection-string" | "connectionstring", "list" | "show"])
    });
    let asked = keys || settings || decrypts || generates || inner || described;
    (asked || (named(words::SECRETS_VARIABLES) && shows)).then(told)
}

/// Finds a request to a store of secrets.
pub(super) fn by_store(name: &str, args: &Arguments<'_>) -> Option<String> {
    if let Some(helper) = name.strip_prefix("docker-credential-") {
        let asked = args.operand(0).is_some_and(|verb| matches!(verb, "get" | "list"));
        return asked.then(|| format!("credentials of {helper}"));
    }
    if !has(words::SECRETS_STORES, name) {
        return None;
    }
    let operands: Vec<&str> = args.operands().iter().map(|word| word.text.as_str()).collect();
    let told =
        || format!("{name} {}", operands.iter().take(2).copied().collect::<Vec<_>>().join(" "));
    // `op run -- env`: the inner command only prints the variables it was given.
    let inner = args.words().iter().skip_while(|word| word.text != "--").nth(1);
    if inner.is_some_and(|word| matches!(word.text.as_str(), "env" | "printenv" | "set" | "export"))
    {
        return Some(told());
    }
    let first_two = operands.get(..2).unwrap_or(&operands);
    if matches!((name, first_two), ("bw", ["list", "items"]) | ("keyctl", ["show", ..])) {
        return (name == "bw").then(told);
    }
    let quiet = first_two.iter().any(|word| has(words::SECRETS_STORE_QUIET, word));
    let shows = first_two.iter().any(|word| has(words::SECRETS_STORE_VERBS, word));
    let by_path = matches!(name, "pass" | "gopass" | "passage" | "pa" | "prs" | "keepassxc-cli")
        && operands.first().is_some_and(|word| word.contains('/'));
    let searched = name == "secret-tool" && operands.first() == Some(&"search");
    ((shows || by_path || searched) && !quiet).then(told)
}

/// Finds commands with which services, multiplexers and containers show their variables.
pub(super) fn by_service(name: &str, args: &Arguments<'_>) -> Option<String> {
    let first = args.operand(0).unwrap_or_default();
    let words = || args.words().iter().map(|word| word.text.as_str());
    let shows = match name {
        "systemctl" => {
            first == "show-environment"
                || words().any(|word| {
                    word.rsplit('=').next().is_some_and(|property| {
                        property.split(',').any(|part| part == "Environment")
                    })
                })
        }
        "tmux" => matches!(first, "show-environment" | "showenv"),
        "launchctl" => first == "export",
        "docker" | "podman" | "nerdctl" | "crictl" | "ctr" | "lxc" | "incus" => {
            words().any(|word| word == "inspect")
                && words().any(|word| {
                    word.contains("{{") && (word.contains(".Env") || word.contains("Env "))
                })
        }
        "kubectl" | "oc" => {
            words().any(|word| word == "set")
                && args.has("--list")
                && words().any(|word| word == "env")
        }
        "ps" => shows_environments(args) && words().any(|word| word.contains("ww")),
        _ => false,
    };
    shows.then(|| format!("{name}: variables of other programs"))
}

/// Finds a decryption with an explicit key: `age -d -i key.txt x.age`.
pub(super) fn decrypted(name: &str, args: &Arguments<'_>) -> Option<String> {
    let decrypts = match name {
        "age" | "rage" => {
            let keys = args.values(&["-i", "--identity"]);
            let own = keys.iter().any(|key| key.text.starts_with(['~', '/']));
            args.has_any(&["-d", "--decrypt"]) && own
        }
        "openssl" => {
            let keys = args.whole_values(&["-inkey", "-recip"]);
            args.words().iter().any(|word| word.text == "-decrypt")
                && keys.iter().any(|key| key.text.starts_with(['~', '/']))
        }
        "clevis" | "systemd-creds" | "tpm2" => {
            args.operand(0).is_some_and(|verb| matches!(verb, "decrypt" | "cat" | "unseal"))
        }
        "tpm2_unseal" | "tpm2_rsadecrypt" => true,
        "gpg" | "gpg2" => {
            args.has_any(&["-d", "--decrypt"])
                && args.operands().iter().any(|file| seeks_secret(&file.text))
        }
        _ => false,
    };
    decrypts.then(|| format!("{name}: what a key opens"))
}

/// Finds access to the history of copied or typed text.
pub(super) fn kept_by_user(name: &str, args: &Arguments<'_>) -> Option<String> {
    let told = |list: &[&str]| {
        has(list, name)
            || list.iter().any(|entry| {
                let verb = entry.strip_prefix(name).and_then(|rest| rest.strip_prefix(' '));
                verb.is_some_and(|verb| args.words().iter().any(|word| word.text == verb))
            })
    };
    if told(words::SECRETS_CLIPBOARDS) {
        return Some(format!("{name}: what was copied"));
    }
    told(words::SECRETS_HISTORIES).then(|| format!("{name}: commands of the user"))
}

/// Reports whether a source text prints a secret variable: `print(os.environ["API_TOKEN"])`,
/// `process.env.API_TOKEN` after `-p`, `$ENV.API_TOKEN`.
pub(super) fn prints_variable(name: &str, source: &str) -> bool {
    const READS: &[&str] = &[
        "environ[",
        "environ.get(",
        "getenv(",
        "process.env.",
        "process.env[",
        "ENV[",
        "ENV.fetch(",
        "$ENV{",
        "ENVIRON[",
        "$ENV.",
        "Deno.env.get(",
        "System.get_env(",
        "env.",
    ];
    const PRINTS: &[&str] = &[
        "print",
        "puts",
        "console.log",
        "echo",
        "say",
        "p",
        "inspect",
        "write",
        "printf",
        "println",
    ];
    const MODULES: &[&str] = &["os", "__import__('os')", "__import__(\"os\")", "IO", "fmt"];
    if !source.contains("env") && !source.contains("ENV") {
        return false;
    }
    READS.iter().any(|read| {
        source.match_indices(read).take(8).any(|(at, _)| {
            let (before, rest) = source.split_at_checked(at).unwrap_or((source, ""));
            let rest = rest.get(read.len()..).unwrap_or_default();
            let key = rest.trim_start_matches(['"', '\'', ':', '(']);
            let end = key.find(|char: char| !char.is_ascii_alphanumeric() && char != '_');
            let key = key.get(..end.unwrap_or(key.len())).unwrap_or_default();
            let mut verb = before.trim_end_matches('.').trim_end();
            for module in MODULES {
                verb = verb.strip_suffix(module).unwrap_or(verb);
            }
            let verb = verb.trim_end_matches(['(', ' ', '"', '\'']);
            let whole =
                verb.is_empty() && matches!(name, "jq" | "node" | "nodejs" | "bun" | "deno");
            let told = PRINTS.iter().any(|print| {
                verb.strip_suffix(print).is_some_and(|rest| {
                    !rest.ends_with(|char: char| char.is_ascii_alphanumeric() || char == '_')
                })
            });
            names_a_secret(key) && (told || whole)
        })
    })
}

/// Reports whether a program traces the data that another process reads and writes: `strace -s 4096
/// -e trace=read,write -p 4711`.
pub(super) fn watches(name: &str, args: &Arguments<'_>) -> bool {
    let attaches = args.value(&["-p", "--pid", "--attach"]).is_some();
    match name {
        "strace" | "ltrace" | "truss" | "dtruss" => {
            let contents = args.values(&["-e", "--trace"]).iter().any(|value| {
                value.text.contains("read")
                    || value.text.contains("write")
                    || value.text.contains("recv")
            });
            attaches && (contents || args.has_any(&["-s", "--string-limit"]))
        }
        "peekfd" | "reptyr" | "ttysnoop" | "snoopy" => !args.operands().is_empty(),
        _ => false,
    }
}
