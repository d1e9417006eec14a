//! The organisation's policy from its server: fetched, verified with the server's key, cached in
//! the data folder, and never used when it is too old.
//!
//! Used when `hook.policy_key` is set. Without a policy that is signed by that key and young
//! enough, nothing is judged: hooks refuse, commands end with an error.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use countersign_core::Policy;
use countersign_core::policy::{Rank, Source, Sources};
use countersign_gate::clock::{Clock as _, System, Timestamp};
use countersign_gate::keyring::PublicKey;
use countersign_gate::signed_policy::SignedPolicy;
use countersign_wire::path;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::client::block_on;
use crate::connection::Connection;
use crate::data;
use crate::data::make_private;
use crate::hook_options::Options;
use crate::layer::{Layer, Owner};

/// The file of the policy in the data folder.
const FILE: &str = "organisation-policy.json";
/// Seconds after which a newer policy is fetched.
const REFRESH: u32 = 300;
/// Seconds after which a policy is too old.
const MAX_AGE: u32 = 86_400;
/// The timeout of a request to the server.
const WITHIN: Duration = Duration::from_secs(3);
/// The pause after a failed request, while the cached policy may be used.
const PAUSE: Duration = Duration::from_secs(30);
/// The allowed difference between two clocks.
const SKEW: Duration = Duration::from_mins(5);

/// Layers with the organisation's policy in its place.
pub(crate) struct Served {
    pub(crate) layers: Vec<Layer>,
    /// Why nothing may be allowed by this policy: it is too old, and no newer one can be had.
    pub(crate) outdated: Option<anyhow::Error>,
}

/// These layers, with the organisation's policy as its server hands it out, where one is named.
///
/// # Errors
/// A server is named, and there is no policy of it.
pub(crate) fn with_served(layers: Vec<Layer>) -> Result<Served> {
    // Nothing is parsed twice where no server is named: this is the path of almost every check.
    let mut texts = layers.iter().filter_map(|layer| layer.text.as_deref());
    if !texts.any(|text| text.contains("policy_key")) {
        return Ok(Served { layers, outdated: None });
    }
    let options = Options::read(&layers)?;
    let Some(key) = &options.policy_key else { return Ok(Served { layers, outdated: None }) };
    let key = PublicKey::parse(key).context("`hook.policy_key` is not a key, such as `cspk_…`")?;
    let folder = data::usual_folder().context("no data folder to store the policy in")?;
    let current = Store { key, options: &options, folder }.current(System.now())?;
    let (signed, outdated) = match current {
        Current::Usable(signed) => (signed, None),
        Current::Outdated(signed, why) => (signed, Some(why)),
    };
    Ok(Served { layers: placed(layers, &signed, &options)?, outdated })
}

/// Replaces the organisation's file by the policy. The file may then only name the server and set
/// the hook options.
fn placed(layers: Vec<Layer>, signed: &SignedPolicy, options: &Options) -> Result<Vec<Layer>> {
    let from = options.server.as_deref().unwrap_or("the server in the data folder");
    let mut placed = Vec::with_capacity(layers.len() + 1);
    for layer in layers {
        if layer.owner != Owner::Organisation {
            placed.push(layer);
            continue;
        }
        let mut all = signed.policy.organisation.clone().unwrap_or_default();
        for (section, local) in local_sections(&layer)? {
            match (all.get_mut(&section), local) {
                (Some(Value::Object(served)), Value::Object(local)) => served.extend(local),
                (_, local) => drop(all.insert(section, local)),
            }
        }
        let path = PathBuf::from(format!("{from} (issued {})", signed.policy.issued_at));
        placed.push(Layer { owner: Owner::Organisation, text: Some(text(&all)?), path });
        if let Some(workspace) = &signed.policy.workspace {
            let id = signed.policy.workspace_id.as_ref();
            let id = id.map(ToString::to_string).unwrap_or_default();
            let path = PathBuf::from(format!("{from} (workspace {id})"));
            placed.push(Layer { owner: Owner::Workspace, text: Some(text(workspace)?), path });
        }
    }
    Ok(placed)
}

/// The sections of the organisation's local file that are not policy.
fn local_sections(layer: &Layer) -> Result<Map<String, Value>> {
    let Some(text) = &layer.text else { return Ok(Map::new()) };
    let name = layer.path.display().to_string();
    let source = Source { name: name.clone(), text: text.clone() };
    let sources = Sources { organisation: Some(source), ..Sources::default() };
    let policy =
        Policy::load(&sources).map_err(|error| anyhow!("{error}\n  hint: {}", error.hint))?;
    let said = policy.handed_out(Rank::Organisation).cloned().unwrap_or_default();
    let policy = said.keys().find(|name| !matches!(name.as_str(), "hook" | "mcp"));
    if let Some(field) = policy {
        bail!(
            "`{name}` sets `{field}`, and the organisation's policy comes from its server: set it \
             there, or leave out `hook.policy_key`"
        );
    }
    Ok(said)
}

/// Returns JSON, which is also YAML.
fn text(fields: &Map<String, Value>) -> Result<String> {
    Ok(serde_json::to_string_pretty(fields)?)
}

/// The cached policy.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    signed: SignedPolicy,
    /// The time of the last request to the server.
    asked_at: Timestamp,
}

/// The policy that is there now.
enum Current {
    Usable(SignedPolicy),
    /// Too old, and why there is no newer one.
    Outdated(SignedPolicy, anyhow::Error),
}

/// The policies of one server on this machine.
struct Store<'a> {
    key: PublicKey,
    options: &'a Options,
    folder: PathBuf,
}

impl Store<'_> {
    /// The policy that holds now.
    fn current(&self, now: Timestamp) -> Result<Current> {
        let kept = self.kept();
        let refresh = seconds(self.options.policy_refresh, REFRESH);
        let max_age = seconds(self.options.policy_max_age, MAX_AGE);
        let is_usable = |kept: &Kept| age(&kept.signed, now).is_some_and(|age| age <= max_age);
        let usable = kept.clone().filter(is_usable);
        if let Some(kept) = &usable {
            let asked = now.since(kept.asked_at) < PAUSE && kept.asked_at <= now;
            let young = age(&kept.signed, now).is_some_and(|age| age < refresh.min(max_age));
            if young || asked {
                return Ok(Current::Usable(kept.signed.clone()));
            }
        }
        let (error, is_reached) = match self.asked() {
            Ok(answer) => match self.checked(answer, usable.as_ref(), now) {
                Ok(signed) => {
                    self.keep(&Kept { signed: signed.clone(), asked_at: now })?;
                    return Ok(Current::Usable(signed));
                }
                Err(error) => (error, true),
            },
            Err(error) => (error, false),
        };
        if let Some(kept) = usable {
            self.keep(&Kept { asked_at: now, ..kept.clone() })?;
            return Ok(Current::Usable(kept.signed));
        }
        let error = error.context(format!(
            "there is no policy of the organisation that is newer than {} s",
            max_age.as_secs()
        ));
        // One from the future has no age, and what a server says that it cannot vouch for is not
        // the same as a server that cannot be asked.
        match kept.filter(|kept| age(&kept.signed, now).is_some() && !is_reached) {
            Some(kept) => Ok(Current::Outdated(kept.signed, error)),
            None => Err(error),
        }
    }

    /// What the server says its policy is.
    fn asked(&self) -> Result<Value> {
        let options = Options { start_server: false, ..self.options.clone() };
        let Connection { client, .. } = Connection::open(&options, Some(&self.folder), WITHIN)?;
        let ask = || {
            block_on(async {
                let answer = tokio::time::timeout(WITHIN, client.get(path::POLICY)).await;
                Ok(answer.context("the server does not answer")??)
            })
        };
        // On a thread of its own, because the caller may be inside a runtime.
        let answer = thread::scope(|scope| scope.spawn(ask).join());
        answer.map_err(|_| anyhow!("asking the server failed internally"))?
    }

    /// What the server says, if it is a newer policy than the one that is kept.
    fn checked(&self, answer: Value, kept: Option<&Kept>, now: Timestamp) -> Result<SignedPolicy> {
        let signed: SignedPolicy =
            serde_json::from_value(answer).context("the server's policy cannot be read")?;
        signed.verify(&self.key).context("the server's policy is not to be trusted")?;
        if kept.is_some_and(|kept| kept.signed.policy.issued_at > signed.policy.issued_at) {
            bail!("the server's policy is older than the stored one");
        }
        let max_age = seconds(self.options.policy_max_age, MAX_AGE);
        if age(&signed, now).is_none_or(|age| age > max_age) {
            bail!(
                "the server's policy was issued at {}: is a clock wrong?",
                signed.policy.issued_at
            );
        }
        Ok(signed)
    }

    /// The cached policy, if its signature is valid.
    fn kept(&self) -> Option<Kept> {
        let text = fs::read_to_string(self.folder.join(FILE)).ok()?;
        let kept: Kept = serde_json::from_str(&text).ok()?;
        kept.signed.verify(&self.key).ok()?;
        Some(kept)
    }

    /// Stores the policy by a rename: a hook that reads it meanwhile finds the old one or the new
    /// one.
    fn keep(&self, kept: &Kept) -> Result<()> {
        make_private(&self.folder)?;
        let draft = self.folder.join(format!("{FILE}.{}", std::process::id()));
        let text = serde_json::to_vec(kept)?;
        let written =
            write_private(&draft, &text).and_then(|()| fs::rename(&draft, self.folder.join(FILE)));
        written.with_context(|| format!("cannot store the policy in `{}`", self.folder.display()))
    }
}

/// The age of a policy; `None` if it is from the future.
fn age(signed: &SignedPolicy, now: Timestamp) -> Option<Duration> {
    let issued_at = signed.policy.issued_at;
    (issued_at <= now.after(SKEW)).then(|| now.since(issued_at))
}

fn seconds(set: Option<u32>, otherwise: u32) -> Duration {
    Duration::from_secs(set.unwrap_or(otherwise).into())
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::File::options();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(bytes)
}
