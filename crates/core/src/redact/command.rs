//! Credentials on a command line whose flags do not spell out what they carry.
//!
//! `--password x` is left to `assign.rs`; here are `curl -u`, `mysql -p`, `docker login -p` and the
//! like, where only the program says what a letter means.

use super::{
    Hits,
    fake::{is_blank, is_chosen, is_placeholder, is_random, is_reference},
    text::{Class, Text, is_any},
    words::compare,
};

/// How a program takes a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taking {
    /// The flag's argument is `user:password`.
    Pair(&'static str),
    /// The flag's argument is `user%password`.
    Percent(&'static str),
    /// The flag's argument is the password.
    Word(&'static str),
    /// The password is glued to the flag.
    Glued(&'static str),
    /// The word after this one is drawn.
    After(&'static str),
}

use Taking::{After, Glued, Pair, Percent, Word};

/// Programs, and every way they take a secret.
const PROGRAMS: &[(&str, &[Taking])] = &[
    ("7z", &[Glued("-p")]),
    ("az", &[Word("-p")]),
    ("bcp", &[Word("-P")]),
    ("buildah", &[Word("-p")]),
    ("cf", &[Word("-p")]),
    ("crackmapexec", &[Word("-p")]),
    ("crane", &[Word("-p")]),
    ("curl", &[Pair("-u"), Pair("--user"), Pair("-U"), Pair("--proxy-user")]),
    ("docker", &[Word("-p")]),
    ("evil-winrm", &[Word("-p")]),
    ("helm", &[Word("-p")]),
    ("http", &[Pair("-a"), Pair("--auth")]),
    ("https", &[Pair("-a"), Pair("--auth")]),
    ("hydra", &[Word("-p")]),
    ("ipmitool", &[Word("-P")]),
    ("ldapadd", &[Word("-w")]),
    ("ldapmodify", &[Word("-w")]),
    ("ldapsearch", &[Word("-w")]),
    ("lftp", &[Pair("-u")]),
    ("mariadb", &[Glued("-p")]),
    ("mongo", &[Word("-p")]),
    ("mongodump", &[Word("-p")]),
    ("mongorestore", &[Word("-p")]),
    ("mongosh", &[Word("-p")]),
    ("mstsc", &[Glued("/p:")]),
    ("mysql", &[Glued("-p")]),
    ("mysqladmin", &[Glued("-p")]),
    ("mysqldump", &[Glued("-p")]),
    ("mysqlimport", &[Glued("-p")]),
    ("nerdctl", &[Word("-p")]),
    ("netexec", &[Word("-p")]),
    ("ngrok", &[After("authtoken"), After("add-authtoken")]),
    ("oc", &[Word("-p")]),
    ("openssl", &[Glued("pass:")]),
    ("podman", &[Word("-p")]),
    ("psexec", &[Word("-p")]),
    ("psexec.exe", &[Word("-p")]),
    ("psexec64", &[Word("-p")]),
    ("rar", &[Glued("-p")]),
    ("redis-cli", &[Word("-a")]),
    ("rpcclient", &[Percent("-U")]),
    ("skopeo", &[Word("-p")]),
    ("smbclient", &[Percent("-U")]),
    ("sqlcmd", &[Word("-P")]),
    ("sshpass", &[Word("-p"), Glued("-p")]),
    ("unzip", &[Word("-P")]),
    ("vault", &[After("unseal"), After("login")]),
    ("wget", &[Pair("-u")]),
    ("xfreerdp", &[Glued("/p:")]),
    ("xh", &[Pair("-a"), Pair("--auth")]),
    ("zip", &[Word("-P")]),
];

/// Programs whose `-p` means a password only when they sign in.
const SIGNING_IN: &[&str] =
    &["docker", "podman", "nerdctl", "buildah", "skopeo", "crane", "helm", "oc", "az", "cf"];

/// Follows one command at a time.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Nothing before this place is looked at again.
    walked: usize,
}

impl Commands {
    /// Takes a word; if it is a program that takes secrets, reads its command line.
    pub(super) fn word(&mut self, text: Text<'_>, start: usize, end: usize, hits: &mut Hits) {
        if start < self.walked || !matches!(text.at(end), b' ' | b'\t') {
            return;
        }
        let program = program(text.cut(start, end)).filter(|_| !is_operand(text, start));
        let Some(program) = program else { return };
        self.walked = follow(text, program, end, hits);
    }
}

/// Whether the word belongs to an option before it, as in `-name mysql`.
fn is_operand(text: Text<'_>, start: usize) -> bool {
    let before = text.cut(start.saturating_sub(32), start).trim_end_matches([' ', '\t']);
    before.rsplit([' ', '\t', '\n']).next().is_some_and(|word| word.starts_with('-'))
}

fn program(word: &str) -> Option<&'static (&'static str, &'static [Taking])> {
    let place = PROGRAMS.binary_search_by(|(name, _)| compare(name, word)).ok()?;
    PROGRAMS.get(place)
}

/// Reads the arguments up to the end of the command. Returns where that is.
fn follow(
    text: Text<'_>,
    first: &'static (&'static str, &'static [Taking]),
    from: usize,
    hits: &mut Hits,
) -> usize {
    let (mut name, mut takings) = *first;
    let mut at = from;
    let mut previous = "";
    let mut signing = false;
    while let Some((start, end)) = argument(text, at) {
        let word = unquoted(text.cut(start, end));
        if let Some((other, theirs)) = program(word) {
            (name, takings, signing) = (other, theirs, false);
        }
        signing |= is_any(word, &["login", "registry", "create-for-rbac", "auth"]);
        if signing || !is_any(name, SIGNING_IN) {
            for taking in takings {
                take(text, *taking, previous, (start, end), hits);
            }
        }
        previous = word;
        at = end;
    }
    at
}

/// The next argument of the command, or nothing where the command ends.
fn argument(text: Text<'_>, from: usize) -> Option<(usize, usize)> {
    let mut start = text.run(from, Class::SPACE);
    while text.at(start) == b'\\' && matches!(text.at(start + 1), b'\n' | b'\r') {
        start = text.run(start + 2, Class::BLANK);
    }
    if start >= text.len() || matches!(text.at(start), b'\n' | b'\r' | b';' | b'|' | b'&') {
        return None;
    }
    let mut quote = 0;
    let mut end = start;
    while end < text.len() {
        let byte = text.at(end);
        match byte {
            b'\n' => break,
            b' ' | b'\t' | b';' | b'|' | b'&' | b'\r' if quote == 0 => break,
            b'"' | b'\'' if quote == 0 => quote = byte,
            _ if byte == quote => quote = 0,
            _ => {}
        }
        end += 1;
    }
    (end > start).then_some((start, end))
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\''])
}

fn take(
    text: Text<'_>,
    taking: Taking,
    previous: &str,
    (start, end): (usize, usize),
    hits: &mut Hits,
) {
    let raw = text.cut(start, end);
    let word = unquoted(raw);
    let word_at = start + raw.find(word).unwrap_or(0);
    match taking {
        Pair(flag) | Percent(flag) => {
            let mark = if matches!(taking, Pair(_)) { ':' } else { '%' };
            if let Some(rest) =
                word.strip_prefix(flag).filter(|rest| !rest.is_empty() && !flag.starts_with("--"))
            {
                pair(rest, word_at + flag.len(), mark, hits);
            } else if let Some(rest) =
                word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('='))
            {
                pair(rest, word_at + flag.len() + 1, mark, hits);
            } else if previous == flag {
                pair(word, word_at, mark, hits);
            }
        }
        Word(flag) if previous == flag => password(word, word_at, hits),
        Glued(flag) => {
            if let Some(rest) = word.strip_prefix(flag) {
                let rest_at = word_at + flag.len();
                let inner = unquoted(rest);
                password(inner, rest_at + rest.find(inner).unwrap_or(0), hits);
            }
        }
        After(flag) if previous == flag && is_random(word, 16) => {
            hits.named("token", word_at, word_at + word.len());
        }
        Word(_) | After(_) => {}
    }
}

/// `user:password`; a drawn user without a password is a key.
fn pair(word: &str, at: usize, mark: char, hits: &mut Hits) {
    let word = word.trim_matches(['"', '\'']);
    let Some((user, password)) = word.split_once(mark).filter(|_| !is_reference(word)) else {
        return;
    };
    let password = password.trim_matches(['"', '\'']);
    let start = at + user.len() + 1;
    if password.is_empty() {
        if is_random(user, 12) {
            hits.named("token", at, at + user.len());
        }
    } else if password.len() >= 3
        && !is_placeholder(password)
        && !is_blank(user)
        && !password.eq_ignore_ascii_case(user)
    {
        hits.named("password", start, start + password.len());
    }
}

fn password(word: &str, at: usize, hits: &mut Hits) {
    let said = is_chosen(word) || word.bytes().all(|byte| Class::URL64.has(byte));
    if word.len() >= 4 && said && !is_placeholder(word) && !word.starts_with(['-', '$', '/', '`']) {
        hits.named("password", at, at + word.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{redact, scan};

    #[test]
    fn programs_are_sorted() {
        assert!(PROGRAMS.is_sorted_by(|left, right| left.0 < right.0));
    }

    #[test]
    fn passwords_behind_letters_are_masked() {
        for (source, masked) in [
            ("curl -u ann:tr0ub4dor https://h", "curl -u ann:[redacted:password] https://h"),
            ("curl -s --user 'ann:tr0ub4dor' h", "curl -s --user 'ann:[redacted:password]' h"),
            ("mysql -u root -ptr0ub4dor db", "mysql -u root -p[redacted:password] db"),
            ("docker login -u ann -p tr0ub4dor", "docker login -u ann -p [redacted:password]"),
            ("sshpass -p 'tr0ub4dor' ssh ann@h", "sshpass -p '[redacted:password]' ssh ann@h"),
            (
                "PsExec \\\\h -u ann -p tr0ub4dor cmd",
                "PsExec \\\\h -u ann -p [redacted:password] cmd",
            ),
        ] {
            assert_eq!(redact(source).text, masked);
        }
    }

    #[test]
    fn the_same_letters_elsewhere_are_left() {
        for source in [
            "curl -u ann https://h",
            "curl -u \"$USER:$PASS\" h",
            "curl -u test:test h",
            "docker run -p 8080:80 nginx",
            "mkdir -p build/out1",
            "mysql -u root -p db",
            "curl -u username:password h",
            "cp -p file1 file2",
        ] {
            assert!(scan(source).is_empty(), "{source}");
        }
    }
}
