//! Files and streams that a program passes to others, by its words.
//!
//! `upload`, `share`, `put` mean the same in every tool, and so do an address, a host and a file
//! beside each other. Data that stays on this machine is recognised by its destination.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Program;
use super::value::{Arg, Stream};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

mod destination;
mod stream;

pub(super) use destination::{is_loopback, is_public_number, reaches_only_here};

use destination::{has_local_scheme, is_elsewhere, is_file};

const LOCAL: Tags = Tags::of(&[Tag::Local]);

/// Load-testing clients, with the options whose file they send.
const BODIES: &[(&[&str], &[&str])] = &[
    (&["ab"], &["-p", "-u"]),
    (&["hey", "oha"], &["-D"]),
    (&["vegeta"], &["-body"]),
    (&["bombardier"], &["-f", "--body-file"]),
    (&["w3m"], &["-post"]),
];

impl Walker<'_> {
    /// Records data that a program passes to others.
    pub(super) fn hands_over(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        let tells = has(words::SENDS_TELLERS, name);
        let mentions = super::floor::only_mentions(name) && !tells;
        if name == "git" {
            return self.pushed(args, span);
        }
        if mentions || matches!(name, "find" | "ls") {
            return;
        }
        if name == "ztcp"
            && args.operand(0).is_some_and(|host| !is_loopback(host))
            && !args.has("-l")
        {
            self.note(
                Fact::new(FactKind::Send, "a connection of the shell").tagged(LOCAL).at(span),
            );
        }
        self.told_to_hand_over(name, args, stdin, span);
        self.handed_by_options(name, args);
        self.given_to_host(name, program, args);
        self.copied_to_host(name, program, args);
        self.streamed(name, args, stdin, span);
        self.messages(name, args, stdin, span);
        self.backs_up(name, args);
        self.through_pipeline(name, args);
        self.fed_to_database(name, program, args, stdin, span);
        self.in_host_names(args);
        self.commands_of_clients(name, args, stdin, span);
        let cluster = matches!(name, "kubectl" | "oc" | "helm");
        let carries = super::reach::speaks(name) || matches!(name, "exiftool" | "exiv2");
        if carries && !cluster {
            self.encoded_words(args);
        }
        if tells && name != "logger" {
            self.told_words(args);
        }
    }

    /// Records `tool upload report.csv`, `tool s3 presign s3://bucket/x`, `x-uploader report.csv`.
    fn told_to_hand_over(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        let operands = args.operands();
        let told = |list: &[&str]| {
            operands.iter().take(3).position(|word| {
                let first = word.text.split(['-', '_', ':']).next().unwrap_or_default();
                has(list, &word.text) || (first == "upload" && has(list, first))
            })
        };
        if let Some(verb) = told(words::SENDS_OPENS).and_then(|at| operands.get(at)) {
            let subject = format!("{name} {}", verb.text);
            self.note(Fact::new(FactKind::Send, subject).tagged(LOCAL).at(span));
            return;
        }
        let by_name = name.split(['-', '_', '.']).any(|part| has(words::SENDS_NAMES, part))
            || (name.ends_with("put") && !matches!(name, "tput" | "input" | "output" | "put"));
        let uploads =
            args.options().any(|word| matches!(word.text.as_str(), "--upload" | "-upload"));
        let pushes = pushes_elsewhere(name, args);
        let public = |word: &Arg| {
            let value = word.text.rsplit(['=', ':']).next().unwrap_or_default();
            has(words::SENDS_EVERYBODY, value) || has(words::SENDS_EVERYBODY, &word.text)
        };
        let opens = has(words::SECRETS_PLATFORMS, name) && args.words().iter().any(public);
        if uploads || pushes || opens {
            self.note(Fact::new(FactKind::Send, name).tagged(LOCAL).at(span));
        }
        let sends = operands.first().filter(|word| word.text == "send" && operands.len() > 1);
        let at = match told(words::SENDS_VERBS) {
            Some(at) => at + 1,
            None if sends.is_some() && super::catalogue::program(name).is_none() => 1,
            None if by_name => 0,
            None => return,
        };
        let goes_nowhere = has(words::SENDS_MACHINES, name) || reaches_only_here(args);
        if goes_nowhere {
            return;
        }
        let files: Vec<Arg> =
            operands.get(at..).unwrap_or_default().iter().map(|word| (*word).clone()).collect();
        let mut found = false;
        for file in files.iter().chain(&args.values(words::SENDS_FILES)) {
            if is_file(file) {
                found = true;
                self.note_path(FactKind::Send, file, LOCAL);
            }
        }
        if !found && !stdin.from_caller {
            self.sends_stream(stdin, span);
        }
    }

    /// Records `--share ./contract.pdf`, `--attach report.csv`, `comment --body-file dump.sql`.
    fn handed_by_options(&mut self, name: &str, args: &Arguments<'_>) {
        for file in args.values(words::SENDS_OPTIONS).iter().filter(|file| is_file(file)) {
            self.note_path(FactKind::Send, file, LOCAL);
        }
        for (_, options) in BODIES.iter().filter(|(programs, _)| programs.contains(&name)) {
            for file in args.values(options).iter().filter(|_| !reaches_only_here(args)) {
                self.note_path(FactKind::Send, file, LOCAL);
            }
        }
        let forge = matches!(name, "gh" | "glab" | "hub" | "tea");
        if has(words::SECRETS_PLATFORMS, name) && !forge {
            let told = args.values(&["--message", "--message-body", "--payload", "--body"]);
            for value in told.iter().filter(|value| value.taint.has(Tag::Local)) {
                let fact =
                    Fact::new(FactKind::Send, location::shown(&value.text)).tagged(value.taint);
                self.note(fact.at(value.span));
            }
            let endpoints = args.values(&["--endpoint-url", "--endpoint"]);
            if endpoints.iter().any(|place| is_elsewhere(&place.text)) {
                for file in args.operands().iter().filter(|word| is_file(word)) {
                    self.note_path(FactKind::Send, file, LOCAL);
                }
            }
        }
        if forge {
            // Text written for people is meant to be posted; data is not.
            let prose = |file: &&Arg| {
                let name = location::base_name(&file.text);
                let ending = name.rsplit_once('.').map_or("md", |(_, ending)| ending);
                matches!(ending, "md" | "markdown" | "txt" | "rst" | "MD")
            };
            let files = args.values(&["--body-file", "--notes-file", "--description-file"]);
            for file in files.iter().filter(|file| !prose(file) && file.text != "-") {
                self.note_path(FactKind::Send, file, LOCAL);
            }
            for field in args.values(&["-F", "--field", "-f", "--raw-field"]) {
                let file = field.text.split_once("=@").map(|(_, file)| field.saying(file));
                let posted = matches!(args.operand(0), Some("issue" | "pr" | "mr"));
                let file = file.or_else(|| posted.then(|| field.clone()));
                if let Some(file) = file.filter(|file| is_file(file) && !prose(&file)) {
                    self.note_path(FactKind::Send, &file, LOCAL);
                }
            }
        }
    }

    /// Records a file given together with a host option: `lp -h print.example.com report.pdf`.
    fn given_to_host(&mut self, name: &str, program: Option<&Program>, args: &Arguments<'_>) {
        let tells = has(words::SENDS_TELLERS, name);
        if (program.is_some() && !tells) || has(words::SENDS_DATABASES, name) {
            return;
        }
        let is_long = |word: &&Arg| word.text.starts_with("--") && word.text.contains('=');
        let long: Vec<Arg> = args.words().iter().filter(is_long).cloned().collect();
        let mut hosts = args.whole_values(words::SENDS_HOSTS);
        hosts.extend(Arguments::new(&long, None).values(words::SENDS_HOSTS));
        if name == "logger" {
            hosts.extend(args.values(&["-n"]));
        }
        if !hosts.iter().any(|host| is_elsewhere(&host.text)) {
            return;
        }
        let is_host = |word: &Arg| hosts.iter().any(|host| host.text == word.text);
        let mut files = args.values(words::SENDS_FILES);
        files.extend(args.operands().iter().map(|word| (*word).clone()));
        for file in files.iter().filter(|file| is_file(file) && !is_host(file)) {
            self.note_path(FactKind::Send, file, LOCAL);
        }
        self.told_words(args);
    }

    /// Records `tool cp report.csv host:` by an unknown program.
    fn copied_to_host(&mut self, name: &str, program: Option<&Program>, args: &Arguments<'_>) {
        if program.is_some() || has(words::SENDS_MACHINES, name) {
            return;
        }
        let [sources @ .., target] = args.operands() else { return };
        let host = target.text.split_once(':').filter(|(host, path)| {
            let letters = |char: char| char.is_ascii_alphanumeric() || "-._@".contains(char);
            host.len() > 1 && host.chars().all(letters) && !path.starts_with("//")
        });
        let copies = sources.iter().take(3).any(|word| {
            matches!(
                word.text.as_str(),
                "cp" | "copy"
                    | "copyto"
                    | "push"
                    | "scp"
                    | "send"
                    | "sync"
                    | "mirror"
                    | "put"
                    | "mv"
            )
        });
        let alias = matches!(name, "mc" | "mcli")
            && copies
            && target.text.contains('/')
            && !is_file(target);
        if !(copies && host.is_some() || alias) {
            return;
        }
        let is_source = |word: &&&Arg| is_file(word) || word.text.starts_with(['.', '/', '~']);
        for file in sources.iter().filter(is_source) {
            self.note_path(FactKind::Send, file, LOCAL);
        }
    }

    /// Records a stream, or files, sent to an address of any scheme: `… | tool
    /// icecast://host/live`.
    fn streamed(&mut self, name: &str, args: &Arguments<'_>, stdin: &Stream, span: Option<Span>) {
        if has(words::SENDS_DATABASES, name) {
            return;
        }
        let Some(last) = args.operands().last() else { return };
        let Some((scheme, _)) = last.text.split_once("://") else { return };
        let is_web =
            matches!(scheme, "http" | "https" | "file" | "git" | "ssh" | "git+ssh" | "unix");
        if scheme.contains(UNKNOWN) || !is_elsewhere(&last.text) {
            return;
        }
        if matches!(name, "ffmpeg" | "avconv") {
            for file in args.values(&["-i"]).iter().filter(|file| is_file(file)) {
                self.note_path(FactKind::Send, file, LOCAL);
            }
        }
        let is_web_client = matches!(name, "curl" | "wget") && scheme != "telnet";
        if !is_web && !stdin.from_caller && !is_web_client {
            self.sends_stream(stdin, span);
        }
        for source in args.operands().iter().filter(|word| has_local_scheme(&word.text)) {
            self.note_path(FactKind::Send, source, LOCAL);
        }
    }
}
/// Reports whether a version control system is told to copy its history to another machine.
fn pushes_elsewhere(name: &str, args: &Arguments<'_>) -> bool {
    let verb = args.operand(0).unwrap_or_default();
    matches!(name, "hg" | "fossil" | "bzr" | "brz" | "darcs" | "pijul" | "svn" | "nix")
        && matches!(verb, "push" | "sync" | "import" | "copy")
        && args.words().iter().any(|word| word.text.contains("://") && is_elsewhere(&word.text))
}
