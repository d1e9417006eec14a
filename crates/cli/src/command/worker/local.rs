//! The worker beside a server: our own program again, with a key made for it.
//!
//! It connects over the local socket, so the server knows its process: the commands that it runs
//! are an agent's, and cannot answer as the person who owns the socket.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use countersign_gate::id::KeyId;
use countersign_gate::key::{Access, Devices, NewKey, WRITES};
use countersign_gate::scope::{Scope, WORKER};
use countersign_gate::secret::Secret;
use countersign_gate::{Gate, Person};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::told;

/// The name of the worker's key.
const NAME: &str = "the worker beside the server";
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time in which a worker has ended everything.
const ENDS_WITHIN: Duration = Duration::from_secs(4);

/// The worker beside a server.
pub(crate) struct LocalWorker {
    gate: Arc<Gate>,
    owner: Person,
    key: KeyId,
    stop: watch::Sender<bool>,
    running: JoinHandle<()>,
}

impl LocalWorker {
    /// Starts the worker. It works in the current folder.
    ///
    /// # Errors
    /// There is no owner, or no key can be made.
    pub(crate) async fn start(gate: &Arc<Gate>, socket: PathBuf) -> Result<Self> {
        let owner = gate.owner().await?.context("there is no owner yet")?;
        let owner = gate.by_channel(&owner).await?;
        // A server that was killed has left its own.
        for (key, _) in gate.keys(&owner).await? {
            if key.name == NAME && key.revoked_at.is_none() {
                gate.revoke_key(&owner, &key.id).await?;
            }
        }
        let workspace = owner.user().workspaces.keys().next().cloned();
        let Some(workspace) = workspace else { bail!("the owner belongs to no workspace") };
        let new = NewKey {
            name: NAME.to_owned(),
            workspace,
            scopes: vec![Scope::parse(WORKER, &std::collections::BTreeSet::new())?],
            access: Access::Program,
            devices: Devices::Any,
            writes: WRITES,
            expires_at: None,
        };
        let made = gate.create_key(&owner, new).await?;
        let (stop, stopping) = watch::channel(false);
        let running = tokio::spawn(keep(socket, made.secret, stopping));
        Ok(Self { gate: Arc::clone(gate), owner, key: made.key.id, stop, running })
    }

    /// Ends the worker, and revokes its key.
    pub(crate) async fn end(self) {
        self.stop.send_replace(true);
        let _ = timeout(ENDS_WITHIN, self.running).await;
        if let Err(error) = self.gate.revoke_key(&self.owner, &self.key).await {
            tracing::warn!(%error, "the key of the local worker still works");
        }
    }
}

/// Starts the worker, and again when it ends by itself.
async fn keep(socket: PathBuf, key: Secret, mut stopping: watch::Receiver<bool>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let why = match spawn(&socket, &key).await {
            Ok((mut child, input)) => {
                tokio::select! {
                    ended = child.wait() => match ended {
                        Ok(status) => format!("it has ended: {status}"),
                        Err(error) => error.to_string(),
                    },
                    () = told(&mut stopping) => {
                        drop(input);
                        return end(child).await;
                    }
                }
            }
            Err(error) => error.to_string(),
        };
        tracing::error!(why, "the local worker is started again");
        tokio::select! {
            () = sleep(pause) => {}
            () = told(&mut stopping) => return,
        }
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

/// Starts the worker. It ends when its input does: waiting for a child closes the input that it
/// holds, so that is returned apart.
async fn spawn(socket: &Path, key: &Secret) -> Result<(Child, ChildStdin)> {
    let program = std::env::current_exe().context("our own program is not found")?;
    let mut command = Command::new(program);
    command.args(["worker", "--key-from-stdin", "--server"]).arg(socket);
    command.env_remove(crate::connection::KEY).env_remove(crate::client::DEVICE);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().context("the local worker cannot be started")?;
    let mut input = child.stdin.take().context("the local worker has no input")?;
    input.write_all(format!("{}\n", key.expose()).as_bytes()).await?;
    Ok((child, input))
}

/// Waits for a worker whose input is closed.
async fn end(mut child: Child) {
    if timeout(ENDS_WITHIN, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}
