//! The organisation's policy as a server hands it to hooks and clients: signed, with its time of
//! issue.
//!
//! Contains the sections that rules, hooks and the MCP proxy need, and none of the sections with
//! secrets. Its users decide how old it may be.

use countersign_core::digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approval::canonical;
use crate::bytes::Sign;
use crate::clock::Timestamp;
use crate::id::WorkspaceId;
use crate::keyring::{PublicKey, Purpose};

/// The policy of a server, signed by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SignedPolicy {
    /// The signed part.
    pub policy: IssuedPolicy,
    /// The SHA-256 of the organisation's and the workspace's part, in hex.
    pub digest: String,
    /// The key by which it can be checked. A verifier must know this key from another source.
    pub key: String,
    /// The server's signature.
    pub signature: Sign,
}

/// The policy of a server at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IssuedPolicy {
    /// The time of issue, in milliseconds since 1970.
    pub issued_at: Timestamp,
    /// The organisation's configuration; nothing, where it has none.
    pub organisation: Option<Map<String, Value>>,
    /// The workspace it was issued for.
    pub workspace_id: Option<WorkspaceId>,
    /// The further configuration of that workspace.
    pub workspace: Option<Map<String, Value>>,
}

/// The reason for which a policy proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignedPolicyError {
    /// The policy is signed by another server.
    #[error("signed by {0}, not by the key that was given")]
    OtherKey(String),
    /// The policy was changed after it was signed.
    #[error("the policy was changed after it was signed")]
    Changed,
}

impl IssuedPolicy {
    /// The SHA-256 of the organisation's and the workspace's part, in hex.
    #[must_use]
    pub fn digest(&self) -> String {
        digest::of_value(&serde_json::json!([self.organisation, self.workspace]))
    }
}

impl SignedPolicy {
    /// Checks it by a key that is known from another source.
    ///
    /// # Errors
    /// The policy proves nothing; the error says why.
    pub fn verify(&self, key: &PublicKey) -> Result<(), SignedPolicyError> {
        if self.key != key.to_string() {
            return Err(SignedPolicyError::OtherKey(self.key.clone()));
        }
        let signed = key.verifies(Purpose::Policy, &canonical(&self.policy), &self.signature.0);
        if signed && self.digest == self.policy.digest() {
            return Ok(());
        }
        Err(SignedPolicyError::Changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::Keyring;

    fn signed(keyring: &Keyring) -> SignedPolicy {
        let organisation = serde_json::json!({"lock": ["safety"]}).as_object().cloned();
        let policy = IssuedPolicy {
            issued_at: Timestamp(1),
            organisation,
            workspace_id: None,
            workspace: None,
        };
        let signature = Sign(keyring.sign(Purpose::Policy, &canonical(&policy)));
        let key = keyring.public().to_string();
        SignedPolicy { digest: policy.digest(), policy, key, signature }
    }

    #[test]
    fn a_policy_holds_for_its_key_and_as_it_was_signed_alone() {
        let keyring = Keyring::from_seed(&[1; 32]);
        let other = Keyring::from_seed(&[2; 32]).public();
        let good = signed(&keyring);
        assert_eq!(good.verify(&keyring.public()), Ok(()));
        assert!(matches!(good.verify(&other), Err(SignedPolicyError::OtherKey(_))));
        let mut later = good.clone();
        later.policy.issued_at = Timestamp(2);
        let mut looser = good.clone();
        looser.policy.organisation = None;
        let mut named = good.clone();
        named.digest = "0".repeat(64);
        let mut claimed = good;
        claimed.key = other.to_string();
        for changed in [later, looser, named] {
            assert_eq!(changed.verify(&keyring.public()), Err(SignedPolicyError::Changed));
        }
        assert_eq!(claimed.verify(&other), Err(SignedPolicyError::Changed));
    }
}
