//! Agent hosts: how each tells what its agent is about to do, and what it takes for an answer.
//!
//! One file per host, one line in [`HOSTS`]. A host file knows its host's words and nothing about
//! judging; whoever judges knows none of the hosts' words. Contracts change with every release of
//! a host, so each file also knows how its host reads an answer, and `doctor` and the tests hold
//! our answers against that.

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
mod codex;
mod copilot;
mod cursor;
mod droid;
mod gemini;
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

    /// What it is answered when something went wrong in here, before or after the event was known.
    fn broken(&self, reason: &str) -> Reply {
        self.encode("", &Said::Deny(reason))
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
    /// Nothing that is ours to judge.
    #[default]
    Nothing,
}

/// What we say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// Nothing against it: the host does as it would without us.
    Neutral,
    /// A person has said yes to this very call.
    Approved,
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
}

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
            assert!(!says(&Said::Approved), "{}", host.name());
            assert!(host.is_stopped_by(&host.broken("no")), "{}", host.name());
        }
    }

    #[test]
    fn every_answer_is_at_most_one_object_and_every_no_has_a_reason() {
        for host in HOSTS {
            let event = host.decode(&host.canary("ls", "/w")).expect("it is its own").event;
            for said in [Said::Neutral, Said::Approved, Said::Deny("because"), Said::Ask("because")]
            {
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
    fn what_is_no_event_of_theirs_is_unreadable() {
        for host in HOSTS {
            for payload in [json!({}), json!([]), json!("x"), json!({"tool_input": {}})] {
                assert!(host.decode(&payload).is_err(), "{}: {payload}", host.name());
            }
        }
    }
}
