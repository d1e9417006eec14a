//! `countersign receipt`: the proof of a decision, which anybody can check.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, Subcommand};
use countersign_core::{Action, Context};
use countersign_gate::approval::{self, Approval};
use countersign_gate::id::ApprovalId;
use countersign_gate::keyring::PublicKey;
use countersign_gate::proposal::Script;
use countersign_gate::store::Kind;
use pollster::block_on;

use crate::data::Data;
use crate::exit::Exit;

/// Verify or print the signed receipt of a decision
#[derive(Debug, Args)]
pub(crate) struct Receipt {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Verify(Verify),
    Show(Show),
    Key(Key),
}

/// Verify a receipt without the server
///
/// Exits with 1 when the receipt is not valid.
#[derive(Debug, Args)]
struct Verify {
    /// The receipt, or - for standard input
    file: PathBuf,
    /// The server's public key [default: that of the data folder]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The action it should be about, as JSON in a file
    #[arg(long, value_name = "FILE")]
    action: Option<PathBuf>,
    /// The folder the action ran in, if its JSON does not say
    #[arg(long, value_name = "FOLDER", requires = "action")]
    cwd: Option<String>,
    /// A script the action ran, with its content and name as in the proposal
    #[arg(long, value_name = "FILE", requires = "action")]
    script: Vec<PathBuf>,
    #[command(flatten)]
    data: Data,
}

/// Print the receipt of a decided approval
#[derive(Debug, Args)]
struct Show {
    /// The approval's id
    approval: String,
    #[command(flatten)]
    data: Data,
}

/// Print the public key that verifies receipts
#[derive(Debug, Args)]
struct Key {
    #[command(flatten)]
    data: Data,
}

impl Receipt {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Verify(verify) => verify.run(),
            Command::Show(show) => show.run(),
            Command::Key(key) => key.run(),
        }
    }
}

impl Verify {
    fn run(self) -> Result<Exit> {
        let receipt: approval::Receipt =
            serde_json::from_str(&read(&self.file)?).context("not a receipt")?;
        let key = match &self.key {
            Some(text) => PublicKey::parse(text).ok_or_else(|| {
                anyhow!("`{text}` is not a public key: public keys begin with `cspk_`")
            })?,
            None => self.data.keyring()?.public(),
        };
        let mut checked = receipt.verify(&key);
        if let (Ok(()), Some(file)) = (&checked, &self.action) {
            let action: Action =
                serde_json::from_str(&read(file)?).context("not an action as JSON")?;
            let context = Context { cwd: self.cwd.clone(), ..Context::default() };
            let scripts: Vec<_> =
                self.script.iter().map(|path| script(path)).collect::<Result<_>>()?;
            checked = receipt.verify_action(&action, &context, &scripts);
        }
        let mut out = io::stdout().lock();
        match checked {
            Ok(()) => {
                write!(out, "{}", told(&receipt))?;
                Ok(Exit::Done)
            }
            Err(error) => {
                writeln!(out, "proves nothing: {error}")?;
                Ok(Exit::Failed)
            }
        }
    }
}

impl Show {
    fn run(self) -> Result<Exit> {
        let id = ApprovalId::parse(&self.approval)?;
        let (store, keyring) = self.data.read()?;
        let Some(stored) = block_on(store.get(Kind::Approval, id.as_str()))? else {
            bail!("there is no approval `{id}`");
        };
        let approval: Approval = serde_json::from_str(&stored.doc.body)?;
        let Some(receipt) = approval::Receipt::of(&approval, &keyring)? else {
            bail!("nobody has decided `{id}`: it is {}", approval.state.as_str());
        };
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &receipt)?;
        writeln!(out)?;
        Ok(Exit::Done)
    }
}

impl Key {
    fn run(self) -> Result<Exit> {
        writeln!(io::stdout(), "{}", self.data.keyring()?.public())?;
        Ok(Exit::Done)
    }
}

/// The content of a valid receipt, as text.
fn told(receipt: &approval::Receipt) -> String {
    let (request, decision) = (&receipt.request, &receipt.decision);
    let say = match decision.say {
        approval::Answer::Approve => "approved",
        approval::Answer::Reject => "rejected",
    };
    let by: Vec<_> = decision.votes.iter().map(|vote| vote.by.as_str()).collect();
    format!(
        "holds: {} ({}, {} risk) was {say} by {} at {}\n",
        request.id,
        request.action,
        request.risk.as_str(),
        by.join(", "),
        decision.at
    )
}

fn script(path: &Path) -> Result<Script> {
    let content = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let name = path.to_str().ok_or_else(|| anyhow!("`{}` is not UTF-8", path.display()))?;
    Ok(Script::new(name, &content))
}

fn read(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text).context("cannot read standard input")?;
        return Ok(text);
    }
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}
