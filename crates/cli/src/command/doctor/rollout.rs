//! Checks that this machine can use the server of its hooks, by using it as they do: with their
//! address, their certificates and their key.
//!
//! The result is sent to the server, which keeps the last proof of each machine.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use countersign_core::Context;
use countersign_gate::machine::{Proof, ProvedHost};
use countersign_wire::path;
use serde::Serialize;
use serde_json::{Value, json};

use crate::approval_client::{ApprovalClient, Journal, machine_name};
use crate::client::{Address, Client, block_on};
use crate::hook_options::{Options, Unreachable};
use crate::listing::field;
use crate::show::one_line;
use crate::{moment, settings};

/// A clock that is further off makes questions expire and certificates fail.
const MOST_SKEW_MS: i64 = 60_000;
/// The timeout of a request; none of them waits for a person.
const PATIENCE: Duration = Duration::from_secs(30);

/// The findings about this machine and its server.
#[derive(Debug, Serialize)]
pub(super) struct Rollout {
    /// The address at which hooks look for the server.
    pub(super) server: String,
    pub(super) checks: Vec<Check>,
    /// The behaviour when the server cannot be reached.
    pub(super) unreachable: Unreachable,
    /// Decisions that were made without the server and are not delivered yet.
    pub(super) undelivered: usize,
    /// True when the server has kept these findings.
    pub(super) reported: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) ok: bool,
    pub(super) detail: String,
}

impl Rollout {
    /// Tries the server that hooks are configured to use.
    pub(super) fn prove(
        server: String,
        options: &Options,
        folder: Option<&Path>,
        hosts: &[ProvedHost],
    ) -> Self {
        let mut rollout = Self {
            unreachable: options.when_unreachable(Some(&server)),
            server,
            checks: Vec::new(),
            undelivered: 0,
            reported: false,
        };
        match ApprovalClient::open(options, folder, "doctor".to_owned(), PATIENCE) {
            Ok(approval_client) => {
                let tried = block_on(async {
                    rollout.ask(&approval_client, folder, hosts).await;
                    Ok(())
                });
                if let Err(error) = tried {
                    rollout.wrong("server", &format!("{error:#}"));
                }
            }
            Err(error) => rollout.wrong("settings", &format!("{error:#}")),
        }
        rollout
    }

    /// Reports whether every check passed and no decision is undelivered.
    pub(super) fn is_whole(&self) -> bool {
        self.checks.iter().all(|check| check.ok) && self.undelivered == 0
    }

    /// Writes the findings for people.
    pub(super) fn write(&self, out: &mut impl io::Write) -> Result<()> {
        writeln!(out, "hooks ask: {}", one_line(&self.server))?;
        for Check { name, ok, detail } in &self.checks {
            let word = if *ok { "" } else { "WRONG: " };
            writeln!(out, "  {name}: {word}{}", one_line(detail))?;
        }
        let unreachable = match self.unreachable {
            Unreachable::Deny => "refused",
            Unreachable::Ask => "asked about by the host, unless several people must agree",
        };
        writeln!(out, "  when it cannot be reached, actions that need approval are {unreachable}")?;
        if self.undelivered > 0 {
            let n = self.undelivered;
            writeln!(out, "  WRONG: {n} decisions made without it are not delivered")?;
        }
        Ok(())
    }

    async fn ask(
        &mut self,
        approval_client: &ApprovalClient,
        folder: Option<&Path>,
        hosts: &[ProvedHost],
    ) {
        let client = approval_client.client();
        let Some(skew) = self.look(client).await else {
            self.undelivered = undelivered(folder);
            return;
        };
        approval_client.deliver().await;
        self.undelivered = undelivered(folder);
        let policy_digest = self.check_policy();
        let proof = Proof {
            machine: machine_name().unwrap_or_else(|| "unnamed".to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            policy_digest,
            clock_skew_ms: skew,
            hosts: hosts.to_vec(),
            undelivered: u64::try_from(self.undelivered).unwrap_or(u64::MAX),
            problems: self.problems(),
        };
        match client.post(path::MACHINES, &json!(proof)).await {
            Ok(_) => {
                self.right("key", "works, and the server stored this check");
                self.reported = true;
                if let Err(error) = approval_client.learn_now().await {
                    self.wrong("quorum", &format!("{error:#}"));
                }
            }
            Err(error) => self.wrong("key", &error.to_string()),
        }
    }

    /// Checks the server's public health page, and returns how far this clock is ahead of the
    /// server's.
    async fn look(&mut self, client: &Client) -> Option<i64> {
        let before = moment::now().0;
        let health = match client.get(path::HEALTH).await {
            Ok(health) => health,
            Err(error) => {
                self.wrong("server", &error.to_string());
                return None;
            }
        };
        let after = moment::now().0;
        self.right("server", "answers");
        self.right(
            "encryption",
            match client.address() {
                Address::Tls { .. } => "TLS, with a certificate that is trusted here",
                Address::Plain { .. } => "none, and it stays on this machine",
                Address::Socket(_) => "a socket of this machine",
            },
        );
        self.check_version(&health);
        let there = moment::parse(field(&health, "time")).map(|time| time.0);
        let half = before.midpoint(after);
        Some(self.check_clock(there.map(|there| half.saturating_sub(there))))
    }

    fn check_version(&mut self, health: &Value) {
        let (here, there) = (env!("CARGO_PKG_VERSION"), field(health, "version"));
        if here == there {
            self.right("version", &format!("{here} on both sides"));
        } else {
            self.wrong("version", &format!("{here} here, `{there}` at the server"));
        }
    }

    fn check_clock(&mut self, skew: Option<i64>) -> i64 {
        match skew {
            Some(skew) if skew.abs() <= MOST_SKEW_MS => {
                self.right("clock", "agrees with the server's");
                skew
            }
            Some(skew) => {
                let ahead = if skew > 0 { "ahead of" } else { "behind" };
                let seconds = skew.abs() / 1_000;
                self.wrong("clock", &format!("{seconds} s {ahead} the server's: set it right"));
                skew
            }
            None => {
                self.wrong("clock", "the server does not tell the time: it may be too old");
                0
            }
        }
    }

    /// The digest of the policy in force on this machine, if it can be read.
    fn check_policy(&mut self) -> Option<String> {
        match settings::policy(&Context::default()) {
            Ok(policy) => {
                let digest = policy.digest();
                let shown: String = digest.chars().take(12).collect();
                self.right("policy", &format!("digest {shown}…"));
                Some(digest)
            }
            Err(error) => {
                self.wrong("policy", &format!("{error:#}"));
                None
            }
        }
    }

    fn problems(&self) -> Vec<String> {
        let wrong = self.checks.iter().filter(|check| !check.ok);
        let mut problems: Vec<_> =
            wrong.map(|check| format!("{}: {}", check.name, check.detail)).collect();
        if self.undelivered > 0 {
            problems.push(format!("{} decisions are not delivered", self.undelivered));
        }
        problems
    }

    fn right(&mut self, name: &'static str, detail: &str) {
        self.checks.push(Check { name, ok: true, detail: detail.to_owned() });
    }

    fn wrong(&mut self, name: &'static str, detail: &str) {
        self.checks.push(Check { name, ok: false, detail: detail.to_owned() });
    }
}

/// The number of undelivered decisions. A journal that cannot be read counts as one.
fn undelivered(folder: Option<&Path>) -> usize {
    folder.map_or(0, |folder| Journal::in_folder(folder).count().unwrap_or(1))
}
