//! The decision about a call of a client, as far as nobody has to be asked for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use countersign_core::{Action, Verdict};

use super::{Proxy, lock, pending};
use crate::mcp::active_config::ActiveConfig;
use crate::mcp::json::{Json, Object};
use crate::mcp::message::Message;
use crate::mcp::to_action;
use crate::show::one_line;
use crate::{hook, judging};

/// The result of judging.
pub(super) enum Decision {
    /// It may be forwarded.
    Go(Option<String>),
    /// It is refused, for this reason.
    No(String),
    /// Something must be asked first: a name server, the tool's own server or a person.
    Later(Action),
}

impl Proxy {
    /// Decides as far as possible without asking anybody.
    pub(super) fn decide(&self, action: Action, message: &Message) -> Decision {
        let active_config = match self.active_config() {
            Ok(active_config) => active_config,
            Err(why) => return Decision::No(why),
        };
        if let Action::Tool { tool, .. } = &action
            && message.method() == Some("tools/call")
        {
            if active_config.mcp.hides(&self.server_state.server, tool) {
                return Decision::No(format!("Countersign hides the tool `{}`", one_line(tool)));
            }
            if !lock(&self.server_state.tools).knows(tool) {
                return Decision::Later(action);
            }
        }
        if pending::resumes(message) || !to_action::domains(&action).is_empty() {
            return Decision::Later(action);
        }
        let mut context = self.context(&action);
        match judging::judge_with_facts(&action, &active_config.policy, &mut context) {
            Ok(judged) if judged.verdict == Verdict::Block => Decision::No(hook::refusal(&judged)),
            Ok(judged) if self.continues(message, &judged.digest) => {
                Decision::Go(Some(judged.digest))
            }
            Ok(judged) if judged.verdict >= Verdict::Confirm || active_config.hook.record => {
                Decision::Later(action)
            }
            Ok(judged) => Decision::Go(Some(judged.digest)),
            Err(panicked) => Decision::No(panicked.to_string()),
        }
    }

    /// Returns the terms in force now.
    pub(super) fn active_config(&self) -> Result<Arc<ActiveConfig>, String> {
        if hook::is_halted_in(&self.server_state.folder) {
            return Err(hook::HALTED.to_owned());
        }
        let active_config = self.server_state.watcher.active_config();
        let active_config =
            active_config.map_err(|why| format!("Countersign refuses all: {why}"))?;
        self.tell_change(&active_config);
        Ok(active_config)
    }

    /// Tells the client to list the tools again, because other terms show other tools.
    fn tell_change(&self, active_config: &Arc<ActiveConfig>) {
        let mut shown_by = lock(&self.shown_by);
        let is_other = shown_by.as_ref().is_some_and(|last| !Arc::ptr_eq(last, active_config));
        if is_other {
            *shown_by = None;
            drop(shown_by);
            if self.tells_changes.load(Ordering::Relaxed) {
                let method = "notifications/tools/list_changed";
                self.to_client(&Message::notification(method, Object::default()));
            }
        }
    }

    /// Returns the context of an action, with the accepted definition of its tool.
    pub(super) fn context(&self, action: &Action) -> countersign_core::Context {
        let mut context = self.server_state.watcher.context.clone();
        if let Action::Tool { server, tool, .. } = action {
            let name = format!("{server}/{tool}");
            let pinned = lock(&self.server_state.pins).get(&name).map(str::to_owned);
            context.pinned_tools.extend(pinned.map(|digest| (name, digest)));
        }
        context
    }

    /// Reports whether a call continues one that was permitted before: the server has asked its
    /// client something in between, and this is the same call with the answers.
    pub(super) fn continues(&self, message: &Message, digest: &str) -> bool {
        let Some(state) = message.param("requestState").and_then(Json::as_str) else {
            return false;
        };
        let mut continued = lock(&self.continued);
        let at = continued.iter().position(|(known, of)| known == state && of == digest);
        at.and_then(|at| continued.remove(at)).is_some()
    }
}
