//! Secrets that a program is told to show, in its own words.
//!
//! Tokens, keys and variables are not only in files: platforms, stores, services, clipboards and
//! histories provide them on request. A tool is recognised by its class of program and by the form
//! of its words; listing names alone needs no confirmation.

use super::Walker;
use super::arguments::Arguments;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

mod told;

use told::{
    by_platform, by_service, by_store, by_words, decrypted, in_texts, kept_by_user,
    prints_variable, uncovered, watches,
};

/// Programs that search for their words, print them or record them.
const MENTIONS: &[&str] = &[
    "grep", "egrep", "fgrep", "rg", "ag", "ack", "find", "ls", "cat", "jq", "sed", "awk", "echo",
    "printf", "man", "tldr", "which", "test", "[", "mkdir", "touch", "cd",
];

/// Programs that search texts by a pattern.
const SEARCHES: &[&str] = &[
    "grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "ugrep", "pcregrep", "ggrep", "awk", "jq",
];

impl Walker<'_> {
    /// Records a program that is told to show a secret.
    pub(super) fn shows_secrets(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        if name == "git" {
            return self.secrets_of_git(args, span);
        }
        if MENTIONS.contains(&name) && !matches!(name, "jq" | "awk") {
            return;
        }
        let printed = args.words().iter().find(|word| prints_variable(name, &word.text));
        if let Some(word) = printed {
            let subject = format!("{name}: the value of a variable");
            self.note(Fact::new(FactKind::SecretShow, subject).at(word.span.or(span)));
        }
        if MENTIONS.contains(&name) {
            return;
        }
        let shown = by_words(name, args)
            .or_else(|| uncovered(args))
            .or_else(|| by_platform(name, args))
            .or_else(|| by_store(name, args))
            .or_else(|| by_service(name, args))
            .or_else(|| in_texts(args))
            .or_else(|| decrypted(name, args))
            .or_else(|| kept_by_user(name, args));
        if let Some(subject) = shown {
            self.note(Fact::new(FactKind::SecretShow, subject).at(span));
        }
        if watches(name, args) {
            let subject = format!("{name}: a running process");
            self.note(Fact::new(FactKind::Capture, subject).at(span));
        }
    }

    /// Records credentials that git shows, searches for secrets in its history, and settings that
    /// contain a token: `git config --get-regexp extraheader`.
    fn secrets_of_git(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        const HOLDS: &[&str] = &["extraheader", "token", "passw", "secret", "oauth", "apikey"];
        let verb = args.operand(0).unwrap_or_default();
        if verb.starts_with("credential-") && args.operand(1) == Some("get") {
            self.note(Fact::new(FactKind::SecretShow, format!("git {verb} get")).at(span));
        }
        let everywhere = args.has("--all");
        let sought = args
            .values(&["-S", "-G"])
            .into_iter()
            .find(|word| is_shape(&word.text) || (everywhere && seeks_secret(&word.text)));
        let revisions = args.words().iter().any(|word| !word.is_known() || word.text == "--all");
        let mut words = args.words().iter().filter(|word| !word.text.starts_with('-'));
        let pattern = words.find(|word| verb == "grep" && revisions && seeks_secret(&word.text));
        if let Some(word) = sought.or_else(|| pattern.cloned()) {
            let subject = location::shown(&word.text).into_owned();
            self.note(Fact::new(FactKind::SecretSearch, subject).at(word.span.or(span)));
        }
        if verb != "config" {
            return;
        }
        let reads = args.words().iter().any(|word| word.text.starts_with("--get"))
            || args.operand(1) == Some("get");
        let key = args.words().iter().skip(1).find(|word| {
            let lower = word.text.to_ascii_lowercase();
            HOLDS.iter().any(|part| lower.contains(part))
        });
        if let Some(key) = key.filter(|_| reads || args.operands().len() == 2) {
            let subject = format!("git config {}", location::shown(&key.text));
            self.note(Fact::new(FactKind::SecretShow, subject).at(span));
        }
    }

    /// Records a search for secrets in a dump of variables, a history or a state: `env | grep -i
    /// token`.
    pub(super) fn filters_secrets(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        let dumped = stdin.taint.has(Tag::Secret) && stdin.taint.has(Tag::Local);
        if stdin.from_caller || !dumped || !SEARCHES.contains(&name) {
            return;
        }
        let counts = args.has_any(&["-q", "--quiet", "-c", "--count", "-v", "--invert-match"]);
        let patterns = searched(args);
        let variables = |word: &Arg| name == "jq" && word.text.contains(".Env");
        let secret = |word: &&Arg| seeks_secret(&word.text) || variables(word);
        if let Some(pattern) = patterns.iter().find(secret)
            && !counts
        {
            let subject = location::shown(&pattern.text).into_owned();
            self.note(Fact::new(FactKind::SecretSearch, subject).at(span));
        }
    }

    /// Records a search for secrets outside the project: `grep -r password /`, `rg
    /// 'AKIA[0-9A-Z]{16}' ~`.
    pub(super) fn greps_for_secrets(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let patterns = searched(args);
        let given = args.has_any(&["-e", "--regexp", "-f", "--file"]);
        let roots = args.operands().get(usize::from(!given)..).unwrap_or_default();
        let Some(pattern) = patterns.iter().find(|word| seeks_secret(&word.text)) else { return };
        if self.is_wide(roots) {
            let subject = location::shown(&pattern.text).into_owned();
            self.note(Fact::new(FactKind::SecretSearch, subject).at(span));
        }
    }

    /// Records scanners for secrets outside of the workspace, and names of secret files that an
    /// index or a finder is asked for.
    pub(super) fn scans_for_secrets(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        const FINDERS: &[&str] =
            &["locate", "plocate", "mlocate", "slocate", "mdfind", "fd", "fdfind", "fsearch"];
        let scans = has(words::SECRETS_SCANNERS, name);
        if !scans && !FINDERS.contains(&name) {
            return;
        }
        let outside = args.words().iter().any(|word| {
            let path = word.text.rsplit('=').next().unwrap_or(&word.text);
            path.starts_with(['/', '~']) && self.is_outside(path)
        });
        let finds = FINDERS.contains(&name) && (outside || !name.starts_with("fd"));
        let found = args.operands().iter().find(|word| {
            let name = word.text.trim_matches(['*', '^', '$', '/']).replace('\\', "");
            let seen = location::locate(&format!("/x/{name}"), &self.scene_now());
            !name.is_empty() && (seen.has(Tag::Secret) || seeks_secret(&name))
        });
        let subject = match found.filter(|_| finds) {
            Some(word) => location::shown(&word.text).into_owned(),
            None if scans && outside => name.to_owned(),
            None => return,
        };
        self.note(Fact::new(FactKind::SecretSearch, subject).at(span));
    }

    /// Records variables that a wrapper has provided: `op run -- env`, `kubectl exec pod --
    /// printenv`.
    pub(super) fn shows_given_variables(&mut self, wrapper: &str, words: &[Arg], command: &[Arg]) {
        let enters = words.iter().any(|word| {
            matches!(word.text.as_str(), "exec" | "--env-file")
                || word.text.starts_with("--env-file=")
        });
        let gives = has(words::SECRETS_STORES, wrapper)
            || has(words::SECRETS_PLATFORMS, wrapper)
            || (matches!(wrapper, "docker" | "podman" | "nerdctl" | "docker-compose") && enters);
        if let [only] = command
            && gives
            && matches!(only.text.as_str(), "env" | "printenv")
        {
            let subject = format!("{wrapper}: {}", only.text);
            self.note(Fact::new(FactKind::SecretShow, subject).at(only.span));
        }
    }

    /// Reports whether any of these folders is the root, a home or a system folder.
    fn is_wide(&self, roots: &[&Arg]) -> bool {
        let wide = Tags::of(&[Tag::Root, Tag::Top, Tag::HomeRoot, Tag::OtherHome]);
        let scene = self.scene_now();
        let is_wide = |path: &str| location::locate(path, &scene).any(wide);
        let settings = |path: &str| {
            let tags = location::locate(path, &scene);
            let hidden = path.split('/').any(|part| part.len() > 2 && part.starts_with('.'));
            tags.has(Tag::Home) && !tags.has(Tag::Workspace) && hidden
        };
        match roots {
            [] => scene.cwd.is_some_and(is_wide),
            roots => roots.iter().any(|root| is_wide(&root.text) || settings(&root.text)),
        }
    }

    fn is_outside(&self, path: &str) -> bool {
        let tags = location::locate(path, &self.scene_now());
        !tags.any(Tags::of(&[Tag::Workspace, Tag::WorkspaceRoot, Tag::Temp]))
    }
}

/// Reports whether the output of this program contains every variable, a whole state or a history.
pub(super) fn dumps_everything(name: &str, args: &Arguments<'_>) -> bool {
    let first = args.operand(0).unwrap_or_default();
    let second = args.operand(1).unwrap_or_default();
    match name {
        "terraform" | "tofu" | "terragrunt" | "pulumi" => {
            matches!((first, second), ("state", "pull" | "show") | ("stack", "export"))
                || matches!(first, "output" | "show")
        }
        "docker" | "podman" | "nerdctl" => {
            matches!(first, "inspect" | "history") || second == "inspect"
        }
        "docker-compose" => first == "config",
        "pbpaste" | "wl-paste" | "xclip" | "xsel" | "journalctl" | "lastcomm" | "compgen" => true,
        "systemctl" | "launchctl" => matches!(first, "show-environment" | "show" | "export"),
        "ps" => shows_environments(args),
        "strings" | "xargs" => {
            let memory = |name: &str| {
                name.starts_with("core.")
                    || [".dmp", ".core", ".mem", ".raw"].iter().any(|end| name.ends_with(end))
            };
            args.words().iter().any(|word| {
                word.text.contains("/environ") || memory(location::base_name(&word.text))
            })
        }
        "git" => match first {
            "config" => args.has_any(&["-l", "--list"]),
            "log" => args.has_any(&["-p", "--patch"]) && args.has("--all"),
            _ => false,
        },
        _ => false,
    }
}

/// Reports whether `ps` shows the environment of every process, with `e` among letters without a
/// dash: `ps eww`.
fn shows_environments(args: &Arguments<'_>) -> bool {
    let letters = |word: &&Arg| word.text.chars().all(|char| "aefjlmuvwxwT".contains(char));
    args.operands().iter().copied().filter(letters).any(|word| word.text.contains('e'))
}

/// Returns the patterns of a search.
fn searched(args: &Arguments<'_>) -> Vec<Arg> {
    let given = args.values(&["-e", "--regexp"]);
    if given.is_empty() {
        args.operands().first().copied().cloned().into_iter().collect()
    } else {
        given
    }
}

/// Reports whether a pattern has the form of a key or token.
fn is_shape(pattern: &str) -> bool {
    words::SECRETS_SHAPES.iter().any(|shape| pattern.contains(shape))
}

/// Reports whether a pattern searches for secrets.
fn seeks_secret(pattern: &str) -> bool {
    let lower = pattern.to_ascii_lowercase();
    is_shape(pattern)
        || words::SECRETS_PATTERNS.iter().any(|part| lower.contains(part))
        || lower
            .split(|char: char| !char.is_ascii_alphabetic())
            .any(|word| matches!(word, "key" | "keys" | "pass" | "pwd" | "auth" | "cred" | "creds"))
}
