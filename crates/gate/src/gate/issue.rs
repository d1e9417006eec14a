//! The issue of the organisation's policy to clients.

use countersign_core::policy::Rank;

use crate::approval::canonical;
use crate::bytes::Sign;
use crate::gate::Gate;
use crate::id::WorkspaceId;
use crate::keyring::Purpose;
use crate::signed_policy::{IssuedPolicy, SignedPolicy};

impl Gate {
    /// The policy for clients that work in a workspace, issued now.
    #[must_use]
    pub fn issue_policy(&self, workspace: Option<&WorkspaceId>) -> SignedPolicy {
        let policy = workspace.map_or_else(|| self.policy(), |id| self.policy_in(id));
        let issued = IssuedPolicy {
            issued_at: self.now(),
            organisation: policy.handed_out(Rank::Organisation).cloned(),
            workspace_id: workspace.cloned(),
            workspace: policy.handed_out(Rank::Workspace).cloned(),
        };
        let signature = Sign(self.keyring.sign(Purpose::Policy, &canonical(&issued)));
        let key = self.keyring.public().to_string();
        SignedPolicy { digest: issued.digest(), policy: issued, key, signature }
    }
}
