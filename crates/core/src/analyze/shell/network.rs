//! Programs that use the network: the data they fetch and send.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{self, Class};
use super::value::{Arg, Stream};
use crate::analyze::UNKNOWN;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;
use crate::words::{self, has};

/// Reports whether the output of this program comes from the network.
pub(super) fn fetches(name: &str) -> bool {
    matches!(catalogue::class(name), Some(Class::HttpClient | Class::RawNetwork))
        || has(words::SOURCES_FETCHERS, name)
}

/// Options whose value is sent.
pub(super) const DATA: &[&str] = &[
    "-d",
    "--data",
    "--data-binary",
    "--data-raw",
    "--data-ascii",
    "--data-urlencode",
    "--json",
    "-F",
    "--form",
    "--post-data",
    "--body-data",
];

impl Walker<'_> {
    /// Follows `curl` and similar programs; returns the output.
    pub(super) fn http_client(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Stream {
        self.sent_by_http(name, args, stdin, span);
        let method = args.value(&["-X", "--request", "--method"]);
        let deletes = method.is_some_and(|method| method.text.eq_ignore_ascii_case("delete"))
            || (name == "http"
                && args.operand(0).is_some_and(|word| word.eq_ignore_ascii_case("delete")));
        if deletes && !super::upload::reaches_only_here(args) {
            let address = args.operands().last().map_or(String::new(), |arg| arg.text.clone());
            self.note(Fact::new(FactKind::RemoteDelete, location::shown(&address)).at(span));
        }
        for order in args.values(&["-Q", "--quote"]) {
            let verb = order.text.trim_start_matches(['-', '+']).to_ascii_lowercase();
            if ["dele ", "rmd ", "rm ", "rmdir ", "rename ", "rnfr "]
                .iter()
                .any(|v| verb.starts_with(v))
            {
                self.note(Fact::new(FactKind::RemoteDelete, order.text.clone()).at(span));
            }
        }
        self.told_by_http(args, span);
        self.kept_by_http(args);
        for word in args.words() {
            if is_metadata(&word.text) {
                self.note(
                    Fact::new(FactKind::SecretSearch, word.text.clone()).at(word.span.or(span)),
                );
            }
        }
        self.saved(name, args)
    }

    /// Records files that `curl` writes beside the response: cookies, headers, what it did.
    fn kept_by_http(&mut self, args: &Arguments<'_>) {
        const FILES: &[&str] = &[
            "-c",
            "--cookie-jar",
            "-D",
            "--dump-header",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--libcurl",
            "--hsts",
            "--alt-svc",
            "--save-cookies",
        ];
        for file in args.values(FILES).iter().filter(|file| file.text.contains(['/', '~'])) {
            self.note_path(FactKind::Write, file, Tags::NONE);
        }
    }

    /// Records local data that the request sends.
    fn sent_by_http(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        let here = super::upload::reaches_only_here(args);
        let outer = self.tags;
        if here {
            // Data that stays on this machine has not left it.
            self.tags = outer.with(Tag::Loopback);
        }
        self.sent_files(name, args, stdin, span);
        self.tags = outer;
    }

    fn sent_files(&mut self, name: &str, args: &Arguments<'_>, stdin: &Stream, span: Option<Span>) {
        // In wget, `-T` is a timeout.
        let uploads: &[&str] = match name {
            "wget" | "wget2" => &["--post-file", "--body-file"],
            _ => &["-T", "--upload-file", "--post-file", "--body-file"],
        };
        for file in args.values(uploads) {
            if file.text == "-" {
                self.sends_stream(stdin, span);
            } else {
                self.sends_file(&file);
            }
        }
        for value in args.values(DATA) {
            let path = value.text.strip_prefix('@').or_else(|| {
                value
                    .text
                    .split_once("=@")
                    .or_else(|| value.text.split_once("=<"))
                    .map(|(_, path)| path)
            });
            match path.map(|path| path.split(';').next().unwrap_or(path)) {
                Some("-") => self.sends_stream(stdin, span),
                Some(path) => self.sends_file(&value.saying(path)),
                None if value.taint.any(Tags::of(&[Tag::Local, Tag::Secret])) => {
                    let subject = location::shown(&value.text).into_owned();
                    self.note(
                        Fact::new(FactKind::Send, subject).tagged(value.taint).at(value.span),
                    );
                }
                None => {}
            }
        }
    }

    pub(super) fn sends_stream(&mut self, stdin: &Stream, span: Option<Span>) {
        if stdin.from_caller {
            return;
        }
        let mut taint = stdin.taint.without(Tag::Created);
        if stdin.text.is_none() && !taint.has(Tag::Fetched) {
            // The output of a program that is not followed here is data of this machine.
            taint = taint.with(Tag::Local);
        }
        if taint.has(Tag::Local) {
            self.note(Fact::new(FactKind::Send, "what is piped into it").tagged(taint).at(span));
        }
    }

    fn sends_file(&mut self, file: &Arg) {
        if let Some(stream) = &file.stream {
            let stream = (**stream).clone();
            return self.sends_stream(&stream, file.span);
        }
        self.note_path(FactKind::Send, file, Tags::of(&[Tag::Local]));
    }

    /// Returns the output, or records the response in the file that it is saved to.
    fn saved(&mut self, name: &str, args: &Arguments<'_>) -> Stream {
        let fetched = Tags::of(&[Tag::Fetched]);
        let output = match name {
            "wget" if args.words().iter().any(|word| word.text.ends_with("O-")) => {
                Some(Arg::literal("-"))
            }
            "wget" => args.value(&["-O", "--output-document"]),
            _ => args.value(&["-o", "--output"]),
        };
        let output = output.map(|file| in_folder(name, file, args));
        match output {
            Some(file) if file.text == "-" || file.text == "/dev/stdout" => {
                Stream::unknown(fetched)
            }
            Some(file) => {
                self.note_path(FactKind::Write, &file, Tags::NONE);
                self.wrote(&file, Stream::unknown(fetched), FactKind::Write);
                Stream::empty()
            }
            None => {
                let remote_name = name == "wget" || args.has_any(&["-O", "--remote-name"]);
                if !remote_name {
                    return Stream::unknown(fetched);
                }
                for url in args.operands() {
                    let path = url.text.split(['?', '#']).next().unwrap_or_default();
                    let file = location::base_name(path);
                    if !file.is_empty() && !file.contains(UNKNOWN) && path.contains('/') {
                        self.wrote(&url.saying(file), Stream::unknown(fetched), FactKind::Write);
                    }
                }
                Stream::empty()
            }
        }
    }

    /// Follows `nc`, `socat`…: their input is sent; `-e` gives the other side a shell.
    pub(super) fn raw_network(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        let runs = args.words().iter().any(|word| {
            let text = word.text.as_str();
            let upper = text.to_ascii_uppercase();
            upper.starts_with("EXEC:")
                || upper.starts_with("SYSTEM:")
                || upper.contains(",EXEC:")
                || (name != "socat"
                    && name != "telnet"
                    && (text == "-e"
                        || text == "-c"
                        || text == "--exec"
                        || text == "--sh-exec"
                        || (text.starts_with('-')
                            && !text.starts_with("--")
                            && text.ends_with('e'))))
        });
        if runs {
            self.note(Fact::new(FactKind::ReverseShell, name).at(span));
        }
        let unknown = stdin.text.is_none() && name != "telnet" && !args.has("-l");
        let local = stdin.taint.any(Tags::of(&[Tag::Local, Tag::Secret]));
        if !stdin.from_caller && unknown && !local {
            let local = stdin.taint.with(Tag::Local).without(Tag::Created);
            self.note(Fact::new(FactKind::Send, name).tagged(local).at(span));
        }
        if !stdin.from_caller && local {
            self.note(
                Fact::new(FactKind::Send, name).tagged(stdin.taint.without(Tag::Created)).at(span),
            );
        }
    }

    /// Records local files that `scp`, `rsync`… copy to another machine.
    pub(super) fn copies_over_network(&mut self, name: &str, args: &Arguments<'_>) {
        let operands = match (name, args.operands()) {
            ("rclone", [_, rest @ ..]) => rest,
            (_, operands) => operands,
        };
        let Some((target, sources)) = operands.split_last() else { return };
        self.copies_protected(sources, target);
        if location::is_remote(&target.text) {
            // A machine that is given as a public address, without a name, is unknown.
            let nameless = super::upload::is_public_number(&target.text);
            let tags = if nameless { Tags::of(&[Tag::Local]) } else { Tags::NONE };
            for source in sources.iter().filter(|source| !location::is_remote(&source.text)) {
                self.note_path(FactKind::Send, source, tags);
            }
        } else if !target.text.is_empty()
            && sources.iter().any(|source| location::is_remote(&source.text))
        {
            self.note_path(FactKind::Write, target, Tags::NONE);
            for source in sources.iter().filter(|source| location::is_remote(&source.text)) {
                let file = location::base_name(source.text.rsplit(':').next().unwrap_or_default());
                let folder = target.text.trim_end_matches('/');
                self.made(&target.saying(format!("{folder}/{file}")), Tags::of(&[Tag::Fetched]));
            }
        } else if name == "rsync"
            && !args.has("-n")
            && args
                .words()
                .iter()
                .any(|word| word.text.starts_with("--delete") || word.text == "--del")
        {
            self.note_path(FactKind::Delete, target, Tags::of(&[Tag::Recursive]));
        } else if name == "rclone" && args.operand(0) == Some("sync") && !sources.is_empty() {
            self.note_path(FactKind::Delete, target, Tags::of(&[Tag::Recursive, Tag::Many]));
        } else if name == "rsync" {
            for source in sources {
                self.note_path(FactKind::Read, source, Tags::NONE);
            }
            let whole = args.has_any(&["-a", "--archive", "-r", "--recursive"]);
            let tags = if whole { Tags::of(&[Tag::Recursive]) } else { Tags::NONE };
            self.note_path(FactKind::Write, target, tags);
            if args.has("--remove-source-files") {
                for source in sources {
                    self.note_path(FactKind::Move, source, Tags::of(&[Tag::Many]));
                }
            }
        }
    }
}

impl Walker<'_> {
    /// Records protected files on another machine: `scp host:.ssh/id_rsa .`, `scp x
    /// host:/etc/cron.d/`.
    fn copies_protected(&mut self, sources: &[&Arg], target: &Arg) {
        let path_of = |word: &Arg| {
            let path = word.text.split_once(':').map(|(_, path)| path.trim_start_matches(':'))?;
            let absolute = path.starts_with(['/', '~']);
            Some(if absolute { path.to_owned() } else { format!("~/{path}") })
        };
        let remote = |word: &&&Arg| location::is_remote(&word.text);
        for source in sources.iter().filter(remote) {
            let Some(path) = path_of(source) else { continue };
            let tags = location::locate(&path, &self.scene_now());
            if tags.any(Tags::of(&[Tag::Secret, Tag::Blocked, Tag::History])) {
                let tags = Tags::of(&[Tag::Secret, Tag::Elsewhere]);
                let fact = Fact::new(FactKind::Read, location::shown(&source.text)).tagged(tags);
                self.note(fact.at(source.span));
            }
        }
        let into = path_of(target).filter(|_| location::is_remote(&target.text));
        if let Some(path) = into {
            let tags = location::locate(&path, &self.scene_now());
            let system = location::locate(&format!("{path}/x"), &self.scene_now());
            let runs = Tags::of(&[Tag::SignIn, Tag::Startup, Tag::Accounts, Tag::Blocked]);
            let absolute = path.starts_with('/') || path.contains("/.ssh");
            if absolute && (tags.any(runs) || system.any(runs)) {
                let tags = Tags::of(&[Tag::System, Tag::Elsewhere]);
                let fact = Fact::new(FactKind::Write, location::shown(&target.text)).tagged(tags);
                self.note(fact.at(target.span));
            }
        }
    }
}

/// Returns the file of a download: `aria2c -d FOLDER -o NAME`, `curl --output-dir FOLDER -o NAME`.
fn in_folder(name: &str, file: Arg, args: &Arguments<'_>) -> Arg {
    let folder = match name {
        "aria2c" => args.value(&["-d", "--dir"]),
        "curl" => args.value(&["--output-dir"]),
        _ => None,
    };
    match folder {
        Some(folder) if !file.text.starts_with('/') && file.text != "-" => {
            file.saying(format!("{}/{}", folder.text.trim_end_matches('/'), file.text))
        }
        _ => file,
    }
}

/// Programs that take addresses without sending files there.
const NOT_SENDERS: &[&str] = &[
    "git",
    "curl",
    "wget",
    "docker",
    "podman",
    "npm",
    "yarn",
    "pnpm",
    "npx",
    "pip",
    "pip3",
    "uv",
    "cargo",
    "go",
    "kubectl",
    "helm",
    "ssh",
    "scp",
    "rsync",
    "sftp",
    "rclone",
    "open",
    "xdg-open",
    "echo",
    "printf",
    "nix",
    "brew",
    "apt",
    "apt-get",
    "http",
    "https",
    "xh",
    "aria2c",
    "java",
    "psql",
    "mysql",
    "mongosh",
    "redis-cli",
    "ffmpeg",
    "yt-dlp",
    "vlc",
    "mpv",
    "ping",
    "nmap",
    "chmod",
    "chown",
    "lighthouse",
    "playwright",
    "ab",
    "wrk",
    "hey",
    "k6",
    "grep",
    "sed",
    "awk",
];

impl Walker<'_> {
    /// Records local files before an address on another machine as sent there, for any program.
    pub(super) fn sends_to_address(&mut self, name: &str, args: &Arguments<'_>) {
        if NOT_SENDERS.contains(&name) {
            return;
        }
        let is_address = |text: &str| {
            text.contains("://")
                && !text.starts_with("file://")
                && !super::upload::is_loopback(text)
        };
        let Some((last, before)) = args.operands().split_last() else { return };
        if !is_address(&last.text) {
            return;
        }
        let local = |arg: &&&Arg| {
            !is_address(&arg.text)
                && (arg.text.contains(['/', '.', '~']) || arg.text.starts_with(UNKNOWN))
        };
        for file in before.iter().filter(local) {
            self.note_path(FactKind::Send, file, Tags::NONE);
        }
    }

    /// Records data in an address or in a DNS name, which leave the machine with the lookup.
    pub(super) fn sends_in_names(&mut self, name: &str, args: &Arguments<'_>) {
        const LOOKUPS: &[&str] =
            &["dig", "nslookup", "host", "drill", "ping", "kdig", "resolvectl"];
        for word in args.words() {
            let in_address = word.text.contains("://") && word.taint.has(Tag::Secret);
            let in_name = LOOKUPS.contains(&name)
                && word.text.starts_with(UNKNOWN)
                && word.text.contains('.')
                && word.variable.is_none();
            if in_address || in_name {
                let taint = word.taint.with(Tag::Local);
                self.note(
                    Fact::new(FactKind::Send, location::shown(&word.text))
                        .tagged(taint)
                        .at(word.span),
                );
            }
        }
    }

    /// Records the input of a program that passes it to another machine.
    pub(super) fn sends_input(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        const SENDERS: &[&str] =
            &["mail", "mailx", "mutt", "sendmail", "msmtp", "ssmtp", "s-nail", "neomutt", "swaks"];
        let sends =
            SENDERS.contains(&name) || (name == "openssl" && args.operand(0) == Some("s_client"));
        if sends {
            self.sends_stream(stdin, span);
        }
    }

    /// Records a folder that a program serves to others.
    pub(super) fn serves(&mut self, name: &str, args: &Arguments<'_>) {
        const ROOTS: &[&str] =
            &["--root", "-r", "--path", "--base-path", "-h", "--dir", "--directory", "-d"];
        let named = ["httpd", "http-server", "webfsd", "miniserve", "dufs", "ftpd", "file-server"];
        let first = args.operand(0).unwrap_or_default();
        let is_server = named.iter().any(|part| name.contains(part) || first == *part)
            || matches!(
                (name, first),
                ("serve" | "twistd", _) | ("git", "daemon") | (_, "serve" | "funnel")
            );
        if is_server {
            let mut folders = args.values(ROOTS);
            folders.extend(args.operands().iter().map(|word| (*word).clone()));
            for folder in folders.iter().filter(|word| word.text.starts_with(['/', '~'])) {
                self.note_path(FactKind::Serve, folder, Tags::NONE);
            }
        }
        let serves = match name {
            "php" => args.has("-S"),
            _ => args.values(&["-m"]).iter().any(|module| module.text == "http.server"),
        };
        if serves {
            for folder in args.values(&["-d", "--directory", "-t"]) {
                self.note_path(FactKind::Serve, &folder, Tags::NONE);
            }
        }
    }
}

/// Reports whether a text contains an address at which cloud machines hand out their credentials.
fn is_metadata(text: &str) -> bool {
    [
        "169.254.169.254",
        "metadata.google.internal",
        "169.254.170.2",
        "100.100.100.200",
        "[fd00:ec2::254]",
    ]
    .iter()
    .any(|address| text.contains(address))
}
