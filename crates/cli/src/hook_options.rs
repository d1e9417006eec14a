//! The hook options of the configuration. A project's file cannot set them.

use std::path::PathBuf;

use anyhow::Result;
use countersign_core::policy::{Source, Sources, merged, section};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::layer::{Layer, Owner, explained, sources};

/// The section `hook` of the organisation's and the user's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Hook")]
pub(crate) struct Options {
    /// The server that asks a person, as a URL or the path of its socket, instead of the one in
    /// the data folder. `$COUNTERSIGN_KEY` holds the key for a URL.
    pub(crate) server: Option<String>,
    /// The certificate authority of that server, as a PEM file. With it no other one is trusted;
    /// without it those of the system, or of `$SSL_CERT_FILE`, are.
    pub(crate) tls_ca: Option<PathBuf>,
    /// The behaviour when no person can be asked through the server: `deny`, or `ask`, where the
    /// host asks its own user. Unless said, `deny` for a server with a URL and `ask` for the
    /// socket. The organisation's word can only be made stricter. What several people must agree to
    /// is never left to the host.
    pub(crate) unreachable: Option<Unreachable>,
    /// Starts a server when none runs and a person must be asked.
    pub(crate) start_server: bool,
    /// Sends every action through the server, so that all of them are on record. Costs a round
    /// trip for each, and without a server nothing runs.
    pub(crate) record: bool,
    /// The public key of the server (`cspk_…`) whose organisation policy holds on this machine.
    /// It is fetched from `server`, kept in the data folder, and checked by this key.
    pub(crate) policy_key: Option<String>,
    /// Seconds after which a newer policy is asked for; 300 unless said.
    pub(crate) policy_refresh: Option<u32>,
    /// Seconds after which a policy is too old to allow anything without a newer one; 86400 unless
    /// said. Hooks then refuse, or leave it to the host where the organisation's `unreachable` says
    /// `ask`.
    pub(crate) policy_max_age: Option<u32>,
}

/// The behaviour when no person can be asked through the server. The stricter one is greater.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unreachable {
    /// The host asks its own user, where it can.
    Ask,
    /// It is refused.
    Deny,
}

impl Options {
    /// Reads the options of these layers.
    ///
    /// # Errors
    /// One of them is invalid.
    pub(crate) fn read(layers: &[Layer]) -> Result<Self> {
        // Almost every hook takes this path, so it parses nothing.
        if layers.iter().all(|layer| layer.text.is_none()) {
            return Ok(Self::default());
        }
        Ok(Self::merged(&sources(layers.to_vec()))?.unwrap_or_default())
    }

    /// Merges the options of these sources; `None` where none sets any.
    ///
    /// # Errors
    /// One of them is invalid.
    pub(crate) fn merged(sources: &Sources) -> Result<Option<Self>> {
        let Some(hook) = merged::<Self>(sources, "hook").map_err(explained)? else {
            return Ok(None);
        };
        let read = |source: &Option<Source>| match source {
            Some(source) => section(source, "hook").map_err(explained),
            None => Ok(None),
        };
        let (organisation, user) = (read(&sources.organisation)?, read(&sources.user)?);
        Ok(Some(hook.bounded_by(organisation.as_ref(), user.as_ref())))
    }

    /// Returns the options so that a user cannot loosen the organisation's choice for a server that
    /// cannot be reached. An organisation that names a server by a URL implies `deny`, unless it
    /// says otherwise.
    fn bounded_by(self, organisation: Option<&Self>, user: Option<&Self>) -> Self {
        let implied = |options: &Self| {
            let by_url = options.server.as_deref().is_some_and(is_url);
            options.unreachable.or(by_url.then_some(Unreachable::Deny))
        };
        let said = organisation.and_then(implied).max(user.and_then(|user| user.unreachable));
        Self { unreachable: said, ..self }
    }

    /// Whether the organisation itself leaves decisions to hosts while its server cannot be
    /// reached, and nobody has made that stricter.
    ///
    /// # Errors
    /// A layer is wrong.
    pub(crate) fn leaves_it_to_hosts(layers: &[Layer], all: &Self) -> Result<bool> {
        let own = |layer: &&Layer| layer.owner == Owner::Organisation;
        let own: Vec<_> = layers.iter().filter(own).cloned().collect();
        let asks = Some(Unreachable::Ask);
        Ok(Self::read(&own)?.unreachable == asks && all.unreachable == asks)
    }

    /// What holds when nobody can be asked through this server.
    pub(crate) fn when_unreachable(&self, server: Option<&str>) -> Unreachable {
        let usual = match server {
            Some(server) if is_url(server) => Unreachable::Deny,
            Some(_) | None => Unreachable::Ask,
        };
        self.unreachable.unwrap_or(usual)
    }

    /// The same for a server that is there and does not answer: `deny`, unless somebody has said
    /// otherwise. Else an agent that stops the server, or keeps it busy, would turn its no into a
    /// question.
    pub(crate) fn without_an_answer(&self) -> Self {
        let unreachable = self.unreachable.or(Some(Unreachable::Deny));
        Self { unreachable, ..self.clone() }
    }
}

/// Reports whether a server is named by a URL rather than by the path of its socket.
pub(crate) fn is_url(server: &str) -> bool {
    server.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(organisation: &str, user: &str) -> Options {
        let layer = |owner, text: &str| Layer {
            owner,
            path: PathBuf::from("config.yaml"),
            text: (!text.is_empty()).then(|| text.to_owned()),
        };
        let layers = [layer(Owner::Organisation, organisation), layer(Owner::User, user)];
        Options::read(&layers).unwrap()
    }

    #[test]
    fn a_user_makes_the_organisations_word_stricter_and_never_looser() {
        const ASK: &str = "hook: {unreachable: ask}\n";
        const DENY: &str = "hook: {unreachable: deny}\n";
        const SERVER: &str = "hook: {server: \"https://gate.example.com\"}\n";
        use Unreachable::{Ask, Deny};
        for (organisation, user, said) in [
            ("", "", None),
            ("", ASK, Some(Ask)),
            ("", DENY, Some(Deny)),
            (ASK, "", Some(Ask)),
            (ASK, ASK, Some(Ask)),
            (ASK, DENY, Some(Deny)),
            (DENY, "", Some(Deny)),
            (DENY, ASK, Some(Deny)),
            (DENY, DENY, Some(Deny)),
            (SERVER, ASK, Some(Deny)),
            ("", SERVER, None),
            (SERVER, "hook: {record: true}\n", Some(Deny)),
            (ASK, SERVER, Some(Ask)),
        ] {
            assert_eq!(read(organisation, user).unreachable, said, "{organisation:?} {user:?}");
        }
    }

    #[test]
    fn a_server_elsewhere_is_not_replaced_by_the_hosts_own_question() {
        let options = Options::default();
        assert_eq!(options.when_unreachable(None), Unreachable::Ask);
        assert_eq!(options.when_unreachable(Some("/run/server.sock")), Unreachable::Ask);
        assert_eq!(options.when_unreachable(Some("https://gate.example.com")), Unreachable::Deny);
        assert_eq!(options.when_unreachable(Some("ftp://wrong")), Unreachable::Deny);
    }

    #[test]
    fn a_server_that_does_not_answer_is_not_replaced_either_unless_somebody_says_so() {
        let there = |options: &Options| options.without_an_answer().when_unreachable(None);
        assert_eq!(there(&Options::default()), Unreachable::Deny);
        for said in [Unreachable::Ask, Unreachable::Deny] {
            let options = Options { unreachable: Some(said), ..Options::default() };
            assert_eq!(there(&options), said);
        }
    }
}
