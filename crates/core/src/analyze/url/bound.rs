//! The origins of a session, for network access other than pages: the commands of a script, and the
//! servers that code connects to.

use crate::analyze::{Analysis, Invocation, UNKNOWN};
use crate::fact::{Fact, FactKind};
use crate::location::Scene;

/// Programs whose operands are servers even without a scheme.
const REACHES: [&str; 26] = [
    "aria2c", "curl", "curlie", "dig", "ftp", "git", "http", "https", "lftp", "lynx", "nc", "ncat",
    "netcat", "ping", "rsync", "scp", "sftp", "socat", "ssh", "telnet", "w3m", "wget", "wget2",
    "websocat", "xh", "xhs",
];

/// Programs whose operands may also be files or words of their own, so that a name counts as a
/// server only in the form `user@host` or `host:path`.
const MIXED: [&str; 4] = ["git", "rsync", "scp", "socat"];

/// Returns facts about servers outside the allowed origins that the commands of an action reach.
pub(crate) fn outside(analysis: &Analysis, scene: &Scene<'_>) -> Vec<Fact> {
    if scene.context.allowed_origins.is_none() {
        return Vec::new();
    }
    let mut facts: Vec<Fact> = Vec::new();
    for command in &analysis.commands {
        for address in addresses(command) {
            facts.extend(foreign(&address, scene).map(|fact| fact.at(command.span)));
        }
    }
    // Servers that a fetch or a send names, in any form.
    let reaching = [FactKind::Fetch, FactKind::Send, FactKind::RemoteDelete, FactKind::RemoteCode];
    for fact in analysis.facts.iter().filter(|fact| reaching.contains(&fact.kind)) {
        let urls = fact.subject.split_whitespace().filter(|word| word.contains("://"));
        facts.extend(urls.filter_map(|url| foreign(url, scene)).map(|one| one.at(fact.span)));
    }
    facts.dedup();
    facts
}

/// Returns the addresses among the words of one command.
fn addresses(command: &Invocation) -> impl Iterator<Item = String> {
    let program = command.program.as_str();
    let reaches = REACHES.contains(&program);
    let mixed = MIXED.contains(&program);
    let spelt = command.words.iter().filter(|word| word.contains("://")).map(|word| {
        // `--url=https://…` names it as well.
        let from = word.split('=').find(|part| part.contains("://")).unwrap_or(word);
        from.trim_matches(['"', '\'']).to_owned()
    });
    let bare = command.operands().filter(move |word| reaches && !word.contains("://"));
    let named =
        bare.filter_map(move |word| host(word, mixed)).map(|host| format!("https://{host}"));
    spelt.chain(named).collect::<Vec<_>>().into_iter()
}

/// Returns the server that a word without a scheme names.
fn host(word: &str, mixed: bool) -> Option<String> {
    let (before, path) = word.split_once(':').map_or((word, None), |(a, b)| (a, Some(b)));
    let server = before.rsplit('@').next().unwrap_or(before);
    let marked = before.contains('@') || path.is_some();
    let name = server.split('/').next().unwrap_or(server);
    let sound = name.contains('.')
        && !name.starts_with('.')
        && name.chars().all(|char| char.is_alphanumeric() || matches!(char, '.' | '-' | UNKNOWN));
    (sound && (marked || !mixed)).then(|| name.to_owned())
}

/// Returns a fact if an address is not among the origins.
fn foreign(address: &str, scene: &Scene<'_>) -> Option<Fact> {
    let told = super::facts(address, scene);
    told.into_iter().find(|fact| matches!(fact.kind, FactKind::UrlForeign | FactKind::UrlInvalid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::shell;
    use crate::context::Context;

    fn is_outside(command: &str) -> bool {
        let context =
            Context { allowed_origins: Some(vec!["example.com".to_owned()]), ..Context::default() };
        let scene = Scene::new(&context, &[]);
        !outside(&shell::analyze(command, &scene), &scene).is_empty()
    }

    #[test]
    fn commands_stay_within_the_origins_of_the_session() {
        for command in [
            "curl https://example.org/x",
            "curl example.org",
            "wget -q --post-file=a http://example.org",
            "git clone https://example.org/a.git",
            "git clone git@example.org:a.git",
            "scp a.txt me@example.org:b",
            "ssh example.org",
            "cd a && curl https://notexample.com | jq .",
        ] {
            assert!(is_outside(command), "{command}");
        }
        for command in [
            "curl https://example.com/x",
            "curl https://api.example.com/x -o out.json",
            "git add main.rs",
            "git status",
            "ls example.org",
            "scp a.txt b.txt",
        ] {
            assert!(!is_outside(command), "{command}");
        }
    }
}
