//! Signs in with a credential that nobody sees.
//!
//! Each field goes from the vault straight into one input: the message to the browser is the only
//! copy, and it is wiped. Origin, frame and type are checked in the step that fills.

use countersign_wire::work::{Ended, WorkResult};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;
use zeroize::Zeroizing;

use super::act::outcome;
use super::failed::Failed;
use super::page::{World, script_failed};
use super::session::{Browser, STEP};
use crate::executor::Running;

/// The place of a secret in a message, which no page can write.
const PLACE: &str = "\u{1}the secret\u{1}";
/// The pages of a sign-in: one for the name, one for the password.
const MOST_PAGES: usize = 2;

/// The sign-in form of a page.
#[derive(Debug, Deserialize)]
struct Form {
    username: Option<u64>,
    password: Option<u64>,
    /// The element that submits it.
    submit: u64,
    /// The origin of the page.
    origin: String,
    /// The origin that it is sent to.
    target: String,
    /// It would put its fields into an address.
    open: bool,
}

impl Browser {
    /// Fills the sign-in form of the page and submits it.
    pub(super) fn login(&self, site: &str, running: Running<'_>) -> Result<WorkResult, Failed> {
        let origin = origin(site)
            .ok_or_else(|| Failed::refused("NotAllowed", format!("`{site}` is not a site")))?;
        self.shared.change(|state| state.sign_in = Some(origin.clone()));
        for _ in 0..MOST_PAGES {
            let top = self.top()?;
            let form = self.sign_in_form(&top, &origin)?;
            self.fill_form(&top, &form, &origin, running)?;
            let named = self.find(&format!("e{}", form.submit))?;
            if named.element.form_target.is_some() {
                let words = [json!(named.number), json!(named.read.text)];
                outcome(&self.script(&named.world, "submit", &words)?)?;
            } else {
                // Fields without a form: the page's script sends them.
                self.click(&named)?;
            }
            self.settle()?;
            if form.password.is_some() {
                return self.signed_in();
            }
        }
        Err(Failed::because("NoForm", "the page never asks for a password"))
    }

    fn sign_in_form(&self, top: &World, origin: &str) -> Result<Form, Failed> {
        let form: Option<Form> = serde_json::from_value(self.script(top, "signIn", &[])?)
            .map_err(|error| Failed::because("BrowserError", error.to_string()))?;
        let form = form.ok_or_else(|| Failed::because("NoForm", "the page has no sign-in form"))?;
        if form.origin != origin {
            let why = format!("the page is on {}, not on {origin}", form.origin);
            return Err(Failed::refused("OtherOrigin", why));
        }
        if form.target != origin {
            let why = format!("the form is sent to {}, not to {origin}", form.target);
            return Err(Failed::refused("OtherOrigin", why));
        }
        if form.open {
            return Err(Failed::refused("OpenForm", "the form puts the password into an address"));
        }
        Ok(form)
    }

    fn fill_form(
        &self,
        top: &World,
        form: &Form,
        origin: &str,
        running: Running<'_>,
    ) -> Result<(), Failed> {
        for (field, number) in [("username", form.username), ("password", form.password)] {
            let Some(number) = number else { continue };
            let mut filled = None;
            let lent = running.controller.fill(origin, field, &mut |secret| {
                self.shared.secrets.add(secret);
                filled = Some(self.fill(top, number, origin, field, secret));
            });
            lent.map_err(|error| Failed::because("NoCredential", error.0))?;
            filled.unwrap_or_else(|| Err(Failed::because("NoCredential", "nothing was lent")))?;
        }
        Ok(())
    }

    /// Writes one field into one input.
    fn fill(
        &self,
        top: &World,
        number: u64,
        origin: &str,
        field: &str,
        secret: &str,
    ) -> Result<(), Failed> {
        let words = [json!(number), json!(origin), json!(field), json!(PLACE)];
        let id = self.cdp.next_id();
        let message = json!({
            "id": id,
            "sessionId": top.frame.session,
            "method": "Runtime.callFunctionOn",
            "params": top.call("fill", &words, "returnByValue"),
        });
        let message = with_secret(&message, secret)
            .ok_or_else(|| Failed::because("BrowserError", "the message has no place for it"))?;
        let answer = self.cdp.asked(id, &message, "fill", STEP)?;
        if let Some(failed) = script_failed(&answer, "fill") {
            return Err(failed);
        }
        outcome(answer.pointer("/result/value").unwrap_or(&Value::Null))
    }

    /// Tells whether the site has let us in: it no longer asks for a password.
    fn signed_in(&self) -> Result<WorkResult, Failed> {
        let form = self.script(&self.top()?, "signIn", &[])?;
        if form.get("password").is_some_and(Value::is_number) {
            return Err(Failed::because("NotSignedIn", "the page still asks for the password"));
        }
        Ok(WorkResult { value: json!({"signed_in": true}), ..WorkResult::of(Ended::Done) })
    }
}

/// Returns the origin of a site, which is often written without a scheme.
fn origin(site: &str) -> Option<String> {
    let site = if site.contains("://") { site.to_owned() } else { format!("https://{site}") };
    let url = Url::parse(&site).ok()?;
    let web = matches!(url.scheme(), "http" | "https");
    (web && url.username().is_empty()).then(|| url.origin().ascii_serialization())
}

/// Writes a message with a secret in its place, into memory that is wiped and never grows.
fn with_secret(message: &Value, secret: &str) -> Option<Zeroizing<Vec<u8>>> {
    let message = message.to_string();
    let place = Value::from(PLACE).to_string();
    let (before, after) = message.split_once(&place)?;
    let most = secret.len().checked_mul(6)?.checked_add(message.len())?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(most));
    bytes.extend_from_slice(before.as_bytes());
    serde_json::to_writer(&mut *bytes, secret).ok()?;
    bytes.extend_from_slice(after.as_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_written_into_its_place() {
        let message = with_secret(&json!({"a": [1, PLACE]}), "x\"\u{0}y").unwrap();
        let read: Value = serde_json::from_slice(&message).unwrap();
        assert_eq!(read, json!({"a": [1, "x\"\u{0}y"]}));
        assert!(with_secret(&json!({}), "x").is_none());
    }

    #[test]
    fn a_site_is_an_origin() {
        assert_eq!(origin("example.com").as_deref(), Some("https://example.com"));
        assert_eq!(origin("http://a.test:80/x").as_deref(), Some("http://a.test"));
        assert_eq!(origin("https://a@example.com"), None);
        assert_eq!(origin("file:///x"), None);
    }
}
