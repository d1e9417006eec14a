//! Agent hosts: how each describes its agent's next action, and which answers it understands.
//!
//! One file per host, one line in [`HOSTS`]. A host file knows its host's formats and nothing about
//! judging; the judging code knows none of the hosts' formats. Hosts change their contracts with
//! every release, so each file also knows how its host reads an answer, and `doctor` and the tests
//! check our answers against that.

use std::path::Path;
use std::time::Duration;

use countersign_core::Action;
use serde_json::{Value, json};

pub(crate) mod dialect;
pub(crate) mod edit;
pub(crate) mod install;
pub(crate) mod servers;
pub(crate) mod toml;
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

use install::{Installed, Scope};

/// All supported hosts.
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

/// Finds a host by its name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Host> {
    HOSTS.iter().copied().find(|host| host.name() == name)
}

/// A program that runs agents and asks us before they act.
pub(crate) trait Host: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// The name for people.
    fn title(&self) -> &'static str;

    /// The default timeout of a hook, or its only one.
    fn patience(&self) -> Duration;

    /// The variable in which the host names the project, if there is one.
    fn project_variable(&self) -> Option<&'static str> {
        None
    }

    /// Parses the event on standard input.
    ///
    /// # Errors
    /// The event is not known; the action is then refused.
    fn decode(&self, payload: &Value) -> Result<HookEvent, Unreadable>;

    /// Composes the answer.
    fn encode(&self, event: &str, said: &HookAnswer<'_>) -> HookOutput;

    /// Composes the answer after a failure of ours. The event is empty while it is not known yet.
    fn broken(&self, event: &str, reason: &str) -> HookOutput {
        self.encode(event, &HookAnswer::Deny(reason))
    }

    /// The input of a call as a person changed it, for hosts that accept one. It describes exactly
    /// the action that the person approved, as read back by [`Host::decode`].
    fn changed(&self, _payload: &Value, _edited: &Action) -> Option<Value> {
        None
    }

    /// Reports whether the host's own question reaches a person, or stops the action where there is
    /// none.
    fn asks(&self, event: &str) -> bool;

    /// The event for a shell command, for trying a hook out.
    fn canary(&self, command: &str, cwd: &str) -> Value;

    /// Reports whether the host stops the action after this reply of a hook.
    fn is_stopped_by(&self, reply: &HookOutput) -> bool;

    /// The changes that install the hook.
    ///
    /// # Errors
    /// The host does not support the scope, or an existing file cannot be parsed.
    fn plan(&self, installed: &Installed<'_>) -> anyhow::Result<Vec<install::Change>>;

    /// The reason why the host does not run a hook in this file, and what to do about it: some
    /// hosts skip a hook until their user has accepted it.
    fn skips(&self, _: &Installed<'_>, _file: &Path, _text: &str) -> Option<String> {
        None
    }

    /// The steps that the user must take in the host after the hook was installed.
    fn accepting(&self, _: Scope) -> Option<&'static str> {
        None
    }

    /// The scopes in which it can be installed.
    fn scopes(&self) -> &'static [Scope] {
        &[Scope::User, Scope::Project, Scope::Managed]
    }

    /// The files in which the host names MCP servers, for one scope.
    ///
    /// # Errors
    /// The home folder is not known.
    fn servers(&self, _: &Installed<'_>) -> anyhow::Result<Vec<servers::Servers>> {
        Ok(Vec::new())
    }

    /// The program that prints the host's version, with the versions that were tested.
    fn tested(&self) -> Option<Tested> {
        None
    }

    /// The actions that no hook of this host sees.
    fn holes(&self) -> &'static [&'static str];
}

/// The versions of a host that are known to behave as its file says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tested {
    pub(crate) program: &'static str,
    pub(crate) from: (u32, u32, u32),
    pub(crate) to: (u32, u32, u32),
}

/// An event of a host before something happens.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct HookEvent {
    /// The host's name of the event.
    pub(crate) event: String,
    /// The id of the agent's run.
    pub(crate) session: Option<String>,
    /// The agent's working folder.
    pub(crate) cwd: Option<String>,
    /// The host's id of this call, if it has one.
    pub(crate) call: Option<String>,
    pub(crate) what: What,
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum What {
    /// The agent acts: all of these, or none.
    Acts(Vec<Action>),
    /// The host is about to ask its own user about these actions. Only a no counts.
    Prompts(Vec<Action>),
    /// An event that must be refused.
    Refused(String),
    /// Nothing for us to judge: an event that the host's file lists by name.
    #[default]
    Nothing,
}

/// Our answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookAnswer<'a> {
    /// No objection: the host proceeds as it would without us.
    Neutral,
    /// It is approved; the origin of the approval.
    Approved(&'a str),
    /// A person has approved the call with this input instead of its own. Sent only to hosts that
    /// accept one; any other host gets a no.
    Changed(&'a Value),
    /// It is refused, for this reason.
    Deny(&'a str),
    /// The host must ask its own user.
    Ask(&'a str),
}

/// The output and exit code of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HookOutput {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: u8,
}

impl HookOutput {
    /// Returns an empty reply.
    pub(crate) fn empty() -> Self {
        Self::default()
    }

    /// Returns a reply of one JSON object.
    pub(crate) fn json(object: &Value) -> Self {
        Self { out: format!("{object}\n"), ..Self::default() }
    }

    /// Adds a reason on standard error and exit code 2, for hosts that look there.
    pub(crate) fn failing(self, reason: &str) -> Self {
        Self { err: format!("{reason}\n"), code: 2, ..self }
    }

    /// Parses the output, if it is one JSON object.
    pub(crate) fn object(&self) -> Option<Value> {
        serde_json::from_str(&self.out).ok().filter(Value::is_object)
    }
}

/// The reason why an event cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) String);

impl Unreadable {
    pub(crate) fn missing(field: &str) -> Self {
        Self(format!("there is no `{field}`"))
    }

    /// An unknown event: something may happen in it.
    pub(crate) fn event(name: &str) -> Self {
        Self(format!("the event `{}` is not known here", crate::show::one_line(name)))
    }
}

/// The reason given to hosts that accept no changed input, should they ever be offered one.
pub(crate) const UNCHANGEABLE: &str =
    "Countersign: a person agreed to this only with a change that cannot be made here.";

/// Returns a text field.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// Returns a text field that must exist.
pub(crate) fn required<'a>(value: &'a Value, name: &str) -> Result<&'a str, Unreadable> {
    text(value, name).ok_or_else(|| Unreadable::missing(name))
}

/// Returns an object that may be encoded as JSON text.
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
            let says = |said: &HookAnswer<'_>| host.is_stopped_by(&host.encode(&event, said));
            assert!(says(&HookAnswer::Deny("no")), "{}", host.name());
            assert!(!says(&HookAnswer::Neutral), "{}", host.name());
            assert!(!says(&HookAnswer::Approved("yes")), "{}", host.name());
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
            let all =
                [HookAnswer::Neutral, HookAnswer::Approved("yes"), HookAnswer::Changed(&input)];
            for said in
                all.into_iter().chain([HookAnswer::Deny("because"), HookAnswer::Ask("because")])
            {
                let reply = host.encode(&event, &said);
                let fine = reply.out.is_empty() || reply.object().is_some();
                assert!(fine, "{}: {reply:?}", host.name());
                if let HookAnswer::Deny(reason) = said {
                    assert!(reply.out.contains(reason) || reply.err.contains(reason));
                }
            }
        }
    }

    #[test]
    fn the_canary_is_a_shell_command_where_it_says() {
        for host in HOSTS {
            let hook_event = host.decode(&host.canary("rm -rf /", "/w")).expect("it is its own");
            let What::Acts(actions) = hook_event.what else { panic!("{}", host.name()) };
            let [Action::Shell { command, .. }] = actions.as_slice() else {
                panic!("{}: {actions:?}", host.name())
            };
            assert_eq!((command.as_str(), hook_event.cwd.as_deref()), ("rm -rf /", Some("/w")));
        }
    }

    #[test]
    fn a_changed_input_reaches_hosts_that_take_one_and_stops_all_others() {
        let edited = Action::Shell { command: "git push".to_owned(), cwd: None };
        let takes: Vec<_> = HOSTS
            .iter()
            .filter(|host| {
                let canary = host.canary("git push --force", "/w");
                let hook_event = host.decode(&canary).expect("it is its own");
                let changed = host.changed(&canary, &edited);
                let input = changed.clone().unwrap_or_else(|| json!({"command": "git push"}));
                let reply = host.encode(&hook_event.event, &HookAnswer::Changed(&input));
                assert_eq!(changed.is_none(), host.is_stopped_by(&reply), "{}", host.name());
                assert!(changed.is_none() || reply.out.contains("\"git push\""), "{reply:?}");
                // An action of another kind cannot be an input of this tool.
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
