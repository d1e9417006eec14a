//! An approval that a hook was given, used once more by the proxy in front of the tool's server.
//!
//! One call of an MCP tool passes both: the host's hook asks before the call, and the proxy sees
//! the call itself. The hook spends the approval and runs nothing, so the proxy may use it.
//!
//! The conditions are narrow: the same agent process, another session of it, the same server, tool
//! and arguments, the host's own name of the call where both know it, within a minute, once, and
//! only if the person was shown every rule that asks now and no more people must agree. Kept in
//! memory: after a restart the proxy asks for itself.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_core::digest::of_value;
use countersign_core::{Action, Judgement, Verdict};
use serde_json::json;

use crate::approval::{Approval, Details, Quorum};
use crate::caller::Caller;
use crate::clock::Timestamp;
use crate::gate::Gate;
use crate::gate::submit::Submission;
use crate::id::{ApprovalId, SessionId, UserId, WorkspaceId};
use crate::process::Process;
use crate::proposal::Proposal;
use crate::session::Session;

/// The time within which the proxy must see the call.
const WITHIN: Duration = Duration::from_mins(1);
/// The most calls that are kept, more than any agent has under way; the oldest is dropped.
const MOST: usize = 256;

/// Approved calls that a proxy may still see.
#[derive(Debug, Default)]
pub(super) struct Handovers(Mutex<VecDeque<Handover>>);

#[derive(Debug)]
struct Handover {
    approval: ApprovalId,
    user: UserId,
    workspace: WorkspaceId,
    session: SessionId,
    process: Process,
    /// The digest of server, tool and arguments.
    call: String,
    /// The host's id of the call.
    call_id: Option<String>,
    /// The rules that the person was shown.
    rules: Vec<String>,
    quorum: Quorum,
    until: Timestamp,
}

impl Gate {
    /// Keeps a spent approval for the proxy, if a hook spent it.
    pub(super) fn hand_over(
        &self,
        caller: &Caller,
        proposal: &Proposal,
        approval: &Approval,
        details: &Details,
        session: Option<&Session>,
    ) {
        let Some(call) = call_of(&proposal.action) else { return };
        let Some(session) = session.filter(|_| proposal.relays && caller.key.is_none()) else {
            return;
        };
        let Some(process) = session.plan.process else { return };
        let handover = Handover {
            approval: approval.request.id.clone(),
            user: caller.user.clone(),
            workspace: caller.workspace.clone(),
            session: session.id.clone(),
            process,
            call,
            call_id: proposal.call_id.clone(),
            rules: details.rules.clone(),
            quorum: approval.request.quorum,
            until: self.now().after(WITHIN),
        };
        let mut open = self.handovers.0.lock().unwrap_or_else(PoisonError::into_inner);
        while open.len() >= MOST {
            open.pop_front();
        }
        open.push_back(handover);
    }

    /// Takes the approval of exactly this call that a hook was given, if there is one.
    pub(super) fn take_over(
        &self,
        submission: &Submission<'_>,
        judgement: &Judgement,
        needed: Quorum,
    ) -> Option<ApprovalId> {
        let call = call_of(&submission.proposal.action)?;
        let session =
            &submission.session.as_ref().filter(|_| submission.caller.key.is_none())?.value;
        let process = session.plan.process?;
        let fits = |handover: &Handover| {
            handover.user == submission.caller.user
                && handover.workspace == submission.caller.workspace
                && handover.session != session.id
                && handover.process == process
                && handover.call == call
                && same_name(handover.call_id.as_deref(), submission.proposal.call_id.as_deref())
                && submission.now < handover.until
                && handover.quorum.stricter(needed) == handover.quorum
                && told_of(judgement, &handover.rules)
        };
        let mut open = self.handovers.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|handover| submission.now < handover.until);
        let at = open.iter().position(fits)?;
        open.remove(at).map(|handover| handover.approval)
    }
}

/// The digest of server, tool and arguments. Other facts about a tool differ between hook and
/// proxy.
fn call_of(action: &Action) -> Option<String> {
    let Action::Tool { server, tool, arguments, .. } = action else { return None };
    Some(of_value(&json!({"server": server, "tool": tool, "arguments": arguments})))
}

/// Reports whether two ids of a call agree: they differ only if both are known.
fn same_name(one: Option<&str>, other: Option<&str>) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// Reports whether a person was shown every rule that asks.
fn told_of(judgement: &Judgement, rules: &[String]) -> bool {
    let mut asking = judgement.findings.iter().filter(|found| found.verdict >= Verdict::Confirm);
    asking.all(|finding| rules.contains(&finding.rule))
}
