//! The answers of a server to its client: learned from, checked, masked, forwarded.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use countersign_core::redact::redact;
use serde_json::Value;

use super::{MOST_CONTINUATIONS, Proxy, Sent, lock};
use crate::mcp::active_config::ActiveConfig;
use crate::mcp::json::{Json, Object};
use crate::mcp::message::{Id, Message, code};
use crate::mcp::tools::make_private;

impl Proxy {
    /// Handles the server's answer to a request of the client.
    pub(super) fn answered(self: &Arc<Self>, id: &Id, sent: Sent, mut message: Message) {
        if let Some(permit) = sent.permit {
            self.report(permit, is_success(&message));
        }
        let active_config = match self.server_state.watcher.active_config() {
            Ok(active_config) => active_config,
            Err(why) => return self.to_client(&Message::failure(Some(id), code::REFUSED, &why)),
        };
        let Some(result) = message.result_mut() else { return self.to_client(&message) };
        if let Err(why) = self.check_input(result, &active_config) {
            return self.to_client(&Message::said(id, sent.era, &why, true));
        }
        self.remember_state(result, sent.digest);
        match sent.method.as_str() {
            "initialize" => {
                let tools = result.get("capabilities").and_then(|can| can.get("tools"));
                let tells = tools.and_then(|tools| tools.get("listChanged"));
                self.tells_changes.store(tells == Some(&Json::Bool(true)), Ordering::Relaxed);
            }
            "tools/list" => {
                *lock(&self.shown_by) = Some(Arc::clone(&active_config));
                if let Err(why) = self.listed(result, sent.first_page, &active_config) {
                    return self.to_client(&Message::failure(Some(id), code::REFUSED, &why));
                }
            }
            "tools/call" | "resources/read" | "prompts/get"
                if active_config.mcp.redacts(&self.server_state.server) =>
            {
                for name in ["content", "structuredContent", "contents", "messages"] {
                    if let Some(said) = result.get_mut(name) {
                        said.each_text(&|text| redact(text).text);
                    }
                }
            }
            _ => {}
        }
        self.to_client(&message);
    }

    /// Learns the tools of a list, and removes those that the client may not see.
    fn listed(
        &self,
        result: &mut Object,
        first: bool,
        active_config: &ActiveConfig,
    ) -> Result<(), String> {
        let Some(list) = result.get_mut("tools").and_then(Json::as_array_mut) else {
            return Ok(());
        };
        let server = &self.server_state.server;
        self.learn(list, first)?;
        let tools = lock(&self.server_state.tools);
        let mut context = self.server_state.watcher.context.clone();
        let pins = lock(&self.server_state.pins);
        let names = list.iter().filter_map(|tool| tool.get("name")?.as_str());
        for name in names.map(|name| format!("{server}/{name}")) {
            let pinned = pins.get(&name).map(str::to_owned);
            context.pinned_tools.extend(pinned.map(|digest| (name, digest)));
        }
        if tools.show(server, list, active_config, &context) {
            make_private(result);
        }
        Ok(())
    }

    /// Stores the definitions of a list of tools, and pins those that are seen for the first time.
    pub(super) fn learn(&self, list: &[Json], first: bool) -> Result<(), String> {
        let seen = {
            let mut tools = lock(&self.server_state.tools);
            if first {
                tools.forget();
            }
            tools.learn(&self.server_state.server, list)
        };
        let kept = lock(&self.server_state.pins).keep_new(seen);
        kept.map_err(|error| format!("Countersign cannot store the tools' definitions: {error:#}"))
    }

    fn remember_state(&self, result: &Object, digest: Option<String>) {
        let state = result.get("requestState").and_then(Json::as_str);
        if let (Some(state), Some(digest)) = (state, digest) {
            let mut continued = lock(&self.continued);
            if continued.len() == MOST_CONTINUATIONS {
                continued.pop_front();
            }
            continued.push_back((state.to_owned(), digest));
        }
    }

    /// Handles a server message that cannot be trusted. A pending request gets an error, so that it
    /// does not wait for ever.
    pub(super) fn unreadable(&self, text: &str, why: &str) {
        self.complain(&format!("unreadable message: {why}"));
        let value: Option<Value> = serde_json::from_str(text).ok();
        let id = value.as_ref().and_then(|value| value.get("id")).map(Json::from);
        if let Some(id) = id.as_ref().and_then(Id::of)
            && lock(&self.sent).remove(&id).is_some()
        {
            let why = format!("Countersign: the server's answer is not valid: {why}");
            self.to_client(&Message::failure(Some(&id), code::REFUSED, &why));
        }
    }
}

/// Reports whether an answer is a success.
fn is_success(message: &Message) -> bool {
    message.result().is_some_and(|result| result.get("isError") != Some(&Json::Bool(true)))
}
