//! Options of `ssh` and similar programs that run something locally, and keys and agents that
//! belong to others.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::value::{Arg, Stream};
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::location;
use crate::verdict::Span;

/// Programs that take settings of `ssh` by `-o`.
const CLIENTS: &[&str] =
    &["ssh", "scp", "sftp", "sshfs", "autossh", "slogin", "ssh-copy-id", "mosh"];

/// Programs for keys, with the options that name a library to load.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("ssh", &["-I"]),
    ("ssh-keygen", &["-D", "-w"]),
    ("ssh-add", &["-s", "-S", "-T"]),
    ("ssh-agent", &["-P"]),
    ("pkcs11-tool", &["--module"]),
    ("p11tool", &["--provider"]),
    ("openssl", &["-engine", "-provider-path"]),
    ("sftp", &["-D"]),
    ("scp", &["-D"]),
];

/// Programs that are expected where a remote shell is configured.
const REMOTE_SHELLS: &[&str] =
    &["ssh", "rsh", "autossh", "sshpass", "dbclient", "gcloud", "tsh", ""];

impl Walker<'_> {
    /// Records programs and libraries that options of `ssh` and similar programs run or load
    /// locally.
    pub(super) fn options_of_ssh(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        for (_, options) in LIBRARIES.iter().filter(|(program, _)| *program == name) {
            for library in args.values(options) {
                let tags = location::locate(&library.text, &self.scene_now());
                if library.text.contains('/') && !tags.has(Tag::System) {
                    self.escapes(name, &library, span);
                }
            }
        }
        if CLIENTS.contains(&name) {
            for setting in args.values(&["-o"]) {
                self.setting_of_ssh(name, &setting, span);
            }
        }
        self.lends_keys(name, args, span);
        self.gives_key(name, args, span);
        let option_as_host = |word: &&Arg| word.text.contains("ssh://-");
        if args.hold_any(b":")
            && let Some(word) = args.words().iter().find(option_as_host)
        {
            self.escapes(name, word, span);
        }
        if matches!(name, "mosh" | "dbclient") {
            for shell in args.values(if name == "mosh" { &["--ssh"] } else { &["-J"] }) {
                self.remote_shell(name, &shell, span);
            }
        }
        for file in args.values(&["-F"]).iter().filter(|_| CLIENTS.contains(&name)) {
            let tags = location::locate(&file.text, &self.scene_now());
            if tags.has(Tag::Temp) && !self.made_here(&file.text) {
                self.escapes(name, file, span);
            }
        }
        if name == "rsync" {
            for shell in args.values(&["-e", "--rsh"]) {
                self.remote_shell(name, &shell, span);
            }
        }
        self.copies_between(name, args, span);
        self.agents_of_others(name, args, span);
    }

    /// Records a setting whose name implies that its value is a command or a library: `-o
    /// KnownHostsCommand=…`.
    fn setting_of_ssh(&mut self, name: &str, setting: &Arg, span: Option<Span>) {
        let Some((key, value)) = setting.text.split_once(['=', ' ']) else { return };
        let key = key.trim().to_ascii_lowercase();
        let value = setting.saying(value.trim());
        let matches = key == "match" && value.text.contains("exec");
        let runs = matches || key.ends_with("command") && key != "remotecommand";
        let loads = key.ends_with("provider") || key == "xauthlocation" || key == "include";
        let empty = matches!(value.text.as_str(), "" | "none" | "internal" | "no");
        if (runs || loads && value.text.contains('/')) && !empty {
            self.escapes(name, &value, span);
        }
        if runs && !empty {
            let content = Stream::known(value.text.clone(), value.taint);
            self.perhaps(|walker| {
                walker.follow_text(Code::Shell, &content, span, &Stream::caller())
            });
        }
    }

    /// Follows `rsync -e 'sh -c x'`, which is not a remote shell; `-e 'ssh -o …'` is one.
    fn remote_shell(&mut self, name: &str, shell: &Arg, span: Option<Span>) {
        let mut parts = shell.text.split_whitespace();
        let program = parts.next().map_or("", location::base_name);
        if REMOTE_SHELLS.contains(&program) {
            let words: Vec<Arg> =
                parts.map(|part| shell.saying(part.trim_matches(['\'', '"']))).collect();
            let given = Arguments::new(&words, super::catalogue::program("ssh"));
            for setting in given.values(&["-o"]) {
                self.setting_of_ssh("ssh", &setting, span);
            }
        } else if shell.is_known() {
            self.escapes(name, shell, span);
            let content = Stream::known(shell.text.clone(), shell.taint);
            self.perhaps(|walker| {
                walker.follow_text(Code::Shell, &content, span, &Stream::caller())
            });
        }
    }

    /// Records that keys or the screen are forwarded to a machine that is not verified, or that
    /// lacks a name.
    fn lends_keys(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        if !matches!(name, "ssh" | "slogin" | "autossh" | "mosh" | "scp") {
            return;
        }
        let settings: Vec<String> = args
            .values(&["-o"])
            .iter()
            .map(|setting| setting.text.replace(' ', "=").to_ascii_lowercase())
            .collect();
        let says = |setting: &str| settings.iter().any(|given| given == setting);
        let lends = name != "scp" && args.has_any(&["-A", "-Y", "-X"])
            || says("forwardagent=yes")
            || says("forwardx11=yes")
            || says("forwardx11trusted=yes");
        let unchecked = says("stricthostkeychecking=no")
            || says("stricthostkeychecking=off")
            || says("userknownhostsfile=/dev/null");
        let host = args.operands().first();
        let nameless = host.is_some_and(|host| super::upload::is_public_number(&host.text));
        if lends && (unchecked || nameless) {
            let subject = format!("{name}: keys of the agent, or the screen");
            self.note(Fact::new(FactKind::SecretShow, subject).at(span));
        }
    }

    /// Records a key that is not the user's own, or that is installed on an unverified machine:
    /// `ssh-copy-id -i other.pub host`.
    fn gives_key(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        if name != "ssh-copy-id" || args.has("-n") {
            return;
        }
        let foreign = |key: &Arg| {
            let own = format!("{}/.ssh/id", self.scene_now().home());
            !location::absolute(&key.text, &self.scene_now()).starts_with(&own)
        };
        let unchecked = args.words().iter().any(|word| word.text.contains("StrictHostKeyChecking"));
        if args.has("-f") || unchecked || args.values(&["-i"]).iter().any(foreign) {
            let subject = format!("{name}: lets a key sign in");
            self.note(Fact::new(FactKind::LetsIn, subject).at(span));
        }
    }

    fn escapes(&mut self, name: &str, value: &Arg, span: Option<Span>) {
        let subject = format!("{name}: {}", location::shown(&value.text));
        self.note(Fact::new(FactKind::ShellEscape, subject).at(value.span.or(span)));
    }

    /// Records copies from one remote machine to another: `scp -3 a:x b:`.
    fn copies_between(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        if !matches!(name, "scp" | "rsync" | "rclone") {
            return;
        }
        let [sources @ .., target] = args.operands() else { return };
        let host = |word: &Arg| word.text.split_once(':').map(|(host, _)| host.to_owned());
        let from = sources.iter().find(|source| location::is_remote(&source.text));
        let on_the_fly = name == "rclone" && target.text.starts_with(':');
        if on_the_fly {
            for source in sources.iter().skip(1) {
                self.note_path(FactKind::Send, source, Tags::of(&[Tag::Local]));
            }
        }
        if let Some(from) = from.filter(|_| location::is_remote(&target.text) && name == "scp")
            && host(from) != host(target)
        {
            let subject =
                format!("{} to {}", location::shown(&from.text), location::shown(&target.text));
            let fact = Fact::new(FactKind::Send, subject).tagged(Tags::of(&[Tag::Local]));
            self.note(fact.at(span));
        }
    }

    /// Records agent sockets through which another user's keys can be used: `ls
    /// /tmp/ssh-*/agent.*`.
    fn agents_of_others(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let socket = args.words().iter().find(|word| {
            let in_temp = word.text.contains("/ssh-") && word.text.contains("agent");
            let named = word.text.starts_with("agent.")
                && args.operand(0).is_some_and(|root| root.starts_with("/tmp"));
            in_temp && word.text.contains("tmp/") || named
        });
        if let Some(socket) = socket.filter(|_| !matches!(name, "echo" | "printf" | "rm")) {
            let subject = location::shown(&socket.text).into_owned();
            self.note(Fact::new(FactKind::SecretSearch, subject).at(socket.span.or(span)));
        }
    }
}
