//! Requests of a server to its client: to the person at it, or to its model.

use std::sync::Arc;

use countersign_core::Verdict;

use super::decision::Decision;
use super::{Proxy, Side};
use crate::judging;
use crate::mcp::active_config::ActiveConfig;
use crate::mcp::json::{Json, Object};
use crate::mcp::message::{Id, Message, code};
use crate::mcp::to_action;
use crate::show::one_line;

impl Proxy {
    /// Handles a request of the server to the client.
    pub(super) fn asked_by_server(self: &Arc<Self>, id: Id, method: &str, message: Message) {
        match method {
            "elicitation/create" => {
                let params = message.params().cloned().unwrap_or_default();
                let judged = self
                    .active_config()
                    .and_then(|active_config| self.may_ask(&params, &active_config));
                match judged {
                    Ok(()) => self.to_client(&message),
                    Err(why) => {
                        self.complain(&why);
                        let declined = Object::default().with("action", "decline");
                        self.to_server(&Message::success(&id, declined));
                    }
                }
            }
            "sampling/createMessage" => {
                let action =
                    to_action::request(&message, &self.server_state.server, "createMessage");
                match self.decide(action, &message) {
                    Decision::Go(_) => self.to_client(&message),
                    Decision::No(why) => {
                        self.to_server(&Message::failure(Some(&id), code::REFUSED, &why));
                    }
                    Decision::Later(action) => self.hold(id, message, action, Side::Client),
                }
            }
            _ => self.to_client(&message),
        }
    }

    /// Checks the requests of the new era, which are part of the answer to a call.
    ///
    /// # Errors
    /// It must not be asked, for this reason.
    pub(super) fn check_input(
        &self,
        result: &Object,
        active_config: &ActiveConfig,
    ) -> Result<(), String> {
        let requests = result.get("inputRequests").and_then(Json::as_object);
        for (_, request) in requests.into_iter().flat_map(Object::iter) {
            let asks = request.get("method").and_then(Json::as_str) == Some("elicitation/create");
            if asks && let Some(params) = request.get("params").and_then(Json::as_object) {
                self.may_ask(params, active_config)?;
            }
        }
        Ok(())
    }

    /// Checks whether a server may ask a person this. A secret typed into a form would reach the
    /// server, and its client on the way; a page may belong to somebody else.
    fn may_ask(&self, params: &Object, active_config: &ActiveConfig) -> Result<(), String> {
        let is_page = params.get("url").is_some();
        let least = if is_page { Verdict::Block } else { Verdict::Confirm };
        for action in to_action::elicitation(params) {
            let judged = judging::judge_plainly(
                &action,
                &active_config.policy,
                &self.server_state.watcher.context,
            );
            let judged = judged.map_err(|panicked| panicked.to_string())?;
            if judged.verdict >= least {
                return Err(format!(
                    "Countersign keeps the server from asking a person for this: {}",
                    one_line(&judged.reason)
                ));
            }
        }
        Ok(())
    }
}
