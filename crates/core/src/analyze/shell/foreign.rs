//! Code from elsewhere: the source of code that a program installs or runs, by the form of the
//! word.
//!
//! The catalogue lists the programs that do that (`installs`). A name is looked up in the usual
//! registry, which needs no confirmation; an address, a repository on a forge, another registry and
//! a package without its signature do.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{Installs, Program};
use super::value::Arg;
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

impl Walker<'_> {
    /// Records code that a program is told to download from an address or from another registry.
    pub(super) fn code_from_elsewhere(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        let Some(program) = program else { return };
        self.named_by_a_download(name, program, args, span);
        if let Some(installs) = program.installs {
            let named = named_code(name, installs, args);
            if let Some(word) = named {
                let subject = format!("{name}: {}", location::shown(&word.text));
                self.note(Fact::new(FactKind::RemoteCode, subject).at(word.span.or(span)));
            }
            self.installed_into_system(args);
        }
        let runs_file = program.runs.as_ref().is_some_and(|runs| runs.file);
        if runs_file && let Some(word) = script_at_address(name, args) {
            let tags = Tags::of(&[Tag::Remote]);
            self.note(Fact::new(FactKind::RemoteCode, name).tagged(tags).at(word.span.or(span)));
        }
    }

    /// Records installations that replace programs of the system: `--prefix /usr`, `PREFIX=/usr`,
    /// `--to /usr/local/bin`.
    pub(super) fn installed_into_system(&mut self, args: &Arguments<'_>) {
        const PLACES: &[&str] = &[
            "prefix",
            "destdir",
            "root",
            "target",
            "to",
            "bindir",
            "sbindir",
            "libdir",
            "sysconfdir",
            "install-dir",
            "install-path",
            "exec-prefix",
            "dest",
            "bin-dir",
            "installdir",
        ];
        let installs = args.words().iter().any(|word| {
            let text = word.text.trim_start_matches('-');
            text == "install" || text.starts_with("install-") || has(words::SOURCES_INSTALLS, text)
        });
        let mut before = "";
        for word in args.words() {
            let text = word.text.as_str();
            let (key, value) = text.split_once('=').unwrap_or((before, text));
            before = text;
            let key = key.trim_start_matches("-D").trim_start_matches('-').to_ascii_lowercase();
            let key = key.rsplit("cmake_install_").next().unwrap_or(&key);
            if !PLACES.contains(&key) || !(installs || key == "to") {
                continue;
            }
            let tags = location::locate(value, &self.scene_now());
            if value.starts_with('/') && tags.any(Tags::of(&[Tag::System, Tag::Top, Tag::Root])) {
                self.note_path(FactKind::Write, &word.saying(value), Tags::NONE);
            }
        }
    }
}

/// Returns the word that names code from elsewhere.
fn named_code(name: &str, installs: Installs, args: &Arguments<'_>) -> Option<Arg> {
    let verb = Verb::of(installs, args);
    // `cargo add` adds a dependency to the manifest and runs nothing.
    if verb == Verb::Other || (name == "cargo" && args.operand(0) == Some("add")) {
        return None;
    }
    let is_module =
        |word: &str| name == "go" && matches!(verb, Verb::Runs { .. }) && is_module(word);
    let is_foreign = |word: &str| {
        let pinned = !name.starts_with("nix") && is_pinned(word);
        let tapped = name == "brew" && is_public_forge(word);
        is_foreign(word) && !pinned && !tapped || is_module(word)
    };
    let mut before = "";
    let mut places = 0;
    for word in args.words() {
        let text = word.text.as_str();
        let option = std::mem::replace(&mut before, text);
        if text == "--" {
            break;
        }
        if let Some(long) = text.strip_prefix('-') {
            let long = long.trim_start_matches('-');
            let (key, value) = long.split_once('=').unwrap_or((long, ""));
            if has(words::SOURCES_UNSIGNED, key) || is_foreign(value) {
                return Some(word.clone());
            }
            continue;
        }
        let is_operand = args.operands().iter().any(|operand| std::ptr::eq(*operand, word));
        places += usize::from(is_operand);
        let is_index = has(words::SOURCES_INDEXES, option.trim_start_matches('-'));
        let is_repository = installs == Installs::Repositories && is_repository(text);
        if is_foreign(text) || is_repository || (is_index && is_other_host(text)) {
            return Some(word.clone());
        }
        if is_operand && verb == (Verb::Runs { named_at: places }) {
            // The following words are for the program that is run.
            break;
        }
    }
    None
}

/// Returns an interpreter's script, or an option of its own, that is an address.
fn script_at_address<'w>(name: &str, args: &Arguments<'w>) -> Option<&'w Arg> {
    const WEB: &[&str] = &["http://", "https://", "ftp://", "data://", "php://input", "phar://"];
    let is_remote = |word: &&Arg| {
        let text = word.text.as_str();
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        let value = value.trim_matches(['"', '\'']);
        (WEB.iter().any(|start| value.starts_with(start)) && !value.contains(' '))
            || text.contains(":git/url")
    };
    // For these programs the first operand is a verb, and the second one is the script.
    let verbs = usize::from(matches!(name, "deno" | "bun"));
    let operands = args.operands();
    let scripts = operands.iter().take(verbs + 1).copied();
    let end = operands
        .get(verbs)
        .and_then(|script| args.words().iter().position(|word| std::ptr::eq(word, *script)));
    let own = args.words().get(..end.unwrap_or(args.words().len())).unwrap_or_default();
    let own = own.iter().filter(|word| word.text.starts_with('-') || !word.text.contains(' '));
    scripts.chain(own).find(is_remote)
}

/// The meaning of the words of a program that installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    /// Every word may name code.
    Gets,
    /// The operand at this position is run with the words after it.
    Runs { named_at: usize },
    /// Nothing is downloaded.
    Other,
}

impl Verb {
    fn of(installs: Installs, args: &Arguments<'_>) -> Self {
        match installs {
            Installs::All | Installs::Repositories => return Self::Gets,
            Installs::First => return Self::Runs { named_at: 1 },
            Installs::Verbs => {}
        }
        let options_install = args.options().any(|word| {
            let letters = word.text.strip_prefix('-').unwrap_or_default();
            let long = letters.strip_prefix('-');
            match long {
                Some(long) => has(words::SOURCES_INSTALLS, long) || long == "install-extension",
                None => letters.starts_with(['i', 'U', 'F']),
            }
        });
        for (at, word) in args.operands().iter().enumerate().take(3) {
            let text = word.text.as_str();
            if has(words::SOURCES_INSTALLS, text) {
                return Self::Gets;
            }
            if has(words::SOURCES_RUNS, text) {
                return Self::Runs { named_at: at + 2 };
            }
            if !has(words::SOURCES_NOUNS, text) {
                break;
            }
        }
        if options_install { Self::Gets } else { Self::Other }
    }
}

/// Reports whether a word is an address of code outside the usual sources.
fn is_foreign(word: &str) -> bool {
    if word.is_empty() || word.starts_with(UNKNOWN) || word.contains([' ', '\n']) {
        return false;
    }
    is_on_a_forge(word) || address(word).is_some_and(|host| !is_usual(host))
}

/// Reports whether a word names one fixed version of a repository on a forge:
/// `github:owner/name#v1.2`, `#4f2a…`.
fn is_pinned(word: &str) -> bool {
    let version = word.rsplit_once('#').map_or("", |(_, version)| version);
    let digits = version.strip_prefix('v').unwrap_or(version);
    is_on_a_forge(word)
        && (version.contains(UNKNOWN)
            || version.starts_with("semver:")
            || (digits.starts_with(|char: char| char.is_ascii_digit()) && digits.contains('.'))
            || (version.len() >= 7 && version.chars().all(|char| char.is_ascii_hexdigit())))
}

/// Reports whether an address is on one of the forges that usually host a package manager's own
/// package lists.
fn is_public_forge(word: &str) -> bool {
    address(word).is_some_and(|host| {
        matches!(host, "github.com" | "gitlab.com" | "bitbucket.org" | "codeberg.org")
    })
}

/// Returns the host of an address: `https://host/…`, `name@git+ssh://host/…`, `git@host:path`.
pub(super) fn address(word: &str) -> Option<&str> {
    if let Some((before, rest)) = word.split_once("://") {
        let scheme = before.rsplit(['@', '=', ',', ':']).next().unwrap_or(before);
        let known = scheme.split('+').any(|part| has(words::SOURCES_SCHEMES, part));
        let local = scheme.split('+').any(|part| part == "file");
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or(host);
        let host = host.split(':').next().unwrap_or(host);
        return (known && !local).then_some(host);
    }
    let (user, path) = word.split_once('@')?;
    let (host, path) = path.split_once(':')?;
    let is_host = host.contains('.') && path.contains('/');
    (user == "git" && is_host).then_some(host)
}

/// Reports whether a host is a usual registry, this machine, or unknown.
fn is_usual(host: &str) -> bool {
    host.contains(UNKNOWN)
        || (has(words::VARIABLES_REGISTRIES, host) && host != "github.com")
        || matches!(host, "localhost" | "127.0.0.1" | "[" | "")
}

/// Reports whether a word is of the form `github:owner/name`, but not `github:NixOS/nixpkgs`.
pub(super) fn is_on_a_forge(word: &str) -> bool {
    let bare = word.rsplit('@').next().filter(|rest| rest.contains(':')).unwrap_or(word);
    bare.split_once(':').is_some_and(|(forge, path)| {
        let owner = path.split('/').next().unwrap_or_default();
        has(words::SOURCES_FORGES, forge)
            && path.contains('/')
            && !path.starts_with('/')
            && !owner.eq_ignore_ascii_case("nixos")
    })
}

/// Reports whether a word is of the form `owner/name`, for words that cannot be anything else.
fn is_repository(word: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|char| char.is_ascii_alphanumeric() || "-_.".contains(char))
    };
    word.split_once('/').is_some_and(|(owner, name)| plain(owner) && plain(name))
}

/// Reports whether a word is a host without a scheme, where a registry is expected: `--trusted-host
/// pypi.example`.
fn is_other_host(word: &str) -> bool {
    let host = word.split(['/', ':']).next().unwrap_or_default();
    host.contains('.')
        && !word.contains(UNKNOWN)
        && !word.starts_with(['/', '.', '~'])
        && host.rsplit('.').next().is_some_and(|last| {
            last.len() > 1 && last.chars().all(|char| char.is_ascii_alphabetic())
        })
        && host.rsplit('.').next() != Some("local")
        && !is_usual(host)
}

/// Reports whether a word names a module that is downloaded and run:
/// `example.com/owner/tool@version`.
fn is_module(word: &str) -> bool {
    let Some((path, version)) = word.split_once('@') else { return false };
    // An explicit version is verified against a public checksum database.
    if version.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return false;
    }
    let mut parts = path.split('/');
    let host = parts.next().unwrap_or_default();
    let owner = parts.next().unwrap_or_default();
    host.contains('.')
        && !host.starts_with('.')
        && !has(words::SOURCES_MODULES, host)
        && !has(words::SOURCES_OWNERS, owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Context, Policy, Verdict, judge};

    fn verdict(command: &str) -> Verdict {
        let context = Context {
            home: Some("/home/dev".into()),
            workspace: Some("/home/dev/project".into()),
            cwd: Some("/home/dev/project".into()),
            ..Context::default()
        };
        let action = Action::Shell { command: command.into(), cwd: None };
        judge(&action, &Policy::default(), &context).verdict
    }

    #[test]
    fn addresses_are_recognised_by_their_form() {
        assert_eq!(address("https://example.com/a.tgz"), Some("example.com"));
        assert_eq!(address("name@git+ssh://git@example.com/a.git"), Some("example.com"));
        assert_eq!(address("git@example.com:a/b.git"), Some("example.com"));
        assert_eq!(address("git+file:///srv/a"), None);
        assert_eq!(address("react@18"), None);
        assert!(is_on_a_forge("github:owner/name#main"));
        assert!(!is_on_a_forge("github:NixOS/nixpkgs"));
        assert!(!is_on_a_forge("nixpkgs#hello"));
        assert!(is_module("example.com/owner/tool@latest"));
        assert!(!is_module("golang.org/x/tools/cmd/goimports@latest"));
    }

    #[test]
    fn code_from_an_address_asks() {
        for command in [
            "luarocks install https://example.com/a.rockspec",
            "gem install a --source https://gems.example.com",
            "uv tool install git+https://example.com/a.git",
            "pnpm dlx -p a@https://example.com/a.tgz a",
            "opam pin add a git+https://example.com/a.git",
            "jbang https://example.com/A.java",
            "bun x github:owner/name",
            "julia https://example.com/a.jl",
            "go run example.com/owner/tool@latest",
            "dnf install --nogpgcheck a",
            "poetry source add a https://pypi.example.com/simple",
            "pip install --trusted-host pypi.example.com a",
            "cookiecutter gh:owner/template",
            "cargo install a --root /usr/local",
            "make install PREFIX=/usr",
            "npm install --registry https://npm.example.com a",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
    }

    #[test]
    fn the_usual_registries_stay_quiet() {
        for command in [
            "pip install --index-url https://download.pytorch.org/whl/cpu torch",
            "npm install --registry https://registry.npmjs.org left-pad",
            "npx lighthouse https://example.com",
            "cargo install ripgrep",
            "go run ./cmd/tool",
            "go run golang.org/x/tools/cmd/goimports@latest -l .",
            "nix run nixpkgs#hello",
            "npm view https://example.com/a.tgz",
            "make install DESTDIR=/tmp/stage",
            "python3 fetch.py https://example.com",
            "gem install rails",
        ] {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }
}
