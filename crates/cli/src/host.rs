//! Agent hosts: how each tells what its agent is about to do, and what it takes for an answer.
//!
//! One file per host, one line in [`HOSTS`]. A host file knows its host's words and nothing about
//! judging; whoever judges knows none of the hosts' words. Contracts change with every release of
//! a host, so each file also knows how its host reads an answer, and `doctor` and the tests hold
//! our answers against that.

use std::path::Path;
use std::time::Duration;

use countersign_core::Action;
use serde_json::{Value, json};

pub(crate) mod dialect;
pub(crate) mod edit;
pub(crate) mod place;
pub(crate) mod servers;
pub(crate) mod tool;

mod claude_code;
mod cline;
pub(crate) mod codex;
mod copilot;
mod cursor;
mod droid;
mod gemini;
#[cfg(test)]
mod guarded;
mod opencode;
mod vscode;
mod windsurf;

use place::{Installed, Scope};

/// Every host we plug into.
pub(crate) const HOSTS: &[&dyn Host] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &cursor::Cursor,
    &copilot::Copilot,
    &vscode::VsCode,
    &opencode::OpenCode,
    &windsurf::Windsurf,
    &cline::Cline,
    &droid::Droid,
];

/// The host of this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Host> {
    HOSTS.iter().copied().find(|host| host.name() == name)
}

/// A program that runs agents and asks us first.
pub(crate) trait Host: Sync {
    /// What it is called on the command line.
    fn name(&self) -> &'static str;

    /// What a person calls it.
    fn title(&self) -> &'static str;

    /// How long it waits for a hook when nothing is said, or when nothing can be.
    fn patience(&self) -> Duration;

    /// The variable in which it names the project, where it does.
    fn project_variable(&self) -> Option<&'static str> {
        None
    }

    /// What it says on standard input.
    ///
    /// # Errors
    /// Anything it is not known to say; the action is then refused.
    fn decode(&self, payload: &Value) -> Result<Told, Unreadable>;

    /// What it is answered.
    fn encode(&self, event: &str, said: &Said<'_>) -> Reply;

    /// What it is answered when something went wrong in here. The event is empty while it is not
    /// known yet.
    fn broken(&self, event: &str, reason: &str) -> Reply {
        self.encode(event, &Said::Deny(reason))
    }

    /// The input of a call as a person wants it, for hosts that take a changed one. It is the
    /// action that a person agreed to and nothing else, read back by [`Host::decode`].
    fn changed(&self, _payload: &Value, _edited: &Action) -> Option<Value> {
        None
    }

    /// Whether its own question reaches a person, or stops where there is none.
    fn asks(&self, event: &str) -> bool;

    /// What it would say about a shell command, for trying a hook out.
    fn canary(&self, command: &str, cwd: &str) -> Value;

    /// Whether it stops the action when a hook ends like this.
    fn is_stopped_by(&self, reply: &Reply) -> bool;

    /// What there is to put in place.
    ///
    /// # Errors
    /// There is no such place, or what is there cannot be read.
    fn plan(&self, installed: &Installed<'_>) -> anyhow::Result<Vec<place::Change>>;

    /// Why it does not run a hook that this file of its names, and what to do about it: some hosts
    /// skip a hook until their user has accepted it.
    fn skips(&self, _: &Installed<'_>, _file: &Path, _text: &str) -> Option<String> {
        None
    }

    /// What its user must do in the host after the hook was installed.
    fn accepting(&self, _: Scope) -> Option<&'static str> {
        None
    }

    /// Where it may be installed.
    fn scopes(&self) -> &'static [Scope] {
        &[Scope::User, Scope::Project, Scope::Managed]
    }

    /// The files in which it names MCP servers, for one scope.
    ///
    /// # Errors
    /// There is no home folder.
    fn servers(&self, _: &Installed<'_>) -> anyhow::Result<Vec<servers::Servers>> {
        Ok(Vec::new())
    }

    /// The program that tells its version, with the versions this was tested with.
    fn tested(&self) -> Option<Tested> {
        None
    }

    /// What no hook of this host sees.
    fn holes(&self) -> &'static [&'static str];
}

/// Which versions of a host are known to behave as its file says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tested {
    pub(crate) program: &'static str,
    pub(crate) from: (u32, u32, u32),
    pub(crate) to: (u32, u32, u32),
}

/// What a host says before something happens.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Told {
    /// What it calls the moment.
    pub(crate) event: String,
    /// Which run of the agent it is.
    pub(crate) session: Option<String>,
    /// Where the agent is.
    pub(crate) cwd: Option<String>,
    /// What it calls this one call, where it has a name for it.
    pub(crate) call: Option<String>,
    pub(crate) what: What,
}

/// What is about to happen.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum What {
    /// The agent acts: all of these, or none.
    Acts(Vec<Action>),
    /// The host is about to ask its own user about these. Only a no counts.
    Prompts(Vec<Action>),
    /// Something that must not be.
    Refused(String),
    /// Nothing that is ours to judge: an event that the host's file lists by name.
    #[default]
    Nothing,
}

/// What we say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// Nothing against it: the host does as it would without us.
    Neutral,
    /// What had to be asked about is agreed to, and how that came about.
    Approved(&'a str),
    /// A person has said yes to the call with this input in place of its own. Said only to hosts
    /// that take one; to any other it is a no.
    Changed(&'a Value),
    /// No, and why.
    Deny(&'a str),
    /// The host must ask its own user.
    Ask(&'a str),
}

/// How a hook ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Reply {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: u8,
}

impl Reply {
    /// Nothing to say.
    pub(crate) fn empty() -> Self {
        Self::default()
    }

    /// One object.
    pub(crate) fn json(object: &Value) -> Self {
        Self { out: format!("{object}\n"), ..Self::default() }
    }

    /// The same with a reason on standard error, for hosts that look there.
    pub(crate) fn failing(self, reason: &str) -> Self {
        Self { err: format!("{reason}\n"), code: 2, ..self }
    }

    /// What was said, if it is one object.
    pub(crate) fn object(&self) -> Option<Value> {
        serde_json::from_str(&self.out).ok().filter(Value::is_object)
    }
}

/// Why what a host said cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) String);

impl Unreadable {
    pub(crate) fn missing(field: &str) -> Self {
        Self(format!("there is no `{field}`"))
    }

    /// An event that nobody here knows: it may be one in which something happens.
    pub(crate) fn event(name: &str) -> Self {
        Self(format!("there is no event `{}` that is known here", crate::show::one_line(name)))
    }
}

/// What hosts that take no changed input are told, should they ever be offered one.
pub(crate) const UNCHANGEABLE: &str =
    "Countersign: a person agreed to this only with a change that cannot be made here.";

/// A text field.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// A text field that must be there.
pub(crate) fn required<'a>(value: &'a Value, name: &str) -> Result<&'a str, Unreadable> {
    text(value, name).ok_or_else(|| Unreadable::missing(name))
}

/// An object that may come as the JSON text of one.
pub(crate) fn object(value: Option<&Value>) -> Result<Value, Unreadable> {
    match value {
        Some(Value::String(text)) => serde_json::from_str(text)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| Unreadable("the arguments are not an object".to_owned())),
        Some(object @ Value::Object(_)) => Ok(object.clone()),
        None | Some(Value::Null) => Ok(json!({})),
        Some(_) => Err(Unreadable("the arguments are not an object".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_name_of_its_own() {
        for (at, host) in HOSTS.iter().enumerate() {
            assert!(HOSTS.iter().skip(at + 1).all(|other| other.name() != host.name()));
            assert!(find(host.name()).is_some_and(|found| found.title() == host.title()));
        }
    }

    #[test]
    fn a_no_stops_every_host_and_nothing_else_does() {
        for host in HOSTS {
            let canary = host.canary("ls", "/w");
            let event = host.decode(&canary).expect("it is its own").event;
            let says = |said: &Said<'_>| host.is_stopped_by(&host.encode(&event, said));
            assert!(says(&Said::Deny("no")), "{}", host.name());
            assert!(!says(&Said::Neutral), "{}", host.name());
            assert!(!says(&Said::Approved("yes")), "{}", host.name());
            for event in ["", event.as_str()] {
                assert!(host.is_stopped_by(&host.broken(event, "no")), "{}", host.name());
            }
        }
    }

    #[test]
    fn every_answer_is_at_most_one_object_and_every_no_has_a_reason() {
        for host in HOSTS {
            let event = host.decode(&host.canary("ls", "/w")).expect("it is its own").event;
            let input = json!({"command": "ls"});
            let all = [Said::Neutral, Said::Approved("yes"), Said::Changed(&input)];
            for said in all.into_iter().chain([Said::Deny("because"), Said::Ask("because")]) {
                let reply = host.encode(&event, &said);
                let fine = reply.out.is_empty() || reply.object().is_some();
                assert!(fine, "{}: {reply:?}", host.name());
                if let Said::Deny(reason) = said {
                    assert!(reply.out.contains(reason) || reply.err.contains(reason));
                }
            }
        }
    }

    #[test]
    fn the_canary_is_a_shell_command_where_it_says() {
        for host in HOSTS {
            let told = host.decode(&host.canary("rm -rf /", "/w")).expect("it is its own");
            let What::Acts(actions) = told.what else { panic!("{}", host.name()) };
            let [Action::Shell { command, .. }] = actions.as_slice() else {
                panic!("{}: {actions:?}", host.name())
            };
            assert_eq!((command.as_str(), told.cwd.as_deref()), ("rm -rf /", Some("/w")));
        }
    }

    #[test]
    fn a_changed_input_reaches_hosts_that_take_one_and_stops_all_others() {
        let edited = Action::Shell { command: "git push".to_owned(), cwd: None };
        let takes: Vec<_> = HOSTS
            .iter()
            .filter(|host| {
                let canary = host.canary("git push --force", "/w");
                let told = host.decode(&canary).expect("it is its own");
                let changed = host.changed(&canary, &edited);
                let input = changed.clone().unwrap_or_else(|| json!({"command": "git push"}));
                let reply = host.encode(&told.event, &Said::Changed(&input));
                assert_eq!(changed.is_none(), host.is_stopped_by(&reply), "{}", host.name());
                assert!(changed.is_none() || reply.out.contains("\"git push\""), "{reply:?}");
                // Another kind of thing is no input of this tool.
                let other = Action::Navigate { url: "https://a.example".to_owned() };
                assert_eq!(host.changed(&canary, &other), None, "{}", host.name());
                changed.is_some()
            })
            .map(|host| host.name())
            .collect();
        assert_eq!(takes, ["claude-code", "codex", "gemini", "copilot", "vscode", "opencode"]);
    }

    #[test]
    fn what_is_no_event_of_theirs_is_unreadable() {
        for host in HOSTS {
            for payload in [json!({}), json!([]), json!("x"), json!({"tool_input": {}})] {
                assert!(host.decode(&payload).is_err(), "{}: {payload}", host.name());
            }
        }
    }
}
