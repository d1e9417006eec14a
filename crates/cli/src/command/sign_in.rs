//! `countersign sign-in`: registers a device of yours by a link.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use countersign_gate::secret::{Secret, SecretKind};
use countersign_wire::path;
use serde_json::json;
use url::Url;

use crate::client::{Address, Client, DEVICE, SERVER, Trust, block_on};
use crate::exit::Exit;
use crate::listing::field;
use crate::quote;

/// Sign in this terminal to a server with a link, once
///
/// Prints two lines for the shell and stores nothing: eval "$(countersign sign-in LINK)". The link
/// comes from `countersign devices invite` on a signed-in device.
#[derive(Debug, Args)]
pub(crate) struct SignIn {
    /// The link, as it was printed
    #[arg(value_name = "LINK")]
    link: String,
    /// A name for this device
    #[arg(long, value_name = "NAME", default_value = "Terminal")]
    name: String,
    /// The certificate to trust, as a PEM file, for a server with a self-signed certificate
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Sign in without encryption: anyone in between can read the device's secret
    #[arg(long)]
    danger_plain_http: bool,
}

impl SignIn {
    pub(super) fn run(self) -> Result<Exit> {
        let (address, link) = parse(&self.link)?;
        if address.is_readable_by_others() && !self.danger_plain_http {
            bail!("`{address}` is not encrypted: use https, or --danger-plain-http");
        }
        let client =
            Client::new(address, self.tls_ca.as_deref().map_or(Trust::Usual, Trust::UsualAnd))?;
        let body = json!({"link": link.expose(), "name": self.name});
        let signed_in = block_on(async { Ok(client.post(path::SIGN_IN, &body).await?) })?;
        // A shell evaluates this output, so it must be nothing but a secret.
        let secret = Secret::parse(field(&signed_in, "secret"))?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}", exported(client.address()))?;
        writeln!(out, "export {DEVICE}={}", secret.expose())?;
        let how =
            if io::stdout().is_terminal() { "; paste these lines into your shell" } else { "" };
        writeln!(io::stderr(), "signed in; the secret is shown only once and not stored{how}")?;
        Ok(Exit::Done)
    }
}

/// The server as a line for the shell. A domain may contain `$(…)`, none of which may be run.
fn exported(address: &Address) -> String {
    format!("export {SERVER}={}", quote::join([address.to_string().as_str()]))
}

/// Parses the server and the secret of a link.
fn parse(link: &str) -> Result<(Address, Secret)> {
    let Ok(url) = Url::parse(link.trim()) else {
        bail!("give the whole link: `https://…/sign-in?link=…`");
    };
    let secret = url.query_pairs().find(|(name, _)| name == "link");
    let secret = secret.and_then(|(_, value)| Secret::parse(&value).ok());
    let Some(secret) = secret.filter(|secret| secret.kind() == SecretKind::Link) else {
        bail!("there is no link for signing in behind `link=`");
    };
    Ok((Address::of(&url)?, secret))
}

#[cfg(test)]
mod tests {
    use countersign_gate::clock::{Fake, Timestamp};

    use super::*;

    #[test]
    fn only_a_whole_link_signs_in() {
        let secret = Secret::draw(SecretKind::Link, &Fake::at(Timestamp(0))).unwrap();
        let link = format!("http://127.0.0.1:8720/sign-in?link={}", secret.expose());
        let (address, parsed) = parse(&link).unwrap();
        assert_eq!(address.to_string(), "http://127.0.0.1:8720");
        assert_eq!(parsed.expose(), secret.expose());
        let link = link.replace("127.0.0.1:8720", "$(id).example.com");
        let (address, _) = parse(&link).unwrap();
        let quoted = "export COUNTERSIGN_SERVER='http://$(id).example.com'";
        assert_eq!(exported(&address), quoted, "nothing for a shell to run");
        parse(secret.expose()).unwrap_err();
        parse("http://127.0.0.1:8720/sign-in?link=x").unwrap_err();
    }
}
