//! Many proposals in one request, for a program between many agents and the gate.
//!
//! Each is judged, counted and recorded by itself, as if it had come alone. They share the
//! connection, the authentication, and the flush to the disk.

use axum::extract::State;
use countersign_gate::Submitted;
use countersign_wire::{Proposed, path};
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::action::{ProposalBody, decided};
use crate::app::App;
use crate::auth::{Asker, Identity, Shown};
use crate::body;
use crate::error::Problem;
use crate::idempotent::Within;
use crate::route::{Route, Who, post};
use crate::view;

/// The most proposals in one request: each takes up memory until all are decided.
const MOST: usize = 256;

/// Proposals of agents.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Batch {
    /// From 1 to 256.
    #[schemars(length(min = 1, max = 256))]
    proposals: Vec<ProposalBody>,
}

/// The outcome of each proposal, in the order they came.
#[derive(Debug, Serialize, JsonSchema)]
struct Outcomes {
    outcomes: Vec<Outcome>,
}

/// The outcome of one proposal.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Outcome {
    Proposed(Box<Proposed>),
    Refused(Refused),
}

/// It may not run.
#[derive(Debug, Serialize, JsonSchema)]
struct Refused {
    /// Always `refused`.
    status: &'static str,
    /// The problem, as it would be told if the proposal had come alone.
    problem: Value,
    /// Seconds after which trying again may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(path::ACTIONS_BATCH, "propose_all")
            .by(Who::Either)
            .says("Proposes up to 256 actions, each decided separately: permitted, waiting or refused. Does not wait for answers.")
            .takes::<Batch>()
            .gives::<Outcomes>(200)
            .decides()
            .to(propose_all),
    ]
}

async fn propose_all(
    State(app): State<App>,
    asker: Asker,
    body::Json(Batch { proposals }): body::Json<Batch>,
) -> Result<Within<body::Json<Outcomes>>, Problem> {
    if !(1..=MOST).contains(&proposals.len()) {
        return Err(Problem::bad_request(format!("`proposals` holds 1 to {MOST}")));
    }
    let (identity, shown) = asker.split();
    let sessions = proposals.iter().filter_map(|body| body.session_id.clone()).collect();
    let all = proposals.into_iter().map(|body| one(&app, &identity, &shown, body));
    Ok(Within(body::Json(Outcomes { outcomes: join_all(all).await }), sessions))
}

async fn one(app: &App, identity: &Identity, shown: &Shown, body: ProposalBody) -> Outcome {
    match proposed(app, identity.clone(), shown, body).await {
        Ok(proposed) => Outcome::Proposed(Box::new(proposed)),
        Err(problem) => Outcome::Refused(Refused {
            status: "refused",
            problem: problem.to_json(),
            retry_after: problem.retry_seconds(),
        }),
    }
}

async fn proposed(
    app: &App,
    identity: Identity,
    shown: &Shown,
    mut body: ProposalBody,
) -> Result<Proposed, Problem> {
    let workspace = body.workspace_id.take();
    let proposal = body.proposal(None)?;
    let (caller, submitted, _) =
        decided(app, identity, shown, workspace.as_ref(), &proposal).await?;
    match submitted {
        Submitted::Permitted(permit, judgement) => Ok(view::permitted(&permit, Some(judgement))),
        Submitted::Refused(refusal) => Err((*refusal).into()),
        Submitted::Waiting(waiting) => {
            let card = Box::pin(app.gate.approval_of_caller(&caller, &waiting.approval)).await?;
            Ok(view::waiting(*waiting, &card))
        }
    }
}
