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
    /// The second word after this one is the password.
    Second(&'static str),
    /// The last word is the password, where this flag was given.
    Last(&'static str),
    /// Any word may be `user/password@database`.
    Slash,
    /// What is piped in is the password, where this flag was given.
    Piped(&'static str),
    /// What is piped in is `user:password`.
    PipedPair,
}

use Taking::{After, Glued, Last, Pair, Percent, Piped, PipedPair, Second, Slash, Word};

/// A program, and every way it takes a secret.
#[derive(Debug)]
struct Program {
    name: &'static str,
    takings: &'static [Taking],
    /// Its flags mean a password only when it signs in.
    signs_in: bool,
}

const fn always(name: &'static str, takings: &'static [Taking]) -> Program {
    Program { name, takings, signs_in: false }
}

const fn signing(name: &'static str, takings: &'static [Taking]) -> Program {
    Program { name, takings, signs_in: true }
}

/// Every program that takes one, sorted by name.
const PROGRAMS: &[Program] = &[
    always("7z", &[Glued("-p")]),
    signing("az", &[Word("-p")]),
    always("bcp", &[Word("-P")]),
    signing("buildah", &[Word("-p")]),
    signing("cf", &[Word("-p")]),
    always("chpasswd", &[PipedPair]),
    always("crackmapexec", &[Word("-p")]),
    signing("crane", &[Word("-p")]),
    always("curl", &[Pair("-u"), Pair("--user"), Pair("-U"), Pair("--proxy-user")]),
    signing("docker", &[Word("-p")]),
    always("evil-winrm", &[Word("-p")]),
    signing("helm", &[Word("-p")]),
    always("htpasswd", &[Last("-b")]),
    always("http", &[Pair("-a"), Pair("--auth")]),
    always("https", &[Pair("-a"), Pair("--auth")]),
    always("hydra", &[Word("-p")]),
    always("ipmitool", &[Word("-P")]),
    always("ldapadd", &[Word("-w")]),
    always("ldapmodify", &[Word("-w")]),
    always("ldapsearch", &[Word("-w")]),
    always("lftp", &[Pair("-u")]),
    always("mariadb", &[Glued("-p")]),
    always("mongo", &[Word("-p")]),
    always("mongodump", &[Word("-p")]),
    always("mongorestore", &[Word("-p")]),
    always("mongosh", &[Word("-p")]),
    always("mstsc", &[Glued("/p:")]),
    always("mysql", &[Glued("-p")]),
    always("mysqladmin", &[Glued("-p")]),
    always("mysqldump", &[Glued("-p")]),
    always("mysqlimport", &[Glued("-p")]),
    signing("nerdctl", &[Word("-p")]),
    always("net", &[Second("use")]),
    always("netexec", &[Word("-p")]),
    always("ngrok", &[After("authtoken"), After("add-authtoken")]),
    signing("oc", &[Word("-p")]),
    always("openssl", &[Glued("pass:"), Word("-k")]),
    signing("podman", &[Word("-p")]),
    always("psexec", &[Word("-p")]),
    always("psexec.exe", &[Word("-p")]),
    always("psexec64", &[Word("-p")]),
    always("rabbitmqctl", &[Second("add_user"), Second("change_password")]),
    always("rar", &[Glued("-p")]),
    always("redis-cli", &[Word("-a")]),
    always("rpcclient", &[Percent("-U")]),
    signing("skopeo", &[Word("-p")]),
    always("smbclient", &[Percent("-U")]),
    always("snmpget", &[Word("-A"), Word("-X")]),
    always("snmpwalk", &[Word("-A"), Word("-X")]),
    always("sqlcmd", &[Word("-P")]),
    always("sqlplus", &[Slash]),
    always("sshpass", &[Word("-p"), Glued("-p")]),
    always("sudo", &[Piped("-S")]),
    always("unzip", &[Word("-P")]),
    always("vault", &[After("unseal"), After("login")]),
    always("wget", &[Pair("-u")]),
    always("wpa_passphrase", &[Second("wpa_passphrase")]),
    always("xfreerdp", &[Glued("/p:")]),
    always("xh", &[Pair("-a"), Pair("--auth")]),
    always("zip", &[Word("-P")]),
];

/// Follows one command at a time.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Nothing before this place is looked at again.
    walked: usize,
}

impl Commands {
    /// Takes a word; if it is a program that takes secrets, reads its command line.
    pub(super) fn word(&mut self, text: Text<'_>, start: usize, end: usize, hits: &mut Hits) {
        if start < self.walked || Class::WORD.has(text.at(end)) {
            return;
        }
        let Some(program) = program(text.cut(start, end)) else { return };
        if is_operand(text, start) {
            return;
        }
        if program.takings.contains(&PipedPair) {
            piped(text, start, |word, at| pair(word, at, ':', hits));
        }
        if Class::SPACE.has(text.at(end)) {
            self.walked = follow(text, program, (start, end), hits);
        }
    }
}

/// Whether the word belongs to an option before it, as in `-name mysql`.
fn is_operand(text: Text<'_>, start: usize) -> bool {
    let before = text.back(start, 32).trim_end_matches([' ', '\t']);
    before.rsplit([' ', '\t', '\n']).next().is_some_and(takes_operand)
}

/// Whether an option of a whole word after one dash, as `find` has them, stands there.
fn takes_operand(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.len() > 2
}

fn program(word: &str) -> Option<&'static Program> {
    let place = PROGRAMS.binary_search_by(|program| compare(program.name, word)).ok()?;
    PROGRAMS.get(place)
}

/// What has been read of a command line.
struct Line<'a> {
    program: &'static Program,
    start: usize,
    /// The words before the one at hand, the nearest first.
    before: [&'a str; 2],
    signing: bool,
    /// The last word so far.
    last: Option<(&'a str, usize)>,
    batch: bool,
}

/// Reads the arguments up to the end of the command. Returns where that is.
fn follow(
    text: Text<'_>,
    program: &'static Program,
    (start, from): (usize, usize),
    hits: &mut Hits,
) -> usize {
    let mut line = Line {
        program,
        start,
        before: [program.name, ""],
        signing: false,
        last: None,
        batch: false,
    };
    let mut at = from;
    while let Some((start, end)) = argument(text, at) {
        let raw = text.cut(start, end);
        let word = unquoted(raw);
        let word_at = start + raw.find(word).unwrap_or(0);
        let base = word.rsplit(['/', '\\']).next().unwrap_or(word);
        if let Some(other) = self::program(base).filter(|_| !takes_operand(line.before[0])) {
            line = Line {
                program: other,
                start,
                before: ["", ""],
                signing: false,
                last: None,
                batch: false,
            };
        }
        line.signing |= is_any(word, &["login", "registry", "create-for-rbac", "auth"]);
        if line.signing || !line.program.signs_in {
            for taking in line.program.takings {
                take(text, *taking, &mut line, (word, word_at), hits);
            }
        }
        line.before = [word, line.before[0]];
        line.last = Some((word, word_at));
        at = end;
    }
    if let Some((word, at)) = line.last.filter(|_| line.batch) {
        password(word, at, hits);
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
    line: &mut Line<'_>,
    (word, at): (&str, usize),
    hits: &mut Hits,
) {
    let [previous, second] = line.before;
    match taking {
        Pair(flag) => flagged_pair(flag, ':', previous, (word, at), hits),
        Percent(flag) => flagged_pair(flag, '%', previous, (word, at), hits),
        Word(flag) if previous == flag => password(word, at, hits),
        Second(flag) if second == flag && is_chosen(word) => password(word, at, hits),
        Glued(flag) => {
            if let Some(rest) = word.strip_prefix(flag) {
                let inner = unquoted(rest);
                password(inner, at + flag.len() + rest.find(inner).unwrap_or(0), hits);
            }
        }
        After(flag) if previous == flag && is_random(word, 16) => {
            hits.named("token", at, at + word.len());
        }
        Last(flag) => line.batch |= word.starts_with('-') && word.contains(flag),
        Slash => slash(word, at, hits),
        Piped(flag) if word == flag => piped(text, line.start, |word, at| password(word, at, hits)),
        Piped(flag) if second == flag && previous == "<<<" => password(word, at, hits),
        Word(_) | Second(_) | After(_) | Piped(_) | PipedPair => {}
    }
}

fn flagged_pair(
    flag: &str,
    mark: char,
    previous: &str,
    (word, at): (&str, usize),
    hits: &mut Hits,
) {
    if previous == flag {
        return pair(word, at, mark, hits);
    }
    let Some(rest) = word.strip_prefix(flag) else { return };
    if let Some(rest) = rest.strip_prefix('=') {
        pair(rest, at + flag.len() + 1, mark, hits);
    } else if !flag.starts_with("--") {
        pair(rest, at + flag.len(), mark, hits);
    }
}

/// Hands on what `echo` pipes into the command that starts there.
fn piped(text: Text<'_>, start: usize, found: impl FnOnce(&str, usize)) {
    let before = text.back(start, 160);
    let Some((given, _)) = before.rsplit_once('|') else { return };
    let Some((_, given)) = given.rsplit_once("echo ") else { return };
    let given = given.trim_start_matches("-n ").trim_start_matches("-e ");
    let word = unquoted(given.trim());
    let from = start - before.len();
    let Some(at) = before.rfind(word).filter(|_| !word.is_empty() && !word.contains(' ')) else {
        return;
    };
    found(word, from + at);
}

/// Masks what is piped into a command with an option that takes a secret so.
pub(super) fn piped_in(text: Text<'_>, start: usize, hits: &mut Hits) {
    piped(text, start, |word, at| password(word, at, hits));
}

/// `user/password@database`
fn slash(word: &str, at: usize, hits: &mut Hits) {
    let Some((user, rest)) = word.split_once('/') else { return };
    let given = rest.rsplit_once('@').map_or(rest, |(password, _)| password);
    if !user.is_empty() && !user.starts_with('-') {
        password(given, at + user.len() + 1, hits);
    }
}

/// `user:password`; a drawn user without a password is a key.
fn pair(word: &str, at: usize, mark: char, hits: &mut Hits) {
    let quotes = ['"', '\''];
    let at = at + (word.len() - word.trim_start_matches(quotes).len());
    let word = word.trim_matches(quotes);
    let Some((user, given)) = word.split_once(mark).filter(|_| !is_reference(word)) else { return };
    let password = given.trim_matches(quotes);
    let start = at + user.len() + 1 + (given.len() - given.trim_start_matches(quotes).len());
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
        assert!(PROGRAMS.is_sorted_by(|left, right| left.name < right.name));
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
