//! The last proof of each machine, as a page shows it.

use countersign_gate::gate::{OwnerFilter, Page};
use countersign_gate::machine::Machine;
use countersign_gate::user::Role;

use crate::app::App;
use crate::console::Frame;
use crate::console::when::ago;
use crate::error::Problem;

/// The last proof of a machine.
pub(super) struct MachineView {
    pub(super) id: String,
    pub(super) name: String,
    /// The person whose key it used, if it is somebody else.
    pub(super) owner: Option<String>,
    pub(super) version: String,
    pub(super) policy: String,
    pub(super) hosts: String,
    pub(super) proved: bool,
    pub(super) problems: Vec<String>,
    pub(super) when: String,
}

impl MachineView {
    async fn of(frame: &Frame, app: &App, machine: Machine) -> Self {
        let Machine { id, user, proof, proved_at, .. } = machine;
        let owner = if user == frame.person.user().id {
            None
        } else {
            let owner = app.gate.user(&frame.person, &user).await;
            // Somebody who has left the workspace is known by their id alone.
            Some(owner.map_or_else(|_| user.to_string(), |owner| owner.name))
        };
        let hosts: Vec<_> = proof.hosts.iter().map(|host| host.host.as_str()).collect();
        let policy = proof.policy_digest.as_deref().unwrap_or("–");
        Self {
            id,
            owner,
            hosts: hosts.join(", "),
            policy: policy.chars().take(12).collect(),
            proved: proof.is_whole(),
            when: ago(frame.t, proved_at, app.gate.now()),
            name: proof.machine,
            version: proof.version,
            problems: proof.problems,
        }
    }
}

/// The machines this person looks after: everybody's, for a super admin.
pub(super) async fn machines(app: &App, frame: &Frame) -> Result<Vec<MachineView>, Problem> {
    let person = &frame.person;
    let all = if person.user().super_admin {
        vec![OwnerFilter::All]
    } else {
        let own = person.user().workspaces.keys().cloned();
        let admin = own.filter(|id| person.role_in(id) >= Role::WorkspaceAdmin);
        admin.map(OwnerFilter::Workspace).chain([OwnerFilter::Mine]).collect()
    };
    let mut found: Vec<Machine> = Vec::new();
    for whose in &all {
        let page = Page { after: None, limit: Page::MOST };
        for machine in app.gate.machines(person, whose, &page).await?.items {
            if found.iter().all(|known| known.id != machine.id) {
                found.push(machine);
            }
        }
    }
    // Failed proofs first, then the machines that have been silent for longest.
    found.sort_by_key(|machine| (machine.proof.is_whole(), machine.proved_at));
    let mut views = Vec::new();
    for machine in found {
        views.push(MachineView::of(frame, app, machine).await);
    }
    Ok(views)
}
