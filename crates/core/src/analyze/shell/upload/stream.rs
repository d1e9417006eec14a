//! Streams, messages and words that carry local data to another machine.

use super::LOCAL;
use super::destination::{is_elsewhere, is_file, is_public_number};
use crate::analyze::UNKNOWN;
use crate::analyze::shell::Walker;
use crate::analyze::shell::arguments::Arguments;
use crate::analyze::shell::catalogue::{Code, Program};
use crate::analyze::shell::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

impl Walker<'_> {
    /// Records `telegram-send --file report.csv` and `sendxmpp someone < report.csv`.
    pub(super) fn messages(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        if !has(words::SENDS_MESSENGERS, name) {
            return;
        }
        let files = args.words().iter().filter(|word| is_file(word) && !word.text.contains('@'));
        for file in files {
            self.note_path(FactKind::Send, file, LOCAL);
        }
        self.told_words(args);
        let attaches = args
            .words()
            .iter()
            .find(|word| word.text.contains("attachment=") || word.text.contains("attach="));
        if let Some(word) = attaches {
            let fact = Fact::new(FactKind::Send, location::shown(&word.text)).tagged(LOCAL);
            self.note(fact.at(word.span.or(span)));
        }
        let redirected = stdin.text.is_none() && stdin.taint.has(Tag::Local);
        if redirected && !stdin.from_caller {
            self.sends_stream(stdin, span);
        }
    }

    /// Records `restic -r sftp:host:/x backup ~/project` and `borg create host:repo::name .`.
    pub(super) fn backs_up(&mut self, name: &str, args: &Arguments<'_>) {
        const PROGRAMS: &[&str] = &[
            "restic",
            "rustic",
            "borg",
            "duplicity",
            "rdiff-backup",
            "kopia",
            "unison",
            "bup",
            "duplicacy",
            "csync",
            "bbcp",
            "fpsync",
            "zbackup",
            "rdup",
            "tarsnap",
            "attic",
        ];
        if !PROGRAMS.contains(&name) {
            return;
        }
        let mut places = args.values(&["-r", "--repo", "--repository"]);
        places.extend(args.operands().iter().map(|word| (*word).clone()));
        let is_remote = |word: &Arg| {
            let kind = word.text.split(':').next().unwrap_or_default();
            let local = kind.is_empty() || matches!(kind, "local" | "file");
            let disk = word.text.starts_with(['/', '.', '~']);
            location::is_remote(&word.text) && !local && !disk
        };
        let looks = args.operand(0).is_some_and(|verb| {
            matches!(
                verb,
                "list" | "snapshots" | "restore" | "extract" | "check" | "info" | "mount"
            )
        });
        if looks || !places.iter().any(is_remote) {
            return;
        }
        for file in places.iter().filter(|word| word.text.starts_with(['.', '/', '~'])) {
            self.note_path(FactKind::Send, file, LOCAL);
        }
    }

    /// Records `gst-launch-1.0 filesrc location=x ! tcpclientsink host=example.com`.
    pub(super) fn through_pipeline(&mut self, name: &str, args: &Arguments<'_>) {
        if !name.starts_with("gst-launch") {
            return;
        }
        let sinks = ["clientsink", "udpsink", "rtmpsink", "rtmp2sink", "shout2send", "srtsink"];
        let sends =
            args.words().iter().any(|word| sinks.iter().any(|sink| word.text.contains(sink)));
        for word in args.words().iter().filter(|_| sends) {
            if let Some(file) = word.text.strip_prefix("location=") {
                self.note_path(FactKind::Send, &word.saying(file), LOCAL);
            }
        }
    }

    /// Records output that is piped into a database elsewhere: `pg_dump app | psql -h
    /// db.example.com`.
    pub(super) fn fed_to_database(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        let is_client = has(words::SENDS_DATABASES, name)
            || program
                .and_then(|program| program.runs.as_ref())
                .is_some_and(|runs| runs.language == Code::Sql);
        if !is_client {
            return;
        }
        let mut hosts = args.values(&["-h", "--host", "-S", "--uri", "-d", "--dbname", "--url"]);
        hosts.extend(args.operands().iter().map(|word| (*word).clone()));
        let elsewhere = |host: &Arg| {
            (host.text.contains("://") || host.text.contains('.')) && is_elsewhere(&host.text)
        };
        let known = stdin.text.is_some() || stdin.taint.any(Tags::of(&[Tag::Local, Tag::Fetched]));
        let nameless = hosts.iter().any(|host| is_public_number(&host.text));
        if nameless {
            self.told_words(args);
            for file in args.values(&["-f", "--file"]) {
                self.note_path(FactKind::Send, &file, LOCAL);
            }
        }
        if (nameless || !known && hosts.iter().any(elsewhere)) && !stdin.from_caller {
            self.sends_stream(stdin, span);
        }
    }

    /// Records data in the name of a user or a machine, and encoded data in a path:
    /// `https://$(base64 notes.txt)@example.com`.
    pub(super) fn in_host_names(&mut self, args: &Arguments<'_>) {
        for word in args.words().iter().filter(|word| word.taint.has(Tag::Local)) {
            let Some((_, rest)) = word.text.split_once("://") else { continue };
            let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            let path = rest.get(host.len()..).unwrap_or_default();
            let encoded = path.contains(UNKNOWN) && word.taint.has(Tag::Encoded);
            if host.contains(UNKNOWN) && host.contains('.') || encoded {
                let fact =
                    Fact::new(FactKind::Send, location::shown(&word.text)).tagged(word.taint);
                self.note(fact.at(word.span));
            }
        }
    }

    /// Records a repository pushed to a remote that this script has added, or data in a message.
    pub(super) fn pushed(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        self.encoded_words(args);
        let (Some("push"), Some(remote)) = (args.operand(0), args.operand(1)) else { return };
        let usual = matches!(remote, "origin" | "upstream" | "fork");
        let added = self.analysis.commands.iter().any(|command| {
            let words: Vec<&str> = command.operands().collect();
            command.program == "git"
                && matches!(words.as_slice(), ["remote", "add" | "set-url", name, ..] if *name == remote)
        });
        if added && !usual {
            let fact = Fact::new(FactKind::Send, format!("git push {remote}")).tagged(LOCAL);
            self.note(fact.at(span));
        }
    }

    /// Records encoded files in words that are sent to others.
    pub(in crate::analyze::shell) fn encoded_words(&mut self, args: &Arguments<'_>) {
        let encoded = |word: &&Arg| {
            let signs_in = word.text.to_ascii_lowercase().contains("authorization");
            word.taint.has(Tag::Local) && word.taint.has(Tag::Encoded) && !signs_in
        };
        for word in args.words().iter().filter(encoded) {
            let fact = Fact::new(FactKind::Send, location::shown(&word.text)).tagged(word.taint);
            self.note(fact.at(word.span));
        }
    }

    /// Records data in the words of a program that sends its words.
    pub(super) fn told_words(&mut self, args: &Arguments<'_>) {
        for word in args.words().iter().filter(|word| word.taint.has(Tag::Local)) {
            let fact = Fact::new(FactKind::Send, location::shown(&word.text)).tagged(word.taint);
            self.note(fact.at(word.span));
        }
    }

    /// Follows `lftp -c 'open host; mirror -R . x'` and `cadaver https://x <<< 'put report.csv'`.
    pub(super) fn commands_of_clients(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        const MOST_COMMANDS: usize = 64;
        const DELETES: &[&str] = &["rm", "mrm", "del", "mdel", "delete", "mdelete", "rmdir"];
        if !has(words::SENDS_CLIENTS, name) {
            return;
        }
        let mut texts: Vec<Arg> = args.values(words::SENDS_TEXTS);
        texts.extend(args.words().iter().filter(|word| word.text.contains(' ')).cloned());
        if let Some(text) = stdin.text.as_deref().filter(|_| !stdin.from_caller) {
            texts.push(Arg { span, ..Arg::literal(text) });
        }
        for text in texts {
            for command in text.text.split([';', '\n']).take(MOST_COMMANDS) {
                let mut parts = command.split_whitespace();
                let verb = parts.next().unwrap_or_default();
                let rest: Vec<&str> = parts.collect();
                let (options, files): (Vec<&str>, Vec<&str>) =
                    rest.iter().partition(|word| word.starts_with('-'));
                let reversed = options.iter().any(|option| {
                    *option == "--reverse" || !option.starts_with("--") && option.contains('R')
                });
                if DELETES.contains(&verb) && !rest.is_empty() {
                    let subject = format!("{name}: {}", location::shown(command.trim()));
                    self.note(Fact::new(FactKind::RemoteDelete, subject).at(text.span.or(span)));
                }
                if !has(words::SENDS_PUTS, verb) || (verb == "mirror" && !reversed) {
                    continue;
                }
                let file = files.first().copied().unwrap_or(".");
                let file = Arg { span: text.span.or(span), ..Arg::literal(file) };
                self.note_path(FactKind::Send, &file, LOCAL);
            }
        }
    }
}
