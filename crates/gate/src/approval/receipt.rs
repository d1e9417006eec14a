//! A decision that anybody can check without asking the server.

use countersign_core::digest::digest;
use countersign_core::{Action, Context};
use serde::{Deserialize, Serialize};

use crate::approval::{Approval, Decision, Request, TamperedError, canonical, commitment};
use crate::bytes::{Hash, Sign};
use crate::keyring::{Keyring, PublicKey, Purpose};
use crate::proposal::{Script, binding};

/// A request and its decision, signed by the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The request.
    pub request: Request,
    /// The server's signature on it.
    pub request_signature: Sign,
    /// The decision.
    pub decision: Decision,
    /// Opens the request's commitment to the action.
    pub salt: [u8; 16],
    /// The key by which it can be checked. A verifier must know this key from another source.
    pub key: String,
}

/// The reason for which a receipt proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// It is signed by another server.
    #[error("signed by {0}, not by the key that was given")]
    OtherKey(String),
    /// The request was changed after it was signed.
    #[error("the request was changed after it was signed")]
    Request,
    /// The decision was changed after it was signed, or belongs to another request.
    #[error("the decision was changed after it was signed, or belongs to another request")]
    Decision,
    /// The receipt is about another action.
    #[error("it is about another action")]
    Action,
}

impl Receipt {
    /// The receipt of an approval, once it was decided.
    ///
    /// # Errors
    /// The approval was tampered with.
    pub fn of(approval: &Approval, keyring: &Keyring) -> Result<Option<Self>, TamperedError> {
        let details = approval.open(keyring)?;
        Ok(approval.state.decision().map(|decision| Self {
            request: approval.request.clone(),
            request_signature: *approval.signature(),
            decision: decision.clone(),
            salt: details.salt,
            key: keyring.public().to_string(),
        }))
    }

    /// Checks it by a key that is known from another source.
    ///
    /// # Errors
    /// The receipt proves nothing; the error says why.
    pub fn verify(&self, key: &PublicKey) -> Result<(), ReceiptError> {
        if self.key != key.to_string() {
            return Err(ReceiptError::OtherKey(self.key.clone()));
        }
        let request = canonical(&self.request);
        if !key.verifies(Purpose::Request, &request, &self.request_signature.0) {
            return Err(ReceiptError::Request);
        }
        if !self.decision.is_signed(&self.request_signature, key) {
            return Err(ReceiptError::Decision);
        }
        Ok(())
    }

    /// Checks that it is about this action, in this context, running scripts with this content.
    ///
    /// # Errors
    /// It is about another action.
    pub fn verify_action(
        &self,
        action: &Action,
        context: &Context,
        scripts: &[Script],
    ) -> Result<(), ReceiptError> {
        let bound = binding(&digest(action, context), scripts);
        let found: Hash = commitment(self.salt, &bound);
        if found == self.request.commitment { Ok(()) } else { Err(ReceiptError::Action) }
    }
}
