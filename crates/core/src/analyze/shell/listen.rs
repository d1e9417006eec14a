//! Servers that let others reach this machine.
//!
//! A project's web server that listens on all interfaces is daily work and needs no confirmation. A
//! server that exposes files, data, a shell or the running program (`opens` in the catalogue) needs
//! one when it listens on all interfaces or does not authenticate anybody. For any program, so does
//! an option that switches authentication off, a setting that makes a daemon listen on all
//! interfaces, and a debugger's port.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::{Opens, Program};
use super::value::Arg;
use crate::fact::{Fact, FactKind, Tag, Tags};
use crate::verdict::Span;
use crate::words::{self, has};

/// Options that open the port of a debugger or an inspector.
const DEBUGS: &[&str] = &["inspect", "inspect-brk", "inspect-port", "inspect-wait", "jdwp"];

impl Walker<'_> {
    /// Records a server that others can reach and use.
    pub(super) fn listens(
        &mut self,
        name: &str,
        program: Option<&Program>,
        args: &Arguments<'_>,
        span: Option<Span>,
    ) {
        if super::floor::only_mentions(name) {
            return;
        }
        let opens = program.and_then(|program| program.opens);
        let why = match opens {
            Some(Opens::Always) => Some(name.to_owned()),
            Some(Opens::Wide) => for_everybody(args),
            None => debugger_for_everybody(args)
                .or_else(|| setting_for_everybody(args))
                .or_else(|| debugged_server(name, args)),
        };
        let why = why.or_else(|| {
            let is_server = args.has_options() && serves(opens, args);
            is_server.then(|| lets_everybody_in(args)).flatten()
        });
        if let Some(why) = why {
            let tags = Tags::of(&[Tag::Remote]);
            self.note(Fact::new(FactKind::Listen, why).tagged(tags).at(span));
        }
    }
}

/// Reports whether the words of a program make it a server.
fn serves(opens: Option<Opens>, args: &Arguments<'_>) -> bool {
    const VERBS: &[&str] = &[
        "serve",
        "server",
        "serve-web",
        "start",
        "daemon",
        "listen",
        "run",
        "web",
        "lab",
        "notebook",
        "agent",
    ];
    opens.is_some()
        || args.operands().iter().take(2).any(|word| VERBS.contains(&word.text.as_str()))
        || args.words().iter().any(|word| {
            let option = word.text.trim_start_matches('-');
            word.text.starts_with('-') && has(words::SERVICES_OPENS, option)
        })
}

/// Returns the word that makes a server listen on all interfaces.
fn for_everybody(args: &Arguments<'_>) -> Option<String> {
    let mut before = "";
    args.words().iter().find_map(|word| {
        let option = std::mem::replace(&mut before, word.text.as_str());
        is_wide(option, word).then(|| word.text.clone())
    })
}

fn is_wide(option: &str, word: &Arg) -> bool {
    let text = word.text.as_str();
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = long.split_once('=').unwrap_or((long, ""));
        return has(words::SERVICES_OPENS, name)
            || (!value.is_empty() && is_place(name) && is_everybody(value))
            || host_of(value).is_some_and(is_sure);
    }
    if let Some((name, value)) = text.split_once('=') {
        let name = name.trim_start_matches('-');
        return is_place(name) && is_everybody(value) || host_of(value).is_some_and(is_sure);
    }
    let named = option.starts_with('-') && is_place(option.trim_start_matches('-'));
    // `-H tcp://0.0.0.0:2375`, `0.0.0.0:25`, `-l 0.0.0.0`.
    let port = text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    (named && is_everybody(text)) || port || host_of(text).is_some_and(is_sure)
}

/// Reports whether an option sets a listening address, by its last part.
fn is_place(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['.', '/']).next().unwrap_or(&name);
    has(words::SERVICES_PLACES, last)
        || last.rsplit(['-', '_']).next().is_some_and(|part| has(words::SERVICES_PLACES, part))
}

/// Reports whether an address means all interfaces, in any notation: `:8080`, `*:80`,
/// `tcp://0.0.0.0:1`.
fn is_everybody(value: &str) -> bool {
    let Some(host) = host_of(value) else { return false };
    has(words::SERVICES_EVERYBODY, host)
        || (host.is_empty() && value.trim_start_matches(':').parse::<u16>().is_ok())
}

/// Reports whether an address means all interfaces in any context.
fn is_sure(host: &str) -> bool {
    matches!(host, "0.0.0.0" | "[::]" | "::")
}

/// Returns the host of `scheme://host:port/…`.
fn host_of(value: &str) -> Option<&str> {
    let value = value.split_once("://").map_or(value, |(_, rest)| rest);
    let value = value.split(['/', ',']).next()?;
    if value == "::" || value.starts_with("[::]") {
        return Some("[::]");
    }
    Some(value.rsplit_once(':').map_or(value, |(host, _)| host))
}

/// Finds a debugger that listens on all interfaces: `--inspect=0.0.0.0`,
/// `-agentlib:jdwp=…,address=*:5005`, `--remote-debugging-address=0.0.0.0`.
fn debugger_for_everybody(args: &Arguments<'_>) -> Option<String> {
    if !args.hold_any(b"=") {
        return None;
    }
    args.words().iter().find_map(|word| {
        let text = word.text.as_str();
        let (option, value) = text.split_once('=')?;
        let name = option.trim_start_matches('-');
        let debugs = DEBUGS.contains(&name) || name.contains("debugging-address");
        let java = option.contains("jdwp") || text.contains("jdwp=");
        let address = value.split(',').find_map(|part| part.strip_prefix("address="));
        let wide = (option.starts_with('-') && debugs && is_sure(host_of(value)?))
            || (java && address.is_some_and(is_everybody_by_name));
        wide.then(|| text.to_owned())
    })
}

/// Finds a reachable server in debug mode, whose error pages run code: `flask run --debug --host
/// 0.0.0.0`. Privileged ports are those of services.
fn debugged_server(name: &str, args: &Arguments<'_>) -> Option<String> {
    if name == "php" {
        let address = args.value(&["-S"])?.text;
        let (_, port) = address.rsplit_once(':')?;
        let wide =
            for_everybody(args).is_some() && port.parse::<u16>().is_ok_and(|port| port < 1024);
        return wide.then_some(address);
    }
    if name == "dlv" {
        return for_everybody(args).filter(|_| args.has("--headless"));
    }
    let is_server = matches!(name, "flask" | "werkzeug" | "manage.py" | "django-admin" | "odoo");
    let debugs = is_server && args.has_any(&["--debug", "--debugger"]);
    debugs.then(|| for_everybody(args)).flatten()
}

fn is_everybody_by_name(value: &str) -> bool {
    host_of(value).is_some_and(|host| is_sure(host) || host == "*")
}

/// Finds a setting that makes a daemon listen on all interfaces: `config set core.https_address
/// [::]:8443`.
fn setting_for_everybody(args: &Arguments<'_>) -> Option<String> {
    const SETS: &[&str] = &["set", "config", "configure"];
    let sets = |word: &Arg| SETS.iter().any(|verb| word.text.eq_ignore_ascii_case(verb));
    if !args.words().iter().take(4).any(sets) {
        return None;
    }
    let wide = args.words().iter().find(|word| {
        let value = word.text.split_once('=').map_or(word.text.as_str(), |(_, value)| value);
        host_of(value).is_some_and(is_sure)
    });
    wide.map(|word| word.text.clone())
}

/// Finds an option that switches authentication off: `--noauth`, `--auth none`,
/// `--without-connection-token`, `--NotebookApp.token=''`.
fn lets_everybody_in(args: &Arguments<'_>) -> Option<String> {
    let mut before = "";
    args.words().iter().find_map(|word| {
        let text = word.text.as_str();
        let option = std::mem::replace(&mut before, text);
        (takes_away(text) || (switches_off(option) && is_off(text))).then(|| text.to_owned())
    })
}

fn takes_away(text: &str) -> bool {
    let Some(option) = text.strip_prefix('-').map(|rest| rest.trim_start_matches('-')) else {
        return false;
    };
    if let Some((name, value)) = option.split_once('=') {
        let name = name.to_ascii_lowercase();
        let last = name.rsplit('.').next().unwrap_or(&name);
        let secret = matches!(last, "token" | "password") && name.contains('.');
        return (switches_off(&name) && is_off(value)) || (secret && is_off(value));
    }
    let name = option.to_ascii_lowercase().replace('_', "-");
    let (first, rest) = name.split_once('-').unwrap_or((&name, ""));
    has(words::SERVICES_UNGUARDED, &name)
        || (has(words::SERVICES_TAKES_AWAY, first) && has(words::SERVICES_KEEPS_OUT, rest))
}

fn switches_off(option: &str) -> bool {
    let name = option.trim_start_matches('-').to_ascii_lowercase().replace('_', "-");
    let last = name.rsplit('.').next().unwrap_or(&name);
    has(words::SERVICES_KEEPS_OUT, last) || (last == "enabled" && name.contains("security"))
}

fn is_off(value: &str) -> bool {
    matches!(
        value.trim_matches(['"', '\'']).to_ascii_lowercase().as_str(),
        "" | "0" | "no" | "none" | "off" | "false" | "disabled" | "disable" | "open" | "trust"
    )
}

#[cfg(test)]
mod tests {
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
    fn servers_that_anybody_can_use_ask() {
        for command in [
            "redis-server --bind 0.0.0.0",
            "redis-server --protected-mode no",
            "etcd --listen-client-urls http://0.0.0.0:2379",
            "memcached -l 0.0.0.0",
            "jupyter lab --ip=0.0.0.0 --ServerApp.token=''",
            "containerd-x --noauth serve",
            "node --inspect-brk=0.0.0.0:9229 app.js",
            "java -agentlib:jdwp=transport=dt_socket,server=y,address=*:5005 -jar app.jar",
            "dlv debug --headless --listen=:2345",
            "gdbserver :2345 ./app",
            "lxc config set core.https_address 0.0.0.0:8443",
            "tftpd -l",
            "x11vnc -nopw",
            "mysqld --skip-grant-tables",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
    }

    #[test]
    fn servers_of_a_project_stay_quiet() {
        for command in [
            "uvicorn app:app --host 0.0.0.0",
            "vite --host",
            "rails server -b 0.0.0.0",
            "python manage.py runserver 0.0.0.0:8000",
            "redis-server --port 6380",
            "node --inspect app.js",
            "docker run -p 0.0.0.0:80:80 nginx",
            "dlv debug ./cmd",
            "jupyter lab",
            "psql --no-password -c 'select 1'",
            "hugo server --bind 0.0.0.0",
        ] {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }
}
