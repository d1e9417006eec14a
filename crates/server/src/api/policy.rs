//! The organisation's policy, for hooks and clients.

use axum::Json;
use axum::extract::State;
use countersign_gate::signed_policy::SignedPolicy;
use countersign_wire::path;

use crate::app::App;
use crate::auth::Identity;
use crate::route::{Route, Who, get};

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::POLICY, "show_policy")
            .by(Who::Either)
            .says("The organisation's policy and that of your workspace, signed by the server.")
            .gives::<SignedPolicy>(200)
            .to(show),
    ]
}

async fn show(State(app): State<App>, identity: Identity) -> Json<SignedPolicy> {
    let workspace = match &identity {
        Identity::Caller(caller) => Some(caller.workspace().clone()),
        Identity::Person(person) => person.user().workspaces.keys().next().cloned(),
    };
    Json(app.gate.issue_policy(workspace.as_ref()))
}
